//! What is added to an archive at once: by `strobe log`, or by a command that has just measured.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use strobe_archive::{Figure, Origin, Place, date, figures, fingerprint, is_name, name_of, write};
use strobe_model::measurement::Measurement;
use strobe_report::file;

use super::source::Source;
use crate::archive::{self, State};
use crate::{exit, files};

/// Names that are given instead of those that are known.
#[derive(Default)]
pub struct Names<'a> {
    pub project: Option<&'a str>,
    pub board: Option<&'a str>,
    pub subject: Option<&'a str>,
}

/// Measurements that are to be added.
pub struct Entry<'a> {
    directory: &'a Path,
    names: Names<'a>,
    source: Source,
    project: String,
    time: i64,
    by_place: BTreeMap<Place, Vec<(Origin, Vec<Figure>)>>,
}

/// The board of what is read off an image: it is the same on whichever one.
const NO_BOARD: &str = "none";

/// Whether nothing ran: `strobe size` and `strobe stack`, whose instruments are `image sizes` and
/// `image stacks`.
fn is_of_image(measurement: &Measurement) -> bool {
    measurement.instrument.kind.starts_with("image ")
}

/// The error for a folder that is no archive and has something else in it.
///
/// # Errors
/// That one (64), or one that is no folder (66).
pub fn fits(directory: &Path) -> anyhow::Result<()> {
    if archive::state(directory)? == State::Other {
        return Err(exit::usage(format!(
            "{} has other files and no folder project=...: it is no archive; name a new folder",
            directory.display()
        )));
    }
    Ok(())
}

/// Whether it was stopped before its end.
pub fn is_part(measurement: &Measurement) -> bool {
    let parts = measurement.parts.iter().map(|part| &part.measurement);
    std::iter::once(measurement).chain(parts).any(|m| m.window.ended.kind == "interrupted")
}

impl<'a> Entry<'a> {
    /// Begins one, of that time or now.
    ///
    /// # Errors
    /// Names that can be no folders (64).
    pub fn new(
        directory: &'a Path,
        names: Names<'a>,
        source: Source,
        time: Option<i64>,
    ) -> anyhow::Result<Self> {
        let project = named("--project", names.project, source.project.as_deref())?;
        let (time, by_place) = (time.unwrap_or_else(now), BTreeMap::new());
        Ok(Entry { directory, names, source, project, time, by_place })
    }

    /// Adds a measurement; nothing is written yet.
    ///
    /// # Errors
    /// A board that can be no folder (64).
    pub fn add(&mut self, measurement: &Measurement) -> anyhow::Result<()> {
        let board = measurement.subject.board.as_deref();
        let board = board.or_else(|| is_of_image(measurement).then_some(NO_BOARD));
        let board = named("--board", self.names.board, board)?;
        let place = Place { project: self.project.clone(), board, date: date::day(self.time) };
        let row = (self.origin(measurement), figures(measurement));
        self.by_place.entry(place).or_default().push(row);
        Ok(())
    }

    fn origin(&self, measurement: &Measurement) -> Origin {
        let subject = &measurement.subject;
        let settings = &measurement.instrument.settings;
        let settings: String = settings.iter().map(|(name, is)| format!("{name}={is}\n")).collect();
        let source = &self.source;
        Origin {
            measurement: fingerprint(file::json(measurement).as_bytes()),
            time: self.time,
            commit: source.commit.clone(),
            commit_time: source.commit_time,
            branch: source.branch.clone(),
            subject: self.names.subject.unwrap_or(&subject.name).to_owned(),
            sha256: subject.sha256.clone(),
            build_id: subject.build_id.clone(),
            instrument: measurement.instrument.kind.clone(),
            tool: measurement.instrument.tool.clone(),
            settings: fingerprint(settings.as_bytes()),
        }
    }

    /// Writes a file for each board, and returns a line about each.
    ///
    /// # Errors
    /// What cannot be written (74).
    pub fn write(self) -> anyhow::Result<Vec<String>> {
        let mut lines = Vec::new();
        for (place, measurements) in self.by_place {
            let bytes = write(&measurements, &archive::tool())?;
            let stem = format!("part-{}-{}", self.time, std::process::id());
            let folder: PathBuf = self.directory.join(place.to_string());
            let path = files::fresh(&folder, &stem, "parquet", &bytes)?;
            let rows: usize = measurements.iter().map(|(_, figures)| figures.len()).sum();
            let (n, s) = (measurements.len(), if measurements.len() == 1 { "" } else { "s" });
            let (of, path) = (self.source.shown(), path.display());
            lines.push(format!("{n} measurement{s} {of}, {rows} figures: {path}"));
        }
        Ok(lines)
    }
}

/// What can be a part of a path: as given, or made of what is known.
fn named(option: &str, given: Option<&str>, known: Option<&str>) -> anyhow::Result<String> {
    match given {
        Some(name) if is_name(name) => Ok(name.to_owned()),
        Some(name) => Err(exit::usage(format!(
            "{option} {name}: letters, digits, `.`, `_`, `+` and `-`, the first a letter or digit, \
             100 at most: it names a folder"
        ))),
        None => Ok(known.and_then(name_of).unwrap_or_else(|| "unknown".to_owned())),
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
