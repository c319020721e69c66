//! Accepted figures, in a small sorted file that is reviewed as code is: `strobe-baseline.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use strobe_analyse::budget::{Share, Stored};
use strobe_model::measurement::{Measurement, Number, Quantity, Unit};

use super::config::explained;
use super::error::{BaselineError, StepError};
use crate::exit;
use crate::files::{self, Kind};

const SCHEMA: &str = "strobe-baseline/1";

/// How the line of any version begins that names it.
const OWN: &str = "schema = \"strobe-baseline/";

const HEAD: &str = "\
# Figures accepted by `strobe check --accept` (docs/check.md); limits with a sign count from here.
";

/// Functions that are kept of each figure.
pub const KEPT: usize = 8;

/// A whole file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    schema: String,
    /// How many figures it has, those of functions as well: a file that was cut off has fewer.
    figures: usize,
    /// By firmware.
    #[serde(default)]
    pub firmware: BTreeMap<String, Accepted>,
}

/// What is accepted of a firmware.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// Its file's name.
    pub file: String,
    /// What it ran on, if it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<String>,
    /// By budget.
    pub budget: BTreeMap<String, Entry>,
}

/// An accepted figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The likely value.
    pub value: Number,
    /// Its unit.
    pub unit: Unit,
    /// The ends of its interval, where it was sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(Number, Number)>,
    /// The largest functions behind it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub functions: BTreeMap<String, i64>,
}

impl Entry {
    /// What is kept of a figure; nothing of one that is not known.
    pub fn of(quantity: &Quantity, functions: &[Share]) -> Option<Self> {
        let stored = Stored::of(quantity)?;
        let kept = functions.iter().take(KEPT);
        Some(Entry {
            value: quantity.value()?,
            unit: stored.unit,
            interval: stored.interval.map(|(low, high)| (low.into(), high.into())),
            functions: kept.map(|share| (share.name.clone(), share.value)).collect(),
        })
    }

    /// As it is judged.
    pub fn stored(&self) -> Stored {
        let interval = self.interval.map(|(low, high)| (low.as_f64(), high.as_f64()));
        Stored { value: self.value.as_f64(), interval, unit: self.unit.clone() }
    }
}

impl Accepted {
    fn figures(&self) -> usize {
        self.budget.values().map(|entry| 1 + entry.functions.len()).sum()
    }

    /// Why figures of this measurement cannot be compared with these.
    pub fn mismatch(&self, file: &str, measurement: &Measurement) -> Option<StepError> {
        let board = &measurement.subject.board;
        if self.file != file {
            let (accepted, file) = (self.file.clone(), file.to_owned());
            return Some(StepError::OtherFile { accepted, file });
        }
        match (&self.board, board) {
            (Some(old), Some(new)) if old != new => {
                Some(StepError::OtherBoard { accepted: old.clone(), board: new.clone() })
            }
            _ => None,
        }
    }
}

impl Baseline {
    /// Of these figures.
    pub fn new(firmware: BTreeMap<String, Accepted>) -> Self {
        let figures = firmware.values().map(Accepted::figures).sum();
        Baseline { schema: SCHEMA.to_owned(), figures, firmware }
    }

    /// Reads a file; none where there is none.
    ///
    /// # Errors
    /// What cannot be read (66); another version and what is cut off (65).
    pub fn read(path: &Path) -> anyhow::Result<Option<Self>> {
        if !path.exists() {
            return Ok(None);
        }
        let text = files::text(path, &Kind::BASELINE)?;
        let read = Self::parse(&text);
        read.map(Some).map_err(|e| exit::data(format!("{}: {e}", path.display())))
    }

    /// Whether a file, if there is one, is a baseline, whole or not, or empty: what else a slip of
    /// the pen may name is not replaced.
    ///
    /// # Errors
    /// What cannot be read (66); what is none (65).
    pub fn may_replace(path: &Path) -> anyhow::Result<()> {
        if !path.exists() {
            return Ok(());
        }
        let bytes = files::bytes(path, &Kind::BASELINE)?;
        let is_own = |line: &[u8]| line.trim_ascii_start().starts_with(OWN.as_bytes());
        let begins_so = bytes.starts_with(HEAD.as_bytes()) || HEAD.as_bytes().starts_with(&bytes);
        if begins_so || bytes.split(|byte| *byte == b'\n').any(is_own) {
            return Ok(());
        }
        Err(exit::data(format!(
            "{} is no baseline, and would be replaced by one; give `baseline` in strobe.toml \
             another name, or remove the file",
            path.display()
        )))
    }

    fn parse(text: &str) -> Result<Self, BaselineError> {
        let no_head = |e: toml::de::Error| BaselineError::NoHead(explained(&e));
        let Head { schema } = toml::from_str(text).map_err(no_head)?;
        if schema != SCHEMA {
            return Err(BaselineError::OtherForm { found: schema, known: SCHEMA });
        }
        let syntax = |e: toml::de::Error| BaselineError::Syntax(explained(&e));
        let baseline: Baseline = toml::from_str(text).map_err(syntax)?;
        let found: usize = baseline.firmware.values().map(Accepted::figures).sum();
        if found != baseline.figures {
            return Err(BaselineError::CutOff { announced: baseline.figures, found });
        }
        Ok(baseline)
    }

    /// Writes it.
    ///
    /// # Errors
    /// When it cannot be written (74).
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let text = toml::to_string(self).map_err(|e| anyhow::anyhow!("a defect: {e}"))?;
        files::replace(path, format!("{HEAD}{text}").as_bytes())
    }
}

/// The head of a file of any version.
#[derive(Deserialize)]
struct Head {
    schema: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline() -> Baseline {
        let entry = |value: u64| Entry {
            value: value.into(),
            unit: Unit::CYCLES,
            interval: None,
            functions: [("f".to_owned(), 3)].into(),
        };
        let budget = [("b".to_owned(), entry(1200)), ("a".to_owned(), entry(5))].into();
        let accepted = Accepted { file: "fw.elf".into(), board: Some("blue".into()), budget };
        Baseline::new([("fw".to_owned(), accepted)].into())
    }

    #[test]
    fn written_file_is_read_and_any_part_refused() {
        let text = toml::to_string(&baseline()).unwrap();
        assert_eq!(Baseline::parse(&text), Ok(baseline()));
        // Whole lines are whole tables: only the count knows that there were more.
        for (at, _) in text.trim_end().match_indices('\n') {
            let cut = &text[..at];
            assert!(Baseline::parse(cut).is_err(), "{cut}");
        }
    }

    #[test]
    fn only_baselines_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        Baseline::may_replace(&path).unwrap();
        let whole = format!("{HEAD}{}", toml::to_string(&baseline()).unwrap()).into_bytes();
        let conflict = [b"<<<<<<< ours\n", &*whole].concat();
        let cut = (0..whole.len()).map(|end| &whole[..end]);
        for mine in cut.chain([&*whole, &conflict]) {
            std::fs::write(&path, mine).unwrap();
            Baseline::may_replace(&path).unwrap();
        }
        for other in [&b"\x7fELF"[..], b"[[firmware]]\nelf = \"fw.elf\"\n", b"\n"] {
            std::fs::write(&path, other).unwrap();
            let error = Baseline::may_replace(&path).unwrap_err().to_string();
            assert!(error.contains("is no baseline"), "{error}");
        }
    }

    #[test]
    fn another_version_is_named() {
        let text = toml::to_string(&baseline()).unwrap().replace("baseline/1", "baseline/7");
        assert!(Baseline::parse(&text).unwrap_err().to_string().contains("strobe-baseline/7"));
    }
}
