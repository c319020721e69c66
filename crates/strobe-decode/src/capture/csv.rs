//! Saleae's digital CSV exports: Logic 1 (`Time[s], Channel 0, Channel 1`) and Logic 2
//! (`Time [s],Channel 0,Channel 1`), a line for each change, with the level of every channel.

use std::io::{BufRead, Read};

use super::build::Builder;
use super::{Capture, Edge, Error, Level, Options, Place, Tick, resolution};

const MAX_LINE_BYTES: u64 = 1 << 16;
const MAX_CHANNELS: usize = 512;
/// Femtoseconds, the number of decimals that Logic 1 writes.
const MAX_DECIMALS: u32 = 15;

const EXPORT: &str =
    "export digital data as a CSV file with one line for each change and times in seconds";

/// Reads an export as a stream. Times are parsed digit by digit, without rounding.
///
/// # Errors
/// Cells that are not times or levels, other kinds of export, and more edges than the options
/// allow.
pub fn read<R: BufRead>(input: &mut R, options: &Options) -> Result<Capture, Error> {
    let mut lines = Lines { input, number: 0, text: Vec::new() };
    let mut builder = Builder::new(options.max_edges);
    header(&mut lines, &mut builder)?;
    let mut times = Times::default();
    let (mut notes, mut cut) = (Vec::new(), false);
    while let Some((number, line)) = lines.next()? {
        if line.trim().is_empty() {
            continue;
        }
        let mut cells = line.split(',').map(unquoted);
        let time = cells.next().unwrap_or_default();
        let Some(at) = times.take(time, number, &mut builder)? else {
            notes.push(format!(
                "line {number}: time goes back to {time} s; what follows was not read"
            ));
            cut = true;
            break;
        };
        levels(cells, number, at, &mut builder)?;
    }
    let Some(start) = times.start else {
        return Err(Error::in_file("no line follows the header", "was anything recorded?"));
    };
    let tick = Tick::decimal(times.decimals);
    let channels = builder.finish();
    let clock = options.clock.filter(|clock| clock.is_longer_than(tick));
    let inferred = || resolution::inferred(tick, start, &channels);
    let resolution = clock.or_else(inferred);
    Ok(Capture {
        tick,
        resolution: resolution.unwrap_or(tick),
        resolution_inferred: clock.is_none() && resolution.is_some(),
        start,
        end: times.last,
        channels,
        notes,
        cut,
        simulated: None,
    })
}

fn unquoted(cell: &str) -> &str {
    let cell = cell.trim();
    cell.strip_prefix('"').and_then(|c| c.strip_suffix('"')).unwrap_or(cell)
}

fn header<R: BufRead>(lines: &mut Lines<R>, builder: &mut Builder) -> Result<(), Error> {
    let bad = |what: &str| Error::at_line(1, what, EXPORT);
    let (_, line) = lines.next()?.ok_or(Error::Empty)?;
    let mut cells = line.trim_start_matches('\u{feff}').split(',').map(unquoted);
    let time = cells.next().unwrap_or_default().to_ascii_lowercase().replace(' ', "");
    if !matches!(time.as_str(), "time[s]" | "time") {
        return Err(bad("the first column is not `Time [s]`"));
    }
    for name in cells {
        if builder.len() == MAX_CHANNELS {
            return Err(bad("more than 512 channels"));
        }
        builder.channel(name.to_owned());
    }
    if builder.len() == 0 { Err(bad("no column but the time")) } else { Ok(()) }
}

fn levels<'a>(
    mut cells: impl Iterator<Item = &'a str>,
    number: u64,
    at: u64,
    builder: &mut Builder,
) -> Result<(), Error> {
    for channel in 0..builder.len() {
        let level = match cells.next() {
            Some("0") => Level::Low,
            Some("1") => Level::High,
            Some(cell) => {
                let cell: String = cell.chars().take(40).collect();
                let what =
                    format!("cell {} is `{}`, no level (0 or 1)", channel + 2, cell.escape_debug());
                return Err(Error::at_line(number, what, EXPORT));
            }
            None => {
                let what =
                    format!("{} cells where the header has {}", channel + 1, builder.len() + 1);
                return Err(Error::at_line(number, what, EXPORT));
            }
        };
        builder.set(channel, at, level, || Place::Line(number))?;
    }
    if cells.next().is_some() {
        return Err(Error::at_line(number, "more cells than the header has", EXPORT));
    }
    Ok(())
}

/// Decimal times as ticks, whose size follows the finest time so far.
#[derive(Default)]
struct Times {
    decimals: u32,
    start: Option<i64>,
    last: u64,
}

impl Times {
    /// Ticks since the first time; `None` when time goes back.
    fn take(&mut self, text: &str, line: u64, builder: &mut Builder) -> Result<Option<u64>, Error> {
        let bad = |what: &str| {
            let text: String = text.chars().take(40).collect();
            Error::at_line(line, format!("time `{}` {what}", text.escape_debug()), EXPORT)
        };
        let (mantissa, decimals) =
            decimal(text).ok_or_else(|| bad("is no decimal number of seconds"))?;
        let too_large = || bad("is too far from the others, or too fine, to count");
        if decimals > self.decimals {
            let factor = 10u64.pow(decimals - self.decimals);
            self.last = self.last.checked_mul(factor).ok_or_else(too_large)?;
            if let Some(start) = &mut self.start {
                *start = start.checked_mul(factor as i64).ok_or_else(too_large)?;
            }
            if !builder.rescale(factor) {
                return Err(too_large());
            }
            self.decimals = decimals;
        }
        let scale = 10i64.pow(self.decimals - decimals);
        let ticks = mantissa.checked_mul(scale).ok_or_else(too_large)?;
        let start = *self.start.get_or_insert(ticks);
        let at = i128::from(ticks) - i128::from(start);
        if at < i128::from(self.last) {
            return Ok(None);
        }
        let at = u64::try_from(at).ok().filter(|at| *at <= Edge::MAX_TICK).ok_or_else(too_large)?;
        self.last = at;
        Ok(Some(at))
    }
}

/// `-0.00125` as (-125, 5): digits and how many of them are decimals. Also `1.25e-06`.
fn decimal(text: &str) -> Option<(i64, u32)> {
    let (text, exponent) = match text.split_once(['e', 'E']) {
        Some((text, exponent)) => (text, exponent.parse::<i32>().ok().filter(|e| e.abs() <= 30)?),
        None => (text, 0),
    };
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let mut mantissa: i128 = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        mantissa = mantissa.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
    }
    let mut decimals = i32::try_from(fraction.len()).ok()? - exponent;
    while decimals > 0 && mantissa % 10 == 0 {
        (mantissa, decimals) = (mantissa / 10, decimals - 1);
    }
    while decimals < 0 {
        (mantissa, decimals) = (mantissa.checked_mul(10)?, decimals + 1);
    }
    let decimals = u32::try_from(decimals).ok().filter(|d| *d <= MAX_DECIMALS)?;
    let mantissa = i64::try_from(if negative { -mantissa } else { mantissa }).ok()?;
    Some((mantissa, decimals))
}

/// Lines of limited length.
struct Lines<'a, R> {
    input: &'a mut R,
    number: u64,
    text: Vec<u8>,
}

impl<R: BufRead> Lines<'_, R> {
    fn next(&mut self) -> Result<Option<(u64, &str)>, Error> {
        self.text.clear();
        self.number += 1;
        let n = self.input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut self.text)?;
        if n as u64 == MAX_LINE_BYTES {
            let what = format!("a line of more than {MAX_LINE_BYTES} bytes");
            return Err(Error::at_line(self.number, what, EXPORT));
        }
        let text = std::str::from_utf8(&self.text);
        let text = text.map_err(|_| Error::at_line(self.number, "no UTF-8 text", EXPORT))?;
        Ok((n > 0).then_some((self.number, text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_digit_by_digit() {
        assert_eq!(decimal("-0.00125"), Some((-125, 5)));
        assert_eq!(decimal("12.500"), Some((125, 1)));
        assert_eq!(decimal("1.25e-06"), Some((125, 8)));
        assert_eq!(decimal("1.25E2"), Some((125, 0)));
        assert_eq!(decimal("0.000000000000000"), Some((0, 0)));
        for text in ["", "-", ".", "0.1x", "1e99", "0.0000000000000001", "2022-01-01T00:00:00Z"] {
            assert_eq!(decimal(text), None, "{text}");
        }
    }
}
