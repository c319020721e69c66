//! SQL on an archive, in process, by DataFusion. The table is `figures`; nothing can be written.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::{
    DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Schema,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::ListingOptions;
use datafusion::error::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::parquet::arrow::parquet_to_arrow_schema;
use datafusion::parquet::schema::types::SchemaDescriptor;
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::answer::{Answer, QueryError, Value};
use crate::schema;

/// Whether this build has it.
pub const IS_THERE: bool = true;

/// Answers a statement about the archive in that directory.
///
/// # Errors
/// When the statement is wrong or writes something, or a file cannot be read.
pub fn run(directory: &Path, statement: &str) -> Result<Answer, QueryError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .map_err(|error| QueryError::Engine(error.to_string()))?;
    runtime.block_on(answer(directory, statement, threads)).map_err(of_engine)
}

async fn answer(
    directory: &Path,
    statement: &str,
    threads: usize,
) -> Result<Answer, DataFusionError> {
    let config = SessionConfig::new().with_target_partitions(threads);
    let context = SessionContext::new_with_config(config);
    let format = ParquetFormat::default().with_enable_pruning(true);
    let partitions = ["project", "board", "date"].map(|name| (name.to_owned(), DataType::Utf8));
    let options = ListingOptions::new(Arc::new(format))
        .with_file_extension(".parquet")
        .with_table_partition_cols(partitions.into());
    let place = format!("{}/", directory.display());
    let columns = Some(Arc::new(columns()?));
    context.register_listing_table("figures", place, options, columns, None).await?;
    let reads =
        SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    let frame = context.sql_with_options(statement, reads).await?;
    let columns = frame.schema().fields().iter().map(|field| field.name().clone()).collect();
    let mut answer = Answer { columns, rows: Vec::new() };
    for batch in frame.collect().await? {
        rows(&batch, &mut answer.rows)?;
    }
    Ok(answer)
}

/// The archive's columns, whatever else a file has.
fn columns() -> Result<Schema, DataFusionError> {
    let schema = SchemaDescriptor::new(schema::schema()?);
    Ok(parquet_to_arrow_schema(&schema, None)?)
}

fn rows(batch: &RecordBatch, rows: &mut Vec<Vec<Value>>) -> Result<(), DataFusionError> {
    let options = FormatOptions::default();
    let texts: Result<Vec<_>, _> = batch
        .columns()
        .iter()
        .map(|column| ArrayFormatter::try_new(column.as_ref(), &options))
        .collect();
    let texts = texts?;
    for row in 0..batch.num_rows() {
        let value = |(column, text): (&Arc<dyn Array>, &ArrayFormatter)| {
            number(column.as_ref(), row).unwrap_or_else(|| Value::Text(text.value(row).to_string()))
        };
        rows.push(batch.columns().iter().zip(&texts).map(value).collect());
    }
    Ok(())
}

/// A value that is no text.
fn number(column: &dyn Array, row: usize) -> Option<Value> {
    macro_rules! whole {
        ($kind:ty) => {
            i64::try_from(column.as_primitive::<$kind>().value(row)).ok().map(Value::Whole)
        };
    }
    if column.is_null(row) {
        return Some(Value::Null);
    }
    match column.data_type() {
        DataType::Null => Some(Value::Null),
        DataType::Boolean => Some(Value::Boolean(column.as_boolean().value(row))),
        DataType::Int8 => whole!(Int8Type),
        DataType::Int16 => whole!(Int16Type),
        DataType::Int32 => whole!(Int32Type),
        DataType::Int64 => whole!(Int64Type),
        DataType::UInt8 => whole!(UInt8Type),
        DataType::UInt16 => whole!(UInt16Type),
        DataType::UInt32 => whole!(UInt32Type),
        DataType::UInt64 => whole!(UInt64Type),
        DataType::Float32 => {
            Some(Value::Real(f64::from(column.as_primitive::<Float32Type>().value(row))))
        }
        DataType::Float64 => Some(Value::Real(column.as_primitive::<Float64Type>().value(row))),
        _ => None,
    }
}

/// The engine's own words, without its internals.
fn of_engine(error: DataFusionError) -> QueryError {
    let text = error.strip_backtrace();
    match error.find_root() {
        DataFusionError::SQL(..) | DataFusionError::Plan(_) | DataFusionError::SchemaError(..) => {
            QueryError::Statement(text)
        }
        _ => QueryError::Engine(text),
    }
}
