//! Links to trace pins, against peers that the tests play.

mod flash;
mod openocd;
mod plain;
mod probe;
mod rtt;
#[cfg(unix)]
mod serial;
mod target;

use std::time::{Duration, Instant};

use strobe_decode::container::Note;
use strobe_decode::trace_settings::{Encoding, Line, PcSampling, TraceSettings};
use strobe_link::trace::link::{Error, Link, ReadOutcome};

/// Samples every 1024 cycles of a core at 16 MHz, through a megabaud.
fn settings() -> TraceSettings {
    let line = Line::new(16_000_000, 1_000_000, Encoding::Nrz).expect("a whole divider");
    let mut settings = TraceSettings::new(16_000_000.try_into().expect("not zero"), line);
    settings.sampling = Some(PcSampling::nearest(1024));
    settings
}

/// When something that must happen is given up: long enough for any machine under any load, so what
/// is not there by then never comes.
const LONGEST: Duration = Duration::from_secs(600);

/// What a link brought up to a condition, its end or its failure.
#[derive(Debug, Default)]
struct Heard {
    bytes: Vec<u8>,
    notes: Vec<Note>,
    ended: bool,
    error: Option<Error>,
}

fn listen(link: &mut dyn Link, enough: impl Fn(&Heard) -> bool) -> Heard {
    let (until, mut heard) = (Instant::now() + LONGEST, Heard::default());
    while !enough(&heard) && !heard.ended && heard.error.is_none() {
        assert!(Instant::now() < until, "waited in vain: {heard:?}");
        match link.read(&mut heard.bytes, Duration::from_millis(20)) {
            Ok(ReadOutcome::Note(note)) => heard.notes.push(note),
            Ok(ReadOutcome::Ended) => heard.ended = true,
            Ok(_) => {}
            Err(error) => heard.error = Some(error),
        }
    }
    heard
}
