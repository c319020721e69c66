//! Where code takes over the time of something else: asleep, in a handler, in a loop that polls.
//!
//! What the models leave open of the code before a wait does not matter behind it: the low and the
//! high model go on when the event comes, or when the code does, whichever is later
//! ([`crate::kernel::pace`]). The code that a handler interrupts keeps its own drift meanwhile.

use strobe_model::Cause;

use super::block::NONE;
use super::core::{Machine, Sleep};
use crate::kernel::observe::Observer;
use crate::kernel::pace::Drift;

/// Instructions of a turn of a loop that polls, at most, with what it calls.
const LONGEST_TURN: u64 = 200;

/// Turns of a loop that still polls when the run ends, at least.
const LEAST_TURNS: u64 = 4;

/// Cycles from a request to its handler that are the instruction under way, at most.
const INSTRUCTION: u64 = 24;

/// Interrupted contexts that are remembered: more than there are threads in a small system.
const CONTEXTS: usize = 256;

/// A register of a device, as the core has read it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Polled {
    pub(crate) address: u32,
    pub(crate) value: u32,
    pub(crate) cycle: u64,
}

/// What is known of waits under way.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// The jitter and its number that the running code has.
    jitter: (u32, u32),
    epoch: u32,
    /// Numbers given so far.
    epochs: u32,
    /// When the core fell asleep, and its drift then.
    asleep: (u64, Drift),
    /// Interrupted code, by the address of its stacked frame: how far its drift was from the
    /// handler's at its beginning, and its jitter.
    contexts: Vec<(u32, Drift)>,
    /// The loops that polled last, and the next to be replaced.
    loops: [Loop; 4],
    next: usize,
}

/// Reads of one register by one instruction.
#[derive(Debug, Clone, Copy, Default)]
struct Loop {
    pc: u32,
    last: Option<Read>,
    /// The first read of this wait.
    first: Option<Read>,
    /// Instructions of a turn, as far as known.
    turn: u64,
    /// What holds again if the loop goes on behind the change that it has seen.
    undo: Option<Undo>,
    /// Turns in a row that saw changes.
    changed: u32,
}

/// A wait that may not have been at its end.
#[derive(Debug, Clone, Copy)]
struct Undo {
    first: Read,
    before: Drift,
    after: Drift,
}

#[derive(Debug, Clone, Copy)]
struct Read {
    polled: Polled,
    drift: Drift,
    instructions: u64,
}

/// The loops that poll, at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PollLoops {
    loops: [Loop; 4],
    next: usize,
}

/// What a turn of a loop takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct TurnCost {
    pub(super) cycles: u64,
    pub(super) instructions: u64,
    /// How much sooner and later in the low and the high model.
    pub(super) slack: (i64, i64),
}

impl Read {
    /// The same read, `times` turns later.
    fn later(self, turn: TurnCost, times: u64) -> Read {
        let signed = times as i64;
        let Read { mut polled, mut drift, mut instructions } = self;
        polled.cycle += turn.cycles * times;
        instructions += turn.instructions * times;
        drift.sooner += turn.slack.0 * signed;
        drift.later += turn.slack.1 * signed;
        Read { polled, drift, instructions }
    }

    fn is_same(&self, other: &Read) -> bool {
        let key = |read: &Read| (read.polled.address, read.polled.cycle, read.instructions);
        key(self) == key(other) && self.drift == other.drift
    }
}

impl Loop {
    /// Whether a read is what it was before a turn, or that one turn later.
    fn follows(now: Option<Read>, before: Option<Read>, turn: TurnCost) -> bool {
        match (now, before) {
            (Some(now), Some(before)) => {
                now.is_same(&before) || now.is_same(&before.later(turn, 1))
            }
            (None, None) => true,
            _ => false,
        }
    }

    fn repeats(&self, before: &Loop, turn: TurnCost) -> bool {
        (self.pc, self.turn) == (before.pc, before.turn)
            && self.undo.is_none() == before.undo.is_none()
            && Loop::follows(self.first, before.first, turn)
            && Loop::follows(self.last, before.last, turn)
    }

    /// What was read at a cycle or later is read `times` turns later.
    fn move_on(&mut self, begin: u64, turn: TurnCost, times: u64) {
        for read in [&mut self.first, &mut self.last].into_iter().flatten() {
            if read.polled.cycle >= begin {
                *read = read.later(turn, times);
            }
        }
    }
}

/// The cycle of a moment in the low (`false`) or the high model.
fn cycle_in(high: bool, cycle: u64, drift: Drift) -> i64 {
    let cycle = cycle as i64;
    if high { cycle + drift.later } else { cycle - drift.sooner }
}

impl<O: Observer> Machine<O> {
    /// How far the running code is from the low and the high model.
    pub(crate) fn drift(&self) -> Drift {
        let (sooner, later) = self.slack;
        Drift { sooner, later, jitter: self.waiting.jitter, epoch: self.waiting.epoch }
    }

    /// The running code has another drift from here on.
    fn set_drift(&mut self, drift: Drift) {
        self.slack = (drift.sooner, drift.later);
        (self.waiting.jitter, self.waiting.epoch) = (drift.jitter, drift.epoch);
    }

    /// The code at `pc` has waited for something of that drift and has it now.
    fn wait_for(&mut self, pc: u32, cause: Cause, drift: Drift) {
        self.turns.give_up();
        let before = self.drift();
        let (low, high) = (before.sooner - drift.sooner, before.later - drift.later);
        self.set_drift(drift);
        if O::COUNTS && (low, high) != (0, 0) {
            self.observer.paced(pc, cause, low, high);
        }
    }

    /// Jitter that nobody has had before.
    fn fresh(&mut self, drift: Drift, jitter: (u32, u32)) -> Drift {
        self.waiting.epochs += 1;
        let all =
            (drift.jitter.0.saturating_add(jitter.0), drift.jitter.1.saturating_add(jitter.1));
        Drift { jitter: all, epoch: self.waiting.epochs, ..drift }
    }

    /// The core goes to sleep.
    pub(super) fn fall_asleep(&mut self, sleep: Sleep) {
        self.sleep = sleep;
        self.check = true;
        self.turns.abandon();
        self.waiting.asleep = (self.now, self.drift());
    }

    /// What the core slept for has come.
    pub(super) fn wake_up(&mut self) {
        let Some((exception, _)) = self.system.nvic.best_pending() else { return };
        let (event, at) =
            (self.system.nvic.pended_drift(exception), self.system.nvic.pended_at(exception));
        let (since, drift) = self.waiting.asleep;
        // What came before the core slept has not been waited for.
        if at <= since || drift == event {
            return;
        }
        let end = |high| cycle_in(high, since, drift).max(cycle_in(high, at, event));
        let now = self.now as i64;
        let woken = Drift { sooner: now - end(false), later: end(true) - now, ..event };
        self.wait_for(self.cpu.pc.wrapping_sub(2), Cause::Asleep, woken);
    }

    /// A handler begins: its time is that of what requested it, or, where that had to wait, of the
    /// code that it waited for. `stacked` is whether the interrupted code has been.
    pub(super) fn take_over(&mut self, exception: u16, stacked: bool) {
        let request = self.system.nvic.pended_drift(exception);
        if stacked && self.is_idle() {
            self.wait_for(self.cpu.pc, Cause::Asleep, request);
        }
        let mine = self.drift();
        let at = self.system.nvic.pended_at(exception).min(self.now);
        let delay = self.now - at;
        let begin = if request == mine {
            mine
        } else if stacked && delay <= INSTRUCTION {
            let delay = delay as u32;
            self.fresh(request, (delay, INSTRUCTION as u32 / 2 - delay.min(INSTRUCTION as u32 / 2)))
        } else {
            let delay = delay as i64;
            let sooner = mine.sooner.min(delay + request.sooner);
            Drift { sooner, later: mine.later.max(request.later - delay), ..mine }
        };
        if stacked && begin != mine {
            let (sooner, later) = (mine.sooner - begin.sooner, mine.later - begin.later);
            let contexts = &mut self.waiting.contexts;
            if contexts.len() == CONTEXTS {
                contexts.remove(0);
            }
            contexts.push((self.cpu.r[13], Drift { sooner, later, ..mine }));
        }
        self.set_drift(begin);
    }

    /// Whether the code goes round a loop that only an interrupt ends.
    fn is_idle(&self) -> bool {
        let id = self.lookup();
        id != NONE && self.blocks.all[id as usize].idle
    }

    /// The instruction that polls in a loop that has gone round for a while.
    fn polls(&self) -> Option<u32> {
        let goes_on = |one: &&Loop| {
            let (Some(first), Some(last)) = (one.first, one.last) else { return false };
            let turns = last.instructions - first.instructions;
            one.turn > 0
                && turns >= LEAST_TURNS * one.turn
                && self.instructions - last.instructions <= one.turn
        };
        self.waiting.loops.iter().find(goes_on).map(|one| one.pc)
    }

    /// The run ends at a time, of that drift: code that sleeps or idles until then has waited for
    /// it.
    pub(super) fn reach(&mut self, drift: Drift) {
        if self.sleep != Sleep::Awake {
            self.wait_for(self.cpu.pc.wrapping_sub(2), Cause::Asleep, drift);
        } else if self.is_idle() {
            self.wait_for(self.cpu.pc, Cause::Asleep, drift);
        } else if let Some(pc) = self.polls() {
            self.wait_for(pc, Cause::DataWait, drift);
        }
    }

    /// A handler has ended, and the code goes on whose frame was here.
    pub(super) fn hand_back(&mut self, frame: u32) {
        let contexts = &mut self.waiting.contexts;
        let Some(at) = contexts.iter().rposition(|(of, _)| *of == frame) else { return };
        let (_, own) = contexts.remove(at);
        let drift = self.drift();
        let (sooner, later) = (drift.sooner + own.sooner, drift.later + own.later);
        self.set_drift(Drift { sooner, later, ..own });
    }

    /// The instruction at `pc` has read a register of a device: perhaps one turn of a loop that
    /// waits for it to change.
    pub(super) fn note_poll(&mut self, pc: u32, polled: Polled) {
        let read = Read { polled, drift: self.drift(), instructions: self.instructions };
        let loops = &mut self.waiting.loops;
        let is = |one: &Loop| {
            one.pc == pc && one.last.is_some_and(|last| last.polled.address == polled.address)
        };
        let Some(at) = loops.iter().position(is) else {
            let at = self.waiting.next;
            self.waiting.next = (at + 1) % loops.len();
            loops[at] =
                Loop { pc, last: Some(read), first: Some(read), turn: 0, ..Loop::default() };
            return;
        };
        let mut one = loops[at];
        let Some(last) = one.last.replace(read) else { return };
        let turn = read.instructions - last.instructions;
        // Whoever writes to a device on the way round does more than wait.
        let is_turn = turn <= LONGEST_TURN && self.bus.unmodelled.changed() <= last.polled.cycle;
        if !is_turn || one.turn != 0 && turn > one.turn {
            // Another call of the same loop.
            (one.first, one.undo, one.changed) = (Some(read), None, 0);
            self.waiting.loops[at] = one;
            return;
        }
        if turn < one.turn {
            // What was taken for a turn was from one wait to the next.
            one.first = Some(last);
        }
        one.turn = turn;
        let (last, read) = match one.undo.take() {
            Some(undo) => {
                one.first = Some(undo.first);
                (Read { drift: undo.before, ..last }, self.went_on(pc, undo, read))
            }
            None => (last, read),
        };
        one.last = Some(read);
        let changed = last.polled.value != polled.value;
        one.changed = if changed { one.changed.saturating_add(1) } else { 0 };
        if one.changed == 1
            && let Some(first) = one.first
            && let Some(drift) = self.released(first, last, read)
        {
            let before = self.drift();
            self.wait_for(pc, Cause::DataWait, drift);
            let after = self.drift();
            one.undo = Some(Undo { first, before, after });
            let read = Read { drift: after, ..read };
            (one.first, one.last) = (Some(read), Some(read));
        }
        self.waiting.loops[at] = one;
    }

    /// The loops that poll, as they are now.
    pub(super) fn poll_loops(&self) -> PollLoops {
        PollLoops { loops: self.waiting.loops, next: self.waiting.next }
    }

    /// Whether a turn that began with other loops leaves the same behind when it is repeated.
    pub(super) fn poll_loops_repeat(&self, before: &PollLoops, turn: TurnCost) -> bool {
        let mut all = self.waiting.loops.iter().zip(&before.loops);
        self.waiting.next == before.next && all.all(|(now, then)| now.repeats(then, turn))
    }

    /// Polls since a cycle happen `times` turns later.
    pub(super) fn repeat_poll_loops(&mut self, begin: u64, turn: TurnCost, times: u64) {
        self.waiting.loops.iter_mut().for_each(|one| one.move_on(begin, turn, times));
    }

    /// The loop has seen a change and goes on: it reads so often, or waits for another one. Its
    /// time is its own again. Of a register that changes in each turn nobody knows here whether
    /// the loop ends by its value; that is no wait for it.
    fn went_on(&mut self, pc: u32, undo: Undo, read: Read) -> Read {
        let Undo { before, after, .. } = undo;
        let sooner = before.sooner + (read.drift.sooner - after.sooner);
        let later = before.later + (read.drift.later - after.later);
        self.wait_for(pc, Cause::DataWait, Drift { sooner, later, ..before });
        Read { drift: self.drift(), ..read }
    }

    /// The drift of code whose loop has polled since the `first` read and has seen a change between
    /// the `last` and this one; nothing if no device did that.
    fn released(&mut self, first: Read, last: Read, read: Read) -> Option<Drift> {
        let (from, to) = (last.polled.cycle, read.polled.cycle);
        let (own, event) = self.bus.time_of(read.polled.address, (from, to))?;
        let turn = to - from;
        // Where it counts by itself and reports nothing, anywhere in between.
        let event = event.unwrap_or(to - turn / 2);
        let spread = |high| {
            let (less, more) =
                (read.drift.sooner - last.drift.sooner, read.drift.later - last.drift.later);
            (turn as i64 + if high { more } else { -less }).max(1)
        };
        // In each model the loop goes round until it finds the change.
        let end = |high| {
            let begin = cycle_in(high, first.polled.cycle, first.drift);
            let left = cycle_in(high, event, own) - begin;
            begin + (left.max(0) + spread(high) - 1) / spread(high) * spread(high)
        };
        let now = to as i64;
        let drift = Drift { sooner: now - end(false), later: end(true) - now, ..own };
        if own.epoch == read.drift.epoch {
            return Some(drift);
        }
        let jitter = (to - event, (spread(true) as u64).saturating_sub(to - event));
        let drift = Drift { sooner: own.sooner, later: own.later.max(drift.later), ..own };
        Some(self.fresh(drift, (jitter.0 as u32, jitter.1 as u32)))
    }
}
