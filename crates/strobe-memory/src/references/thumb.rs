//! References of Thumb instructions (ARMv7-M manual, A5.2 and A5.3): direct calls and jumps,
//! literals, MOVW with MOVT, ADR.

use std::collections::HashSet;

use strobe_symbols::Firmware;

use super::resolve::Resolver;
use super::words::{Run, Swept};
use super::{How, Sighting, To};

/// Looks at instructions one after another. `pools` are words that code loads: without mapping
/// symbols they would be taken for instructions.
pub(super) fn sweep(
    firmware: &Firmware,
    resolver: &Resolver<'_>,
    run: &Run<'_>,
    pools: &mut HashSet<u32>,
) -> Swept {
    let has_marks = firmware.has_mapping_symbols();
    let mut sweep = Sweep { firmware, resolver, low: [None; 16], pools, out: Swept::default() };
    let half = |at: usize| Some(u16::from_le_bytes([*run.bytes.get(at)?, *run.bytes.get(at + 1)?]));
    let mut at = 0;
    while let Some(first) = half(at) {
        let site = run.start.wrapping_add(at as u32);
        if !has_marks && sweep.pools.contains(&(site & !3)) {
            at += 2;
            continue;
        }
        let n = u32::from(first);
        match first >> 11 {
            0b11101..=0b11111 => {
                let Some(second) = half(at + 2) else { break };
                sweep.wide(site, n, u32::from(second));
                at += 4;
            }
            _ => {
                sweep.narrow(site, n);
                at += 2;
            }
        }
    }
    sweep.out
}

struct Sweep<'a> {
    firmware: &'a Firmware,
    resolver: &'a Resolver<'a>,
    /// What MOVW has put into each register.
    low: [Option<u32>; 16],
    pools: &'a mut HashSet<u32>,
    out: Swept,
}

impl Sweep<'_> {
    fn sees(&mut self, site: u32, to: To, how: How) {
        self.out.sightings.push(Sighting { site, to, how });
    }

    /// A jump or call that an instruction names.
    fn goes(&mut self, site: u32, offset: i32, how: How) {
        let target = site.wrapping_add(4).wrapping_add_signed(offset) & !1;
        self.sees(site, To::Address(target), how);
    }

    fn narrow(&mut self, site: u32, n: u32) {
        // No-operations align what follows: they change nothing.
        if matches!(n, 0xbf00 | 0x46c0 | 0) {
            return;
        }
        self.out.goes_on = true;
        match n >> 11 {
            0b01001 => self.literal(site, (n & 0xff) as i32 * 4),
            0b10100 => {
                let address = (site.wrapping_add(4) & !3).wrapping_add((n & 0xff) * 4);
                self.sees(site, To::Address(address), How::Takes);
            }
            0b11100 => {
                self.out.goes_on = false;
                self.goes(site, sign(n << 1, 12), How::Jumps);
            }
            0b11010 | 0b11011 => match n >> 8 & 15 {
                14 => self.out.goes_on = false,
                15 => {}
                _ => self.goes(site, sign(n << 1, 9), How::Jumps),
            },
            // BX, POP with PC, MOV and ADD to PC, BKPT.
            _ if n & 0xff80 == 0x4700
                || n & 0xff00 == 0xbd00
                || n & 0xfd87 == 0x4487
                || n & 0xff00 == 0xbe00 =>
            {
                self.out.goes_on = false;
            }
            _ => {}
        }
    }

    fn wide(&mut self, site: u32, first: u32, second: u32) {
        self.out.goes_on = true;
        let register = (second >> 8 & 15) as usize;
        let offset = (second & 0xfff) as i32;
        let up = first >> 7 & 1 == 1;
        match (first, second) {
            _ if first & 0xf800 == 0xf000 && second & 0x8000 != 0 => {
                self.branch(site, first, second);
            }
            // MOVW and MOVT.
            _ if first & 0xfbf0 == 0xf240 && second & 0x8000 == 0 => {
                self.low[register] = Some(immediate(first, second));
            }
            _ if first & 0xfbf0 == 0xf2c0 && second & 0x8000 == 0 => {
                if let Some(low) = self.low[register].take() {
                    let word = immediate(first, second) << 16 | low;
                    // Relocations of the two are at each of them.
                    let is_known = self.resolver.is_address(site) == Some(true);
                    let to = if is_known { To::Address(word) } else { To::Word(word) };
                    self.sees(site, to, How::Takes);
                }
            }
            // LDR and VLDR from a literal.
            _ if first & 0xff7f == 0xf85f => {
                self.literal(site, if up { offset } else { -offset });
                // A load of the program counter jumps.
                self.out.goes_on = second >> 12 != 15;
            }
            // ADR, behind and before.
            _ if matches!(first & 0xfbff, 0xf20f | 0xf2af) && second & 0x8000 == 0 => {
                let value = (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xff;
                let base = site.wrapping_add(4) & !3;
                let address = match first & 0x00a0 {
                    0 => base.wrapping_add(value),
                    _ => base.wrapping_sub(value),
                };
                self.sees(site, To::Address(address), How::Takes);
            }
            // POP.W and LDM with PC, LDR of PC, TBB and TBH.
            _ if first & 0xffd0 == 0xe890 && second & 0x8000 != 0
                || first & 0xfff0 == 0xe8d0 && second & 0xffe0 == 0xf000
                || first & 0xff70 == 0xf850 && second >> 12 == 15 =>
            {
                self.out.goes_on = false;
            }
            _ => {}
        }
    }

    /// B, B with a condition, and BL of four bytes (A7.7.12, A7.7.18).
    fn branch(&mut self, site: u32, first: u32, second: u32) {
        let (s, j1, j2) = (first >> 10 & 1, second >> 13 & 1, second >> 11 & 1);
        let low = (second & 0x7ff) << 1;
        let (i1, i2) = (!(j1 ^ s) & 1, !(j2 ^ s) & 1);
        let far = s << 24 | i1 << 23 | i2 << 22 | (first & 0x3ff) << 12 | low;
        match (second >> 14 & 1, second >> 12 & 1) {
            (1, 1) => {
                // A call at a function's end does not come back.
                self.out.goes_on = false;
                self.goes(site, sign(far, 25), How::Calls);
            }
            (0, 1) => {
                self.out.goes_on = false;
                self.goes(site, sign(far, 25), How::Jumps);
            }
            (0, 0) if first >> 7 & 7 != 7 => {
                let near = s << 20 | j2 << 19 | j1 << 18 | (first & 0x3f) << 12 | low;
                self.goes(site, sign(near, 21), How::Jumps);
            }
            _ => {}
        }
    }

    fn literal(&mut self, site: u32, offset: i32) {
        let pool = (site.wrapping_add(4) & !3).wrapping_add_signed(offset);
        let Some(word) = self.firmware.word_at(pool) else { return };
        self.pools.insert(pool);
        match self.resolver.is_address(pool) {
            Some(true) => self.sees(site, To::Address(word), How::Takes),
            Some(false) => {}
            None => self.sees(site, To::Word(word), How::Takes),
        }
    }
}

fn immediate(first: u32, second: u32) -> u32 {
    (first & 15) << 12 | (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xff
}

/// The number in the lowest `bits`, with its sign.
fn sign(value: u32, bits: u32) -> i32 {
    (value << (32 - bits)) as i32 >> (32 - bits)
}
