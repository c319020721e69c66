//! `experiment.toml`: what is compared, what must be up meanwhile, what must hold before a figure
//! counts (docs/experiments.md).

mod error;

use std::collections::BTreeMap;

use serde::Deserialize;

use self::error::suggestion;
pub use self::error::{ConditionError, Unusable};
use crate::agents::{self, Agent};
use crate::claim::Claim;
use crate::host::instruments;

/// An experiment.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct File {
    /// What is to be found out.
    pub question: String,
    /// The one command that installs what is needed.
    #[serde(default)]
    pub setup: String,
    /// Programs that must be there.
    #[serde(default)]
    pub needs: Vec<String>,
    /// What succeeds if everything else is there, as libraries.
    #[serde(default)]
    pub available: Option<String>,
    /// Builds all variants, in the experiment's folder.
    #[serde(default)]
    pub build: Option<String>,
    /// What is compared: the reference first. An array, since their order matters.
    pub variant: Vec<VariantFile>,
    /// What must be up meanwhile, started in this order.
    #[serde(default)]
    pub service: Vec<ServiceFile>,
    /// A parameter that takes one value after the other.
    #[serde(default)]
    pub sweep: Option<Sweep>,
    /// How it is measured.
    #[serde(default)]
    pub measure: Measure,
    /// What must come out, as far as load cannot move it.
    #[serde(default)]
    pub expect: Vec<Expect>,
    /// What somebody claims, and what it is when measured again.
    #[serde(default)]
    pub claim: Vec<Claim>,
}

/// One way of doing it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct VariantFile {
    /// Its name.
    pub name: String,
    /// What is run.
    pub run: String,
    /// What builds it alone, after the experiment's `build`.
    #[serde(default)]
    pub build: Option<String>,
    /// What prints a profile of it, once, behind the rounds.
    #[serde(default)]
    pub profile: Option<String>,
    /// Variables of its environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Counters that prove that it is what it claims to be.
    #[serde(default)]
    pub condition: Vec<Condition>,
}

/// What a counter must be in each run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Condition {
    /// The counter, or `minor-faults` and its like.
    pub counter: String,
    /// It is no less.
    #[serde(default)]
    pub at_least: Option<u64>,
    /// It is no more.
    #[serde(default)]
    pub at_most: Option<u64>,
}

impl Condition {
    /// Whether a value meets it; else why not.
    ///
    /// # Errors
    /// When the value is unknown or beyond a limit.
    pub fn holds(&self, value: Option<u64>) -> Result<(), ConditionError> {
        let counter = self.counter.clone();
        let Some(value) = value else { return Err(ConditionError::Unknown { counter }) };
        match (self.at_least, self.at_most) {
            (Some(minimum), _) if value < minimum => {
                Err(ConditionError::TooLow { counter, value, minimum })
            }
            (_, Some(maximum)) if value > maximum => {
                Err(ConditionError::TooHigh { counter, value, maximum })
            }
            _ => Ok(()),
        }
    }
}

/// A server or its like.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ServiceFile {
    /// Its name: `{NAME.port}` and `{NAME.folder}` are its own free port and folder.
    pub name: String,
    /// What prepares its folder.
    #[serde(default)]
    pub prepare: Option<String>,
    /// What starts it; it stays in the foreground.
    pub start: String,
    /// What succeeds when it is ready.
    pub ready: String,
    /// What prints its counters, as `NAME NUMBER`: those in [`Measure::counters`] count by what
    /// they grow during each run of a variant.
    #[serde(default)]
    pub counters: Option<String>,
    /// How long it may take to be ready, in seconds.
    #[serde(default = "half_a_minute")]
    pub timeout_seconds: u64,
}

fn half_a_minute() -> u64 {
    30
}

/// A parameter with its values.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sweep {
    /// Its name: `{NAME}` in commands is its value.
    pub parameter: String,
    /// Its values.
    pub values: Vec<u64>,
    /// Those of a quick run; all if not given.
    #[serde(default)]
    pub quick: Vec<u64>,
}

/// How it is measured.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Measure {
    /// What is judged.
    pub metric: String,
    /// Counters that each variant prints in lines `NAME NUMBER`.
    pub counters: Vec<String>,
    /// Values that each variant prints in lines `NAME NUMBER`, many of each: `NAME.p50`,
    /// `NAME.p99`, `NAME.max` and `NAME.count` are metrics.
    pub values: Vec<String>,
    /// Agents in the variants' runtimes, as `erlang`: their source lies in `{agents}`, and what
    /// they print is among counters and values.
    pub agents: Vec<String>,
    /// How often a probe beside each run is due, in milliseconds; its lateness are values.
    pub lateness_ms: Option<u64>,
    /// What else is printed must be equal.
    pub same_output: bool,
    /// Whether Valgrind counts instructions, as the instrument `valgrind-instructions` does.
    pub instructions: bool,
    /// What kernel, processor and Valgrind count: `perf-software`, `valgrind-allocations` and their
    /// like.
    pub instruments: Vec<String>,
    /// Differences up to this do not matter, in percent.
    pub threshold: f64,
    /// How long rounds may begin, at each value of a sweep, in seconds.
    pub seconds: f64,
    /// The same of a quick run.
    pub quick_seconds: f64,
    /// How long one run may take, in seconds.
    pub timeout_seconds: f64,
    /// Variants are steps, each of which changes one thing of the one before: show their shares.
    pub steps: bool,
}

impl Default for Measure {
    fn default() -> Self {
        Measure {
            metric: "wall".to_owned(),
            counters: Vec::new(),
            values: Vec::new(),
            agents: Vec::new(),
            lateness_ms: None,
            same_output: false,
            instructions: false,
            instruments: Vec::new(),
            threshold: 2.0,
            seconds: 20.0,
            quick_seconds: 3.0,
            timeout_seconds: 30.0,
            steps: false,
        }
    }
}

impl Measure {
    /// The agents that it names.
    pub fn agents(&self) -> impl Iterator<Item = &'static Agent> {
        self.agents.iter().filter_map(|name| agents::named(name).ok())
    }

    /// Its counters, with those of its agents.
    pub fn all_counters(&self) -> Vec<String> {
        let theirs = self.agents().flat_map(|agent| agent.counters);
        self.counters.iter().cloned().chain(theirs.map(|name| (*name).to_owned())).collect()
    }

    /// Its values, with those of its agents.
    pub fn all_values(&self) -> Vec<String> {
        let theirs = self.agents().flat_map(|agent| agent.values);
        self.values.iter().cloned().chain(theirs.map(|name| (*name).to_owned())).collect()
    }
}

/// A count that must come out, with `experiment run --check`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Expect {
    /// The variant.
    pub variant: String,
    /// The counter.
    pub counter: String,
    /// At that value of the sweep.
    #[serde(default)]
    pub at: Option<u64>,
    /// It is exactly this.
    #[serde(default)]
    pub exactly: Option<u64>,
    /// It is more than this variant's; in every round, where it differs from run to run.
    #[serde(default)]
    pub more_than: Option<String>,
    /// It is less than this variant's, likewise.
    #[serde(default)]
    pub less_than: Option<String>,
}

impl File {
    /// Reads one.
    ///
    /// # Errors
    /// In words, with the line: unknown keys with the nearest known one, names that are not there.
    pub fn parse(text: &str) -> Result<File, Unusable> {
        let file: File = toml::from_str(text)
            .map_err(|e| Unusable::Syntax { message: nearest(&e.to_string()) })?;
        file.check().map(|()| file)
    }

    fn check(&self) -> Result<(), Unusable> {
        if self.variant.len() < 2 {
            return Err(Unusable::TooFewVariants);
        }
        let names: Vec<&str> = self.variant.iter().map(|variant| variant.name.as_str()).collect();
        for (n, name) in names.iter().enumerate() {
            if names[..n].contains(name) {
                return Err(Unusable::DuplicateVariant { name: (*name).to_owned() });
            }
            if self.variant[n].run.trim().is_empty() {
                return Err(Unusable::NoCommand { variant: (*name).to_owned() });
            }
        }
        for expect in &self.expect {
            let others = [&expect.more_than, &expect.less_than].into_iter().flatten();
            let mut named = std::iter::once(&expect.variant).chain(others).map(String::as_str);
            if let Some(name) = named.find(|name| !names.contains(name)) {
                let near = near(name, &names).map(str::to_owned);
                return Err(Unusable::UnknownVariant { name: name.to_owned(), near });
            }
        }
        let measure = &self.measure;
        let sane = |x: f64| x > 0.0 && x < 1e6;
        let times = [measure.seconds, measure.quick_seconds, measure.timeout_seconds];
        if !(times.into_iter().all(sane) && sane(measure.threshold) && measure.threshold < 100.0) {
            return Err(Unusable::Measure);
        }
        instruments(&measure.instruments)?;
        for name in &measure.agents {
            agents::named(name)?;
        }
        if measure.lateness_ms == Some(0) {
            return Err(Unusable::Lateness);
        }
        for (n, service) in self.service.iter().enumerate() {
            let name = &service.name;
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
            if name.is_empty() || !name.chars().all(is_plain) {
                return Err(Unusable::ServiceName { name: name.clone() });
            }
            if self.service[..n].iter().any(|other| other.name == *name) {
                return Err(Unusable::DuplicateService { name: name.clone() });
            }
        }
        let sweep = self.sweep.iter().flat_map(|sweep| &sweep.values);
        match self.sweep.as_ref().map(|sweep| sweep.values.len()) {
            Some(0) => Err(Unusable::EmptySweep),
            _ if sweep.copied().any(|value| value == 0) => Err(Unusable::ZeroInSweep),
            _ => Ok(()),
        }
    }

    /// The values of the sweep; one without a value if there is none.
    pub fn values(&self, quick: bool) -> Vec<Option<u64>> {
        match &self.sweep {
            None => vec![None],
            Some(sweep) if quick && !sweep.quick.is_empty() => {
                sweep.quick.iter().copied().map(Some).collect()
            }
            Some(sweep) => sweep.values.iter().copied().map(Some).collect(),
        }
    }
}

/// Adds the nearest known key to a message that lists them: ``unknown field `a`, expected one of
/// `b`, `c` ``.
fn nearest(message: &str) -> String {
    let message = message.trim_end();
    let Some((_, rest)) = message.split_once("unknown field ") else { return message.to_owned() };
    let names: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    match names.split_first() {
        Some((unknown, known)) => format!("{message}{}", suggestion(near(unknown, known))),
        None => message.to_owned(),
    }
}

fn near<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let near = known.iter().map(|other| (strsim::damerau_levenshtein(name, other), *other));
    let near = near.min().filter(|(distance, _)| *distance <= 1 + name.len() / 3);
    near.map(|(_, other)| other)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str =
        "question = 'q'\n[[variant]]\nname = 'a'\nrun = 'x'\n[[variant]]\nname = 'b'\nrun = 'y'\n";

    #[test]
    fn unknown_keys_are_errors_with_the_nearest_name() {
        assert!(File::parse(TWO).is_ok());
        let wrong =
            |text: &str| File::parse(&format!("{TWO}{text}")).expect_err("wrong").to_string();
        let message = wrong("[measure]\ntreshold = 3.0\n");
        assert!(
            message.contains("line 9") && message.contains("did you mean threshold?"),
            "{message}"
        );
        assert!(wrong("[sweep]\nparameter = 'n'\nvalues = []\n").contains("no values"));
        assert!(wrong("[sweep]\nparameter = 'n'\nvalues = [0]\n").contains("above 0"));
        assert!(wrong("[[expect]]\nvariant = 'aa'\ncounter = 'c'\n").contains("did you mean a?"));
        assert!(wrong("[[variant]]\nname = 'a'\nrun = 'x'\n").contains("two variants"));
        assert!(wrong("[[variant]]\nname = 'c'\nrun = ' '\n").contains("variant c: run is empty"));
        let message = wrong("[measure]\ninstruments = ['perf-cycle']\n");
        assert!(message.contains("did you mean perf-cycles?"), "{message}");
        assert!(wrong("[measure]\nagents = ['perl']\n").contains("there is no agent perl"));
        assert!(wrong("[measure]\nseconds = 0.0\n").contains("above 0"));
    }

    #[test]
    fn conditions_hold_or_say_why_not() {
        let condition =
            Condition { counter: "syncs".to_owned(), at_least: Some(2), at_most: Some(3) };
        assert_eq!(condition.holds(Some(2)), Ok(()));
        assert!(
            condition.holds(Some(1)).is_err_and(|why| why.to_string().contains("not at least 2"))
        );
        assert!(
            condition.holds(Some(4)).is_err_and(|why| why.to_string().contains("not at most 3"))
        );
        assert!(condition.holds(None).is_err());
    }
}
