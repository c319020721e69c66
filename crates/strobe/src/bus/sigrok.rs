//! Everything that sigrok decodes and strobe does not, through `sigrok-cli`.

use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};

use strobe_decode::capture::{self, Capture};

use crate::output::Format;
use crate::{exit, terminal};

/// What sigrok-cli prints for a decoder: annotations with sample numbers, or its JSON trace. It
/// gets the capture as a session of its own, whatever format it came in.
pub fn decode(capture: &Capture, decoder: &str, format: Format) -> anyhow::Result<Vec<u8>> {
    let (bytes, notes) = capture::write_sigrok(capture).map_err(|e| exit::data(e.to_string()))?;
    notes.iter().for_each(|note| terminal::message(&format!("strobe: {note}")));
    let file = tempfile::Builder::new().prefix("strobe").suffix(".sr").tempfile();
    let mut file =
        file.map_err(|e| exit::output(format!("cannot write a session for sigrok-cli: {e}")))?;
    file.write_all(&bytes)
        .map_err(|e| exit::output(format!("cannot write a session for sigrok-cli: {e}")))?;
    let mut command = Command::new("sigrok-cli");
    command.arg("-i").arg(file.path()).args(["-P", decoder]).stderr(Stdio::piped());
    command.arg(match format {
        Format::Text => "--protocol-decoder-samplenum",
        Format::Json => "--protocol-decoder-jsontrace",
    });
    let output = command.output().map_err(|e| match e.kind() {
        ErrorKind::NotFound => exit::usage(
            "--sigrok needs sigrok-cli, which is not installed; on Debian: apt-get install \
             sigrok-cli libsigrokdecode4",
        ),
        _ => exit::usage(format!("sigrok-cli cannot be started: {e}")),
    })?;
    let messages = String::from_utf8_lossy(&output.stderr);
    if !messages.trim().is_empty() {
        terminal::message(&messages);
    }
    if !output.status.success() {
        return Err(exit::usage(format!(
            "sigrok-cli refused decoder {decoder}: {}",
            output.status
        )));
    }
    Ok(output.stdout)
}
