//! `firmware/firmware.toml`: the programs and their sources.
//!
//! Plain data; [`super::build`] runs the compilers.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{founding_loop, qemu};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) c: CToolchain,
    pub(crate) avr: CToolchain,
    pub(crate) rust: RustToolchain,
    board: BTreeMap<String, Board>,
    program: Vec<Program>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CToolchain {
    pub(crate) compiler: String,
    /// The command that installs it.
    pub(crate) install: String,
    pub(crate) flags: Vec<String>,
    /// Linked libraries, which are part of the compiler's identity.
    pub(crate) libraries: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RustToolchain {
    pub(crate) install: String,
    pub(crate) target: String,
    pub(crate) flags: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Board {
    /// The board's compiler.
    #[serde(default)]
    pub(crate) toolchain: Language,
    /// Linker scripts: the first is given to the linker, the others are included by it.
    pub(crate) linker_scripts: Vec<String>,
    pub(crate) flags: Vec<String>,
    pub(crate) sources: Vec<String>,
}

/// A C compiler of the manifest.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Language {
    /// For Arm's cores.
    #[default]
    C,
    /// For AVR parts.
    Avr,
}

impl Language {
    /// Its name in the manifest and the provenance.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Language::C => "c",
            Language::Avr => "avr",
        }
    }
}

/// One ELF: a C program for a board, or a cargo package.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Program {
    pub(crate) name: String,
    board: Option<String>,
    #[serde(default)]
    pub(crate) sources: Vec<String>,
    /// Options for the compiler, or for cargo.
    #[serde(default)]
    pub(crate) flags: Vec<String>,
    /// Linker arguments after the sources.
    #[serde(default)]
    pub(crate) link: Vec<String>,
    cargo: Option<String>,
    /// The target of a cargo package, if it differs from the default.
    target: Option<String>,
    /// The required address of `test_loop`, for programs that contain it.
    pub(crate) test_loop: Option<founding_loop::Placement>,
    /// The expected result in QEMU, for programs that need nothing but a Cortex-M0.
    pub(crate) qemu: Option<qemu::Expected>,
}

/// The kind of program, with the fields of that kind.
pub(crate) enum Recipe<'a> {
    C(&'a Board),
    /// The package's directory below `firmware/`.
    Cargo(&'a str),
}

impl Program {
    /// The Rust target of a cargo package.
    pub(crate) fn target<'a>(&'a self, manifest: &'a Manifest) -> &'a str {
        self.target.as_deref().unwrap_or(&manifest.rust.target)
    }

    pub(crate) fn elf_name(&self) -> String {
        format!("{}.elf", self.name)
    }
}

impl Manifest {
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let path = root.join("firmware/firmware.toml");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("reading {}", path.display()))?;
        let manifest: Self =
            toml::from_str(&text).with_context(|| format!("in {}", path.display()))?;
        for program in &manifest.program {
            manifest.recipe(program)?;
        }
        Ok(manifest)
    }

    /// The C compiler of that name.
    pub(crate) fn compiler(&self, language: Language) -> &CToolchain {
        match language {
            Language::C => &self.c,
            Language::Avr => &self.avr,
        }
    }

    pub(crate) fn programs(&self) -> &[Program] {
        &self.program
    }

    pub(crate) fn recipe<'a>(&'a self, program: &'a Program) -> Result<Recipe<'a>> {
        let name = &program.name;
        ensure!(
            program.board.is_some() != program.cargo.is_some(),
            "firmware/firmware.toml: program `{name}` needs either `board` or `cargo`"
        );
        if let Some(package) = &program.cargo {
            return Ok(Recipe::Cargo(package));
        }
        let board = program.board.as_ref().and_then(|board| self.board.get(board));
        Ok(Recipe::C(board.with_context(|| {
            format!("firmware/firmware.toml: program `{name}` is for an undefined board")
        })?))
    }

    /// All programs, or the named ones.
    pub(crate) fn select(&self, names: &[String]) -> Result<Vec<&Program>> {
        if names.is_empty() {
            return Ok(self.program.iter().collect());
        }
        let find = |name: &String| {
            let found = self.program.iter().find(|program| program.name == *name);
            found.with_context(|| format!("no program `{name}` in firmware/firmware.toml"))
        };
        names.iter().map(find).collect()
    }
}
