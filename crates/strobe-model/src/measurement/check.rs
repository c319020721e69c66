//! Whether a measurement holds together: what it refers to is there, parts add up, names are
//! unique.

use std::collections::HashSet;
use std::fmt;

use super::{Content, Measurement, SCHEMA, Section};

/// A measurement that does not hold together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The part and section, as `sections.profile`.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl std::error::Error for Broken {}

/// Parts of parts of parts; no instrument nests deeper.
const DEPTH: usize = 4;

impl Measurement {
    /// Whether it holds together.
    ///
    /// # Errors
    /// When an index points outside its table, columns differ in length, a figure lies outside of
    /// its bounds, parts of a whole do not add up, or two sections share a name.
    pub fn check(&self) -> Result<(), Broken> {
        self.check_at("", 0)
    }

    fn check_at(&self, prefix: &str, depth: usize) -> Result<(), Broken> {
        let broken = |place: String, what: String| Err(Broken { place, what });
        if self.schema != SCHEMA {
            return broken(format!("{prefix}schema"), format!("{} is not {SCHEMA}", self.schema));
        }
        if depth > DEPTH {
            return broken(format!("{prefix}parts"), "nested too deep".to_owned());
        }
        let mut seen = HashSet::new();
        for section in &self.sections {
            let place = format!("{prefix}sections.{}", section.id);
            if !seen.insert(section.id.as_str()) {
                return broken(place, "there are two of that name".to_owned());
            }
            section.check().or_else(|what| broken(place, what))?;
        }
        for part in &self.parts {
            let prefix = format!("{prefix}parts.{}.", part.name);
            part.measurement.check_at(&prefix, depth + 1)?;
        }
        Ok(())
    }
}

impl Section {
    fn check(&self) -> Result<(), String> {
        match &self.content {
            Content::Profile(profile) => profile.check(),
            Content::Distributions(all) => all.distributions.iter().try_for_each(|d| d.check()),
            Content::Timeline(timeline) => timeline.check(),
            Content::Table(table) => table.check(),
            Content::Text(_) => Ok(()),
        }
    }
}
