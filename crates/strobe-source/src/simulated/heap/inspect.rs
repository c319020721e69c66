//! Every access of a firmware against its heaps: use after free, accesses beside blocks, reads of
//! what was never written; and how much each block is read and written.
//!
//! Allocators may do what they like while they are called. What else is right although it may not
//! look so: a word that holds a byte of the block and is read whole (`strlen` by words), the second
//! word of such a pair, loading many registers at once, as a scheduler does from a new stack, and
//! copying what was never written, as of a structure with padding: only what comes of the copy
//! counts.

mod blocks;
mod judging;

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use strobe_sim::device::Size;
use strobe_sim::observe::Access;
use strobe_sim::observe::heap::{Call, Inspector, Moment, StandingCall};
use strobe_sim::observe::schedule::Who;

use super::allocators::{Found, Role};
use super::bytes::{Byte, Bytes};
use super::replay::{Change, HeapExtension, Replay};

/// Instructions and call chains with a fault that are kept.
const MOST_FAULTS: usize = 1024;

/// Accesses within which what was read is stored elsewhere by the same function, if it is only
/// copied: compilers load four words at a time and then store them.
const COPY_WITHIN: u64 = 8;

/// Behind the end of what was taken from the system: so many bytes are nobody's.
const BEHIND_END: u32 = 32;

/// Registers that one instruction loads, from which on that is no use of each value.
const SEVERAL: u64 = 3;

/// What an access must not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultKind {
    /// The block had been freed.
    AfterFree,
    /// It lies in a heap's memory, but in no block.
    OutOfBounds,
    /// Nobody has written what was read.
    Unwritten,
}

/// Accesses of one kind by one instruction of one call chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// The first of them.
    pub access: Access,
    /// The block that it has to do with.
    pub block: Option<u32>,
    /// How many.
    pub count: u64,
    /// The call chain of the first, an index into the log's.
    pub chain: u32,
    /// Who made it.
    pub who: Who,
}

/// How a block is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes read, each time counted.
    pub read: u64,
    /// Bytes written, each time counted.
    pub written: u64,
    /// Bytes that were neither read nor written while it was there.
    pub untouched: u32,
    /// Bytes that were written and never read.
    pub unread: u32,
}

/// A read of what was never written, of which it is not known yet whether it is only copied.
#[derive(Debug)]
struct Pending {
    at: u64,
    /// The node of the call tree.
    node: u32,
    fault: Fault,
}

/// Looks at every access.
#[derive(Debug)]
pub struct Inspection {
    found: Arc<Found>,
    replay: Replay,
    bytes: Bytes,
    usage: Vec<Usage>,
    /// Heaps whose fixed memory is known byte by byte.
    begun: Vec<bool>,
    /// What calls of allocators under way have written.
    filled: HashMap<u32, Vec<Range<u32>>>,
    pending: VecDeque<Pending>,
    /// Accesses seen.
    seen: u64,
    last: Option<Access>,
    /// Words that the instruction under way has loaded one after the other.
    run: u64,
    faults: Vec<Fault>,
    /// By kind, instruction and call chain.
    by_place: HashMap<(FaultKind, u32, u32), usize>,
    /// Accesses that must not be, at further places.
    pub more: u64,
    /// Whose call chain comes next.
    next: Option<Next>,
}

#[derive(Debug, Clone, Copy)]
enum Next {
    Fault(Fault),
    Pending,
}

impl Inspection {
    /// Nothing has been accessed.
    pub fn new(found: Found) -> Self {
        let found = Arc::new(found);
        let mut replay = Replay::new(found.clone());
        replay.keep_changes();
        Inspection {
            begun: vec![false; found.heaps.len()],
            replay,
            found,
            bytes: Bytes::default(),
            usage: Vec::new(),
            filled: HashMap::new(),
            pending: VecDeque::new(),
            seen: 0,
            last: None,
            run: 0,
            faults: Vec::new(),
            by_place: HashMap::new(),
            more: 0,
            next: None,
        }
    }

    /// Accesses that must not be, by instruction, in the order of the first.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> {
        self.faults.iter()
    }

    /// How a block was used up to now or its end.
    pub fn usage(&self, block: u32) -> Usage {
        let mut usage = self.usage.get(block as usize).copied().unwrap_or_default();
        let known = self.replay.shadow().blocks.get(block as usize);
        if known.is_some_and(|known| known.gone.is_none()) {
            (usage.untouched, usage.unread) = self.rest(block);
        }
        usage
    }

    fn range(&self, block: u32) -> Range<u32> {
        let known = self.replay.shadow().blocks.get(block as usize);
        known.map_or(0..0, |known| {
            let begin = known.pointer.wrapping_add(self.found.base);
            begin..begin.saturating_add(known.size)
        })
    }

    /// Bytes of a block that are there and untouched, and those written and never read.
    fn rest(&self, block: u32) -> (u32, u32) {
        let all = self.range(block).map(|at| self.bytes.get(at));
        let (mut untouched, mut unread) = (0, 0);
        for byte in all.filter(|byte| byte.block() == Some(block)) {
            untouched += u32::from(!byte.is(Byte::USED));
            unread += u32::from(byte.is(Byte::STORED) && !byte.is(Byte::READ));
        }
        (untouched, unread)
    }

    /// What an allocator's call writes may be what it fills the block with.
    fn fills(&mut self, call: u32, access: &Access) {
        let (begin, end) = (access.address, access.address.saturating_add(access.size.bytes()));
        let ranges = self.filled.entry(call).or_default();
        match ranges.last_mut() {
            Some(last) if last.end == begin => last.end = end,
            _ => ranges.push(begin..end),
        }
        if ranges.len() > 64 {
            ranges.remove(0);
        }
    }

    /// Follows loads of several registers by one instruction: a word a cycle.
    fn follow(&mut self, access: &Access) {
        let goes_on = self.last.is_some_and(|last| {
            let next = last.address.wrapping_add(4) == access.address;
            last.pc == access.pc && next && !access.write && access.cycle == last.cycle + 1
        });
        self.run = if goes_on { self.run + 1 } else { 1 };
        if self.run == SEVERAL {
            let before = self.seen - SEVERAL;
            self.pending.retain(|known| known.at <= before);
        }
    }

    /// Notes a fault with its call chain.
    fn note(&mut self, fault: Fault) {
        let place = (fault.kind, fault.access.pc, fault.chain);
        if let Some(&known) = self.by_place.get(&place) {
            self.faults[known].count += fault.count;
        } else if self.faults.len() >= MOST_FAULTS {
            self.more += fault.count;
        } else {
            self.by_place.insert(place, self.faults.len());
            self.faults.push(fault);
        }
    }

    /// What was read and not copied since is used, as soon as the function goes on elsewhere.
    fn settle(&mut self, who: Who, node: u32) {
        if self.pending.is_empty() {
            return;
        }
        let seen = self.seen;
        let is_over =
            |old: &Pending| old.at + COPY_WITHIN < seen || old.fault.who == who && old.node != node;
        let (over, rest) = self.pending.drain(..).partition(is_over);
        self.pending = rest;
        let over: VecDeque<Pending> = over;
        over.into_iter().for_each(|old| self.note(old.fault));
    }

    /// A store of what was read just before is a copy: what it is of stays to be known.
    fn copies(&mut self, access: &Access) -> Option<u32> {
        let is_it = |pending: &Pending| {
            let read = pending.fault.access;
            read.size == access.size && read.value == access.value
        };
        let at = self.pending.iter().position(is_it)?;
        self.pending.remove(at)?.fault.block
    }

    fn stored(&mut self, access: &Access, is_memory: bool) {
        let copied = if is_memory { self.copies(access) } else { None };
        for at in 0..access.size.bytes() {
            let address = access.address.wrapping_add(at);
            match copied {
                None => {
                    if let Some(byte) = self.bytes.known(address) {
                        *byte = as_written(*byte);
                    }
                }
                Some(of) => {
                    let byte = self.bytes.at(address);
                    *byte = match byte.is(Byte::LIVE) {
                        true => byte.without(Byte::WRITTEN),
                        false if byte.is(Byte::FREED | Byte::EDGE | Byte::GAP) => *byte,
                        false => Byte::of(of, Byte::COPY),
                    };
                }
            }
        }
    }

    /// Counts what is read and written of blocks.
    fn count(&mut self, access: &Access, bytes: &[Byte]) {
        let flag = if access.write { Byte::STORED } else { Byte::READ };
        for (at, byte) in (0u32..).zip(bytes).filter(|(_, byte)| byte.is(Byte::LIVE)) {
            if !byte.is(flag)
                && let Some(known) = self.bytes.known(access.address.wrapping_add(at))
            {
                *known = known.with(flag);
            }
            let usage = byte.block().and_then(|block| self.usage.get_mut(block as usize));
            match (usage, access.write) {
                (Some(usage), true) => usage.written += 1,
                (Some(usage), false) => usage.read += 1,
                (None, _) => {}
            }
        }
    }
}

/// A byte after a write to it.
fn as_written(byte: Byte) -> Byte {
    match (byte.is(Byte::LIVE), byte.is(Byte::COPY)) {
        (true, _) => byte.with(Byte::WRITTEN),
        (false, true) => Byte::default(),
        (false, false) => byte,
    }
}

impl Inspector for Inspection {
    fn moment(&mut self, moment: Moment, call: &Call) {
        let grown = self.replay.shadow().grown.len();
        self.replay.moment(moment, call);
        if let Some(&HeapExtension { begin, end, .. }) = self.replay.shadow().grown.get(grown) {
            let base = self.found.base;
            let (begin, end) = (begin.wrapping_add(base), end.wrapping_add(base));
            let known = self.found.functions.get(call.function as usize);
            match (known.map(|known| known.role), call.outer) {
                (Some(Role::Give { .. }), _) => self.gaps(begin..end),
                (_, Some(_)) => self.gaps(begin..end.saturating_add(BEHIND_END)),
                // Memory that the firmware itself has taken is its own.
                (_, None) => self.leave(begin..end),
            }
        }
        let filled = match moment {
            Moment::End(index) => self.filled.remove(&index).unwrap_or_default(),
            Moment::Begin(_) => Vec::new(),
        };
        for change in self.replay.take_changes() {
            match change {
                Change::Born(block, from) => self.born(block, from, call, &filled),
                Change::FreedBlock(block) => self.gone(block),
            }
        }
    }

    fn reset(&mut self, cycle: u64) {
        self.replay.reset(cycle);
        for change in self.replay.take_changes() {
            if let Change::FreedBlock(block) = change {
                self.gone(block);
            }
        }
        self.bytes.clear();
        self.begun.fill(false);
        self.filled.clear();
    }

    fn written(&mut self, address: u32, size: Size) {
        for at in 0..size.bytes() {
            if let Some(byte) = self.bytes.known(address.wrapping_add(at)) {
                *byte = as_written(*byte);
            }
        }
    }

    fn access(&mut self, access: &Access, at: StandingCall) -> bool {
        let StandingCall { is_memory, allocating, who, node } = at;
        if let Some(call) = allocating {
            if access.write {
                self.fills(call, access);
            }
            return false;
        }
        self.seen += 1;
        self.settle(who, node);
        self.follow(access);
        let (bytes, n) = self.bytes_of(access);
        let bytes = &bytes[..n];
        let judged = if bytes.iter().all(|byte| *byte == Byte::default()) {
            None
        } else {
            self.judge(access, bytes)
        };
        self.count(access, bytes);
        if access.write {
            self.stored(access, is_memory);
        }
        self.last = Some(*access);
        let Some((kind, block)) = judged else { return false };
        let fault = Fault { kind, access: *access, block, count: 1, chain: 0, who };
        if kind == FaultKind::Unwritten && self.run >= SEVERAL {
            return false;
        }
        self.next = Some(match kind {
            FaultKind::Unwritten => {
                self.pending.push_back(Pending { at: self.seen, node, fault });
                Next::Pending
            }
            FaultKind::AfterFree | FaultKind::OutOfBounds => Next::Fault(fault),
        });
        true
    }

    fn chain(&mut self, chain: u32) {
        match self.next.take() {
            Some(Next::Fault(fault)) => self.note(Fault { chain, ..fault }),
            Some(Next::Pending) => {
                if let Some(pending) = self.pending.back_mut() {
                    pending.fault.chain = chain;
                }
            }
            None => {}
        }
    }
}
