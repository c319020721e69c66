//! Instructions as assembler text (unified syntax): for debugging, and for the test that assembles
//! it with GNU as.

use std::fmt::{self, Display, Formatter};

use crate::insn::{AddSub, Imm8Op, Insn, LoadStore, Reg, Shift};

impl Display for Reg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.number() {
            13 => f.write_str("sp"),
            14 => f.write_str("lr"),
            15 => f.write_str("pc"),
            n => write!(f, "r{n}"),
        }
    }
}

/// A register list with the one high register that PUSH and POP allow.
struct List(u8, Option<Reg>);

impl Display for List {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let low = (0..8).filter(|n| self.0 >> n & 1 == 1).map(Reg::new);
        let names: Vec<String> = low.chain(self.1).map(|r| r.to_string()).collect();
        write!(f, "{{{}}}", names.join(", "))
    }
}

/// A debug name in lower case, which for the operation enums is the mnemonic.
fn name(op: impl fmt::Debug) -> String {
    format!("{op:?}").to_lowercase()
}

fn scale(op: LoadStore) -> u32 {
    match op {
        LoadStore::Str | LoadStore::Ldr => 4,
        LoadStore::Strh | LoadStore::Ldrh | LoadStore::Ldrsh => 2,
        LoadStore::Strb | LoadStore::Ldrb | LoadStore::Ldrsb => 1,
    }
}

/// IT with a letter for each further instruction: its mask bit equals the condition's lowest or
/// not.
fn it_text(f: &mut Formatter<'_>, cond: u8, mask: u8) -> fmt::Result {
    const NAMES: [&str; 15] =
        ["eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al"];
    let further = 3 - mask.trailing_zeros().min(3);
    let letters: String =
        (0..further).map(|i| if mask >> (3 - i) & 1 == cond & 1 { 't' } else { 'e' }).collect();
    write!(f, "it{letters} {}", NAMES.get(usize::from(cond)).unwrap_or(&"nv"))
}

impl Display for Insn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        use crate::insn::DataOp::{Cmn, Cmp, Mul, Rsb, Tst};
        match *self {
            // LSL #0 is not accepted as text: the manual calls that encoding MOV (register) T2.
            Insn::ShiftImm { op: Shift::Lsl, rd, rm, amount: 0 } => write!(f, "movs {rd}, {rm}"),
            Insn::ShiftImm { op, rd, rm, amount } => {
                write!(f, "{}s {rd}, {rm}, #{amount}", name(op))
            }
            Insn::AddSubReg { op, rd, rn, rm } => write!(f, "{}s {rd}, {rn}, {rm}", name(op)),
            Insn::AddSubImm3 { op, rd, rn, imm3 } => write!(f, "{}s {rd}, {rn}, #{imm3}", name(op)),
            Insn::Imm8 { op: Imm8Op::Cmp, rdn, imm8 } => write!(f, "cmp {rdn}, #{imm8}"),
            Insn::Imm8 { op, rdn, imm8 } => write!(f, "{}s {rdn}, #{imm8}", name(op)),
            Insn::Data { op: op @ (Cmp | Cmn | Tst), rdn, rm } => {
                write!(f, "{} {rdn}, {rm}", name(op))
            }
            Insn::Data { op: Rsb, rdn, rm } => write!(f, "rsbs {rdn}, {rm}, #0"),
            Insn::Data { op: Mul, rdn, rm } => write!(f, "muls {rdn}, {rm}, {rdn}"),
            Insn::Data { op, rdn, rm } => write!(f, "{}s {rdn}, {rm}", name(op)),
            Insn::AddHigh { rdn, rm: Reg::SP } => write!(f, "add {rdn}, sp, {rdn}"),
            Insn::AddHigh { rdn, rm } => write!(f, "add {rdn}, {rm}"),
            Insn::CmpHigh { rn, rm } => write!(f, "cmp {rn}, {rm}"),
            Insn::MovHigh { rd, rm } => write!(f, "mov {rd}, {rm}"),
            Insn::Bx { rm } => write!(f, "bx {rm}"),
            Insn::Blx { rm } => write!(f, "blx {rm}"),
            Insn::LdrLiteral { rt, words } => {
                write!(f, "ldr {rt}, [pc, #{}]", u32::from(words) * 4)
            }
            Insn::MemReg { op, rt, rn, rm } => write!(f, "{} {rt}, [{rn}, {rm}]", name(op)),
            Insn::MemImm { op, rt, rn, units } => {
                write!(f, "{} {rt}, [{rn}, #{}]", name(op), u32::from(units) * scale(op))
            }
            Insn::MemSp { load, rt, words } => {
                let op = if load { "ldr" } else { "str" };
                write!(f, "{op} {rt}, [sp, #{}]", u32::from(words) * 4)
            }
            Insn::Adr { rd, words } => write!(f, "add {rd}, pc, #{}", u32::from(words) * 4),
            Insn::AddRdSp { rd, words } => write!(f, "add {rd}, sp, #{}", u32::from(words) * 4),
            Insn::AdjustSp { op: AddSub::Add, words } => {
                write!(f, "add sp, sp, #{}", u32::from(words) * 4)
            }
            Insn::AdjustSp { op: AddSub::Sub, words } => {
                write!(f, "sub sp, sp, #{}", u32::from(words) * 4)
            }
            Insn::Extend { op, rd, rm } => write!(f, "{} {rd}, {rm}", name(op)),
            Insn::Reverse { op, rd, rm } => write!(f, "{} {rd}, {rm}", name(op)),
            Insn::Push { list, lr } => write!(f, "push {}", List(list, lr.then_some(Reg::LR))),
            Insn::Pop { list, pc } => write!(f, "pop {}", List(list, pc.then_some(Reg::PC))),
            Insn::Cps { disable } => f.write_str(if disable { "cpsid i" } else { "cpsie i" }),
            Insn::Bkpt { imm8 } => write!(f, "bkpt #{imm8}"),
            Insn::Hint { op } => f.write_str(&name(op)),
            Insn::Stm { rn, list } => write!(f, "stmia {rn}!, {}", List(list, None)),
            Insn::Ldm { rn, list } => {
                let writeback = if list >> rn.number() & 1 == 1 { "" } else { "!" };
                write!(f, "ldmia {rn}{writeback}, {}", List(list, None))
            }
            Insn::BCond { cond, offset } => write!(f, "b{} .{:+}", name(cond), offset + 4),
            Insn::B { offset } => write!(f, "b .{:+}", offset + 4),
            Insn::Bl { offset } => write!(f, "bl .{:+}", offset + 4),
            Insn::Udf { imm8 } => write!(f, "udf #{imm8}"),
            Insn::UdfW { imm16 } => write!(f, "udf.w #{imm16}"),
            Insn::Svc { imm8 } => write!(f, "svc #{imm8}"),
            Insn::Msr { to, rn } => write!(f, "msr {}, {rn}", name(to)),
            Insn::Mrs { rd, from } => write!(f, "mrs {rd}, {}", name(from)),
            Insn::Barrier { op } => write!(f, "{} sy", name(op)),
            Insn::It { cond, mask } => it_text(f, cond, mask),
            Insn::Cbz { nonzero, rn, offset } => {
                write!(f, "cb{}z {rn}, .{:+}", if nonzero { "n" } else { "" }, offset + 4)
            }
            Insn::CpsFault { disable, interrupts } => {
                let masks = if interrupts { "if" } else { "f" };
                write!(f, "cpsi{} {masks}", if disable { "d" } else { "e" })
            }
            Insn::BCondWide { cond, offset } => {
                write!(f, "b{}.w .{:+}", name(cond), offset + 4)
            }
            Insn::BWide { offset } => write!(f, "b.w .{:+}", offset + 4),
            // The table has a test of its own, against a disassembler.
            Insn::Wide(wide) => write!(f, ".inst.w {:#010x} @ {}", wide.bits, wide.form().name),
        }
    }
}
