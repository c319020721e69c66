//! Debug probes as links: the firmware is programmed, then the pin is set up, or the program
//! counter or a buffer in RAM is read.

use super::{Access, Observer, Opened, Request};
use crate::trace::flash;
use crate::trace::link::{Error, Link};
use crate::trace::probe::{Poller, Probe};
use crate::trace::probe_rs::ProbeRs;
use crate::trace::rtt;

pub fn open(
    selector: Option<&str>,
    request: &Request<'_>,
    observer: &mut dyn Observer,
) -> Result<Opened, Error> {
    let chip = request.chip;
    let chip = chip.ok_or_else(|| Error::unfit("a probe needs the --chip, as STM32F407VG"))?;
    if matches!(request.access, Access::Pin) && request.trace.is_none() {
        return Err(Error::unfit(
            "the probe sets up the pin: the core's --clock and --baud are needed",
        ));
    }
    let mut port = ProbeRs::open(selector, chip)?;
    let target = Some(port.chip());
    let program = |image| flash::program(&mut port, image, observer);
    let flashed = request.image.map(program).transpose()?;
    let mut settings = request.trace.as_ref().map(|(settings, _)| settings.clone());
    let mut kind = "probe";
    let mut programmed = false;
    let link: Box<dyn Link> = match (&request.access, &request.trace) {
        (Access::Rtt(wanted, rate), _) => {
            settings = None;
            Box::new(rtt::Polled::new(port, wanted.clone(), *rate))
        }
        (Access::Poll(how, rate), _) => {
            kind = "probe, polled";
            Box::new(Poller::open(port, *how, *rate)?)
        }
        (Access::Pin, Some((wanted, family))) => {
            let (link, granted) = Probe::open(port, wanted, family, request.reset)?;
            (settings, programmed) = (Some(granted), true);
            Box::new(link)
        }
        (Access::Pin, None) => return Err(Error::unfit("nothing was asked of the probe")),
    };
    let opened = Opened::new(link, kind, selector.unwrap_or_default());
    Ok(Opened { target, settings, programmed, flashed, ..opened })
}
