//! System configuration controller (RM0360 section 9): memory at address 0, DMA requests to channels,
//! ports to EXTI lines.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::register::{bit, merge, part};
use crate::device::{Context, Create, Device, Size};
use crate::signal::SignalId;

const CFGR1: u32 = 0x00;
const EXTICR1: u32 = 0x08;
const EXTICR4: u32 = 0x14;
const CFGR2: u32 = 0x18;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Port letters by their number in EXTICR; empty where there is none.
    ports: Vec<String>,
    /// What MEM_MODE puts at address 0: the mode's number and the memory's address.
    memory: BTreeMap<String, u32>,
    /// DMA requests that a CFGR1 bit moves from one wire to another.
    #[serde(default)]
    route: Vec<Route>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Route {
    /// The request.
    signal: String,
    /// Bit in CFGR1.
    bit: u32,
    /// The wire that follows it while the bit is 0, and the one while it is 1; empty for none.
    to: [String; 2],
}

struct Switch {
    from: Wires,
    bit: u32,
    to: [Option<Wires>; 2],
}

/// A request and its acknowledge, which changes level each time.
#[derive(Clone, Copy)]
struct Wires {
    request: SignalId,
    acknowledge: SignalId,
}

impl Wires {
    fn new(name: &str, cx: &mut Create) -> Option<Wires> {
        (!name.is_empty()).then(|| Wires {
            request: cx.signal(name),
            acknowledge: cx.signal(&format!("{name}_ACK")),
        })
    }
}

struct Syscfg {
    /// Pins by port number and pin number.
    pins: Vec<[Option<SignalId>; 16]>,
    lines: [SignalId; 16],
    memory: Vec<(u32, u32)>,
    switches: Vec<Switch>,
    cfgr1: u32,
    cfgr2: u32,
    exticr: [u32; 4],
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, String> {
    let options: Options = cx.options()?;
    if options.ports.len() > 16 {
        return Err("ports: at most 16".to_owned());
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
        memory.push((mode.ok_or("memory: modes are 0 to 3")?, address));
    }
    let switches: Result<_, String> = options.route.iter().map(|r| switch(r, cx)).collect();
    let lines = std::array::from_fn(|n| cx.signal(&format!("EXTI{n}")));
    Ok(Box::new(Syscfg {
        pins,
        lines,
        memory,
        switches: switches?,
        cfgr1: 0,
        cfgr2: 0,
        exticr: [0; 4],
    }))
}

fn switch(route: &Route, cx: &mut Create) -> Result<Switch, String> {
    let from = Wires::new(&route.signal, cx).filter(|_| route.bit < 32);
    let from = from.ok_or("route: signal is a wire's name and bit is 0 to 31")?;
    let to = [Wires::new(&route.to[0], cx), Wires::new(&route.to[1], cx)];
    cx.listen(from.request);
    to.iter().flatten().for_each(|wires| cx.listen(wires.acknowledge));
    Ok(Switch { from, bit: route.bit, to })
}

impl Syscfg {
    /// The port that EXTICR picks for a line.
    fn port(&self, line: usize) -> usize {
        (self.exticr[line / 4] >> (4 * (line % 4)) & 0xf) as usize
    }

    fn update_line(&self, line: usize, cx: &mut Context) {
        let pin = self.pins.get(self.port(line)).and_then(|port| port[line]);
        let level = pin.is_some_and(|pin| cx.level(pin));
        cx.set_signal(self.lines[line], level);
    }

    fn update_switch(&self, switch: &Switch, cx: &mut Context) {
        let on = usize::from(bit(self.cfgr1, switch.bit));
        let level = cx.level(switch.from.request);
        if let Some(off) = switch.to[1 - on] {
            cx.set_signal(off.request, false);
        }
        if let Some(to) = switch.to[on] {
            cx.set_signal(to.request, level);
        }
    }

    fn apply(&self, cx: &mut Context) {
        (0..16).for_each(|line| self.update_line(line, cx));
        self.switches.iter().for_each(|switch| self.update_switch(switch, cx));
        let mode = self.cfgr1 & 3;
        match self.memory.iter().find(|(m, _)| *m == mode) {
            Some(&(_, target)) => cx.remap(0, target),
            None => cx.warn(format!("SYSCFG: the board has no memory for MEM_MODE = {mode}")),
        }
    }
}

impl Device for Syscfg {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        let word = match offset & !3 {
            CFGR1 => self.cfgr1,
            at @ EXTICR1..=EXTICR4 => self.exticr[((at - EXTICR1) / 4) as usize],
            CFGR2 => self.cfgr2,
            _ => return None,
        };
        Some(part(word, offset, size))
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        match offset & !3 {
            CFGR1 => self.cfgr1 = merge(self.cfgr1, offset, size, value),
            at @ EXTICR1..=EXTICR4 => {
                let register = &mut self.exticr[((at - EXTICR1) / 4) as usize];
                *register = merge(*register, offset, size, value) & 0xffff;
            }
            CFGR2 => self.cfgr2 = merge(self.cfgr2, offset, size, value) & 7,
            _ => return None,
        }
        self.apply(cx);
        Some(())
    }

    fn signal(&mut self, id: SignalId, _level: bool, cx: &mut Context) {
        if let Some(switch) = self.switches.iter().find(|s| s.from.request == id) {
            return self.update_switch(switch, cx);
        }
        let acknowledged = |s: &&Switch| s.to.iter().flatten().any(|to| to.acknowledge == id);
        if let Some(switch) = self.switches.iter().find(acknowledged) {
            let back = switch.from.acknowledge;
            return cx.set_signal(back, !cx.level(back));
        }
        for line in 0..16 {
            if self.pins.get(self.port(line)).is_some_and(|port| port[line] == Some(id)) {
                self.update_line(line, cx);
            }
        }
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.cfgr1, self.cfgr2, self.exticr) = (0, 0, [0; 4]);
        self.apply(cx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::rig::Rig;

    const BASE: u32 = 0x4001_0000;

    fn rig() -> Rig {
        Rig::new(
            "[[device]]\nname = 'SYSCFG'\nmodel = 'stm32-syscfg'\nbase = 0x4001_0000\nsize = 0x400\n\
             bus = 'apb'\n[device.options]\nports = ['A', 'B', '', 'D']\n\
             memory = { 0 = 0x0800_0000, 3 = 0x2000_0000 }\n\
             route = [{ signal = 'USART1_TX_DMA', bit = 9, to = ['TX_2', 'TX_4'] }]",
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

    #[test]
    fn a_dma_request_moves_to_its_other_channel() {
        let mut rig = rig();
        rig.set("USART1_TX_DMA", true);
        assert_eq!((rig.level("TX_2"), rig.level("TX_4")), (true, false));
        rig.write32(BASE + CFGR1, 1 << 9);
        assert_eq!((rig.level("TX_2"), rig.level("TX_4")), (false, true));
        rig.set("TX_4_ACK", true);
        assert!(rig.level("USART1_TX_DMA_ACK"), "the answer finds its way back");
        rig.set("USART1_TX_DMA", false);
        assert!(!rig.level("TX_4"));
    }
}
