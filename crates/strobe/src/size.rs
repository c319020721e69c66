//! `strobe size`: what fills flash and RAM, from the image alone.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use strobe_memory::size::{self, Layers, LinkerMap, Settings, WhyError};
use strobe_model::measurement::Measurement;
use strobe_report::text::Tree;

use crate::files::{self, Kind};
use crate::log::ArchiveArgs;
use crate::output::OutputArgs;
use crate::{exit, input, measurement};

const EXAMPLES: &str = "\
Examples:
  strobe size firmware.elf
  strobe size firmware.elf --map firmware.map --by archive
  strobe size firmware.elf --by file --top 0
  strobe size firmware.elf --treemap
  strobe size firmware.elf --by support
  strobe size firmware.elf --why _printf_float
  strobe size new.elf --against old.elf
  strobe size firmware.elf -o size.measurement; strobe export size.measurement --to flamegraph

Data that is copied from flash to RAM takes both, and is counted in both. A byte belongs to one
symbol; what no symbol covers is named, and the sums are those of the image. What refers to what is
found in machine code and data (docs/size.md).

Exit codes: 0 done, 64 wrong arguments, 65 unusable firmware, map or rules, 66 cannot be read, 74
cannot be written";

/// Show what fills flash and RAM: by symbol, section, file, directory, layer, crate or archive,
/// with inlined code, large constants and duplicates; from the ELF file alone.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The firmware, an ELF file.
    firmware: PathBuf,
    /// The linker's map (GNU ld or lld, `-Wl,-Map=FILE`): objects and archive members, and the
    /// sizes of the chip's memories.
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
    /// Rules for layers, which come before the built-in ones (docs/size.md).
    #[arg(long, value_name = "FILE")]
    layers: Option<PathBuf>,
    /// What rows stand for.
    #[arg(long, value_enum, default_value_t = By::Symbol)]
    by: By,
    /// Order symbols by the RAM that they take, not by flash.
    #[arg(long)]
    ram: bool,
    /// Print the tree of directories, files and symbols as well.
    #[arg(long)]
    tree: bool,
    /// Draw directories, files and symbols as areas, as large as their bytes.
    #[arg(long)]
    treemap: bool,
    /// Show why a symbol is there: the shortest ways to it from where the program is entered, what
    /// refers to it, and the bytes that go with each reference. A name, or an address (0x8000123).
    #[arg(long, value_name = "SYMBOL")]
    #[arg(conflicts_with_all = ["against", "by", "ram", "tree", "treemap", "log"])]
    why: Option<String>,
    /// Another build, or its measurement: what grew, shrank, appeared and went since then.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    #[command(flatten)]
    result: OutputArgs,
    #[command(flatten)]
    log: ArchiveArgs,
}

impl Args {
    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::FileSet) {
        named.reads(
            [Some(&self.firmware), self.map.as_ref(), self.layers.as_ref()].into_iter().flatten(),
        );
        named.reads(&self.against);
        self.result.files(named);
    }
}

/// What rows stand for.
#[derive(Clone, Copy, clap::ValueEnum)]
enum By {
    /// Functions, variables and constants.
    Symbol,
    /// Sections of the image.
    Section,
    /// Source files.
    File,
    /// Directories of source files.
    Directory,
    /// Kernel, libraries, application and so on, by rules.
    Layer,
    /// Crates, of a program with Rust.
    Crate,
    /// Archives and objects, from the linker's map.
    Archive,
    /// Members of archives, from the linker's map.
    Member,
    /// Functions whose code was inlined into others.
    Inlined,
    /// Large constants.
    Constant,
    /// What is there more than once.
    Duplicate,
    /// What the language and the library bring along, as formatting and floating point, and who
    /// needs it.
    Support,
}

impl By {
    /// The section with these rows.
    fn section(self) -> &'static str {
        match self {
            By::Symbol => "profile",
            By::Section => "sections",
            By::File => "files",
            By::Directory => "directories",
            By::Layer => "layers",
            By::Crate => "crates",
            By::Archive => "archives",
            By::Member => "members",
            By::Inlined => "inlined",
            By::Constant => "constants",
            By::Duplicate => "duplicates",
            By::Support => "support",
        }
    }

    /// Why there may be none.
    fn missing(self) -> &'static str {
        match self {
            By::Crate => "the firmware's debug information names no Rust compiler",
            By::Archive | By::Member => {
                "only the linker's map knows archives: link with -Wl,-Map=firmware.map and give \
                 it with --map"
            }
            By::File | By::Directory => "the firmware has no debug information: compile with -g",
            By::Inlined => "the debug information describes no inlined code",
            By::Constant => "no constant is that large",
            By::Duplicate => "nothing is there more than once",
            By::Support => "it has no such code, or no symbols",
            _ => "the firmware has none",
        }
    }
}

/// Measures and prints.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.log.ready()?;
    let settings = settings(args)?;
    if let Some(symbol) = &args.why {
        return why(args, &settings, symbol);
    }
    let now = measured(&args.firmware, &settings)?;
    let Some(before) = &args.against else {
        args.result.measurement(&now, &selection(args, &now)?)?;
        args.log.add(&now)?;
        return Ok(ExitCode::SUCCESS);
    };
    let before = match measurement::read(before)? {
        Some(measurement) => measurement,
        // The map is this build's.
        None => {
            let layers = layers(args.layers.as_deref())?;
            measured(before, &Settings { layers, ..Settings::default() })?
        }
    };
    let compared = strobe_report::comparison::compare(&before, &now);
    args.result.measurement(&compared, &args.result.selection())?;
    args.log.add(&now)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows why a symbol is there.
fn why(args: &Args, settings: &Settings, symbol: &str) -> anyhow::Result<ExitCode> {
    let path = &args.firmware;
    let firmware = input::firmware(path)?;
    let found = size::why(&firmware, &input::file_name(path), settings, symbol);
    let measurement = found.map_err(|error| match error {
        WhyError::Stripped => exit::data(format!("{}: {error}", path.display())),
        error => exit::usage(format!("--why {symbol}: {error}")),
    })?;
    let selection = args.result.selection();
    let overview = || ["why", "references", "goes"].map(str::to_owned).to_vec();
    let sections = Some(selection.sections.clone().unwrap_or_else(overview));
    let selection = strobe_report::text::Selection { sections, ..selection };
    args.result.measurement(&measurement, &selection)?;
    Ok(ExitCode::SUCCESS)
}

fn measured(path: &Path, settings: &Settings) -> anyhow::Result<Measurement> {
    let firmware = input::firmware(path)?;
    Ok(size::measure(&firmware, &input::file_name(path), settings))
}

fn settings(args: &Args) -> anyhow::Result<Settings> {
    let map = match &args.map {
        Some(path) => {
            let text = files::text(path, &Kind::MAP)?;
            let map = LinkerMap::parse(&text);
            Some(map.map_err(|e| exit::data(format!("{}: {e}", path.display())))?)
        }
        None => None,
    };
    Ok(Settings { map, regions: Vec::new(), layers: layers(args.layers.as_deref())? })
}

/// The rules of a file, and the built-in ones.
pub fn layers(path: Option<&Path>) -> anyhow::Result<Layers> {
    let Some(path) = path else { return Ok(Layers::default()) };
    let text = files::text(path, &Kind::LAYERS)?;
    Layers::parse(&text).map_err(|e| exit::data(format!("{}: {e}", path.display())))
}

/// The overview and the rows that were asked for.
fn selection(
    args: &Args,
    measurement: &Measurement,
) -> anyhow::Result<strobe_report::text::Selection> {
    let selection = args.result.selection();
    let rows = args.by.section();
    if measurement.section(rows).is_none() {
        let no_files = measurement.findings.iter().find(|finding| finding.code == "no-files");
        let why = match args.by {
            By::File | By::Directory | By::Inlined => no_files.map(|finding| finding.text.as_str()),
            _ => None,
        };
        let why = why.unwrap_or(args.by.missing());
        return Err(exit::usage(format!("no rows by {rows}: {why}")));
    }
    let mut sections = vec!["regions", "layers", rows];
    if args.tree || args.treemap {
        sections.push("profile");
    }
    let overview = || sections.into_iter().map(str::to_owned).collect();
    Ok(strobe_report::text::Selection {
        measure: args.ram.then(|| "ram".to_owned()),
        tree: args.tree.then(Tree::default),
        treemap: args.treemap,
        sections: Some(selection.sections.clone().unwrap_or_else(overview)),
        ..selection
    })
}
