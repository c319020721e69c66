//! Writes numbers of any width, bit by bit.

/// A packet under construction.
#[derive(Debug)]
pub(super) struct BitWriter {
    bits: Vec<bool>,
    big: bool,
}

impl BitWriter {
    /// Whether the trace is big-endian.
    pub(super) fn new(big: bool) -> Self {
        BitWriter { bits: Vec::new(), big }
    }

    pub(super) fn len(&self) -> u64 {
        self.bits.len() as u64
    }

    pub(super) fn align(&mut self, align: u64) {
        self.pad_to(self.len().next_multiple_of(align));
    }

    pub(super) fn pad_to(&mut self, bits: u64) {
        self.bits.resize(bits as usize, false);
    }

    /// A number in the trace's byte order.
    pub(super) fn put(&mut self, value: u64, bits: u32) {
        self.put_in(value, bits, self.big);
    }

    /// A number in either byte order.
    pub(super) fn put_in(&mut self, value: u64, bits: u32, big: bool) {
        for i in 0..bits {
            let bit = if big { bits - 1 - i } else { i };
            self.bits.push(value >> bit & 1 == 1);
        }
        // The first bit of a byte depends on the byte order; resolved at the end, for the trace's.
        // Whole bytes of the other order are swapped here.
        if big != self.big {
            let from = self.bits.len() - bits as usize;
            for byte in self.bits[from..].chunks_mut(8) {
                byte.reverse();
            }
        }
    }

    pub(super) fn text(&mut self, bytes: &[u8]) {
        self.align(8);
        for byte in bytes {
            self.put((*byte).into(), 8);
        }
    }

    /// Overwrites two 64-bit numbers at a byte offset.
    pub(super) fn patch(&mut self, at: u64, first: u64, second: u64) {
        let mut numbers = BitWriter::new(self.big);
        numbers.put(first, 64);
        numbers.put(second, 64);
        let at = at as usize;
        self.bits[at..at + 128].copy_from_slice(&numbers.bits);
    }

    /// The bytes; the last one is padded with zeros.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.align(8);
        let byte = |bits: &[bool]| {
            let place = |i: usize| if self.big { 7 - i } else { i };
            bits.iter().enumerate().fold(0u8, |byte, (i, bit)| byte | u8::from(*bit) << place(i))
        };
        self.bits.chunks(8).map(byte).collect()
    }
}
