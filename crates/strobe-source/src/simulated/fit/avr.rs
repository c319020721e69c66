//! Which built-in board a firmware for an AVR is for: by the part that its file names, or else by
//! its architecture, where its data are, where its stack begins and how many vectors it has.
//!
//! The code of one AVR runs on nearly every other one, its registers, vectors and memories are at
//! other places there: only the part itself gives figures that mean something.

mod start_up;

use std::ops::Range;

use strobe_devices::board::{AvrParts, Board};
use strobe_sim::bus::Bus;
use strobe_symbols::{AvrPart, AvrTarget, Firmware};

use self::start_up::Table;
use super::super::advice::{self, Fit};
use super::{Choice, FitError};

/// Where ELF files have the data space.
const DATA: u32 = 0x80_0000;
/// What assemblers write where nobody chose an architecture.
const UNCHOSEN: [u8; 2] = [0, 2];
/// The board where nothing speaks for another one.
const USUAL: &str = "arduino-uno";
/// Architectures from here on have other registers, at other places (AVRxmega, `avrtiny`).
const OTHER_REGISTERS: u8 = 100;

/// The board of a firmware for an AVR.
///
/// # Errors
/// That there is none, with what is known of the part and what else can be done.
pub(super) fn choose(firmware: &Firmware) -> Result<Choice, FitError> {
    let boards = || Board::builtin_names().filter_map(|name| Some((name, part_of(name)?)));
    if let Some(part) = part(firmware) {
        let of_part = |board: &Board| is_of(&board.avr_parts(), &part.name);
        let found = boards().find(|(_, board)| of_part(board));
        return match found {
            Some((name, _)) => Ok(Choice { board: name, why: format!("built for {}", part.name) }),
            None => Err(refusal_of(part, boards())),
        };
    }
    let architecture = architecture(firmware);
    let stack = firmware.symbol_if_any("__stack").map(|symbol| DATA | symbol.address & 0xffff);
    let stack = stack.or_else(|| start_up::stack(firmware));
    let table = start_up::table(firmware);
    let mut fitting: Vec<(bool, &'static str)> = Vec::new();
    for (name, bus) in advice::holding(firmware, Fit::Exact) {
        let Some(board) = part_of(name) else { continue };
        let built = board.avr_parts().and_then(|parts| parts.architecture);
        let is_built_for = architecture.is_none_or(|number| built == Some(number));
        let core = board.avr_core();
        let own = core.map(|core| Table { vectors: core.vectors, bytes: core.vector_bytes });
        let has_vectors = table.is_none() || own == table;
        let in_ram = |at: u32| bus.memory_at(at).is_some_and(|memory| memory.writable);
        let begins_at_end = |at: u32| in_ram(at) && !in_ram(at + 1);
        if is_built_for && has_vectors && stack.is_none_or(in_ram) {
            fitting.push((stack.is_some_and(begins_at_end), name));
        }
    }
    // The first of those whose RAM ends where the stack begins, or else the usual one.
    fitting.sort_by_key(|(ends, name)| (!ends, *name != USUAL));
    match fitting.first() {
        Some((_, name)) => Ok(Choice { board: name, why: "built for AVR".to_owned() }),
        None => Err(refusal(firmware, architecture, stack, table)),
    }
}

/// What of a firmware does not fit the AVR that the user named, if it is certain.
pub(super) fn complaint(firmware: &Firmware, board: &Board, bus: &Bus) -> Option<String> {
    let name = board.name();
    let parts = board.avr_parts()?;
    let own = parts.same.first()?;
    if let Some(part) = part(firmware) {
        let memories = match parts.alike.contains(&part.name) {
            _ if is_of(&Some(parts), &part.name) => return None,
            true if has_memories(part, bus) => return None,
            true => "its memories are others",
            false => "registers, vectors and memories may be others, and so may times",
        };
        let built = &part.name;
        return Some(format!(
            "board {name} does not fit this firmware, which is built for {built}: the board has \
             an {own}, and {memories}"
        ));
    }
    let built = architecture(firmware)?;
    (parts.architecture != Some(built)).then(|| {
        format!(
            "board {name} does not fit this firmware, which is built for another sort of AVR \
             (architecture {built} as avr-gcc numbers them; of an {own} {}): registers, vectors \
             and memories may be others, and so may times",
            parts.architecture.map_or("unknown".to_owned(), |number| number.to_string())
        )
    })
}

/// Whether a board has the memories of a part, as `--memory` gives them to it.
fn has_memories(part: &AvrPart, bus: &Bus) -> bool {
    let ram = bus.ram.base..bus.ram.base + bus.ram.data.len() as u32;
    let flash = part.flash.end - part.flash.start;
    ram == in_data_space(&part.ram) && bus.flash.data.len() as u32 == flash
}

fn in_data_space(addresses: &Range<u32>) -> Range<u32> {
    addresses.start | DATA..addresses.end | DATA
}

/// The board of a name, if it is an AVR.
fn part_of(name: &str) -> Option<Board> {
    Board::builtin(name).ok().filter(|board| board.avr_parts().is_some())
}

fn part(firmware: &Firmware) -> Option<&AvrPart> {
    firmware.avr_target()?.part.as_ref()
}

fn is_of(parts: &Option<AvrParts<'_>>, name: &str) -> bool {
    parts.as_ref().is_some_and(|parts| parts.same.iter().any(|part| part == name))
}

/// The architecture, where one was chosen.
fn architecture(firmware: &Firmware) -> Option<u8> {
    let number = firmware.avr_target().map(|AvrTarget { architecture, .. }| *architecture)?;
    (!UNCHOSEN.contains(&number)).then_some(number)
}

fn refusal_of(part: &AvrPart, boards: impl Iterator<Item = (&'static str, Board)>) -> FitError {
    let AvrPart { name, flash, ram } = part;
    let (flash, bytes) = (flash.end - flash.start, ram.end - ram.start);
    let ram = in_data_space(ram);
    let evidence = format!(" ({flash} bytes of flash, {bytes} of RAM at {:#08x})", ram.start);
    let is_alike = |board: &Board| {
        board.avr_parts().is_some_and(|parts| parts.alike.iter().any(|alike| alike == name))
    };
    let mut alike = boards.filter(|(_, board)| is_alike(board));
    let with_memory = alike.next().map(|(board, _)| {
        format!(
            "\n  board {board} has its registers but not its memories: --board {board} --memory \
             flash=0:{flash},ram={:#08x}:{bytes}",
            ram.start
        )
    });
    let advice = with_memory.unwrap_or_default() + WAY_ON;
    FitError::NoBoard { built_for: name.clone(), evidence, advice }
}

fn refusal(
    firmware: &Firmware,
    architecture: Option<u8>,
    stack: Option<u32>,
    table: Option<Table>,
) -> FitError {
    let mut known = String::new();
    if let Some(number) = architecture {
        known += &format!(" (architecture {number} as avr-gcc numbers them");
        known += if number >= OTHER_REGISTERS { ", whose registers are others)" } else { ")" };
    }
    let data =
        firmware.segments().iter().filter(|s| (DATA..DATA + 0x1_0000).contains(&s.run_address));
    if let Some(start) = data.map(|segment| segment.run_address).min() {
        known += &format!(", with data from {start:#08x} on");
    }
    if let Some(stack) = stack {
        known += &format!(", with its first stack at {stack:#08x}");
    }
    if let Some(Table { vectors, bytes }) = table {
        known += &format!(", with {vectors} vectors of {bytes} bytes");
    }
    FitError::NoBoard { built_for: "AVR".to_owned(), evidence: known, advice: WAY_ON.to_owned() }
}

const WAY_ON: &str = "\n  `strobe boards` lists what there is; --board NAME runs it there all the \
                      same, with what that does not fit\n  or with a board file of your own \
                      (crates/strobe-devices/boards/README.md): --board FILE.toml";
