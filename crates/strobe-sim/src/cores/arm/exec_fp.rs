//! Floating-point instructions: loads, stores, moves; arithmetic is the unit's own business.

use super::cpu::Cpu;
use super::exec::{Port, check_aligned, write_any};
use super::exec_mem::span;
use super::fault::Fault;
use crate::kernel::device::Size;
use strobe_isa::thumb::insn::{Insn, NO_REG};

/// Executes an instruction of the floating-point unit.
pub(super) fn exec<P: Port>(cpu: &mut Cpu, port: &mut P, insn: Insn) -> Result<(), P::Stop> {
    // The careful path has looked before it comes here.
    if !cpu.fp_ready {
        return Err(port.refuse(Fault::NoCoprocessor));
    }
    macro_rules! r {
        ($i:expr) => {
            cpu.r[usize::from($i & 15)]
        };
    }
    macro_rules! s {
        ($i:expr) => {
            cpu.fp.s[usize::from($i & 31)]
        };
    }
    match insn {
        Insn::Fp { op, d, n, m } => cpu.fp.operate(op, d, n, m),
        Insn::FpImm { d, value } => s!(d) = value,
        Insn::FpConvert { op, d, m } => cpu.fp.convert(op, d, m),
        Insn::FpFixed { to_fixed, signed, half, d, fraction } => {
            cpu.fp.convert_fixed(to_fixed, signed, half, d, fraction);
        }
        Insn::FpLoad { d, count, n, imm } => {
            load(cpu, port, r!(n).wrapping_add_signed(i32::from(imm)), d, count)?;
        }
        Insn::FpLoadAt { d, count, address } => load(cpu, port, address, d, count)?,
        Insn::FpStore { d, count, n, imm } => {
            store(cpu, port, r!(n).wrapping_add_signed(i32::from(imm)), d, count)?;
        }
        Insn::FpLoadMultiple { direction, writeback, n, d, count, words } => {
            let (start, base) = span(r!(n), direction, u32::from(words));
            load(cpu, port, start, d, count)?;
            if writeback {
                write_any(cpu, n, base);
            }
        }
        Insn::FpStoreMultiple { direction, writeback, n, d, count, words } => {
            let (start, base) = span(r!(n), direction, u32::from(words));
            store(cpu, port, start, d, count)?;
            if writeback {
                write_any(cpu, n, base);
            }
        }
        Insn::FpToCore { t, n } => write_any(cpu, t, s!(n)),
        Insn::FpFromCore { n, t } => s!(n) = r!(t),
        Insn::FpToCores { t, t2, m } => {
            let (low, high) = (s!(m), s!(m + 1));
            write_any(cpu, t, low);
            write_any(cpu, t2, high);
        }
        Insn::FpFromCores { m, t, t2 } => {
            s!(m) = r!(t);
            s!(m + 1) = r!(t2);
        }
        Insn::Vmrs { t: NO_REG } => {
            // The four flags; Q is not among them.
            let q = cpu.apsr() & super::cpu::Q;
            cpu.set_nzcvq(cpu.fp.fpscr() & 0xf000_0000 | q);
        }
        Insn::Vmrs { t } => write_any(cpu, t, cpu.fp.fpscr()),
        Insn::Vmsr { t } => cpu.fp.set_fpscr(r!(t)),
        _ => debug_assert!(false, "{insn:?} is no floating-point instruction"),
    }
    Ok(())
}

/// Loads consecutive singles; they change only when all loads have happened.
fn load<P: Port>(
    cpu: &mut Cpu,
    port: &mut P,
    start: u32,
    first: u8,
    count: u8,
) -> Result<(), P::Stop> {
    check_aligned(port, start, Size::Word)?;
    let mut values = [0u32; 32];
    for i in 0..u32::from(count & 63).min(32) {
        values[i as usize] = port.load(start.wrapping_add(4 * i), Size::Word, i)?;
    }
    let (first, count) = (usize::from(first), usize::from(count));
    if let Some(to) = cpu.fp.s.get_mut(first..first + count) {
        to.copy_from_slice(&values[..count]);
    }
    Ok(())
}

fn store<P: Port>(
    cpu: &Cpu,
    port: &mut P,
    start: u32,
    first: u8,
    count: u8,
) -> Result<(), P::Stop> {
    check_aligned(port, start, Size::Word)?;
    for i in 0..count {
        let value = cpu.fp.s[usize::from((first + i) & 31)];
        port.store(start.wrapping_add(4 * u32::from(i)), Size::Word, value, u32::from(i))?;
    }
    Ok(())
}
