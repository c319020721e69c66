//! Checks that `test_loop` is the published one, byte for byte and at the published address.
//!
//! The loop was measured on silicon with its branch target in the upper half of a flash word; moved
//! by a halfword it has another duration.

use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSegment, ObjectSymbol};
use serde::Deserialize;

/// The required placement of `test_loop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Placement {
    /// At 0x080000c0, its branch target in the upper half of a word.
    AsPublished,
    /// A halfword later, its branch target in the lower half.
    TargetAligned,
}

impl Placement {
    fn address(self) -> u64 {
        match self {
            Self::AsPublished => 0x0800_00c0,
            Self::TargetAligned => 0x0800_00c2,
        }
    }

    /// The halfwords from `address` on, the literal at 0x080000e0 included.
    fn halfwords(self) -> Vec<u16> {
        // Offsets of the two literal loads in words, counted from the word the pc is in.
        let (first_load, second_load, padding) = match self {
            Self::AsPublished => (0x4b07, 0x4b02, [0x46c0].as_slice()),
            Self::TargetAligned => (0x4b06, 0x4b01, [].as_slice()),
        };
        #[rustfmt::skip]
        let code = [
            0x2280, first_load, 0x0052, 0x601a,
            0x23ff, 0x46c0, 0x3b01, 0xb2db, 0x2b00, 0xd1fa,
            0x2280, second_load, 0x0452, 0x601a, 0x4770,
        ];
        [&code, padding, &[0x0418, 0x4800]].concat()
    }
}

/// Fails, naming the difference, unless the ELF has `test_loop` as `placement` requires.
pub(crate) fn check(elf: &[u8], placement: Placement) -> Result<()> {
    let file = object::File::parse(elf)?;
    let symbol = file.symbol_by_name("test_loop").context("no symbol `test_loop`")?;
    // Bit 0 of a function's symbol is the Thumb bit.
    let address = symbol.address() & !1;
    ensure!(
        address == placement.address(),
        "test_loop is at {address:#010x}, not at {:#010x}",
        placement.address()
    );
    let expected = placement.halfwords();
    let bytes = file
        .segments()
        .find_map(|segment| segment.data_range(address, 2 * expected.len() as u64).transpose())
        .context("test_loop is not in a loaded segment")??;
    for (index, (pair, expected)) in bytes.chunks_exact(2).zip(expected).enumerate() {
        let found = u16::from_le_bytes([pair[0], pair[1]]);
        let at = address + 2 * index as u64;
        ensure!(
            found == expected,
            "{found:04x} at {at:#010x}, where the listing has {expected:04x}"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prebuilt(name: &str) -> Vec<u8> {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../firmware/prebuilt/");
        std::fs::read(format!("{root}{name}.elf")).expect("a prebuilt ELF")
    }

    #[test]
    fn prebuilt_loops_are_the_published_one() {
        for name in ["loop-0ws", "loop-48mhz", "loop-48mhz-noprefetch"] {
            check(&prebuilt(name), Placement::AsPublished).expect(name);
        }
        let aligned = prebuilt("loop-48mhz-aligned");
        check(&aligned, Placement::TargetAligned).expect("the aligned variant");
    }

    #[test]
    fn moved_or_altered_loop_is_refused() {
        let mut elf = prebuilt("loop-48mhz");
        let error = check(&elf, Placement::TargetAligned).unwrap_err().to_string();
        assert_eq!(error, "test_loop is at 0x080000c0, not at 0x080000c2");

        let counter = elf.windows(4).position(|bytes| bytes == [0xff, 0x23, 0xc0, 0x46]).unwrap();
        elf[counter] = 0xfe;
        let error = check(&elf, Placement::AsPublished).unwrap_err().to_string();
        assert_eq!(error, "23fe at 0x080000c8, where the listing has 23ff");
    }
}
