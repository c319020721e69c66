//! The main PLL's arithmetic (RM0090 7.2, 7.3.2).

use strobe_model::number::hertz;

/// A PLL's clocks, in hertz.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pll {
    /// What the phase comparator gets.
    pub(super) input: u32,
    /// The voltage controlled oscillator.
    pub(super) vco: u32,
    /// For the system clock (PLLP).
    pub(super) system: u32,
    /// For USB, SDIO and the random number generator (PLLQ).
    pub(super) fast: u32,
}

impl Pll {
    /// PLLCFGR with the source's frequency; a division by less than 2 is reserved and taken as 2.
    pub(super) fn new(pllcfgr: u32, source_hz: u32) -> Pll {
        let input = source_hz / (pllcfgr & 0x3f).max(2);
        let vco = input.saturating_mul(pllcfgr >> 6 & 0x1ff);
        let system = vco / (2 * (pllcfgr >> 16 & 3) + 2);
        Pll { input, vco, system, fast: vco / (pllcfgr >> 24 & 0xf).max(2) }
    }

    /// What is outside the limits of RM0090 7.3.2.
    pub(super) fn fault(&self) -> Option<String> {
        if !(950_000..=2_100_000).contains(&self.input) {
            let hz = hertz(self.input);
            return Some(format!("the PLL's input is {hz}, it must be 1 to 2 MHz"));
        }
        let fits = (100_000_000..=432_000_000).contains(&self.vco);
        (!fits).then(|| {
            format!("the PLL's oscillator is at {}, it must be 100 to 432 MHz", hertz(self.vco))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 168 MHz from an 8 MHz crystal, as every example sets it: M = 8, N = 336, P = 2, Q = 7.
    #[test]
    fn the_usual_pll_setting() {
        let pll = Pll::new(7 << 24 | 336 << 6 | 8, 8_000_000);
        assert_eq!((pll.input, pll.vco), (1_000_000, 336_000_000));
        assert_eq!((pll.system, pll.fast, pll.fault()), (168_000_000, 48_000_000, None));
    }

    /// The reset value: M = 16, N = 192, P = 2, Q = 4 from the internal oscillator.
    #[test]
    fn the_pll_at_reset() {
        let pll = Pll::new(0x2400_3010, 16_000_000);
        assert_eq!((pll.system, pll.fast, pll.fault()), (96_000_000, 48_000_000, None));
        assert!(
            Pll::new(0x2400_3004, 16_000_000).fault().unwrap().contains("input is 4,000,000 Hz")
        );
        assert!(Pll::new(0x2400_0810, 16_000_000).fault().unwrap().contains("is at 32,000,000 Hz"));
    }
}
