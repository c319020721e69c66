//! Polls of registers in turns that were not executed: how often each was read, and since when it
//! shows the same value.

use super::record::{MemoryAccess, Place};
use super::{Head, TurnCost};
use crate::cores::arm::core::Machine;
use crate::kernel::device::Reading;
use crate::kernel::observe::Observer;

/// A poll of the recorded turn, of a register that has a model.
struct Poll {
    pc: u32,
    access: MemoryAccess,
    /// The value that reading again shows.
    reading: Reading,
}

impl<O: Observer> Machine<O> {
    /// Whether the turn polls a register that changes more rarely than each turn: the result
    /// depends on which turns see a change.
    pub(super) fn polls_now_and_then(&self, cycles: u64) -> bool {
        self.turns.recording.accesses.iter().any(|access| {
            let Place::Register(Reading::Counting { period, .. }) = access.place else {
                return false;
            };
            period > cycles && self.bus.changes_by_itself(access.address)
        })
    }

    /// The turn's instructions retire and its polls happen `times` times more.
    pub(super) fn repeat_polls(&mut self, head: &Head, cost: TurnCost, times: u64) {
        self.instructions += times * cost.instructions;
        if self.polls_now_and_then(cost.cycles) {
            self.poll_again(cost, times);
        } else {
            self.bus.repeat_polls(head.polls, times);
        }
    }

    /// The same, poll by poll.
    fn poll_again(&mut self, cost: TurnCost, times: u64) {
        let polls = self.polls_of_turn();
        for turn in 1..=times {
            for &Poll { pc, access, reading } in &polls {
                let cycle = access.cycle + turn * cost.cycles;
                let value = reading.value_at(access.value, cycle).unwrap_or(access.value);
                (self.bus.now, self.bus.pc) = (cycle, pc);
                self.bus.note_read(access.address, value);
            }
        }
    }

    fn polls_of_turn(&self) -> Vec<Poll> {
        let turn = &self.turns.recording;
        let mut polls = Vec::new();
        for (at, step) in turn.steps.iter().enumerate() {
            let pc = self.blocks.all[step.id as usize].address(step.at.into());
            for &access in turn.accesses_of(at) {
                if let Place::Register(reading) = access.place
                    && self.bus.changes_by_itself(access.address)
                {
                    polls.push(Poll { pc, access, reading });
                }
            }
        }
        polls
    }
}
