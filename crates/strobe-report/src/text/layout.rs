//! The parts that every section is built from.

use std::io::{self, Write};

use crate::Options;
use crate::paint::Paint;
use crate::words::{clean, folded};

/// An empty line and a heading; what stands behind its first colon is not painted.
pub(crate) fn heading(text: &str, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    let text = clean(text);
    let strong = text.find(':').unwrap_or(text.len());
    let mut start = 0;
    for line in folded(&text, options.style.width.max(20)) {
        // The bytes of this line that come before the colon.
        let cut = strong.saturating_sub(start).min(line.len());
        let (head, rest) = line.split_at_checked(cut).unwrap_or((&line, ""));
        writeln!(out, "{}{rest}", Paint::Strong.on(head, options.style))?;
        start += line.len() + 1;
    }
    Ok(())
}

/// Lines of `label  text`, the texts aligned and wrapped.
pub(crate) fn fields(
    fields: &[(&str, String)],
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let width = fields.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    let room = options.style.width.saturating_sub(width + 4).max(20);
    for (label, text) in fields {
        let mut label = Paint::Faint.on(&format!("{label:width$}"), options.style);
        for line in folded(&clean(text), room) {
            writeln!(out, "  {label}  {line}")?;
            label = " ".repeat(width);
        }
    }
    Ok(())
}

/// A paragraph behind a mark, wrapped and indented under itself.
pub(crate) fn item(
    mark: &str,
    text: &str,
    paint: Paint,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let indent = mark.chars().count();
    let room = options.style.width.saturating_sub(indent + 2).max(20);
    let mut mark = paint.on(mark, options.style);
    for line in folded(&clean(text), room) {
        writeln!(out, "  {mark}{line}")?;
        mark = " ".repeat(indent);
    }
    Ok(())
}
