//! A write to a register of the target with its meaning, for people and for tools.

/// A write to a register of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterWrite {
    /// Its name.
    pub register: String,
    /// Its address.
    pub address: u32,
    /// What its bits in `mask` become.
    pub value: u32,
    /// The bits that are written; the others are kept as they were read.
    pub mask: u32,
    /// The bits that must read back as written; none of a register that cannot be read.
    pub check: u32,
    /// What its fields mean.
    pub fields: Vec<RegisterField>,
}

impl RegisterWrite {
    /// Whether bits beside the written ones are kept, for which the register has to be read first.
    pub fn keeps_others(&self) -> bool {
        self.mask != u32::MAX
    }

    /// What to write into a register that now holds `old`.
    pub fn over(&self, old: u32) -> u32 {
        old & !self.mask | self.value & self.mask
    }
}

/// A field of a register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterField {
    /// Its name.
    pub field: String,
    /// Its highest bit and its lowest.
    pub bits: (u8, u8),
    /// Its value.
    pub value: u32,
    /// What that does.
    pub meaning: String,
}
