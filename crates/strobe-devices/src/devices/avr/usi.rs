//! Universal serial interface (ATtiny85 data sheet 2586Q, chapter 15): a shift register and a
//! counter of four bits that firmware, or a pin clocks; three-wire as SPI, two-wire as I2C. That
//! Timer0 clocks it is not modelled.
//!
//! Wires: `<name>_DO` and `_SDA`, `_SCL` with `_ON`; `_OPEN` while the two lines of two-wire mode
//! are open drain; `<name>_TOGGLE`, each change of which toggles the clock pin's PORT bit. The pins
//! `di` (SDA) and `clock` (SCL) of the board file are listened to.

use serde::Deserialize;

use strobe_sim::kernel::device::{
    ByteRegisters, Context, Create, Device, Direction, OptionError, Reading, Size,
};
use strobe_sim::kernel::signal::SignalId;

const USICR: u32 = 0;
const USISR: u32 = 1;
const USIDR: u32 = 2;
const USIBR: u32 = 3;

const STARTED: u8 = 1 << 7;
const OVERFLOW: u8 = 1 << 6;
const STOPPED: u8 = 1 << 5;
const COLLISION: u8 = 1 << 4;
const STROBE: u8 = 1 << 1;
const TOGGLE: u8 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    di: String,
    clock: String,
}

/// What USICS1:0 clocks the shift register with (table 15-2).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Software,
    Timer,
    /// Edges of the clock pin.
    Pin {
        rising: bool,
    },
}

struct Usi {
    di: SignalId,
    clock: SignalId,
    output: [SignalId; 2],
    sda: [SignalId; 3],
    scl: [SignalId; 3],
    toggle: SignalId,
    control: u8,
    flags: u8,
    count: u8,
    data: u8,
    buffer: u8,
    /// DO, which follows the register only during one half of an external clock.
    latch: bool,
    toggle_level: bool,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { di, clock } = cx.options()?;
    let mut heard = |name: &str| {
        let id = cx.signal(name);
        cx.listen(id);
        id
    };
    let (di, clock) = (heard(&di), heard(&clock));
    let name = cx.name.to_owned();
    let mut wire = |suffix: &str| cx.signal(&format!("{name}_{suffix}"));
    Ok(Box::new(Usi {
        di,
        clock,
        output: [wire("DO"), wire("DO_ON")],
        sda: [wire("SDA"), wire("SDA_ON"), wire("SDA_OPEN")],
        scl: [wire("SCL"), wire("SCL_ON"), wire("SCL_OPEN")],
        toggle: wire("SCL_TOGGLE"),
        control: 0,
        flags: 0,
        count: 0,
        data: 0,
        buffer: 0,
        latch: false,
        toggle_level: false,
    }))
}

impl Usi {
    fn is_three_wire(&self) -> bool {
        self.control >> 4 & 3 == 1
    }

    fn is_two_wire(&self) -> bool {
        self.control >> 4 & 2 != 0
    }

    fn source(&self) -> Source {
        match self.control >> 2 & 3 {
            0 => Source::Software,
            1 => Source::Timer,
            edge => Source::Pin { rising: edge == 2 },
        }
    }

    fn shift(&mut self, cx: &Context) {
        self.data = self.data << 1 | u8::from(cx.level(self.di));
    }

    fn count(&mut self, cx: &mut Context) {
        self.count = (self.count + 1) & 0xf;
        if self.count == 0 {
            self.flags |= OVERFLOW;
            self.buffer = self.data;
            cx.serial_frame(Direction::Receive, self.data.into());
        }
    }

    /// USICLK and USITC are strobes.
    fn strobe(&mut self, value: u8, cx: &mut Context) {
        let software = self.source() == Source::Software;
        if value & STROBE != 0 && software {
            self.shift(cx);
            self.count(cx);
        }
        if value & TOGGLE != 0 {
            self.toggle_level = !self.toggle_level;
            cx.set_signal(self.toggle, self.toggle_level);
            // With USICLK set too, and a clock from the pin, this counts.
            if value & STROBE != 0 && !software {
                self.count(cx);
            }
        }
    }

    fn clock_edge(&mut self, level: bool, cx: &mut Context) {
        if let Source::Pin { rising } = self.source() {
            if level == rising {
                self.shift(cx);
            } else {
                self.latch = self.data & 0x80 != 0;
            }
            if self.control & STROBE == 0 {
                self.count(cx);
            }
        }
    }

    /// SDA changes while SCL is high: falling is START, rising is STOP.
    fn data_edge(&mut self, level: bool, cx: &Context) {
        if self.is_two_wire() && cx.level(self.clock) {
            self.flags |= if level { STOPPED } else { STARTED };
        }
    }

    fn show(&mut self, cx: &mut Context) {
        if !matches!(self.source(), Source::Pin { .. }) {
            self.latch = self.data & 0x80 != 0;
        }
        let (three, two) = (self.is_three_wire(), self.is_two_wire());
        let overflow_holds = self.control >> 4 & 3 == 3 && self.flags & OVERFLOW != 0;
        let low = !cx.level(self.clock);
        let holds = two && low && (self.flags & STARTED != 0 || overflow_holds);
        for (wire, level) in [
            (self.output[0], self.latch),
            (self.output[1], three),
            (self.sda[0], false),
            (self.sda[1], two && self.data & 0x80 == 0),
            (self.sda[2], two),
            (self.scl[0], false),
            (self.scl[1], holds),
            (self.scl[2], two),
        ] {
            cx.set_signal(wire, level);
        }
        let asks = self.flags & self.control;
        cx.interrupt(0, asks & STARTED != 0);
        cx.interrupt(1, asks & OVERFLOW != 0);
    }
}

impl Device for Usi {
    fn read(&mut self, register: u32, _: Size, cx: &mut Context) -> Option<u32> {
        Some(u32::from(match register {
            USICR => self.control,
            USISR => {
                let differs = self.is_two_wire() && cx.level(self.di) != (self.data & 0x80 != 0);
                self.flags | if differs { COLLISION } else { 0 } | self.count
            }
            USIDR => self.data,
            USIBR => self.buffer,
            _ => return None,
        }))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, register: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
        let value = value as u8;
        match register {
            USICR => {
                // USICLK stays only where it chooses what counts.
                let stays = if value >> 3 & 1 != 0 { !TOGGLE } else { !(TOGGLE | STROBE) };
                self.control = value & stays;
                if self.source() == Source::Timer {
                    let name = cx.name().to_owned();
                    cx.warn_of(
                        "not-modelled",
                        format!("{name}: that Timer0 clocks it (USICS) is not modelled"),
                    );
                }
                self.strobe(value, cx);
            }
            USISR => {
                self.flags &= !(value & (STARTED | OVERFLOW | STOPPED));
                self.count = value & 0xf;
            }
            USIDR => {
                self.data = value;
                cx.serial_frame(Direction::Transmit, value.into());
            }
            USIBR => {}
            _ => return None,
        }
        self.show(cx);
        Some(())
    }

    fn set_bit(&mut self, register: u32, bit: u8, level: bool, cx: &mut Context) -> Option<()> {
        let keeps = match register {
            USISR => u32::from(self.count),
            _ => self.read(register, Size::Byte, cx)?,
        };
        self.write(register, Size::Byte, keeps & !(1 << bit) | u32::from(level) << bit, cx)
    }

    fn signal(&mut self, id: SignalId, level: bool, cx: &mut Context) {
        if self.control >> 4 & 3 == 0 && self.source() == Source::Software {
            return;
        }
        if id == self.clock {
            self.clock_edge(level, cx);
        } else if id == self.di {
            self.data_edge(level, cx);
        }
        self.show(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.control, self.flags, self.count) = (0, 0, 0);
        (self.data, self.buffer, self.latch) = (0, 0, false);
        self.show(cx);
    }

    fn byte_registers(&mut self) -> Option<&mut dyn ByteRegisters> {
        Some(self)
    }
}

impl ByteRegisters for Usi {
    fn names(&self) -> &'static [&'static str] {
        &["USICR", "USISR", "USIDR", "USIBR"]
    }
}
