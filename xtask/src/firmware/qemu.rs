//! Runs a program on one of QEMU's machines, as a second reference.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

const QEMU: &str = "qemu-system-arm";

/// The expected behaviour, with empty standard input.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    /// QEMU's machine; by default its only Cortex-M0.
    #[serde(default = "cortex_m0")]
    machine: String,
    exit_code: i32,
    /// A file below `firmware/` with the expected standard output. Standard error and SYS_WRITE0
    /// are not included.
    stdout: Option<String>,
}

fn cortex_m0() -> String {
    "microbit".to_owned()
}

/// Far more than any program needs on any machine under any load.
const LIMIT: Duration = Duration::from_secs(1200);

pub(crate) fn check(elf: &Path, expected: &Expected, firmware: &Path) -> Result<()> {
    let output = Command::new("timeout")
        .arg(LIMIT.as_secs().to_string())
        .args([QEMU, "-M", &expected.machine, "-semihosting", "-nographic", "-kernel"])
        .arg(elf)
        .stdin(Stdio::null())
        .output()
        .context("starting QEMU")?;
    match output.status.code() {
        Some(124) => bail!("still running under QEMU after {LIMIT:?}"),
        Some(127) => bail!("{QEMU} is missing: apt install qemu-system-arm"),
        code => ensure!(
            code == Some(expected.exit_code),
            "exits with {code:?} under QEMU, not {}: {}",
            expected.exit_code,
            String::from_utf8_lossy(&output.stderr).trim()
        ),
    }
    if let Some(file) = &expected.stdout {
        let path = firmware.join(file);
        let text = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        let found = String::from_utf8_lossy(&output.stdout);
        ensure!(output.stdout == text, "under QEMU the output differs from {file}:\n{found}");
    }
    Ok(())
}
