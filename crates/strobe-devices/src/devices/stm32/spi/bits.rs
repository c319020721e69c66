//! Registers of the interface and their bits (RM0360 24.9; RM0090 28.5 has a part of them).

pub(super) const CR1: u32 = 0x00;
pub(super) const CR2: u32 = 0x04;
pub(super) const SR: u32 = 0x08;
pub(super) const DR: u32 = 0x0c;
pub(super) const CRCPR: u32 = 0x10;
pub(super) const RXCRCR: u32 = 0x14;
pub(super) const TXCRCR: u32 = 0x18;
pub(super) const I2SCFGR: u32 = 0x1c;
pub(super) const I2SPR: u32 = 0x20;

/// Bits of CR1.
pub(super) mod cr1 {
    pub(in crate::devices::stm32::spi) const CPHA: u32 = 0;
    pub(in crate::devices::stm32::spi) const CPOL: u32 = 1;
    pub(in crate::devices::stm32::spi) const MSTR: u32 = 2;
    pub(in crate::devices::stm32::spi) const BR: u32 = 3;
    pub(in crate::devices::stm32::spi) const SPE: u32 = 6;
    pub(in crate::devices::stm32::spi) const LSBFIRST: u32 = 7;
    pub(in crate::devices::stm32::spi) const SSI: u32 = 8;
    pub(in crate::devices::stm32::spi) const SSM: u32 = 9;
    pub(in crate::devices::stm32::spi) const RXONLY: u32 = 10;
    /// Data frame format, where there is no FIFO: 16 bits instead of 8.
    pub(in crate::devices::stm32::spi) const DFF: u32 = 11;
    pub(in crate::devices::stm32::spi) const BIDIOE: u32 = 14;
    pub(in crate::devices::stm32::spi) const BIDIMODE: u32 = 15;
}

/// Bits of CR2.
pub(super) mod cr2 {
    pub(in crate::devices::stm32::spi) const RXDMAEN: u32 = 0;
    pub(in crate::devices::stm32::spi) const TXDMAEN: u32 = 1;
    pub(in crate::devices::stm32::spi) const SSOE: u32 = 2;
    pub(in crate::devices::stm32::spi) const NSSP: u32 = 3;
    pub(in crate::devices::stm32::spi) const DS: u32 = 8;
    pub(in crate::devices::stm32::spi) const FRXTH: u32 = 12;
    /// RXDMAEN, TXDMAEN, SSOE, FRF, ERRIE, RXNEIE, TXEIE.
    pub(in crate::devices::stm32::spi) const WITHOUT_FIFO: u32 = 0xf7;
    /// Eight-bit frames.
    pub(in crate::devices::stm32::spi) const RESET: u32 = 7 << DS;
}

/// Flags in SR.
pub(super) mod sr {
    pub(in crate::devices::stm32::spi) const RXNE: u32 = 1 << 0;
    pub(in crate::devices::stm32::spi) const TXE: u32 = 1 << 1;
    pub(in crate::devices::stm32::spi) const MODF: u32 = 1 << 5;
    pub(in crate::devices::stm32::spi) const OVR: u32 = 1 << 6;
    pub(in crate::devices::stm32::spi) const BSY: u32 = 1 << 7;
    pub(in crate::devices::stm32::spi) const FRLVL: u32 = 9;
    pub(in crate::devices::stm32::spi) const FTLVL: u32 = 11;
}

/// What enables an interrupt: (bit in CR2, flags).
pub(super) const INTERRUPTS: &[(u32, u32)] =
    &[(5, sr::MODF | sr::OVR), (6, sr::RXNE), (7, sr::TXE)];

/// Modes that are not modelled: (register, bits, name).
pub(super) const UNMODELLED: &[(u32, u32, &str)] = &[
    (CR1, 1 << 13, "CRC calculation"),
    (CR2, 1 << 4, "TI frame format"),
    (CR2, 0b11 << 13, "odd-length DMA packing"),
    (I2SCFGR, 1 << 11, "I2S mode"),
];
