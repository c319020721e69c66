//! An independent cycle count: the manual's instruction timing table summed over an execution
//! trace.
//!
//! The tables are those of the Cortex-M0 and Cortex-M0+ technical reference manuals (DDI 0432C and
//! DDI 0484C, table 3-1), for memory without wait states. It decodes instructions itself, and must
//! share nothing with the simulator's timing.

use crate::program::Program;
use crate::state::CpuState;

/// Cycles of each kind of instruction, where the cores differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// MULS, 1 or 32 cycles, an implementation option.
    pub multiply: u64,
    /// A taken branch, BX, BLX, and MOV or ADD to PC.
    pub branch: u64,
    /// BL.
    pub branch_with_link: u64,
    /// POP with PC, in addition to one per register.
    pub pop_pc: u64,
    /// MRS, MSR and the barriers.
    pub special: u64,
}

impl Table {
    /// Cortex-M0 with the fast multiplier.
    pub const CORTEX_M0: Table =
        Table { multiply: 1, branch: 3, branch_with_link: 4, pop_pc: 4, special: 4 };
    /// Cortex-M0+ with the fast multiplier; loads and stores not on the single-cycle I/O port.
    pub const CORTEX_M0_PLUS: Table =
        Table { multiply: 1, branch: 2, branch_with_link: 3, pop_pc: 3, special: 3 };

    /// The same core with the 32-cycle multiplier.
    pub const fn with_small_multiplier(self) -> Table {
        Table { multiply: 32, ..self }
    }
}

/// The cost of a run by the table. Exception entry and time asleep are not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Instructions executed.
    pub instructions: u64,
    /// Their cycles.
    pub cycles: u64,
    /// Instructions without a figure in the table (SVC, BKPT, UDF); they add no cycles.
    pub without_figure: u64,
}

/// Why a trace could not be counted.
#[derive(Debug, thiserror::Error)]
pub enum CountError<E: std::error::Error + 'static> {
    /// The trace ended early.
    #[error("the trace ended early")]
    Trace(#[source] E),
    /// An executed instruction is not in the file.
    #[error("the instruction executed at {0:#010x} is not in the program's file")]
    NoCode(u32),
    /// An executed instruction is not in ARMv6-M.
    #[error("{code:#06x} executed at {address:#010x} is not an ARMv6-M instruction")]
    Unknown {
        /// Its address.
        address: u32,
        /// Its first halfword.
        code: u16,
    },
}

/// Sums the table over a trace. Counts the instruction of each state, the last one included.
pub fn sum<E: std::error::Error + 'static>(
    table: &Table,
    program: &Program,
    trace: impl IntoIterator<Item = Result<CpuState, E>>,
) -> Result<Count, CountError<E>> {
    let mut count = Count::default();
    for state in trace {
        let state = state.map_err(CountError::Trace)?;
        let address = state.pc();
        let code = program.halfword(address).ok_or(CountError::NoCode(address))?;
        count.instructions += 1;
        let second = program.halfword(address + 2);
        match cycles(table, code, second, state.xpsr) {
            Cost::Cycles(cycles) => count.cycles += cycles,
            Cost::NoFigure => count.without_figure += 1,
            Cost::NoInstruction => return Err(CountError::Unknown { address, code }),
        }
    }
    Ok(count)
}

enum Cost {
    Cycles(u64),
    NoFigure,
    NoInstruction,
}

/// The cost of an instruction of one or two halfwords, with the flags before it in `xpsr`.
fn cycles(table: &Table, code: u16, second: Option<u16>, xpsr: u32) -> Cost {
    let low_list = || u64::from((code & 0xff).count_ones());
    let bit8 = u64::from(code >> 8 & 1);
    Cost::Cycles(match code >> 11 {
        // Shifts, add, subtract, move, compare with immediates.
        0b00000..=0b00111 => 1,
        0b01000 => return register_operation(table, code),
        // Literal loads, then loads and stores by register, immediate and SP offset.
        0b01001..=0b10011 => 2,
        // ADR and ADD from SP.
        0b10100 | 0b10101 => 1,
        0b10110 | 0b10111 => match code >> 8 {
            0b1011_0000 | 0b1011_0010 | 0b1011_1010 => 1,
            0b1011_0100 | 0b1011_0101 => 1 + low_list() + bit8,
            0b1011_0110 => 1,
            0b1011_1100 => 1 + low_list(),
            0b1011_1101 => table.pop_pc + low_list() + 1,
            0b1011_1110 => return Cost::NoFigure,
            // Hints: WFE (2) and WFI (3) take two cycles and the time asleep.
            0b1011_1111 => 1 + u64::from(matches!(code >> 4 & 15, 2 | 3)),
            _ => return Cost::NoInstruction,
        },
        0b11000 | 0b11001 => 1 + low_list(),
        0b11010 | 0b11011 => match code >> 8 & 15 {
            14 | 15 => return Cost::NoFigure,
            condition if passes(condition, xpsr) => table.branch,
            _ => 1,
        },
        0b11100 => table.branch,
        0b11110 => return wide(table, code, second),
        _ => return Cost::NoInstruction,
    })
}

/// Data processing of two registers, then ADD, CMP, MOV of any register, BX and BLX.
fn register_operation(table: &Table, code: u16) -> Cost {
    let to_pc = code & 0x87 == 0x87;
    Cost::Cycles(match code >> 8 & 7 {
        3 if code >> 6 & 3 == 1 => table.multiply,
        0..=3 => 1,
        // CMP has no destination.
        5 => 1,
        4 | 6 if to_pc => table.branch,
        4 | 6 => 1,
        _ => table.branch,
    })
}

/// The 32-bit instructions: BL, MSR, MRS, the barriers, and the permanently undefined one (A5.3).
fn wide(table: &Table, first: u16, second: Option<u16>) -> Cost {
    let Some(second) = second else { return Cost::NoInstruction };
    match (second >> 12, first >> 4) {
        (0b1101 | 0b1111, _) => Cost::Cycles(table.branch_with_link),
        (0b1000, 0xf38 | 0xf3b | 0xf3e) => Cost::Cycles(table.special),
        (0b1010, 0xf7f) => Cost::NoFigure,
        _ => Cost::NoInstruction,
    }
}

/// Whether a condition holds (A6.3.1).
fn passes(condition: u16, xpsr: u32) -> bool {
    let flag = |bit: u32| xpsr >> bit & 1 == 1;
    let (n, z, c, v) = (flag(31), flag(30), flag(29), flag(28));
    let base = match condition >> 1 {
        0 => z,
        1 => c,
        2 => n,
        3 => v,
        4 => c && !z,
        5 => n == v,
        _ => n == v && !z,
    };
    base != (condition & 1 == 1)
}
