//! What each instruction that stays in its block does to registers and memory.
//!
//! Written once over [`Port`]: the fast port answers from RAM and flash and gives up on anything else
//! before the instruction has changed a register, so that the instruction can be run again through the
//! careful port, which knows time, devices and faults.

use super::cpu::Cpu;
use super::insn::{Insn, Reg};
use crate::device::Size;

/// How an instruction reaches memory. Transfers of one instruction are numbered from 0.
pub(crate) trait Port {
    /// Why an access did not happen.
    type Stop;
    /// A load of that width, zero extended.
    fn load(&mut self, address: u32, size: Size, transfer: u32) -> Result<u32, Self::Stop>;
    /// A literal: a word at a fixed address, whose wait is part of the instruction's own cost.
    fn literal(&mut self, address: u32) -> Result<u32, Self::Stop>;
    /// A store of the value's low bits.
    fn store(
        &mut self,
        address: u32,
        size: Size,
        value: u32,
        transfer: u32,
    ) -> Result<(), Self::Stop>;
}

/// Executes an instruction that does not end a block.
#[inline(always)]
pub(crate) fn exec<P: Port>(cpu: &mut Cpu, port: &mut P, insn: Insn) -> Result<(), P::Stop> {
    use Insn::*;
    macro_rules! r {
        ($i:expr) => {
            cpu.r[($i & 15) as usize]
        };
    }
    match insn {
        LslImm { d, m, imm } => r!(d) = cpu.lsl_imm(r!(m), imm),
        LsrImm { d, m, imm } => r!(d) = cpu.lsr_imm(r!(m), imm),
        AsrImm { d, m, imm } => r!(d) = cpu.asr_imm(r!(m), imm),
        AddReg { d, n, m } => r!(d) = cpu.add(r!(n), r!(m), 0),
        SubReg { d, n, m } => r!(d) = cpu.sub(r!(n), r!(m)),
        AddImm { d, n, imm } => r!(d) = cpu.add(r!(n), u32::from(imm), 0),
        SubImm { d, n, imm } => r!(d) = cpu.sub(r!(n), u32::from(imm)),
        MovImm { d, imm } => {
            r!(d) = u32::from(imm);
            cpu.set_nz(u32::from(imm));
        }
        CmpImm { n, imm } => _ = cpu.sub(r!(n), u32::from(imm)),
        And { d, m } => logic(cpu, d, r!(d) & r!(m)),
        Eor { d, m } => logic(cpu, d, r!(d) ^ r!(m)),
        LslReg { d, m } => r!(d) = cpu.lsl_reg(r!(d), r!(m)),
        LsrReg { d, m } => r!(d) = cpu.lsr_reg(r!(d), r!(m)),
        AsrReg { d, m } => r!(d) = cpu.asr_reg(r!(d), r!(m)),
        Adc { d, m } => r!(d) = cpu.add(r!(d), r!(m), cpu.c),
        Sbc { d, m } => r!(d) = cpu.add(r!(d), !r!(m), cpu.c),
        RorReg { d, m } => r!(d) = cpu.ror_reg(r!(d), r!(m)),
        Tst { n, m } => cpu.set_nz(r!(n) & r!(m)),
        Rsb { d, n } => r!(d) = cpu.sub(0, r!(n)),
        CmpReg { n, m } => _ = cpu.sub(r!(n), r!(m)),
        Cmn { n, m } => _ = cpu.add(r!(n), r!(m), 0),
        Orr { d, m } => logic(cpu, d, r!(d) | r!(m)),
        Mul { d, m } => logic(cpu, d, r!(d).wrapping_mul(r!(m))),
        Bic { d, m } => logic(cpu, d, r!(d) & !r!(m)),
        Mvn { d, m } => logic(cpu, d, !r!(m)),
        AddHi { d, m } => write_any(cpu, d, r!(d).wrapping_add(r!(m))),
        MovHi { d, m } => write_any(cpu, d, r!(m)),
        AddConst { d, value } => write_any(cpu, d, r!(d).wrapping_add(value)),
        MovConst { d, value } => write_any(cpu, d, value),
        CmpConst { n, value } => _ = cpu.sub(r!(n), value),
        AddSpImm { d, imm } => r!(d) = cpu.r[13].wrapping_add(u32::from(imm)),
        AdjustSp { imm } => cpu.r[13] = cpu.r[13].wrapping_add_signed(i32::from(imm)),
        Sxth { d, m } => r!(d) = r!(m) as i16 as u32,
        Sxtb { d, m } => r!(d) = r!(m) as i8 as u32,
        Uxth { d, m } => r!(d) = r!(m) & 0xffff,
        Uxtb { d, m } => r!(d) = r!(m) & 0xff,
        Rev { d, m } => r!(d) = r!(m).swap_bytes(),
        Rev16 { d, m } => r!(d) = r!(m).swap_bytes().rotate_left(16),
        Revsh { d, m } => r!(d) = (r!(m) as u16).swap_bytes() as i16 as u32,
        LdrLit { t, address } => r!(t) = port.literal(address)?,
        LdrReg { t, n, m } => r!(t) = port.load(r!(n).wrapping_add(r!(m)), Size::Word, 0)?,
        LdrhReg { t, n, m } => r!(t) = port.load(r!(n).wrapping_add(r!(m)), Size::Half, 0)?,
        LdrbReg { t, n, m } => r!(t) = port.load(r!(n).wrapping_add(r!(m)), Size::Byte, 0)?,
        LdrshReg { t, n, m } => {
            r!(t) = port.load(r!(n).wrapping_add(r!(m)), Size::Half, 0)? as i16 as u32;
        }
        LdrsbReg { t, n, m } => {
            r!(t) = port.load(r!(n).wrapping_add(r!(m)), Size::Byte, 0)? as i8 as u32;
        }
        StrReg { t, n, m } => port.store(r!(n).wrapping_add(r!(m)), Size::Word, r!(t), 0)?,
        StrhReg { t, n, m } => port.store(r!(n).wrapping_add(r!(m)), Size::Half, r!(t), 0)?,
        StrbReg { t, n, m } => port.store(r!(n).wrapping_add(r!(m)), Size::Byte, r!(t), 0)?,
        LdrImm { t, n, imm } => {
            r!(t) = port.load(r!(n).wrapping_add(u32::from(imm)), Size::Word, 0)?;
        }
        LdrhImm { t, n, imm } => {
            r!(t) = port.load(r!(n).wrapping_add(u32::from(imm)), Size::Half, 0)?;
        }
        LdrbImm { t, n, imm } => {
            r!(t) = port.load(r!(n).wrapping_add(u32::from(imm)), Size::Byte, 0)?;
        }
        StrImm { t, n, imm } => {
            port.store(r!(n).wrapping_add(u32::from(imm)), Size::Word, r!(t), 0)?;
        }
        StrhImm { t, n, imm } => {
            port.store(r!(n).wrapping_add(u32::from(imm)), Size::Half, r!(t), 0)?;
        }
        StrbImm { t, n, imm } => {
            port.store(r!(n).wrapping_add(u32::from(imm)), Size::Byte, r!(t), 0)?;
        }
        Ldm { n, list } => {
            let end = load_multiple(cpu, port, r!(n), list)?;
            // With the base in the list, the loaded value stays.
            if list >> n & 1 == 0 {
                r!(n) = end;
            }
        }
        Stm { n, list } => r!(n) = store_multiple(cpu, port, r!(n), u16::from(list))?,
        Push { list } => {
            let start = cpu.r[13].wrapping_sub(4 * list.count_ones());
            store_multiple(cpu, port, start, list)?;
            cpu.r[13] = start;
        }
        Pop { list } => cpu.r[13] = load_multiple(cpu, port, cpu.r[13], list)?,
        Nop | Dmb | Dsb => {}
        // Everything else ends its block and is handled there.
        _ => debug_assert!(!insn.ends_block() || matches!(insn, Undefined), "{insn:?} in a block"),
    }
    Ok(())
}

#[inline(always)]
fn logic(cpu: &mut Cpu, d: Reg, result: u32) {
    cpu.r[(d & 15) as usize] = result;
    cpu.set_nz(result);
}

/// Writes R0-R14; the bottom two bits of SP read as zero (B1.4.1).
#[inline(always)]
fn write_any(cpu: &mut Cpu, d: Reg, value: u32) {
    cpu.r[(d & 15) as usize] = if d == 13 { value & !3 } else { value };
}

/// Loads R0-R7 from ascending words; registers change only when all loads have happened.
#[inline(always)]
pub(crate) fn load_multiple<P: Port>(
    cpu: &mut Cpu,
    port: &mut P,
    start: u32,
    list: u8,
) -> Result<u32, P::Stop> {
    let mut values = [0u32; 8];
    let mut address = start;
    let mut rest = list;
    let mut transfer = 0;
    while rest != 0 {
        let i = rest.trailing_zeros() as usize;
        values[i & 7] = port.load(address, Size::Word, transfer)?;
        address = address.wrapping_add(4);
        transfer += 1;
        rest &= rest - 1;
    }
    rest = list;
    while rest != 0 {
        let i = rest.trailing_zeros() as usize & 7;
        cpu.r[i] = values[i];
        rest &= rest - 1;
    }
    Ok(address)
}

#[inline(always)]
fn store_multiple<P: Port>(cpu: &Cpu, port: &mut P, start: u32, list: u16) -> Result<u32, P::Stop> {
    let mut address = start;
    let mut rest = list;
    let mut transfer = 0;
    while rest != 0 {
        let i = rest.trailing_zeros() as usize & 15;
        port.store(address, Size::Word, cpu.r[i], transfer)?;
        address = address.wrapping_add(4);
        transfer += 1;
        rest &= rest - 1;
    }
    Ok(address)
}
