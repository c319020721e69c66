//! The CMSDK's UART (DDI 0479 4.3): one buffered byte each way, eight bits, no parity, one stop
//! bit.
//!
//! A bit lasts BAUDDIV cycles of the peripheral clock. The line is modelled in whole frames,
//! without a wire. Interrupt lines: receive, transmit, overrun.
//!
//! With `forgiving`, firmware that only ever ran on an emulator prints here too: a byte written
//! while the buffer is full waits its turn, a divider below 16 counts as 16, and in both cases the
//! report states that the hardware does otherwise.

use serde::Deserialize;

use super::identity::Identity;
use crate::devices::common::register::{bit, merge, part};
use crate::devices::common::serial::{Line, earliest};
use strobe_sim::kernel::device::{
    Context, Create, Device, Direction, OptionError, Reading, Sender, SerialEnd, Size,
};

const DATA: u32 = 0x00;
const STATE: u32 = 0x04;
const CTRL: u32 = 0x08;
const INTSTATUS: u32 = 0x0c;
const BAUDDIV: u32 = 0x10;

/// Flags of STATE.
mod state {
    pub(super) const TX_FULL: u32 = 1 << 0;
    pub(super) const RX_FULL: u32 = 1 << 1;
    pub(super) const TX_OVERRUN: u32 = 1 << 2;
    pub(super) const RX_OVERRUN: u32 = 1 << 3;
}

/// Bit numbers in CTRL: enables of the halves, then of their interrupts.
mod ctrl {
    pub(super) const TX: u32 = 0;
    pub(super) const RX: u32 = 1;
    pub(super) const TX_INTERRUPT: u32 = 2;
    pub(super) const RX_INTERRUPT: u32 = 3;
    pub(super) const TX_OVERRUN_INTERRUPT: u32 = 4;
    pub(super) const RX_OVERRUN_INTERRUPT: u32 = 5;
}

/// INTSTATUS: transmit, receive; the overruns are those of STATE.
const TX_INTERRUPT: u32 = 1 << 0;
const RX_INTERRUPT: u32 = 1 << 1;

/// Start bit, eight data bits, stop bit.
const FRAME_BITS: u32 = 10;
/// The smallest divider that works.
const LEAST_DIVIDER: u32 = 16;
const IDENTITY: Identity = Identity::cmsdk(0x21);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Prints what the hardware would lose.
    #[serde(default)]
    forgiving: bool,
}

struct Uart {
    forgiving: bool,
    tx: Line,
    rx: Line,
    received: Option<u8>,
    last_received: u8,
    overruns: u32,
    interrupts: u32,
    ctrl: u32,
    divider: u32,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { forgiving } = cx.options()?;
    Ok(Box::new(Uart::new(forgiving)))
}

impl Uart {
    fn new(forgiving: bool) -> Self {
        Uart {
            forgiving,
            tx: Line::default(),
            rx: Line::default(),
            received: None,
            last_received: 0,
            overruns: 0,
            interrupts: 0,
            ctrl: 0,
            divider: 0,
        }
    }

    /// Core cycles of a frame; `None` while the baud rate generator stands still.
    fn frame(&self, cx: &Context) -> Option<u64> {
        let divider = if self.forgiving { self.divider.max(LEAST_DIVIDER) } else { self.divider };
        let cycles = u64::from(divider) * u64::from(FRAME_BITS);
        (divider >= LEAST_DIVIDER).then(|| cycles * u64::from(cx.bus_divider()))
    }

    fn state(&self) -> u32 {
        let full = if self.tx.waiting() > 0 { state::TX_FULL } else { 0 };
        let received = if self.received.is_some() { state::RX_FULL } else { 0 };
        full | received | self.overruns
    }

    fn send(&mut self, byte: u8, cx: &mut Context) {
        let full = self.tx.waiting() > 0;
        if full {
            self.overruns |= state::TX_OVERRUN;
            let fate = if self.forgiving { "the hardware would lose it" } else { "it is lost" };
            cx.warn_of(
                "data-lost",
                format!("{}: a byte was written while its buffer was full: {fate}", cx.name()),
            );
        }
        if (!full || self.forgiving) && !self.tx.push(byte) {
            cx.warn_of(
                "data-lost",
                format!("{}: too many bytes wait to be sent: bytes were lost", cx.name()),
            );
        }
        if self.divider < LEAST_DIVIDER && bit(self.ctrl, ctrl::TX) {
            let fate =
                if self.forgiving { "the hardware would not send" } else { "nothing is sent" };
            cx.warn(format!("{}: BAUDDIV is below {LEAST_DIVIDER}: {fate}", cx.name()));
        }
    }

    fn run(&mut self, cx: &mut Context) {
        let now = cx.now();
        if let Some(byte) = self.tx.finish(now) {
            cx.serial_frame(Direction::Transmit, byte.into());
        }
        if let Some(byte) = self.rx.finish(now) {
            self.receive(byte, cx);
        }
        let Some(cycles) = self.frame(cx) else { return };
        if bit(self.ctrl, ctrl::TX) {
            let waiting = self.tx.waiting();
            self.tx.start(now, cycles);
            // 4.3.2: the transmit interrupt comes when the buffer goes from full to empty.
            let emptied = waiting > 0 && self.tx.waiting() == 0;
            if emptied && bit(self.ctrl, ctrl::TX_INTERRUPT) {
                self.interrupts |= TX_INTERRUPT;
            }
        }
        if bit(self.ctrl, ctrl::RX) {
            self.rx.start(now, cycles);
        }
    }

    fn receive(&mut self, byte: u8, cx: &mut Context) {
        cx.serial_frame(Direction::Receive, byte.into());
        if self.received.is_some() {
            self.overruns |= state::RX_OVERRUN;
            cx.warn_overrun();
        }
        self.received = Some(byte);
        self.last_received = byte;
        if bit(self.ctrl, ctrl::RX_INTERRUPT) {
            self.interrupts |= RX_INTERRUPT;
        }
    }

    fn publish(&self, cx: &mut Context) {
        let overrun = self.overruns & state::TX_OVERRUN != 0
            && bit(self.ctrl, ctrl::TX_OVERRUN_INTERRUPT)
            || self.overruns & state::RX_OVERRUN != 0 && bit(self.ctrl, ctrl::RX_OVERRUN_INTERRUPT);
        cx.interrupt(0, self.interrupts & RX_INTERRUPT != 0);
        cx.interrupt(1, self.interrupts & TX_INTERRUPT != 0);
        cx.interrupt(2, overrun);
        match earliest([self.tx.due(), self.rx.due()]) {
            Some(cycle) => cx.wake_at(cycle),
            None => cx.sleep(),
        }
    }
}

impl Device for Uart {
    fn read(&mut self, offset: u32, size: Size, cx: &mut Context) -> Option<u32> {
        let word = match offset & !3 {
            DATA => {
                let byte = self.received.take().unwrap_or(self.last_received);
                self.publish(cx);
                byte.into()
            }
            STATE => self.state(),
            CTRL => self.ctrl,
            INTSTATUS => self.interrupts | self.overruns,
            BAUDDIV => self.divider,
            _ => IDENTITY.register(offset)?,
        };
        Some(part(word, offset, size))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        // Reading DATA again shows the byte that was taken.
        Reading::FIXED
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let written = merge(0, offset, size, value);
        match offset & !3 {
            DATA => self.send(written as u8, cx),
            STATE => self.overruns &= !written,
            CTRL => {
                self.ctrl = merge(self.ctrl, offset, size, value) & 0x7f;
                if bit(self.ctrl, 6) {
                    cx.warn_of(
                        "not-modelled",
                        format!("{}: the high-speed test mode is not modelled", cx.name()),
                    );
                }
            }
            INTSTATUS => {
                self.interrupts &= !written;
                self.overruns &= !written;
            }
            BAUDDIV => self.divider = merge(self.divider, offset, size, value) & 0xf_ffff,
            _ => {
                IDENTITY.register(offset)?;
            }
        }
        self.run(cx);
        self.publish(cx);
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        self.run(cx);
        self.publish(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        // What the host has sent is still on its way.
        let rx = std::mem::take(&mut self.rx);
        *self = Uart { rx, ..Uart::new(self.forgiving) };
        self.publish(cx);
    }

    fn serial_end(&self) -> Option<&dyn SerialEnd> {
        Some(self)
    }

    fn serial_end_mut(&mut self) -> Option<&mut dyn SerialEnd> {
        Some(self)
    }

    fn sender(&self) -> Option<&dyn Sender> {
        Some(self)
    }
}

impl SerialEnd for Uart {
    fn host_byte(&mut self, byte: u8, cx: &mut Context) {
        if !self.rx.push(byte) {
            cx.warn_host_ahead();
        }
        self.event(cx);
    }

    fn host_room(&self) -> usize {
        self.rx.room()
    }
}

impl Sender for Uart {
    fn is_sending(&self) -> bool {
        self.tx.is_busy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Rig, apb_device};
    use strobe_sim::kernel::device::DeviceId;

    const BASE: u32 = 0x4000_4000;

    fn rig(options: &str) -> Rig {
        let uart = apb_device(("UART0", "cmsdk-uart"), BASE, &[0, 1, 12], options);
        let mut rig = Rig::new(&uart.replace("0x400", "0x1000"));
        rig.write32(BASE + BAUDDIV, 16);
        rig.write32(BASE + CTRL, 0x3f);
        rig
    }

    fn sent(rig: &Rig) -> Vec<(u64, u16)> {
        let frames = rig.bus.outputs.frames.iter().filter(|f| f.direction == Direction::Transmit);
        frames.map(|f| (f.cycle, f.value)).collect()
    }

    #[test]
    fn sends_behind_a_buffer_of_one() {
        let mut rig = rig("");
        rig.write32(BASE + DATA, 0x141);
        assert!(rig.irq(1), "the byte went straight to the line");
        assert_eq!(rig.read32(BASE + STATE), 0);
        rig.write32(BASE + INTSTATUS, TX_INTERRUPT);
        rig.write32(BASE + DATA, 0x42);
        assert_eq!(rig.read32(BASE + STATE), state::TX_FULL);
        assert!(!rig.irq(1));
        rig.advance(160);
        assert!(rig.irq(1));
        assert_eq!(rig.read32(BASE + INTSTATUS), TX_INTERRUPT);
        rig.advance(160);
        assert_eq!(sent(&rig), [(160, 0x41), (320, 0x42)]);
    }

    #[test]
    fn overflowing_bytes_are_lost_and_reported() {
        let mut rig = rig("");
        (0..3).for_each(|i| rig.write32(BASE + DATA, 0x41 + i));
        assert!(rig.irq(12));
        assert_eq!(rig.read32(BASE + STATE), state::TX_FULL | state::TX_OVERRUN);
        rig.write32(BASE + STATE, state::TX_OVERRUN);
        assert!(!rig.irq(12));
        rig.advance(10_000);
        assert_eq!(sent(&rig).len(), 2);
        assert!(rig.warnings().contains("it is lost"), "{}", rig.warnings());
    }

    #[test]
    fn a_forgiving_one_sends_everything() {
        let mut rig = rig("forgiving = true");
        rig.write32(BASE + BAUDDIV, 0);
        (0..3).for_each(|i| rig.write32(BASE + DATA, 0x41 + i));
        rig.advance(10_000);
        assert_eq!(sent(&rig), [(160, 0x41), (320, 0x42), (480, 0x43)]);
        assert!(rig.warnings().contains("would lose it"), "{}", rig.warnings());
        assert!(rig.warnings().contains("would not send"), "{}", rig.warnings());
    }

    #[test]
    fn nothing_leaves_without_a_clock_or_enable() {
        let mut rig = rig("");
        rig.write32(BASE + CTRL, 0);
        rig.write32(BASE + DATA, 0x41);
        rig.advance(10_000);
        assert_eq!((sent(&rig).len(), rig.read32(BASE + STATE)), (0, state::TX_FULL));
        rig.write32(BASE + BAUDDIV, 0);
        rig.write32(BASE + CTRL, 1);
        rig.advance(10_000);
        assert_eq!(sent(&rig), []);
        assert!(rig.bus.next_due == u64::MAX);
    }

    #[test]
    fn receives_what_the_host_sends_and_reports_overruns() {
        let mut rig = rig("");
        rig.bus.host_byte(DeviceId(0), b'x');
        rig.bus.host_byte(DeviceId(0), b'y');
        rig.advance(160);
        assert!(rig.irq(0));
        assert_eq!(rig.read32(BASE + DATA), u32::from(b'x'));
        rig.write32(BASE + INTSTATUS, RX_INTERRUPT);
        assert!(!rig.irq(0));
        rig.bus.host_byte(DeviceId(0), b'z');
        rig.advance(320);
        assert_eq!(rig.read32(BASE + STATE), state::RX_FULL | state::RX_OVERRUN);
        assert!(rig.irq(12));
        assert_eq!(rig.read32(BASE + DATA), u32::from(b'z'));
    }

    #[test]
    fn names_itself() {
        let mut rig = rig("");
        assert_eq!(rig.read32(BASE + 0xfe0), 0x21);
        assert_eq!(rig.read32(BASE + 0xffc), 0xb1);
    }
}
