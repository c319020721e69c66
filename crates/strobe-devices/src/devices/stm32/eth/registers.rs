//! Registers of the Ethernet block and their bits (RM0090 33.8), and those that are merely kept.

use std::collections::BTreeMap;

pub(super) const MACCR: u32 = 0x00;
pub(super) const MACFFR: u32 = 0x04;
pub(super) const MACHTHR: u32 = 0x08;
pub(super) const MACHTLR: u32 = 0x0c;
pub(super) const MACMIIAR: u32 = 0x10;
pub(super) const MACMIIDR: u32 = 0x14;
pub(super) const MACA0HR: u32 = 0x40;
pub(super) const DMABMR: u32 = 0x1000;
pub(super) const DMATPDR: u32 = 0x1004;
pub(super) const DMARPDR: u32 = 0x1008;
pub(super) const DMARDLAR: u32 = 0x100c;
pub(super) const DMATDLAR: u32 = 0x1010;
pub(super) const DMASR: u32 = 0x1014;
pub(super) const DMAOMR: u32 = 0x1018;
pub(super) const DMAIER: u32 = 0x101c;
pub(super) const DMAMFBOCR: u32 = 0x1020;
pub(super) const DMACHTDR: u32 = 0x1048;
pub(super) const DMACHRDR: u32 = 0x104c;

/// Bits of MACCR.
pub(super) mod maccr {
    pub(crate) const RE: u32 = 2;
    pub(crate) const TE: u32 = 3;
    pub(crate) const APCS: u32 = 7;
    pub(crate) const IPCO: u32 = 10;
    pub(crate) const LM: u32 = 12;
    pub(crate) const FES: u32 = 14;
    pub(crate) const CSTF: u32 = 25;
}

/// Bits of MACFFR.
pub(super) mod macffr {
    pub(crate) const PM: u32 = 0;
    pub(crate) const HU: u32 = 1;
    pub(crate) const HM: u32 = 2;
    pub(crate) const DAIF: u32 = 3;
    pub(crate) const PAM: u32 = 4;
    pub(crate) const BFD: u32 = 5;
    pub(crate) const RA: u32 = 31;
}

/// Bits of DMABMR.
pub(super) mod dmabmr {
    pub(crate) const SR: u32 = 0;
    pub(crate) const DSL: u32 = 2;
    pub(crate) const EDFE: u32 = 7;
}

/// Flags of DMASR; their enables in DMAIER are in the same places.
pub(super) mod dmasr {
    pub(crate) const TS: u32 = 1 << 0;
    pub(crate) const TPSS: u32 = 1 << 1;
    pub(crate) const TBUS: u32 = 1 << 2;
    pub(crate) const TJTS: u32 = 1 << 3;
    pub(crate) const RS: u32 = 1 << 6;
    pub(crate) const RBUS: u32 = 1 << 7;
    pub(crate) const RPSS: u32 = 1 << 8;
    pub(crate) const FBES: u32 = 1 << 13;
    pub(crate) const AIS: u32 = 1 << 15;
    pub(crate) const NIS: u32 = 1 << 16;
    /// What the normal summary sums up: TS, TBUS, RS, ERS.
    pub(crate) const NORMAL: u32 = TS | TBUS | RS | 1 << 14;
    /// Everything that writing 1 clears.
    pub(crate) const CLEARABLE: u32 = 0x1_e7ff;
    /// What the abnormal summary sums up.
    pub(crate) const ABNORMAL: u32 = CLEARABLE & !NORMAL & !NIS & !AIS;
    /// Process states: receiver waits, receiver suspended, transmitter sends, transmitter
    /// suspended.
    pub(crate) const RPS_WAITING: u32 = 3 << 17;
    pub(crate) const RPS_SUSPENDED: u32 = 4 << 17;
    pub(crate) const TPS_SENDING: u32 = 2 << 20;
    pub(crate) const TPS_SUSPENDED: u32 = 6 << 20;
}

/// Bits of DMAOMR.
pub(super) mod dmaomr {
    pub(crate) const SR: u32 = 1;
    pub(crate) const ST: u32 = 13;
    /// Flushes the transmit FIFO and clears itself.
    pub(crate) const FTF: u32 = 20;
}

/// Registers that keep what firmware writes: offset, reset value, writable bits. Some have an
/// effect where they are looked at; counters (MMC) stay at zero.
const KEPT: &[(u32, u32, u32)] = &[
    (MACCR, 0x8000, 0x02cf_7efc),
    (MACFFR, 0, 0x8000_07ff),
    (MACHTHR, 0, u32::MAX),
    (MACHTLR, 0, u32::MAX),
    (MACMIIAR, 0, 0xffdf),
    (MACMIIDR, 0, 0xffff),
    // MACFCR, MACVLANTR, MACPMTCSR, MACDBGR, MACSR, MACIMR.
    (0x18, 0, 0xffff_00be),
    (0x1c, 0, 0x1_ffff),
    (0x2c, 0, 0x8000_0207),
    (0x34, 0, 0),
    (0x38, 0, 0),
    (0x3c, 0, 0x208),
    // The four addresses.
    (MACA0HR, 0x8000_ffff, 0xffff),
    (0x44, u32::MAX, u32::MAX),
    (0x48, 0xffff, 0xff00_ffff),
    (0x4c, u32::MAX, u32::MAX),
    (0x50, 0xffff, 0xff00_ffff),
    (0x54, u32::MAX, u32::MAX),
    (0x58, 0xffff, 0xff00_ffff),
    (0x5c, u32::MAX, u32::MAX),
    // MMC: control, interrupts, masks, counters.
    (0x100, 0, 0x3e),
    (0x104, 0, 0),
    (0x108, 0, 0),
    (0x10c, 0, 0x2_0060),
    (0x110, 0, 0x20_c000),
    (0x14c, 0, 0),
    (0x150, 0, 0),
    (0x168, 0, 0),
    (0x194, 0, 0),
    (0x198, 0, 0),
    (0x1c4, 0, 0),
    (DMABMR, 0x2_0101, 0x07ff_fffe),
    (DMARDLAR, 0, !3),
    (DMATDLAR, 0, !3),
    (DMAOMR, 0, 0x0730_e0de),
    (DMAIER, 0, 0x1_e7ff),
    // DMARSWTR.
    (0x1024, 0, 0xff),
];

/// The kept registers' values by offset.
#[derive(Debug, Default)]
pub(super) struct Registers(BTreeMap<u32, u32>);

impl Registers {
    /// All at their reset values.
    pub(super) fn reset() -> Self {
        Registers(KEPT.iter().map(|&(offset, reset, _)| (offset, reset)).collect())
    }

    /// A register's value, if it is one of these.
    pub(super) fn find(&self, offset: u32) -> Option<u32> {
        self.0.get(&offset).copied()
    }

    /// A register that is known to be one of these.
    pub(super) fn get(&self, offset: u32) -> u32 {
        self.find(offset).unwrap_or(0)
    }

    /// Writes the writable bits.
    pub(super) fn write(&mut self, offset: u32, value: u32) {
        let kept = KEPT.iter().find(|kept| kept.0 == offset);
        if let (Some(&(_, _, writable)), Some(old)) = (kept, self.0.get_mut(&offset)) {
            *old = *old & !writable | value & writable;
        }
    }

    /// Sets or clears a bit whether firmware could or not.
    pub(super) fn set_bit(&mut self, offset: u32, bit: u32, on: bool) {
        if let Some(value) = self.0.get_mut(&offset) {
            *value = *value & !(1 << bit) | u32::from(on) << bit;
        }
    }
}
