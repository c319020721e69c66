//! `--adc CHANNEL=VALUE` and `--adc CHANNEL=file:FILE`: what comes in at an analog channel.
//!
//! A file has a line for each value: a value alone, one for each conversion of the channel, or a
//! time in seconds and the value from then on, as a logger's CSV has them. Lines that are empty or
//! begin with `#` are skipped, and so is a heading.

use std::path::Path;
use std::str::FromStr;

use strobe_sim::device::analog::Analog;

use crate::exit;
use crate::files::{self, Kind};

/// The largest result of a converter of 16 bits.
const MOST: u16 = u16::MAX;

/// What is to come in where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The channel's name, as `ADC0`.
    pub channel: String,
    source: Source,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Value(u16),
    File(String),
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = |problem: &str| {
            format!("{problem}; write CHANNEL=VALUE or CHANNEL=file:PATH, as ADC0=512")
        };
        let (channel, source) = text.split_once('=').ok_or_else(|| bad("there is no `=`"))?;
        if !channel.ends_with(|c: char| c.is_ascii_digit()) {
            return Err(bad("a channel ends with its number"));
        }
        let source = match source.strip_prefix("file:") {
            Some("") => return Err(bad("the file's path is missing")),
            Some(path) => Source::File(path.to_owned()),
            None => Source::Value(
                source.parse().map_err(|_| bad("the value is no number from 0 to 65535"))?,
            ),
        };
        Ok(Spec { channel: channel.to_ascii_uppercase(), source })
    }
}

impl Spec {
    /// The file that has the values, if one has.
    pub fn path(&self) -> Option<&str> {
        match &self.source {
            Source::File(path) => Some(path),
            Source::Value(_) => None,
        }
    }

    /// The values.
    pub fn read(&self) -> anyhow::Result<Analog> {
        let path = match &self.source {
            Source::Value(value) => return Ok(Analog::Constant(*value)),
            Source::File(path) => path,
        };
        let text = files::text(Path::new(path), &Kind::VALUES)?;
        parse(&text).map_err(|problem| exit::data(format!("{path}: {problem}")))
    }
}

/// A line's columns.
enum Line {
    Value(u16),
    At(u64, u16),
}

fn parse(text: &str) -> Result<Analog, String> {
    let (mut each, mut course): (Vec<u16>, Vec<(u64, u16)>) = (Vec::new(), Vec::new());
    let lines = (1..).zip(text.lines().map(str::trim));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).peekable();
    let is_heading = |line: &str| line.starts_with(|c: char| c.is_alphabetic() || c == '"');
    lines.next_if(|(_, line)| is_heading(line));
    for (number, line) in lines {
        let bad = |problem: &str| Err(format!("line {number}: {problem}"));
        match columns(line) {
            Some(Line::Value(_)) if !course.is_empty() => return bad("the time is missing"),
            Some(Line::At(..)) if !each.is_empty() => {
                return bad("a time, where lines before have none");
            }
            Some(Line::Value(value)) => each.push(value),
            Some(Line::At(at, _)) if course.last().is_some_and(|&(last, _)| at < last) => {
                return bad("time goes backwards");
            }
            Some(Line::At(at, value)) => course.push((at, value)),
            None => {
                return bad("neither a value (0 to 65535) nor a time in seconds and a value");
            }
        }
    }
    match (each.is_empty(), course.is_empty()) {
        (true, true) => Err("there are no values in it".to_owned()),
        (false, _) => Ok(Analog::Each(each)),
        (true, false) => Ok(Analog::Course(course)),
    }
}

fn columns(line: &str) -> Option<Line> {
    let mut parts = line.split([',', ';', '\t', ' ']).filter(|part| !part.is_empty());
    let (first, second) = (parts.next()?, parts.next());
    if parts.next().is_some() {
        return None;
    }
    let Some(second) = second else { return first.parse().ok().map(Line::Value) };
    let seconds: f64 = first.parse().ok()?;
    let value: f64 = second.parse().ok()?;
    let fits = (0.0..1e9).contains(&seconds) && (0.0..=f64::from(MOST)).contains(&value);
    fits.then(|| Line::At((seconds * 1e9).round() as u64, value.round() as u16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_given_per_conversion_or_by_time() {
        assert_eq!(parse("1\n\n# two\n2\n"), Ok(Analog::Each(vec![1, 2])));
        let course = Analog::Course(vec![(0, 5), (1_500_000, 7)]);
        assert_eq!(parse("time,value\n0,5\n0.0015, 7\n"), Ok(course));
    }

    #[test]
    fn errors_are_reported_with_their_line() {
        for (text, expected) in [
            ("", "no values"),
            ("value\n", "no values"),
            ("1\nx\n", "line 2: neither"),
            ("1\n70000\n", "line 2: neither"),
            ("0,1\n2\n", "line 2: the time is missing"),
            ("2\n0,1\n", "line 2: a time"),
            ("1,2\n0.5,1\n", "line 2: time goes backwards"),
            ("0,1,2\n", "line 1: neither"),
            ("-1,2\n", "line 1: neither"),
            ("nan,2\n", "no values"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "{error} for {text:?}");
        }
    }

    #[test]
    fn a_specification_names_channel_and_source() {
        let read = |text: &str| text.parse::<Spec>();
        assert_eq!(
            read("adc0=3").map(|s| (s.channel, s.source)),
            Ok(("ADC0".into(), Source::Value(3)))
        );
        assert!(
            matches!(read("ADC1=file:a=b").map(|s| s.source), Ok(Source::File(p)) if p == "a=b")
        );
        for text in ["ADC0", "ADC=3", "ADC0=x", "ADC0=file:", "ADC0=-1"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
