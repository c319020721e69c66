//! Turns of loops that wait are not executed: a turn is recorded, the next ones are proven to be
//! the same, and all but the last are accounted for at once.
//!
//! Everything comes out as if they had been executed. The last one of them is: it leaves behind
//! what the next turn does not need, in registers and in memory.

mod cells;
mod chain;
mod effects;
mod proof;
mod record;
mod sums;
mod wide;

use self::proof::{MIN_TURNS, Proof};
use self::record::{Place, Recording};
use super::DATA;
use super::block::NONE;
use super::core::Machine;
use crate::kernel::observe::Observer;
use crate::kernel::observe::code::BlockId;

/// Jumps back after which the loop is tried for the first time.
pub(super) const FIRST_TRY: u32 = 24;

/// The same after turns have been skipped: the loop waits, and may wait for something else next.
const NEXT_TRY: u32 = 3;

/// After turns of few instructions were skipped, or a turn was cut short by an event, doubled each
/// time.
const TRY_AGAIN: u32 = 48;
const MAX_DOUBLED: u32 = 6;

/// Instructions that cost as much as trying to skip one of them.
const COST: u64 = 8;

/// After a turn that is not like the next one, doubled each time.
const LONG_PAUSE: u32 = 256;
const MAX_FAILURES: u32 = 12;

/// Cycles before the next event in which no turns fit that would be worth it.
const CLOSE: u64 = 100;

/// Loops that wait, and what is known of them.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// All turns are executed.
    pub(super) disabled: bool,
    /// A jump back has come often, from a block to another.
    hot: Option<(BlockId, BlockId)>,
    /// A turn is being recorded.
    records: bool,
    recording: Recording,
    /// The turn that was proven last, if nothing counts in it.
    proven: Option<Recording>,
    /// How many were skipped.
    pub(super) skipped: u64,
}

impl Turns {
    /// Blocks are numbered anew.
    pub(super) fn forget(&mut self) {
        (self.hot, self.proven) = (None, None);
    }
}

/// What came of trying to skip turns.
enum Outcome {
    Skipped,
    /// By an event, or after few turns.
    CutShort,
    Differs,
}

impl<O: Observer> Machine<O> {
    /// A block has jumped back to where it or an earlier one begins.
    #[inline(always)]
    pub(super) fn jumped_back(&mut self, from: BlockId, to: BlockId) {
        let heat = &mut self.blocks.all[from as usize].heat;
        *heat = heat.wrapping_sub(1);
        if *heat == 0 {
            self.grown_hot(from, to);
        }
    }

    #[cold]
    fn grown_hot(&mut self, from: BlockId, to: BlockId) {
        self.blocks.all[from as usize].heat = TRY_AGAIN;
        let sees_all = O::EACH || self.observer.follows_accesses();
        if self.turns.disabled || self.turns.records || sees_all || to == NONE {
            return;
        }
        self.turns.hot = Some((from, to));
        self.check = true;
    }

    /// If a loop that begins with this block is to be tried, runs a turn or more of it.
    pub(super) fn try_turns(&mut self, head: BlockId) -> bool {
        let Some((from, _)) = self.turns.hot.take().filter(|&(_, to)| to == head) else {
            return false;
        };
        let is_close = self.horizon.saturating_sub(self.now) < CLOSE;
        if is_close || self.blocks.all[head as usize].stop_here {
            return false;
        }
        let mut turn = std::mem::take(&mut self.turns.recording);
        self.turns.records = true;
        let outcome = self.skip_turns(head, &mut turn);
        self.turns.records = false;
        self.turns.recording = turn;
        let block = &mut self.blocks.all[from as usize];
        block.heat = match outcome {
            Outcome::Skipped => {
                block.failures = 0;
                NEXT_TRY
            }
            Outcome::CutShort => {
                block.failures = (block.failures + 1).min(MAX_FAILURES);
                TRY_AGAIN << block.failures.min(MAX_DOUBLED)
            }
            Outcome::Differs => {
                block.failures = (block.failures + 1).min(MAX_FAILURES);
                LONG_PAUSE << block.failures
            }
        };
        true
    }

    fn skip_turns(&mut self, head: BlockId, turn: &mut Recording) -> Outcome {
        self.observer.begin_turn(self.moment());
        let whole = self.record_turn(head, turn);
        let repeats = self.observer.end_turn(self.moment());
        if !whole {
            return if self.check { Outcome::CutShort } else { Outcome::Differs };
        }
        let limit = self.horizon.saturating_sub(self.now) / turn.cycles.max(1);
        if limit < MIN_TURNS {
            return Outcome::CutShort;
        }
        if !repeats || !self.polls_repeat(turn) {
            return Outcome::Differs;
        }
        let Some(proof) = self.prove(turn, limit) else { return Outcome::Differs };
        self.take_turns(turn, &proof);
        let is_worth_it = proof.last > COST;
        if is_worth_it { Outcome::Skipped } else { Outcome::CutShort }
    }

    /// A turn that is what was proven last repeats for the same reasons.
    fn prove(&mut self, turn: &Recording, limit: u64) -> Option<Proof> {
        let turns = &mut self.turns;
        let known = turns.proven.as_ref().filter(|proven| proven.is_same(turn));
        if known.is_some() {
            let last = turn.ends_before_changes(limit)?;
            return (last >= MIN_TURNS).then(|| Proof { last, counters: Vec::new() });
        }
        let proof = proof::prove(turn, &self.cpu, limit)?;
        if proof.counters.is_empty() && turn.only_reads_what_stays() {
            turns.proven = Some(turn.clone());
        }
        Some(proof)
    }

    fn polls_repeat(&self, turn: &Recording) -> bool {
        let mut polls = turn.accesses.iter().filter(|access| access.place == Place::Unmodelled);
        polls.all(|access| {
            let word = DATA + u32::from(access.address);
            self.bus.unmodelled.repeats(word, turn.begin.cycle)
        })
    }

    /// Goes on to where the last of the turns begins.
    fn take_turns(&mut self, turn: &Recording, proof: &Proof) {
        let times = proof.last - 1;
        self.now += times * turn.cycles;
        self.instructions += times * turn.instructions;
        self.turns.skipped += times;
        for counter in &proof.counters {
            let moved = counter.step.wrapping_mul(proof.last as i64);
            let bytes = counter.first.wrapping_add(moved).to_le_bytes();
            for (&place, byte) in counter.places.iter().zip(bytes) {
                self.set_byte(place, byte);
            }
        }
        for access in turn.accesses.iter().filter(|access| access.place == Place::Unmodelled) {
            let word = DATA + u32::from(access.address);
            self.bus.unmodelled.repeat(word, times, access.cycle + times * turn.cycles);
        }
        if O::COUNTS {
            for &(id, jumped) in &turn.blocks {
                self.observer.block(id, jumped, times);
            }
        }
        self.observer.repeat_turn(times, self.moment());
    }

    fn set_byte(&mut self, place: u16, byte: u8) {
        if let Some(register) = self.cpu.r.get_mut(usize::from(place)) {
            *register = byte;
            return;
        }
        let at = (DATA + u32::from(place)).wrapping_sub(self.bus.ram.base) as usize;
        if let Some(cell) = self.bus.ram.data.get_mut(at) {
            *cell = byte;
        }
    }
}
