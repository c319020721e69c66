//! External interrupts INT0 to INT7 and pin change interrupts (ATmega328P data sheet, chapter 13).
//!
//! Pins are listened to by the names of the board file. Edges are seen at once, where silicon takes
//! a few cycles to synchronise them; without the clock of input and output, edges of INTn are not
//! seen at all, where `clocked_edges` is set.

use serde::Deserialize;

use strobe_sim::kernel::device::{
    ByteRegisters, Context, CoreEvents, Create, Device, OptionError, Reading, Size,
};
use strobe_sim::kernel::signal::SignalId;

const CONTROL_A: u32 = 0;
const CONTROL_B: u32 = 1;
const MASK: u32 = 2;
const FLAGS: u32 = 3;
const CHANGE_CONTROL: u32 = 4;
const CHANGE_FLAGS: u32 = 5;
const CHANGE_MASK: u32 = 6;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Pins of INT0, INT1, ...; interrupt lines in the same order.
    pins: Vec<String>,
    /// Those of them, one bit each, whose edges need a clock.
    clocked_edges: u8,
    /// Pins of PCINT0 to 7, 8 to 15, ...; their interrupt lines follow. An empty name is no pin.
    changes: Vec<Vec<String>>,
    /// Bit of INT0 in the mask and flag registers.
    #[serde(default)]
    first_bit: u8,
    /// Bit of PCIE0 in the control and flag registers of pin changes.
    #[serde(default)]
    change_bit: u8,
}

struct External {
    pins: Vec<SignalId>,
    /// The wires `<name>_INT<n>` and `<name>_PCINT<n>`, which show the flags.
    flag_wires: Vec<SignalId>,
    change_wires: Vec<SignalId>,
    clocked_edges: u8,
    changes: Vec<Vec<(u8, SignalId)>>,
    first_bit: u8,
    change_bit: u8,
    /// ISCn1:0 of all pins.
    sense: u16,
    mask: u8,
    flags: u8,
    change_control: u8,
    change_flags: u8,
    change_masks: [u8; 3],
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    let too_many = options.pins.len() + usize::from(options.first_bit) > 8
        || options.changes.len() + usize::from(options.change_bit) > 8
        || options.changes.len() > 3
        || options.changes.iter().any(|pins| pins.len() > 8);
    if too_many {
        return Err(OptionError::TooMany { limits: "eight pins, and three times eight changes" });
    }
    let mut wire = |name: &String| {
        let id = cx.signal(name);
        cx.listen(id);
        id
    };
    let pins = options.pins.iter().map(&mut wire).collect();
    let mut group = |pins: &Vec<String>| {
        let used = (0u8..).zip(pins).filter(|(_, name)| !name.is_empty());
        used.map(|(bit, name)| (bit, wire(name))).collect()
    };
    let changes = options.changes.iter().map(&mut group).collect();
    let name = cx.name.to_owned();
    let mut flag_wire = |kind: &str, n: usize| cx.signal(&format!("{name}_{kind}{n}"));
    let flag_wires = (0..options.pins.len()).map(|n| flag_wire("INT", n)).collect();
    let change_wires = (0..options.changes.len()).map(|n| flag_wire("PCINT", n)).collect();
    Ok(Box::new(External {
        pins,
        flag_wires,
        change_wires,
        clocked_edges: options.clocked_edges,
        changes,
        first_bit: options.first_bit,
        change_bit: options.change_bit,
        sense: 0,
        mask: 0,
        flags: 0,
        change_control: 0,
        change_flags: 0,
        change_masks: [0; 3],
    }))
}

impl External {
    fn sense_of(&self, n: usize) -> u16 {
        self.sense >> (2 * n) & 3
    }

    /// Bits of this device in the control registers of INTn.
    fn sense_mask(&self) -> u16 {
        ((1u32 << (2 * self.pins.len())) - 1) as u16
    }

    fn pins_mask(&self) -> u8 {
        (((1u16 << self.pins.len()) - 1) << self.first_bit) as u8
    }

    fn changes_mask(&self) -> u8 {
        (((1u16 << self.changes.len()) - 1) << self.change_bit) as u8
    }

    fn show(&self, cx: &mut Context) {
        cx.hear_edges(self.mask != 0 || self.change_control != 0);
        for (n, &pin) in self.pins.iter().enumerate() {
            // A low level asks as long as it lasts and sets no flag.
            let low = self.sense_of(n) == 0 && !cx.level(pin);
            let bit = self.first_bit + n as u8;
            let asks = low || self.flags >> bit & 1 != 0;
            cx.set_signal(self.flag_wires[n], self.flags >> bit & 1 != 0);
            cx.interrupt(n, asks && self.mask >> bit & 1 != 0);
        }
        for group in 0..self.changes.len() {
            let bit = self.change_bit + group as u8;
            cx.set_signal(self.change_wires[group], self.change_flags >> bit & 1 != 0);
            let asks = self.change_control & self.change_flags;
            cx.interrupt(self.pins.len() + group, asks >> bit & 1 != 0);
        }
    }
}

impl Device for External {
    fn read(&mut self, register: u32, _: Size, _: &mut Context) -> Option<u32> {
        Some(u32::from(match register {
            CONTROL_A => self.sense as u8,
            CONTROL_B => (self.sense >> 8) as u8,
            MASK => self.mask,
            FLAGS => self.flags,
            CHANGE_CONTROL => self.change_control,
            CHANGE_FLAGS => self.change_flags,
            _ => *self.change_masks.get((register - CHANGE_MASK) as usize)?,
        }))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, register: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
        let value = value as u8;
        match register {
            CONTROL_A => {
                self.sense = (self.sense & 0xff00 | u16::from(value)) & self.sense_mask();
            }
            CONTROL_B => {
                let high = u16::from(value) << 8;
                self.sense = (self.sense & 0xff | high) & self.sense_mask();
            }
            MASK => self.mask = value & self.pins_mask(),
            FLAGS => self.flags &= !value,
            CHANGE_CONTROL => self.change_control = value & self.changes_mask(),
            CHANGE_FLAGS => self.change_flags &= !value,
            _ => *self.change_masks.get_mut((register - CHANGE_MASK) as usize)? = value,
        }
        self.show(cx);
        Some(())
    }

    fn set_bit(&mut self, register: u32, bit: u8, level: bool, cx: &mut Context) -> Option<()> {
        let old = match register {
            FLAGS | CHANGE_FLAGS => 0,
            _ => self.read(register, Size::Byte, cx)?,
        };
        self.write(register, Size::Byte, old & !(1 << bit) | u32::from(level) << bit, cx)
    }

    fn signal(&mut self, id: SignalId, level: bool, cx: &mut Context) {
        let before = (self.flags, self.change_flags);
        let clocked = cx.clocks().io_runs();
        for n in (0..self.pins.len()).filter(|&n| self.pins[n] == id) {
            let seen = clocked || self.clocked_edges >> n & 1 == 0;
            let edge = match self.sense_of(n) {
                0 => false,
                1 => true,
                2 => !level,
                _ => level,
            };
            if edge && seen {
                let bit = self.first_bit + n as u8;
                let again = self.flags >> bit & 1 != 0 && self.mask >> bit & 1 != 0;
                cx.lose_requests(n, again.into());
                self.flags |= 1 << (self.first_bit + n as u8);
            }
        }
        for (group, pins) in self.changes.iter().enumerate() {
            let mask = self.change_masks[group];
            if pins.iter().any(|&(bit, pin)| pin == id && mask >> bit & 1 != 0) {
                let bit = self.change_bit + group as u8;
                let again = self.change_control & self.change_flags;
                cx.lose_requests(self.pins.len() + group, u64::from(again >> bit & 1));
                self.change_flags |= 1 << bit;
            }
        }
        // A low level of INTn asks without a flag.
        if before != (self.flags, self.change_flags) || self.pins.contains(&id) {
            self.show(cx);
        }
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.sense, self.mask, self.flags) = (0, 0, 0);
        (self.change_control, self.change_flags, self.change_masks) = (0, 0, [0; 3]);
        self.show(cx);
    }

    fn byte_registers(&mut self) -> Option<&mut dyn ByteRegisters> {
        Some(self)
    }

    fn core_events(&mut self) -> Option<&mut dyn CoreEvents> {
        Some(self)
    }
}

impl ByteRegisters for External {
    fn names(&self) -> &'static [&'static str] {
        &["EICRA", "EICRB", "EIMSK", "EIFR", "PCICR", "PCIFR", "PCMSK0", "PCMSK1", "PCMSK2"]
    }

    /// Small parts have the controls in MCUCR, and both kinds of interrupts in GIMSK and GIFR.
    fn is_shared(&self, _: u32) -> bool {
        true
    }
}

impl CoreEvents for External {
    fn interrupt_taken(&mut self, line: usize, cx: &mut Context) {
        match line.checked_sub(self.pins.len()) {
            None => self.flags &= !(1 << (self.first_bit + line as u8)),
            Some(group) => self.change_flags &= !(1 << (self.change_bit + group as u8)),
        }
        self.show(cx);
    }
}
