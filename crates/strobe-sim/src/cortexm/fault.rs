//! What goes wrong in a core: faults, and what is kept of the moment for the report.

use super::cpu::Cpu;

/// Why an instruction could not complete; all end in HardFault on ARMv6-M (B1.5.6), and on ARMv7-M while
/// the handlers of their own are not enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A load or store whose address is not a multiple of its size. ARMv6-M faults on each, ARMv7-M on
    /// those of several registers, exclusive ones, and all if CCR.UNALIGN_TRP says so.
    #[error("unaligned access to {address:#010x}, where the processor does not allow one")]
    Unaligned {
        /// The address.
        address: u32,
    },
    /// No memory or device answers at the address.
    #[error("bus fault: nothing answers at {address:#010x}")]
    Bus {
        /// The address.
        address: u32,
    },
    /// SDIV or UDIV by zero, which CCR.DIV_0_TRP traps.
    #[error("division by zero")]
    DivideByZero,
    /// An instruction of a coprocessor that is not there or not enabled.
    #[error("coprocessor instruction, but there is none or CPACR does not enable it")]
    NoCoprocessor,
    /// The processor has no such instruction.
    #[error("undefined instruction")]
    Undefined,
    /// A jump to an address with bit 0 clear left Thumb state.
    #[error("jump to an address without the Thumb bit (bit 0)")]
    NotThumb,
    /// The program counter left all memory.
    #[error("no code: nothing can be fetched at {address:#010x}")]
    Fetch {
        /// The address.
        address: u32,
    },
    /// BKPT without a debugger.
    #[error("BKPT #{imm} without a debugger")]
    Breakpoint {
        /// The instruction's number.
        imm: u8,
    },
    /// SVC while its priority could not be taken.
    #[error("SVC at or above SVCall's priority (PRIMASK set, or in a handler of that priority)")]
    SvcMasked,
    /// An exception return with a bad EXC_RETURN value or stacked frame.
    #[error("invalid exception return ({value:#010x})")]
    BadReturn {
        /// The value branched to.
        value: u32,
    },
}

/// The moment of a HardFault or lockup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultReport {
    /// What happened.
    pub fault: Fault,
    /// Address of the instruction at fault.
    pub pc: u32,
    /// R0-R15 at that moment (R15 = `pc`).
    pub registers: [u32; 16],
    /// xPSR at that moment.
    pub xpsr: u32,
    /// Main and process stack pointers.
    pub msp: u32,
    /// Process stack pointer.
    pub psp: u32,
    /// Where the eight-word frame was stacked, if it could be.
    pub frame: Option<u32>,
    /// Cycles since reset.
    pub cycle: u64,
}

impl FaultReport {
    pub(crate) fn new(fault: Fault, cpu: &Cpu, pc: u32, cycle: u64) -> Self {
        let mut registers = cpu.registers();
        registers[15] = pc;
        FaultReport {
            fault,
            pc,
            registers,
            xpsr: cpu.xpsr(),
            msp: cpu.msp(),
            psp: cpu.psp(),
            frame: None,
            cycle,
        }
    }
}
