//! What an instruction of a short loop does, as far as it matters for whether the loop only waits.
//!
//! Read from the disassembly, for both instruction sets. Whatever is not known here is taken for
//! work: a loop is called a wait only if each of its instructions is understood.

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

/// A store to a slot in a function's frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Store {
    /// As it is written.
    pub slot: String,
    /// The register that points into the frame, if it does.
    pub base: String,
    /// What is stored.
    pub register: String,
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
    pub copies: bool,
    /// It makes a byte or a halfword a word.
    pub extends: bool,
    pub load: Option<Load>,
    /// A store to what may be a slot on the stack.
    pub stores: Option<Store>,
    /// A call to a known place.
    pub calls: Option<u32>,
    /// It leaves the function.
    pub returns: bool,
}

/// Frame pointers of functions that have one: Thumb code's, and AVR's pair of r28 and r29.
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

fn number(text: &str) -> Option<u32> {
    let text = text.trim_start_matches('#');
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
        Machine::Avr => avr(instruction, &all),
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
        Some(Effect { steps: false, constant: None, copies: false, returns: false, ..out })
    })
}

fn arm_named(name: &str, instruction: &Instruction, all: &[String]) -> Option<Effect> {
    let registers = |from: usize| -> Vec<String> {
        all.iter().skip(from).filter(|text| is_register(text)).cloned().collect()
    };
    let nothing = || Some(Effect::default());
    match name {
        "nop" | "isb" | "dsb" | "dmb" | "wfe" | "wfi" | "sev" | "yield" => return nothing(),
        "bl" => {
            let calls = instruction.target.as_ref().map(|target| target.address & !1)?;
            let writes = ["r0", "r1", "r2", "r3", "ip", "lr"].map(str::to_owned).to_vec();
            return Some(Effect { calls: Some(calls), writes, ..Effect::default() });
        }
        "bx" if all.first().is_some_and(|to| to == "lr") => {
            return Some(Effect { returns: true, ..Effect::default() });
        }
        "push" => return nothing(),
        // A NOP of ARMv6-M.
        "mov" if all.len() == 2 && all[0] == all[1] => return nothing(),
        // The stack's frame.
        "add" | "sub" | "mov" if all.first().is_some_and(|first| first == "sp") => {
            return nothing();
        }
        "ldr" if all.len() == 3 && all[1] == "[sp]" => {
            return Some(Effect { writes: vec![all[0].clone()], ..Effect::default() });
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
    if ["ldr", "ldrb", "ldrh", "ldrsb", "ldrsh"].contains(&name) {
        let out = Effect { writes: vec![first], ..Effect::default() };
        if let Some(literal) = &instruction.literal {
            return Some(Effect { constant: literal.value, ..out });
        }
        let load = memory(all)?;
        let mut reads = Vec::new();
        if let Load::Base { base, index, .. } = &load {
            reads.push(base.clone());
            reads.extend(index.clone());
        }
        return Some(Effect { reads, load: Some(load), ..out });
    }
    if ["str", "strb", "strh"].contains(&name) {
        let Load::Base { base, text, .. } = memory(all)? else { return None };
        let is_slot = base == "sp" || base == FRAME_ARM;
        let stores = is_slot.then(|| Store { slot: text, base, register: first.clone() })?;
        return Some(Effect { reads: vec![first], stores: Some(stores), ..Effect::default() });
    }
    arithmetic(name, all, &first)
}

/// The address of a load or store that leaves its base as it is.
fn memory(all: &[String]) -> Option<Load> {
    let [_, text] = all else { return None };
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
    Some(Load::Base { base, index, offset, text: text.clone() })
}

fn arithmetic(name: &str, all: &[String], first: &str) -> Option<Effect> {
    let plain = name.strip_suffix('s').unwrap_or(name);
    let known = [
        "add", "addw", "sub", "subw", "rsb", "mov", "movw", "movt", "mvn", "and", "bic", "orr",
        "eor", "lsl", "lsr", "asr", "ubfx", "sbfx", "uxtb", "uxth", "sxtb", "sxth", "sbc", "adc",
        "mr",
    ];
    if !known.contains(&plain) || first == "sp" || first == "pc" || !is_register(first) {
        return None;
    }
    let mut reads: Vec<String> =
        all.iter().skip(1).filter(|text| is_register(text)).cloned().collect();
    let immediate = all.last().filter(|text| text.starts_with('#')).and_then(|text| number(text));
    let moves = ["mov", "movw", "mvn", "mr", "uxtb", "uxth", "sxtb", "sxth"].contains(&plain);
    if all.len() == 2 && !moves {
        reads.push(first.to_owned());
    }
    let by_constant = immediate.is_some() && reads.iter().all(|read| read == first);
    let constant = immediate.filter(|_| moves && plain != "mvn" && all.len() == 2);
    // `adds r0, r3` and `adds r0, r0, r3`, without a shift.
    let in_place = all.len() == 2 || all.len() == 3 && all[1] == first;
    let by = all.last().filter(|by| in_place && is_register(by) && *by != first);
    let adds = ["add", "sub", "adc", "sbc"].contains(&plain);
    Some(Effect {
        adds: by.filter(|_| adds).map(|by| (by.clone(), plain.ends_with('c'))),
        steps: ["add", "addw", "sub", "subw"].contains(&plain) && immediate.is_some(),
        carries: ["sbc", "adc"].contains(&plain) && by_constant,
        copies: plain == "mov" && constant.is_none(),
        extends: ["uxtb", "uxth", "sxtb", "sxth"].contains(&plain),
        writes: vec![first.to_owned()],
        constant,
        reads,
        ..Effect::default()
    })
}

/// The register after one of a pair.
fn second(register: &str) -> Option<String> {
    let n: u32 = register.strip_prefix('r')?.parse().ok()?;
    Some(format!("r{}", n + 1))
}

/// The address of I/O register 0 in the data space, and of data space itself, as ELF files have
/// them.
const IO: u32 = 0x80_0020;
const DATA: u32 = 0x80_0000;
/// The status register, as an I/O address.
const SREG: u32 = 0x3f;

/// The registers of a pointer.
fn pointer(name: &str) -> Option<[&'static str; 2]> {
    Some(match name {
        "X" => ["r26", "r27"],
        "Y" => ["r28", "r29"],
        "Z" => ["r30", "r31"],
        _ => return None,
    })
}

fn avr(instruction: &Instruction, all: &[String]) -> Option<Effect> {
    let name = instruction.mnemonic.as_str();
    let get = |n: usize| all.get(n).cloned();
    let out = Effect::default();
    let io = |n: usize| get(n).and_then(|text| number(&text));
    match name {
        "nop" | "wdr" | "rjmp" | "jmp" | "cli" | "sei" | "sleep" | "push" | "pop" => Some(out),
        "ret" => Some(Effect { returns: true, ..out }),
        "call" | "rcall" => {
            let calls = instruction.target.as_ref().map(|target| target.address);
            let writes = (18..28).chain(30..32).map(|n| format!("r{n}")).collect();
            calls.map(|at| Effect { calls: Some(at), writes, ..out })
        }
        _ if name.starts_with("br") && name != "break" => Some(out),
        "cp" | "cpc" | "cpi" | "tst" | "sbrs" | "sbrc" | "cpse" => {
            let reads = all.iter().filter(|text| text.starts_with('r')).cloned().collect();
            Some(Effect { reads, ..out })
        }
        "sbis" | "sbic" => Some(Effect { load: Some(Load::At(IO + io(0)?)), ..out }),
        "in" => {
            let load = Some(Load::At(IO + io(1)?)).filter(|_| io(1) != Some(SREG));
            Some(Effect { writes: vec![get(0)?], load, ..out })
        }
        "out" if io(0) == Some(SREG) => Some(Effect { reads: vec![get(1)?], ..out }),
        "lds" => {
            let load = Some(Load::At(DATA + io(1)?));
            Some(Effect { writes: vec![get(0)?], load, ..out })
        }
        "ld" | "ldd" => {
            let (text, to) = (get(1)?, get(0)?);
            let plain = name == "ldd" || ["X", "Y", "Z"].contains(&text.as_str());
            let base = text.get(..1).filter(|_| plain)?.to_owned();
            let reads = pointer(&base)?.map(str::to_owned).to_vec();
            let load = Load::Base { base, index: None, offset: 0, text };
            Some(Effect { writes: vec![to], reads, load: Some(load), ..out })
        }
        "std" => {
            let (slot, from) = (get(0)?, get(1)?);
            let base = slot.starts_with(FRAME_AVR).then(|| FRAME_AVR.to_owned())?;
            let stores = Store { slot, base, register: from.clone() };
            Some(Effect { reads: vec![from], stores: Some(stores), ..out })
        }
        _ => avr_arithmetic(name, all),
    }
}

fn avr_arithmetic(name: &str, all: &[String]) -> Option<Effect> {
    let first = all.first()?.clone();
    let other = all.get(1).cloned().unwrap_or_default();
    let of =
        |writes: Vec<String>, reads: Vec<String>| Effect { reads, writes, ..Effect::default() };
    let own = || vec![first.clone()];
    match name {
        "ldi" => Some(Effect { constant: number(&other), ..of(own(), Vec::new()) }),
        "mov" => Some(Effect { copies: true, ..of(own(), vec![other]) }),
        "movw" => {
            let pair = |register: &str| Some(vec![register.to_owned(), second(register)?]);
            Some(Effect { copies: true, ..of(pair(&first)?, pair(&other)?) })
        }
        // `tst r12` as it is encoded.
        "and" | "or" if other == first => Some(of(Vec::new(), own())),
        "inc" | "dec" | "subi" => Some(Effect { steps: true, ..of(own(), own()) }),
        "adiw" | "sbiw" => {
            let pair = vec![first.clone(), second(&first)?];
            Some(Effect { steps: true, ..of(pair.clone(), pair) })
        }
        "sbci" => Some(Effect { carries: true, ..of(own(), own()) }),
        // R1 is zero in compiled code.
        "sbc" | "adc" if other == "r1" => Some(Effect { carries: true, ..of(own(), own()) }),
        "sbc" | "adc" | "sub" | "add" | "and" | "or" | "eor" => {
            let adds = (first != other && !["and", "or", "eor"].contains(&name))
                .then(|| (other.clone(), name.ends_with('c')));
            Some(Effect { adds, ..of(own(), vec![first.clone(), other]) })
        }
        "andi" | "ori" | "com" | "neg" | "swap" | "asr" | "lsr" | "ror" => Some(of(own(), own())),
        _ => None,
    }
}
