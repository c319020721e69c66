//! What is sent to a serial device, known before the run: the same bytes at the same cycles each
//! time.

use std::path::PathBuf;
use std::str::FromStr;

/// Where the bytes come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Standard input, up to its end.
    Stdin,
    /// A file.
    File(PathBuf),
}

/// Which serial device is sent what, as `USART1=file:script.txt` spells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputSpec {
    /// The device's name on the board.
    pub device: String,
    /// Where the bytes come from.
    pub source: Source,
}

/// A specification that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "serial input `{text}`: {problem}; write DEVICE=SOURCE, as USART1=file:PATH or USART1=stdin"
)]
pub struct InputSpecError {
    /// As given.
    pub text: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

impl FromStr for InputSpec {
    type Err = InputSpecError;

    fn from_str(text: &str) -> Result<Self, InputSpecError> {
        let error = |problem| InputSpecError { text: text.to_owned(), problem };
        let (device, source) = text.split_once('=').ok_or(error("there is no `=`"))?;
        if device.is_empty() {
            return Err(error("the device is missing"));
        }
        let source = match (source, source.strip_prefix("file:")) {
            ("stdin", _) => Source::Stdin,
            (_, Some("")) => return Err(error("the file's path is missing")),
            (_, Some(path)) => Source::File(path.into()),
            (_, None) => return Err(error("no such source")),
        };
        Ok(InputSpec { device: device.to_owned(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_name_a_device_and_a_source() {
        let read = |text: &str| text.parse::<InputSpec>();
        let file = Source::File("a=b".into());
        assert_eq!(read("U=file:a=b"), Ok(InputSpec { device: "U".to_owned(), source: file }));
        assert_eq!(read("U=stdin").map(|spec| spec.source), Ok(Source::Stdin));
        for (text, problem) in [
            ("USART1", "there is no `=`"),
            ("=stdin", "the device is missing"),
            ("USART1=file:", "the file's path is missing"),
            ("USART1=stdout", "no such source"),
        ] {
            assert_eq!(read(text).unwrap_err().problem, problem, "{text}");
        }
    }
}
