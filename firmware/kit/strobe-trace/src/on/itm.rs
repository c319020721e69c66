//! Records over two stimulus ports (DDI 0403, C1.7), as `strobe_trace.c` has them.

use core::ptr;

use super::numbered;

/// The port of records; values go to the next.
const PORT: usize = 30;

// Tells the host how to read this: version, way, port.
crate::__name!(4095, "1 itm 30");

#[inline(always)]
pub(crate) fn start() {}

#[inline(never)]
pub(crate) fn record(head: u32) {
    numbered(head, |head| {
        send(PORT, head);
    });
}

/// The value goes first and the record completes it. A record is not sent if its value found no room.
#[inline(never)]
pub(crate) fn value(head: u32, value: u32) {
    numbered(head, |head| {
        let _ = send(PORT + 1, value) && send(PORT, head);
    });
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
