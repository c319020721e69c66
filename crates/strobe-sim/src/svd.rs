//! CMSIS-SVD files: what a chip's registers are called, what they hold at reset and which cannot be written.
//!
//! An SVD file tells nothing of behaviour, so a register that is known only from one stays unmodelled: it has a
//! name, a reset value and, by the names of its bits, perhaps a ready flag ([`mod@ready`]). The file is input from
//! outside: how much it may make of itself is bounded, and what is wrong with it is said with its position.
//!
//! The ready-made parser for this format (`svd-parser`) trusts its input: an index range or a bit range with large
//! numbers, or clusters deep in each other, bring it down. So this reads the few elements that matter from
//! the XML tree.

mod expand;
mod fields;
mod read;
pub mod ready;
#[cfg(test)]
mod tests;
mod xml;

use std::collections::BTreeMap;

use crate::unmodelled::{Known, ReadyRule};

/// A chip as its SVD file describes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Svd {
    /// The chip's name.
    pub device: String,
    /// Its core, if the file says.
    pub cpu: Option<Cpu>,
    /// Peripherals, by address.
    pub peripherals: Vec<Peripheral>,
    /// Peripherals by interrupt number.
    pub interrupts: BTreeMap<u16, String>,
    /// What is known of each word of register space.
    pub(crate) known: BTreeMap<u32, Known>,
    /// Ready flags, by the names of their bits.
    pub(crate) rules: Vec<ReadyRule>,
}

/// The core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    /// As the file has it: `CM4`.
    pub name: String,
    /// Whether it has a floating-point unit.
    pub fpu: bool,
    /// Priority bits of its interrupt controller.
    pub priority_bits: Option<u8>,
}

/// A peripheral's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peripheral {
    /// Name.
    pub name: String,
    /// First address.
    pub base: u32,
    /// Bytes, at least up to its last register.
    pub size: u32,
}

/// What is wrong with an SVD file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("SVD file: {problem} at line {line}, column {column}")]
pub struct SvdError {
    /// What, with the element's name.
    pub problem: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl Svd {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(text: &str) -> Result<Svd, SvdError> {
        read::read(text)
    }

    /// The peripheral at an address.
    pub fn peripheral_at(&self, address: u32) -> Option<&Peripheral> {
        let behind = self.peripherals.partition_point(|p| p.base <= address);
        let found = self.peripherals[..behind].iter().rev();
        // A larger block may begin before a smaller one inside it; nobody nests deeper than that.
        found.take(4).find(|p| address - p.base < p.size)
    }

    /// How many words of register space it describes.
    pub fn registers(&self) -> usize {
        self.known.len()
    }
}
