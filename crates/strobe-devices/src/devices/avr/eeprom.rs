//! EEPROM (ATmega328P data sheet, 7.4 and 7.6): reads that halt the core for four cycles, writes in
//! the background of 3.4 ms, allowed within four cycles of EEMPE. Its contents are the board's
//! memory at 0x810000, where ELF files have them.

use serde::Deserialize;

use strobe_sim::kernel::device::{
    ByteRegisters, Context, Create, Device, OptionError, Reading, Size,
};

const EECR: u32 = 0;
const EEDR: u32 = 1;
const EEARL: u32 = 2;
const EEARH: u32 = 3;

const EEPM: u8 = 0x30;
const EERIE: u8 = 1 << 3;
const EEMPE: u8 = 1 << 2;
const EEPE: u8 = 1 << 1;
const EERE: u8 = 1;

/// Where the contents begin.
const BASE: u32 = 0x81_0000;
/// Cycles within which EEPE must follow EEMPE.
const WINDOW: u64 = 4;
/// Cycles that the core stands still for a read and for the start of a write (7.6.3).
const READ_HALT: u64 = 4;
const WRITE_HALT: u64 = 2;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Bytes; a power of two.
    size: u16,
}

struct Eeprom {
    size: u16,
    address: u16,
    data: u8,
    /// EEPM and EERIE.
    control: u8,
    /// Until when EEMPE allows a write.
    allowed_until: Option<u64>,
    busy_until: Option<u64>,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { size } = cx.options()?;
    if !size.is_power_of_two() {
        return Err(OptionError::limit("size", "must be a power of two"));
    }
    let (address, data, control) = (0, 0, 0);
    Ok(Box::new(Eeprom { size, address, data, control, allowed_until: None, busy_until: None }))
}

impl Eeprom {
    fn allowed(&self, now: u64) -> bool {
        self.allowed_until.is_some_and(|until| now <= until)
    }

    fn cell<'a>(&self, cx: &'a mut Context) -> Option<&'a mut u8> {
        cx.memory_mut(BASE + u32::from(self.address & (self.size - 1)))
    }

    fn control(&mut self, value: u8, cx: &mut Context) {
        let busy = self.busy_until.is_some();
        let allowed = self.allowed(cx.now());
        self.control = value & (EEPM | EERIE);
        if value & EEPE != 0 && allowed && !busy {
            self.begin(cx);
        } else if value & EEMPE != 0 && value & EEPE == 0 {
            self.allowed_until = Some(cx.now() + WINDOW);
        }
        if value & EERE != 0 && !busy {
            self.data = self.cell(cx).map_or(0xff, |cell| *cell);
            cx.halt(READ_HALT);
        }
    }

    /// Erases and writes, or one of the two (table 7-1).
    fn begin(&mut self, cx: &mut Context) {
        self.allowed_until = None;
        let data = self.data;
        let (mode, micros) = (self.control >> 4 & 3, [3400, 1800, 1800, 0]);
        if let Some(cell) = self.cell(cx) {
            match mode {
                0 => *cell = data,
                1 => *cell = 0xff,
                2 => *cell &= data,
                _ => {}
            }
        }
        let cycles = u64::from(cx.clocks().core_hz()) * micros[usize::from(mode)] / 1_000_000;
        self.busy_until = Some(cx.now() + cycles);
        cx.halt(WRITE_HALT);
    }

    fn show(&mut self, cx: &mut Context) {
        let ready = self.busy_until.is_none();
        cx.interrupt(0, ready && self.control & EERIE != 0);
        cx.wake_at(self.busy_until.unwrap_or(u64::MAX));
    }
}

impl Device for Eeprom {
    fn read(&mut self, register: u32, _: Size, cx: &mut Context) -> Option<u32> {
        Some(u32::from(match register {
            EECR => {
                let writing = if self.busy_until.is_some() { EEPE } else { 0 };
                let allowed = if self.allowed(cx.now()) { EEMPE } else { 0 };
                self.control | writing | allowed
            }
            EEDR => self.data,
            EEARL => self.address as u8,
            EEARH => (self.address >> 8) as u8,
            _ => return None,
        }))
    }

    fn reading(&mut self, register: u32, _: Size, cx: &mut Context) -> Reading {
        match register {
            EECR => super::until_closed(self.allowed_until, cx),
            _ => Reading::FIXED,
        }
    }

    fn write(&mut self, register: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
        let byte = u16::from(value as u8);
        match register {
            EECR => self.control(value as u8, cx),
            EEDR => self.data = value as u8,
            EEARL => self.address = self.address & 0xff00 | byte,
            EEARH => self.address = (self.address & 0xff | byte << 8) & (self.size - 1),
            _ => return None,
        }
        self.show(cx);
        Some(())
    }

    fn set_bit(&mut self, register: u32, bit: u8, level: bool, cx: &mut Context) -> Option<()> {
        let old = match register {
            EECR => self.control,
            _ => self.read(register, Size::Byte, cx)? as u8,
        };
        let value = old & !(1 << bit) | u8::from(level) << bit;
        self.write(register, Size::Byte, value.into(), cx)
    }

    fn event(&mut self, cx: &mut Context) {
        if self.busy_until.is_some_and(|until| until <= cx.now()) {
            self.busy_until = None;
        }
        self.show(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.address, self.data, self.control) = (0, 0, 0);
        (self.allowed_until, self.busy_until) = (None, None);
        self.show(cx);
    }

    fn byte_registers(&mut self) -> Option<&mut dyn ByteRegisters> {
        Some(self)
    }
}

impl ByteRegisters for Eeprom {
    fn names(&self) -> &'static [&'static str] {
        &["EECR", "EEDR", "EEARL", "EEARH"]
    }
}
