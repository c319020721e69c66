//! A profile as pprof means it: values of declared measures at locations and stacks, apart by
//! label.
//!
//! Everything is kept by columns and refers to other tables by index. Locations are instruction
//! addresses, or whole functions where no address is known; their source frames are chains,
//! innermost (inlined) first. Two sets of samples may be there: `leaves`, what each location has by
//! itself, and `chains`, what each call chain has. Of a measure that both have the sums are the
//! same.

use serde::{Deserialize, Serialize};

use super::{Address, ColumnProblem, Problem, ProfileProblem, Unit};

/// Samples and the tables they refer to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Profile {
    /// What is counted. The first one is what views show unless asked for another.
    pub measures: Vec<Measure>,
    /// Source files.
    pub files: Vec<String>,
    /// Functions.
    pub functions: Functions,
    /// Source frames.
    pub frames: Frames,
    /// Places in the code.
    pub locations: Locations,
    /// Call chains.
    pub stacks: Stacks,
    /// Labels; samples refer to them. Empty where samples are not distinguished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    /// Values by location: `at` is a location.
    pub leaves: Samples,
    /// Values by call chain: `at` is a stack; none for what belongs to a label but to no function.
    pub chains: Samples,
    /// Calls that were too deep or too many to be kept apart.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub merged_calls: u64,
}

/// Something that is counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measure {
    /// Its name for programs, as `cycles` or `fetch-wait`.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// Its unit.
    pub unit: Unit,
    /// How far its values can be trusted.
    pub kind: Kind,
    /// The measure that it is a part of, by cause or otherwise. The parts of one add up to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
}

impl Measure {
    /// A measure that is part of no other.
    pub fn new(id: &str, title: &str, unit: Unit, kind: Kind) -> Self {
        Measure { id: id.to_owned(), title: title.to_owned(), unit, kind, part: None }
    }
}

/// A measure's place among the parts of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// The whole, by its id.
    pub of: String,
    /// A letter for pictures of the parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub letter: Option<char>,
    /// Time in which nothing is done: views keep it apart from work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idle: bool,
    /// What it is, in a sentence or two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<String>,
    /// What can be done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// How far a measure's values can be trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "trust")]
pub enum Kind {
    /// Each is a count of what happened.
    Exact,
    /// Likely figures; those that are not exact have bounds.
    Modelled {
        /// Why they cannot be exact.
        why: String,
    },
    /// Counts of samples: estimates of where time went, whose interval follows from how many there
    /// are.
    Sampled {
        /// Units of time between two samples, where known.
        period: Option<u64>,
        /// What the period is counted in.
        period_unit: Option<Unit>,
    },
    /// Only what was seen.
    AtLeast,
}

/// Functions, by columns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Functions {
    /// Demangled names.
    pub name: Vec<String>,
    /// First addresses; none for functions that exist only inlined.
    pub address: Vec<Option<Address>>,
    /// Files of their definitions.
    pub file: Vec<Option<u32>>,
    /// Labels that each has as a whole, as its layer; empty where none has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Vec<u32>>,
}

/// Source frames, by columns: a chain leads from the innermost inlined function to the physical
/// one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frames {
    /// Functions.
    pub function: Vec<u32>,
    /// Files.
    pub file: Vec<Option<u32>>,
    /// Lines, from 1.
    pub line: Vec<Option<u32>>,
    /// The frame that each is inlined into; it comes before it.
    pub outer: Vec<Option<u32>>,
}

/// Places in the code, by columns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Locations {
    /// Instruction addresses; none where the whole function is meant.
    pub address: Vec<Option<Address>>,
    /// Physical functions (what the linker placed there); none for code outside every known one.
    pub function: Vec<Option<u32>>,
    /// Innermost source frames.
    pub frame: Vec<Option<u32>>,
}

/// Call chains, by columns: each is a location called from another chain, which comes before it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stacks {
    /// The caller's chain.
    pub parent: Vec<Option<u32>>,
    /// The location.
    pub location: Vec<u32>,
}

/// What distinguishes samples.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Label {
    /// `thread`, `handler`, `phase`, …
    pub key: String,
    /// Which one.
    pub value: String,
}

/// Samples, by columns: where, of whom, how much of each measure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Samples {
    /// The location or the stack.
    pub at: Vec<Option<u32>>,
    /// The label; empty where none has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub label: Vec<Option<u32>>,
    /// Values of each measure that is there; a measure that is missing is not known of these
    /// samples.
    pub values: Vec<Values>,
}

/// The values of one measure, a value for each sample.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Values {
    /// The measure's id.
    pub measure: String,
    /// The (likely) values.
    pub values: Vec<i64>,
    /// What each is where what is not known takes the least; empty where all are what they are.
    /// Each is between the least and the most of this, its value and [`Values::high`], and so is a
    /// sum between the least and the most of the three sums: where code waits, what one place takes
    /// less another may take more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub low: Vec<i64>,
    /// What each is where what is not known takes the most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub high: Vec<i64>,
}

impl Samples {
    /// Samples.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// The values of a measure.
    pub fn of(&self, measure: &str) -> Option<&Values> {
        self.values.iter().find(|values| values.measure == measure)
    }

    /// The label of a sample.
    pub fn label(&self, sample: usize) -> Option<u32> {
        self.label.get(sample).copied().flatten()
    }
}

impl Values {
    /// Their sum, which does not overflow.
    pub fn sum(&self) -> i64 {
        self.values.iter().fold(0, |sum, value| sum.saturating_add(*value))
    }

    /// What a sample's value is where what is not known takes the least, and where it takes the
    /// most; to be added up.
    pub fn ends(&self, sample: usize) -> Option<(i64, i64)> {
        Some((*self.low.get(sample)?, *self.high.get(sample)?))
    }

    /// The least and the most that a sample's value may be.
    pub fn bounds(&self, sample: usize) -> Option<(i64, i64)> {
        let (low, high) = self.ends(sample)?;
        let value = *self.values.get(sample)?;
        Some((low.min(high).min(value), high.max(low).max(value)))
    }
}

impl Profile {
    /// The measure of that name.
    pub fn measure(&self, id: &str) -> Option<&Measure> {
        self.measures.iter().find(|measure| measure.id == id)
    }

    /// The parts of a measure, in the order in which they are declared.
    pub fn parts<'a>(&'a self, of: &'a str) -> impl Iterator<Item = (&'a Measure, &'a Part)> {
        self.measures.iter().filter_map(move |measure| {
            let part = measure.part.as_ref().filter(|part| part.of == of)?;
            Some((measure, part))
        })
    }

    /// Whether any sample of a measure has a least and a most.
    pub fn has_ends(&self, measure: &str) -> bool {
        let samples = [&self.leaves, &self.chains];
        samples.into_iter().filter_map(|s| s.of(measure)).any(|values| !values.low.is_empty())
    }

    /// A function's name, or what to call code without one.
    pub fn function_name(&self, function: Option<u32>) -> &str {
        let known = function.and_then(|f| self.functions.name.get(f as usize));
        known.map_or("(no symbol)", String::as_str)
    }

    /// The function at a location.
    pub fn function_at(&self, location: u32) -> Option<u32> {
        self.locations.function.get(location as usize).copied().flatten()
    }

    /// The source frames at a location, innermost first, as indices into [`Profile::frames`].
    pub fn frames_at(&self, location: u32) -> impl Iterator<Item = usize> {
        let first = self.locations.frame.get(location as usize).copied().flatten();
        std::iter::successors(first, |frame| {
            self.frames.outer.get(*frame as usize).copied().flatten().filter(|outer| outer < frame)
        })
        .map(|frame| frame as usize)
    }

    pub(super) fn check(&self) -> Result<(), Problem> {
        let (functions, files) = (self.functions.name.len(), self.files.len());
        let (frames, locations) = (self.frames.function.len(), self.locations.address.len());
        let stacks = self.stacks.location.len();
        lengths(
            "functions",
            functions,
            &[self.functions.address.len(), self.functions.file.len()],
        )?;
        inside("functions", "file", self.functions.file.iter().flatten(), files)?;
        let labelled = &self.functions.labels;
        if !labelled.is_empty() {
            lengths("functions", functions, &[labelled.len()])?;
        }
        inside("functions", "label", labelled.iter().flatten(), self.labels.len())?;
        lengths(
            "frames",
            frames,
            &[self.frames.file.len(), self.frames.line.len(), self.frames.outer.len()],
        )?;
        inside("frames", "function", &self.frames.function, functions)?;
        inside("frames", "file", self.frames.file.iter().flatten(), files)?;
        before("frames", &self.frames.outer)?;
        lengths(
            "locations",
            locations,
            &[self.locations.function.len(), self.locations.frame.len()],
        )?;
        inside("locations", "function", self.locations.function.iter().flatten(), functions)?;
        inside("locations", "frame", self.locations.frame.iter().flatten(), frames)?;
        lengths("stacks", stacks, &[self.stacks.parent.len()])?;
        inside("stacks", "location", &self.stacks.location, locations)?;
        before("stacks", &self.stacks.parent)?;
        self.check_samples("leaves", &self.leaves, locations)?;
        self.check_samples("chains", &self.chains, stacks)?;
        self.check_sums()
    }

    fn check_samples(
        &self,
        name: &'static str,
        samples: &Samples,
        places: usize,
    ) -> Result<(), Problem> {
        let n = samples.len();
        inside(name, "place", samples.at.iter().flatten(), places)?;
        inside(name, "label", samples.label.iter().flatten(), self.labels.len())?;
        if !samples.label.is_empty() {
            lengths(name, n, &[samples.label.len()])?;
        }
        for Values { measure, values, low, high } in &samples.values {
            if self.measure(measure).is_none() {
                return Err(ProfileProblem::UnknownMeasure {
                    samples: name,
                    measure: measure.clone(),
                }
                .into());
            }
            let none = low.is_empty() && high.is_empty();
            let bounded = [low, high].map(|bounds| if none { n } else { bounds.len() });
            lengths(&format!("{name}, {measure}"), n, &[values.len(), bounded[0], bounded[1]])?;
        }
        Ok(())
    }

    /// Parts add up to their whole at every sample (those that are known to no more than it), and
    /// chains to leaves.
    fn check_sums(&self) -> Result<(), Problem> {
        for whole in &self.measures {
            for (name, samples) in [("leaves", &self.leaves), ("chains", &self.chains)] {
                let all_known = self.parts(&whole.id).all(|(m, _)| samples.of(&m.id).is_some());
                let mut parts = self.parts(&whole.id).filter_map(|(m, _)| samples.of(&m.id));
                let (Some(values), Some(first)) = (samples.of(&whole.id), parts.next()) else {
                    continue;
                };
                let parts: Vec<&Values> = std::iter::once(first).chain(parts).collect();
                for (i, value) in values.values.iter().enumerate() {
                    let sum: i128 = parts.iter().map(|part| i128::from(part.values[i])).sum();
                    let wide = i128::from(*value);
                    if sum > wide || all_known && sum != wide {
                        return Err(ProfileProblem::Parts {
                            samples: name,
                            measure: whole.id.clone(),
                            sample: i,
                            sum,
                            whole: *value,
                        }
                        .into());
                    }
                }
            }
            if let (Some(leaves), Some(chains)) =
                (self.leaves.of(&whole.id), self.chains.of(&whole.id))
                && leaves.sum() != chains.sum()
            {
                return Err(ProfileProblem::Chains {
                    measure: whole.id.clone(),
                    chains: chains.sum(),
                    leaves: leaves.sum(),
                }
                .into());
            }
        }
        Ok(())
    }
}

pub(super) fn lengths(table: &str, n: usize, others: &[usize]) -> Result<(), Problem> {
    match others.iter().find(|other| **other != n) {
        Some(&other) => {
            Err(ColumnProblem::Lengths { table: table.to_owned(), rows: n, other }.into())
        }
        None => Ok(()),
    }
}

pub(super) fn inside<'a>(
    table: &'static str,
    column: &'static str,
    indices: impl IntoIterator<Item = &'a u32>,
    length: usize,
) -> Result<(), Problem> {
    match indices.into_iter().find(|index| **index as usize >= length) {
        Some(&index) => Err(ColumnProblem::Index { table, column, index }.into()),
        None => Ok(()),
    }
}

/// What an entry refers to comes before it, which also rules out circles.
fn before(table: &'static str, parents: &[Option<u32>]) -> Result<(), Problem> {
    let late = |(i, parent): (usize, &Option<u32>)| parent.is_some_and(|p| p as usize >= i);
    match parents.iter().enumerate().position(late) {
        Some(entry) => Err(ColumnProblem::ParentOrder { table, entry }.into()),
        None => Ok(()),
    }
}
