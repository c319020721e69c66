//! Ready flags by name: what lets a firmware go on that waits for a clock which nobody modelled.
//!
//! Three rules, all about the names of one peripheral's bits and registers, none about a chip:
//! a bit `<X>RDY` reads as the bit `<X>ON` was last written, looked for in the same register first;
//! a field `SWS` (clock switch status) reads as the field `SW` beside it; a register
//! `EVENTS_<X>STARTED` reads as `TASKS_<X>START` was last written.

use std::rc::Rc;

use super::fields::Field;
use strobe_sim::kernel::unmodelled::ReadyRule;

/// A register as far as its names go.
#[derive(Clone)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) address: u32,
    pub(super) fields: Rc<[Field]>,
}

/// The rules for the registers of one peripheral.
pub(super) fn rules(registers: &[Named]) -> Vec<ReadyRule> {
    let mut all = Vec::new();
    for register in registers {
        for field in register.fields.iter() {
            if let Some(stem) = field.name.strip_suffix("RDY").filter(|s| !s.is_empty()) {
                let on = format!("{stem}ON");
                let found = find(register, &on)
                    .or_else(|| registers.iter().find_map(|other| find(other, &on)));
                all.extend(found.map(|(of, bit)| follow(register.address, field.lsb, of, bit)));
            }
            if field.name == "SWS"
                && let Some(switch) = register.fields.iter().find(|f| f.name == "SW")
            {
                let bits = 0..field.width.min(switch.width);
                all.extend(bits.map(|n| {
                    follow(register.address, field.lsb + n, register.address, switch.lsb + n)
                }));
            }
        }
        let started = register.name.strip_prefix("EVENTS_").and_then(|n| n.strip_suffix("STARTED"));
        if let Some(stem) = started {
            let task = format!("TASKS_{stem}START");
            let found = registers.iter().find(|other| other.name == task);
            all.extend(found.map(|task| follow(register.address, 0, task.address, 0)));
        }
    }
    all
}

/// Where a one-bit field of that name is.
fn find(register: &Named, name: &str) -> Option<(u32, u8)> {
    let field = register.fields.iter().find(|f| f.width == 1 && f.name == name)?;
    Some((register.address, field.lsb))
}

/// Addresses of registers that do not begin a word are brought to the word that holds them.
fn follow(address: u32, bit: u8, of: u32, follows: u8) -> ReadyRule {
    let place = |address: u32, bit: u8| (address & !3, bit + 8 * (address & 3) as u8);
    let (address, bit) = place(address, bit);
    let (of, follows) = place(of, follows);
    ReadyRule { address, bit, follows: Some(follows), of: Some(of), reads: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn register(name: &str, address: u32, fields: &[(&str, u8, u8)]) -> Named {
        let fields = fields.iter().map(|&(name, lsb, width)| Field::plain(name, lsb, width));
        Named { name: name.to_owned(), address, fields: fields.collect() }
    }

    fn described(rules: &[ReadyRule]) -> Vec<(u32, u8, u32, u8)> {
        rules.iter().map(|r| (r.address, r.bit, r.of.unwrap(), r.follows.unwrap())).collect()
    }

    #[test]
    fn an_oscillator_and_the_clock_switch() {
        let registers = [
            register("CR", 0x1000, &[("HSION", 0, 1), ("HSIRDY", 1, 1), ("PLLRDY", 25, 1)]),
            register("CFGR", 0x1004, &[("SW", 0, 2), ("SWS", 2, 2)]),
            register("CR2", 0x1008, &[("PLLON", 4, 1), ("HSIRDYIE", 8, 1), ("RDY", 9, 1)]),
        ];
        let expected = [
            (0x1000, 1, 0x1000, 0),
            (0x1000, 25, 0x1008, 4),
            (0x1004, 2, 0x1004, 0),
            (0x1004, 3, 0x1004, 1),
        ];
        assert_eq!(described(&rules(&registers)), expected);
    }

    #[test]
    fn tasks_start_what_events_select() {
        let registers = [
            register("TASKS_HFCLKSTART", 0x2000, &[]),
            register("EVENTS_HFCLKSTARTED", 0x2100, &[]),
        ];
        assert_eq!(described(&rules(&registers)), [(0x2100, 0, 0x2000, 0)]);
    }

    #[test]
    fn half_words_are_placed_in_their_word() {
        let registers = [register("CSR", 0x3002, &[("AON", 0, 1), ("ARDY", 3, 1)])];
        assert_eq!(described(&rules(&registers)), [(0x3000, 19, 0x3000, 16)]);
    }
}
