//! A chip that no board file describes: its core from the SVD file or the ELF, its memories from
//! the user or the firmware's own segments and stack.

mod guess;
mod parse;

use strobe_devices::board::{Board, Chip};
use strobe_devices::svd::Svd;
use strobe_model::number::hertz;
use strobe_sim::cortexm::timing::CoreKind;
use strobe_symbols::{Firmware, Machine};

use crate::exit;
pub use parse::{Hertz, Memory};

/// Core clock by default.
const DEFAULT_HZ: u32 = 16_000_000;
/// Priority bits by default: what most chips have.
const DEFAULT_PRIORITY_BITS: u8 = 4;
/// Interrupts that every core can have.
const LEAST_LINES: u16 = 32;
const MOST_LINES: u16 = 240;

/// What the user specified of the chip.
pub struct Description<'a> {
    pub svd: Option<&'a Svd>,
    pub memories: &'a [Memory],
    pub clock: Option<Hertz>,
}

/// A board for the chip, and the report's note on how it came about.
pub fn board(firmware: &Firmware, given: &Description) -> anyhow::Result<(Board, String)> {
    if firmware.machine() == Machine::Avr {
        return Err(exit::usage(
            "the firmware is for an AVR, whose core and registers are a board's: name one with \
             --board, as arduino-uno, beside --memory (`strobe boards` lists them); --svd is for \
             Arm's",
        ));
    }
    let (core, core_from) = core(firmware, given.svd)?;
    let vectors = guess::vectors(firmware);
    let mut memories: Vec<_> = given.memories.iter().map(|m| m.0).collect();
    let guessed = memories.is_empty();
    if guessed {
        memories = guess::memories(firmware, vectors).map_err(exit::usage)?;
    }
    let cpu = given.svd.and_then(|svd| svd.cpu.as_ref());
    let last = given.svd.and_then(|svd| svd.interrupts().keys().next_back());
    let lines = last.map_or(0, |n| n.saturating_add(1)).clamp(LEAST_LINES, MOST_LINES);
    let v7m = core.architecture().v7m;
    let chip = Chip {
        name: given.svd.map_or_else(|| "chip".to_owned(), |svd| svd.device.clone()),
        core,
        priority_bits: cpu
            .and_then(|cpu| cpu.priority_bits)
            .unwrap_or(DEFAULT_PRIORITY_BITS)
            .clamp(3, 8),
        irq_lines: if v7m { lines } else { LEAST_LINES },
        clock_hz: given.clock.map_or(DEFAULT_HZ, |clock| clock.0),
        memories,
        vectors,
    };
    let board = Board::generic(&chip).map_err(|e| exit::usage(e.to_string()))?;
    Ok((board, describe(&chip, core_from, guessed)))
}

fn describe(chip: &Chip, core_from: &str, guessed: bool) -> String {
    let regions = chip.memories.iter().map(|m| {
        let end = u64::from(m.base) + u64::from(m.size);
        format!("{} {:#010x}..{end:#010x}", parse::kind_name(m.kind), m.base)
    });
    let from = if guessed {
        "from the firmware's segments and stack; --memory sets them"
    } else {
        "as given by --memory"
    };
    format!(
        "no board file describes {}: it has a {} ({core_from}) at {} for the whole run, \
         memories {} ({from}), \
         and no peripheral does anything",
        chip.name,
        chip.core.name(),
        hertz(chip.clock_hz),
        regions.collect::<Vec<_>>().join(", ")
    )
}

/// The core, and where that is from.
fn core(firmware: &Firmware, svd: Option<&Svd>) -> anyhow::Result<(CoreKind, &'static str)> {
    let cpu = svd.and_then(|svd| svd.cpu.as_ref());
    let described = cpu.and_then(|cpu| match (cpu.name.as_str(), cpu.fpu) {
        ("CM0", _) => Some(CoreKind::CortexM0),
        ("CM0PLUS" | "CM0+" | "CM1", _) => Some(CoreKind::CortexM0plus),
        ("CM3", _) => Some(CoreKind::CortexM3),
        ("CM4", true) => Some(CoreKind::CortexM4f),
        ("CM4", false) => Some(CoreKind::CortexM4),
        _ => None,
    });
    if let Some(core) = described {
        return Ok((core, "by the SVD file"));
    }
    if let Some(cpu) = cpu.filter(|cpu| cpu.is_foreign()) {
        return Err(exit::usage(format!(
            "no core fits: that of the SVD file is {}, and none that can be simulated has its \
             instructions",
            cpu.name
        )));
    }
    let from = match cpu {
        Some(_) => "the nearest to the SVD file's",
        None => "by the architecture that the firmware is built for",
    };
    let built_for = firmware.build_target().and_then(|target| target.architecture);
    match built_for {
        Some("ARMv6-M" | "ARMv6S-M") => Ok((CoreKind::CortexM0plus, from)),
        Some("ARMv7") => Ok((CoreKind::CortexM3, from)),
        Some("ARMv7E-M") => Ok((CoreKind::CortexM4f, from)),
        other => Err(exit::usage(format!(
            "no core fits: the SVD file names {}, and the firmware is built for {}\
             \n  name a board with the chip's core beside --memory: --board cortex-m4f, or another \
             of `strobe boards`",
            cpu.map_or("none", |cpu| cpu.name.as_str()),
            other.unwrap_or("no known architecture")
        ))),
    }
}
