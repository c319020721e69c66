//! A stream as a measurement: what was sampled, what else the pin, the kit or a channel brought,
//! and what became of every byte.
//!
//! Samples count samples and nothing else: cycles are there only where timestamps show how many
//! ran. Everything is there once.

mod accounts;
mod coverage;
#[cfg(test)]
mod damaged;
mod doubt;
mod events;
mod findings;
mod kit;
mod ports;
mod profile;
mod stream;
#[cfg(test)]
mod tests;

use crate::traced::record::StreamRecord;
use crate::traced::totals::{TimeBase, Traced};
use strobe_analyse::statistics::wilson;
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Content, Distribution, Distributions, Ended, Measurement, Moment, Number, Quantity,
    Spread, Subject, Trust, Unit, Window,
};

use super::doubt::is_unexplained;

/// The measurement of a record that was made from a stream.
pub(super) fn measurement(record: &StreamRecord) -> Measurement {
    let traced = &record.traced;
    let mut out = Measurement::new(
        subject(record, traced),
        record.instrument.clone(),
        window(record, traced),
    );
    totals(record, traced, &mut out);
    out.coverage = coverage::coverage(traced);
    accounts::balances(record, traced, &mut out);
    findings::findings(record, traced, &mut out);
    if traced.sampling.taken > 0 {
        profile::section(record, traced, &mut out);
    }
    events::sections(traced, &mut out);
    kit::sections(traced, &mut out);
    ports::sections(traced, &mut out);
    stream::sections(traced, &mut out);
    doubt::qualify(traced, &mut out);
    out
}

fn subject(record: &StreamRecord, traced: &Traced) -> Subject {
    let mut subject = record.subject.clone();
    subject.kind = if subject.sha256.is_none() { "trace" } else { "firmware" }.to_owned();
    if subject.name.is_empty() {
        subject.name = "trace".to_owned();
    }
    subject.facts.extend(stream::facts(traced));
    subject
}

/// Core cycles that were measured: those of the parts, if not all of the stream was.
fn cycles(traced: &Traced) -> Option<u64> {
    let all = traced.times.cycles()?;
    // Parts of a damaged stream may be longer or shorter by any time, and those without an end go
    // on to the next one.
    let is_damaged = traced.stream.damage > 0 || is_unexplained(traced);
    let is_wrong = is_damaged || doubt::loses_ends(traced);
    if traced.window.is_some() && is_wrong {
        return None;
    }
    Some(traced.window.as_ref().map_or(all, |window| window.cycles))
}

/// A figure that losses may have made too small.
fn perhaps_more(value: impl Into<Number>, unit: Unit, more: bool) -> Quantity {
    if more { Quantity::at_least(value, unit) } else { Quantity::exact(value, unit) }
}

/// The time that the host took for it, where that is the target's time as well.
fn host_nanoseconds(traced: &Traced) -> Option<u64> {
    let live = traced.recording.as_ref().filter(|recording| !recording.replayed);
    live.map(|recording| recording.nanoseconds).filter(|nanoseconds| *nanoseconds > 0)
}

/// Whether timestamps may be missing: behind losses, in a damaged stream without a sign, where
/// packets are in doubt, as before the first synchronisation, and where samples speak against them.
fn is_unsure(traced: &Traced) -> bool {
    let stream = &traced.stream;
    let in_doubt = stream.damage > 0 || stream.packets_in_doubt > 0;
    traced.times.unsure > 0 || in_doubt || is_unexplained(traced)
}

fn window(record: &StreamRecord, traced: &Traced) -> Window {
    let (kind, text) = if record.interrupted {
        ("interrupted", "reading it was stopped by the user")
    } else {
        ("end-of-recording", "the recording ends here")
    };
    let ended = Ended { kind: kind.to_owned(), text: text.to_owned(), code: None };
    let times = &traced.times;
    let own = cycles(traced).and_then(|cycles| times.nanoseconds(cycles));
    let host = host_nanoseconds(traced).filter(|_| traced.window.is_none());
    let unsure = is_unsure(traced);
    let duration = match (own, host) {
        // Timestamps that run through all of it are the better clock.
        (Some(own), None) => Some((own, unsure || !times.is_thorough())),
        (Some(own), Some(_)) if times.is_thorough() => Some((own, unsure)),
        (_, host) => host.map(|host| (host, false)),
    };
    let is_sound = traced.stream.damage == 0 && !doubt::loses_ends(traced);
    let sound = traced.window.as_ref().filter(|_| is_sound);
    let entries = sound.map(|window| window.parts);
    let Some((nanoseconds, more)) = duration else {
        return Window { entries, ..Window::untimed(untimed(traced), ended) };
    };
    let end = i64::try_from(nanoseconds).unwrap_or(i64::MAX);
    // When parts were is unknown; their length is known.
    let whole = traced.window.is_none();
    let at = |nanoseconds, cycle| Moment { nanoseconds: Some(nanoseconds), cycle };
    Window {
        begin: if whole { at(0, times.cycles().map(|_| 0)) } else { Moment::default() },
        end: if whole { at(end, times.cycles()) } else { Moment::default() },
        entries,
        duration: perhaps_more(nanoseconds, Unit::NANOSECONDS, more),
        ended,
    }
}

/// Why the duration is not known.
fn untimed(traced: &Traced) -> &'static str {
    if traced.stream.damage > 0 && traced.times.local > 0 {
        return "the stream is damaged, and timestamps may be wrong";
    }
    if doubt::loses_ends(traced) {
        return doubt::MARKS;
    }
    match &traced.times {
        TimeBase { local: 0, .. } if traced.recording.as_ref().is_some_and(|r| r.replayed) => {
            "there are no local timestamps, and the bytes were replayed from a file"
        }
        TimeBase { local: 0, .. } => "there are no local timestamps",
        TimeBase { tick_cycles: None, .. } => {
            "the length of a timestamp's tick is not known (--tick)"
        }
        TimeBase { core_hz: None, .. } => "the core clock is not known (--clock)",
        _ => "the timestamps cover no time",
    }
}

fn totals(record: &StreamRecord, traced: &Traced, out: &mut Measurement) {
    let sampling = &traced.sampling;
    if sampling.taken > 0 {
        out.push_total(
            ids::total::SAMPLES,
            "samples",
            Quantity::exact(sampling.taken, Unit::SAMPLES),
        );
    }
    if let Some(cycles) = cycles(traced) {
        let more = is_unsure(traced) || !traced.times.is_thorough();
        out.push_total(ids::total::CYCLES, "cycles", perhaps_more(cycles, Unit::CYCLES, more));
    }
    if sampling.taken > 0 {
        let idle = share(record.balance.parts().idle, sampling.taken);
        out.push_total(ids::total::IDLE, "idle", idle);
    }
    let stream = &traced.stream;
    out.push_total("bytes", "bytes", Quantity::exact(stream.bytes, Unit::BYTES));
    if stream.packets > 0 {
        out.push_total("packets", "packets", Quantity::exact(stream.packets, Unit::COUNT));
    }
    if let Some(kit) = &traced.kit {
        out.push_total("records", "records", Quantity::exact(kit.records, Unit::COUNT));
    }
}

/// A share of samples in percent, with its 95 % interval.
fn share(part: u64, n: u64) -> Quantity {
    let (low, high) = wilson(n, part);
    let percent = 100.0 * part as f64 / n.max(1) as f64;
    // The ends are rounded on their own, and may come out a hair inside.
    let (low, high) = ((low * 100.0).min(percent), (high * 100.0).max(percent));
    let trust = Trust::Sampled { n, low: low.into(), high: high.into() };
    let known = Quantity::new(Some(percent.into()), Unit::PERCENT, trust);
    known.unwrap_or_else(|invalid| Quantity::unknown(Unit::PERCENT, invalid.to_string()))
}

/// What times are counted in.
fn unit(times: &TimeBase) -> Unit {
    if times.tick_cycles.is_some() { Unit::CYCLES } else { Unit::TICKS }
}

/// A rate per second, where timestamps allow it: at most where time may be missing.
fn per_second(n: u64, traced: &Traced) -> Cell {
    let times = &traced.times;
    let cycles = times.cycles().filter(|cycles| *cycles > 0 && times.is_thorough());
    let rate =
        cycles.zip(times.core_hz).map(|(cycles, hz)| n as f64 * f64::from(hz) / cycles as f64);
    match rate {
        Some(rate) if is_unsure(traced) => {
            Cell::Figure { value: Some(rate.into()), trust: Trust::AtMost }
        }
        rate => rate.into(),
    }
}

/// The smallest, the mean, the greatest; or why there are none.
fn extremes(spread: (u64, u64, u64, u64), times: &TimeBase) -> [Cell; 3] {
    let (count, sum, min, max) = spread;
    if count == 0 {
        let why = match times.local {
            0 => "there are no local timestamps",
            _ => "none is known to the tick",
        };
        let unknown = || Quantity::unknown(unit(times), why).into();
        return [unknown(), unknown(), unknown()];
    }
    [min.into(), (sum as f64 / count as f64).into(), max.into()]
}

/// Adds distributions, if there are any.
fn distributions<'a>(
    id: &str,
    title: &str,
    times: &TimeBase,
    named: impl Iterator<Item = (&'a str, &'a Spread)>,
    out: &mut Measurement,
) {
    let one = |(name, spread): (&str, &Spread)| Distribution {
        hertz: times.core_hz.filter(|_| times.tick_cycles.is_some()).map(u64::from),
        ..Distribution::exact(name, unit(times), spread.clone())
    };
    let distributions: Vec<_> = named.filter(|(_, s)| s.count() > 0).map(one).collect();
    if !distributions.is_empty() {
        out.push(id, title, Content::Distributions(Distributions { distributions }));
    }
}
