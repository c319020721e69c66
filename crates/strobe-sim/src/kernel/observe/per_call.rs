//! What each call of a few chosen functions costs: entry to return, beside the call tree's sums.
//!
//! A call is open while its function is on the chain of callers that the call tree keeps: calls of
//! the function from within itself belong to the outermost one. Where the function ends in a jump
//! to another one, which returns in its place, the call is open until that returns.

use strobe_model::measurement::Spread;

use super::Moment;

/// Functions that can be chosen at most: one bit each.
pub const MOST: usize = 64;

/// Whole calls of a function that are kept with their times, at most.
pub const MOST_SPANS: usize = 1 << 20;

/// A whole call: its node, and the cycles of its entry and its return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallSpan {
    /// The node that it began in.
    pub node: u32,
    /// The cycle of its entry.
    pub begin: u64,
    /// The cycle of its return.
    pub end: u64,
}

/// The calls of one function.
#[derive(Debug, Clone, Default)]
pub struct PerCall {
    /// Index into the list given to the call tree.
    pub function: u32,
    /// Cycles of each whole call with what it called; handlers and other threads that came in
    /// between are not its own.
    pub with_callees: Spread,
    /// Of these, in the function itself, and in it again where it called itself.
    pub alone: Spread,
    /// Cycles from entry to return, whoever ran.
    pub elapsed: Spread,
    /// The call with the most cycles with callees, the first of equal ones.
    pub worst: Option<Call>,
    /// Calls from within an open call: part of it.
    pub nested: u64,
    /// Jumps to another function, which returns in this one's place.
    pub tails: u64,
    /// Calls of which measuring saw a part only.
    pub parts: u64,
    /// Cycles of these with callees, as far as seen.
    pub part_cycles: u64,
    /// When each whole call was, up to [`MOST_SPANS`] of them in the order of their returns, if
    /// that is to be kept.
    pub spans: Option<Vec<CallSpan>>,
}

/// A call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The cycle of its entry.
    pub begin: u64,
    /// Where it was called from.
    pub from: u32,
    /// The node that it began in.
    pub node: u32,
    /// Cycles with callees.
    pub with_callees: u64,
    /// Cycles in the function itself.
    pub alone: u64,
    /// Cycles from entry to return; of a call under way those before its first instruction.
    pub elapsed: u64,
}

/// A call under way.
#[derive(Debug, Clone, Copy)]
struct Open {
    chosen: u32,
    epoch: u32,
    call: Call,
}

/// The chosen functions' calls that are under way in a thread or handler.
#[derive(Debug, Clone, Default)]
pub(super) struct Opened {
    mask: u64,
    open: Vec<Open>,
    /// Functions that have jumped on to another one, by how many callers there were: all of them
    /// up to there.
    jumped: Vec<(usize, u64)>,
}

impl Opened {
    /// Cycles in a function, chosen or not.
    #[inline]
    pub(super) fn charge(&mut self, cycles: u64, alone: u64) {
        for open in &mut self.open {
            open.call.with_callees += cycles;
            if alone & (1 << open.chosen) != 0 {
                open.call.alone += cycles;
            }
        }
    }

    /// With so many callers, functions jump on to another one: their calls go on until what called
    /// them does.
    pub(super) fn jumped_on(&mut self, callers: usize, bits: u64) {
        let before = self.returned(callers);
        match self.jumped.last_mut() {
            Some((at, all)) if *at == callers => *all |= bits,
            _ if bits != 0 => self.jumped.push((callers, before | bits)),
            _ => {}
        }
    }

    /// The functions that have jumped on and whose calls are open, there being so many callers.
    #[inline]
    pub(super) fn returned(&mut self, callers: usize) -> u64 {
        while self.jumped.last().is_some_and(|(at, _)| *at > callers) {
            self.jumped.pop();
        }
        self.jumped()
    }

    /// The same, where no caller has gone on since.
    #[inline]
    pub(super) fn jumped(&self) -> u64 {
        self.jumped.last().map_or(0, |(_, all)| *all)
    }

    /// No call is open any more.
    fn clear(&mut self) {
        self.mask = 0;
        self.jumped.clear();
    }
}

/// The chosen functions with their calls.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub(super) all: Vec<PerCall>,
    active: bool,
    /// Counts the beginnings and ends of measuring.
    epoch: u32,
}

impl Chosen {
    pub(super) fn new(functions: &[u32], active: bool, with_spans: bool) -> Self {
        let functions = functions.iter().take(MOST);
        let spans = || with_spans.then(Vec::new);
        let all =
            functions.map(|&function| PerCall { function, spans: spans(), ..PerCall::default() });
        Chosen { all: all.collect(), active, epoch: 0 }
    }

    /// A function's bit; 0 of one that is not chosen.
    pub(super) fn bit(&self, function: u32) -> u64 {
        let at = self.all.iter().position(|chosen| chosen.function == function);
        at.map_or(0, |at| 1 << at)
    }

    /// A function was entered within a call of its own.
    pub(super) fn nested(&mut self, bits: u64) {
        for (at, chosen) in self.all.iter_mut().enumerate() {
            chosen.nested += u64::from(bits & (1 << at) != 0);
        }
    }

    /// Functions jump on to another one.
    pub(super) fn jumped_on(&mut self, bits: u64) {
        for (at, chosen) in self.all.iter_mut().enumerate() {
            chosen.tails += u64::from(bits & (1 << at) != 0);
        }
    }

    /// Measuring begins or ends. A call that is entered in this very cycle is measured whole.
    pub(super) fn set_active(&mut self, active: bool, now: Moment, running: &mut Opened) {
        if active == self.active {
            return;
        }
        self.active = active;
        self.epoch += 1;
        let entered = running.open.iter_mut().filter(|open| active && open.call.begin == now.cycle);
        entered.for_each(|open| (open.epoch, open.call.elapsed) = (self.epoch, 0));
    }

    /// The core is now where the functions of `mask` have open calls.
    pub(super) fn follow(&mut self, opened: &mut Opened, mask: u64, call: Call) {
        let before = std::mem::replace(&mut opened.mask, mask);
        if before & !mask != 0 {
            opened.open.retain(|open| {
                let stays = mask & (1 << open.chosen) != 0;
                if !stays {
                    self.close(*open, call.begin);
                }
                stays
            });
        }
        let mut new = mask & !before;
        while new != 0 {
            let chosen = new.trailing_zeros();
            new &= new - 1;
            opened.open.push(Open { chosen, epoch: self.epoch, call });
        }
    }

    /// A handler ends, and all its calls with it.
    pub(super) fn close_all(&mut self, opened: &mut Opened, cycle: u64) {
        opened.clear();
        opened.open.drain(..).for_each(|open| self.close(open, cycle));
    }

    /// Calls that never return: a reset, or the end of the run.
    pub(super) fn cut(&mut self, opened: &mut Opened) {
        opened.clear();
        opened.open.drain(..).for_each(|open| self.part(open));
    }

    fn close(&mut self, open: Open, cycle: u64) {
        if open.epoch != self.epoch {
            self.part(open);
            return;
        }
        if !self.active {
            return;
        }
        let chosen = &mut self.all[open.chosen as usize];
        let elapsed = open.call.elapsed + cycle.saturating_sub(open.call.begin);
        let call = Call { elapsed, ..open.call };
        chosen.with_callees.add(call.with_callees);
        chosen.alone.add(call.alone);
        chosen.elapsed.add(call.elapsed);
        if let Some(spans) = chosen.spans.as_mut().filter(|spans| spans.len() < MOST_SPANS) {
            spans.push(CallSpan { node: call.node, begin: call.begin, end: cycle });
        }
        if chosen.worst.is_none_or(|worst| worst.with_callees < call.with_callees) {
            chosen.worst = Some(call);
        }
    }

    fn part(&mut self, open: Open) {
        if open.epoch == self.epoch && !self.active {
            return;
        }
        let chosen = &mut self.all[open.chosen as usize];
        chosen.parts += 1;
        chosen.part_cycles += open.call.with_callees;
    }
}
