//! What somebody claims, which an experiment measures again.

use serde::Deserialize;
use strobe_model::measurement::ids;
use strobe_model::measurement::{Cell, Column, Content, Section, Table};

use crate::measurement::section;

/// A claim that an experiment is about; no part of what is run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Claim {
    /// Where it stands, as in `2.14`.
    pub row: String,
    /// The number of an error that it has.
    #[serde(default)]
    pub error: Option<String>,
    /// What is claimed.
    pub claim: String,
    /// The figure that was given for it.
    pub said: String,
    /// What was measured here before.
    pub ours: String,
    /// `holds`, `in-part`, `wrong`, ...
    pub verdict: String,
    /// Why that is the verdict.
    #[serde(default)]
    pub why: Option<String>,
    /// Tests that hold it.
    #[serde(default)]
    pub tests: Vec<String>,
}

/// What is claimed elsewhere, beside what was measured before.
pub(crate) fn table(claims: &[Claim]) -> Option<Section> {
    let columns = [
        ("claim", "claim"),
        ("said", "they measured"),
        ("ours", "measured here before"),
        ("verdict", "verdict"),
    ];
    let mut table = Table::new(columns.map(|(id, title)| Column::text(id, title)).into());
    for Claim { claim, said, ours, verdict, why, .. } in claims {
        let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        let verdict = format!("{}{why}", verdict.replace('-', " "));
        table.row([claim, said, ours, &verdict].map(|text| Cell::from(text.as_str())));
    }
    (!claims.is_empty())
        .then(|| section(ids::section::CLAIMS, "claims", &[], Content::Table(table)))
}
