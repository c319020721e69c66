//! Measurements in the formats of other programs: one trait, one file for each format, and the list
//! of them.
//!
//! Formats see sections and no instruments. Those of profiles begin with `chains`, which makes
//! call chains of whatever a profile has; those of time lines with `timed`, which gives
//! everything a time in nanoseconds.

mod callgrind;
mod chains;
mod charts;
mod chrome;
mod collapsed;
mod csv;
mod ctf;
mod error;
mod firefox;
mod flame;
mod page;
mod pprof;
mod speedscope;
#[cfg(test)]
mod subjects;
mod timed;

use std::io::{self, Write};

use strobe_model::measurement::{Content, Measurement, Profile, Section, Timeline};

pub use error::ExportError;

/// A format.
pub trait Export: Sync {
    /// What it is called and what it is for.
    fn about(&self) -> About;

    /// Writes a measurement.
    ///
    /// # Errors
    /// When the measurement has not what the format takes, or when `out` cannot be written.
    fn write(
        &self,
        measurement: &Measurement,
        choice: &Choice,
        out: &mut dyn Output,
    ) -> Result<(), ExportError>;
}

/// What a format is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Its name for `--to`.
    pub name: &'static str,
    /// Other names that it goes by.
    pub aliases: &'static [&'static str],
    /// What its files end in, without the dot; none where it is a directory of several files.
    pub extension: Option<&'static str>,
    /// What it takes.
    pub takes: InputKind,
    /// Who reads it, in a line.
    pub help: &'static str,
}

/// What a format takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// Profiles.
    Profile,
    /// Time lines.
    Timeline,
    /// A profile or, where there is none, a time line.
    Either,
    /// Distributions, values over time, and curves: tables of figures with intervals.
    Figures,
    /// A profile or, where there is none, a table; without either, a time line.
    Rows,
    /// Whatever there is.
    Anything,
}

impl InputKind {
    fn profile(self) -> bool {
        matches!(self, InputKind::Profile | InputKind::Either | InputKind::Rows)
    }

    fn timeline(self) -> bool {
        matches!(self, InputKind::Timeline | InputKind::Either | InputKind::Rows)
    }
}

/// What of a measurement is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// The section; the first one that the format takes unless given.
    pub section: Option<String>,
    /// The measure of a profile, for formats that have one only, and first in those that have
    /// several.
    pub measure: Option<String>,
    /// Single places with their lines, even where there are call chains.
    pub by_place: bool,
}

impl Choice {
    /// The section that was chosen, or all of them.
    fn sections<'a>(&self, of: &'a Measurement) -> impl Iterator<Item = &'a Section> {
        let chosen = self.section.as_deref();
        of.sections.iter().filter(move |section| chosen.is_none_or(|id| id == section.id))
    }

    /// Refuses a section that the measurement does not have.
    fn check(&self, of: &Measurement) -> Result<(), ExportError> {
        match self.section.as_deref().filter(|id| of.section(id).is_none()) {
            Some(id) => Err(ExportError::no_section(id, of)),
            None => Ok(()),
        }
    }
}

/// Where files go.
pub trait Output {
    /// A file; of formats with one only, its name is empty.
    ///
    /// # Errors
    /// When it cannot be made.
    fn file(&mut self, name: &str) -> io::Result<&mut dyn Write>;
}

/// One file in memory.
impl Output for Vec<u8> {
    fn file(&mut self, _: &str) -> io::Result<&mut dyn Write> {
        Ok(self)
    }
}

/// Every format, those of profiles first.
pub static FORMATS: [&dyn Export; 11] = [
    &pprof::Pprof,
    &collapsed::Collapsed,
    &flame::FlameGraph,
    &speedscope::Speedscope,
    &firefox::Firefox,
    &callgrind::Callgrind,
    &csv::Csv,
    &chrome::Chrome,
    &ctf::Ctf,
    &charts::Charts,
    &page::Page,
];

/// The format of that name.
pub fn format(name: &str) -> Option<&'static dyn Export> {
    let is = |format: &&&dyn Export| {
        let about = format.about();
        about.name == name || about.aliases.contains(&name)
    };
    FORMATS.iter().find(is).copied()
}

/// A section that a format takes.
enum Found<'a> {
    Profile(&'a Profile),
    Timeline(&'a Timeline),
}

/// What of a measurement to export: the section that was chosen, or the first profile, or the first
/// time line.
fn find<'a>(
    measurement: &'a Measurement,
    choice: &Choice,
    about: About,
) -> Result<Found<'a>, ExportError> {
    choice.check(measurement)?;
    let sections = || choice.sections(measurement);
    let profile = sections().find_map(|section| match &section.content {
        Content::Profile(profile) if about.takes.profile() => Some(Found::Profile(profile)),
        _ => None,
    });
    let timeline = || {
        sections().find_map(|section| match &section.content {
            Content::Timeline(line) if about.takes.timeline() => Some(Found::Timeline(line)),
            _ => None,
        })
    };
    profile
        .or_else(timeline)
        .ok_or_else(|| ExportError::nothing_to_take(about, measurement, choice))
}

/// The profile for a format that takes nothing else.
fn profile<'a>(
    measurement: &'a Measurement,
    choice: &Choice,
    about: About,
) -> Result<&'a Profile, ExportError> {
    match find(measurement, choice, about)? {
        Found::Profile(profile) => Ok(profile),
        Found::Timeline(_) => Err(ExportError::nothing_to_take(about, measurement, choice)),
    }
}

/// The time line for a format that takes nothing else.
fn timeline<'a>(
    measurement: &'a Measurement,
    choice: &Choice,
    about: About,
) -> Result<&'a Timeline, ExportError> {
    match find(measurement, choice, about)? {
        Found::Timeline(timeline) => Ok(timeline),
        Found::Profile(_) => Err(ExportError::nothing_to_take(about, measurement, choice)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_name_of_its_own() {
        let mut names: Vec<&str> = Vec::new();
        for each in FORMATS {
            names.push(each.about().name);
            names.extend(each.about().aliases);
        }
        for name in &names {
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
            assert!(format(name).is_some());
        }
        assert!(format("word").is_none());
    }

    #[test]
    fn errors_name_what_is_there_and_who_takes_it() {
        let write = |measurement: &Measurement, name: &str, section: Option<&str>| {
            let choice = Choice { section: section.map(str::to_owned), ..Choice::default() };
            let format = format(name).unwrap();
            format.write(measurement, &choice, &mut Vec::new()).unwrap_err().to_string()
        };
        let mut empty = subjects::measurement();
        assert_eq!(
            write(&empty, "pprof", None),
            "pprof takes a profile, and the measurement has no sections"
        );
        empty.push("pins", "pins", Content::Table(Default::default()));
        assert_eq!(
            write(&empty, "speedscope", None),
            "speedscope takes a profile or a time line, and the measurement has a table (pins); it \
             can go to csv, page"
        );
        let line = subjects::timeline();
        assert_eq!(
            write(&line, "callgrind", None),
            "callgrind takes a profile, and the measurement has a time line (timeline); it can go \
             to speedscope, firefox, csv, chrome, ctf, charts, page"
        );
        assert_eq!(
            write(&line, "chrome", Some("heap")),
            "the measurement has no section `heap`; it has a time line (timeline)"
        );
    }
}
