//! `cargo xtask dist`: release archives, one for each target that this machine can build.
//!
//! Targets that cannot be built are listed with the packages to install. Archives depend on the
//! commit and the compilers alone: entries are sorted, have owner 0 and the time of the commit.

mod archive;
mod build;
mod check;
mod contents;
mod notices;
mod target;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use self::build::Builder;
use self::target::{TARGETS, Target};

/// Build release archives into target/dist.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Build only this target; may be given several times.
    #[arg(long = "target", value_name = "TRIPLE")]
    targets: Vec<String>,
    /// Fail if a target cannot be built here.
    #[arg(long)]
    all: bool,
}

/// The result for a target.
enum Outcome {
    Built { archive: PathBuf, size_bytes: u64, checked: check::Checked },
    Skipped { missing: Vec<String> },
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent")?;
    let builder = Builder::new(root)?;
    let wanted = wanted(&args.targets)?;
    let folder = root.join("target/dist");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).context("cannot remove target/dist")?;
    }
    std::fs::create_dir_all(&folder).context("cannot create target/dist")?;
    // Manual pages and completions are the same for all targets, and this one can run here.
    let own = builder.build(None)?;
    let mut outcomes = Vec::new();
    for target in wanted {
        let missing = builder.missing(target);
        let outcome = if missing.is_empty() {
            archive_of(&builder, target, &own, &folder)?
        } else {
            Outcome::Skipped { missing }
        };
        outcomes.push((target, outcome));
    }
    write_sums(&folder, &outcomes)?;
    report(root, &outcomes, &builder.modified());
    let skipped = outcomes.iter().any(|(_, outcome)| matches!(outcome, Outcome::Skipped { .. }));
    if args.all && skipped {
        bail!("some targets were skipped, and --all was given");
    }
    Ok(())
}

fn wanted(names: &[String]) -> Result<Vec<&'static Target>> {
    if names.is_empty() {
        return Ok(TARGETS.iter().collect());
    }
    let find = |name: &String| {
        let known = || TARGETS.map(|target| target.triple).join(", ");
        let found = TARGETS.iter().find(|target| target.triple == name);
        found.with_context(|| format!("no archives are made for {name}, only for {}", known()))
    };
    names.iter().map(find).collect()
}

fn archive_of(
    builder: &Builder,
    target: &'static Target,
    own: &Path,
    folder: &Path,
) -> Result<Outcome> {
    eprintln!("== {}", target.triple);
    let binary = builder.build(Some(target))?;
    let name = format!("strobe-{}-{}", builder.version, target.triple);
    let files = contents::collect(builder, target, &binary, own)?;
    let archive = archive::write(target.format, folder, &name, &files, builder.time)?;
    let checked = check::check(builder.root, target, &binary, own)?;
    let size_bytes = std::fs::metadata(&archive)?.len();
    Ok(Outcome::Built { archive, size_bytes, checked })
}

/// The hashes of all archives, in the format of `sha256sum --check`.
fn write_sums(folder: &Path, outcomes: &[(&Target, Outcome)]) -> Result<()> {
    let mut lines = Vec::new();
    for (_, outcome) in outcomes {
        let Outcome::Built { archive, .. } = outcome else { continue };
        let hash = Sha256::digest(std::fs::read(archive)?);
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let name = archive.file_name().unwrap_or_default().to_string_lossy();
        lines.push(format!("{hash}  {name}\n"));
    }
    lines.sort_by_key(|line| line.split("  ").nth(1).map(str::to_owned));
    std::fs::write(folder.join("SHA256SUMS"), lines.concat()).context("cannot write SHA256SUMS")
}

fn report(root: &Path, outcomes: &[(&Target, Outcome)], modified: &[String]) {
    for (target, outcome) in outcomes {
        match outcome {
            Outcome::Built { archive, size_bytes, checked } => {
                println!("built    {:<28} {size_bytes:>11} bytes", target.triple);
                println!("         {}", archive.strip_prefix(root).unwrap_or(archive).display());
                println!("         {checked}");
            }
            Outcome::Skipped { missing } => {
                println!("skipped  {:<28} to build it: {}", target.triple, missing.join("; "));
            }
        }
    }
    if !modified.is_empty() {
        let files = modified.join(", ");
        println!("warning: these archives differ from the commit they name; changed: {files}");
    }
}
