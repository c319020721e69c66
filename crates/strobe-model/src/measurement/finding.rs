//! What the reader should know: faults, warnings, notes, advice.

use serde::{Deserialize, Serialize};

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// How grave it is.
    pub severity: Severity,
    /// Its name for programs, as `hard-fault` or `unmodelled-register`; findings of one kind share
    /// it.
    pub code: String,
    /// What happened, in a sentence or two.
    pub text: String,
    /// How often it came up.
    pub count: u64,
    /// Where: a function with its line, an address, a file and offset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// What shows it: names and values, as registers, a stacked frame, a call chain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<(String, Vec<(String, String)>)>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// How grave a finding is, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The run ended in it, or its figures are worth nothing.
    Fault,
    /// Figures may mislead.
    Warning,
    /// Worth knowing.
    Note,
    /// Something to try.
    Advice,
}

impl Finding {
    /// A finding that came up once, without further details.
    pub fn new(severity: Severity, code: &str, text: impl Into<String>) -> Self {
        Finding {
            severity,
            code: code.to_owned(),
            text: text.into(),
            count: 1,
            place: None,
            evidence: Vec::new(),
            advice: None,
        }
    }

    /// A warning that came up once.
    pub fn warning(code: &str, text: impl Into<String>) -> Self {
        Finding::new(Severity::Warning, code, text)
    }

    /// A note that came up once.
    pub fn note(code: &str, text: impl Into<String>) -> Self {
        Finding::new(Severity::Note, code, text)
    }

    /// The same finding, `count` times.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Finding { count, ..self }
    }
}
