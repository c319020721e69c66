//! `--swo FILE`: the raw bytes of a simulated trace pin.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use strobe_source::simulated::trace::Pin;

use crate::exit;

/// A file that bytes go to as they leave the pin.
pub struct Raw {
    path: PathBuf,
    out: BufWriter<File>,
    bytes: u64,
    /// The first thing that went wrong; nothing is written after it.
    failed: Option<io::Error>,
}

impl Raw {
    /// An empty file.
    pub fn create(path: &Path) -> anyhow::Result<Self> {
        let file = File::create(path).map_err(|error| cannot_write(path, &error))?;
        Ok(Raw { path: path.to_owned(), out: BufWriter::new(file), bytes: 0, failed: None })
    }

    /// Closes the file; returns how many bytes are in it.
    pub fn finish(mut self) -> anyhow::Result<u64> {
        let done = self.failed.map_or_else(|| self.out.flush(), Err);
        done.map_err(|error| cannot_write(&self.path, &error))?;
        Ok(self.bytes)
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

fn cannot_write(path: &Path, error: &io::Error) -> anyhow::Error {
    exit::output(format!("cannot write {}: {error}", path.display()))
}
