//! CRC calculation unit (RM0360 section 12, RM0090 section 4).
//!
//! A write to DR takes 4 AHB cycles for a word; the next access waits for it. Code that feeds words
//! in a loop takes longer than that per word, so the wait is not modelled.

use serde::Deserialize;

use crate::devices::common::register::{merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, OptionError, Reading, Size};

const DR: u32 = 0x00;
const IDR: u32 = 0x04;
const CR: u32 = 0x08;
const INIT: u32 = 0x10;
const POL: u32 = 0x14;

const CR_RESET: u32 = 1 << 0;
/// The Ethernet polynomial.
const DEFAULT_POLYNOMIAL: u32 = 0x04c1_1db7;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Whether the part has POL and POLYSIZE.
    #[serde(default)]
    programmable_polynomial: bool,
    /// A unit with DR, IDR and a reset bit only, which always takes whole words (RM0090).
    #[serde(default)]
    words_only: bool,
}

struct Crc {
    words_only: bool,
    programmable: bool,
    dr: u32,
    idr: u32,
    cr: u32,
    init: u32,
    pol: u32,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { programmable_polynomial: programmable, words_only } = cx.options()?;
    Ok(Box::new(Crc { words_only, programmable, dr: 0, idr: 0, cr: 0, init: 0, pol: 0 }))
}

impl Crc {
    /// Polynomial size in bits: CR.POLYSIZE.
    fn bits(&self) -> u32 {
        [32, 16, 8, 7][(self.cr >> 3 & 3) as usize]
    }

    fn feed(&mut self, value: u32, size: Size) {
        let width = 8 * size.bytes();
        let data = self.reverse_in(value, width);
        let top = 1u32 << (self.bits() - 1);
        let mask = top | (top - 1);
        for i in (0..width).rev() {
            let high = (self.dr & top != 0) != (data >> i & 1 != 0);
            self.dr = (self.dr << 1) & mask;
            if high {
                self.dr ^= self.pol & mask;
            }
        }
    }

    /// CR.REV_IN: bits reversed by byte, half-word or word; never by more than was written.
    fn reverse_in(&self, value: u32, width: u32) -> u32 {
        let unit = match self.cr >> 5 & 3 {
            0 => return value,
            1 => 8,
            2 => 16,
            _ => 32,
        };
        let unit = width.min(unit);
        (0..width / unit).fold(0, |all, i| {
            let chunk = value >> (i * unit) << (32 - unit);
            all | chunk.reverse_bits() << (i * unit)
        })
    }

    fn output(&self) -> u32 {
        if self.cr >> 7 & 1 != 0 { self.dr.reverse_bits() >> (32 - self.bits()) } else { self.dr }
    }
}

impl Device for Crc {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        let word = match offset & !3 {
            DR => self.output(),
            IDR => self.idr,
            CR => self.cr,
            INIT if !self.words_only => self.init,
            POL if self.programmable => self.pol,
            _ => return None,
        };
        Some(part(word, offset, size))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, _cx: &mut Context) -> Option<()> {
        match offset & !3 {
            DR if self.words_only => self.feed(merge(0, offset, size, value), Size::Word),
            DR => self.feed(value, size),
            IDR => self.idr = merge(self.idr, offset, size, value) & 0xff,
            CR => {
                let writable = match (self.words_only, self.programmable) {
                    (true, _) => 0,
                    (_, true) => 0xf8,
                    (_, false) => 0xe0,
                };
                let cr = merge(self.cr, offset, size, value);
                self.cr = cr & writable;
                if cr & CR_RESET != 0 {
                    self.dr = self.init;
                }
            }
            INIT if !self.words_only => {
                self.init = merge(self.init, offset, size, value);
                self.dr = self.init;
            }
            POL if self.programmable => self.pol = merge(self.pol, offset, size, value),
            _ => return None,
        }
        Some(())
    }

    fn reset(&mut self, _cx: &mut Context) {
        let (words_only, programmable) = (self.words_only, self.programmable);
        let (dr, init, pol) = (u32::MAX, u32::MAX, DEFAULT_POLYNOMIAL);
        *self = Crc { words_only, programmable, dr, idr: 0, cr: 0, init, pol };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::Rig;

    const BASE: u32 = 0x4002_3000;

    fn rig() -> Rig {
        Rig::new(
            "[[device]]\nname = 'CRC'\nmodel = 'stm32-crc'\nbase = 0x4002_3000\nsize = 0x400\n\
             bus = 'ahb'\noptions.programmable_polynomial = true",
        )
    }

    fn feed(rig: &mut Rig, bytes: &[u8]) {
        bytes.iter().for_each(|&b| rig.write(BASE, Size::Byte, u32::from(b)));
    }

    /// Check values of the catalogue of CRC algorithms for the nine characters `123456789`.
    #[test]
    fn known_check_values() {
        // (polynomial size code, polynomial, initial value, reversed, final exclusive-or, check
        // value)
        let cases: [(u32, u32, u32, bool, u32, u32); 5] = [
            (0, 0x04c1_1db7, 0xffff_ffff, false, 0, 0x0376_e6e7), // CRC-32/MPEG-2
            (0, 0x04c1_1db7, 0xffff_ffff, true, 0xffff_ffff, 0xcbf4_3926), // CRC-32
            (1, 0x1021, 0, false, 0, 0x31c3),                     // CRC-16/XMODEM
            (2, 0x07, 0, false, 0, 0xf4),                         // CRC-8
            (3, 0x09, 0, false, 0, 0x75),                         // CRC-7/MMC
        ];
        for (size, polynomial, init, reversed, xor, check) in cases {
            let mut rig = rig();
            rig.write32(BASE + POL, polynomial);
            rig.write32(BASE + CR, size << 3 | if reversed { 1 << 7 | 1 << 5 } else { 0 });
            rig.write32(BASE + INIT, init);
            feed(&mut rig, b"123456789");
            assert_eq!(rig.read32(BASE) ^ xor, check, "polynomial {polynomial:#x}");
        }
    }

    #[test]
    fn words_are_fed_high_bit_first() {
        let mut rig = rig();
        rig.write32(BASE, 0x3132_3334);
        let word = rig.read32(BASE);
        rig.write32(BASE + CR, CR_RESET);
        assert_eq!(rig.read32(BASE), 0xffff_ffff);
        feed(&mut rig, b"1234");
        assert_eq!(rig.read32(BASE), word);
    }

    /// RM0090 4.4: what other families have is not there, and a narrow write feeds a whole word.
    #[test]
    fn the_simple_unit_takes_words() {
        let mut rig = Rig::new(
            "[[device]]\nname = 'CRC'\nmodel = 'stm32-crc'\nbase = 0x4002_3000\nsize = 0x400\n\
             bus = 'ahb'\noptions.words_only = true",
        );
        rig.write32(BASE + CR, 0xe0);
        rig.write32(BASE + DR, 0x3132_3334);
        let word = rig.read32(BASE);
        assert_eq!(rig.read32(BASE + CR), 0);
        rig.write32(BASE + CR, CR_RESET);
        rig.write(BASE, Size::Byte, 0x34);
        let byte = rig.read32(BASE);
        rig.write32(BASE + CR, CR_RESET);
        rig.write32(BASE, 0x34);
        assert_eq!(rig.read32(BASE), byte);
        assert_ne!(word, byte);
    }

    /// RM0360 12.3: the examples for input 0x1A2B3C4D and output 0x11223344.
    #[test]
    fn reversal_as_in_the_manual() {
        let mut crc =
            Crc { words_only: false, programmable: true, dr: 0, idr: 0, cr: 0, init: 0, pol: 0 };
        for (mode, reversed) in [(1, 0x58d4_3cb2), (2, 0xd458_b23c), (3, 0xb23c_d458u32)] {
            crc.cr = mode << 5;
            assert_eq!(crc.reverse_in(0x1a2b_3c4d, 32), reversed);
        }
        crc.cr = 1 << 7;
        crc.dr = 0x1122_3344;
        assert_eq!(crc.output(), 0x22cc_4488);
    }
}
