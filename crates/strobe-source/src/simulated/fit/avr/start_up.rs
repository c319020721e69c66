//! What an AVR's program begins with, at address 0 or in its boot section: a table of jumps, one
//! for each vector of the part, and start-up code that sets the stack pointer to the end of its
//! RAM. Where a file names no part, as Intel HEX does not, these two are all that it shows of it.

use strobe_isa::avr::Flow;
use strobe_isa::avr::insn::{Insn, Special};
use strobe_symbols::Firmware;

use super::DATA;

/// Fewer jumps in a row may be no whole table: programs in assembler leave out what is not used.
const LEAST_VECTORS: u16 = 8;
/// More than any part has.
const MOST_VECTORS: u16 = 240;
/// Instructions of start-up code until the stack pointer is set, at most.
const MOST_BEFORE_STACK: usize = 24;

/// The vectors that a program has, if its table is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Table {
    /// How many, with reset's.
    pub vectors: u16,
    /// Bytes of each.
    pub bytes: u32,
}

/// Where the program begins: at address 0, or in the boot section if nothing is below.
fn start(firmware: &Firmware) -> Option<u32> {
    let loaded = firmware.segments().iter().filter(|segment| !segment.data().is_empty());
    loaded.map(|segment| segment.load_address.0).min().filter(|start| *start < DATA)
}

/// The table that the program begins with.
pub(super) fn table(firmware: &Firmware) -> Option<Table> {
    let start = start(firmware)?;
    let bytes = jump(firmware, start)?.1;
    let is_jump = |n: &u16| {
        let found = jump(firmware, start + u32::from(*n) * bytes);
        found.is_some_and(|(_, size)| size == bytes)
    };
    let vectors = (0..MOST_VECTORS).take_while(is_jump).count() as u16;
    (vectors >= LEAST_VECTORS).then_some(Table { vectors, bytes })
}

/// Where start-up code puts the stack, in the data space.
pub(super) fn stack(firmware: &Firmware) -> Option<u32> {
    let (mut at, _) = jump(firmware, start(firmware)?)?;
    let mut registers = [None; 32];
    let mut pointer = [None; 2];
    for _ in 0..MOST_BEFORE_STACK {
        let Some((insn, size)) = firmware.avr_at(at) else { break };
        if insn.flow() != Flow::Next {
            break;
        }
        match insn {
            Insn::Set { to: Special::Spl, r } => pointer[0] = registers[usize::from(r)],
            Insn::Set { to: Special::Sph, r } => pointer[1] = registers[usize::from(r)],
            Insn::Ldi { d, k } => registers[usize::from(d)] = Some(k),
            other => other.writes().iter().for_each(|d| registers[usize::from(d)] = None),
        }
        if let [Some(low), Some(high)] = pointer {
            return Some(DATA | u32::from(u16::from_le_bytes([low, high])));
        }
        at = at.wrapping_add(size);
    }
    // The smallest parts have no upper half.
    pointer[0].map(|low| DATA | u32::from(low))
}

/// Where the jump at an address goes, and its bytes.
fn jump(firmware: &Firmware, at: u32) -> Option<(u32, u32)> {
    match firmware.avr_at(at)? {
        (Insn::Jmp { target }, size) => Some((target, size)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_synth::ElfBuilder;

    fn firmware(words: &[u16]) -> Firmware {
        firmware_at(0, words)
    }

    fn firmware_at(start: u32, words: &[u16]) -> Firmware {
        let mut elf = ElfBuilder::new();
        elf.machine = 83;
        elf.code(start, &words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>());
        Firmware::parse(elf.build()).expect("a sound file")
    }

    /// clr r1; out SREG, r1; ldi r28, 0x5f; ldi r29, 0x02; out SPH, r29; out SPL, r28
    const START: [u16; 6] = [0x2411, 0xbe1f, 0xe5cf, 0xe0d2, 0xbfde, 0xbfcd];

    #[test]
    fn jump_table_length_matches_the_part() {
        // rjmp .+28, then rjmp .-2 each.
        let short = [&[0xc00e][..], &[0xcfff; 14], &START].concat();
        let short = firmware(&short);
        assert_eq!(table(&short), Some(Table { vectors: 15, bytes: 2 }));
        assert_eq!(stack(&short), Some(0x80_025f));
        let long = [[0x940c, 52].repeat(26), START.to_vec()].concat();
        let long = firmware(&long);
        assert_eq!(table(&long), Some(Table { vectors: 26, bytes: 4 }));
        assert_eq!(stack(&long), Some(0x80_025f));
    }

    /// A bootloader has its vectors and its start-up code in the boot section.
    #[test]
    fn a_table_in_the_boot_section_counts() {
        // rjmp .+36, then rjmp .-2 each: 19 vectors, as an ATmega8 has.
        let short = firmware_at(0x1c00, &[&[0xc012][..], &[0xcfff; 18], &START].concat());
        assert_eq!(table(&short), Some(Table { vectors: 19, bytes: 2 }));
        assert_eq!(stack(&short), Some(0x80_025f));
        // jmp 0x7000 + 43 * 4
        let long = [[0x940c, (0x7000 + 43 * 4) / 2].repeat(43), START.to_vec()].concat();
        let long = firmware_at(0x7000, &long);
        assert_eq!(table(&long), Some(Table { vectors: 43, bytes: 4 }));
        assert_eq!(stack(&long), Some(0x80_025f));
    }

    #[test]
    fn few_jumps_make_no_table_and_spl_alone_suffices() {
        // rjmp .+2; nop; ldi r28, 0xdf; out SPL, r28; rcall .+0
        let small = firmware(&[0xc001, 0x0000, 0xedcf, 0xbfcd, 0xd000]);
        assert_eq!((table(&small), stack(&small)), (None, Some(0x80_00df)));
        // nop; rjmp .-2
        let none = firmware(&[0x0000, 0xcfff]);
        assert_eq!((table(&none), stack(&none)), (None, None));
    }
}
