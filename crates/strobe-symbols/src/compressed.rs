//! Debug sections compressed by the compiler or linker (`-gz`): zlib or zstd behind a header (ELF
//! specification, "Section Compression"; `SHF_COMPRESSED`), or in the older way of GNU tools
//! (`-gz=zlib-gnu`), zlib in sections with names of their own.
//!
//! They are unpacked once, behind the end of the file, and the section headers then point there:
//! whoever reads the file needs to know nothing of it.

use std::io::Read;

use object::LittleEndian as LE;
use object::elf::{ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD, SHF_COMPRESSED};

use crate::elf::{Elf, Section};
use crate::error::Warnings;

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

/// The name of sections that GNU tools compressed before ELF had a flag for it, but for its end.
const OLD_NAME: &str = ".zdebug_";
/// What these begin with; the size behind it has eight bytes, the first the highest.
const OLD_MAGIC: &[u8; 4] = b"ZLIB";

/// The file with its debug sections unpacked; `None` if none is compressed, or none can be unpacked
/// within limits. Those that cannot be are warned of.
pub(crate) fn unpacked(elf: &Elf<'_>, warnings: &mut Warnings) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut room = MOST_BYTES;
    let mut refused: Vec<(&'static str, Vec<&Section<'_>>)> = Vec::new();
    for (index, section) in elf.sections.iter().enumerate() {
        let is_old = section.name.starts_with(OLD_NAME);
        if !(is_old || section.has(SHF_COMPRESSED) && section.name.starts_with(".debug_")) {
            continue;
        }
        let bytes = match contents(section, room) {
            Ok(bytes) => bytes,
            Err(why) => {
                match refused.iter_mut().find(|(known, _)| *known == why) {
                    Some((_, sections)) => sections.push(section),
                    None => refused.push((why, vec![section])),
                }
                continue;
            }
        };
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
            put(&mut out, at + field, value);
        }
        if is_old {
            rename(elf, &mut out, at);
        }
        out.extend(bytes);
    }
    for (why, sections) in refused {
        let names: Vec<&str> = sections.iter().map(|section| section.name.as_str()).collect();
        let detail = format!("compressed, and cannot be unpacked: {why}");
        warnings.push(&names.join(", "), sections[0].file_offset, detail);
    }
    (!out.is_empty()).then_some(out)
}

fn put(out: &mut [u8], at: usize, value: u32) {
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

/// `.zdebug_info` becomes `.debug_info`: the name begins a byte later, where the z was.
fn rename(elf: &Elf<'_>, out: &mut [u8], header: usize) {
    let names = usize::from(elf.header.e_shstrndx.get(LE).0);
    let Some(names) = elf.sections.get(names).map(|section| section.file_offset) else { return };
    let Some(name) = out.get(header..header + 4).and_then(|bytes| bytes.try_into().ok()) else {
        return;
    };
    let name = u32::from_le_bytes(name).saturating_add(1);
    let place = usize::try_from(names.saturating_add(name.into())).unwrap_or(usize::MAX);
    if let Some(place) = out.get_mut(place) {
        *place = b'.';
        put(out, header, name);
    }
}

const NO_HEADER: &str = "its header is not whole";
const NO_ROOM: &str = "its sections would have more than 1 GiB";
const TOO_LONG: &str = "its header states a size that no packing makes so small";
const UNKNOWN: &str = "by a method that is neither zlib nor zstd";
const DAMAGED: &str = "it is damaged, or its header states another size";

/// What a section has unpacked, if that is what its header states and no more than `room`; else
/// why it cannot be.
fn contents(section: &Section<'_>, room: u64) -> Result<Vec<u8>, &'static str> {
    let (method, size, packed) = header(section).ok_or(NO_HEADER)?;
    if size > (packed.len() as u64).saturating_mul(MOST_TIMES) {
        return Err(TOO_LONG);
    }
    if size > room {
        return Err(NO_ROOM);
    }
    let mut out = Vec::new();
    let read = |from: &mut dyn Read, out: &mut Vec<u8>| {
        from.take(size + 1).read_to_end(out).map_err(|_| DAMAGED)
    };
    if method == ELFCOMPRESS_ZLIB.0 {
        read(&mut flate2::read::ZlibDecoder::new(packed), &mut out)?;
    } else if method == ELFCOMPRESS_ZSTD.0 {
        let decoder = ruzstd::decoding::StreamingDecoder::new(packed);
        read(&mut decoder.map_err(|_| DAMAGED)?, &mut out)?;
    } else {
        return Err(UNKNOWN);
    }
    if out.len() as u64 == size { Ok(out) } else { Err(DAMAGED) }
}

/// Method, unpacked size and packed bytes.
fn header<'a>(section: &Section<'a>) -> Option<(u32, u64, &'a [u8])> {
    if section.name.starts_with(OLD_NAME) {
        let (size, packed) = section.data.strip_prefix(OLD_MAGIC)?.split_first_chunk()?;
        return Some((ELFCOMPRESS_ZLIB.0, u64::from_be_bytes(*size), packed));
    }
    let (header, packed) = section.data.split_at_checked(HEADER)?;
    let word = |at: usize| Some(u32::from_le_bytes(header.get(at..at + 4)?.try_into().ok()?));
    Some((word(0)?, u64::from(word(4)?), packed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// What is made of a section with that method, size and packed bytes.
    fn unpack(method: u32, size: u32, packed: &[u8], room: u64) -> Result<Vec<u8>, &'static str> {
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
            assert_eq!(unpack(method, 50_000, &packed, MOST_BYTES).as_ref(), Ok(&bytes));
            // A header that lies, too little room, a cut, another method.
            assert_eq!(unpack(method, 49_999, &packed, MOST_BYTES), Err(DAMAGED));
            assert_eq!(unpack(method, 50_001, &packed, MOST_BYTES), Err(DAMAGED));
            assert_eq!(unpack(method, 50_000, &packed, 49_999), Err(NO_ROOM));
            let cut = &packed[..packed.len() / 2];
            assert_eq!(unpack(method, 50_000, cut, MOST_BYTES), Err(DAMAGED));
            assert_eq!(unpack(3 - method, 50_000, &packed, MOST_BYTES), Err(DAMAGED));
        }
        assert_eq!(unpack(3, 4, b"abcd", MOST_BYTES), Err(UNKNOWN));
    }

    #[test]
    fn bombs_are_refused_before_they_are_unpacked() {
        let packed = zlib(&vec![0; 8 << 20]);
        assert!(unpack(1, 8 << 20, &packed, MOST_BYTES).is_ok());
        assert_eq!(unpack(1, 8 << 20, &packed, 1 << 20), Err(NO_ROOM));
        assert_eq!(unpack(1, u32::MAX, &packed, MOST_BYTES), Err(TOO_LONG));
        assert_eq!(unpack(1, 5000, &zlib(b"x")[..4], MOST_BYTES), Err(TOO_LONG));
    }
}
