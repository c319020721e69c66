//! The Ethernet controller of Stellaris parts (LM3S6965 data sheet, section 15): a FIFO of frames
//! in each direction that firmware fills and empties word by word, and the transceiver, which is on
//! the chip.
//!
//! Modelled: both FIFOs, padding, check sequence, transmission at the wire's pace, address filter,
//! the management interface and its timing, interrupts. At the other end of the cable is nobody, or
//! (`backend = "loopback"`) a plug that returns every frame. Not modelled: half duplex, damaged
//! frames, the transceiver's own registers and interrupt. A frame that may begin before it is whole
//! (MACTHR) begins when it is. Interrupt lines: one.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use crate::devices::common::ethernet::phy::Phy;
use crate::devices::common::ethernet::{Cable, MANAGEMENT_CLOCKS, OVERHEAD, SHORTEST, frame_check};
use crate::devices::common::register::{bit, merge, part};
use crate::devices::common::serial::earliest;
use strobe_sim::kernel::device::ethernet::Backend;
use strobe_sim::kernel::device::{Context, Create, Device, NetworkEnd, OptionError, Reading, Size};

/// MACRIS when read, MACIACK when written.
const RIS: u32 = 0x00;
const IM: u32 = 0x04;
const RCTL: u32 = 0x08;
const TCTL: u32 = 0x0c;
const DATA: u32 = 0x10;
const IA0: u32 = 0x14;
const IA1: u32 = 0x18;
const THR: u32 = 0x1c;
const MCTL: u32 = 0x20;
const MDV: u32 = 0x24;
const MTXD: u32 = 0x2c;
const MRXD: u32 = 0x30;
const NP: u32 = 0x34;
const TR: u32 = 0x38;

/// Interrupts in MACRIS, MACIACK and MACIM.
mod interrupt {
    pub(super) const RX: u32 = 1 << 0;
    pub(super) const TX_EMPTY: u32 = 1 << 2;
    pub(super) const OVERRUN: u32 = 1 << 3;
    pub(super) const MANAGEMENT: u32 = 1 << 5;
    pub(super) const ALL: u32 = 0x7f;
}

/// Bit numbers in MACRCTL.
mod rctl {
    pub(super) const ENABLE: u32 = 0;
    pub(super) const MULTICAST: u32 = 1;
    pub(super) const PROMISCUOUS: u32 = 2;
    pub(super) const RESET_FIFO: u32 = 4;
    /// Frames with wrong check sequences are refused.
    pub(super) const AT_RESET: u32 = 1 << 3;
}

/// Bit numbers in MACTCTL.
mod tctl {
    pub(super) const ENABLE: u32 = 0;
    pub(super) const PAD: u32 = 1;
    pub(super) const CRC: u32 = 2;
}

/// Bit numbers in MACMCTL; the register's number begins at bit 3.
mod mctl {
    pub(super) const START: u32 = 0;
    pub(super) const WRITE: u32 = 1;
}

/// Bytes of a FIFO.
const FIFO: usize = 2048;
/// MACTHR: a frame begins only when firmware asks for it.
const WHEN_TOLD: u32 = 0x3f;
/// Bytes before the payload, which the length in front of a frame does not count.
const HEADER: usize = 14;
/// The length in front of a frame.
const LENGTH: usize = 2;
/// What the transceiver negotiates with its partner, in bits per second.
const RATE: u64 = 100_000_000;

#[derive(Clone, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    phy: Phy,
    backend: Backend,
}

struct Emac {
    phy: Phy,
    cable: Cable,
    raised: u32,
    im: u32,
    rctl: u32,
    tctl: u32,
    ia: [u32; 2],
    thr: u32,
    mctl: u32,
    mdv: u32,
    mtxd: u32,
    mrxd: u32,
    managing_until: Option<u64>,
    /// What firmware has written of the next frame, with the length in front.
    tx: Vec<u8>,
    sending: Option<(Vec<u8>, u64)>,
    /// Frames as firmware reads them, the first one from `read` on.
    rx: VecDeque<Vec<u8>>,
    read: usize,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { phy, backend } = cx.options()?;
    Ok(Box::new(Emac::new(phy, Cable::new(backend))))
}

fn now_ns(cx: &Context) -> u64 {
    cx.clocks().nanoseconds_at(cx.now())
}

impl Emac {
    fn new(phy: Phy, cable: Cable) -> Self {
        Emac {
            phy,
            cable,
            raised: 0,
            im: interrupt::ALL,
            rctl: rctl::AT_RESET,
            tctl: 0,
            ia: [0; 2],
            thr: WHEN_TOLD,
            mctl: 0,
            mdv: 0x80,
            mtxd: 0,
            mrxd: 0,
            managing_until: None,
            tx: Vec::new(),
            sending: None,
            rx: VecDeque::new(),
            read: 0,
        }
    }

    /// Bytes that the frame being written has, its length in front included; `None` before that is
    /// known.
    fn announced(&self) -> Option<usize> {
        let length = usize::from(u16::from_le_bytes(*self.tx.first_chunk()?));
        let check = if bit(self.tctl, tctl::CRC) { 0 } else { 4 };
        Some(LENGTH + HEADER + length + check)
    }

    fn write_data(&mut self, word: u32, cx: &mut Context) {
        if self.tx.len() + 4 > FIFO {
            cx.warn_of(
                "data-lost",
                format!("{}: the transmit FIFO was full: data was lost", cx.name()),
            );
            return;
        }
        self.tx.extend(word.to_le_bytes());
        if self.thr != WHEN_TOLD && self.announced().is_some_and(|bytes| self.tx.len() >= bytes) {
            self.begin(cx);
        }
    }

    /// Puts what has been written on the wire.
    fn begin(&mut self, cx: &mut Context) {
        if self.sending.is_some() || !bit(self.tctl, tctl::ENABLE) {
            return;
        }
        let announced = self.announced().unwrap_or(0);
        let mut frame = std::mem::take(&mut self.tx);
        if announced > frame.len() {
            cx.warn(format!("{}: a frame was sent before all of it was written", cx.name()));
        }
        frame.truncate(announced);
        frame.drain(..LENGTH.min(frame.len()));
        if !bit(self.tctl, tctl::CRC) {
            // Firmware has written the check sequence, and the model's wire carries none.
            frame.truncate(frame.len().saturating_sub(4));
        } else if bit(self.tctl, tctl::PAD) && frame.len() < SHORTEST {
            frame.resize(SHORTEST, 0);
        }
        let bits = 8 * (frame.len() as u64 + OVERHEAD);
        let cycles = (bits * u64::from(cx.clocks().core_hz())).div_ceil(RATE);
        self.sending = Some((frame, cx.now() + cycles));
    }

    /// Lets everything happen that is due by now.
    fn run(&mut self, cx: &mut Context) {
        let now = cx.now();
        if let Some((frame, _)) = self.sending.take_if(|(_, until)| *until <= now) {
            self.raised |= interrupt::TX_EMPTY;
            let back = self.cable.send(frame);
            back.into_iter().for_each(|frame| self.arrived(frame));
        }
        if self.managing_until.is_some_and(|until| until <= now) {
            self.managing_until = None;
            self.mctl &= !(1 << mctl::START);
            self.raised |= interrupt::MANAGEMENT;
        }
    }

    fn accepts(&self, frame: &[u8]) -> bool {
        let Some(destination) = frame.first_chunk::<6>() else { return false };
        let mut own = [0; 6];
        own[..4].copy_from_slice(&self.ia[0].to_le_bytes());
        own[4..].copy_from_slice(&(self.ia[1] as u16).to_le_bytes());
        let group = destination[0] & 1 != 0 && bit(self.rctl, rctl::MULTICAST);
        let wanted = group || *destination == own || *destination == [0xff; 6];
        bit(self.rctl, rctl::ENABLE) && (wanted || bit(self.rctl, rctl::PROMISCUOUS))
    }

    /// A frame has come in from the wire.
    fn arrived(&mut self, frame: Vec<u8>) {
        if !self.accepts(&frame) {
            return;
        }
        let check = frame_check(&frame);
        let total = (LENGTH + frame.len() + check.len()) as u16;
        let mut stored: Vec<u8> = total.to_le_bytes().to_vec();
        stored.extend(frame);
        stored.extend(check);
        stored.resize(stored.len().next_multiple_of(4), 0);
        let used: usize = self.rx.iter().map(Vec::len).sum();
        if used + stored.len() > FIFO {
            self.raised |= interrupt::OVERRUN;
        } else {
            self.rx.push_back(stored);
            self.raised |= interrupt::RX;
        }
    }

    fn read_data(&mut self) -> u32 {
        let Some(word) = self.rx.front().and_then(|frame| frame[self.read..].first_chunk()) else {
            return 0;
        };
        let word = u32::from_le_bytes(*word);
        self.read += 4;
        if self.rx.front().is_some_and(|frame| self.read >= frame.len()) {
            self.rx.pop_front();
            self.read = 0;
        }
        word
    }

    /// MACMCTL with START set: one access to a register of the transceiver.
    fn manage(&mut self, cx: &Context) {
        let register = self.mctl >> 3 & 0x1f;
        let now = now_ns(cx);
        if bit(self.mctl, mctl::WRITE) {
            self.phy.write(register, self.mtxd as u16, now);
        } else {
            self.mrxd = self.phy.read(register, now).into();
        }
        let clock = 2 * (u64::from(self.mdv) + 1) * u64::from(cx.bus_divider());
        self.managing_until = Some(cx.now() + MANAGEMENT_CLOCKS * clock);
    }

    fn publish(&self, cx: &mut Context) {
        cx.interrupt(0, self.raised & self.im != 0);
        let sending = self.sending.as_ref().map(|(_, until)| *until);
        match earliest([sending, self.managing_until]) {
            Some(cycle) => cx.wake_at(cycle),
            None => cx.sleep(),
        }
    }

    fn word(&self, register: u32) -> Option<u32> {
        Some(match register {
            RIS => self.raised,
            IM => self.im,
            RCTL => self.rctl,
            TCTL => self.tctl,
            DATA => 0,
            IA0 => self.ia[0],
            IA1 => self.ia[1],
            THR => self.thr,
            MCTL => self.mctl,
            MDV => self.mdv,
            MTXD => self.mtxd,
            MRXD => self.mrxd,
            NP => self.rx.len() as u32,
            TR => self.sending.is_some().into(),
            _ => return None,
        })
    }

    fn write_word(&mut self, register: u32, value: u32, cx: &mut Context) {
        match register {
            RIS => self.raised &= !value,
            IM => self.im = value & interrupt::ALL,
            RCTL => {
                self.rctl = value & 0x0f;
                if bit(value, rctl::RESET_FIFO) {
                    (self.rx, self.read) = (VecDeque::new(), 0);
                }
            }
            TCTL => self.tctl = value & 0x17,
            DATA => self.write_data(value, cx),
            IA0 => self.ia[0] = value,
            IA1 => self.ia[1] = value & 0xffff,
            THR => self.thr = value & 0x3f,
            // A new transaction waits for the old one.
            MCTL if self.managing_until.is_none() => {
                self.mctl = value & 0xfb;
                if bit(value, mctl::START) {
                    self.manage(cx);
                }
            }
            MDV => self.mdv = value & 0xff,
            MTXD => self.mtxd = value & 0xffff,
            TR if bit(value, 0) => self.begin(cx),
            _ => {}
        }
    }
}

impl Device for Emac {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        let register = offset & !3;
        let word = if register == DATA { self.read_data() } else { self.word(register)? };
        Some(part(word, offset, size))
    }

    fn reading(&mut self, offset: u32, _: Size, _: &mut Context) -> Reading {
        match offset & !3 {
            // Each read takes a word.
            DATA => Reading::Unknown,
            _ => Reading::FIXED,
        }
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let register = offset & !3;
        // What acknowledges interrupts is not what shows them.
        let old = if register == RIS { 0 } else { self.word(register)? };
        self.write_word(register, merge(old, offset, size, value), cx);
        self.run(cx);
        self.publish(cx);
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        self.run(cx);
        self.publish(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        let mut phy = self.phy.clone();
        phy.reset(now_ns(cx));
        *self = Emac::new(phy, std::mem::take(&mut self.cable));
        self.publish(cx);
    }

    fn network_end(&mut self) -> Option<&mut dyn NetworkEnd> {
        Some(self)
    }
}

impl NetworkEnd for Emac {
    fn connect(&mut self, backend: Backend) {
        self.cable.connect(backend);
    }

    fn take_frames(&mut self) -> Vec<Vec<u8>> {
        self.cable.take()
    }

    fn host_frame(&mut self, frame: Vec<u8>, cx: &mut Context) {
        self.arrived(frame);
        self.run(cx);
        self.publish(cx);
    }
}
