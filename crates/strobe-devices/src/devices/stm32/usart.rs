//! USARTs as asynchronous serial ports: those of RM0360 (section 23), and in `v1` those of RM0090.
//!
//! Modelled: word length, parity and stop bits, oversampling by 16 and 8, transmitter and receiver
//! with their idle frames, breaks, overrun, framing, parity and idle flags, character match,
//! interrupts, DMA requests, a kernel clock other than the bus clock. Bit times are exact fractions
//! of core cycles. Other modes (synchronous, LIN, smartcard, IrDA, half duplex, flow control, auto
//! baud rate) are not modelled; firmware that switches one on is reported.
//!
//! Signals: `<NAME>_TX`, high when idle, also before the transmitter is on; `<NAME>_RX`;
//! `<NAME>_TX_DMA` and `<NAME>_RX_DMA`. Bytes from the host arrive one after the other at the
//! programmed rate and wait for the receiver to be switched on.

mod format;
mod receive;
mod transmit;
pub(super) mod v1;

#[cfg(test)]
mod tests;

use format::{Baud, Format};
use receive::{Received, Receiver};
use transmit::{Item, Transmitter};

use crate::devices::common::register::{self, bit};
use strobe_sim::kernel::device::{
    Context, Create, Device, Direction, OptionError, Reading, SerialEnd, Size,
};
use strobe_sim::kernel::signal::SignalId;

const CR1: u32 = 0x00;
const CR2: u32 = 0x04;
const CR3: u32 = 0x08;
const BRR: u32 = 0x0c;
const GTPR: u32 = 0x10;
const RTOR: u32 = 0x14;
const RQR: u32 = 0x18;
const ISR: u32 = 0x1c;
const ICR: u32 = 0x20;
const RDR: u32 = 0x24;
const TDR: u32 = 0x28;

/// Bit numbers in CR1.
mod cr1 {
    pub(super) const UE: u32 = 0;
    pub(super) const RE: u32 = 2;
    pub(super) const TE: u32 = 3;
    pub(super) const OVER8: u32 = 15;
}

/// Flags in ISR.
mod isr {
    pub(super) const PE: u32 = 1 << 0;
    pub(super) const FE: u32 = 1 << 1;
    pub(super) const NF: u32 = 1 << 2;
    pub(super) const ORE: u32 = 1 << 3;
    pub(super) const IDLE: u32 = 1 << 4;
    pub(super) const RXNE: u32 = 1 << 5;
    pub(super) const TC: u32 = 1 << 6;
    pub(super) const TXE: u32 = 1 << 7;
    pub(super) const BUSY: u32 = 1 << 16;
    pub(super) const CMF: u32 = 1 << 17;
    pub(super) const SBKF: u32 = 1 << 18;
    pub(super) const TEACK: u32 = 1 << 21;
    pub(super) const REACK: u32 = 1 << 22;
}

/// Flags that ICR clears.
const CLEARABLE: u32 = isr::PE | isr::FE | isr::NF | isr::ORE | isr::IDLE | isr::TC | isr::CMF;

/// What enables an interrupt: (register, bit number, flags).
const INTERRUPTS: &[(u32, u32, u32)] = &[
    (CR1, 4, isr::IDLE),
    (CR1, 5, isr::RXNE | isr::ORE),
    (CR1, 6, isr::TC),
    (CR1, 7, isr::TXE),
    (CR1, 8, isr::PE),
    (CR1, 14, isr::CMF),
    (CR3, 0, isr::FE | isr::NF | isr::ORE),
];

/// Modes that are not modelled: (register, bits, name).
const UNMODELLED: &[(u32, u32, &str)] = &[
    (CR1, 1 << 13, "mute mode"),
    (CR2, 1 << 11, "synchronous mode"),
    (CR2, 1 << 14, "LIN mode"),
    (CR2, 1 << 15, "swapped pins"),
    (CR2, 0b11 << 16, "inverted pins"),
    (CR2, 1 << 18, "inverted data"),
    (CR2, 1 << 19, "most significant bit first"),
    (CR2, 1 << 20, "automatic baud rate"),
    (CR2, 1 << 23, "the receiver timeout"),
    (CR3, 1 << 1, "IrDA mode"),
    (CR3, 1 << 3, "half duplex"),
    (CR3, 1 << 5, "smartcard mode"),
    (CR3, 0b11 << 8, "hardware flow control"),
    (CR3, 1 << 14, "driver enable"),
];

/// A serial port.
struct Usart {
    name: String,
    cr1: u32,
    cr2: u32,
    cr3: u32,
    brr: u32,
    gtpr: u32,
    rtor: u32,
    /// The flags of ISR that are kept rather than computed.
    flags: u32,
    rdr: u16,
    tdr: u16,
    baud: Option<Baud>,
    tx: Transmitter,
    rx: Receiver,
    tx_line: SignalId,
    rx_line: SignalId,
    tx_request: SignalId,
    rx_request: SignalId,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    Ok(Box::new(Usart::create(cx)?))
}

impl Usart {
    fn create(cx: &mut Create) -> Result<Self, OptionError> {
        let Options {} = cx.options()?;
        let name = cx.name;
        let mut wire = |suffix: &str| cx.signal(&format!("{name}_{suffix}"));
        let (tx_line, rx_line) = (wire("TX"), wire("RX"));
        let (tx_request, rx_request) = (wire("TX_DMA"), wire("RX_DMA"));
        cx.listen(rx_line);
        Ok(Usart {
            name: name.to_owned(),
            cr1: 0,
            cr2: 0,
            cr3: 0,
            brr: 0,
            gtpr: 0,
            rtor: 0,
            flags: isr::TC,
            rdr: 0,
            tdr: 0,
            baud: None,
            tx: Transmitter::default(),
            rx: Receiver::default(),
            tx_line,
            rx_line,
            tx_request,
            rx_request,
        })
    }

    fn format(&self) -> Format {
        Format::new(self.cr1, self.cr2)
    }

    fn isr(&self, now: u64) -> u32 {
        let when = |condition: bool, flag: u32| if condition { flag } else { 0 };
        self.flags
            | when(self.tx.is_ready(), isr::TXE)
            | when(self.tx.is_breaking(), isr::SBKF)
            | when(self.tx.is_on(), isr::TEACK)
            | when(self.rx.enabled, isr::REACK)
            | when(self.rx.is_busy(now), isr::BUSY)
    }

    /// The bit time that BRR and the clocks make (RM0360, "USART baud rate generation").
    fn baud(&self, cx: &Context) -> Option<Baud> {
        // With oversampling by 8, BRR[2:0] holds USARTDIV[3:1], and there are two USARTDIV per bit.
        let per_bit = if bit(self.cr1, cr1::OVER8) {
            (self.brr & 0xfff0 | self.brr << 1 & 0xe) / 2
        } else {
            self.brr
        };
        match cx.clocks().kernel_hz(&self.name) {
            Some(hz) => Baud::new(per_bit, cx.clocks().core_hz(), hz),
            None => Baud::new(per_bit, cx.bus_divider(), 1),
        }
    }

    /// Takes up a new bit time; what is on the line keeps its place.
    fn update_baud(&mut self, cx: &Context) {
        let baud = self.baud(cx);
        if let (Some(from), Some(to)) = (self.baud, baud) {
            self.tx.rescale(from, to, cx.now());
            self.rx.rescale(from, to, cx.now());
        }
        self.baud = baud;
    }

    fn switch(&mut self) {
        let on = bit(self.cr1, cr1::UE);
        if !on {
            // The prescaler stops and the flags go to their reset state; host bytes wait on.
            self.tx = Transmitter::default();
            self.flags = isr::TC;
        }
        self.tx.enable(on && bit(self.cr1, cr1::TE));
        self.rx.enable(on && bit(self.cr1, cr1::RE));
    }

    fn warn_unmodelled(&self, register: u32, value: u32, cx: &mut Context) {
        for (_, _, mode) in UNMODELLED.iter().filter(|(r, b, _)| *r == register && value & b != 0) {
            cx.warn_of("not-modelled", format!("{}: {mode} is not modelled", self.name));
        }
    }

    /// Lets everything happen that is due by now.
    fn run(&mut self, cx: &mut Context) {
        let (now, format) = (cx.now(), self.format());
        let Some(baud) = self.baud else { return };
        match self.tx.finish(baud, now) {
            Some(Item::Data(data)) => {
                cx.serial_frame(Direction::Transmit, data);
                self.flags |= if self.tx.is_drained() { isr::TC } else { 0 };
            }
            Some(Item::Idle | Item::Break) if self.tx.is_drained() => self.flags |= isr::TC,
            _ => {}
        }
        self.tx.start(format, now);
        if let Some(received) = self.rx.sample(format, baud, cx.level(self.rx_line), now) {
            self.receive(received, cx);
        }
        self.rx.start(format, now);
        if self.rx.take_idle(now) {
            self.flags |= isr::IDLE;
        }
    }

    fn receive(&mut self, Received { word, framing_error }: Received, cx: &mut Context) {
        let format = self.format();
        cx.serial_frame(Direction::Receive, format.data(word));
        let overrun_detected = !bit(self.cr3, 12);
        if self.flags & isr::RXNE != 0 && overrun_detected {
            self.flags |= isr::ORE;
            cx.warn_overrun();
            return;
        }
        self.rdr = word;
        self.flags |= isr::RXNE;
        self.flags |= if framing_error { isr::FE } else { 0 };
        self.flags |= if format.parity_holds(word) { 0 } else { isr::PE };
        let matches = u32::from(format.data(word)) & 0xff == self.cr2 >> 24;
        self.flags |= if matches { isr::CMF } else { 0 };
    }

    /// Shows the port's state to the board and asks for the next event.
    fn publish(&mut self, cx: &mut Context) {
        let isr = self.isr(cx.now());
        let asserted = INTERRUPTS.iter().any(|&(register, enable, flags)| {
            let control = if register == CR1 { self.cr1 } else { self.cr3 };
            bit(control, enable) && isr & flags != 0
        });
        let enabled = bit(self.cr1, cr1::UE);
        cx.interrupt(0, enabled && asserted);
        cx.set_signal(self.tx_request, self.tx.is_on() && bit(self.cr3, 7) && isr & isr::TXE != 0);
        cx.set_signal(self.rx_request, bit(self.cr3, 6) && isr & isr::RXNE != 0);
        let Some(baud) = self.baud else { return cx.sleep() };
        cx.set_signal(self.tx_line, self.tx.level(baud, cx.now()));
        let rx = self.rx.next_event(self.format(), baud);
        let change = [self.tx.end(baud), rx].into_iter().flatten().min();
        let edge = self.tx.next_edge(baud, cx.now()).filter(|_| cx.is_observed(self.tx_line));
        match change {
            Some(change) => cx.wake_for_edge(edge.unwrap_or(change), change),
            None => cx.sleep(),
        }
    }

    fn register(&self, offset: u32, now: u64) -> Option<u32> {
        Some(match offset {
            CR1 => self.cr1,
            CR2 => self.cr2,
            CR3 => self.cr3,
            BRR => self.brr,
            GTPR => self.gtpr,
            RTOR => self.rtor,
            RQR | ICR => 0,
            ISR => self.isr(now),
            RDR => self.rdr.into(),
            TDR => self.tdr.into(),
            _ => return None,
        })
    }

    fn write_register(&mut self, offset: u32, value: u32, cx: &mut Context) {
        self.warn_unmodelled(offset, value, cx);
        match offset {
            CR1 => {
                self.cr1 = value;
                self.update_baud(cx);
                self.switch();
            }
            CR2 => self.cr2 = value,
            CR3 => self.cr3 = value,
            BRR => {
                self.brr = value & 0xffff;
                self.update_baud(cx);
            }
            GTPR => self.gtpr = value,
            RTOR => self.rtor = value,
            RQR => self.request(value),
            ICR => self.flags &= !(value & CLEARABLE),
            TDR if bit(self.cr1, cr1::UE) => {
                self.tdr = (value & 0x1ff) as u16;
                self.tx.write(self.tdr);
                self.flags &= !isr::TC;
            }
            _ => {}
        }
    }

    /// RQR: SBKRQ and RXFRQ.
    fn request(&mut self, value: u32) {
        if bit(value, 1) {
            self.tx.request_break();
        }
        if bit(value, 3) {
            self.flags &= !isr::RXNE;
        }
    }
}

impl Device for Usart {
    fn read(&mut self, offset: u32, size: Size, cx: &mut Context) -> Option<u32> {
        let value = self.register(offset & !3, cx.now())?;
        if offset & !3 == RDR {
            self.flags &= !isr::RXNE;
            self.publish(cx);
        }
        Some(register::part(value, offset, size))
    }

    fn reading(&mut self, offset: u32, _: Size, cx: &mut Context) -> Reading {
        match offset & !3 {
            // Each read takes RXNE.
            RDR => Reading::Unknown,
            ISR => Reading::Steady { until: self.rx.busy_from(cx.now()).unwrap_or(u64::MAX) },
            _ => Reading::FIXED,
        }
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let old = match offset & !3 {
            TDR => 0,
            register => self.register(register, cx.now())?,
        };
        self.write_register(offset & !3, register::merge(old, offset, size, value), cx);
        self.run(cx);
        self.publish(cx);
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        self.run(cx);
        self.publish(cx);
    }

    fn signal(&mut self, id: SignalId, level: bool, cx: &mut Context) {
        if id == self.rx_line && !level {
            self.rx.wire_fell(cx.now());
            self.publish(cx);
        }
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        self.update_baud(cx);
        self.run(cx);
        self.publish(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.cr1, self.cr2, self.cr3, self.brr, self.gtpr, self.rtor) = (0, 0, 0, 0, 0, 0);
        (self.rdr, self.tdr, self.baud) = (0, 0, None);
        self.switch();
        cx.set_signal(self.tx_line, true);
        self.publish(cx);
    }

    fn serial_end(&self) -> Option<&dyn SerialEnd> {
        Some(self)
    }

    fn serial_end_mut(&mut self) -> Option<&mut dyn SerialEnd> {
        Some(self)
    }
}

impl SerialEnd for Usart {
    fn host_byte(&mut self, byte: u8, cx: &mut Context) {
        if !self.rx.push(byte) {
            cx.warn_host_ahead();
        }
        self.run(cx);
        self.publish(cx);
    }

    fn host_room(&self) -> usize {
        self.rx.room()
    }
}
