//! Parsing: `serde-json-core`, a settings file read into a type and written back.

use core::fmt::{self, Write};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
struct Settings<'a> {
    name: &'a str,
    enabled: bool,
    gains: [f32; 3],
    limits: Limits,
    mode: Mode,
    address: Option<u8>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Limits {
    low: i32,
    high: i64,
}

#[derive(Debug, Serialize, Deserialize)]
enum Mode {
    Manual,
    Automatic,
}

const DOCUMENT: &str = r#"{
    "name": "pump two", "enabled": true,
    "gains": [1.25, -0.015625, 3e2],
    "limits": { "low": -2147483648, "high": 9007199254740993 },
    "unknown": {"nested": [1, 2, {"deep": null}]},
    "mode": "Automatic", "address": null
}"#;

/// Reads the document and writes it back, a hundred times with a changing field, then three broken
/// ones.
pub fn work(out: &mut dyn Write) -> fmt::Result {
    let mut buffer = [0; 256];
    let mut length = 0;
    for turn in 0..100_u8 {
        let (mut settings, _) =
            serde_json_core::from_str::<Settings<'_>>(DOCUMENT).map_err(|_| fmt::Error)?;
        settings.address = turn.is_multiple_of(3).then_some(turn);
        settings.mode = if turn < 50 { Mode::Manual } else { settings.mode };
        length = serde_json_core::to_slice(&settings, &mut buffer).map_err(|_| fmt::Error)?;
    }
    let written = core::str::from_utf8(&buffer[..length]).map_err(|_| fmt::Error)?;
    writeln!(out, "{written}")?;
    let (settings, read) =
        serde_json_core::from_str::<Settings<'_>>(written).map_err(|_| fmt::Error)?;
    writeln!(out, "{read} bytes: {settings:#?}")?;
    for broken in ["{\"name\": 5}", "{\"name\": \"a", &DOCUMENT[..150]] {
        match serde_json_core::from_str::<Settings<'_>>(broken) {
            Ok(_) => writeln!(out, "accepted")?,
            Err(error) => writeln!(out, "refused: {error}")?,
        }
    }
    Ok(())
}
