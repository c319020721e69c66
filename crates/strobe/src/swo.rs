//! `--swo FILE`: the raw bytes of a simulated trace pin.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use strobe_source::simulated::trace::Pin;

use crate::files::{self, AtomicFile};

/// A file that bytes go to as they leave the pin.
pub struct Raw {
    path: PathBuf,
    out: AtomicFile,
    bytes: u64,
    /// The first thing that went wrong; nothing is written after it.
    failed: Option<io::Error>,
}

impl Raw {
    /// A file that is there when the run has ended.
    pub fn create(path: &Path) -> anyhow::Result<Self> {
        Ok(Raw { path: path.to_owned(), out: AtomicFile::create(path)?, bytes: 0, failed: None })
    }

    /// Closes the file; returns how many bytes are in it.
    pub fn finish(self) -> anyhow::Result<u64> {
        match self.failed {
            Some(error) => Err(files::cannot_write(&self.path, &error)),
            None => self.out.commit().map(|()| self.bytes),
        }
    }
}

impl Pin for Raw {
    fn byte(&mut self, _at_ps: u64, _bit_ps: u64, byte: u8) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(&[byte]).err();
            self.bytes += 1;
        }
    }
}
