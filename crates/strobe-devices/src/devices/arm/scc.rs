//! The serial communication controller of the MPS2 boards' FPGA images (Application Note AN385,
//! section 4.5): what the FPGA image is, and a window to the board's microcontroller, which sets
//! the oscillators.
//!
//! The oscillators can be read and written; their values have no effect on any clock.

use serde::Deserialize;

use crate::devices::common::register::{bit, merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, OptionError, Reading, Size};

const CFG0: u32 = 0x000;
const CFG1: u32 = 0x004;
const CFG3: u32 = 0x00c;
const CFG4: u32 = 0x010;
const CFGDATA_RTN: u32 = 0x0a0;
const CFGDATA_OUT: u32 = 0x0a4;
const CFGCTRL: u32 = 0x0a8;
const CFGSTAT: u32 = 0x0ac;
const DLL: u32 = 0x100;
const AID: u32 = 0xff8;
const ID: u32 = 0xffc;

const CTRL_START: u32 = 31;
const CTRL_WRITE: u32 = 30;
/// CFGCTRL: START reads as 0, bits 19 and 18 are reserved.
const CTRL_READABLE: u32 = 0x7ff0_3fff | 0x3 << 14;
const STAT_DONE: u32 = 1;
const STAT_ERROR: u32 = 2;
/// The function that reads and writes oscillators.
const OSCILLATORS: u32 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Board revision, CFG4.
    cfg4: u32,
    /// What AID shows.
    aid: u32,
    /// What ID shows: the application note.
    id: u32,
    /// Frequencies of the board's oscillators at reset, in hertz.
    oscillators: Vec<u32>,
}

struct Scc {
    options: Options,
    oscillators: Vec<u32>,
    cfg0: u32,
    leds: u32,
    returned: u32,
    out: u32,
    control: u32,
    status: u32,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    let oscillators = options.oscillators.clone();
    Ok(Box::new(Scc {
        options,
        oscillators,
        cfg0: 0,
        leds: 0,
        returned: 0,
        out: 0,
        control: 0,
        status: 0,
    }))
}

impl Scc {
    /// Performs what CFGCTRL asks for.
    fn start(&mut self, control: u32) {
        let (function, device) = (control >> 20 & 0x3f, control & 0xfff);
        let oscillator = self.oscillators.get_mut(device as usize);
        self.status = match oscillator.filter(|_| function == OSCILLATORS) {
            Some(oscillator) if bit(control, CTRL_WRITE) => {
                *oscillator = self.out;
                STAT_DONE
            }
            Some(oscillator) => {
                self.returned = *oscillator;
                STAT_DONE
            }
            None => STAT_DONE | STAT_ERROR,
        };
    }

    fn word(&self, register: u32) -> Option<u32> {
        Some(match register {
            CFG0 => self.cfg0,
            CFG1 => self.leds,
            CFG3 | DLL => 0,
            CFG4 => self.options.cfg4,
            CFGDATA_RTN => self.returned,
            CFGDATA_OUT => self.out,
            CFGCTRL => self.control,
            CFGSTAT => self.status,
            AID => self.options.aid,
            ID => self.options.id,
            _ => return None,
        })
    }
}

impl Device for Scc {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        Some(part(self.word(offset & !3)?, offset, size))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let value = merge(self.word(offset & !3)?, offset, size, value);
        match offset & !3 {
            CFG0 => {
                self.cfg0 = value;
                if bit(value, 0) {
                    cx.warn_of(
                        "not-modelled",
                        "SCC: mapping block RAM at address 0 is not modelled",
                    );
                }
            }
            CFG1 => self.leds = value & 0xff,
            CFGDATA_OUT => self.out = value,
            CFGCTRL => {
                self.control = value & CTRL_READABLE;
                if bit(value, CTRL_START) {
                    self.start(value);
                }
            }
            CFGSTAT => self.status = value & 3,
            _ => {}
        }
        Some(())
    }

    fn reset(&mut self, _cx: &mut Context) {
        self.oscillators.clone_from(&self.options.oscillators);
        (self.cfg0, self.leds, self.returned, self.out, self.control, self.status) =
            (0, 0, 0, 0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Rig, apb_device};

    const BASE: u32 = 0x4002_f000;

    fn rig() -> Rig {
        let options =
            "cfg4 = 2\naid = 0x0020_0008\nid = 0x4104_3850\noscillators = [50_000_000, 24_576_000]";
        let scc = apb_device(("SCC", "mps2-scc"), BASE, &[], options);
        Rig::new(&scc.replace("size = 0x400\n", "size = 0x1000\n"))
    }

    #[test]
    fn identifies_itself() {
        let mut rig = rig();
        assert_eq!((rig.read32(BASE + ID), rig.read32(BASE + CFG4)), (0x4104_3850, 2));
    }

    #[test]
    fn oscillators_are_read_and_written_through_the_microcontroller() {
        let mut rig = rig();
        rig.write32(BASE + CFGCTRL, 1 << 31 | OSCILLATORS << 20 | 1);
        assert_eq!((rig.read32(BASE + CFGSTAT), rig.read32(BASE + CFGDATA_RTN)), (1, 24_576_000));
        rig.write32(BASE + CFGDATA_OUT, 12);
        rig.write32(BASE + CFGCTRL, 1 << 31 | 1 << 30 | OSCILLATORS << 20);
        rig.write32(BASE + CFGCTRL, 1 << 31 | OSCILLATORS << 20);
        assert_eq!(rig.read32(BASE + CFGDATA_RTN), 12);
        rig.write32(BASE + CFGCTRL, 1 << 31 | OSCILLATORS << 20 | 7);
        assert_eq!(rig.read32(BASE + CFGSTAT), STAT_DONE | STAT_ERROR, "there is no oscillator 7");
    }
}
