//! Lines that are found or fetched, and what that costs.

use super::*;

const SHAPE: Shape =
    Shape { line_bytes: 16, buffer_lines: 1, instruction_lines: 4, data_lines: 2, ahead: 3 };
const CACHES: FlashCaches = FlashCaches { instructions: true, data: true };

fn accelerator(prefetch: bool, caches: FlashCaches) -> Accelerator {
    let mut accelerator = Accelerator::new(SHAPE, 0x800_0000, 0x1000);
    accelerator.set(5, prefetch, caches);
    accelerator
}

/// A block of 32-bit instructions of a cycle each, from the start of a line.
fn block(accelerator: &mut Accelerator, id: u32, line: u32, lines: u32) {
    let insns = (0..4 * lines).map(|i| 0x800_0000 + 16 * line + 4 * i);
    accelerator.add_block(id, insns.map(|address| (address, 4, 1, address)));
}

/// What a block waits that is jumped to, likely figure.
fn jump(accelerator: &mut Accelerator, id: u32) -> u64 {
    accelerator.jumped();
    if accelerator.has(id) { 0 } else { accelerator.fetch(id).likely }
}

#[test]
fn cached_lines_cost_waits_once() {
    let mut a = accelerator(true, CACHES);
    block(&mut a, 0, 0, 2);
    block(&mut a, 1, 8, 2);
    // Five for the first line; of the second's six cycles four are those of the first.
    assert_eq!(jump(&mut a, 0), 5 + 2);
    assert_eq!(jump(&mut a, 1), 5 + 2);
    assert_eq!((jump(&mut a, 0), jump(&mut a, 1), a.has(0)), (0, 0, true));
    let mut waits: Vec<_> = a.take_waits().map(|(pc, _, wait)| (pc, wait.likely)).collect();
    waits.sort_unstable();
    assert_eq!(waits, [(0x800_0000, 5), (0x800_0010, 2), (0x800_0080, 5), (0x800_0090, 2)]);
    assert_eq!(a.take_waits().count(), 0);
}

#[test]
fn disabled_cache_keeps_its_lines_until_emptied() {
    let mut a = accelerator(false, CACHES);
    block(&mut a, 0, 0, 1);
    assert_eq!((jump(&mut a, 0), a.read(0x800_0100).likely), (5, 5));
    let off_and_on = |a: &mut Accelerator, emptied| {
        a.set(5, false, FlashCaches::default());
        assert_eq!(jump(a, 0), 5);
        a.empty(emptied);
        a.set(5, false, CACHES);
        (jump(a, 0), a.read(0x800_0100).likely)
    };
    assert_eq!(off_and_on(&mut a, FlashCaches::default()), (0, 0));
    let code = FlashCaches { data: false, ..CACHES };
    assert_eq!(off_and_on(&mut a, code), (5, 0));
    let data = FlashCaches { instructions: false, ..CACHES };
    assert_eq!(off_and_on(&mut a, data), (0, 5));
}

#[test]
fn the_least_recently_used_line_goes() {
    let mut a = accelerator(false, CACHES);
    (0..5).for_each(|id| block(&mut a, id, 2 * id, 1));
    (0..4).for_each(|id| assert_eq!(jump(&mut a, id), 5));
    assert_eq!(jump(&mut a, 0), 0);
    assert_eq!(jump(&mut a, 4), 5);
    assert_eq!((jump(&mut a, 0), jump(&mut a, 2), jump(&mut a, 3)), (0, 0, 0));
    assert_eq!(jump(&mut a, 1), 5);
}

#[test]
fn without_a_cache_there_is_the_line_in_use() {
    let mut a = accelerator(false, FlashCaches::default());
    block(&mut a, 0, 0, 1);
    block(&mut a, 1, 4, 2);
    assert_eq!((jump(&mut a, 0), jump(&mut a, 0)), (5, 0));
    assert_eq!((jump(&mut a, 1), jump(&mut a, 1)), (10, 10));
    assert_eq!(jump(&mut a, 0), 5);
}

#[test]
fn data_lines_are_apart() {
    let mut a = accelerator(true, CACHES);
    let mut read = |at: u32| a.read(0x800_0000 + at).likely;
    assert_eq!([0, 12, 16, 0, 32, 0, 16].map(&mut read), [5, 0, 5, 0, 5, 0, 5]);
    assert_eq!(a.read(0x2000_0000), Bounds::exact(0));
    let mut a = accelerator(true, FlashCaches::default());
    let twice = [a.read(0x800_0000), a.read(0x800_0004)];
    assert_eq!(twice.map(|wait| (wait.low, wait.likely)), [(5, 5), (0, 5)]);
}

#[test]
fn no_wait_states_no_waits() {
    let mut a = accelerator(true, CACHES);
    assert!(a.set(0, true, CACHES));
    block(&mut a, 0, 0, 2);
    assert!(a.has(0) && !a.is_on());
    assert_eq!(a.read(0x800_0000), Bounds::exact(0));
}
