//! The verdict of a comparison: questions and their answers, before anything else.

use std::io::{self, Write};

use strobe_model::measurement::{Cell, Table};

use super::{Page, View};
use crate::text::layout::fields;

/// The rows of the section.
pub(super) struct Verdict<'a> {
    pub(super) table: &'a Table,
}

impl View for Verdict<'_> {
    fn write(&self, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        let words = |id: &str| self.table.column(id).map(|column| column.cells.as_slice());
        let [questions, answers] = ["question", "answer"].map(|id| words(id).unwrap_or_default());
        let rows = questions.iter().zip(answers);
        let rows = rows.filter_map(|(question, answer)| {
            Some((question.text()?, answer.text().map(str::to_owned)?))
        });
        let rows: Vec<(&str, String)> = rows.collect();
        if rows.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        fields(&rows, page.options, out)
    }
}

/// Whether a table is one.
pub(super) fn is_verdict(table: &Table) -> bool {
    let has = |id: &str| table.column(id).is_some();
    let all_words = table
        .columns
        .iter()
        .all(|column| column.cells.iter().all(|cell| matches!(cell, Cell::Text(_))));
    has("question") && has("answer") && all_words
}
