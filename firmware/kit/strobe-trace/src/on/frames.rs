//! Records as frames of bytes, as `strobe_trace.c` has them: a byte with bit 7 set, then the words as five bytes of seven bits each, the
//! least significant first. All bytes together have an exclusive or of 0x80.

use super::numbered;

#[cfg(feature = "rtt")]
#[path = "rtt.rs"]
mod carrier;

#[cfg(feature = "bytes")]
#[path = "sink.rs"]
mod carrier;

use self::carrier::send;
pub(crate) use self::clock::start;

#[inline(never)]
pub(crate) fn record(head: u32) {
    numbered(head, |head| send(|frame: &mut [u8; 11]| fill(frame, [head, clock::now()])));
}

#[inline(never)]
pub(crate) fn value(head: u32, value: u32) {
    numbered(head, |head| send(|frame: &mut [u8; 16]| fill(frame, [head, clock::now(), value])));
}

#[inline(always)]
fn fill<const BYTES: usize, const WORDS: usize>(frame: &mut [u8; BYTES], words: [u32; WORDS]) {
    let mut all = 0x80;
    for (at, word) in words.into_iter().enumerate() {
        for group in 0..5 {
            let byte = (word >> (7 * group)) as u8 & 0x7F;
            frame[1 + 5 * at + group] = byte;
            all ^= byte;
        }
    }
    frame[0] = all;
}

#[cfg(feature = "clock")]
mod clock {
    unsafe extern "Rust" {
        fn _strobe_trace_clock() -> u32;
    }

    #[inline(always)]
    pub(crate) fn start() {}

    #[inline(always)]
    pub(super) fn now() -> u32 {
        // SAFETY: `clock!` makes a function of this type.
        unsafe { _strobe_trace_clock() }
    }
}

#[cfg(not(feature = "clock"))]
mod clock {
    use core::ptr;

    // Compare and swap has the same cores as the cycle counter.
    #[cfg(not(target_has_atomic = "32"))]
    compile_error!("this core has no cycle counter: use the feature `clock` and `strobe_trace::clock!`");

    const DEMCR: *mut u32 = 0xE000_EDFC as *mut u32;
    const DWT_CTRL: *mut u32 = 0xE000_1000 as *mut u32;
    const DWT_CYCCNT: *const u32 = 0xE000_1004 as *const u32;

    crate::__describe!(1);

    /// TRCENA and CYCCNTENA (DDI 0403, C1.6.5 and C1.8.7).
    #[inline(never)]
    pub(crate) fn start() {
        // SAFETY: registers of the debug blocks, which every such core has; this sets a bit of each.
        unsafe {
            ptr::write_volatile(DEMCR, ptr::read_volatile(DEMCR) | 1 << 24);
            ptr::write_volatile(DWT_CTRL, ptr::read_volatile(DWT_CTRL) | 1);
        }
    }

    #[inline(always)]
    pub(super) fn now() -> u32 {
        // SAFETY: a register that can be read at any time.
        unsafe { ptr::read_volatile(DWT_CYCCNT) }
    }
}
