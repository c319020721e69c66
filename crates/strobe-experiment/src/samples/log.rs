//! The file that keeps samples. It is JSON Lines: a head that names the variants, then a line for
//! each round, written when the round is over. A run that was interrupted goes on after the last
//! whole line.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use strobe_model::number::grouped;

use super::{Round, Variant};
use crate::lock;

/// The head of a file of samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Head {
    schema: String,
    seed: u64,
    variants: Vec<Variant>,
}

const SCHEMA: &str = "strobe-samples/1";

/// Files that are gone on with have no more bytes: all of it is kept in memory.
const MOST_BYTES: u64 = 1 << 30;

/// No line has more: a round with all values of all its probes.
const LONGEST_LINE: u64 = 64 << 20;

/// A file of samples that grows.
#[derive(Debug)]
pub struct Log {
    file: File,
}

impl Log {
    /// Opens a file and reads what an interrupted run has left in it. `variants` without what
    /// changes from run to run, as folders. Reading ends early when `stop` is set.
    ///
    /// # Errors
    /// If it cannot be read or written, is another run's at this moment, or has samples of other
    /// variants or anything else in it; [`io::ErrorKind::Interrupted`] when stopped. Then it stays
    /// as it was.
    pub fn open(
        path: &Path,
        variants: &[Variant],
        seed: u64,
        stop: &AtomicBool,
    ) -> io::Result<(Log, Vec<Round>)> {
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("samples are kept in a regular file only"));
        }
        if lock::take(&file).is_err() {
            return Err(io::Error::other("another run is writing it at this moment"));
        }
        let head = Head { schema: SCHEMA.to_owned(), seed, variants: variants.to_vec() };
        let left = Left::read(&file, &head, stop)?;
        file.set_len(left.whole)?;
        file.seek(SeekFrom::End(0))?;
        let mut log = Log { file };
        if left.whole == 0 {
            log.line(&head)?;
        }
        Ok((log, left.rounds))
    }

    /// Adds a round.
    ///
    /// # Errors
    /// If it cannot be written whole; what was there stays readable.
    pub fn add(&mut self, round: &Round) -> io::Result<()> {
        self.line(round)
    }

    fn line(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.file.write_all(&line(value)?)
    }
}

/// A value as its line.
fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value).map_err(io::Error::other)?;
    line.push(b'\n');
    Ok(line)
}

/// What an interrupted run has left in a file.
struct Left {
    /// Bytes of the lines that are whole: a line that was cut off is no round.
    whole: u64,
    rounds: Vec<Round>,
}

impl Left {
    fn read(file: &File, head: &Head, stop: &AtomicBool) -> io::Result<Left> {
        let bytes = file.metadata()?.len();
        if bytes > MOST_BYTES {
            let (has, most) = (grouped(bytes), grouped(MOST_BYTES));
            return Err(io::Error::other(format!(
                "it has {has} bytes, and at most {most} are read; name another file"
            )));
        }
        let mut input = BufReader::new(file.take(MOST_BYTES));
        let mut next = Vec::new();
        let mut left = Left { whole: 0, rounds: Vec::new() };
        while is_whole(&mut input, &mut next)? {
            if stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if left.whole > 0 {
                left.rounds.push(serde_json::from_slice(&next).map_err(io::Error::other)?);
            } else if serde_json::from_slice::<Head>(&next).ok().as_ref() != Some(head) {
                return Err(foreign());
            }
            left.whole += next.len() as u64;
        }
        // The first line may be cut off, too; what is no part of it is somebody's.
        if left.whole == 0 && !line(head)?.starts_with(&next) { Err(foreign()) } else { Ok(left) }
    }
}

/// Reads the next line; false if it is not whole.
fn is_whole(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    input.take(LONGEST_LINE).read_until(b'\n', line)?;
    if line.len() as u64 == LONGEST_LINE && !line.ends_with(b"\n") {
        let most = grouped(LONGEST_LINE);
        let text = format!("a line of it has {most} bytes or more, which no round has");
        Err(io::Error::other(format!("{text}; name another file")))
    } else {
        Ok(line.ends_with(b"\n"))
    }
}

fn foreign() -> io::Error {
    io::Error::other(
        "it has samples of other commands, or of another seed, or is no file of samples; name \
         another file, or remove it",
    )
}
