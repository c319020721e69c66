//! USART in asynchronous mode (ATmega328P data sheet, chapter 19): registers, the double transmit
//! buffer, the receive FIFO of two with the shift register behind it.
//!
//! Wires: `<name>_TX` with `_ON` and `_OUT`, `<name>_RX_IN`; the board file's `rx_pin` is listened
//! to. A transmission begins at once, where silicon waits for its bit clock's next edge; a bit is
//! sampled once in its middle. Synchronous and SPI modes are not modelled.

use serde::Deserialize;

use self::line::{Format, Received, Receiver, Transmitter};
use crate::devices::avr::standstill::Standstill;
use strobe_sim::kernel::device::{
    ByteRegisters, Context, CoreEvents, Create, Device, Direction, OptionError, Reading, Sender,
    SerialEnd, Size,
};
use strobe_sim::kernel::signal::SignalId;

mod line;
#[cfg(test)]
mod tests;

const UCSRA: u32 = 0;
const UCSRB: u32 = 1;
const UCSRC: u32 = 2;
const UBRRL: u32 = 3;
const UBRRH: u32 = 4;
const UDR: u32 = 5;

const RXC: u8 = 1 << 7;
const TXC: u8 = 1 << 6;
const UDRE: u8 = 1 << 5;
const FE: u8 = 1 << 4;
const DOR: u8 = 1 << 3;
const UPE: u8 = 1 << 2;
const U2X: u8 = 1 << 1;
const MPCM: u8 = 1;

const RXEN: u8 = 1 << 4;
const TXEN: u8 = 1 << 3;
const UCSZ2: u8 = 1 << 2;
const RXB8: u8 = 1 << 1;
const TXB8: u8 = 1;

/// UCSRC at reset: eight data bits.
const EIGHT_BITS: u8 = 0x06;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// The pin that data come in on.
    rx_pin: String,
}

struct Usart {
    rx_pin: SignalId,
    rx_takes_pin: SignalId,
    tx: SignalId,
    tx_on: SignalId,
    tx_output: SignalId,
    /// U2X and MPCM.
    control_a: u8,
    control_b: u8,
    control_c: u8,
    /// UBRR, and what was written to its high byte.
    divisor: u16,
    high: u8,
    transmit_complete: bool,
    transmitter: Transmitter,
    receiver: Receiver,
    standstill: Standstill,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { rx_pin } = cx.options()?;
    let rx_pin = cx.signal(&rx_pin);
    cx.listen(rx_pin);
    let name = cx.name.to_owned();
    Ok(Box::new(Usart {
        rx_pin,
        rx_takes_pin: cx.signal(&format!("{name}_RX_IN")),
        tx: cx.signal(&format!("{name}_TX")),
        tx_on: cx.signal(&format!("{name}_TX_ON")),
        tx_output: cx.signal(&format!("{name}_TX_OUT")),
        control_a: 0,
        control_b: 0,
        control_c: EIGHT_BITS,
        divisor: 0,
        high: 0,
        transmit_complete: false,
        transmitter: Transmitter::default(),
        receiver: Receiver::default(),
        standstill: Standstill::default(),
    }))
}

impl Usart {
    fn format(&self) -> Format {
        let size = self.control_c >> 1 & 3 | self.control_b & UCSZ2;
        let samples = if self.control_a & U2X != 0 { 8 } else { 16 };
        Format {
            // Sizes that are reserved are taken for eight bits.
            data_bits: match size {
                0..=3 => 5 + u32::from(size),
                7 => 9,
                _ => 8,
            },
            parity: (self.control_c & 0x20 != 0).then_some(self.control_c & 0x10 != 0),
            stop_bits: if self.control_c & 8 != 0 { 2 } else { 1 },
            bit_cycles: samples * (u64::from(self.divisor) + 1),
        }
    }

    /// Everything that is due by now, at its own time.
    fn catch_up(&mut self, cx: &mut Context) {
        if self.standstill.is_on() {
            return;
        }
        if let Some(sent) = self.transmitter.finish(cx.now()) {
            cx.serial_frame(Direction::Transmit, sent);
            if !self.transmitter.start_next(self.format(), cx.now()) {
                self.transmit_complete = true;
            }
        }
        let format = self.format();
        let level = cx.level(self.rx_pin);
        if let Some(received) = self.receiver.sample(level, cx.now()) {
            cx.serial_frame(Direction::Receive, received.data);
            self.receive(received);
        }
        if self.receiver.begin(format, cx.now()) {
            cx.warn_overrun();
        }
        self.show(cx);
    }

    /// Multi-processor mode (19.9) lets only address frames in.
    fn receive(&mut self, received: Received) {
        let nine = self.format().data_bits == 9;
        let address = if nine { received.data >> 8 != 0 } else { !received.framing_error };
        if self.control_a & MPCM == 0 || address {
            self.receiver.keep(received);
        }
    }

    fn flags(&self) -> u8 {
        let front = self.receiver.front();
        let mut flags = self.control_a;
        let mut set = |flag: u8, on: bool| flags |= if on { flag } else { 0 };
        set(RXC, front.is_some());
        set(TXC, self.transmit_complete);
        set(UDRE, self.transmitter.has_room());
        set(FE, front.is_some_and(|f| f.framing_error));
        set(UPE, front.is_some_and(|f| f.parity_error));
        set(DOR, self.receiver.overrun);
        flags
    }

    fn show(&mut self, cx: &mut Context) {
        let flags = self.flags();
        let asked = flags & self.control_b;
        for (line, flag) in [RXC, UDRE, TXC].into_iter().enumerate() {
            cx.interrupt(line, asked & flag != 0);
        }
        // The transmitter keeps its pin until it has sent everything (19.6.5).
        let sends = self.control_b & TXEN != 0 || self.transmitter.is_busy();
        cx.set_signal(self.tx, self.transmitter.level(cx.now()));
        cx.set_signal(self.tx_on, sends);
        cx.set_signal(self.tx_output, sends);
        cx.set_signal(self.rx_takes_pin, self.control_b & RXEN != 0);
        let change = [self.transmitter.end(), self.receiver.due()].into_iter().flatten().min();
        let Some(change) = change.filter(|_| !self.standstill.is_on()) else { return cx.sleep() };
        cx.wake_for_edge(self.transmitter.next_edge(cx.now()).unwrap_or(change), change);
    }

    fn set_control_b(&mut self, value: u8) {
        self.control_b = value & !RXB8;
        self.receiver.enable(value & RXEN != 0);
    }

    fn send(&mut self, value: u8) {
        let ninth = u16::from(self.control_b & TXB8) << 8;
        if self.control_b & TXEN != 0 {
            self.transmitter.push(ninth | u16::from(value));
        }
    }
}

impl Device for Usart {
    fn read(&mut self, register: u32, _: Size, cx: &mut Context) -> Option<u32> {
        self.catch_up(cx);
        let value = match register {
            UCSRA => self.flags(),
            UCSRB => {
                let ninth = self.receiver.front().is_some_and(|f| f.data >> 8 != 0);
                self.control_b | if ninth { RXB8 } else { 0 }
            }
            UCSRC => self.control_c,
            UBRRL => self.divisor as u8,
            UBRRH => self.high,
            UDR => self.receiver.take() as u8,
            _ => return None,
        };
        self.show(cx);
        Some(value.into())
    }

    fn reading(&mut self, register: u32, _: Size, _: &mut Context) -> Reading {
        match register {
            // Each read takes a byte.
            UDR => Reading::Unknown,
            _ => Reading::FIXED,
        }
    }

    fn write(&mut self, register: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
        self.catch_up(cx);
        let value = value as u8;
        match register {
            UCSRA => {
                self.control_a = value & (U2X | MPCM);
                self.transmit_complete &= value & TXC == 0;
            }
            UCSRB => self.set_control_b(value),
            UCSRC => {
                self.control_c = value;
                if value & 0xc0 != 0 {
                    let name = cx.name().to_owned();
                    cx.warn_of(
                        "not-modelled",
                        format!("{name}: synchronous and SPI modes (UMSEL) are not modelled"),
                    );
                }
            }
            // The low byte takes the high one along.
            UBRRL => self.divisor = u16::from(self.high) << 8 | u16::from(value),
            UBRRH => {
                self.high = value & 0xf;
                self.divisor = self.divisor & 0xff | u16::from(self.high) << 8;
            }
            UDR => self.send(value),
            _ => return None,
        }
        let format = self.format();
        self.transmitter.start_next(format, cx.now());
        self.receiver.begin(format, cx.now());
        self.show(cx);
        Some(())
    }

    fn set_bit(&mut self, register: u32, bit: u8, level: bool, cx: &mut Context) -> Option<()> {
        let old = match register {
            UCSRA => self.control_a,
            UCSRB => self.control_b,
            _ => self.read(register, Size::Byte, cx)? as u8,
        };
        let value = old & !(1 << bit) | u8::from(level) << bit;
        self.write(register, Size::Byte, value.into(), cx)
    }

    fn event(&mut self, cx: &mut Context) {
        self.catch_up(cx);
    }

    fn signal(&mut self, id: SignalId, level: bool, cx: &mut Context) {
        if id == self.rx_pin && !level && !self.standstill.is_on() {
            self.catch_up(cx);
            if self.receiver.wire_fell(self.format(), cx.now()) {
                cx.warn_overrun();
            }
            self.show(cx);
        }
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        let runs = cx.clocked() && cx.clocks().io_runs();
        let Some(gap) = self.standstill.change(runs, cx.now()) else { return };
        self.transmitter.delay(gap);
        self.receiver.delay(gap);
        self.show(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.control_a, self.control_c) = (0, EIGHT_BITS);
        self.set_control_b(0);
        (self.divisor, self.high, self.transmit_complete) = (0, 0, false);
        self.transmitter = Transmitter::default();
        self.show(cx);
    }

    fn byte_registers(&mut self) -> Option<&mut dyn ByteRegisters> {
        Some(self)
    }

    fn core_events(&mut self) -> Option<&mut dyn CoreEvents> {
        Some(self)
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

impl ByteRegisters for Usart {
    fn names(&self) -> &'static [&'static str] {
        &["UCSRA", "UCSRB", "UCSRC", "UBRRL", "UBRRH", "UDR"]
    }
}

impl CoreEvents for Usart {
    fn interrupt_taken(&mut self, line: usize, cx: &mut Context) {
        // Only that of a complete transmission; the others stay until UDR is read or written.
        if line == 2 {
            self.transmit_complete = false;
            self.show(cx);
        }
    }
}

impl SerialEnd for Usart {
    fn host_byte(&mut self, byte: u8, cx: &mut Context) {
        if !self.receiver.push(byte) {
            cx.warn_host_ahead();
        }
        self.catch_up(cx);
    }

    fn host_room(&self) -> usize {
        self.receiver.room()
    }
}

impl Sender for Usart {
    fn is_sending(&self) -> bool {
        self.transmitter.is_busy() && !self.standstill.is_on()
    }
}
