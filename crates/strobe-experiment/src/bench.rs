//! Rounds: each variant once, in a random order, as many as the answer needs.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use strobe_analyse::statistics::{Random, sequential};

use crate::host::{self, Command, Ended, Host, Probe};
use crate::judge::{Judgement, judge};
use crate::samples::{Answer, Log, Metric, Round, Sample, Variant};

/// How rounds are run and judged.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Decides the order of each round and the resamples.
    pub seed: u64,
    /// When the last round may begin, from the first one on.
    pub time: Duration,
    /// So many rounds, instead of as many as the answer needs.
    pub rounds: Option<u64>,
    /// Rounds at the start that do not count; the first one and what is found if not said.
    pub warm_up: Option<usize>,
    /// Differences up to this do not matter, as 0.02 for 2 %.
    pub threshold: f64,
    /// How long one run may take.
    pub timeout: Duration,
    /// What is judged.
    pub metric: Metric,
    /// All answers must be equal.
    pub same_output: bool,
    /// Lines of the answer that are counters, `NAME NUMBER`, and no part of what must be equal.
    pub counters: Vec<String>,
    /// Bytes that a file may have which a variant writes.
    pub file_limit: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            seed: 1,
            time: Duration::from_secs(20),
            rounds: None,
            warm_up: None,
            threshold: 0.02,
            timeout: Duration::from_secs(60),
            metric: Metric::Wall,
            same_output: false,
            counters: Vec::new(),
            file_limit: Some(4 << 30),
        }
    }
}

/// Failures of a variant after which it is not run any more.
const GIVE_UP: usize = 3;
/// An answer beyond this is not looked at any further.
const ANSWER: u64 = 1 << 30;

/// A check of one sample: an error is why it does not count.
pub type Check<'a> = dyn Fn(usize, &Sample) -> Result<(), String> + 'a;

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
        let begin = Instant::now();
        while !self.is_over(rounds, begin.elapsed()) {
            let Some(round) = self.round(rounds, &mut probe) else { return Ok(()) };
            show(&round);
            let kept = log.as_mut().map_or(Ok(()), |log| log.add(&round));
            rounds.push(round);
            kept?;
        }
        Ok(())
    }

    fn is_over(&self, rounds: &[Round], elapsed: Duration) -> bool {
        if self.stop.load(Ordering::Relaxed) || self.running(rounds).is_empty() {
            return true;
        }
        if let Some(wanted) = self.settings.rounds {
            return rounds.len() as u64 >= wanted;
        }
        // Two rounds at least, however long they take: one says nothing of the spread.
        if elapsed >= self.settings.time && rounds.len() >= 2 {
            return true;
        }
        let judgement = judge(self.variants, rounds, self.settings);
        sequential::look_at(judgement.rounds).is_some() && judgement.is_decided()
    }

    /// Variants that are still run.
    fn running(&self, rounds: &[Round]) -> Vec<usize> {
        let failures = |variant: usize| {
            let samples = rounds.iter().filter_map(|round| round.samples.get(variant)?.as_ref());
            samples.filter(|sample| sample.failure().is_some()).count()
        };
        (0..self.variants.len()).filter(|variant| failures(*variant) < GIVE_UP).collect()
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
        let looks = self.settings.same_output || !self.settings.counters.is_empty();
        let output = looks.then(|| self.folder.join("answer"));
        let command = self.variants[variant].command.clone().within(self.settings.timeout);
        let file_limit = self.settings.file_limit;
        let command = Command { output: output.clone(), file_limit, ..command };
        let outcome = host::run(self.host, &command, self.stop);
        let mut sample =
            Sample { outcome, answer: None, counters: Default::default(), invalid: None };
        if let Some(path) = output
            && let Err(why) = self.read(&path, &mut sample)
        {
            sample.invalid = Some(why);
        }
        if sample.failure().is_none() {
            sample.invalid = self.check.and_then(|check| check(variant, &sample).err());
        }
        sample
    }

    /// Reads the answer and its counters.
    fn read(&self, path: &PathBuf, sample: &mut Sample) -> Result<(), String> {
        let file = File::open(path).map_err(|error| format!("no answer: {error}"))?;
        let mut lines = BufReader::new(file.take(ANSWER));
        let (mut hash, mut bytes, mut line) = (Sha256::new(), 0, Vec::new());
        while lines.read_until(b'\n', &mut line).map_err(|e| format!("no answer: {e}"))? > 0 {
            bytes += line.len() as u64;
            match counter(&line, &self.settings.counters) {
                Some((name, Some(n))) => {
                    sample.counters.insert(name, n);
                }
                Some((name, None)) => return Err(format!("counter {name} is no whole number")),
                None => hash.update(&line),
            }
            line.clear();
        }
        let _ = std::fs::remove_file(path);
        let digest = hash.finalize();
        let sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        sample.answer = Some(Answer { bytes, sha256 });
        let missing =
            self.settings.counters.iter().find(|name| !sample.counters.contains_key(*name));
        match missing {
            Some(name) => Err(format!("the counter {name} is not in the answer")),
            None => Ok(()),
        }
    }

    /// What can be said of the rounds.
    pub fn judgement(&self, rounds: &[Round]) -> Judgement {
        judge(self.variants, rounds, self.settings)
    }
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

/// The counter in a line `NAME NUMBER`, if it is one of those.
fn counter(line: &[u8], names: &[String]) -> Option<(String, Option<u64>)> {
    let text = std::str::from_utf8(line).ok()?.trim();
    let (name, number) = text.split_once(char::is_whitespace)?;
    let name = name.trim_end_matches([':', '=']);
    names.iter().find(|wanted| *wanted == name)?;
    Some((name.to_owned(), number.trim().parse().ok()))
}
