//! SPIs as bus masters: SPI1 and SPI2 of RM0360 (section 24), and without FIFOs those of RM0090
//! (section 28).
//!
//! Modelled: frames of 4 to 16 bits through both FIFOs with data packing, clock rate, polarity and
//! phase, bit order, full duplex, receive-only and one-wire transfers, NSS output with pulses,
//! overrun and mode fault, interrupts, DMA requests. A frame begins with the write when the bus is
//! free and right after the one before otherwise; its flags change at its end, when the last clock
//! period is over. A frame under way keeps its rate when clocks change. Not modelled, and said so
//! when firmware asks for it: slave mode, CRC, TI frame format, I2S, odd-length DMA packing.
//! Without FIFOs there is one frame in each direction, of 8 or 16 bits.
//!
//! Signals: `<NAME>_SCK`, `_MOSI`, `_NSS` (high unless driven), `<NAME>_MISO`, `<NAME>_TX_DMA` and
//! `<NAME>_RX_DMA`. Wires move at their true times if anybody watches the clock or the data;
//! otherwise a frame is one event, and MISO is taken as it stands at its end.

mod bits;
mod fifo;
mod shift;

#[cfg(test)]
mod tests;

use bits::{CR1, CR2, CRCPR, DR, I2SCFGR, I2SPR, INTERRUPTS, RXCRCR, SR, TXCRCR, UNMODELLED};
use bits::{cr1, cr2, sr};
use fifo::Fifo;
use shift::{Shape, Shift};

use crate::devices::common::register::{self, bit};
use strobe_sim::kernel::device::{Context, Create, Device, Direction, OptionError, Reading, Size};
use strobe_sim::kernel::signal::SignalId;

/// A serial peripheral interface.
struct Spi {
    cr1: u32,
    cr2: u32,
    crcpr: u32,
    /// OVR and MODF.
    errors: u32,
    /// The first half of a flag's clearing sequence has been done.
    data_read_after_overrun: bool,
    status_read_after_fault: bool,
    /// The last read of SR cleared a flag that it still showed.
    cleared: bool,
    tx: Fifo,
    rx: Fifo,
    shift: Option<Shift>,
    /// The earliest cycle of the next frame.
    gap_until: u64,
    wires: Wires,
    options: Options,
    /// What DR reads while nothing has been received since.
    last_read: u16,
}

#[derive(Debug, Clone, Copy)]
struct Wires {
    sck: SignalId,
    mosi: SignalId,
    miso: SignalId,
    nss: SignalId,
    tx_request: SignalId,
    rx_request: SignalId,
}

#[derive(Debug, Clone, Copy, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    /// A wire on the circuit board leads from MOSI to MISO.
    loopback: bool,
    /// Whether frames of any size pass through FIFOs of four bytes.
    fifo: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { loopback: false, fifo: true }
    }
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    let name = cx.name;
    let mut wire = |suffix: &str| cx.signal(&format!("{name}_{suffix}"));
    let wires = Wires {
        sck: wire("SCK"),
        mosi: wire("MOSI"),
        miso: wire("MISO"),
        nss: wire("NSS"),
        tx_request: wire("TX_DMA"),
        rx_request: wire("RX_DMA"),
    };
    Ok(Box::new(Spi::new(wires, options)))
}

impl Spi {
    fn new(wires: Wires, options: Options) -> Self {
        Spi {
            cr1: 0,
            cr2: if options.fifo { cr2::RESET } else { 0 },
            crcpr: 7,
            errors: 0,
            data_read_after_overrun: false,
            status_read_after_fault: false,
            cleared: false,
            tx: Fifo::default(),
            rx: Fifo::default(),
            shift: None,
            gap_until: 0,
            wires,
            options,
            last_read: 0,
        }
    }

    /// Data bits of a frame; codes for fewer than 4 mean 8 (RM0360, SPIx_CR2.DS).
    fn frame_bits(&self) -> u32 {
        if !self.options.fifo {
            return if bit(self.cr1, cr1::DFF) { 16 } else { 8 };
        }
        match self.cr2 >> cr2::DS & 0xf {
            0..3 => 8,
            code => code + 1,
        }
    }

    /// Bytes of a frame in the FIFOs.
    fn frame_bytes(&self) -> usize {
        if self.frame_bits() > 8 { 2 } else { 1 }
    }

    fn is_on(&self) -> bool {
        bit(self.cr1, cr1::SPE) && bit(self.cr1, cr1::MSTR)
    }

    /// Whether frames carry data out, and in.
    fn directions(&self) -> (bool, bool) {
        if bit(self.cr1, cr1::BIDIMODE) {
            let out = bit(self.cr1, cr1::BIDIOE);
            (out, !out)
        } else {
            (!bit(self.cr1, cr1::RXONLY), true)
        }
    }

    fn status(&self) -> u32 {
        let when = |condition: bool, flag: u32| if condition { flag } else { 0 };
        let fifo = self.options.fifo;
        let threshold = if !fifo || bit(self.cr2, cr2::FRXTH) { 1 } else { 2 };
        let levels = self.rx.level() << sr::FRLVL | self.tx.level() << sr::FTLVL;
        let waiting = self.is_on() && self.tx.len() >= self.frame_bytes() && self.directions().0;
        self.errors
            | when(self.rx.len() >= threshold, sr::RXNE)
            | when(self.tx.len() <= if fifo { 2 } else { 0 }, sr::TXE)
            | when(self.shift.is_some() || waiting, sr::BSY)
            | when(fifo, levels)
    }

    /// Half a clock period in core cycles.
    fn half(&self, cx: &Context) -> u64 {
        u64::from(cx.bus_divider()) << (self.cr1 >> cr1::BR & 7)
    }

    /// Begins a frame if there is one to send or the clock runs by itself; false if not.
    fn start(&mut self, cx: &mut Context) -> bool {
        let (sends, _) = self.directions();
        if !self.is_on() || sends && self.tx.len() < self.frame_bytes() {
            return false;
        }
        let data = if sends { self.tx.pop(self.frame_bytes()) } else { 0 };
        let shape = Shape {
            bits: self.frame_bits(),
            second_edge: bit(self.cr1, cr1::CPHA),
            lsb_first: bit(self.cr1, cr1::LSBFIRST),
            half: self.half(cx),
        };
        let edges = cx.is_observed(self.wires.sck) || cx.is_observed(self.wires.mosi);
        let start = self.gap_until.max(cx.now());
        self.shift = Some(Shift::new(shape, start, edges, data));
        true
    }

    /// Lets everything happen that is due by now.
    fn run(&mut self, cx: &mut Context) {
        // Each step lies at least a core cycle after the one before, so this ends.
        while self.shift.is_some() || self.start(cx) {
            match self.shift {
                Some(shift) if shift.next_at() <= cx.now() => self.step(shift, cx),
                _ => return,
            }
        }
    }

    fn step(&mut self, mut shift: Shift, cx: &mut Context) {
        if let Some(step) = shift.step() {
            self.drive_nss(true, cx);
            // The clock moves before the data, so that a listener samples what was there.
            if let Some(active) = step.clock {
                cx.set_signal(self.wires.sck, active ^ bit(self.cr1, cr1::CPOL));
            }
            if let Some(level) = step.data.filter(|_| self.directions().0) {
                cx.set_signal(self.wires.mosi, level);
            }
            if step.sample {
                shift.sampled(cx.level(self.wires.miso));
            }
        }
        if shift.is_over() {
            self.finish(shift, cx);
        } else {
            self.shift = Some(shift);
        }
    }

    fn finish(&mut self, mut shift: Shift, cx: &mut Context) {
        self.shift = None;
        let (sends, receives) = self.directions();
        shift.received_at_once(cx.level(self.wires.miso));
        if self.options.loopback {
            shift.received = shift.sent;
        }
        if sends {
            cx.serial_frame(Direction::Transmit, shift.sent);
        }
        if receives {
            cx.serial_frame(Direction::Receive, shift.received);
            if !self.push_received(shift.received) {
                self.errors |= sr::OVR;
            }
        }
        // NSSP keeps NSS high for a clock period between frames (RM0360, "NSS pulse mode").
        if bit(self.cr2, cr2::NSSP) && !bit(self.cr1, cr1::CPHA) {
            self.gap_until = cx.now() + 2 * self.half(cx);
            self.drive_nss(false, cx);
        }
    }

    /// Stores a received frame; false if there is no room for it.
    fn push_received(&mut self, frame: u16) -> bool {
        let free = self.options.fifo || self.rx.len() == 0;
        free && self.rx.push(frame, self.frame_bytes())
    }

    /// NSS as an output: low while the interface is on, or only during frames in pulse mode.
    fn drive_nss(&self, in_frame: bool, cx: &mut Context) {
        let drives = self.is_on() && bit(self.cr2, cr2::SSOE) && !bit(self.cr1, cr1::SSM);
        let pulses = bit(self.cr2, cr2::NSSP) && !bit(self.cr1, cr1::CPHA);
        cx.set_signal(self.wires.nss, !(drives && (in_frame || !pulses)));
    }

    /// Shows the interface's state to the board and asks for the next event.
    fn publish(&mut self, cx: &mut Context) {
        let status = self.status();
        let asserted = |&(enable, flags): &(u32, u32)| bit(self.cr2, enable) && status & flags != 0;
        cx.interrupt(0, INTERRUPTS.iter().any(asserted));
        let request = |enable: u32, flag: u32| bit(self.cr2, enable) && status & flag != 0;
        cx.set_signal(self.wires.tx_request, request(cr2::TXDMAEN, sr::TXE));
        cx.set_signal(self.wires.rx_request, request(cr2::RXDMAEN, sr::RXNE));
        match self.shift {
            Some(shift) => cx.wake_for_edge(shift.next_at(), shift.end()),
            None => cx.sleep(),
        }
    }

    fn write_cr1(&mut self, value: u32, cx: &mut Context) {
        let was_on = bit(self.cr1, cr1::SPE);
        self.cr1 = value & 0xffff;
        if std::mem::take(&mut self.status_read_after_fault) {
            self.errors &= !sr::MODF;
        }
        // A master that another master selects gives way (RM0360, "Mode fault").
        let selected = bit(value, cr1::SSM) && !bit(value, cr1::SSI);
        if self.is_on() && selected {
            self.errors |= sr::MODF;
            self.cr1 &= !(1 << cr1::SPE | 1 << cr1::MSTR);
        }
        if bit(self.cr1, cr1::SPE) && !bit(self.cr1, cr1::MSTR) {
            cx.warn_of("not-modelled", format!("{}: slave mode is not modelled", cx.name()));
        }
        if was_on && !bit(self.cr1, cr1::SPE) {
            // What was not sent is lost; what was received waits to be read.
            self.tx = Fifo::default();
            self.shift = None;
        }
        if self.shift.is_none() {
            cx.set_signal(self.wires.sck, bit(self.cr1, cr1::CPOL));
            self.drive_nss(false, cx);
        }
    }

    fn write_data(&mut self, size: Size, value: u32, cx: &mut Context) {
        let count = self.access_bytes(size);
        let free = self.options.fifo || self.tx.len() == 0;
        if !free || !self.tx.push(value as u16, count) {
            let full = if self.options.fifo { "the transmit FIFO was full" } else { "it was full" };
            cx.warn_of(
                "data-lost",
                format!("{}: the data register was written while {full}: data was lost", cx.name()),
            );
        }
    }

    /// How many bytes an access to the data register moves: with FIFOs those wider than a byte
    /// carry two, one frame or two packed ones; without, always a frame.
    fn access_bytes(&self, size: Size) -> usize {
        match (self.options.fifo, size) {
            (false, _) => self.frame_bytes(),
            (true, Size::Byte) => 1,
            (true, _) => 2,
        }
    }

    fn read_data(&mut self, size: Size) -> u32 {
        self.data_read_after_overrun = self.errors & sr::OVR != 0;
        let count = self.access_bytes(size);
        if self.options.fifo || self.rx.len() > 0 {
            self.last_read = self.rx.pop(count);
        }
        self.last_read.into()
    }

    /// Reads SR, which is half of what clears an error.
    fn read_status(&mut self) -> u32 {
        let status = self.status();
        self.cleared = std::mem::take(&mut self.data_read_after_overrun);
        if self.cleared {
            self.errors &= !sr::OVR;
        }
        self.status_read_after_fault |= status & sr::MODF != 0;
        status
    }

    fn register(&self, register: u32) -> Option<u32> {
        Some(match register {
            CR1 => self.cr1,
            CR2 => self.cr2,
            CRCPR => self.crcpr,
            SR | RXCRCR | TXCRCR | I2SCFGR => 0,
            I2SPR => 2,
            _ => return None,
        })
    }
}

impl Device for Spi {
    fn read(&mut self, offset: u32, size: Size, cx: &mut Context) -> Option<u32> {
        let errors = self.errors;
        let value = match offset & !3 {
            DR => self.read_data(size),
            SR => register::part(self.read_status(), offset, size),
            register => register::part(self.register(register)?, offset, size),
        };
        // Firmware that polls SR should be cheap to simulate.
        if offset & !3 == DR || self.errors != errors {
            self.publish(cx);
        }
        Some(value)
    }

    fn reading(&mut self, offset: u32, _: Size, _: &mut Context) -> Reading {
        match offset & !3 {
            DR => Reading::Unknown,
            SR if self.cleared => Reading::Unknown,
            // Reading SR again, with the same flags, leaves the sequences where they are.
            _ => Reading::FIXED,
        }
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let register = offset & !3;
        if register == DR {
            self.write_data(size, value, cx);
        } else {
            let mut value = register::merge(self.register(register)?, offset, size, value);
            if register == CR2 && !self.options.fifo {
                value &= cr2::WITHOUT_FIFO;
            }
            let unmodelled = UNMODELLED.iter().filter(|(r, b, _)| *r == register && value & b != 0);
            for (_, _, mode) in unmodelled {
                cx.warn_of("not-modelled", format!("{}: {mode} is not modelled", cx.name()));
            }
            match register {
                CR1 => self.write_cr1(value, cx),
                CR2 => self.cr2 = value & 0x7fff,
                CRCPR => self.crcpr = value & 0xffff,
                _ => {}
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
        *self = Spi::new(self.wires, self.options);
        cx.set_signal(self.wires.sck, false);
        cx.set_signal(self.wires.mosi, false);
        cx.set_signal(self.wires.nss, true);
        self.publish(cx);
    }
}
