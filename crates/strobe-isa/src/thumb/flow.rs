//! Where control goes after an instruction.

use super::insn::{Insn, Reg};

/// Where control goes after an instruction. Exceptions aside: SVC and BKPT come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To the next one or there.
    Branch(u32),
    /// There.
    Jump(u32),
    /// There, and back behind the instruction.
    Call(u32),
    /// To where a register leads, and back behind the instruction (BLX).
    CallRegister(Reg),
    /// To where a register leads (BX, MOV to PC).
    JumpRegister(Reg),
    /// To a constant and a register (ADD to PC).
    JumpSum {
        /// The constant, an address.
        base: u32,
        /// The register.
        register: Reg,
    },
    /// By an entry of a table: twice the entry behind the instruction (TBB, TBH).
    Table {
        /// Where the table is; 15 where it is behind the instruction.
        base: Reg,
        /// The number of the entry.
        index: Reg,
        /// Entries are halfwords.
        half: bool,
    },
    /// To where a loaded word leads: [`Insn::access`] has the program counter among its registers.
    Load,
    /// Nowhere: it is undefined.
    Stop,
}

impl Insn {
    /// Where control goes after it.
    pub fn flow(self) -> Flow {
        use Insn::*;
        match self {
            B { target } => Flow::Jump(target),
            BCond { target, .. } | Cbz { target, .. } => Flow::Branch(target),
            Bl { target } => Flow::Call(target),
            Blx { m } => Flow::CallRegister(m),
            Bx { m } | MovPc { m } => Flow::JumpRegister(m),
            AddPc { m, value } => Flow::JumpSum { base: value, register: m },
            TableBranch { n, m, half } => Flow::Table { base: n, index: m, half },
            PopPc { .. } | LoadPc { .. } | LoadPcReg { .. } | LoadPcAt { .. } => Flow::Load,
            LoadMultiplePc { .. } => Flow::Load,
            Undefined | NoCoprocessor => Flow::Stop,
            _ => Flow::Next,
        }
    }
}
