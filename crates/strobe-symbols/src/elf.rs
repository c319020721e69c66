//! The ELF container: header, program headers and section headers, each checked against the file
//! before use.
//!
//! `object` knows the layout; this module adds what a user needs if the file is wrong: which field,
//! at which byte, and what to do. It does not interpret the sections. (ELF specification, chapters
//! 1 and 2; AAELF32 for the Arm parts.)

use std::ops::Range;

use object::elf::{
    self, FileHeader32, ProgramHeader32, SectionFlags, SectionHeader32, SectionType,
};
use object::read::elf::SectionHeader as _;
use object::{LittleEndian as LE, Pod};

use crate::error::Error;
use crate::image::Machine;

/// Sizes defined by the 32-bit ELF layout.
const PROGRAM_HEADER_SIZE: u64 = 32;
const SECTION_HEADER_SIZE: u64 = 40;

/// Offsets of header fields in the file, for messages (ELF specification, figure 1-3).
mod field {
    pub(super) const CLASS: u64 = 4;
    pub(super) const DATA: u64 = 5;
    pub(super) const TYPE: u64 = 16;
    pub(super) const MACHINE: u64 = 18;
    pub(super) const PHENTSIZE: u64 = 42;
    pub(super) const SHENTSIZE: u64 = 46;
    pub(super) const SHSTRNDX: u64 = 50;
}

/// Offset of `e_phoff` in the file.
pub(crate) const PHOFF_FIELD: u64 = 28;

/// A checked ELF file: every table and every section lies inside the bytes.
pub(crate) struct Elf<'a> {
    pub(crate) data: &'a [u8],
    pub(crate) header: &'a FileHeader32<LE>,
    pub(crate) program_headers: &'a [ProgramHeader32<LE>],
    pub(crate) program_headers_at: u64,
    pub(crate) sections: Vec<Section<'a>>,
    pub(crate) machine: Machine,
}

/// One section header with its contents.
#[derive(Clone)]
pub(crate) struct Section<'a> {
    pub(crate) name: String,
    pub(crate) kind: SectionType,
    pub(crate) flags: u32,
    pub(crate) address: u32,
    pub(crate) size: u32,
    pub(crate) link: usize,
    /// Of relocations: the section that they are for (`sh_info`).
    pub(crate) info: usize,
    pub(crate) file_offset: u64,
    /// The contents; empty for sections without bytes in the file.
    pub(crate) data: &'a [u8],
}

impl Section<'_> {
    pub(crate) fn has(&self, flag: SectionFlags) -> bool {
        u64::from(self.flags) & flag.0 != 0
    }

    /// Whether the section is in memory at run time.
    pub(crate) fn is_allocated(&self) -> bool {
        self.has(elf::SHF_ALLOC) && self.size > 0
    }

    /// Addresses in memory; the end is exclusive and may be 2^32.
    pub(crate) fn range(&self) -> Range<u64> {
        u64::from(self.address)..u64::from(self.address) + u64::from(self.size)
    }
}

impl<'a> Elf<'a> {
    pub(crate) fn parse(data: &'a [u8]) -> Result<Self, Error> {
        check_identification(data)?;
        let header = pod_slice::<FileHeader32<LE>>(data, "the ELF header", 0, 1, 52)?;
        let header = header.first().ok_or_else(|| malformed(0, "the ELF header is missing"))?;
        let machine = check_kind(header)?;
        let program_headers = program_headers(data, header)?;
        check_not_hosted(data, header, program_headers)?;
        let sections = sections(data, header)?;
        let program_headers_at = u64::from(header.e_phoff.get(LE));
        Ok(Elf { data, header, program_headers, program_headers_at, sections, machine })
    }

    /// The first section of that name.
    pub(crate) fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// Offset in the file of the section header with that number.
    pub(crate) fn section_header_offset(&self, index: usize) -> usize {
        let table = u64::from(self.header.e_shoff.get(LE));
        usize::try_from(table + index as u64 * SECTION_HEADER_SIZE).unwrap_or(usize::MAX / 2)
    }

    /// Offset in the file of the program header with that number.
    pub(crate) fn program_header_offset(&self, index: usize) -> u64 {
        self.program_headers_at + index as u64 * PROGRAM_HEADER_SIZE
    }
}

pub(crate) fn malformed(offset: u64, detail: impl Into<String>) -> Error {
    Error::Malformed { offset, detail: detail.into() }
}

fn truncated(data: &[u8], what: impl Into<String>, offset: u64, length: u64) -> Error {
    Error::Truncated { what: what.into(), offset, length, file_size: data.len() as u64 }
}

/// The bytes at a range from a header field, or an error that names the truncated part.
pub(crate) fn bytes_at(
    data: &[u8],
    what: impl FnOnce() -> String,
    offset: u64,
    length: u64,
) -> Result<&[u8], Error> {
    usize::try_from(offset)
        .ok()
        .zip(offset.checked_add(length).and_then(|end| usize::try_from(end).ok()))
        .and_then(|(start, end)| data.get(start..end))
        .ok_or_else(|| truncated(data, what(), offset, length))
}

fn pod_slice<'a, T: Pod>(
    data: &'a [u8],
    what: &'static str,
    offset: u64,
    count: u64,
    entry_size: u64,
) -> Result<&'a [T], Error> {
    let bytes = bytes_at(data, || what.to_owned(), offset, count * entry_size)?;
    let (entries, _) = object::pod::slice_from_bytes(bytes, count as usize)
        .map_err(|()| malformed(offset, format!("{what} is not aligned to 4 bytes")))?;
    Ok(entries)
}

/// The zero-terminated string at an offset, limited in length so that many references to one long
/// string stay cheap.
pub(crate) fn string_at(table: &[u8], offset: u32, limit: usize) -> Option<String> {
    let tail = table.get(offset as usize..)?;
    let tail = &tail[..tail.len().min(limit)];
    let name = tail.split(|&byte| byte == 0).next().unwrap_or_default();
    Some(String::from_utf8_lossy(name).into_owned())
}

fn check_identification(data: &[u8]) -> Result<(), Error> {
    if data.get(..4) != Some(&elf::ELFMAG[..]) {
        return Err(Error::NotElf { looks_like: looks_like(data) });
    }
    if data.len() < 52 {
        return Err(truncated(data, "the ELF header", 0, 52));
    }
    let unsupported =
        |offset, found: String, advice| Err(Error::Unsupported { offset, found, advice });
    if data[4] != elf::ELFCLASS32.0 {
        let found = match data[4] {
            2 => "64-bit class".to_owned(),
            other => format!("class {other}"),
        };
        return unsupported(field::CLASS, found, "microcontroller firmware is 32-bit ELF");
    }
    if data[5] != elf::ELFDATA2LSB.0 {
        let found = match data[5] {
            2 => "big-endian".to_owned(),
            other => format!("byte order {other}"),
        };
        return unsupported(
            field::DATA,
            found,
            "build for little-endian, the default of Arm compilers",
        );
    }
    Ok(())
}

/// A description of a file that is not ELF, for the error message.
fn looks_like(data: &[u8]) -> &'static str {
    match data {
        [] => "the file is empty",
        [0x7f, b'E', ..] if data.len() < 4 => "the file ends inside the ELF magic number",
        [b'S', b'0'..=b'9', ..] => {
            "it looks like Motorola S-records, of which `objcopy -I srec -O ihex` makes Intel HEX"
        }
        [b'U', b'F', b'2', b'\n', ..] => "it is a UF2 file",
        [b'!', b'<', b'a', b'r', b'c', b'h', b'>', ..] => "it is a static library (ar archive)",
        [b'M', b'Z', ..] => "it is a Windows program",
        [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..] => "it is a macOS program",
        [0x1f, 0x8b, ..] => "it is compressed with gzip",
        [b'P', b'K', 3, 4, ..] => "it is a zip archive",
        // A raw image starts with the initial stack pointer, which lies in RAM at 0x2000_0000 or,
        // of some makers, 0x1000_0000.
        [_, _, _, 0x10 | 0x20, ..] => {
            "it looks like a raw binary image, which lacks its address: `objcopy -I binary -O ihex \
             --change-addresses ADDRESS` makes Intel HEX of one"
        }
        _ => "the magic number 7f 45 4c 46 is missing",
    }
}

fn check_kind(header: &FileHeader32<LE>) -> Result<Machine, Error> {
    let unsupported =
        |offset, found: String, advice| Err(Error::Unsupported { offset, found, advice });
    let machine = match header.e_machine.get(LE) {
        elf::EM_ARM => Machine::Arm,
        elf::EM_AVR => Machine::Avr,
        other => {
            let found = match machine_name(other) {
                Some(name) => format!("machine {name}"),
                None => format!("machine number {}", other.0),
            };
            let advice =
                "give firmware built for Arm (EM_ARM, number 40) or AVR (EM_AVR, number 83)";
            return unsupported(field::MACHINE, found, advice);
        }
    };
    let kind = header.e_type.get(LE);
    if kind == elf::ET_EXEC || kind == elf::ET_DYN {
        return Ok(machine);
    }
    let (found, advice) = match kind {
        elf::ET_REL => ("an object file".to_owned(), "link it first; give the linker's output"),
        elf::ET_CORE => ("a core dump".to_owned(), "give the program's ELF file"),
        other => (format!("file type {}", other.0), "give the linker's output"),
    };
    unsupported(field::TYPE, found, advice)
}

/// Machines of common microcontrollers and hosts.
fn machine_name(machine: elf::Machine) -> Option<&'static str> {
    Some(match machine {
        elf::EM_386 => "x86",
        elf::EM_X86_64 => "x86-64",
        elf::EM_AARCH64 => "AArch64 (64-bit Arm)",
        elf::EM_RISCV => "RISC-V",
        elf::EM_XTENSA => "Xtensa",
        elf::EM_MSP430 => "MSP430",
        elf::EM_MIPS => "MIPS",
        elf::EM_PPC => "PowerPC",
        elf::EM_TRICORE => "TriCore",
        elf::EM_SH => "SuperH",
        _ => return None,
    })
}

fn program_headers<'a>(
    data: &'a [u8],
    header: &FileHeader32<LE>,
) -> Result<&'a [ProgramHeader32<LE>], Error> {
    let offset = u64::from(header.e_phoff.get(LE));
    let count = u64::from(header.e_phnum.get(LE));
    if offset == 0 || count == 0 {
        return Err(Error::NothingToLoad {
            offset: PHOFF_FIELD,
            detail: "it has no program headers",
            advice: "give the linked ELF file",
        });
    }
    if count == u64::from(elf::PN_XNUM) {
        return Err(malformed(PHOFF_FIELD, "65535 or more program headers"));
    }
    let entry_size = header.e_phentsize.get(LE);
    if u64::from(entry_size) != PROGRAM_HEADER_SIZE {
        return Err(malformed(
            field::PHENTSIZE,
            format!("program header entries of {entry_size} bytes, not 32"),
        ));
    }
    pod_slice(data, "the program header table", offset, count, PROGRAM_HEADER_SIZE)
}

/// A program for an operating system has an interpreter; firmware never does.
fn check_not_hosted(
    data: &[u8],
    header: &FileHeader32<LE>,
    program_headers: &[ProgramHeader32<LE>],
) -> Result<(), Error> {
    let Some(index) = program_headers.iter().position(|ph| ph.p_type.get(LE) == elf::PT_INTERP)
    else {
        return Ok(());
    };
    let ph = &program_headers[index];
    let path = bytes_at(
        data,
        || "the interpreter's path".to_owned(),
        u64::from(ph.p_offset.get(LE)),
        u64::from(ph.p_filesz.get(LE)).min(64),
    )?;
    let path = String::from_utf8_lossy(path.split(|&byte| byte == 0).next().unwrap_or_default())
        .into_owned();
    Err(Error::Unsupported {
        offset: u64::from(header.e_phoff.get(LE)) + index as u64 * PROGRAM_HEADER_SIZE,
        found: format!("a program for an operating system (it needs the loader {path:?})"),
        advice: "give firmware that runs without one",
    })
}

fn sections<'a>(data: &'a [u8], header: &'a FileHeader32<LE>) -> Result<Vec<Section<'a>>, Error> {
    let offset = u64::from(header.e_shoff.get(LE));
    if offset == 0 {
        return Ok(Vec::new());
    }
    let entry_size = header.e_shentsize.get(LE);
    if u64::from(entry_size) != SECTION_HEADER_SIZE {
        return Err(malformed(
            field::SHENTSIZE,
            format!("section header entries of {entry_size} bytes, not 40"),
        ));
    }
    let table = |count| {
        pod_slice::<SectionHeader32<LE>>(
            data,
            "the section header table",
            offset,
            count,
            SECTION_HEADER_SIZE,
        )
    };
    // The first entry holds the count when it does not fit into the header (ELF specification,
    // section 0).
    let first = table(1)?;
    let count = match header.e_shnum.get(LE) {
        0 => u64::from(first[0].sh_size.get(LE)),
        count => u64::from(count),
    };
    let headers = table(count)?;
    let names = section_names(data, header, headers)?;
    headers.iter().enumerate().map(|(index, header)| section(data, index, header, names)).collect()
}

fn section_names<'a>(
    data: &'a [u8],
    header: &FileHeader32<LE>,
    headers: &[SectionHeader32<LE>],
) -> Result<&'a [u8], Error> {
    let index = match header.e_shstrndx.get(LE) {
        elf::SHN_UNDEF => return Ok(&[]),
        elf::SHN_XINDEX => headers.first().map_or(0, |first| first.sh_link.get(LE) as usize),
        index => usize::from(index.0),
    };
    let names = headers.get(index).ok_or_else(|| {
        malformed(
            field::SHSTRNDX,
            format!("the section name table is section {index} of {}", headers.len()),
        )
    })?;
    let start = u64::from(names.sh_offset.get(LE));
    let size = u64::from(names.sh_size.get(LE));
    bytes_at(data, || "the section name table".to_owned(), start, size)
}

fn section<'a>(
    data: &'a [u8],
    index: usize,
    header: &SectionHeader32<LE>,
    names: &[u8],
) -> Result<Section<'a>, Error> {
    let name =
        string_at(names, header.sh_name.get(LE), 256).unwrap_or_else(|| format!("section {index}"));
    let kind = header.sh_type.get(LE);
    let file_offset = u64::from(header.sh_offset.get(LE));
    let size = header.sh_size.get(LE);
    let contents = match kind {
        elf::SHT_NULL | elf::SHT_NOBITS => &[][..],
        // Where nothing is may be behind the end of the file.
        _ if size == 0 => &[][..],
        _ => bytes_at(data, || format!("section {name}"), file_offset, u64::from(size))?,
    };
    Ok(Section {
        name,
        kind,
        flags: header.sh_flags(LE).0 as u32,
        address: header.sh_addr.get(LE),
        size: if kind == elf::SHT_NULL { 0 } else { size },
        link: header.sh_link.get(LE) as usize,
        info: header.sh_info.get(LE) as usize,
        file_offset,
        data: contents,
    })
}
