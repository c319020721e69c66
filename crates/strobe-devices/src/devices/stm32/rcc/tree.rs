//! The clock tree's arithmetic: configuration register fields to frequencies (RM0360 7.2, 7.4.2).

use super::oscillator::Source;

/// What drives the system clock: CFGR.SW and SWS.
pub(in crate::devices::stm32) fn system_source(code: u32) -> Option<Source> {
    match code & 3 {
        0 => Some(Source::Hsi),
        1 => Some(Source::Hse),
        2 => Some(Source::Pll),
        _ => None,
    }
}

/// AHB prescaler: CFGR.HPRE.
pub(in crate::devices::stm32) fn ahb_divider(cfgr: u32) -> u32 {
    match cfgr >> 4 & 0xf {
        code @ 8..=11 => 2 << (code - 8),
        // There is no division by 32.
        code @ 12..=15 => 64 << (code - 12),
        _ => 1,
    }
}

/// APB prescaler: CFGR.PPRE.
pub(in crate::devices::stm32) fn apb_divider(cfgr: u32) -> u32 {
    match cfgr >> 8 & 7 {
        code @ 4..=7 => 2 << (code - 4),
        _ => 1,
    }
}

/// PLL multiplication: CFGR.PLLMUL; 14 and 15 both mean 16.
pub(in crate::devices::stm32) fn pll_multiplier(cfgr: u32) -> u32 {
    ((cfgr >> 18 & 0xf) + 2).min(16)
}

/// What feeds the PLL, and by what it is divided: CFGR.PLLSRC and CFGR2.PREDIV.
pub(in crate::devices::stm32) fn pll_input(cfgr: u32, cfgr2: u32) -> (Source, u32) {
    let prediv = (cfgr2 & 0xf) + 1;
    match cfgr >> 15 & 3 {
        0 => (Source::Hsi, 2),
        1 => (Source::Hsi, prediv),
        _ => (Source::Hse, prediv),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RM0360 7.4.2, the tables of HPRE, PPRE and PLLMUL.
    #[test]
    fn dividers_as_in_the_tables() {
        let ahb: Vec<u32> = (0..16).map(|code| ahb_divider(code << 4)).collect();
        assert_eq!(ahb, [1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 16, 64, 128, 256, 512]);
        let apb: Vec<u32> = (0..8).map(|code| apb_divider(code << 8)).collect();
        assert_eq!(apb, [1, 1, 1, 1, 2, 4, 8, 16]);
        let pll: Vec<u32> = (0..16).map(|code| pll_multiplier(code << 18)).collect();
        assert_eq!(pll, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 16]);
    }

    #[test]
    fn the_plls_source_is_chosen_and_divided() {
        assert_eq!(pll_input(0, 5), (Source::Hsi, 2));
        assert_eq!(pll_input(1 << 15, 5), (Source::Hsi, 6));
        assert_eq!(pll_input(1 << 16, 0), (Source::Hse, 1));
    }
}
