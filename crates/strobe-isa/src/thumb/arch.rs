//! Which instructions and status bits a core has.

/// An architecture version with the extensions that make a difference here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Architecture {
    /// ARMv7-M (DDI 0403) rather than ARMv6-M (DDI 0419).
    pub v7m: bool,
    /// The DSP extension, which makes it ARMv7E-M.
    pub dsp: bool,
    /// FPv4-SP, the single-precision floating-point extension.
    pub fp: bool,
}

impl Architecture {
    /// ARMv6-M.
    pub const V6M: Architecture = Architecture { v7m: false, dsp: false, fp: false };
    /// ARMv7-M.
    pub const V7M: Architecture = Architecture { v7m: true, dsp: false, fp: false };
    /// ARMv7E-M.
    pub const V7EM: Architecture = Architecture { v7m: true, dsp: true, fp: false };
    /// ARMv7E-M with FPv4-SP.
    pub const V7EM_FP: Architecture = Architecture { v7m: true, dsp: true, fp: true };

    /// The bits of APSR that exist.
    pub fn apsr_bits(self) -> u32 {
        let saturation = if self.v7m { 1 << 27 } else { 0 };
        let greater_or_equal = if self.dsp { 0xf_0000 } else { 0 };
        0xf000_0000 | saturation | greater_or_equal
    }
}
