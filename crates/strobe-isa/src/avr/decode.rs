//! From opcodes to instructions (DS40002198, opcode columns of each instruction).

use super::Architecture;
use super::insn::{Insn, Special};

/// Decodes the instruction at the byte address `pc`, whose first word is `w` and whose second would
/// be `second`. Returns it with its size in bytes.
pub fn decode(arch: Architecture, pc: u32, w: u16, second: u16) -> (Insn, u32) {
    let size = if is_long(w) { 4 } else { 2 };
    let insn = match w >> 12 {
        0x0..=0x2 => two_registers(arch, pc, w, second),
        0x3 => Insn::Cpi { d: high(w), k: constant(w) },
        0x4 => Insn::Sbci { d: high(w), k: constant(w) },
        0x5 => Insn::Subi { d: high(w), k: constant(w) },
        0x6 => Insn::Ori { d: high(w), k: constant(w) },
        0x7 => Insn::Andi { d: high(w), k: constant(w) },
        0x8 | 0xa => displaced(w),
        0x9 => nine(arch, pc, w, second),
        0xb => input_output(arch, w),
        0xc => Insn::Jmp { target: relative(arch, pc, w, 12) },
        0xd => Insn::Call { target: relative(arch, pc, w, 12) },
        0xe => Insn::Ldi { d: high(w), k: constant(w) },
        _ => bits_and_branches(arch, pc, w, second),
    };
    let insn = match insn {
        Insn::Mul { .. } | Insn::Muls { .. } | Insn::Mulsu { .. } if !arch.multiplies => bad(w),
        Insn::Fmul { .. } | Insn::Fmuls { .. } | Insn::Fmulsu { .. } if !arch.multiplies => bad(w),
        insn => insn,
    };
    (insn, size)
}

/// Whether an instruction with this first word has a second: LDS, STS, JMP and CALL.
fn is_long(w: u16) -> bool {
    w & 0xfc0f == 0x9000 || w & 0xfe0c == 0x940c
}

fn bad(opcode: u16) -> Insn {
    Insn::Invalid { opcode }
}

/// Rd of 0 to 31.
fn d(w: u16) -> u8 {
    (w >> 4 & 31) as u8
}

/// Rr of 0 to 31.
fn r(w: u16) -> u8 {
    (w & 15 | w >> 5 & 16) as u8
}

/// Rd of 16 to 31.
fn high(w: u16) -> u8 {
    (w >> 4 & 15 | 16) as u8
}

fn constant(w: u16) -> u8 {
    (w & 15 | w >> 4 & 0xf0) as u8
}

/// The target of a jump relative to the next instruction, whose offset in words has so many bits.
fn relative(arch: Architecture, pc: u32, w: u16, bits: u32) -> u32 {
    let offset = if bits == 12 { w } else { w >> 3 } << (16 - bits);
    let words = i32::from(offset as i16 >> (16 - bits));
    pc.wrapping_add(2).wrapping_add_signed(2 * words) & arch.pc_mask
}

/// Where a skip at `pc` goes, the next instruction's first word being `next`.
fn behind(arch: Architecture, pc: u32, next: u16) -> u32 {
    pc.wrapping_add(if is_long(next) { 6 } else { 4 }) & arch.pc_mask
}

fn two_registers(arch: Architecture, pc: u32, w: u16, second: u16) -> Insn {
    let (rd, rr) = (d(w), r(w));
    let (low_d, low_r) = (16 | (w >> 4 & 7) as u8, 16 | (w & 7) as u8);
    match w >> 10 {
        0x00 => match w >> 8 & 3 {
            0 if w == 0 => Insn::Nop,
            0 => bad(w),
            1 => Insn::Movw { d: (w >> 4 & 15) as u8 * 2, r: (w & 15) as u8 * 2 },
            2 => Insn::Muls { d: high(w), r: 16 | (w & 15) as u8 },
            _ => match (w >> 7 & 1, w >> 3 & 1) {
                (0, 0) => Insn::Mulsu { d: low_d, r: low_r },
                (0, _) => Insn::Fmul { d: low_d, r: low_r },
                (_, 0) => Insn::Fmuls { d: low_d, r: low_r },
                _ => Insn::Fmulsu { d: low_d, r: low_r },
            },
        },
        0x01 => Insn::Cpc { d: rd, r: rr },
        0x02 => Insn::Sbc { d: rd, r: rr },
        0x03 => Insn::Add { d: rd, r: rr },
        0x04 => Insn::Cpse { d: rd, r: rr, target: behind(arch, pc, second) },
        0x05 => Insn::Cp { d: rd, r: rr },
        0x06 => Insn::Sub { d: rd, r: rr },
        0x07 => Insn::Adc { d: rd, r: rr },
        0x08 => Insn::And { d: rd, r: rr },
        0x09 => Insn::Eor { d: rd, r: rr },
        0x0a => Insn::Or { d: rd, r: rr },
        _ => Insn::Mov { d: rd, r: rr },
    }
}

/// LDD and STD.
fn displaced(w: u16) -> Insn {
    let q = (w & 7 | w >> 7 & 0x18 | w >> 8 & 0x20) as u8;
    let p = if w & 8 != 0 { 28 } else { 30 };
    if w & 0x200 == 0 { Insn::Ldd { d: d(w), p, q } } else { Insn::Std { p, q, r: d(w) } }
}

fn input_output(arch: Architecture, w: u16) -> Insn {
    let a = (w & 15 | w >> 5 & 0x30) as u8;
    let special = Special::at(u16::from(a) + 0x20, arch);
    match (w & 0x800 == 0, special) {
        (true, None) => Insn::In { d: d(w), a },
        (true, Some(from)) => Insn::Get { d: d(w), from },
        (false, None) => Insn::Out { a, r: d(w) },
        (false, Some(Special::Sreg)) => Insn::SetSreg { r: d(w) },
        (false, Some(to)) => Insn::Set { to, r: d(w) },
    }
}

fn bits_and_branches(arch: Architecture, pc: u32, w: u16, second: u16) -> Insn {
    let (s, target) = ((w & 7) as u8, relative(arch, pc, w, 7));
    let (b, skip) = ((w & 7) as u8, behind(arch, pc, second));
    match w >> 9 & 7 {
        0 | 1 => Insn::Brbs { s, target },
        2 | 3 => Insn::Brbc { s, target },
        _ if w & 8 != 0 => bad(w),
        4 => Insn::Bld { d: d(w), b },
        5 => Insn::Bst { d: d(w), b },
        6 => Insn::Sbrc { r: d(w), b, target: skip },
        _ => Insn::Sbrs { r: d(w), b, target: skip },
    }
}

/// Opcodes that begin with 1001.
fn nine(arch: Architecture, pc: u32, w: u16, second: u16) -> Insn {
    let a = (w >> 3 & 31) as u8;
    let b = (w & 7) as u8;
    let k = (w & 15 | w >> 2 & 0x30) as u8;
    let pair = 24 + 2 * (w >> 4 & 3) as u8;
    match w >> 8 & 15 {
        0 | 1 => load(arch, w, second),
        2 | 3 => store(w, second),
        4 | 5 => one_register(arch, w, second),
        6 => Insn::Adiw { d: pair, k },
        7 => Insn::Sbiw { d: pair, k },
        8 => Insn::Cbi { a, b },
        9 => Insn::Sbic { a, b, target: behind(arch, pc, second) },
        10 => Insn::Sbi { a, b },
        11 => Insn::Sbis { a, b, target: behind(arch, pc, second) },
        _ => Insn::Mul { d: d(w), r: r(w) },
    }
}

fn load(arch: Architecture, w: u16, second: u16) -> Insn {
    let d = d(w);
    match w & 15 {
        0x0 => Insn::Lds { d, address: second },
        0x1 => Insn::LdInc { d, p: 30 },
        0x2 => Insn::LdDec { d, p: 30 },
        0x4 => Insn::Lpm { d, increment: false },
        0x5 => Insn::Lpm { d, increment: true },
        0x6 if arch.extended_loads => Insn::Elpm { d, increment: false },
        0x7 if arch.extended_loads => Insn::Elpm { d, increment: true },
        0x9 => Insn::LdInc { d, p: 28 },
        0xa => Insn::LdDec { d, p: 28 },
        0xc => Insn::Ldd { d, p: 26, q: 0 },
        0xd => Insn::LdInc { d, p: 26 },
        0xe => Insn::LdDec { d, p: 26 },
        0xf => Insn::Pop { d },
        _ => bad(w),
    }
}

fn store(w: u16, second: u16) -> Insn {
    let r = d(w);
    match w & 15 {
        0x0 => Insn::Sts { address: second, r },
        0x1 => Insn::StInc { p: 30, r },
        0x2 => Insn::StDec { p: 30, r },
        0x9 => Insn::StInc { p: 28, r },
        0xa => Insn::StDec { p: 28, r },
        0xc => Insn::Std { p: 26, q: 0, r },
        0xd => Insn::StInc { p: 26, r },
        0xe => Insn::StDec { p: 26, r },
        0xf => Insn::Push { r },
        _ => bad(w),
    }
}

/// One-operand arithmetic, and what has no operand at all.
fn one_register(arch: Architecture, w: u16, second: u16) -> Insn {
    let d = d(w);
    match w & 15 {
        0x0 => Insn::Com { d },
        0x1 => Insn::Neg { d },
        0x2 => Insn::Swap { d },
        0x3 => Insn::Inc { d },
        0x5 => Insn::Asr { d },
        0x6 => Insn::Lsr { d },
        0x7 => Insn::Ror { d },
        0x8 => no_operand(arch, w),
        0x9 => match w {
            0x9409 => Insn::Ijmp,
            0x9419 if arch.extended_jumps => Insn::Eijmp,
            0x9509 => Insn::Icall,
            0x9519 if arch.extended_jumps => Insn::Eicall,
            _ => bad(w),
        },
        0xa => Insn::Dec { d },
        0xc..=0xf if arch.long_jumps => {
            let words = u32::from(w & 1) << 16 | u32::from(w >> 4 & 31) << 17 | u32::from(second);
            let target = words << 1 & arch.pc_mask;
            if w & 2 == 0 { Insn::Jmp { target } } else { Insn::Call { target } }
        }
        _ => bad(w),
    }
}

fn no_operand(arch: Architecture, w: u16) -> Insn {
    let s = (w >> 4 & 7) as u8;
    match w {
        0x9478 => Insn::Sei,
        0x94f8 => Insn::Cli,
        0x9408..=0x947f => Insn::Bset { s },
        0x9480..=0x94ff => Insn::Bclr { s },
        0x9508 => Insn::Ret,
        0x9518 => Insn::Reti,
        0x9588 => Insn::Sleep,
        0x9598 => Insn::Break,
        0x95a8 => Insn::Wdr,
        0x95c8 => Insn::Lpm { d: 0, increment: false },
        0x95d8 if arch.extended_loads => Insn::Elpm { d: 0, increment: false },
        0x95e8 => Insn::Spm { increment: false },
        0x95f8 => Insn::Spm { increment: true },
        _ => bad(w),
    }
}
