//! `cargo xtask firmware`: rebuilds the demo firmware and compares it with the prebuilt files.
//!
//! Others only read `firmware/prebuilt`, so profiling needs no cross compiler; this task keeps
//! those files correct. With `--changed` it builds only programs that disagree with the hashes of
//! their provenance, usually none; the scheduled run builds all.

mod build;
mod compare;
mod founding_loop;
mod manifest;
mod provenance;
mod qemu;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use self::build::Places;
use self::compare::{Comparison, compare};
use self::manifest::{Manifest, Program, Recipe};
use self::provenance::{Provenance, Record, Toolchain};

/// Rebuild the demo firmware and compare it with firmware/prebuilt.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Replace the prebuilt ELFs and their provenance with the new build
    #[arg(long)]
    bless: bool,
    /// Also run the programs that QEMU's microbit can run, and check the results
    #[arg(long)]
    qemu: bool,
    /// Build only programs whose sources, command or ELF disagree with their provenance
    #[arg(long, conflicts_with = "bless")]
    changed: bool,
    /// Build directory
    #[arg(long, value_name = "DIR", default_value = "firmware/build")]
    build_dir: PathBuf,
    /// Only these programs, by their name in firmware/firmware.toml.
    programs: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("no repository")?;
    let manifest = Manifest::read(root)?;
    let places = Places::new(root.to_owned(), root.join(&arguments.build_dir))?;
    let _alone = crate::subjects::alone(&places.build.join(".lock"))?;
    let mut programs = manifest.select(&arguments.programs)?;
    if arguments.changed {
        programs = changed(&manifest, &places, &programs, arguments.qemu)?;
        if programs.is_empty() {
            println!("the demo firmware is what its provenance describes: nothing to build");
            return Ok(());
        }
    }
    let installed = BTreeMap::from([
        ("c".to_owned(), provenance::c_toolchain(&manifest.c)?),
        ("avr".to_owned(), provenance::c_toolchain(&manifest.avr)?),
        ("rust".to_owned(), provenance::rust_toolchain(&manifest, root)?),
    ]);

    let mut built = Vec::new();
    for program in programs {
        eprintln!("building {}", program.name);
        let path = build::build(&manifest, program, &places)?;
        check_program(program, &path, root, arguments.qemu)
            .with_context(|| program.name.clone())?;
        built.push((program, std::fs::read(&path)?));
    }
    if arguments.bless {
        bless(&manifest, &places, installed, &built)
    } else {
        check(&manifest, &places, &installed, &built, arguments.programs.is_empty())
    }
}

/// Those of `programs` that disagree with their provenance. The others are run as prebuilt.
fn changed<'a>(
    manifest: &Manifest,
    places: &Places,
    programs: &[&'a Program],
    with_qemu: bool,
) -> Result<Vec<&'a Program>> {
    let prebuilt = places.prebuilt();
    let provenance = Provenance::read(&prebuilt.join("PROVENANCE.toml"))?;
    let mut changed = Vec::new();
    for &program in programs {
        let elf = prebuilt.join(program.elf_name());
        let found = match std::fs::read(&elf) {
            Ok(bytes) => standing(manifest, &places.root, &provenance, program, &bytes)?,
            Err(_) => vec!["there is no prebuilt ELF".to_owned()],
        };
        if found.is_empty() {
            check_program(program, &elf, &places.root, with_qemu)
                .with_context(|| program.name.clone())?;
        } else {
            eprintln!("{}: {}", program.name, found.join("; "));
            changed.push(program);
        }
    }
    let strangers = strangers(manifest, &prebuilt)?;
    if let Some(stranger) = strangers.first() {
        bail!("firmware/prebuilt/{stranger} belongs to no program");
    }
    Ok(changed)
}

/// Checks of a program that do not depend on earlier builds.
fn check_program(program: &Program, elf: &Path, root: &Path, with_qemu: bool) -> Result<()> {
    if let Some(placement) = program.test_loop {
        founding_loop::check(&std::fs::read(elf)?, placement)?;
    }
    match &program.qemu {
        Some(expected) if with_qemu => qemu::check(elf, expected, &root.join("firmware")),
        _ => Ok(()),
    }
}

fn bless(
    manifest: &Manifest,
    places: &Places,
    installed: BTreeMap<String, Toolchain>,
    built: &[(&Program, Vec<u8>)],
) -> Result<()> {
    let prebuilt = places.prebuilt();
    std::fs::create_dir_all(&prebuilt)?;
    let path = prebuilt.join("PROVENANCE.toml");
    let mut provenance =
        if path.exists() { Provenance::read(&path)? } else { Provenance::default() };
    let all = built.len() == manifest.programs().len();
    let differs = |(language, recorded): (&String, &Toolchain)| {
        installed.get(language).is_some_and(|now| now != recorded)
    };
    if !all && provenance.toolchain.iter().any(differs) {
        bail!("another compiler than recorded is installed, so bless all programs or none");
    }
    provenance.toolchain = installed;
    provenance
        .program
        .retain(|name, _| manifest.programs().iter().any(|known| known.name == *name));
    for (program, elf) in built {
        let record = Record::of(manifest, program, places, elf)?;
        std::fs::write(prebuilt.join(program.elf_name()), elf)?;
        provenance.program.insert(program.name.clone(), record);
    }
    for stale in strangers(manifest, &prebuilt)? {
        std::fs::remove_file(prebuilt.join(stale))?;
    }
    provenance.write(&path)?;
    println!("{} programs blessed", built.len());
    Ok(())
}

fn check(
    manifest: &Manifest,
    places: &Places,
    installed: &BTreeMap<String, Toolchain>,
    built: &[(&Program, Vec<u8>)],
    all: bool,
) -> Result<()> {
    let provenance = Provenance::read(&places.prebuilt().join("PROVENANCE.toml"))?;
    let mut failures = Vec::new();
    let mut same = 0;
    for (language, toolchain) in installed {
        let recorded = provenance.toolchain.get(language).cloned().unwrap_or_default();
        if recorded != *toolchain {
            eprintln!(
                "note: the {language} tool chain here is not the recorded one ({}); its programs \
                 are built and hashes are checked, but the built bytes are not compared",
                differences(&recorded, toolchain)
            );
        }
    }
    for (program, rebuilt) in built {
        let language = match manifest.recipe(program)? {
            Recipe::C(board) => board.toolchain.name(),
            Recipe::Cargo(_) => "rust",
        };
        let comparable = provenance.toolchain.get(language) == installed.get(language);
        let mut found = Vec::new();
        match std::fs::read(places.prebuilt().join(program.elf_name())) {
            Err(_) => found.push("there is no prebuilt ELF".to_owned()),
            Ok(prebuilt) => {
                found = standing(manifest, &places.root, &provenance, program, &prebuilt)?;
                match compare(&prebuilt, rebuilt)? {
                    Comparison::Same => same += 1,
                    difference if comparable => found.push(difference.to_string()),
                    difference => eprintln!("note: {}: {difference}", program.name),
                }
            }
        }
        failures.extend(found.into_iter().map(|failure| format!("{}: {failure}", program.name)));
    }
    if all {
        for stranger in strangers(manifest, &places.prebuilt())? {
            failures.push(format!("firmware/prebuilt/{stranger} belongs to no program"));
        }
    }
    for failure in &failures {
        eprintln!("{failure}");
    }
    println!("{} programs built, {same} the same as prebuilt", built.len());
    if !failures.is_empty() {
        bail!(
            "firmware/prebuilt does not agree ({} findings); if the change is meant, \
             `cargo xtask firmware --bless`",
            failures.len()
        );
    }
    Ok(())
}

/// Faults of one program's prebuilt ELF that can be found without a compiler.
fn standing(
    manifest: &Manifest,
    root: &Path,
    provenance: &Provenance,
    program: &Program,
    prebuilt: &[u8],
) -> Result<Vec<String>> {
    let Some(record) = provenance.program.get(&program.name) else {
        return Ok(vec!["there is no provenance".into()]);
    };
    let command = build::command(manifest, program)?.to_string();
    let mut found = record.disagreements(root, &command, prebuilt);
    if let Some(placement) = program.test_loop {
        found.extend(founding_loop::check(prebuilt, placement).err().map(|e| e.to_string()));
    }
    Ok(found)
}

/// Descriptions of the parts that differ from those recorded.
fn differences(recorded: &Toolchain, installed: &Toolchain) -> String {
    let parts = installed.iter().filter(|(part, now)| recorded.get(*part) != Some(now));
    let describe = |(part, now): (&String, &String)| match recorded.get(part) {
        Some(then) => format!("{part} is `{now}`, was `{then}`"),
        None => format!("{part} is `{now}`, none was recorded"),
    };
    parts.map(describe).collect::<Vec<_>>().join("; ")
}

/// ELFs in the prebuilt directory without a program in the manifest.
fn strangers(manifest: &Manifest, prebuilt: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(prebuilt).context("reading firmware/prebuilt")? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let known = manifest.programs().iter().any(|program| program.elf_name() == name);
        if name.ends_with(".elf") && !known {
            found.push(name);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Needs no compiler: a source edited without a rebuild fails every test run.
    #[test]
    fn checked_in_binaries_agree_with_their_provenance() -> Result<()> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("no repository")?;
        let prebuilt = root.join("firmware/prebuilt");
        let manifest = Manifest::read(root)?;
        let provenance = Provenance::read(&prebuilt.join("PROVENANCE.toml"))?;
        for program in manifest.programs() {
            let elf = std::fs::read(prebuilt.join(program.elf_name()))?;
            let found = standing(&manifest, root, &provenance, program, &elf)?;
            assert_eq!(
                found,
                Vec::<String>::new(),
                "{}: cargo xtask firmware --bless",
                program.name
            );
        }
        assert_eq!(strangers(&manifest, &prebuilt)?, Vec::<String>::new());
        assert_eq!(provenance.program.len(), manifest.programs().len());
        Ok(())
    }
}
