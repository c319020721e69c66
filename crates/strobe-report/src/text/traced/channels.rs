//! What stimulus ports brought: text, messages, or bytes that only the firmware understands.

use std::io::{self, Write};

use strobe_model::{Decoded, Message, Traced};

use super::super::layout::{heading, item};
use super::events::{LINES, MOST, and_more, per_second};
use crate::Options;
use crate::number::{counted, grouped};
use crate::paint::Paint;
use crate::words::clean;

/// Stimulus ports.
pub(super) fn channels(traced: &Traced, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    if traced.channels.is_empty() {
        return Ok(());
    }
    // A channel that came alone has no packets around it.
    let alone = traced.stream.packets == 0;
    heading(if alone { "the channel" } else { "stimulus ports" }, options, out)?;
    let (shown, more) = traced.channels.split_at(traced.channels.len().min(MOST));
    for channel in shown {
        let rate = per_second(channel.bytes, &traced.times).map(|rate| format!(" ({rate})"));
        let kind = match (&channel.decoded, &channel.text) {
            (Some(decoded), _) => messages(decoded),
            (None, Some(_)) => "text".to_owned(),
            (None, None) => "binary".to_owned(),
        };
        let gaps = match channel.interrupted {
            0 => String::new(),
            n => format!(", {} where something may be missing", counted(n, "place")),
        };
        let writes = if alone {
            String::new()
        } else {
            format!(" in {}", counted(channel.packets, "write"))
        };
        let rate = rate.unwrap_or_default();
        let text = format!("{}{rate}{writes}, {kind}{gaps}", counted(channel.bytes, "byte"));
        let name = if alone { String::new() } else { format!("port {}: ", channel.port) };
        item(&name, &text, Paint::Plain, options, out)?;
        match &channel.decoded {
            Some(decoded) => {
                account(channel.bytes, decoded, options, out)?;
                let lines = decoded.last.iter().map(line).collect::<Vec<_>>();
                lines_of(&lines, decoded.earlier > 0, "--format json has more", out)?;
            }
            None => {
                let lines: Vec<_> = channel.text.iter().flat_map(|t| t.lines()).collect();
                let all = format!("--port {}=FILE keeps all", channel.port);
                lines_of(&lines, channel.text_skipped > 0, &all, out)?;
            }
        }
    }
    and_more(more.len(), "port", out)
}

/// The last lines; `all` says where there are others.
fn lines_of(
    lines: &[impl AsRef<str>],
    is_cut: bool,
    all: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let skipped = lines.len().saturating_sub(LINES);
    if skipped > 0 || is_cut {
        writeln!(out, "    ... the last lines ({all}):")?;
    }
    lines[skipped..].iter().try_for_each(|line| writeln!(out, "    | {}", clean(line.as_ref())))
}

/// What the channel says in its own format.
fn messages(decoded: &Decoded) -> String {
    let levels = decoded.levels.iter().map(|(level, n)| match level.as_str() {
        "" => format!("{} without level", grouped(*n)),
        level => format!("{} {level}", grouped(*n)),
    });
    let levels = levels.collect::<Vec<_>>().join(", ");
    let levels = if levels.is_empty() { levels } else { format!(" ({levels})") };
    let (format, encoding) = (&decoded.format, &decoded.encoding);
    format!("{format}, {encoding}: {}{levels}", counted(decoded.messages, "message"))
}

/// The books of the channel's bytes.
fn account(
    bytes: u64,
    decoded: &Decoded,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let text = format!(
        "{} = {} of messages + {} between them + {} malformed + {} of one without end",
        counted(bytes, "byte"),
        grouped(decoded.message_bytes),
        grouped(decoded.separator_bytes),
        grouped(decoded.malformed_bytes),
        grouped(decoded.trailing_bytes)
    );
    item("  ", &text, Paint::Faint, options, out)?;
    if decoded.malformed > 0 {
        let rest = if decoded.stopped {
            "; the encoding has no marks to go on from, so nothing behind it is understood"
        } else {
            ""
        };
        let text = format!(
            "{} that this firmware cannot have sent like that{rest}",
            counted(decoded.malformed, "frame")
        );
        item("  ! ", &text, Paint::Warn, options, out)?;
    }
    if decoded.doubtful > 0 {
        let text = format!(
            "{} with a loss in it or before it may be wrong, [lost?] below",
            counted(decoded.doubtful, "message")
        );
        item("  ! ", &text, Paint::Warn, options, out)?;
    }
    Ok(())
}

/// A message in one line.
pub(super) fn line(message: &Message) -> String {
    let mut out = String::new();
    if message.doubtful {
        out.push_str("[lost?] ");
    }
    if let Some(time) = &message.time {
        out.push_str(&format!("{time} "));
    }
    if let Some(level) = &message.level {
        out.push_str(&format!("{:<5} ", level.to_uppercase()));
    }
    out.push_str(&message.text);
    if let Some((file, line)) = &message.place {
        out.push_str(&format!("  ({file}:{line})"));
    }
    out
}
