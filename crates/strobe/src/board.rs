//! Which board: named, from a file, made for a chip that nobody described, or guessed from where
//! the firmware is linked and what it is built for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use strobe_devices::board::Board;
use strobe_devices::svd::Svd;
use strobe_source::simulated::fit;
use strobe_symbols::Firmware;

use crate::chip::{self, Description, Hertz, Memory};
use crate::exit;
use crate::files::{self, Kind};

/// Which board.
#[derive(clap::Args, Default)]
pub struct BoardArgs {
    /// Board: a name from `strobe boards` or a board file; by default the one the firmware is
    /// linked for.
    #[arg(long, value_name = "NAME|FILE")]
    board: Option<String>,
    #[command(flatten)]
    described: Described,
}

/// A chip that no board describes.
#[derive(clap::Args, Clone, Default)]
pub struct Described {
    /// The chip's CMSIS-SVD file: names, reset values and ready flags for registers that are not
    /// modelled. Without --board, the chip itself, with its memories taken from the firmware
    /// or --memory.
    #[arg(long, value_name = "FILE")]
    svd: Option<PathBuf>,
    /// Memories: `flash=0x08000000:1M,ram=0x20000000:128K`. With --board, in place of the
    /// board's own; without it, those of a chip that no board describes.
    #[arg(long, value_name = "KIND=ADDRESS:SIZE", value_delimiter = ',')]
    memory: Vec<Memory>,
    /// Core clock of a chip that no board describes, or of a board without a clock controller
    /// [default: 16MHz, or the board's].
    #[arg(long, value_name = "HZ")]
    clock: Option<Hertz>,
}

impl BoardArgs {
    /// The board of that name, or the one that fits the firmware.
    pub fn named(board: Option<String>) -> Self {
        BoardArgs { board, ..BoardArgs::default() }
    }

    /// That board, or a chip that is described.
    pub fn new(board: Option<String>, described: Described) -> Self {
        BoardArgs { board, described }
    }

    /// Registers the files that describe it.
    pub fn files(&self, named: &mut files::FileSet) {
        named.reads(self.board.iter().filter(|name| is_path(name)));
        self.described.files(named);
    }

    /// Whether anything was given.
    pub fn is_given(&self) -> bool {
        self.board.is_some() || self.described.is_given()
    }

    /// The options that were given.
    pub fn given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            (self.board.is_some(), "--board"),
            (self.described.svd.is_some(), "--svd"),
            (!self.described.memory.is_empty(), "--memory"),
            (self.described.clock.is_some(), "--clock"),
        ];
        given.into_iter().filter(|(is, _)| *is).map(|(_, option)| option)
    }

    /// The core clock that was given, in hertz.
    pub fn clock_hz(&self) -> Option<u32> {
        self.described.clock.map(|clock| clock.0)
    }
}

impl Described {
    /// Registers the file that describes it.
    pub fn files(&self, named: &mut files::FileSet) {
        named.reads(&self.svd);
    }

    fn is_given(&self) -> bool {
        self.svd.is_some() || !self.memory.is_empty() || self.clock.is_some()
    }

    /// Whether a chip is described rather than a board changed.
    fn is_chip(&self) -> bool {
        self.svd.is_some() || !self.memory.is_empty()
    }
}

/// A board and how it was chosen.
pub struct Choice {
    /// The board.
    pub board: Board,
    /// Why this one, when the user did not choose; for the report.
    pub note: Option<String>,
}

/// The board that the user named (a built-in one or a file) or described, or the one that fits the
/// firmware.
pub fn choose(options: &BoardArgs, firmware: &Firmware) -> anyhow::Result<Choice> {
    let BoardArgs { board, described } = options;
    let svd = described.svd.as_deref().map(read_svd).transpose()?.map(Arc::new);
    let choice = match board {
        Some(name) => changed(Choice { board: load(name)?, note: None }, described)?,
        None if described.is_chip() => {
            let given = Description {
                svd: svd.as_deref(),
                memories: &described.memory,
                clock: described.clock,
            };
            let (board, note) = chip::board(firmware, &given)?;
            Choice { board, note: Some(note) }
        }
        None => changed(fitting(firmware)?, described)?,
    };
    Ok(match svd {
        Some(svd) => Choice { board: choice.board.with_svd(svd), ..choice },
        None => choice,
    })
}

/// A board with what the user gave for its memories and clock.
fn changed(choice: Choice, described: &Described) -> anyhow::Result<Choice> {
    let Choice { mut board, mut note } = choice;
    if !described.memory.is_empty() {
        let regions: Vec<_> = described.memory.iter().map(|memory| memory.0).collect();
        board = board.with_memories(&regions).map_err(|e| exit::usage(format!("--memory: {e}")))?;
    }
    let Some(clock) = described.clock else { return Ok(Choice { board, note }) };
    let name = board.name().to_owned();
    match board.clone().with_clock(clock.0) {
        Some(board) => {
            let board = board.map_err(|e| exit::usage(format!("--clock: {e}")))?;
            Ok(Choice { board, note })
        }
        None => {
            let text = format!(
                "--clock does not apply: board {name} has a clock controller, and the firmware \
                 sets its clock"
            );
            note = Some(note.map_or_else(|| text.clone(), |note| format!("{note}; {text}")));
            Ok(Choice { board, note })
        }
    }
}

/// Reads an SVD file.
pub fn read_svd(path: &Path) -> anyhow::Result<Svd> {
    let shown = path.display();
    let bytes = files::bytes(path, &Kind::SVD)?;
    let text = String::from_utf8_lossy(&bytes);
    Svd::parse(&text).map_err(|e| exit::data(format!("{shown}: {e}")))
}

/// The built-in board that fits the firmware.
fn fitting(firmware: &Firmware) -> anyhow::Result<Choice> {
    let chosen = fit::choose(firmware).map_err(|error| exit::data(error.to_string()))?;
    let (name, why) = (chosen.board, chosen.why);
    let note =
        format!("board {name} was chosen because the firmware is {why}; --board names another");
    Ok(Choice { board: load(name)?, note: Some(note) })
}

/// Whether a board is named by its file.
fn is_path(name: &str) -> bool {
    name.ends_with(".toml") || name.contains(std::path::MAIN_SEPARATOR)
}

/// The board of that name, or in that file.
pub fn load(name: &str) -> anyhow::Result<Board> {
    if !is_path(name) {
        return Board::builtin(name).map_err(|e| exit::usage(e.to_string()));
    }
    let toml = files::text(Path::new(name), &Kind::BOARD)?;
    // The parser's messages show the line in question: indented, they stay one message.
    let message = |e: String| format!("board file {name}: {}", e.trim_end().replace('\n', "\n  "));
    Board::parse(&toml).map_err(|e| exit::data(message(e.to_string())))
}
