//! How ARMv7-M cores identify themselves in the feature registers (DDI 0337I table 4-1, DDI 0439D
//! table 4-1).

use strobe_isa::thumb::arch::Architecture;

/// ID_PFR0 to ID_ISAR4, from offset 0xd40 on, on a Cortex-M3.
const M3: [u32; 13] = [
    0x0000_0030,
    0x0000_0200,
    0x0010_0000,
    0x0000_0000,
    0x0010_0030,
    0x0000_0000,
    0x0100_0000,
    0x0000_0000,
    0x0110_1110,
    0x0211_1000,
    0x2111_2231,
    0x0111_1110,
    0x0131_0132,
];

/// The instruction set attributes ID_ISAR0 to ID_ISAR4 of a Cortex-M4, which has the DSP extension.
const M4_ISAR: [u32; 5] = [0x0110_1110, 0x0211_2000, 0x2123_2231, 0x0111_1131, 0x0131_0132];

/// MVFR0 and MVFR1 of FPv4-SP.
const MVFR: [u32; 2] = [0x1011_0021, 0x1100_0011];

/// A feature register by its offset in the system control space.
pub(super) fn feature(arch: Architecture, offset: u32) -> u32 {
    match offset {
        0xd60..=0xd70 if arch.dsp => M4_ISAR[(offset as usize - 0xd60) / 4],
        0xd40..=0xd70 => M3[(offset as usize - 0xd40) / 4],
        0xf40 | 0xf44 if arch.fp => MVFR[(offset as usize - 0xf40) / 4],
        _ => 0,
    }
}
