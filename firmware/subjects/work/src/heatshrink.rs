//! Compression: `heatshrink`, made for controllers with little memory, both ways.

use crate::data::{Stream, hex};
use core::fmt::{self, Write};
use heatshrink::{Config, decode, encode};

/// Packs a slow signal as a sensor would give it and unpacks it again.
pub fn work(out: &mut dyn Write) -> fmt::Result {
    let config = Config::new(9, 5).map_err(|_| fmt::Error)?;
    let mut stream = Stream::new(0x4ea7);
    let mut level = 100_u8;
    let signal: [u8; 2048] = core::array::from_fn(|_| {
        match stream.word() % 16 {
            0 => level = level.wrapping_add(1),
            1 => level = level.wrapping_sub(1),
            _ => {}
        }
        level
    });

    let mut packed = [0; 2048];
    let packed = encode(&signal, &mut packed, &config).map_err(|_| fmt::Error)?;
    writeln!(out, "{} -> {} bytes", signal.len(), packed.len())?;
    hex(out, "packed, first 64", &packed[..64])?;

    // The decoder calls a buffer full as soon as its last byte is written: one more than needed.
    let mut unpacked = [0; 2049];
    let unpacked = decode(packed, &mut unpacked, &config).map_err(|_| fmt::Error)?;
    writeln!(out, "restored: {}", unpacked == signal)
}
