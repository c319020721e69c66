//! How often verdicts are wrong: false alarms, coverage and power on samples as machines make them.
//!
//! Seeds are fixed, so a rate is a figure and not a throw of dice; limits are those that a true
//! rate of 5 % stays within.

use strobe_analyse::statistics::sequential::{self, Verdict, judge};
use strobe_analyse::statistics::{Paired, Random, ranks};

/// A machine that is skewed, has outliers, drifts and remembers.
struct Machine {
    random: Random,
    /// Slow drift for each round, as 0.01 for 1 %.
    drift: f64,
    /// How much of a disturbance is left in the next run.
    memory: f64,
    disturbance: f64,
    round: f64,
}

impl Machine {
    fn new(seed: u64, drift: f64, memory: f64) -> Machine {
        Machine { random: Random::new(seed), drift, memory, disturbance: 0.0, round: 0.0 }
    }

    /// What a run takes whose true cost is `cost`: one-sided noise of some percent, 8 % outliers
    /// of up to 30 %.
    fn run(&mut self, cost: f64) -> f64 {
        let noise = -(1.0 - self.random.unit()).ln() * 0.02;
        let outlier = if self.random.unit() < 0.08 { 0.3 * self.random.unit() } else { 0.0 };
        let fresh = noise + outlier;
        self.disturbance = self.memory * self.disturbance + (1.0 - self.memory) * fresh;
        cost * (1.0 + self.disturbance) * (1.0 + self.drift * self.round)
    }

    /// A round: both sides in a random order.
    fn pair(&mut self, effect: f64) -> (f64, f64) {
        self.round += 1.0;
        if self.random.unit() < 0.5 {
            let first = self.run(1.0);
            (first, self.run(1.0 + effect))
        } else {
            let second = self.run(1.0 + effect);
            (self.run(1.0), second)
        }
    }
}

/// Machines of all kinds: skewed, drifting, remembering.
const KINDS: [(&str, f64, f64); 4] =
    [("skewed", 0.0, 0.0), ("drifting", 0.01, 0.0), ("remembering", 0.0, 0.7), ("both", 0.01, 0.7)];

/// In how many of so many trials something holds.
fn times(trials: u64, holds: impl Fn(u64) -> bool) -> u64 {
    (0..trials).filter(|trial| holds(*trial)).count() as u64
}

#[test]
fn pairs_raise_few_false_alarms_and_detect_changes() {
    for (name, drift, memory) in KINDS {
        let flagged = |effect: f64| {
            times(400, |trial| {
                let mut machine = Machine::new(1000 + trial, drift, memory);
                let pairs: Vec<_> = (0..20).map(|_| machine.pair(effect)).collect();
                Paired::of(&pairs, 0.95, trial).is_some_and(|paired| paired.differs(0.05))
            })
        };
        let (alarms, found) = (flagged(0.0), flagged(0.05));
        assert!(alarms <= 28, "{name}: {alarms} false alarms in 400");
        assert!(found >= 340, "{name}: {found} of 400 found");
    }
}

/// The control: all of one, then all of the other, as most tools do it, on the drifting machine.
#[test]
fn blocks_raise_false_alarms_in_most_trials() {
    let alarms = times(200, |trial| {
        let mut machine = Machine::new(trial, 0.01, 0.0);
        let mut block = || -> Vec<f64> {
            (0..20)
                .map(|_| {
                    machine.round += 1.0;
                    machine.run(1.0)
                })
                .collect()
        };
        let (first, second) = (block(), block());
        ranks::mann_whitney(&first, &second).is_some_and(|ranks| ranks.p < 0.05)
    });
    assert!(alarms >= 150, "{alarms} of 200");
}

#[test]
fn intervals_cover_the_true_quotient() {
    for (name, drift, memory) in KINDS {
        for rounds in [8, 25, 60] {
            let covered = times(300, |trial| {
                let mut machine = Machine::new(5000 + trial, drift, memory);
                let pairs: Vec<_> = (0..rounds).map(|_| machine.pair(0.1)).collect();
                let paired = Paired::of(&pairs, 0.95, trial).expect("positive pairs");
                paired.interval.is_some_and(|interval| interval.contains(1.1))
            });
            assert!(covered >= 276, "{name}, {rounds} rounds: {covered} of 300");
        }
    }
}

/// The verdict of the first look that decides, in up to so many rounds.
fn decided(machine: &mut Machine, effect: f64, most: usize, seed: u64) -> (Verdict, usize) {
    let mut pairs = Vec::new();
    for look in 0.. {
        let rounds = sequential::rounds_at(look);
        while pairs.len() < rounds {
            pairs.push(machine.pair(effect));
        }
        let verdict = judge(&pairs, look, 1, 0.02, seed);
        if !matches!(verdict, Verdict::Unclear { .. }) || rounds >= most {
            return (verdict, rounds);
        }
    }
    unreachable!("looks do not end")
}

#[test]
fn looking_often_raises_no_more_false_alarms() {
    for (name, drift, memory) in KINDS {
        let alarms = times(300, |trial| {
            let mut machine = Machine::new(9000 + trial, drift, memory);
            matches!(decided(&mut machine, 0.0, 120, trial).0, Verdict::Differs { .. })
        });
        assert!(alarms <= 21, "{name}: {alarms} false alarms in 300");
    }
}

/// A difference of 5 % is never called the same within 2 %, and nearly always found.
#[test]
fn differences_are_found_and_bounded() {
    for (name, drift, memory) in KINDS {
        let mut right = 0;
        for trial in 0..200 {
            let mut machine = Machine::new(20_000 + trial, drift, memory);
            match decided(&mut machine, 0.05, 200, trial).0 {
                Verdict::Differs { low, high } => {
                    right += usize::from((low..=high).contains(&1.05));
                }
                Verdict::Same { within } => panic!("{name}: same within {within}"),
                Verdict::Unclear { .. } => {}
            }
        }
        assert!(right >= 186, "{name}: {right} of 200");
    }
}

/// The naive way: a test after each round at 5 %, until one is "significant".
#[test]
fn looking_after_each_round_without_a_rule_raises_many() {
    let alarms = times(300, |trial| {
        let mut machine = Machine::new(9000 + trial, 0.0, 0.0);
        let mut pairs: Vec<_> = (0..7).map(|_| machine.pair(0.0)).collect();
        (7..120).any(|_| {
            pairs.push(machine.pair(0.0));
            let (down, up) = pairs.iter().fold((0, 0), |(down, up), (a, b)| {
                (down + u64::from(b < a), up + u64::from(b > a))
            });
            strobe_analyse::statistics::sign_test(down, up) < 0.05
        })
    });
    assert!(alarms >= 60, "{alarms} of 300");
}
