//! What a variant printed: counters, values with and without a time, and the rest, of which only
//! the hash is kept.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::samples::{Answer, Sample};
use crate::settings::Settings;

/// An answer beyond this is not looked at any further.
const ANSWER: u64 = 1 << 30;
/// Values of one name that one run may have.
const VALUES: usize = 200_000;

/// A number that a command prints behind a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number {
    /// The number.
    pub value: u64,
    /// When it was so, in nanoseconds from a start of the command's own: `NAME NUMBER at TIME`.
    pub at: Option<u64>,
}

/// Error in the output of a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AnswerError {
    /// It cannot be read.
    #[error("no answer: {0}")]
    Read(io::Error),
    /// An invalid counter.
    #[error("counter {name}: {error}")]
    Counter { name: String, error: NumberError },
    /// An invalid value.
    #[error("a value of {name}: {error}")]
    Value { name: String, error: NumberError },
    /// Too many values of one name.
    #[error("more than {VALUES} values of {name} in one run")]
    TooMany { name: String },
    /// Values with and without a time.
    #[error("some values of {name} have a time, and others have none")]
    MixedTimes { name: String },
}

/// Text in place of a whole number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no whole number")]
pub(crate) struct NumberError {
    text: String,
}

/// Reads an answer with its counters and values, and removes it.
pub(crate) fn read(
    path: &Path,
    settings: &Settings,
    sample: &mut Sample,
) -> Result<(), AnswerError> {
    let file = File::open(path).map_err(AnswerError::Read)?;
    let mut lines = BufReader::new(file.take(ANSWER));
    let (mut hash, mut bytes, mut line) = (Sha256::new(), 0, Vec::new());
    for name in &settings.values {
        sample.values.insert(name.clone(), Vec::new());
    }
    while lines.read_until(b'\n', &mut line).map_err(AnswerError::Read)? > 0 {
        bytes += line.len() as u64;
        if let Some((name, number)) = named(&line, &settings.counters) {
            match number {
                Ok(number) => drop(sample.counters.insert(name, number.value)),
                Err(error) => return Err(AnswerError::Counter { name, error }),
            }
        } else if let Some((name, number)) = named(&line, &settings.values) {
            match number {
                Ok(number) => value(sample, name, number)?,
                Err(error) => return Err(AnswerError::Value { name, error }),
            }
        } else {
            hash.update(&line);
        }
        line.clear();
    }
    let _ = std::fs::remove_file(path);
    let digest = hash.finalize();
    let sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    sample.answer = Some(Answer { bytes, sha256 });
    Ok(())
}

/// Adds a value. Either all of one name have times, or none has.
fn value(sample: &mut Sample, name: String, number: Number) -> Result<(), AnswerError> {
    let values = sample.values.entry(name.clone()).or_default();
    if values.len() >= VALUES {
        return Err(AnswerError::TooMany { name });
    }
    let times = sample.times.get(&name).map_or(0, Vec::len);
    if times != if number.at.is_some() { values.len() } else { 0 } {
        return Err(AnswerError::MixedTimes { name });
    }
    values.push(number.value);
    if let Some(at) = number.at {
        sample.times.entry(name).or_default().push(at);
    }
    Ok(())
}

/// The counter or value in a line `NAME NUMBER`, if it is one of those, or why it is none.
pub(crate) fn named(
    line: &[u8],
    names: &[String],
) -> Option<(String, Result<Number, NumberError>)> {
    let text = std::str::from_utf8(line).ok()?.trim();
    let (name, number) = text.split_once(char::is_whitespace)?;
    let name = name.trim_end_matches([':', '=']);
    names.iter().find(|wanted| *wanted == name)?;
    Some((name.to_owned(), parsed(number.trim())))
}

fn whole(digits: &str) -> Result<u64, NumberError> {
    let text = digits.trim();
    text.parse().map_err(|_| NumberError { text: text.to_owned() })
}

fn parsed(text: &str) -> Result<Number, NumberError> {
    Ok(match text.split_once(" at ") {
        Some((value, at)) => Number { value: whole(value)?, at: Some(whole(at)?) },
        None => Number { value: whole(text)?, at: None },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{Ended, Outcome};

    fn answered(text: &str) -> (Sample, Result<(), String>) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("answer");
        std::fs::write(&path, text).expect("there is room");
        let settings = Settings {
            counters: vec!["n".to_owned()],
            values: vec!["late".to_owned()],
            ..Settings::default()
        };
        let mut sample = Sample::of(Outcome::only(Ended::Exit(0)));
        let read = read(&path, &settings, &mut sample).map_err(|error| error.to_string());
        (sample, read)
    }

    #[test]
    fn values_may_have_times() {
        let (sample, read) = answered("late 5 at 10\nn: 3\nrest\nlate 6 at 20\n");
        assert_eq!(read, Ok(()));
        assert_eq!((&sample.values["late"], &sample.times["late"]), (&vec![5, 6], &vec![10, 20]));
        assert_eq!(sample.counters["n"], 3);
        let (sample, read) = answered("late 5\nlate 6\n");
        assert_eq!((read, sample.times.len()), (Ok(()), 0));
        assert_eq!(sample.values["late"], [5, 6]);
    }

    #[test]
    fn numbers_that_are_none_are_errors_with_the_name() {
        let why = |text: &str| answered(text).1.expect_err("no number");
        assert_eq!(why("n 1.5\n"), "counter n: \"1.5\" is no whole number");
        assert_eq!(why("late 1 at noon\n"), "a value of late: \"noon\" is no whole number");
        assert_eq!(why("late -1\n"), "a value of late: \"-1\" is no whole number");
        for mixed in ["late 1 at 2\nlate 3\n", "late 3\nlate 1 at 2\n"] {
            assert!(why(mixed).contains("some values of late have a time"), "{mixed}");
        }
    }
}
