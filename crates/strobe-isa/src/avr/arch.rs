//! Which instructions a part has, and how wide its program counter is: both follow from the core
//! and the size of its flash.

/// Which core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CoreKind {
    /// AVRe: without multiplication (most ATtiny).
    Avre,
    /// AVRe+: with multiplication (ATmega).
    AvrePlus,
}

impl CoreKind {
    /// The name as Microchip writes it.
    pub fn name(self) -> &'static str {
        match self {
            CoreKind::Avre => "AVRe",
            CoreKind::AvrePlus => "AVRe+",
        }
    }
}

/// What a core can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Architecture {
    /// MUL and its family.
    pub multiplies: bool,
    /// JMP and CALL; RJMP reaches all of a smaller flash.
    pub long_jumps: bool,
    /// ELPM and RAMPZ: the flash is larger than Z reaches.
    pub extended_loads: bool,
    /// EIJMP, EICALL and EIND: the program counter has 22 bits and takes three bytes of stack.
    pub extended_jumps: bool,
    /// What program addresses in bytes are taken modulo: the flash's size less one.
    pub pc_mask: u32,
}

impl Architecture {
    /// Every instruction there is, and no end of flash: for code whose part is not known.
    pub const ALL: Architecture = Architecture {
        multiplies: true,
        long_jumps: true,
        extended_loads: true,
        extended_jumps: true,
        pc_mask: u32::MAX,
    };

    /// What a core with this much flash can do; the size is a power of two.
    pub fn new(kind: CoreKind, flash_bytes: u32) -> Self {
        Architecture {
            multiplies: kind == CoreKind::AvrePlus,
            long_jumps: flash_bytes > 8 << 10,
            extended_loads: flash_bytes > 64 << 10,
            extended_jumps: flash_bytes > 128 << 10,
            pc_mask: flash_bytes.wrapping_sub(1),
        }
    }

    /// Bytes of a return address on the stack.
    pub fn pc_bytes(self) -> u16 {
        if self.extended_jumps { 3 } else { 2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::avr::{Insn, decode};

    #[test]
    fn all_parts_have_no_more_than_all() {
        for kind in [CoreKind::Avre, CoreKind::AvrePlus] {
            for flash in [2 << 10, 32 << 10, 128 << 10, 256 << 10] {
                let part = Architecture::new(kind, flash);
                // Targets that wrap around a part's flash are beside the point.
                let part = Architecture { pc_mask: u32::MAX, ..part };
                for first in 0..=u16::MAX {
                    let (insn, size) = decode(part, 0x100, first, 0x0080);
                    let (other, other_size) = decode(Architecture::ALL, 0x100, first, 0x0080);
                    // Without RAMPZ and EIND, what is at their addresses is another register.
                    let is_port = matches!(insn, Insn::In { .. } | Insn::Out { .. });
                    let is_invalid = matches!(insn, Insn::Invalid { .. });
                    assert!(insn == other || is_port || is_invalid, "{first:04x}: {insn:?}");
                    assert_eq!(size, other_size, "{first:04x}");
                }
            }
        }
    }
}
