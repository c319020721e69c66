//! Instructions whose flags are set again before anything reads them.
//!
//! Most arithmetic is on numbers of several bytes, of which only the last byte's flags count, but
//! for carry and zero. The other flags take longer than the result. Only whole blocks run this way:
//! where a block may be left, all flags are as they should be.

use super::cpu::{H, N, S, V};
use strobe_isa::avr::insn::{Insn, Lean};

/// The flags that lean instructions leave alone.
const SPARED: u8 = H | S | V | N;

/// The instructions of a block as the fast path runs them, one for each.
pub(super) fn lean(insns: &[Insn]) -> Box<[Insn]> {
    let mut all = insns.to_vec();
    let mut read = SPARED;
    for insn in all.iter_mut().rev() {
        let sets = flags_set(*insn);
        if sets & read == 0
            && let Some(lean) = without_flags(*insn)
        {
            *insn = Insn::Lean(lean);
        }
        read &= !sets;
        if reads_flags(*insn) {
            read = SPARED;
        }
    }
    all.into()
}

/// Of the spared flags, those that an instruction always sets.
fn flags_set(insn: Insn) -> u8 {
    use Insn::*;
    match insn {
        Add { .. }
        | Adc { .. }
        | Sub { .. }
        | Sbc { .. }
        | Cp { .. }
        | Cpc { .. }
        | Cpi { .. }
        | Subi { .. }
        | Sbci { .. }
        | Neg { .. } => SPARED,
        And { .. }
        | Or { .. }
        | Eor { .. }
        | Andi { .. }
        | Ori { .. }
        | Inc { .. }
        | Dec { .. }
        | Com { .. }
        | Asr { .. }
        | Lsr { .. }
        | Ror { .. }
        | Adiw { .. }
        | Sbiw { .. } => S | V | N,
        _ => 0,
    }
}

/// Whether an instruction reads flags, or a block may be left there: at an access that is not to
/// RAM.
fn reads_flags(insn: Insn) -> bool {
    use Insn::*;
    let computes = flags_set(insn) != 0 || matches!(insn, Lean(_));
    let moves = matches!(insn, Nop | Mov { .. } | Movw { .. } | Ldi { .. } | Swap { .. });
    let multiplies = matches!(
        insn,
        Mul { .. } | Muls { .. } | Mulsu { .. } | Fmul { .. } | Fmuls { .. } | Fmulsu { .. }
    );
    let others = matches!(insn, Bst { .. } | Bld { .. } | Lpm { .. } | Elpm { .. });
    !(computes || moves || multiplies || others)
}

fn without_flags(insn: Insn) -> Option<Lean> {
    Some(match insn {
        Insn::Add { d, r } => Lean::Add { d, r },
        Insn::Adc { d, r } => Lean::Adc { d, r },
        Insn::Sub { d, r } => Lean::Sub { d, r },
        Insn::Sbc { d, r } => Lean::Sbc { d, r },
        Insn::Cp { d, r } => Lean::Cp { d, r },
        Insn::Cpc { d, r } => Lean::Cpc { d, r },
        Insn::Subi { d, k } => Lean::Subi { d, k },
        Insn::Sbci { d, k } => Lean::Sbci { d, k },
        Insn::Cpi { d, k } => Lean::Cpi { d, k },
        Insn::And { d, r } => Lean::And { d, r },
        Insn::Or { d, r } => Lean::Or { d, r },
        Insn::Eor { d, r } => Lean::Eor { d, r },
        Insn::Andi { d, k } => Lean::Andi { d, k },
        Insn::Ori { d, k } => Lean::Ori { d, k },
        Insn::Inc { d } => Lean::Inc { d },
        Insn::Dec { d } => Lean::Dec { d },
        Insn::Lsr { d } => Lean::Lsr { d },
        Insn::Ror { d } => Lean::Ror { d },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_last_byte_sets_all_flags() {
        let [low, high] = [Insn::Add { d: 24, r: 22 }, Insn::Adc { d: 25, r: 23 }];
        let first = Insn::Lean(Lean::Add { d: 24, r: 22 });
        assert_eq!(*lean(&[low, high]), [first, high]);
        // A push may reach a device, and with it the end of the block.
        let push = Insn::Push { r: 2 };
        assert_eq!(*lean(&[low, push, high]), [low, push, high]);
        // Logic leaves H.
        let logic = Insn::And { d: 24, r: 22 };
        assert_eq!(*lean(&[low, logic]), [low, logic]);
        let inc = Insn::Inc { d: 24 };
        assert_eq!(*lean(&[inc, logic]), [Insn::Lean(Lean::Inc { d: 24 }), logic]);
    }
}
