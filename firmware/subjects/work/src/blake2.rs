//! Hash: `blake2`, plain and keyed.

use crate::data::{Stream, hex};
use blake2::digest::{KeyInit, Mac};
use blake2::{Blake2b512, Blake2s256, Blake2sMac256, Digest};
use core::fmt::{self, Write};

/// The published test vectors, then 4 KiB of data in every mode.
pub fn work(out: &mut dyn Write) -> fmt::Result {
    let mut block = [0; 4096];
    Stream::new(0xb1a_4e25).fill(&mut block);

    hex(out, "blake2s abc", &Blake2s256::digest(b"abc"))?;
    hex(out, "blake2b abc", &Blake2b512::digest(b"abc"))?;
    hex(out, "blake2s 4k", &Blake2s256::digest(block))?;
    hex(out, "blake2b 4k", &Blake2b512::digest(block))?;

    let mut mac = Blake2sMac256::new_from_slice(&block[..32]).map_err(|_| fmt::Error)?;
    mac.update(&block);
    hex(out, "keyed blake2s 4k", &mac.finalize().into_bytes())
}
