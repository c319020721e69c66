//! What an instruction of a short loop does, as far as it matters for whether the loop only waits.
//!
//! Read from the disassembly, for both instruction sets. Whatever is not known here is taken for
//! work: a loop is called a wait only if each of its instructions is understood.

mod avr;

use strobe_symbols::{Instruction, Machine};

use super::flow::unconditional;

/// What is loaded from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Load {
    /// An address in the data space.
    At(u32),
    /// A register with an offset, and how it is written.
    Base { base: String, index: Option<String>, offset: u32, text: String },
}

/// A store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Store {
    /// Where to, written as a load from there.
    pub to: Load,
    /// What is stored: one register, or a pair.
    pub registers: Vec<String>,
}

/// What one instruction does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Effect {
    pub reads: Vec<String>,
    pub writes: Vec<String>,
    /// It adds a constant to the register that it writes.
    pub steps: bool,
    /// It takes part in a step of several bytes or words: a carry.
    pub carries: bool,
    /// It adds or subtracts this register, with a carry or without, to what it writes.
    pub adds: Option<(String, bool)>,
    /// The result is a constant.
    pub constant: Option<u32>,
    /// It is one of an IT block.
    pub in_block: bool,
    /// It sets a constant, or what is in a register, if a condition holds.
    pub sets: bool,
    pub copies: bool,
    /// It makes a byte or a halfword a word.
    pub extends: bool,
    /// It multiplies, divides or shifts by what is in a register.
    pub multiplies: bool,
    /// It joins bytes or words of a value by OR, to look whether any bit is set.
    pub joins: bool,
    /// It depends on a condition: what it writes may also stay what it was.
    pub maybe: bool,
    pub load: Option<Load>,
    pub stores: Option<Store>,
    /// What it stores if nobody else has come in between (STREX).
    pub claims: Option<String>,
    /// A call to a known place.
    pub calls: Option<u32>,
    /// It leaves the function.
    pub returns: bool,
}

impl Effect {
    /// The register that the `n`th register that it writes is made from, if that is one.
    pub(super) fn origin(&self, n: usize) -> Option<&String> {
        match self.reads.len() {
            1 => self.reads.first(),
            pair if pair == self.writes.len() => self.reads.get(n),
            _ => None,
        }
    }

    /// Whether it makes what is in a register a byte or a halfword, there.
    pub(super) fn narrows(&self, register: &String) -> bool {
        self.extends && self.writes.iter().chain(&self.reads).all(|one| one == register)
    }
}

/// The frame pointer of functions that have one: Thumb code's, and AVR's pair of r28 and r29.
const FRAME_ARM: &str = "r7";
const FRAME_AVR: &str = "Y";

/// The frame pointer, if an instruction sets it.
pub(super) fn frame(instruction: &Instruction, machine: Machine) -> Option<&'static str> {
    let all = operands(&instruction.operands);
    let (name, first, second) =
        (instruction.mnemonic.as_str(), all.first()?.as_str(), all.get(1)?.as_str());
    match machine {
        Machine::Avr => (name == "in" && first == "r28").then_some(FRAME_AVR),
        _ => {
            let sets = ["add", "add.w", "mov"].contains(&name) && second == "sp";
            (sets && first == FRAME_ARM).then_some(FRAME_ARM)
        }
    }
}

/// Whether functions leave a register as it was (AAPCS 6.1.1; avr-gcc's ABI).
pub(super) fn is_kept(register: &str, machine: Machine) -> bool {
    let number: Option<u32> = register.strip_prefix('r').and_then(|n| n.parse().ok());
    match machine {
        Machine::Avr => number.is_some_and(|n| (2..18).contains(&n) || n == 28 || n == 29),
        _ => number.is_some_and(|n| (4..12).contains(&n)) || ["sl", "fp", "sb"].contains(&register),
    }
}

/// The operands, with what is in brackets as one.
fn operands(text: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut depth = 0;
    for c in text.chars() {
        match c {
            ',' if depth == 0 => {
                out.push(String::new());
                continue;
            }
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            _ => {}
        }
        if let Some(last) = out.last_mut() {
            last.push(c);
        }
    }
    out.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// A number as it is written: `#-0x1fff2000` is one whose highest bit is set.
pub(super) fn number(text: &str) -> Option<u32> {
    let text = text.trim_start_matches('#');
    if let Some(positive) = text.strip_prefix('-') {
        return number(positive).map(u32::wrapping_neg);
    }
    match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

fn is_register(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(char::is_alphanumeric)
}

/// What it does; `None` if that is work, or not known.
pub(super) fn effect(instruction: &Instruction, machine: Machine) -> Option<Effect> {
    let all = operands(&instruction.operands);
    match machine {
        Machine::Avr => avr::effect(instruction, &all),
        _ => arm(instruction, &all),
    }
}

fn arm(instruction: &Instruction, all: &[String]) -> Option<Effect> {
    let name = instruction.mnemonic.trim_end_matches(".w").trim_end_matches(".n");
    arm_named(name, instruction, all).or_else(|| {
        // In an IT block: what it writes may also stay what it was.
        let (plain, true) = unconditional(name) else { return None };
        let mut out = arm_named(plain, instruction, all)?;
        out.reads.extend(out.writes.iter().cloned());
        let (maybe, in_block, sets) = (true, true, out.constant.is_some() || out.copies);
        let (constant, copies, returns) = (None, false, false);
        Some(Effect { maybe, in_block, sets, constant, copies, returns, ..out })
    })
}

fn arm_named(name: &str, instruction: &Instruction, all: &[String]) -> Option<Effect> {
    let registers = |from: usize| -> Vec<String> {
        all.iter().skip(from).filter(|text| is_register(text)).cloned().collect()
    };
    let nothing = || Some(Effect::default());
    match name {
        "nop" | "isb" | "dsb" | "dmb" | "wfe" | "wfi" | "sev" | "yield" | "clrex" => {
            return nothing();
        }
        "bx" if all.first().is_some_and(|to| to == "lr") => {
            return Some(Effect { returns: true, ..Effect::default() });
        }
        // Of BLX and BX the register, if it is known where that leads. What BX jumps on to returns
        // for this function.
        "bl" | "blx" | "bx" => {
            let calls = instruction.target.as_ref().map(|target| target.address & !1)?;
            let writes = ["r0", "r1", "r2", "r3", "r12", "ip", "lr"].map(str::to_owned).to_vec();
            let reads = if name == "bl" { Vec::new() } else { registers(0) };
            let out = Effect { reads, writes, returns: name == "bx", ..Effect::default() };
            return Some(Effect { calls: Some(calls), ..out });
        }
        "push" => return nothing(),
        // A NOP of ARMv6-M.
        "mov" if all.len() == 2 && all[0] == all[1] => return nothing(),
        // The stack's frame.
        "add" | "sub" | "mov" if all.first().is_some_and(|first| first == "sp") => {
            return nothing();
        }
        "ldr" if all.len() == 3 && all[1] == "[sp]" => {
            let returns = all[0] == "pc";
            return Some(Effect { writes: vec![all[0].clone()], returns, ..Effect::default() });
        }
        "str" if all.get(1).is_some_and(|to| to.starts_with("[sp") && to.ends_with("]!")) => {
            return nothing();
        }
        "pop" => {
            let returns = instruction.operands.contains("pc");
            return Some(Effect { returns, ..Effect::default() });
        }
        "cmp" | "cmn" | "tst" | "teq" | "cbz" | "cbnz" => {
            return Some(Effect { reads: registers(0), ..Effect::default() });
        }
        // The cases of a `switch`, all of which are looked at.
        "tbb" | "tbh" => return nothing(),
        _ if name.starts_with("it") => return nothing(),
        _ if name.starts_with("cps") || name == "msr" => return nothing(),
        _ if name.starts_with('b') && instruction.target.is_some() && name != "blx" => {
            return nothing();
        }
        _ => {}
    }
    let first = all.first()?.clone();
    memory_access(name, instruction, all).unwrap_or_else(|| arithmetic(name, all, &first))
}

const LOADS: [&str; 8] = ["ldr", "ldrb", "ldrh", "ldrsb", "ldrsh", "ldrex", "ldrexb", "ldrexh"];

/// Loads and stores; nothing if it is neither, and `Some(None)` if it is one that is not known.
fn memory_access(name: &str, instruction: &Instruction, all: &[String]) -> Option<Option<Effect>> {
    let (place, registers) = all.split_last()?;
    let access = |number: usize| -> Option<(Load, Vec<String>)> {
        let load = memory(place).filter(|_| registers.len() == number)?;
        let Load::Base { base, index, .. } = &load else { return None };
        let leads = std::iter::once(base).chain(index).cloned().collect();
        Some((load, leads))
    };
    if LOADS.contains(&name) || name == "ldrd" {
        let number = if name == "ldrd" { 2 } else { 1 };
        let out = Effect { writes: registers.to_vec(), ..Effect::default() };
        if let Some(literal) = &instruction.literal {
            return Some((number == 1).then_some(Effect { constant: literal.value, ..out }));
        }
        let of = |(load, reads)| Effect { reads, load: Some(load), ..out };
        return Some(access(number).map(of));
    }
    if ["str", "strb", "strh", "strd"].contains(&name) {
        let number = if name == "strd" { 2 } else { 1 };
        let of = |(to, mut reads): (Load, Vec<String>)| {
            let registers = registers.to_vec();
            reads.extend(registers.iter().cloned());
            Effect { reads, stores: Some(Store { to, registers }), ..Effect::default() }
        };
        return Some(access(number).map(of));
    }
    if ["strex", "strexb", "strexh"].contains(&name) {
        let of = |(_, mut reads): (Load, Vec<String>)| {
            let (status, value) = (registers[0].clone(), registers[1].clone());
            reads.push(value.clone());
            Effect { reads, writes: vec![status], claims: Some(value), ..Effect::default() }
        };
        return Some(access(2).map(of));
    }
    None
}

/// The address of a load or store that leaves its base as it is.
fn memory(text: &str) -> Option<Load> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    let mut parts = inner.split(',').map(str::trim);
    let base = parts.next()?.to_owned();
    let (mut index, mut offset) = (None, 0);
    for part in parts {
        match number(part).filter(|_| part.starts_with('#')) {
            Some(n) => offset = n,
            None if is_register(part) => index = Some(part.to_owned()),
            None => {}
        }
    }
    Some(Load::Base { base, index, offset, text: text.to_owned() })
}

fn arithmetic(name: &str, all: &[String], first: &str) -> Option<Effect> {
    let plain = name.strip_suffix('s').filter(|_| name != "mls").unwrap_or(name);
    if ["umull", "smull"].contains(&plain) {
        let [low, high, one, other] = all else { return None };
        let (writes, reads) = (vec![low.clone(), high.clone()], vec![one.clone(), other.clone()]);
        return Some(Effect { multiplies: true, writes, reads, ..Effect::default() });
    }
    let shifts = ["lsl", "lsr", "asr"].contains(&plain);
    let multiplies = ["mul", "mla", "mls", "udiv", "sdiv"].contains(&plain)
        || shifts && all.last().is_some_and(|by| is_register(by));
    let known = [
        "add", "addw", "sub", "subw", "rsb", "mov", "movw", "movt", "mvn", "and", "bic", "orr",
        "eor", "lsl", "lsr", "asr", "ubfx", "sbfx", "uxtb", "uxth", "sxtb", "sxth", "sbc", "adc",
        "mr", "clz", "rbit", "rev", "rev16", "uxtab", "uxtah", "sxtab", "sxtah",
    ];
    if !(multiplies || known.contains(&plain))
        || first == "sp"
        || first == "pc"
        || !is_register(first)
    {
        return None;
    }
    let mut reads: Vec<String> =
        all.iter().skip(1).filter(|text| is_register(text)).cloned().collect();
    let immediate = all.last().filter(|text| text.starts_with('#')).and_then(|text| number(text));
    let moves = ["mov", "movw", "mvn", "mr", "uxtb", "uxth", "sxtb", "sxth"].contains(&plain);
    let turns = ["clz", "rbit", "rev", "rev16"].contains(&plain);
    if all.len() == 2 && !moves && !turns {
        reads.push(first.to_owned());
    }
    let by_constant = immediate.is_some() && reads.len() == 1;
    let constant = immediate.filter(|_| moves && plain != "mvn" && all.len() == 2);
    let masks = plain == "and" && by_constant && matches!(immediate, Some(0xff | 0xffff));
    // `adds r0, r3` and `adds r0, r0, r3`, without a shift.
    let in_place = all.len() == 2 || all.len() == 3 && all[1] == first;
    let by = all.last().filter(|by| in_place && is_register(by) && *by != first);
    let adds = ["add", "sub", "adc", "sbc"].contains(&plain);
    let moves_on = ["add", "addw", "sub", "subw"].contains(&plain);
    // `adds r3, r0, #0`
    let adds_nothing = moves_on && immediate == Some(0) && reads.len() == 1;
    Some(Effect {
        adds: by.filter(|_| adds).map(|by| (by.clone(), plain.ends_with('c'))),
        steps: moves_on && immediate.is_some() && !adds_nothing,
        carries: ["sbc", "adc"].contains(&plain) && by_constant,
        copies: adds_nothing || plain == "mov" && constant.is_none(),
        extends: masks || ["uxtb", "uxth", "sxtb", "sxth"].contains(&plain),
        joins: plain == "orr" && immediate.is_none(),
        multiplies,
        writes: vec![first.to_owned()],
        constant,
        reads,
        ..Effect::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(machine: Machine, mnemonic: &str, operands: &str) -> Option<Effect> {
        let (mnemonic, operands) = (mnemonic.to_owned(), operands.to_owned());
        let (target, literal) = (None, None);
        let one = Instruction {
            address: 0,
            size: 2,
            halfwords: [0; 2],
            mnemonic,
            operands,
            target,
            literal,
        };
        effect(&one, machine)
    }

    #[test]
    fn what_only_moves_or_narrows_a_value_is_no_step() {
        let arm = |mnemonic, operands| of(Machine::Arm, mnemonic, operands).expect("it is known");
        let copy = arm("adds", "r3, r0, #0");
        assert!(copy.copies && !copy.steps);
        assert!(arm("adds", "r3, r0, #1").steps);
        for (mnemonic, operands) in [("uxtb", "r3, r3"), ("ands.w", "r3, r3, #0xff")] {
            assert!(arm(mnemonic, operands).narrows(&"r3".to_owned()), "{mnemonic}");
        }
        assert!(!arm("uxtb", "r3, r2").narrows(&"r3".to_owned()));
        assert_eq!(arm("uxtab", "r3, r3, r2").reads, ["r3", "r2"]);
        assert!(!arm("and.w", "r3, r3, #0x10").extends);
        // In an IT block.
        let reset = arm("movmi", "r2, #0");
        assert!(reset.sets && reset.maybe && reset.constant.is_none());
    }

    #[test]
    fn a_call_by_a_pointer_is_known_where_it_leads() {
        for name in ["blx", "bx"] {
            assert_eq!(of(Machine::Arm, name, "r3"), None);
        }
        for name in ["icall", "ijmp"] {
            assert_eq!(of(Machine::Avr, name, ""), None);
        }
        // Room for a frame is no access to a device.
        let room = of(Machine::Avr, "out", "0x3e, r29").expect("it is known");
        assert!(room.stores.is_none() && room.load.is_none());
    }

    #[test]
    fn an_avr_stores_to_ports_and_copies_bits() {
        let avr = |mnemonic, operands| of(Machine::Avr, mnemonic, operands).expect("it is known");
        let port = avr("out", "0x05, r29").stores.expect("it stores");
        assert_eq!(port.to, Load::At(0x80_0025));
        let cleared = avr("eor", "r25, r25");
        assert!(cleared.constant == Some(0) && cleared.reads.is_empty());
        assert_eq!(avr("bst", "r25, 2").writes, ["T"]);
        assert_eq!(avr("bld", "r24, 0").reads, ["r24", "T"]);
        // Where it goes, the pointer decides.
        assert_eq!(avr("std", "Y+1, r1").reads, ["r28", "r29", "r1"]);
    }
}
