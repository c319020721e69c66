//! Rows to the bytes of a file.

use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};

use crate::row::{Figure, Origin};
use crate::schema;

/// A file that cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("the archive's file cannot be made: {0}")]
pub struct WriteError(#[from] ParquetError);

/// Makes a file: a row group for each measurement.
///
/// # Errors
/// When the library refuses, which is a defect.
pub fn write(measurements: &[(Origin, Vec<Figure>)], tool: &str) -> Result<Vec<u8>, WriteError> {
    let version = KeyValue::new(schema::KEY.to_owned(), schema::VERSION.to_owned());
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(tool.to_owned())
        .set_key_value_metadata(Some(vec![version]))
        .build();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema::schema()?, Arc::new(properties))?;
    for (origin, figures) in measurements {
        let mut group = file.next_row_group()?;
        columns(&mut group, origin, figures)?;
        group.close()?;
    }
    file.close()?;
    Ok(bytes)
}

/// All columns, in the order of the schema.
fn columns<W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    origin: &Origin,
    figures: &[Figure],
) -> Result<(), ParquetError> {
    let n = figures.len();
    let same = UnchangedParts { n };
    same.text(group, Some(&origin.measurement))?;
    same.time(group, Some(origin.time))?;
    same.text(group, origin.commit.as_deref())?;
    same.time(group, origin.commit_time)?;
    let (sha256, build_id) = (origin.sha256.as_deref(), origin.build_id.as_deref());
    for text in [origin.branch.as_deref(), Some(&origin.subject), sha256, build_id] {
        same.text(group, text)?;
    }
    for text in [&origin.instrument, &origin.tool, &origin.settings] {
        same.text(group, Some(text))?;
    }
    let words: [fn(&Figure) -> Option<&str>; 4] = [
        |figure| Some(&figure.section),
        |figure| figure.item.as_deref(),
        |figure| Some(&figure.figure),
        |figure| Some(&figure.unit),
    ];
    for word in words {
        let values = figures.iter().map(|figure| word(figure).map(ByteArray::from));
        column::<ByteArrayType, W>(group, values)?;
    }
    for number in [|f: &Figure| f.value, |f: &Figure| f.low, |f: &Figure| f.high] {
        column::<DoubleType, W>(group, figures.iter().map(number))?;
    }
    let trust = figures.iter().map(|figure| Some(ByteArray::from(figure.trust.as_str())));
    column::<ByteArrayType, W>(group, trust)?;
    column::<Int64Type, W>(group, figures.iter().map(|figure| figure.n))
}

/// Columns with one value in all rows.
struct UnchangedParts {
    n: usize,
}

impl UnchangedParts {
    fn text<W: std::io::Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        text: Option<&str>,
    ) -> Result<(), ParquetError> {
        let value = text.map(ByteArray::from);
        column::<ByteArrayType, W>(group, std::iter::repeat_n(value, self.n))
    }

    fn time<W: std::io::Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        time: Option<i64>,
    ) -> Result<(), ParquetError> {
        column::<Int64Type, W>(group, std::iter::repeat_n(time, self.n))
    }
}

/// One column: its values, and where there is none.
fn column<T: DataType, W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    all: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("the schema has fewer columns".to_owned());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    let all: Vec<Option<T::T>> = all.collect();
    let levels: Vec<i16> = all.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = all.into_iter().flatten().collect();
    column.typed::<T>().write_batch(&values, Some(&levels), None)?;
    column.close()
}
