//! Narrow accesses to word registers, which all STM32 blocks share.
//!
//! Models keep whole 32-bit registers; firmware may read or write a byte or a half-word of one. The
//! peripheral bridge hands the lanes through, so a narrow write leaves the other lanes as they
//! were.

use strobe_sim::kernel::device::Size;

/// The part of a register that an access at `offset` reads, right aligned.
pub(in crate::devices) fn part(register: u32, offset: u32, size: Size) -> u32 {
    register >> (8 * (offset & 3)) & size.mask()
}

/// A register after a write of `value` at `offset`: lanes not written keep `old`.
pub(in crate::devices) fn merge(old: u32, offset: u32, size: Size, value: u32) -> u32 {
    let shift = 8 * (offset & 3);
    let mask = size.mask() << shift;
    old & !mask | value << shift & mask
}

/// Whether bit `n` is set.
pub(in crate::devices) fn bit(register: u32, n: u32) -> bool {
    register >> n & 1 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_accesses_touch_their_lanes_only() {
        assert_eq!(part(0x1234_5678, 0x12, Size::Half), 0x1234);
        assert_eq!(part(0x1234_5678, 0x11, Size::Byte), 0x56);
        assert_eq!(merge(0x1234_5678, 0x10, Size::Half, 0xabcd), 0x1234_abcd);
        assert_eq!(merge(0x1234_5678, 0x13, Size::Byte, 0xff), 0xff34_5678);
        assert_eq!(merge(0x1234_5678, 0x10, Size::Word, 7), 7);
    }
}
