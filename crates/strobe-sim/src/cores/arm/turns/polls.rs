//! What is known of registers that a loop polls ([`waiting`](super::super::waiting)), behind turns
//! that were not executed.

use super::record::{MemoryAccess, Place, Step};
use super::{Head, TurnCost};
use crate::cores::arm::core::Machine;
use crate::cores::arm::waiting::Polled;
use crate::kernel::device::Reading;
use crate::kernel::observe::Observer;
use crate::kernel::pace::Model;

/// A poll of the recorded turn.
struct Poll {
    pc: u32,
    access: MemoryAccess,
    /// What reading again shows, of a register that has a model.
    reading: Option<Reading>,
    /// It is the last one of its instruction: where that ends, how many instructions of the turn
    /// there were and how far the low and the high model had moved.
    end: Option<(u64, (i64, i64))>,
}

impl<O: Observer> Machine<O> {
    /// Whether the turn polls a register that changes more rarely than each turn: the result
    /// depends on which turns see a change.
    pub(super) fn polls_now_and_then(&self, cycles: u64) -> bool {
        self.turns.recording.accesses.iter().any(|access| {
            let Place::Register(Reading::Counting { period, .. }) = access.place else {
                return false;
            };
            period > cycles && self.bus.is_paced(access.address)
        })
    }

    /// The turn's instructions retire and its polls happen `times` times more.
    pub(super) fn repeat_polls(&mut self, head: &Head, cost: TurnCost, times: u64) {
        if self.polls_now_and_then(cost.cycles) {
            self.poll_again(head, cost, times);
            return;
        }
        self.instructions += times * cost.instructions;
        self.slack.0 += times as i64 * cost.slack.0;
        self.slack.1 += times as i64 * cost.slack.1;
        self.repeat_poll_loops(head.moment.cycle, cost, times);
        self.bus.repeat_polls(head.polls, times);
    }

    /// The same, poll by poll.
    fn poll_again(&mut self, head: &Head, cost: TurnCost, times: u64) {
        let polls = self.polls_of_turn(head);
        for turn in 1..=times {
            let begin = self.instructions;
            let mut moved = (0, 0);
            for Poll { pc, access, reading, end } in &polls {
                let cycle = access.cycle + turn * cost.cycles;
                let value = reading.and_then(|reading| reading.value_at(access.value, cycle));
                let value = value.unwrap_or(access.value);
                (self.bus.now, self.bus.pc) = (cycle, *pc);
                if reading.is_some() {
                    self.bus.note_read(access.address, value);
                }
                let Some((instructions, slack)) = *end else { continue };
                self.instructions = begin + instructions;
                self.slack.0 += slack.0 - moved.0;
                self.slack.1 += slack.1 - moved.1;
                moved = slack;
                if self.model == Model::Likely {
                    self.note_poll(*pc, Polled { address: access.address, value, cycle });
                }
            }
            self.instructions = begin + cost.instructions;
            self.slack.0 += cost.slack.0 - moved.0;
            self.slack.1 += cost.slack.1 - moved.1;
        }
    }

    fn polls_of_turn(&self, head: &Head) -> Vec<Poll> {
        let turn = &self.turns.recording;
        let mut polls = Vec::new();
        for (at, &Step { id, at: index, slack, .. }) in turn.steps.iter().enumerate() {
            let pc = self.blocks.all[id as usize].address(index.into());
            let first = polls.len();
            for &access in turn.accesses_of(at) {
                let reading = match access.place {
                    Place::Register(reading) => Some(reading),
                    Place::Unmodelled => None,
                    Place::Ram | Place::Constant => continue,
                };
                if self.bus.is_paced(access.address) {
                    polls.push(Poll { pc, access, reading, end: None });
                }
            }
            if let Some(last) = polls[first..].last_mut() {
                let moved = (slack.0 - head.slack.0, slack.1 - head.slack.1);
                last.end = Some((at as u64 + 1, moved));
            }
        }
        polls
    }
}
