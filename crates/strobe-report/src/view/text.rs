//! A section of text: the lines as they are, the last ones if there are many.

use std::io::{self, Write};

use strobe_model::measurement::{Section, Text};

use super::{Page, View};
use crate::number::counted;
use crate::paint::Paint;
use crate::text::layout::{heading, item};
use crate::words::clean;

/// What stands before each line, so that nobody takes it for the report's.
const MARGIN: &str = "  | ";

/// The section.
pub(super) struct Lines<'a> {
    pub(super) section: &'a Section,
    pub(super) text: &'a Text,
}

impl View for Lines<'_> {
    fn write(&self, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        let (lines, top) = (&self.text.lines, page.selection.top);
        if lines.is_empty() && self.text.skipped_bytes == 0 {
            return Ok(());
        }
        heading(&self.section.title, page.options, out)?;
        let shown = if top == 0 { lines.len() } else { top.min(lines.len()) };
        let earlier = lines.len() - shown;
        let skipped = [(self.text.skipped_bytes, "earlier byte"), (earlier as u64, "earlier line")];
        let skipped = skipped.into_iter().filter(|(n, _)| *n > 0);
        let skipped: Vec<String> = skipped.map(|(n, what)| counted(n, what)).collect();
        if !skipped.is_empty() {
            item("... ", &skipped.join(" and "), Paint::Faint, page.options, out)?;
        }
        let room = page.options.style.width.saturating_sub(MARGIN.len()).max(16);
        for line in &lines[earlier..] {
            let line: Vec<char> = clean(&line.replace('\t', "    ")).chars().collect();
            if line.is_empty() {
                writeln!(out, "{}", MARGIN.trim_end())?;
            }
            for part in line.chunks(room) {
                let part: String = part.iter().collect();
                writeln!(out, "{}", format!("{MARGIN}{part}").trim_end())?;
            }
        }
        notes(self.section, page, out)
    }
}

/// What a reader should know to read a section.
pub(super) fn notes(section: &Section, page: &Page, out: &mut dyn Write) -> io::Result<()> {
    section.notes.iter().try_for_each(|note| item("", note, Paint::Faint, page.options, out))
}
