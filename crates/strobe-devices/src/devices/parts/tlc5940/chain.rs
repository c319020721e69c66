//! The shift registers of a chain of drivers as one: 192 bits for each, the last output's most
//! significant bit first. While VPRG is high SOUT shows bit 95 instead of 191, so that each driver
//! is 96 bits long.

use super::options::OUTPUTS;

/// Bits of a grayscale value and of a dot correction.
const GRAYSCALE: usize = 12;
const CORRECTION: usize = 6;
/// Outputs of a driver.
const EACH: usize = OUTPUTS as usize;
/// What is before the dot correction in a driver's status information: sixteen LOD bits, TEF, and
/// seven that are reserved, as all after it are.
const BEFORE_CORRECTION: usize = 24;

/// The register. It is a ring, so that a clock costs one store whatever the chain's length.
pub(super) struct Chain {
    ring: Vec<bool>,
    next: usize,
    /// Bits since the last latch.
    fresh: u64,
    /// VPRG is high: the upper halves of the drivers' registers, which stay as they are meanwhile.
    upper: Option<Vec<bool>>,
}

impl Chain {
    pub(super) fn new(drivers: u16) -> Self {
        let bits = usize::from(drivers) * EACH * GRAYSCALE;
        Self { ring: vec![false; bits], next: 0, fresh: 0, upper: None }
    }

    pub(super) fn len(&self) -> usize {
        self.ring.len()
    }

    pub(super) fn clear(&mut self) {
        self.set_correction(false);
        self.ring.fill(false);
        (self.next, self.fresh) = (0, 0);
    }

    pub(super) fn shift(&mut self, bit: bool) {
        self.ring[self.next] = bit;
        self.next = if self.next + 1 == self.ring.len() { 0 } else { self.next + 1 };
        self.fresh += 1;
    }

    /// The level of the last driver's SOUT.
    pub(super) fn sout(&self) -> bool {
        self.ring[self.next]
    }

    /// Switches between the width of dot correction and that of grayscale values.
    pub(super) fn set_correction(&mut self, on: bool) {
        if on == self.upper.is_some() {
            return;
        }
        let half = EACH * CORRECTION;
        let bits = self.bits();
        let lower = |from: usize| bits.chunks(half).skip(from).step_by(2).flatten().copied();
        (self.ring, self.upper) = match self.upper.take() {
            None => (lower(1).collect(), Some(lower(0).collect())),
            Some(upper) => {
                let pairs = upper.chunks(half).zip(bits.chunks(half));
                (pairs.flat_map(|(upper, lower)| [upper, lower].concat()).collect(), None)
            }
        };
        (self.next, self.fresh) = (0, 0);
    }

    /// How many bits came since the last latch, if they do not fill the chain. None is fine: a
    /// chain may latch what it holds again. So are more: the first of them are out at its end.
    pub(super) fn missing_bits(&self) -> Option<u64> {
        (self.fresh > 0 && self.fresh < self.ring.len() as u64).then_some(self.fresh)
    }

    fn bits(&self) -> Vec<bool> {
        let (newer, older) = self.ring.split_at(self.next);
        older.iter().chain(newer).copied().collect()
    }

    /// The values, grayscale or dot correction, that of output 0 of the first driver first.
    pub(super) fn latch(&mut self) -> Vec<u16> {
        self.fresh = 0;
        let width = if self.upper.is_some() { CORRECTION } else { GRAYSCALE };
        let value = |bits: &[bool]| bits.iter().fold(0, |v, &bit| v << 1 | u16::from(bit));
        self.bits().chunks_exact(width).rev().map(value).collect()
    }

    /// Replaces everything by status information (figure 19): of each output whether an open LED
    /// was detected and its dot correction, of each driver whether it is too hot.
    pub(super) fn load(&mut self, open: &[bool], hot: &[bool], correction: &[u16]) {
        let mut bits = Vec::with_capacity(self.ring.len());
        let drivers = open.chunks(EACH).zip(hot).zip(correction.chunks(EACH));
        for (at, ((open, &hot), correction)) in drivers.rev().enumerate() {
            bits.extend(open.iter().rev());
            bits.push(hot);
            bits.resize(at * EACH * GRAYSCALE + BEFORE_CORRECTION, false);
            for value in correction.iter().rev() {
                bits.extend((0..CORRECTION).rev().map(|bit| value >> bit & 1 != 0));
            }
            bits.resize((at + 1) * EACH * GRAYSCALE, false);
        }
        (self.ring, self.next) = (bits, 0);
    }
}
