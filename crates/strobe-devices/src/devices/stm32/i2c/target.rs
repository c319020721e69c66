//! What answers on the two wires: simple register files, as sensors and memories show themselves.
//!
//! The first byte of a write is the register's number, further ones go there and on; a read begins
//! where the last access has left off. A target acknowledges everything.

use serde::Deserialize;

use strobe_sim::kernel::device::OptionError;

/// Registers a target may have: their number is one byte.
const MAX_REGISTERS: usize = 256;

/// A target as a board file describes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Target {
    /// Its address, seven bits.
    address: u8,
    /// What its registers hold at first; as many as there are.
    registers: Vec<u8>,
    #[serde(skip)]
    at: usize,
    /// The next byte is a register's number.
    #[serde(skip)]
    addressed: bool,
}

impl Target {
    /// Whether such a target can be.
    pub(super) fn check(&self) -> Result<(), OptionError> {
        if self.address > 0x7f {
            let problem = format!("{:#x} is no address of seven bits", self.address);
            return Err(OptionError::invalid("targets", problem));
        }
        if self.registers.is_empty() || self.registers.len() > MAX_REGISTERS {
            let problem = format!("{:#x} needs 1 to {MAX_REGISTERS} registers", self.address);
            return Err(OptionError::invalid("targets", problem));
        }
        Ok(())
    }

    /// The address byte has passed: whether it is this target's.
    pub(super) fn select(&mut self, byte: u8) -> bool {
        let mine = byte >> 1 == self.address;
        self.addressed |= mine && byte & 1 == 0;
        mine
    }

    /// The controller has written a byte.
    pub(super) fn write(&mut self, byte: u8) {
        if std::mem::take(&mut self.addressed) {
            self.at = usize::from(byte) % self.registers.len();
            return;
        }
        self.registers[self.at] = byte;
        self.advance();
    }

    /// The controller reads a byte.
    pub(super) fn read(&mut self) -> u8 {
        self.addressed = false;
        let byte = self.registers[self.at];
        self.advance();
        byte
    }

    fn advance(&mut self) {
        self.at = (self.at + 1) % self.registers.len();
    }
}
