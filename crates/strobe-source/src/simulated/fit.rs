//! Which built-in board a firmware is for, by evidence: what it is built for, where it is linked,
//! and the peripherals whose addresses its code has.
//!
//! A board that has none of these peripherals would run the code into plausible nonsense, so a
//! firmware that fits no board is refused with what is known of it. A board that the user names is
//! obeyed as far as its core runs the code at all; what does not fit is then a warning.

mod avr;
mod error;
mod older;
mod reached;
mod refusal;

use std::collections::BTreeMap;

use strobe_devices::board::Board;
use strobe_isa::thumb::Architecture;
use strobe_sim::bus::Bus;
use strobe_symbols::{Firmware, Machine};

use super::advice::{self, Fit};
use super::families::{self, Addresses, Family, Likely};
pub use error::FitError;
use refusal::{near, reasons, refusal, way_on_of};

/// With fewer blocks of registers, what is missing may be chance.
const LEAST_BLOCKS: usize = 3;
/// Peripherals of one block share this much of their addresses.
const BLOCK: u32 = 0x400;
/// The core that a floating-point unit of the ARMv8 generation shows, in a build for ARMv7E-M.
const NEWER_CORE: &str = "Cortex-M7";

/// A board for a firmware, and why this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Its name.
    pub board: &'static str,
    /// Why, as the end of a sentence: `linked for flash at 0x08000000`.
    pub why: String,
}

/// What a firmware shows of the chip it was written for.
struct Evidence {
    architecture: Option<&'static str>,
    /// Lowest address that is programmed.
    lowest: u32,
    /// First register of each block that code names, with what there is of its instruction.
    blocks: Vec<u32>,
    families: Vec<&'static Family>,
    /// Whether these have the Cortex-M3, although the build names the Cortex-M4.
    is_older: bool,
    /// The first instruction that these lack then, if there is one.
    lacking: Option<u32>,
    /// Whether the build names a floating-point unit that a Cortex-M7 has and an M4 lacks.
    has_fpv5: bool,
    /// Whether code uses instructions that a Cortex-M0 lacks, where no architecture is named.
    is_beyond_v6m: bool,
}

impl Evidence {
    fn of(firmware: &Firmware) -> Self {
        let used = Addresses::of(firmware);
        let target = firmware.build_target();
        let architecture = target.and_then(|target| target.architecture);
        let runs = |core: &str| match core {
            "ARMv6-M" => reached::runs(firmware, Architecture::V6M),
            "ARMv7" => reached::runs(firmware, Architecture::V7M),
            _ => true,
        };
        let Likely { mut families, is_older } = families::likely(&used, architecture, &runs);
        let has_fpv5 =
            architecture == Some("ARMv7E-M") && target.is_some_and(|target| target.has_fpv5);
        // Several differ by nothing but the core, whose name the compiler may have written, or the
        // floating-point unit.
        let named = target.and_then(|target| target.cpu_name.as_deref()).unwrap_or_default();
        let named = if has_fpv5 { NEWER_CORE } else { named };
        if families.iter().any(|family| family.core.eq_ignore_ascii_case(named)) {
            families.retain(|family| family.core.eq_ignore_ascii_case(named));
        }
        let programmed = firmware.segments().iter().filter(|s| !s.data().is_empty());
        Evidence {
            architecture,
            lowest: programmed.map(|s| s.load_address.0).min().unwrap_or(0),
            blocks: blocks(&used.constants),
            families,
            is_older,
            lacking: is_older.then(|| older::first_lacking(firmware, Architecture::V7M)).flatten(),
            has_fpv5,
            is_beyond_v6m: architecture.is_none() && !runs("ARMv6-M"),
        }
    }

    /// Whether a board's core has the instructions that were found, where no architecture is named.
    fn runs_on(&self, firmware: &Firmware, board: &Board) -> bool {
        let core = board.arm_core().map(|core| core.timing.kind.architecture());
        self.architecture.is_some() || core.is_none_or(|core| reached::runs(firmware, core))
    }

    /// Blocks of registers that a board has nothing at.
    fn missing(&self, bus: &Bus) -> Vec<u32> {
        self.blocks.iter().copied().filter(|&at| bus.place_of(at).is_none()).collect()
    }

    /// Whether a board is of the code's family: with its core, since families have the same blocks
    /// at the same addresses.
    fn of_family(&self, board: &Board, bus: &Bus) -> bool {
        let core = without_fpu(board.core_name());
        let is = |family: &&Family| without_fpu(&family.core) == core && family.has(bus);
        self.families.iter().any(is)
    }

    /// Whether a board is certainly not what the code was written for.
    fn speaks_against(&self, board: &Board, bus: &Bus) -> bool {
        match self.families.is_empty() {
            _ if self.has_fpv5 => true,
            false => !self.of_family(board, bus),
            true => {
                let missing = self.missing(bus).len();
                self.blocks.len() >= LEAST_BLOCKS && 2 * missing > self.blocks.len()
            }
        }
    }

    /// What is known of the chip, for people: `STM32G0 or STM32L0 (Cortex-M0+)`.
    fn likely(&self) -> String {
        names(self.families.iter().copied())
    }

    /// Where no architecture is named, what a board may be wrong for: families that have the same
    /// registers as its own and another core. Code that does without what a Cortex-M0 lacks was
    /// hardly built for a newer one.
    fn as_well(&self, board: &Board) -> String {
        let core = without_fpu(board.core_name());
        let others = self.families.iter().filter(|family| without_fpu(&family.core) != core);
        match names(others.copied()) {
            others if others.is_empty() || !self.is_beyond_v6m => String::new(),
            others => format!(
                ", though the file names no core, and by its registers it may be for \
                 {others} as well"
            ),
        }
    }

    fn built_for(&self) -> &'static str {
        match self.architecture {
            Some("ARMv7") => "ARMv7-M",
            Some("ARMv6S-M") => "ARMv6-M",
            Some("ARMv7E-M") if self.has_fpv5 => "ARMv7E-M with the FPv5 of a Cortex-M7",
            Some(other) => other,
            None if self.is_beyond_v6m => "an unknown architecture, newer than ARMv6-M",
            None => "an unknown architecture",
        }
    }
}

/// A core's name without the letter for its floating-point unit.
fn without_fpu(core: &str) -> &str {
    core.trim_end_matches('F')
}

/// Families by name and core, for people.
fn names(families: impl Iterator<Item = &'static Family>) -> String {
    let names: Vec<_> = families.map(|f| format!("{} ({})", f.name, f.core)).collect();
    match names.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}

/// First addresses that code names in each block of a peripheral region.
fn blocks(constants: &BTreeMap<u32, u32>) -> Vec<u32> {
    let is_register = |at: u32| {
        let region = matches!(at >> 16, 0x4000..=0x400f | 0x4800 | 0x5000..=0x5006 | 0x5802);
        region && at.is_multiple_of(4) && at != 0x4000_0000
    };
    let mut all: Vec<u32> = constants.keys().copied().filter(|&at| is_register(at)).collect();
    all.dedup_by_key(|at| *at / BLOCK);
    all
}

/// The built-in board that a firmware is for.
///
/// # Errors
/// Why none is, and what else can be done, in words.
pub fn choose(firmware: &Firmware) -> Result<Choice, FitError> {
    if firmware.machine() == Machine::Avr {
        return avr::choose(firmware);
    }
    let evidence = Evidence::of(firmware);
    let Some((usual, why)) = usual(&evidence)? else {
        let found = best(firmware, &evidence);
        let found = found.ok_or_else(|| refusal(firmware, &evidence));
        return found.map(|(board, why)| Choice { board, why });
    };
    let board = Board::builtin(usual)?;
    let mut bus = board.build()?;
    let has_memory = super::load(firmware, &mut bus).is_ok() && advice::has_data(firmware, &bus);
    let starts = super::vectors::start(firmware, &board, &bus).is_ok();
    // Without a table anywhere it is the image that is wrong, which is said when it is loaded.
    let at_home = has_memory && (starts || firmware.vector_table().is_none());
    let runs = evidence.runs_on(firmware, &board);
    let fits = at_home && runs && !evidence.speaks_against(&board, &bus);
    let exact = evidence.missing(&bus).is_empty() || evidence.of_family(&board, &bus);
    let chosen = if fits && (exact || evidence.blocks.len() < LEAST_BLOCKS) {
        None
    } else {
        best(firmware, &evidence)
    };
    match chosen {
        Some((name, why)) => {
            let as_well = Board::builtin(name).map(|board| evidence.as_well(&board));
            Ok(Choice { board: name, why: why + &as_well.unwrap_or_default() })
        }
        None if fits => Ok(Choice { board: usual, why: why + &evidence.as_well(&board) }),
        None => Err(refusal(firmware, &evidence)),
    }
}

/// The board by core and flash alone; `None` where no board has its flash.
fn usual(evidence: &Evidence) -> Result<Option<(&'static str, String)>, FitError> {
    let at = format!("linked for flash at {:#04x}000000", evidence.lowest >> 24);
    let built = |name| (name, format!("built for {}, {at}", evidence.built_for()));
    Ok(Some(match (evidence.lowest >> 24, evidence.architecture) {
        (_, Some("ARMv8-M.baseline" | "ARMv8-M.mainline" | "ARMv8.1-M.mainline")) => {
            let (built_for, likely) = (evidence.built_for(), evidence.likely());
            return Err(FitError::Architecture { built_for, likely });
        }
        (0x08, Some("ARMv7E-M")) => built("stm32f407"),
        (0x08, Some("ARMv7")) => built("stm32f103"),
        (0x08, None) if evidence.is_beyond_v6m => built("stm32f407"),
        (0x08, _) => ("stm32f070cb", at),
        (0, Some("ARMv7")) => built("cortex-m3"),
        (0, Some("ARMv7E-M")) => built("cortex-m4f"),
        (0, None) if evidence.is_beyond_v6m => built("cortex-m4f"),
        (0, _) => ("cortex-m0", at),
        _ => return Ok(None),
    }))
}

/// The board that has most of the peripherals, if any has enough.
fn best(firmware: &Firmware, evidence: &Evidence) -> Option<(&'static str, String)> {
    if evidence.lacking.is_some() || evidence.has_fpv5 {
        return None;
    }
    let mut found: Option<(usize, &'static str)> = None;
    let least = if evidence.is_older { Fit::Less } else { Fit::Exact };
    for (name, bus) in advice::holding(firmware, least) {
        let missing = evidence.missing(&bus).len();
        let Ok(board) = Board::builtin(name) else { continue };
        if !evidence.runs_on(firmware, &board) {
            continue;
        }
        let is_own = evidence.of_family(&board, &bus);
        let known = is_own || evidence.families.is_empty();
        // Without clocks and pins of a family it takes more: where memory maps are densest, any two
        // chips have half of their blocks in common.
        let enough = evidence.blocks.len() >= LEAST_BLOCKS && 4 * missing < evidence.blocks.len();
        let better = found.is_none_or(|(least, _)| missing < least);
        if known && better && (enough || is_own) {
            found = Some((missing, name));
        }
    }
    let (missing, name) = found?;
    let all = evidence.blocks.len();
    let built = evidence.built_for();
    let code = if evidence.is_older { ", which its code does without" } else { "" };
    let why = format!(
        "for {built}{code}, and {} of the {all} blocks of peripheral registers that its code names \
         are on that board",
        all - missing
    );
    Some((name, why))
}

/// Those of the boards that nothing speaks against: cores without devices among them.
pub(super) fn suited(
    firmware: &Firmware,
    mut boards: Vec<(&'static str, Bus)>,
) -> Vec<(&'static str, Bus)> {
    boards.retain(|(name, bus)| {
        let suits = |board: Board| complaint(firmware, &board, bus).is_none();
        Board::builtin(name).is_ok_and(suits)
    });
    boards
}

/// The chip that a firmware is likely for, if its registers show one that none of these boards is.
pub(super) fn chip_beside(firmware: &Firmware, boards: &[&Board]) -> Option<String> {
    let is_arm = firmware.machine() != Machine::Avr;
    if !is_arm || boards.iter().any(|board| board.has_devices()) {
        return None;
    }
    Some(Evidence::of(firmware).likely()).filter(|likely| !likely.is_empty())
}

/// How to go on with a firmware whose chip is none of the boards that hold it.
pub(super) fn way_on(firmware: &Firmware) -> String {
    let evidence = Evidence::of(firmware);
    near(&evidence).unwrap_or_default() + &way_on_of(&evidence)
}

/// What of a firmware does not fit the board that it runs on, if much does not.
pub(super) fn complaint(firmware: &Firmware, board: &Board, bus: &Bus) -> Option<String> {
    if board.arm_core().is_none() {
        return avr::complaint(firmware, board, bus);
    }
    let evidence = Evidence::of(firmware);
    if !evidence.runs_on(firmware, board) {
        return Some(format!(
            "board {} does not fit this firmware: its code uses instructions that a {} lacks",
            board.name(),
            board.core_name()
        ));
    }
    if !evidence.speaks_against(board, bus) || !board.has_devices() {
        return None;
    }
    let missing = evidence.missing(bus);
    let why = reasons(evidence.blocks.len(), &missing, &evidence.likely());
    let built = evidence.has_fpv5.then(|| format!("it is built for {}", evidence.built_for()));
    let why = built.into_iter().chain(Some(why).filter(|why| !why.is_empty()));
    let why = why.collect::<Vec<_>>().join("; ");
    Some(format!(
        "board {} does not fit this firmware: {why}; clocks, pins and times may be wrong",
        board.name()
    ))
}
