//! What ends a run: on AVR nothing but an opcode that is none.

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The word at the program counter is not an instruction of this core.
    InvalidOpcode {
        /// The word.
        opcode: u16,
    },
}

/// A fault with the state of the core at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultReport {
    /// What happened.
    pub fault: Fault,
    /// Address of the instruction.
    pub pc: u32,
    /// Cycles since reset.
    pub cycle: u64,
    /// R0 to R31.
    pub registers: [u8; 32],
    /// Status register.
    pub sreg: u8,
    /// Stack pointer, as a data address.
    pub sp: u16,
}

impl FaultReport {
    /// What happened, in words.
    pub fn text(&self) -> String {
        let Fault::InvalidOpcode { opcode } = self.fault;
        let what = match opcode {
            0xffff => "erased flash, 0xffff".to_owned(),
            opcode => format!("{opcode:#06x}"),
        };
        format!("the word at {:#07x} is not an instruction of this core: {what}", self.pc)
    }
}
