//! Bytes of a file to rows. The library reads the format; what a file claims is held against what
//! it has before that, what the library makes of hostile bytes is caught here, and a file that
//! cannot be used is an error with its reason.

mod claims;
mod shape;
mod thrift;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;

use self::claims::{Pieces, Shared};
use crate::row::{Figure, Origin};
use crate::schema::{self, Places};

/// Rows that are decoded at once.
const BATCH: usize = 4096;

/// Why a file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// It is not Parquet, or not all of it.
    #[error("damaged or not complete: {0}")]
    Damaged(String),
    /// Somebody else's columns.
    #[error("not a file of this archive: {0}")]
    Foreign(String),
    /// Columns of another version.
    #[error("its schema is version {0}; this strobe reads version {version}",
        version = schema::VERSION)]
    Version(String),
}

/// A file whose columns are known.
pub struct File {
    reader: Box<dyn FileReader>,
    /// The same file, for what is looked at before the library reads it.
    pieces: Box<dyn Pieces>,
    places: Places,
}

/// Opens a file: its end is read, no row yet.
///
/// # Errors
/// [`Unusable`].
pub fn open(from: impl ChunkReader + 'static) -> Result<File, Unusable> {
    caught(|| {
        let from = Arc::new(from);
        let pieces = Shared(Arc::clone(&from));
        claims::footer(&pieces)?;
        let reader = SerializedFileReader::new(Shared(from)).map_err(damaged)?;
        claims::rows(&pieces, reader.metadata())?;
        let metadata = reader.metadata().file_metadata();
        let mut keys = metadata.key_value_metadata().into_iter().flatten();
        let version = keys.find(|pair| pair.key == schema::KEY);
        match version.map(|pair| pair.value.as_deref().unwrap_or_default()) {
            None => {
                return Err(Unusable::Foreign(format!("it lacks the key `{}`", schema::KEY)));
            }
            Some(schema::VERSION) => {}
            Some(other) => return Err(Unusable::Version(other.to_owned())),
        }
        let places = Places::of(metadata.schema_descr()).map_err(Unusable::Foreign)?;
        Ok(File { reader: Box::new(reader), pieces: Box::new(pieces), places })
    })
}

impl File {
    /// Columns that are none of ours; they are not read.
    pub fn foreign(&self) -> &[String] {
        &self.places.foreign
    }

    /// Rows, as the end of the file states.
    pub fn rows(&self) -> u64 {
        u64::try_from(self.reader.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// Passes every row on. Rows without what each must have are left out and counted.
    ///
    /// # Errors
    /// [`Unusable`] when the file ends or is damaged somewhere; rows before that were passed on.
    pub fn each(&self, mut row: impl FnMut(&Row)) -> Result<u64, Unusable> {
        caught(|| {
            let mut left_out = 0;
            for group in 0..self.reader.num_row_groups() {
                let group = self.reader.get_row_group(group).map_err(damaged)?;
                self.claims(&*group)?;
                left_out += self.group(&*group, &mut row)?;
            }
            Ok(left_out)
        })
    }

    /// Holds what a group's pages claim against what is there.
    fn claims(&self, group: &dyn RowGroupReader) -> Result<(), Unusable> {
        let metadata = group.metadata();
        let places = [&self.places.texts[..], &self.places.whole[..], &self.places.real[..]];
        let mut chunks = places.into_iter().flatten().filter_map(|at| metadata.columns().get(*at));
        chunks.try_for_each(|chunk| claims::pages(&*self.pieces, chunk, metadata.num_rows()))
    }

    fn group(
        &self,
        group: &dyn RowGroupReader,
        row: &mut impl FnMut(&Row),
    ) -> Result<u64, Unusable> {
        let mut texts = columns::<ByteArrayType>(group, &self.places.texts)?;
        let mut whole = columns::<Int64Type>(group, &self.places.whole)?;
        let mut real = columns::<DoubleType>(group, &self.places.real)?;
        let stated = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let (mut left_out, mut read) = (0, 0);
        loop {
            let mut rows = None;
            let texts = texts.iter_mut().map(|c| c.next(&mut rows)).collect::<Result<Vec<_>, _>>();
            let texts = texts?;
            let whole = whole.iter_mut().map(|c| c.next(&mut rows)).collect::<Result<Vec<_>, _>>();
            let whole = whole?;
            let real = real.iter_mut().map(|c| c.next(&mut rows)).collect::<Result<Vec<_>, _>>();
            let real = real?;
            let rows = rows.unwrap_or(0);
            if rows == 0 {
                return if read == stated {
                    Ok(left_out)
                } else {
                    Err(Unusable::Damaged(format!("{read} rows of {stated} are there")))
                };
            }
            read += rows;
            let batch = Batch { texts, whole, real };
            for at in 0..rows {
                match batch.row(at) {
                    Some(found) => row(&found),
                    None => left_out += 1,
                }
            }
        }
    }
}

/// A column that is read in steps.
struct Column<T: DataType>(ColumnReaderImpl<T>);

fn columns<T: DataType>(
    group: &dyn RowGroupReader,
    places: &[usize],
) -> Result<Vec<Column<T>>, Unusable> {
    let open = |place: &usize| {
        let reader = group.get_column_reader(*place).map_err(damaged)?;
        Ok(Column(get_typed_column_reader::<T>(reader)))
    };
    places.iter().map(open).collect()
}

impl<T: DataType> Column<T> {
    /// The next values, as many as the other columns have.
    fn next(&mut self, rows: &mut Option<usize>) -> Result<Vec<Option<T::T>>, Unusable> {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let read = self.0.read_records(BATCH, Some(&mut levels), None, &mut values);
        let (read, _, _) = read.map_err(damaged)?;
        if *rows.get_or_insert(read) != read || levels.len() != read {
            return Err(Unusable::Damaged("its columns have different lengths".to_owned()));
        }
        let mut values = values.into_iter();
        Ok(levels.iter().map(|level| if *level > 0 { values.next() } else { None }).collect())
    }
}

struct Batch {
    texts: Vec<Vec<Option<ByteArray>>>,
    whole: Vec<Vec<Option<i64>>>,
    real: Vec<Vec<Option<f64>>>,
}

impl Batch {
    /// None where something is missing that each row must have, or is no UTF-8.
    fn row(&self, at: usize) -> Option<Row<'_>> {
        let mut texts = [None; schema::TEXTS.len()];
        for (text, column) in texts.iter_mut().zip(&self.texts) {
            let bytes = column.get(at)?.as_ref();
            *text = bytes.map(|bytes| std::str::from_utf8(bytes.data())).transpose().ok()?;
        }
        let whole = [0, 1, 2].map(|i| self.whole.get(i).and_then(|c| c.get(at).copied().flatten()));
        let finite = |value: &f64| value.is_finite();
        let real = [0, 1, 2]
            .map(|i| self.real.get(i).and_then(|c| c.get(at).copied().flatten()).filter(finite));
        let [measurement, commit, branch, subject, sha256, build_id, ..] = texts;
        let [_, _, _, _, _, _, instrument, tool, settings, section, item, figure, unit, trust] =
            texts;
        Some(Row {
            measurement: measurement?,
            time: whole[0]?,
            commit,
            commit_time: whole[1],
            branch,
            subject: subject?,
            sha256,
            build_id,
            instrument: instrument?,
            tool: tool.unwrap_or_default(),
            settings: settings.unwrap_or_default(),
            section: section?,
            item,
            figure: figure?,
            unit: unit?,
            value: real[0],
            low: real[1],
            high: real[2],
            trust: trust?,
            n: whole[2],
        })
    }
}

/// A row: see [`Origin`] and [`Figure`].
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Row<'a> {
    pub measurement: &'a str,
    pub time: i64,
    pub commit: Option<&'a str>,
    pub commit_time: Option<i64>,
    pub branch: Option<&'a str>,
    pub subject: &'a str,
    pub sha256: Option<&'a str>,
    pub build_id: Option<&'a str>,
    pub instrument: &'a str,
    pub tool: &'a str,
    pub settings: &'a str,
    pub section: &'a str,
    pub item: Option<&'a str>,
    pub figure: &'a str,
    pub unit: &'a str,
    pub value: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub trust: &'a str,
    pub n: Option<i64>,
}

impl Row<'_> {
    /// Where it is from.
    pub fn origin(&self) -> Origin {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Origin {
            measurement: self.measurement.to_owned(),
            time: self.time,
            commit: owned(self.commit),
            commit_time: self.commit_time,
            branch: owned(self.branch),
            subject: self.subject.to_owned(),
            sha256: owned(self.sha256),
            build_id: owned(self.build_id),
            instrument: self.instrument.to_owned(),
            tool: self.tool.to_owned(),
            settings: self.settings.to_owned(),
        }
    }

    /// The figure.
    pub fn owned(&self) -> Figure {
        Figure {
            section: self.section.to_owned(),
            item: self.item.map(str::to_owned),
            figure: self.figure.to_owned(),
            unit: self.unit.to_owned(),
            value: self.value,
            low: self.low,
            high: self.high,
            trust: self.trust.to_owned(),
            n: self.n,
        }
    }
}

fn damaged(error: ParquetError) -> Unusable {
    let text = match error {
        ParquetError::General(text) | ParquetError::EOF(text) => text,
        other => other.to_string(),
    };
    Unusable::Damaged(text)
}

/// The library was not made for hostile bytes everywhere: where it gives up, the file is damaged.
fn caught<T>(read: impl FnOnce() -> Result<T, Unusable>) -> Result<T, Unusable> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(Unusable::Damaged("its decoder gave up".to_owned())))
}
