//! Instruction timing of Cortex-M0 (DDI 0432C, table 3-1) and Cortex-M0+ (DDI 0484C, table 3-1) at
//! zero wait states, with the cause of each cycle. Cortex-M3 and M4 are `timing_v7m.rs`'s.
//!
//! Waits for flash, peripheral buses and other bus masters come on top, where they happen.

use strobe_model::Bounds;

use super::exec::Work;
use super::neighbours::{self, Placed};
use super::timing_v7m;
pub use crate::kernel::observe::code::Cost;
pub(crate) use crate::kernel::observe::code::SKIPPED;
use strobe_isa::thumb::arch::Architecture;
use strobe_isa::thumb::insn::Insn;
use strobe_isa::thumb::op::LongOp;

/// The most that operands can add to an instruction's table row.
pub(crate) const MOST_FOR_OPERANDS: u32 = timing_v7m::MOST;

/// The most that operands add to a long multiplication where its time depends on them.
pub(crate) fn most_for_long_multiply(op: LongOp) -> u32 {
    timing_v7m::most_for_long_multiply(timing_v7m::accumulates(op))
}

/// Words of the floating-point context in a frame: S0-S15 and FPSCR.
const FP_CONTEXT: u64 = 17;

/// From here on, an M3 or M4 fetches over its system bus (DDI 0337I, 5.9).
pub(crate) const SYSTEM_BUS: u32 = 0x2000_0000;

/// Which core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoreKind {
    /// Cortex-M0, three pipeline stages.
    CortexM0,
    /// Cortex-M0+, two pipeline stages.
    CortexM0plus,
    /// Cortex-M3.
    CortexM3,
    /// Cortex-M4 without a floating-point unit.
    CortexM4,
    /// Cortex-M4 with its floating-point unit.
    CortexM4f,
}

impl CoreKind {
    /// The name as Arm writes it.
    pub fn name(self) -> &'static str {
        match self {
            CoreKind::CortexM0 => "Cortex-M0",
            CoreKind::CortexM0plus => "Cortex-M0+",
            CoreKind::CortexM3 => "Cortex-M3",
            CoreKind::CortexM4 => "Cortex-M4",
            CoreKind::CortexM4f => "Cortex-M4F",
        }
    }

    /// Which instructions it has.
    pub fn architecture(self) -> Architecture {
        match self {
            CoreKind::CortexM0 | CoreKind::CortexM0plus => Architecture::V6M,
            CoreKind::CortexM3 => Architecture::V7M,
            CoreKind::CortexM4 => Architecture::V7EM,
            CoreKind::CortexM4f => Architecture::V7EM_FP,
        }
    }
}

/// Timing options that the chip's maker chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// The core.
    pub kind: CoreKind,
    /// MULS: 1 (fast multiplier) or 32 (small multiplier) cycles.
    pub multiplier_cycles: u8,
    /// Address ranges on the single-cycle I/O port (Cortex-M0+ only).
    pub io_port: Vec<std::ops::Range<u32>>,
}

impl Timing {
    /// A core with the single-cycle multiplier and no I/O port.
    pub fn new(kind: CoreKind) -> Self {
        Timing { kind, multiplier_cycles: 1, io_port: Vec::new() }
    }

    /// The table's row for an instruction.
    pub fn cost(&self, insn: Insn) -> Cost {
        use Insn::*;
        if self.kind.architecture().v7m {
            return timing_v7m::cost(self.kind, insn);
        }
        let m0 = self.kind == CoreKind::CortexM0;
        // The third pipeline stage of the M0 costs one more cycle at each change of flow.
        let refill = if m0 { 2 } else { 1 };
        let (execute, load_store, refill) = match insn {
            Mul { .. } => (self.multiplier_cycles, 0, 0),
            LdrLit { .. }
            | LdrReg { .. }
            | LdrhReg { .. }
            | LdrbReg { .. }
            | LdrshReg { .. }
            | LdrsbReg { .. }
            | StrReg { .. }
            | StrhReg { .. }
            | StrbReg { .. }
            | LdrImm { .. }
            | LdrhImm { .. }
            | LdrbImm { .. }
            | StrImm { .. }
            | StrhImm { .. }
            | StrbImm { .. } => (1, 1, 0),
            Ldm { list, .. } | Stm { list, .. } | Pop { list } => (1, list.count_ones() as u8, 0),
            Push { list } => (1, list.count_ones() as u8, 0),
            // N counts the PC: 4+N on the M0, 3+N on the M0+.
            PopPc { list } => (1, list.count_ones() as u8 + 1, if m0 { 3 } else { 2 }),
            BCond { .. } | B { .. } | Bx { .. } | Blx { .. } | MovPc { .. } | AddPc { .. } => {
                (1, 0, refill)
            }
            Bl { .. } => (2, 0, refill),
            Mrs { .. } | Msr { .. } | Dmb | Dsb | Isb => (if m0 { 4 } else { 3 }, 0, 0),
            Wfi | Wfe => (2, 0, 0),
            _ => (1, 0, 0),
        };
        Cost { execute, load_store, refill, fetch: 0 }
    }

    /// The costs of a straight run of code that begins behind a change of flow. On a Cortex-M3 or
    /// M4 they depend on their neighbours.
    pub fn costs(&self, code: &[Placed]) -> Vec<Cost> {
        if self.kind.architecture().v7m {
            neighbours::costs(self.kind, code, |insn| self.cost(insn))
        } else {
            code.iter().map(|placed| self.cost(placed.insn)).collect()
        }
    }

    /// Further cycles of a jump to a computed address, where the first halfword of an instruction
    /// is this: the first fetch brings only half of a 32-bit instruction in the middle of a
    /// word (measured on M3 and M4).
    pub fn refill_at(&self, target: u32, first: Option<u32>) -> u8 {
        let wide = first.is_some_and(|half| half >> 11 & 0x1f >= 0x1d);
        u8::from(self.kind.architecture().v7m && target & 2 != 0 && wide)
    }

    /// The same of a branch whose target its encoding holds.
    pub fn refill_early_at(&self, target: u32, first: Option<u32>) -> u8 {
        let middle = self.kind.architecture().v7m && target & 2 != 0;
        u8::from(middle) + self.refill_at(target, first)
    }

    /// Whether its time depends on its operands' values: divisions, and the long multiplications of
    /// an M3.
    pub fn varies(&self, insn: Insn) -> bool {
        match insn {
            Insn::Divide { .. } => true,
            Insn::LongMul { .. } => self.kind == CoreKind::CortexM3,
            _ => false,
        }
    }

    /// The most that its operands add to an instruction's table row.
    pub fn most_for_operands(&self, insn: Insn) -> u32 {
        match insn {
            Insn::Divide { .. } => MOST_FOR_OPERANDS,
            Insn::LongMul { op, .. } if self.varies(insn) => most_for_long_multiply(op),
            _ => 0,
        }
    }

    /// What the operands add to an instruction's table row.
    pub(crate) fn extra(&self, work: Work) -> Bounds {
        timing_v7m::extra(self.kind, work)
    }

    /// Cycles from the end of the interrupted instruction to the handler's first instruction.
    ///
    /// M0: 16, M0+: 15, M3 and M4: 12 (Arm's interrupt latency table; DDI 0484C 3.6.1).
    pub fn exception_entry(&self) -> u32 {
        match self.kind {
            CoreKind::CortexM0 => 16,
            CoreKind::CortexM0plus => 15,
            CoreKind::CortexM3 | CoreKind::CortexM4 | CoreKind::CortexM4f => 12,
        }
    }

    /// Unstacking on exception return, after the returning branch itself. The TRMs give no figure:
    /// eight words come back through the one bus port, so it is at least 8; modelled.
    pub fn exception_exit(&self) -> Bounds {
        Bounds { low: 8, likely: 10, high: 13 }
    }

    /// From one handler straight to the next (tail-chaining), after the returning branch itself:
    /// vector fetch and refill without stacking. No figure in the TRMs; modelled.
    pub fn tail_chain(&self) -> Bounds {
        match self.kind {
            CoreKind::CortexM0 => Bounds { low: 4, likely: 6, high: 8 },
            CoreKind::CortexM0plus => Bounds { low: 3, likely: 5, high: 7 },
            // The one figure that Arm does give.
            CoreKind::CortexM3 | CoreKind::CortexM4 | CoreKind::CortexM4f => Bounds::exact(6),
        }
    }

    /// Cycles into a handler on an M3 or M4. The twelve are with the frame stacked over the system
    /// bus while vector and handler are fetched over the code bus; where vectors lie in RAM
    /// beside the stack, one comes after the other, for which there is no figure (Arm knowledge
    /// base, 103489845); modelled. Stacking the floating-point registers takes seventeen more.
    pub(crate) fn entry(&self, stack: u32, vectors: u32, with_fp: bool) -> Bounds {
        let cycles = u64::from(self.exception_entry()) + if with_fp { FP_CONTEXT } else { 0 };
        if stack < SYSTEM_BUS || vectors < SYSTEM_BUS {
            return Bounds::exact(cycles);
        }
        Bounds { low: cycles + 1, likely: cycles + 4, high: cycles + 8 }
    }

    /// Cycles out of a handler on an M3 or M4, behind the returning instruction's own; that it
    /// fills the pipeline is among them. Arm states 10, which may count that instruction's cycle,
    /// where the M3's TRM had 12.
    pub(crate) fn exit(&self, with_fp: bool) -> Bounds {
        let fp = if with_fp { FP_CONTEXT } else { 0 };
        Bounds { low: 9 + fp, likely: 10 + fp, high: 12 + fp }
    }

    /// Whether a data access to `address` goes through the single-cycle I/O port.
    pub fn on_io_port(&self, address: u32) -> bool {
        self.io_port.iter().any(|range| range.contains(&address))
    }
}
