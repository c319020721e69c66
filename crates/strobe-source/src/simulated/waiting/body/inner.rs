//! The loops within a turn.

use super::{Effect, Turn};
use crate::simulated::waiting::deciding::Deciding;
use crate::simulated::waiting::flow::Loop;

impl Turn<'_> {
    /// The loops within a turn wait or count, too, or shift by so many bits, as an AVR does it.
    pub(super) fn inner_are_idle(&self) -> Option<()> {
        let is_idle = |of: &Loop| of.turns(self.flow).iter().any(|turn| self.is_idle(turn));
        self.of.inner(self.flow).iter().all(is_idle).then_some(())
    }

    fn is_idle(&self, inner: &Loop) -> bool {
        let Some(turn) = Turn::of(self.program, self.code, self.flow, inner) else { return false };
        let deciding = Deciding::of(&turn);
        let counters = turn.counters(&deciding);
        let idles = counters.and_then(|counters| turn.idles(&deciding, &counters));
        idles.is_some() || turn.only_shifts()
    }

    /// Whether the loop shifts what is in registers, a bit each turn, and counts the bits.
    fn only_shifts(&self) -> bool {
        let is_known = |(at, one): (usize, &Effect)| {
            let touches = one.load.is_some() || one.stores.is_some() || one.calls.is_some();
            one.steps || one.carries || self.shifts(at) || one.writes.is_empty() && !touches
        };
        let tests = self.tests(|at| self.goes_out(at));
        self.of.has_one_way(self.flow)
            && self.effects.iter().enumerate().all(is_known)
            && !tests.is_empty()
            && tests.iter().all(|&at| self.effects[at].steps)
    }

    /// Whether an instruction shifts a register by a bit, there.
    fn shifts(&self, at: usize) -> bool {
        let (one, name) = (&self.effects[at], self.body[at].mnemonic.as_str());
        let is_shift = matches!(name, "lsr" | "ror" | "asr" | "add" | "adc");
        is_shift && !one.reads.is_empty() && one.reads.iter().all(|read| one.writes.contains(read))
    }

    /// Whether a loop within the turn works as often as an instruction of it counts: a shift by a
    /// register, as an AVR has it.
    pub(super) fn repeats(&self, at: usize, inner: &[Loop]) -> bool {
        let one = &self.effects[at];
        let counts = one.steps || one.carries || one.writes.is_empty();
        let mut around = inner.iter().filter(|inner| inner.turn.contains(&self.of.turn[at]));
        counts && around.any(|inner| self.works_in(inner))
    }

    /// Whether something in a register goes on from turn to turn of a loop within, but for counts.
    fn works_in(&self, inner: &Loop) -> bool {
        let inside = self.of.turn.iter().zip(&self.effects);
        let inside: Vec<&Effect> =
            inside.filter(|(number, _)| inner.turn.contains(number)).map(|(_, one)| one).collect();
        let goes_on = |to: &String| {
            let mut writers = inside.iter().filter(|one| one.writes.contains(to));
            writers.all(|one| one.reads.contains(to))
        };
        inside.iter().any(|one| {
            let counts = one.steps || one.carries || one.writes.iter().all(|to| one.narrows(to));
            !counts && one.writes.iter().any(|to| one.reads.contains(to) && goes_on(to))
        })
    }
}
