//! What measurements on a capture have in common: which capture, how long, how fine.

use crate::pins::report::CaptureSummary;
use crate::summary::ValueSummary;
use strobe_model::measurement::{
    self, Coverage, Ended, Fact, Finding, Instrument, Measurement, Moment, Number, Quantity,
    Severity, Subject, Trust, Unit, Window,
};

/// Why times of a simulated board are not exact.
pub(crate) const MODELLED: &str =
    "waiting for flash and other times that no manual states are modelled";

const INFERRED: &str = "judging by where edges lie";

/// A measurement without figures yet.
pub(crate) fn head(capture: &CaptureSummary, notes: &[String]) -> Measurement {
    let mut facts = vec![
        Fact::text("format", &capture.format),
        Fact::text("channels", capture.channels.join(", ")),
        Fact::figure("channel count", Quantity::exact(capture.channels.len(), Unit::COUNT)),
        Fact::figure("resolution", resolution(capture)),
    ];
    if capture.resolution_inferred {
        facts.push(Fact::text("resolution from", INFERRED));
    }
    let subject = Subject {
        kind: "capture".to_owned(),
        name: capture.file.clone(),
        board: capture.simulated.as_ref().map(|simulated| simulated.board.clone()),
        facts,
        ..Subject::default()
    };
    let kind = if capture.simulated.is_some() { "simulated board" } else { "logic analyser" };
    let tool = format!("strobe {}", env!("CARGO_PKG_VERSION"));
    let instrument = Instrument { kind: kind.to_owned(), tool, ..Instrument::default() };
    let mut measurement = Measurement::new(subject, instrument, window(capture));
    let whole = if capture.cut {
        Quantity::at_least(capture.duration_ps, Unit::PICOSECONDS)
    } else {
        duration(capture)
    };
    measurement.push_total("duration", "recorded", whole.clone());
    measurement.coverage =
        Coverage { whole: Some(whole), seen: Some(duration(capture)), lost: None, overhead: None };
    let each = notes.iter().map(|note| Finding::new(Severity::Warning, "capture", note));
    measurement.findings.extend(each);
    measurement
}

/// The period of the clock that took it. The clock that edges lie on may be finer than it seems.
fn resolution(capture: &CaptureSummary) -> Quantity {
    let exact = Quantity::exact(capture.resolution_ps, Unit::PICOSECONDS);
    if !capture.resolution_inferred {
        return exact;
    }
    let value = Some(capture.resolution_ps.into());
    Quantity::new(value, Unit::PICOSECONDS, Trust::AtMost).unwrap_or(exact)
}

fn duration(capture: &CaptureSummary) -> Quantity {
    match &capture.simulated {
        Some(simulated) if simulated.is_modelled => modelled(capture.duration_ps),
        _ => resolved(capture.duration_ps, capture),
    }
}

/// Whether modelled waits are in the times of a capture.
pub(crate) fn is_modelled(capture: &CaptureSummary) -> bool {
    capture.simulated.as_ref().is_some_and(|simulated| simulated.is_modelled)
}

/// A time that modelled waits are in, without bounds.
fn modelled(ps: u64) -> Quantity {
    let value = Number::from(ps);
    let trust = Trust::Modelled { low: value, high: value, why: Some(MODELLED.to_owned()) };
    let quantity = Quantity::new(Some(value), Unit::PICOSECONDS, trust);
    quantity.unwrap_or_else(|_| Quantity::exact(value, Unit::PICOSECONDS))
}

/// The sum of times that were seen in the recording.
pub(crate) fn total(ps: u64, capture: &CaptureSummary) -> Quantity {
    let is_modelled = is_modelled(capture) && ps > 0;
    if is_modelled { modelled(ps) } else { seen(ps, Unit::PICOSECONDS, capture) }
}

/// A number of things that were seen in the recording: there were more where not all of it was
/// read.
pub(crate) fn seen(n: impl Into<Number>, unit: Unit, capture: &CaptureSummary) -> Quantity {
    if capture.cut { Quantity::at_least(n, unit) } else { Quantity::exact(n, unit) }
}

/// A time between two edges, as exact as the capture is.
pub(crate) fn resolved(ps: u64, capture: &CaptureSummary) -> Quantity {
    if is_modelled(capture) {
        return modelled(ps);
    }
    let exact = Quantity::exact(ps, Unit::PICOSECONDS);
    if capture.simulated.is_some() || capture.resolution_ps == 0 {
        return exact;
    }
    let (low, high) = (
        Number::from(ps.saturating_sub(capture.resolution_ps)),
        Number::from(ps.saturating_add(capture.resolution_ps)),
    );
    let trust = Trust::Resolution { low, high };
    Quantity::new(Some(ps.into()), Unit::PICOSECONDS, trust).unwrap_or(exact)
}

/// Times of the measurement are those of the capture's own time line, in which it may begin before
/// 0.
fn window(capture: &CaptureSummary) -> Window {
    let at = |ps: i64| Moment { nanoseconds: Some(ps.div_euclid(1000)), cycle: None };
    let end = i64::try_from(capture.duration_ps).unwrap_or(i64::MAX);
    let (kind, text) = if capture.cut {
        ("cut-short", "times go back there: what follows was not read")
    } else {
        ("end-of-file", "the recording ends")
    };
    let ended = Ended { kind: kind.to_owned(), text: text.to_owned(), code: None };
    Window {
        begin: at(capture.start_ps),
        end: at(capture.start_ps.saturating_add(end)),
        entries: None,
        duration: duration(capture),
        ended,
    }
}

/// Values that a capture's edges make, with what is not known of each.
pub(crate) fn distribution(
    values: Option<&ValueSummary>,
    name: &str,
    unit: Unit,
    capture: &CaptureSummary,
) -> Option<measurement::Distribution> {
    let mut measured = values?.measured(name, unit)?;
    if is_modelled(capture) {
        measured.why = Some(MODELLED.to_owned());
    }
    if capture.simulated.is_none() && measured.unit == Unit::PICOSECONDS {
        measured.resolution = Some(capture.resolution_ps);
    }
    Some(measured)
}
