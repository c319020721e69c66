//! Whether a measurement holds together: what it refers to is there, parts add up, names are
//! unique, nothing ends before it begins.

use std::collections::HashSet;
use std::fmt;

use super::{Content, Coverage, Measurement, Quantity, SCHEMA, Section, Subject, Trust, Window};

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

/// In how many others a part may lie: no instrument nests deeper than parts of parts of parts.
pub const DEEPEST_PART: usize = 4;

impl Measurement {
    /// Whether it holds together.
    ///
    /// # Errors
    /// When an index points outside its table, columns differ in length, a figure lies outside of
    /// its bounds, parts of a whole do not add up, something ends before it begins, or two
    /// sections, figures or parts share a name.
    pub fn check(&self) -> Result<(), Broken> {
        self.check_at("", 0)
    }

    fn check_at(&self, prefix: &str, depth: usize) -> Result<(), Broken> {
        let broken = |place: String, what: String| Err(Broken { place, what });
        if self.schema != SCHEMA {
            return broken(format!("{prefix}schema"), format!("{} is not {SCHEMA}", self.schema));
        }
        if depth > DEEPEST_PART {
            return broken(format!("{prefix}parts"), "nested too deep".to_owned());
        }
        let at = |place: &str, checked: Result<(), String>| {
            checked.or_else(|what| broken(format!("{prefix}{place}"), what))
        };
        at("subject.clock", self.subject.check())?;
        at("window", self.window.check())?;
        at("coverage", self.coverage.check())?;
        if let Some(none) = self.findings.iter().find(|finding| finding.count == 0) {
            return broken(format!("{prefix}findings"), format!("{} came up 0 times", none.code));
        }
        at("totals", once(self.totals.iter().map(|total| &total.id)))?;
        at("sections", once(self.sections.iter().map(|section| &section.id)))?;
        at("parts", once(self.parts.iter().map(|part| &part.name)))?;
        for section in &self.sections {
            at(&format!("sections.{}", section.id), section.check())?;
        }
        for part in &self.parts {
            let prefix = format!("{prefix}parts.{}.", part.name);
            part.measurement.check_at(&prefix, depth + 1)?;
        }
        Ok(())
    }
}

/// Programs and people refer to things by name.
pub(super) fn once<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let mut seen = HashSet::new();
    match names.into_iter().find(|name| !seen.insert(name.as_str())) {
        Some(twice) => Err(format!("there are two of the name {twice:?}")),
        None => Ok(()),
    }
}

impl Subject {
    fn check(&self) -> Result<(), String> {
        if let Some(still) = self.clock.iter().find(|span| span.hz == 0) {
            return Err(format!("it stands still from cycle {} on", still.cycle));
        }
        match self.clock.windows(2).find(|pair| pair[0].cycle >= pair[1].cycle) {
            Some(pair) => Err(format!("cycle {} comes behind {}", pair[1].cycle, pair[0].cycle)),
            None => Ok(()),
        }
    }
}

impl Window {
    fn check(&self) -> Result<(), String> {
        let (begin, end) = (&self.begin, &self.end);
        if let (Some(begin), Some(end)) = (begin.nanoseconds, end.nanoseconds)
            && end < begin
        {
            return Err(format!("it ends at {end} nanoseconds, before it begins at {begin}"));
        }
        if let (Some(begin), Some(end)) = (begin.cycle, end.cycle)
            && end < begin
        {
            return Err(format!("it ends at cycle {end}, before it begins at {begin}"));
        }
        let least = self.duration.trust().bounds().map(|(low, _)| low);
        match least.or(self.duration.value()).filter(|least| least.as_f64() < 0.0) {
            Some(least) => Err(format!("it takes {} {}", least.as_f64(), self.duration.unit())),
            None => Ok(()),
        }
    }
}

impl Coverage {
    fn check(&self) -> Result<(), String> {
        let Coverage { whole, seen, lost, overhead } = self;
        let named = [("whole", whole), ("seen", seen), ("lost", lost), ("overhead", overhead)];
        for (name, figure) in named {
            let value = figure.as_ref().and_then(Quantity::value);
            if let Some(value) = value.filter(|value| value.as_f64() < 0.0) {
                return Err(format!("{name} is {}", value.as_f64()));
            }
        }
        let exact = |one: &Option<Quantity>| one.clone().filter(|q| *q.trust() == Trust::Exact);
        let Some(whole) = exact(whole) else { return Ok(()) };
        for (name, part) in [("seen", seen), ("lost", lost)] {
            let part = exact(part).filter(|part| part.unit() == whole.unit());
            if part.is_some_and(|part| part.value() > whole.value()) {
                return Err(format!("{name} is more than the whole"));
            }
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
