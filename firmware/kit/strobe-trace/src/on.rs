//! Numbers of records, and that nobody comes in between; the ways are below. See `strobe_trace.c` for why all this is so.

use core::arch::asm;
use core::sync::atomic::{AtomicU16, Ordering};

#[cfg(not(any(feature = "rtt", feature = "bytes")))]
#[path = "on/itm.rs"]
mod way;

#[cfg(any(feature = "rtt", feature = "bytes"))]
#[path = "on/frames.rs"]
mod way;

pub(crate) use self::way::{record, start, value};

static NUMBER: AtomicU16 = AtomicU16::new(0);

/// With interrupts off, so that records arrive in the order of their numbers; gives the head its number.
#[inline(always)]
fn numbered(head: u32, send: impl FnOnce(u32)) {
    let before: u32;
    // SAFETY: reads and sets PRIMASK, which is given back below.
    unsafe { asm!("mrs {}, primask", "cpsid i", out(reg) before, options(nostack)) };
    // Nobody comes between load and store.
    let head = head | u32::from(NUMBER.load(Ordering::Relaxed));
    NUMBER.store(head.wrapping_add(1) as u16, Ordering::Relaxed);
    send(head);
    // SAFETY: PRIMASK is what it was.
    unsafe { asm!("msr primask, {}", in(reg) before, options(nostack)) };
}
