//! A profile as formats want it: values of several measures by call chain, with time in which
//! nothing was done in a frame of its own.
//!
//! Of each measure the call chains are taken or, where it has none, the single places, which are
//! chains of inlined frames. Both have the same sum, so what a format adds up to is what the
//! profile has.

use std::borrow::Cow;

use strobe_model::measurement::{Measure, Profile, Samples};

use super::{Choice, ExportError};

/// Values by call chain.
pub(super) struct Chains<'a> {
    pub profile: &'a Profile,
    /// The measures that have values, the chosen one first.
    pub measures: Vec<&'a Measure>,
    pub samples: Vec<Sample>,
}

/// Values of one call chain.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub at: At,
    /// The measure, as an index, if this is its time in which nothing was done.
    pub idle: Option<u32>,
    pub label: Option<u32>,
    /// A value for each measure.
    pub values: Vec<i64>,
}

/// Where a sample is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum At {
    Nowhere,
    Location(u32),
    Stack(u32),
}

/// Who a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Name {
    /// A label, as the root.
    Label(u32),
    Function(u32),
    NoSymbol,
    NoFunction,
    /// Time in which nothing is done, by its measure.
    Idle(u32),
}

/// A frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    pub name: Name,
    pub file: Option<u32>,
    pub line: Option<u32>,
}

impl From<Name> for Frame {
    fn from(name: Name) -> Self {
        Frame { name, file: None, line: None }
    }
}

impl<'a> Chains<'a> {
    /// The chains of a profile; of its places where they are wanted or where there are no chains.
    pub fn new(profile: &'a Profile, choice: &Choice) -> Result<Self, ExportError> {
        let (first, then) = if choice.by_place {
            (&profile.leaves, &profile.chains)
        } else {
            (&profile.chains, &profile.leaves)
        };
        let has = |of: &Samples, measure: &Measure| of.of(&measure.id).is_some();
        let mut measures: Vec<&Measure> =
            profile.measures.iter().filter(|m| has(first, m) || has(then, m)).collect();
        if let Some(id) = &choice.measure {
            let chosen = measures.iter().position(|measure| measure.id == *id);
            let chosen = chosen.ok_or_else(|| ExportError::no_measure(id, profile))?;
            measures[..=chosen].rotate_right(1);
        }
        let mut chains = Chains { profile, measures, samples: Vec::new() };
        let (of_first, of_then): (Vec<usize>, Vec<usize>) =
            (0..chains.measures.len()).partition(|i| has(first, chains.measures[*i]));
        let place =
            |index: u32| if choice.by_place { At::Location(index) } else { At::Stack(index) };
        let other =
            |index: u32| if choice.by_place { At::Stack(index) } else { At::Location(index) };
        chains.take(first, &of_first, place);
        chains.take(then, &of_then, other);
        Ok(chains)
    }

    /// The values of some measures.
    fn take(&mut self, from: &Samples, measures: &[usize], place: impl Fn(u32) -> At) {
        let wholes = self.idle_of(measures);
        for (i, at) in from.at.iter().enumerate() {
            let mut sample = Sample {
                at: at.map_or(At::Nowhere, &place),
                idle: None,
                label: from.label(i),
                values: vec![0; self.measures.len()],
            };
            let mut idle = Vec::new();
            for measure in measures {
                let values = from.of(&self.measures[*measure].id);
                sample.values[*measure] =
                    values.and_then(|v| v.values.get(i)).copied().unwrap_or(0);
            }
            for (part, whole) in &wholes {
                let value = std::mem::take(&mut sample.values[*part]);
                let mut values = vec![0; self.measures.len()];
                values[*part] = value;
                if let Some(whole) = whole {
                    values[*whole] = value;
                    sample.values[*whole] = sample.values[*whole].saturating_sub(value);
                }
                idle.push(Sample { idle: Some(*part as u32), values, ..sample.clone() });
            }
            idle.push(sample);
            self.samples.extend(idle.into_iter().filter(|s| s.values.iter().any(|v| *v != 0)));
        }
    }

    /// Of some measures those in which nothing is done, each with what it is a part of.
    fn idle_of(&self, measures: &[usize]) -> Vec<(usize, Option<usize>)> {
        let part = |i: &usize| {
            let part = self.measures[*i].part.as_ref().filter(|part| part.idle)?;
            let whole = measures.iter().find(|whole| self.measures[**whole].id == part.of);
            Some((*i, whole.copied()))
        };
        measures.iter().filter_map(part).collect()
    }

    /// Whether a format without negative values can have all of a measure.
    ///
    /// # Errors
    /// When a value is negative.
    pub fn without_negative(
        &self,
        measures: &[usize],
        format: &'static str,
    ) -> Result<(), ExportError> {
        let negative = |i: &&usize| self.samples.iter().any(|sample| sample.values[**i] < 0);
        match measures.iter().find(negative) {
            Some(i) => {
                let measure = self.measures[*i].id.clone();
                Err(ExportError::Negative { format, measure })
            }
            None => Ok(()),
        }
    }

    /// The sum of a measure.
    pub fn total(&self, measure: usize) -> i128 {
        self.samples.iter().map(|sample| i128::from(sample.values[measure])).sum()
    }

    /// The samples of each label, in the order of the labels; those without one are last.
    pub fn by_label(&self) -> Vec<(Option<u32>, Vec<&Sample>)> {
        let mut samples: Vec<&Sample> = self.samples.iter().collect();
        samples.sort_by_key(|sample| sample.label.unwrap_or(u32::MAX));
        let groups = samples.chunk_by(|a, b| a.label == b.label);
        groups.map(|group| (group[0].label, group.to_vec())).collect()
    }

    /// The frames of a sample, the outermost first, below its label if that is wanted.
    pub fn frames(&self, sample: &Sample, labelled: bool) -> Vec<Frame> {
        let mut frames = Vec::new();
        if let Some(label) = sample.label.filter(|_| labelled) {
            frames.push(Name::Label(label).into());
        }
        match sample.at {
            At::Nowhere if frames.is_empty() => frames.push(Name::NoFunction.into()),
            At::Nowhere => {}
            At::Location(location) => self.inlined(location, &mut frames),
            At::Stack(stack) => {
                for location in self.locations(stack).into_iter().rev() {
                    self.inlined(location, &mut frames);
                }
            }
        }
        frames.extend(sample.idle.map(|measure| Frame::from(Name::Idle(measure))));
        frames
    }

    /// The locations of a call chain, the innermost first.
    pub fn locations(&self, stack: u32) -> Vec<u32> {
        let stacks = &self.profile.stacks;
        let parent = |stack: &u32| {
            stacks.parent.get(*stack as usize).copied().flatten().filter(|parent| parent < stack)
        };
        let chain = std::iter::successors(Some(stack), parent);
        chain.filter_map(|stack| self.location(stack)).collect()
    }

    /// The innermost location of a call chain.
    pub fn location(&self, stack: u32) -> Option<u32> {
        self.profile.stacks.location.get(stack as usize).copied()
    }

    /// The frames at a location, the outermost first.
    fn inlined(&self, location: u32, frames: &mut Vec<Frame>) {
        let table = &self.profile.frames;
        let first = frames.len();
        for frame in self.profile.frames_at(location) {
            let name = Name::Function(table.function[frame]);
            frames.push(Frame { name, file: table.file[frame], line: table.line[frame] });
        }
        frames[first..].reverse();
        if frames.len() == first {
            frames.push(self.physical(location).into());
        }
    }

    /// The function that a location is in, whatever is inlined there.
    pub fn physical(&self, location: u32) -> Name {
        self.profile.function_at(location).map_or(Name::NoSymbol, Name::Function)
    }

    /// What to call a frame.
    pub fn name(&self, name: Name) -> Cow<'a, str> {
        match name {
            Name::Label(label) => match self.profile.labels.get(label as usize) {
                Some(label) => format!("{} {}", label.key, label.value).into(),
                None => "".into(),
            },
            Name::Function(function) => self.profile.function_name(Some(function)).into(),
            Name::NoSymbol => self.profile.function_name(None).into(),
            Name::NoFunction => "(no function)".into(),
            Name::Idle(measure) => match self.measures.get(measure as usize) {
                Some(measure) => format!("({})", measure.id).into(),
                None => "(idle)".into(),
            },
        }
    }

    /// A label, or what to call samples without one.
    pub fn label(&self, label: Option<u32>) -> Cow<'a, str> {
        label.map_or(Cow::Borrowed("no label"), |label| self.name(Name::Label(label)))
    }

    /// The file of a frame: its own, or its function's.
    pub fn file(&self, frame: &Frame) -> Option<&'a str> {
        let of_function = match frame.name {
            Name::Function(f) => self.profile.functions.file.get(f as usize).copied().flatten(),
            _ => None,
        };
        let file = frame.file.or(of_function)?;
        self.profile.files.get(file as usize).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::super::subjects;
    use super::*;

    fn lines(profile: &Profile, choice: &Choice) -> Vec<String> {
        let chains = Chains::new(profile, choice).unwrap();
        let line = |sample: &Sample| {
            let frames = chains.frames(sample, true);
            let names: Vec<_> = frames.iter().map(|frame| chains.name(frame.name)).collect();
            format!("{} {:?}", names.join(">"), sample.values)
        };
        chains.samples.iter().map(line).collect()
    }

    /// Measures are cycles, execute, asleep, executions; the last of them is known by place only.
    #[test]
    fn places_stand_in_where_chains_are_missing() {
        let profile = subjects::run();
        let found = lines(&profile, &Choice::default());
        assert_eq!(
            found[..4],
            [
                "thread main>main [100, 100, 0, 0]",
                "thread main>main>wait>(asleep) [400, 0, 400, 0]",
                "thread main>main>wait [50, 50, 0, 0]",
                "handler SysTick>tick [30, 30, 0, 0]",
            ]
        );
        assert!(found.contains(&"thread main>main>get [0, 0, 0, 60]".to_owned()), "{found:#?}");
    }

    #[test]
    fn places_have_their_inlined_frames() {
        let choice = Choice { by_place: true, ..Choice::default() };
        let found = lines(&subjects::run(), &choice);
        assert!(found.contains(&"thread main>main>get [60, 60, 0, 60]".to_owned()), "{found:#?}");
        assert!(found.contains(&"thread main>wait>(asleep) [400, 0, 400, 0]".to_owned()));
    }

    #[test]
    fn sums_are_the_profiles() {
        let profile = subjects::run();
        for by_place in [false, true] {
            let chains = Chains::new(&profile, &Choice { by_place, ..Choice::default() }).unwrap();
            for (i, measure) in chains.measures.iter().enumerate() {
                assert_eq!(
                    chains.total(i),
                    subjects::total(&profile, &measure.id),
                    "{}",
                    measure.id
                );
            }
        }
        let choice = Choice { measure: Some("asleep".to_owned()), ..Choice::default() };
        let chains = Chains::new(&profile, &choice).unwrap();
        assert_eq!(chains.measures[0].id, "asleep");
        let wrong = Choice { measure: Some("joules".to_owned()), ..Choice::default() };
        let error = Chains::new(&profile, &wrong).err().unwrap().to_string();
        assert_eq!(
            error,
            "the profile has no measure `joules`; it has cycles, execute, asleep, executions"
        );
    }
}
