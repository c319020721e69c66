//! The instruction sets, and what compilers, linkers and cores of each agree on.
//!
//! Analyses that need such a fact ask here and not for an instruction set by name. Those that
//! follow code (call graphs, references, waits, `cycles`) have an entry for each set.

use std::ops::{Range, RangeInclusive};

/// An instruction set, as an ELF file's machine number names it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Machine {
    /// 32-bit Arm (`EM_ARM`), little-endian.
    // Intel HEX files state none, and most are Arm's.
    #[default]
    Arm,
    /// 8-bit AVR (`EM_AVR`): code from address 0, the data space from 0x800000.
    Avr,
}

/// What programs for an instruction set have in common. Registers are numbered as in DWARF.
#[derive(Debug)]
pub struct Conventions {
    /// Its name in reports.
    pub name: &'static str,
    /// The stack pointer.
    pub stack_pointer: u8,
    /// Registers that hold addresses of a function's own frame.
    pub frame_registers: &'static [u8],
    /// Registers that arguments are passed in.
    pub arguments: RangeInclusive<u8>,
    /// Registers of results of up to 64 bits.
    pub results: RangeInclusive<u8>,
    /// Registers of results of up to 32 bits, as most are.
    pub short_results: RangeInclusive<u8>,
    /// Registers that a call need not preserve.
    pub clobbered: &'static [RangeInclusive<u8>],
    /// A call puts its return address on the stack, and a return takes it off.
    pub pushes_return_address: bool,
    /// Where the data space begins in addresses of the tool chain.
    pub data_space: u32,
    /// The bits of a pointer to data.
    pub data_mask: u32,
    /// Bytes of a pointer.
    pub pointer_bytes: u32,
    /// Addresses of the data space, as pointers have them, that are memory and no device.
    pub memory: Range<u32>,
    /// Kinds of memory by address in the tool chain's numbering, where the architecture defines
    /// them.
    pub spaces: &'static [(Range<u64>, Space)],
    /// What other addresses are, as long as nothing shows that they are RAM.
    pub elsewhere: Space,
    /// What lies directly below RAM, for a stack that grows into it.
    pub below_ram: Option<&'static str>,
    /// Handlers may interrupt handlers without enabling interrupts themselves.
    pub handlers_nest: bool,
    /// The vector table consists of jumps, the first of which is reset.
    pub vectors_are_jumps: bool,
    /// Firmware can end a run by asking a debugger (semihosting).
    pub asks_debugger: bool,
    /// Fuses and lock bits are in the image, for the programmer.
    pub has_fuses: bool,
    /// Symbols keep the sizes that functions had before the linker relaxed them.
    pub has_stale_sizes: bool,
    /// The stack pointer is in memory that one thread alone uses, so that its depth is known to the
    /// byte.
    pub stack_is_followed: bool,
    /// The reason in reports for a run that ends in a lockup.
    pub lockup: &'static str,
}

/// What memory is at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// Keeps its content without power; programs are stored here.
    Flash,
    /// Working memory.
    Ram,
    /// EEPROM, fuses and the like, stored apart from the program.
    Other,
}

impl Machine {
    /// What programs for it have in common.
    pub fn conventions(self) -> &'static Conventions {
        match self {
            Machine::Arm => &crate::thumb::CONVENTIONS,
            Machine::Avr => &crate::avr::CONVENTIONS,
        }
    }
}

impl Conventions {
    /// Whether a call need not preserve a register.
    pub fn is_clobbered(&self, register: u8) -> bool {
        self.clobbered.iter().any(|range| range.contains(&register))
    }

    /// What memory is at an address, where the architecture defines it.
    pub fn space(&self, address: u64) -> Option<Space> {
        let known = self.spaces.iter().find(|(range, _)| range.contains(&address));
        known.map(|(_, space)| *space)
    }
}
