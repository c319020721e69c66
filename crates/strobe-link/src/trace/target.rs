//! Families of chips, as data: how the trace clock and the pin get out of each.
//!
//! From the reference manuals named beside each. None of these could be tried on a chip here;
//! writes are read back where the register allows it, so another chip is noticed.

/// The architecture of the core, where that makes a difference to DWT's registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// ARMv7-M: Cortex-M3, M4, M7.
    V7m,
    /// ARMv8-M mainline: Cortex-M33, M55.
    V8m,
}

/// What drives the pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// The TPIU at its architected address.
    Tpiu,
    /// A serial wire output block of its own, which has no formatter, at this address.
    Swo(u32),
}

/// Bits of a register that bring the trace out of the chip.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The register's name.
    pub register: &'static str,
    /// Its address.
    pub address: u32,
    /// Bits that are set.
    pub set: u32,
    /// Bits that are cleared.
    pub clear: u32,
    /// Whether it can be read back.
    pub readable: bool,
    /// What that does.
    pub meaning: &'static str,
}

/// A family of chips.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, as an argument.
    pub name: &'static str,
    /// What it stands for.
    pub chips: &'static str,
    /// The pin.
    pub pin: &'static str,
    /// Where all this is written.
    pub manual: &'static str,
    /// The core.
    pub architecture: Architecture,
    /// What drives the pin.
    pub output: Output,
    /// Writes before the trace blocks are set up.
    pub routes: &'static [Route],
    /// The trace clock can only be one of these (hertz), each with the value that selects it.
    pub trace_clocks: Option<&'static TraceClocks>,
}

/// Trace clocks that a register selects.
#[derive(Debug)]
pub struct TraceClocks {
    /// The register that does.
    pub register: &'static str,
    /// Its address.
    pub address: u32,
    /// The bits of the field, which begins at bit 0.
    pub mask: u32,
    /// Frequencies in hertz and the field's values.
    pub choices: &'static [(u32, u32)],
}

/// DBGMCU_CR: TRACE_IOEN set, TRACE_MODE asynchronous.
const DBGMCU_V7: &[Route] = &[Route {
    register: "DBGMCU_CR",
    address: 0xe004_2004,
    set: 0x20,
    clear: 0xc0,
    readable: true,
    meaning: "TRACE_IOEN: the pin belongs to the trace; TRACE_MODE 0: asynchronous",
}];

/// The same of the family's later members, with a trace clock that has to be switched on.
const DBGMCU_V8: &[Route] = &[Route {
    register: "DBGMCU_CR",
    address: 0xe004_4004,
    set: 0x30,
    clear: 0xc0,
    readable: true,
    meaning: "TRACE_EN, TRACE_IOEN: trace clock and pin; TRACE_MODE 0: asynchronous",
}];

const NRF52: &[Route] = &[Route {
    register: "CLOCK_TRACECONFIG",
    address: 0x4000_055c,
    set: 0x0001_0000,
    clear: 0x0002_0000,
    readable: true,
    meaning: "TRACEMUX 1: the pin is the serial trace output",
}];

/// Key to the lock of a CoreSight block.
pub(super) const UNLOCK: u32 = 0xc5ac_ce55;

const STM32H7: &[Route] = &[
    Route {
        register: "DBGMCU_CR",
        address: 0x5c00_1004,
        set: 0x0070_0000,
        clear: 0,
        readable: true,
        meaning: "TRACECLKEN, D1DBGCKEN, D3DBGCKEN: clocks of the trace blocks",
    },
    Route {
        register: "SWTF_LAR",
        address: 0x5c00_4fb0,
        set: UNLOCK,
        clear: !UNLOCK,
        readable: false,
        meaning: "unlocks the funnel before the pin",
    },
    Route {
        register: "SWTF_CTRL",
        address: 0x5c00_4000,
        set: 1,
        clear: 0,
        readable: true,
        meaning: "ENS0: the funnel lets the core's trace through",
    },
];

const fn stm32(
    name: &'static str,
    chips: &'static str,
    pin: &'static str,
    manual: &'static str,
) -> Target {
    Target {
        name,
        chips,
        pin,
        manual,
        architecture: Architecture::V7m,
        output: Output::Tpiu,
        routes: DBGMCU_V7,
        trace_clocks: None,
    }
}

const GENERIC: Target = Target {
    name: "generic",
    chips: "any Cortex-M3, M4 or M7; clock and pin must be routed by the firmware",
    pin: "see the chip's manual",
    manual: "DDI 0403",
    architecture: Architecture::V7m,
    output: Output::Tpiu,
    routes: &[],
    trace_clocks: None,
};

/// All of them.
pub const TARGETS: &[Target] = &[
    GENERIC,
    Target {
        name: "generic-v8m",
        chips: "any Cortex-M33 or M55; clock and pin must be routed by the firmware",
        manual: "DDI 0553",
        architecture: Architecture::V8m,
        ..GENERIC
    },
    stm32("stm32f1", "STM32F1", "PB3", "RM0008 31.16.3"),
    stm32("stm32f2", "STM32F2", "PB3", "RM0033 32.16.3"),
    stm32("stm32f3", "STM32F3", "PB3", "RM0316 33.16.3"),
    stm32("stm32f4", "STM32F4", "PB3", "RM0090 38.16.3"),
    stm32("stm32f7", "STM32F7", "PB3", "RM0385 40.16.3"),
    stm32("stm32g4", "STM32G4", "PB3", "RM0440 47.16"),
    stm32("stm32l1", "STM32L1", "PB3", "RM0038 30.16.3"),
    stm32("stm32l4", "STM32L4", "PB3", "RM0351 48.16.3"),
    stm32("stm32wb", "STM32WB", "PB3", "RM0434, debug support"),
    Target {
        name: "stm32-v8m",
        chips: "STM32L5, U5, H5, WBA",
        architecture: Architecture::V8m,
        routes: DBGMCU_V8,
        ..stm32("", "", "PB3", "RM0456 75.12.4")
    },
    Target {
        name: "stm32h7",
        chips: "STM32H7 with a funnel before the pin (H743, H747, H753 and others of RM0433, \
                RM0399)",
        output: Output::Swo(0x5c00_3000),
        routes: STM32H7,
        ..stm32("", "", "PB3", "RM0433 60.5")
    },
    Target {
        name: "nrf52",
        chips: "nRF52832, nRF52833, nRF52840",
        pin: "P0.18 (nRF52840: P1.00)",
        manual: "nRF52840 product specification 5.4.3.11",
        routes: NRF52,
        trace_clocks: Some(&TraceClocks {
            register: "CLOCK_TRACECONFIG",
            address: 0x4000_055c,
            mask: 3,
            choices: &[(32_000_000, 0), (16_000_000, 1), (8_000_000, 2), (4_000_000, 3)],
        }),
        ..GENERIC
    },
];

/// The family of that name.
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name.eq_ignore_ascii_case(name))
}

/// The family of a chip, by the chip's name as boards and probes have it (`STM32F407VGTx`), if it
/// is one of these.
pub fn of_chip(chip: &str) -> Option<&'static Target> {
    let chip = chip.to_ascii_lowercase();
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| chip.starts_with(prefix));
    if begins(&["stm32l5", "stm32u5", "stm32h5", "stm32wba"]) {
        return find("stm32-v8m");
    }
    // Others of the H7 have no such funnel, or their blocks elsewhere.
    if begins(&["stm32h7"]) && !begins(&["stm32h74", "stm32h75"]) {
        return None;
    }
    let named = TARGETS.iter().filter(|target| !target.name.starts_with("generic"));
    named.into_iter().find(|target| chip.starts_with(target.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_belong_to_families() {
        let of = |chip| of_chip(chip).map(|target| target.name);
        assert_eq!(of("STM32F407VGTx"), Some("stm32f4"));
        assert_eq!(of("stm32l496"), Some("stm32l4"));
        assert_eq!(of("STM32U575"), Some("stm32-v8m"));
        assert_eq!(of("STM32H743ZI"), Some("stm32h7"));
        assert_eq!(of("STM32H7A3ZI"), None);
        assert_eq!(of("nRF52840_xxAA"), Some("nrf52"));
        assert_eq!(of("LPC1768"), None);
    }

    #[test]
    fn routes_set_no_bit_that_they_clear() {
        for route in TARGETS.iter().flat_map(|target| target.routes) {
            assert_eq!(route.set & route.clear, 0, "{route:?}");
        }
    }
}
