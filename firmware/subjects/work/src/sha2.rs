//! Hash: `sha2`, with 32-bit and with 64-bit words, the second of which the Cortex-M0 must compose.

use crate::data::{Stream, hex};
use core::fmt::{self, Write};
use sha2::{Digest, Sha256, Sha512};

/// The published test vector, then 8 KiB in uneven pieces.
pub fn work(out: &mut dyn Write) -> fmt::Result {
    hex(out, "sha256 abc", &Sha256::digest(b"abc"))?;
    hex(out, "sha512 abc", &Sha512::digest(b"abc"))?;
    hex(out, "sha256 8k", &pieces(Sha256::new()))?;
    hex(out, "sha512 8k", &pieces(Sha512::new()))
}

fn pieces<D: Digest>(mut hash: D) -> sha2::digest::Output<D> {
    let mut stream = Stream::new(0x5a25_6001);
    let mut piece = [0; 97];
    let mut left = 8192;
    while left > 0 {
        let length = piece.len().min(left);
        stream.fill(&mut piece[..length]);
        hash.update(&piece[..length]);
        left -= length;
    }
    hash.finalize()
}
