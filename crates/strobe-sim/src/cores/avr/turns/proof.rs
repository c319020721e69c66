//! How many of the next turns of a loop are the same as the recorded one.
//!
//! The proof is by induction. If registers and memory begin a turn as they are supposed to, each of
//! its instructions does what it did in the recorded turn, but for counters; and at the end they
//! are as the next turn is supposed to begin.

use super::super::cpu::Cpu;
use super::cells::{Address, Cells, Counter, Disproof};
use super::effects::Executed;
use super::record::{Place, Recording};

/// Fewer turns are executed sooner than skipped.
pub(super) const MIN_TURNS: u64 = 6;

/// Evaluations of one turn; each has fewer turns or longer counters than the one before.
const MAX_TRIES: usize = 24;

/// The turns that are the same, and their counters.
#[derive(Debug)]
pub(super) struct Proof {
    /// The last turn that is the same, the recorded one being turn 0.
    pub(super) last: u64,
    pub(super) counters: Vec<Counter>,
}

/// The recorded turn, and the core after it.
struct Prover<'a> {
    turn: &'a Recording,
    end: &'a Cpu,
    counters: Vec<Counter>,
    refused: Vec<(u16, Address)>,
}

/// Counters and turns before an adoption that has only been suggested.
struct Fallback {
    counters: Vec<Counter>,
    last: u64,
    adopted: (u16, Address),
}

/// Proves that turns up to `limit` or fewer are the same.
pub(super) fn prove(turn: &Recording, end: &Cpu, limit: u64) -> Option<Proof> {
    let mut prover = Prover { turn, end, counters: Vec::new(), refused: Vec::new() };
    prover.find_counters();
    prover.run(limit)
}

impl Prover<'_> {
    /// Each byte that the turn has changed is a counter, until it turns out to be part of one.
    fn find_counters(&mut self) {
        let first = &self.turn.steps[0].r;
        let registers = (0..32).filter(|&at| first[at] != self.end.r[at]);
        let registers: Vec<Address> = registers.map(|at| at as Address).collect();
        let reads = self.turn.accesses.iter().filter(|a| a.place == Place::Ram && !a.write);
        let mut changed: Vec<Address> = reads
            .map(|access| access.address)
            .filter(|&at| self.values(at).is_some_and(|(begin, end)| begin != end))
            .collect();
        changed.sort_unstable();
        changed.dedup();
        for place in registers.into_iter().chain(changed) {
            let counter = Counter { places: Vec::new(), first: 0, step: 0 };
            self.counters.push(counter);
            self.adopt((self.counters.len() - 1) as u16, place);
        }
    }

    /// What a place held at the beginning of the turn and at its end, if it was read first.
    fn values(&self, place: Address) -> Option<(u8, u8)> {
        if let Some(&end) = self.end.r.get(usize::from(place)) {
            return Some((self.turn.steps[0].r[usize::from(place)], end));
        }
        let of_place = |access: &&super::record::ByteAccess| access.address == place;
        let first = self.turn.accesses.iter().find(of_place)?;
        let last = self.turn.accesses.iter().rfind(of_place)?;
        (!first.write).then_some((first.value, last.value))
    }

    /// Makes a place the next byte of a counter.
    fn adopt(&mut self, counter: u16, place: Address) -> Option<()> {
        let (begin, end) = self.values(place)?;
        for other in &mut self.counters {
            other.places.retain(|&at| at != place);
        }
        let counter = self.counters.get_mut(usize::from(counter))?;
        let shift = 8 * counter.places.len() as u32;
        counter.places.push(place);
        let before = counter.first + counter.step;
        counter.first += i64::from(begin) << shift;
        let end = before & ((1 << shift) - 1) | i64::from(end) << shift;
        // The difference of numbers of so many bytes, the nearer way round.
        let spare = 64 - shift - 8;
        counter.step = end.wrapping_sub(counter.first) << spare >> spare;
        Some(())
    }

    fn run(mut self, limit: u64) -> Option<Proof> {
        let mut last = limit;
        let mut fallback: Option<Fallback> = None;
        for _ in 0..MAX_TRIES {
            if last < MIN_TURNS {
                let Fallback { counters, last: before, adopted } = fallback.take()?;
                (self.counters, last) = (counters, before);
                self.refused.push(adopted);
                continue;
            }
            let (outcome, suggested) = self.evaluate(last);
            match outcome {
                Ok(()) => return Some(Proof { last, counters: self.counters }),
                Err(Disproof::Shorter(turns)) => {
                    let turns = turns.min(last - 1);
                    if let Some((counter, next)) = suggested.filter(|_| fallback.is_none()) {
                        let counters = self.counters.clone();
                        fallback =
                            Some(Fallback { counters, last: turns, adopted: (counter, next) });
                        self.adopt(counter, next)?;
                    } else {
                        last = turns;
                    }
                }
                Err(Disproof::Adopt { counter, next }) => self.adopt(counter, next)?,
                // The adoption was none, or nothing helps.
                Err(Disproof::Other) => last = 0,
            }
        }
        None
    }

    /// Goes through the turn.
    fn evaluate(&self, last: u64) -> (Result<(), Disproof>, Option<(u16, Address)>) {
        let changed = self.turn.steps[0].sreg ^ self.end.sreg;
        let mut cells = Cells::new(&self.counters, &self.refused, last, changed);
        let outcome = self.walk(&mut cells);
        (outcome, cells.suggested)
    }

    fn walk(&self, cells: &mut Cells) -> Result<(), Disproof> {
        for (at, step) in self.turn.steps.iter().enumerate() {
            let after = self.turn.steps.get(at + 1).map_or(&self.end.r, |next| &next.r);
            cells.apply(&Executed {
                insn: step.insn,
                r: &step.r,
                sreg: step.sreg,
                after,
                accesses: self.turn.accesses_of(at),
                turn: self.turn.cycles,
            })?;
        }
        cells.close()
    }
}
