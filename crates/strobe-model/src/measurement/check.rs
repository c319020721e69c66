//! Whether a measurement holds together: what it refers to is there, parts add up, names are
//! unique, nothing ends before it begins.

use std::collections::HashSet;

use super::{
    Content, Coverage, InvalidMeasurement, Measurement, Problem, Quantity, SCHEMA, Section,
    Subject, Trust, Window,
};

/// In how many others a part may lie: no instrument nests deeper than parts of parts of parts.
pub const DEEPEST_PART: usize = 4;

impl Measurement {
    /// Whether it holds together.
    ///
    /// # Errors
    /// When an index points outside its table, columns differ in length, a figure lies outside of
    /// its bounds, parts of a whole do not add up, something ends before it begins, or two
    /// sections, figures or parts share a name.
    pub fn check(&self) -> Result<(), InvalidMeasurement> {
        self.check_at("", 0)
    }

    fn check_at(&self, prefix: &str, depth: usize) -> Result<(), InvalidMeasurement> {
        if self.schema != SCHEMA {
            return at(prefix, "schema", Err(Problem::Schema { version: self.schema }));
        }
        if depth > DEEPEST_PART {
            return at(prefix, "parts", Err(Problem::Depth));
        }
        at(prefix, "subject.clock", self.subject.check())?;
        at(prefix, "window", self.window.check())?;
        at(prefix, "coverage", self.coverage.check())?;
        if let Some(none) = self.findings.iter().find(|finding| finding.count == 0) {
            return at(prefix, "findings", Err(Problem::ZeroCount { code: none.code.clone() }));
        }
        at(prefix, "totals", once(self.totals.iter().map(|total| &total.id)))?;
        at(prefix, "sections", once(self.sections.iter().map(|section| &section.id)))?;
        at(prefix, "parts", once(self.parts.iter().map(|part| &part.name)))?;
        for section in &self.sections {
            at(prefix, &format!("sections.{}", section.id), section.check())?;
        }
        for part in &self.parts {
            let prefix = format!("{prefix}parts.{}.", part.name);
            part.measurement.check_at(&prefix, depth + 1)?;
        }
        Ok(())
    }
}

/// The result of a check with the place of the checked part.
fn at(prefix: &str, place: &str, checked: Result<(), Problem>) -> Result<(), InvalidMeasurement> {
    checked.map_err(|problem| InvalidMeasurement { place: format!("{prefix}{place}"), problem })
}

/// Programs and people refer to things by name.
pub(super) fn once<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), Problem> {
    let mut seen = HashSet::new();
    match names.into_iter().find(|name| !seen.insert(name.as_str())) {
        Some(twice) => Err(Problem::DuplicateName { name: twice.clone() }),
        None => Ok(()),
    }
}

impl Subject {
    fn check(&self) -> Result<(), Problem> {
        if let Some(still) = self.clock.iter().find(|span| span.hz == 0) {
            return Err(Problem::StoppedClock { cycle: still.cycle });
        }
        match self.clock.windows(2).find(|pair| pair[0].cycle >= pair[1].cycle) {
            Some(pair) => {
                let (previous, cycle) = (pair[0].cycle, pair[1].cycle);
                Err(Problem::ClockOrder { cycle, previous })
            }
            None => Ok(()),
        }
    }
}

impl Window {
    fn check(&self) -> Result<(), Problem> {
        let (begin, end) = (&self.begin, &self.end);
        if let (Some(begin), Some(end)) = (begin.nanoseconds, end.nanoseconds)
            && end < begin
        {
            return Err(Problem::TimeOrder { begin, end });
        }
        if let (Some(begin), Some(end)) = (begin.cycle, end.cycle)
            && end < begin
        {
            return Err(Problem::CycleOrder { begin, end });
        }
        let least = self.duration.trust().bounds().map(|(low, _)| low);
        match least.or(self.duration.value()).filter(|least| least.as_f64() < 0.0) {
            Some(duration) => {
                Err(Problem::NegativeDuration { duration, unit: self.duration.unit().clone() })
            }
            None => Ok(()),
        }
    }
}

impl Coverage {
    fn check(&self) -> Result<(), Problem> {
        let Coverage { whole, seen, lost, overhead } = self;
        let named = [("whole", whole), ("seen", seen), ("lost", lost), ("overhead", overhead)];
        for (name, figure) in named {
            let value = figure.as_ref().and_then(Quantity::value);
            if let Some(value) = value.filter(|value| value.as_f64() < 0.0) {
                return Err(Problem::NegativeCoverage { figure: name, value });
            }
        }
        let exact = |one: &Option<Quantity>| one.clone().filter(|q| *q.trust() == Trust::Exact);
        let Some(whole) = exact(whole) else { return Ok(()) };
        for (name, part) in [("seen", seen), ("lost", lost)] {
            let part = exact(part).filter(|part| part.unit() == whole.unit());
            if part.is_some_and(|part| part.value() > whole.value()) {
                return Err(Problem::CoverageSum { figure: name });
            }
        }
        Ok(())
    }
}

impl Section {
    fn check(&self) -> Result<(), Problem> {
        match &self.content {
            Content::Profile(profile) => profile.check(),
            Content::Distributions(all) => all.distributions.iter().try_for_each(|d| d.check()),
            Content::Timeline(timeline) => timeline.check(),
            Content::Table(table) => table.check(),
            Content::Text(_) => Ok(()),
        }
    }
}
