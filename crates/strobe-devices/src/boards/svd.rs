//! CMSIS-SVD files: what a chip's registers are called, what they hold at reset and which cannot be
//! written.
//!
//! An SVD file does not describe behaviour, so a register that is known only from one stays
//! unmodelled: it has a name, a reset value and, by the names of its bits, perhaps a ready flag
//! ([`mod@ready`]). The file is input from outside: how much it may make of itself is bounded, and
//! what is wrong with it is said with its position.
//!
//! The ready-made parser for this format (`svd-parser`) trusts its input: an index range or a bit
//! range with large numbers, or clusters deep in each other, bring it down. So this reads the few
//! elements that matter from the XML tree.

mod expand;
mod fields;
mod read;
pub mod ready;
#[cfg(test)]
mod tests;
mod xml;

use std::collections::BTreeMap;
use std::sync::Arc;

use strobe_sim::kernel::unmodelled::Description;
pub use strobe_sim::kernel::unmodelled::Peripheral;

/// A chip as its SVD file describes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Svd {
    /// The chip's name.
    pub device: String,
    /// Its core, if the file states it.
    pub cpu: Option<Cpu>,
    /// What the simulation uses of it.
    pub(crate) description: Arc<Description>,
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

impl Cpu {
    /// Whether it has another instruction set than all that can be simulated: the files of
    /// RISC-V, of Xtensa and of Arm's application processors name their cores so.
    pub fn is_foreign(&self) -> bool {
        let name = self.name.to_ascii_lowercase();
        ["rv", "xtensa", "ca"].iter().any(|start| name.starts_with(start))
    }
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

    /// Peripherals, by address.
    pub fn peripherals(&self) -> &[Peripheral] {
        &self.description.peripherals
    }

    /// Peripherals by interrupt number.
    pub fn interrupts(&self) -> &BTreeMap<u16, String> {
        &self.description.interrupts
    }

    /// How many words of register space it describes.
    pub fn registers(&self) -> usize {
        self.description.known.len()
    }
}
