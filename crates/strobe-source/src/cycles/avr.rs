//! What an instruction of an AVR costs: the instruction set manual's table (DS40002198), which is
//! exact.

use crate::cycles::report::{CausedCycles, CycleRange};
use strobe_devices::board::BoardError;
use strobe_isa::avr::{Insn, decode};
use strobe_model::Cause;
use strobe_sim::avr::{Architecture, CoreKind, timing};
use strobe_symbols::Instruction;

use super::flow::Step;
use super::{Request, parts};

/// Prices instructions for one board's core and size of flash.
pub(super) struct Pricer {
    kind: CoreKind,
    arch: Architecture,
}

impl Pricer {
    pub(super) fn new(request: &Request, kind: CoreKind) -> Result<Self, BoardError> {
        let flash = request.board.build()?.flash.data.len() as u32;
        Ok(Pricer { kind, arch: Architecture::new(kind, flash) })
    }

    /// What the figures hold for.
    pub(super) fn condition(&self) -> String {
        let bits = if self.arch.extended_jumps { 22 } else { 16 };
        format!(
            "program counter of {bits} bits: a return address is {} bytes",
            self.arch.pc_bytes()
        )
    }

    pub(super) fn step(&self, i: &Instruction) -> Step {
        let [first, second] = i.halfwords;
        let (insn, size) = decode(self.arch, i.address, first, second);
        let end = i.address.wrapping_add(size);
        let cost = timing::cost(self.arch, insn, size, end);
        Step {
            address: i.address,
            end,
            target: insn.target(),
            conditional: is_conditional(insn),
            calls: insn.calls(),
            falls_through: falls_through(insn),
            straight: CycleRange::exact(u64::from(cost.straight())),
            always: parts(cost.execute, cost.fetch, cost.load_store),
            sometimes: Vec::new(),
            jump: jump(insn, cost.refill),
            note: self.note(insn),
        }
    }

    fn note(&self, insn: Insn) -> Option<String> {
        let text = match insn {
            Insn::Call { .. } | Insn::Icall | Insn::Eicall => {
                "call: pushes its return address; the callee's cycles come on top"
            }
            Insn::Ret => "return: pops its address",
            Insn::Reti => "return from an interrupt: pops its address",
            Insn::Lpm { .. } | Insn::Elpm { .. } => "reads program memory",
            Insn::Sleep => "sleeps until woken: those cycles come on top",
            Insn::Sei => "an interrupt waits for the instruction behind it",
            Insn::Spm { .. } => "writing program memory is not modelled",
            Insn::Invalid { .. } => {
                return Some(format!("no instruction of this core ({})", self.kind.name()));
            }
            _ => return None,
        };
        Some(text.to_owned())
    }
}

fn is_conditional(insn: Insn) -> bool {
    insn.skips() || matches!(insn, Insn::Brbs { .. } | Insn::Brbc { .. })
}

fn falls_through(insn: Insn) -> bool {
    let leaves =
        matches!(insn, Insn::Jmp { .. } | Insn::Ijmp | Insn::Eijmp | Insn::Ret | Insn::Reti);
    !leaves && !matches!(insn, Insn::Invalid { .. })
}

/// What going elsewhere costs on top. A skip fetches what it leaves out.
fn jump(insn: Insn, refill: u8) -> Vec<CausedCycles> {
    if refill == 0 {
        return Vec::new();
    }
    let when = match refill {
        _ if !is_conditional(insn) => None,
        _ if !insn.skips() => Some("if taken"),
        1 => Some("if it skips one word"),
        _ => Some("if it skips two words"),
    };
    let cycles = CycleRange::exact(u64::from(refill));
    vec![CausedCycles { cause: Cause::Refill, cycles, when: when.map(str::to_owned) }]
}

/// What the reader should know.
pub(super) fn notes() -> Vec<String> {
    vec![
        "Figures are exact: cycles depend on nothing but the instruction and whether it jumps. \
         Program memory and RAM \
         have no wait states."
            .to_owned(),
    ]
}
