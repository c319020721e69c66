//! Which files strobe's own commands read and write that measure a firmware: what this process
//! writes must be none of them.

use std::path::Path;

use clap::Parser;

use super::config::{Config, Firmware};
use crate::{Cli, Command, files, input};

/// Registers the files that a `strobe.toml` names, before anything is built or measured.
///
/// # Errors
/// If one of them is an output of this process, or an output of a command what this process reads.
pub fn register(config: &Config, directory: &Path) -> anyhow::Result<()> {
    let mut own = files::FileSet::default();
    own.reads([&config.baseline]);
    own.within(directory).register_for_others()?;
    let mut all = files::FileSet::default();
    for firmware in &config.firmware {
        all.reads([&firmware.elf]);
        all.reads(firmware.measurement.values().map(|other| &other.file));
        all.add(named(firmware));
    }
    all.within(directory).register_for_others()
}

/// Registers the source files that the runs of a firmware read lines from, as its debug information
/// names them. Before its build there may be none; then there is nothing to register yet.
///
/// # Errors
/// If one of them is an output of this process.
pub fn register_sources(firmware: &Firmware, directory: &Path) -> anyhow::Result<()> {
    let Some(Command::Run(run)) = parsed(firmware, "run", &firmware.run) else { return Ok(()) };
    let Some(sources) = run.sources() else { return Ok(()) };
    match input::firmware(&directory.join(&firmware.elf)) {
        Ok(elf) => sources.seen_from(directory).register(&elf),
        Err(_) => Ok(()),
    }
}

/// One of strobe's own commands with the options that a firmware has for it. Options that no
/// command takes are none: what cannot be started reads nothing.
fn parsed(firmware: &Firmware, command: &str, options: &[String]) -> Option<Command> {
    let elf = firmware.elf.display().to_string();
    let words = ["strobe", command, &elf].into_iter().chain(options.iter().map(String::as_str));
    Cli::try_parse_from(words).ok().map(|cli| cli.command)
}

/// The files that the options of a firmware's measurements name, as they name them.
pub fn named(firmware: &Firmware) -> files::FileSet {
    let mut named = files::FileSet::default();
    let board = firmware.board.iter().flat_map(|board| ["--board".to_owned(), board.clone()]);
    let run: Vec<String> = board.chain(firmware.run.iter().cloned()).collect();
    let all = [("run", &run), ("size", &firmware.size), ("stack", &firmware.stack)];
    for command in all.into_iter().filter_map(|(name, options)| parsed(firmware, name, options)) {
        named.add(crate::named(&command));
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_those_of_the_options_from_their_directory() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let firmware = Firmware {
            elf: "fw.elf".into(),
            board: Some("./board.toml".into()),
            run: words(&["--uart-input", "USART1=file:in.txt", "--uart", "USART1=file:log"]),
            size: words(&["--map", "fw.map"]),
            stack: words(&["--no-such-option"]),
            ..Firmware::default()
        };
        named(&firmware).within(folder.path()).register_for_others().expect("nobody else's");
        for name in ["fw.elf", "board.toml", "in.txt", "log", "fw.map"] {
            let mut output = files::FileSet::default();
            output.writes("-o", [at(name)]);
            assert!(output.register().is_err(), "{name}");
        }
        let mut output = files::FileSet::default();
        output.writes("-o", [at("other")]);
        output.register().expect("nobody's");
    }
}
