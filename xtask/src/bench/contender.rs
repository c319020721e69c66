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
pub(super) fn all(plugin: &Path, scratch: &Path) -> Vec<Contender> {
    let counted = |mode: &'static str| How::Counted {
        plugin: plugin.to_owned(),
        mode,
        out: scratch.join("count.txt"),
    };
    vec![
        Contender { name: "QEMU", how: How::Qemu },
        Contender { name: "QEMU, callback per instruction", how: counted("callback") },
        Contender { name: "QEMU, inline counters", how: counted("inline") },
    ]
}

impl Contender {
    /// Runs a program to its end.
    pub(super) fn run(&self, elf: &Path) -> Result<Run> {
        let mut command = strobe_oracle::qemu::command(elf);
        if let How::Counted { plugin, mode, out } = &self.how {
            let plugin = format!("{},mode={mode},out={}", plugin.display(), out.display());
            command.args(["-plugin", &plugin]);
            // A count left over from an earlier run must not be taken for this one's.
            let _ = std::fs::remove_file(out);
        }
        let mut run = timed(command)?;
        if let How::Counted { out, .. } = &self.how {
            run.instructions = Some(read_count(out)?);
        }
        Ok(run)
    }
}

/// Times a command. The programs' own output is dropped: they are measured, not watched.
fn timed(mut command: Command) -> Result<Run> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let before = children_cpu_us()?;
    let start = Instant::now();
    let status =
        command.status().with_context(|| format!("cannot run {:?}", command.get_program()))?;
    let wall_us = u64::try_from(start.elapsed().as_micros())?;
    let cpu_us = children_cpu_us()? - before;
    let Some(exit_code) = status.code() else { bail!("{command:?} ended with {status}") };
    Ok(Run { wall_us, cpu_us, exit_code, instructions: None })
}

/// CPU time of all children waited for so far.
fn children_cpu_us() -> Result<u64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok(u64::try_from((usage.user_time() + usage.system_time()).num_microseconds())?)
}

/// The plugin's line is `instructions N addresses M`.
fn read_count(path: &Path) -> Result<u64> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("QEMU's plugin left no count in {}", path.display()))?;
    let count = text.split_whitespace().nth(1).and_then(|word| word.parse().ok());
    count.with_context(|| format!("QEMU's plugin wrote {text:?}"))
}

/// The first line of QEMU's version message.
pub(super) fn qemu_version() -> Result<String> {
    let output = Command::new(strobe_oracle::qemu::PROGRAM)
        .arg("--version")
        .output()
        .with_context(|| format!("cannot run {}", strobe_oracle::qemu::PROGRAM))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// What Linux calls this processor.
pub(super) fn cpu_model() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or_else(|| "unknown processor".into(), |(_, name)| name.to_owned())
}
