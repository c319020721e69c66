//! An archive of measurements as a folder: whether it is one, and what its files are.

use std::path::{Path, PathBuf};

use strobe_archive::history::Reading;
use strobe_archive::{Filter, Place, Series, Unusable};

use crate::files::{self, Kind};
use crate::{exit, version};

/// Tool and version, as measurements have it.
pub fn tool() -> String {
    format!("strobe {}", version::SHORT)
}

/// What a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// There is nothing, or an empty folder.
    Empty,
    /// It has folders of projects.
    Archive,
    /// It has files and no folder of a project.
    Other,
}

/// What a folder is.
///
/// # Errors
/// If it is no folder, or cannot be read (66).
pub fn state(directory: &Path) -> anyhow::Result<State> {
    if !directory.exists() {
        return Ok(State::Empty);
    }
    if !files::is_directory(directory)? {
        let shown = directory.display();
        return Err(exit::no_input(format!("{shown} is a file; an archive is a folder")));
    }
    let is_project = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("project="))
    };
    Ok(match files::folders(directory)?.iter().any(is_project) {
        true => State::Archive,
        false if files::below(directory)?.is_empty() => State::Empty,
        false => State::Other,
    })
}

/// The error for a folder in which there is nothing to read.
pub fn nothing(directory: &Path, state: State) -> anyhow::Error {
    let shown = directory.display();
    match state {
        State::Empty if !directory.exists() => {
            exit::no_input(format!("cannot read {shown}: there is no such folder"))
        }
        State::Empty | State::Archive => exit::data(format!(
            "{shown}: the archive is empty; add measurements with `strobe log {shown} FILE`"
        )),
        State::Other => exit::data(format!(
            "{shown} is no archive: it has no folder project=...; `strobe log` makes archives"
        )),
    }
}

/// A usable file.
pub struct Usable {
    /// Where it is, from the archive's folder on.
    pub path: PathBuf,
    /// What its folders state.
    pub place: Place,
    /// The file.
    pub file: strobe_archive::File,
}

/// Looks at every file that may have something of what is wanted; those that cannot be used are
/// noted.
///
/// # Errors
/// If the folder is no archive or empty, or none of its files can be used.
pub fn look(directory: &Path, filter: &Filter) -> anyhow::Result<(Reading, Vec<Usable>)> {
    let state = state(directory)?;
    if state != State::Archive {
        return Err(nothing(directory, state));
    }
    let mut reading = Reading {
        name: directory.file_name().map_or_else(
            || directory.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        ),
        tool: tool(),
        ..Reading::default()
    };
    let mut usable = Vec::new();
    for path in files::below(directory)? {
        let shown = path.display().to_string();
        let place = match Place::of(&path) {
            Ok(place) if !filter.wants(&place) => continue,
            Ok(place) => place,
            Err(error) => {
                reading.skipped.push((shown, error.to_string()));
                continue;
            }
        };
        match open(&directory.join(&path)) {
            Ok(file) => {
                if !file.foreign().is_empty() {
                    reading.foreign.push((shown, file.foreign().to_vec()));
                }
                reading.files += 1;
                usable.push(Usable { path, place, file });
            }
            Err(why) => reading.skipped.push((shown, why.to_string())),
        }
    }
    match (usable.is_empty(), reading.skipped.first()) {
        (false, _) => Ok((reading, usable)),
        (true, None) if filter.project.is_none() && filter.board.is_none() => {
            Err(nothing(directory, State::Empty))
        }
        (true, None) => Err(exit::data(format!(
            "{}: there is nothing of that project and board; there are {}",
            directory.display(),
            places(directory)?
        ))),
        (true, Some((file, why))) => Err(exit::data(format!(
            "{}: none of {} files can be used; {file}: {why}",
            directory.display(),
            reading.skipped.len()
        ))),
    }
}

/// The projects and boards of an archive.
fn places(directory: &Path) -> anyhow::Result<String> {
    let all = files::below(directory)?;
    let mut names: Vec<String> = all
        .iter()
        .filter_map(|path| Place::of(path).ok())
        .map(|place| format!("{} on {}", place.project, place.board))
        .collect();
    names.dedup();
    Ok(names.join(", "))
}

fn open(path: &Path) -> Result<strobe_archive::File, Unusable> {
    let file = files::open(path, &Kind::ARCHIVE);
    strobe_archive::open(file.map_err(|error| Unusable::Damaged(error.to_string()))?)
}

/// Reads all rows that are wanted.
///
/// # Errors
/// Those of [`look`].
pub fn read(directory: &Path, filter: &Filter) -> anyhow::Result<(Reading, Series)> {
    let (mut reading, usable) = look(directory, filter)?;
    let mut series = Series::default();
    for Usable { path, place, file } in usable {
        match file.each(|row| series.add(&place, filter, row)) {
            Ok(left_out) => reading.left_out += left_out,
            Err(why) => {
                let why = format!("{why}; rows before that are counted");
                reading.skipped.push((path.display().to_string(), why));
            }
        }
    }
    series.sort();
    Ok((reading, series))
}
