//! A buffer in RAM that a debug probe reads: SEGGER's control block with one buffer to the host.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering, fence};

/// Bytes of the buffer: 1024, or what the environment says when this is compiled.
const SIZE: usize = match option_env!("STROBE_TRACE_RTT_BYTES") {
    Some(digits) => number(digits.as_bytes()),
    None => 1024,
};

const _: () = assert!(SIZE >= 32, "no room for records");

const fn number(digits: &[u8]) -> usize {
    let (mut number, mut at) = (0, 0);
    while at < digits.len() {
        assert!(digits[at].is_ascii_digit(), "STROBE_TRACE_RTT_BYTES is a number");
        number = 10 * number + (digits[at] - b'0') as usize;
        at += 1;
    }
    number
}

struct Bytes(UnsafeCell<[u8; SIZE]>);

// SAFETY: written with interrupts off only, and read by the probe.
unsafe impl Sync for Bytes {}

static BUFFER: Bytes = Bytes(UnsafeCell::new([0; SIZE]));

#[repr(C)]
struct Block {
    id: [u8; 16],
    ups: u32,
    downs: u32,
    name: *const u8,
    buffer: *mut [u8; SIZE],
    size: u32,
    /// Ours.
    write: AtomicU32,
    /// The probe's.
    read: AtomicU32,
    /// 0: what finds no room is dropped.
    flags: u32,
}

// SAFETY: its pointers never change.
unsafe impl Sync for Block {}

/// Ready before the first instruction of `main`. A program that has SEGGER's own, or another crate's, must not have a second.
#[unsafe(no_mangle)]
static _SEGGER_RTT: Block = Block {
    id: *b"SEGGER RTT\0\0\0\0\0\0",
    ups: 1,
    downs: 0,
    name: c"strobe".as_ptr().cast(),
    buffer: BUFFER.0.get(),
    size: SIZE as u32,
    write: AtomicU32::new(0),
    read: AtomicU32::new(0),
    flags: 0,
};

/// Has a frame filled where it fits in one piece, if it does.
#[inline(always)]
pub(super) fn send<const BYTES: usize>(fill: impl FnOnce(&mut [u8; BYTES])) {
    let buffer = BUFFER.0.get().cast::<u8>();
    let Some(at) = room(buffer, BYTES) else { return };
    // SAFETY: `room` says that it is inside of the buffer, and interrupts are off.
    fill(unsafe { &mut *buffer.add(at).cast::<[u8; BYTES]>() });
    // The probe must not see the offset before the bytes.
    fence(Ordering::SeqCst);
    _SEGGER_RTT.write.store((at + BYTES) as u32, Ordering::Relaxed);
}

/// Where so many bytes fit. What is left at the end of the buffer gets zeros, which are no part of a frame. The probe's offset is only
/// compared: whatever it wrote there, nothing goes outside of the buffer.
#[inline(always)]
fn room(buffer: *mut u8, length: usize) -> Option<usize> {
    let write = _SEGGER_RTT.write.load(Ordering::Relaxed) as usize;
    let read = _SEGGER_RTT.read.load(Ordering::Relaxed) as usize;
    if SIZE - write > length {
        return (read <= write || read - write > length).then_some(write);
    }
    if read > write || read <= length {
        return None;
    }
    for at in write..SIZE {
        // SAFETY: inside of the buffer, and volatile so that it is no call of memset.
        unsafe { buffer.add(at).write_volatile(0) };
    }
    Some(0)
}
