//! Compression: `miniz_oxide`'s inflate without an allocator.

use core::fmt::{self, Write};
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

/// Made by `build.rs` from the head of the licence text.
static PAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/page.zz"));

/// Unpacks a page of prose three times, with its checksum verified, and shows the end of it.
pub fn work(out: &mut dyn Write) -> fmt::Result {
    let mut text = [0; 3072];
    let mut inflate = DecompressorOxide::new();
    let flags = inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER
        | inflate_flags::TINFL_FLAG_COMPUTE_ADLER32
        | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    for _ in 0..3 {
        text.fill(0);
        inflate.init();
        let (status, read, written) = decompress(&mut inflate, PAGE, &mut text, 0, flags);
        writeln!(out, "{status:?}: {read} -> {written} bytes, adler {:08x?}", inflate.adler32())?;
    }
    let tail = core::str::from_utf8(&text[text.len() - 256..]).map_err(|_| fmt::Error)?;
    writeln!(out, "{tail}")
}
