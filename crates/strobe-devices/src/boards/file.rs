//! The board file format, key by key. Unknown keys are errors that name the known ones.
//!
//! A file may begin with `base = "stm32f407"`, the name of a built-in board, and then give only
//! what differs: tables are joined key by key, devices, memories and parts are found by their name
//! or added, `ready` and `reset_value` are added to, everything else (lists included) is replaced.
//! `remove = ["ETH"]` leaves out devices, memories or parts of the base.
//!
//! Keys of the core are in `processor.rs` below this, those of memories in `memory.rs`, and of the
//! flash's timing in `flash.rs`.

mod flash;
mod memory;
mod processor;

use std::collections::BTreeMap;

use serde::Deserialize;
use strobe_model::Bounds;

use strobe_sim::kernel::clock::Gate;
use strobe_sim::kernel::unmodelled::ReadyRule;

pub use flash::{AcceleratorEntry, FlashEntry, FlashSection};
pub use memory::{Aliases, Bank, Kind, MemoryEntry};
pub(super) use processor::{ARMV6M_PRIORITY_BITS, MPU_REGIONS, no_reference};
pub use processor::{AddressRange, AvrEntry, CoreEntry};

/// A whole board file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Name, as on the command line.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Core clock at reset, in hertz.
    pub clock_hz: u32,
    /// The core, if it is one of Arm's.
    pub core: Option<CoreEntry>,
    /// The core, if it is an AVR.
    pub avr: Option<AvrEntry>,
    /// Memories; the first flash holds the vector table, the first RAM is the main one.
    pub memory: Vec<MemoryEntry>,
    /// What the flash's wait states cost.
    #[serde(default)]
    pub flash: FlashSection,
    /// What the buses cost.
    #[serde(default)]
    pub bus: BusSection,
    /// Devices.
    #[serde(default)]
    pub device: Vec<DeviceEntry>,
    /// What is soldered beside the chip.
    #[serde(default)]
    pub part: Vec<PartEntry>,
    /// Ready flags in unmodelled registers.
    #[serde(default)]
    pub ready: Vec<ReadyRule>,
    /// What unmodelled registers hold at reset, where not zero.
    #[serde(default)]
    pub reset_value: Vec<ResetValue>,
    /// What the circuit board calls its pins: `LED = "PC13"`.
    #[serde(default)]
    pub pins: BTreeMap<String, String>,
}

/// `[bus]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BusSection {
    /// Extra cycles of a core access through the peripheral bridge, in APB clock cycles.
    #[serde(default)]
    pub apb_wait: Bounds,
    /// Where the figures come from.
    #[serde(default)]
    pub origin: String,
    /// Whether a device answers while its clock is off. Chips do not let it; emulators whose
    /// firmware a board wants to run do. Such accesses are counted and reported either way.
    #[serde(default)]
    pub answer_unclocked: bool,
}

/// Which bus a device is on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BusKind {
    /// The core's own bus: no wait states.
    #[default]
    Ahb,
    /// Behind the peripheral bridge; where there are two, behind the first.
    Apb,
    /// Behind the second peripheral bridge.
    Apb2,
}

/// A device.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceEntry {
    /// Name, as the manual's.
    pub name: String,
    /// The Rust model behind it.
    pub model: String,
    /// First address.
    #[serde(default)]
    pub base: u32,
    /// Bytes of address space.
    #[serde(default)]
    pub size: u32,
    /// Which bus it is on.
    #[serde(default)]
    pub bus: BusKind,
    /// On an AVR, instead of these: the data address of each register, by the model's name for it.
    #[serde(default)]
    pub registers: BTreeMap<String, u16>,
    /// Interrupt numbers, in the order that the model numbers its lines.
    #[serde(default)]
    pub irq: Vec<u16>,
    /// The bit in the clock controller that switches its clock.
    pub gate: Option<Gate>,
    /// That bit's name in the manual, for warnings.
    #[serde(default)]
    pub gate_name: String,
    /// The bit in the clock controller that resets it.
    pub reset: Option<Gate>,
    /// The model's own keys.
    #[serde(default)]
    pub options: toml::Table,
}

/// Something beside the chip that its pins are joined to: a display, a card, a driver.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartEntry {
    /// Name, no device's nor another part's.
    pub name: String,
    /// The Rust model behind it.
    pub model: String,
    /// The model's own keys, the pins that it is joined to among them.
    #[serde(default)]
    pub options: toml::Table,
}

/// What an unmodelled register holds at reset.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResetValue {
    /// Register address.
    pub address: u32,
    /// Its value.
    pub value: u32,
}
