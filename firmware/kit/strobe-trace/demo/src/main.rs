//! The kit for the target in Rust: regions, marks, values and a channel, at the 16 MHz that an STM32F407 has after reset. Ends in `finished`.
#![no_std]
#![no_main]

use core::hint::black_box;

use strobe_trace::{mark, name, region, signed, value, write};

name!(ROUND = 1, "round");
name!(WORK = 2, "work");
name!(LEVEL = 3, "level");
name!(ERROR = 4, "error");
name!(DONE = 5, "done");
name!(LOG = 6, "log");

/// Long enough that the pin is free again.
#[inline(never)]
fn settle() {
    for n in 0..1000 {
        black_box(n);
    }
}

#[inline(never)]
fn work(seed: u32) -> u32 {
    (0..1000).fold(seed, |sum, n| black_box(sum).wrapping_mul(31).wrapping_add(n))
}

#[cortex_m_rt::entry]
fn main() -> ! {
    for round in 0..20 {
        let _round = region(ROUND);
        settle();
        let working = region(WORK);
        let result = work(round);
        drop(working);
        settle();
        value(LEVEL, result & 0xff);
        settle();
        signed(ERROR, -(round.cast_signed()));
        settle();
        mark(DONE);
        settle();
    }
    settle();
    write(LOG, b"ok\n");
    settle();
    finished()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn finished() -> ! {
    loop {
        black_box(());
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    finished()
}
