//! Debug sections compressed by the compiler or linker (`-gz`): zlib or zstd behind a header (ELF
//! specification, "Section Compression"; `SHF_COMPRESSED`).
//!
//! They are unpacked once, behind the end of the file, and the section headers then point there:
//! whoever reads the file needs to know nothing of it.

use std::io::Read;

use object::elf::{ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD, SHF_COMPRESSED};

use crate::elf::{Elf, Section};

/// Size of `Elf32_Chdr`: method, size, alignment.
const HEADER: usize = 12;

/// What all sections may have unpacked. Debug information of firmware has a few tens of megabytes.
const MOST_BYTES: u64 = 1 << 30;

/// A section may become so many times longer: nothing that zlib makes does more, and debug
/// information becomes three to five times.
const MOST_TIMES: u64 = 1032;

/// Fields of a section header.
const FLAGS: usize = 8;
const OFFSET: usize = 16;
const SIZE: usize = 20;

/// The file with its debug sections unpacked; `None` if none is compressed, or none can be unpacked
/// within limits.
pub(crate) fn unpacked(elf: &Elf<'_>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut room = MOST_BYTES;
    for (index, section) in elf.sections.iter().enumerate() {
        if !section.has(SHF_COMPRESSED) || !section.name.starts_with(".debug_") {
            continue;
        }
        let Some(bytes) = contents(section, room) else { continue };
        room -= bytes.len() as u64;
        if out.is_empty() {
            out = elf.data.to_vec();
        }
        let flags = section.flags & !(SHF_COMPRESSED.0 as u32);
        let (Ok(offset), Ok(size)) = (u32::try_from(out.len()), u32::try_from(bytes.len())) else {
            continue;
        };
        let at = elf.section_header_offset(index);
        for (field, value) in [(FLAGS, flags), (OFFSET, offset), (SIZE, size)] {
            if let Some(place) = out.get_mut(at + field..at + field + 4) {
                place.copy_from_slice(&value.to_le_bytes());
            }
        }
        out.extend(bytes);
    }
    (!out.is_empty()).then_some(out)
}

/// What a section has unpacked, if that is what its header states and no more than `room`.
fn contents(section: &Section<'_>, room: u64) -> Option<Vec<u8>> {
    let (header, packed) = section.data.split_at_checked(HEADER)?;
    let word = |at: usize| Some(u32::from_le_bytes(header.get(at..at + 4)?.try_into().ok()?));
    let (method, size) = (word(0)?, u64::from(word(4)?));
    if size > room || size > (packed.len() as u64).saturating_mul(MOST_TIMES) {
        return None;
    }
    let mut out = Vec::new();
    let read = |from: &mut dyn Read, out: &mut Vec<u8>| from.take(size + 1).read_to_end(out).ok();
    if method == ELFCOMPRESS_ZLIB.0 {
        read(&mut flate2::read::ZlibDecoder::new(packed), &mut out)?;
    } else if method == ELFCOMPRESS_ZSTD.0 {
        read(&mut ruzstd::decoding::StreamingDecoder::new(packed).ok()?, &mut out)?;
    } else {
        return None;
    }
    (out.len() as u64 == size).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// What is made of a section with that method, size and packed bytes.
    fn unpack(method: u32, size: u32, packed: &[u8], room: u64) -> Option<Vec<u8>> {
        let mut data = Vec::new();
        [method, size, 1].iter().for_each(|word| data.extend(word.to_le_bytes()));
        data.extend(packed);
        let section = Section {
            name: ".debug_info".to_owned(),
            kind: object::elf::SHT_PROGBITS,
            flags: SHF_COMPRESSED.0 as u32,
            address: 0,
            size: data.len() as u32,
            link: 0,
            info: 0,
            file_offset: 0,
            data: &data,
        };
        contents(&section, room)
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        out.write_all(bytes).expect("memory takes it");
        out.finish().expect("memory takes it")
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn both_methods_give_what_was_packed() {
        let bytes: Vec<u8> = (0..50_000u32).map(|n| ((n * n) >> 9) as u8).collect();
        for (method, packed) in [(1, zlib(&bytes)), (2, zstd(&bytes))] {
            assert_eq!(unpack(method, 50_000, &packed, MOST_BYTES).as_ref(), Some(&bytes));
            // A header that lies, too little room, a cut, another method.
            assert_eq!(unpack(method, 49_999, &packed, MOST_BYTES), None);
            assert_eq!(unpack(method, 50_001, &packed, MOST_BYTES), None);
            assert_eq!(unpack(method, 50_000, &packed, 49_999), None);
            assert_eq!(unpack(method, 50_000, &packed[..packed.len() / 2], MOST_BYTES), None);
            assert_eq!(unpack(3 - method, 50_000, &packed, MOST_BYTES), None);
        }
        assert_eq!(unpack(3, 4, b"abcd", MOST_BYTES), None);
    }

    #[test]
    fn bombs_are_refused_before_they_are_unpacked() {
        let packed = zlib(&vec![0; 8 << 20]);
        assert!(unpack(1, 8 << 20, &packed, MOST_BYTES).is_some());
        assert_eq!(unpack(1, 8 << 20, &packed, 1 << 20), None);
        assert_eq!(unpack(1, u32::MAX, &packed, MOST_BYTES), None);
        assert_eq!(unpack(1, 5000, &zlib(b"x")[..4], MOST_BYTES), None);
    }
}
