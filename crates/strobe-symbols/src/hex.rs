//! Intel HEX: bytes and addresses, without symbols. It is what programmers receive if the ELF file
//! is not published.
//!
//! `ihex` parses records; this module computes the addresses (Intel's specification of 1988,
//! revision A: 8, 16 and 32 bits), detects overlapping records, and reports errors by line. It must
//! not know what memory is at an address.

mod write;

use std::ops::Range;
use std::sync::Arc;

use ihex::{ReaderError, Record};

use crate::error::Error;
use crate::image::{LoadAddress, Machine, Permissions, Segment, TOTAL_SIZE_LIMIT};

pub use write::write;

/// Maximum size of the text: more than the largest image needs, even in short records.
const MOST_TEXT: usize = 256 << 20;

/// Erased flash, the content of small gaps.
const ERASED: u8 = 0xff;

/// Linkers leave gaps between sections; gaps up to this size are filled.
const SMALL_GAP: u64 = 64;

/// Maximum number of pieces: more than any firmware has; it bounds the linear searches.
const MOST_PIECES: usize = 4096;

/// The bytes of the records by address.
pub(crate) struct Image {
    pub(crate) segments: Vec<Segment>,
    /// Where execution starts, if a record has it.
    pub(crate) entry: u32,
    pub(crate) machine: Machine,
}

/// Whether the bytes look like Intel HEX and not like another format of firmware.
pub(crate) fn is_hex(bytes: &[u8]) -> bool {
    let digits = bytes.trim_ascii_start().strip_prefix(b":");
    digits.is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_hexdigit))
}

/// Parses a whole file.
pub(crate) fn read(text: &[u8]) -> Result<Image, Error> {
    if text.len() > MOST_TEXT {
        return Err(too_large(0, 0));
    }
    let Records { mut placed, bytes, entry } = Records::read(text)?;
    placed.sort_by_key(|one| (one.address, one.here.line));
    check_apart(&placed)?;
    let segments = segments(&placed, &bytes)?;
    let machine = machine(&segments);
    Ok(Image { segments, entry, machine })
}

/// A data record: its address, and the position of its bytes.
struct Placed {
    address: u32,
    start: u32,
    length: u32,
    here: Here,
}

impl Placed {
    fn end(&self) -> u64 {
        u64::from(self.address) + u64::from(self.length)
    }
}

#[derive(Default)]
struct Records {
    placed: Vec<Placed>,
    bytes: Vec<u8>,
    entry: u32,
}

/// The base address of data records.
enum Base {
    /// The upper half of a 32-bit address (record type 04).
    Linear(u32),
    /// A segment of 64 KiB (record type 02), in which offsets wrap round.
    Segment(u32),
}

impl Records {
    fn read(text: &[u8]) -> Result<Self, Error> {
        let mut records = Records::default();
        let mut base = Base::Linear(0);
        let mut ended = false;
        let mut at = 0;
        let mut line = 0;
        for whole in text.split(|&byte| byte == b'\n') {
            (line, at) = (line + 1, at + whole.len() as u64 + 1);
            let here = Here { line, offset: at - whole.len() as u64 - 1 };
            let shown = whole.trim_ascii();
            if shown.is_empty() {
                continue;
            }
            if ended {
                let detail = "there is data after the end record";
                return Err(here.error(detail, "use one file, not several concatenated"));
            }
            match here.record(shown)? {
                Record::Data { offset, value } => records.data(&here, &base, offset, &value)?,
                Record::EndOfFile => ended = true,
                Record::ExtendedLinearAddress(high) => base = Base::Linear(u32::from(high) << 16),
                Record::ExtendedSegmentAddress(paragraph) => {
                    base = Base::Segment(u32::from(paragraph) << 4);
                }
                Record::StartLinearAddress(address) => records.entry = address,
                Record::StartSegmentAddress { cs, ip } => {
                    records.entry = (u32::from(cs) << 4) + u32::from(ip);
                }
            }
        }
        if !ended {
            let here = Here { line, offset: text.len() as u64 };
            let detail = "the file ends without an end record (:00000001FF)";
            return Err(here.error(detail, "it is truncated: copy or build it again"));
        }
        if records.bytes.is_empty() {
            let here = Here { line: 1, offset: 0 };
            return Err(here.error("there is no data in it", "build it again from the ELF file"));
        }
        Ok(records)
    }

    fn data(&mut self, here: &Here, base: &Base, offset: u16, value: &[u8]) -> Result<(), Error> {
        let (start, length) = (u32::from(offset), value.len() as u32);
        let (address, limit) = match *base {
            Base::Linear(high) => (high + start, 1 << 32),
            Base::Segment(segment) => (segment + start, u64::from(segment) + 0x1_0000),
        };
        if u64::from(address) + u64::from(length) > limit {
            let detail =
                format!("{length} bytes at {address:#010x} exceed the record's address range");
            return Err(here.error(&detail, "build the file again from the ELF file"));
        }
        let placed = Placed { address, start: self.bytes.len() as u32, length, here: *here };
        self.bytes.extend_from_slice(value);
        if self.bytes.len() as u64 > TOTAL_SIZE_LIMIT {
            return Err(too_large(here.offset, self.bytes.len() as u64));
        }
        if length > 0 {
            self.placed.push(placed);
        }
        Ok(())
    }
}

/// A line of the file.
#[derive(Clone, Copy)]
struct Here {
    /// Line number, from 1.
    line: u32,
    /// Offset of its first byte in the file.
    offset: u64,
}

impl Here {
    fn error(&self, detail: &str, advice: &'static str) -> Error {
        let detail = detail.to_owned();
        Error::Hex { line: self.line, offset: self.offset, detail, advice }
    }

    fn record(&self, text: &[u8]) -> Result<Record, Error> {
        let text = std::str::from_utf8(text).map_err(|_| ReaderError::ContainsInvalidCharacters);
        text.and_then(Record::from_record_string).map_err(|problem| self.explain(&problem))
    }

    fn explain(&self, problem: &ReaderError) -> Error {
        const COPY: &str = "the file is damaged: copy or build it again";
        let detail = match problem {
            ReaderError::ChecksumMismatch(right, found) => {
                format!("the checksum is {found:02X}, but the record's bytes have {right:02X}")
            }
            ReaderError::MissingStartCode => "the line does not begin with a colon".to_owned(),
            ReaderError::RecordTooShort => "the record is truncated".to_owned(),
            ReaderError::RecordTooLong => "the record is longer than 255 bytes of data".to_owned(),
            ReaderError::RecordNotEvenLength => "half a byte is missing".to_owned(),
            ReaderError::ContainsInvalidCharacters => {
                "a character is not a hexadecimal digit".to_owned()
            }
            ReaderError::PayloadLengthMismatch => {
                "the record's length does not match its length field".to_owned()
            }
            ReaderError::UnsupportedRecordType(kind) => {
                format!("unknown record type {kind:02X}: only 00 to 05 exist")
            }
            ReaderError::InvalidLengthForType => {
                "the record's length is wrong for its type".to_owned()
            }
        };
        self.error(&detail, COPY)
    }
}

fn too_large(offset: u64, total: u64) -> Error {
    Error::TooLarge { offset, total }
}

/// Fails if a byte is written twice.
fn check_apart(placed: &[Placed]) -> Result<(), Error> {
    for pair in placed.windows(2) {
        let [first, second] = pair else { continue };
        if u64::from(second.address) < first.end() {
            let (one, other) = (first.here, second.here);
            let (before, here) = if one.line < other.line { (one, other) } else { (other, one) };
            let (address, line) = (second.address, before.line);
            let detail = format!("{address:#010x} is written a second time, after line {line}");
            let advice =
                "two programs in one file (a bootloader and an application) must not overlap";
            return Err(here.error(&detail, advice));
        }
    }
    Ok(())
}

/// Runs of bytes without large gaps, in order of their addresses.
fn segments(placed: &[Placed], bytes: &[u8]) -> Result<Vec<Segment>, Error> {
    let mut image = Vec::with_capacity(bytes.len());
    let mut pieces: Vec<(u32, Range<usize>)> = Vec::new();
    let mut end = 0;
    for one in placed {
        let gap = u64::from(one.address) - end;
        match pieces.last_mut() {
            Some((_, range)) if gap <= SMALL_GAP => {
                image.resize(image.len() + gap as usize, ERASED);
                range.end = image.len() + one.length as usize;
            }
            _ => pieces.push((one.address, image.len()..image.len() + one.length as usize)),
        }
        image.extend_from_slice(&bytes[one.start as usize..][..one.length as usize]);
        end = one.end();
        if pieces.len() > MOST_PIECES {
            let detail = format!("it has more than {MOST_PIECES} separate pieces");
            return Err(one.here.error(&detail, "build it again from the ELF file"));
        }
    }
    let file: Arc<[u8]> = image.into();
    let segment = |(index, (address, range)): (usize, (u32, Range<usize>))| Segment {
        index,
        load_address: LoadAddress(address),
        run_address: address,
        memory_size: range.len() as u32,
        permissions: Permissions { read: true, write: false, execute: true },
        file: Arc::clone(&file),
        file_range: range,
    };
    Ok(pieces.into_iter().enumerate().map(segment).collect())
}

/// The file does not name its machine, but its first words show it: a Cortex-M's are a stack
/// pointer and an odd address, an AVR's are jumps.
fn machine(segments: &[Segment]) -> Machine {
    let has_vectors = |segment: &Segment| {
        let word = |at: usize| {
            segment.data().get(at..at + 4)?.first_chunk().copied().map(u32::from_le_bytes)
        };
        let (Some(stack), Some(reset)) = (word(0), word(4)) else { return false };
        let in_image = segments.iter().any(|s| s.run_range().contains(&u64::from(reset & !1)));
        matches!(stack >> 24, 0x10..=0x3f) && stack.is_multiple_of(4) && reset & 1 == 1 && in_image
    };
    // avr-gcc maps the EEPROM at 0x810000 and fuses above; no AVR address is higher.
    const AVR_END: u64 = 0x83_0000;
    let low = segments.iter().all(|segment| segment.run_range().end <= AVR_END);
    if low && !segments.iter().any(has_vectors) { Machine::Avr } else { Machine::Arm }
}
