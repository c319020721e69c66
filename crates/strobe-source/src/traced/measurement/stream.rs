//! The stream itself: packets by kind, streams of the frames, how well packets could be timed.

use crate::traced::totals::Traced;
use strobe_decode::container::Flashed;
use strobe_model::measurement::{Column, Content, Fact, Measurement, Quantity, Table, Unit, ids};

use super::{doubt, is_unsure, per_second, perhaps_more};

/// What all exact figures of a stream depend on.
const NO_CHECK_SUM: &str =
    "Packets have no check sum: a wrong bit may leave no sign, also in figures called exact.";

/// All of it.
pub(super) fn sections(traced: &Traced, out: &mut Measurement) {
    packets(traced, out);
    streams(traced, out);
    times(traced, out);
}

/// The firmware was programmed for this.
fn flashed(flashed: &Flashed) -> Vec<Fact> {
    let verified = if flashed.verified { "verified by reading back" } else { "not verified" };
    let bytes = Quantity::exact(flashed.bytes, Unit::BYTES);
    let text = format!("by {}, {verified}", flashed.by);
    let time = Quantity::exact(flashed.write_us.saturating_mul(1000), Unit::NANOSECONDS);
    let rate = flashed.bytes_per_second();
    let rate = rate.map(|rate| Quantity::exact(rate, Unit::other("bytes/s")));
    let bytes = Fact { text: Some(text), ..Fact::figure("flashed", bytes) };
    let time = Fact::figure("erasing and writing took", time);
    [bytes, time].into_iter().chain(rate.map(|rate| Fact::figure("flash rate", rate))).collect()
}

/// Clocks, and the parts that were measured if that is not everything.
pub(super) fn facts(traced: &Traced) -> Vec<Fact> {
    let times = &traced.times;
    let count = |name: &str, n: u64| Fact::figure(name, Quantity::exact(n, Unit::COUNT));
    let mut facts = Vec::new();
    if let Some(host) = traced.recording.as_ref().filter(|r| r.nanoseconds > 0) {
        let time = Quantity::exact(host.nanoseconds, Unit::NANOSECONDS);
        let name = if host.replayed { "replayed in" } else { "host's clock" };
        facts.push(Fact::figure(name, time));
    }
    facts.extend(traced.recording.iter().flat_map(|r| &r.flashed).flat_map(flashed));
    let tick = times.tick_cycles.filter(|_| times.local > 0);
    facts.extend(tick.map(|n| Fact::figure("tick", Quantity::exact(n, Unit::CYCLES))));
    let stamps = [
        ("local timestamps", times.local),
        ("global timestamps", times.global),
        ("gaps closed by global timestamps", times.bridged),
    ];
    facts.extend(stamps.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| count(name, n)));
    if times.local > 0 && times.tick_cycles.is_none() {
        let more = is_unsure(traced) || !times.is_thorough();
        let ticks = perhaps_more(times.ticks, Unit::TICKS, more);
        facts.push(Fact::figure("duration in ticks", ticks));
    }
    let Some(window) = &traced.window else { return facts };
    let mark = |mark: &Option<String>, none: &str| mark.clone().unwrap_or_else(|| none.to_owned());
    facts.push(Fact::text("from", mark(&window.from, "the beginning")));
    facts.push(Fact::text("to", mark(&window.to, "the end")));
    let marks =
        [("marks that begin a part", window.starts), ("marks that end a part", window.stops)];
    facts.extend(marks.map(|(name, n)| Fact::figure(name, doubt::marks(n, traced))));
    let between = |n, unit| doubt::between_marks(n, unit, traced);
    let losses = |n| doubt::losses(n, traced);
    let counts = [
        ("repeated marks", between(window.repeated, Unit::COUNT)),
        ("losses inside of parts", losses(window.losses_inside)),
        ("losses outside of parts", losses(window.losses_outside)),
        ("samples outside of parts", between(window.samples_outside, Unit::SAMPLES)),
    ];
    facts.extend(counts.map(|(name, figure)| Fact::figure(name, figure)));
    if window.open {
        facts.push(Fact::text("last part", "without end mark; it ends with the stream"));
    }
    facts
}

fn packets(traced: &Traced, out: &mut Measurement) {
    let stream = &traced.stream;
    if stream.kinds.is_empty() {
        return;
    }
    let mut table = Table::new(vec![
        Column::text(ids::column::KIND, "kind"),
        Column::figure("packets", "packets", Unit::COUNT),
        Column::figure(ids::column::BYTES, "bytes", Unit::BYTES).of(stream.bytes),
        Column::figure("rate", "packets/s", Unit::other("packets/s")).worth(1),
    ]);
    for kind in &stream.kinds {
        table.row([
            kind.name.as_str().into(),
            kind.packets.into(),
            kind.bytes.into(),
            per_second(kind.packets, traced),
        ]);
    }
    let section = out.push("packets", "packets of the stream", Content::Table(table));
    // Of a damaged stream a finding states as much.
    if stream.damage == 0 {
        section.notes.push(NO_CHECK_SUM.to_owned());
    }
}

fn streams(traced: &Traced, out: &mut Measurement) {
    let Some(frames) = &traced.stream.frames else { return };
    let all: u64 = frames.streams.iter().map(|(_, bytes)| bytes).sum();
    let mut table = Table::new(vec![
        Column::figure("stream", "stream", Unit::COUNT),
        Column::figure(ids::column::BYTES, "bytes", Unit::BYTES).of(all),
        Column::text("use", "use"),
    ]);
    for (number, bytes) in &frames.streams {
        let what = match (*number, frames.stream == Some(*number)) {
            (_, true) => "read here",
            (0, false) => "padding",
            (_, false) => "",
        };
        let what = Some(what).filter(|what| !what.is_empty());
        table.row([u64::from(*number).into(), (*bytes).into(), what.into()]);
    }
    let title = format!("streams of {} frames of the trace port", frames.frames);
    out.push("streams", title, Content::Table(table));
}

fn times(traced: &Traced, out: &mut Measurement) {
    let times = &traced.times;
    if times.local + times.global == 0 {
        return;
    }
    let mut table = Table::new(vec![
        Column::text("time", "time"),
        Column::figure("packets", "packets", Unit::COUNT),
    ]);
    let rows = [
        ("known to the tick", times.exact),
        ("between two timestamps", times.between),
        ("after a loss: no earlier than stated", times.unsure),
        ("unknown: no timestamp follows", times.untimed),
    ];
    for (quality, n) in rows {
        table.row([quality.into(), n.into()]);
    }
    out.push("times", "how well packets could be timed", Content::Table(table));
}
