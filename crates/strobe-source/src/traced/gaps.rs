//! Times from one sample to the next that are too long: what a wrong bit in a timestamp makes, and
//! what a firmware does that switches sampling off and on again.

use crate::traced::totals::{TimeBase, Traced};
use strobe_model::measurement::Finding;
use strobe_model::number::grouped;

use super::doubt::Steps;

/// Periods without a sample that no delay on the way explains, and how seldom they must be, in
/// times from one sample to the next: where they are many the period is another one.
const FAR: u64 = 3;
const SELDOM: u64 = 64;

/// Stretches without a sample that are kept, the longest, and of them those that are named.
const MOST_PAUSES: usize = 8;
const NAMED: usize = 3;

/// Times from one sample to the next, in ticks, where no packet shows a loss.
#[derive(Debug, Clone, Default)]
pub(super) struct Gaps {
    /// Ticks since the last sample, of the longest timestamp among them, and whether nothing was
    /// lost in them.
    since: u32,
    longest: u32,
    is_whole: bool,
    /// Samples up to the last timestamp.
    samples: u64,
    steps: Steps,
    /// The same without the longest timestamp of each.
    shown: Steps,
    /// Those of them that are longest, and how long others must be to be among them.
    pauses: Vec<Pause>,
    least: u32,
}

/// A time without a sample: its ticks without the longest timestamp, its beginning and end.
#[derive(Debug, Clone, Copy)]
struct Pause {
    shown: u32,
    from: u64,
    to: u64,
}

/// Times between two samples that are too long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TooLong {
    /// Those that a single timestamp makes so: it is wrong, or packets are missing without a sign.
    pub alone: u64,
    /// Those that several timestamps show, which no wrong bit does.
    pub shown: u64,
    /// The longest of the latter, from and to, in ticks and in order.
    pub pauses: Vec<(u64, u64)>,
}

impl Gaps {
    /// A local timestamp, when it was, and the samples up to there.
    #[inline]
    pub fn stamp(&mut self, ticks: u32, now: u64, samples: u64) {
        self.since = self.since.saturating_add(ticks);
        self.longest = self.longest.max(ticks);
        let new = samples.saturating_sub(std::mem::replace(&mut self.samples, samples));
        if new == 0 {
            return;
        }
        if new == 1 && self.is_whole {
            let shown = self.since - self.longest;
            self.steps.add(self.since);
            self.shown.add(shown);
            if shown > self.least {
                self.keep(Pause { shown, from: now.saturating_sub(self.since.into()), to: now });
            }
        }
        (self.since, self.longest, self.is_whole) = (0, 0, true);
    }

    /// One of the longest, as far as is seen yet.
    fn keep(&mut self, pause: Pause) {
        self.pauses.push(pause);
        self.pauses.sort_by_key(|pause| std::cmp::Reverse(pause.shown));
        self.pauses.truncate(MOST_PAUSES);
        if self.pauses.len() == MOST_PAUSES {
            self.least = self.pauses.last().map_or(0, |pause| pause.shown);
        }
    }

    /// Packets were lost here, and perhaps a sample.
    pub fn lost(&mut self) {
        self.is_whole = false;
    }

    /// Times that are too long for samples at so many ticks. A single timestamp that makes them so
    /// may be wrong; where others are too long as well, no sample was taken or kept.
    pub fn too_long(&self, period: u64) -> TooLong {
        let far = period.max(1).saturating_mul(FAR);
        let (longer, all) = self.steps.longer(far);
        if longer.saturating_mul(SELDOM) > all {
            return TooLong::default();
        }
        let shown = self.shown.longer(far).0.min(longer);
        let kept = self.pauses.iter().filter(|pause| is_longer(pause.shown, far));
        let mut pauses: Vec<(u64, u64)> = kept.map(|pause| (pause.from, pause.to)).collect();
        pauses.sort_unstable();
        TooLong { alone: longer - shown, shown, pauses }
    }
}

/// Whether a time is longer for certain, as [`Steps::longer`] counts it.
fn is_longer(ticks: u32, than: u64) -> bool {
    ticks.checked_ilog2().is_some_and(|bits| 1u64 << bits > than)
}

/// Why nobody knows how many samples are missing where some stretches have none.
pub(super) fn paused(pauses: &[(u64, u64)]) -> Option<String> {
    let stretches = match pauses.len() {
        0 => return None,
        1 => "a stretch".to_owned(),
        MOST_PAUSES => format!("{MOST_PAUSES} stretches or more"),
        n => format!("{n} stretches"),
    };
    Some(format!(
        "no sample came in {stretches} in which other packets have times: sampling was off there, \
         or samples were lost without a sign"
    ))
}

/// Names the stretches without a sample; `alone` are those that a single timestamp makes, of a
/// stream without another sign of damage.
pub(super) fn pauses(traced: &Traced, alone: u64) -> Option<Finding> {
    let text = if alone > 0 {
        let n = if alone == 1 { "one place".to_owned() } else { format!("{alone} places") };
        format!(
            "by a single timestamp in {n} no sample came for far more than a period: a wrong bit \
             looks like that, and so does sampling that was off while nothing else was sent"
        )
    } else {
        let all = &traced.sampling.pauses;
        let named: Vec<String> =
            all.iter().take(NAMED).map(|pause| stretch(*pause, &traced.times)).collect();
        let more = if all.len() > NAMED { " and in further stretches" } else { "" };
        if named.is_empty() {
            return None;
        }
        format!(
            "no sample came from {}{more}, while other packets did: sampling was off there, or \
             samples were lost without a sign; shares are of the rest",
            named.join(", from ")
        )
    };
    Some(Finding::warning("sampling-paused", text))
}

/// From when to when, as the clock allows.
fn stretch((from, to): (u64, u64), times: &TimeBase) -> String {
    match times.nanoseconds(from).zip(times.nanoseconds(to)) {
        Some((from, to)) => format!("{:.3} to {:.3} ms", from as f64 / 1e6, to as f64 / 1e6),
        None => format!("cycle {} to {}", grouped(from), grouped(to)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_long_gaps_between_samples_are_wrong() {
        let too_long = |far: &[u64], lost: bool| {
            let mut gaps = Gaps::default();
            // Before the first sample nothing is due.
            gaps.stamp(5000, 0, 0);
            for n in 1..=200 {
                gaps.stamp(30, 0, n - 1);
                if lost && far.contains(&n) {
                    gaps.lost();
                }
                gaps.stamp(if far.contains(&n) { 5000 } else { 34 }, 0, n);
            }
            gaps.stamp(5000, 0, 200);
            let TooLong { alone, shown, pauses } = gaps.too_long(64);
            assert_eq!((shown, pauses.len()), (0, 0));
            alone
        };
        assert_eq!((too_long(&[], false), too_long(&[100], false)), (0, 1));
        assert_eq!(too_long(&[100, 101, 150], false), 3);
        assert_eq!(too_long(&[100, 101, 150], true), 0);
        let many: Vec<u64> = (1..50).map(|n| 4 * n).collect();
        assert_eq!(too_long(&many, false), 0);
    }

    /// One wrong bit makes one timestamp too long, and not the others of the same stretch.
    #[test]
    fn gaps_shown_by_several_timestamps_are_not_errors() {
        let (mut gaps, mut now) = (Gaps::default(), 0);
        for n in 1..=3000 {
            // Others than samples go on in the meantime.
            let turns = if n % 1000 == 500 { 100 + n / 1000 } else { 1 };
            for _ in 0..turns {
                now += 30;
                gaps.stamp(30, now, n - 1);
            }
            now += 34;
            gaps.stamp(34, now, n);
        }
        let TooLong { alone, shown, pauses } = gaps.too_long(64);
        assert_eq!((alone, shown), (0, 3));
        let lengths: Vec<u64> = pauses.iter().map(|(from, to)| to - from).collect();
        assert_eq!(lengths, [3034, 3064, 3094]);
        // Of one that is no longer than another single timestamp nothing is sure.
        gaps.stamp(3000, now + 3000, 3001);
        assert_eq!(gaps.too_long(64).alone, 1);
        assert_eq!(pauses[0].0, 499 * 64);
    }
}
