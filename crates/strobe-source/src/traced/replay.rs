//! Reads what was recorded before into a session: a link to its end, or a recording.

use std::io::Read;
use std::time::Duration;

use strobe_decode::container::{Content, Ending, Reader, Summary};
use strobe_link::trace::link::{self, Link, ReadOutcome};

use super::session::{self, Session};

/// How long to wait for bytes of a file at once.
const WAIT: Duration = Duration::from_millis(100);

/// Why something that was recorded cannot be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The link, or the file.
    #[error("{0}")]
    Read(String),
    /// What becomes of the bytes.
    #[error(transparent)]
    Session(#[from] session::Error),
}

impl Session {
    /// What a link brought.
    ///
    /// # Errors
    /// If the session takes no more.
    pub fn take(&mut self, came: &ReadOutcome) {
        match came {
            ReadOutcome::Note(note) => self.note(note),
            ReadOutcome::Samples(samples) => {
                samples.iter().for_each(|sample| self.polled(sample.pc))
            }
            ReadOutcome::Bytes | ReadOutcome::Nothing | ReadOutcome::Ended => {}
        }
    }

    /// Reads a link to its end.
    ///
    /// # Errors
    /// If the link breaks, or the session takes no more.
    pub fn drain(&mut self, link: &mut dyn Link) -> Result<(), Error> {
        let mut bytes = Vec::new();
        loop {
            if self.is_stopped() {
                return Ok(());
            }
            let came = link.read(&mut bytes, WAIT);
            if let Some(at) = link.elapsed() {
                self.at(at.as_micros().try_into().unwrap_or(u64::MAX));
            }
            self.push(&bytes)?;
            bytes.clear();
            match came.map_err(|error: link::Error| Error::Read(error.to_string()))? {
                ReadOutcome::Ended => return Ok(()),
                came => self.take(&came),
            }
        }
    }

    /// Reads a recording to its end, damage included.
    ///
    /// # Errors
    /// If the file cannot be read, or the session takes no more.
    pub fn replay<R: Read>(&mut self, reader: &mut Reader<R>) -> Result<(), Error> {
        while let Some(chunk) = reader.next().map_err(|error| Error::Read(error.to_string()))? {
            if self.is_stopped() {
                return Ok(());
            }
            self.at(chunk.host_us);
            if chunk.missing_before > 0 {
                self.gap();
                self.add("chunks of the recording are missing or damaged");
            }
            match chunk.content {
                Content::Raw(bytes) => self.push(bytes)?,
                Content::Polled(samples) => samples.iter().for_each(|s| self.polled(s.pc)),
                Content::Note(note) => self.note(&note),
                Content::End(_) => {}
            }
        }
        let summary = reader.summary().clone();
        self.add_damage(&summary);
        Ok(())
    }

    fn add_damage(&mut self, summary: &Summary) {
        if let Ending::CutShort { .. } = summary.ending {
            self.add(
                "the recording has no end mark: `strobe record` was killed, or still writes it",
            );
        }
        if summary.damaged_bytes > 0 {
            let at = summary.damages.first().map_or(0, |damage| damage.at);
            self.add(&format!("{} bytes from byte {at} on are damaged", summary.damaged_bytes));
        }
        if summary.unknown_chunks > 0 {
            let n = summary.unknown_chunks;
            self.add(&format!("{n} chunks are of kinds this version does not know"));
        }
        if summary.header_damaged {
            self.add("its header is damaged: clock and settings are not known");
        }
    }
}
