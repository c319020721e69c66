//! What a query answers: columns and rows, whatever the engine.

/// The answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows, each with a value for every column.
    pub rows: Vec<Vec<Value>>,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// None.
    Null,
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Whole(i64),
    /// Another number.
    Real(f64),
    /// Words, times, and whatever else has a text.
    Text(String),
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The engine is not in this build.
    #[error(
        "this strobe was built without SQL; get it with `cargo install --locked --path \
         crates/strobe --features query` in a checkout of strobe, or give the folder to any \
         engine that reads Parquet (docs/history.md)"
    )]
    Without,
    /// The statement is wrong.
    #[error("{0}")]
    Statement(String),
    /// The engine failed.
    #[error("{0}")]
    Engine(String),
}
