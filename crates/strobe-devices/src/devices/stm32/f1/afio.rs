//! Alternate function I/O (RM0008 section 9.4): ports to EXTI lines, and the remap bits that ports
//! look at.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::devices::common::register::{bit, merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, OptionError, Reading, Size};
use strobe_sim::kernel::signal::SignalId;

const EVCR: u32 = 0x00;
const MAPR: u32 = 0x04;
const EXTICR1: u32 = 0x08;
const EXTICR4: u32 = 0x14;
const MAPR2: u32 = 0x1c;

/// EVCR: the event output is on.
const EVCR_EVOE: u32 = 1 << 7;
/// MAPR: SWJ_CFG is write-only.
const MAPR_READABLE: u32 = !(7 << 24);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Port letters by their number in EXTICR.
    ports: Vec<String>,
    /// Wires that show MAPR bits to others, by bit number.
    #[serde(default)]
    wires: BTreeMap<String, String>,
}

struct Afio {
    /// Pins by port number and pin number.
    pins: Vec<[SignalId; 16]>,
    lines: [SignalId; 16],
    wires: Vec<(u32, SignalId)>,
    evcr: u32,
    mapr: u32,
    mapr2: u32,
    exticr: [u32; 4],
}

pub(in crate::devices::stm32) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    if options.ports.len() > 16 {
        return Err(OptionError::invalid("ports", "at most 16"));
    }
    let mut pin = |port: &str, n: usize| {
        let wire = cx.signal(&format!("P{port}{n}"));
        cx.listen(wire);
        wire
    };
    let pins = options.ports.iter().map(|port| std::array::from_fn(|n| pin(port, n))).collect();
    let mut wires = Vec::new();
    for (bit, name) in &options.wires {
        let bit = bit.parse().ok().filter(|b| *b < 32);
        let bit = bit.ok_or_else(|| OptionError::invalid("wires", "bits are 0 to 31"))?;
        wires.push((bit, cx.signal(name)));
    }
    let lines = std::array::from_fn(|n| cx.signal(&format!("EXTI{n}")));
    Ok(Box::new(Afio { pins, lines, wires, evcr: 0, mapr: 0, mapr2: 0, exticr: [0; 4] }))
}

impl Afio {
    /// The pin that EXTICR picks for a line.
    fn pin(&self, line: usize) -> Option<SignalId> {
        let port = self.exticr[line / 4] >> (4 * (line % 4)) & 0xf;
        self.pins.get(port as usize).map(|pins| pins[line])
    }

    fn update_line(&self, line: usize, cx: &mut Context) {
        let level = self.pin(line).is_some_and(|pin| cx.level(pin));
        cx.set_signal(self.lines[line], level);
    }

    fn apply(&self, cx: &mut Context) {
        (0..16).for_each(|line| self.update_line(line, cx));
        self.wires.iter().for_each(|&(n, wire)| cx.set_signal(wire, bit(self.mapr, n)));
    }
}

impl Device for Afio {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        let word = match offset & !3 {
            EVCR => self.evcr,
            MAPR => self.mapr & MAPR_READABLE,
            at @ EXTICR1..=EXTICR4 => self.exticr[((at - EXTICR1) / 4) as usize],
            MAPR2 => self.mapr2,
            _ => return None,
        };
        Some(part(word, offset, size))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        match offset & !3 {
            EVCR => {
                self.evcr = merge(self.evcr, offset, size, value) & 0xff;
                if self.evcr & EVCR_EVOE != 0 {
                    cx.warn_of("not-modelled", "AFIO: the event output is not modelled");
                }
            }
            MAPR => self.mapr = merge(self.mapr, offset, size, value),
            at @ EXTICR1..=EXTICR4 => {
                let register = &mut self.exticr[((at - EXTICR1) / 4) as usize];
                *register = merge(*register, offset, size, value) & 0xffff;
            }
            MAPR2 => self.mapr2 = merge(self.mapr2, offset, size, value),
            _ => return None,
        }
        self.apply(cx);
        Some(())
    }

    fn signal(&mut self, id: SignalId, _level: bool, cx: &mut Context) {
        // A pin has the number of its line.
        if let Some(line) = (0..16).find(|&line| self.pin(line) == Some(id)) {
            self.update_line(line, cx);
        }
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.evcr, self.mapr, self.mapr2, self.exticr) = (0, 0, 0, [0; 4]);
        self.apply(cx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Rig, apb_device};

    const BASE: u32 = 0x4001_0000;

    fn rig() -> Rig {
        let options = "ports = ['A', 'B', 'C']\nwires = { 2 = 'USART1_REMAP' }";
        Rig::new(&apb_device(("AFIO", "stm32f1-afio"), BASE, &[], options))
    }

    #[test]
    fn exticr_picks_the_port() {
        let mut rig = rig();
        rig.set("PC13", true);
        assert!(!rig.level("EXTI13"), "port A at reset");
        rig.write32(BASE + EXTICR4, 2 << 4);
        assert!(rig.level("EXTI13"));
        rig.write32(BASE + EXTICR4, 9 << 4);
        assert!(!rig.level("EXTI13"), "there is no such port");
    }

    #[test]
    fn remap_bits_are_wires() {
        let mut rig = rig();
        rig.write32(BASE + MAPR, 1 << 2 | 2 << 24);
        assert!(rig.level("USART1_REMAP"));
        assert_eq!(rig.read32(BASE + MAPR), 1 << 2, "SWJ_CFG reads as zero");
        rig.bus.reset();
        assert!(!rig.level("USART1_REMAP"));
    }
}
