//! A comparison as data: figures in the tables of a measurement, and findings, certainties and
//! causes as values, of which a report makes sentences.

use strobe_model::measurement::{Content, Measurement, Section};

use super::certain::Certainty;
use super::explain::Cause;
use super::found::FunctionChanges;
use super::state::State;
use super::unlike::Unlike;
use super::verdict::Verdict;

/// Two measurements side by side.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The figures of both with their differences. Cells of [`Comparison::columns`] are empty.
    pub measurement: Measurement,
    /// The names of the subjects of both.
    pub names: [String; 2],
    /// The answers to what changed, how much, and how certain that is.
    pub verdict: Verdict,
    /// Changes of functions, of each profile that both sides have.
    pub functions: Vec<FunctionChanges>,
    /// What the two do not have in common, in the order in which it was found.
    pub unlike: Vec<Unlike>,
    /// Notes on the sections of the measurement, by the section's id.
    pub notes: Vec<(String, Note)>,
    /// Columns of the measurement's tables that are no figures.
    pub columns: Vec<StatedColumn>,
}

/// A column of a table, by row.
#[derive(Debug, Clone)]
pub struct StatedColumn {
    /// The section that the table is.
    pub section: String,
    /// The column's id.
    pub column: &'static str,
    /// One statement for each row.
    pub cells: Vec<Statement>,
}

/// A cell that is no figure.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// Whether the row's difference is more than chance.
    Certainty(Certainty),
    /// How a function is not the same in both.
    State(Option<State>),
    /// Why a function differs.
    Causes(Vec<Cause>),
}

/// How the figures of a section were made.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// How functions of one side are found on the other.
    Matching,
    /// How samples were tested: they vary so many times as much as independent ones, if known.
    SampleTest {
        /// By how much more the samples vary.
        inflation: Option<f64>,
    },
    /// How functions of several runs were tested.
    RunTest {
        /// Whether shares of samples were, not figures.
        sampled: bool,
    },
    /// How the difference of a function is divided.
    Division,
    /// Lines of A are shown by those of B.
    MovedLines,
    /// How instructions are aligned.
    Alignment,
    /// How shares of samples were tested against shares of another unit.
    ShareTest,
    /// How figures of several runs were tested.
    SpreadTest,
    /// Which of several runs is shown.
    MiddleRun,
}

/// The columns of [`Statement`]s.
pub(super) const CERTAIN: &str = "verdict";
pub(super) const CHANGE: &str = "change";
pub(super) const WHY: &str = "why";

/// One of the two that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideId {
    /// The first one.
    A,
    /// The second one, which is compared with the first.
    B,
}

impl Comparison {
    /// Nothing compared yet, in a measurement that has no sections.
    pub(super) fn new(measurement: Measurement, names: [String; 2]) -> Comparison {
        Comparison {
            measurement,
            names,
            verdict: Verdict::default(),
            functions: Vec::new(),
            unlike: Vec::new(),
            notes: Vec::new(),
            columns: Vec::new(),
        }
    }

    /// Adds a section behind the others.
    pub(super) fn push(&mut self, id: &str, title: String, content: Content) -> &mut Section {
        self.measurement.push(id, title, content)
    }

    /// Adds a note on a section.
    pub(super) fn note(&mut self, section: &str, note: Note) {
        self.notes.push((section.to_owned(), note));
    }

    /// Adds the cells of a column.
    pub(super) fn state(&mut self, section: &str, column: &'static str, cells: Vec<Statement>) {
        self.columns.push(StatedColumn { section: section.to_owned(), column, cells });
    }

    /// A section's name that no other one has: comparisons may be compared, too.
    pub(super) fn free(&self, id: &str) -> String {
        let ids = std::iter::once(id.to_owned()).chain((2..).map(|n: u32| format!("{id}-{n}")));
        let mut free = ids.filter(|id| self.measurement.section(id).is_none());
        free.next().unwrap_or_default()
    }
}

impl SideId {
    /// Both, in their order.
    pub const BOTH: [SideId; 2] = [SideId::A, SideId::B];

    /// Its name.
    pub fn letter(self) -> &'static str {
        match self {
            SideId::A => "a",
            SideId::B => "b",
        }
    }
}
