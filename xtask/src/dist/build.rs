//! Runs cargo for the targets one by one, and detects missing tools.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::target::Target;

/// Arguments for the programs in archives: the profile in the root Cargo.toml, which strips them.
const PROFILE: &str = "dist";

/// The features of an archive's program, as the user's machine may have no compiler to add more:
/// all but SQL, which takes as many crates as all the rest.
pub(super) const FEATURES: &str = "--features=probe";

/// The build environment of an archive.
pub(super) const MANIFEST: &str = "crates/strobe/Cargo.toml";

/// The time of the commit.
#[derive(Clone, Copy)]
pub(super) struct Time {
    pub(super) unix_seconds: u64,
    /// Year, month, day, hours, minutes, seconds (UTC).
    pub(super) civil: [u16; 6],
}

/// Builds strobe in the repository.
pub(super) struct Builder<'a> {
    pub(super) root: &'a Path,
    pub(super) version: String,
    pub(super) time: Time,
    host: String,
    libraries: PathBuf,
}

impl<'a> Builder<'a> {
    pub(super) fn new(root: &'a Path) -> Result<Self> {
        let text = std::fs::read_to_string(root.join("Cargo.toml"))?;
        let manifest: toml::Table = text.parse().context("Cargo.toml")?;
        let version = manifest["workspace"]["package"]["version"].as_str().unwrap_or_default();
        let verbose = output(Command::new("rustc").arg("-vV").current_dir(root))?;
        let host = verbose.lines().find_map(|line| line.strip_prefix("host: "));
        let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(root))?;
        Ok(Self {
            root,
            version: version.to_owned(),
            time: commit_time(root)?,
            host: host.context("rustc does not name its host")?.to_owned(),
            libraries: Path::new(&sysroot).join("lib/rustlib"),
        })
    }

    /// The steps needed before the target can be built here; empty if none.
    pub(super) fn missing(&self, target: &Target) -> Vec<String> {
        let mut missing = Vec::new();
        if !self.libraries.join(target.triple).is_dir() {
            missing.push(format!("rustup target add {}", target.triple));
        }
        if target.triple != self.host && !runs(target.compiler.name) {
            let package = target.compiler.package;
            missing.push(format!("apt-get install {package} (for {})", target.compiler.name));
        }
        missing
    }

    /// Builds for a target, or the generator of pages and completions for this host.
    pub(super) fn build(&self, target: Option<&Target>) -> Result<PathBuf> {
        let triple = target.map_or(self.host.as_str(), |target| target.triple);
        let mut command = cargo(self.root);
        command.args(["build", "--locked", "--manifest-path", MANIFEST, FEATURES]);
        command.args(["--profile", PROFILE, "--target", triple]);
        command.env("CARGO_TARGET_DIR", self.root.join("target"));
        let variable = |name: &str| format!("{name}_{}", triple.replace('-', "_"));
        if triple != self.host {
            let compiler = target.map_or("cc", |target| target.compiler.name);
            let linker = variable("CARGO_TARGET").to_uppercase() + "_LINKER";
            command.env(linker, compiler).env(variable("CC"), compiler);
        }
        // Messages and assertions contain source file names: map this machine's folders away.
        let home = std::env::var("CARGO_HOME").or_else(|_| Ok(std::env::var("HOME")? + "/.cargo"));
        let home =
            home.map_err(|_: std::env::VarError| anyhow::anyhow!("no CARGO_HOME, no HOME"))?;
        let folders = [(home, "/cargo"), (self.root.display().to_string(), "/strobe")];
        let [rust, c] = ["--remap-path-prefix", "-ffile-prefix-map"]
            .map(|option| folders.each_ref().map(|(from, to)| format!("{option}={from}={to}")));
        command.env("CARGO_ENCODED_RUSTFLAGS", rust.join("\u{1f}"));
        command.env(variable("CFLAGS"), c.join(" "));
        if !command.status().context("cannot run cargo")?.success() {
            bail!("strobe does not build for {triple}");
        }
        let binary = target.map_or("strobe", Target::binary);
        Ok(self.root.join("target").join(triple).join(PROFILE).join(binary))
    }

    /// Files that differ from the commit.
    pub(super) fn modified(&self) -> Vec<String> {
        let mut git = Command::new("git");
        git.current_dir(self.root).args(["status", "--porcelain", "--untracked-files=no"]);
        let text = output(&mut git).unwrap_or_default();
        text.lines().filter_map(|line| line.split_whitespace().nth(1).map(str::to_owned)).collect()
    }
}

/// The cargo that runs this program.
pub(super) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// The standard output of a command, without the final newline.
pub(super) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout).context("no UTF-8")?.trim_end().to_owned())
}

/// Whether a program is installed.
pub(super) fn runs(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

fn commit_time(root: &Path) -> Result<Time> {
    let mut git = Command::new("git");
    git.current_dir(root).env("TZ", "UTC");
    git.args(["log", "-1", "--date=format-local:%Y %m %d %H %M %S", "--format=%ct %cd"]);
    let text = output(&mut git).context("archives have the time of the commit")?;
    let (seconds, civil) = text.split_once(' ').context("git log prints two times")?;
    let parts: Vec<u16> = civil.split(' ').map(str::parse).collect::<Result<_, _>>()?;
    let civil = parts.try_into().map_err(|_| anyhow::anyhow!("git log prints {text}"))?;
    Ok(Time { unix_seconds: seconds.parse()?, civil })
}
