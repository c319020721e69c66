//! What goes wrong in a core: faults, and what is kept of the moment for the report.

use super::cpu::Cpu;
use super::fault_status::FaultStatus;
use super::mpu::Purpose;
use super::system::number;
use crate::kernel::device::Size;

/// Why an instruction could not complete; all end in HardFault on ARMv6-M (B1.5.6), and on ARMv7-M
/// while the handlers of their own are not enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A load or store whose address is not a multiple of its size. ARMv6-M faults on each, ARMv7-M
    /// on those of several registers, exclusive ones, and all if CCR.UNALIGN_TRP is set.
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
    /// The memory protection unit or the memory map does not allow the access (ARMv7-M).
    #[error(
        "{} {address:#010x} is not allowed by the {}",
        of_purpose(*purpose),
        denied_by(*purpose)
    )]
    Protected {
        /// The address.
        address: u32,
        /// What the access was for.
        purpose: Purpose,
    },
    /// Code without privilege used a register that is for privileged code (ARMv7-M).
    #[error("system register {address:#010x} accessed by unprivileged code")]
    Unprivileged {
        /// The register.
        address: u32,
    },
    /// A store that the write buffer had let finish, to where nothing answers (ARMv7-M).
    #[error(
        "imprecise bus fault: nothing answers the store to {address:#010x} by the instruction at \
         {pc:#010x}, which had been let go on"
    )]
    LostStore {
        /// The address stored to.
        address: u32,
        /// The instruction that stored.
        pc: u32,
    },
    /// Registers could not be saved for an exception, or restored, or a vector not be read
    /// (ARMv7-M).
    #[error(
        "{step}: {}{address:#010x}",
        if *protected { "no permission at " } else { "nothing answers at " }
    )]
    Exception {
        /// On which way.
        step: ExceptionStep,
        /// Where.
        address: u32,
        /// Something answers there, but may not be accessed.
        protected: bool,
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

fn of_purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Fetch => "instruction fetch from",
        Purpose::Load => "load from",
        Purpose::Store => "store to",
    }
}

/// Execution is also forbidden without a unit, where devices are.
fn denied_by(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Fetch => "memory map or the memory protection unit",
        _ => "memory protection unit",
    }
}

/// What the core does by itself around a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ExceptionStep {
    /// Stacking registers on the way in.
    #[error("stacking registers for an exception failed")]
    Stacking,
    /// Unstacking them on the way out.
    #[error("unstacking registers at the end of an exception failed")]
    Unstacking,
    /// Saving the floating-point registers late, when a handler uses them.
    #[error("the lazy save of the floating-point registers failed")]
    LazySave,
    /// Reading the vector.
    #[error("reading the exception vector failed")]
    Vector,
}

impl Fault {
    /// Whether it happened instead of an instruction, which so did not retire.
    pub(crate) fn replaces_an_instruction(self) -> bool {
        !matches!(
            self,
            Fault::Breakpoint { .. }
                | Fault::SvcMasked
                | Fault::BadReturn { .. }
                | Fault::LostStore { .. }
                | Fault::Exception { .. }
        )
    }
}

/// A data access that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultAccess {
    /// The address.
    pub address: u32,
    /// Its width.
    pub size: Size,
    /// A store.
    pub write: bool,
}

/// A fault that one of the firmware's own handlers was started for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandledFault {
    /// The first of its kind at its place.
    pub report: FaultReport,
    /// How often it happened there.
    pub count: u64,
}

/// The moment of a fault.
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
    /// The exception that was taken for it.
    pub exception: u16,
    /// The data access at fault, where it is one.
    pub access: Option<FaultAccess>,
    /// The fault status registers, where the core has them.
    pub status: Option<FaultStatus>,
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
            exception: number::HARD_FAULT,
            access: None,
            status: None,
        }
    }

    /// What happened, in a sentence.
    pub fn text(&self) -> String {
        let kind = match self.fault {
            Fault::Bus { .. } => "precise bus fault",
            Fault::LostStore { .. } => "imprecise bus fault",
            fault => return fault.to_string(),
        };
        let Some(access) = self.access.filter(|_| self.status.is_some()) else {
            return self.fault.to_string();
        };
        let (direction, way) = if access.write { ("store", "to") } else { ("load", "from") };
        let (bytes, address) = (access.size.bytes(), access.address);
        let plural = if bytes == 1 { "" } else { "s" };
        format!(
            "{kind}: {direction} of {bytes} byte{plural} {way} {address:#010x}, where nothing \
             answers"
        )
    }
}
