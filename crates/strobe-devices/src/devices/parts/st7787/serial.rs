//! The three wires' protocol, bit by bit: words that come, answers that go.

/// A word that has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    /// Data, not a command.
    pub(super) data: bool,
    pub(super) byte: u8,
}

/// Bits of an answer.
const ANSWER_BITS: u32 = 24;

/// Where in a word or an answer the line is.
#[derive(Debug, Default)]
pub(super) struct Serial {
    bits: u32,
    word: u16,
    answer: Option<Answer>,
    /// The display drives the line.
    pub(super) drives: bool,
}

#[derive(Debug)]
struct Answer {
    /// Clocks before its first bit.
    dummies: u32,
    bits: u32,
    /// Falling edges so far.
    at: u32,
}

impl Serial {
    /// From the next falling edge on, so many clocks of nothing and then so many bits.
    pub(super) fn answer(&mut self, dummies: u32, bits: u32) {
        self.answer = Some(Answer { dummies, bits, at: 0 });
    }

    /// Whether an answer is under way, or over.
    pub(super) fn is_reading(&self) -> bool {
        self.answer.is_some()
    }

    /// A rising edge: takes a bit, and gives the word that it ends.
    pub(super) fn take(&mut self, level: bool) -> Option<Word> {
        if self.is_reading() {
            return None;
        }
        self.word = self.word << 1 | u16::from(level);
        self.bits += 1;
        if self.bits < 9 {
            return None;
        }
        let word = Word { data: self.word & 0x100 != 0, byte: self.word as u8 };
        (self.bits, self.word) = (0, 0);
        Some(word)
    }

    /// A falling edge: what the display puts on the line, `None` where it lets go of it. Before the
    /// first bit there is nothing to read, but the line is the display's.
    pub(super) fn put(&mut self) -> Option<bool> {
        let answer = self.answer.as_mut()?;
        let at = answer.at;
        answer.at = at.saturating_add(1);
        if at < answer.dummies {
            return Some(false);
        }
        // With the last bit it lets go, and is deaf until it is selected anew.
        let left = (ANSWER_BITS - 1).checked_sub(at - answer.dummies)?;
        Some(answer.bits >> left & 1 != 0)
    }
}
