//! What `strobe-isa` states of an instruction, against what executing it does.

use strobe_isa::avr::{Access, Place, Registers};

use super::cpu::Cpu;
use super::exec::{Port, exec};
use super::{Architecture, CoreKind};
use strobe_isa::avr::decode;
use strobe_isa::avr::insn::Insn;

/// Memory in which every byte is a function of its address.
#[derive(Default, Clone, PartialEq, Debug)]
struct Recorder {
    loads: Vec<u16>,
    stores: Vec<(u16, u8)>,
    program: Vec<u32>,
}

impl Port for Recorder {
    type Stop = ();
    fn load(&mut self, _: &mut Cpu, address: u16) -> Result<u8, ()> {
        self.loads.push(address);
        Ok((address ^ address >> 7) as u8)
    }
    fn store(&mut self, _: &mut Cpu, address: u16, value: u8) -> Result<(), ()> {
        self.stores.push((address, value));
        Ok(())
    }
    fn store_bit(&mut self, address: u16, _: u8, _: bool) -> Result<(), ()> {
        self.loads.push(address);
        Ok(())
    }
    fn program(&mut self, address: u32) -> u8 {
        self.program.push(address);
        (address ^ address >> 7) as u8
    }
    fn other(&mut self, _: Insn) -> Result<(), ()> {
        Ok(())
    }
}

/// A small generator, so that a run is like any other.
struct Random(u32);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 >> 8
    }
}

/// The ATmega2560's core, which has every instruction.
fn architecture() -> Architecture {
    Architecture::new(CoreKind::AvrePlus, 256 << 10)
}

fn run(insn: Insn, registers: [u8; 32]) -> Option<([u8; 32], Recorder)> {
    let mut cpu = Cpu::new(architecture(), 0x21ff);
    cpu.r = registers;
    let (mut port, mut sreg) = (Recorder::default(), 0);
    exec(&mut cpu, &mut sreg, &mut port, insn).ok()?;
    Some((cpu.r, port))
}

fn check_places(access: Access, before: [u8; 32], port: &Recorder, insn: Insn) {
    let pair =
        |low: u8| u16::from_le_bytes([before[usize::from(low)], before[usize::from(low) + 1]]);
    let made: Vec<u16> =
        port.loads.iter().copied().chain(port.stores.iter().map(|one| one.0)).collect();
    match access.place {
        Place::Data(at) => assert_eq!(made, [at], "{insn:?}"),
        Place::Pointer { low, offset, .. } => {
            assert_eq!(made, [pair(low).wrapping_add_signed(offset)], "{insn:?}");
        }
        Place::Stack => assert_eq!(made.len(), 1, "{insn:?}"),
        Place::Program { .. } => assert_eq!(port.program.len(), 1, "{insn:?}"),
    }
    assert_eq!(access.stores.is_some(), !port.stores.is_empty(), "{insn:?}");
}

fn check(insn: Insn, random: &mut Random) {
    let mut before = [0; 32];
    before.fill_with(|| random.next() as u8);
    let Some((after, port)) = run(insn, before) else { return };
    let (reads, writes): (Registers, Registers) = (insn.reads(), insn.writes());
    for n in 0..32u8 {
        let same = before[usize::from(n)] == after[usize::from(n)];
        assert!(same || writes.contains(n), "{insn:?} writes r{n}, not {writes:?}");
    }
    match insn.access() {
        Some(access) => check_places(access, before, &port, insn),
        None => assert_eq!(port, Recorder::default(), "{insn:?} has an access"),
    }
    // Registers that it does not read have no part in what it does.
    let mut other = [0; 32];
    other.fill_with(|| random.next() as u8);
    for n in reads.iter() {
        other[usize::from(n)] = before[usize::from(n)];
    }
    let Some((again, other_port)) = run(insn, other) else { return };
    assert_eq!(port, other_port, "{insn:?} reads more than {reads:?}");
    for n in writes.iter().map(usize::from) {
        assert_eq!(after[n], again[n], "{insn:?} reads more than {reads:?}");
    }
}

#[test]
fn effects_are_what_execution_does() {
    let mut random = Random(1);
    let mut checked = 0;
    for first in 0..=0xffffu16 {
        let second = random.next() as u16;
        let (insn, _) = decode(architecture(), 0x100, first, second);
        // LDS and STS of registers of the core are the port's.
        if !insn.ends_block() {
            check(insn, &mut random);
            checked += 1;
        }
    }
    assert!(checked > 40_000, "{checked}");
}
