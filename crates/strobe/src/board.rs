//! Which board: named, from a file, or guessed from where the firmware is linked and what it is built for.

use strobe_sim::board::Board;
use strobe_symbols::Firmware;

use crate::exit;

/// A board and whether it was guessed.
pub struct Choice {
    /// The board.
    pub board: Board,
    /// Why this one, when the user did not say.
    pub guessed: Option<String>,
}

/// The board that the user named (a built-in one or a file), or the one that fits the firmware.
pub fn choose(named: Option<&str>, firmware: &Firmware) -> anyhow::Result<Choice> {
    if let Some(name) = named {
        return Ok(Choice { board: load(name)?, guessed: None });
    }
    let lowest = firmware.segments().iter().map(|s| s.load_address.0).min().unwrap_or(0);
    let architecture = firmware.build_target().and_then(|target| target.architecture);
    let (name, why) = match (lowest >> 24, architecture) {
        (0x08, Some("ARMv7E-M")) => {
            ("stm32f407", "built for ARMv7E-M, linked for flash at 0x08000000")
        }
        (0x08, _) => ("stm32f070cb", "linked for flash at 0x08000000"),
        (_, Some("ARMv7")) => ("cortex-m3", "built for ARMv7-M, linked for flash at 0x00000000"),
        (_, Some("ARMv7E-M")) => {
            ("cortex-m4f", "built for ARMv7E-M, linked for flash at 0x00000000")
        }
        _ => ("cortex-m0", "linked for flash at 0x00000000"),
    };
    if lowest >> 24 != 0x08 && lowest >> 24 != 0 {
        return Err(exit::usage(format!(
            "no board fits a firmware linked at {lowest:#010x}; say which with --board (`strobe boards` \
             lists them)"
        )));
    }
    Ok(Choice { board: load(name)?, guessed: Some(why.to_owned()) })
}

fn load(name: &str) -> anyhow::Result<Board> {
    let is_path = name.ends_with(".toml") || name.contains(std::path::MAIN_SEPARATOR);
    if !is_path {
        return Board::builtin(name).map_err(|e| exit::usage(e.to_string()));
    }
    let toml = std::fs::read_to_string(name)
        .map_err(|e| exit::no_input(format!("cannot read board file {name}: {e}")))?;
    // The parser's messages show the line in question: indented, they stay one message.
    let message = |e: String| format!("{name}: {}", e.trim_end().replace('\n', "\n  "));
    Board::parse(&toml).map_err(|e| exit::data(message(e.to_string())))
}
