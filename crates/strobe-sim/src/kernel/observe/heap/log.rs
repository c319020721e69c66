//! What was seen of allocators' calls: the calls, where they were made, and in which order they
//! began and ended.

use super::super::schedule::Who;

/// In [`Log::order`]: a call ends.
const ENDS: u32 = 1 << 31;

/// In [`Log::order`]: so many moments of calls that are part of others.
const PARTS: u32 = 1 << 30;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It has not: the run ended first.
    Open,
    /// It returned.
    Returned {
        /// The first word by the calling convention.
        result: u32,
        /// The size of the block as the allocator keeps it, where that is known.
        usable: Option<u32>,
        /// Cycles since reset.
        cycle: u64,
    },
    /// Its stack was cut (`longjmp`), its thread started anew, or the chip was reset.
    Abandoned {
        /// Cycles since reset.
        cycle: u64,
    },
}

/// A call of an allocator's function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The function, as an index into the entries.
    pub function: u32,
    /// The first words of its arguments by the calling convention.
    pub arguments: [u32; 4],
    /// Who made it.
    pub who: Who,
    /// Its chain, an index into [`Log::chains`].
    pub chain: u32,
    /// The allocator's call that it was made within, by the same thread or handler.
    pub outer: Option<u32>,
    /// Cycles since reset.
    pub begin: u64,
    /// How it ended.
    pub end: End,
}

/// A place in a call chain: an instruction that calls, and where its own function was called from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Link {
    /// The caller's link; none for the outermost.
    pub caller: Option<u32>,
    /// The return address of the call or, with `is_call`, the address of the instruction itself.
    pub address: u32,
    /// Whether `address` is the instruction that entered the allocator.
    pub is_call: bool,
}

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// It begins.
    Begin(u32),
    /// It ends.
    End(u32),
}

/// A step of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Something happens to a call.
    Call(Moment),
    /// Calls that are not here begin or end, so many times.
    Parts(u32),
}

/// All calls of a run.
#[derive(Debug, Clone, Default)]
pub struct Log {
    /// The calls in the order of their beginnings.
    pub calls: Vec<Call>,
    /// Links of call chains; a caller comes before what it calls.
    pub chains: Vec<Link>,
    /// Calls that are not here: there were too many, or the stack was too deep to follow.
    pub missed: u64,
    /// Calls that are not here because the call that they were made within has all of them.
    pub nested: u64,
    /// Resets of the chip, which empty its heaps: calls begun before, and the cycle.
    pub resets: Vec<(u32, u64)>,
    order: Vec<u32>,
}

impl Log {
    /// Notes that a call begins, without its chain, and returns its number.
    pub fn begin(
        &mut self,
        function: u32,
        arguments: [u32; 4],
        who: Who,
        outer: Option<u32>,
        now: u64,
    ) -> u32 {
        let call = self.calls.len() as u32;
        let (chain, end) = (0, End::Open);
        self.calls.push(Call { function, arguments, who, chain, outer, begin: now, end });
        self.order.push(call);
        call
    }

    /// Calls that have begun, whether or not they are here.
    pub(in crate::kernel::observe) fn begun(&self) -> u64 {
        self.calls.len() as u64 + self.nested + self.missed
    }

    /// Notes that a call ends.
    pub fn end(&mut self, call: u32, end: End) {
        if let Some(known) = self.calls.get_mut(call as usize) {
            known.end = end;
            self.order.push(call | ENDS);
        }
    }

    /// A call that is part of another one begins or ends: it takes its place in the order.
    pub(super) fn part(&mut self) {
        match self.order.last_mut() {
            Some(last) if *last & (ENDS | PARTS) == PARTS && *last != ENDS - 1 => *last += 1,
            _ => self.order.push(PARTS | 1),
        }
    }

    /// Beginnings and ends in the order in which they happened.
    pub fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        self.order.iter().map(|&at| match (at & ENDS, at & PARTS) {
            (0, 0) => Step::Call(Moment::Begin(at)),
            (0, _) => Step::Parts(at & !PARTS),
            _ => Step::Call(Moment::End(at & !ENDS)),
        })
    }
}
