//! What each instruction that stays in its block does to registers and memory.
//!
//! Written once over [`Port`]: the fast port answers from RAM and flash and gives up on anything
//! else before the instruction has changed a register, so that the instruction can be run again
//! through the careful port, which knows time, devices and faults.

use super::cpu::Cpu;
use super::fault::Fault;
use super::{exec_data, exec_dsp, exec_fp, exec_mem};
use crate::kernel::device::Size;
use strobe_isa::thumb::insn::{Insn, Reg};

/// How an instruction reaches memory. Transfers of one instruction are numbered from 0.
pub(crate) trait Port {
    /// Why an access did not happen.
    type Stop;
    /// Whether a jump in a handler may return from the exception.
    const EXCEPTION_RETURNS: bool;
    /// The instruction cannot complete.
    fn refuse(&mut self, fault: Fault) -> Self::Stop;
    /// A division by zero: goes on, with zero, unless that is trapped.
    fn divide_by_zero(&mut self) -> Result<(), Self::Stop>;
    /// The instruction takes longer than its least, by what its operands decide.
    fn spend(&mut self, work: Work);
    /// A load of that width, zero extended. The address may be unaligned where the core allows
    /// that.
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

/// What the time of an instruction depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Work {
    /// A division of these magnitudes.
    Divide { dividend: u32, divisor: u32 },
    /// A multiplication to 64 bits of these operands.
    LongMultiply { n: u32, m: u32, signed: bool, accumulates: bool },
}

/// Transfers that must be aligned whatever the core: of several registers, exclusive.
#[inline(always)]
pub(crate) fn check_aligned<P: Port>(
    port: &mut P,
    address: u32,
    size: Size,
) -> Result<(), P::Stop> {
    if address & (size.bytes() - 1) != 0 {
        return Err(port.refuse(Fault::Unaligned { address }));
    }
    Ok(())
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
        DataImm { op, d, n, value } => exec_data::immediate(cpu, op, d, n, value),
        DataImmS { op, d, n, value } => {
            exec_data::immediate_setting(cpu, op, d, n, value, cpu.c);
        }
        DataImmSc { op, d, n, value } => {
            exec_data::immediate_setting(cpu, op, d, n, value, value >> 31);
        }
        DataReg { op, set, d, n, m, shift, by } => {
            exec_data::register(cpu, op, set, d, n, m, shift, by);
        }
        Load { width, t, n, index, imm } => exec_mem::load(cpu, port, width, t, n, index, imm)?,
        Store { width, t, n, index, imm } => exec_mem::store(cpu, port, width, t, n, index, imm)?,
        LoadReg { width, t, n, m, by } => exec_mem::load_register(cpu, port, width, t, n, m, by)?,
        StoreReg { width, t, n, m, by } => exec_mem::store_register(cpu, port, width, t, n, m, by)?,
        LoadMultiple { direction, writeback, n, list } => {
            exec_mem::load_multiple(cpu, port, direction, writeback, n, list)?;
        }
        StoreMultiple { direction, writeback, n, list } => {
            exec_mem::store_multiple(cpu, port, direction, writeback, n, list)?;
        }
        LoadDual { t, t2, n, index, imm } => {
            exec_mem::load_dual(cpu, port, t, t2, n, index, imm)?;
        }
        StoreDual { t, t2, n, index, imm } => {
            exec_mem::store_dual(cpu, port, t, t2, n, index, imm)?;
        }
        Mla { d, n, m, a } => {
            write_any(cpu, d, r!(a).wrapping_add(r!(n).wrapping_mul(r!(m))));
        }
        Mls { d, n, m, a } => {
            write_any(cpu, d, r!(a).wrapping_sub(r!(n).wrapping_mul(r!(m))));
        }
        Ubfx { d, n, lsb, width } => {
            write_any(cpu, d, r!(n) >> (lsb & 31) & exec_data::low_bits(width));
        }
        // The condition of what follows is the block's business.
        It { .. } => {}
        _ if insn.is_fp() => exec_fp::exec(cpu, port, insn)?,
        _ => rare(cpu, port, insn)?,
    }
    Ok(())
}

/// What is not worth a place in the loop over a block.
#[inline(never)]
fn rare<P: Port>(cpu: &mut Cpu, port: &mut P, insn: Insn) -> Result<(), P::Stop> {
    if exec_data::exec(cpu, port, insn)? || exec_dsp::exec(cpu, insn) {
        return Ok(());
    }
    if exec_mem::exec(cpu, port, insn)? {
        return Ok(());
    }
    // Everything else ends its block and is handled there.
    debug_assert!(!insn.ends_block() || matches!(insn, Insn::Undefined), "{insn:?} in a block");
    Ok(())
}

#[inline(always)]
fn logic(cpu: &mut Cpu, d: Reg, result: u32) {
    cpu.r[(d & 15) as usize] = result;
    cpu.set_nz(result);
}

/// Writes R0-R14; the bottom two bits of SP read as zero (B1.4.1).
#[inline(always)]
pub(crate) fn write_any(cpu: &mut Cpu, d: Reg, value: u32) {
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
    check_aligned(port, start, Size::Word)?;
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
    check_aligned(port, start, Size::Word)?;
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
