//! From which vector table a firmware starts: the one where the board's core looks for it at reset,
//! or, of an image that is linked behind a bootloader, its own.

use strobe_devices::board::Board;
use strobe_model::measurement::Finding;
use strobe_sim::bus::Bus;
use strobe_sim::device::Size;
use strobe_sim::memory::BusFault;
use strobe_symbols::{Firmware, VectorTable};

/// Where an AVR's data space begins in ELF files.
const DATA: u32 = 0x80_0000;

/// Problem of a vector table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VectorsError {
    /// No memory at the table's address.
    #[error("no vector table: nothing is at {at:#010x}, where board {board} starts")]
    Missing {
        /// Address of the table.
        at: u32,
        /// Board name.
        board: String,
    },
    /// The core could not read it at reset.
    #[error("no vector table: {0}")]
    Unreadable(BusFault),
    /// Erased flash.
    #[error("no usable vector table at {at:#010x}: the flash is blank there")]
    Blank {
        /// Address of the table.
        at: u32,
    },
    /// The initial stack pointer is outside RAM.
    #[error(
        "no usable vector table at {at:#010x}: the initial stack pointer {value:#010x} is not in \
         RAM"
    )]
    StackPointer {
        /// Address of the table.
        at: u32,
        /// The stack pointer.
        value: u32,
    },
    /// The reset vector is even.
    #[error(
        "no usable vector table at {at:#010x}: the reset vector {value:#010x} lacks the Thumb bit \
         (bit 0)"
    )]
    NoThumbBit {
        /// Address of the table.
        at: u32,
        /// The reset vector.
        value: u32,
    },
    /// The reset vector is outside all memories.
    #[error(
        "no usable vector table at {at:#010x}: the reset vector {value:#010x} points to no memory"
    )]
    NoMemory {
        /// Address of the table.
        at: u32,
        /// The reset vector.
        value: u32,
    },
}

/// How a firmware starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Start {
    /// As the chip does at reset.
    Reset,
    /// From a vector table that a bootloader hands over to.
    Behind(VectorTable),
    /// An AVR, from its boot section: nothing is programmed below.
    BootSection(u32),
}

impl Start {
    /// What a reader should know of it.
    pub(super) fn warning(&self, board: &Board, bus: &Bus) -> Option<Finding> {
        let table = match self {
            Start::Reset => return None,
            Start::Behind(table) => table,
            Start::BootSection(address) => {
                let text = format!(
                    "the firmware begins at {address:#06x}, and nothing is programmed below: the \
                     run starts there, as the fuse BOOTRST has it; interrupts go to the vectors at \
                     0 all the same (IVSEL is not modelled)"
                );
                return Some(Finding::warning("boot-section", text));
            }
        };
        let core = board.arm_core()?;
        if bus.memory_at(table.address.wrapping_sub(1)).is_none() {
            // Nobody is in front of it: --memory gave a memory that the core does not start from.
            let exceptions = match core.vtor_mask {
                0 => "exceptions are taken from there",
                _ => "VTOR was set to it",
            };
            let text = format!(
                "the firmware's vector table is at {:#010x} ({}), where a memory begins, and board \
                 {} starts at {:#010x}: the run starts from the table with the stack pointer \
                 {:#010x}, and {exceptions}",
                table.address,
                table.found_by,
                board.name(),
                core.vectors,
                table.stack
            );
            return Some(Finding::warning("own-vectors", text));
        }
        let exceptions = match core.vtor_mask {
            0 => "exceptions are taken from there, as if the bootloader passed them on",
            _ => "VTOR was set to it",
        };
        let text = format!(
            "the firmware is linked behind a bootloader, which the file does not have: its vector \
             table \
             is at {:#010x} ({}); the run starts there with the stack pointer {:#010x}, \
             {exceptions}, and what \
             else the bootloader does (clocks, peripherals, its time) is missing",
            table.address, table.found_by, table.stack
        );
        Some(Finding::warning("behind-bootloader", text))
    }
}

/// How the firmware on this bus starts.
///
/// # Errors
/// What is wrong with the vector table where the board starts, if there is no other.
pub(super) fn start(firmware: &Firmware, board: &Board, bus: &Bus) -> Result<Start, VectorsError> {
    let Some(core) = board.arm_core() else {
        return Ok(boot_section(firmware).map_or(Start::Reset, Start::BootSection));
    };
    let Err(problem) = check(bus, core.vectors, board) else { return Ok(Start::Reset) };
    let own = firmware.vector_table();
    match own.map(|own| (check(bus, own.address, board), own)) {
        Some((Ok(()), own)) => Ok(Start::Behind(own)),
        // Where nothing is programmed, what is wrong with the firmware's own table is of more use.
        Some((Err(own), _)) if bus.peek(core.vectors, Size::Word) == Some(u32::MAX) => Err(own),
        _ => Err(problem),
    }
}

/// Where an AVR's firmware begins, if that is not where the core starts.
fn boot_section(firmware: &Firmware) -> Option<u32> {
    let loaded = firmware.segments().iter().filter(|segment| !segment.data().is_empty());
    let lowest = loaded.map(|segment| segment.load_address.0).min()?;
    (0 < lowest && lowest < DATA && lowest.is_multiple_of(2)).then_some(lowest)
}

/// The initial stack pointer and the reset vector must make sense, or nothing that follows does.
fn check(bus: &Bus, at: u32, board: &Board) -> Result<(), VectorsError> {
    let word = |offset| bus.peek(at.wrapping_add(offset), Size::Word);
    let (Some(sp), Some(reset)) = (word(0), word(4)) else {
        return Err(VectorsError::Missing { at, board: board.name().to_owned() });
    };
    if sp == u32::MAX && reset == u32::MAX {
        return Err(VectorsError::Blank { at });
    }
    // A full descending stack may start just above RAM.
    if bus.memory_at(sp.wrapping_sub(4)).is_none_or(|m| !m.writable) {
        return Err(VectorsError::StackPointer { at, value: sp });
    }
    if reset & 1 == 0 {
        return Err(VectorsError::NoThumbBit { at, value: reset });
    }
    if bus.memory_at(reset).is_none() {
        return Err(VectorsError::NoMemory { at, value: reset });
    }
    Ok(())
}
