//! What a file claims, held against what it has, before the library believes it: it reserves memory
//! as a header states, and memory that there is none of ends the process.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::reader::{ChunkReader, Length};

use super::Unusable;
use super::shape;
use super::thrift::{Wrong, structure};

/// Bytes of a file's end: twenty thousand measurements in one file have 64 MiB.
const MOST_FOOTER: u64 = 256 << 20;

/// Bytes of a page's header: most are statistics, texts among them.
const MOST_HEADER: u64 = 1 << 20;

/// Groups of columns: each is a step of recursion in the library. A file of ours has one.
const MOST_GROUPS: usize = 64;

/// Rows for each byte of a file. Rows of one measurement differ: repetitions alone take so little.
const ROWS_PER_BYTE: u64 = 256;

/// Snappy's shortest copy is three bytes for 64 ("Snappy compressed format description").
const SNAPPY: u64 = 22;

/// A reader that is shared between the library and this.
pub struct Shared<R>(pub Arc<R>);

impl<R: ChunkReader> Length for Shared<R> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<R: ChunkReader> ChunkReader for Shared<R> {
    type T = R::T;

    fn get_read(&self, start: u64) -> ParquetResult<R::T> {
        self.0.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.0.get_bytes(start, length)
    }
}

/// Pieces of a file.
pub trait Pieces: Send + Sync {
    /// Its length.
    fn length(&self) -> u64;
    /// So many bytes from there on.
    fn piece(&self, start: u64, length: u64) -> Result<Bytes, Unusable>;
}

impl<R: ChunkReader> Pieces for Shared<R> {
    fn length(&self) -> u64 {
        self.0.len()
    }

    fn piece(&self, start: u64, length: u64) -> Result<Bytes, Unusable> {
        let is_there = start.checked_add(length).is_some_and(|end| end <= self.length());
        let length = usize::try_from(length).ok().filter(|_| is_there).ok_or_else(|| {
            Unusable::Damaged(format!(
                "it claims {length} bytes at byte {start}; the file has {}",
                self.length()
            ))
        })?;
        self.0.get_bytes(start, length).map_err(super::damaged)
    }
}

/// Looks at the end of a file, where its columns and groups of rows are described. What is no such
/// end at all is left to the library's own words.
///
/// # Errors
/// Claims that the file cannot keep.
pub fn footer(file: &dyn Pieces) -> Result<(), Unusable> {
    let Some(at) = file.length().checked_sub(8) else { return Ok(()) };
    let tail = file.piece(at, 8)?;
    let (length, magic) = tail.split_at(4);
    let length = u64::from(u32::from_le_bytes(length.try_into().unwrap_or_default()));
    if magic != b"PAR1" || length > at {
        return Ok(());
    }
    if length > MOST_FOOTER {
        let text = format!("its end has {length} bytes; at most {MOST_FOOTER} are read");
        return Err(Unusable::Damaged(text));
    }
    let (mut groups, start) = (0usize, at - length);
    let walked = structure(&file.piece(start, length)?, shape::FILE, &mut |path, number| {
        // Columns in a group: FileMetaData.schema[].num_children.
        groups += usize::from(path == [2, 5] && number > 0);
    });
    walked.map_err(|wrong| malformed("its end", start, wrong))?;
    if groups > MOST_GROUPS {
        Err(Unusable::Damaged(format!("its columns are in {groups} groups")))
    } else {
        Ok(())
    }
}

fn malformed(what: &str, start: u64, wrong: Wrong) -> Unusable {
    Unusable::Damaged(match wrong {
        Wrong::Ends => format!("{what} claims more than there is"),
        Wrong::Malformed(at, why) => format!(
            "{what} cannot be read: {why} (byte {}); copy it again from where it is whole, or log \
             its measurements again",
            start.saturating_add(at as u64)
        ),
    })
}

/// Whether so many rows can be in a file of that length.
///
/// # Errors
/// More than [`ROWS_PER_BYTE`].
pub fn rows(file: &dyn Pieces, metadata: &ParquetMetaData) -> Result<(), Unusable> {
    let groups = metadata.row_groups().iter().map(|group| group.num_rows());
    let rows = groups.map(|n| u64::try_from(n).unwrap_or(u64::MAX)).fold(0, u64::saturating_add);
    if rows > file.length().saturating_mul(ROWS_PER_BYTE) {
        Err(Unusable::Damaged(format!("{rows} rows in {} bytes", file.length())))
    } else {
        Ok(())
    }
}

/// Looks at the headers of all pages of a column in one group of rows.
///
/// # Errors
/// Sizes and counts that the column cannot have, and encodings that are not read.
pub fn pages(file: &dyn Pieces, chunk: &ColumnChunkMetaData, rows: i64) -> Result<(), Unusable> {
    let (start, length) = chunk.byte_range();
    let end = start.checked_add(length).filter(|end| *end <= file.length());
    let end = end.ok_or_else(|| {
        let (name, of) = (chunk.column_path().string(), file.length());
        Unusable::Damaged(format!("{name}: {length} bytes at byte {start} of a file of {of}"))
    })?;
    let is_compressed = chunk.compression() != Compression::UNCOMPRESSED;
    let (mut at, mut values) = (start, 0i64);
    while at < end {
        let (page, header) = header(file, at, end)?;
        at += header;
        page.check(end - at, is_compressed).map_err(|unusable| match unusable {
            Unusable::Damaged(why) => {
                Unusable::Damaged(format!("{} at byte {at}: {why}", chunk.column_path().string()))
            }
            other => other,
        })?;
        at += page.compressed;
        values = values.saturating_add(page.values);
    }
    if values == rows {
        Ok(())
    } else {
        Err(Unusable::Damaged(format!(
            "{}: its pages have {values} values, and the group has {rows} rows",
            chunk.column_path().string()
        )))
    }
}

/// What a page's header states.
#[derive(Default)]
struct Page {
    compressed: u64,
    uncompressed: u64,
    /// Values of a page of data.
    values: i64,
    /// Values of a dictionary.
    entries: i64,
    encoding: i64,
}

fn header(file: &dyn Pieces, at: u64, end: u64) -> Result<(Page, u64), Unusable> {
    let mut length = 256;
    loop {
        let there = (end - at).min(length);
        let mut page = Page::default();
        // Sizes are of 32 bits with a sign: less than nothing is refused as too much.
        let size = |number: i64| u64::try_from(number).unwrap_or(u64::MAX);
        // PageHeader: data_page_header is field 5, dictionary_page_header 7, data_page_header_v2 8.
        let piece = file.piece(at, there)?;
        let walked = structure(&piece, shape::PAGE, &mut |path, number| match path {
            [2] => page.uncompressed = size(number),
            [3] => page.compressed = size(number),
            [5 | 8, 1] => page.values = number,
            [7, 1] => page.entries = number,
            [5, 2] | [8, 4] => page.encoding = number,
            _ => {}
        });
        match walked {
            Ok(length) => return Ok((page, length as u64)),
            Err(Wrong::Ends) if there == length && length < MOST_HEADER => length *= 16,
            Err(wrong) => return Err(malformed("the header of a page", at, wrong)),
        }
    }
}

impl Page {
    fn check(&self, left: u64, is_compressed: bool) -> Result<(), Unusable> {
        let &Page { compressed, uncompressed, values, entries, encoding } = self;
        if compressed > left {
            let text = format!("a page of {compressed} bytes, where {left} are left");
            return Err(Unusable::Damaged(text));
        }
        let most = if is_compressed { compressed.saturating_mul(SNAPPY) } else { compressed };
        if uncompressed > most {
            let text = format!("a page of {compressed} bytes becomes {uncompressed}");
            return Err(Unusable::Damaged(text));
        }
        // Each has four bytes at least: numbers have eight, and texts begin with their length.
        if values < 0 || u64::try_from(entries).ok().is_none_or(|n| n > uncompressed / 4) {
            let text = format!("a dictionary of {entries} values in {uncompressed} bytes");
            return Err(Unusable::Damaged(text));
        }
        // PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY.
        match encoding {
            0 | 2 | 3 | 8 => Ok(()),
            other => Err(Unusable::Foreign(format!(
                "values are encoded in a way that strobe does not read (encoding {other} of \
                 Parquet); let them be written plain or with a dictionary, in pages of version 1"
            ))),
        }
    }
}
