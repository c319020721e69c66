//! What was measured, with what, when, and how much of it was seen.

use serde::{Deserialize, Serialize};

use super::{Quantity, Settings, Unit};

/// What was measured: enough to distinguish two builds, and one from another's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Subject {
    /// `firmware`, `process`, `dump`, `capture`, `trace`, `variant`, `rig`, `comparison`.
    pub kind: String,
    /// Its name: a file without its directories, a command.
    pub name: String,
    /// SHA-256 of the file, hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Build id, hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// What it ran on, as `stm32f070cb`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<String>,
    /// Its core, as the maker writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<String>,
    /// The core clock over time; empty where it is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clock: Vec<ClockSpan>,
    /// What else is known of it, in the order in which it should be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
}

impl Subject {
    /// What it ran on; empty where that is not known.
    pub fn board(&self) -> &str {
        self.board.as_deref().unwrap_or_default()
    }

    /// Its core; empty where that is not known.
    pub fn core(&self) -> &str {
        self.core.as_deref().unwrap_or_default()
    }
}

/// From `cycle` on, the core clock is `hz`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockSpan {
    /// Core cycles since the beginning.
    pub cycle: u64,
    /// Hertz.
    pub hz: u32,
}

/// Something known by name: compilers, sizes, a trace's tracer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fact {
    /// Its name, as `compiler` or `flash`.
    pub name: String,
    /// In words, where it is no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<Quantity>,
}

impl Fact {
    /// A fact in words.
    pub fn text(name: &str, text: impl Into<String>) -> Self {
        Fact { name: name.to_owned(), text: Some(text.into()), figure: None }
    }

    /// A figure.
    pub fn figure(name: &str, figure: Quantity) -> Self {
        Fact { name: name.to_owned(), text: None, figure: Some(figure) }
    }
}

/// What measured, and with which settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Instrument {
    /// `simulated board`, `trace pin`, `logic analyser`, `event trace`, …
    pub kind: String,
    /// Tool and version.
    pub tool: String,
    /// Everything that influenced the result, by name.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub settings: Settings,
    /// Where it ran, if that matters: probe, link, host.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub environment: Settings,
}

/// A moment on the measurement's own time line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moment {
    /// Nanoseconds, where time is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nanoseconds: Option<i64>,
    /// Core cycles (or ticks, if the unit of time is one), where they are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle: Option<u64>,
}

/// What part of the run was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Window {
    /// Start of the (first) window; unknown where nothing has a time.
    pub begin: Moment,
    /// End of the (last) window.
    pub end: Moment,
    /// How often a `--from`/`--to` window was entered; `None` when the whole run was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// Time inside windows.
    pub duration: Quantity,
    /// Why it ended.
    pub ended: Ended,
}

/// Why a measurement ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ended {
    /// For programs, as `exit`, `limit`, `end-of-file`.
    pub kind: String,
    /// For people, as `the firmware exited with code 0`.
    pub text: String,
    /// The firmware's or process's exit code, if it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
}

impl Window {
    /// A window of which no time is known.
    pub fn untimed(why: &str, ended: Ended) -> Self {
        let duration = Quantity::unknown(Unit::NANOSECONDS, why);
        Window { begin: Moment::default(), end: Moment::default(), entries: None, duration, ended }
    }
}

/// How much of the run was seen, lost or caused by measuring. Each may be unknown, and then states
/// why; absent where the instrument has no such notion.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Coverage {
    /// Everything that there was to see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Quantity>,
    /// Of it, seen (inside the window).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Quantity>,
    /// Missing from the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Quantity>,
    /// What measuring cost the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Quantity>,
}
