//! The contenders, and one timed run of one of them.
//!
//! Every contender is a process, so that its time includes its own start, load and end.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Serialize;
use strobe_oracle::{Program, qemu, simavr};

use super::Core;

/// A way to run a program.
pub(super) struct Contender {
    pub(super) name: &'static str,
    how: How,
}

enum How {
    Qemu,
    /// QEMU with the counting plugin, which writes its count to a file.
    Counted {
        plugin: PathBuf,
        mode: &'static str,
        out: PathBuf,
    },
    /// simavr's own loop, which counts cycles, not instructions.
    Simavr {
        image: PathBuf,
    },
    /// The simulated core without observers, by `xtask simulate`, which prints its count.
    BareCore {
        xtask: PathBuf,
    },
    /// `strobe run` with all measurements, which writes its measurement to a file.
    StrobeRun {
        strobe: PathBuf,
        out: PathBuf,
    },
}

/// One timed run.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Run {
    pub(super) wall_us: u64,
    /// User and system time of the process and its threads.
    pub(super) cpu_us: u64,
    pub(super) exit_code: i32,
    /// If the contender counts them.
    pub(super) instructions: Option<u64>,
    /// If the contender counts them; only on the AVR are they equal for all.
    pub(super) cycles: Option<u64>,
}

/// All contenders of a core.
pub(super) fn all(core: Core, plugin: &Path, strobe: &Path, scratch: &Path) -> Vec<Contender> {
    let counted = |mode: &'static str| How::Counted {
        plugin: plugin.to_owned(),
        mode,
        out: scratch.join("count.txt"),
    };
    let xtask = strobe.with_file_name("xtask");
    let run = How::StrobeRun { strobe: strobe.to_owned(), out: scratch.join("run.measurement") };
    let mut all = vec![
        Contender { name: "strobe, bare core", how: How::BareCore { xtask } },
        Contender { name: "strobe run, full profile", how: run },
    ];
    if core == Core::Avr {
        let image = scratch.join("image.bin");
        all.push(Contender { name: "simavr", how: How::Simavr { image } });
        return all;
    }
    all.extend([
        Contender { name: "QEMU", how: How::Qemu },
        Contender { name: "QEMU, callback per instruction", how: counted("callback") },
        Contender { name: "QEMU, inline counters", how: counted("inline") },
    ]);
    all
}

impl Contender {
    /// Runs a program to its end.
    pub(super) fn run(&self, elf: &Path, core: Core) -> Result<Run> {
        // A count left over from an earlier run must not be used for this one.
        if let How::Counted { out, .. } | How::StrobeRun { out, .. } = &self.how {
            let _ = std::fs::remove_file(out);
        }
        let (mut run, printed) = timed(self.command(elf, core)?)?;
        run.cycles = match &self.how {
            How::Simavr { .. } => Some(count_behind("end ", &printed)?),
            How::StrobeRun { out, .. } if core == Core::Avr => {
                Some(measured(&read(out)?, "cycles")?)
            }
            _ => None,
        };
        run.instructions = match &self.how {
            How::Qemu | How::Simavr { .. } => None,
            How::BareCore { .. } => Some(count_behind("instructions ", &printed)?),
            How::Counted { out, .. } => Some(count_behind("instructions ", &read(out)?)?),
            How::StrobeRun { out, .. } => Some(measured(&read(out)?, "instructions")?),
        };
        Ok(run)
    }

    fn command(&self, elf: &Path, core: Core) -> Result<Command> {
        let machine = || core.machine().context("QEMU has no machine for this core");
        Ok(match &self.how {
            How::Qemu => qemu::command_on(machine()?, elf),
            How::Simavr { image } => {
                write_image(elf, image)?;
                simavr::watch_command("atmega328p", image, 16_000_000, u64::MAX, false)?
            }
            How::Counted { plugin, mode, out } => {
                let mut command = qemu::command_on(machine()?, elf);
                let plugin = format!("{},mode={mode},out={}", plugin.display(), out.display());
                command.args(["-plugin", &plugin]);
                command
            }
            How::BareCore { xtask } => {
                let mut command = Command::new(xtask);
                command.args(["simulate", "--board", core.board()]).arg(elf);
                command
            }
            How::StrobeRun { strobe, out } => {
                let mut command = Command::new(strobe);
                command.args(["run", "--quiet", "--board", core.board(), "--format", "json"]);
                // One run, as the others make one.
                command.args(["--bounds", "none"]);
                command.arg("--output").arg(out).arg(elf);
                command
            }
        })
    }
}

/// The flash image of a program, for simavr.
fn write_image(elf: &Path, image: &Path) -> Result<()> {
    let bytes = std::fs::read(elf).with_context(|| format!("cannot read {}", elf.display()))?;
    let mut flash = Vec::new();
    for (address, piece) in Program::from_elf(&bytes)?.image().filter(|p| !p.1.is_empty()) {
        let end = address as usize + piece.len();
        flash.resize(end.max(flash.len()), 0xff);
        flash[address as usize..end].copy_from_slice(piece);
    }
    std::fs::write(image, flash).with_context(|| format!("cannot write {}", image.display()))
}

/// Times a command and returns its standard output. Its standard error is inherited.
pub(super) fn timed(mut command: Command) -> Result<(Run, String)> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let before = children_cpu_us()?;
    let start = Instant::now();
    let output =
        command.output().with_context(|| format!("cannot run {:?}", command.get_program()))?;
    let wall_us = u64::try_from(start.elapsed().as_micros())?;
    let cpu_us = children_cpu_us()? - before;
    let Some(exit_code) = output.status.code() else {
        bail!("{command:?} ended with {}", output.status)
    };
    let run = Run { wall_us, cpu_us, exit_code, instructions: None, cycles: None };
    Ok((run, String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// CPU time of all children waited for so far.
fn children_cpu_us() -> Result<u64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok(u64::try_from((usage.user_time() + usage.system_time()).num_microseconds())?)
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("no count in {}", path.display()))
}

/// From a line `instructions N`, perhaps with more after it.
fn count_behind(word: &str, text: &str) -> Result<u64> {
    let count = text.strip_prefix(word).and_then(|rest| rest.split_whitespace().next());
    count.and_then(|word| word.parse().ok()).with_context(|| format!("no count in {text:?}"))
}

/// A total of strobe's measurement.
fn measured(json: &str, id: &str) -> Result<u64> {
    let measurement: serde_json::Value =
        serde_json::from_str(json).context("the measurement is not JSON")?;
    let totals = measurement["totals"].as_array().map_or(&[][..], Vec::as_slice);
    let total = totals.iter().find(|total| total["id"] == id);
    let value = total.and_then(|total| total["value"].as_u64());
    value.with_context(|| format!("the measurement has no count of {id}"))
}

/// The first line of QEMU's version message.
pub(super) fn qemu_version() -> Result<String> {
    let output = Command::new(qemu::PROGRAM)
        .arg("--version")
        .output()
        .with_context(|| format!("cannot run {}", qemu::PROGRAM))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// The processor's name according to Linux.
pub(super) fn cpu_model() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or_else(|| "unknown processor".into(), |(_, name)| name.to_owned())
}
