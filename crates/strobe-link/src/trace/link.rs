//! Where the bytes of a trace pin come from: one trait, whatever is at the other end.

use std::time::{Duration, Instant};

use strobe_decode::container::Note;

/// What a call of [`Link::read`] brought.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadOutcome {
    /// Bytes, which are in the buffer.
    Bytes,
    /// Nothing in the time given.
    Nothing,
    /// Something happened beside the bytes; those that are in the buffer came before it.
    Note(Note),
    /// Program counters that were asked for.
    Samples(Vec<Sample>),
    /// There is no more; those that are in the buffer were the last.
    Ended,
}

/// A program counter that was asked for over the debug port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When the answer came.
    pub at: Instant,
    /// The address; `u32::MAX` where DWT_PCSR knows none.
    pub pc: u32,
    /// How long the core was halted for it.
    pub halted: Duration,
}

/// What is wrong with a link, and what to try.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It cannot be opened.
    #[error("cannot open {what}: {why}")]
    Open {
        /// What.
        what: String,
        /// Why not.
        why: String,
    },
    /// It worked and does no more.
    #[error("{what} failed: {why}")]
    Failed {
        /// What.
        what: String,
        /// Why.
        why: String,
    },
    /// What is at the other end speaks another language.
    #[error("{what} sends {found}; {advice}")]
    Speaks {
        /// What.
        what: String,
        /// What it sends.
        found: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// A register did not take what was written.
    #[error(
        "{register} at {address:#010x} reads back {found:#010x} instead of {wanted:#010x} (bits \
         {mask:#010x}): {advice}"
    )]
    ReadBack {
        /// The register.
        register: String,
        /// Its address.
        address: u32,
        /// What was written.
        wanted: u32,
        /// What it reads as.
        found: u32,
        /// The bits that matter.
        mask: u32,
        /// What may be wrong.
        advice: &'static str,
    },
    /// What was asked for is nothing that this link, or this build, can do.
    #[error("{why}")]
    Unfit {
        /// Why not, and what can.
        why: String,
    },
    /// The firmware could not be programmed.
    #[error(transparent)]
    Flash(#[from] super::flash::Error),
}

impl Error {
    /// One for something that cannot be opened.
    pub fn open(what: impl Into<String>, why: impl ToString) -> Self {
        Error::Open { what: what.into(), why: why.to_string() }
    }

    /// One for something that this link cannot do.
    pub fn unfit(why: impl Into<String>) -> Self {
        Error::Unfit { why: why.into() }
    }

    /// One for something that fails.
    pub fn failed(what: impl Into<String>, why: impl ToString) -> Self {
        Error::Failed { what: what.into(), why: why.to_string() }
    }
}

/// A source of the bytes of a trace pin.
pub trait Link {
    /// Waits for about `timeout` at most and appends what was read to `into`.
    ///
    /// # Errors
    /// When no more can come; what is in the buffer is good all the same.
    fn read(&mut self, into: &mut Vec<u8>, timeout: Duration) -> Result<ReadOutcome, Error>;

    /// The source's own time since its beginning, where it has one: that of a simulated board
    /// passes as it likes.
    fn elapsed(&self) -> Option<Duration> {
        None
    }

    /// What has come instead of the pin's bytes, where there are frames around them: if none of
    /// these has, that is no fault of the wiring then.
    fn instead(&self) -> Option<String> {
        None
    }

    /// Puts things back as they were, as far as they were changed: tracing is switched off, a
    /// halted core runs. Gives what is to be noted at the end.
    ///
    /// # Errors
    /// If that does not work any more.
    fn close(&mut self) -> Result<Option<Note>, Error> {
        Ok(None)
    }
}
