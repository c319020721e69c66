//! The replay of logs, against a heap of its own that is kept while the log is made.

use std::collections::BTreeMap;

use proptest::prelude::*;
use strobe_sim::observe::heap::{Allocators as Watched, End, Log};
use strobe_sim::observe::schedule::Who;

use super::allocators::{Area, Found, Heap, Known, Role};
use super::replay::{How, MisuseKind, Shadow, replay};

/// malloc, free, realloc, calloc, sbrk.
fn found() -> Found {
    let known = |name: &str, role| Known { name: name.to_owned(), heap: 0, role };
    Found {
        heaps: vec![Heap {
            name: "malloc".to_owned(),
            header: 4,
            area: Area::Grown,
            knows_usable: false,
            least_free: None,
        }],
        functions: vec![
            known("malloc", Role::Allocate { size: 0, count: None }),
            known("free", Role::Free { pointer: 0 }),
            known("realloc", Role::Reallocate { pointer: 0, size: 1, count: None }),
            known("calloc", Role::Allocate { size: 1, count: Some(0) }),
            known("sbrk", Role::Grow { by: 0 }),
        ],
        entries: Vec::new(),
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
    assert_eq!(shadow.blocks[1].how(), Some(How::Replaced));
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
    assert_eq!(shadow.blocks[0].how(), Some(How::Reset));
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
        let bytes = |keep: &dyn Fn(Option<How>) -> bool| -> u64 {
            shadow.blocks.iter().filter(|b| keep(b.how())).map(|b| u64::from(b.size)).sum()
        };
        prop_assert_eq!(
            bytes(&|_| true),
            bytes(&|how| how.is_none()) + bytes(&|how| how == Some(How::Freed))
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
    let entry = |address| strobe_sim::observe::heap::Entry { address, usable: None, out: None };
    let watched = Watched::new(vec![entry(0x101), entry(0x100), entry(0x80)]);
    assert_eq!(watched.function_at(0x100), Some(0));
    assert_eq!(watched.function_at(0x81), Some(2));
    assert_eq!(watched.function_at(0x102), None);
}

mod accesses {
    //! Accesses one by one, each beside what is right and looks like it.

    use strobe_sim::device::Size;
    use strobe_sim::observe::Access;
    use strobe_sim::observe::heap::{Call, Inspector, Moment, Standing};

    use super::super::inspect::{FaultKind, Inspection, Usage};
    use super::*;

    /// A firmware that calls allocators and accesses memory.
    struct Machine {
        log: Log,
        inspection: Inspection,
        cycle: u64,
    }

    const BLOCK: u32 = 0x2000_0108;

    fn standing(allocating: Option<u32>) -> Standing {
        Standing { is_memory: true, allocating, who: Who::Thread(0), node: 1 }
    }

    impl Machine {
        fn new() -> Self {
            let inspection = Inspection::new(found());
            let mut machine = Machine { log: Log::default(), inspection, cycle: 0 };
            machine.begin_and_end(MALLOC, [0, 0], 0, |machine, outer| {
                let grow = machine.begin(4, [0x200, 0], Some(outer));
                machine.end(grow, 0x2000_0100);
            });
            machine
        }

        fn call(&self, index: u32) -> Call {
            self.log.calls[index as usize]
        }

        fn begin(&mut self, function: u32, arguments: [u32; 2], outer: Option<u32>) -> u32 {
            self.cycle += 10;
            let [a, b] = arguments;
            let thread = Who::Thread(0);
            let call = self.log.begin(function, [a, b, 0, 0], thread, outer, self.cycle);
            self.inspection.moment(Moment::Begin(call), &self.call(call));
            call
        }

        fn end(&mut self, call: u32, result: u32) {
            self.cycle += 10;
            self.log.end(call, End::Returned { result, usable: None, cycle: self.cycle });
            self.inspection.moment(Moment::End(call), &self.call(call));
        }

        fn begin_and_end(
            &mut self,
            function: u32,
            arguments: [u32; 2],
            result: u32,
            within: impl FnOnce(&mut Self, u32),
        ) {
            let call = self.begin(function, arguments, None);
            within(self, call);
            self.end(call, result);
        }

        fn allocate(&mut self, size: u32) {
            self.begin_and_end(MALLOC, [size, 0], BLOCK, |_, _| {});
        }

        fn free(&mut self) {
            self.begin_and_end(FREE, [BLOCK, 0], 0, |_, _| {});
        }

        /// An instruction's access, `after` cycles behind the one before.
        fn access(&mut self, pc: u32, write: bool, address: u32, size: Size, after: u64) {
            self.cycle += after;
            let (value, cycle) = (address ^ 0x5a5a, self.cycle);
            let access = Access { pc, address, size, write, value, cycle };
            if self.inspection.access(&access, standing(None)) {
                self.inspection.chain(0);
            }
        }

        fn store(&mut self, pc: u32, address: u32, size: Size) {
            self.access(pc, true, address, size, 2);
        }

        fn load(&mut self, pc: u32, address: u32, size: Size) {
            self.access(pc, false, address, size, 2);
        }

        /// Kind and instruction of what is wrong, after other work.
        fn faults(&mut self) -> Vec<(FaultKind, u32)> {
            for _ in 0..30 {
                self.load(0x100, 0x2000_4000, Size::Word);
            }
            self.inspection.faults().map(|fault| (fault.kind, fault.access.pc)).collect()
        }
    }

    #[test]
    fn every_access_to_a_freed_block_is_one_too_many() {
        let mut m = Machine::new();
        m.allocate(16);
        m.store(1, BLOCK, Size::Word);
        m.load(2, BLOCK, Size::Word);
        m.free();
        m.load(3, BLOCK, Size::Word);
        m.store(4, BLOCK + 15, Size::Byte);
        m.store(4, BLOCK + 15, Size::Byte);
        assert_eq!(m.faults(), [(FaultKind::AfterFree, 3), (FaultKind::AfterFree, 4)]);
        assert_eq!(m.inspection.faults().map(|f| f.count).collect::<Vec<_>>(), [1, 2]);
        // Allocated again, it is a block like any other.
        m.allocate(16);
        m.store(5, BLOCK, Size::Word);
        assert_eq!(m.faults().len(), 2);
    }

    #[test]
    fn one_byte_behind_the_end_counts_but_the_rest_of_a_word_that_is_read_does_not() {
        let mut m = Machine::new();
        m.allocate(10);
        for at in 0..10 {
            m.store(1, BLOCK + at, Size::Byte);
        }
        // Two of its bytes are the block's: strlen by words.
        m.load(2, BLOCK + 8, Size::Word);
        assert_eq!(m.faults(), []);
        m.load(3, BLOCK + 10, Size::Byte);
        m.store(4, BLOCK + 8, Size::Word);
        m.store(5, BLOCK + 10, Size::Byte);
        // Its header, and memory of the heap in which nothing is.
        m.load(6, BLOCK - 4, Size::Word);
        m.load(7, BLOCK + 64, Size::Word);
        let faults = m.faults();
        assert_eq!(faults, [3, 4, 5, 6, 7].map(|pc| (FaultKind::OutOfBounds, pc)));
        // Elsewhere is not the heap's.
        m.store(8, 0x2000_0800, Size::Word);
        assert_eq!(m.faults().len(), 5);
    }

    #[test]
    fn what_nobody_has_written_must_not_be_used() {
        let mut m = Machine::new();
        m.allocate(32);
        m.store(1, BLOCK, Size::Byte);
        // A byte of it is written: a structure with padding, read as a word.
        m.load(2, BLOCK, Size::Word);
        assert_eq!(m.faults(), []);
        m.load(3, BLOCK + 4, Size::Word);
        assert_eq!(m.faults(), [(FaultKind::Unwritten, 3)]);
        // By a peripheral.
        m.inspection.written(BLOCK + 8, Size::Word);
        m.load(4, BLOCK + 8, Size::Word);
        assert_eq!(m.faults().len(), 1);
    }

    #[test]
    fn a_copy_of_what_nobody_has_written_is_no_use_of_it_but_using_the_copy_is() {
        let mut m = Machine::new();
        m.allocate(32);
        let copy = 0x2000_4100;
        m.load(1, BLOCK + 4, Size::Word);
        m.cycle += 1;
        let value = (BLOCK + 4) ^ 0x5a5a;
        let (address, cycle) = (copy, m.cycle);
        let store = Access { pc: 2, address, size: Size::Word, write: true, value, cycle };
        assert!(!m.inspection.access(&store, standing(None)));
        assert_eq!(m.faults(), []);
        m.load(3, copy, Size::Word);
        assert_eq!(m.faults(), [(FaultKind::Unwritten, 3)]);
        m.store(4, copy, Size::Word);
        m.load(5, copy, Size::Word);
        assert_eq!(m.faults().len(), 1, "it has been overwritten");
    }

    #[test]
    fn loading_many_registers_is_no_use_of_them_and_pairs_are_read_whole() {
        let mut m = Machine::new();
        m.allocate(64);
        for at in 0..8 {
            m.access(1, false, BLOCK + 4 * at, Size::Word, 1);
        }
        assert_eq!(m.faults(), []);
        // The same by a loop, whose loads are further apart, is.
        for at in 0..8 {
            m.load(2, BLOCK + 4 * at, Size::Word);
        }
        assert_eq!(m.faults(), [(FaultKind::Unwritten, 2)]);
        // LDRD of a doubleword whose first word is written.
        m.store(3, BLOCK + 40, Size::Word);
        m.access(4, false, BLOCK + 40, Size::Word, 2);
        m.access(4, false, BLOCK + 44, Size::Word, 1);
        assert_eq!(m.faults().len(), 1);
    }

    #[test]
    fn allocators_may_do_what_they_like_and_calloc_clears() {
        let mut m = Machine::new();
        let call = m.begin(CALLOC, [4, 4], None);
        let access =
            |pc, address| Access { pc, address, size: Size::Word, write: true, value: 0, cycle: 0 };
        assert!(!m.inspection.access(&access(1, BLOCK - 4), standing(Some(call))));
        m.end(call, BLOCK);
        m.load(2, BLOCK + 12, Size::Word);
        assert_eq!(m.faults(), []);
        // What a resized block had is still written, what it has gained is not.
        m.begin_and_end(REALLOC, [BLOCK, 24], BLOCK, |_, _| {});
        m.load(3, BLOCK + 12, Size::Word);
        assert_eq!(m.faults(), []);
        m.load(4, BLOCK + 16, Size::Word);
        assert_eq!(m.faults(), [(FaultKind::Unwritten, 4)]);
    }

    #[test]
    fn reads_and_writes_are_counted_for_each_block() {
        let mut m = Machine::new();
        m.allocate(16);
        for _ in 0..3 {
            m.store(1, BLOCK, Size::Word);
        }
        m.store(2, BLOCK + 4, Size::Half);
        m.load(3, BLOCK, Size::Byte);
        let used = Usage { read: 1, written: 14, untouched: 10, unread: 5 };
        assert_eq!(m.inspection.usage(0), used);
        m.free();
        assert_eq!(m.inspection.usage(0), used);
    }
}
