//! Extended interrupts and events controller (RM0360 section 11.2).
//!
//! The wires `EXTI0` to `EXTI15` come from the system configuration controller, which picks a port
//! for each.

use serde::Deserialize;

use crate::devices::common::register::{bit, merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, OptionError, Reading, Size};
use strobe_sim::kernel::signal::SignalId;

const IMR: u32 = 0x00;
const EMR: u32 = 0x04;
const RTSR: u32 = 0x08;
const FTSR: u32 = 0x0c;
const SWIER: u32 = 0x10;
const PR: u32 = 0x14;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// First and last EXTI line of each interrupt line, in the order of the device's `irq`.
    lines: Vec<[u32; 2]>,
    /// Lines with edge detection, a bit mask.
    configurable: u32,
    /// IMR at reset: internal lines are not masked.
    imr_reset: u32,
}

struct Exti {
    options: Options,
    inputs: Vec<(SignalId, bool)>,
    imr: u32,
    emr: u32,
    rtsr: u32,
    ftsr: u32,
    swier: u32,
    pr: u32,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    if options.lines.iter().any(|&[first, last]| first > last || last > 31) {
        return Err(OptionError::invalid(
            "lines",
            "each is [first, last] with first <= last <= 31",
        ));
    }
    let mut input = |n| {
        let wire = cx.signal(&format!("EXTI{n}"));
        cx.listen(wire);
        (wire, false)
    };
    let inputs = (0..16).map(&mut input).collect();
    Ok(Box::new(Exti { options, inputs, imr: 0, emr: 0, rtsr: 0, ftsr: 0, swier: 0, pr: 0 }))
}

impl Exti {
    fn trigger(&mut self, lines: u32, cx: &mut Context) {
        let again = self.pr & lines & self.imr;
        for (irq, &[first, last]) in self.options.lines.iter().enumerate() {
            let lost = (first..=last).filter(|line| again >> line & 1 != 0).count();
            cx.lose_requests(irq, lost as u64);
        }
        self.pr |= lines;
        if self.emr & lines != 0 {
            cx.send_event();
        }
        self.update(cx);
    }

    /// Lines 16 and above are not of pins.
    fn hear(&self, cx: &mut Context) {
        cx.hear_edges((self.rtsr | self.ftsr) & 0xffff != 0);
    }

    fn update(&self, cx: &mut Context) {
        let pending = self.pr & self.imr;
        for (irq, &[first, last]) in self.options.lines.iter().enumerate() {
            cx.interrupt(irq, (first..=last).any(|line| bit(pending, line)));
        }
    }
}

impl Device for Exti {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        let word = match offset & !3 {
            IMR => self.imr,
            EMR => self.emr,
            RTSR => self.rtsr,
            FTSR => self.ftsr,
            SWIER => self.swier,
            PR => self.pr,
            _ => return None,
        };
        Some(part(word, offset, size))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let edges = self.options.configurable;
        let written = merge(0, offset, size, value);
        match offset & !3 {
            IMR => self.imr = merge(self.imr, offset, size, value),
            EMR => self.emr = merge(self.emr, offset, size, value),
            RTSR => {
                self.rtsr = merge(self.rtsr, offset, size, value) & edges;
                self.hear(cx);
            }
            FTSR => {
                self.ftsr = merge(self.ftsr, offset, size, value) & edges;
                self.hear(cx);
            }
            SWIER => {
                // 11.3.5: a bit that goes from 0 to 1 makes its line pending if it is enabled; it
                // is cleared with the pending bit.
                let new = written & edges & !self.swier;
                self.swier |= new;
                self.trigger(new & (self.imr | self.emr), cx);
            }
            PR => {
                self.pr &= !written;
                self.swier &= !written;
            }
            _ => return None,
        }
        self.update(cx);
        Some(())
    }

    fn signal(&mut self, id: SignalId, level: bool, cx: &mut Context) {
        let Some(line) = self.inputs.iter().position(|&(wire, _)| wire == id) else { return };
        let before = std::mem::replace(&mut self.inputs[line].1, level);
        let sensitive = if level { self.rtsr } else { self.ftsr };
        if before != level && bit(sensitive, line as u32) {
            self.trigger(1 << line, cx);
        }
    }

    fn reset(&mut self, cx: &mut Context) {
        self.imr = self.options.imr_reset;
        (self.emr, self.rtsr, self.ftsr, self.swier, self.pr) = (0, 0, 0, 0, 0);
        self.hear(cx);
        self.update(cx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::Rig;

    const BASE: u32 = 0x4001_0400;

    fn rig() -> Rig {
        Rig::new(
            "[[device]]\nname = 'EXTI'\nmodel = 'stm32-exti'\nbase = 0x4001_0400\nsize = 0x400\n\
             bus = 'apb'\nirq = [5, 6, 7]\noptions.lines = [[0, 1], [2, 3], [4, 15]]\n\
             options.configurable = 0x7b_ffff\noptions.imr_reset = 0x0f94_0000",
        )
    }

    #[test]
    fn edges_make_lines_pending_until_cleared() {
        let mut rig = rig();
        rig.write32(BASE + RTSR, 1 << 3);
        rig.write32(BASE + FTSR, 1 << 13);
        rig.write32(BASE + IMR, 1 << 3 | 1 << 13);
        rig.set("EXTI3", true);
        rig.set("EXTI13", true);
        assert_eq!((rig.irq(5), rig.irq(6), rig.irq(7)), (false, true, false));
        rig.set("EXTI13", false);
        assert!(rig.irq(7));
        assert_eq!(rig.read32(BASE + PR), 1 << 3 | 1 << 13);
        rig.write32(BASE + PR, 1 << 13);
        assert_eq!((rig.irq(6), rig.irq(7)), (true, false));
    }

    #[test]
    fn a_masked_line_is_pending_but_asks_for_nothing() {
        let mut rig = rig();
        rig.write32(BASE + RTSR, 1);
        rig.set("EXTI0", true);
        assert_eq!(rig.read32(BASE + PR), 1);
        assert!(!rig.irq(5));
        rig.write32(BASE + IMR, 1);
        assert!(rig.irq(5));
    }

    /// RM0360 11.3.5.
    #[test]
    fn software_triggers_an_enabled_line_once() {
        let mut rig = rig();
        rig.write32(BASE + SWIER, 2);
        assert_eq!(rig.read32(BASE + PR), 0, "not enabled");
        rig.write32(BASE + PR, 2);
        rig.write32(BASE + IMR, 2);
        rig.write32(BASE + SWIER, 2);
        assert!(rig.irq(5));
        rig.write32(BASE + PR, 2);
        assert_eq!((rig.read32(BASE + SWIER), rig.irq(5)), (0, false));
    }

    #[test]
    fn an_event_line_wakes_without_interrupt() {
        let mut rig = rig();
        rig.write32(BASE + RTSR, 1 << 9);
        rig.write32(BASE + EMR, 1 << 9);
        rig.set("EXTI9", true);
        assert!(rig.bus.requests.event);
        assert!(!rig.irq(7));
    }
}
