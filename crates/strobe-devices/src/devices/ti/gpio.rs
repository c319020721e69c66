//! General-purpose I/O of Stellaris parts (LM3S6965 data sheet, section 8): a PrimeCell PL061 with
//! pad control and a lock on the debug port's pins.
//!
//! Wires: `P<port>0` to `P<port>7`. Pins that are handed to a peripheral (AFSEL) are let go,
//! because those peripherals' wires are not modelled. Interrupt lines: one.

use serde::Deserialize;

use crate::devices::common::register::{bit, merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, DrivenPins, OptionError, Reading, Size};
use strobe_sim::kernel::signal::SignalId;

/// Data, through a mask in bits 9..2 of the address.
const DATA: std::ops::Range<u32> = 0x000..0x400;
const DIR: u32 = 0x400;
const IS: u32 = 0x404;
const IBE: u32 = 0x408;
const IEV: u32 = 0x40c;
const IM: u32 = 0x410;
const RIS: u32 = 0x414;
const MIS: u32 = 0x418;
const ICR: u32 = 0x41c;
const AFSEL: u32 = 0x420;
/// Pad control: DR2R, DR4R, DR8R, ODR, PUR, PDR, SLR, DEN.
const PADS: std::ops::Range<u32> = 0x500..0x520;
const LOCK: u32 = 0x520;
const CR: u32 = 0x524;
const IDENTITY: std::ops::Range<u32> = 0xfd0..0x1000;

/// Indices of pad control registers.
const OPEN_DRAIN: usize = 3;
const PULL_UP: usize = 4;
const PULL_DOWN: usize = 5;
const DIGITAL: usize = 7;

/// Unlocks CR.
const KEY: u32 = 0x1acc_e551;
/// PeriphID4 to 7, 0 to 3, PCellID0 to 3.
const IDENTITIES: [u8; 12] = [0, 0, 0, 0, 0x61, 0, 0x18, 1, 0x0d, 0xf0, 0x05, 0xb1];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// The port's letter.
    port: String,
    /// Pins that stay as they are until CR is unlocked: the debug port's.
    #[serde(default)]
    committed: u32,
}

struct Gpio {
    committed: u32,
    pins: [SignalId; 8],
    out: u32,
    levels: u32,
    direction: u32,
    /// By level rather than by edge; by both edges; rising or high.
    sense: [u32; 3],
    mask: u32,
    raw: u32,
    alternate: u32,
    pads: [u32; 8],
    unlocked: bool,
    commit: u32,
}

/// 8.5: 2 mA drive, pull-ups and digital inputs are on.
const PADS_RESET: [u32; 8] = [0xff, 0, 0, 0, 0xff, 0, 0, 0xff];

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    let pins = std::array::from_fn(|n| cx.signal(&format!("P{}{n}", options.port)));
    pins.iter().for_each(|&pin| cx.signals.mark_pin(pin));
    Ok(Box::new(Gpio {
        committed: options.committed & 0xff,
        pins,
        out: 0,
        levels: 0,
        direction: 0,
        sense: [0; 3],
        mask: 0,
        raw: 0,
        alternate: 0,
        pads: PADS_RESET,
        unlocked: false,
        commit: 0,
    }))
}

impl Gpio {
    fn is_output(&self, n: u32) -> bool {
        let is = |register: u32| bit(register, n);
        is(self.direction) && !is(self.alternate) && is(self.pads[DIGITAL])
    }

    fn is_held(&self, n: u32) -> bool {
        self.is_output(n) && !(bit(self.pads[OPEN_DRAIN], n) && bit(self.out, n))
    }

    fn level(&self, n: u32, cx: &Context) -> bool {
        let is = |register: u32| bit(register, n);
        let output = self.is_output(n);
        if self.is_held(n) {
            return is(self.out);
        }
        let pulled = is(self.pads[PULL_UP]) && !is(self.pads[PULL_DOWN]);
        cx.external(self.pins[n as usize]).unwrap_or(pulled || output)
    }

    fn refresh(&mut self, cx: &mut Context) {
        let before = self.levels;
        self.levels = (0..8).map(|n| u32::from(self.level(n, cx)) << n).sum();
        for (n, &pin) in (0..).zip(&self.pins) {
            cx.set_pin(pin, bit(self.levels, n), self.is_held(n));
        }
        let [by_level, both, high] = self.sense;
        let changed = self.levels ^ before;
        let active = !(self.levels ^ high);
        let edges = changed & !by_level & (both | active) & 0xff;
        cx.lose_requests(0, u64::from((edges & self.raw & self.mask).count_ones()));
        self.raw |= edges;
        self.raw = self.raw & !by_level | active & by_level & 0xff;
        cx.interrupt(0, self.raw & self.mask != 0);
    }

    fn word(&self, register: u32) -> Option<u32> {
        Some(match register {
            _ if DATA.contains(&register) => self.levels & self.pads[DIGITAL] & register >> 2,
            DIR => self.direction,
            IS | IBE | IEV => self.sense[((register - IS) / 4) as usize],
            IM => self.mask,
            RIS => self.raw,
            MIS => self.raw & self.mask,
            ICR => 0,
            AFSEL => self.alternate,
            _ if PADS.contains(&register) => self.pads[((register - PADS.start) / 4) as usize],
            LOCK => (!self.unlocked).into(),
            CR => self.commit,
            _ if IDENTITY.contains(&register) => {
                IDENTITIES[((register - IDENTITY.start) / 4) as usize].into()
            }
            _ => return None,
        })
    }

    /// Choosing a drive strength deselects the others (8.5, GPIODR2R).
    fn write_pad(&mut self, at: usize, value: u32) {
        self.pads[at] = value;
        if at < OPEN_DRAIN {
            let others = (0..OPEN_DRAIN).filter(|&other| other != at);
            others.for_each(|other| self.pads[other] &= !value);
        }
        match at {
            PULL_UP => self.pads[PULL_DOWN] &= !value,
            PULL_DOWN => self.pads[PULL_UP] &= !value,
            _ => {}
        }
    }
}

impl Device for Gpio {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        Some(part(self.word(offset & !3)?, offset, size))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let register = offset & !3;
        let value = merge(self.word(register)?, offset, size, value);
        let byte = value & 0xff;
        match register {
            _ if DATA.contains(&register) => {
                let mask = register >> 2;
                self.out = self.out & !mask | byte & mask;
            }
            DIR => self.direction = byte,
            IS | IBE | IEV => self.sense[((register - IS) / 4) as usize] = byte,
            IM => self.mask = byte,
            ICR => self.raw &= !byte,
            AFSEL => {
                if (byte ^ self.alternate) & !self.commit != 0 {
                    cx.warn_of("write-without-effect", format!(
                        "{}: AFSEL of a pin of the debug port was written while it is locked: no \
                         effect",
                        cx.name()
                    ));
                }
                self.alternate = self.alternate & !self.commit | byte & self.commit;
            }
            LOCK => self.unlocked = value == KEY,
            CR if self.unlocked => self.commit = byte,
            _ if PADS.contains(&register) => {
                self.write_pad(((register - PADS.start) / 4) as usize, byte);
            }
            _ => {}
        }
        self.refresh(cx);
        Some(())
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.out, self.direction, self.sense, self.mask, self.raw) = (0, 0, [0; 3], 0, 0);
        (self.pads, self.unlocked) = (PADS_RESET, false);
        self.commit = 0xff & !self.committed;
        self.alternate = self.committed;
        self.levels = (0..8).map(|n| u32::from(self.level(n, cx)) << n).sum();
        self.refresh(cx);
    }

    fn driven_pins(&mut self) -> Option<&mut dyn DrivenPins> {
        Some(self)
    }
}

impl DrivenPins for Gpio {
    fn driven(&mut self, pin: SignalId, cx: &mut Context) {
        if self.pins.contains(&pin) {
            self.refresh(cx);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Rig, apb_device};

    const BASE: u32 = 0x4000_5000;

    /// Port B: PB7 is the debug port's.
    fn rig() -> Rig {
        let gpio =
            apb_device(("GPIOB", "stellaris-gpio"), BASE, &[1], "port = 'B'\ncommitted = 0x80");
        Rig::new(&gpio.replace("size = 0x400\n", "size = 0x1000\n"))
    }

    #[test]
    fn data_goes_through_the_address_mask() {
        let mut rig = rig();
        rig.write32(BASE + DIR, 0x0f);
        rig.write32(BASE + (0x05 << 2), 0xff);
        assert!(rig.level("PB0") && rig.level("PB2") && !rig.level("PB1"));
        assert_eq!(rig.read32(BASE + (0x0f << 2)), 0x05);
        assert_eq!(rig.read32(BASE + (0x04 << 2)), 0x04);
        rig.write32(BASE + (0x01 << 2), 0);
        assert_eq!(rig.read32(BASE + (0x0f << 2)), 0x04);
    }

    #[test]
    fn inputs_are_pulled_or_driven() {
        let mut rig = rig();
        assert_eq!(rig.read32(BASE + 0x3fc), 0xff, "pull-ups are on at reset");
        rig.write32(BASE + 0x514, 0x02);
        assert_eq!((rig.read32(BASE + 0x3fc), rig.read32(BASE + 0x510)), (0xfd, 0xfd));
        rig.drive("PB0", Some(false));
        assert_eq!(rig.read32(BASE + 0x3fc), 0xfc);
        rig.write32(BASE + 0x51c, 0x0f);
        assert_eq!(rig.read32(BASE + 0x3fc), 0x0c, "analog pins read as zero");
    }

    #[test]
    fn edges_and_levels_interrupt() {
        let mut rig = rig();
        rig.write32(BASE + IM, 0x03);
        // PB0 by falling edge, PB1 by low level.
        rig.write32(BASE + IS, 0x02);
        rig.drive("PB0", Some(false));
        assert_eq!(rig.read32(BASE + MIS), 0x01);
        rig.drive("PB1", Some(false));
        rig.write32(BASE + ICR, 0xff);
        assert_eq!((rig.read32(BASE + MIS), rig.irq(1)), (0x02, true), "a level stays");
        rig.drive("PB1", None);
        assert!(!rig.irq(1));
        // Two falling edges, of which nobody took the first.
        for level in [true, false, true, false] {
            rig.drive("PB0", Some(level));
        }
        assert_eq!(rig.bus.lost_requests(1), 1);
    }

    #[test]
    fn the_debug_ports_pins_are_locked() {
        let mut rig = rig();
        rig.write32(BASE + AFSEL, 0x01);
        assert_eq!(rig.read32(BASE + AFSEL), 0x81);
        assert!(rig.warnings().contains("while it is locked"));
        rig.write32(BASE + CR, 0xff);
        assert_eq!(rig.read32(BASE + CR), 0x7f);
        rig.write32(BASE + LOCK, KEY);
        rig.write32(BASE + CR, 0xff);
        rig.write32(BASE + AFSEL, 0x01);
        assert_eq!(rig.read32(BASE + AFSEL), 0x01);
    }
}
