//! Distributions: the least and the most of each value is that of the same rank in the other runs.

use strobe_model::measurement::{Distribution, Distributions, Spread};

pub(super) fn enclose(own: &mut Distributions, others: [&Distributions; 2], why: &str) {
    for at in 0..own.distributions.len() {
        let name = own.distributions[at].name.clone();
        // Names may come again, as those of threads.
        let before = own.distributions[..at].iter().filter(|d| d.name == name).count();
        let found =
            others.map(|all| all.distributions.iter().filter(|d| d.name == name).nth(before));
        one(&mut own.distributions[at], found, why);
    }
}

fn one(own: &mut Distribution, others: [Option<&Distribution>; 2], why: &str) {
    if own.resolution.is_some() || own.spread.count() == 0 {
        return;
    }
    let spreads = others.map(|other| Some(&other?.spread).filter(|spread| spread.count() > 0));
    let Some(any) = spreads[0].or(spreads[1]) else { return };
    // A run that has none bounds nothing.
    let [low, high] = spreads.map(|spread| spread.unwrap_or(any));
    let all = [&own.spread, low, high];
    if all[1..].iter().all(|spread| **spread == own.spread) {
        // Nothing that models leave open is in it.
        (own.low, own.high, own.why) = (None, None, None);
        return;
    }
    let low = envelope(all, u64::min);
    let high = envelope(all, u64::max);
    (own.low, own.high) = (Some(low), Some(high));
    own.why.get_or_insert_with(|| why.to_owned());
}

/// As many values as the first has, each the least (or the most) of the values of that rank.
fn envelope(all: [&Spread; 3], of: fn(u64, u64) -> u64) -> Spread {
    let count = all[0].count();
    if count == 1 {
        // It is first and last at once, and stands for whatever the others have.
        let ends = all.map(|spread| of(spread.min().unwrap_or(0), spread.max().unwrap_or(0)));
        return ends.into_iter().reduce(of).into_iter().collect();
    }
    let mut walks = all.map(Walk::new);
    let mut out = Spread::default();
    let mut rank = 0;
    while rank < count {
        let steps = walks.each_mut().map(|walk| walk.at(rank, count));
        let value = steps.iter().map(|step| step.0).reduce(of).unwrap_or(0);
        let next = steps.iter().map(|step| step.1).min().unwrap_or(count).max(rank + 1);
        let next = next.min(count);
        out.add_times(value, next - rank);
        rank = next;
    }
    out
}

/// The values of a distribution in order, as if there were as many as of another one.
struct Walk<'a> {
    spread: &'a Spread,
    buckets: Vec<(u64, u64)>,
    at: usize,
    /// Values before that bucket.
    before: u64,
}

impl<'a> Walk<'a> {
    fn new(spread: &'a Spread) -> Self {
        Walk { spread, buckets: spread.buckets().collect(), at: 0, before: 0 }
    }

    /// The value at a rank of so many, and the next rank at which it may be another one. The first
    /// and the last are the extremes.
    fn at(&mut self, rank: u64, count: u64) -> (u64, u64) {
        let own = self.spread.count();
        let (min, max) = (self.spread.min().unwrap_or(0), self.spread.max().unwrap_or(0));
        if rank + 1 == count {
            return (max, count);
        }
        let scaled = |n: u64, by: u64, of: u64| {
            u64::try_from(u128::from(n) * u128::from(by) / u128::from(of.max(1)))
                .unwrap_or(u64::MAX)
        };
        let place = scaled(rank, own, count);
        while self.at + 1 < self.buckets.len() && self.before + self.buckets[self.at].1 <= place {
            self.before += self.buckets[self.at].1;
            self.at += 1;
        }
        let (value, times) = self.buckets.get(self.at).copied().unwrap_or_default();
        let behind = scaled(self.before + times, count, own);
        // The last has a step of its own.
        let next = behind.max(rank + 1).min(count.saturating_sub(1).max(rank + 1));
        (value.clamp(min, max), next)
    }
}
