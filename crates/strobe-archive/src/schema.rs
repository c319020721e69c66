//! What a file of the archive looks like: columns, their types, and the version beside them.

use std::sync::Arc;

use parquet::basic::Type as Physical;
use parquet::errors::ParquetError;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{SchemaDescriptor, TypePtr};

/// The version of the columns. Files of another one are not read.
pub const VERSION: &str = "1";

/// The key of the version in a file's metadata.
pub const KEY: &str = "strobe.archive.schema";

/// The columns. All are optional in the sense of Parquet, so that a later version may leave one
/// out; times are microseconds, because Spark refuses nanoseconds.
pub const MESSAGE: &str = "
message figures {
  OPTIONAL BYTE_ARRAY measurement (STRING);
  OPTIONAL INT64 time (TIMESTAMP(MICROS,true));
  OPTIONAL BYTE_ARRAY commit (STRING);
  OPTIONAL INT64 commit_time (TIMESTAMP(MICROS,true));
  OPTIONAL BYTE_ARRAY branch (STRING);
  OPTIONAL BYTE_ARRAY subject (STRING);
  OPTIONAL BYTE_ARRAY sha256 (STRING);
  OPTIONAL BYTE_ARRAY build_id (STRING);
  OPTIONAL BYTE_ARRAY instrument (STRING);
  OPTIONAL BYTE_ARRAY tool (STRING);
  OPTIONAL BYTE_ARRAY settings (STRING);
  OPTIONAL BYTE_ARRAY section (STRING);
  OPTIONAL BYTE_ARRAY item (STRING);
  OPTIONAL BYTE_ARRAY figure (STRING);
  OPTIONAL BYTE_ARRAY unit (STRING);
  OPTIONAL DOUBLE value;
  OPTIONAL DOUBLE low;
  OPTIONAL DOUBLE high;
  OPTIONAL BYTE_ARRAY trust (STRING);
  OPTIONAL INT64 n;
}
";

/// Columns of words, in their order.
pub(crate) const TEXTS: [&str; 14] = [
    "measurement",
    "commit",
    "branch",
    "subject",
    "sha256",
    "build_id",
    "instrument",
    "tool",
    "settings",
    "section",
    "item",
    "figure",
    "unit",
    "trust",
];

/// Columns of whole numbers.
pub(crate) const WHOLE: [&str; 3] = ["time", "commit_time", "n"];

/// Columns of other numbers.
pub(crate) const REAL: [&str; 3] = ["value", "low", "high"];

/// The columns as the library has them.
pub(crate) fn schema() -> Result<TypePtr, ParquetError> {
    parse_message_type(MESSAGE).map(Arc::new)
}

/// Where a file has our columns.
pub(crate) struct Places {
    pub texts: Vec<usize>,
    pub whole: Vec<usize>,
    pub real: Vec<usize>,
    /// Columns that are none of ours.
    pub foreign: Vec<String>,
}

impl Places {
    /// Finds them.
    ///
    /// # Errors
    /// The name of a column that is missing or of another type.
    pub fn of(schema: &SchemaDescriptor) -> Result<Places, String> {
        let find = |names: &[&str], kind: Physical| -> Result<Vec<usize>, String> {
            let place = |name: &&str| {
                let path = |at: &usize| schema.column(*at).path().parts() == [name.to_string()];
                let at = (0..schema.num_columns()).find(path);
                let at = at.ok_or_else(|| format!("the column `{name}` is missing"))?;
                let column = schema.column(at);
                let fits = column.physical_type() == kind
                    && column.max_def_level() == 1
                    && column.max_rep_level() == 0;
                if fits { Ok(at) } else { Err(format!("the column `{name}` is of another type")) }
            };
            names.iter().map(place).collect()
        };
        let ours =
            |name: &str| TEXTS.contains(&name) || WHOLE.contains(&name) || REAL.contains(&name);
        let names = schema.columns().iter().map(|column| column.path().string());
        Ok(Places {
            texts: find(&TEXTS, Physical::BYTE_ARRAY)?,
            whole: find(&WHOLE, Physical::INT64)?,
            real: find(&REAL, Physical::DOUBLE)?,
            foreign: names.filter(|name| !ours(name)).collect(),
        })
    }
}
