//! The stream: what its bytes were, and what could not be understood.

use std::io::{self, Write};

use strobe_model::{StreamTotals, TimeBase, Traced};

use super::super::layout::{heading, item};
use super::events::per_second;
use crate::Options;
use crate::number::{counted, grouped, share};
use crate::paint::Paint;
use crate::table::Table;

/// Packets by kind, and the books of bytes, frames and times.
pub(super) fn table(traced: &Traced, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let stream = &traced.stream;
    if stream.bytes == 0 && stream.frames.is_none() && traced.recording.is_none() {
        return Ok(());
    }
    let text = format!(
        "stream: {} in {}",
        counted(stream.packets, "packet"),
        counted(stream.bytes, "byte")
    );
    heading(&text, options, out)?;
    let mut table =
        Table::new().number("packets").number("bytes").number("share").number("rate").text("kind");
    for kind in &stream.kinds {
        table.row(vec![
            grouped(kind.packets).into(),
            grouped(kind.bytes).into(),
            share(kind.bytes, stream.bytes).into(),
            per_second(kind.packets, &traced.times).unwrap_or_default().into(),
            kind.name.as_str().into(),
        ]);
    }
    table.write(options.style, out)?;
    let bytes = format!(
        "{} = {} of packets + {} of padding + {} undecodable",
        grouped(stream.bytes),
        grouped(stream.packet_bytes),
        grouped(stream.padding_bytes),
        grouped(stream.undecodable_bytes)
    );
    item("bytes: ", &bytes, Paint::Faint, options, out)?;
    frames(stream, options, out)?;
    if stream.undecodable_bytes > 0 {
        let text = format!(
            "{} in {} belong to no packet ({}); {} from there to the next synchronisation may be wrong",
            counted(stream.undecodable_bytes, "byte"),
            counted(stream.disruptions, "place"),
            share(stream.undecodable_bytes, stream.bytes),
            counted(stream.packets_in_doubt, "packet")
        );
        item("! ", &text, Paint::Warn, options, out)?;
    }
    if let Some(times) = times(&traced.times) {
        item("times: ", &times, Paint::Faint, options, out)?;
    }
    for (note, n) in traced.recording.iter().flat_map(|recording| &recording.notes) {
        let times = if *n > 1 { format!(" ({} times)", grouped(*n)) } else { String::new() };
        item("! ", &format!("{note}{times}"), Paint::Warn, options, out)?;
    }
    Ok(())
}

fn frames(stream: &StreamTotals, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let Some(frames) = &stream.frames else { return Ok(()) };
    let text = format!(
        "{} = {} in frames + {} of synchronisation + {} of no frame; {}",
        counted(frames.bytes, "byte"),
        grouped(16 * frames.frames),
        grouped(frames.sync_bytes),
        grouped(frames.undecodable_bytes),
        counted(frames.frames, "frame"),
    );
    item("frames: ", &text, Paint::Faint, options, out)?;
    let list = frames.streams.iter().map(|(number, bytes)| {
        let read = if frames.stream == Some(*number) { ", read here" } else { "" };
        let what = if *number == 0 { " (padding)" } else { "" };
        format!("{number}{what}: {}{read}", counted(*bytes, "byte"))
    });
    item("streams: ", &list.collect::<Vec<_>>().join("; "), Paint::Faint, options, out)
}

fn times(times: &TimeBase) -> Option<String> {
    if times.local + times.global == 0 {
        return None;
    }
    let mut parts = vec![
        format!("{} known to the tick", grouped(times.exact)),
        format!("{} between two timestamps", grouped(times.between)),
    ];
    if times.unsure > 0 {
        parts.push(format!("{} after a loss, so at least what is said", grouped(times.unsure)));
    }
    if times.untimed > 0 {
        parts.push(format!("{} without", grouped(times.untimed)));
    }
    let all = times.exact + times.between + times.unsure + times.untimed;
    let mut text = format!("{} = {}", counted(all, "packet"), parts.join(" + "));
    let tick =
        times.tick_cycles.map(|n| format!("; a tick is {}", counted(n.into(), "core cycle")));
    text.push_str(&tick.unwrap_or_default());
    if times.bridged > 0 {
        text.push_str(&format!("; global timestamps closed {}", counted(times.bridged, "gap")));
    }
    Some(text)
}
