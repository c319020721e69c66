//! References of AVR instructions: calls and jumps, LDS and STS, and addresses that are made of two
//! bytes by LDI, or added by SUBI and SBCI.

use strobe_isa::avr::insn::Insn;
use strobe_isa::avr::{Architecture, Flow, decode};

use super::resolve::AVR_DATA;
use super::words::{Run, ScannedRange};
use super::{Reference, ReferenceKind, To};

/// Instructions between the halves of an address, at most.
const MOST_BETWEEN: usize = 6;

/// A byte that an instruction has put into a register or subtracted from it.
#[derive(Debug, Clone, Copy)]
struct Byte {
    value: u8,
    /// The number of the instruction.
    at: usize,
    is_subtracted: bool,
}

/// Looks at instructions one after another. With relocations addresses need not be put together.
pub(super) fn sweep(run: &Run<'_>, has_relocations: bool) -> ScannedRange {
    let mut out = ScannedRange::default();
    let mut bytes: [Option<Byte>; 32] = [None; 32];
    let (mut site, mut number) = (run.start, 0);
    while let Some(first) = run.half(site) {
        let second = run.half(site.wrapping_add(2)).unwrap_or(0);
        let (insn, size) = decode(Architecture::ALL, site, first, second);
        let mut sees = |to, how| out.references.push(Reference { site, to, how });
        // RCALL of the next instruction makes room on the stack.
        let makes_room = insn == Insn::Call { target: site.wrapping_add(2) } && size == 2;
        out.goes_on = match insn.flow() {
            Flow::Branch(target) if !insn.skips() => {
                sees(To::Address(target), ReferenceKind::Jumps);
                true
            }
            Flow::Jump(target) => {
                sees(To::Address(target), ReferenceKind::Jumps);
                false
            }
            Flow::Call(target) if !makes_room => {
                sees(To::Address(target), ReferenceKind::Calls);
                false
            }
            Flow::JumpZ | Flow::Return => false,
            // Flash that is erased.
            Flow::Stop => first != 0xffff,
            Flow::Next | Flow::Branch(_) | Flow::Call(_) | Flow::CallZ => true,
        };
        let byte = match insn {
            Insn::Ldi { d, k } => Some((d, Byte { value: k, at: number, is_subtracted: false })),
            Insn::Subi { d, k } | Insn::Sbci { d, k } => {
                Some((d, Byte { value: k, at: number, is_subtracted: true }))
            }
            Insn::Lds { address, .. } | Insn::Sts { address, .. } => {
                sees(To::Address(AVR_DATA | u32::from(address)), ReferenceKind::Takes);
                None
            }
            _ => None,
        };
        if let Some((register, byte)) = byte
            && let Some(number) = pair(register.into(), byte, &mut bytes)
            && !has_relocations
        {
            sees(To::Pair { number, is_frame: register & !1 == 28 }, ReferenceKind::Takes);
        }
        site = site.wrapping_add(size);
        number += 1;
    }
    out
}

/// The address that a byte completes, with the other half.
fn pair(register: usize, byte: Byte, bytes: &mut [Option<Byte>; 32]) -> Option<u16> {
    bytes[register] = Some(byte);
    let (low, high) = (bytes[register & !1]?, bytes[register | 1]?);
    let is_near = low.at.abs_diff(high.at) <= MOST_BETWEEN;
    if !is_near || low.is_subtracted != high.is_subtracted {
        return None;
    }
    (bytes[register & !1], bytes[register | 1]) = (None, None);
    let pair = u16::from_le_bytes([low.value, high.value]);
    // An address is added by subtracting its negative.
    Some(if low.is_subtracted { pair.wrapping_neg() } else { pair })
}
