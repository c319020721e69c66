//! Messages of the logging library `defmt`, decoded from the bytes of any channel.
//!
//! The firmware sends numbers instead of texts; [`Table`] has the texts, which stay in the ELF
//! file. [`Log`] takes a channel's bytes as they come, whatever the channel is, and keeps counts of
//! everything and the last messages: its memory does not grow with the stream.
//!
//! What frames mean is the business of the library's own decoder, the crate `defmt-decoder`. It was
//! not written for hostile bytes: a length field makes it allocate, nesting makes it recurse, and
//! some values make it panic. So each frame is walked through first (`walk.rs`), by the shapes of
//! the texts (`shape.rs`), and the decoder gets those only that a firmware with this table can have
//! sent. Without the feature `defmt` there is no table, and a firmware that needs one is reported.

mod log;
pub mod message;
#[cfg(feature = "defmt")]
mod shape;
#[cfg(feature = "defmt")]
mod table;
#[cfg(not(feature = "defmt"))]
#[path = "defmt/without.rs"]
mod table;
#[cfg(feature = "defmt")]
mod walk;

pub use self::log::Log;
pub use self::table::Table;

/// How frames are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// One after the other, with nothing in between.
    Raw,
    /// Without zeros, which stand between them.
    Rzcobs,
}

impl Encoding {
    fn name(self) -> &'static str {
        match self {
            Encoding::Raw => "raw",
            Encoding::Rzcobs => "rzcobs",
        }
    }
}

/// Why messages cannot be decoded although the firmware has `defmt`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The decoder refuses the table.
    #[error("the firmware's defmt cannot be decoded: {0}")]
    Unreadable(String),
    /// Another format on the wire.
    #[error(
        "the firmware's defmt has version {found} on the wire, and this strobe reads {known}: use \
         a strobe that was made later, or a defmt \
         of before"
    )]
    Version {
        /// The firmware's.
        found: String,
        /// What can be read.
        known: String,
    },
    /// Left out when this was built.
    #[error(
        "the firmware logs with defmt, and this strobe was built without its decoder; `cargo \
         install --locked --path crates/strobe` \
         in a checkout of strobe builds one that has it (feature `defmt`)"
    )]
    NotBuilt,
}

/// Why a frame is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "defmt"), expect(dead_code, reason = "nothing is decoded"))]
enum Refused {
    /// It may become one with more bytes.
    Short,
    /// No firmware with this table sends it.
    Malformed,
}

#[cfg(all(test, feature = "defmt"))]
mod tests;
