//! The arithmetic that the clock trees of all families share: fields of CFGR to divisors (RM0360
//! 7.4.2, RM0008 7.3.2, RM0090 7.3.3).

use super::sources::Source;

/// What drives the system clock, by its code in CFGR.SW and SWS.
const SYSTEM: [Source; 3] = [Source::Hsi, Source::Hse, Source::Pll];

/// What drives the system clock: CFGR.SW and SWS.
pub(super) fn system_source(code: u32) -> Option<Source> {
    SYSTEM.get((code & 3) as usize).copied()
}

/// The code of what drives the system clock.
pub(super) fn system_code(source: Source) -> u32 {
    SYSTEM.iter().position(|&known| known == source).unwrap_or(0) as u32
}

/// AHB prescaler: CFGR.HPRE.
pub(super) fn ahb_divider(cfgr: u32) -> u32 {
    match cfgr >> 4 & 0xf {
        code @ 8..=11 => 2 << (code - 8),
        // There is no division by 32.
        code @ 12..=15 => 64 << (code - 12),
        _ => 1,
    }
}

/// APB prescaler: a field PPRE of three bits, at `shift`.
pub(super) fn apb_divider(cfgr: u32, shift: u32) -> u32 {
    match cfgr >> shift & 7 {
        code @ 4..=7 => 2 << (code - 4),
        _ => 1,
    }
}

/// Core cycles per timer clock: timers run at twice the bus clock if that is divided.
pub(super) fn timer_divider(apb: u32) -> u32 {
    (apb / 2).max(1)
}

/// PLL multiplication: CFGR.PLLMUL; 14 and 15 both mean 16.
pub(super) fn pll_multiplier(cfgr: u32) -> u32 {
    ((cfgr >> 18 & 0xf) + 2).min(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RM0360 7.4.2 and RM0090 7.3.3, the tables of HPRE, PPRE and PLLMUL.
    #[test]
    fn dividers_as_in_the_tables() {
        let ahb: Vec<u32> = (0..16).map(|code| ahb_divider(code << 4)).collect();
        assert_eq!(ahb, [1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 16, 64, 128, 256, 512]);
        for shift in [8, 10, 13] {
            let apb: Vec<u32> = (0..8).map(|code| apb_divider(code << shift, shift)).collect();
            assert_eq!(apb, [1, 1, 1, 1, 2, 4, 8, 16]);
        }
        assert_eq!([1, 2, 4, 16].map(timer_divider), [1, 1, 2, 8]);
        let pll: Vec<u32> = (0..16).map(|code| pll_multiplier(code << 18)).collect();
        assert_eq!(pll, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 16]);
    }
}
