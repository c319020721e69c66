//! Which cores can run a firmware whose file names no architecture, as Intel HEX does not: what its
//! code uses on the way from its vectors on.
//!
//! Code is followed through branches and into calls. Behind a call it is not: there may be data, if
//! the call does not return. So nothing is found that is no code, though not all code is found.

use std::collections::BTreeSet;

use strobe_isa::thumb::insn::Insn;
use strobe_isa::thumb::{Architecture, decode};
use strobe_symbols::Firmware;

/// Words of a vector table that are looked at: the first stack, reset, and the system's exceptions.
const SYSTEM_VECTORS: u32 = 16;
/// Instructions looked at, at most.
const MOST_INSTRUCTIONS: usize = 4096;

/// Whether a core with this architecture has each instruction that was found.
pub(super) fn runs(firmware: &Firmware, core: Architecture) -> bool {
    let Some(table) = firmware.vector_table() else { return true };
    let vector = |n: u32| firmware.word_at(table.address.checked_add(4 * n)?);
    let vectors = (1..SYSTEM_VECTORS).filter_map(vector).filter(|vector| vector & 1 == 1);
    let mut open: Vec<u32> = vectors.map(|vector| vector & !1).collect();
    let mut seen = BTreeSet::new();
    while let Some(begin) = open.pop() {
        let mut at = begin;
        while seen.len() < MOST_INSTRUCTIONS && seen.insert(at) {
            let Some(first) = firmware.half_at(at) else { break };
            let second = firmware.half_at(at.wrapping_add(2)).unwrap_or(0);
            let (insn, size) = decode(Architecture::V7EM_FP, at, first, second);
            if is_none(decode(core, at, first, second).0) && !is_none(insn) {
                return false;
            }
            open.extend(insn.target());
            if matches!(insn, Insn::Bl { .. }) || !insn.falls_through() {
                break;
            }
            at = at.wrapping_add(size);
        }
    }
    true
}

/// Whether there is no such instruction.
fn is_none(insn: Insn) -> bool {
    matches!(insn, Insn::Undefined | Insn::NoCoprocessor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_synth::ElfBuilder;

    /// A firmware whose vectors lead to this code.
    fn firmware(code: &[u16]) -> Firmware {
        let mut words = [0x0800_0041_u32; 16];
        words[0] = 0x2000_1000;
        let words = words.iter().flat_map(|word| word.to_le_bytes());
        let image: Vec<u8> = words.chain(code.iter().flat_map(|half| half.to_le_bytes())).collect();
        let mut elf = ElfBuilder::new();
        elf.entry = 0x0800_0041;
        elf.code(0x0800_0000, &image);
        Firmware::parse(elf.build()).expect("a sound file")
    }

    #[test]
    fn instructions_on_the_way_from_the_vectors_decide() {
        let least = |code: &[u16]| {
            let cores = [Architecture::V6M, Architecture::V7M, Architecture::V7EM_FP];
            cores.map(|core| runs(&firmware(code), core))
        };
        // movs r0, #1; b .
        assert_eq!(least(&[0x2001, 0xe7fe]), [true, true, true]);
        // movw r0, #1; b .
        assert_eq!(least(&[0xf240, 0x0001, 0xe7fe]), [false, true, true]);
        // cbz r0, .+4; nop; sel r4, r4, ip; b .
        assert_eq!(least(&[0xb100, 0xbf00, 0xfaa4, 0xf48c, 0xe7fe]), [false, false, true]);
        // bl .+8; movw, which may be data; bx lr.
        assert_eq!(least(&[0xf000, 0xf802, 0xf240, 0x0001, 0x4770]), [true, true, true]);
        // b .+6; data; bl .+4; movw; b .
        assert_eq!(
            least(&[0xe001, 0xf240, 0x0001, 0xf000, 0xf800, 0xf240, 0x0001, 0xe7fe]),
            [false, true, true]
        );
    }
}
