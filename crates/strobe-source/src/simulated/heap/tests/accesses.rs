//! Accesses one by one, each beside what is right and looks like it.

use strobe_sim::device::Size;
use strobe_sim::observe::Access;
use strobe_sim::observe::heap::{Call, Inspector, Moment, StandingCall};

use super::*;
use crate::simulated::heap::inspect::{FaultKind, Inspection, Usage};

/// A firmware that calls allocators and accesses memory.
struct Machine {
    log: Log,
    inspection: Inspection,
    cycle: u64,
}

const BLOCK: u32 = 0x2000_0108;

fn standing(allocating: Option<u32>) -> StandingCall {
    StandingCall { is_memory: true, allocating, who: Who::Thread(0), node: 1 }
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
fn every_access_to_a_freed_block_is_a_fault() {
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
fn bytes_past_the_end_count_unless_read_by_word() {
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
fn use_of_unwritten_bytes_is_a_fault() {
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
fn unwritten_bytes_may_be_copied_but_copies_not_used() {
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
fn multiple_loads_are_not_uses_and_pairs_read_whole() {
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

/// A block that grows has what the smaller one had, wherever it is then.
#[test]
fn touched_bytes_stay_touched_after_resizing() {
    for to in [BLOCK, BLOCK + 0x100] {
        let mut m = Machine::new();
        m.allocate(8);
        m.store(1, BLOCK, Size::Word);
        m.load(2, BLOCK, Size::Byte);
        m.begin_and_end(REALLOC, [BLOCK, 16], to, |_, _| {});
        m.store(3, to + 8, Size::Word);
        let used = Usage { read: 0, written: 4, untouched: 8, unread: 7 };
        assert_eq!(m.inspection.usage(1), used);
    }
}
