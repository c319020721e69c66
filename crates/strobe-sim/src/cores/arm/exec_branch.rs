//! Changes of flow that ARMv7-M adds (DDI 0403, A7.7): where they lead, and what they change on the
//! way.

use super::cpu::Cpu;
use super::exec::{Port, check_aligned, write_any};
use super::exec_mem::{load_list, span};
use super::fault::Fault;
use super::run::{EXC_RETURN, End};
use crate::kernel::device::Size;
use strobe_isa::thumb::insn::{Insn, Reg};
use strobe_isa::thumb::op::Index;

/// Executes a branch; `None` if it is none of these. `next` is the following instruction's address.
pub(super) fn branch<P: Port>(
    cpu: &mut Cpu,
    port: &mut P,
    insn: Insn,
    next: u32,
) -> Result<Option<End>, P::Stop> {
    let r = |cpu: &Cpu, r: Reg| cpu.r[usize::from(r & 15)];
    let end = match insn {
        Insn::Cbz { n, nonzero, .. } => {
            if (r(cpu, n) != 0) == nonzero {
                End::Direct
            } else {
                End::Next
            }
        }
        Insn::TableBranch { n, m, half } => {
            // Without a base register, the table lies behind the instruction.
            let base = if n == 15 { next } else { r(cpu, n) };
            let entry = if half {
                port.load(base.wrapping_add(r(cpu, m) << 1), Size::Half, 0)?
            } else {
                port.load(base.wrapping_add(r(cpu, m)), Size::Byte, 0)?
            };
            End::Indirect(next.wrapping_add(2 * entry) | 1)
        }
        Insn::LoadPc { n, index, imm } => {
            let moved = r(cpu, n).wrapping_add_signed(i32::from(imm));
            let address = if index == Index::Post { r(cpu, n) } else { moved };
            let target = load_pc(cpu, port, address, 0)?;
            if index != Index::Offset {
                write_any(cpu, n, moved);
            }
            End::Indirect(target)
        }
        Insn::LoadPcReg { n, m, by } => {
            let address = r(cpu, n).wrapping_add(r(cpu, m) << (by & 31));
            End::Indirect(load_pc(cpu, port, address, 0)?)
        }
        Insn::LoadPcAt { address } => End::Indirect(load_pc(cpu, port, address, 0)?),
        Insn::LoadMultiplePc { direction, writeback, n, list } => {
            let others = list.count_ones();
            let (start, base) = span(r(cpu, n), direction, others + 1);
            let target = load_pc(cpu, port, start.wrapping_add(4 * others), others)?;
            load_list(cpu, port, start, list)?;
            if writeback {
                write_any(cpu, n, base);
            }
            End::Indirect(target)
        }
        _ => return Ok(None),
    };
    Ok(Some(end))
}

/// Loads a new PC, which in a handler may be an exception return.
fn load_pc<P: Port>(cpu: &Cpu, port: &mut P, address: u32, transfer: u32) -> Result<u32, P::Stop> {
    check_aligned(port, address, Size::Word)?;
    let value = port.load(address, Size::Word, transfer)?;
    if !P::EXCEPTION_RETURNS && value >= EXC_RETURN && cpu.ipsr != 0 {
        return Err(port.refuse(Fault::BadReturn { value }));
    }
    Ok(value)
}
