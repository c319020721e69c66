//! A heap whose allocator reports its operations: blocks of all sizes from several places, and lost
//! events.

use std::collections::BTreeMap;

use super::{Address, Marks, Number, Stream, Tracer};

/// The operations on the heap, as in the stream. Sizes are those of the allocator's chunks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heap {
    /// Allocated blocks.
    pub allocations: u64,
    /// Failed allocations.
    pub failed: u64,
    /// Freed blocks.
    pub frees: u64,
    /// Of these, blocks from before the trace.
    pub unknown_frees: u64,
    /// Blocks whose address is allocated again, because the event of their release was lost.
    pub replaced: u64,
    /// Blocks in use at the end.
    pub live: BTreeMap<u32, u64>,
    /// Peak of bytes in use.
    pub peak_bytes: u64,
    /// Bytes allocated in total.
    pub total_bytes: u64,
    /// Bytes requested in total.
    pub requested_bytes: u64,
    /// Lifetimes of freed blocks, in nanoseconds, in order of their release.
    pub ages: Vec<u64>,
    /// Allocation sites, by thread and callers.
    pub sites: BTreeMap<(u32, [u32; 4]), Site>,
    /// The measurement marks.
    pub marks: Marks,
}

/// An allocation site.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Site {
    /// Blocks.
    pub allocations: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Blocks in use at the end.
    pub live: u64,
    /// Their bytes.
    pub live_bytes: u64,
}

impl Heap {
    /// Bytes in use at the end.
    pub fn live_bytes(&self) -> u64 {
        self.live.values().sum()
    }
}

/// Granularity of chunks' sizes and addresses.
const CHUNK: u32 = 16;
/// The header that the allocator puts before a block.
const HEAD: u32 = 8;
const BEGIN: u32 = 0x2000_4010;

/// A block in use.
struct Block {
    chunk: u32,
    since: u64,
    site: (u32, [u32; 4]),
}

struct Model {
    tracer: Tracer,
    truth: Heap,
    blocks: BTreeMap<u32, Block>,
    sites: Vec<(u32, [u32; 4])>,
}

impl Model {
    /// The first free address.
    fn place(&self, chunk: u32) -> u32 {
        let mut at = BEGIN;
        for (begin, block) in &self.blocks {
            if begin - at >= chunk {
                break;
            }
            at = begin + block.chunk;
        }
        at
    }

    fn emit(&mut self, site: (u32, [u32; 4]), at: u32, chunk: u32, requested: u32) {
        let (pid, callers) = site;
        let [fn1, fn2, fn3, fn4] = callers.map(Address);
        // The size with the header, and with a second header.
        let sizes = [Number(chunk + HEAD), Number(chunk), Number(requested)];
        let [real, user, asked] = sizes;
        self.tracer.event(
            "heap_alloc",
            &[
                ("pid", Number(pid)),
                ("fn1", fn1),
                ("fn2", fn2),
                ("fn3", fn3),
                ("fn4", fn4),
                ("address", Address(at)),
                ("real_alloc", real),
                ("user_alloc", user),
                ("user_req", asked),
            ],
        );
    }

    fn allocate(&mut self) {
        let site = self.tracer.rng.pick(&self.sites);
        let shift = self.tracer.rng.below(12);
        let requested = 1 + self.tracer.rng.below(8 << shift);
        let chunk = (requested + HEAD).next_multiple_of(CHUNK);
        if requested > 12_000 {
            self.emit(site, 0, chunk, requested);
            self.truth.failed += 1;
            return;
        }
        let at = self.place(chunk);
        self.emit(site, at, chunk, requested);
        let (since, bytes) = (self.tracer.now, u64::from(chunk));
        self.blocks.insert(at, Block { chunk, since, site });
        let truth = &mut self.truth;
        truth.allocations += 1;
        truth.total_bytes += bytes;
        truth.requested_bytes += u64::from(requested);
        truth.live.insert(at, bytes);
        truth.peak_bytes = truth.peak_bytes.max(truth.live_bytes());
        let seen = truth.sites.entry(site).or_default();
        (seen.allocations, seen.bytes) = (seen.allocations + 1, seen.bytes + bytes);
        (seen.live, seen.live_bytes) = (seen.live + 1, seen.live_bytes + bytes);
    }

    /// Frees a block; the event may be lost.
    fn free(&mut self, lost: bool) {
        let n = self.tracer.rng.below(self.blocks.len() as u32) as usize;
        let Some(at) = self.blocks.keys().nth(n).copied() else { return };
        let Some(block) = self.blocks.remove(&at) else { return };
        if lost {
            // A block of the same size takes its address at once: the reader must see it as
            // replaced.
            self.blocks.insert(at, Block { since: self.tracer.now, ..block });
            self.emit(block.site, at, block.chunk, block.chunk - HEAD);
            let truth = &mut self.truth;
            truth.replaced += 1;
            truth.allocations += 1;
            truth.total_bytes += u64::from(block.chunk);
            truth.requested_bytes += u64::from(block.chunk - HEAD);
            let seen = truth.sites.entry(block.site).or_default();
            (seen.allocations, seen.bytes) =
                (seen.allocations + 1, seen.bytes + u64::from(block.chunk));
            return;
        }
        self.emit_free(block.site.0, at, block.chunk);
        self.truth.ages.push(self.tracer.now - block.since);
        let bytes = self.truth.live.remove(&at).unwrap_or(0);
        let seen = self.truth.sites.entry(block.site).or_default();
        (seen.live, seen.live_bytes) = (seen.live - 1, seen.live_bytes - bytes);
    }

    fn emit_free(&mut self, pid: u32, at: u32, chunk: u32) {
        self.tracer.event(
            "heap_free",
            &[
                ("pid", Number(pid)),
                ("address", Address(at)),
                ("real_alloc", Number(chunk + HEAD)),
                ("user_alloc", Number(chunk)),
            ],
        );
        self.truth.frees += 1;
    }
}

/// A stream of at least so many operations. The measurement is stopped twice.
pub fn heap(seed: u64, operations: u32) -> Stream<Heap> {
    let mut tracer = Tracer::new(seed, 1);
    tracer.thread(5, "publisher");
    let caller = |tracer: &mut Tracer| 0x0801_0000 + 2 * tracer.rng.below(0x8000);
    let sites = (0..23).map(|n| (n % 3 + 4, [(); 4].map(|()| caller(&mut tracer)))).collect();
    let mut model = Model { tracer, truth: Heap::default(), blocks: BTreeMap::new(), sites };
    model.tracer.event("measurement_start", &[]);
    let from = model.tracer.now;
    for n in 0..operations {
        model.tracer.wait(500_000);
        let few = model.blocks.len() < 10;
        match model.tracer.rng.below(100) {
            // Blocks from before the trace, which the model does not know.
            0 => {
                model.emit_free(4, BEGIN - CHUNK * (n + 2), CHUNK);
                model.truth.unknown_frees += 1;
            }
            1 if !few => model.free(true),
            2..=48 if !few => model.free(false),
            _ if model.blocks.len() < 60 => model.allocate(),
            _ => model.free(false),
        }
    }
    model.tracer.event("measurement_stop", &[]);
    let total_ns = model.tracer.now - from;
    model.tracer.wait(1000);
    model.tracer.event("measurement_stop", &[]);
    model.truth.marks = Marks { starts: 1, stops: 2, repeated: 1, total_ns };
    model.tracer.finish(13, model.truth)
}
