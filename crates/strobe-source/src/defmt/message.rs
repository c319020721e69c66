//! Messages of a channel with a format of its own, decoded.

/// Messages of a channel, and what became of its bytes:
/// `bytes of the channel = message_bytes + separator_bytes + malformed_bytes + trailing_bytes`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decoded {
    /// The format, as `defmt`.
    pub format: String,
    /// How its frames are encoded, as `rzcobs`.
    pub encoding: String,
    /// Messages.
    pub messages: u64,
    /// Of them, those in which or before which something was lost: they may be wrong.
    pub doubtful: u64,
    /// Messages by level, the gravest first; those without a level have an empty name.
    pub levels: Vec<(String, u64)>,
    /// Frames that are no message.
    pub malformed: u64,
    /// Nothing is understood behind the first of them: the encoding has no marks to go on from.
    pub stopped: bool,
    /// Bytes of messages.
    pub message_bytes: u64,
    /// Bytes between frames.
    pub separator_bytes: u64,
    /// Bytes of malformed frames, and those that are not understood because of one.
    pub malformed_bytes: u64,
    /// Bytes of a frame whose end never came.
    pub trailing_bytes: u64,
    /// Messages that are not in `last`.
    pub earlier: u64,
    /// The last messages.
    pub last: Vec<Message>,
}

/// One message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// Its level, as `info`, if it has one.
    pub level: Option<String>,
    /// The target's own timestamp, in the form that the firmware asks for.
    pub time: Option<String>,
    /// Its text.
    pub text: String,
    /// Where the firmware writes it: file and line.
    pub place: Option<(String, u64)>,
    /// Something was lost in it or before it: it may be wrong.
    pub doubtful: bool,
}
