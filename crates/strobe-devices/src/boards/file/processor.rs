//! The core: which one, and what its implementer chose.

use serde::Deserialize;

use strobe_sim::cores::arm::TraceGate;
use strobe_sim::cores::arm::timing::CoreKind;
use strobe_sim::cores::avr;

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

impl CoreEntry {
    /// Whether the bit-band aliases exist.
    pub(in crate::boards) fn has_bit_band(&self) -> bool {
        self.bit_band.unwrap_or(self.model.architecture().v7m)
    }
}

/// AVR cores by their names in a board file.
#[derive(Deserialize)]
#[serde(remote = "avr::CoreKind")]
enum AvrModel {
    #[serde(rename = "avre")]
    Avre,
    #[serde(rename = "avre+")]
    AvrePlus,
}

/// An AVR core. Program memory is the flash at 0, data memory the RAM, whose address begins with
/// 0x80; what EEPROM holds is a memory at 0x810000.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AvrEntry {
    /// Which core.
    #[serde(with = "AvrModel")]
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
pub(in crate::boards) const ARMV6M_PRIORITY_BITS: u8 = 2;

/// What every ARMv7-M memory protection unit of these cores has.
pub(in crate::boards) const MPU_REGIONS: u8 = 8;

fn fast_multiplier() -> u8 {
    1
}

/// NOREF: no reference clock (ARMv6-M B3.3.6).
pub(in crate::boards) fn no_reference() -> u32 {
    1 << 31
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
