//! Where a file of the archive is: `project=…/board=…/date=…/part-….parquet`.

use std::fmt;
use std::path::Path;

/// The folders above a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Whose measurements.
    pub project: String,
    /// What was measured on.
    pub board: String,
    /// The day, as 2026-11-23.
    pub date: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "project={}/board={}/date={}", self.project, self.board, self.date)
    }
}

/// A path that is not a file of an archive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// A name that is not UTF-8.
    #[error("its name is no UTF-8")]
    NotUtf8,
    /// Another number of folders.
    #[error("it is not in a folder project=…/board=…/date=…")]
    Depth,
    /// Another extension.
    #[error("it is no .parquet file")]
    Extension,
    /// A folder without its key.
    #[error("the folder `{folder}` is not named {key}=…")]
    Folder {
        /// Name of the folder.
        folder: String,
        /// The expected key.
        key: &'static str,
    },
}

/// The value in the name of a folder `key=value`.
fn value(folder: &str, key: &'static str) -> Result<String, PlaceError> {
    let value = folder.strip_prefix(key).and_then(|rest| rest.strip_prefix('='));
    let value = value.filter(|value| !value.is_empty()).map(str::to_owned);
    value.ok_or_else(|| PlaceError::Folder { folder: folder.to_owned(), key })
}

impl Place {
    /// Reads it from a path below the archive's folder.
    ///
    /// # Errors
    /// Why it is no file of an archive.
    pub fn of(path: &Path) -> Result<Place, PlaceError> {
        let parts: Option<Vec<&str>> = path.iter().map(|part| part.to_str()).collect();
        let parts = parts.ok_or(PlaceError::NotUtf8)?;
        let [project, board, date, file] = parts.as_slice() else {
            return Err(PlaceError::Depth);
        };
        if !file.ends_with(".parquet") {
            return Err(PlaceError::Extension);
        }
        Ok(Place {
            project: value(project, "project")?,
            board: value(board, "board")?,
            date: value(date, "date")?,
        })
    }
}

/// Whether a name may be a part of a path for every engine: letters, digits, `.`, `_`, `+` and `-`,
/// the first a letter or digit. Engines escape others each in their own way.
pub fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    text.len() <= 100
        && text.chars().all(fits)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// A name made of any text, by `-` for what may not be in one.
pub fn name_of(text: &str) -> Option<String> {
    let fits = |c: char| if c.is_ascii_alphanumeric() || "._+".contains(c) { c } else { '-' };
    let name: String = text.chars().map(fits).take(100).collect();
    let name = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let name = name.trim_end_matches('-');
    is_name(name).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_are_written() {
        let place = Place {
            project: "demo".into(),
            board: "stm32f070cb".into(),
            date: "2026-11-23".into(),
        };
        let file = format!("{place}/part-1.parquet");
        assert_eq!(Place::of(Path::new(&file)), Ok(place));
        for (path, why) in [
            ("part-1.parquet", "not in a folder"),
            ("project=a/board=b/date=c/d/part-1.parquet", "not in a folder"),
            ("project=a/board=b/date=c/readme.txt", "no .parquet"),
            ("board=b/project=a/date=c/x.parquet", "`board=b` is not named project="),
            ("project=/board=b/date=c/x.parquet", "`project=` is not named"),
        ] {
            let error = Place::of(Path::new(path)).unwrap_err().to_string();
            assert!(error.contains(why), "{path}: {error}");
        }
    }

    #[test]
    fn names_fit_every_engine() {
        assert!(is_name("stm32f070cb") && is_name("v1.2+a_b-c"));
        for other in ["", ".", "..", "_a", "a/b", "a=b", "a b", "ü", &"x".repeat(101)] {
            assert!(!is_name(other), "{other}");
        }
        assert_eq!(name_of("My board/rev 2"), Some("My-board-rev-2".to_owned()));
        assert_eq!(name_of("../../etc"), Some("etc".to_owned()));
        assert_eq!(name_of("///"), None);
    }
}
