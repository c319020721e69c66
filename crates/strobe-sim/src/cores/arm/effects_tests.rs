//! What `strobe-isa` states of an instruction, against what executing it does: the registers that
//! it reads and writes, and what it transfers.

use strobe_isa::thumb::{Access, Address};

use super::cpu::Cpu;
use super::exec::{Port, Work, exec};
use super::fault::Fault;
use crate::kernel::device::Size;
use strobe_isa::thumb::arch::Architecture;
use strobe_isa::thumb::decode::decode;
use strobe_isa::thumb::insn::{Insn, Reg};

/// Memory in which every word is a function of its address.
#[derive(Default, Clone, PartialEq, Debug)]
struct Recorder {
    loads: Vec<(u32, Size)>,
    stores: Vec<(u32, Size, u32)>,
}

impl Port for Recorder {
    type Stop = ();
    const EXCEPTION_RETURNS: bool = false;
    fn refuse(&mut self, _: Fault) {}
    fn divide_by_zero(&mut self) -> Result<(), ()> {
        Ok(())
    }
    fn spend(&mut self, _: Work) {}
    fn load(&mut self, address: u32, size: Size, _: u32) -> Result<u32, ()> {
        self.loads.push((address, size));
        Ok(address.wrapping_mul(0x9e37_79b1) & size.mask())
    }
    fn literal(&mut self, address: u32) -> Result<u32, ()> {
        self.load(address, Size::Word, 0)
    }
    fn store(&mut self, address: u32, size: Size, value: u32, _: u32) -> Result<(), ()> {
        self.stores.push((address, size, value & size.mask()));
        Ok(())
    }
}

/// A small generator, so that a run is like any other.
struct Random(u32);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 ^ self.0 >> 15
    }
}

/// Aligned addresses, which every access may have.
fn registers(random: &mut Random) -> [u32; 16] {
    let mut out = [0; 16];
    out[..15].fill_with(|| random.next() & 0x0fff_fff8);
    out
}

fn run(insn: Insn, registers: [u32; 16]) -> Option<([u32; 16], Recorder)> {
    let mut cpu = Cpu::new(Architecture::V7EM_FP);
    cpu.r = registers;
    let mut port = Recorder::default();
    exec(&mut cpu, &mut port, insn).ok()?;
    Some((cpu.r, port))
}

/// Where the transfers should be, each with its width.
fn places(access: Access, registers: [u32; 16]) -> Vec<(u32, Size)> {
    let r = |n: Reg| registers[usize::from(n)];
    let start = match access.address {
        Address::Offset { base, offset } => r(base).wrapping_add_signed(offset),
        Address::Index { base, index, by } => r(base).wrapping_add(r(index) << by),
        Address::Literal(address) => address,
    };
    (0..access.transfers.count())
        .map(|n| (start.wrapping_add(4 * n), access.width.size()))
        .collect()
}

fn check(insn: Insn, random: &mut Random) -> bool {
    let before = registers(random);
    let Some((after, port)) = run(insn, before) else { return false };
    let (reads, writes) = (insn.reads(), insn.writes());
    for n in 0..15u8 {
        let same = before[usize::from(n)] == after[usize::from(n)];
        assert!(same || writes.contains(n), "{insn:?} writes r{n}, not {writes:?}");
    }
    if let Some(access) = insn.access() {
        let expected = places(access, before);
        let stored = port.stores.iter().map(|&(at, size, _)| (at, size)).collect();
        let made: Vec<(u32, Size)> = if access.is_store { stored } else { port.loads.clone() };
        assert_eq!(made, expected, "{insn:?}");
        if let Some((base, by)) = access.writeback {
            let moved = before[usize::from(base)].wrapping_add_signed(by);
            // The stack pointer's lowest bits are zero.
            let moved = if base == 13 { moved & !3 } else { moved };
            assert_eq!(after[usize::from(base)], moved, "{insn:?}");
        }
    } else {
        assert_eq!(port, Recorder::default(), "{insn:?} has an access");
    }
    // Registers that it does not read have no part in what it does.
    let mut other = registers(random);
    for n in reads.iter() {
        other[usize::from(n)] = before[usize::from(n)];
    }
    let Some((again, other_port)) = run(insn, other) else { return false };
    assert_eq!(port, other_port, "{insn:?} reads more than {reads:?}");
    for n in writes.iter() {
        let n = usize::from(n);
        assert_eq!(after[n], again[n], "{insn:?} reads more than {reads:?}");
    }
    true
}

#[test]
fn effects_are_what_execution_does() {
    let mut random = Random(1);
    let mut checked = 0;
    let mut one = |first: u16, second: u16| {
        let (insn, _) = decode(Architecture::V7EM_FP, 0x0800_0100, first, second);
        // Exclusive accesses are the monitor's, and what ends a block is executed elsewhere.
        let is_exclusive = insn.access().is_some_and(|access| access.is_exclusive);
        if !insn.ends_block() && !is_exclusive {
            checked += usize::from(check(insn, &mut random));
        }
    };
    (0..0xe800).for_each(|first| one(first, 0));
    let mut seconds = Random(2);
    for first in 0xe800..=0xffff {
        (0..48).for_each(|_| one(first, seconds.next() as u16));
    }
    assert!(checked > 80_000, "{checked}");
}
