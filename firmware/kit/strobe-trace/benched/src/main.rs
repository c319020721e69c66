//! Functions to measure without a board, in Rust: docs/bench.md.

#![no_std]
#![no_main]

use core::hint::black_box;

use cortex_m_rt::entry;

const SIZES: [u32; 4] = [16, 64, 256, 1024];

/// Numbers that look random and are the same every time.
fn fill(values: &mut [u32]) {
    let mut state = 1u32;
    for value in values {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *value = state >> 8;
    }
}

/// The first of them, on the stack.
fn numbers(n: u32) -> [u32; 1024] {
    let mut values = [0; 1024];
    fill(&mut values[..n as usize]);
    values
}

fn sum(values: &[u32]) -> u32 {
    values.iter().fold(0, |sum, value| sum.wrapping_add(*value))
}

fn position(values: &[u32], wanted: u32) -> usize {
    values.binary_search(&wanted).unwrap_or_else(|at| at)
}

static SORTED: [u32; 1024] = {
    let mut values = [0; 1024];
    let mut at = 0;
    while at < 1024 {
        values[at] = 3 * at as u32;
        at += 1;
    }
    values
};

strobe_trace::bench!(
    sort,
    inputs: [SIZES[0], SIZES[1], SIZES[2], SIZES[3]],
    |n| {
        let mut values = numbers(n);
        values[..n as usize].sort_unstable();
        values[0]
    },
);

strobe_trace::bench!(sum, inputs: [16, 64, 256, 1024], |n| sum(&black_box(&SORTED)[..n as usize]));

strobe_trace::bench!(search, inputs: [16, 64, 256, 1024], calls: 2, setup: |n| sum(&SORTED[..n as usize]), |n| {
    position(&SORTED[..n as usize], black_box(7))
});

#[entry]
fn main() -> ! {
    black_box(sum(&numbers(16)));
    loop {}
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
