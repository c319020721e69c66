//! Raw samples: what each run of each variant took, round by round, and the file that keeps them.

mod log;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strobe_model::measurement::Unit;

use crate::host::{Command, Environment, Event, Outcome};
pub use log::Log;

/// One way of doing it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// What is run.
    pub command: Command,
}

/// What a command wrote to its standard output.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Answer {
    /// Bytes.
    pub bytes: u64,
    /// SHA-256, hexadecimal, of what is to be equal.
    pub sha256: String,
}

/// One run of one variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// What it took.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What it answered, where that is looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// Counters by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
    /// Values by name, in their order: as a probe's lateness.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Vec<u64>>,
    /// When each of those values was, where it is known, in nanoseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub times: BTreeMap<String, Vec<u64>>,
    /// How what it wrote to standard error ends, where it has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<String>,
    /// Why it does not count, where it ran to its end: another answer, a condition that does not
    /// hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid: Option<String>,
}

/// One round: each variant once.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Which, counted from 0.
    pub number: u64,
    /// In which order the variants ran.
    pub order: Vec<usize>,
    /// A sample for each variant; none for one that was given up.
    pub samples: Vec<Option<Sample>>,
    /// The machine meanwhile.
    pub environment: Environment,
}

/// A figure of a sample.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// From start to end, in nanoseconds.
    Wall,
    /// User and system time, in nanoseconds.
    Cpu,
    /// User time, in nanoseconds.
    User,
    /// System time, in nanoseconds.
    System,
    /// Peak memory, in bytes.
    Peak,
    /// Page faults that read nothing.
    MinorFaults,
    /// Page faults that read from a disk.
    MajorFaults,
    /// Switches because it waited.
    VoluntarySwitches,
    /// Switches because others were to run.
    InvoluntarySwitches,
    /// Bytes of its answer.
    OutputBytes,
    /// Bytes that it and its descendants read from files, pipes and terminals.
    ReadBytes,
    /// Bytes that they wrote.
    WrittenBytes,
    /// What the kernel or the processor counted.
    Event(Event),
    /// A counter by name.
    Counter(String),
}

impl Metric {
    /// Those that every sample has, where the system counts them.
    pub const ALWAYS: [Metric; 11] = [
        Metric::Wall,
        Metric::Cpu,
        Metric::User,
        Metric::System,
        Metric::Peak,
        Metric::MinorFaults,
        Metric::MajorFaults,
        Metric::VoluntarySwitches,
        Metric::InvoluntarySwitches,
        Metric::ReadBytes,
        Metric::WrittenBytes,
    ];

    /// The metric of that name.
    pub fn named(name: &str) -> Metric {
        let events = Event::all().map(Metric::Event);
        let known = Metric::ALWAYS.into_iter().chain([Metric::OutputBytes]).chain(events);
        let mut known = known.filter(|metric| metric.name() == name);
        known.next().unwrap_or_else(|| Metric::Counter(name.to_owned()))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Metric::Wall => "wall",
            Metric::Cpu => "cpu",
            Metric::User => "user",
            Metric::System => "system",
            Metric::Peak => "peak-memory",
            Metric::MinorFaults => "minor-faults",
            Metric::MajorFaults => "major-faults",
            Metric::VoluntarySwitches => "voluntary-switches",
            Metric::InvoluntarySwitches => "involuntary-switches",
            Metric::OutputBytes => "output-bytes",
            Metric::ReadBytes => "read-bytes",
            Metric::WrittenBytes => "written-bytes",
            Metric::Event(event) => event.name(),
            Metric::Counter(name) => name,
        }
    }

    /// Its unit. That of a counter is in its name: `catch-up-nanoseconds`, `sent-bytes`, and
    /// `lateness-nanoseconds.p99` of values.
    pub fn unit(&self) -> Unit {
        match self {
            Metric::Wall | Metric::Cpu | Metric::User | Metric::System => Unit::NANOSECONDS,
            Metric::Peak | Metric::OutputBytes | Metric::ReadBytes | Metric::WrittenBytes => {
                Unit::BYTES
            }
            Metric::Event(event) => event.unit(),
            Metric::Counter(name) => match part_of(name) {
                Some((_, "count")) => Unit::COUNT,
                Some((values, _)) => unit_of(values),
                None => unit_of(name),
            },
            _ => Unit::COUNT,
        }
    }

    /// The event that it counts, if it is one.
    pub fn event(&self) -> Option<Event> {
        match self {
            Metric::Event(event) => Some(*event),
            _ => None,
        }
    }

    /// Whether it is measured in nanoseconds.
    pub fn is_duration(&self) -> bool {
        self.unit() == Unit::NANOSECONDS
    }

    /// Whether less of it is faster: how long a run or a part of it took. Lateness and latencies,
    /// values of which each run has many, are durations too.
    pub fn is_time_taken(&self) -> bool {
        let is_of_values = |name: &str| part_of(name).is_some();
        self.is_duration() && !matches!(self, Metric::Counter(name) if is_of_values(name))
    }

    /// Whether it is a time, which no two runs share.
    pub fn is_time(&self) -> bool {
        let clock = Metric::Event(Event::TaskClock);
        matches!(self, Metric::Wall | Metric::Cpu | Metric::User | Metric::System) || *self == clock
    }

    /// Whether others on the machine move it: a count of it that is the same in every run is so by
    /// chance.
    pub fn is_moved_by_load(&self) -> bool {
        let switches = [Event::ContextSwitches, Event::CpuMigrations].map(Metric::Event);
        let own = [Metric::MajorFaults, Metric::VoluntarySwitches, Metric::InvoluntarySwitches];
        self.is_time() || own.contains(self) || switches.contains(self)
    }

    /// The figure; `None` where the sample has none.
    pub fn of(&self, sample: &Sample) -> Option<u64> {
        let Outcome { wall_ns, user_us, system_us, peak_bytes, .. } = sample.outcome;
        Some(match self {
            Metric::Wall => wall_ns,
            Metric::Cpu => (user_us + system_us) * 1000,
            Metric::User => user_us * 1000,
            Metric::System => system_us * 1000,
            Metric::Peak => peak_bytes,
            Metric::MinorFaults => sample.outcome.minor_faults,
            Metric::MajorFaults => sample.outcome.major_faults,
            Metric::VoluntarySwitches => sample.outcome.voluntary_switches,
            Metric::InvoluntarySwitches => sample.outcome.involuntary_switches,
            Metric::OutputBytes => sample.answer.as_ref()?.bytes,
            Metric::ReadBytes => sample.outcome.read_bytes?,
            Metric::WrittenBytes => sample.outcome.written_bytes?,
            Metric::Event(event) => return sample.outcome.events.get(event)?.value(),
            Metric::Counter(name) => {
                let counted = sample.counters.get(name).copied();
                return counted.or_else(|| part_of_values(name, &sample.values));
            }
        })
    }
}

/// What can be asked of values: `lateness-nanoseconds.p99`.
pub const PARTS: [&str; 4] = ["count", "p50", "p99", "max"];

/// Which values a name asks for a part of, and for which.
fn part_of(name: &str) -> Option<(&str, &str)> {
    name.rsplit_once('.').filter(|(_, part)| PARTS.contains(part))
}

/// A part of a run's values. Percentiles are values that were there: of `n` values in their order
/// p99 is the one at `ceil(0.99 n)`.
fn part_of_values(name: &str, values: &BTreeMap<String, Vec<u64>>) -> Option<u64> {
    let (name, part) = part_of(name)?;
    let values = values.get(name)?;
    let at = |percent: usize| {
        let mut sorted = values.clone();
        sorted.sort_unstable();
        sorted.get((sorted.len() * percent).div_ceil(100).saturating_sub(1)).copied()
    };
    match part {
        "count" => Some(values.len() as u64),
        "p50" => at(50),
        "p99" => at(99),
        "max" => at(100),
        _ => None,
    }
}

fn unit_of(name: &str) -> Unit {
    match name.rsplit('-').next() {
        Some("nanoseconds") => Unit::NANOSECONDS,
        Some("bytes") => Unit::BYTES,
        _ => Unit::COUNT,
    }
}

impl Sample {
    /// A run of which nothing is known yet but what it took.
    pub fn of(outcome: Outcome) -> Sample {
        Sample {
            outcome,
            answer: None,
            counters: BTreeMap::new(),
            values: BTreeMap::new(),
            times: BTreeMap::new(),
            errors: None,
            invalid: None,
        }
    }

    /// Why the run has failed; `None` if it counts.
    pub fn failure(&self) -> Option<String> {
        match &self.outcome.ended {
            crate::host::Ended::Exit(0) => self.invalid.clone(),
            ended => Some(ended.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Ended;

    #[test]
    fn parts_of_values_are_values_that_were_there() {
        let mut sample = Sample::of(Outcome::only(Ended::Exit(0)));
        let late = "late-nanoseconds".to_owned();
        sample.values.insert(late, (1..=200).rev().collect());
        let part = |part: &str| Metric::named(&format!("late-nanoseconds.{part}")).of(&sample);
        assert_eq!(part("count"), Some(200));
        assert_eq!(part("p50"), Some(100));
        assert_eq!(part("p99"), Some(198));
        assert_eq!(part("max"), Some(200));
        assert_eq!(part("p42"), None);
        sample.values.insert("none".to_owned(), Vec::new());
        assert_eq!(Metric::named("none.p99").of(&sample), None);
        assert_eq!(Metric::named("none.count").of(&sample), Some(0));
    }

    #[test]
    fn a_counters_unit_is_in_its_name() {
        let unit = |name: &str| Metric::named(name).unit();
        assert_eq!(unit("catch-up-nanoseconds"), Unit::NANOSECONDS);
        assert_eq!(unit("late-nanoseconds.p99"), Unit::NANOSECONDS);
        assert_eq!(unit("late-nanoseconds.count"), Unit::COUNT);
        assert_eq!(unit("sent-bytes"), Unit::BYTES);
        assert_eq!(unit("bytes"), Unit::BYTES);
        assert_eq!(unit("syncs"), Unit::COUNT);
        assert_eq!(unit("wall"), Unit::NANOSECONDS);
    }
}
