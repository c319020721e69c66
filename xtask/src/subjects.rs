//! `cargo xtask subjects`: builds third-party programs and their expected output.
//!
//! The images contain third-party code, so they are not kept in the repository: every machine
//! builds them from the pinned crates into `target/subjects`. The names of the programs are those
//! of the Cargo targets; this file must not list them. They are rebuilt only when an input has
//! changed (`stamp.rs`).

use crate::stamp::{Stamp, hash_inputs};
use anyhow::{Context, Result, bail, ensure};
use object::{Object, ObjectSection, SectionFlags, elf};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Builds the third-party programs into target/subjects: NAME.elf, and NAME.expected where the host
/// can compute it.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also run every program that has an expected output in QEMU and compare.
    #[arg(long)]
    check: bool,
    /// Build and check even if nothing has changed.
    #[arg(long)]
    fresh: bool,
}

/// Firmware to build, each package with its own lock file because their dependencies exclude each
/// other.
struct Firmware {
    workspace: &'static str,
    package: &'static str,
    target: &'static str,
    /// Only this program of the package; `None` for all.
    only: Option<&'static str>,
    /// A suffix that distinguishes the image from the same program for another core.
    suffix: &'static str,
}

const FIRMWARE: &[Firmware] = &[
    subjects(ARMV6M, ""),
    subjects(ARMV7M, M3),
    subjects(ARMV7EM_HF, M4F),
    // The floating-point arithmetic of the one before, on a core without the unit.
    Firmware { only: Some("fft"), ..subjects(ARMV7EM, M4) },
    ecosystem("firmware/ecosystem/embassy", "ecosystem-embassy", ARMV6M),
    ecosystem("firmware/ecosystem/hal", "ecosystem-hal", ARMV6M),
    ecosystem("firmware/ecosystem/embassy-f407", "ecosystem-embassy-f407", ARMV7EM_HF),
    ecosystem("firmware/ecosystem/hal-f407", "ecosystem-hal-f407", ARMV7EM_HF),
    ecosystem("firmware/ecosystem/rtic", "ecosystem-rtic", ARMV7M),
];
const SUBJECTS: &str = "firmware/subjects";
const ARMV6M: &str = "thumbv6m-none-eabi";
const ARMV7M: &str = "thumbv7m-none-eabi";
const ARMV7EM: &str = "thumbv7em-none-eabi";
const ARMV7EM_HF: &str = "thumbv7em-none-eabihf";
const M3: &str = "-m3";
const M4: &str = "-m4";
const M4F: &str = "-m4f";

const fn subjects(target: &'static str, suffix: &'static str) -> Firmware {
    Firmware { workspace: SUBJECTS, package: "subjects-fw", target, only: None, suffix }
}

const fn ecosystem(
    workspace: &'static str,
    package: &'static str,
    target: &'static str,
) -> Firmware {
    Firmware { workspace, package, target, only: None, suffix: "" }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has a parent")?;
    let output = root.join("target/subjects");
    fs::create_dir_all(&output).with_context(|| format!("cannot create {}", output.display()))?;
    let _alone = alone(&root.join("target/subjects.lock"))?;
    let inputs = inputs(root)?;
    if let Some(stamp) = Stamp::kept(&output).filter(|_| !args.fresh)
        && stamp.holds(&output, &inputs, args.check)?
    {
        println!("{} files in target/subjects are what their inputs make", stamp.len());
        return Ok(());
    }
    make(root, &output)?;
    if args.check {
        check(&output)?;
    }
    Stamp::of(&output, inputs, args.check)?.keep(&output)
}

/// One hash of all inputs of the programs: their sources, build options, compilers, Arduino's core.
fn inputs(root: &Path) -> Result<String> {
    let ours =
        ["firmware/subjects", "firmware/ecosystem", "firmware/arduino", "rust-toolchain.toml"];
    let how = ["xtask/src/subjects.rs", "xtask/src/arduino.rs"];
    let mut paths: Vec<PathBuf> = ours.iter().chain(&how).map(|path| root.join(path)).collect();
    paths.push(crate::arduino::installed()?);
    let versions = ["rustc", "avr-gcc", "qemu-system-arm"].map(version);
    hash_inputs(&paths, &versions.into_iter().collect::<Result<Vec<_>>>()?)
}

/// The version line of a program.
fn version(program: &str) -> Result<String> {
    let output = Command::new(program)
        .arg("--version")
        .output()
        .with_context(|| format!("cannot run {program}: scripts/setup test installs it"))?;
    ensure!(output.status.success(), "{program} --version failed: {}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Builds all programs into `output`, and removes other files there.
fn make(root: &Path, output: &Path) -> Result<()> {
    let mut names = BTreeSet::new();
    for firmware in FIRMWARE {
        let mut options = vec!["--release", "--target", firmware.target];
        options.extend(firmware.only.iter().flat_map(|name| ["--bin", name]));
        for image in build(root, firmware.workspace, firmware.package, &options)? {
            let mut name = image.file_stem().context("an executable has a name")?.to_owned();
            name.push(firmware.suffix);
            copy_if_changed(&image, &output.join(&name).with_extension("elf"))?;
            names.insert(name);
        }
    }
    names.extend(crate::arduino::build(root, output)?.into_iter().map(OsString::from));
    let host = build(root, SUBJECTS, "subjects-host", &[])?;
    let host = host.first().context("subjects-host built no program")?;
    let computed = root.join("target/subjects-host");
    fs::create_dir_all(&computed)?;
    succeed(Command::new(host).arg(&computed))?;
    for entry in fs::read_dir(&computed)? {
        let entry = entry?;
        copy_if_changed(&entry.path(), &output.join(entry.file_name()))?;
    }

    for entry in fs::read_dir(output)? {
        let path = entry?.path();
        let ours = path.file_stem().is_some_and(|stem| names.contains(stem));
        if path.is_file() && !ours {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    copy_expected(root, output, &names)?;
    println!("{:<20} {:>8} {:>8} {:>8}", "program", "text", "data", "bss");
    for name in &names {
        let image = output.join(name).with_extension("elf");
        let [text, data, bss] = sizes(&image)?;
        println!("{:<20} {text:>8} {data:>8} {bss:>8}", name.to_string_lossy());
    }
    Ok(())
}

/// Copies expected output that the host cannot compute: it is kept beside the sources.
fn copy_expected(root: &Path, output: &Path, names: &BTreeSet<OsString>) -> Result<()> {
    for Firmware { workspace, .. } in FIRMWARE {
        let Ok(entries) = fs::read_dir(root.join(workspace).join("expected")) else { continue };
        for entry in entries {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_owned();
            ensure!(names.contains(&name), "{} belongs to no program", path.display());
            copy_if_changed(&path, &output.join(name).with_extension("expected"))?;
        }
    }
    // The output of a program does not depend on the core.
    for name in names.iter().filter_map(|name| name.to_str()) {
        let Some(base) = [M3, M4, M4F].iter().find_map(|suffix| name.strip_suffix(suffix)) else {
            continue;
        };
        let expected = output.join(base).with_extension("expected");
        copy_if_changed(&expected, &output.join(name).with_extension("expected"))?;
    }
    Ok(())
}

/// Builds one package and returns the executables that cargo made or found up to date.
fn build(root: &Path, workspace: &str, package: &str, options: &[&str]) -> Result<Vec<PathBuf>> {
    let directory = root.join(workspace);
    let output = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["build", "--locked", "--message-format", "json-render-diagnostics"])
        .args(["--package", package])
        .args(options)
        .arg("--target-dir")
        .arg(root.join("target").join(workspace))
        .current_dir(&directory)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    ensure!(output.status.success(), "cargo build in {workspace} failed: {}", output.status);
    let mut executables = Vec::new();
    for line in output.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let message: serde_json::Value =
            serde_json::from_slice(line).context("cargo's messages are JSON")?;
        if let Some(path) = message["executable"].as_str() {
            executables.push(path.into());
        }
    }
    Ok(executables)
}

/// Waits until no other process holds the lock, which is released when the file is closed: two
/// concurrent builds would write into each other's files.
pub(crate) fn alone(lock: &Path) -> Result<fs::File> {
    let file =
        fs::File::create(lock).with_context(|| format!("cannot write {}", lock.display()))?;
    file.lock().with_context(|| format!("cannot lock {}", lock.display()))?;
    Ok(file)
}

/// Keeps an unchanged image, so that its modification time stays valid, and replaces another one
/// atomically, so that concurrent tests find the old or the new one.
pub(crate) fn copy_if_changed(from: &Path, to: &Path) -> Result<()> {
    let image = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    if fs::read(to).is_ok_and(|old| old == image) {
        return Ok(());
    }
    let part = to.with_extension("part");
    fs::write(&part, image).with_context(|| format!("cannot write {}", part.display()))?;
    fs::rename(&part, to).with_context(|| format!("cannot write {}", to.display()))
}

/// Bytes of code and constants, of initialised data, and of zeroed memory, as in `size`.
fn sizes(image: &Path) -> Result<[u64; 3]> {
    let bytes = fs::read(image).with_context(|| format!("cannot read {}", image.display()))?;
    let file = object::File::parse(&*bytes)
        .with_context(|| format!("{} is not an ELF file", image.display()))?;
    let mut sizes = [0; 3];
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
        if !sh_flags.contains(elf::SHF_ALLOC) {
            continue;
        }
        let writable = sh_flags.contains(elf::SHF_WRITE);
        let kind = match section.kind() {
            object::SectionKind::UninitializedData => 2,
            _ => usize::from(writable),
        };
        sizes[kind] += section.size();
    }
    Ok(sizes)
}

/// Compares the output of each program in QEMU with the one computed on the host.
fn check(output: &Path) -> Result<()> {
    let mut wrong = Vec::new();
    let mut checked = 0;
    for entry in fs::read_dir(output)? {
        let expected = entry?.path();
        if expected.extension().is_none_or(|extension| extension != "expected") {
            continue;
        }
        let name = expected.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let printed = emulate(&expected.with_extension("elf"), machine(&name))?;
        if printed != fs::read(&expected)? {
            wrong.push(name);
        }
        checked += 1;
    }
    ensure!(checked > 0, "no expected output in {}", output.display());
    if !wrong.is_empty() {
        wrong.sort();
        bail!("QEMU's output differs from the expected one: {}", wrong.join(", "));
    }
    println!("{checked} programs print the expected output in QEMU");
    Ok(())
}

/// QEMU's machine for a program: the one of RTIC's programs, the one with the core in the name's
/// suffix, or its only Cortex-M0.
fn machine(program: &str) -> &'static str {
    match program {
        _ if ["rtic-", "rt-"].iter().any(|prefix| program.starts_with(prefix)) => "lm3s6965evb",
        _ if program.ends_with(M3) => "mps2-an385",
        _ if program.ends_with(M4) || program.ends_with(M4F) => "mps2-an386",
        _ => "microbit",
    }
}

/// The semihosting output of a program in QEMU.
fn emulate(image: &Path, machine: &str) -> Result<Vec<u8>> {
    let output = Command::new("timeout")
        .args(["1200", "qemu-system-arm", "-machine", machine, "-display", "none"])
        .args(["-monitor", "none", "-serial", "none"])
        .args(["-semihosting-config", "enable=on,target=native", "-kernel"])
        .arg(image)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run qemu-system-arm: install the package of that name")?;
    ensure!(output.status.success(), "{} failed in QEMU: {}", image.display(), output.status);
    Ok(output.stdout)
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}
