//! The fault status registers of ARMv7-M (DDI 0403, B3.2.15-B3.2.18), and the meaning of their bits
//! in words.

/// CFSR, HFSR, DFSR, MMFAR and BFAR.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FaultStatus {
    /// MMFSR in bits 7:0, BFSR in 15:8, UFSR in 31:16.
    pub cfsr: u32,
    /// HardFault status.
    pub hfsr: u32,
    /// Debug fault status.
    pub dfsr: u32,
    /// The address of a MemManage fault, while CFSR.MMARVALID.
    pub mmfar: u32,
    /// The address of a precise bus fault, while CFSR.BFARVALID.
    pub bfar: u32,
}

/// Bits of CFSR.
#[allow(missing_docs)] // The manual's names; their meaning is in [`FaultStatus::words`].
pub mod cfsr {
    pub const IACCVIOL: u32 = 1;
    pub const DACCVIOL: u32 = 1 << 1;
    pub const MUNSTKERR: u32 = 1 << 3;
    pub const MSTKERR: u32 = 1 << 4;
    pub const MLSPERR: u32 = 1 << 5;
    pub const MMARVALID: u32 = 1 << 7;
    pub const IBUSERR: u32 = 1 << 8;
    pub const PRECISERR: u32 = 1 << 9;
    pub const IMPRECISERR: u32 = 1 << 10;
    pub const UNSTKERR: u32 = 1 << 11;
    pub const STKERR: u32 = 1 << 12;
    pub const LSPERR: u32 = 1 << 13;
    pub const BFARVALID: u32 = 1 << 15;
    pub const UNDEFINSTR: u32 = 1 << 16;
    pub const INVSTATE: u32 = 1 << 17;
    pub const INVPC: u32 = 1 << 18;
    pub const NOCP: u32 = 1 << 19;
    pub const UNALIGNED: u32 = 1 << 24;
    pub const DIVBYZERO: u32 = 1 << 25;
    /// Those that exist.
    pub const ALL: u32 = 0x030f_bfbb;
}

/// Bits of HFSR.
#[allow(missing_docs)]
pub mod hfsr {
    pub const VECTTBL: u32 = 1 << 1;
    pub const FORCED: u32 = 1 << 30;
    pub const DEBUGEVT: u32 = 1 << 31;
    /// Those that exist.
    pub const ALL: u32 = VECTTBL | FORCED | DEBUGEVT;
}

/// DFSR.BKPT.
pub(crate) const DFSR_BKPT: u32 = 1 << 1;

const CFSR_WORDS: [(u32, &str); 19] = [
    (cfsr::IACCVIOL, "IACCVIOL: an instruction may not be fetched there"),
    (cfsr::DACCVIOL, "DACCVIOL: a load or store is not allowed there"),
    (cfsr::MUNSTKERR, "MUNSTKERR: unstacking on exception return is not allowed there"),
    (cfsr::MSTKERR, "MSTKERR: stacking for exception entry is not allowed there"),
    (cfsr::MLSPERR, "MLSPERR: the lazy save of the FP registers is not allowed there"),
    (cfsr::MMARVALID, "MMARVALID: MMFAR holds the address"),
    (cfsr::IBUSERR, "IBUSERR: nothing answered an instruction fetch"),
    (cfsr::PRECISERR, "PRECISERR: nothing answered a load or store; the stacked PC is its"),
    (
        cfsr::IMPRECISERR,
        "IMPRECISERR: nothing answered a buffered store; the stacked PC is a later one",
    ),
    (cfsr::UNSTKERR, "UNSTKERR: nothing answered unstacking on exception return"),
    (cfsr::STKERR, "STKERR: nothing answered stacking for exception entry"),
    (cfsr::LSPERR, "LSPERR: nothing answered the lazy save of the FP registers"),
    (cfsr::BFARVALID, "BFARVALID: BFAR holds the address"),
    (cfsr::UNDEFINSTR, "UNDEFINSTR: undefined instruction"),
    (cfsr::INVSTATE, "INVSTATE: not in Thumb state, or an invalid IT state"),
    (cfsr::INVPC, "INVPC: invalid exception return"),
    (cfsr::NOCP, "NOCP: coprocessor absent or disabled"),
    (cfsr::UNALIGNED, "UNALIGNED: unaligned access"),
    (cfsr::DIVBYZERO, "DIVBYZERO: division by zero"),
];

const HFSR_WORDS: [(u32, &str); 3] = [
    (hfsr::VECTTBL, "VECTTBL: the vector could not be read"),
    (hfsr::FORCED, "FORCED: a fault whose own handler is disabled or cannot preempt"),
    (hfsr::DEBUGEVT, "DEBUGEVT: a breakpoint without a debugger"),
];

fn words(value: u32, names: &[(u32, &str)]) -> String {
    let set = names.iter().filter(|(bit, _)| value & bit != 0).map(|(_, text)| *text);
    set.collect::<Vec<_>>().join("; ")
}

impl FaultStatus {
    /// Each register that is set: its name, its value and the meaning of its bits.
    pub fn words(&self) -> Vec<(&'static str, u32, String)> {
        let mut out = Vec::new();
        if self.cfsr != 0 {
            out.push(("CFSR", self.cfsr, words(self.cfsr, &CFSR_WORDS)));
        }
        if self.hfsr != 0 {
            out.push(("HFSR", self.hfsr, words(self.hfsr, &HFSR_WORDS)));
        }
        if self.cfsr & cfsr::MMARVALID != 0 {
            out.push(("MMFAR", self.mmfar, "the address that was not allowed".to_owned()));
        }
        if self.cfsr & cfsr::BFARVALID != 0 {
            out.push(("BFAR", self.bfar, "the address that did not answer".to_owned()));
        }
        if self.dfsr & DFSR_BKPT != 0 {
            out.push(("DFSR", self.dfsr, "BKPT: a breakpoint instruction".to_owned()));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_that_exists_has_its_words() {
        for bit in (0..32).map(|n| 1u32 << n) {
            let said = CFSR_WORDS.iter().filter(|(b, _)| *b == bit).count();
            assert_eq!(said, usize::from(cfsr::ALL & bit != 0), "CFSR bit {bit:#x}");
            let said = HFSR_WORDS.iter().filter(|(b, _)| *b == bit).count();
            assert_eq!(said, usize::from(hfsr::ALL & bit != 0), "HFSR bit {bit:#x}");
        }
    }

    #[test]
    fn a_precise_bus_fault_reads_as_such() {
        let status = FaultStatus {
            cfsr: cfsr::PRECISERR | cfsr::BFARVALID,
            hfsr: hfsr::FORCED,
            bfar: 0x3000_0000,
            ..FaultStatus::default()
        };
        let words = status.words();
        assert_eq!(words.iter().map(|w| w.0).collect::<Vec<_>>(), ["CFSR", "HFSR", "BFAR"]);
        assert!(words[0].2.starts_with("PRECISERR: "), "{words:?}");
        assert!(words[0].2.ends_with("; BFARVALID: BFAR holds the address"), "{words:?}");
        assert_eq!(words[2].1, 0x3000_0000);
        assert!(FaultStatus::default().words().is_empty());
    }
}
