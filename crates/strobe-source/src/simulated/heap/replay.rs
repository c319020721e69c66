//! A shadow of a firmware's heaps, replayed from the log of its allocators' calls: which block was
//! where from when to when, and what was done to blocks that were not there.
//!
//! Of calls inside one another the outermost counts: what `calloc` asks of `malloc` is how it
//! works. A block is there from the return of the call that made it to the beginning of the one
//! that frees it, so blocks of preempted calls never seem to overlap.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap as HashMap;
use strobe_sim::observe::heap::{Call, End, Log, Moment, Step};
use strobe_sim::observe::schedule::Who;

use super::allocators::{Found, Role};
use super::sampling::Halves;
use crate::growth::Life;

/// Misuses of one kind that are kept one by one.
pub const MOST_MISUSES: u64 = 256;

/// A block of a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Its first byte, as the firmware has it.
    pub pointer: u32,
    /// Bytes that were asked for.
    pub size: u32,
    /// Bytes that it has, where that is known.
    pub usable: Option<u32>,
    /// The heap, as an index into [`Found::heaps`].
    pub heap: usize,
    /// The call that made it.
    pub made_by: u32,
    /// When, in cycles since reset, and the number of that moment.
    pub born: (u64, u32),
    /// How it ended.
    pub gone: Option<Gone>,
}

/// How a block ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone {
    /// When, in cycles since reset, and the number of that moment.
    pub at: (u64, u32),
    /// How.
    pub how: How,
    /// The call that did it.
    pub by: Option<u32>,
}

/// How a block ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Freed, or resized into another one.
    Freed,
    /// The chip was reset.
    Reset,
    /// Its memory is another block's, and no call has freed it: something else has.
    Replaced,
    /// A garbage collector has freed it at some time before its memory became another block's.
    Collected,
}

/// Something done to a heap that must not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misuse {
    /// What.
    pub kind: MisuseKind,
    /// The call.
    pub call: u32,
    /// The pointer.
    pub pointer: u32,
    /// The block that was meant, or lies there.
    pub block: Option<u32>,
}

/// What must not be done to a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MisuseKind {
    /// The block had been freed.
    DoubleFree,
    /// The pointer points into a block.
    InnerFree,
    /// No block was ever there.
    WildFree,
    /// Freed by another allocator's function than its own.
    Mismatch,
    /// A new block overlaps one that has not been freed.
    Overlap,
    /// The size is more than there are addresses, and the allocator has not noticed.
    Wraps,
    /// Called by an interrupt's handler.
    InHandler,
}

/// A call that returned no block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// The call.
    pub call: u32,
    /// Bytes that were asked for; none where the product is too large.
    pub size: Option<u32>,
    /// Live bytes then.
    pub live_bytes: u64,
}

/// The heaps at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Level {
    /// Cycles since reset.
    pub cycle: u64,
    /// The moment's number.
    pub order: u32,
    /// Bytes of live blocks, as asked for.
    pub bytes: u64,
    /// Live blocks.
    pub blocks: u64,
}

/// Memory that a heap has got, from the system or whoever calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grown {
    /// The number of the moment.
    pub order: u32,
    /// Its first address.
    pub begin: u32,
    /// The address behind it.
    pub end: u32,
    /// The heap; none: the chip was reset, and none has any.
    pub heap: Option<usize>,
}

/// All that became of the heaps.
#[derive(Debug, Clone, Default)]
pub struct Shadow {
    /// Every block, in the order of their births.
    pub blocks: Vec<Block>,
    /// Misuses, the first of them.
    pub misuses: Vec<Misuse>,
    /// How many there were of each kind.
    pub misuse_counts: BTreeMap<MisuseKind, u64>,
    /// Calls without a block.
    pub failures: Vec<Failure>,
    /// After each change; the levels of one moment are those after it.
    pub levels: Vec<Level>,
    /// The most live bytes.
    pub peak: Level,
    /// Calls of `free` and its like with nothing to free.
    pub null_frees: u64,
    /// Calls that resized a block, and of these, that left it where it was.
    pub resized: (u64, u64),
    /// Calls that did not return: cut, or still under way at the end.
    pub unfinished: u64,
    /// Calls within calls.
    pub nested: u64,
    /// Calls that count, by function.
    pub calls: Vec<u64>,
    /// Memory that heaps have got.
    pub grown: Vec<Grown>,
    /// The last moment's number.
    pub moments: u32,
}

/// What a moment did to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is there, with the block that was resized into it.
    Born(u32, Option<u32>),
    /// It is no more.
    Gone(u32),
}

/// A replay under way, moment by moment.
#[derive(Debug)]
pub struct Replay {
    found: Arc<Found>,
    out: Shadow,
    /// What the last moment did, if somebody wants to know.
    changes: Option<Vec<Change>>,
    now: Level,
    /// Live blocks by address, of each heap.
    live: Vec<BTreeMap<u32, u32>>,
    /// The block that was last at an address.
    last: HashMap<u32, u32>,
    /// Blocks that a call under way resizes.
    resizing: HashMap<u32, u32>,
    /// What inner calls have returned: the usable size by pointer.
    inner: HashMap<u32, u32>,
    /// Calls that resize blocks and were sampled by halves.
    halves: HashMap<u32, Halves>,
}

/// Replays a log.
#[must_use]
pub fn replay(found: &Found, log: &Log) -> Shadow {
    sampled(found, log, std::iter::empty())
}

/// The same of a log of sampled calls, some of which by halves.
#[must_use]
pub fn sampled(found: &Found, log: &Log, halves: impl Iterator<Item = (u32, Halves)>) -> Shadow {
    let mut replay = Replay::new(Arc::new(found.clone()));
    replay.halves = halves.collect();
    let mut resets = log.resets.iter().peekable();
    for step in log.steps() {
        let moment = match step {
            Step::Call(moment) => moment,
            // They have their numbers, whether anybody looks at them or not.
            Step::Parts(count) => {
                replay.now.order += count;
                continue;
            }
        };
        if let Moment::Begin(index) = moment
            && let Some((_, cycle)) = resets.next_if(|(begun, _)| *begun <= index)
        {
            replay.reset(*cycle);
        }
        let (Moment::Begin(index) | Moment::End(index)) = moment;
        let Some(call) = log.calls.get(index as usize) else { continue };
        replay.moment(moment, call);
    }
    resets.for_each(|(_, cycle)| replay.reset(*cycle));
    replay.out.nested += log.nested;
    let is_open = |call: &&Call| call.outer.is_none() && call.end == End::Open;
    replay.out.unfinished += log.calls.iter().filter(is_open).count() as u64;
    replay.finish()
}

impl Replay {
    /// A replay in which nothing has happened yet.
    pub fn new(found: Arc<Found>) -> Self {
        Replay {
            out: Shadow { calls: vec![0; found.functions.len()], ..Shadow::default() },
            changes: None,
            now: Level::default(),
            live: vec![BTreeMap::new(); found.heaps.len()],
            last: HashMap::default(),
            resizing: HashMap::default(),
            inner: HashMap::default(),
            halves: HashMap::default(),
            found,
        }
    }

    /// Keeps what each moment does to blocks.
    pub fn keep_changes(&mut self) {
        self.changes = Some(Vec::new());
    }

    /// What was done to blocks since this was last asked for.
    pub fn take_changes(&mut self) -> Vec<Change> {
        self.changes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// All that became of the heaps up to now.
    pub fn shadow(&self) -> &Shadow {
        &self.out
    }

    /// The live block that begins at an address or, of all heaps, nearest before it.
    pub fn block_before(&self, pointer: u32) -> Option<u32> {
        let nearest = self.live.iter().filter_map(|live| live.range(..=pointer).next_back());
        nearest.max_by_key(|(at, _)| **at).map(|(_, block)| *block)
    }

    /// A call begins or, with how it ended, ends.
    pub fn moment(&mut self, moment: Moment, call: &Call) {
        self.now.order += 1;
        match moment {
            Moment::Begin(index) => self.begin(index, call),
            Moment::End(index) => self.end(index, call),
        }
    }

    fn role(&self, call: &Call) -> Option<Role> {
        Some(self.found.functions.get(call.function as usize)?.role)
    }

    fn argument(&self, call: &Call, at: u8) -> u32 {
        self.found.argument(&call.arguments, at)
    }

    fn size(&self, call: &Call, size: Option<u8>, count: Option<u8>) -> Option<u32> {
        self.found.bytes(&call.arguments, size, count)
    }

    /// Which halves of a call that resizes a block count.
    fn halves(&self, index: u32) -> Halves {
        let whole = Halves { frees: true, allocates: true };
        self.halves.get(&index).copied().unwrap_or(whole)
    }

    fn heap(&self, call: &Call) -> usize {
        self.found.functions.get(call.function as usize).map_or(0, |known| known.heap)
    }

    fn begin(&mut self, index: u32, call: &Call) {
        self.now.cycle = call.begin;
        let Some(role) = self.role(call) else { return };
        if call.outer.is_some() {
            self.out.nested += u64::from(!role.is_upkeep());
            if let Role::Free { pointer, .. } = role {
                self.inner_free(index, self.argument(call, pointer));
            }
            return;
        }
        if let Some(calls) = self.out.calls.get_mut(call.function as usize) {
            *calls += 1;
        }
        if matches!(call.who, Who::Handler(_)) && !role.is_upkeep() {
            self.misuse(MisuseKind::InHandler, index, 0, None);
        }
        match role {
            Role::Free { pointer, .. } => match self.argument(call, pointer) {
                0 => self.out.null_frees += 1,
                pointer => {
                    if let Some(block) = self.take(index, call, pointer) {
                        self.die(block, How::Freed, Some(index));
                    }
                }
            },
            Role::Reallocate { pointer, .. } => {
                let pointer = self.argument(call, pointer);
                if pointer != 0
                    && self.halves(index).frees
                    && let Some(block) = self.take(index, call, pointer)
                {
                    self.resizing.insert(index, block);
                }
            }
            Role::Allocate { .. } | Role::Passes => {}
            Role::Grow { .. } | Role::Give { .. } | Role::Own => {}
        }
    }

    /// A block that is freed inside another call is freed all the same, as by a handler of `new`
    /// that makes room.
    fn inner_free(&mut self, index: u32, pointer: u32) {
        // What the outer call frees or resizes is not among the live blocks any more.
        let block = self.live.iter_mut().find_map(|live| live.remove(&pointer));
        if let Some(block) = block {
            self.die(block, How::Freed, Some(index));
        }
    }

    /// Takes the block at a pointer off the live ones; without one, that is a misuse.
    fn take(&mut self, index: u32, call: &Call, pointer: u32) -> Option<u32> {
        let own = self.heap(call);
        if let Some(block) = self.live.get_mut(own).and_then(|live| live.remove(&pointer)) {
            return Some(block);
        }
        if let Some(block) = self.live.iter_mut().find_map(|live| live.remove(&pointer)) {
            self.misuse(MisuseKind::Mismatch, index, pointer, Some(block));
            return Some(block);
        }
        let inside = self.live.iter().find_map(|live| {
            let (_, block) = live.range(..pointer).next_back()?;
            let around = self.out.blocks.get(*block as usize)?;
            (pointer - around.pointer < around.size).then_some(*block)
        });
        let (kind, block) = match (inside, self.last.get(&pointer)) {
            (Some(block), _) => (MisuseKind::InnerFree, Some(block)),
            (None, Some(block)) => (MisuseKind::DoubleFree, Some(*block)),
            // A pool gets its blocks by freeing them.
            (None, None) if matches!(self.role(call), Some(Role::Free { adds: true, .. })) => {
                return None;
            }
            (None, None) => (MisuseKind::WildFree, None),
        };
        self.misuse(kind, index, pointer, block);
        None
    }

    fn end(&mut self, index: u32, call: &Call) {
        let (result, usable, cycle) = match call.end {
            End::Returned { result, usable, cycle } => (result & self.found.mask, usable, cycle),
            End::Abandoned { cycle } => {
                self.now.cycle = cycle;
                if call.outer.is_none() {
                    self.out.unfinished += 1;
                    self.restore(index);
                }
                return;
            }
            End::Open => return,
        };
        self.now.cycle = cycle;
        let Some(role) = self.role(call) else { return };
        let is_inner = call.outer.is_some();
        match role {
            Role::Grow { by } => self.grow(call, result, call.arguments[usize::from(by & 3)]),
            Role::Give { memory, size } => {
                let begin = self.argument(call, memory);
                self.get(call, begin, begin.saturating_add(self.argument(call, size)));
            }
            _ if is_inner => {
                if let Some(usable) = usable {
                    self.inner.insert(result, usable);
                }
            }
            Role::Own | Role::Passes => {}
            Role::Free { .. } => self.inner.clear(),
            Role::Allocate { size, count } => {
                let size = self.size(call, size, count);
                self.allocated(index, call, size, result, usable);
            }
            Role::Reallocate { size, count, .. } => {
                let size = self.size(call, Some(size), count);
                self.reallocated(index, call, size, result, usable);
            }
        }
    }

    fn reallocated(
        &mut self,
        index: u32,
        call: &Call,
        size: Option<u32>,
        result: u32,
        usable: Option<u32>,
    ) {
        let old = self.resizing.remove(&index);
        match (old, result) {
            (None, _) => {}
            (Some(block), 0) if size != Some(0) => {
                // It failed, and the block is still there.
                self.revive(block);
            }
            // With no bytes it frees, and resizes nothing.
            (Some(block), 0) => {
                self.die(block, How::Freed, Some(index));
                return;
            }
            (Some(block), result) => {
                self.out.resized.0 += 1;
                let is_same =
                    self.out.blocks.get(block as usize).map(|b| b.pointer) == Some(result);
                self.out.resized.1 += u64::from(is_same);
                self.die(block, How::Freed, Some(index));
            }
        }
        if !self.halves(index).allocates {
            return;
        }
        self.allocated(index, call, size, result, usable);
        if let Some(Change::Born(_, from)) = self.changes.as_mut().and_then(|all| all.last_mut()) {
            *from = old;
        }
    }

    fn allocated(
        &mut self,
        index: u32,
        call: &Call,
        size: Option<u32>,
        result: u32,
        usable: Option<u32>,
    ) {
        let inner = self.inner.remove(&result);
        self.inner.clear();
        if result == 0 {
            // Of nothing an allocator may return nothing.
            let is_unknown = matches!(self.role(call), Some(Role::Allocate { size: None, .. }));
            if size != Some(0) || is_unknown {
                self.out.failures.push(Failure { call: index, size, live_bytes: self.now.bytes });
            }
            return;
        }
        if size.is_none() {
            self.misuse(MisuseKind::Wraps, index, result, None);
        }
        let size = size.unwrap_or(0);
        let heap = self.heap(call);
        self.make_room(index, heap, result, size);
        let number = u32::try_from(self.out.blocks.len()).unwrap_or(u32::MAX);
        self.out.blocks.push(Block {
            pointer: result,
            size,
            usable: usable.or(inner).filter(|usable| *usable >= size),
            heap,
            made_by: index,
            born: (self.now.cycle, self.now.order),
            gone: None,
        });
        if let Some(live) = self.live.get_mut(heap) {
            live.insert(result, number);
        }
        self.last.insert(result, number);
        self.changes.iter_mut().for_each(|all| all.push(Change::Born(number, None)));
        self.now.bytes += u64::from(size);
        self.now.blocks += 1;
        self.level();
    }

    /// Blocks that lie where a new one does are not there any more.
    fn make_room(&mut self, index: u32, heap: usize, pointer: u32, size: u32) {
        let end = pointer.saturating_add(size.max(1));
        let Some(live) = self.live.get(heap) else { return };
        let mut there: Vec<(u32, u32)> = Vec::new();
        for (at, block) in live.range(..end).rev() {
            let Some(old) = self.out.blocks.get(*block as usize) else { break };
            if at.saturating_add(old.size.max(1)) <= pointer {
                break;
            }
            there.push((*at, *block));
        }
        let collects = self.found.heaps.get(heap).is_some_and(|heap| heap.collects);
        for (at, block) in there {
            if !collects {
                self.misuse(MisuseKind::Overlap, index, pointer, Some(block));
            }
            if let Some(live) = self.live.get_mut(heap) {
                live.remove(&at);
            }
            let how = if collects { How::Collected } else { How::Replaced };
            self.die(block, how, Some(index));
        }
    }

    fn grow(&mut self, call: &Call, result: u32, by: u32) {
        let by = match self.found.mask {
            0xffff => i32::from(by as u16 as i16),
            _ => by as i32,
        };
        // -1 is no memory.
        if result != self.found.mask && by != 0 {
            let end = result.saturating_add_signed(by);
            self.get(call, result.min(end), result.max(end));
        }
    }

    /// A heap has got memory. What a function that it was given to has passed on to another one,
    /// without its own structures, is it.
    fn get(&mut self, call: &Call, begin: u32, end: u32) {
        let heap = self.heap(call);
        let since_reset = self.out.grown.iter().rev().take_while(|known| known.heap.is_some());
        let mut own = since_reset.filter(|known| known.heap == Some(heap));
        if begin < end && !own.any(|known| begin <= known.begin && known.end <= end) {
            self.out.grown.push(Grown { order: self.now.order, begin, end, heap: Some(heap) });
        }
    }

    fn die(&mut self, block: u32, how: How, by: Option<u32>) {
        let at = (self.now.cycle, self.now.order);
        let Some(old) = self.out.blocks.get_mut(block as usize) else { return };
        old.gone = Some(Gone { at, how, by });
        self.changes.iter_mut().for_each(|all| all.push(Change::Gone(block)));
        self.now.bytes -= u64::from(old.size);
        self.now.blocks -= 1;
        self.level();
    }

    fn revive(&mut self, block: u32) {
        let Some(old) = self.out.blocks.get(block as usize) else { return };
        if let Some(live) = self.live.get_mut(old.heap) {
            live.insert(old.pointer, block);
        }
    }

    fn restore(&mut self, index: u32) {
        if let Some(block) = self.resizing.remove(&index) {
            self.revive(block);
        }
    }

    /// The chip was reset.
    pub fn reset(&mut self, cycle: u64) {
        self.now.order += 1;
        self.now.cycle = cycle;
        let resizing: Vec<u32> = self.resizing.keys().copied().collect();
        resizing.into_iter().for_each(|index| self.restore(index));
        let all = self.live.iter_mut().flat_map(std::mem::take);
        let mut all: Vec<u32> = all.map(|(_, block)| block).collect();
        all.sort_unstable();
        all.into_iter().for_each(|block| self.die(block, How::Reset, None));
        self.last.clear();
        self.out.grown.push(Grown { order: self.now.order, begin: 0, end: 0, heap: None });
    }

    fn level(&mut self) {
        match self.out.levels.last_mut() {
            Some(last) if last.order == self.now.order => *last = self.now,
            _ => self.out.levels.push(self.now),
        }
        if self.now.bytes > self.out.peak.bytes
            || self.now.bytes == self.out.peak.bytes && self.out.peak.blocks == 0
        {
            self.out.peak = self.now;
        }
    }

    fn misuse(&mut self, kind: MisuseKind, call: u32, pointer: u32, block: Option<u32>) {
        let count = self.out.misuse_counts.entry(kind).or_default();
        *count += 1;
        if *count <= MOST_MISUSES {
            self.out.misuses.push(Misuse { kind, call, pointer, block });
        }
    }

    fn finish(mut self) -> Shadow {
        let resizing: Vec<u32> = self.resizing.keys().copied().collect();
        resizing.into_iter().for_each(|index| self.restore(index));
        self.out.moments = self.now.order;
        self.out
    }
}

impl Block {
    /// Whether it was there at a moment, by the moment's number.
    #[must_use]
    pub fn is_live(&self, order: u32) -> bool {
        self.born.1 <= order && self.gone.is_none_or(|gone| gone.at.1 > order)
    }

    /// From when to when it was there, in cycles.
    #[must_use]
    pub fn life(&self) -> Life {
        let gone = self.gone.map(|gone| gone.at.0);
        Life { born: self.born.0, gone, bytes: self.size.into() }
    }

    /// How it ended, if it did.
    #[must_use]
    pub fn how(&self) -> Option<How> {
        self.gone.map(|gone| gone.how)
    }
}
