//! Places with counts, and notes of a compiler on lines: which of the places that are run most the
//! compiler said something about.
//!
//! Lines are `place COUNT FUNCTION at FILE:LINE`, where the function begins, and `note FILE:LINE
//! TEXT`. A note belongs to the last function of its file that begins at or above it.

use strobe_model::measurement::ids;
use strobe_model::measurement::{Column, Content, Kind, Section, Table, Unit};

use super::{Error, by_function};
use crate::measurement::section;

#[derive(Debug, PartialEq, Eq)]
struct Place {
    count: u64,
    function: String,
    file: String,
    line: u32,
    notes: Vec<(u32, String)>,
}

/// All of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    all: Vec<Place>,
    /// Notes on lines of no function.
    lost: u64,
}

/// Whether it has such lines.
pub(super) fn is_list(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("place "))
}

/// `FILE:LINE`.
fn place(text: &str) -> Option<(&str, u32)> {
    let (file, line) = text.rsplit_once(':')?;
    Some((file, line.parse().ok()?))
}

impl Places {
    /// Reads them; lines of other kinds are none of ours.
    pub fn parse(text: &str) -> Result<Places, Error> {
        let mut places = Places::default();
        let mut notes = Vec::new();
        for (n, line) in text.lines().enumerate() {
            let wrong = |wanted: &str| Error::Line(n + 1, format!("expected {wanted}"));
            if let Some(rest) = line.strip_prefix("place ") {
                let of = || {
                    let (count, rest) = rest.split_once(' ')?;
                    let (function, at) = rest.rsplit_once(" at ")?;
                    let (file, line) = place(at.trim())?;
                    Some(Place {
                        count: count.parse().ok()?,
                        function: function.to_owned(),
                        file: file.to_owned(),
                        line,
                        notes: Vec::new(),
                    })
                };
                let place = of().ok_or_else(|| wrong("place COUNT FUNCTION at FILE:LINE"))?;
                places.all.push(place);
            } else if let Some(rest) = line.strip_prefix("note ") {
                let of = || {
                    let (at, text) = rest.split_once(' ')?;
                    let (file, line) = place(at)?;
                    Some((file.to_owned(), line, text.trim().to_owned()))
                };
                notes.push(of().ok_or_else(|| wrong("note FILE:LINE TEXT"))?);
            }
        }
        for (file, line, text) in notes {
            let above = places.all.iter_mut().filter(|p| p.file == file && p.line <= line);
            match above.max_by_key(|place| place.line) {
                Some(place) => place.notes.push((line, text)),
                None => places.lost += 1,
            }
        }
        places.all.sort_by(|a, b| (b.count, &a.function).cmp(&(a.count, &b.function)));
        Ok(places)
    }

    /// A profile, and the places with what the compiler said of them.
    pub fn sections(&self, variant: &str) -> Vec<Section> {
        let whole = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let names = self.all.iter().map(|place| place.function.clone()).collect();
        let counts = self.all.iter().map(|place| whole(place.count)).collect();
        let profile = by_function(names, counts, 0, ("calls", "calls", Kind::Exact));
        let sum = self.all.iter().fold(0u64, |sum, place| sum.saturating_add(place.count));
        let mut table = Table::new(vec![
            Column::figure("calls", "calls", Unit::COUNT).of(sum),
            Column::text(ids::column::FUNCTION, "function"),
            Column::text("line", "line"),
            Column::text("note", "the compiler's note"),
        ]);
        for Place { count, function, file, line, notes } in &self.all {
            let mut row = |count: strobe_model::measurement::Cell, line: u32, note: &str| {
                let at = format!("{file}:{line}");
                table.row([count, function.as_str().into(), at.as_str().into(), note.into()]);
            };
            if notes.is_empty() {
                row((*count).into(), *line, "");
            }
            for (n, (line, note)) in notes.iter().enumerate() {
                let count = if n == 0 { (*count).into() } else { Default::default() };
                row(count, *line, note);
            }
        }
        let lost = match self.lost {
            0 => String::new(),
            n => format!(" {n} notes are on lines of none of these functions."),
        };
        let note = format!("A note stands beside the function that it is about.{lost}");
        let title = format!("places of {variant}, with the compiler's notes");
        let content = Content::Profile(Box::new(profile));
        vec![
            section(&format!("profile-{variant}"), &format!("profile of {variant}"), &[], content),
            section(&format!("places-{variant}"), &title, &[&note], Content::Table(table)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "place 1 rule:count/1 at rule.erl:5\nelse\n\
                        place 1000 rule:count/2 at rule.erl:7\n\
                        note rule.erl:10 BINARY CREATED: it is used\n\
                        note rule.erl:3 on no function\nnote other.erl:9 of no file\n";

    #[test]
    fn notes_are_with_the_function_above_them() {
        let whole = super::super::measurement(LIST, "rule", "strobe").expect("places");
        whole.check().expect("it holds together");
        let places = Places::parse(LIST).expect("places");
        assert_eq!(places.all[0].function, "rule:count/2", "most calls first");
        assert_eq!(places.all[0].notes, [(10, "BINARY CREATED: it is used".to_owned())]);
        assert!(places.all[1].notes.is_empty());
        assert_eq!(places.lost, 2);
    }

    #[test]
    fn invalid_lines_are_errors_with_their_number() {
        for wrong in
            ["place x f at a:1", "place 1 f", "place 1 f at a:x", "note a TEXT", "note a:1"]
        {
            let error = Places::parse(&format!("\n{wrong}\n")).expect_err("no place");
            assert!(error.to_string().starts_with("line 2: expected"), "{error}");
        }
    }
}
