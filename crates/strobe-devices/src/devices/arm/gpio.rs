//! The CMSDK's AHB GPIO (DDI 0479 3.2): sixteen pins, set and clear registers, masked access,
//! interrupts by level or edge.
//!
//! Wires: `<pins>0` to `<pins>15`, with the prefix of the board file. A pin that is no output and
//! that nobody drives reads low. Alternate functions hand a pin to a device whose wires are not
//! modelled: it is let go. Interrupt lines: one for all pins; with seventeen, also one for each
//! pin.

use serde::Deserialize;

use super::identity::Identity;
use crate::devices::common::register::{bit, merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, DrivenPins, OptionError, Reading, Size};
use strobe_sim::kernel::signal::SignalId;

const DATA: u32 = 0x00;
const DATAOUT: u32 = 0x04;
/// Pairs of a set and a clear register: output enable, alternate function, interrupt enable, type
/// and polarity.
const PAIRS: std::ops::Range<u32> = 0x10..0x38;
const INTSTATUS: u32 = 0x38;
const MASK_LOW: std::ops::Range<u32> = 0x400..0x800;
const MASK_HIGH: std::ops::Range<u32> = 0x800..0xc00;

/// Indices of the pairs.
const OUTPUT_ENABLE: usize = 0;
const ALTERNATE: usize = 1;
const INTERRUPT_ENABLE: usize = 2;
/// Set: by edge, clear: by level.
const BY_EDGE: usize = 3;
/// Set: rising or high, clear: falling or low.
const POLARITY: usize = 4;

const PINS: u32 = 0xffff;
const IDENTITY: Identity = Identity::cmsdk(0x20);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// What the pins' names begin with.
    pins: String,
}

struct Gpio {
    pins: [SignalId; 16],
    out: u32,
    pairs: [u32; 5],
    levels: u32,
    status: u32,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    let pins = std::array::from_fn(|n| cx.signal(&format!("{}{n}", options.pins)));
    pins.iter().for_each(|&pin| cx.signals.mark_pin(pin));
    Ok(Box::new(Gpio { pins, out: 0, pairs: [0; 5], levels: 0, status: 0 }))
}

impl Gpio {
    fn refresh(&mut self, cx: &mut Context) {
        let driven = self.pairs[OUTPUT_ENABLE] & !self.pairs[ALTERNATE];
        let before = self.levels;
        self.levels = 0;
        for (n, &pin) in (0..).zip(&self.pins) {
            let outside = cx.external(pin).unwrap_or(false);
            let level = if bit(driven, n) { bit(self.out, n) } else { outside };
            self.levels |= u32::from(level) << n;
            cx.set_pin(pin, level, bit(driven, n));
        }
        self.sense(before, cx);
    }

    /// Sets the flags of interrupts that the pins ask for.
    fn sense(&mut self, before: u32, cx: &mut Context) {
        let [.., enabled, by_edge, high] = self.pairs;
        let active = !(self.levels ^ high);
        let changed = self.levels ^ before;
        let again = self.status & enabled & active & changed & by_edge;
        self.status |= enabled & active & (changed | !by_edge) & PINS;
        cx.lose_requests(0, again.count_ones().into());
        (1..cx.interrupt_lines()).for_each(|line| {
            cx.lose_requests(line, bit(again, line as u32 - 1).into());
        });
        if cx.interrupt_lines() > 0 {
            cx.interrupt(0, self.status != 0);
        }
        (1..cx.interrupt_lines()).for_each(|line| {
            cx.interrupt(line, bit(self.status, line as u32 - 1));
        });
    }

    fn word(&self, register: u32) -> Option<u32> {
        Some(match register {
            DATA => self.levels,
            DATAOUT => self.out,
            INTSTATUS => self.status,
            _ if PAIRS.contains(&register) => self.pairs[((register - PAIRS.start) / 8) as usize],
            _ if MASK_LOW.contains(&register) => self.levels & (register - MASK_LOW.start) >> 2,
            _ if MASK_HIGH.contains(&register) => {
                self.levels & (register - MASK_HIGH.start) >> 2 << 8
            }
            _ => return IDENTITY.register(register),
        })
    }

    fn write_masked(&mut self, mask: u32, value: u32) {
        self.out = self.out & !mask | value & mask;
    }
}

impl Device for Gpio {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        Some(part(self.word(offset & !3)?, offset, size))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let register = offset & !3;
        self.word(register)?;
        let written = merge(0, offset, size, value) & PINS;
        match register {
            DATA | DATAOUT => self.out = merge(self.out, offset, size, value) & PINS,
            INTSTATUS => self.status &= !written,
            _ if PAIRS.contains(&register) => {
                let pair = &mut self.pairs[((register - PAIRS.start) / 8) as usize];
                *pair = if register & 4 == 0 { *pair | written } else { *pair & !written };
            }
            _ if MASK_LOW.contains(&register) => {
                self.write_masked((register - MASK_LOW.start) >> 2, written);
            }
            _ if MASK_HIGH.contains(&register) => {
                self.write_masked((register - MASK_HIGH.start) >> 2 << 8, written);
            }
            _ => {}
        }
        self.refresh(cx);
        Some(())
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.out, self.pairs, self.status) = (0, [0; 5], 0);
        self.refresh(cx);
    }

    fn driven_pins(&mut self) -> Option<&mut dyn DrivenPins> {
        Some(self)
    }
}

impl DrivenPins for Gpio {
    fn driven(&mut self, pin: SignalId, cx: &mut Context) {
        if self.pins.contains(&pin) {
            self.refresh(cx);
        }
    }
}

const _: () = assert!(INTERRUPT_ENABLE == 2 && BY_EDGE == 3 && POLARITY == 4);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Rig, apb_device};

    const BASE: u32 = 0x4001_0000;

    fn rig() -> Rig {
        with_lines(&[6])
    }

    fn with_lines(irqs: &[u16]) -> Rig {
        let gpio = apb_device(("GPIO0", "cmsdk-gpio"), BASE, irqs, "pins = 'P0_'");
        Rig::new(&gpio.replace("size = 0x400\n", "size = 0x1000\n"))
    }

    #[test]
    fn outputs_drive_their_pins() {
        let mut rig = rig();
        rig.write32(BASE + DATAOUT, 0x8001);
        assert!(!rig.level("P0_15"), "not an output yet");
        rig.write32(BASE + 0x10, 0x8000);
        assert!(rig.level("P0_15") && !rig.level("P0_0"));
        assert_eq!(rig.read32(BASE + DATA), 0x8000);
        rig.write32(BASE + 0x14, 0x8000);
        assert!(!rig.level("P0_15"));
    }

    #[test]
    fn masked_accesses_touch_their_bits() {
        let mut rig = rig();
        rig.write32(BASE + 0x10, 0xffff);
        rig.write32(BASE + MASK_LOW.start + (0x0f << 2), 0xff);
        rig.write32(BASE + MASK_HIGH.start + (0x81 << 2), 0xff00);
        assert_eq!(rig.read32(BASE + DATAOUT), 0x810f);
        assert_eq!(rig.read32(BASE + MASK_LOW.start + (0x18 << 2)), 0x08);
        assert_eq!(rig.read32(BASE + MASK_HIGH.start + (0x01 << 2)), 0x0100);
    }

    #[test]
    fn edges_and_levels_interrupt() {
        let mut rig = rig();
        // Pin 3 by rising edge, pin 4 by high level.
        rig.write32(BASE + 0x30, 0x18);
        rig.write32(BASE + 0x28, 0x08);
        rig.write32(BASE + 0x20, 0x18);
        assert!(!rig.irq(6));
        rig.drive("P0_3", Some(true));
        assert!(rig.irq(6));
        rig.write32(BASE + INTSTATUS, 0x08);
        assert!(!rig.irq(6), "an edge is over once cleared");
        rig.drive("P0_4", Some(true));
        rig.write32(BASE + INTSTATUS, 0x10);
        assert!(rig.irq(6), "a level is not");
        rig.drive("P0_4", Some(false));
        rig.write32(BASE + INTSTATUS, 0x10);
        assert!(!rig.irq(6));
    }

    #[test]
    fn edges_that_nobody_took_are_lost() {
        let mut rig = with_lines(&[6, 10, 11, 12]);
        // Pin 0 by high level, pins 1 and 2 by rising edge.
        rig.write32(BASE + 0x30, 0x07);
        rig.write32(BASE + 0x28, 0x06);
        rig.write32(BASE + 0x20, 0x07);
        for pin in ["P0_0", "P0_1", "P0_2", "P0_1", "P0_1", "P0_0"] {
            rig.drive(pin, Some(true));
            rig.drive(pin, Some(false));
        }
        let lost = [6, 10, 11, 12].map(|irq| rig.bus.lost_requests(irq));
        assert_eq!(lost, [2, 0, 2, 0], "a level that comes again is none");
        rig.write32(BASE + INTSTATUS, 0x07);
        rig.drive("P0_1", Some(true));
        assert_eq!(rig.bus.lost_requests(6), 2, "the flags were clear");
    }
}
