//! A display of 240x320 pixels with an ST7787-style controller on three wires: select, clock and
//! one data line for both directions, nine bits to a word, the first of which selects data (1) or
//! command (0).
//!
//! Bits are taken at rising edges of the clock, what the display sends changes at falling ones. A
//! command that reads hands the line over with the falling edge after its last bit: by then the
//! chip must have let go of it, and if it has not, both drive the line and this is said. Reading
//! memory takes nine clocks before the first bit and ends, with the line let go, after one
//! pixel: three bytes with six bits each, from the left.
//!
//! Sources: the command set and read protocol that Sitronix's controllers share (data sheets of
//! ST7735 and ST7789, "3-line serial protocol"); what is special about this one (nine clocks, one
//! pixel) from published experience with it. Not modelled, and said so when firmware asks for it:
//! partial mode, scrolling, gamma, brightness, inversion, idle mode.

mod memory;
mod serial;

use serde::Deserialize;

use self::memory::Memory;
use self::serial::{Serial, Word};
use strobe_sim::kernel::device::part::Picture;
use strobe_sim::kernel::device::{Context, Create, Device, OptionError, PinWatch, ResetCause};
use strobe_sim::kernel::signal::SignalId;

/// The controller needs so long after it was woken or reset before it takes a command.
const WAKE_NS: u64 = 5_000_000;

/// It shows its memory sixty times in a second.
const FRAME_NS: u64 = 16_666_667;

/// Clocks before the first bit of an answer: of memory, of the identification.
const MEMORY_DUMMIES: u32 = 9;
const ID_DUMMIES: u32 = 1;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    cs: String,
    scl: String,
    sda: String,
    /// What RDDID answers: manufacturer, version, driver.
    #[serde(default = "identification")]
    id: [u8; 3],
    /// The shortest clock period when writing and when reading, in nanoseconds; the defaults are
    /// the ST7735's.
    #[serde(default = "write_period")]
    write_period_ns: u64,
    #[serde(default = "read_period")]
    read_period_ns: u64,
}

fn identification() -> [u8; 3] {
    [0x4c, 0x80, 0x77]
}

fn write_period() -> u64 {
    66
}

fn read_period() -> u64 {
    150
}

/// The command whose parameters come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    /// One that takes none, or whose parameters mean nothing here.
    None,
    Columns,
    Rows,
    Write,
    Access,
    Format,
}

struct Display {
    options: Options,
    cs: SignalId,
    scl: SignalId,
    sda: SignalId,
    serial: Serial,
    memory: Memory,
    command: Command,
    parameters: Vec<u8>,
    asleep: bool,
    on: bool,
    /// No command before this, in nanoseconds.
    ready_ns: u64,
    /// When the clock rose last, in nanoseconds.
    rose_ns: Option<u64>,
    /// The memory has changed since it was shown.
    changed: bool,
    /// A frame is due.
    frame_due: bool,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    let [cs, scl, sda] = [&options.cs, &options.scl, &options.sda].map(|pin| cx.pin(pin));
    let (cs, scl, sda) = (cs?, scl?, sda?);
    [cs, scl, sda].into_iter().for_each(|pin| cx.listen(pin));
    Ok(Box::new(Display {
        options,
        cs,
        scl,
        sda,
        serial: Serial::default(),
        memory: Memory::default(),
        command: Command::None,
        parameters: Vec::new(),
        asleep: true,
        on: false,
        ready_ns: 0,
        rose_ns: None,
        changed: false,
        frame_due: false,
    }))
}

impl Display {
    /// The clock has risen: a bit is taken.
    fn rise(&mut self, cx: &mut Context) {
        let now = cx.nanoseconds();
        let reading = self.serial.is_reading();
        let shortest =
            if reading { self.options.read_period_ns } else { self.options.write_period_ns };
        if let Some(before) = self.rose_ns.replace(now)
            && now - before < shortest
        {
            let name = cx.name().to_owned();
            let what = if reading { "reading" } else { "writing" };
            cx.warn(format!(
                "{name}: a clock period is shorter than the {shortest} ns that {what} needs"
            ));
        }
        match self.serial.take(cx.level(self.sda)) {
            Some(Word { data: false, byte }) => self.command(byte, cx),
            Some(Word { data: true, byte }) => self.data(byte, cx),
            None => {}
        }
    }

    /// The clock has fallen: the next bit of an answer.
    fn fall(&mut self, cx: &mut Context) {
        let level = self.serial.put();
        let begins = level.is_some() && !self.serial.drives;
        self.serial.drives = level.is_some();
        if begins && cx.is_held(self.sda) {
            self.contention(cx);
        }
        if begins || level != cx.external(self.sda) {
            cx.drive(self.sda, level);
        }
    }

    fn contention(&self, cx: &mut Context) {
        let name = cx.name().to_owned();
        cx.warn(format!(
            "{name}: the chip and the display both drive the data line: the chip must let go of it \
             before the clock falls \
             after the last bit of a command that reads"
        ));
    }

    /// The display is no longer selected: what it was doing is over.
    fn deselect(&mut self, cx: &mut Context) {
        self.serial = Serial::default();
        self.rose_ns = None;
        if cx.external(self.sda).is_some() {
            cx.drive(self.sda, None);
        }
    }

    fn command(&mut self, code: u8, cx: &mut Context) {
        let now = cx.nanoseconds();
        let name = cx.name().to_owned();
        if now < self.ready_ns {
            cx.warn(format!(
                "{name}: command {code:02x}h came too early: after waking up or a reset it takes 5 \
                 ms"
            ));
        }
        self.parameters.clear();
        self.command = Command::None;
        match code {
            0x00 | 0x13 => {}
            0x01 => {
                self.start_anew();
                self.ready_ns = now + WAKE_NS;
            }
            0x04 => {
                let [a, b, c] = self.options.id.map(u32::from);
                self.serial.answer(ID_DUMMIES, a << 16 | b << 8 | c);
            }
            0x10 => (self.asleep, self.ready_ns) = (true, now + WAKE_NS),
            0x11 => (self.asleep, self.ready_ns) = (false, now + WAKE_NS),
            0x28 => self.on = false,
            0x29 => self.on = true,
            0x2a => self.command = Command::Columns,
            0x2b => self.command = Command::Rows,
            0x2c => {
                self.memory.begin();
                self.command = Command::Write;
            }
            0x2e => {
                self.memory.begin();
                let [r, g, b] = self.memory.read().map(u32::from);
                self.serial.answer(MEMORY_DUMMIES, r << 18 | g << 10 | b << 2);
            }
            0x36 => self.command = Command::Access,
            0x3a => self.command = Command::Format,
            code => {
                cx.warn_of("not-modelled", format!("{name}: command {code:02x}h is not modelled"))
            }
        }
        self.expect_frame(cx);
    }

    fn data(&mut self, byte: u8, cx: &mut Context) {
        match self.command {
            Command::None => {}
            Command::Write => {
                self.changed |= self.memory.write(byte);
                self.expect_frame(cx);
            }
            Command::Columns | Command::Rows => {
                self.parameters.push(byte);
                let &[a, b, c, d] = self.parameters.as_slice() else { return };
                let range = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
                let fits = match self.command {
                    Command::Columns => self.memory.set_columns(range),
                    _ => self.memory.set_rows(range),
                };
                if !fits {
                    let (name, (from, to)) = (cx.name().to_owned(), range);
                    cx.warn(format!(
                        "{name}: a window from {from} to {to} is none of this display"
                    ));
                }
                self.command = Command::None;
            }
            Command::Access => {
                self.memory.access = byte;
                self.command = Command::None;
            }
            Command::Format => {
                if !self.memory.set_format(byte) {
                    let name = cx.name().to_owned();
                    cx.warn_of(
                        "not-modelled",
                        format!(
                            "{name}: pixel format {byte:02x}h is not modelled; 05h and 06h are"
                        ),
                    );
                }
                self.command = Command::None;
            }
        }
    }

    fn start_anew(&mut self) {
        self.memory.reset();
        (self.asleep, self.on) = (true, false);
        (self.command, self.changed) = (Command::None, true);
    }

    fn shows(&self) -> bool {
        self.on && !self.asleep
    }

    /// What is new is seen with the next frame.
    fn expect_frame(&mut self, cx: &mut Context) {
        if self.shows() && self.changed && !self.frame_due {
            let next = cx.nanoseconds() / FRAME_NS * FRAME_NS + FRAME_NS;
            let cycle = cx.clocks().cycle_at_nanoseconds(next);
            self.frame_due = true;
            cx.wake_at(cycle);
        }
    }
}

impl Device for Display {
    fn signal(&mut self, id: SignalId, level: bool, cx: &mut Context) {
        if id == self.cs && level {
            self.deselect(cx);
        } else if id == self.scl && !cx.level(self.cs) {
            if level { self.rise(cx) } else { self.fall(cx) }
        }
    }

    fn event(&mut self, cx: &mut Context) {
        self.frame_due = false;
        if self.shows() && self.changed {
            self.changed = false;
            cx.show(Picture {
                width: memory::WIDTH,
                height: memory::HEIGHT,
                rgb: self.memory.picture(),
            });
        }
    }

    fn reset(&mut self, cx: &mut Context) {
        // The display has no wire that resets it with the chip.
        if cx.reset_cause() == ResetCause::PowerOn {
            self.start_anew();
            self.changed = false;
            self.ready_ns = WAKE_NS;
        }
        self.deselect(cx);
    }

    fn pin_watch(&mut self) -> Option<&mut dyn PinWatch> {
        Some(self)
    }
}

impl PinWatch for Display {
    fn held(&mut self, id: SignalId, cx: &mut Context) {
        if id == self.sda && self.serial.drives && cx.is_held(id) {
            self.contention(cx);
        }
    }
}

#[cfg(test)]
mod tests;
