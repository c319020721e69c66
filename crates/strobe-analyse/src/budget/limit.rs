//! Limits as people write them: `1200 cycles`, `64 KiB`, `5 ms`, `3 %`, `+2 %`.

use std::fmt;

use strobe_model::measurement::Unit;

/// What a limit is counted in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scale {
    /// Core clock cycles.
    Cycles,
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// Parts of a hundred.
    Percent,
    /// Hertz.
    Hertz,
    /// Things; also ratios.
    Plain,
    /// A unit of an instrument's own, as `instructions`.
    Other(String),
}

/// A limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The number, in units of the scale.
    pub value: f64,
    /// Its scale.
    pub scale: Scale,
    /// It counts from a baseline.
    pub relative: bool,
    /// As it was written.
    pub text: String,
}

/// The limits of one figure.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits {
    /// It must be at least this.
    pub least: Option<Limit>,
    /// It must be at most this.
    pub most: Option<Limit>,
    /// Judge by the likely value, not by all that the figure may be.
    pub likely: bool,
}

/// A text that is not a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLimit {
    /// It is not a number with a unit that is known.
    #[error("`{0}` is no limit; write `1200 cycles`, `64 KiB`, `5 ms`, `3 %` or `+2 %`")]
    Syntax(String),
    /// Its number is larger than what is counted exactly.
    #[error("`{0}` is beyond what is counted exactly (2^53)")]
    TooLarge(String),
}

impl Limit {
    /// Reads a limit. A sign makes it relative to a baseline.
    ///
    /// # Errors
    /// When it is written in another way, or counts too much.
    pub fn parse(text: &str) -> Result<Limit, InvalidLimit> {
        let wrong = || InvalidLimit::Syntax(text.to_owned());
        let trimmed = text.trim();
        let relative = trimmed.starts_with(['+', '-']);
        let unsigned = trimmed.trim_start_matches(['+', '-']).trim_start();
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '_' | ','));
        let (digits, unit) = unsigned.split_at(end.unwrap_or(unsigned.len()));
        let digits = digits.replace(['_', ','], "");
        let number: f64 = digits.parse().map_err(|_| wrong())?;
        if !number.is_finite() || number > 2f64.powi(53) {
            return Err(InvalidLimit::TooLarge(text.to_owned()));
        }
        let (scale, factor) = scale(unit.trim()).ok_or_else(wrong)?;
        let sign = if trimmed.starts_with('-') { -1.0 } else { 1.0 };
        let value = sign * number * factor;
        Ok(Limit { value, scale, relative, text: trimmed.to_owned() })
    }

    /// Whether no figure can keep both.
    pub fn contradicts(least: &Limit, most: &Limit) -> bool {
        least.relative == most.relative && least.scale == most.scale && least.value > most.value
    }
}

fn scale(unit: &str) -> Option<(Scale, f64)> {
    let exact = match unit {
        "" => (Scale::Plain, 1.0),
        "%" => (Scale::Percent, 1.0),
        "ns" => (Scale::Time, 1.0),
        "us" | "\u{b5}s" | "\u{3bc}s" => (Scale::Time, 1e3),
        "ms" => (Scale::Time, 1e6),
        "s" => (Scale::Time, 1e9),
        "min" => (Scale::Time, 60e9),
        "B" => (Scale::Bytes, 1.0),
        "kB" => (Scale::Bytes, 1e3),
        "MB" => (Scale::Bytes, 1e6),
        "KiB" => (Scale::Bytes, 1024.0),
        "MiB" => (Scale::Bytes, 1_048_576.0),
        "Hz" => (Scale::Hertz, 1.0),
        "kHz" => (Scale::Hertz, 1e3),
        "MHz" => (Scale::Hertz, 1e6),
        _ => {
            let word = unit.to_ascii_lowercase();
            let is_word = word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
            return match word.as_str() {
                "c" | "cycle" | "cycles" => Some((Scale::Cycles, 1.0)),
                "byte" | "bytes" => Some((Scale::Bytes, 1.0)),
                "percent" => Some((Scale::Percent, 1.0)),
                _ if is_word && word.len() > 3 => Some((Scale::Other(word), 1.0)),
                _ => None,
            };
        }
    };
    Some(exact)
}

impl Scale {
    /// The scale of a figure's unit with the factor from one to the other.
    pub fn of(unit: &Unit) -> (Scale, f64) {
        match &*unit.0 {
            "cycles" => (Scale::Cycles, 1.0),
            "nanoseconds" => (Scale::Time, 1.0),
            "picoseconds" => (Scale::Time, 1e-3),
            "bytes" => (Scale::Bytes, 1.0),
            "percent" => (Scale::Percent, 1.0),
            "millionths" => (Scale::Percent, 1e-4),
            "hertz" => (Scale::Hertz, 1.0),
            "count" | "ratio" => (Scale::Plain, 1.0),
            other => (Scale::Other(other.to_owned()), 1.0),
        }
    }

    /// The unit of figures on this scale.
    pub fn unit(&self) -> Unit {
        match self {
            Scale::Cycles => Unit::CYCLES,
            Scale::Time => Unit::NANOSECONDS,
            Scale::Bytes => Unit::BYTES,
            Scale::Percent => Unit::PERCENT,
            Scale::Hertz => Unit::HERTZ,
            Scale::Plain => Unit::COUNT,
            Scale::Other(name) => Unit::other(name.clone()),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}
