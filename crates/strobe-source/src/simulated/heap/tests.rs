//! The replay of logs, against a heap of its own that is kept while the log is made.

mod accesses;

use std::collections::BTreeMap;

use proptest::prelude::*;
use strobe_sim::observe::heap::{Allocators as Watched, End, Entry, Log};
use strobe_sim::observe::schedule::Who;

use super::allocators::{Area, Found, Heap, Known, Role};
use super::replay::{FreeKind, MisuseKind, Shadow, replay};

/// malloc, free, realloc, calloc, sbrk.
fn found() -> Found {
    let known = |name: &str, role| Known { name: name.to_owned(), heap: 0, role, form: None };
    Found {
        heaps: vec![Heap {
            name: "malloc".to_owned(),
            header: 4,
            area: Area::HeapExtension(0),
            knows_usable: false,
            collects: false,
            least_free: None,
        }],
        functions: vec![
            known("malloc", Role::Allocate { size: Some(0), count: None }),
            known("free", Role::Free { pointer: 0, adds: false }),
            known("realloc", Role::Reallocate { pointer: 0, size: 1, count: None }),
            known("calloc", Role::Allocate { size: Some(1), count: Some(0) }),
            known("sbrk", Role::Grow { by: 0 }),
        ],
        entries: Vec::new(),
        unseen: Vec::new(),
        base: 0,
        mask: u32::MAX,
    }
}

const MALLOC: u32 = 0;
const FREE: u32 = 1;
const REALLOC: u32 = 2;
const CALLOC: u32 = 3;

/// A log in the making.
#[derive(Default)]
struct Writer {
    log: Log,
    now: u64,
}

impl Writer {
    fn begin(&mut self, function: u32, arguments: [u32; 2], outer: Option<u32>) -> u32 {
        self.now += 10;
        let [a, b] = arguments;
        self.log.begin(function, [a, b, 0, 0], Who::Thread(0), outer, self.now)
    }

    fn end(&mut self, call: u32, result: u32) {
        self.now += 10;
        self.log.end(call, End::Returned { result, usable: None, cycle: self.now });
    }

    fn call(&mut self, function: u32, arguments: [u32; 2], result: u32) -> u32 {
        let call = self.begin(function, arguments, None);
        self.end(call, result);
        call
    }

    fn replay(&self) -> Shadow {
        replay(&found(), &self.log)
    }
}

fn live(shadow: &Shadow) -> Vec<(u32, u32)> {
    let live = shadow.blocks.iter().filter(|block| block.gone.is_none());
    live.map(|block| (block.pointer, block.size)).collect()
}

fn misuses(shadow: &Shadow) -> Vec<(MisuseKind, u64)> {
    shadow.misuse_counts.iter().map(|(kind, n)| (*kind, *n)).collect()
}

#[test]
fn the_outermost_call_counts() {
    let mut w = Writer::default();
    let calloc = w.begin(CALLOC, [3, 8], None);
    let malloc = w.begin(MALLOC, [24, 0], Some(calloc));
    w.end(malloc, 0x100);
    w.end(calloc, 0x100);
    let realloc = w.begin(REALLOC, [0x100, 40], None);
    let inner = w.begin(MALLOC, [40, 0], Some(realloc));
    w.end(inner, 0x200);
    let free = w.begin(FREE, [0x100, 0], Some(realloc));
    w.end(free, 0);
    w.end(realloc, 0x200);
    let shadow = w.replay();
    assert_eq!(live(&shadow), [(0x200, 40)]);
    assert_eq!((shadow.blocks.len(), shadow.nested, shadow.resized), (2, 3, (1, 0)));
    assert_eq!((shadow.peak.bytes, misuses(&shadow)), (40, vec![]));
}

/// A handler of `new` that makes room frees a block inside the call that needs it.
#[test]
fn a_free_inside_an_allocation_is_one() {
    let mut w = Writer::default();
    w.call(MALLOC, [8, 0], 0x100);
    let new = w.begin(MALLOC, [64, 0], None);
    let free = w.begin(FREE, [0x100, 0], Some(new));
    w.end(free, 0);
    w.end(new, 0x100);
    let shadow = w.replay();
    assert_eq!(live(&shadow), [(0x100, 64)]);
    assert_eq!(misuses(&shadow), []);
}

#[test]
fn misuse_is_named() {
    let mut w = Writer::default();
    w.call(MALLOC, [16, 0], 0x100);
    w.call(FREE, [0x100, 0], 0);
    w.call(FREE, [0x100, 0], 0);
    w.call(FREE, [0x900, 0], 0);
    w.call(FREE, [0, 0], 0);
    w.call(MALLOC, [16, 0], 0x200);
    w.call(FREE, [0x204, 0], 0);
    w.call(MALLOC, [16, 0], 0x208);
    let shadow = w.replay();
    use MisuseKind::{DoubleFree, InnerFree, Overlap, WildFree};
    let all = [(DoubleFree, 1), (InnerFree, 1), (WildFree, 1), (Overlap, 1)];
    assert_eq!(misuses(&shadow), all);
    assert_eq!(shadow.null_frees, 1);
    assert_eq!(live(&shadow), [(0x208, 16)]);
    assert_eq!(shadow.blocks[1].how(), Some(FreeKind::Replaced));
}

#[test]
fn a_failed_realloc_leaves_the_block() {
    let mut w = Writer::default();
    w.call(MALLOC, [16, 0], 0x100);
    w.call(REALLOC, [0x100, 1 << 30], 0);
    w.call(CALLOC, [1 << 20, 1 << 20], 0);
    let shadow = w.replay();
    assert_eq!(live(&shadow), [(0x100, 16)]);
    let sizes: Vec<Option<u32>> = shadow.failures.iter().map(|failure| failure.size).collect();
    assert_eq!(sizes, [Some(1 << 30), None]);
    // With no bytes it frees; NULL is no failure then, nor is malloc(0).
    w.call(REALLOC, [0x100, 0], 0);
    w.call(MALLOC, [0, 0], 0);
    let shadow = w.replay();
    assert_eq!((live(&shadow), shadow.failures.len()), (vec![], 2));
}

/// An interrupt inside of malloc, which calls malloc itself, and a free that is preempted after its
/// block is free already.
#[test]
fn calls_that_interrupt_others_are_apart() {
    let mut w = Writer::default();
    let outer = w.begin(MALLOC, [10, 0], None);
    w.call(MALLOC, [20, 0], 0x200);
    w.end(outer, 0x100);
    let free = w.begin(FREE, [0x100, 0], None);
    w.call(MALLOC, [10, 0], 0x100);
    w.end(free, 0);
    let cut = w.begin(MALLOC, [5, 0], None);
    w.log.end(cut, End::Abandoned { cycle: w.now });
    w.begin(MALLOC, [5, 0], None);
    let shadow = w.replay();
    assert_eq!(live(&shadow), [(0x200, 20), (0x100, 10)]);
    assert_eq!((misuses(&shadow), shadow.unfinished), (vec![], 2));
}

#[test]
fn a_reset_ends_all_blocks() {
    let mut w = Writer::default();
    w.call(MALLOC, [10, 0], 0x100);
    w.log.resets.push((1, w.now));
    w.call(MALLOC, [20, 0], 0x100);
    let shadow = w.replay();
    assert_eq!(live(&shadow), [(0x100, 20)]);
    assert_eq!(shadow.blocks[0].how(), Some(FreeKind::Reset));
    assert_eq!((shadow.peak.bytes, misuses(&shadow)), (20, vec![]));
}

#[derive(Debug, Clone)]
enum Step {
    Malloc(u32),
    Free(usize),
    Realloc(usize, u32),
    FreeAgain(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = 0u32..200;
    let step = prop_oneof![
        4 => size.clone().prop_map(Step::Malloc),
        3 => any::<usize>().prop_map(Step::Free),
        2 => (any::<usize>(), size).prop_map(|(at, size)| Step::Realloc(at, size)),
        1 => any::<usize>().prop_map(Step::FreeAgain),
    ];
    proptest::collection::vec(step, 0..120)
}

/// The first place where so many bytes fit between the blocks, below a limit; 0 if there is none.
fn place(heap: &BTreeMap<u32, u32>, size: u32) -> u32 {
    let mut at = 0x1000;
    for (begin, bytes) in heap {
        if begin - at >= size.max(8) + 8 {
            break;
        }
        at = begin + bytes.max(&1).next_multiple_of(8);
    }
    if at + size > 0x1800 { 0 } else { at }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever is done to a heap, the shadow has the blocks that the heap has, all bytes are
    /// freed or live, and no two blocks that live at once overlap.
    #[test]
    fn the_shadow_is_the_heap(steps in steps()) {
        let mut w = Writer::default();
        let mut heap: BTreeMap<u32, u32> = BTreeMap::new();
        let (mut peak, mut failed, mut doubles) = (0u64, 0, 0);
        for step in steps {
            let pick = |at: usize| heap.iter().nth(at % heap.len().max(1)).map(|(p, s)| (*p, *s));
            match step {
                Step::Malloc(size) => {
                    let at = place(&heap, size);
                    w.call(MALLOC, [size, 0], at);
                    failed += u64::from(at == 0 && size > 0);
                    if at != 0 {
                        heap.insert(at, size);
                    }
                }
                Step::Free(at) => {
                    if let Some((pointer, _)) = pick(at) {
                        w.call(FREE, [pointer, 0], 0);
                        heap.remove(&pointer);
                    }
                }
                Step::Realloc(at, size) => {
                    if let Some((pointer, old)) = pick(at) {
                        let mut without = heap.clone();
                        without.remove(&pointer);
                        let to = if size <= old { pointer } else { place(&heap, size) };
                        w.call(REALLOC, [pointer, size], to);
                        failed += u64::from(to == 0 && size > 0);
                        if to != 0 {
                            heap = without;
                            heap.insert(to, size);
                        }
                    }
                }
                Step::FreeAgain(at) => {
                    if let Some((pointer, _)) = pick(at) {
                        w.call(FREE, [pointer, 0], 0);
                        w.call(FREE, [pointer, 0], 0);
                        heap.remove(&pointer);
                        doubles += 1;
                    }
                }
            }
            peak = peak.max(heap.values().map(|size| u64::from(*size)).sum());
        }
        let shadow = w.replay();
        let mut seen = live(&shadow);
        seen.sort_unstable();
        prop_assert_eq!(seen, heap.into_iter().collect::<Vec<_>>());
        prop_assert_eq!(shadow.peak.bytes, peak);
        prop_assert_eq!(shadow.failures.len() as u64, failed);
        let kinds = misuses(&shadow);
        prop_assert_eq!(kinds.iter().map(|(_, n)| n).sum::<u64>(), doubles, "{:?}", kinds);
        let bytes = |keep: &dyn Fn(Option<FreeKind>) -> bool| -> u64 {
            shadow.blocks.iter().filter(|b| keep(b.how())).map(|b| u64::from(b.size)).sum()
        };
        prop_assert_eq!(
            bytes(&|_| true),
            bytes(&|how| how.is_none()) + bytes(&|how| how == Some(FreeKind::Freed))
        );
        let now = shadow.levels.last().copied().unwrap_or_default();
        prop_assert_eq!(now.bytes, bytes(&|how| how.is_none()));
        for (i, block) in shadow.blocks.iter().enumerate() {
            for other in &shadow.blocks[..i] {
                let both = other.is_live(block.born.1);
                let apart = other.pointer + other.size.max(1) <= block.pointer
                    || block.pointer + block.size.max(1) <= other.pointer;
                prop_assert!(!both || apart, "{:?} {:?}", other, block);
            }
        }
    }
}

/// Entries of one address are one function: the first of them.
#[test]
fn one_address_is_one_function() {
    let watched = Watched::new([0x101, 0x100, 0x80].map(Entry::at).into());
    assert_eq!(watched.function_at(0x100), Some(0));
    assert_eq!(watched.function_at(0x81), Some(2));
    assert_eq!(watched.function_at(0x102), None);
}
