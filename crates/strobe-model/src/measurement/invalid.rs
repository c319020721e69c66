//! Errors of a measurement that contradicts itself.

use super::{Invalid, Number, SCHEMA, Unit};

/// A measurement that contradicts itself.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct InvalidMeasurement {
    /// The part and section, as `sections.profile`.
    pub place: String,
    /// The contradiction there.
    pub problem: Problem,
}

/// A contradiction in one part of a measurement.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Problem {
    /// Another version of the schema.
    #[error("{version} is not {SCHEMA}")]
    Schema {
        /// The version.
        version: u32,
    },
    /// Parts in too many others.
    #[error("nested too deep")]
    Depth,
    /// A finding with the count 0.
    #[error("{code} came up 0 times")]
    ZeroCount {
        /// Code of the finding.
        code: String,
    },
    /// Two entries with one name.
    #[error("there are two of the name {name:?}")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A clock of 0 Hz.
    #[error("it stands still from cycle {cycle} on")]
    StoppedClock {
        /// First cycle of the span.
        cycle: u64,
    },
    /// Spans of the clock out of order.
    #[error("cycle {cycle} comes behind {previous}")]
    ClockOrder {
        /// First cycle of a span.
        cycle: u64,
        /// First cycle of the span before it.
        previous: u64,
    },
    /// A window that ends before it begins, by time.
    #[error("it ends at {end} nanoseconds, before it begins at {begin}")]
    TimeOrder {
        /// Begin of the window in nanoseconds.
        begin: i64,
        /// End of the window in nanoseconds.
        end: i64,
    },
    /// A window that ends before it begins, by cycles.
    #[error("it ends at cycle {end}, before it begins at {begin}")]
    CycleOrder {
        /// First cycle of the window.
        begin: u64,
        /// Last cycle of the window.
        end: u64,
    },
    /// A negative duration.
    #[error("it takes {} {unit}", .duration.as_f64())]
    NegativeDuration {
        /// The duration, or its lower bound.
        duration: Number,
        /// Unit of the duration.
        unit: Unit,
    },
    /// A negative figure of the coverage.
    #[error("{figure} is {}", .value.as_f64())]
    NegativeCoverage {
        /// Name of the figure.
        figure: &'static str,
        /// Value of the figure.
        value: Number,
    },
    /// A part of the coverage that exceeds the whole.
    #[error("{figure} is more than the whole")]
    CoverageSum {
        /// Name of the part.
        figure: &'static str,
    },
    /// In the columns that make up a table.
    #[error(transparent)]
    Columns(#[from] ColumnProblem),
    /// In a profile.
    #[error(transparent)]
    Profile(#[from] ProfileProblem),
    /// In a time line.
    #[error(transparent)]
    Timeline(#[from] TimelineProblem),
    /// In a distribution.
    #[error("{name}: {problem}")]
    Distribution {
        /// Name of the distribution.
        name: String,
        /// The contradiction.
        problem: DistributionProblem,
    },
    /// In a table.
    #[error(transparent)]
    Table(#[from] TableProblem),
}

/// A contradiction in columns that make up a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ColumnProblem {
    /// Columns of different lengths.
    #[error("{table}: columns of {rows} and of {other} rows")]
    Lengths {
        /// Name of the table.
        table: String,
        /// Rows of the first column.
        rows: usize,
        /// Rows of another one.
        other: usize,
    },
    /// An index beyond the table that it refers to.
    #[error("{table} refer to {column} {index}, which is not there")]
    Index {
        /// Name of the table.
        table: &'static str,
        /// Kind of the entry.
        column: &'static str,
        /// Index of the entry.
        index: u32,
    },
    /// A parent after its child, which permits cycles.
    #[error("{table}: entry {entry} refers to one that does not come before it")]
    ParentOrder {
        /// Name of the table.
        table: &'static str,
        /// Index of the child.
        entry: usize,
    },
}

/// A contradiction in a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileProblem {
    /// Values of an unknown measure.
    #[error("{samples} have values of {measure}, which is not declared")]
    UnknownMeasure {
        /// `leaves` or `chains`.
        samples: &'static str,
        /// The measure.
        measure: String,
    },
    /// Parts of a measure that differ from it in sum.
    #[error("{samples}: the parts of {measure} of sample {sample} add up to {sum}, not {whole}")]
    Parts {
        /// `leaves` or `chains`.
        samples: &'static str,
        /// The measure.
        measure: String,
        /// Index of the sample.
        sample: usize,
        /// Sum of the parts.
        sum: i128,
        /// Value of the measure.
        whole: i64,
    },
    /// Call chains that differ from the locations in sum.
    #[error("{measure}: call chains add up to {chains}, locations to {leaves}")]
    Chains {
        /// The measure.
        measure: String,
        /// Sum of the call chains.
        chains: i64,
        /// Sum of the locations.
        leaves: i64,
    },
}

/// A contradiction in a time line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimelineProblem {
    /// An end before the begin.
    #[error("{part} ends at {to}, before it begins at {from}")]
    Order {
        /// The part of the time line.
        part: String,
        /// Its begin.
        from: i64,
        /// Its end.
        to: i64,
    },
    /// An exact part outside the time line.
    #[error("the part from {from} to {to} is not on the time line")]
    Exact {
        /// Begin of the part.
        from: i64,
        /// End of the part.
        to: i64,
    },
    /// An entry outside the time line.
    #[error("{kind} {index} at {at} is not on the time line")]
    Outside {
        /// Kind of the entry.
        kind: &'static str,
        /// Its index.
        index: usize,
        /// Its time.
        at: i64,
    },
    /// A span beyond the end of the time line.
    #[error("span {index} ends behind the time line")]
    SpanEnd {
        /// Index of the span.
        index: usize,
    },
    /// A summary with stretches of length 0.
    #[error("a summary's stretches are 0 long")]
    StretchWidth,
    /// A summary with stretches out of order.
    #[error("a summary's stretches are not in their order")]
    StretchOrder,
}

/// A contradiction in a distribution.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DistributionProblem {
    /// A frequency of 0 Hz.
    #[error("no ticks in a second")]
    NoTicks,
    /// Another number of bounds than of values.
    #[error("{values} values with {bounds} bounds")]
    BoundCount {
        /// Number of values.
        values: u64,
        /// Number of bounds.
        bounds: u64,
    },
    /// Lower bounds without upper ones, or the reverse.
    #[error("bounds on one side only")]
    OneBound,
    /// A value outside its bounds.
    #[error("values lie outside of their bounds")]
    Bounds,
    /// Raw values that are not those of the distribution.
    #[error("the values in their order are others")]
    Values,
}

/// A contradiction in the buckets of a distribution.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SpreadProblem {
    /// The buckets contain another number of values.
    #[error("a distribution of {count} values has {total} in its buckets")]
    Count {
        /// Declared number of values.
        count: u64,
        /// Values in the buckets.
        total: u128,
    },
    /// Empty buckets, or buckets out of order.
    #[error("a distribution's buckets are not in order")]
    Order,
    /// Other extremes than those of the buckets.
    #[error("a distribution's extremes are not in its buckets")]
    Extremes,
    /// Another sum than that of the buckets.
    #[error("a distribution's values add up to {total}, not {sum}")]
    Sum {
        /// Sum of the buckets.
        total: u64,
        /// Declared sum.
        sum: u64,
    },
    /// Another sum of squares than that of the buckets.
    #[error("a distribution's squares add up to {total}, not {squares}")]
    Squares {
        /// Sum of the buckets' squares.
        total: f64,
        /// Declared sum of squares.
        squares: f64,
    },
}

/// A contradiction in a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableProblem {
    /// A column with another number of rows than the table.
    #[error("column {column} has {cells} rows, not {rows}")]
    Rows {
        /// The column.
        column: String,
        /// Its rows.
        cells: usize,
        /// Rows of the table.
        rows: usize,
    },
    /// A cell of another kind than its column.
    #[error("column {column}, row {row} is not of the column's kind")]
    Kind {
        /// The column.
        column: String,
        /// The row.
        row: usize,
    },
    /// An invalid figure.
    #[error("column {column}, row {row}: {error}")]
    Cell {
        /// The column.
        column: String,
        /// The row.
        row: usize,
        /// The contradiction in the figure.
        error: Invalid,
    },
    /// A footer with another number of cells than the table has columns.
    #[error("a footer has {cells} cells for {columns} columns")]
    FooterCells {
        /// Cells of the footer.
        cells: usize,
        /// Columns of the table.
        columns: usize,
    },
    /// An invalid figure in a footer.
    #[error("column {column}, footer: {error}")]
    Footer {
        /// The column.
        column: String,
        /// The contradiction in the figure.
        error: Invalid,
    },
}
