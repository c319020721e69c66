//! Random number generator (RM0090 section 24), deterministic: the same numbers in every run, from
//! a seed that is board data.
//!
//! A number takes 40 periods of the 48 MHz clock (24.3.1), without which there is none.

use serde::Deserialize;

use crate::devices::common::register::{bit, merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, OptionError, Reading, Size};

const CR: u32 = 0x00;
const SR: u32 = 0x04;
const DR: u32 = 0x08;

const CR_RNGEN: u32 = 2;
const CR_IE: u32 = 3;
const CR_WRITABLE: u32 = 1 << CR_RNGEN | 1 << CR_IE;
const SR_DRDY: u32 = 1 << 0;
/// The clock is too slow: now, and since the flag was cleared.
const SR_CECS: u32 = 1 << 1;
const SR_CEIS: u32 = 1 << 5;
/// CEIS and SEIS are cleared by writing 0.
const SR_CLEARABLE: u32 = SR_CEIS | 1 << 6;

/// Periods of the 48 MHz clock for a number.
const PERIODS: u64 = 40;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Where the sequence of numbers begins.
    #[serde(default)]
    seed: u32,
}

struct Rng {
    /// The generator's state, which resets leave alone: a firmware that resets it does not see the
    /// same numbers again.
    state: u64,
    cr: u32,
    sr: u32,
    number: u32,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { seed } = cx.options()?;
    Ok(Box::new(Rng { state: seed.into(), cr: 0, sr: 0, number: 0 }))
}

impl Rng {
    /// SplitMix64 (Steele, Lea, Flood 2014): every seed is as good as any other.
    fn next_number(&mut self) -> u32 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = self.state;
        let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z >> 32) as u32
    }

    /// Begins the next number if one is wanted and the clock is there.
    fn begin(&mut self, cx: &mut Context) {
        let core_hz = u64::from(cx.clocks().core_hz());
        let hz = cx.clocks().kernel_hz(super::PLL48).map_or(0, u64::from);
        // 24.3.2: the clock must be at least a sixteenth of the core's.
        let too_slow = hz * 16 < core_hz;
        let on = bit(self.cr, CR_RNGEN);
        self.sr &= !SR_CECS;
        if on && too_slow {
            self.sr |= SR_CECS | SR_CEIS;
        }
        if on && !too_slow && self.sr & SR_DRDY == 0 {
            cx.wake_at(cx.now() + (PERIODS * core_hz).div_ceil(hz));
        } else {
            cx.sleep();
        }
    }

    fn publish(&self, cx: &mut Context) {
        let asks = self.sr & (SR_DRDY | SR_CLEARABLE) != 0;
        cx.interrupt(0, bit(self.cr, CR_IE) && asks);
    }
}

impl Device for Rng {
    fn read(&mut self, offset: u32, size: Size, cx: &mut Context) -> Option<u32> {
        let word = match offset & !3 {
            CR => self.cr,
            SR => self.sr,
            // 24.4.3: zero unless ready.
            DR if self.sr & SR_DRDY == 0 => 0,
            DR => {
                self.sr &= !SR_DRDY;
                self.begin(cx);
                self.publish(cx);
                self.number
            }
            _ => return None,
        };
        Some(part(word, offset, size))
    }

    fn reading(&mut self, offset: u32, _: Size, _: &mut Context) -> Reading {
        match offset & !3 {
            // Each read takes the number.
            DR => Reading::Unknown,
            _ => Reading::FIXED,
        }
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        match offset & !3 {
            CR => {
                let was_on = bit(self.cr, CR_RNGEN);
                self.cr = merge(self.cr, offset, size, value) & CR_WRITABLE;
                if bit(self.cr, CR_RNGEN) != was_on {
                    self.sr &= !SR_DRDY;
                    self.begin(cx);
                }
            }
            SR => self.sr &= merge(u32::MAX, offset, size, value) | !SR_CLEARABLE,
            DR => {}
            _ => return None,
        }
        self.publish(cx);
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        self.number = self.next_number();
        self.sr |= SR_DRDY;
        self.publish(cx);
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        self.begin(cx);
        self.publish(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.cr, self.sr, self.number) = (0, 0, 0);
        self.publish(cx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::Rig;

    const BASE: u32 = 0x5006_0800;

    fn rig(seed: u32) -> Rig {
        let mut rig = Rig::new(&format!(
            "[[device]]\nname = 'RNG'\nmodel = 'stm32-rng'\nbase = 0x5006_0800\nsize = 0x400\n\
             bus = 'ahb'\nirq = [3]\noptions.seed = {seed}"
        ));
        rig.bus.clocks.set_core_hz(0, 168_000_000);
        rig.bus.clocks.set_kernel_hz("PLL48", Some(48_000_000));
        rig
    }

    fn numbers(rig: &mut Rig, count: usize) -> Vec<u32> {
        rig.write32(BASE, 1 << CR_RNGEN | 1 << CR_IE);
        (0..count)
            .map(|_| {
                rig.run_to_irq(3, u64::MAX - 1).unwrap();
                rig.read32(BASE + DR)
            })
            .collect()
    }

    #[test]
    fn numbers_differ_and_come_again_in_the_next_run() {
        let first = numbers(&mut rig(1), 100);
        let mut distinct = first.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 100);
        assert_eq!(numbers(&mut rig(1), 100), first);
        assert_ne!(numbers(&mut rig(2), 100), first);
    }

    #[test]
    fn a_number_takes_forty_periods_of_its_clock() {
        let mut rig = rig(0);
        rig.write32(BASE, 1 << CR_RNGEN);
        rig.run_to(139);
        assert_eq!((rig.read32(BASE + SR), rig.read32(BASE + DR)), (0, 0));
        rig.run_to(140);
        assert_eq!(rig.read32(BASE + SR), SR_DRDY);
        rig.run_to(1000);
        assert_ne!(rig.read32(BASE + DR), 0);
        assert_eq!(rig.read32(BASE + SR), 0);
        rig.run_to(1140);
        assert_eq!(rig.read32(BASE + SR), SR_DRDY);
    }

    /// 24.3.2.
    #[test]
    fn without_its_clock_it_reports_it() {
        let mut rig = rig(0);
        rig.bus.clocks.set_kernel_hz("PLL48", None);
        rig.write32(BASE, 1 << CR_RNGEN | 1 << CR_IE);
        rig.run_to(10_000);
        assert_eq!((rig.read32(BASE + SR), rig.irq(3)), (SR_CECS | SR_CEIS, true));
        rig.bus.clocks.set_kernel_hz("PLL48", Some(48_000_000));
        rig.bus.clocks_dirty = true;
        rig.bus.settle();
        rig.write32(BASE + SR, 0);
        assert_eq!((rig.read32(BASE + SR), rig.irq(3)), (0, false));
        rig.advance(140);
        assert!(rig.irq(3));
    }
}
