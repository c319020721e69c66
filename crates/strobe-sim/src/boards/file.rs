//! The board file format, key by key. Unknown keys are errors that name the known ones.
//!
//! A file may begin with `base = "stm32f407"`, the name of a built-in board, and then give only
//! what differs: tables are joined key by key, devices, memories and parts are found by their name
//! or added, `ready` and `reset_value` are added to, everything else (lists included) is replaced.
//! `remove = ["ETH"]` leaves out devices, memories or parts of the base.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::cores::arm::timing::CoreKind;
use crate::cores::avr;
use strobe_model::Bounds;

use crate::cores::arm::TraceGate;
use crate::kernel::clock::Gate;
use crate::kernel::flash::accelerator::Shape;
use crate::kernel::flash::{FlashCaches, FlashTiming, Penalty};
use crate::kernel::unmodelled::ReadyRule;

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

/// The core and what its implementer chose.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreEntry {
    /// Which core.
    pub model: CoreKind,
    /// Cycles of MULS on an M0 or M0+: 1 (fast) or 32 (small).
    #[serde(default = "fast_multiplier")]
    pub multiplier_cycles: u8,
    /// Interrupt request lines: at most 32, on an M3 or M4 240.
    pub irq_lines: u16,
    /// Priority bits that the interrupt controller has: 3 to 8 on an M3 or M4, which need this; 2
    /// on an M0.
    pub priority_bits: Option<u8>,
    /// Regions of the memory protection unit on an M3 or M4: 8, or 0 if it was left out; 8 if not
    /// given.
    pub mpu_regions: Option<u8>,
    /// The CPUID register's value.
    pub cpuid: u32,
    /// SysTick calibration register: NOREF in bit 31, SKEW in bit 30, TENMS in bits 23..0.
    #[serde(default = "no_reference")]
    pub systick_calibration: u32,
    /// Core cycles per tick of SysTick's reference clock; 0 if there is none.
    #[serde(default)]
    pub systick_reference_divider: u32,
    /// Address of the vector table at reset.
    #[serde(default)]
    pub vectors: u32,
    /// Writable bits of VTOR (on a Cortex-M0+ an option); 0 if the vector table cannot be moved.
    #[serde(default)]
    pub vtor_mask: u32,
    /// The register of the chip's maker that lets the trace pin out, on an M3 or M4 that has one.
    pub trace_gate: Option<TraceGate>,
    /// Whether the bit-band aliases exist; by default on a Cortex-M3 or M4, where its maker may
    /// leave them out.
    pub bit_band: Option<bool>,
    /// Address ranges on the single-cycle I/O port (a Cortex-M0+ option).
    #[serde(default)]
    pub io_port: Vec<AddressRange>,
}

/// An AVR core. Program memory is the flash at 0, data memory the RAM, whose address begins with
/// 0x80; what EEPROM holds is a memory at 0x810000.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AvrEntry {
    /// Which core.
    pub model: avr::CoreKind,
    /// Interrupt vectors, reset's among them.
    pub vectors: u16,
    /// Bytes of a vector: 2 where it is an RJMP, 4 where it is a JMP.
    pub vector_bytes: u8,
    /// What the data sheet calls the vectors, from 1 on.
    #[serde(default)]
    pub vector_names: Vec<String>,
    /// The architecture that avr-gcc builds for it, by its number in ELF files.
    pub architecture: Option<u8>,
    /// Parts that this board is, by the names that avr-gcc knows: of the same registers, vectors
    /// and memories.
    #[serde(default)]
    pub parts: Vec<String>,
    /// Parts of the same registers and vectors, but other memories.
    #[serde(default)]
    pub alike: Vec<String>,
}

/// What every ARMv6-M has (B1.5.4).
pub(super) const ARMV6M_PRIORITY_BITS: u8 = 2;

/// What every ARMv7-M memory protection unit of these cores has.
pub(super) const MPU_REGIONS: u8 = 8;

fn fast_multiplier() -> u8 {
    1
}

/// NOREF: no reference clock (ARMv6-M B3.3.6).
pub(super) fn no_reference() -> u32 {
    1 << 31
}

impl CoreEntry {
    /// Whether the bit-band aliases exist.
    pub(super) fn has_bit_band(&self) -> bool {
        self.bit_band.unwrap_or(self.model.architecture().v7m)
    }
}

/// A range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddressRange {
    /// First address.
    pub base: u32,
    /// Bytes.
    pub size: u32,
}

/// Kinds of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Read-only to the firmware; may have wait states.
    Flash,
    /// Read and write without wait states.
    Ram,
}

/// A memory.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryEntry {
    /// Name in reports.
    pub name: String,
    /// Kind.
    pub kind: Kind,
    /// First address.
    pub base: u32,
    /// Bytes.
    pub size: u32,
    /// Further addresses at which it appears, one or a list, as boot memory does at 0.
    #[serde(default)]
    pub alias: Aliases,
    /// Whether firmware can write it although its kind is flash: RAM that holds code on FPGA
    /// boards.
    #[serde(default)]
    pub writable: bool,
    /// Only the core reaches it, no other bus master.
    #[serde(default)]
    pub core_only: bool,
    /// Its banks that are slaves of their own, apart from the first, in ascending order.
    #[serde(default)]
    pub banks: Vec<Bank>,
    /// What the factory put there.
    #[serde(default)]
    pub contents: Vec<Contents>,
}

/// A bank of a memory: where it begins, and what is special about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "an address, or a table with `from` and `first_wait`")]
pub enum Bank {
    /// Nothing is.
    At(u32),
    /// The core waits there.
    Waiting(WaitingBank),
}

/// A bank of RAM for whose first word the core waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitingBank {
    /// Its first address.
    pub from: u32,
    /// Cycles that a load takes more, and a store of several words; a load that overlaps with one
    /// before it does not, nor does a store of one word, behind which the core goes on.
    pub first_wait: u8,
}

impl Bank {
    /// Its first address.
    pub fn from(self) -> u32 {
        match self {
            Bank::At(from) | Bank::Waiting(WaitingBank { from, .. }) => from,
        }
    }
}

/// Addresses at which a memory appears besides its own.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "an address or a list of addresses")]
pub enum Aliases {
    /// One.
    One(u32),
    /// Any number.
    Several(Vec<u32>),
}

impl MemoryEntry {
    /// The first addresses of its aliases.
    pub(super) fn windows(&self) -> impl Iterator<Item = u32> + '_ {
        let all = match &self.alias {
            Aliases::One(address) => std::slice::from_ref(address),
            Aliases::Several(addresses) => addresses,
        };
        all.iter().copied()
    }
}

impl Default for Aliases {
    fn default() -> Self {
        Aliases::Several(Vec::new())
    }
}

/// Words at an address.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contents {
    /// Address of the first word.
    pub address: u32,
    /// The words, little-endian in memory.
    pub words: Vec<u32>,
}

/// `[flash]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashSection {
    /// One entry per setting of the flash controller.
    #[serde(default)]
    pub timing: Vec<FlashEntry>,
    /// Caches in front of the flash, whose state decides what wait states cost.
    pub accelerator: Option<AcceleratorEntry>,
}

/// A flash accelerator, for any number of wait states.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceleratorEntry {
    /// Bytes that the flash reads at once; a power of two from 4 to 64.
    pub line_bytes: u32,
    /// Lines that are held without a cache, the one in use among them; at least 1.
    pub buffer_lines: u8,
    /// Lines of the instruction cache, at most 254; 0 if there is none.
    #[serde(default)]
    pub instruction_lines: u8,
    /// Lines of the data cache; 0 if there is none.
    #[serde(default)]
    pub data_lines: u8,
    /// Cycles that a line can be asked for before the core executes anything in it, at most: what
    /// the core's own buffer bridges between lines.
    #[serde(default)]
    pub ahead: u8,
    /// Where the figures come from.
    pub origin: String,
    /// Why wait states cost what they cost, for reports.
    pub why: String,
}

impl AcceleratorEntry {
    pub(super) fn shape(&self) -> Shape {
        Shape {
            line_bytes: self.line_bytes,
            buffer_lines: self.buffer_lines,
            instruction_lines: self.instruction_lines,
            data_lines: self.data_lines,
            ahead: self.ahead,
        }
    }
}

/// What the flash costs at one setting, in core cycles.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashEntry {
    /// Wait states as set.
    pub wait_states: u8,
    /// Prefetch on or off; left out, the entry is for both.
    pub prefetch: Option<bool>,
    /// Instruction cache on or off, where there is one; left out, the entry is for both.
    pub icache: Option<bool>,
    /// Data cache on or off, where there is one; left out, the entry is for both.
    pub dcache: Option<bool>,
    /// Change of flow to a word-aligned target.
    #[serde(default)]
    pub aligned_target: Penalty,
    /// Change of flow to a target in the upper half of a word.
    #[serde(default)]
    pub unaligned_target: Penalty,
    /// Data read.
    #[serde(default)]
    pub data_read: Penalty,
    /// Where the figures come from.
    pub origin: String,
    /// Why this setting costs what it costs, for reports.
    pub why: String,
}

impl FlashEntry {
    /// Whether the entry is for this setting.
    pub fn applies(&self, wait_states: u8, prefetch: bool, caches: FlashCaches) -> bool {
        self.wait_states == wait_states
            && self.prefetch.is_none_or(|p| p == prefetch)
            && self.icache.is_none_or(|c| c == caches.instructions)
            && self.dcache.is_none_or(|c| c == caches.data)
    }

    /// Every setting of prefetch and caches that the entry is for.
    pub(super) fn settings(&self) -> impl Iterator<Item = (bool, FlashCaches)> + '_ {
        let all = (0..8u8).map(|n| {
            let caches = FlashCaches { instructions: n & 2 != 0, data: n & 4 != 0 };
            (n & 1 != 0, caches)
        });
        all.filter(|&(prefetch, caches)| self.applies(self.wait_states, prefetch, caches))
    }

    /// The figures in half cycles, which a checked board file always has.
    pub fn flash_timing(&self) -> Option<FlashTiming> {
        self.timing().ok()
    }

    /// The figures in half cycles; `Err` names the key that is out of range.
    pub(super) fn timing(&self) -> Result<FlashTiming, &'static str> {
        Ok(FlashTiming {
            aligned_target: self.aligned_target.half_cycles().ok_or("aligned_target")?,
            unaligned_target: self.unaligned_target.half_cycles().ok_or("unaligned_target")?,
            data_read: self.data_read.half_cycles().ok_or("data_read")?,
        })
    }
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
