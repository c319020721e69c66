//! Stacks that belong to one thread or another, seen only through the stack pointer.

use super::whose::{FRAME_IN_AREA, MAX_THREADS};
use super::*;
use crate::kernel::memory::{Memory, MemoryKind};
use crate::kernel::observe::Motion;
use crate::kernel::observe::rtos::{Form, Step, Walk};

const RAM: u32 = 0x2000_0000;
/// Where the pointer to the running thread's structure is.
const RUNNING: u32 = RAM;

fn bus() -> Bus {
    let memory = |name, kind, base| Memory::new(name, kind, base, 0x4000);
    let (flash, ram) = (memory("flash", MemoryKind::Flash, 0), memory("ram", MemoryKind::Ram, RAM));
    Bus::new(flash, ram, 8_000_000)
}

/// A stack pointer below this floor, with nobody's stack there.
fn crossed(floor: Floor, at: u32) -> Option<Crossed> {
    Some(Crossed { floor, at, victim: None })
}

fn threads(areas: &[(u32, u32)], layout: Option<Layout>) -> Threads {
    let mut threads = Threads::new();
    threads.know(areas.to_vec(), layout);
    threads.reset(RAM + 0x4000);
    threads
}

/// The exception's way in and out, to a thread with another stack pointer.
fn switch(threads: &mut Threads, from: u32, to: u32, bus: &Bus) -> usize {
    threads.interrupted(from);
    threads.resumed(to, bus)
}

#[test]
fn a_thread_goes_on_where_it_was_interrupted() {
    let (mut threads, bus) = (threads(&[], None), bus());
    let (main, a, b) = (RAM + 0x3f00, RAM + 0x1000, RAM + 0x1400);
    assert_eq!(switch(&mut threads, main, main, &bus), 0, "no switch at all");
    assert_eq!(switch(&mut threads, main, a, &bus), 1);
    assert_eq!(switch(&mut threads, a - 40, b, &bus), 2);
    assert_eq!(switch(&mut threads, b - 8, a - 40, &bus), 1);
    assert_eq!(switch(&mut threads, a - 80, main, &bus), 0);
    assert_eq!(switch(&mut threads, main - 8, b - 8, &bus), 2);
    assert_eq!(threads.all().len(), 3);
}

/// A handler may put a frame under the interrupted one's to have a function run in thread mode.
#[test]
fn handmade_frame_is_on_the_same_stack() {
    let (mut threads, bus) = (threads(&[], None), bus());
    let a = RAM + 0x1000;
    assert_eq!(switch(&mut threads, RAM + 0x3f00, a, &bus), 1);
    assert_eq!(switch(&mut threads, a - 40, a - 72, &bus), 1);
}

#[test]
fn neighbours_stacks_are_not_mixed_up() {
    let (mut threads, bus) = (threads(&[], None), bus());
    let (a, b) = (RAM + 0x1000, RAM + 0x0f00);
    assert_eq!(switch(&mut threads, RAM + 0x3f00, a, &bus), 1);
    assert_eq!(switch(&mut threads, a - 0x20, b, &bus), 2, "256 bytes lower is another stack");
    assert_eq!(switch(&mut threads, b - 0x20, a - 0x20, &bus), 1);
}

#[test]
fn a_stack_grows_by_calls() {
    let (mut threads, bus) = (threads(&[(RAM + 0x800, RAM + 0xc00)], None), bus());
    assert!(threads.is_elsewhere(RAM + 0x3e00));
    assert_eq!(threads.moved(RAM + 0x3e00, false, false, &bus), 0);
    assert!(!threads.is_elsewhere(RAM + 0x3f00));
    assert_eq!(
        threads.moved(RAM + 0x1000, false, false, &bus),
        0,
        "a big array in memory without a name"
    );
    assert_eq!(
        threads.moved(RAM + 0xbf8, false, false, &bus),
        1,
        "a stack in a variable is another one"
    );
    assert_eq!(threads.moved(RAM + 0x3f00, false, false, &bus), 0);
}

#[test]
fn adjacent_stacks_in_a_variable_are_separated_by_distance() {
    let (mut threads, bus) = (threads(&[(RAM, RAM + 0x3000)], None), bus());
    assert_eq!(threads.moved(RAM + 0x3000, false, false, &bus), 1);
    assert_eq!(threads.moved(RAM + 0x2fc0, false, false, &bus), 1);
    assert_eq!(threads.moved(RAM + 0x2000, false, false, &bus), 2);
    assert_eq!(threads.moved(RAM + 0x2fd0, false, false, &bus), 1);
}

#[test]
fn code_from_reset_may_set_its_stack_up() {
    let (mut threads, bus) = (threads(&[(RAM + 0x100, RAM + 0x500)], None), bus());
    assert_eq!(threads.moved(RAM + 0x500, true, false, &bus), 0);
    assert_eq!((threads.all()[0].low, threads.all()[0].top), (RAM + 0x500, RAM + 0x500));
}

/// A variable up to 0x800, the stack at the end of RAM.
fn with_floor() -> Threads {
    let mut threads = threads(&[(RAM + 0x100, RAM + 0x800)], None);
    threads.know_floors(vec![Floor::At(RAM + 0x800)]);
    assert_eq!(threads.moved(RAM + 0x810, false, true, &bus()), 0);
    assert_eq!(threads.take_crossed(), None);
    threads
}

#[test]
fn a_stack_that_grows_over_variables_is_noticed_once() {
    let (mut threads, bus) = (with_floor(), bus());
    assert_eq!(threads.moved(RAM + 0x7f0, false, true, &bus), 0, "still its own");
    assert_eq!(threads.take_crossed(), crossed(Floor::At(RAM + 0x800), RAM + 0x800));
    assert_eq!(threads.moved(RAM + 0x700, false, true, &bus), 0);
    assert_eq!(threads.take_crossed(), None);
    assert_eq!(threads.all()[0].low, RAM + 0x700);
}

#[test]
fn another_stack_below_is_no_overflow() {
    let (mut threads, bus) = (with_floor(), bus());
    assert_eq!(
        threads.moved(RAM + 0x780, false, false, &bus),
        1,
        "code that returns came from there"
    );
    let mut threads = with_floor();
    assert_eq!(threads.moved(RAM + 0x7f8, true, true, &bus), 0, "a stack that is being set up");
    assert_eq!(threads.take_crossed(), None);
    // Too far for one frame, and where a stack in the variable would begin.
    let mut threads = self::threads(&[(RAM + 0x100, RAM + 0x800)], None);
    threads.know_floors(vec![Floor::At(RAM + 0x800)]);
    assert_eq!(threads.moved(RAM + 0x7f8, false, true, &bus), 1);
    assert_eq!(threads.take_crossed(), None);
}

#[test]
fn big_frame_ending_inside_a_variable_overflows() {
    let (mut threads, bus) = (with_floor(), bus());
    threads.all[0].low = RAM + 0x2000;
    assert_eq!(threads.moved(RAM + 0x400, false, true, &bus), 0);
    assert_eq!(threads.take_crossed(), crossed(Floor::At(RAM + 0x800), RAM + 0x800));
}

#[test]
fn a_stack_that_meets_the_heap_is_noticed() {
    let (mut threads, mut bus) = (threads(&[], None), bus());
    threads.know_floors(vec![Floor::Pointer(RAM + 0x10)]);
    assert_eq!(threads.moved(RAM + 0x2000, false, true, &bus), 0);
    assert_eq!(threads.take_crossed(), None, "no heap yet");
    bus.load(RAM + 0x10, &(RAM + 0x1f00).to_le_bytes()).expect("it fits");
    assert_eq!(threads.moved(RAM + 0x1ef0, false, true, &bus), 0);
    assert_eq!(threads.take_crossed(), crossed(Floor::Pointer(RAM + 0x10), RAM + 0x1f00));
}

/// A system whose structures have a name (8 bytes) and the stack's lowest address.
fn layout(stack: bool) -> Layout {
    let base = Walk { steps: vec![Step::Add(8)], form: Form::Number { bytes: 4, signed: false } };
    Layout {
        running: Walk { steps: vec![Step::Add(RUNNING), Step::Load], form: Form::Address },
        bytes: None,
        name: Some(Walk { steps: vec![], form: Form::Text { bytes: 8 } }),
        priority: None,
        id: None,
        stack: stack.then_some(base),
        ready: Vec::new(),
    }
}

fn put(bus: &mut Bus, structure: u32, name: &str, stack: u32) {
    let mut bytes = [0; 12];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes[8..].copy_from_slice(&stack.to_le_bytes());
    bus.load(structure, &bytes).expect("it fits");
}

fn run(bus: &mut Bus, structure: u32) {
    bus.load(RUNNING, &structure.to_le_bytes()).expect("it fits");
}

#[test]
fn the_system_names_threads() {
    let (mut threads, mut bus) = (threads(&[], Some(layout(true))), bus());
    let (a, b) = (RAM + 0x100, RAM + 0x140);
    put(&mut bus, a, "a", RAM + 0x1000);
    put(&mut bus, b, "b", RAM + 0x1100);
    run(&mut bus, a);
    let main = RAM + 0x3f00;
    assert_eq!(switch(&mut threads, main, main, &bus), 0, "named, but it does not run yet");
    assert_eq!(switch(&mut threads, main, RAM + 0x10f8, &bus), 1);
    run(&mut bus, b);
    assert_eq!(switch(&mut threads, RAM + 0x1080, RAM + 0x11f8, &bus), 2);
    run(&mut bus, a);
    assert_eq!(switch(&mut threads, RAM + 0x1180, RAM + 0x1080, &bus), 1);
    let names: Vec<&str> = threads.all().iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["", "a", "b"]);
}

#[test]
fn reused_structure_is_another_thread_unless_it_resumes() {
    let (mut threads, mut bus) = (threads(&[], Some(layout(true))), bus());
    let (a, main) = (RAM + 0x100, RAM + 0x3f00);
    put(&mut bus, a, "first", RAM + 0x1000);
    run(&mut bus, a);
    assert_eq!(switch(&mut threads, main, RAM + 0x10f8, &bus), 1);
    run(&mut bus, 0);
    assert_eq!(switch(&mut threads, RAM + 0x1080, main, &bus), 0);
    put(&mut bus, a, "renamed", RAM + 0x1000);
    run(&mut bus, a);
    assert_eq!(switch(&mut threads, main, RAM + 0x1080, &bus), 1, "where it was interrupted");
    run(&mut bus, 0);
    assert_eq!(switch(&mut threads, RAM + 0x1040, main, &bus), 0);
    put(&mut bus, a, "second", RAM + 0x1000);
    run(&mut bus, a);
    assert_eq!(switch(&mut threads, main, RAM + 0x10f8, &bus), 2);
    assert_eq!(threads.all()[1].name, "renamed");
    run(&mut bus, 0);
    assert_eq!(switch(&mut threads, RAM + 0x1080, main, &bus), 0);
    put(&mut bus, a, "renamed", RAM + 0x1000);
    run(&mut bus, a);
    assert_eq!(switch(&mut threads, main, RAM + 0x10f8, &bus), 1, "it was started anew");
}

/// Some systems store who runs before they change stacks.
#[test]
fn a_thread_that_is_named_early_runs_later() {
    for stack in [true, false] {
        let (mut threads, mut bus) = (threads(&[], Some(layout(stack))), bus());
        let (a, b) = (RAM + 0x100, RAM + 0x140);
        put(&mut bus, a, "a", RAM + 0x1000);
        put(&mut bus, b, "b", RAM + 0x2000);
        run(&mut bus, a);
        assert_eq!(switch(&mut threads, RAM + 0x3f00, RAM + 0x11f8, &bus), 1);
        run(&mut bus, b);
        assert_eq!(threads.moved(RAM + 0x11d0, false, false, &bus), 1, "a calls the switch");
        assert_eq!(threads.moved(RAM + 0x21f8, false, false, &bus), 2);
        run(&mut bus, a);
        assert_eq!(threads.moved(RAM + 0x21d0, false, false, &bus), 2);
        assert_eq!(threads.moved(RAM + 0x11d0, false, false, &bus), 1);
    }
}

/// One frame jumps over what is left of a stack, into the part of the one below that is in use.
#[test]
fn a_frame_that_ends_in_a_neighbours_stack_overflows() {
    for calls in [true, false] {
        let (mut threads, mut bus) = (threads(&[], Some(layout(true))), bus());
        let (a, b) = (RAM + 0x100, RAM + 0x140);
        put(&mut bus, a, "a", RAM + 0x1200);
        put(&mut bus, b, "b", RAM + 0x1000);
        run(&mut bus, b);
        assert_eq!(switch(&mut threads, RAM + 0x3f00, RAM + 0x11f8, &bus), 1);
        run(&mut bus, a);
        assert_eq!(switch(&mut threads, RAM + 0x1100, RAM + 0x13f8, &bus), 2);
        assert_eq!(threads.moved(RAM + 0x1240, false, true, &bus), 2);
        assert_eq!(threads.take_crossed(), None);
        assert_eq!(threads.moved(RAM + 0x1140, false, calls, &bus), 2, "still a's");
        assert_eq!(threads.take_crossed().is_some(), calls);
        // The owner of that memory goes on where it was.
        run(&mut bus, b);
        assert_eq!(switch(&mut threads, RAM + 0x1140, RAM + 0x1100, &bus), 1);
    }
}

#[test]
fn there_is_an_end_to_keeping_threads_apart() {
    let (mut threads, mut bus) = (threads(&[], Some(layout(false))), bus());
    let structure = RAM + 0x100;
    for n in 0..2 * MAX_THREADS as u32 {
        put(&mut bus, structure, &format!("t{n}"), 0);
        run(&mut bus, structure);
        switch(&mut threads, RAM + 0x2000 - n % 2, RAM + 0x1000 + 4 * n, &bus);
    }
    assert_eq!(threads.all().len(), MAX_THREADS);
    assert!(threads.cut > 0 && threads.last_is_rest());
    assert_eq!(threads.all()[MAX_THREADS - 1].name, "");
}

/// Nothing that a handler could add to a thread's stack is taken for a stack elsewhere.
#[test]
fn handlers_never_reach_memory_far_below() {
    let (mut threads, bus) = (threads(&[], None), bus());
    let lowest = RAM + 0x2000;
    assert_eq!(switch(&mut threads, RAM + 0x3f00, lowest, &bus), 1);
    let far = threads.far_below(1);
    for sp in (RAM..RAM + 0x4000).step_by(4) {
        assert!(!(far.contains(sp) && threads.reaches(1, sp, true, &bus)), "{sp:#x}");
    }
    let nearest = lowest - FRAME_IN_AREA;
    assert!(threads.reaches(1, nearest, true, &bus) && !far.contains(nearest));
    assert!(far.contains(nearest - 4) && far.contains(RAM));
}

/// A structure that was freed is another thread's of the same name, as the number shows; and where
/// the stack of the first one was is known all the same.
#[test]
fn a_thread_of_the_same_name_has_another_number() {
    let form = Form::Number { bytes: 4, signed: false };
    let number = Walk { steps: vec![Step::Add(12)], form };
    let layout = Layout { id: Some(number), ..layout(true) };
    let (mut threads, mut bus) = (threads(&[], Some(layout)), bus());
    let (a, main) = (RAM + 0x100, RAM + 0x3f00);
    let start = |bus: &mut Bus, stack: u32, id: u32| {
        put(bus, a, "worker", stack);
        bus.load(a + 12, &id.to_le_bytes()).expect("it fits");
        run(bus, a);
    };
    start(&mut bus, RAM + 0x1000, 7);
    assert_eq!(switch(&mut threads, main, RAM + 0x10f8, &bus), 1);
    assert!(threads.is_there(1, &bus));
    run(&mut bus, 0);
    assert_eq!(switch(&mut threads, RAM + 0x1080, main, &bus), 0);
    start(&mut bus, RAM + 0x1800, 8);
    assert_eq!(switch(&mut threads, main, RAM + 0x18f8, &bus), 2);
    run(&mut bus, 0);
    assert_eq!(switch(&mut threads, RAM + 0x1880, main, &bus), 0);
    start(&mut bus, 0, 0);
    let floors = [1, 2].map(|thread| threads.floor(thread, &bus));
    assert_eq!(floors, [Some(RAM + 0x1000), Some(RAM + 0x1800)]);
    assert_eq!([1, 2].map(|thread| threads.is_there(thread, &bus)), [false, false]);
}

/// A thread's pushes and sums led to a stack pointer, and then to a transfer.
fn step(threads: &mut Threads, sp: u32, bus: &Bus) -> usize {
    threads.note_motion(Motion::Moved, sp);
    threads.moved(sp, false, true, bus)
}

/// A switch by hand: an instruction sets the stack pointer, registers are popped, control goes on.
fn set(threads: &mut Threads, from: u32, to: u32, sp: u32, bus: &Bus) -> usize {
    threads.note_motion(Motion::Set { before: from }, to);
    assert!(threads.is_elsewhere(sp), "the next transfer looks closer");
    threads.moved(sp, false, false, bus)
}

/// Three stacks of 512 bytes in one variable, from the one on top down, as when the topmost thread
/// runs first: each is its own, whoever lies how near.
#[test]
fn adjacent_stacks_are_separated_by_stack_pointer_writes() {
    let bus = bus();
    let mut threads = threads(&[(RAM + 0x400, RAM + 0xa00)], None);
    let main = RAM + 0x3f00;
    assert_eq!(step(&mut threads, main, &bus), 0);
    let (a, b, c) = (RAM + 0xa00, RAM + 0x800, RAM + 0x600);
    for (number, from, top) in [(1, main - 36, a), (2, a - 52, b), (3, b - 52, c)] {
        assert_eq!(set(&mut threads, from, top - 36, top, &bus), number);
        assert_eq!(step(&mut threads, top - 52, &bus), number);
    }
    assert_eq!(set(&mut threads, c - 52, main - 36, main, &bus), 0);
    for (number, from, top) in [(1, main - 36, a), (2, a - 52, b), (3, b - 52, c)] {
        assert_eq!(set(&mut threads, from, top - 52, top - 16, &bus), number);
        assert_eq!(threads.landed(), Landed::WhereItStopped);
    }
    let floors = [1, 2, 3].map(|thread| threads.floor(thread, &bus));
    assert_eq!(floors, [Some(b), Some(c), Some(RAM + 0x400)]);
    assert!([1, 2, 3].iter().all(|thread| threads.shares_its_memory(*thread, &bus)));
}

/// An array of any size on the stack, and a jump back over many calls.
#[test]
fn a_thread_may_set_its_own_stack_pointer() {
    let (mut threads, bus) = (threads(&[(RAM + 0x400, RAM + 0xc00)], None), bus());
    let a = RAM + 0xc00;
    assert_eq!(set(&mut threads, RAM + 0x3f00, a - 36, a, &bus), 1);
    assert_eq!(step(&mut threads, a - 0x600, &bus), 1, "1,536 bytes at once");
    assert_eq!(set(&mut threads, a - 0x600, a - 0x100, a - 0x100, &bus), 1);
    assert!(!threads.is_elsewhere(a - 0x200));
    assert_eq!(threads.all().len(), 2);
}

#[test]
fn stack_growing_into_the_next_variable_overflows() {
    let areas = [(RAM + 0x400, RAM + 0x600), (RAM + 0x600, RAM + 0x800)];
    let (mut threads, bus) = (threads(&areas, None), bus());
    let (a, b, main) = (RAM + 0x800, RAM + 0x600, RAM + 0x3f00);
    assert_eq!(set(&mut threads, main, b - 36, b, &bus), 1);
    assert_eq!(step(&mut threads, b - 52, &bus), 1);
    assert_eq!(set(&mut threads, b - 52, a - 36, a, &bus), 2);
    for sp in [a - 400, b, b - 160] {
        assert_eq!(threads.take_crossed(), None);
        assert_eq!(step(&mut threads, sp, &bus), 2, "its own frame, whosever the memory");
    }
    assert_eq!(threads.take_crossed(), crossed(Floor::At(b), b));
    // The owner goes on where it was, though that is within what the other one has used.
    assert_eq!(set(&mut threads, a - 16, b - 52, b - 16, &bus), 1);
    assert_eq!(threads.landed(), Landed::WhereItStopped);
}

/// Within one variable it is an overflow only if the owner of the memory goes on.
#[test]
fn stack_growing_within_its_variable_may_overflow() {
    let (mut threads, bus) = (threads(&[(RAM + 0x400, RAM + 0x800)], None), bus());
    let (a, b, main) = (RAM + 0x800, RAM + 0x600, RAM + 0x3f00);
    assert_eq!(set(&mut threads, main, b - 36, b, &bus), 1);
    assert_eq!(step(&mut threads, b - 52, &bus), 1);
    assert_eq!(set(&mut threads, b - 52, a - 36, a, &bus), 2);
    assert_eq!(step(&mut threads, b - 8, &bus), 2);
    let at = Some(Crossed { floor: Floor::At(b), at: b, victim: Some(1) });
    assert_eq!(threads.take_crossed(), at);
    assert_eq!(set(&mut threads, a - 16, b - 36, b, &bus), 1);
    assert_eq!(threads.landed(), Landed::Anew, "another thread has been given the memory");
}
