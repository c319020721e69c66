//! Bit reader for a packet: numbers of any width in either byte order (section 4.1.2).

use super::types::ByteOrder;

/// A position in a packet, in bits from the packet's beginning.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bits<'d> {
    bytes: &'d [u8],
    at: u64,
    end: u64,
    /// The byte order of the last number. A number that begins within a byte must share it.
    order: Option<ByteOrder>,
}

/// Why a number cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoBits {
    /// Only so many bits are left.
    PastEnd(u64),
    /// An earlier number in this byte has the other byte order.
    SharedByte,
}

impl<'d> Bits<'d> {
    pub(super) fn new(bytes: &'d [u8]) -> Self {
        Bits { bytes, at: 0, end: bytes.len() as u64 * 8, order: None }
    }

    pub(super) fn at(&self) -> u64 {
        self.at
    }

    pub(super) fn left(&self) -> u64 {
        self.end - self.at
    }

    /// Limits reading to `end`, which must be within the packet.
    pub(super) fn end_at(&mut self, end: u64) {
        self.end = end.min(self.bytes.len() as u64 * 8).max(self.at);
    }

    /// Advances to a multiple of `align`, a power of two.
    pub(super) fn align(&mut self, align: u64) -> Result<(), NoBits> {
        let mask = align.max(1) - 1;
        match self.at.checked_add(mask).map(|at| at & !mask) {
            Some(at) if at <= self.end => {
                self.at = at;
                Ok(())
            }
            _ => Err(NoBits::PastEnd(self.left())),
        }
    }

    /// A number of 1 to 64 bits.
    pub(super) fn take(&mut self, bits: u8, order: ByteOrder) -> Result<u64, NoBits> {
        if u64::from(bits) > self.left() {
            return Err(NoBits::PastEnd(self.left()));
        }
        if self.at.is_multiple_of(8)
            && let Some(value) = self.whole_bytes(bits, order)
        {
            self.at += u64::from(bits);
            self.order = Some(order);
            return Ok(value);
        }
        if !self.at.is_multiple_of(8) && self.order.is_some_and(|before| before != order) {
            return Err(NoBits::SharedByte);
        }
        self.order = Some(order);
        let (first, shift) = ((self.at / 8) as usize, (self.at % 8) as u32);
        let last = ((self.at + u64::from(bits) - 1) / 8) as usize;
        self.at += u64::from(bits);
        let touched = &self.bytes[first..=last];
        let mask = u64::MAX >> (64 - bits);
        // Nine bytes at most.
        let value = match order {
            ByteOrder::Little => {
                let all = touched.iter().rev().fold(0u128, |n, byte| n << 8 | u128::from(*byte));
                all >> shift
            }
            ByteOrder::Big => {
                let all = touched.iter().fold(0u128, |n, byte| n << 8 | u128::from(*byte));
                all >> (touched.len() as u32 * 8 - shift - u32::from(bits))
            }
        };
        Ok(value as u64 & mask)
    }

    /// A number that is a whole word at a byte boundary, as most are.
    #[inline]
    fn whole_bytes(&self, bits: u8, order: ByteOrder) -> Option<u64> {
        let rest = &self.bytes[(self.at / 8) as usize..];
        match (bits, order) {
            (8, _) => rest.first().map(|byte| u64::from(*byte)),
            (16, ByteOrder::Little) => rest.first_chunk().map(|b| u16::from_le_bytes(*b).into()),
            (16, ByteOrder::Big) => rest.first_chunk().map(|b| u16::from_be_bytes(*b).into()),
            (32, ByteOrder::Little) => rest.first_chunk().map(|b| u32::from_le_bytes(*b).into()),
            (32, ByteOrder::Big) => rest.first_chunk().map(|b| u32::from_be_bytes(*b).into()),
            (64, ByteOrder::Little) => rest.first_chunk().map(|b| u64::from_le_bytes(*b)),
            (64, ByteOrder::Big) => rest.first_chunk().map(|b| u64::from_be_bytes(*b)),
            _ => None,
        }
    }

    /// `count` whole bytes, from the next byte boundary on.
    pub(super) fn bytes(&mut self, count: u64) -> Result<&'d [u8], NoBits> {
        self.align(8)?;
        if count > self.left() / 8 {
            return Err(NoBits::PastEnd(self.left()));
        }
        let first = (self.at / 8) as usize;
        self.at += count * 8;
        Ok(&self.bytes[first..first + count as usize])
    }

    /// Bytes up to a zero; the zero is consumed but not returned.
    pub(super) fn until_zero(&mut self) -> Result<&'d [u8], NoBits> {
        self.align(8)?;
        let (first, last) = ((self.at / 8) as usize, (self.end / 8) as usize);
        let rest = &self.bytes[first..last.max(first)];
        let Some(length) = rest.iter().position(|byte| *byte == 0) else {
            return Err(NoBits::PastEnd(self.left()));
        };
        self.at += (length as u64 + 1) * 8;
        Ok(&rest[..length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_begin_at_either_end_of_a_byte() {
        let bytes = [0b1010_0110, 0b0000_1111, 0xff];
        let mut little = Bits::new(&bytes);
        assert_eq!(little.take(3, ByteOrder::Little), Ok(0b110));
        assert_eq!(little.take(9, ByteOrder::Little), Ok(0b1_1111_0100));
        let mut big = Bits::new(&bytes);
        assert_eq!(big.take(3, ByteOrder::Big), Ok(0b101));
        assert_eq!(big.take(9, ByteOrder::Big), Ok(0b0_0110_0000));
        assert_eq!(big.take(4, ByteOrder::Little), Err(NoBits::SharedByte));
        assert_eq!(big.take(13, ByteOrder::Big), Err(NoBits::PastEnd(12)));
    }

    #[test]
    fn sixty_four_bits_may_lie_across_nine_bytes() {
        let bytes = [0x80, 0, 0, 0, 0, 0, 0, 0, 0x01];
        let mut bits = Bits::new(&bytes);
        assert_eq!(bits.take(7, ByteOrder::Little), Ok(0));
        assert_eq!(bits.take(64, ByteOrder::Little), Ok(1 | 1 << 57));
        assert_eq!(bits.left(), 1);
        assert_eq!(bits.align(8), Ok(()));
        assert_eq!((bits.left(), bits.align(16)), (0, Err(NoBits::PastEnd(0))));
    }

    #[test]
    fn texts_end_at_zero() {
        let mut bits = Bits::new(b"ab\0cd");
        assert_eq!(bits.until_zero(), Ok(&b"ab"[..]));
        assert_eq!(bits.until_zero(), Err(NoBits::PastEnd(16)));
        assert_eq!(bits.bytes(3), Err(NoBits::PastEnd(16)));
        assert_eq!(bits.bytes(2), Ok(&b"cd"[..]));
    }
}
