//! What rounds say: failures first, then counts that repeat exactly, then times with intervals.

use std::collections::BTreeMap;

use strobe_analyse::statistics::change::{WarmUp, warm_up};
use strobe_analyse::statistics::{Paired, sequential};

pub use strobe_analyse::statistics::sequential::Verdict;

use crate::host::Event;
use crate::samples::{Metric, Round, Sample, Variant};
use crate::settings::Settings;

/// What can be said of variants.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Rounds at the start that do not count.
    pub warm_up: usize,
    /// What was found of the warm-up.
    pub steadiness: WarmUp,
    /// Rounds that count.
    pub rounds: usize,
    /// The look that this is, counted from 0.
    pub look: usize,
    /// Failures of each variant: what happened, and in how many of its runs.
    pub failures: Vec<BTreeMap<String, u64>>,
    /// Runs of each variant, with those that do not count.
    pub runs: Vec<u64>,
    /// Each variant but the first against the first, by the metric asked for.
    pub comparisons: Vec<Comparison>,
    /// Counts that were the same in every run of a variant: the metric and each variant's count.
    pub exact: Vec<(Metric, Vec<Option<u64>>)>,
}

/// A variant against the first.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Which variant.
    pub variant: usize,
    /// What can be said; `None` where one of them failed.
    pub verdict: Option<Verdict>,
    /// The pairs' statistics at 95 %.
    pub paired: Option<Paired>,
}

impl Judgement {
    /// Whether more rounds would add nothing.
    pub fn is_decided(&self) -> bool {
        let open =
            |comparison: &Comparison| matches!(comparison.verdict, Some(Verdict::Unclear { .. }));
        self.rounds > 0 && !self.comparisons.iter().any(open)
    }

    /// Whether a variant has failed in any run.
    pub fn has_failed(&self, variant: usize) -> bool {
        self.failures.get(variant).is_some_and(|failures| !failures.is_empty())
    }
}

/// Rounds of which only this part may be warm-up: else nothing is steady.
const MOST_WARM_UP: usize = 2;

/// Judges.
pub fn judge(variants: &[Variant], rounds: &[Round], settings: &Settings) -> Judgement {
    let samples = |variant: usize| {
        rounds.iter().filter_map(move |round| round.samples.get(variant)?.as_ref())
    };
    let all = 0..variants.len();
    let failures: Vec<_> = all.clone().map(|variant| failures(samples(variant))).collect();
    let (steadiness, found) = steadiness(variants.len(), rounds, settings);
    // The first round finds caches as others have left them.
    let warm_up = settings.warm_up.unwrap_or(found.max(1)).min(rounds.len());
    let counted = &rounds[warm_up..];
    let look = (0..).find(|look| sequential::rounds_at(look + 1) > counted.len()).unwrap_or(0);
    let mut judgement = Judgement {
        warm_up,
        steadiness,
        rounds: counted.len(),
        look,
        runs: all.clone().map(|variant| samples(variant).count() as u64).collect(),
        comparisons: Vec::new(),
        exact: exact(variants.len(), rounds),
        failures,
    };
    judgement.comparisons = all
        .skip(1)
        .map(|variant| {
            let pairs = pairs(counted, variant, &settings.metric);
            let failed = judgement.has_failed(0) || judgement.has_failed(variant);
            let others = variants.len().saturating_sub(1);
            let verdict = (!failed).then(|| {
                sequential::judge(&pairs, look, others, settings.threshold, settings.seed)
            });
            let paired = Paired::of(&pairs, 0.95, settings.seed).filter(|_| !failed);
            Comparison { variant, verdict, paired }
        })
        .collect();
    judgement
}

fn failures<'a>(samples: impl Iterator<Item = &'a Sample>) -> BTreeMap<String, u64> {
    let mut failures = BTreeMap::new();
    for why in samples.filter_map(Sample::failure) {
        *failures.entry(why).or_default() += 1;
    }
    failures
}

/// A metric of the first and of another variant, by rounds in which both count.
pub fn pairs(rounds: &[Round], variant: usize, metric: &Metric) -> Vec<(f64, f64)> {
    let value = |round: &Round, variant: usize| {
        let sample = round.samples.get(variant)?.as_ref()?;
        metric.of(sample).filter(|_| sample.failure().is_none())
    };
    let pair = |round: &Round| Some((value(round, 0)? as f64, value(round, variant)? as f64));
    rounds.iter().filter_map(pair).collect()
}

/// The longest warm-up of any variant.
fn steadiness(variants: usize, rounds: &[Round], settings: &Settings) -> (WarmUp, usize) {
    let mut longest = (WarmUp::None, 0);
    for variant in 0..variants {
        let samples = rounds.iter().filter_map(|round| round.samples.get(variant)?.as_ref());
        let values: Vec<f64> =
            samples.filter_map(|sample| Some(settings.metric.of(sample)? as f64)).collect();
        match warm_up(&values) {
            WarmUp::First(n) if n > longest.1 && n * MOST_WARM_UP <= rounds.len() => {
                longest = (WarmUp::First(n), n);
            }
            found @ (WarmUp::NotSteady | WarmUp::TooShort) if longest.1 == 0 => longest.0 = found,
            WarmUp::First(_) if longest.1 == 0 => longest.0 = WarmUp::NotSteady,
            _ => {}
        }
    }
    longest
}

/// Counts of which each variant has one, at least three times.
fn exact(variants: usize, rounds: &[Round]) -> Vec<(Metric, Vec<Option<u64>>)> {
    let counters: std::collections::BTreeSet<&String> = rounds
        .iter()
        .flat_map(|round| round.samples.iter().flatten())
        .flat_map(|sample| sample.counters.keys())
        .collect();
    let metrics = counters.into_iter().map(|name| Metric::Counter(name.clone()));
    let metrics = metrics.chain([Metric::OutputBytes]).chain(Metric::ALWAYS);
    let metrics = metrics.chain(Event::all().map(Metric::Event));
    let metrics = metrics.filter(|m| !m.is_moved_by_load() && *m != Metric::Peak);
    let of = |metric: &Metric, variant: usize| {
        let samples = rounds.iter().filter_map(|round| round.samples.get(variant)?.as_ref());
        let good = samples.filter(|sample| sample.failure().is_none());
        let values: Vec<u64> = good.filter_map(|sample| metric.of(sample)).collect();
        let first = values.first().copied()?;
        let is_constant = values.len() >= 3 && values.iter().all(|value| *value == first);
        is_constant.then_some(first)
    };
    let counts = |metric: Metric| {
        let counts: Vec<Option<u64>> = (0..variants).map(|variant| of(&metric, variant)).collect();
        (metric, counts)
    };
    let useful = |counts: &[Option<u64>]| {
        counts.iter().flatten().count() >= 2 && counts.iter().flatten().any(|count| *count > 0)
    };
    metrics.map(counts).filter(|(_, counts)| useful(counts)).collect()
}

/// A verdict in words: `new is 8 to 12 % faster than old`.
pub fn words(verdict: &Verdict, first: &str, second: &str, metric: &Metric) -> String {
    match *verdict {
        Verdict::Differs { low, high } => {
            // The one that takes less is named first.
            let (less, more, low, high) = if high < 1.0 {
                (second, first, low, high)
            } else {
                (first, second, 1.0 / high, 1.0 / low)
            };
            let (times, per_cent) =
                ((1.0 / high, 1.0 / low), ((1.0 - high) * 100.0, (1.0 - low) * 100.0));
            let is_many = high < 0.5;
            let (least, most) = if is_many { times } else { per_cent };
            let amount = range(least, most);
            match (metric.is_time_taken(), is_many) {
                (true, true) => format!("{less} is {amount} times as fast as {more}"),
                (true, false) => format!("{less} is {amount} % faster than {more}"),
                (false, true) => {
                    format!("{more}: {amount} times the {} of {less}", metric.name())
                }
                (false, false) => format!("{less}: {amount} % less {} than {more}", metric.name()),
            }
        }
        Verdict::Same { within } => {
            format!("no difference above {} %", figure((within * 100.0).max(0.1)))
        }
        Verdict::Unclear { rounds: Some(rounds) } => {
            format!("inconclusive; about {} more rounds would decide", round_up(rounds.max(1)))
        }
        Verdict::Unclear { rounds: None } => {
            "inconclusive: too few rounds, or figures of 0".to_owned()
        }
    }
}

fn range(least: f64, most: f64) -> String {
    let (least, most) = (figure(least), figure(most));
    if least == most { least } else { format!("{least} to {most}") }
}

/// Two digits, which is what intervals are good for.
fn figure(x: f64) -> String {
    if x >= 9.95 { format!("{x:.0}") } else { format!("{x:.1}") }
}

/// To one digit: an estimate of work to come.
fn round_up(rounds: usize) -> usize {
    let scale = 10usize.pow(rounds.checked_ilog10().unwrap_or(0));
    rounds.div_ceil(scale) * scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_read_as_sentences() {
        let say = |verdict| words(&verdict, "old", "new", &Metric::Wall);
        let differs = |low, high| Verdict::Differs { low, high };
        assert_eq!(say(differs(0.88, 0.92)), "new is 8.0 to 12 % faster than old");
        assert_eq!(say(differs(1.25, 1.25)), "old is 20 % faster than new");
        assert_eq!(say(differs(3.0, 4.0)), "old is 3.0 to 4.0 times as fast as new");
        assert_eq!(say(Verdict::Same { within: 0.018 }), "no difference above 1.8 %");
        let unclear = Verdict::Unclear { rounds: Some(37) };
        assert_eq!(say(unclear), "inconclusive; about 40 more rounds would decide");
        let bytes = words(&differs(0.88, 0.92), "old", "new", &Metric::OutputBytes);
        assert_eq!(bytes, "new: 8.0 to 12 % less output-bytes than old");
        let catch_up = Metric::Counter("catch-up-nanoseconds".to_owned());
        let bytes = words(&differs(3.0, 4.0), "old", "new", &Metric::OutputBytes);
        assert_eq!(bytes, "new: 3.0 to 4.0 times the output-bytes of old");
        let caught_up = words(&differs(0.88, 0.92), "old", "new", &catch_up);
        assert_eq!(caught_up, "new is 8.0 to 12 % faster than old");
        let late = Metric::Counter("lateness-nanoseconds.p99".to_owned());
        let less_late = words(&differs(0.88, 0.92), "old", "new", &late);
        assert_eq!(less_late, "new: 8.0 to 12 % less lateness-nanoseconds.p99 than old");
    }
}
