//! Rounds: each variant once, in a random order, as many as the answer needs.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use strobe_analyse::statistics::{Random, sequential};

use crate::answer::{self, Number, NumberError};
use crate::file::ConditionError;
use crate::host::{self, Command, Counted, Ended, Host, Lateness, Outcome, Probe};
use crate::judge::{Judgement, judge};
use crate::samples::{Log, Round, Sample, Variant};

pub use crate::settings::{LATENESS, Meter, Settings};

/// Failures of a variant after which it is not run any more.
const GIVE_UP: usize = 3;

/// A check of one sample: an error is why it does not count.
pub type Check<'a> = dyn Fn(usize, &Sample) -> Result<(), ConditionError> + 'a;

/// Error in the counters of a run.
#[derive(Debug, thiserror::Error)]
enum CountersError {
    /// The command of a meter failed.
    #[error("counters of {meter}: {ended}")]
    Ended { meter: String, ended: Ended },
    /// The output of a meter cannot be read.
    #[error("counters of {meter}: {error}")]
    Read { meter: String, error: io::Error },
    /// An invalid counter in the output of a meter.
    #[error("counters of {meter}: {name}: {error}")]
    Number { meter: String, name: String, error: NumberError },
    /// A counter that decreased during the run.
    #[error("{name} became less meanwhile, so it was counted anew")]
    Decreased { name: String },
    /// A counter that the command did not print.
    #[error("the counter {name} is not in the answer")]
    Missing { name: String },
    /// A condition of the experiment does not hold.
    #[error(transparent)]
    Condition(#[from] ConditionError),
}

/// Whoever carries out rounds.
pub struct Bench<'a> {
    /// How commands are started.
    pub host: &'a Host,
    /// Where answers lie for a moment.
    pub folder: &'a Path,
    /// What is compared, the reference first.
    pub variants: &'a [Variant],
    /// How.
    pub settings: &'a Settings,
    /// Set when the user wants an end.
    pub stop: &'a AtomicBool,
    /// Further conditions of each sample.
    pub check: Option<&'a Check<'a>>,
}

impl Bench<'_> {
    /// Runs rounds after `rounds` until there is an answer or an end; each is added to the log when
    /// it is over, and shown.
    ///
    /// # Errors
    /// If the log cannot be written: the rounds are there all the same.
    pub fn run(
        &self,
        rounds: &mut Vec<Round>,
        mut log: Option<&mut Log>,
        show: &mut dyn FnMut(&Round),
    ) -> io::Result<()> {
        let mut probe = Probe::new(self.folder);
        let (begin, earlier) = (Instant::now(), rounds.len());
        while !self.is_over(rounds, begin.elapsed().saturating_sub(hung(&rounds[earlier..]))) {
            let Some(round) = self.round(rounds, &mut probe) else { return Ok(()) };
            show(&round);
            let kept = log.as_mut().map_or(Ok(()), |log| log.add(&round));
            rounds.push(round);
            kept?;
        }
        Ok(())
    }

    /// Whether there is an answer or an end after `elapsed`, in which nothing hung.
    fn is_over(&self, rounds: &[Round], elapsed: Duration) -> bool {
        if self.stop.load(Ordering::Relaxed) || self.running(rounds).is_empty() {
            return true;
        }
        if let Some(wanted) = self.settings.rounds {
            return rounds.len() as u64 >= wanted;
        }
        if elapsed >= self.settings.time && rounds.len() >= self.settings.least_rounds {
            return true;
        }
        let judgement = judge(self.variants, rounds, self.settings);
        sequential::look_at(judgement.rounds).is_some() && judgement.is_decided()
    }

    /// Variants that are still run: what has hung would again, and take the time of the others.
    fn running(&self, rounds: &[Round]) -> Vec<usize> {
        let samples = |variant: usize| {
            rounds.iter().filter_map(move |round| round.samples.get(variant)?.as_ref())
        };
        let runs = |variant: &usize| {
            let failed = samples(*variant).filter(|sample| sample.failure().is_some());
            failed.count() < GIVE_UP && !samples(*variant).any(has_hung)
        };
        (0..self.variants.len()).filter(runs).collect()
    }

    /// The next round; `None` if it was stopped before its end.
    fn round(&self, rounds: &[Round], probe: &mut Probe) -> Option<Round> {
        let number = rounds.len() as u64;
        let mut order = self.running(rounds);
        let seed = self.settings.seed ^ number.wrapping_mul(0xd134_2543_de82_ef95);
        Random::new(seed).shuffle(&mut order);
        let mut samples: Vec<Option<Sample>> = vec![None; self.variants.len()];
        for &variant in &order {
            let sample = self.sample(variant);
            if sample.outcome.ended == Ended::Stopped {
                return None;
            }
            samples[variant] = Some(sample);
        }
        if self.settings.same_output {
            compare_answers(rounds, &mut samples);
        }
        Some(Round { number, order, samples, environment: probe.look() })
    }

    fn sample(&self, variant: usize) -> Sample {
        let before = match self.meters() {
            Ok(before) => before,
            Err(error) => return self.not_run(error.to_string()),
        };
        let settings = self.settings;
        let looks =
            settings.same_output || !(settings.counters.is_empty() && settings.values.is_empty());
        let output = looks.then(|| self.folder.join("answer"));
        let errors = self.folder.join("errors");
        let command = Command {
            output: output.clone(),
            errors: Some(errors.clone()),
            file_limit: settings.file_limit,
            events: settings.events.clone(),
            ..self.variants[variant].command.clone().within(settings.timeout)
        };
        let probe = settings.lateness.and_then(|every| Lateness::start(every).ok());
        let mut sample = Sample::of(host::run(self.host, &command, self.stop));
        if let Some(probe) = probe {
            sample.values.insert(LATENESS.to_owned(), probe.end());
        }
        let read = output.and_then(|path| answer::read(&path, settings, &mut sample).err());
        sample.invalid = read.map(|error| error.to_string());
        if sample.failure().is_none() {
            let failed = self.rest(variant, &before, &mut sample).err();
            sample.invalid = failed.map(|error| error.to_string());
        }
        if sample.failure().is_some() {
            sample.errors = host::tail(&errors, 3).filter(|errors| !errors.is_empty());
        }
        let _ = std::fs::remove_file(errors);
        sample
    }

    /// What is looked at once a variant has run to its end.
    fn rest(
        &self,
        variant: usize,
        before: &Counters,
        sample: &mut Sample,
    ) -> Result<(), CountersError> {
        for (name, after) in self.meters()? {
            let Some(grown) = before.get(&name).and_then(|before| after.checked_sub(*before))
            else {
                return Err(CountersError::Decreased { name });
            };
            sample.counters.entry(name).or_insert(grown);
        }
        let wanted = self.settings.counters.iter();
        match wanted.into_iter().find(|name| !sample.counters.contains_key(*name)) {
            Some(name) => Err(CountersError::Missing { name: name.clone() }),
            None => Ok(self.check.map_or(Ok(()), |check| check(variant, sample))?),
        }
    }

    /// The counters of others at this moment.
    fn meters(&self) -> Result<Counters, CountersError> {
        let mut counters = Counters::new();
        for meter in &self.settings.meters {
            let path = self.folder.join("counters");
            let command = Command {
                output: Some(path.clone()),
                errors: Some(self.folder.join("errors")),
                ..meter.command.clone().within(self.settings.timeout)
            };
            match host::run(self.host, &command, self.stop).ended {
                Ended::Exit(0) => {}
                ended => return Err(CountersError::Ended { meter: meter.name.clone(), ended }),
            }
            let text = std::fs::read(&path)
                .map_err(|error| CountersError::Read { meter: meter.name.clone(), error })?;
            for line in text.split(|byte| *byte == b'\n') {
                match answer::named(line, &self.settings.counters) {
                    Some((name, Ok(Number { value, .. }))) => drop(counters.insert(name, value)),
                    Some((name, Err(error))) => {
                        let meter = meter.name.clone();
                        return Err(CountersError::Number { meter, name, error });
                    }
                    None => {}
                }
            }
        }
        Ok(counters)
    }

    /// A variant that was not run, since nobody could have said what it did.
    fn not_run(&self, why: String) -> Sample {
        let stopped = self.stop.load(Ordering::Relaxed);
        let ended = if stopped { Ended::Stopped } else { Ended::NotStarted(why) };
        let errors = host::tail(&self.folder.join("errors"), 3).filter(|text| !text.is_empty());
        Sample { errors, ..Sample::of(Outcome::only(ended)) }
    }

    /// Valgrind's counts of each variant, twice: whether they repeat is seen and not taken for
    /// granted. Each run may take `slower` times as long as without.
    pub fn counted(&self, slower: u32) -> Vec<Vec<Counted>> {
        let Settings { counts, timeout, .. } = self.settings;
        if counts.is_empty() || self.stop.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let twice = |variant: &Variant| {
            let command = variant.command.clone().within(timeout.saturating_mul(slower));
            let one = || host::counted(self.host, &command, counts, self.folder, self.stop);
            let first = one();
            if first.counts.is_empty() { vec![first] } else { vec![first, one()] }
        };
        self.variants.iter().map(twice).collect()
    }

    /// What can be said of the rounds.
    pub fn judgement(&self, rounds: &[Round]) -> Judgement {
        judge(self.variants, rounds, self.settings)
    }
}

fn has_hung(sample: &Sample) -> bool {
    sample.outcome.ended == Ended::TimedOut
}

/// What those that hung have taken: no part of the time given.
fn hung(rounds: &[Round]) -> Duration {
    let samples = rounds.iter().flat_map(|round| &round.samples).flatten();
    let taken = samples.filter(|sample| has_hung(sample)).map(|sample| sample.outcome.wall_ns);
    Duration::from_nanos(taken.sum())
}

/// Marks the answers that differ from the first one that counts. Within a round that is the one of
/// the first variant, in whatever order they ran: the reference is right by definition.
fn compare_answers(rounds: &[Round], samples: &mut [Option<Sample>]) {
    let sha256 = |sample: &Sample| sample.answer.as_ref().map(|answer| answer.sha256.clone());
    let earlier = rounds.iter().flat_map(|round| &round.samples).chain(&*samples).flatten();
    let mut good = earlier.filter(|sample| sample.failure().is_none());
    let Some(first) = good.next().and_then(sha256) else { return };
    for sample in samples.iter_mut().flatten().filter(|sample| sample.failure().is_none()) {
        if sha256(sample).as_ref() != Some(&first) {
            sample.invalid = Some("another answer than the first run's".to_owned());
        }
    }
}

type Counters = std::collections::BTreeMap<String, u64>;

#[cfg(test)]
mod tests {
    use super::{Duration, Ended, Outcome, Round, Sample, hung};

    #[test]
    fn only_what_hung_takes_no_time_from_the_others() {
        let sample = |ended, wall_ns| Some(Sample::of(Outcome { wall_ns, ..Outcome::only(ended) }));
        let round = |samples: Vec<Option<Sample>>| Round {
            number: 0,
            order: (0..samples.len()).collect(),
            samples,
            environment: Default::default(),
        };
        let first = [sample(Ended::Exit(0), 5), sample(Ended::TimedOut, 70), None];
        let second = [sample(Ended::Exit(1), 6), None, sample(Ended::TimedOut, 8)];
        let rounds = [round(first.into()), round(second.into())];
        assert_eq!(hung(&rounds), Duration::from_nanos(78));
        assert_eq!(hung(&rounds[1..]), Duration::from_nanos(8));
    }
}
