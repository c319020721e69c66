//! Frames of the kit for the target (`firmware/kit/trace/strobe_trace.c`), where its records come as bytes: over RTT, or through a sink that the
//! firmware brings, as a serial port.
//!
//! A frame is a byte with bit 7 set and then two or three words (head, time, and the value if there is one), each as five bytes of seven
//! bits, the least significant first. All its bytes together have an exclusive or of 0x80. The head's upper four bits say what
//! the record is, and so whether there is a value. Zeros between frames are padding.
//!
//! So a frame begins where bit 7 is set and nowhere else: after any damage the next whole frame is found. [`Decoder`] takes pieces of any
//! size, tells of frames and of places that are none, and counts every byte. What a record means is not known here.

/// Bytes of a frame without a value, and with one.
const SHORT: usize = 11;
const LONG: usize = 16;

/// Where the head's and the time's uppermost four bits are, and the value's.
const KIND_AT: usize = 5;
const TIME_ENDS_AT: usize = 10;
const VALUE_ENDS_AT: usize = 15;

/// A record as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Kind (4 bits), id (12), number (16).
    pub head: u32,
    /// The target's clock, in its ticks.
    pub time: u32,
    /// The value, where the kind has one.
    pub value: Option<u32>,
}

/// What the bytes tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A whole frame.
    Frame(Frame),
    /// Something that is no frame: records may be missing here.
    Broken,
}

/// What became of the bytes: `bytes = frame_bytes + padding_bytes + undecodable_bytes` once [`Decoder::finish`] was called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// All of them.
    pub bytes: u64,
    /// Whole frames.
    pub frames: u64,
    /// Those with a value.
    pub with_value: u64,
    /// Bytes of whole frames.
    pub frame_bytes: u64,
    /// Zeros between frames.
    pub padding_bytes: u64,
    /// Bytes of no frame.
    pub undecodable_bytes: u64,
    /// Times that such bytes began.
    pub disruptions: u64,
}

/// Finds frames.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    frame: [u8; LONG],
    /// Bytes of it that have come.
    have: usize,
    /// The last thing that came to an end was no frame.
    astray: bool,
    stats: Stats,
}

impl Decoder {
    /// One that has seen nothing.
    pub fn new() -> Self {
        Decoder::default()
    }

    /// Counts up to here.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// More bytes.
    pub fn push(&mut self, bytes: &[u8], events: &mut impl FnMut(Event)) {
        for &byte in bytes {
            self.stats.bytes += 1;
            self.take(byte, events);
        }
    }

    /// Bytes are missing here.
    pub fn gap(&mut self, events: &mut impl FnMut(Event)) {
        self.give_up(events);
        events(Event::Broken);
    }

    /// No more will come.
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

    /// How long the frame is as far as can be told; `None` if what has come begins none.
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

    /// What has begun is no frame.
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

/// Whether bytes are such frames rather than anything else: most of them are in whole ones, which chance does not make.
pub fn is_likely(bytes: &[u8]) -> bool {
    let mut decoder = Decoder::new();
    decoder.push(bytes, &mut |_| {});
    let Stats { bytes, frames, frame_bytes, padding_bytes, .. } = decoder.stats();
    frames > 1 && frame_bytes * 2 > bytes - padding_bytes
}
