//! How many samples should have come, and so how many were lost; or why nobody knows.
//!
//! Samples come at a period, so their number follows from time. There may be two clocks: the
//! target's own timestamps, and the host's. The host's is worth nothing where the bytes were read
//! from a file, or came faster than the line can bring them. By it alone no loss is exact: it is
//! another clock, and does not know when sampling began.

use crate::traced::totals::{Expected, Sampling, StreamTotals, TimeBase, Traced};
use strobe_model::measurement::Loss;
use strobe_model::number::grouped;

use super::super::{Accumulator, Settings, doubt};

/// So much faster than the line's rate (10 bits to the byte) or the target's time bytes may come,
/// in percent: buffers on the way.
const SLACK_PERCENT: u128 = 20;

/// Fewer bytes than this may have been in a buffer on the way.
const FEWEST_BYTES: u64 = 1 << 12;

/// By how many parts of the samples that are due the host's clock may be off: far more than clocks
/// are, so that buffers on the way are in it.
const ROUGH: u64 = 100;

/// How many samples should have come.
pub(super) fn expected(
    accumulator: &Accumulator,
    traced: &Traced,
    settings: &Settings,
    taken: u64,
) -> Result<Expected, String> {
    if accumulator.polled > 0 {
        return Err("samples were polled at no fixed period, so none is due at any time".to_owned());
    }
    if traced.stream.bytes == 0 && traced.stream.frames.is_none() {
        let why = "a list of samples shows neither what was lost nor over what time";
        return Err(why.to_owned());
    }
    if traced.stream.damage > 0 {
        return Err(doubt::why(traced));
    }
    let period = settings.period_cycles.filter(|period| *period > 0);
    let period = period.ok_or("the sampling period is not known (--period)")?;
    let times = &traced.times;
    let stamped = stamped(accumulator, traced, period, taken);
    if traced.window.is_some() {
        // Only timestamps show how long parts are.
        return stamped
            .ok_or_else(|| format!("how long the parts are is not known: {}", no_stamps(times)));
    }
    match stamped {
        Some(expected) if times.is_thorough() => Ok(expected),
        // A link that is full has no room for timestamps.
        stamped => match (by_host(traced, settings, period), stamped) {
            (Ok(expected), _) | (Err(_), Some(expected)) => Ok(expected),
            (Err(why), None) => Err(format!("{}, and {why}", no_stamps(times))),
        },
    }
}

/// By the target's own timestamps.
fn stamped(
    accumulator: &Accumulator,
    traced: &Traced,
    period: u64,
    taken: u64,
) -> Option<Expected> {
    let times = &traced.times;
    let cycles = times.cycles()?;
    let samples = match (&traced.window, accumulator.span) {
        (Some(window), _) => window.cycles / period,
        // Outside of the timestamps nothing is known of time.
        (None, Some((first, last))) => cycles / period + taken - (last.samples - first.samples),
        (None, None) => return None,
    };
    let at_least = times.unsure > 0 || !times.is_thorough();
    Some(Expected { samples, from: doubt::STAMPS.to_owned(), at_least })
}

fn no_stamps(times: &TimeBase) -> &'static str {
    match times {
        TimeBase { local: 0, .. } => "there are no local timestamps",
        TimeBase { tick_cycles: None, .. } => {
            "the length of a timestamp's tick is not known (--tick)"
        }
        _ => "the timestamps cover no time",
    }
}

/// By the host's clock.
fn by_host(traced: &Traced, settings: &Settings, period: u64) -> Result<Expected, &'static str> {
    let recording = traced.recording.as_ref().filter(|recording| recording.nanoseconds > 0);
    let recording = recording.ok_or("no clock of the host was recorded")?;
    let hz = settings.core_hz.ok_or("the core clock is not known (--clock)")?;
    let host = u128::from(recording.nanoseconds);
    if recording.replayed || is_too_fast(traced, settings, host) {
        return Err(
            "the bytes were replayed and not recorded as they were sent, so the host's clock is of \
             no use",
        );
    }
    // Nothing is known to have been sent before the first bytes.
    let sending = host.saturating_sub(recording.first_nanoseconds.into());
    let samples = sending * u128::from(hz) / 1_000_000_000 / u128::from(period);
    let samples = u64::try_from(samples).map_err(|_| "the host's clock is out of range")?;
    Ok(Expected { samples, from: doubt::HOST.to_owned(), at_least: false })
}

/// Whether more came in that time than the line can carry, or more of the target's own time.
fn is_too_fast(traced: &Traced, settings: &Settings, nanoseconds: u128) -> bool {
    let stream = &traced.stream;
    let bytes = stream.frames.as_ref().map_or(stream.bytes, |frames| frames.bytes);
    let most = nanoseconds * (100 + SLACK_PERCENT);
    if bytes < FEWEST_BYTES {
        return false;
    }
    let own = traced.times.cycles().and_then(|cycles| traced.times.nanoseconds(cycles));
    let bits = u128::from(bytes) * 10 * 1_000_000_000;
    own.is_some_and(|own| u128::from(own) * 100 > most)
        || settings.baud.is_some_and(|baud| bits * 100 > most * u128::from(baud))
}

/// What is missing of the samples that should have come. Where a part begins and ends between two
/// samples, one more or less is none lost.
pub(super) fn lost(
    sampling: &Sampling,
    expected: Result<&Expected, String>,
    stream: &StreamTotals,
    parts: u64,
) -> Loss {
    let expected = match expected {
        Ok(expected) => expected,
        Err(why) => return Loss::Unknown(why),
    };
    let unexplained = doubt::unexplained(expected, sampling.taken, stream, parts);
    if let Some(why) = unexplained.or_else(|| unseen(expected, sampling.taken, stream)) {
        return Loss::Unknown(why);
    }
    let is_rough = expected.from == doubt::HOST;
    let slack = if is_rough { expected.samples / ROUGH } else { 0 };
    // Samples in doubt came, if they were any.
    let lost = expected.samples.saturating_sub(sampling.taken);
    let lost = lost.saturating_sub(stream.packets_in_doubt).saturating_sub(slack);
    let lost = if lost <= parts.max(1) { 0 } else { lost };
    match lost {
        0 if stream.overflows > 0 => {
            let why = "overflow packets show that packets were lost, and nothing which ones";
            Loss::Unknown(why.to_owned())
        }
        // At least none is nothing that anybody knows.
        0 if expected.at_least || stream.packets_in_doubt > 0 => {
            let why =
                "where bytes are missing or in doubt nothing shows how many samples there were";
            Loss::Unknown(why.to_owned())
        }
        0 => Loss::Known(0),
        _ if expected.at_least || is_rough || stream.packets_in_doubt > 0 => Loss::AtLeast(lost),
        _ => Loss::Known(lost),
    }
}

/// Samples that are missing, or too many, by the host's clock, and no packet shows a loss.
fn unseen(expected: &Expected, taken: u64, stream: &StreamTotals) -> Option<String> {
    let is_seen = stream.overflows + stream.packets_in_doubt > 0;
    if expected.from != doubt::HOST || is_seen {
        return None;
    }
    let due = expected.samples;
    let what = if due > taken.saturating_add(1) {
        let (missing, due) = (grouped(due - taken), grouped(due));
        format!("{missing} of {due} samples are missing by the host's clock, and no packet shows")
    } else if taken > due.saturating_add(due / ROUGH + 2) {
        let more = grouped(taken - due);
        format!("the host's clock has no time for {more} of the samples, and no packet shows")
    } else {
        return None;
    };
    Some(format!(
        "{what} a loss: that clock is not exact, and sampling may have begun later or been off, or \
         the period or the core's clock be another one"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traced::totals::Recording;

    fn after(bytes: u64, nanoseconds: u64, replayed: bool) -> Result<Expected, String> {
        let recording = Recording { nanoseconds, replayed, ..Recording::default() };
        let stream = StreamTotals { bytes, ..StreamTotals::default() };
        let traced = Traced { stream, recording: Some(recording), ..Traced::default() };
        let settings = Settings {
            core_hz: Some(1_000_000),
            period_cycles: Some(1000),
            baud: Some(100_000),
            ..Settings::default()
        };
        expected(&Accumulator::default(), &traced, &settings, 10)
    }

    #[test]
    fn host_clock_applies_to_bytes_received_as_sent() {
        // 10,000 bytes a second is all that 100,000 baud can bring.
        let expected = after(10_000, 1_000_000_000, false).unwrap();
        assert_eq!((expected.samples, expected.at_least), (1000, false));
        for (bytes, replayed) in [(13_000, false), (10_000, true)] {
            let why = after(bytes, 1_000_000_000, replayed).unwrap_err();
            assert!(why.contains("replayed"), "{why}");
        }
        // What had piled up before the first look is no replay.
        assert!(after(4000, 100_000_000, false).is_ok());
    }

    #[test]
    fn unknown_loss_has_a_reason() {
        let sampling = Sampling { taken: 5, ..Sampling::default() };
        let no_clock = after(10_000, 0, false);
        let stream = StreamTotals::default();
        let expected = no_clock.as_ref().map_err(Clone::clone);
        let Loss::Unknown(why) = lost(&sampling, expected, &stream, 1) else {
            panic!("{no_clock:?}");
        };
        assert_eq!(why, "there are no local timestamps, and no clock of the host was recorded");
    }

    /// A firmware that sets tracing up itself begins at any time.
    #[test]
    fn by_the_hosts_clock_alone_no_loss_is_exact() {
        let of = |due, taken, overflows| {
            let stream = StreamTotals { overflows, ..StreamTotals::default() };
            let sampling = Sampling { taken, ..Sampling::default() };
            let from = doubt::HOST.to_owned();
            let expected = Expected { samples: due, from, at_least: false };
            lost(&sampling, Ok(&expected), &stream, 1)
        };
        let words = "1,608 of 3,657 samples are missing by the host's clock";
        assert!(matches!(of(3657, 2049, 0), Loss::Unknown(why) if why.contains(words)));
        let words = "has no time for 1,854 of the samples";
        assert!(matches!(of(195, 2049, 0), Loss::Unknown(why) if why.contains(words)));
        assert_eq!((of(1000, 1000, 0), of(1000, 999, 0)), (Loss::Known(0), Loss::Known(0)));
        // Overflow packets show that some are, and the clock how many about.
        assert_eq!(of(5000, 1000, 800), Loss::AtLeast(3950));
        assert!(matches!(of(5000, 4980, 3), Loss::Unknown(why) if why.contains("overflow")));
    }

    #[test]
    fn no_sample_is_due_before_the_first_bytes() {
        let recording = Recording {
            nanoseconds: 1_000_000_000,
            first_nanoseconds: 400_000_000,
            ..Recording::default()
        };
        let stream = StreamTotals { bytes: 1000, ..StreamTotals::default() };
        let traced = Traced { stream, recording: Some(recording), ..Traced::default() };
        let (core_hz, period_cycles) = (Some(1_000_000), Some(1000));
        let settings = Settings { core_hz, period_cycles, ..Settings::default() };
        let expected = expected(&Accumulator::default(), &traced, &settings, 10);
        assert_eq!(expected.map(|expected| expected.samples), Ok(600));
    }

    /// Beside a gap of unknown length the samples that timestamps show to be missing are a least,
    /// and none of them is no figure.
    #[test]
    fn a_gap_is_never_a_loss_of_none() {
        let stream = StreamTotals::default();
        let of = |samples, at_least, taken| {
            let from = doubt::STAMPS.to_owned();
            let sampling = Sampling { taken, ..Sampling::default() };
            lost(&sampling, Ok(&Expected { samples, from, at_least }), &stream, 1)
        };
        assert_eq!(of(100, false, 100), Loss::Known(0));
        assert_eq!((of(101, false, 100), of(98, false, 100)), (Loss::Known(0), Loss::Known(0)));
        let unexplained = "no packet shows a loss";
        assert!(matches!(of(120, false, 100), Loss::Unknown(why) if why.contains(unexplained)));
        assert!(matches!(of(50, false, 100), Loss::Unknown(why) if why.contains("50 of the")));
        assert_eq!(of(100, true, 80), Loss::AtLeast(20));
        assert!(matches!(of(100, true, 100), Loss::Unknown(why) if why.contains("missing")));
    }
}
