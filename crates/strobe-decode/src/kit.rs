//! Frames of the target kit (`firmware/kit/trace/strobe_trace.c`), where its records are sent as
//! bytes: over RTT, or through a sink of the firmware, such as a serial port.
//!
//! A frame is a byte with bit 7 set, then its words (head, time, and the values if there are any),
//! each as five bytes of seven bits, the least significant first. The exclusive or of all its bytes
//! is 0x80. The upper four bits of the head are the kind of record, which implies how many values
//! there are. Zeros between frames are padding.
//!
//! So a frame begins where bit 7 is set and nowhere else: after any damage the next complete frame
//! is found. [`Decoder`] accepts pieces of any size, reports frames and undecodable places, and
//! counts every byte. It does not interpret the records.

/// What records came over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Transport {
    /// Two stimulus ports of the ITM.
    #[default]
    Itm,
    /// A buffer in RAM that a debug probe reads.
    Rtt,
    /// A sink of bytes that the firmware brings, as a serial port.
    Bytes,
}
/// Size of a frame without a value, and what each value adds.
pub const FRAME_BYTES: usize = 11;
/// Bytes of a word.
pub const WORD_BYTES: usize = 5;
/// Values that a record has at most.
pub const MOST_VALUES: usize = 9;
const LONGEST: usize = FRAME_BYTES + WORD_BYTES * MOST_VALUES;

/// Position of the uppermost four bits of the head.
const KIND_AT: usize = 5;

/// How many values a record of a kind has; none if no record is of that kind.
pub fn values_of(kind: u32) -> Option<usize> {
    Some(match kind {
        1..=3 => 0,
        4 | 5 | 8..=11 | 15 => 1,
        6 => 2,
        12 => 3,
        13 => 4,
        14 => MOST_VALUES,
        _ => return None,
    })
}

/// The values of a record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Values {
    words: [u32; MOST_VALUES],
    count: usize,
}

impl Values {
    /// One more; beyond the most that a record has it is ignored.
    pub fn push(&mut self, word: u32) {
        if let Some(free) = self.words.get_mut(self.count) {
            *free = word;
            self.count += 1;
        }
    }

    /// One more; if there are as many as a record has, the first goes.
    pub fn shift_in(&mut self, word: u32) {
        if self.count == MOST_VALUES {
            self.words.rotate_left(1);
            self.count -= 1;
        }
        self.push(word);
    }

    /// The last of them, if there are so many.
    #[must_use]
    pub fn last(&self, count: usize) -> Option<Values> {
        let first = self.count.checked_sub(count)?;
        Some(self.words.get(first..self.count)?.iter().copied().collect())
    }
}

impl FromIterator<u32> for Values {
    fn from_iter<I: IntoIterator<Item = u32>>(words: I) -> Self {
        let mut values = Values::default();
        words.into_iter().for_each(|word| values.push(word));
        values
    }
}

impl std::ops::Deref for Values {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        self.words.get(..self.count).unwrap_or_default()
    }
}

/// A record as received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Kind (4 bits), id (12), number (16).
    pub head: u32,
    /// The target's time, in ticks of its clock.
    pub time: u32,
    /// The values, as many as the kind has.
    pub values: Values,
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
    /// Frames with values.
    pub with_values: u64,
    /// Their values.
    pub values: u64,
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
#[derive(Debug, Clone)]
pub struct Decoder {
    frame: [u8; LONGEST],
    /// Bytes of the current frame received so far.
    have: usize,
    /// The decoder is within a run of undecodable bytes.
    astray: bool,
    stats: Stats,
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder { frame: [0; LONGEST], have: 0, astray: false, stats: Stats::default() }
    }
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
        // A word has 32 bits: its fifth byte has the last four of them.
        let ends_word = self.have > 1 && (self.have - 1).is_multiple_of(WORD_BYTES);
        if ends_word && self.frame[self.have - 1] > 15 {
            return None;
        }
        if self.have <= KIND_AT {
            return Some(LONGEST);
        }
        let values = values_of(self.frame[KIND_AT].into())?;
        Some(FRAME_BYTES + WORD_BYTES * values)
    }

    fn complete(&mut self, events: &mut impl FnMut(Event)) {
        let bytes = &self.frame[..self.have];
        if bytes.iter().fold(0, |all, byte| all ^ byte) != 0x80 {
            return self.give_up(events);
        }
        let word = |groups: &[u8]| {
            groups.iter().rev().fold(0, |word, &group| word << 7 | u32::from(group))
        };
        let mut words = bytes[1..].chunks(WORD_BYTES).map(word);
        let (head, time) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let values: Values = words.collect();
        self.stats.frames += 1;
        self.stats.with_values += u64::from(!values.is_empty());
        self.stats.values += values.len() as u64;
        self.stats.frame_bytes += self.have as u64;
        self.have = 0;
        self.astray = false;
        events(Event::Frame(Frame { head, time, values }));
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
