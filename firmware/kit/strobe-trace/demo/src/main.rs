//! The kit for the target in Rust: regions, marks, values and a channel, at the 16 MHz that an STM32F407 has after reset. Ends in `finished`.
//! With the feature `without` it is what it would be if there were no kit.
#![no_std]
#![no_main]

use core::hint::black_box;

#[cfg(not(feature = "without"))]
use strobe_trace::{mark, name, region, signed, start, value, write};

#[cfg(not(feature = "without"))]
name!(ROUND = 1, "round");
#[cfg(not(feature = "without"))]
name!(WORK = 2, "work");
#[cfg(not(feature = "without"))]
name!(LEVEL = 3, "level");
#[cfg(not(feature = "without"))]
name!(ERROR = 4, "error");
#[cfg(not(feature = "without"))]
name!(DONE = 5, "done");
#[cfg(not(feature = "without"))]
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
    #[cfg(not(feature = "without"))]
    start();
    for round in 0..20 {
        #[cfg(not(feature = "without"))]
        let _round = region(ROUND);
        settle();
        #[cfg(not(feature = "without"))]
        let working = region(WORK);
        let _result = work(round);
        #[cfg(not(feature = "without"))]
        drop(working);
        settle();
        #[cfg(not(feature = "without"))]
        value(LEVEL, _result & 0xff);
        settle();
        #[cfg(not(feature = "without"))]
        signed(ERROR, -(round.cast_signed()));
        settle();
        #[cfg(not(feature = "without"))]
        mark(DONE);
        settle();
    }
    settle();
    #[cfg(not(feature = "without"))]
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
