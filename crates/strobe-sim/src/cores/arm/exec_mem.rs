//! Loads and stores in 32 bits (DDI 0403, A7.7).
//!
//! As everywhere, registers change only when all of an instruction's transfers have happened.

use super::cpu::Cpu;
use super::exec::{Port, check_aligned, write_any};
use crate::kernel::device::Size;
use strobe_isa::thumb::insn::{Insn, Reg};
use strobe_isa::thumb::op::{Direction, Index, Width};

fn at(r: Reg) -> usize {
    usize::from(r & 15)
}

/// The address to access and the base to write back.
#[inline(always)]
fn address(base: u32, index: Index, imm: i16) -> (u32, u32) {
    let moved = base.wrapping_add_signed(i32::from(imm));
    match index {
        Index::Offset => (moved, base),
        Index::Pre => (moved, moved),
        Index::Post => (base, moved),
    }
}

#[inline(always)]
pub(super) fn load<P: Port>(
    cpu: &mut Cpu,
    port: &mut P,
    width: Width,
    t: Reg,
    n: Reg,
    index: Index,
    imm: i16,
) -> Result<(), P::Stop> {
    let (address, base) = address(cpu.r[at(n)], index, imm);
    let value = port.load(address, width.size(), 0)?;
    if index != Index::Offset {
        write_any(cpu, n, base);
    }
    write_any(cpu, t, width.extend(value));
    Ok(())
}

#[inline(always)]
pub(super) fn store<P: Port>(
    cpu: &mut Cpu,
    port: &mut P,
    width: Width,
    t: Reg,
    n: Reg,
    index: Index,
    imm: i16,
) -> Result<(), P::Stop> {
    let (address, base) = address(cpu.r[at(n)], index, imm);
    port.store(address, width.size(), cpu.r[at(t)], 0)?;
    if index != Index::Offset {
        write_any(cpu, n, base);
    }
    Ok(())
}

#[inline(always)]
pub(super) fn load_register<P: Port>(
    cpu: &mut Cpu,
    port: &mut P,
    width: Width,
    t: Reg,
    n: Reg,
    m: Reg,
    by: u8,
) -> Result<(), P::Stop> {
    let address = cpu.r[at(n)].wrapping_add(cpu.r[at(m)] << (by & 31));
    let value = port.load(address, width.size(), 0)?;
    write_any(cpu, t, width.extend(value));
    Ok(())
}

#[inline(always)]
pub(super) fn store_register<P: Port>(
    cpu: &mut Cpu,
    port: &mut P,
    width: Width,
    t: Reg,
    n: Reg,
    m: Reg,
    by: u8,
) -> Result<(), P::Stop> {
    let address = cpu.r[at(n)].wrapping_add(cpu.r[at(m)] << (by & 31));
    port.store(address, width.size(), cpu.r[at(t)], 0)
}

/// Where `words` consecutive words lie, and the base after them.
#[inline(always)]
pub(super) fn span(base: u32, direction: Direction, words: u32) -> (u32, u32) {
    match direction {
        Direction::Up => (base, base.wrapping_add(4 * words)),
        Direction::Down => {
            let start = base.wrapping_sub(4 * words);
            (start, start)
        }
    }
}

pub(super) fn load_multiple<P: Port>(
    cpu: &mut Cpu,
    port: &mut P,
    direction: Direction,
    writeback: bool,
    n: Reg,
    list: u16,
) -> Result<(), P::Stop> {
    let (start, base) = span(cpu.r[at(n)], direction, list.count_ones());
    load_list(cpu, port, start, list)?;
    if writeback {
        write_any(cpu, n, base);
    }
    Ok(())
}

/// Loads registers from ascending words.
#[inline(always)]
pub(crate) fn load_list<P: Port>(
    cpu: &mut Cpu,
    port: &mut P,
    start: u32,
    list: u16,
) -> Result<(), P::Stop> {
    check_aligned(port, start, Size::Word)?;
    let mut values = cpu.r;
    let (mut rest, mut address, mut transfer) = (list, start, 0);
    while rest != 0 {
        values[at(rest.trailing_zeros() as u8)] = port.load(address, Size::Word, transfer)?;
        address = address.wrapping_add(4);
        transfer += 1;
        rest &= rest - 1;
    }
    cpu.r = values;
    Ok(())
}

pub(super) fn store_multiple<P: Port>(
    cpu: &mut Cpu,
    port: &mut P,
    direction: Direction,
    writeback: bool,
    n: Reg,
    list: u16,
) -> Result<(), P::Stop> {
    let (start, base) = span(cpu.r[at(n)], direction, list.count_ones());
    check_aligned(port, start, Size::Word)?;
    let (mut rest, mut address, mut transfer) = (list, start, 0);
    while rest != 0 {
        port.store(address, Size::Word, cpu.r[at(rest.trailing_zeros() as u8)], transfer)?;
        address = address.wrapping_add(4);
        transfer += 1;
        rest &= rest - 1;
    }
    if writeback {
        write_any(cpu, n, base);
    }
    Ok(())
}

pub(super) fn load_dual<P: Port>(
    cpu: &mut Cpu,
    port: &mut P,
    t: Reg,
    t2: Reg,
    n: Reg,
    index: Index,
    imm: i16,
) -> Result<(), P::Stop> {
    let (address, base) = address(cpu.r[at(n)], index, imm);
    load_two(cpu, port, t, t2, address)?;
    if index != Index::Offset {
        write_any(cpu, n, base);
    }
    Ok(())
}

fn load_two<P: Port>(
    cpu: &mut Cpu,
    port: &mut P,
    t: Reg,
    t2: Reg,
    address: u32,
) -> Result<(), P::Stop> {
    check_aligned(port, address, Size::Word)?;
    let first = port.load(address, Size::Word, 0)?;
    let second = port.load(address.wrapping_add(4), Size::Word, 1)?;
    write_any(cpu, t, first);
    write_any(cpu, t2, second);
    Ok(())
}

pub(super) fn store_dual<P: Port>(
    cpu: &mut Cpu,
    port: &mut P,
    t: Reg,
    t2: Reg,
    n: Reg,
    index: Index,
    imm: i16,
) -> Result<(), P::Stop> {
    let (address, base) = address(cpu.r[at(n)], index, imm);
    check_aligned(port, address, Size::Word)?;
    port.store(address, Size::Word, cpu.r[at(t)], 0)?;
    port.store(address.wrapping_add(4), Size::Word, cpu.r[at(t2)], 1)?;
    if index != Index::Offset {
        write_any(cpu, n, base);
    }
    Ok(())
}

/// Those that are less common. Returns whether it was one of them.
pub(super) fn exec<P: Port>(cpu: &mut Cpu, port: &mut P, insn: Insn) -> Result<bool, P::Stop> {
    match insn {
        Insn::LoadAt { width, t, address } => {
            let value = port.load(address, width.size(), 0)?;
            write_any(cpu, t, width.extend(value));
        }
        Insn::LoadDualAt { t, t2, address } => load_two(cpu, port, t, t2, address)?,
        Insn::LoadExclusive { size, t, n, imm } => {
            let address = cpu.r[at(n)].wrapping_add(u32::from(imm));
            check_aligned(port, address, size)?;
            let value = port.load(address, size, 0)?;
            cpu.exclusive = true;
            write_any(cpu, t, value);
        }
        Insn::StoreExclusive { size, d, t, n, imm } => {
            let address = cpu.r[at(n)].wrapping_add(u32::from(imm));
            check_aligned(port, address, size)?;
            if cpu.exclusive {
                port.store(address, size, cpu.r[at(t)], 0)?;
            }
            let failed = !std::mem::take(&mut cpu.exclusive);
            write_any(cpu, d, u32::from(failed));
        }
        Insn::Clrex => cpu.exclusive = false,
        _ => return Ok(false),
    }
    Ok(true)
}
