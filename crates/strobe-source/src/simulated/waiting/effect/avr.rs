//! What instructions of an AVR do.

use strobe_symbols::Instruction;

use super::{Effect, FRAME_AVR, Load, Store, number};

/// The register after one of a pair.
fn second(register: &str) -> Option<String> {
    let n: u32 = register.strip_prefix('r')?.parse().ok()?;
    Some(format!("r{}", n + 1))
}

/// The address of I/O register 0 in the data space, and of data space itself, as ELF files have
/// them.
const IO: u32 = 0x80_0020;
const DATA: u32 = 0x80_0000;
/// The status register and the bytes of the stack pointer, as I/O addresses.
const SREG: u32 = 0x3f;
const STACK: [u32; 2] = [0x3d, 0x3e];

/// Stands for the status register's bit that is copied from registers and to them.
const BIT: &str = "T";

/// Whether an I/O address is the core's own: nothing outside changes what is there.
fn is_of_core(io: u32) -> bool {
    io == SREG || STACK.contains(&io)
}

/// The registers of a pointer.
fn pointer(name: &str) -> Option<[&'static str; 2]> {
    Some(match name {
        "X" => ["r26", "r27"],
        "Y" => ["r28", "r29"],
        "Z" => ["r30", "r31"],
        _ => return None,
    })
}

/// What functions may leave changed.
fn of_callees() -> Vec<String> {
    (18..28).chain(30..32).map(|n| format!("r{n}")).collect()
}

/// What an instruction of an AVR does.
pub(super) fn effect(instruction: &Instruction, all: &[String]) -> Option<Effect> {
    let name = instruction.mnemonic.as_str();
    let get = |n: usize| all.get(n).cloned();
    let out = Effect::default();
    let io = |n: usize| get(n).and_then(|text| number(&text));
    match name {
        "nop" | "wdr" | "rjmp" | "jmp" | "cli" | "sei" | "sleep" | "push" | "pop" => Some(out),
        "ret" => Some(Effect { returns: true, ..out }),
        "call" | "rcall" => {
            let calls = instruction.target.as_ref().map(|target| target.address);
            calls.map(|at| Effect { calls: Some(at), writes: of_callees(), ..out })
        }
        // If it is known where the pointer leads.
        "icall" | "eicall" | "ijmp" | "eijmp" => {
            let calls = instruction.target.as_ref().map(|target| target.address);
            let (returns, writes) = (name.ends_with("jmp"), of_callees());
            let reads = pointer("Z")?.map(str::to_owned).to_vec();
            calls.map(|at| Effect { calls: Some(at), writes, reads, returns, ..out })
        }
        _ if name.starts_with("br") && name != "break" => Some(out),
        "cp" | "cpc" | "cpi" | "tst" | "sbrs" | "sbrc" | "cpse" => {
            let reads = all.iter().filter(|text| text.starts_with('r')).cloned().collect();
            Some(Effect { reads, ..out })
        }
        "sbis" | "sbic" => Some(Effect { load: Some(Load::At(IO + io(0)?)), ..out }),
        "in" => {
            let from = io(1)?;
            let load = Some(Load::At(IO + from)).filter(|_| !is_of_core(from));
            Some(Effect { writes: vec![get(0)?], load, ..out })
        }
        // The stack pointer, too: room for a function's frame.
        "out" if io(0).is_some_and(is_of_core) => Some(Effect { reads: vec![get(1)?], ..out }),
        "out" => {
            let (to, from) = (Load::At(IO + io(0)?), get(1)?);
            let stores = Store { to, registers: vec![from.clone()] };
            Some(Effect { reads: vec![from], stores: Some(stores), ..out })
        }
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
            let mut reads = pointer(&base)?.map(str::to_owned).to_vec();
            reads.push(from.clone());
            let to = Load::Base { base, index: None, offset: 0, text: slot };
            let stores = Store { to, registers: vec![from] };
            Some(Effect { reads, stores: Some(stores), ..out })
        }
        "sts" => {
            let (to, from) = (Load::At(DATA + io(0)?), get(1)?);
            let stores = Store { to, registers: vec![from.clone()] };
            Some(Effect { reads: vec![from], stores: Some(stores), ..out })
        }
        _ => arithmetic(name, all),
    }
}

fn arithmetic(name: &str, all: &[String]) -> Option<Effect> {
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
        // A bit by way of the status register's T.
        "bst" => Some(of(vec![BIT.to_owned()], own())),
        "bld" => Some(of(own(), vec![first.clone(), BIT.to_owned()])),
        "eor" if other == first => Some(Effect { constant: Some(0), ..of(own(), Vec::new()) }),
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
            let joins = name == "or";
            Some(Effect { adds, joins, ..of(own(), vec![first.clone(), other]) })
        }
        "mul" | "muls" | "mulsu" => {
            let product = vec!["r0".to_owned(), "r1".to_owned()];
            Some(Effect { multiplies: true, ..of(product, vec![first, other]) })
        }
        "andi" | "ori" | "com" | "neg" | "swap" | "asr" | "lsr" | "ror" => Some(of(own(), own())),
        _ => None,
    }
}
