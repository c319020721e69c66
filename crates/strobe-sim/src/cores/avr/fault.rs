//! What ends a run: on AVR nothing but an opcode that is none.

use super::{Architecture, CoreKind};
use strobe_isa::avr::decode::decode;
use strobe_isa::avr::insn::Insn;

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
        let (what, why) = match opcode {
            0xffff => (
                "erased flash, 0xffff".to_owned(),
                "the flow has left the program: a wild jump, a return to what overwrote the stack, \
                 or a function without an end",
            ),
            opcode if is_of_other_cores(opcode) => (
                format!("{opcode:#06x}, which larger AVRs have"),
                "is the firmware built for this part (-mmcu)?",
            ),
            opcode => (format!("{opcode:#06x}"), "data that is run, or a damaged image"),
        };
        format!("the word at {:#07x} is not an instruction of this core: {what}; {why}", self.pc)
    }
}

/// Whether the largest AVR of these families has such an instruction.
fn is_of_other_cores(opcode: u16) -> bool {
    let largest = Architecture::new(CoreKind::AvrePlus, 256 << 10);
    !matches!(decode(largest, 0, opcode, 0).0, Insn::Invalid { .. })
}
