//! Why a capture cannot be read: what, where in the file, and what to try.

use std::fmt;
use std::io;

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A line of text, from 1.
    Line(u64),
    /// A member of a zip file, and a byte in it once unpacked.
    Member(String, u64),
    /// The file as a whole.
    File,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Place::Line(line) => write!(f, "line {line}"),
            Place::Member(name, offset) => write!(f, "member {name}, byte {offset}"),
            Place::File => f.write_str("the file"),
        }
    }
}

/// Why a capture cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is empty.
    #[error("the file is empty; was the recording saved?")]
    Empty,
    /// Unknown format.
    #[error(
        "neither a VCD file, a sigrok session (.sr) nor a Saleae CSV export; sigrok-cli -i FILE \
         -o capture.sr converts what sigrok knows"
    )]
    UnknownFormat,
    /// The file violates its format.
    #[error("{place}: {what}; {advice}")]
    Malformed {
        /// The place.
        place: Place,
        /// The problem.
        what: String,
        /// What to try.
        advice: &'static str,
    },
    /// More edges than the caller allows.
    #[error(
        "{place}: more than {limit} edges; export a part of the recording or fewer channels, or \
         raise the limit with --max-edges (8 bytes of memory each)"
    )]
    TooManyEdges {
        /// Where the limit was reached.
        place: Place,
        /// The limit.
        limit: usize,
    },
    /// The file lacks the sample rate.
    #[error("{0} has no sample rate; specify it, as --samplerate 24MHz")]
    NoClock(&'static str),
    /// A capture that the format cannot represent.
    #[error("{0}")]
    Unwritable(String),
}

impl Error {
    pub(super) fn at_line(line: u64, what: impl Into<String>, advice: &'static str) -> Self {
        Error::Malformed { place: Place::Line(line), what: what.into(), advice }
    }

    pub(super) fn in_member(
        name: &str,
        offset: u64,
        what: impl Into<String>,
        advice: &'static str,
    ) -> Self {
        Error::Malformed {
            place: Place::Member(name.to_owned(), offset),
            what: what.into(),
            advice,
        }
    }

    pub(super) fn in_file(what: impl Into<String>, advice: &'static str) -> Self {
        Error::Malformed { place: Place::File, what: what.into(), advice }
    }
}
