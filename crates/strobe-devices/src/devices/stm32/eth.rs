//! Ethernet MAC with its DMA (RM0090 section 33) and the transceiver that the board has.
//!
//! Modelled: the management interface and its timing, both descriptor rings (rings and chains,
//! enhanced format), checksum offload, address filters, transmission at the wire's pace,
//! interrupts. At the other end of the cable is nobody, or (`backend = "loopback"`) a plug that
//! returns every frame. Not modelled: flow control, collisions, time stamps and counters (PTP,
//! MMC), wake-up, VLAN filters; and that the DMA's accesses take the bus from the core. A frame is
//! read when its turn comes and written when it has arrived, all at once.

mod checksum;
mod filter;
mod registers;
mod ring;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use registers::{
    DMABMR, DMACHRDR, DMACHTDR, DMAIER, DMAMFBOCR, DMAOMR, DMARDLAR, DMARPDR, DMASR, DMATDLAR,
    DMATPDR, MACCR, MACMIIAR, MACMIIDR, Registers, dmabmr, dmaomr, dmasr, maccr,
};
use ring::{Fetched, Outgoing, Ring, tdes0};

use crate::devices::common::ethernet::phy::Phy;
use crate::devices::common::ethernet::{Cable, MANAGEMENT_CLOCKS, OVERHEAD, SHORTEST};
use crate::devices::common::register::{bit, merge, part};
use strobe_sim::kernel::device::ethernet::Backend;
use strobe_sim::kernel::device::{Context, Create, Device, NetworkEnd, OptionError, Reading, Size};
use strobe_sim::kernel::memory::BusFault;

/// Bytes that the receive FIFO holds (33.1.1).
const RECEIVE_FIFO: usize = 2048;
/// A software reset ends when all clocks have seen it, among them the slow one of the transceiver.
const RESET_NS: u64 = 1_000;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct Options {
    phy: Phy,
    backend: Backend,
}

struct Eth {
    phy: Phy,
    cable: Cable,
    registers: Registers,
    /// DMASR's flags.
    status: u32,
    transmit: Ring,
    receive: Ring,
    /// Waits for the firmware to hand over a descriptor and poll.
    transmit_suspended: bool,
    receive_suspended: bool,
    sending: Option<(Outgoing, u64)>,
    /// Frames that have arrived and wait for a descriptor.
    fifo: VecDeque<(Vec<u8>, u32)>,
    missed: u32,
    management_until: Option<u64>,
    reset_until: Option<u64>,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { phy, backend } = cx.options()?;
    if phy.address > 31 {
        return Err(OptionError::invalid("phy.address", "0 to 31"));
    }
    Ok(Box::new(Eth {
        phy,
        cable: Cable::new(backend),
        registers: Registers::reset(),
        status: 0,
        transmit: Ring::new(0, 16),
        receive: Ring::new(0, 16),
        transmit_suspended: false,
        receive_suspended: false,
        sending: None,
        fifo: VecDeque::new(),
        missed: 0,
        management_until: None,
        reset_until: None,
    }))
}

fn now_ns(cx: &Context) -> u64 {
    cx.clocks().nanoseconds_at(cx.now())
}

impl Eth {
    fn is_set(&self, register: u32, n: u32) -> bool {
        bit(self.registers.get(register), n)
    }

    /// Everything but the transceiver to its reset state; DMABMR.SR stays set for a while.
    fn restart(&mut self, cx: &mut Context) {
        self.registers = Registers::reset();
        (self.transmit, self.receive) = (Ring::new(0, 16), Ring::new(0, 16));
        (self.transmit_suspended, self.receive_suspended) = (false, false);
        (self.status, self.missed, self.sending, self.management_until) = (0, 0, None, None);
        self.fifo.clear();
        let end = cx.clocks().cycle_at_nanoseconds(now_ns(cx) + RESET_NS);
        self.reset_until = Some(end);
    }

    /// Sets flags of DMASR, and their summary if they are enabled.
    fn raise(&mut self, flags: u32) {
        self.status |= flags;
        self.summarise();
    }

    fn summarise(&mut self) {
        let enabled = self.status & self.registers.get(DMAIER);
        self.status |= if enabled & dmasr::NORMAL != 0 { dmasr::NIS } else { 0 };
        self.status |= if enabled & dmasr::ABNORMAL != 0 { dmasr::AIS } else { 0 };
    }

    /// A bus error stops both processes until they are set up anew (33.8.4, FBES).
    fn check(&mut self, result: Result<(), BusFault>) {
        if result.is_err() {
            self.registers.set_bit(DMAOMR, dmaomr::ST, false);
            self.registers.set_bit(DMAOMR, dmaomr::SR, false);
            self.raise(dmasr::FBES);
        }
    }

    /// Lets everything happen that is due by now.
    fn run(&mut self, cx: &mut Context) {
        let now = cx.now();
        if self.reset_until.is_some_and(|until| until <= now) {
            self.reset_until = None;
            self.registers.set_bit(DMABMR, dmabmr::SR, false);
        }
        if self.management_until.is_some_and(|until| until <= now) {
            self.management_until = None;
            self.registers.set_bit(MACMIIAR, 0, false);
        }
        if let Some((frame, _)) = self.sending.take_if(|(_, until)| *until <= now) {
            let result = self.sent(&frame, cx);
            self.check(result);
        }
        let result = self.send_next(cx);
        self.check(result);
        let result = self.store_received(cx);
        self.check(result);
        self.publish(cx);
    }

    fn publish(&self, cx: &mut Context) {
        let asked = self.status & self.registers.get(DMAIER);
        cx.interrupt(0, asked & (dmasr::NIS | dmasr::AIS) != 0);
        let sending = self.sending.as_ref().map(|(_, until)| *until);
        match [sending, self.management_until, self.reset_until].into_iter().flatten().min() {
            Some(cycle) => cx.wake_at(cycle),
            None => cx.sleep(),
        }
    }

    /// Takes the next frame from the ring and puts it on the wire.
    fn send_next(&mut self, cx: &mut Context) -> Result<(), BusFault> {
        let on = self.is_set(DMAOMR, dmaomr::ST) && self.is_set(MACCR, maccr::TE);
        if !on || self.transmit_suspended || self.sending.is_some() {
            return Ok(());
        }
        match ring::fetch(&mut self.transmit, cx)? {
            Fetched::Nothing => {
                self.transmit_suspended = true;
                self.raise(dmasr::TBUS);
            }
            Fetched::Endless => {
                self.transmit_suspended = true;
                self.raise(dmasr::TJTS);
            }
            Fetched::Frame(mut frame) => {
                let last = frame.last();
                checksum::insert(&mut frame.bytes, last >> tdes0::CIC & 3);
                if !bit(last, tdes0::DP) && frame.bytes.len() < SHORTEST {
                    frame.bytes.resize(SHORTEST, 0);
                }
                let bits = 8 * (frame.bytes.len() as u64 + OVERHEAD);
                let rate = if self.is_set(MACCR, maccr::FES) { 100_000_000 } else { 10_000_000 };
                let cycles = (bits * u64::from(cx.clocks().core_hz())).div_ceil(rate);
                self.sending = Some((frame, cx.now() + cycles));
            }
        }
        Ok(())
    }

    fn sent(&mut self, frame: &Outgoing, cx: &mut Context) -> Result<(), BusFault> {
        frame.hand_back(cx)?;
        if bit(frame.last(), tdes0::IC) {
            self.raise(dmasr::TS);
        }
        let bytes = frame.bytes.clone();
        let back = if self.is_set(MACCR, maccr::LM) { Some(bytes) } else { self.cable.send(bytes) };
        back.into_iter().for_each(|bytes| self.arrived(bytes));
        Ok(())
    }

    /// A frame has come in from the wire.
    fn arrived(&mut self, frame: Vec<u8>) {
        if !self.is_set(MACCR, maccr::RE) || !filter::accepts(&self.registers, &frame) {
            return;
        }
        let (frame, status) = filter::finish(&self.registers, frame);
        let used: usize = self.fifo.iter().map(|(frame, _)| frame.len()).sum();
        if used + frame.len() > RECEIVE_FIFO {
            self.missed = (self.missed + 1) & 0xffff;
        } else {
            self.fifo.push_back((frame, status));
        }
    }

    /// Moves frames from the FIFO to memory while there are descriptors for them.
    fn store_received(&mut self, cx: &mut Context) -> Result<(), BusFault> {
        while self.is_set(DMAOMR, dmaomr::SR) && !self.receive_suspended {
            let Some((frame, status)) = self.fifo.front() else { break };
            match ring::store(&mut self.receive, frame, *status, cx)? {
                Some(interrupts) => {
                    self.fifo.pop_front();
                    self.raise(if interrupts { dmasr::RS } else { 0 });
                }
                None => {
                    self.receive_suspended = true;
                    self.raise(dmasr::RBUS);
                }
            }
        }
        Ok(())
    }

    /// MACMIIAR with MB set: one access to a transceiver's register (33.8.1).
    fn manage(&mut self, cx: &mut Context) {
        let command = self.registers.get(MACMIIAR);
        let (address, register) = (command >> 11 & 0x1f, command >> 6 & 0x1f);
        let divider = [42, 62, 16, 26, 102][(command >> 2 & 7).min(4) as usize];
        self.management_until = Some(cx.now() + MANAGEMENT_CLOCKS * divider);
        let mine = address == u32::from(self.phy.address);
        let now = now_ns(cx);
        if bit(command, 1) {
            if mine {
                self.phy.write(register, self.registers.get(MACMIIDR) as u16, now);
            }
            return;
        }
        // The data line is pulled up where nobody answers.
        let value = if mine { self.phy.read(register, now) } else { u16::MAX };
        self.registers.write(MACMIIDR, value.into());
    }

    fn status_word(&self) -> u32 {
        let receiver = match (self.is_set(DMAOMR, dmaomr::SR), self.receive_suspended) {
            (false, _) => 0,
            (true, false) => dmasr::RPS_WAITING,
            (true, true) => dmasr::RPS_SUSPENDED,
        };
        let transmitter = match (self.is_set(DMAOMR, dmaomr::ST), self.transmit_suspended) {
            (false, _) => 0,
            (true, false) => dmasr::TPS_SENDING,
            (true, true) => dmasr::TPS_SUSPENDED,
        };
        self.status | receiver | transmitter
    }

    fn register(&self, offset: u32) -> Option<u32> {
        Some(match offset {
            DMASR => self.status_word(),
            DMATPDR | DMARPDR => 0,
            DMAMFBOCR => self.missed,
            DMACHTDR => self.transmit.at,
            DMACHRDR => self.receive.at,
            _ => self.registers.find(offset)?,
        })
    }

    fn stride(&self) -> u32 {
        let control = self.registers.get(DMABMR);
        let words = if bit(control, dmabmr::EDFE) { 8 } else { 4 };
        4 * (words + (control >> dmabmr::DSL & 0x1f))
    }

    fn write_register(&mut self, offset: u32, value: u32, cx: &mut Context) {
        let old = self.registers.get(offset);
        match offset {
            DMASR => self.status &= !(value & dmasr::CLEARABLE),
            // A new transaction waits for the old one.
            MACMIIAR | MACMIIDR if self.management_until.is_some() => {}
            _ => self.registers.write(offset, value),
        }
        match offset {
            MACMIIAR if value & 1 != 0 && self.management_until.is_none() => {
                self.registers.set_bit(MACMIIAR, 0, true);
                self.manage(cx);
            }
            DMABMR if bit(value, dmabmr::SR) => self.restart(cx),
            DMABMR => (self.transmit.stride, self.receive.stride) = (self.stride(), self.stride()),
            DMATDLAR => self.transmit = Ring::new(value & !3, self.stride()),
            DMARDLAR => self.receive = Ring::new(value & !3, self.stride()),
            DMATPDR => self.transmit_suspended = false,
            DMARPDR => self.receive_suspended = false,
            DMAOMR => self.switch(old),
            // The read-only process states would be written back by nobody.
            DMAIER => self.summarise(),
            _ => {}
        }
    }

    /// DMAOMR has been written: processes that start or stop.
    fn switch(&mut self, old: u32) {
        self.registers.set_bit(DMAOMR, dmaomr::FTF, false);
        let new = self.registers.get(DMAOMR);
        for (at, stopped) in [(dmaomr::ST, dmasr::TPSS), (dmaomr::SR, dmasr::RPSS)] {
            match (bit(old, at), bit(new, at)) {
                (true, false) => self.raise(stopped),
                (false, true) if at == dmaomr::ST => self.transmit_suspended = false,
                (false, true) => self.receive_suspended = false,
                _ => {}
            }
        }
    }
}

impl Device for Eth {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        let value = self.register(offset & !3)?;
        if offset & !3 == DMAMFBOCR {
            self.missed = 0;
        }
        Some(part(value, offset, size))
    }

    fn reading(&mut self, offset: u32, _: Size, _: &mut Context) -> Reading {
        match offset & !3 {
            // Each read clears the count.
            DMAMFBOCR => Reading::Unknown,
            _ => Reading::FIXED,
        }
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let old = match offset & !3 {
            DMASR => 0,
            register => self.register(register)?,
        };
        self.write_register(offset & !3, merge(old, offset, size, value), cx);
        self.run(cx);
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        self.run(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        self.phy.reset(now_ns(cx));
        self.restart(cx);
        self.publish(cx);
    }

    fn network_end(&mut self) -> Option<&mut dyn NetworkEnd> {
        Some(self)
    }
}

impl NetworkEnd for Eth {
    fn connect(&mut self, backend: Backend) {
        self.cable.connect(backend);
    }

    fn take_frames(&mut self) -> Vec<Vec<u8>> {
        self.cable.take()
    }

    fn host_frame(&mut self, frame: Vec<u8>, cx: &mut Context) {
        self.arrived(frame);
        self.run(cx);
    }
}
