//! Boards as data: a TOML file states which memories, devices, wires and timings make up a board.
//!
//! A board that recombines existing device models is a new file and no Rust. The format is
//! documented by the types in [`mod@file`]; the files that come with the project are in this
//! crate's `boards/`.

use std::sync::Arc;

use crate::boards::svd::Svd;
use strobe_sim::cores::arm::CoreOptions;
use strobe_sim::cores::arm::timing::Timing;
use strobe_sim::kernel::bus::Bus;
use strobe_sim::kernel::device::OptionError;
use strobe_sim::kernel::flash::FlashCaches;

mod avr;
mod build;
mod check;
mod chip;
pub mod file;
mod inherit;
mod placeholder;
mod resize;
pub mod svd;

pub use chip::{Chip, Region};
pub use file::{AcceleratorEntry, FlashEntry, Kind, PartEntry};
pub use placeholder::from_svd;

/// A board description, parsed and checked.
#[derive(Debug, Clone)]
pub struct Board {
    file: file::File,
    /// What its chip's registers are called, if an SVD file was given.
    svd: Option<Arc<Svd>>,
}

/// Which AVR parts a board is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AvrParts<'a> {
    /// The architecture that avr-gcc builds for them, by its number in ELF files.
    pub architecture: Option<u8>,
    /// Parts of the same registers, vectors and memories, the board's own first.
    pub same: &'a [String],
    /// Parts of the same registers and vectors, but other memories.
    pub alike: &'a [String],
}

/// What is wrong with a board file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BoardError {
    /// Not TOML, an unknown key, a missing key or a value of the wrong type; the text gives the
    /// line.
    #[error("{0}")]
    Syntax(String),
    /// A value that cannot be.
    #[error("{key}: {problem}")]
    Value {
        /// Where, as `device USART1: irq`.
        key: String,
        /// What is wrong and what is allowed.
        problem: Problem,
    },
    /// No board of that name comes with the project.
    #[error("no built-in board `{name}`; there are {known}, or give the path of a board file")]
    UnknownBuiltin {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
}

/// Problem of a value in a board file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A key of the board itself; the text gives the allowed values.
    #[error("{0}")]
    Value(String),
    /// The options of a device or a part.
    #[error(transparent)]
    Option(#[from] OptionError),
}

impl From<String> for Problem {
    fn from(text: String) -> Self {
        Problem::Value(text)
    }
}

impl From<&str> for Problem {
    fn from(text: &str) -> Self {
        Problem::Value(text.to_owned())
    }
}

impl BoardError {
    fn value(key: impl Into<String>, problem: impl Into<Problem>) -> Self {
        BoardError::Value { key: key.into(), problem: problem.into() }
    }
}

/// The boards that come with the project, by name.
const BUILTIN: &[(&str, &str)] = &[
    ("arduino-mega", include_str!("../boards/arduino-mega.toml")),
    ("arduino-uno", include_str!("../boards/arduino-uno.toml")),
    ("atmega16u2", include_str!("../boards/atmega16u2.toml")),
    ("attiny85", include_str!("../boards/attiny85.toml")),
    ("cortex-m0", include_str!("../boards/cortex-m0.toml")),
    ("cortex-m0plus", include_str!("../boards/cortex-m0plus.toml")),
    ("cortex-m3", include_str!("../boards/cortex-m3.toml")),
    ("cortex-m4", include_str!("../boards/cortex-m4.toml")),
    ("cortex-m4f", include_str!("../boards/cortex-m4f.toml")),
    ("lm3s6965evb", include_str!("../boards/lm3s6965evb.toml")),
    ("mps2-an385", include_str!("../boards/mps2-an385.toml")),
    ("mps2-an386", include_str!("../boards/mps2-an386.toml")),
    ("stm32f070cb", include_str!("../boards/stm32f070cb.toml")),
    ("stm32f103", include_str!("../boards/stm32f103.toml")),
    ("stm32f103rb", include_str!("../boards/stm32f103rb.toml")),
    ("stm32f103rc", include_str!("../boards/stm32f103rc.toml")),
    ("stm32f103ze", include_str!("../boards/stm32f103ze.toml")),
    ("stm32f407", include_str!("../boards/stm32f407.toml")),
    ("stm32f4-discovery", include_str!("../boards/stm32f4-discovery.toml")),
    ("olimex-e407", include_str!("../boards/olimex-e407.toml")),
    ("netduinoplus2", include_str!("../boards/netduinoplus2.toml")),
    ("nucleo-f401re", include_str!("../boards/nucleo-f401re.toml")),
    ("nucleo-f411re", include_str!("../boards/nucleo-f411re.toml")),
    ("blackpill-f411", include_str!("../boards/blackpill-f411.toml")),
];

impl Board {
    /// Parses and checks a board file.
    pub fn parse(toml: &str) -> Result<Board, BoardError> {
        let syntax = |e: toml::de::Error| BoardError::Syntax(e.to_string().trim_end().to_owned());
        let file: file::File = match inherit::resolve(&inherit::parse(toml)?)? {
            Some(whole) => whole.try_into().map_err(syntax)?,
            // Straight from the text, errors name the line.
            None => toml::from_str(toml).map_err(syntax)?,
        };
        check::check(&file)?;
        let board = Board { file, svd: None };
        // Models check their own options when they are made; a parsed board must build.
        let bus = board.build()?;
        check::check_pins(&board.file, &bus)?;
        Ok(board)
    }

    /// A board that comes with the project.
    pub fn builtin(name: &str) -> Result<Board, BoardError> {
        Board::parse(Board::builtin_text(name)?)
    }

    pub(crate) fn builtin_text(name: &str) -> Result<&'static str, BoardError> {
        let found = BUILTIN.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let (_, toml) = found.ok_or_else(|| BoardError::UnknownBuiltin {
            name: name.to_owned(),
            known: Board::builtin_names().collect::<Vec<_>>().join(", "),
        })?;
        Ok(toml)
    }

    /// Names of the boards that come with the project.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|&(name, _)| name)
    }

    /// Whether a board that comes with the project is a bare core with memories, and no part of a
    /// maker.
    pub fn is_bare(name: &str) -> bool {
        let table = Board::builtin_text(name).and_then(inherit::parse);
        table.is_ok_and(|table| !table.contains_key("device") && !table.contains_key("base"))
    }

    /// Makes the board: memories erased, devices in their power-on state.
    pub fn build(&self) -> Result<Bus, BoardError> {
        let mut bus = build::build(&self.file)?;
        if let Some(svd) = &self.svd {
            bus.unmodelled.describe(&svd.description);
        }
        Ok(bus)
    }

    /// The same board with names, reset values and ready flags for registers that nobody modelled.
    /// The board's own names come first.
    pub fn with_svd(self, svd: Arc<Svd>) -> Board {
        Board { svd: Some(svd), ..self }
    }

    /// The same board with more parts beside its chip.
    pub fn with_parts(
        self,
        parts: impl IntoIterator<Item = PartEntry>,
    ) -> Result<Board, BoardError> {
        let mut board = self;
        board.file.part.extend(parts);
        check::check(&board.file)?;
        board.build()?;
        Ok(board)
    }

    /// The board's name.
    pub fn name(&self) -> &str {
        &self.file.name
    }

    /// One line for people.
    pub fn description(&self) -> &str {
        &self.file.description
    }

    /// The core's name, as its maker writes it.
    pub fn core_name(&self) -> &'static str {
        let arm = self.file.core.as_ref().map(|core| core.model.name());
        let avr = self.file.avr.as_ref().map(|core| core.model.name());
        arm.or(avr).unwrap_or_default()
    }

    /// The core as [`Machine::new`](strobe_sim::cores::avr::Machine::new) wants it, if it is an
    /// AVR.
    pub fn avr_core(&self) -> Option<strobe_sim::cores::avr::CoreOptions> {
        self.file.avr.as_ref().map(file::AvrEntry::options)
    }

    /// Which AVR parts it is, if it is one.
    pub fn avr_parts(&self) -> Option<AvrParts<'_>> {
        let core = self.file.avr.as_ref()?;
        let (architecture, same, alike) = (core.architecture, &core.parts, &core.alike);
        Some(AvrParts { architecture, same, alike })
    }

    /// The core as [`Machine::new`](strobe_sim::cores::arm::Machine::new) wants it, if it is one of
    /// Arm's.
    pub fn arm_core(&self) -> Option<CoreOptions> {
        let core = self.file.core.as_ref()?;
        Some(CoreOptions {
            timing: Timing {
                kind: core.model,
                multiplier_cycles: core.multiplier_cycles,
                io_port: core
                    .io_port
                    .iter()
                    .map(|r| r.base..r.base.saturating_add(r.size))
                    .collect(),
            },
            irq_lines: u32::from(core.irq_lines),
            priority_bits: core.priority_bits.unwrap_or(file::ARMV6M_PRIORITY_BITS),
            mpu_regions: if core.model.architecture().v7m {
                core.mpu_regions.unwrap_or(file::MPU_REGIONS)
            } else {
                0
            },
            cpuid: core.cpuid,
            systick_reference_divider: core.systick_reference_divider,
            systick_calibration: core.systick_calibration,
            vtor_mask: core.vtor_mask,
            bit_band: core.has_bit_band(),
            vectors: core.vectors,
            trace_gate: core.trace_gate,
        })
    }

    /// What the circuit board calls its pins, as (name, pin), in order of the names.
    pub fn pin_names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.file.pins.iter().map(|(name, pin)| (name.as_str(), pin.as_str()))
    }

    /// Whether there is anything but core and memories.
    pub fn has_devices(&self) -> bool {
        !self.file.device.is_empty()
    }

    /// Core clock at reset, in hertz.
    pub fn clock_hz(&self) -> u32 {
        self.file.clock_hz
    }

    /// Flash timing at each setting, with where the figures come from.
    pub fn flash_timing(&self) -> &[FlashEntry] {
        &self.file.flash.timing
    }

    /// The caches in front of the flash, if it has any.
    pub fn accelerator(&self) -> Option<&AcceleratorEntry> {
        self.file.flash.accelerator.as_ref()
    }

    /// Flash timing at one setting with the caches, if there are any, off.
    pub fn flash_timing_at(&self, wait_states: u8, prefetch: bool) -> Option<&FlashEntry> {
        self.flash_timing_with(wait_states, prefetch, FlashCaches::default())
    }

    /// Flash timing at one setting.
    pub fn flash_timing_with(
        &self,
        wait_states: u8,
        prefetch: bool,
        caches: FlashCaches,
    ) -> Option<&FlashEntry> {
        self.flash_timing().iter().find(|t| t.applies(wait_states, prefetch, caches))
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod readings;
#[cfg(test)]
mod stm32f070cb;
#[cfg(test)]
mod stm32f407;
#[cfg(test)]
mod tests;
