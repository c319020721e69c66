//! References of Thumb instructions: direct calls and jumps, literals, MOVW with MOVT, ADR.

use foldhash::HashSet;
use strobe_isa::thumb::insn::Insn;
use strobe_isa::thumb::op::Width;
use strobe_isa::thumb::{Access, Address, Code, Flow, Transfers};
use strobe_symbols::Firmware;

use super::resolve::Resolver;
use super::words::{Run, ScannedRange};
use super::{Reference, ReferenceKind, To};

/// Looks at instructions one after another. `pools` are words that code loads: without mapping
/// symbols they would be taken for instructions.
pub(super) fn sweep(
    firmware: &Firmware,
    resolver: &Resolver<'_>,
    run: &Run<'_>,
    pools: &mut HashSet<u32>,
) -> ScannedRange {
    let has_marks = firmware.has_mapping_symbols();
    let mut sweep =
        Sweep { firmware, resolver, low: [None; 16], pools, out: ScannedRange::default() };
    let mut site = run.start;
    while let Some(code) = Code::read(site, |at| run.half(at)) {
        if !has_marks && sweep.pools.contains(&(site & !3)) {
            site = site.wrapping_add(2);
            continue;
        }
        sweep.step(site, code);
        site = site.wrapping_add(code.size);
    }
    sweep.out
}

struct Sweep<'a> {
    firmware: &'a Firmware,
    resolver: &'a Resolver<'a>,
    /// What MOVW has put into each register.
    low: [Option<u32>; 16],
    pools: &'a mut HashSet<u32>,
    out: ScannedRange,
}

impl Sweep<'_> {
    fn sees(&mut self, site: u32, to: To, how: ReferenceKind) {
        self.out.references.push(Reference { site, to, how });
    }

    fn step(&mut self, site: u32, code: Code) {
        match code.insn {
            // No-operations align what follows: they change nothing.
            Insn::Nop | Insn::MovHi { d: 8, m: 8 } | Insn::LslImm { d: 0, m: 0, imm: 0 } => return,
            Insn::MovConst { value, .. } if code.is_adr() => {
                self.sees(site, To::Address(value), ReferenceKind::Takes);
            }
            Insn::MovConst { d, value } => self.low[usize::from(d)] = Some(value),
            Insn::Movt { d, imm } => {
                if let Some(low) = self.low[usize::from(d)].take() {
                    let word = u32::from(imm) << 16 | low & 0xffff;
                    // Relocations of the two are at each of them.
                    let is_known = self.resolver.is_address(site) == Some(true);
                    let to = if is_known { To::Address(word) } else { To::Word(word) };
                    self.sees(site, to, ReferenceKind::Takes);
                }
            }
            insn => {
                if let Some(Access {
                    address: Address::Literal(pool),
                    width: Width::Word,
                    transfers,
                    ..
                }) = insn.access()
                {
                    self.literal(site, pool, transfers);
                }
            }
        }
        self.out.goes_on = match code.insn.flow() {
            Flow::Next => !matches!(code.insn, Insn::Bkpt { .. }),
            Flow::Branch(target) => {
                self.sees(site, To::Address(target), ReferenceKind::Jumps);
                true
            }
            Flow::Jump(target) => {
                self.sees(site, To::Address(target), ReferenceKind::Jumps);
                false
            }
            // A call at a function's end does not come back.
            Flow::Call(target) => {
                self.sees(site, To::Address(target), ReferenceKind::Calls);
                false
            }
            Flow::CallRegister(_) => true,
            Flow::JumpRegister(_) | Flow::JumpSum { .. } | Flow::Table { .. } | Flow::Load => false,
            Flow::Stop => !code.is_udf(),
        };
    }

    fn literal(&mut self, site: u32, pool: u32, transfers: Transfers) {
        for place in 0..transfers.count() {
            let pool = pool.wrapping_add(4 * place);
            let Some(word) = self.firmware.word_at(pool) else { return };
            self.pools.insert(pool);
            match self.resolver.is_address(pool) {
                // Numbers of the floating-point unit are no addresses.
                _ if matches!(transfers, Transfers::Float { .. }) => {}
                Some(true) => self.sees(site, To::Address(word), ReferenceKind::Takes),
                Some(false) => {}
                None => self.sees(site, To::Word(word), ReferenceKind::Takes),
            }
        }
    }
}
