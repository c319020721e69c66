//! Recordings of trace pins: the raw bytes as received, and the settings needed to interpret them
//! later on another machine.
//!
//! A file is a header and then chunks, each with two checksums. It only grows, so a truncated file
//! keeps every chunk that was complete:
//!
//! | bytes | content of the file header |
//! | --- | --- |
//! | 8 | `\x93strobe\n` |
//! | 4 | version, [`VERSION`] |
//! | 4 | length of the header, up to [`MAX_HEADER`] |
//! | 4 | its CRC-32 |
//! | | the header, JSON of [`Header`] |
//!
//! | bytes | content of a chunk |
//! | --- | --- |
//! | 4 | `\xd7SBk` |
//! | 2 | kind |
//! | 2 | zero |
//! | 4 | length of the payload, up to [`MAX_PAYLOAD`] |
//! | 4 | its place among the chunks, from 0 on |
//! | 8 | host time in microseconds since the recording began |
//! | 4 | CRC-32 of the payload |
//! | 4 | CRC-32 of the 28 bytes before |
//! | | the payload |
//!
//! Numbers are little-endian. Readers skip and count unknown kinds of chunks. A damaged chunk is
//! left out and its position is reported. Where its header is damaged, or bytes of it are missing,
//! reading continues with the next chunk whose header is sound.
//!
//! This module knows no file and no clock: bytes come from any `Read` and go to any `Write`, and
//! the caller supplies the time.

mod read;
mod write;

use crate::trace_settings::TraceSettings;
use serde::{Deserialize, Serialize};

pub use read::{Chunk, Content, Damage, Ending, Error, Reader, Summary};
pub use write::Writer;

/// The version of the format that this writes, and the newest that it reads.
pub const VERSION: u32 = 1;
/// The magic number at the beginning of every file.
pub const MAGIC: &[u8; 8] = b"\x93strobe\n";
/// Maximum size of the header.
pub const MAX_HEADER: usize = 1 << 20;
/// Maximum size of a chunk's payload.
pub const MAX_PAYLOAD: usize = 1 << 16;

const PREAMBLE: usize = 20;
const MARK: &[u8; 4] = b"\xd7SBk";
/// Size of a chunk's header.
const HEAD: usize = 32;

/// Codes of the kinds of chunks.
mod kind {
    pub const RAW: u16 = 1;
    pub const NOTE: u16 = 2;
    pub const POLLED: u16 = 3;
    pub const END: u16 = 4;
}

/// Firmware that was programmed into the target's flash before a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flashed {
    /// The program that did it, as `OpenOCD 0.12.0`.
    pub by: String,
    /// Bytes of the firmware's image.
    pub bytes: u64,
    /// The time for erasing and writing, in microseconds of the host.
    pub write_us: u64,
    /// Every byte was read back and is that of the image.
    pub verified: bool,
    /// The time for that, in microseconds of the host.
    #[serde(default)]
    pub verify_us: u64,
}

impl Flashed {
    /// Bytes written per second, erasing included, if it took any time.
    pub fn bytes_per_second(&self) -> Option<u64> {
        let rate = u128::from(self.bytes) * 1_000_000 / u128::from(self.write_us.max(1));
        u64::try_from(rate).ok().filter(|_| self.write_us > 0)
    }
}

/// What is needed to interpret a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The program that wrote the file, as `strobe 0.1.0`.
    pub tool: String,
    /// Where the bytes were read from.
    pub source: Source,
    /// The chip or board, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Its core, as `Cortex-M4`, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<String>,
    /// The settings of the trace hardware, as far as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<TraceSettings>,
    /// The kind of bytes recorded.
    #[serde(default, skip_serializing_if = "PayloadKind::is_unspecified")]
    pub carries: PayloadKind,
    /// The registers were written for this recording and verified by reading back. Otherwise the
    /// settings are the user's claim.
    #[serde(default)]
    pub programmed: bool,
    /// The firmware that ran, according to the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elf: Option<Elf>,
    /// How that firmware was programmed for this recording, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flashed: Option<Flashed>,
}

/// The kind of bytes in a recording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PayloadKind {
    /// Packets of a trace pin, unless the bytes show otherwise: the kind was not specified.
    #[default]
    Unspecified,
    /// Frames of the kit for the target ([`crate::kit`]).
    Kit,
    /// Bytes of one channel without framing: text, or any output of the firmware. They may still
    /// turn out to be the kit's.
    Channel,
    /// A kind that this reader does not know.
    #[serde(other)]
    Unknown,
}

impl PayloadKind {
    fn is_unspecified(&self) -> bool {
        *self == PayloadKind::Unspecified
    }
}

/// Where bytes were read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The kind, as `serial`, `tcp`, `probe`.
    pub kind: String,
    /// Which one: a probe's name and number, a host and port, a file's name without folders.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// Which firmware.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elf {
    /// Its file's name, without folders.
    pub file: String,
    /// SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
    /// Its GNU build id in hexadecimal digits, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
}

/// An event beside the bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum Note {
    /// The source disconnected here; an unknown number of bytes is missing.
    Gap {
        /// The reason.
        why: String,
    },
    /// The source reconnected.
    Reconnected,
    /// The probe or the system had no room for some bytes: there is a gap between the bytes before
    /// and after this note.
    Overrun {
        /// How many are missing, where the source reports it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<u64>,
        /// What reported the loss.
        by: String,
    },
    /// Bytes damaged on the line since the last such note (framing, parity, break).
    LineErrors {
        /// How many.
        count: u64,
    },
    /// The target's clock, or the line's rate, changes here.
    ClockChanged {
        /// The core's clock, in hertz.
        core_hz: u32,
        /// The trace clock, in hertz.
        trace_hz: u32,
    },
    /// The measured overhead of polled samples on the target.
    Intrusion {
        /// The length of the sampling, in microseconds.
        total_us: u64,
        /// How much of it the core was halted, in microseconds.
        halted_us: u64,
    },
    /// Any other remark for the reader.
    Text {
        /// A sentence.
        text: String,
    },
    /// A note of a kind that this reader does not know.
    #[serde(other)]
    Unknown,
}

/// A program counter read over the debug port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Polled {
    /// When the value was received, in microseconds since the recording began.
    pub host_us: u64,
    /// The address. `u32::MAX` is DWT_PCSR's value while it has none, because the core is asleep,
    /// halted or not accessible to the debugger.
    pub pc: u32,
    /// How long the core was halted for it, in microseconds; 0 for DWT_PCSR, which needs no halt.
    pub halted_us: u32,
}

/// Bytes of a [`Polled`] in a chunk: microseconds after the chunk's host time, address,
/// microseconds halted.
const POLLED_BYTES: usize = 12;

/// The content of the chunk at the end of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Raw bytes in the whole recording.
    pub raw_bytes: u64,
    /// Polled samples in it.
    pub polled: u64,
    /// Why it ended, as `Ctrl-C`.
    pub why: String,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word))
}
