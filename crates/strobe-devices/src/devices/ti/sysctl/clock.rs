//! The clock tree's arithmetic: RCC and RCC2 to a frequency (LM3S6965 data sheet, 5.2.4 and table
//! 5-4).

/// Bits of RCC that can be written: ACG, SYSDIV, USESYSDIV, USEPWMDIV, PWMDIV, PWRDN, BYPASS, XTAL,
/// OSCSRC, IOSCDIS, MOSCDIS.
pub(super) const RCC_WRITABLE: u32 = 0x0fde_2bf3;
/// USERCC2, SYSDIV2, PWRDN2, BYPASS2, OSCSRC2.
pub(super) const RCC2_WRITABLE: u32 = 0x9f80_2870;

/// Half of the PLL's 400 MHz.
const PLL_HZ: u64 = 200_000_000;
/// The internal oscillator, in hertz; that of a chip is off by up to 30 %.
const INTERNAL_HZ: u32 = 12_000_000;
/// The internal low-power oscillator.
const SLOW_HZ: u32 = 30_000;

/// Crystals by RCC.XTAL, in hertz, from 4 on; lower values cannot feed the PLL.
const CRYSTALS: [u32; 12] = [
    3_579_545, 3_686_400, 4_000_000, 4_096_000, 4_915_200, 5_000_000, 5_120_000, 6_000_000,
    6_144_000, 7_372_800, 8_000_000, 8_192_000,
];

/// RCC and RCC2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) rcc: u32,
    pub(super) rcc2: u32,
}

impl Setting {
    /// The internal oscillator, undivided; the PLL is off.
    pub(super) const RESET: Setting =
        Setting { rcc: 0x078e_3ad1 & RCC_WRITABLE, rcc2: 0x0780_2800 };

    /// Whether RCC2's fields hold instead of RCC's.
    fn second(self) -> bool {
        self.rcc2 >> 31 != 0
    }

    fn field(self, bits: u32) -> bool {
        (if self.second() { self.rcc2 } else { self.rcc }) & bits != 0
    }

    /// PWRDN is clear.
    pub(super) fn pll_on(self) -> bool {
        !self.field(1 << 13)
    }

    /// BYPASS is clear.
    pub(super) fn wants_pll(self) -> bool {
        !self.field(1 << 11)
    }

    fn oscillator(self) -> u32 {
        if self.second() { self.rcc2 >> 4 & 7 } else { self.rcc >> 4 & 3 }
    }

    /// Whether the main crystal feeds the PLL.
    pub(super) fn pll_has_crystal(self) -> bool {
        self.oscillator() == 0
    }

    /// The crystal that RCC.XTAL names.
    pub(super) fn crystal_hz(self) -> Option<u32> {
        let at = (self.rcc >> 6 & 0xf).checked_sub(4)?;
        CRYSTALS.get(at as usize).copied()
    }

    fn oscillator_hz(self, crystal_hz: u32) -> u32 {
        match self.oscillator() {
            0 => crystal_hz,
            1 => INTERNAL_HZ,
            2 => INTERNAL_HZ / 4,
            // 7 is the hibernation module's 32768 Hz; the others are reserved.
            7 => 32_768,
            _ => SLOW_HZ,
        }
    }

    /// The PLL makes 400 MHz of the crystal that XTAL names, and as much more or less of another.
    fn pll_hz(self, crystal_hz: u32) -> u64 {
        match self.crystal_hz() {
            Some(named) if self.pll_has_crystal() => {
                PLL_HZ * u64::from(crystal_hz) / u64::from(named)
            }
            _ => PLL_HZ,
        }
    }

    /// The system clock, in hertz.
    pub(super) fn core_hz(self, crystal_hz: u32, locked: bool) -> u32 {
        let pll = self.wants_pll() && locked;
        let source =
            if pll { self.pll_hz(crystal_hz) } else { self.oscillator_hz(crystal_hz).into() };
        let divisor = match (self.second(), pll || self.rcc >> 22 & 1 != 0) {
            (_, false) => 1,
            (true, true) => (self.rcc2 >> 23 & 0x3f) + 1,
            (false, true) => (self.rcc >> 23 & 0xf) + 1,
        };
        (source / u64::from(divisor)) as u32
    }

    /// PLLCFG: F (13..5) and R (4..0) that make 400 MHz of the crystal as F / (R + 1), as nearly as
    /// they can.
    pub(super) fn pll_configuration(self) -> u32 {
        let crystal = u64::from(self.crystal_hz().unwrap_or(4_000_000));
        let candidates = (0..32u64).map(|r| {
            let f = (2 * PLL_HZ * (r + 1) + crystal / 2) / crystal;
            let error = (f * crystal / (r + 1)).abs_diff(2 * PLL_HZ);
            (f > 0x1ff, error, r, f)
        });
        candidates.min().map_or(0, |(_, _, r, f)| (f << 5 | r) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRYSTAL: u32 = 8_000_000;

    #[test]
    fn reset_is_the_internal_oscillator() {
        assert_eq!(Setting::RESET.core_hz(CRYSTAL, false), INTERNAL_HZ);
        assert!(!Setting::RESET.pll_on() && !Setting::RESET.wants_pll());
    }

    /// 5.3: the PLL by 4 is 50 MHz, also through RCC2.
    #[test]
    fn the_usual_setting_makes_fifty_megahertz() {
        let rcc = 3 << 23 | 1 << 22 | 0xe << 6;
        let first = Setting { rcc, rcc2: 0 };
        assert_eq!(
            (first.core_hz(CRYSTAL, true), first.core_hz(CRYSTAL, false)),
            (50_000_000, 2_000_000)
        );
        let second = Setting { rcc, rcc2: 1 << 31 | 9 << 23 };
        assert_eq!(second.core_hz(CRYSTAL, true), 20_000_000);
        assert_eq!(first.pll_configuration(), 50 << 5);
    }

    #[test]
    fn a_wrong_crystal_is_scaled() {
        // XTAL: 6 MHz.
        let setting = Setting { rcc: 7 << 23 | 1 << 22 | 0xb << 6, rcc2: 0 };
        assert_eq!(setting.core_hz(CRYSTAL, true), 33_333_333);
    }
}
