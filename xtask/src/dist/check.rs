//! Runs the built programs if possible here: they must print the same figures as the native build.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use super::build::{output, runs};
use super::target::Target;

/// How far a program was checked.
pub(super) enum Checked {
    /// It ran, natively or under this program.
    Ran(Option<&'static str>),
    /// Nothing here can run it; this package could.
    NotRun { package: &'static str },
}

impl std::fmt::Display for Checked {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Checked::Ran(None) => write!(f, "it ran here"),
            Checked::Ran(Some(runner)) => write!(f, "it ran under {runner}: the same figures"),
            Checked::NotRun { package } => {
                write!(f, "built and not run; to run it here: apt-get install {package}")
            }
        }
    }
}

/// Commands whose output must be the same everywhere. The stepper's code is hot enough to be
/// compiled.
const TRIED: [&[&str]; 3] = [
    &["-V"],
    &["run", "firmware/prebuilt/loop-48mhz.elf", "--until", "finished", "--mark", "PB8", "--terse"],
    &["run", "firmware/prebuilt/stepper.elf", "--until", "finished", "--terse"],
];

/// Runs them with it and `own`, the native build, and compares.
pub(super) fn check(root: &Path, target: &Target, binary: &Path, own: &Path) -> Result<Checked> {
    let native = std::fs::read(binary)? == std::fs::read(own)?;
    let runner = target.runner.as_ref().filter(|_| !native);
    let (prefix, package) = match runner {
        None => (vec![], ""),
        Some((program, arguments)) => ([&[program.name], *arguments].concat(), program.package),
    };
    if runner.is_some_and(|(program, _)| !runs(program.name)) {
        return Ok(Checked::NotRun { package });
    }
    if target.binary().ends_with(".exe") && !native {
        lend_library(root, target.compiler.name)?;
    }
    for arguments in TRIED {
        let (ours, theirs) =
            (ran(root, &[], own, arguments)?, ran(root, &prefix, binary, arguments)?);
        if ours != theirs {
            bail!("{}: {arguments:?} prints\n{theirs}\nand here\n{ours}", binary.display());
        }
    }
    Ok(Checked::Ran(runner.map(|(program, _)| program.name)))
}

/// The directory where Wine looks for additional libraries.
const LIBRARIES: &str = "target/wine-libraries";

/// Compiles the library that Rust programs need and Debian 12's Wine lacks.
fn lend_library(root: &Path, compiler: &str) -> Result<()> {
    std::fs::create_dir_all(root.join(LIBRARIES))?;
    let mut command = Command::new(compiler);
    command.current_dir(root).args(["-shared", "-O1", "-Wall", "-Wextra", "-Werror", "-o"]);
    command.arg(Path::new(LIBRARIES).join("bcryptprimitives.dll"));
    command.args(["xtask/src/dist/bcryptprimitives.c", "-ladvapi32"]);
    output(&mut command).map(drop)
}

fn ran(root: &Path, prefix: &[&str], binary: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = match prefix {
        [] => Command::new(binary),
        [program, rest @ ..] => {
            let mut command = Command::new(program);
            command.args(rest).arg(binary);
            command
        }
    };
    // Otherwise Wine prints many messages on the machine, and keeps files in the user's home.
    command.current_dir(root).args(arguments).env("WINEDEBUG", "-all");
    command.env("WINEPREFIX", root.join("target/wine")).env("WINEPATH", root.join(LIBRARIES));
    Ok(output(&mut command)?.replace("\r\n", "\n"))
}
