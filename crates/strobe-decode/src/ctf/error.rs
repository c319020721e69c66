//! What can be wrong with a trace: in its metadata by line and column, in its streams by byte.

use std::fmt;

/// A place in the metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Character in the line, from 1.
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
    /// The text is wrong at some place.
    #[error("metadata, {at}: {problem}")]
    Text {
        /// Where.
        at: Position,
        /// What.
        problem: Problem,
    },
    /// The packets that the text comes in are wrong.
    #[error("metadata packet at byte {at}: {problem}")]
    Packet {
        /// Where the packet begins.
        at: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// It is the whole that is wrong, and no place in it.
    #[error("metadata: {0}")]
    Whole(&'static str),
}

/// What is wrong with the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Something else should stand here.
    #[error("expected {wanted}, found {found}")]
    Expected {
        /// What should.
        wanted: &'static str,
        /// What does.
        found: String,
    },
    /// No type of that name is visible here.
    #[error("no type `{0}` is defined before this")]
    UnknownType(String),
    /// The scope has one of that name.
    #[error("`{0}` is defined twice")]
    Twice(String),
    /// An attribute has a value that it cannot have.
    #[error("{attribute} cannot be {value}; {wanted}")]
    BadValue {
        /// The attribute's name.
        attribute: String,
        /// Its value.
        value: String,
        /// What would do.
        wanted: &'static str,
    },
    /// A block lacks an attribute without which it means nothing.
    #[error("{block} needs `{attribute}`")]
    Missing {
        /// The block or type.
        block: &'static str,
        /// The attribute.
        attribute: &'static str,
    },
    /// A length or tag refers to what is no integer that has been read by then.
    #[error("`{path}` does not name {wanted} that comes before this")]
    Reference {
        /// As it is written.
        path: String,
        /// What it should name.
        wanted: &'static str,
    },
    /// Types contain one another deeper, or are bigger, than any tracer's.
    #[error("types are nested more than {0} deep here")]
    TooDeep(u32),
    /// A type has more parts than any tracer's.
    #[error("this type has more than {0} parts")]
    TooBig(u64),
    /// A stream that no `stream` block describes.
    #[error("event belongs to stream {0}, which is not described")]
    UnknownStream(u64),
}

/// Bytes that are not what the metadata says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The packet ends before the field does.
    #[error("`{field}` needs {needed} bits and the packet has {left} more")]
    PastEnd {
        /// The innermost named field.
        field: String,
        /// Bits of it, at least.
        needed: u64,
        /// Bits to the end.
        left: u64,
    },
    /// The header names an event that is not described.
    #[error("event {id} is not described for stream {stream}")]
    UnknownEvent {
        /// As the header has it.
        id: u64,
        /// Of this stream.
        stream: u64,
    },
    /// The packet belongs to a stream that is not described.
    #[error("packet belongs to stream {0}, which is not described")]
    UnknownStream(u64),
    /// A variant's tag has no option.
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
    /// A length or a tag is not there, or is no integer.
    #[error("`{0}` refers to what is not there")]
    Reference(String),
    /// More elements without any bits than the packet has bits.
    #[error("`{0}` has more elements than the packet has room for")]
    Elements(String),
    /// An event that takes no bits would be there without end.
    #[error("event {0} takes no bits")]
    NoBits(u64),
    /// A packet does not begin with the magic number (section 5.1.1).
    #[error("no packet begins here: its magic number is missing")]
    Magic,
    /// A packet of another trace.
    #[error("packet of another trace: its UUID is {found}, the metadata's {wanted}")]
    Uuid {
        /// In the packet.
        found: String,
        /// In the metadata.
        wanted: String,
    },
    /// Sizes of packet or content that cannot be.
    #[error("packet of {packet} bits with a content of {content} bits")]
    Sizes {
        /// As the context has it.
        packet: u64,
        /// As the context has it.
        content: u64,
    },
    /// The stream ends before the packet does.
    #[error("the packet has {missing} more bytes than the stream")]
    CutShort {
        /// How many.
        missing: u64,
    },
    /// What stands before the mark at which the tracer begins.
    #[error("noise before the tracer's first byte")]
    Preamble,
}
