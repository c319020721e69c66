//! Profiles that other instruments write about a variant: where its samples or counts lie.
//!
//! A variant's `profile` is a command that prints one, in a form that is recognised: the report of
//! SBCL's statistical profiler, or places with counts and the compiler's notes on them.

mod places;
mod sprof;

use strobe_model::measurement::{
    Ended, Functions, Instrument, Kind, Locations, Measure, Measurement, Profile, Samples, Section,
    Subject, Unit, Values, Window,
};

/// A profile that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is in no form that is known.
    #[error("neither a report of sb-sprof (:graph) nor lines `place COUNT FUNCTION at FILE:LINE`")]
    Unknown,
    /// A line that does not fit.
    #[error("line {0}: {1}")]
    Line(usize, String),
    /// What it lacks.
    #[error("{0}")]
    Lacks(String),
}

/// Reads a profile: sections whose names end in that of the variant.
///
/// # Errors
/// With the line, where one does not fit.
pub fn sections(text: &str, variant: &str) -> Result<Vec<Section>, Error> {
    match text {
        text if sprof::is_report(text) => Ok(sprof::Report::parse(text)?.sections(variant)),
        text if places::is_list(text) => Ok(places::Places::parse(text)?.sections(variant)),
        _ => Err(Error::Unknown),
    }
}

/// Whether a text is a profile of a form that is known; its beginning is enough.
pub fn is_profile(text: &str) -> bool {
    sprof::is_report(text) || places::is_list(text)
}

/// A profile as a measurement of its own.
///
/// # Errors
/// With the line, where one does not fit.
pub fn measurement(text: &str, name: &str, tool: &str) -> Result<Measurement, Error> {
    let subject =
        Subject { kind: "program".to_owned(), name: name.to_owned(), ..Subject::default() };
    let instrument = Instrument {
        kind: if sprof::is_report(text) { "sb-sprof" } else { "counted calls" }.to_owned(),
        tool: tool.to_owned(),
        ..Instrument::default()
    };
    let window = Window::untimed("a profile has no times", Ended::default());
    let mut measurement = Measurement::new(subject, instrument, window);
    measurement.sections = sections(text, name)?;
    Ok(measurement)
}

/// A profile of whole functions; the last entry of `counts` has no function.
fn by_function(
    names: Vec<String>,
    counts: Vec<i64>,
    elsewhere: i64,
    (id, title, kind): (&str, &str, Kind),
) -> Profile {
    let n = names.len();
    let index = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let (mut at, mut values): (Vec<Option<u32>>, Vec<i64>) =
        ((0..n).map(|n| Some(index(n))).collect(), counts);
    if elsewhere > 0 {
        at.push(None);
        values.push(elsewhere);
    }
    let unit = if id == "samples" { Unit::SAMPLES } else { Unit::COUNT };
    Profile {
        measures: vec![Measure::new(id, title, unit, kind)],
        functions: Functions {
            name: names,
            address: vec![None; n],
            file: vec![None; n],
            ..Functions::default()
        },
        locations: Locations {
            address: vec![None; n],
            function: (0..n).map(|n| Some(index(n))).collect(),
            frame: vec![None; n],
        },
        leaves: Samples {
            at,
            label: Vec::new(),
            values: vec![Values { measure: id.to_owned(), values, ..Values::default() }],
        },
        ..Profile::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_than_profiles_are_refused() {
        assert_eq!(sections("", "a"), Err(Error::Unknown));
        assert_eq!(sections("PK\u{3}\u{4}", "a"), Err(Error::Unknown));
    }
}
