//! What an instruction of a Cortex-M costs: the manuals' tables, the flash's waits with their
//! bounds, the peripheral bridge.

use std::collections::{BTreeMap, BTreeSet};

use crate::cycles::report::{CausedCycles, CycleRange};
use strobe_devices::board::BoardError;
use strobe_isa::thumb::{Insn, decode};
use strobe_model::{Bounds, Cause};
use strobe_sim::cortexm::block::next_it;
use strobe_sim::cortexm::neighbours::Placed;
use strobe_sim::cortexm::timing::{Cost, Timing};
use strobe_sim::flash::{FlashTiming, HalfCycles};
use strobe_sim::memory::MemoryKind;
use strobe_symbols::Instruction;

use super::flow::Step;
use super::{FlashState, Request, parts};

/// Prices instructions for one board and flash setting.
pub(super) struct Pricer {
    timing: Timing,
    flash: FlashTiming,
    why: Option<String>,
    flash_range: std::ops::Range<u64>,
    apb_wait: Bounds,
}

impl Pricer {
    pub(super) fn new(request: &Request, timing: Timing) -> Result<Self, BoardError> {
        let bus = request.board.build()?;
        let FlashState { wait_states, prefetch } = request.flash;
        let entry = request.board.flash_timing_at(wait_states, prefetch);
        let base = u64::from(bus.flash.base);
        debug_assert_eq!(bus.flash.kind, MemoryKind::Flash);
        Ok(Pricer {
            timing,
            flash: entry.and_then(|e| e.flash_timing()).unwrap_or_default(),
            why: entry.filter(|e| e.wait_states > 0).map(|e| e.why.clone()),
            flash_range: base..base + bus.flash.data.len() as u64,
            apb_wait: bus.apb_wait(),
        })
    }

    fn in_flash(&self, address: u32) -> bool {
        self.flash_range.contains(&u64::from(address))
    }

    /// What instructions do and cost, in the runs of code that they make: what one costs may depend
    /// on those before it.
    pub(super) fn steps(&self, listing: &[Instruction]) -> Vec<Step> {
        let mut it = 0;
        let placed: Vec<Placed> = listing
            .iter()
            .map(|i| {
                let (architecture, [first, second]) =
                    (self.timing.kind.architecture(), i.halfwords);
                let (insn, size) = decode(architecture, i.address, first, second);
                let conditional = it != 0;
                let insn = if conditional && size == 2 { insn.inside_it_block() } else { insn };
                it = next_it(it, insn);
                Placed { insn, address: i.address, size, conditional }
            })
            .collect();
        let targets: BTreeSet<u32> = placed.iter().filter_map(|p| p.insn.target()).collect();
        let first: BTreeMap<u32, u32> =
            listing.iter().map(|i| (i.address, i.halfwords[0].into())).collect();
        let runs = placed.chunk_by(|a, b| !a.insn.ends_block() && !targets.contains(&b.address));
        let costs = runs.flat_map(|run| self.timing.costs(run));
        placed
            .iter()
            .zip(costs)
            .map(|(placed, mut cost)| {
                if let Some(target) = placed.insn.target() {
                    cost.refill += self.timing.refill_early_at(target, first.get(&target).copied());
                }
                self.step(placed, cost)
            })
            .collect()
    }

    fn step(&self, placed: &Placed, cost: Cost) -> Step {
        let Placed { insn, address, size, conditional } = *placed;
        let mut always = parts(cost.execute, cost.fetch, cost.load_store);
        let most = self.timing.most_for_operands(insn);
        if most > 0 {
            always.push(CausedCycles {
                cause: Cause::Execute,
                cycles: CycleRange::between(0, most.into()),
                when: Some("as its operands decide".to_owned()),
            });
        }
        if let Insn::LdrLit { address, .. } = insn
            && self.in_flash(address)
            && self.flash.data_read.high > 0
        {
            always.push(CausedCycles {
                cause: Cause::DataWait,
                cycles: range(self.flash.data_read),
                when: None,
            });
        }
        let sometimes = self.data_waits(insn, u64::from(cost.load_store));
        Step {
            address,
            end: address.wrapping_add(size),
            target: insn.target(),
            conditional: insn.is_conditional_branch(),
            calls: matches!(insn, Insn::Bl { .. } | Insn::Blx { .. }),
            falls_through: insn.falls_through(),
            // One that is skipped in an IT block takes a cycle.
            straight: match total(&always, &sometimes) {
                all if conditional => all.or(CycleRange::exact(1)),
                all => all,
            },
            always,
            sometimes,
            jump: self.jump(insn, u64::from(cost.refill)),
            note: self.note(insn).or_else(|| {
                let note = "a cycle if its condition fails";
                (conditional && cost.execute + cost.load_store > 1).then(|| note.to_owned())
            }),
        }
    }

    /// Waits of an access whose address is only known when the program runs.
    fn data_waits(&self, insn: Insn, transfers: u64) -> Vec<CausedCycles> {
        let literal = matches!(insn, Insn::LdrLit { .. });
        let stack = matches!(insn, Insn::Push { .. } | Insn::Pop { .. } | Insn::PopPc { .. })
            || matches!(insn, Insn::LdrImm { n: 13, .. } | Insn::StrImm { n: 13, .. });
        if transfers == 0 || literal || stack {
            return Vec::new();
        }
        let mut waits = Vec::new();
        if self.flash.data_read.high > 0 && reads(insn) {
            waits.push(CausedCycles {
                cause: Cause::DataWait,
                cycles: range(self.flash.data_read).times(transfers),
                when: Some("if it reads flash".to_owned()),
            });
        }
        if self.apb_wait.high > 0 {
            let Bounds { low, likely, high } = self.apb_wait;
            waits.push(CausedCycles {
                cause: Cause::DataWait,
                cycles: CycleRange::modelled(low, likely as f64, high).times(transfers),
                when: Some("if it meets the peripheral bridge".to_owned()),
            });
        }
        waits
    }

    /// What jumping costs on top.
    fn jump(&self, insn: Insn, refill: u64) -> Vec<CausedCycles> {
        if refill == 0 {
            return Vec::new();
        }
        let when = insn.is_conditional_branch().then(|| "if taken".to_owned());
        let part = |cause, cycles| CausedCycles { cause, cycles, when: when.clone() };
        // What is fetched first may begin in the middle of a word (`Timing::refill_at`).
        let is_unknown = insn.target().is_none() && self.timing.kind.architecture().v7m;
        let refill = CycleRange::between(refill, refill + u64::from(is_unknown));
        let mut parts = vec![part(Cause::Refill, refill)];
        let wait = match insn.target() {
            Some(target) if self.in_flash(target) => range(self.flash.jump(target)),
            Some(_) => CycleRange::exact(0),
            None => somewhere(self.flash),
        };
        if wait.max > 0 {
            parts.push(part(Cause::FetchWait, wait));
        }
        parts
    }

    /// What decides an instruction's cycles besides its parts' conditions.
    fn note(&self, insn: Insn) -> Option<String> {
        let target = insn.target().filter(|&t| self.in_flash(t) && self.flash.jump(t).high > 0);
        let alignment = target.map(|target| match target & 2 {
            0 => "word-aligned target",
            _ => "target in upper half of a word",
        });
        let parts: Vec<&str> = alignment.into_iter().chain(note(insn, &self.timing)).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    pub(super) fn notes(&self, request: &Request, steps: &[Step]) -> Vec<String> {
        let mut notes = Vec::new();
        if request.flash.wait_states > 0 && request.board.accelerator().is_some() {
            notes.push(
                "Figures are without waits for flash: what they are depends on what its buffers \
                 and caches hold, \
                 which the run's figures include."
                    .to_owned(),
            );
        }
        if let Some(why) = &self.why {
            notes.push(format!("Fetch and data waits are modelled, with bounds: {why}."));
        } else if request.flash.wait_states == 0
            && request.board.flash_timing().iter().any(|e| e.wait_states > 0)
        {
            notes.push(
                "Figures are for flash without wait states. With them (--wait-states 1, or --run \
                 to take the \
                 firmware's own setting) taken branches and literals cost more."
                    .to_owned(),
            );
        }
        if somewhere(self.flash).max > 0 && steps.iter().any(Step::goes_anywhere) {
            notes.push(
                "What a return, or a jump or call through a register, waits depends on where it \
                 goes: nothing \
                 in RAM, most in the upper half of a flash word."
                    .to_owned(),
            );
        }
        notes
    }
}

fn reads(insn: Insn) -> bool {
    !matches!(
        insn,
        Insn::StrReg { .. }
            | Insn::StrhReg { .. }
            | Insn::StrbReg { .. }
            | Insn::StrImm { .. }
            | Insn::StrhImm { .. }
            | Insn::StrbImm { .. }
            | Insn::Stm { .. }
    )
}

fn range(cost: HalfCycles) -> CycleRange {
    let (min, max) = (u64::from(cost.low / 2), u64::from(cost.high.div_ceil(2)));
    CycleRange::modelled(min, f64::from(cost.likely) / 2.0, max)
}

/// The wait for a target that only the run knows: in flash, likely, but a RAM function returns to
/// RAM.
fn somewhere(flash: FlashTiming) -> CycleRange {
    let in_flash = range(flash.aligned_target).or(range(flash.unaligned_target));
    CycleRange { min: 0, ..in_flash }
}

/// The sum over parts that always happen and parts that may.
fn total(always: &[CausedCycles], sometimes: &[CausedCycles]) -> CycleRange {
    let fixed = always.iter().fold(CycleRange::exact(0), |sum, part| sum.plus(part.cycles));
    // Of several conditions on one access only one can hold.
    sometimes.iter().fold(fixed, |sum, part| sum.or(fixed.plus(part.cycles)))
}

/// What the figures hold for.
pub(super) fn condition(flash: FlashState) -> String {
    let states = match flash.wait_states {
        0 => "no wait states".to_owned(),
        1 => "1 wait state".to_owned(),
        n => format!("{n} wait states"),
    };
    let prefetch = if flash.prefetch { "prefetch on" } else { "prefetch off" };
    if flash.wait_states == 0 {
        format!("flash: {states}")
    } else {
        format!("flash: {states}, {prefetch}")
    }
}

fn note(insn: Insn, timing: &Timing) -> Option<&'static str> {
    Some(match insn {
        Insn::Wfi | Insn::Wfe => "sleeps until woken: those cycles come on top",
        Insn::Svc { .. } => "then exception entry, the handler and exception return",
        Insn::Bl { .. } | Insn::Blx { .. } => "call: the callee's cycles come on top",
        Insn::PopPc { .. } | Insn::Bx { m: 14 } | Insn::LoadMultiplePc { n: 13, .. } => "return",
        Insn::Ldm { .. } | Insn::Stm { .. } => "an interrupt abandons and later restarts it",
        Insn::Mul { .. } if timing.multiplier_cycles > 1 => "small multiplier",
        _ => return None,
    })
}
