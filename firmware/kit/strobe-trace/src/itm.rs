//! Records over two stimulus ports (DDI 0403, C1.7), as `strobe_trace.c` has them.

#[cfg(not(all(feature = "on", target_arch = "arm")))]
pub(crate) use off::{record, value};
#[cfg(all(feature = "on", target_arch = "arm"))]
pub(crate) use on::{record, value};

#[cfg(not(all(feature = "on", target_arch = "arm")))]
mod off {
    #[inline(always)]
    pub(crate) fn record(_head: u32) {}

    #[inline(always)]
    pub(crate) fn value(_head: u32, _value: u32) {}
}

#[cfg(all(feature = "on", target_arch = "arm"))]
mod on {
    use core::arch::asm;
    use core::ptr;
    use core::sync::atomic::{AtomicU16, Ordering};

    /// The port of records; values go to the next.
    const PORT: usize = 30;

    static NUMBER: AtomicU16 = AtomicU16::new(0);

    #[inline(never)]
    pub(crate) fn record(head: u32) {
        alone(|| send(PORT, numbered(head)));
    }

    /// The value goes first and the record completes it. A record is not sent if its value found no room.
    #[inline(never)]
    pub(crate) fn value(head: u32, value: u32) {
        alone(|| {
            let head = numbered(head);
            send(PORT + 1, value) && send(PORT, head)
        });
    }

    /// With interrupts off, so that records arrive in the order of their numbers.
    #[inline(always)]
    fn alone(f: impl FnOnce() -> bool) {
        let before: u32;
        // SAFETY: reads and sets PRIMASK, which is given back below.
        unsafe { asm!("mrs {}, primask", "cpsid i", out(reg) before, options(nostack)) };
        f();
        // SAFETY: PRIMASK is what it was.
        unsafe { asm!("msr primask, {}", in(reg) before, options(nostack)) };
    }

    /// Interrupts are off: nobody comes between load and store.
    #[inline(always)]
    fn numbered(head: u32) -> u32 {
        let head = head | u32::from(NUMBER.load(Ordering::Relaxed));
        NUMBER.store(head.wrapping_add(1) as u16, Ordering::Relaxed);
        head
    }

    #[inline(always)]
    fn send(port: usize, word: u32) -> bool {
        let register = (0xE000_0000 + 4 * port) as *mut u32;
        // SAFETY: a stimulus port. Reading it tells whether it has room; while it is off, writes do nothing.
        unsafe {
            let has_room = ptr::read_volatile(register) != 0;
            if has_room {
                ptr::write_volatile(register, word);
            }
            has_room
        }
    }
}
