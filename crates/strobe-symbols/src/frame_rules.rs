//! The call frame information of a function as depths of its stack, for checks of what is worked
//! out from machine code. Walking a stack is `unwind.rs`.

use std::ops::Range;

use gimli::{BaseAddresses, CfaRule, UnwindContext, UnwindSection as _};

use crate::firmware::Firmware;
use crate::image::Machine;

/// Rows that are read of one function; a compiler writes one for each push.
const MOST_ROWS: usize = 4096;

/// `EF_AVR_MACH` (GNU binutils, `include/elf/avr.h`): the architecture in an AVR file's `e_flags`.
const AVR_MACH: u8 = 0x7f;
/// Architectures whose program counter has three bytes: avr6, and the XMEGAs with more than 128
/// KiB of flash (`avrxmega6`, `avrxmega7`).
const AVR_WIDE: [u8; 3] = [6, 106, 107];

/// Where the canonical frame address is, for a range of instructions (DWARF 5, 6.4.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameRow {
    /// Addresses of instructions.
    pub range: Range<u64>,
    /// The register that it is counted from, as DWARF numbers them: 13 is Arm's stack pointer, 32
    /// AVR's.
    pub register: u16,
    /// Bytes from the register's value.
    pub offset: i64,
}

impl Firmware {
    /// The rows of the call frame information that covers an address; empty without any. Rows with
    /// rules that are no register and offset are left out.
    pub fn frame_rows(&self, address: u32) -> Vec<FrameRow> {
        self.read_frame_rows(address).unwrap_or_default()
    }

    fn read_frame_rows(&self, address: u32) -> Option<Vec<FrameRow>> {
        let entry = self.cfi.find(address)?;
        let section = self.cfi.frames(&self.bytes);
        let bases = BaseAddresses::default();
        let fde = section.fde_from_offset(&bases, entry.into(), |section, bases, offset| {
            section.cie_from_offset(bases, offset)
        });
        let fde = fde.ok()?;
        let mut context: UnwindContext<usize> = UnwindContext::new();
        let mut table = fde.rows(&section, &bases, &mut context).ok()?;
        let mut rows = Vec::new();
        while let Ok(Some(row)) = table.next_row() {
            if let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() {
                let range = row.start_address()..row.end_address();
                rows.push(FrameRow { range, register: register.0, offset });
            }
            if rows.len() == MOST_ROWS {
                break;
            }
        }
        Some(rows)
    }

    /// Bytes that a call puts on the stack by itself: none on Arm, a return address of two or three
    /// bytes on AVR.
    pub fn return_address_bytes(&self) -> u32 {
        match self.machine() {
            Machine::Arm => 0,
            // `e_flags` is at offset 36 of a 32-bit header.
            Machine::Avr => match self.bytes.get(36) {
                Some(flags) if AVR_WIDE.contains(&(flags & AVR_MACH)) => 3,
                _ => 2,
            },
        }
    }
}
