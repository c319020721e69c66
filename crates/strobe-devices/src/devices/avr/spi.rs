//! SPI (ATmega328P data sheet, chapter 18).
//!
//! Wires: `<name>_SCK`, `<name>_MOSI` and `<name>_MISO`, each with `_ON` and `_IN`; the pins
//! `miso`, `mosi`, `sck` and `ss` of the board file are listened to. A transfer takes eight clocks
//! from the write to SPDR; single edges are shown while somebody may see them or the clock is slow,
//! else only its end. SS makes a slave of a master only when it is driven from outside. A slave
//! sees edges of SCK at once.

use serde::Deserialize;

use self::slave::Slave;

use crate::devices::avr::standstill::Standstill;
use strobe_sim::kernel::device::{
    ByteRegisters, Context, CoreEvents, Create, Device, Direction, DrivenPins, OptionError,
    Reading, Sender, Size,
};
use strobe_sim::kernel::signal::SignalId;

mod slave;

const SPCR: u32 = 0;
const SPSR: u32 = 1;
const SPDR: u32 = 2;

const SPIE: u8 = 1 << 7;
const SPE: u8 = 1 << 6;
const DORD: u8 = 1 << 5;
const MSTR: u8 = 1 << 4;
const CPOL: u8 = 1 << 3;
const CPHA: u8 = 1 << 2;
const SPIF: u8 = 1 << 7;
const WCOL: u8 = 1 << 6;
const SPI2X: u8 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    miso: String,
    mosi: String,
    sck: String,
    ss: String,
}

/// A byte on its way.
struct Transfer {
    out: u8,
    arrived: u8,
    start: u64,
    /// Half a clock, in core cycles.
    half: u64,
    /// Halves that have passed, of 16.
    halves: u64,
}

/// Cycles of half a clock from which edges are shown in any case: they cost little then, and
/// firmware polls so often meanwhile that skipping that is worth it.
const SLOW: u64 = 32;

impl Transfer {
    /// Whether each edge is an event.
    fn shows_edges(&self, cx: &Context) -> bool {
        self.half >= SLOW || cx.sees_pins()
    }

    /// The cycle of the next half.
    fn next_edge(&self) -> u64 {
        self.start + (self.halves + 1) * self.half
    }
}

struct Spi {
    miso: SignalId,
    miso_input: SignalId,
    miso_level: SignalId,
    miso_on: SignalId,
    ss: SignalId,
    mosi_pin: SignalId,
    mosi_input: SignalId,
    sck_pin: SignalId,
    sck_input: SignalId,
    slave: Slave,
    mosi: SignalId,
    mosi_on: SignalId,
    sck: SignalId,
    sck_on: SignalId,
    control: u8,
    double: bool,
    /// SPIF and WCOL, and those that SPSR has been read with.
    flags: u8,
    seen: u8,
    received: u8,
    mosi_level: bool,
    transfer: Option<Transfer>,
    standstill: Standstill,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { miso, mosi, sck, ss } = cx.options()?;
    let [miso, mosi_pin, sck_pin, ss] = [miso, mosi, sck, ss].map(|name| cx.signal(&name));
    [miso, mosi_pin, sck_pin, ss].into_iter().for_each(|pin| cx.listen(pin));
    let name = cx.name.to_owned();
    Ok(Box::new(Spi {
        miso,
        ss,
        miso_input: cx.signal(&format!("{name}_MISO_IN")),
        miso_level: cx.signal(&format!("{name}_MISO")),
        miso_on: cx.signal(&format!("{name}_MISO_ON")),
        mosi_pin,
        mosi_input: cx.signal(&format!("{name}_MOSI_IN")),
        sck_pin,
        sck_input: cx.signal(&format!("{name}_SCK_IN")),
        slave: Slave::default(),
        mosi: cx.signal(&format!("{name}_MOSI")),
        mosi_on: cx.signal(&format!("{name}_MOSI_ON")),
        sck: cx.signal(&format!("{name}_SCK")),
        sck_on: cx.signal(&format!("{name}_SCK_ON")),
        control: 0,
        double: false,
        flags: 0,
        seen: 0,
        received: 0,
        mosi_level: false,
        transfer: None,
        standstill: Standstill::default(),
    }))
}

impl Spi {
    fn is_master(&self) -> bool {
        self.control & (SPE | MSTR) == SPE | MSTR
    }

    /// Half a clock in core cycles (table 18-5).
    fn half(&self) -> u64 {
        let divisor = [4, 16, 64, 128][usize::from(self.control & 3)];
        divisor / if self.double { 4 } else { 2 }
    }

    /// The bit of `value` that goes `n`-th over the line.
    fn place(&self, n: u64) -> u64 {
        if self.control & DORD != 0 { n } else { 7 - n }
    }

    fn begin(&mut self, value: u8, cx: &mut Context) {
        if !self.is_master() {
            self.slave.load(value);
            self.put_first_bit();
            return;
        }
        let transfer =
            Transfer { out: value, arrived: 0, start: cx.now(), half: self.half(), halves: 0 };
        if self.control & CPHA == 0 {
            self.mosi_level = value >> self.place(0) & 1 != 0;
        }
        self.transfer = Some(transfer);
    }

    /// Goes on to `halves` halves of a clock: each is an edge, which sets up or samples a bit
    /// (figures 18-3, 18-4).
    fn step(&mut self, halves: u64, cx: &mut Context) {
        let Some(mut transfer) = self.transfer.take() else { return };
        let late = self.control & CPHA != 0;
        while transfer.halves < halves {
            let edge = transfer.halves;
            let leading = edge % 2 == 0;
            let bit = edge / 2;
            if leading != late {
                let place = self.place(bit);
                transfer.arrived |= u8::from(cx.level(self.miso)) << place;
            } else {
                let next = if late { bit } else { bit + 1 };
                if next < 8 {
                    self.mosi_level = transfer.out >> self.place(next) & 1 != 0;
                }
            }
            transfer.halves += 1;
        }
        self.transfer = Some(transfer);
    }

    /// Edges and the end, as far as they are due.
    fn catch_up(&mut self, cx: &mut Context) {
        if self.standstill.is_on() {
            return;
        }
        let Some(transfer) = &self.transfer else { return };
        let passed = (cx.now() - transfer.start) / transfer.half;
        let (edges, over) = (passed.min(16), passed >= 16);
        self.step(edges, cx);
        if over && let Some(done) = self.transfer.take() {
            self.received = done.arrived;
            self.flags |= SPIF;
            self.seen = 0;
            cx.serial_frame(Direction::Transmit, done.out.into());
            cx.serial_frame(Direction::Receive, done.arrived.into());
        }
    }

    fn show(&mut self, cx: &mut Context) {
        let master = self.is_master();
        cx.set_signal(self.mosi_on, master);
        cx.set_signal(self.sck_on, master);
        cx.set_signal(self.miso_input, master);
        let slave = self.is_slave();
        cx.set_signal(self.mosi_input, slave);
        cx.set_signal(self.sck_input, slave);
        cx.set_signal(self.miso_on, slave && self.is_selected(cx));
        cx.set_signal(self.miso_level, self.slave.output);
        cx.set_signal(self.mosi, self.mosi_level);
        let active = self.transfer.as_ref().is_some_and(|t| t.halves % 2 == 1);
        cx.set_signal(self.sck, (self.control & CPOL != 0) != active);
        cx.interrupt(0, self.flags & SPIF != 0 && self.control & SPIE != 0);
        let moves = |_: &&Transfer| !self.standstill.is_on();
        let Some(transfer) = self.transfer.as_ref().filter(moves) else { return cx.sleep() };
        let edge = if transfer.shows_edges(cx) { transfer.next_edge() } else { u64::MAX };
        cx.wake_for_edge(edge, transfer.start + 16 * transfer.half);
    }

    /// SPDR is read or written: flags that SPSR has been read with are cleared (18.5.2).
    fn touch(&mut self) {
        self.flags &= !self.seen;
        self.seen = 0;
    }

    /// Another master drives SS low (18.3.2).
    fn mode_fault(&mut self, cx: &mut Context) {
        if self.is_master() && cx.external(self.ss) == Some(false) {
            self.control &= !MSTR;
            self.flags |= SPIF;
            self.transfer = None;
            let name = cx.name().to_owned();
            cx.warn(format!("{name}: SS is driven low, which makes the master a slave"));
        }
    }
}

impl Device for Spi {
    fn read(&mut self, register: u32, _: Size, cx: &mut Context) -> Option<u32> {
        self.catch_up(cx);
        let value = match register {
            SPCR => self.control,
            SPSR => {
                self.seen = self.flags;
                self.flags | u8::from(self.double)
            }
            SPDR => {
                self.touch();
                self.received
            }
            _ => return None,
        };
        self.show(cx);
        Some(value.into())
    }

    fn reading(&mut self, register: u32, _: Size, cx: &mut Context) -> Reading {
        // It clears flags that SPSR has been read with.
        if register == SPDR {
            return Reading::Unknown;
        }
        // A read takes the edges that have passed, and with them samples MISO, unless they are
        // events.
        let moves = !self.standstill.is_on();
        let takes = |t: &&Transfer| moves && !t.shows_edges(cx);
        let edge = self.transfer.as_ref().filter(takes).map(Transfer::next_edge);
        Reading::FIXED.before(edge.unwrap_or(u64::MAX))
    }

    fn write(&mut self, register: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
        self.catch_up(cx);
        let value = value as u8;
        match register {
            SPCR => {
                self.control = value;
                if value & SPE == 0 {
                    self.transfer = None;
                }
                self.mode_fault(cx);
            }
            SPSR => self.double = value & SPI2X != 0,
            SPDR if self.transfer.is_some() || self.slave.is_busy() => self.flags |= WCOL,
            SPDR => {
                self.touch();
                self.begin(value, cx);
            }
            _ => return None,
        }
        self.show(cx);
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        self.catch_up(cx);
        self.show(cx);
    }

    fn signal(&mut self, id: SignalId, level: bool, cx: &mut Context) {
        if self.is_slave() && !self.standstill.is_on() {
            self.slave_hears(id, level, cx);
            self.show(cx);
        }
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        let runs = cx.clocked() && cx.clocks().io_runs();
        if !runs {
            self.catch_up(cx);
        }
        let Some(gap) = self.standstill.change(runs, cx.now()) else { return };
        if let Some(transfer) = &mut self.transfer {
            transfer.start += gap;
        }
        self.show(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.control, self.double, self.flags, self.seen) = (0, false, 0, 0);
        (self.received, self.mosi_level, self.transfer) = (0, false, None);
        self.slave = Slave::default();
        self.show(cx);
    }

    fn byte_registers(&mut self) -> Option<&mut dyn ByteRegisters> {
        Some(self)
    }

    fn core_events(&mut self) -> Option<&mut dyn CoreEvents> {
        Some(self)
    }

    fn driven_pins(&mut self) -> Option<&mut dyn DrivenPins> {
        Some(self)
    }

    fn sender(&self) -> Option<&dyn Sender> {
        Some(self)
    }
}

impl ByteRegisters for Spi {
    fn names(&self) -> &'static [&'static str] {
        &["SPCR", "SPSR", "SPDR"]
    }
}

impl CoreEvents for Spi {
    fn interrupt_taken(&mut self, _: usize, cx: &mut Context) {
        self.flags &= !SPIF;
        self.show(cx);
    }
}

impl DrivenPins for Spi {
    fn driven(&mut self, pin: SignalId, cx: &mut Context) {
        if pin == self.ss {
            self.mode_fault(cx);
            self.show(cx);
        }
    }
}

impl Sender for Spi {
    fn is_sending(&self) -> bool {
        self.transfer.is_some() && !self.standstill.is_on()
    }
}
