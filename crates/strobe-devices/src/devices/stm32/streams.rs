//! The DMA controller of RM0090 (section 10): eight streams, each with a FIFO between two ports.
//!
//! The peripheral port and the memory port of the controller work side by side, each for one stream
//! at a time: arbitration and address computation, one access or burst, an acknowledge, as AN4031
//! describes it. Accesses hold their slave, so that the core waits if it wants the same one at that
//! time; the controller itself is taken to win at once. How long each part takes is board data,
//! with the defaults of [`Timing`]. Not modelled, and said so when firmware asks for it: a
//! peripheral as flow controller.
//!
//! Requests are levels on wires, acknowledged as by the other controller (`dma`). Which wires a
//! stream's channels are is the board file's table.

mod fifo;
mod stream;

#[cfg(test)]
mod tests;

use stream::{Direction, Job, Stream, cr};

use super::dma::{Request, Timing};
use crate::devices::common::register::{self, bit};
use strobe_sim::kernel::bus::Slave;
use strobe_sim::kernel::device::{Context, Create, Device, OptionError, Reading, Size};
use strobe_sim::kernel::memory::BusFault;
use strobe_sim::kernel::signal::SignalId;

/// LISR, HISR, LIFCR, HIFCR.
const STATUS: std::ops::Range<u32> = 0x00..0x08;
const CLEAR: std::ops::Range<u32> = 0x08..0x10;
/// The first stream's registers, and the distance to the next stream's.
const STREAMS: u32 = 0x10;
const STRIDE: u32 = 0x18;

const COUNT: usize = 8;
/// Where the flags of four streams are in their register.
const FLAG_SHIFTS: [u32; 4] = [0, 6, 16, 22];
const FLAG_MASK: u32 = 0x3d;

/// The controller in a board file.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// By channel and stream, the wires that request, several with spaces between them.
    requests: Vec<Vec<String>>,
    /// The peripheral port reaches devices on APB1 only, as that of DMA1 (2.1.1): no memory, so no
    /// copies.
    #[serde(default)]
    apb1_only: bool,
    #[serde(default)]
    timing: Timing,
}

/// Which of the controller's two ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Peripheral,
    Memory,
}

/// How far a port has come with what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing to do.
    Idle,
    /// The stream has been chosen and accesses its slave next.
    Granted(usize),
    /// The accesses have been made; the stream counts them when they are over.
    Moved(usize, Job),
    /// The bus is free; arbitration is next.
    Acknowledged,
}

/// One port.
#[derive(Debug, Clone, Copy)]
struct Port {
    side: Side,
    phase: Phase,
    /// When the phase is over.
    until: u64,
}

/// A DMA controller.
struct Dma {
    streams: [Stream; COUNT],
    /// By channel and stream.
    requests: Vec<Vec<Vec<Request>>>,
    apb1_only: bool,
    timing: Timing,
    ports: [Port; 2],
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    let table = &options.requests;
    if table.len() > COUNT || table.iter().any(|row| row.len() > COUNT) {
        return Err(OptionError::invalid("requests", "at most 8 channels of at most 8 streams"));
    }
    options.timing.check()?;
    let mut requests = Vec::new();
    for row in table {
        let mut wires = Vec::new();
        for names in row {
            let list = names.split_whitespace().map(|name| Request::parse(name, cx));
            wires.push(list.collect::<Result<Vec<Request>, OptionError>>()?);
        }
        requests.push(wires);
    }
    let port = |side| Port { side, phase: Phase::Idle, until: 0 };
    Ok(Box::new(Dma {
        streams: Default::default(),
        requests,
        apb1_only: options.apb1_only,
        timing: options.timing,
        ports: [port(Side::Peripheral), port(Side::Memory)],
    }))
}

impl Dma {
    /// The wires that request a stream.
    fn wires(&self, stream: usize) -> &[Request] {
        let row = self.requests.get(self.streams[stream].channel());
        row.and_then(|row| row.get(stream)).map_or(&[], Vec::as_slice)
    }

    fn is_requested(&self, stream: usize, cx: &Context) -> bool {
        let copies = self.streams[stream].way() == Direction::Copy;
        copies || self.wires(stream).iter().any(|request| request.is_high(cx))
    }

    /// What a port would do for a stream now.
    fn job(&self, side: Side, stream: usize) -> Option<Job> {
        match side {
            Side::Peripheral => self.streams[stream].peripheral_job(),
            Side::Memory => self.streams[stream].memory_job(),
        }
    }

    /// The stream a port serves next: the highest priority, then the lowest number (10.3.4).
    fn arbitrate(&self, side: Side, cx: &Context) -> Option<usize> {
        let asks = |stream: &usize| {
            let wanted = side == Side::Memory || self.is_requested(*stream, cx);
            wanted && self.job(side, *stream).is_some()
        };
        let waiting = (0..COUNT).filter(asks);
        waiting.min_by_key(|&i| (std::cmp::Reverse(self.streams[i].priority()), i))
    }

    /// Lets both ports go on as far as they can now, and asks for the cycle of what comes next.
    /// Each grant takes at least one cycle, so a request that never ends cannot stop time.
    fn run(&mut self, cx: &mut Context) {
        // What one port does can give the other something to do.
        while (0..self.ports.len()).any(|port| self.step(port, cx)) {}
        let busy = self.ports.iter().filter(|port| port.phase != Phase::Idle);
        match busy.map(|port| port.until).min() {
            Some(cycle) => cx.wake_at(cycle),
            None => cx.sleep(),
        }
    }

    /// Moves a port to its next phase if this one is over; false if nothing has changed.
    fn step(&mut self, index: usize, cx: &mut Context) -> bool {
        let Port { side, phase, until } = self.ports[index];
        if phase != Phase::Idle && until > cx.now() {
            return false;
        }
        let (next, cycles) = match phase {
            Phase::Idle | Phase::Acknowledged => {
                let granted = if cx.clocked() { self.arbitrate(side, cx) } else { None };
                match granted {
                    Some(stream) => (Phase::Granted(stream), self.timing.arbitration_cycles),
                    None => (Phase::Idle, 0),
                }
            }
            Phase::Granted(stream) => self.access(side, stream, cx),
            Phase::Moved(stream, job) => {
                self.count(side, stream, job, cx);
                (Phase::Acknowledged, self.timing.acknowledge_cycles)
            }
        };
        self.ports[index] = Port { side, phase: next, until: cx.now() + u64::from(cycles) };
        next != phase
    }

    fn access(&mut self, side: Side, stream: usize, cx: &mut Context) -> (Phase, u32) {
        // Switched off between the grant and the access: nothing is moved.
        let Some(job) = self.job(side, stream) else { return (Phase::Acknowledged, 0) };
        let cycles = job.beats * self.timing.access(job.address, cx);
        cx.occupy(job.address, cycles);
        let reachable =
            side == Side::Memory || !self.apb1_only || cx.slave_of(job.address) == Slave::Apb;
        if reachable && self.transfer(stream, job, cx).is_ok() {
            return (Phase::Moved(stream, job), cycles);
        }
        self.streams[stream].fail();
        (Phase::Acknowledged, cycles)
    }

    fn transfer(&mut self, stream: usize, job: Job, cx: &mut Context) -> Result<(), BusFault> {
        let stream = &mut self.streams[stream];
        for beat in 0..job.beats {
            let address = job.address.wrapping_add(beat * job.step);
            if job.write {
                cx.master_write(address, job.size, stream.pop(job.size))?;
            } else {
                stream.push(cx.master_read(address, job.size)?, job.size);
            }
        }
        Ok(())
    }

    fn count(&mut self, side: Side, stream: usize, job: Job, cx: &mut Context) {
        if side == Side::Memory {
            return self.streams[stream].memory_done(job);
        }
        for request in self.wires(stream) {
            request.acknowledge(cx);
        }
        self.streams[stream].peripheral_done(job);
    }

    fn publish_interrupts(&mut self, cx: &mut Context) {
        for (line, stream) in self.streams.iter_mut().enumerate() {
            cx.lose_requests(line, stream.flags.take_lost());
            cx.interrupt(line, stream.interrupts());
        }
    }

    /// Which stream and which of its registers an offset means.
    fn locate(offset: u32) -> Option<(usize, u32)> {
        let offset = offset.checked_sub(STREAMS)?;
        let stream = (offset / STRIDE) as usize;
        (stream < COUNT).then_some((stream, offset % STRIDE))
    }

    fn register(&self, offset: u32) -> Option<u32> {
        if STATUS.contains(&offset) {
            let four = &self.streams[offset as usize..][..4];
            let flags = four.iter().zip(FLAG_SHIFTS).map(|(s, shift)| s.flags.set << shift);
            return Some(flags.fold(0, std::ops::BitOr::bitor));
        }
        if CLEAR.contains(&offset) {
            return Some(0);
        }
        let (stream, register) = Dma::locate(offset)?;
        let stream = &self.streams[stream];
        Some(match register {
            0x00 => stream.cr,
            0x04 => stream.left,
            0x08 => stream.peripheral,
            0x0c => stream.memory[0],
            0x10 => stream.memory[1],
            _ => stream.fifo_control(),
        })
    }

    fn write_register(&mut self, offset: u32, value: u32, cx: &mut Context) {
        if CLEAR.contains(&offset) {
            let four = &mut self.streams[(offset - CLEAR.start) as usize..][..4];
            for (stream, shift) in four.iter_mut().zip(FLAG_SHIFTS) {
                stream.flags.set &= !(value >> shift & FLAG_MASK);
            }
        }
        let Some((stream, register)) = Dma::locate(offset) else { return };
        let stream = &mut self.streams[stream];
        match register {
            0x00 => {
                stream.configure(value);
                if stream.is_enabled() && bit(value, cr::PFCTRL) {
                    cx.warn_of(
                        "not-modelled",
                        format!("{}: the peripheral as flow controller is not modelled", cx.name()),
                    );
                }
            }
            0x0c => stream.set_memory(0, value),
            0x10 => stream.set_memory(1, value),
            0x14 => stream.set_fifo_control(value),
            // Count and addresses are fixed while the stream is on.
            _ if stream.is_enabled() => {}
            0x04 => stream.left = value & 0xffff,
            _ => stream.peripheral = value,
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
        self.write_register(offset & !3, register::merge(old, offset, size, value), cx);
        self.run(cx);
        self.publish_interrupts(cx);
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        self.run(cx);
        self.publish_interrupts(cx);
    }

    fn signal(&mut self, _: SignalId, _: bool, cx: &mut Context) {
        self.run(cx);
        self.publish_interrupts(cx);
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        self.run(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        self.streams = Default::default();
        self.ports.iter_mut().for_each(|port| port.phase = Phase::Idle);
        self.publish_interrupts(cx);
    }
}
