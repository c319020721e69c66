//! What each kind of link can do: whatever cannot be is refused before anything is opened.

use super::{Access, Request};
use crate::trace::link::Error;
use crate::trace::place::Place;

/// Whether a link to that place can do what is wanted.
///
/// # Errors
/// [`Error::Unfit`] with the option that it cannot have.
pub fn fits(place: &Place<'_>, request: &Request<'_>) -> Result<(), Error> {
    let why = match place {
        Place::Probe(_) => why_no_probe(request),
        Place::OpenOcd(_) => why_no_openocd(request),
        Place::Simulated(_) => why_no_board(request),
        _ => why_no_tap(request),
    };
    why.map_or(Ok(()), |why| Err(Error::unfit(why)))
}

/// The first of the options that was given.
fn given(request: &Request<'_>) -> Option<&'static str> {
    let poll = match request.access {
        Access::Poll(crate::trace::probe::Polling::Halt, _) => Some("--halt"),
        Access::Poll(..) => Some("--pcsr"),
        Access::Pin | Access::Rtt(..) => None,
    };
    let chip = request.chip.map(|_| "--chip");
    chip.or(request.reset.then_some("--reset")).or(poll)
}

fn why_no_tap(request: &Request<'_>) -> Option<String> {
    if request.image.is_some() {
        let why = "--flash programs through probe or openocd:HOST:PORT; this source only listens";
        return Some(why.to_owned());
    }
    if matches!(request.access, Access::Rtt(..)) {
        return Some("--rtt reads memory: over probe, openocd:HOST:PORT or sim".to_owned());
    }
    given(request).map(|option| format!("{option} needs a probe; this source only listens"))
}

fn why_no_board(request: &Request<'_>) -> Option<String> {
    if request.image.is_some() {
        let why = "a simulated board needs no programming, it runs the firmware of --elf: leave \
            out --flash";
        return Some(why.to_owned());
    }
    given(request).map(|option| format!("{option} needs a probe; this is a simulated board"))
}

/// Resets go through probes: OpenOCD's scripts know how the board wants it.
fn why_no_openocd(request: &Request<'_>) -> Option<String> {
    let resets = request.reset || matches!(request.access, Access::Poll(..));
    let why = "--pcsr, --halt and --reset go through `probe`; have OpenOCD reset the chip itself";
    resets.then(|| why.to_owned())
}

fn why_no_probe(request: &Request<'_>) -> Option<String> {
    let why = if request.chip.is_none() && cfg!(feature = "probe") {
        "a probe needs the --chip, as STM32F407VG"
    } else if request.reset && matches!(request.access, Access::Rtt(..)) {
        "--reset goes with the pin; RTT reads the core as it runs"
    } else {
        return None;
    };
    Some(why.to_owned())
}
