//! Who takes part, and one timed run of one of them.
//!
//! Every contender is a process, so that each pays for its own start, load and end.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Serialize;
use strobe_oracle::qemu;

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
    /// The simulated core and nothing else, by `xtask simulate`, which prints its count.
    BareCore {
        xtask: PathBuf,
    },
    /// `strobe run` with everything it measures, which writes its record to a file.
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
}

/// Everyone who takes part.
pub(super) fn all(plugin: &Path, strobe: &Path, scratch: &Path) -> Vec<Contender> {
    let counted = |mode: &'static str| How::Counted {
        plugin: plugin.to_owned(),
        mode,
        out: scratch.join("count.txt"),
    };
    let xtask = strobe.with_file_name("xtask");
    let record = How::StrobeRun { strobe: strobe.to_owned(), out: scratch.join("record.json") };
    vec![
        Contender { name: "strobe, bare core", how: How::BareCore { xtask } },
        Contender { name: "strobe run, full profile", how: record },
        Contender { name: "QEMU", how: How::Qemu },
        Contender { name: "QEMU, callback per instruction", how: counted("callback") },
        Contender { name: "QEMU, inline counters", how: counted("inline") },
    ]
}

impl Contender {
    /// Runs a program to its end.
    pub(super) fn run(&self, elf: &Path, core: Core) -> Result<Run> {
        // A count left over from an earlier run must not be taken for this one's.
        if let How::Counted { out, .. } | How::StrobeRun { out, .. } = &self.how {
            let _ = std::fs::remove_file(out);
        }
        let (mut run, printed) = timed(self.command(elf, core))?;
        run.instructions = match &self.how {
            How::Qemu => None,
            How::BareCore { .. } => Some(plain_count(&printed)?),
            How::Counted { out, .. } => Some(plain_count(&read(out)?)?),
            How::StrobeRun { out, .. } => Some(recorded_count(&read(out)?)?),
        };
        Ok(run)
    }

    fn command(&self, elf: &Path, core: Core) -> Command {
        match &self.how {
            How::Qemu => qemu::command_on(core.machine(), elf),
            How::Counted { plugin, mode, out } => {
                let mut command = qemu::command_on(core.machine(), elf);
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
                command.arg("--output").arg(out).arg(elf);
                command
            }
        }
    }
}

/// Times a command and returns what it printed. Complaints go where ours go.
fn timed(mut command: Command) -> Result<(Run, String)> {
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
    let run = Run { wall_us, cpu_us, exit_code, instructions: None };
    Ok((run, String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// CPU time of all children waited for so far.
fn children_cpu_us() -> Result<u64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok(u64::try_from((usage.user_time() + usage.system_time()).num_microseconds())?)
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .with_context(|| format!("no count was left in {}", path.display()))
}

/// Of a line `instructions N`, perhaps with more behind it.
fn plain_count(text: &str) -> Result<u64> {
    let count = text.strip_prefix("instructions ").and_then(|rest| rest.split_whitespace().next());
    count
        .and_then(|word| word.parse().ok())
        .with_context(|| format!("no instruction count in {text:?}"))
}

/// Of strobe's record.
fn recorded_count(json: &str) -> Result<u64> {
    let record: serde_json::Value = serde_json::from_str(json).context("the record is not JSON")?;
    record["totals"]["instructions"].as_u64().context("the record has no totals.instructions")
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

/// What Linux calls this processor.
pub(super) fn cpu_model() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or_else(|| "unknown processor".into(), |(_, name)| name.to_owned())
}
