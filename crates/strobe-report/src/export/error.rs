//! Why a measurement cannot be exported.

use std::io;

use strobe_model::measurement::{Content, Measurement, Profile, Unit};
use thiserror::Error;

use super::{About, Choice, FORMATS, InputKind};

/// Why a measurement cannot be exported.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The measurement has nothing that the format takes.
    #[error("{format} takes {takes}, and the measurement has {has}{advice}")]
    NothingToTake {
        /// The format.
        format: &'static str,
        /// What it takes.
        takes: &'static str,
        /// What the measurement has.
        has: String,
        /// Which formats take that; empty or a clause of its own.
        advice: String,
    },
    /// There is no section of that name.
    #[error("the measurement has no section `{id}`; it has {has}")]
    NoSection {
        /// The name that was asked for.
        id: String,
        /// What it has.
        has: String,
    },
    /// There is no measure of that name.
    #[error("the profile has no measure `{id}`; it has {}", known.join(", "))]
    NoMeasure {
        /// The name that was asked for.
        id: String,
        /// The measures that have values.
        known: Vec<String>,
    },
    /// Viewers want seconds, and nobody knows how long a tick is.
    #[error("the time line counts {0}, and how long one takes is not known")]
    Untimed(Unit),
    /// The format has no negative values.
    #[error("{format} has no negative values, and `{measure}` has")]
    Negative {
        /// The format.
        format: &'static str,
        /// The measure.
        measure: String,
    },
    /// It cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<serde_json::Error> for ExportError {
    fn from(error: serde_json::Error) -> Self {
        ExportError::Io(error.into())
    }
}

impl ExportError {
    pub(super) fn nothing_to_take(about: About, of: &Measurement, choice: &Choice) -> Self {
        let takes = match about.takes {
            InputKind::Profile => "a profile",
            InputKind::Timeline => "a time line",
            InputKind::Either => "a profile or a time line",
            InputKind::Figures => "distributions, values over time or a curve",
            InputKind::Rows => "a profile, a table or a time line",
            InputKind::Anything => "any section",
        };
        let contents = || choice.sections(of).map(|section| &section.content);
        let profile = contents().any(|content| matches!(content, Content::Profile(_)));
        let timeline = contents().any(|content| matches!(content, Content::Timeline(_)));
        let table = contents().any(|content| matches!(content, Content::Table(_)));
        let figures = contents().any(super::charts::draws);
        let fits = |takes: InputKind| {
            (profile && takes.profile())
                || (timeline && takes.timeline())
                || (figures && takes == InputKind::Figures)
                || (table && takes == InputKind::Rows)
                || takes == InputKind::Anything
        };
        let fitting = FORMATS.iter().map(|format| format.about());
        let fitting: Vec<&str> = fitting.filter(|f| fits(f.takes)).map(|f| f.name).collect();
        let advice = match (fitting.is_empty(), contents().next()) {
            (_, None) => String::new(),
            (true, _) => "; no format takes that".to_owned(),
            (false, _) => format!("; it can go to {}", fitting.join(", ")),
        };
        ExportError::NothingToTake { format: about.name, takes, has: sections(of, choice), advice }
    }

    pub(super) fn no_section(id: &str, of: &Measurement) -> Self {
        let has = sections(of, &Choice::default());
        ExportError::NoSection { id: id.to_owned(), has }
    }

    pub(super) fn no_measure(id: &str, of: &Profile) -> Self {
        let known = of.measures.iter().filter(|measure| {
            of.leaves.of(&measure.id).or_else(|| of.chains.of(&measure.id)).is_some()
        });
        let known = known.map(|measure| measure.id.clone()).collect();
        ExportError::NoMeasure { id: id.to_owned(), known }
    }
}

/// The sections of a measurement by kind, with those of its parts.
fn sections(of: &Measurement, choice: &Choice) -> String {
    let kind = |content: &Content| match content {
        Content::Profile(_) => "a profile",
        Content::Distributions(_) => "distributions",
        Content::Timeline(_) => "a time line",
        Content::Table(_) => "a table",
        Content::Text(_) => "a text",
    };
    let each =
        choice.sections(of).map(|section| format!("{} ({})", kind(&section.content), section.id));
    let mut all: Vec<String> = each.collect();
    if all.is_empty() {
        all.push("no sections".to_owned());
    }
    if !of.parts.is_empty() {
        let names: Vec<&str> = of.parts.iter().map(|part| part.name.as_str()).collect();
        all.push(format!("parts of its own ({})", names.join(", ")));
    }
    all.join(", ")
}
