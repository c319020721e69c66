//! The DMA controller of RM0360 (section 10): channels that move data without the core.
//!
//! A beat takes, as AN2548 describes it, arbitration and address computation, one read, one write
//! and an acknowledge, all counted in core cycles from the cycle in which a request is seen. The
//! read and the write each hold their slave, so that the core waits if it wants the same one at
//! that time; the controller itself is taken to win at once. How long each part takes is board
//! data, with the defaults of [`Timing`].
//!
//! Requests are levels on wires. After a beat the wire `<REQUEST>_ACK` changes level for sources
//! that cannot see from the access itself that they were served.

mod channel;
mod flags;

#[cfg(test)]
mod tests;

use channel::{Channel, flag};
pub(super) use flags::Flags;

use crate::devices::common::register;
use strobe_sim::kernel::bus::Slave;
use strobe_sim::kernel::device::{Context, Create, Device, OptionError, Reading, Size};
use strobe_sim::kernel::signal::SignalId;

const ISR: u32 = 0x00;
const IFCR: u32 = 0x04;
/// The first channel's registers, and the distance to the next channel's.
const CHANNELS: u32 = 0x08;
const STRIDE: u32 = 0x14;

/// Most channels a controller has room for in ISR.
const MAX_CHANNELS: usize = 7;

/// The controller in a board file.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Per channel, the request wires that it serves: `"SPI1_TX_DMA"`, or
    /// `"USART1_TX_DMA when WIRE"`, `"... unless WIRE"` where a wire remaps the request.
    requests: Vec<Vec<String>>,
    /// Per channel, the index of its interrupt line.
    irq_lines: Vec<usize>,
    #[serde(default)]
    timing: Timing,
}

/// Cycles of the parts of a beat.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Timing {
    /// Request sampling, arbitration and address computation, in core cycles; at least 1.
    pub(super) arbitration_cycles: u32,
    /// An access to memory or an AHB device without wait states, in core cycles.
    ahb_cycles: u32,
    /// An access to an APB device, in APB cycles.
    apb_cycles: u32,
    /// From the end of the write until the next arbitration, in core cycles.
    pub(super) acknowledge_cycles: u32,
}

impl Default for Timing {
    fn default() -> Self {
        Timing { arbitration_cycles: 2, ahb_cycles: 1, apb_cycles: 2, acknowledge_cycles: 1 }
    }
}

impl Timing {
    /// Whether the figures can be.
    pub(super) fn check(&self) -> Result<(), OptionError> {
        let parts = [self.ahb_cycles, self.apb_cycles, self.acknowledge_cycles];
        if self.arbitration_cycles == 0 || parts.iter().any(|&cycles| cycles > 1000) {
            return Err(OptionError::limit(
                "arbitration_cycles",
                "must be at least 1, the others at most 1000",
            ));
        }
        Ok(())
    }

    /// Core cycles of one access.
    pub(super) fn access(&self, address: u32, cx: &Context) -> u32 {
        match cx.slave_of(address) {
            Slave::Flash => self.ahb_cycles + u32::from(cx.flash_wait_states()),
            Slave::Ram | Slave::Ahb => self.ahb_cycles,
            Slave::Apb | Slave::Apb2 => self.apb_cycles * cx.divider_of(address),
        }
    }
}

/// A wire that can request a channel.
#[derive(Debug)]
pub(super) struct Request {
    wire: SignalId,
    acknowledge: SignalId,
    /// Counts only while this wire has this level.
    condition: Option<(SignalId, bool)>,
}

impl Request {
    pub(super) fn parse(text: &str, cx: &mut Create) -> Result<Self, OptionError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (name, condition) = match words[..] {
            [name] => (name, None),
            [name, "when", wire] => (name, Some((wire, true))),
            [name, "unless", wire] => (name, Some((wire, false))),
            _ => {
                let expected = "expected WIRE [when|unless WIRE]";
                return Err(OptionError::text("request", text, expected));
            }
        };
        let condition = condition.map(|(wire, level)| (cx.signal(wire), level));
        let request = Request {
            wire: cx.signal(name),
            acknowledge: cx.signal(&format!("{name}_ACK")),
            condition,
        };
        cx.listen(request.wire);
        condition.iter().for_each(|(wire, _)| cx.listen(*wire));
        Ok(request)
    }

    pub(super) fn is_high(&self, cx: &Context) -> bool {
        cx.level(self.wire) && self.condition.is_none_or(|(wire, level)| cx.level(wire) == level)
    }
}

impl Request {
    /// Shows the source, if it is asking, that it has been served.
    pub(super) fn acknowledge(&self, cx: &mut Context) {
        if self.is_high(cx) {
            let level = cx.level(self.acknowledge);
            cx.set_signal(self.acknowledge, !level);
        }
    }
}

/// How far the current beat has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing is requested.
    Idle,
    /// The channel has been chosen and reads next.
    Granted(usize),
    /// The channel has read the value and writes next.
    Loaded(usize, u32),
    /// The write has been made; the channel counts it when the access is over.
    Stored(usize),
    /// The bus is free; arbitration is next.
    Acknowledged,
}

/// A DMA controller.
struct Dma {
    channels: Vec<Channel>,
    requests: Vec<Vec<Request>>,
    irq_lines: Vec<usize>,
    timing: Timing,
    phase: Phase,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    let count = options.requests.len();
    if count == 0 || count > MAX_CHANNELS || options.irq_lines.len() != count {
        return Err(OptionError::limit(
            "requests and irq_lines",
            format!("need one entry for each of 1 to {MAX_CHANNELS} channels"),
        ));
    }
    let timing = options.timing;
    timing.check()?;
    let parse = |list: &Vec<String>| list.iter().map(|text| Request::parse(text, cx)).collect();
    let requests = options.requests.iter().map(parse).collect::<Result<_, OptionError>>()?;
    Ok(Box::new(Dma {
        channels: vec![Channel::default(); count],
        requests,
        irq_lines: options.irq_lines,
        timing,
        phase: Phase::Idle,
    }))
}

impl Dma {
    /// The channel to serve: the highest priority, then the lowest number (RM0360, "Arbiter").
    fn arbitrate(&self, cx: &Context) -> Option<usize> {
        let requested = |i: usize| {
            let channel = &self.channels[i];
            channel.is_armed()
                && (channel.is_memory_to_memory() || self.requests[i].iter().any(|r| r.is_high(cx)))
        };
        let waiting = (0..self.channels.len()).filter(|&i| requested(i));
        waiting.min_by_key(|&i| (std::cmp::Reverse(self.channels[i].priority()), i))
    }

    /// Goes on by one part of a beat and asks for the cycle of the next. Each beat takes at least
    /// one cycle, so a request that never ends cannot stop time.
    fn step(&mut self, cx: &mut Context) {
        let wait = match self.phase {
            Phase::Idle | Phase::Acknowledged => {
                let granted = if cx.clocked() { self.arbitrate(cx) } else { None };
                let Some(channel) = granted else {
                    self.phase = Phase::Idle;
                    return;
                };
                self.phase = Phase::Granted(channel);
                self.timing.arbitration_cycles
            }
            Phase::Granted(channel) => self.load(channel, cx),
            Phase::Loaded(channel, value) => self.store(channel, value, cx),
            Phase::Stored(channel) => {
                self.channels[channel].complete();
                self.acknowledge(channel, cx);
                self.phase = Phase::Acknowledged;
                self.timing.acknowledge_cycles
            }
        };
        cx.wake_at(cx.now() + u64::from(wait));
    }

    fn load(&mut self, channel: usize, cx: &mut Context) -> u32 {
        // Switched off between the grant and the access: nothing is moved.
        if !self.channels[channel].is_armed() {
            self.phase = Phase::Acknowledged;
            return 0;
        }
        let (from, _) = self.channels[channel].ends();
        let cycles = self.timing.access(from.address, cx);
        cx.occupy(from.address, cycles);
        match cx.master_read(from.address, from.size) {
            Ok(value) => self.phase = Phase::Loaded(channel, value),
            Err(_) => self.fail(channel),
        }
        cycles
    }

    fn store(&mut self, channel: usize, value: u32, cx: &mut Context) -> u32 {
        let (_, to) = self.channels[channel].ends();
        let cycles = self.timing.access(to.address, cx);
        cx.occupy(to.address, cycles);
        // Wider destinations are filled with zeros, narrower ones take the low part (RM0360,
        // "Programmable data width").
        match cx.master_write(to.address, to.size, value & to.size.mask()) {
            Ok(()) => self.phase = Phase::Stored(channel),
            Err(_) => self.fail(channel),
        }
        cycles
    }

    fn fail(&mut self, channel: usize) {
        self.channels[channel].fail();
        self.phase = Phase::Acknowledged;
    }

    fn acknowledge(&self, channel: usize, cx: &mut Context) {
        self.requests[channel].iter().for_each(|request| request.acknowledge(cx));
    }

    fn publish_interrupts(&mut self, cx: &mut Context) {
        for (channel, &line) in self.channels.iter_mut().zip(&self.irq_lines) {
            cx.lose_requests(line, channel.flags.take_lost());
        }
        for &line in &self.irq_lines {
            let asks = |(channel, &on): (&Channel, &usize)| on == line && channel.interrupts();
            cx.interrupt(line, self.channels.iter().zip(&self.irq_lines).any(asks));
        }
    }

    /// Which channel and which of its registers an offset means.
    fn locate(&self, offset: u32) -> Option<(usize, u32)> {
        let offset = offset.checked_sub(CHANNELS)?;
        let (channel, register) = ((offset / STRIDE) as usize, offset % STRIDE);
        (channel < self.channels.len()).then_some((channel, register))
    }

    fn register(&self, offset: u32) -> Option<u32> {
        if offset == ISR {
            let nibbles = (0u32..).zip(&self.channels).map(|(i, c)| c.status() << (4 * i));
            return Some(nibbles.fold(0, std::ops::BitOr::bitor));
        }
        if offset == IFCR {
            return Some(0);
        }
        let (channel, register) = self.locate(offset)?;
        let channel = &self.channels[channel];
        Some(match register {
            0x00 => channel.ccr,
            0x04 => channel.left,
            0x08 => channel.peripheral,
            0x0c => channel.memory,
            _ => 0,
        })
    }

    fn write_register(&mut self, offset: u32, value: u32) {
        if offset == IFCR {
            (0u32..).zip(&mut self.channels).for_each(|(i, c)| c.clear(value >> (4 * i) & 0xf));
        }
        let Some((channel, register)) = self.locate(offset) else { return };
        let channel = &mut self.channels[channel];
        match register {
            0x00 => channel.configure(value),
            // Count and addresses are fixed while the channel is on.
            _ if channel.is_enabled() => {}
            0x04 => channel.left = value & 0xffff,
            0x08 => channel.peripheral = value,
            0x0c => channel.memory = value,
            _ => {}
        }
    }

    fn wake_if_idle(&self, cx: &mut Context) {
        if self.phase == Phase::Idle {
            cx.wake_at(cx.now());
        }
    }
}

impl Device for Dma {
    fn read(&mut self, offset: u32, size: Size, _: &mut Context) -> Option<u32> {
        Some(register::part(self.register(offset & !3)?, offset, size))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let old = self.register(offset & !3)?;
        self.write_register(offset & !3, register::merge(old, offset, size, value));
        self.publish_interrupts(cx);
        self.wake_if_idle(cx);
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        self.step(cx);
        self.publish_interrupts(cx);
    }

    fn signal(&mut self, _: SignalId, _: bool, cx: &mut Context) {
        // While a beat is under way the levels are looked at when it ends.
        self.wake_if_idle(cx);
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        self.wake_if_idle(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        self.channels.fill(Channel::default());
        self.phase = Phase::Idle;
        self.publish_interrupts(cx);
    }
}

// The interrupt flags follow the global one, and their enables are in the same order.
const _: () = assert!(flag::COMPLETE == 2 && flag::HALF == 4 && flag::ERROR == 8);
