//! A shadow of a firmware's heaps, replayed from the log of its allocators' calls: which block was
//! where from when to when, and what was done to blocks that were not there.
//!
//! Of calls inside one another the outermost counts: what `calloc` asks of `malloc` is how it
//! works. A block is there from the return of the call that made it to the beginning of the one
//! that frees it, so blocks of preempted calls never seem to overlap.

mod blocks;
mod calls;
mod shadow;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap as HashMap;
use strobe_sim::observe::heap::{Call, End, Log, Moment, Step};

pub use self::shadow::{
    Block, Failure, FreeKind, FreedBlock, HeapExtension, Level, MOST_MISUSES, Misuse, MisuseKind,
    Shadow,
};
use super::allocators::{Found, Role};
use super::sampling::Halves;

/// What a moment did to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is there, with the block that was resized into it.
    Born(u32, Option<u32>),
    /// It is no more.
    FreedBlock(u32),
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

    /// The chip was reset.
    pub fn reset(&mut self, cycle: u64) {
        self.now.order += 1;
        self.now.cycle = cycle;
        let resizing: Vec<u32> = self.resizing.keys().copied().collect();
        resizing.into_iter().for_each(|index| self.restore(index));
        let all = self.live.iter_mut().flat_map(std::mem::take);
        let mut all: Vec<u32> = all.map(|(_, block)| block).collect();
        all.sort_unstable();
        all.into_iter().for_each(|block| self.die(block, FreeKind::Reset, None));
        self.last.clear();
        self.out.grown.push(HeapExtension { order: self.now.order, begin: 0, end: 0, heap: None });
    }

    fn finish(mut self) -> Shadow {
        let resizing: Vec<u32> = self.resizing.keys().copied().collect();
        resizing.into_iter().for_each(|index| self.restore(index));
        self.out.moments = self.now.order;
        self.out
    }
}
