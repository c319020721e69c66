//! Which family of chips a firmware was written for, by the addresses of the registers that no
//! program does without: those that switch clocks, and those of the pins.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::LazyLock;

use serde::Deserialize;
use strobe_sim::bus::Bus;
use strobe_symbols::Firmware;

static ALL: LazyLock<Vec<Family>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        family: Vec<Family>,
    }
    // A test reads the file; one that could not be read would name no family.
    toml::from_str::<File>(include_str!("families.toml")).map(|f| f.family).unwrap_or_default()
});

/// The addresses that a firmware's code names.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    /// Constants, each with where it is from.
    pub constants: BTreeMap<u32, u32>,
    /// What loads and stores are known to reach.
    pub accesses: BTreeSet<u32>,
    /// First addresses of blocks of pins that words of the image name: drivers that are made for
    /// several ports have them in tables.
    listed: BTreeSet<u32>,
    /// What is programmed, in order, each with all that is near it.
    programmed: Vec<Range<u64>>,
}

impl Addresses {
    pub(super) fn of(firmware: &Firmware) -> Self {
        let is_block = |at: &u32| at.is_multiple_of(BLOCK) && ALL.iter().any(|f| f.is_pin(*at));
        Addresses {
            constants: firmware.constants(),
            accesses: firmware.accesses(),
            listed: firmware.words().filter(is_block).collect(),
            programmed: programmed(firmware),
        }
    }

    fn all(&self) -> impl Iterator<Item = u32> {
        self.constants.keys().chain(&self.accesses).copied()
    }
}

/// What a firmware programs, in order, as one what is near each other.
pub(super) fn programmed(firmware: &Firmware) -> Vec<Range<u64>> {
    let segments = firmware.segments().iter().filter(|segment| !segment.data().is_empty());
    joined(segments.map(|segment| {
        let start = u64::from(segment.load_address.0);
        start..start + segment.data().len() as u64
    }))
}

/// Ranges in order, those as one that are near each other.
pub(super) fn joined(all: impl Iterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut all: Vec<Range<u64>> = all.collect();
    all.sort_unstable_by_key(|range| range.start);
    all.dedup_by(|next, first| {
        let is_near = next.start < first.end + NEAR;
        if is_near {
            first.end = first.end.max(next.end);
        }
        is_near
    });
    all
}

/// What of a firmware is nothing but configuration words of some family, which a programmer writes
/// beside the flash: there is nothing else near them.
pub(super) fn configuration(firmware: &Firmware) -> Vec<Range<u64>> {
    let mut all = programmed(firmware);
    all.retain(|range| ALL.iter().any(|family| family.is_configuration(range)));
    all
}

/// A family of chips.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Family {
    /// Its maker's name for it.
    pub name: String,
    /// Its core.
    pub core: String,
    /// The architectures of its cores, as attributes name them.
    cores: Vec<String>,
    /// First addresses of register blocks that switch clocks.
    clock: Vec<u32>,
    /// Names of these blocks.
    unit: Vec<String>,
    /// Ranges where it has no register, although others with a block there do.
    #[serde(default)]
    reserved: Vec<(u32, u32)>,
    /// Ranges of the pins' registers.
    pins: Vec<(u32, u32)>,
    /// Ranges of the flash that programs are linked for, where that is known.
    #[serde(default)]
    flash: Vec<(u32, u32)>,
    /// Ranges of words beside it that a programmer writes.
    #[serde(default)]
    configuration: Vec<(u32, u32)>,
}

/// Registers of one block lie this close to its first address.
const BLOCK: u32 = 0x400;
/// Blocks of pins that count: code for one chip may use few, and luck is not that frequent.
const MOST_PINS: i32 = 3;
/// With fewer of them in tables, a word may be some other number.
const LEAST_LISTED: usize = 2;
/// What a clock block counts, for or against a family.
const CLOCK: i32 = 2;
/// Registers that a family lacks, of which each counts as a clock block against it, at most.
const MOST_RESERVED: usize = 2;
/// As much as can speak for a family: enough to doubt what the build states. Configuration words
/// count as much.
const CLEAR: i32 = CLOCK + MOST_PINS;
/// Bytes between two ranges of memory that are taken as one.
const NEAR: u64 = 0x1_0000;
/// Where RAM begins at the earliest: debuggers load code there on any chip.
const RAM: u64 = 0x2000_0000;

impl Family {
    fn is_clock(&self, at: u32) -> bool {
        self.clock.iter().any(|&base| at.wrapping_sub(base) < BLOCK)
    }

    fn is_pin(&self, at: u32) -> bool {
        self.pins.iter().any(|&(start, end)| (start..end).contains(&at))
    }

    /// Whether code that uses this address is for another chip.
    fn is_reserved(&self, at: u32) -> bool {
        self.reserved.iter().any(|&(start, end)| (start..end).contains(&at))
    }

    /// Whether a range is nothing but its configuration words.
    fn is_configuration(&self, range: &Range<u64>) -> bool {
        let has = |&(start, end): &(u32, u32)| {
            u64::from(start) <= range.start && range.end <= u64::from(end)
        };
        self.configuration.iter().any(has)
    }

    /// Whether a program begins where it has no flash.
    fn is_elsewhere(&self, programmed: &[Range<u64>]) -> bool {
        let mut begins = programmed.iter().filter(|range| !self.is_configuration(range));
        let is_flash = |at: u64| {
            self.flash.iter().any(|&(start, end)| u64::from(start) <= at && at < u64::from(end))
        };
        !self.flash.is_empty()
            && begins.next().is_some_and(|range| range.start < RAM && !is_flash(range.start))
    }

    /// How much speaks for it; `None` unless both clocks and pins do, or configuration words.
    fn score(&self, used: &Addresses) -> Option<i32> {
        if self.is_elsewhere(&used.programmed) {
            return None;
        }
        let blocks = |is: &dyn Fn(u32) -> bool| -> BTreeSet<u32> {
            used.all().filter(|&at| is(at)).map(|at| at / BLOCK).collect()
        };
        let listed = used.listed.iter().filter(|at| self.is_pin(**at)).count();
        let listed = if listed >= LEAST_LISTED { listed } else { 0 };
        let pins = blocks(&|at| self.is_pin(at)).len().max(listed) as i32;
        let clocks = blocks(&|at| self.is_clock(at)).len();
        let foreign = blocks(&|at| {
            let own = self.is_clock(at) || self.is_pin(at);
            // Clock blocks that begin where memory maps are densest mean little elsewhere.
            let is_clock = |f: &Family| f.is_clock(at) && !f.is_elsewhere(&used.programmed);
            !own && at >= 0x4002_0000 && ALL.iter().any(is_clock)
        });
        let reserved = used.all().filter(|&at| self.is_reserved(at)).count().min(MOST_RESERVED);
        let against = CLOCK * (foreign.len() + reserved) as i32;
        let configured = used.programmed.iter().any(|range| self.is_configuration(range));
        let registers = if pins > 0 && clocks > 0 { pins.min(MOST_PINS) + CLOCK } else { 0 };
        let score = registers - against + if configured { CLEAR } else { 0 };
        (configured || registers > 0).then_some(score)
    }

    /// Whether a board's devices lie where this family has its clocks and pins, each at the start
    /// of a device of its own: another chip may have something else there that is larger. Clocks
    /// are in a device of their name, too: one chip's port is another one's clocks.
    pub(super) fn has(&self, bus: &Bus) -> bool {
        let device = |at: u32| bus.place_of(at).filter(|(_, offset)| *offset == 0);
        let is_unit = |at: u32| {
            let name = device(at).map(|(name, _)| name.to_ascii_uppercase());
            name.is_some_and(|name| self.unit.iter().any(|unit| name.contains(unit)))
        };
        self.clock.iter().any(|&at| is_unit(at))
            && self.pins.iter().all(|&(at, _)| device(at).is_some())
    }
}

/// What a firmware is likely for.
#[derive(Debug)]
pub(super) struct Likely {
    /// Several where their addresses are the same.
    pub families: Vec<&'static Family>,
    /// Whether their cores are older than the one that the build names.
    pub is_older: bool,
}

/// The families for which most speaks: of those with cores of this architecture, or, where clearly
/// more speaks for them, of those with the Cortex-M3, for which builds may name the Cortex-M4.
/// Without an architecture, `runs` decides which can run the code.
pub(super) fn likely(
    used: &Addresses,
    architecture: Option<&str>,
    runs: &dyn Fn(&str) -> bool,
) -> Likely {
    let fits = |core: &str| match architecture {
        Some("ARMv6S-M") => core == "ARMv6-M",
        Some(architecture) => core == architecture,
        None => runs(core),
    };
    let (score, families) = best(used, &fits);
    if architecture == Some("ARMv7E-M") {
        let (of_older, older) = best(used, &|core| core == "ARMv7");
        if of_older >= CLEAR && of_older >= score + CLOCK {
            return Likely { families: older, is_older: true };
        }
    }
    Likely { families, is_older: false }
}

/// How much speaks for the families with such cores for which most does, and these.
fn best(used: &Addresses, fits: &dyn Fn(&str) -> bool) -> (i32, Vec<&'static Family>) {
    let runs = |family: &&Family| family.cores.iter().any(|core| fits(core));
    let scored = ALL.iter().filter(runs).filter_map(|f| Some((f.score(used)?, f)));
    let scored: Vec<_> = scored.filter(|(score, _)| *score > CLOCK).collect();
    let best = scored.iter().map(|(score, _)| *score).max().unwrap_or(0);
    (best, scored.into_iter().filter(|(score, _)| *score == best).map(|(_, f)| f).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(used: &Addresses, architecture: &str) -> Vec<&'static str> {
        let likely = likely(used, Some(architecture), &|_| true);
        likely.families.iter().map(|f| f.name.as_str()).collect()
    }

    fn names(addresses: &[u32], architecture: &str) -> Vec<&'static str> {
        let constants = addresses.iter().map(|&at| (at, 0)).collect();
        of(&Addresses { constants, ..Addresses::default() }, architecture)
    }

    #[test]
    fn the_file_is_sound() {
        assert!(ALL.len() > 15);
        let ranges = |f: &Family| [&f.pins[..], &f.flash, &f.configuration].concat();
        assert!(ALL.iter().flat_map(ranges).all(|(start, end)| start < end));
        assert!(ALL.iter().all(|f| !f.unit.is_empty()));
    }

    #[test]
    fn families_differ_by_clocks_pins_and_core() {
        let f0 = [0x4002_1000, 0x4800_0000, 0x4000_4400, 0x4002_0000];
        assert_eq!(names(&f0, "ARMv6S-M"), ["STM32F0"]);
        assert_eq!(names(&f0, "ARMv7E-M"), ["STM32F3", "STM32G4", "STM32L4"]);
        let g0 = [0x4002_1034, 0x5000_0400, 0x4001_3800];
        assert_eq!(names(&g0, "ARMv6S-M"), ["STM32G0", "STM32L0", "STM32C0"]);
    }

    /// The DMA controller of an F1 is where an F4 has its first port, and an F4's port E is where
    /// an F1 has its clocks.
    #[test]
    fn blocks_at_the_same_place_are_distinguished() {
        let f1 = [0x4002_1000, 0x4001_0800, 0x4001_0c00, 0x4002_0000];
        assert_eq!(names(&f1, "ARMv7"), ["STM32F1"]);
        let l1 = [0x4002_3800, 0x4002_0000, 0x4002_1000, 0x4001_1000];
        assert_eq!(names(&l1, "ARMv7"), ["STM32F2", "STM32L1"]);
    }

    /// An LPC1114 has its UART and timers where an RP2040 has clocks and pins.
    #[test]
    fn peripherals_of_one_are_clocks_and_pins_of_another() {
        let lpc = [0x4000_8000, 0x4000_c000, 0x4001_4000, 0x4004_8000, 0x5000_0000, 0x5001_0000];
        assert_eq!(names(&lpc, "ARMv6S-M"), ["LPC11xx"]);
        let rp2040 = [0x4000_8000, 0x4000_c000, 0x4001_4000, 0x4001_c000, 0xd000_0010];
        assert_eq!(names(&rp2040, "ARMv6S-M"), ["RP2040"]);
    }

    /// Builds of a line of chips may name its newest core for all; few addresses do not show that.
    #[test]
    fn cortex_m3_is_recognised_in_firmware_built_as_m4() {
        let f1 = [0x4002_1000, 0x4001_0800, 0x4001_0c00, 0x4001_1000, 0x4001_3800];
        assert_eq!(names(&f1, "ARMv7E-M"), ["STM32F1"]);
        assert_eq!(names(&f1[..3], "ARMv7E-M"), [""; 0]);
        // An F4's port E, two serial ports and ADC are where an F1 has clocks and pins.
        let f4 = [0x4002_3830, 0x4002_0000, 0x4002_1000, 0x4001_1000, 0x4001_1400, 0x4001_2000];
        assert_eq!(names(&f4, "ARMv7E-M"), ["STM32F4", "STM32F7"]);
    }

    /// An L1 and an F4 have clocks and ports at the same addresses; their registers differ.
    #[test]
    fn registers_distinguish_blocks_at_the_same_address() {
        let bases = [0x4002_3800, 0x4002_0000, 0x4002_0400, 0x4002_0800];
        let constants: BTreeMap<u32, u32> = bases.iter().map(|&at| (at, 0)).collect();
        let with = |accesses: &[u32], architecture: &str| {
            let accesses = accesses.iter().copied().collect();
            let constants = constants.clone();
            of(&Addresses { constants, accesses, ..Addresses::default() }, architecture)
        };
        assert_eq!(with(&[0x4002_3800, 0x4002_381c], "ARMv7E-M"), ["STM32L1"]);
        assert_eq!(with(&[0x4002_3800, 0x4002_3808], "ARMv7E-M"), ["STM32F4", "STM32F7"]);
        assert_eq!(with(&[0x4002_3800, 0x4002_3840], "ARMv7"), ["STM32F2"]);
        assert_eq!(with(&[0x4002_3800, 0x4002_381c], "ARMv7"), ["STM32L1"]);
    }

    /// An F7 and an F4 have clocks, ports and serial lines at the same addresses; a TM4C has its
    /// gates where an LM3S has nothing.
    #[test]
    fn registers_of_other_blocks_distinguish_families_too() {
        let f7 = [0x4002_3800, 0x4002_0000, 0x4002_0400, 0x4001_1000, 0x4001_101c, 0x4001_1028];
        assert_eq!(names(&f7, "ARMv7E-M"), ["STM32F7"]);
        assert_eq!(names(&f7[..4], "ARMv7E-M"), ["STM32F4", "STM32F7"]);
        let constants = [0x400f_e000, 0x4000_4000, 0x4002_5000].map(|at| (at, 0)).into();
        let accesses = [0x400f_e608, 0x400f_ea08].into();
        let tm4c = Addresses { constants, accesses, ..Addresses::default() };
        let likely = likely(&tm4c, None, &|_| true);
        let found: Vec<&str> = likely.families.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(found, ["TM4C"]);
    }

    /// Their clocks are spread over blocks that others have, too.
    #[test]
    fn kinetis_families_are_distinguished_by_their_clock_controllers() {
        let k64 = [0x4004_8034, 0x4004_a058, 0x4005_2000, 0x4006_4000, 0x4006_4001, 0x4006_4006];
        let with_pins = [&k64[..], &[0x4006_5000, 0x400f_f040]].concat();
        assert_eq!(names(&with_pins, "ARMv7E-M"), ["Kinetis K"]);
        assert_eq!(names(&with_pins, "ARMv6S-M"), ["Kinetis L"]);
        let s32k = [0x4006_4010, 0x4006_5124, 0x4006_5128, 0x4004_a000, 0x400f_f040, 0x4004_8004];
        assert_eq!(names(&s32k, "ARMv7E-M"), ["Kinetis KE1x or S32K1"]);
    }

    #[test]
    fn families_of_other_makers_are_named() {
        let gecko = [0x400c_8044, 0x4000_6000, 0x4000_6128, 0x4008_0000];
        assert_eq!(names(&gecko, "ARMv6S-M"), ["EFM32HG or EFM32ZG"]);
        assert_eq!(names(&gecko, "ARMv7"), ["EFM32"]);
        let psoc = [0x4026_0500, 0x4031_0000, 0x4032_0000, 0x4021_0000];
        assert_eq!(names(&psoc, "ARMv7E-M"), ["PSoC 6"]);
        let lpc = [0x4005_0000, 0x4005_1000, 0x400f_4000, 0x4008_6000];
        assert_eq!(names(&lpc, "ARMv7E-M"), ["LPC43xx"]);
    }

    /// A file without an architecture, as Intel HEX is, leaves the cores that can run its code.
    #[test]
    fn without_an_architecture_the_code_decides() {
        let of = |addresses: &[u32], runs: &dyn Fn(&str) -> bool| -> Vec<&'static str> {
            let constants = addresses.iter().map(|&at| (at, 0)).collect();
            let used = Addresses { constants, ..Addresses::default() };
            likely(&used, None, runs).families.iter().map(|f| f.name.as_str()).collect()
        };
        let nrf = [0x4000_0000, 0x5000_0504, 0x5000_0700];
        assert_eq!(of(&nrf, &|_| true), ["nRF51", "nRF52"]);
        assert_eq!(of(&nrf, &|core| core != "ARMv6-M"), ["nRF52"]);
        let u5 = [0x4602_0c00, 0x4202_0000, 0x4001_3800];
        assert_eq!(of(&u5, &|core| core != "ARMv6-M"), ["STM32U5"]);
    }

    /// Compilers reach blocks of a neighbourhood by offsets from one base.
    #[test]
    fn blocks_reached_by_an_offset_count() {
        let constants = [0x5802_4000, 0x5802_0000].map(|at| (at, 0)).into();
        let accesses = [0x5802_44e0, 0x5802_0400].into();
        let h7 = Addresses { constants, accesses, ..Addresses::default() };
        assert_eq!(of(&h7, "ARMv7E-M"), ["STM32H7"]);
    }

    /// Code that reaches ports by a table has their addresses there alone.
    #[test]
    fn ports_in_tables_count_if_there_are_several() {
        let with = |listed: &[u32]| {
            let constants = [0x4002_1000, 0x4002_2000].map(|at| (at, 0)).into();
            let listed = listed.iter().copied().collect();
            of(&Addresses { constants, listed, ..Addresses::default() }, "ARMv6S-M")
        };
        assert_eq!(with(&[0x5000_0000, 0x5000_0400]), ["STM32G0", "STM32L0", "STM32C0"]);
        assert_eq!(with(&[0x4800_0000, 0x4800_0800]), ["STM32F0"]);
        assert_eq!(with(&[0x5000_0000]), [""; 0]);
    }

    /// An nRF52840 has a pulse generator and a counter where an STM32F1 has its clocks and pins.
    #[test]
    fn link_address_excludes_families_with_flash_elsewhere() {
        let constants: BTreeMap<u32, u32> =
            [0x4002_1000, 0x4001_1000, 0x4001_2000].map(|at| (at, 0)).into();
        let at = |start: Option<u64>| {
            let constants = constants.clone();
            let programmed = start.map(|start| start..start + 0x4000).into_iter().collect();
            of(&Addresses { constants, programmed, ..Addresses::default() }, "ARMv7")
        };
        assert_eq!(at(Some(0x0800_0000)), ["STM32F1"]);
        assert_eq!(at(Some(0)), [""; 0]);
        // A debugger loads code to RAM of any chip.
        assert_eq!(at(Some(0x2000_0000)), ["STM32F1"]);
        assert_eq!(at(None), ["STM32F1"]);
    }

    #[test]
    fn configuration_words_show_the_family() {
        let with = |programmed: &[Range<u64>], architecture: &str| {
            let programmed = programmed.to_vec();
            of(&Addresses { programmed, ..Addresses::default() }, architecture)
        };
        let uicr = [0..0x2_5de8, 0xf_4000..0xf_d858, 0x1000_1014..0x1000_101c];
        assert_eq!(with(&uicr, "ARMv7E-M"), ["nRF52"]);
        assert_eq!(with(&uicr, "ARMv6S-M"), ["nRF51"]);
        // The flash of an RP2040 goes on there.
        let rp2040 = [0x1000_0000..0x1000_2000, 0x101f_f000..0x101f_f100];
        assert_eq!(with(&rp2040, "ARMv6S-M"), [""; 0]);
        assert_eq!(with(&uicr[..2], "ARMv7E-M"), [""; 0]);
    }

    #[test]
    fn little_evidence_names_no_family() {
        assert_eq!(names(&[0x4002_1000], "ARMv6S-M"), [""; 0]);
        assert_eq!(names(&[0x4800_0000, 0x4800_0400], "ARMv6S-M"), [""; 0]);
        assert_eq!(names(&[], "ARMv7"), [""; 0]);
    }
}
