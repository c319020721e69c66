//! Builds the ELF of a manifest entry, and lists the files that it depends on.
//!
//! Commands are kept with `{root}` and `{cargo_home}` unexpanded until they run, so that the
//! provenance is the same on every machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::manifest::{Board, Manifest, Program, Recipe};

/// Directories on this machine.
pub(crate) struct Places {
    /// The repository.
    pub(crate) root: PathBuf,
    /// The build directory.
    pub(crate) build: PathBuf,
    cargo_home: PathBuf,
}

impl Places {
    pub(crate) fn new(root: PathBuf, build: PathBuf) -> Result<Self> {
        let cargo_home = match std::env::var_os("CARGO_HOME") {
            Some(home) => PathBuf::from(home),
            None => std::env::home_dir().context("neither CARGO_HOME nor a home")?.join(".cargo"),
        };
        std::fs::create_dir_all(&build).with_context(|| format!("creating {}", build.display()))?;
        // cargo runs in the package's directory: resolve relative paths first.
        let build = build.canonicalize()?;
        Ok(Self { root, build, cargo_home })
    }

    pub(crate) fn prebuilt(&self) -> PathBuf {
        self.root.join("firmware/prebuilt")
    }

    fn command(&self, recorded: &Recorded) -> Command {
        let mut arguments = recorded.arguments.iter().map(|argument| {
            argument
                .replace("{root}", &self.root.to_string_lossy())
                .replace("{cargo_home}", &self.cargo_home.to_string_lossy())
        });
        let mut command = Command::new(arguments.next().unwrap_or_default());
        command.args(arguments).current_dir(self.root.join(&recorded.directory));
        command
    }
}

/// A command as recorded in the provenance.
pub(crate) struct Recorded {
    /// Relative to the repository.
    directory: String,
    arguments: Vec<String>,
}

impl std::fmt::Display for Recorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "(cd {} && {})", self.directory, self.arguments.join(" "))
    }
}

/// The command that builds `program`, without the output path.
pub(crate) fn command(manifest: &Manifest, program: &Program) -> Result<Recorded> {
    Ok(match manifest.recipe(program)? {
        Recipe::C(board) => c_command(manifest, board, program),
        Recipe::Cargo(package) => cargo_command(manifest, program, package),
    })
}

fn c_command(manifest: &Manifest, board: &Board, program: &Program) -> Recorded {
    let compiler = manifest.compiler(board.toolchain);
    let mut arguments = vec![compiler.compiler.clone()];
    arguments.extend(compiler.flags.iter().chain(&board.flags).chain(&program.flags).cloned());
    arguments.extend(board.linker_scripts.first().map(|script| format!("-Tfirmware/{script}")));
    let sources = board.sources.iter().chain(&program.sources);
    arguments.extend(sources.map(|source| format!("firmware/{source}")));
    arguments.extend(program.link.iter().cloned());
    Recorded { directory: ".".into(), arguments }
}

fn cargo_command(manifest: &Manifest, program: &Program, package: &str) -> Recorded {
    let target = program.target(manifest);
    let flags: Vec<String> = manifest.rust.flags.iter().map(|flag| format!("'{flag}'")).collect();
    let mut arguments = vec![
        "cargo".into(),
        "build".into(),
        "--locked".into(),
        "--release".into(),
        format!("--target={target}"),
        // Adds to the package's own .cargo/config.toml, where RUSTFLAGS would replace it.
        format!("--config=target.{target}.rustflags=[{}]", flags.join(", ")),
    ];
    arguments.extend(program.flags.iter().cloned());
    Recorded { directory: format!("firmware/{package}"), arguments }
}

/// Builds `program` and returns the ELF.
pub(crate) fn build(manifest: &Manifest, program: &Program, places: &Places) -> Result<PathBuf> {
    let elf = places.build.join(program.elf_name());
    let mut command = places.command(&command(manifest, program)?);
    match manifest.recipe(program)? {
        Recipe::C(_) => {
            command.arg("-o").arg(&elf);
            run(&mut command, program)?;
        }
        Recipe::Cargo(_) => {
            let target_directory = places.build.join("cargo").join(&program.name);
            command.arg("--quiet").arg("--target-dir").arg(&target_directory);
            command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
            run(&mut command, program)?;
            let built =
                target_directory.join(program.target(manifest)).join("release").join(&program.name);
            std::fs::copy(&built, &elf).with_context(|| format!("copying {}", built.display()))?;
        }
    }
    Ok(elf)
}

fn run(command: &mut Command, program: &Program) -> Result<()> {
    let status = command.status().with_context(|| format!("starting {command:?}"))?;
    if !status.success() {
        bail!("{}: {command:?} failed ({status})", program.name);
    }
    Ok(())
}

/// Every file of the repository that `program` is built from, relative to the repository: for C
/// according to the preprocessor, for a package all files in its directory.
pub(crate) fn inputs(
    manifest: &Manifest,
    program: &Program,
    places: &Places,
) -> Result<BTreeSet<String>> {
    match manifest.recipe(program)? {
        Recipe::C(board) => {
            let mut command = places.command(&c_command(manifest, board, program));
            let output = command.arg("-MM").output().context("listing the headers")?;
            if !output.status.success() {
                bail!("{}: {}", program.name, String::from_utf8_lossy(&output.stderr).trim());
            }
            let mut inputs = prerequisites(&String::from_utf8_lossy(&output.stdout));
            inputs.extend(board.linker_scripts.iter().map(|script| format!("firmware/{script}")));
            Ok(inputs)
        }
        Recipe::Cargo(package) => package_files(&places.root, &format!("firmware/{package}")),
    }
}

/// The dependencies in a make rule of the preprocessor.
fn prerequisites(rules: &str) -> BTreeSet<String> {
    let words = rules.split_whitespace();
    words.filter(|word| *word != "\\" && !word.ends_with(':')).map(String::from).collect()
}

fn package_files(root: &Path, directory: &str) -> Result<BTreeSet<String>> {
    let mut files = BTreeSet::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        let entries = std::fs::read_dir(root.join(&directory))
            .with_context(|| format!("reading {directory}"))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let path = format!("{directory}/{}", name.to_string_lossy());
            if !entry.file_type()?.is_dir() {
                files.insert(path);
            } else if name != "target" {
                pending.push(path);
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prerequisites_leave_out_targets_and_continuations() {
        let rules =
            "main.o: a/main.c kit/board.h \\\n kit/stm32f0.h\nother.o: a/other.c kit/board.h\n";
        let found: Vec<String> = prerequisites(rules).into_iter().collect();
        assert_eq!(found, ["a/main.c", "a/other.c", "kit/board.h", "kit/stm32f0.h"]);
    }
}
