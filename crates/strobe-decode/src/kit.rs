//! Frames of the target kit (`firmware/kit/trace/strobe_trace.c`), where its records are sent as
//! bytes: over RTT, or through a sink of the firmware, such as a serial port.
//!
//! A frame is a byte with bit 7 set, then two or three words (head, time, and the value if there is
//! one), each as five bytes of seven bits, the least significant first. The exclusive or of all its
//! bytes is 0x80. The upper four bits of the head are the kind of record, which implies whether
//! there is a value. Zeros between frames are padding.
//!
//! So a frame begins where bit 7 is set and nowhere else: after any damage the next complete frame
//! is found. [`Decoder`] accepts pieces of any size, reports frames and undecodable places, and
//! counts every byte. It does not interpret the records.

/// Size of a frame without a value, and with one.
const SHORT: usize = 11;
const LONG: usize = 16;

/// Positions of the uppermost four bits of head and time, and of the value.
const KIND_AT: usize = 5;
const TIME_ENDS_AT: usize = 10;
const VALUE_ENDS_AT: usize = 15;

/// A record as received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Kind (4 bits), id (12), number (16).
    pub head: u32,
    /// The target's time, in ticks of its clock.
    pub time: u32,
    /// The value, for kinds that have one.
    pub value: Option<u32>,
}

/// Output of the decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A complete frame.
    Frame(Frame),
    /// Bytes that are no frame: records may be missing here.
    Broken,
}

/// Statistics: `bytes = frame_bytes + padding_bytes + undecodable_bytes` after [`Decoder::finish`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// All bytes.
    pub bytes: u64,
    /// Complete frames.
    pub frames: u64,
    /// Frames with a value.
    pub with_value: u64,
    /// Bytes of complete frames.
    pub frame_bytes: u64,
    /// Zeros between frames.
    pub padding_bytes: u64,
    /// Undecodable bytes.
    pub undecodable_bytes: u64,
    /// Runs of undecodable bytes.
    pub disruptions: u64,
}

/// Finds frames in a stream of bytes.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    frame: [u8; LONG],
    /// Bytes of the current frame received so far.
    have: usize,
    /// The decoder is within a run of undecodable bytes.
    astray: bool,
    stats: Stats,
}

impl Decoder {
    /// A decoder at the beginning of a stream.
    pub fn new() -> Self {
        Decoder::default()
    }

    /// Statistics so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Decodes the next bytes.
    pub fn push(&mut self, bytes: &[u8], events: &mut impl FnMut(Event)) {
        for &byte in bytes {
            self.stats.bytes += 1;
            self.take(byte, events);
        }
    }

    /// A gap: bytes are missing here.
    pub fn gap(&mut self, events: &mut impl FnMut(Event)) {
        self.give_up(events);
        events(Event::Broken);
    }

    /// The end of the stream.
    pub fn finish(&mut self, events: &mut impl FnMut(Event)) {
        self.give_up(events);
    }

    fn take(&mut self, byte: u8, events: &mut impl FnMut(Event)) {
        if byte & 0x80 != 0 {
            self.give_up(events);
        } else if self.have == 0 {
            if byte == 0 && !self.astray {
                self.stats.padding_bytes += 1;
            } else {
                self.undecodable(1, events);
            }
            return;
        }
        self.frame[self.have] = byte;
        self.have += 1;
        match self.length() {
            None => self.give_up(events),
            Some(length) if length == self.have => self.complete(events),
            Some(_) => {}
        }
    }

    /// The length of the current frame as far as known; `None` if the received bytes begin none.
    fn length(&self) -> Option<usize> {
        let word_ends = [KIND_AT, TIME_ENDS_AT, VALUE_ENDS_AT];
        // A word has 32 bits.
        if word_ends.into_iter().any(|at| at < self.have && self.frame[at] > 15) {
            return None;
        }
        if self.have <= KIND_AT {
            return Some(LONG);
        }
        match self.frame[KIND_AT] {
            1..=3 => Some(SHORT),
            4 | 5 | 8..=11 => Some(LONG),
            _ => None,
        }
    }

    fn complete(&mut self, events: &mut impl FnMut(Event)) {
        let bytes = &self.frame[..self.have];
        if bytes.iter().fold(0, |all, byte| all ^ byte) != 0x80 {
            return self.give_up(events);
        }
        let word = |at: usize| {
            let groups = bytes.get(at..at + 5)?.iter().rev();
            Some(groups.fold(0, |word, &group| word << 7 | u32::from(group)))
        };
        let (head, time) = (word(1).unwrap_or_default(), word(6).unwrap_or_default());
        let frame = Frame { head, time, value: word(11) };
        self.stats.frames += 1;
        self.stats.with_value += u64::from(frame.value.is_some());
        self.stats.frame_bytes += self.have as u64;
        self.have = 0;
        self.astray = false;
        events(Event::Frame(frame));
    }

    /// The received bytes are no frame.
    fn give_up(&mut self, events: &mut impl FnMut(Event)) {
        let begun = std::mem::take(&mut self.have);
        if begun > 0 {
            self.undecodable(begun as u64, events);
        }
    }

    fn undecodable(&mut self, bytes: u64, events: &mut impl FnMut(Event)) {
        self.stats.undecodable_bytes += bytes;
        if !std::mem::replace(&mut self.astray, true) {
            self.stats.disruptions += 1;
            events(Event::Broken);
        }
    }
}

/// Whether bytes are such frames: most of them are in complete frames, which is unlikely by chance.
pub fn is_likely(bytes: &[u8]) -> bool {
    let mut decoder = Decoder::new();
    decoder.push(bytes, &mut |_| {});
    let Stats { bytes, frames, frame_bytes, padding_bytes, .. } = decoder.stats();
    frames > 1 && frame_bytes * 2 > bytes - padding_bytes
}
