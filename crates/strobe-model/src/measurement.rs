//! The measurement: the one value that every instrument ends in and every view, export and
//! comparison starts from.
//!
//! It states what was measured ([`Subject`]), with what ([`Instrument`]), when ([`Window`]), how
//! much of it was seen, lost or disturbed ([`Coverage`]), and holds the figures in [`Section`]s of
//! five kinds: a [`Profile`] as pprof means it, a set of [`Distribution`]s, a [`Timeline`], a
//! [`Table`] with typed columns, a [`Text`]. Every figure is a [`Quantity`] with its unit and its
//! [`Trust`]; what is not known is [`Trust::Unknown`] with the reason, never 0. Units, measures,
//! causes and tracks are open sets that the instrument declares: a new instrument needs no new
//! type.
//!
//! A measurement that simulated boards or decoders make holds no date, no host name and no path:
//! the same input gives the same bytes.

mod balance;
mod check;
mod distribution;
mod finding;
mod form;
pub mod ids;
mod invalid;
mod profile;
mod quantity;
mod subject;
mod table;
mod timeline;
mod timeline_builder;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use balance::{Balance, Loss, Parts, Unbalanced};
pub use check::DEEPEST_PART;
pub use distribution::{Distribution, Distributions, Spread};
pub use finding::{Finding, Severity};
pub use form::Address;
pub use invalid::{
    ColumnProblem, DistributionProblem, InvalidMeasurement, Problem, ProfileProblem, SpreadProblem,
    TableProblem, TimelineProblem,
};
pub use profile::{
    Frames, Functions, Kind, Label, Locations, Measure, Part, Profile, Samples, Stacks, Values,
};
pub use quantity::{Invalid, Number, Quantity, Trust, Unit};
pub use subject::{ClockSpan, Coverage, Ended, Fact, Instrument, Moment, Subject, Window};
pub use table::{Cell, CellKind, Column, Table};
pub use timeline::{
    Counters, Extent, Gaps, Level, Moments, Spans, SummaryTrack, Timeline, Track, TrackKind,
};
pub use timeline_builder::TimelineBuilder;

/// The total of a simulated run's cycles with what the timing model of its core may be off. Two of
/// one core share that error, so comparing leaves it out.
pub const ON_A_CHIP: &str = "cycles-on-a-chip";

/// The fact of what a chip takes of each hundred cycles of the model, where the timing of the core
/// is inferred: the band of all cycles in which the core works, whoever reports them.
pub const CORE_TIMING: &str = "core timing";

/// Version of the JSON form, written as `strobe-measurement/1`; raised when a reader of the old
/// form would go wrong.
pub const SCHEMA: u32 = 1;

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measurement {
    /// `strobe-measurement/1`; see [`SCHEMA`].
    #[serde(with = "form::schema")]
    #[cfg_attr(feature = "schema", schemars(with = "form::Schema"))]
    pub schema: u32,
    /// What was measured.
    pub subject: Subject,
    /// What measured it, and how it was set.
    pub instrument: Instrument,
    /// From when to when, and why it ended.
    pub window: Window,
    /// How much was seen and lost, and what measuring cost.
    pub coverage: Coverage,
    /// Headline figures, by name.
    pub totals: Vec<Total>,
    /// Balances, each in a unit of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub balances: Vec<Balance>,
    /// Faults, warnings, notes and advice, in the order in which they should be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The figures.
    pub sections: Vec<Section>,
    /// Measurements that this one is made of: chips of a rig, sides of a comparison.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<NamedPart>,
}

/// A headline figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Total {
    /// Its name for programs, as `cycles`.
    pub id: String,
    /// Its name for people, as `cycles/instr.`.
    pub title: String,
    /// The figure.
    #[serde(flatten)]
    pub quantity: Quantity,
}

/// A measurement within another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedPart {
    /// Its name, as the rig or the comparison calls it.
    pub name: String,
    /// The measurement.
    pub measurement: Measurement,
}

/// A group of figures of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Section {
    /// Its name for programs, as `interrupts`; no two sections share one.
    pub id: String,
    /// Its heading for people, with what the figures mean, as `interrupts: cycles with all calls`.
    pub title: String,
    /// What a reader should know to read the figures, a sentence or two each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The figures.
    pub content: Content,
}

/// What a section holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// Values by place in the code, call chain and label.
    Profile(Box<Profile>),
    /// How values spread.
    Distributions(Distributions),
    /// What happened when.
    Timeline(Box<Timeline>),
    /// Rows and columns.
    Table(Table),
    /// Text as it was read or written.
    Text(Text),
}

/// Text: what a port said, source lines, an excerpt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Text {
    /// Its lines without their ends.
    pub lines: Vec<String>,
    /// Bytes in front of the first line that are not here.
    #[serde(default, skip_serializing_if = "crate::measurement::is_zero")]
    pub skipped_bytes: u64,
}

impl Measurement {
    /// An empty measurement of something.
    pub fn new(subject: Subject, instrument: Instrument, window: Window) -> Self {
        Measurement {
            schema: SCHEMA,
            subject,
            instrument,
            window,
            coverage: Coverage::default(),
            totals: Vec::new(),
            balances: Vec::new(),
            findings: Vec::new(),
            sections: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// The headline figure of that name.
    pub fn total(&self, id: &str) -> Option<&Quantity> {
        self.totals.iter().find(|total| total.id == id).map(|total| &total.quantity)
    }

    /// Adds a headline figure.
    pub fn push_total(&mut self, id: &str, title: &str, quantity: Quantity) {
        self.totals.push(Total { id: id.to_owned(), title: title.to_owned(), quantity });
    }

    /// The part of that name; a part of a part as `a/ping`.
    pub fn part(&self, name: &str) -> Option<&Measurement> {
        self.parts.iter().find_map(|part| match name.strip_prefix(&part.name)? {
            "" => Some(&part.measurement),
            rest => part.measurement.part(rest.strip_prefix('/')?),
        })
    }

    /// The names of all parts, those of parts of parts behind each.
    pub fn part_names(&self) -> Vec<String> {
        let of = |part: &NamedPart| {
            let inner = part.measurement.part_names().into_iter();
            let inner = inner.map(|name| format!("{}/{name}", part.name));
            std::iter::once(part.name.clone()).chain(inner.collect::<Vec<_>>())
        };
        self.parts.iter().flat_map(of).collect()
    }

    /// The section of that name.
    pub fn section(&self, id: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.id == id)
    }

    /// The table of that name.
    pub fn table(&self, id: &str) -> Option<&Table> {
        match &self.section(id)?.content {
            Content::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The profiles, in the order of their sections.
    pub fn profiles(&self) -> impl Iterator<Item = &Profile> {
        self.sections.iter().filter_map(|section| match &section.content {
            Content::Profile(profile) => Some(&**profile),
            _ => None,
        })
    }

    /// The time lines, in the order of their sections.
    pub fn timelines(&self) -> impl Iterator<Item = &Timeline> {
        self.sections.iter().filter_map(|section| match &section.content {
            Content::Timeline(timeline) => Some(&**timeline),
            _ => None,
        })
    }

    /// Adds a section.
    pub fn push(&mut self, id: &str, title: impl Into<String>, content: Content) -> &mut Section {
        self.sections.push(Section {
            id: id.to_owned(),
            title: title.into(),
            notes: Vec::new(),
            content,
        });
        let last = self.sections.len() - 1;
        &mut self.sections[last]
    }
}

/// Settings and facts by name.
pub type Settings = BTreeMap<String, String>;

pub(crate) fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[cfg(test)]
mod tests;
