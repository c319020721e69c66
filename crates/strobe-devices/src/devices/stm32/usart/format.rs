//! What a USART puts on the line: levels of a frame, and how long they last.
//!
//! Pure arithmetic; half bits are the unit, because stop bits come in halves and the receiver
//! samples in the middle of a bit.

/// Duration of one bit as a fraction of core cycles, so that long frames stay exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Baud {
    numerator: u64,
    denominator: u64,
}

impl Baud {
    /// `kernel_clocks` per bit, each of `numerator / denominator` core cycles. `None` if that is no
    /// time at all: the baud rate generator stands still.
    pub(super) fn new(kernel_clocks: u32, numerator: u32, denominator: u32) -> Option<Self> {
        let numerator = u64::from(kernel_clocks) * u64::from(numerator);
        // A bit shorter than a core cycle cannot be followed.
        let denominator = u64::from(denominator.max(1)).min(numerator);
        (numerator > 0).then_some(Baud { numerator, denominator })
    }

    /// The cycle `halves` half bits after `start`.
    pub(super) fn after(self, start: u64, halves: u32) -> u64 {
        let cycles = u128::from(halves) * u128::from(self.numerator);
        start + cycles.div_ceil(2 * u128::from(self.denominator)) as u64
    }

    /// Half bits that have passed at `now`.
    pub(super) fn halves(self, start: u64, now: u64) -> u32 {
        let cycles = u128::from(now.saturating_sub(start)) * 2 * u128::from(self.denominator);
        u32::try_from(cycles / u128::from(self.numerator)).unwrap_or(u32::MAX)
    }

    /// Where something that began at `start` would have begun at the rate `to`, to be as far on
    /// `now`.
    pub(super) fn rescale(self, to: Baud, start: u64, now: u64) -> u64 {
        if self == to {
            return start;
        }
        let scale = |cycles: u64| {
            let cycles = u128::from(cycles) * u128::from(to.numerator) / u128::from(self.numerator);
            (cycles * u128::from(self.denominator) / u128::from(to.denominator)) as u64
        };
        if start > now { now + scale(start - now) } else { now.saturating_sub(scale(now - start)) }
    }
}

/// Parity control (CR1.PCE, CR1.PS).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parity {
    None,
    Even,
    Odd,
}

/// Word length, parity and stop bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Format {
    /// Bits after the start bit, parity included: 7, 8 or 9.
    pub(super) word_bits: u32,
    pub(super) parity: Parity,
    /// Stop bits in halves: 1, 2, 3 or 4.
    pub(super) stop_halves: u32,
}

impl Format {
    /// Reads M1, M0, PCE and PS of CR1 and STOP of CR2.
    pub(super) fn new(cr1: u32, cr2: u32) -> Self {
        let word_bits = match (cr1 >> 28 & 1, cr1 >> 12 & 1) {
            (0, 0) => 8,
            (0, _) => 9,
            _ => 7,
        };
        let parity = match (cr1 >> 10 & 1, cr1 >> 9 & 1) {
            (0, _) => Parity::None,
            (_, 0) => Parity::Even,
            _ => Parity::Odd,
        };
        let stop_halves = [2, 1, 4, 3][(cr2 >> 12 & 3) as usize];
        Format { word_bits, parity, stop_halves }
    }

    /// Data bits, without parity.
    pub(super) fn data_bits(self) -> u32 {
        self.word_bits - u32::from(self.parity != Parity::None)
    }

    /// Keeps the data bits of a word.
    pub(super) fn data(self, word: u16) -> u16 {
        word & ((1 << self.data_bits()) - 1)
    }

    /// The word that goes on the line for `data`: with parity as its most significant bit.
    pub(super) fn word(self, data: u16) -> u16 {
        let data = self.data(data);
        let odd_ones = data.count_ones() % 2 == 1;
        let parity = match self.parity {
            Parity::None => false,
            Parity::Even => odd_ones,
            Parity::Odd => !odd_ones,
        };
        data | u16::from(parity) << self.data_bits()
    }

    /// Whether a received word has the right parity.
    pub(super) fn parity_holds(self, word: u16) -> bool {
        self.word(self.data(word)) == word
    }

    /// Half bits of a whole frame: start bit, word, stop bits.
    pub(super) fn halves(self) -> u32 {
        2 + 2 * self.word_bits + self.stop_halves
    }

    /// The frame that carries `data`.
    pub(super) fn data_frame(self, data: u16) -> Frame {
        let levels = self.word(data) << 1;
        Frame { levels, bits: 1 + self.word_bits, stop_halves: self.stop_halves }
    }

    /// One frame's time of high level, as after setting TE.
    pub(super) fn idle_frame(self) -> Frame {
        Frame { levels: u16::MAX, bits: 1 + self.word_bits, stop_halves: self.stop_halves }
    }

    /// A break: low for a frame with one stop bit, then high for two bits (RM0360, "Break
    /// characters").
    pub(super) fn break_frame(self) -> Frame {
        Frame { levels: 0, bits: 2 + self.word_bits, stop_halves: 4 }
    }
}

/// Levels of one frame, first bit in bit 0, followed by high stop bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    levels: u16,
    bits: u32,
    stop_halves: u32,
}

impl Frame {
    /// Duration in half bits.
    pub(super) fn halves(self) -> u32 {
        2 * self.bits + self.stop_halves
    }

    /// The level `half` half bits after the start.
    pub(super) fn level(self, half: u32) -> bool {
        half / 2 >= self.bits || self.levels >> (half / 2) & 1 != 0
    }

    /// The next change of level after `half`, in half bits from the start.
    pub(super) fn next_edge(self, half: u32) -> Option<u32> {
        let level = self.level(half);
        (half / 2 + 1..=self.bits).map(|bit| 2 * bit).find(|&edge| self.level(edge) != level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractional_baud_rates_do_not_drift() {
        // 8 MHz kernel clock, 48 MHz core, 69 clocks per bit: 414 cycles; 7/3 cycles per clock:
        // 161.
        assert_eq!(Baud::new(69, 48, 8).unwrap().after(0, 20), 4140);
        let baud = Baud::new(10, 7, 3).unwrap();
        assert_eq!(baud.after(100, 2), 124);
        assert_eq!(baud.after(100, 2 * 3000), 100 + 70_000);
        assert_eq!(baud.halves(100, 123), 1);
        assert_eq!(baud.halves(100, 124), 2);
        assert_eq!(Baud::new(0, 1, 1), None);
    }

    #[test]
    fn parity_fills_the_last_bit_of_the_word() {
        let even = Format { word_bits: 9, parity: Parity::Even, stop_halves: 2 };
        assert_eq!(even.word(0x07), 0x107);
        assert_eq!(even.word(0x03), 0x003);
        assert!(!even.parity_holds(0x103));
        let odd = Format { word_bits: 8, parity: Parity::Odd, stop_halves: 2 };
        assert_eq!(odd.word(0xff), 0x7f);
        assert_eq!(odd.word(0x03), 0x83);
    }

    #[test]
    fn edges_of_a_frame() {
        let frame = Format { word_bits: 8, parity: Parity::None, stop_halves: 2 }.data_frame(0x55);
        let edges: Vec<u32> =
            std::iter::successors(Some(0), |&half| frame.next_edge(half)).collect();
        assert_eq!(edges, [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
        assert_eq!(frame.halves(), 20);
    }
}
