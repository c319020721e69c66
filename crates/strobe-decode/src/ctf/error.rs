//! Errors in a trace: metadata by line and column, streams by byte.

use std::fmt;

/// A place in the metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Metadata that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// An error at a place in the text.
    #[error("metadata, {at}: {problem}")]
    Text {
        /// Where.
        at: Position,
        /// What.
        problem: Problem,
    },
    /// The packets that contain the text are invalid.
    #[error("metadata packet at byte {at}: {problem}")]
    Packet {
        /// Where the packet begins.
        at: usize,
        /// The problem.
        problem: &'static str,
    },
    /// An error of the metadata as a whole, without a place.
    #[error("metadata: {0}")]
    Whole(&'static str),
}

/// A problem in the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Unexpected token.
    #[error("expected {wanted}, found {found}")]
    Expected {
        /// What was expected.
        wanted: &'static str,
        /// What was found.
        found: String,
    },
    /// No type of that name is visible here.
    #[error("no type `{0}` is defined before this")]
    UnknownType(String),
    /// The name is already defined in this scope.
    #[error("`{0}` is defined twice")]
    Twice(String),
    /// An attribute has an invalid value.
    #[error("{attribute} cannot be {value}; {wanted}")]
    BadValue {
        /// The attribute's name.
        attribute: String,
        /// Its value.
        value: String,
        /// The valid values.
        wanted: &'static str,
    },
    /// A block lacks a required attribute.
    #[error("{block} needs `{attribute}`")]
    Missing {
        /// The block or type.
        block: &'static str,
        /// The attribute.
        attribute: &'static str,
    },
    /// A length or tag does not refer to an integer that is read before it.
    #[error("`{path}` does not name {wanted} that comes before this")]
    Reference {
        /// As written in the metadata.
        path: String,
        /// What it should refer to.
        wanted: &'static str,
    },
    /// Types are nested deeper, or are bigger, than those of any tracer.
    #[error("types are nested more than {0} deep here")]
    TooDeep(u32),
    /// A type has more parts than those of any tracer.
    #[error("this type has more than {0} parts")]
    TooBig(u64),
    /// A stream that no `stream` block describes.
    #[error("event belongs to stream {0}, which is not described")]
    UnknownStream(u64),
}

/// Bytes that do not match the metadata.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The packet ends before the field does.
    #[error("`{field}` needs {needed} bits and the packet has {left} more")]
    PastEnd {
        /// The innermost named field.
        field: String,
        /// Bits needed, at least.
        needed: u64,
        /// Bits left.
        left: u64,
    },
    /// The event's id is not described.
    #[error("event {id} is not described for stream {stream}")]
    UnknownEvent {
        /// The id in the header.
        id: u64,
        /// The id of the stream.
        stream: u64,
    },
    /// The packet's stream is not described.
    #[error("packet belongs to stream {0}, which is not described")]
    UnknownStream(u64),
    /// A variant has no option for its tag.
    #[error("variant `{field}` has no option for its tag's value {value}")]
    NoOption {
        /// The innermost named field.
        field: String,
        /// The tag's value.
        value: i128,
    },
    /// Two fields of different byte orders share a byte.
    #[error("`{0}` begins within a byte of the other byte order")]
    SharedByte(String),
    /// The target of a length or tag is missing, or is not an integer.
    #[error("`{0}` refers to a missing field")]
    Reference(String),
    /// Elements without bits exceed the bits of the packet.
    #[error("`{0}` has more elements than the packet has room for")]
    Elements(String),
    /// An event of zero bits would repeat without end.
    #[error("event {0} takes no bits")]
    NoBits(u64),
    /// A packet does not begin with the magic number (section 5.1.1).
    #[error("no packet begins here: its magic number is missing")]
    Magic,
    /// A packet of another trace.
    #[error("packet of another trace: its UUID is {found}, the metadata's {wanted}")]
    Uuid {
        /// In the packet header.
        found: String,
        /// In the metadata.
        wanted: String,
    },
    /// Impossible sizes of packet or content.
    #[error("packet of {packet} bits with a content of {content} bits")]
    Sizes {
        /// From the packet context.
        packet: u64,
        /// From the packet context.
        content: u64,
    },
    /// The stream ends before the packet does.
    #[error("the packet has {missing} more bytes than the stream")]
    CutShort {
        /// How many.
        missing: u64,
    },
    /// A packet that was there before, bit by bit, its times and those of its events included.
    #[error("the packet is there twice")]
    Repeated,
    /// Bytes before the tracer's start mark.
    #[error("noise before the tracer's first byte")]
    Preamble,
}
