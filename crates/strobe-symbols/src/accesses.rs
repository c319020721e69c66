//! The registers that Thumb code reads and writes: loads and stores at an address that the code
//! itself puts into their base, such as `LDR r2, =0x40023800` and then `STR r3, [r2, #0x1c]`.
//! Where two chips have a block at the same address, its registers distinguish them.
//!
//! The code is read straight through. What a register holds is followed until anything may change
//! it, so each address is true where the code runs on from above; code behind a jump may get
//! there with other values in its bases, which are not seen.

use std::collections::BTreeSet;

use strobe_isa::thumb::insn::{Insn, Reg};
use strobe_isa::thumb::op::DataOp;
use strobe_isa::thumb::{Access, Address, Code, Flow, Registers, Transfers};

use crate::code::CodeKind;
use crate::firmware::Firmware;

/// Distinct addresses kept, at most.
const MOST_ADDRESSES: usize = 1 << 16;
/// Where peripherals begin (the memory map of ARMv7-M, B3.1).
const LEAST: u32 = 0x4000_0000;
/// Registers that a call may change (AAPCS, 6.1.1): R0 to R3, R12 and LR.
const CALL: Registers = Registers(0x500f);

impl Firmware {
    /// Addresses from 0x40000000 on that loads and stores name, as far as bases are known; at
    /// most 65,536.
    pub fn accesses(&self) -> BTreeSet<u32> {
        let mut values = Values { firmware: self, known: [None; 16], found: BTreeSet::new() };
        for piece in self.code.pieces_in(0..1 << 32).filter(|p| p.value == CodeKind::Thumb) {
            values.known = [None; 16];
            let mut next = piece.start;
            while next + 2 <= piece.end && values.found.len() < MOST_ADDRESSES {
                let at = u32::try_from(next).ok();
                let Some(code) = at.and_then(|at| self.thumb_at(at)) else { break };
                values.step(code);
                next += u64::from(code.size);
            }
        }
        values.found
    }
}

/// What the registers hold, as far as it is known.
struct Values<'a> {
    firmware: &'a Firmware,
    known: [Option<u32>; 16],
    found: BTreeSet<u32>,
}

impl Values<'_> {
    fn step(&mut self, code: Code) {
        self.found.extend(code.insn.access().and_then(|access| self.address(access)));
        let result = self.result(code.insn);
        match code.insn.flow() {
            // What is behind an instruction that always jumps is reached from elsewhere.
            Flow::Jump(_) | Flow::JumpRegister(_) | Flow::JumpSum { .. } => self.known = [None; 16],
            Flow::Table { .. } | Flow::Load => self.known = [None; 16],
            Flow::Call(_) | Flow::CallRegister(_) => self.forget(CALL),
            Flow::Next | Flow::Branch(_) | Flow::Stop => self.forget(code.writes()),
        }
        if let Some((register, value)) = result {
            self.known[usize::from(register)] = value;
        }
    }

    fn get(&self, register: Reg) -> Option<u32> {
        self.known[usize::from(register)]
    }

    fn forget(&mut self, registers: Registers) {
        registers.iter().for_each(|register| self.known[usize::from(register)] = None);
    }

    /// Where a load or store of one register or two is that leaves its base as it is.
    fn address(&self, access: Access) -> Option<u32> {
        let Access { address: Address::Offset { base, offset }, writeback: None, .. } = access
        else {
            return None;
        };
        let is_plain = matches!(access.transfers, Transfers::One(_) | Transfers::Two(..));
        let at = self.get(base).filter(|_| is_plain)?.wrapping_add_signed(offset);
        (at >= LEAST).then_some(at)
    }

    /// The register that an instruction computes from what is known, and its value.
    fn result(&self, insn: Insn) -> Option<(Reg, Option<u32>)> {
        use Insn::*;
        let plus = |n: Reg, number: u32| self.get(n).map(|value| value.wrapping_add(number));
        let minus = |n: Reg, number: u32| plus(n, number.wrapping_neg());
        Some(match insn {
            MovImm { d, imm } => (d, Some(imm.into())),
            MovConst { d, value } => (d, Some(value)),
            Movt { d, imm } => (d, self.get(d).map(|low| low & 0xffff | u32::from(imm) << 16)),
            LslImm { d, m, imm } => (d, self.get(m).map(|value| value << imm)),
            MovHi { d, m } => (d, self.get(m)),
            AddImm { d, n, imm } => (d, plus(n, imm.into())),
            SubImm { d, n, imm } => (d, minus(n, imm.into())),
            DataImm { op, d, n, value }
            | DataImmS { op, d, n, value }
            | DataImmSc { op, d, n, value } => match op {
                DataOp::Mov => (d, Some(value)),
                DataOp::Add => (d, plus(n, value)),
                DataOp::Sub => (d, minus(n, value)),
                _ => return None,
            },
            other => {
                let (register, at) = other.literal()?;
                (register, self.firmware.word_at(at))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_synth::ElfBuilder;

    fn accesses(code: &[u16], pool: &[u32]) -> Vec<u32> {
        let bytes = code.iter().flat_map(|half| half.to_le_bytes());
        let bytes: Vec<u8> = bytes.chain(pool.iter().flat_map(|word| word.to_le_bytes())).collect();
        let mut elf = ElfBuilder::new();
        elf.code(0x100, &bytes);
        let firmware = Firmware::parse(elf.build()).expect("a sound file");
        firmware.accesses().into_iter().collect()
    }

    /// Encodings from the manual, by hand.
    #[test]
    fn addresses_are_bases_and_offsets() {
        // ldr r2, [pc, #4]; ldr r3, [r2, #0x1c]; strb r3, [r2, #1]; b .
        let code = [0x4a01, 0x69d3, 0x7053, 0xe7fe];
        assert_eq!(accesses(&code, &[0x4002_3800]), [0x4002_3801, 0x4002_381c]);
        // movw r3, #0x3800; movt r3, #0x4002; str.w r0, [r3, #0x84]; strd r0, r1, [r3, #8]
        let code = [0xf643, 0x0300, 0xf2c4, 0x0302, 0xf8c3, 0x0084, 0xe9c3, 0x0102];
        assert_eq!(accesses(&code, &[]), [0x4002_3808, 0x4002_3884]);
        // mov.w r3, #0x40000000; add.w r3, r3, #0x23800; movs r1, #1; ldrh r0, [r3, #2]
        let code = [0xf04f, 0x4380, 0xf503, 0x330e, 0x2101, 0x8858];
        assert_eq!(accesses(&code, &[]), [0x4002_3802]);
        // movs r3, #0x90; lsls r3, r3, #23; mov r8, r3; mov r1, r8; str r0, [r1]
        assert_eq!(accesses(&[0x2390, 0x05db, 0x4698, 0x4641, 0x6008], &[]), [0x4800_0000]);
    }

    #[test]
    fn a_base_that_may_have_changed_is_not_known() {
        let behind = |change: &[u16]| {
            // mov.w r2, #0x40000000; ...; ldr r3, [r2, #4]
            let code: Vec<u16> = [0xf04f, 0x4280].iter().chain(change).copied().collect();
            accesses(&[code, vec![0x6853]].concat(), &[]).len()
        };
        assert_eq!(behind(&[]), 1);
        // bl; b.n; b.w; pop {r2}; pop {pc}; bx lr; ldr r2, [r1]; mov r2, r1; adds r2, r1, r0
        let changes: [&[u16]; 9] = [
            &[0xf000, 0xf800],
            &[0xe000],
            &[0xf000, 0xb800],
            &[0xbc04],
            &[0xbd00],
            &[0x4770],
            &[0x680a],
            &[0x460a],
            &[0x180a],
        ];
        for change in changes {
            assert_eq!(behind(change), 0, "{change:04x?}");
        }
        // ldr.w r0, [r2], #4; ldm r2!, {r0}; ldmia.w r0, {r2}; vmov r0, r2, d0; umull r0, r2
        let changes: [&[u16]; 5] =
            [&[0xf852, 0x0b04], &[0xca01], &[0xe890, 0x0004], &[0xec52, 0x0b10], &[0xfba0, 0x0201]];
        for change in changes {
            assert_eq!(behind(change), 0, "{change:04x?}");
        }
        // b<c>; cmp r2, #0; push {r2}; str r2, [r1]
        for change in [0xd000, 0x2a00, 0xb404, 0x600a] {
            assert_eq!(behind(&[change]), 1, "{change:04x}");
        }
    }
}
