//! The table of known recordings, `known.toml`.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

/// All that is known.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Known {
    /// The SHA-256 of each file, by its path in the directory.
    pub(super) sha256: BTreeMap<String, String>,
    /// Sums that must be equal in every report of a kind.
    #[serde(default, rename = "balance")]
    pub(super) balances: Vec<Balance>,
    #[serde(rename = "recording")]
    pub(super) recordings: Vec<Recording>,
}

/// Two sums that must be equal.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Balance {
    /// The kind of report.
    pub(super) instrument: String,
    pub(super) left: Vec<String>,
    pub(super) right: Vec<String>,
}

/// A file and its expected results.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recording {
    /// Its path in the directory. strobe runs in the folder of the file.
    pub(super) file: String,
    /// Other required files in that folder.
    #[serde(default)]
    pub(super) beside: Vec<String>,
    #[serde(default, rename = "run")]
    pub(super) runs: Vec<Run>,
    /// Other programs that read the same file.
    #[serde(default)]
    pub(super) second: Vec<Second>,
}

/// A run of strobe. Paths of values are explained in `known.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    /// `--format measurement` is added if values are checked.
    pub(super) arguments: Vec<String>,
    #[serde(default)]
    pub(super) is: BTreeMap<String, Value>,
    /// Inclusive ranges of values.
    #[serde(default)]
    pub(super) between: BTreeMap<String, [f64; 2]>,
    /// Strings that the text must contain.
    #[serde(default)]
    pub(super) text: Vec<String>,
}

/// Another program that reads the same file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Second {
    /// Event by event, the file being a stream of this metadata.
    Babeltrace { metadata: String },
    /// babeltrace2 reads strobe's CTF export, and so does strobe, with the same handlers.
    ExportedCtf,
    /// Sample by sample, as exported by strobe: as a session, and as a dump with so many ticks to a
    /// sample if that is a whole number.
    SigrokSamples { vcd_ticks: Option<usize> },
    /// Word by word: strobe's decoder, which is spelled as sigrok's, and the annotations of each
    /// lane.
    SigrokWords { decoder: String, lanes: Vec<String>, at_least: usize },
    /// Packet by packet: sigrok's decoders of a trace pin.
    SigrokItm { decoder: String },
}

impl Known {
    pub(super) fn read() -> Result<Known> {
        Known::parse(include_str!("known.toml"))
    }

    pub(super) fn parse(text: &str) -> Result<Known> {
        toml::from_str(text).context("xtask/src/recordings/known.toml")
    }
}

impl Recording {
    /// The folder of the file, as a prefix of paths.
    pub(super) fn folder(&self) -> &str {
        self.file.rfind('/').map_or("", |slash| &self.file[..=slash])
    }

    /// The file name in that folder.
    pub(super) fn name(&self) -> &str {
        &self.file[self.folder().len()..]
    }

    /// All required files, by their paths in the directory.
    pub(super) fn files(&self) -> Vec<String> {
        let beside = self.beside.iter().map(|name| format!("{}{name}", self.folder()));
        [self.file.clone()].into_iter().chain(beside).collect()
    }
}

impl Run {
    /// Whether values of its measurement are checked.
    pub(super) fn has_values(&self) -> bool {
        !self.is.is_empty() || !self.between.is_empty()
    }

    /// Whether any of its output is checked.
    #[cfg(test)]
    pub(super) fn judges(&self) -> bool {
        self.has_values() || !self.text.is_empty()
    }
}
