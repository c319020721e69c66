//! What speaks against a board, and how to go on with a chip that no built-in board is.

use std::ops::Range;

use strobe_devices::board::Board;
use strobe_model::number::counted;
use strobe_symbols::Firmware;

use super::super::families::{self, Family};
use super::{Evidence, FitError};

/// Addresses shown of what is missing.
const MOST_SHOWN: usize = 4;
/// Where the file names no core and registers show none: what most chips beyond ARMv6-M have, and
/// what the others have.
const LIKELY_CORES: [&str; 2] = ["Cortex-M4F", "Cortex-M0+"];

pub(super) fn refusal(firmware: &Firmware, evidence: &Evidence) -> FitError {
    let (programmed, data) = memory(firmware);
    let mut known = format!(", programmed to {programmed}");
    if !data.is_empty() {
        known += &format!(", with data at {data}");
    }
    if let Some(table) = firmware.vector_table() {
        known += &format!(", with its first stack at {:#010x}", table.stack);
    }
    known += &match evidence.likely() {
        empty if empty.is_empty() && evidence.blocks.is_empty() => String::new(),
        empty if empty.is_empty() => {
            format!(", and its code uses peripherals at {}", shown(&evidence.blocks))
        }
        likely => format!("; by its registers it is for {likely}"),
    };
    FitError::NoBoard {
        built_for: evidence.built_for().to_owned(),
        evidence: known,
        advice: near(evidence).unwrap_or_default() + &way_on_of(evidence),
    }
}

/// How to go on with a chip that is no built-in board. A file without an architecture leaves the
/// core to the user.
pub(super) fn way_on_of(evidence: &Evidence) -> String {
    let board = match evidence.architecture {
        Some(_) => String::new(),
        None => format!("--board {} ", core_alone(evidence)),
    };
    format!(
        "\n  go on with its core and memories alone: {board}--memory \
         flash=ADDRESS:SIZE,ram=ADDRESS:SIZE and the chip's --svd FILE\
         \n  or with a board file of your own: strobe boards --new FILE.svd writes one, --board \
         FILE.toml runs it"
    )
}

/// The board that has the likely core and nothing else.
fn core_alone(evidence: &Evidence) -> &'static str {
    let [newer, older] = LIKELY_CORES;
    let usual = if evidence.is_beyond_v6m { newer } else { older };
    let named = evidence.families.iter().map(|family| family.core.as_str());
    let mut cores = named.chain([usual]);
    let board = |core: &str| {
        Board::builtin_names().find(|name| {
            let board = Board::builtin(name).ok();
            board.is_some_and(|board| !board.has_devices() && board.core_name() == core)
        })
    };
    cores.find_map(board).unwrap_or("NAME")
}

/// The board that has the firmware's peripherals, and what it lacks.
pub(super) fn near(evidence: &Evidence) -> Option<String> {
    let name = evidence.families.iter().find_map(|family| board_of(family))?;
    Some(match evidence.lacking {
        Some(at) => format!(
            "\n  board {name} has its peripherals, but its core lacks the instruction at \
             {at:#010x}: build for that core, or --board {name} runs it until there"
        ),
        None => format!(
            "\n  board {name} has its peripherals but not its memories: --board {name} \
             --memory flash=ADDRESS:SIZE,ram=ADDRESS:SIZE"
        ),
    })
}

/// Where a firmware is programmed to, and where it has data beside that.
fn memory(firmware: &Firmware) -> (String, String) {
    let programmed = families::programmed(firmware);
    let is_elsewhere = |range: &Range<u64>| {
        programmed.iter().all(|p| range.end <= p.start || p.end <= range.start)
    };
    let data = firmware.segments().iter().map(strobe_symbols::Segment::run_range);
    let data = families::joined(data.filter(|range| !range.is_empty() && is_elsewhere(range)));
    (ranges(&programmed), ranges(&data))
}

fn ranges(all: &[Range<u64>]) -> String {
    let shown = all.iter().take(MOST_SHOWN);
    let shown = shown.map(|range| format!("{:#010x}..{:#010x}", range.start, range.end));
    let more = if all.len() > MOST_SHOWN { " and more" } else { "" };
    shown.collect::<Vec<_>>().join(" and ") + more
}

/// A built-in board of a family.
fn board_of(family: &Family) -> Option<&'static str> {
    let is = |name: &&'static str| {
        let board = Board::builtin(name).ok().filter(|board| board.core_name() == family.core);
        board.and_then(|board| board.build().ok()).is_some_and(|bus| family.has(&bus))
    };
    Board::builtin_names().find(is)
}

fn shown(blocks: &[u32]) -> String {
    let first = blocks.iter().take(MOST_SHOWN).map(|at| format!("{at:#010x}"));
    let more = if blocks.len() > MOST_SHOWN { ", ..." } else { "" };
    first.collect::<Vec<_>>().join(", ") + more
}

/// Which of the blocks of registers are not on the board, if any, and what the firmware is for, if
/// that is known.
pub(super) fn reasons(blocks: usize, missing: &[u32], likely: &str) -> String {
    let absent = match missing.len() {
        0 => None,
        n => Some(format!(
            "of {} of peripheral registers that its code names, {n} {} not on it ({})",
            counted(blocks as u64, "block"),
            if n == 1 { "is" } else { "are" },
            shown(missing)
        )),
    };
    let likely =
        (!likely.is_empty()).then(|| format!("by its registers the firmware is for {likely}"));
    absent.into_iter().chain(likely).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_missing_is_no_empty_list() {
        let likely = "by its registers the firmware is for STM32F1";
        assert_eq!(reasons(3, &[], "STM32F1"), likely);
        let absent = "of 3 blocks of peripheral registers that its code names, 1 is not on it \
                      (0x50000000)";
        assert_eq!(reasons(3, &[0x5000_0000], ""), absent);
        assert_eq!(reasons(3, &[0x5000_0000], "STM32F1"), format!("{absent}; {likely}"));
    }
}
