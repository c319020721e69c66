//! Calls of a firmware's memory allocators: arguments, result, who called, and the call chain.
//!
//! Kept by the call tree, whose shadow stacks say when a call returns: at its return address with
//! its stack pointer, in the thread or handler that it was made in. So nothing is asked of the
//! firmware, and code runs in whole blocks as it does without. What the calls mean (which block is
//! freed, which calls only implement another one) is worked out afterwards from the log.

mod entry;
mod log;

use std::any::Any;
use std::collections::HashMap;
use std::fmt::Debug;

pub use self::entry::{Entry, Inside, PoolRule, UsableRule};
pub use self::log::{Call, End, Link, Log, Moment, Step};
use super::Access;
use super::schedule::Who;
use crate::kernel::bus::Bus;
use crate::kernel::device::Size;

/// Calls kept of one run; a million takes about a hundred megabytes.
pub const MOST_CALLS: usize = 4 << 20;

/// Addresses that [`Allocators::function_at`] distinguishes at once.
const NEAR: usize = 1024;

/// The bit of a function's address.
#[inline]
fn place(address: u32) -> (usize, u64) {
    let bit = (address >> 1) as usize % NEAR;
    (bit / 64, 1 << (bit % 64))
}

/// Stands for "none" in indices.
const NONE: u32 = u32::MAX;

/// Places of call chains that are found at once.
const RECENT: usize = 256;

/// A frame of a shadow stack that a chain leads through.
pub(super) type ReturnAddress = u32;

/// An allocator's call that has not returned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    /// Its number; [`NONE`] if it is not kept.
    call: u32,
    /// Frames on the shadow stack while it runs.
    pub(super) depth: usize,
    /// Of a function that passes on what it is asked for, the chain that led to it.
    passes: Option<u32>,
    /// It is part of that call, and this function's.
    part: Option<u32>,
}

/// The innermost call that is one of an allocator.
fn innermost(open: &[Open]) -> Option<u32> {
    open.iter().rev().find(|open| open.passes.is_none()).map(|open| open.call)
}

/// Looks at accesses of memory beside the allocators' calls, while the firmware runs.
pub trait Inspector: Any + Debug + Send {
    /// A call begins or, with how it ended, ends.
    fn moment(&mut self, moment: Moment, call: &Call);
    /// The chip was reset.
    fn reset(&mut self, cycle: u64);
    /// Memory was written, by whichever master of the bus.
    fn written(&mut self, address: u32, size: Size);
    /// The core has accessed memory or a device. Returns whether the call chain matters.
    fn access(&mut self, access: &Access, at: StandingCall) -> bool;
    /// The call chain of the access before, an index into [`Log::chains`].
    fn chain(&mut self, chain: u32);
}

/// Decides which calls are kept, while the firmware runs.
pub trait Filter: Any + Debug + Send {
    /// Whether a call is kept, as the call of that number; `inner`: it is made within one that is
    /// not.
    fn wants(&mut self, call: u32, function: u32, arguments: &[u32; 4], inner: bool) -> bool;
    /// A call that is kept has ended.
    fn returned(&mut self, index: u32, call: &Call);
    /// The chip was reset.
    fn reset(&mut self);
}

/// In which circumstances memory is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StandingCall {
    /// It is memory, not a device.
    pub is_memory: bool,
    /// The outermost of the allocators' calls that are open there, if there is one.
    pub allocating: Option<u32>,
    /// Who does it.
    pub who: Who,
    /// The node of the call tree, which stays as long as the function runs.
    pub node: u32,
}

/// The allocators' functions and what was seen of them.
#[derive(Debug)]
pub struct Allocators {
    /// First instructions, sorted, with the entry's index.
    by_address: Vec<(u32, u32)>,
    /// A bit for each address by its lower bits: most functions are none of them.
    near: [u64; NEAR / 64],
    entries: Vec<Entry>,
    /// What was seen.
    pub log: Log,
    /// Blocks of calls that are part of a call: that call, what they returned, the usable size.
    parts: Vec<(u32, u32, u32)>,
    links: HashMap<Link, u32>,
    /// Links looked up lately, by a few of their bits: a program allocates in turns.
    recent: Box<[u32; RECENT]>,
    /// The chain looked up last, outermost first, with the index of each link.
    path: Vec<(Link, u32)>,
    /// Who looks at accesses as well; every access is followed then.
    pub inspector: Option<Box<dyn Inspector>>,
    /// Who decides which calls are kept; without one all are.
    pub filter: Option<Box<dyn Filter>>,
}

/// How a function is entered.
pub(super) struct Entered {
    /// The instruction that did it.
    pub from: u32,
    pub arguments: [u32; 4],
    pub who: Who,
    pub now: u64,
    /// Frames on the shadow stack in the function.
    pub depth: usize,
}

impl Allocators {
    /// Watches these functions.
    #[must_use]
    pub fn new(entries: Vec<Entry>) -> Self {
        let addresses = (0u32..).zip(&entries).map(|(i, entry)| (entry.address & !1, i));
        let mut by_address: Vec<(u32, u32)> = addresses.collect();
        // Of several names of one function the first counts.
        by_address.sort_unstable();
        by_address.dedup_by_key(|(address, _)| *address);
        let mut near = [0; NEAR / 64];
        for (address, _) in &by_address {
            let (word, bit) = place(*address);
            near[word] |= bit;
        }
        Allocators {
            by_address,
            near,
            entries,
            log: Log::default(),
            parts: Vec::new(),
            links: HashMap::new(),
            recent: Box::new([NONE; RECENT]),
            path: Vec::new(),
            inspector: None,
            filter: None,
        }
    }

    /// The function that begins at an address.
    #[inline]
    pub fn function_at(&self, address: u32) -> Option<u32> {
        let (word, bit) = place(address);
        if self.near[word] & bit == 0 {
            return None;
        }
        let found = self.by_address.binary_search_by_key(&(address & !1), |(start, _)| *start);
        found.ok().map(|at| self.by_address[at].1)
    }

    /// A function is entered; `callers` are the return addresses below it, outermost first.
    pub(super) fn begin(
        &mut self,
        function: u32,
        entered: &Entered,
        callers: impl Iterator<Item = ReturnAddress>,
        open: &mut Vec<Open>,
        bus: &Bus,
    ) {
        let Entered { from, mut arguments, who, now, depth } = *entered;
        let within = innermost(open);
        let outer = within.filter(|call| *call != NONE);
        if let Some(call) = outer
            && self.is_part(call, function, &arguments)
        {
            self.log.nested += 1;
            self.log.part();
            open.push(Open { call, depth, passes: None, part: Some(function) });
            return;
        }
        if self.log.calls.len() >= MOST_CALLS {
            self.log.missed += 1;
            return;
        }
        let Some(entry) = self.entries.get(function as usize).copied() else { return };
        if let Some(pool) = entry.pool {
            pool.apply(&mut arguments, bus);
        }
        // What a call that is kept does inside is kept with it.
        if outer.is_none()
            && !entry.passes
            && let Some(filter) = &mut self.filter
            && !filter.wants(self.log.calls.len() as u32, function, &arguments, within.is_some())
        {
            open.push(Open { call: NONE, depth, passes: None, part: None });
            return;
        }
        // What an allocator calls itself is called from where it is.
        let outer_call = outer.and_then(|outer| self.log.calls.get(outer as usize));
        let chain = match (outer_call, open.last().and_then(|open| open.passes)) {
            (Some(outer), _) => outer.chain,
            (None, Some(chain)) => chain,
            (None, None) => self.chain(callers, from),
        };
        if entry.passes {
            open.push(Open { call: NONE, depth, passes: Some(chain), part: None });
            return;
        }
        let call = self.log.begin(function, arguments, who, outer, now);
        self.log.calls[call as usize].chain = chain;
        self.inspect(Moment::Begin(call));
        open.push(Open { call, depth, passes: None, part: None });
    }

    /// Whether a call of a function is how the call that it is made within works.
    fn is_part(&self, outer: u32, function: u32, arguments: &[u32; 4]) -> bool {
        let Some(entry) = self.entries.get(function as usize) else { return false };
        if entry.inside == Inside::Kept || self.inspector.is_some() {
            return false;
        }
        if entry.inside == Inside::Makes {
            return true;
        }
        let Some(outer) = self.log.calls.get(outer as usize) else { return false };
        let Some(other) = self.entries.get(outer.function as usize) else { return false };
        let block =
            |entry: &Entry, arguments: &[u32; 4]| Some(arguments[usize::from(entry.pointer? & 3)]);
        let freed = block(entry, arguments);
        entry.heap == other.heap && freed.is_some() && freed == block(other, &outer.arguments)
    }

    /// A call has returned that is part of another one.
    fn part_returned(&mut self, (call, function): (u32, u32), result: u32, bus: &Bus) {
        let rule = |function: u32| self.entries.get(function as usize)?.usable;
        let outer = self.log.calls.get(call as usize).and_then(|call| rule(call.function));
        // By the same rule that call shows it itself.
        let usable = rule(function).filter(|rule| result != 0 && Some(*rule) != outer);
        if let Some(usable) = usable.and_then(|rule| rule.read(result, bus)) {
            self.parts.push((call, result, usable));
        }
    }

    /// The usable size of a call's block as its parts had it, which are no more.
    fn usable_of_parts(&mut self, call: u32, block: u32) -> Option<u32> {
        if self.parts.is_empty() {
            return None;
        }
        let mut parts = self.parts.iter().rev();
        let found = parts.find(|(of, result, _)| *of == call && *result == block);
        let usable = found.map(|(.., usable)| *usable);
        self.parts.retain(|(of, ..)| *of != call);
        usable
    }

    /// Calls whose frame has been popped have returned.
    pub(super) fn returned(
        &mut self,
        depth: usize,
        result: u32,
        now: u64,
        bus: &Bus,
        open: &mut Vec<Open>,
    ) {
        while let Some(top) = open.pop_if(|top| top.depth > depth) {
            if let Some(function) = top.part {
                self.log.part();
                self.part_returned((top.call, function), result, bus);
                continue;
            }
            let Some(call) = self.log.calls.get(top.call as usize) else { continue };
            let Some(entry) = self.entries.get(call.function as usize) else { continue };
            let result = match entry.out {
                None => result,
                Some(out) => stored(call.arguments[usize::from(out & 3)], result, bus),
            };
            let usable =
                entry.usable.filter(|_| result != 0).and_then(|rule| rule.read(result, bus));
            let of_parts = self.usable_of_parts(top.call, result);
            let usable = usable.or(of_parts);
            self.log.end(top.call, End::Returned { result, usable, cycle: now });
            self.inspect(Moment::End(top.call));
            if let Some(filter) = &mut self.filter
                && let Some(call) = self.log.calls.get(top.call as usize)
                && call.outer.is_none()
            {
                filter.returned(top.call, call);
            }
        }
    }

    /// Calls deeper than so many frames will not return.
    pub(super) fn abandoned(&mut self, depth: usize, now: u64, open: &mut Vec<Open>) {
        while let Some(top) = open.pop_if(|top| top.depth > depth) {
            if top.part.is_some() {
                self.log.part();
                continue;
            }
            self.parts.retain(|(of, ..)| *of != top.call);
            self.log.end(top.call, End::Abandoned { cycle: now });
            self.inspect(Moment::End(top.call));
        }
    }

    /// The chip was reset; what was open is closed already.
    pub(super) fn reset(&mut self, now: u64) {
        let begun = u32::try_from(self.log.calls.len()).unwrap_or(NONE);
        self.log.resets.push((begun, now));
        if let Some(inspector) = &mut self.inspector {
            inspector.reset(now);
        }
        if let Some(filter) = &mut self.filter {
            filter.reset();
        }
    }

    fn inspect(&mut self, moment: Moment) {
        let (Moment::Begin(index) | Moment::End(index)) = moment;
        if let Some(inspector) = &mut self.inspector
            && let Some(call) = self.log.calls.get(index as usize)
        {
            inspector.moment(moment, call);
        }
    }

    /// The core has accessed memory.
    pub(super) fn accessed(
        &mut self,
        access: &Access,
        (who, node): (Who, u32),
        callers: impl Iterator<Item = ReturnAddress>,
        open: &[Open],
        bus: &mut Bus,
    ) {
        let Some(inspector) = &mut self.inspector else { return };
        for (address, size) in bus.take_writes() {
            inspector.written(address, size);
        }
        let is_memory = bus.memory_at(access.address).is_some();
        let mut calls = open.iter().filter(|open| open.passes.is_none());
        let allocating = calls.next().map(|open| open.call);
        if inspector.access(access, StandingCall { is_memory, allocating, who, node }) {
            let chain = self.chain(callers, access.pc);
            if let Some(inspector) = &mut self.inspector {
                inspector.chain(chain);
            }
        }
    }

    fn chain(&mut self, callers: impl Iterator<Item = ReturnAddress>, from: u32) -> u32 {
        let (mut at, mut caller) = (0, None);
        let links = callers.map(|address| (address, false));
        for (address, is_call) in links.chain(std::iter::once((from, true))) {
            let link = Link { caller, address, is_call };
            let id = match self.path.get(at) {
                Some((known, id)) if *known == link => *id,
                _ => {
                    self.path.truncate(at);
                    let id = self.link(link);
                    self.path.push((link, id));
                    id
                }
            };
            (at, caller) = (at + 1, Some(id));
        }
        caller.unwrap_or(0)
    }

    /// The index of a link.
    fn link(&mut self, link: Link) -> u32 {
        let bits = link.caller.map_or(0, |caller| caller as usize * 31);
        let slot = (bits + (link.address >> 1) as usize) % RECENT;
        let known = self.recent[slot];
        if self.log.chains.get(known as usize) == Some(&link) {
            return known;
        }
        let log = &mut self.log.chains;
        let id = *self.links.entry(link).or_insert_with(|| {
            log.push(link);
            log.len() as u32 - 1
        });
        self.recent[slot] = id;
        id
    }
}

/// The address that a function has stored, if its status is success.
fn stored(at: u32, status: u32, bus: &Bus) -> u32 {
    if status == 0 { bus.peek(at, Size::Word).unwrap_or(0) } else { 0 }
}
