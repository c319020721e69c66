//! Recordings of trace pins: the raw bytes as they came, and what is needed to interpret them later, elsewhere, again.
//!
//! A file is a header and then chunks, each with two checksums, so that it only ever grows and a file cut anywhere has all chunks that
//! were whole:
//!
//! | bytes | of the file's beginning |
//! | --- | --- |
//! | 8 | `\x93strobe\n` |
//! | 4 | version, [`VERSION`] |
//! | 4 | length of the header, up to [`MAX_HEADER`] |
//! | 4 | its CRC-32 |
//! | | the header, JSON of [`Header`] |
//!
//! | bytes | of a chunk |
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
//! Numbers are little-endian. Readers skip and count kinds that they do not know. A damaged chunk is left out with its place. Where its
//! beginning is damaged, or bytes of it are gone, reading goes on with the next chunk whose beginning is sound.
//!
//! This knows no file and no clock: bytes come from any `Read` and go to any `Write`, and whoever writes says what time it is.

mod read;
mod write;

use serde::{Deserialize, Serialize};
use strobe_model::TraceSettings;

pub use read::{Chunk, Content, Damage, Ending, Error, Reader, Summary};
pub use write::Writer;

/// The version of the format that this writes, and the newest that it reads.
pub const VERSION: u32 = 1;
/// The first bytes of every such file.
pub const MAGIC: &[u8; 8] = b"\x93strobe\n";
/// The most bytes that a header may have.
pub const MAX_HEADER: usize = 1 << 20;
/// The most bytes that a chunk's payload may have.
pub const MAX_PAYLOAD: usize = 1 << 16;

const PREAMBLE: usize = 20;
const MARK: &[u8; 4] = b"\xd7SBk";
/// Bytes of a chunk before its payload.
const HEAD: usize = 32;

/// What a chunk holds, as numbers.
mod kind {
    pub const RAW: u16 = 1;
    pub const NOTE: u16 = 2;
    pub const POLLED: u16 = 3;
    pub const END: u16 = 4;
}

/// What is needed to interpret a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// What wrote the file, as `strobe 0.1.0`.
    pub tool: String,
    /// Where the bytes came from.
    pub source: Source,
    /// The chip or board, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Its core, as `Cortex-M4`, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<String>,
    /// How the trace hardware was set up, as far as it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<TraceSettings>,
    /// What the bytes are.
    #[serde(default, skip_serializing_if = "Carries::is_unsaid")]
    pub carries: Carries,
    /// The registers were written for this recording, and read back as written. Otherwise the settings are what somebody said.
    #[serde(default)]
    pub programmed: bool,
    /// The firmware that was said to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elf: Option<Elf>,
}

/// What the bytes of a recording are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Carries {
    /// A trace pin's packets, as far as anybody said.
    #[default]
    Unsaid,
    /// Frames of the kit for the target ([`crate::kit`]).
    Kit,
    /// Bytes of one channel, with nothing around them: text, or whatever the firmware makes of them. They may still turn out to be the kit's.
    Channel,
    /// Something that this reader does not know.
    #[serde(other)]
    Unknown,
}

impl Carries {
    fn is_unsaid(&self) -> bool {
        *self == Carries::Unsaid
    }
}

/// Where bytes came from.
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

/// Something that happened beside the bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum Note {
    /// The source broke off here; bytes are missing, nobody knows how many.
    Gap {
        /// Why.
        why: String,
    },
    /// It is back.
    Reconnected,
    /// The probe or the system had no room for some bytes: those before and after this do not join.
    Overrun {
        /// How many are missing, where the source says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<u64>,
        /// Who says so.
        by: String,
    },
    /// Bytes of the line that were damaged on their way, since the last such note (framing, parity, break).
    LineErrors {
        /// How many.
        count: u64,
    },
    /// The target's clock, or the line's rate, is another one from here on.
    ClockChanged {
        /// The core's clock, in hertz.
        core_hz: u32,
        /// The trace clock, in hertz.
        trace_hz: u32,
    },
    /// What samples that were polled cost the target, as measured.
    Intrusion {
        /// How long was sampled, in microseconds.
        total_us: u64,
        /// How long of it the core was halted.
        halted_us: u64,
    },
    /// Anything else that a reader should know.
    Text {
        /// A sentence.
        text: String,
    },
    /// A note of a kind that this reader does not know.
    #[serde(other)]
    Unknown,
}

/// A program counter that was asked for over the debug port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Polled {
    /// When the answer came, in microseconds since the recording began.
    pub host_us: u64,
    /// The address; `u32::MAX` is what DWT_PCSR has while it knows none, because the core is asleep, halted or may not be
    /// looked at.
    pub pc: u32,
    /// How long the core was halted for it, in microseconds; 0 for DWT_PCSR, which needs no halt.
    pub halted_us: u32,
}

/// Bytes of a [`Polled`] in a chunk: microseconds after the chunk's host time, address, microseconds halted.
const POLLED_BYTES: usize = 12;

/// What the chunk at the end of a recording says.
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
