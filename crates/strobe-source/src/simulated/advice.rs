//! Which board a firmware may be meant for, when the one it was given is not it.
//!
//! Only built-in boards are looked at, and only what is certain of them: whether the firmware's
//! segments and vectors fit their memories, whether their core runs its code, and which addresses
//! their devices answer. A name is never more than advice.

use strobe_devices::board::Board;
use strobe_model::measurement::Finding;
use strobe_model::number::grouped;
use strobe_sim::bus::Bus;
use strobe_sim::unmodelled::Poll;
use strobe_symbols::{Firmware, Machine};

use super::{families, fit, fuses};
use crate::names::Names;

/// With fewer registers of devices that are not there, it may be chance that another board has
/// some.
const LEAST_REGISTERS: usize = 3;

/// Loops reported; threads may wait in several.
const MOST_LOOPS: usize = 3;

/// For a firmware with bytes where the board has no memory: what to try.
pub(super) fn board_that_holds(firmware: &Firmware) -> String {
    let found = suited(firmware);
    if let Some(other) = other_chip(firmware, &found) {
        return other;
    }
    match list(&found) {
        Some(names) => format!(
            "it fits {names}; or write a board file for the part (--board \
                                FILE.toml)"
        ),
        None => "no built-in board of its kind has memory at all its addresses (`strobe boards` \
                 lists them); state how much the part has with --memory \
                 flash=ADDRESS:SIZE,ram=ADDRESS:SIZE (with --board NAME where only the memories \
                 differ), or write a board file for it (--board FILE.toml)"
            .to_owned(),
    }
}

/// For a firmware whose vectors are not where the board starts.
pub(super) fn board_with_vectors(firmware: &Firmware, board: &Board) -> String {
    let name = board.name();
    let found = suited(firmware);
    if let Some(other) = other_chip(firmware, &found) {
        return format!("is the firmware linked for board {name}? {other}");
    }
    match list(&found) {
        Some(names) => format!("is the firmware linked for board {name}? it fits {names}"),
        None => format!(
            "is the firmware linked for board {name}? its vector table must come first in flash"
        ),
    }
}

/// The boards that hold a firmware, without those that its peripherals speak against.
fn suited(firmware: &Firmware) -> Vec<(&'static str, Bus)> {
    fit::suited(firmware, holding(firmware, Fit::Exact))
}

/// For a firmware whose registers show a chip that none of the boards found is: which one that is,
/// and how to go on.
fn other_chip(firmware: &Firmware, found: &[(&'static str, Bus)]) -> Option<String> {
    let boards: Vec<Board> =
        found.iter().filter_map(|(name, _)| Board::builtin(name).ok()).collect();
    let likely = fit::chip_beside(firmware, &boards.iter().collect::<Vec<_>>())?;
    let core = list(found).map(|names| format!(", its core alone is that of {names}"));
    Some(format!(
        "by its registers it is for {likely}, and no built-in board with its \
         memories is such a chip{}{}",
        core.unwrap_or_default(),
        fit::way_on(firmware)
    ))
}

/// Data without memory, registers without a device, and loops that wait for them. Registers that
/// the SVD file has are those of the chip that the user has named: that this board has no device
/// there shows nothing of another one.
pub(super) fn warnings(
    firmware: &Firmware,
    board: &Board,
    bus: &Bus,
    end: u64,
    names: &Names,
) -> Vec<Finding> {
    let polled: Vec<_> = bus.unmodelled.polled(end).take(MOST_LOOPS).collect();
    let wait = |&(address, poll): &(u32, Poll)| waiting(address, poll, bus, names);
    let waits = polled.iter().map(wait).map(|text| Finding::warning("waits-for-register", text));
    let mut out: Vec<Finding> = waits.collect();
    let missing: Vec<u32> = bus
        .unmodelled
        .touched()
        .map(|(address, _)| address)
        .filter(|&address| bus.place_of(address).is_none() && !is_described(bus, address))
        .collect();
    let enough = missing.len() >= LEAST_REGISTERS || !polled.is_empty();
    match better(firmware, board, &missing).filter(|_| enough) {
        Some(better) => out.push(Finding::warning("other-board", better)),
        None => {
            let chip = fit::chip_beside(firmware, &[board]).filter(|_| !bus.has_svd());
            if !polled.is_empty() || enough && chip.is_some() {
                let text = match board.arm_core() {
                    Some(_) => other_remedies(bus, chip.as_deref()),
                    None => other_remedies_of_avr(board),
                };
                out.push(Finding::warning("no-other-board", text));
            }
        }
    }
    let awaited = bus.awaited(end).map(|(address, poll)| awaited(address, poll, bus, names));
    out.extend(awaited.map(|text| Finding::warning("waits-for-register", text)));
    let given_up = bus.given_up(end).take(MOST_LOOPS);
    let given_up = given_up.map(|(address, poll)| gave_up(address, poll, bus, names));
    out.extend(given_up.map(|text| Finding::warning("gave-up-waiting", text)));
    let misfit = data_without_memory(firmware, board, bus);
    out.extend(misfit.map(|text| Finding::warning("board-misfit", text)));
    out
}

/// Whether the chip's SVD file has a peripheral there.
fn is_described(bus: &Bus, address: u32) -> bool {
    bus.place_of(address).is_none() && bus.device_at(address).is_some()
}

/// A loop that reads a register for ever.
fn waiting(address: u32, poll: Poll, bus: &Bus, names: &Names) -> String {
    let place = names.describe(poll.pc).swap_remove(0);
    let name = bus.register_at(address).map(|name| format!("{name} at ")).unwrap_or_default();
    if poll.steady > poll.reads {
        return format!(
            "the firmware keeps reading a register that is not modelled: {name}{address:#010x}, {} \
             times, from {place} \
             last, and it is always {:#010x}",
            grouped(poll.steady),
            poll.value
        );
    }
    format!(
        "the firmware waits for a register that is not modelled: {place} has done nothing but read \
         {name}{address:#010x} \
         for the last {} cycles, {} times, and it is always {:#010x}",
        grouped(poll.last - poll.since),
        grouped(poll.reads),
        poll.value
    )
}

/// A loop that reads a modelled register until the run ends: a clock that takes its time to start,
/// a byte that does not come.
fn awaited(address: u32, poll: Poll, bus: &Bus, names: &Names) -> String {
    let place = names.describe(poll.pc).swap_remove(0);
    let register =
        bus.register_at(address).or_else(|| bus.device_at(address)).unwrap_or("a device");
    format!(
        "at the end of the run the firmware waits for a register: {place} has read {register} at \
         {address:#010x} \
         {} times in the last {} cycles, and it is always {:#010x}",
        grouped(poll.reads),
        grouped(poll.last - poll.since),
        poll.value
    )
}

/// A long loop that read a register and ended although that did not change: a timeout.
fn gave_up(address: u32, poll: Poll, bus: &Bus, names: &Names) -> String {
    let place = names.describe(poll.pc).swap_remove(0);
    let register =
        bus.register_at(address).or_else(|| bus.device_at(address)).unwrap_or("a register");
    format!(
        "the firmware waited for a register in vain and went on: {place} read {register} at \
         {address:#010x} {} times in {} cycles, with nothing else in between, and it was always \
         {:#010x}",
        grouped(poll.reads),
        grouped(poll.last - poll.since),
        poll.value
    )
}

/// What to do where no board is known to have the devices; `chip` is what the firmware is for.
fn other_remedies(bus: &Bus, chip: Option<&str>) -> String {
    const SVD: &str = "the chip's SVD file (--svd) gives reset values and many ready flags, ";
    let none = "no built-in board has more of the devices that this firmware uses";
    let what = match (bus.has_svd(), chip) {
        (true, _) => "devices that the SVD file describes are not modelled: ".to_owned(),
        (false, None) => format!("{none}: {SVD}"),
        (false, Some(chip)) => format!(
            "{none} beside its memories, and by its registers it is for {chip}: \
             {SVD}`strobe boards --new FILE.svd` makes a board file of it, "
        ),
    };
    format!(
        "{what}`ready` in a board file of your own defines what a flag follows \
         (crates/strobe-devices/boards/README.md)"
    )
}

/// The same for an AVR, of which there is no CMSIS-SVD file.
fn other_remedies_of_avr(board: &Board) -> String {
    let is_builtin = Board::builtin_names().any(|name| name == board.name());
    let base =
        if is_builtin { format!(", with base = \"{}\",", board.name()) } else { String::new() };
    format!(
        "no built-in board has more of the devices that this firmware uses: `ready` in a board \
         file of your own{base} defines what a flag follows \
         (crates/strobe-devices/boards/README.md)"
    )
}

/// The boards with the most of the registers that the firmware found missing, if that is more than
/// half.
fn better(firmware: &Firmware, board: &Board, missing: &[u32]) -> Option<String> {
    if missing.is_empty() {
        return None;
    }
    let covered = |bus: &Bus| missing.iter().filter(|&&at| bus.place_of(at).is_some()).count();
    let counts: Vec<_> =
        suited(firmware).into_iter().map(|(name, bus)| (name, covered(&bus))).collect();
    let most = counts.iter().map(|&(_, count)| count).max()?;
    if 2 * most <= missing.len() {
        return None;
    }
    let best: Vec<_> = counts.iter().filter(|c| c.1 == most).map(|c| c.0).collect();
    let (first, others) = best.split_first()?;
    let others = match others {
        [] => String::new(),
        others => format!(" (as many to those of {})", others.join(", ")),
    };
    Some(format!(
        "of the {} registers used where board {} has no device, {most} belong to devices of board \
         {first}{others}; \
         if the firmware is for that one, use --board {first}",
        missing.len(),
        board.name()
    ))
}

/// Variables that are nowhere; what is loaded was checked before the run.
fn data_without_memory(firmware: &Firmware, board: &Board, bus: &Bus) -> Option<String> {
    let segment = data(firmware).find(|segment| !has_room(bus, &segment.run_range()))?;
    let fits = list(&suited(firmware)).map(|names| format!("; the firmware fits {names}"));
    Some(format!(
        "the firmware has data at {:#010x}..{:#010x}, where board {} has no memory for all of it{}",
        segment.run_range().start,
        segment.run_range().end,
        board.name(),
        fits.unwrap_or_default()
    ))
}

/// `board a`, or `boards a, b, c`, with the option that selects one.
fn list(boards: &[(&str, Bus)]) -> Option<String> {
    let names: Vec<_> = boards.iter().map(|(name, _)| *name).collect();
    let (first, others) = names.split_first()?;
    Some(match others {
        [] => format!("board {first}: use --board {first}"),
        _ => format!("boards {}: use --board {first} for example", names.join(", ")),
    })
}

/// The built-in boards that could run the firmware, with its image in place, whose core is at least
/// as near to what it was built for as `least`.
pub(super) fn holding(firmware: &Firmware, least: Fit) -> Vec<(&'static str, Bus)> {
    let hold = |name| {
        let board = Board::builtin(name).ok()?;
        if fit(&board, firmware)? < least {
            return None;
        }
        let mut bus = board.build().ok()?;
        // An alias shows flash where another part may have it.
        let linked_for =
            data(firmware).all(|s| s.data().is_empty() || bus.is_at_home(s.load_address.0));
        let fits = linked_for
            && super::load(firmware, &mut bus).is_ok()
            && has_data(firmware, &bus)
            && super::vectors::start(firmware, &board, &bus).is_ok();
        fits.then_some((name, bus))
    };
    Board::builtin_names().filter_map(hold).collect()
}

/// Whether there is memory for all of the firmware's data.
pub(super) fn has_data(firmware: &Firmware, bus: &Bus) -> bool {
    data(firmware).all(|segment| has_room(bus, &segment.run_range()))
}

/// Segments that take memory.
fn data(firmware: &Firmware) -> impl Iterator<Item = &strobe_symbols::Segment> {
    let beside = families::configuration(firmware);
    firmware.segments().iter().filter(move |segment| {
        let at = u64::from(segment.load_address.0);
        let is_beside = beside.iter().any(|range| range.contains(&at));
        !is_beside && !fuses::is_for_programmer(firmware, segment)
    })
}

/// How a core and an architecture go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// The core lacks some instructions of the architecture, which the code may do without.
    Less,
    /// The core can do more.
    More,
    /// What it was built for.
    Exact,
}

/// How a board's core goes with what the firmware was built for, as the ELF's attributes name it;
/// `None` if it cannot run the code.
pub(super) fn fit(board: &Board, firmware: &Firmware) -> Option<Fit> {
    let target = firmware.build_target();
    let architecture = target.and_then(|target| target.architecture);
    let is_avr = firmware.machine() == Machine::Avr;
    let core = match board.arm_core() {
        Some(_) if is_avr => return None,
        None => return is_avr.then_some(Fit::Exact),
        Some(core) => core.timing.kind,
    };
    let level = if core.architecture().dsp { 2 } else { u8::from(core.architecture().v7m) };
    let wanted = match architecture {
        Some("ARMv6-M" | "ARMv6S-M") => 0,
        Some("ARMv7") => 1,
        Some("ARMv7E-M") => 2,
        _ => return Some(Fit::Exact),
    };
    let lacks_fpu =
        target.is_some_and(|target| target.has_fpu) && !core.architecture().fp && wanted == 2;
    match (level, wanted) {
        // Nearly every function of ARMv7-M code has instructions that ARMv6-M lacks.
        (0, 1..) => None,
        _ if level < wanted || lacks_fpu => Some(Fit::Less),
        _ if level > wanted => Some(Fit::More),
        _ => Some(Fit::Exact),
    }
}

fn has_room(bus: &Bus, range: &std::ops::Range<u64>) -> bool {
    let memory = |at: u64| u32::try_from(at).ok().and_then(|at| bus.memory_at(at));
    range.is_empty() || memory(range.start).is_some() && memory(range.end - 1).is_some()
}
