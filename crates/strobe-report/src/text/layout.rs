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

/// What texts beside labels have at least.
const MIN_TEXT: usize = 20;

/// Lines of `label  text`, the texts aligned and wrapped. Where a label leaves no room for them, it
/// has a line of its own.
pub(crate) fn fields(
    fields: &[(&str, String)],
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let most = options.style.width.saturating_sub(MIN_TEXT + 4);
    let lengths = fields.iter().map(|(label, _)| label.chars().count());
    let width = lengths.filter(|length| *length <= most).max().unwrap_or(0);
    let room = options.style.width.saturating_sub(width + 4).max(MIN_TEXT);
    for (label, text) in fields {
        let mut shown = Paint::Faint.on(&format!("{label:width$}"), options.style);
        if label.chars().count() > width {
            for line in folded(label, options.style.width.saturating_sub(2).max(MIN_TEXT)) {
                writeln!(out, "  {}", Paint::Faint.on(line.trim_end(), options.style))?;
            }
            shown = " ".repeat(width);
        }
        for line in folded(&clean(text), room) {
            writeln!(out, "  {shown}  {line}")?;
            shown = " ".repeat(width);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Style;

    #[test]
    fn a_long_label_takes_no_room_from_the_texts() {
        let options = Options { style: Style { colour: false, width: 50 }, quiet: false };
        let long = "flash that entry points lead to, by references";
        let all = [("RAM", "136 bytes".to_owned()), (long, "4,980 bytes".to_owned())];
        let mut out = Vec::new();
        fields(&all, &options, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, format!("  RAM  136 bytes\n  {long}\n       4,980 bytes\n"));
    }
}
