//! The firmware's own records: marks, regions, values and channels by the names that it gives them.

use crate::exception::exception_name;
use crate::traced::kit::model::Kit;
use crate::traced::totals::{TimeBase, Traced};
use strobe_decode::kit::Transport;
use strobe_model::measurement::{Cell, Column, Content, Measurement, Table, Unit, ids};

use super::events::{Series, series, some};
use super::ports::text;
use crate::archive::measurement::{Callers, HeapView};

use super::{distributions, extremes, unit};

/// All of them.
pub(super) fn sections(traced: &Traced, out: &mut Measurement) {
    let Some(kit) = &traced.kit else { return };
    let times = &traced.times;
    summary(kit, out);
    regions(kit, times, out);
    marks(kit, times, out);
    values(kit, times, out);
    channels(kit, out);
    heap(kit, times, out);
}

/// What its allocators reported.
fn heap(kit: &Kit, times: &TimeBase, out: &mut Measurement) {
    let Some(heap) = &kit.heap else { return };
    let is_timed = times.tick_cycles.is_some() && times.core_hz.is_some();
    let are_threads_known = !heap.names.is_empty();
    // Else threads are one caller.
    let (title, thread, handler) = if are_threads_known {
        ("thread", "thread", "handler")
    } else {
        ("context", "context", "context")
    };
    let name = |number: i64| match (u16::try_from(number), heap.names.get(&number)) {
        (_, Some(name)) => (thread, name.clone()),
        (Ok(0), _) => (thread, "threads".to_owned()),
        (Ok(number), _) => (handler, exception_name(number)),
        (Err(_), _) => (thread, number.to_string()),
    };
    let view = HeapView {
        heap,
        unit: if is_timed { Unit::NANOSECONDS } else { unit(times) },
        since: &|at| at.map_or(Cell::Empty, Cell::from),
        who: Callers { title, name: &name, have_frees: true },
        uncertain: "records of the kit are missing, of allocations or frees perhaps",
    };
    view.push(out);
    let threads = out.sections.iter_mut().find(|section| section.id == ids::section::HEAP_THREADS);
    if let Some(section) = threads.filter(|_| are_threads_known && kit.losses > 0) {
        section.notes.push(
            "Behind missing records the thread is unknown until the next record of one. A thread \
             that began where they are missing may have the name of the one before with its \
             handle."
                .to_owned(),
        );
    }
}

fn summary(kit: &Kit, out: &mut Measurement) {
    let count = |id, title| Column::figure(id, title, Unit::COUNT);
    let mut table = Table::new(vec![
        Column::text("transport", "transport"),
        count("records", "records"),
        count("missing", "missing"),
        count("places", "places"),
        count("restarts", "restarts"),
        count("unusable", "unusable"),
    ]);
    let transport = match kit.way {
        Transport::Itm => format!("stimulus port {}", kit.port),
        Transport::Rtt => "RTT".to_owned(),
        Transport::Bytes => "bytes".to_owned(),
    };
    table.row([
        transport.into(),
        kit.records.into(),
        kit.lost.into(),
        kit.losses.into(),
        kit.restarts.into(),
        kit.unusable.into(),
    ]);
    out.push("kit-records", "the firmware's own records", Content::Table(table));
}

fn regions(kit: &Kit, times: &TimeBase, out: &mut Measurement) {
    if kit.regions.is_empty() {
        return;
    }
    let time = |id, title| Column::figure(id, title, unit(times));
    let count = |id, title| Column::figure(id, title, Unit::COUNT);
    let mut table = Table::new(vec![
        Column::text("region", "region"),
        count("id", "id").worth(1),
        count("begun", "begun"),
        count("ended", "ended"),
        count("unmatched", "unmatched"),
        count("exact", "exact"),
        time("min", "min"),
        time("mean", "mean"),
        time("max", "max"),
        count("vague", "vague"),
        time("at-most", "at most"),
    ]);
    for r in &kit.regions {
        let [min, mean, max] = extremes((r.timed, r.sum, r.shortest, r.longest), times);
        table.row([
            r.name.as_str().into(),
            u64::from(r.id).into(),
            r.begun.into(),
            r.ended.into(),
            r.unmatched.into(),
            r.timed.into(),
            min,
            mean,
            max,
            r.vague.into(),
            some(r.at_most, r.timed + r.vague),
        ]);
    }
    let title = "regions: time from begin to end, with all that interrupted them";
    out.push("kit-regions", title, Content::Table(table));
    let named = kit.regions.iter().map(|r| (r.name.as_str(), &r.times));
    distributions("kit-durations", "times of regions", times, named, out);
}

fn marks(kit: &Kit, times: &TimeBase, out: &mut Measurement) {
    if kit.marks.is_empty() {
        return;
    }
    let time = |id, title| Column::figure(id, title, unit(times));
    let count = |id, title| Column::figure(id, title, Unit::COUNT);
    let mut table = Table::new(vec![
        Column::text("mark", "mark"),
        count("id", "id").worth(1),
        count("count", "count"),
        count("exact", "exact"),
        time("min", "min"),
        time("mean", "mean"),
        time("max", "max"),
        count("vague", "vague"),
    ]);
    for m in &kit.marks {
        let [min, mean, max] = extremes((m.timed, m.sum, m.shortest, m.longest), times);
        table.row([
            m.name.as_str().into(),
            u64::from(m.id).into(),
            m.count.into(),
            m.timed.into(),
            min,
            mean,
            max,
            m.vague.into(),
        ]);
    }
    out.push("kit-marks", "marks: time from one to the next", Content::Table(table));
    let named = kit.marks.iter().map(|m| (m.name.as_str(), &m.times));
    distributions("kit-intervals", "times between marks", times, named, out);
}

fn values(kit: &Kit, times: &TimeBase, out: &mut Measurement) {
    let count = |id, title| Column::figure(id, title, Unit::COUNT);
    let mut table = Table::new(vec![
        Column::text("value", "value"),
        count("id", "id").worth(1),
        count("count", "count"),
        count("first", "first"),
        count("min", "min"),
        count("max", "max"),
        count("last", "last"),
    ]);
    for v in &kit.values {
        table.row([
            v.name.as_str().into(),
            u64::from(v.id).into(),
            v.count.into(),
            v.values.first().map(|(_, first)| *first).into(),
            v.min.into(),
            v.max.into(),
            v.last.into(),
        ]);
    }
    if !table.is_empty() {
        out.push("kit-values", "values", Content::Table(table));
    }
    let all = kit.values.iter().map(|v| Series {
        name: &v.name,
        number: v.id.into(),
        values: v.values.clone(),
        more: v.count.saturating_sub(v.values.len() as u64),
    });
    series("kit-timeline", "values over time", times, all.collect(), &kit.lost_at, out);
}

fn channels(kit: &Kit, out: &mut Measurement) {
    if kit.channels.is_empty() {
        return;
    }
    let mut table = Table::new(vec![
        Column::text("channel", "channel"),
        Column::figure("id", "id", Unit::COUNT).worth(1),
        Column::figure(ids::column::BYTES, "bytes", Unit::BYTES),
        Column::text("content", "content"),
        Column::figure("interrupted", "interrupted", Unit::COUNT),
    ]);
    for c in &kit.channels {
        let content = if c.text.is_some() { "text" } else { "binary" };
        table.row([
            c.name.as_str().into(),
            u64::from(c.id).into(),
            c.bytes.into(),
            content.into(),
            c.interrupted.into(),
        ]);
    }
    out.push("kit-channels", "channels", Content::Table(table));
    for c in &kit.channels {
        let title = format!("channel {}", c.name);
        text(&format!("kit-channel-{}", c.id), title, c.text.as_deref(), c.text_skipped, out);
    }
}
