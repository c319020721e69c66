//! System configuration controller (RM0360 section 9, RM0090 section 9): memory at address 0, ports
//! to EXTI lines, and bits that other devices look at.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::devices::common::register::{bit, merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, OptionError, Reading, Size};
use strobe_sim::kernel::signal::SignalId;

const CFGR1: u32 = 0x00;
const EXTICR1: u32 = 0x08;
const EXTICR4: u32 = 0x14;
const CFGR2: u32 = 0x18;
/// RM0090 only: peripheral mode and compensation cell. CFGR1 is called MEMRMP there.
const PMC: u32 = 0x04;
const CMPCR: u32 = 0x20;
/// MII_RMII_SEL and the bits of other F4 parts.
const PMC_WRITABLE: u32 = 0x0087_0000;
/// CMP_PD, which READY follows.
const CMPCR_PD: u32 = 1 << 0;
const CMPCR_READY: u32 = 1 << 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Port letters by their number in EXTICR; empty where there is none.
    ports: Vec<String>,
    /// What MEM_MODE puts at address 0: the mode's number and the memory's address.
    memory: BTreeMap<String, u32>,
    /// Wires that show CFGR1 bits to others, as the DMA controller's remap bits, by bit number.
    #[serde(default)]
    wires: BTreeMap<String, String>,
    /// Which registers there are.
    #[serde(default)]
    layout: Layout,
}

/// Which family's registers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Layout {
    /// RM0360: CFGR1, EXTICR1 to 4, CFGR2.
    #[default]
    F0,
    /// RM0090: MEMRMP, PMC, EXTICR1 to 4, CMPCR.
    F4,
}

struct Syscfg {
    /// Pins by port number and pin number.
    pins: Vec<[Option<SignalId>; 16]>,
    lines: [SignalId; 16],
    /// By MEM_MODE.
    memory: Vec<(u32, u32)>,
    /// CFGR1 bits that others see.
    wires: Vec<(u32, SignalId)>,
    /// The pin that EXTICR picks for each line.
    selected: [Option<SignalId>; 16],
    cfgr1: u32,
    cfgr2: u32,
    layout: Layout,
    pmc: u32,
    cmpcr: u32,
    exticr: [u32; 4],
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    if options.ports.len() > 16 {
        return Err(OptionError::invalid("ports", "at most 16"));
    }
    let mut pin = |port: &str, n: usize| {
        (!port.is_empty()).then(|| {
            let wire = cx.signal(&format!("P{port}{n}"));
            cx.listen(wire);
            wire
        })
    };
    let pins = options.ports.iter().map(|port| std::array::from_fn(|n| pin(port, n))).collect();
    let mut memory = Vec::new();
    for (mode, &address) in &options.memory {
        let mode = mode.parse().ok().filter(|m| *m < 4);
        let mode = mode.ok_or_else(|| OptionError::invalid("memory", "modes are 0 to 3"))?;
        memory.push((mode, address));
    }
    let mut wires = Vec::new();
    for (bit, name) in &options.wires {
        let bit = bit.parse().ok().filter(|b| *b < 32);
        let bit = bit.ok_or_else(|| OptionError::invalid("wires", "bits are 0 to 31"))?;
        wires.push((bit, cx.signal(name)));
    }
    let lines = std::array::from_fn(|n| cx.signal(&format!("EXTI{n}")));
    Ok(Box::new(Syscfg {
        pins,
        lines,
        memory,
        wires,
        selected: [None; 16],
        cfgr1: 0,
        cfgr2: 0,
        layout: options.layout,
        pmc: 0,
        cmpcr: 0,
        exticr: [0; 4],
    }))
}

impl Syscfg {
    /// The pin that EXTICR picks for a line.
    fn pin(&self, line: usize) -> Option<SignalId> {
        let port = self.exticr[line / 4] >> (4 * (line % 4)) & 0xf;
        self.pins.get(port as usize)?[line]
    }

    fn update_line(&self, line: usize, cx: &mut Context) {
        let level = self.selected[line].is_some_and(|pin| cx.level(pin));
        cx.set_signal(self.lines[line], level);
    }

    fn apply(&mut self, cx: &mut Context) {
        self.selected = std::array::from_fn(|line| self.pin(line));
        (0..16).for_each(|line| self.update_line(line, cx));
        self.wires.iter().for_each(|&(n, wire)| cx.set_signal(wire, bit(self.cfgr1, n)));
        let mode = self.cfgr1 & 3;
        match self.memory.iter().find(|(m, _)| *m == mode) {
            Some(&(_, target)) => cx.remap(0, target),
            None => cx.warn(format!("SYSCFG: the board has no memory for MEM_MODE = {mode}")),
        }
    }
}

impl Device for Syscfg {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        let f4 = self.layout == Layout::F4;
        let word = match offset & !3 {
            CFGR1 => self.cfgr1,
            at @ EXTICR1..=EXTICR4 => self.exticr[((at - EXTICR1) / 4) as usize],
            CFGR2 if !f4 => self.cfgr2,
            PMC if f4 => self.pmc,
            CMPCR if f4 => self.cmpcr | ((self.cmpcr & CMPCR_PD) * CMPCR_READY),
            _ => return None,
        };
        Some(part(word, offset, size))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let f4 = self.layout == Layout::F4;
        match offset & !3 {
            CFGR1 => self.cfgr1 = merge(self.cfgr1, offset, size, value),
            at @ EXTICR1..=EXTICR4 => {
                let register = &mut self.exticr[((at - EXTICR1) / 4) as usize];
                *register = merge(*register, offset, size, value) & 0xffff;
            }
            CFGR2 if !f4 => self.cfgr2 = merge(self.cfgr2, offset, size, value) & 7,
            PMC if f4 => self.pmc = merge(self.pmc, offset, size, value) & PMC_WRITABLE,
            CMPCR if f4 => self.cmpcr = merge(self.cmpcr, offset, size, value) & CMPCR_PD,
            _ => return None,
        }
        self.apply(cx);
        Some(())
    }

    fn signal(&mut self, id: SignalId, _level: bool, cx: &mut Context) {
        // A pin has the number of its line, so one line at most.
        if let Some(line) = self.selected.iter().position(|&pin| pin == Some(id)) {
            self.update_line(line, cx);
        }
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.cfgr1, self.cfgr2, self.exticr) = (0, 0, [0; 4]);
        (self.pmc, self.cmpcr) = (0, 0);
        self.apply(cx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::Rig;

    const BASE: u32 = 0x4001_0000;

    fn rig() -> Rig {
        Rig::new(
            "[[device]]\nname = 'SYSCFG'\nmodel = 'stm32-syscfg'\nbase = 0x4001_0000\n\
             size = 0x400\n\
             bus = 'apb'\n[device.options]\nports = ['A', 'B', '', 'D']\n\
             memory = { 0 = 0x0800_0000, 3 = 0x2000_0000 }\n\
             wires = { 9 = 'USART1_TX_DMA_RMP' }",
        )
    }

    /// RM0360 9.1.2: EXTICR1 picks the port of lines 0 to 3.
    #[test]
    fn exticr_picks_the_port() {
        let mut rig = rig();
        rig.set("PB2", true);
        assert!(!rig.level("EXTI2"), "port A at reset");
        rig.write32(BASE + EXTICR1, 1 << 8);
        assert!(rig.level("EXTI2"));
        rig.set("PB2", false);
        assert!(!rig.level("EXTI2"));
    }

    /// RM0360 9.1.1: MEM_MODE maps SRAM at 0, which is how a Cortex-M0 moves its vector table.
    #[test]
    fn ram_can_be_mapped_at_zero() {
        let mut rig = rig();
        rig.write32(0x2000_0004, 0x1234_5678);
        assert_eq!(rig.read32(4), 0xffff_ffff);
        rig.write32(BASE + CFGR1, 3);
        assert_eq!(rig.read32(4), 0x1234_5678);
        rig.bus.reset();
        assert_eq!(rig.read32(4), 0xffff_ffff);
    }

    /// RM0090 9.2: the compensation cell is ready when on, and there is no CFGR2.
    #[test]
    fn the_f4_has_other_registers() {
        let mut rig = Rig::new(
            "[[device]]\nname = 'SYSCFG'\nmodel = 'stm32-syscfg'\nbase = 0x4001_0000\n\
             size = 0x400\n\
             bus = 'apb'\n[device.options]\nlayout = 'f4'\nports = ['A']\n\
             memory = { 0 = 0x0800_0000 }",
        );
        rig.write32(BASE + CMPCR, 1);
        assert_eq!(rig.read32(BASE + CMPCR), 0x101);
        rig.write32(BASE + PMC, u32::MAX);
        assert_eq!(rig.read32(BASE + PMC), 0x0087_0000);
        rig.write32(BASE + CFGR2, 1);
        assert_eq!(rig.bus.unmodelled.touched().count(), 1);
    }

    #[test]
    fn configuration_bits_are_wires() {
        let mut rig = rig();
        assert!(!rig.level("USART1_TX_DMA_RMP"));
        rig.write32(BASE + CFGR1, 1 << 9);
        assert!(rig.level("USART1_TX_DMA_RMP"));
        rig.bus.reset();
        assert!(!rig.level("USART1_TX_DMA_RMP"));
    }
}
