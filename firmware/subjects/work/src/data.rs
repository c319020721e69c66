//! Input and output that every subject shares: a reproducible byte stream and hexadecimal lines.

use core::fmt::{self, Write};

/// Marsaglia's xorshift32: the same stream everywhere, without a dependency that would be a subject
/// itself.
pub(crate) struct Stream(u32);

impl Stream {
    /// Starts the stream; a zero seed would stay zero for ever, so it is refused.
    pub(crate) fn new(seed: u32) -> Self {
        assert!(seed != 0, "xorshift never leaves zero");
        Self(seed)
    }

    pub(crate) fn word(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = (self.word() >> 11) as u8;
        }
    }
}

/// Writes `label: 00ff...` and a line feed.
pub(crate) fn hex(out: &mut dyn Write, label: &str, bytes: &[u8]) -> fmt::Result {
    write!(out, "{label}: ")?;
    for byte in bytes {
        write!(out, "{byte:02x}")?;
    }
    writeln!(out)
}
