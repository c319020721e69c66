//! Arm's exception index tables (`.ARM.exidx`, `.ARM.extab`) as unwind information.
//!
//! Paragraphs are those of the "Exception Handling ABI for the Arm Architecture" (IHI 0038). The
//! tables are right where a function calls, not in the middle of its prologue or epilogue. What
//! they contain is input: every walk over them is bounded by their own lengths. This module must
//! not know frames of exceptions.

use crate::elf::Elf;
use crate::firmware::Firmware;

/// `EXIDX_CANTUNWIND` (5): the function is not to be unwound.
const CANNOT: u32 = 1;
/// The word holds the entry itself, not where it is (5).
const INLINE: u32 = 1 << 31;

/// Numbers of registers.
const SP: usize = 13;
const LR: usize = 14;
const PC: usize = 15;

/// The functions that `.ARM.exidx` describes.
#[derive(Debug, Default)]
pub(crate) struct ExceptionIndex {
    /// First address, second word and that word's own address; sorted.
    entries: Vec<(u32, u32, u32)>,
}

/// What the tables hold of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Its frame is not to be unwound.
    Cannot,
    /// The instructions of 10.3.
    Instructions(Vec<u8>),
    /// An entry that no compiler writes.
    Damaged,
}

/// Why instructions could not be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stuck {
    /// Memory could not be read.
    Unreadable(u32),
    /// Reserved, or cut off.
    Damaged,
    /// "Refuse to unwind".
    Refused,
}

/// A 31-bit offset from where it lies (5).
fn prel31(word: u32, at: u32) -> u32 {
    at.wrapping_add(((word << 1) as i32 >> 1) as u32)
}

impl ExceptionIndex {
    pub(crate) fn new(elf: &Elf<'_>) -> Self {
        let Some(section) = elf.section(".ARM.exidx") else { return ExceptionIndex::default() };
        let (pairs, _) = section.data.as_chunks::<8>();
        let places = (0..pairs.len() as u32).map(|n| section.address.wrapping_add(8 * n));
        let entry = |([a, b, c, d, rest @ ..], at): (&[u8; 8], u32)| {
            let first = u32::from_le_bytes([*a, *b, *c, *d]);
            (prel31(first, at) & !1, u32::from_le_bytes(*rest), at.wrapping_add(4))
        };
        let mut entries: Vec<_> = pairs.iter().zip(places).map(entry).collect();
        entries.sort_by_key(|entry| entry.0);
        ExceptionIndex { entries }
    }

    /// What is known of the function that an address is in; an entry holds up to the next one.
    pub(crate) fn find(&self, firmware: &Firmware, address: u32) -> Option<Rules> {
        let after = self.entries.partition_point(|entry| entry.0 <= address);
        // Linkers merge equal entries of neighbours, so that one may cover several functions.
        let &(_, word, at) = self.entries.get(after.checked_sub(1)?)?;
        Some(match word {
            CANNOT => Rules::Cannot,
            _ => instructions(firmware, word, at).map_or(Rules::Damaged, Rules::Instructions),
        })
    }
}

impl Firmware {
    /// Functions that nothing calls but who unwinds by the exception index tables: the personality
    /// routines that entries name (6.2), or stand for by number (9.2).
    pub fn unwind_routines(&self) -> Vec<u32> {
        let mut found: Vec<u32> =
            self.exidx.entries.iter().filter_map(|entry| self.personality(*entry)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    fn personality(&self, (_, word, at): (u32, u32, u32)) -> Option<u32> {
        let first = match word {
            CANNOT => return None,
            _ if word & INLINE != 0 => word,
            _ => self.word_at(prel31(word, at))?,
        };
        if first & INLINE == 0 {
            return Some(prel31(first, prel31(word, at)) & !1);
        }
        let name = format!("__aeabi_unwind_cpp_pr{}", first >> 24 & 0xf);
        Some(self.symbol_if_any(&name)?.address & !1)
    }
}

/// The bytes of an entry (6.3 and 10.2).
fn instructions(firmware: &Firmware, word: u32, at: u32) -> Option<Vec<u8>> {
    let short = |word: u32| word.to_be_bytes()[1..].to_vec();
    if word & INLINE != 0 {
        return (word >> 24 == 0x80).then(|| short(word));
    }
    let table = prel31(word, at);
    let first = firmware.word_at(table)?;
    let (mut bytes, more, next) = match (first & INLINE != 0, first >> 24 & 0xf) {
        (true, 0) => return Some(short(first)),
        (true, 1 | 2) => (first.to_be_bytes()[2..].to_vec(), first >> 16 & 0xff, table),
        (true, _) => return None,
        // A personality routine of its own, and then as long forms are.
        (false, _) => {
            let second = firmware.word_at(table.wrapping_add(4))?;
            (short(second), second >> 24, table.wrapping_add(4))
        }
    };
    for n in 1..=more {
        bytes.extend(firmware.word_at(next.wrapping_add(4 * n))?.to_be_bytes());
    }
    Some(bytes)
}

/// Follows instructions (10.3) from the registers of a frame to those of its caller, whose program
/// counter is in PC.
pub(crate) fn follow(
    instructions: &[u8],
    registers: &mut [u32; 16],
    mut read: impl FnMut(u32) -> Option<u32>,
) -> Result<(), Stuck> {
    let mut has_pc = false;
    let mut bytes = instructions.iter().copied();
    while let Some(byte) = bytes.next() {
        let mut next = || bytes.next().ok_or(Stuck::Damaged);
        let step = i32::from(byte & 0x3f) * 4 + 4;
        let sp = registers[SP];
        match byte {
            0x00..=0x3f => registers[SP] = sp.wrapping_add_signed(step),
            0x40..=0x7f => registers[SP] = sp.wrapping_add_signed(-step),
            0x80..=0x8f => {
                let mask = u32::from(byte & 0xf) << 12 | u32::from(next()?) << 4;
                if mask == 0 {
                    return Err(Stuck::Refused);
                }
                has_pc |= mask >> PC & 1 != 0;
                pop(registers, mask, &mut read)?;
            }
            0x9d | 0x9f => return Err(Stuck::Damaged),
            0x90..=0x9f => registers[SP] = registers[usize::from(byte & 0xf)],
            0xa0..=0xaf => {
                let from_4 = (2_u32 << (byte & 7)) - 1;
                pop(registers, from_4 << 4 | u32::from(byte >> 3 & 1) << LR, &mut read)?;
            }
            0xb0 => break,
            0xb1 => match u32::from(next()?) {
                mask @ 1..=0xf => pop(registers, mask, &mut read)?,
                _ => return Err(Stuck::Damaged),
            },
            0xb2 => {
                let words = uleb128(&mut next)?;
                registers[SP] = sp.wrapping_add(0x204).wrapping_add(words.wrapping_mul(4));
            }
            // FSTMFDX stores a word more than it has registers.
            0xb3 => registers[SP] = sp.wrapping_add(8 * doubles(next()?) + 4),
            // The modifier of a return address that is authenticated: what is there is no register.
            0xb4 => registers[SP] = sp.wrapping_add(4),
            0xb5 => {}
            0xb8..=0xbf => registers[SP] = sp.wrapping_add(8 * doubles(byte & 7) + 4),
            0xc8 | 0xc9 => registers[SP] = sp.wrapping_add(8 * doubles(next()?)),
            0xd0..=0xd7 => registers[SP] = sp.wrapping_add(8 * doubles(byte & 7)),
            _ => return Err(Stuck::Damaged),
        }
    }
    if !has_pc {
        registers[PC] = registers[LR];
    }
    Ok(())
}

/// Double registers of a count byte.
fn doubles(byte: u8) -> u32 {
    u32::from(byte & 0xf) + 1
}

/// Registers from ascending words; SP is what was popped, if it was.
fn pop(
    registers: &mut [u32; 16],
    mask: u32,
    read: &mut impl FnMut(u32) -> Option<u32>,
) -> Result<(), Stuck> {
    let mut at = registers[SP];
    let mut values = *registers;
    for (_, value) in values.iter_mut().enumerate().filter(|(n, _)| mask >> n & 1 != 0) {
        *value = read(at).ok_or(Stuck::Unreadable(at))?;
        at = at.wrapping_add(4);
    }
    if mask >> SP & 1 == 0 {
        values[SP] = at;
    }
    *registers = values;
    Ok(())
}

/// A number in groups of seven bits; what does not fit into a word is damage.
fn uleb128(next: &mut impl FnMut() -> Result<u8, Stuck>) -> Result<u32, Stuck> {
    let mut value = 0;
    for shift in (0..32).step_by(7) {
        let byte = next()?;
        value |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Stuck::Damaged)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The registers and whether they are the caller's, from a stack of words that are their own
    /// addresses.
    fn followed(bytes: &[u8]) -> (Result<(), Stuck>, [u32; 16]) {
        let mut registers: [u32; 16] = std::array::from_fn(|n| n as u32);
        (registers[SP], registers[7]) = (0x2000_0100, 0x2000_0200);
        let stack = |at| (0x2000_0000..0x2000_1000).contains(&at).then_some(at);
        (follow(bytes, &mut registers, stack), registers)
    }

    /// What GCC and LLVM write for common prologues.
    #[test]
    fn unwinding_undoes_what_prologues_pushed() {
        // push {r4, lr}: pop {r4, lr}
        let (done, r) = followed(&[0xa8, 0xb0, 0xb0]);
        assert_eq!(done, Ok(()));
        assert_eq!([r[4], r[14], r[SP], r[PC]], [0x2000_0100, 0x2000_0104, 0x2000_0108, r[14]]);
        // push {r4-r7, lr}; sub sp, #12
        let (_, r) = followed(&[0x02, 0xab, 0xb0]);
        assert_eq!([r[7], r[PC], r[SP]], [0x2000_0118, 0x2000_011c, 0x2000_0120]);
        // push {r0-r3}; push {r4, r7, r8, pc}: a mask, and the variadic arguments.
        let (_, r) = followed(&[0x88, 0x19, 0xb1, 0x0f]);
        assert_eq!(
            [r[4], r[7], r[8], r[PC]],
            [0x100, 0x104, 0x108, 0x10c].map(|n| n + 0x2000_0000)
        );
        assert_eq!([r[0], r[SP]], [0x2000_0110, 0x2000_0120]);
        // mov r7, sp, with 0x304 bytes and d8-d9 (VPUSH) above.
        let (_, r) = followed(&[0x97, 0xb2, 0x40, 0xd1, 0xb0]);
        assert_eq!([r[SP], r[PC]], [0x2000_0200 + 0x304 + 16, 14]);
        // d8 by FSTMFDX has another word.
        assert_eq!(followed(&[0xb8, 0xb0]).1[SP], 0x2000_010c);
    }

    #[test]
    fn unwinding_failures_are_classified() {
        assert_eq!(followed(&[0x80, 0]).0, Err(Stuck::Refused));
        for damaged in [&[0x80_u8][..], &[0x9d], &[0xb1, 0], &[0xb1, 0x10], &[0xb6], &[0xff]] {
            assert_eq!(followed(damaged).0, Err(Stuck::Damaged), "{damaged:x?}");
        }
        assert_eq!(followed(&[0xb2, 0xff, 0xff, 0xff, 0xff, 0xff]).0, Err(Stuck::Damaged));
        assert_eq!(followed(&[0x90, 0xa8]).0, Err(Stuck::Unreadable(0)));
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// Any bytes end, and read no more than a register for each that they could name.
        #[test]
        fn any_instructions_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut registers = [0x2000_0100; 16];
            let mut reads = 0;
            let _ = follow(&bytes, &mut registers, |at| {
                reads += 1;
                (at % 3 != 0).then_some(at)
            });
            prop_assert!(reads <= 12 * bytes.len());
        }
    }
}
