//! VCD, the value change dump of IEEE 1364-2005 section 18, as simulators and logic analysers write
//! it.
//!
//! Commands are parsed by the `vcd` crate one by one. Its header parser is not used, because scopes
//! nested without end would recurse without end.

mod simple;
mod text;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, BufRead, Read, Write};

use strobe_model::visible::is_obeyed;
use vcd::{
    Command, IdCode, ParseError, ParseErrorKind, ReferenceIndex, TimescaleUnit, Value, VarType,
};

use super::build::Builder;
use super::{Capture, Channel, Edge, Error, Level, Options, Place, Tick, resolution};
use simple::ShortIds;
use text::{Guard, Lines, MARK, Text, TooLong};

/// Maximum size of a command: an endless comment would be buffered whole.
const MAX_COMMAND_BYTES: usize = 1 << 20;

/// Maximum number of lines of one variable, and of all.
const MAX_BITS: u32 = 128;
const MAX_CHANNELS: usize = 4096;

/// Lines before the first command, and bytes of one.
const MAX_PREAMBLE_LINES: u64 = 16;
const MAX_PREAMBLE_BYTES: u64 = 1 << 10;

/// Maximum nesting of scopes; names grow with it.
const MAX_DEPTH: usize = 64;

const ADVICE: &str = "is the file damaged? gtkwave or sigrok-cli may still read it";

/// Reads a VCD file from the beginning, as a stream. Variables of several bits become one channel
/// per bit, reals and strings are skipped with a note, `x` and `z` are [`Level::Unknown`]. Reading
/// ends with a note where time goes backwards or a command is truncated.
///
/// # Errors
/// Files that are not VCD, lack a timescale (unless the options supply the clock) or have too many
/// edges.
pub fn read<R: BufRead>(input: &mut R, options: &Options) -> Result<Capture, Error> {
    Reader::new(options).run(input)
}

struct Reader {
    builder: Builder,
    /// Channels of a variable, most significant bit first.
    variables: HashMap<IdCode, Vec<Vec<usize>>>,
    short_ids: ShortIds,
    scopes: Vec<String>,
    timescale: Option<Tick>,
    /// The caller's clock: the tick if there is no timescale, otherwise the resolution.
    clock: Option<Tick>,
    /// The sampling clock, from a comment of the program that wrote the file.
    sampled_at: Option<Tick>,
    /// The first time in the file.
    start: Option<u64>,
    now: u64,
    left_out: u64,
    unknown: Option<(u64, u64)>,
    /// Commands that are not known, and the line of the first.
    skipped: Option<(u64, u64)>,
    notes: Vec<String>,
    /// Its times go back.
    cut: bool,
}

impl Reader {
    fn new(options: &Options) -> Self {
        Reader {
            builder: Builder::new(options.max_edges),
            variables: HashMap::new(),
            short_ids: ShortIds::default(),
            scopes: Vec::new(),
            timescale: None,
            clock: options.clock,
            sampled_at: None,
            start: None,
            now: 0,
            left_out: 0,
            unknown: None,
            skipped: None,
            notes: Vec::new(),
            cut: false,
        }
    }

    fn run<R: BufRead>(mut self, input: &mut R) -> Result<Capture, Error> {
        let mark = if input.fill_buf()?.starts_with(MARK) { MARK.len() } else { 0 };
        input.consume(mark);
        let lines = Lines::after(self.preamble(input)?);
        // A last command is valid without an end of line.
        let input = Text::new(input.chain(&b"\n"[..]));
        let input = Guard { inner: input, left: MAX_COMMAND_BYTES, lines };
        let mut parser = vcd::Parser::new(input);
        loop {
            if !self.simple_commands(parser.reader())? {
                break;
            }
            parser.reader().left = MAX_COMMAND_BYTES;
            let command = parser.next();
            let line = parser.reader().lines.current();
            match command {
                None => break,
                Some(Ok(command)) => {
                    if !self.command(command, line)? {
                        break;
                    }
                }
                Some(Err(error)) if is_unknown(&error) => {
                    if !matches!(parser.reader().skip_command(), Ok(true)) {
                        self.refused(error, line)?;
                        break;
                    }
                    self.skipped.get_or_insert((0, line)).0 += 1;
                }
                Some(Err(error)) => {
                    self.refused(error, line)?;
                    break;
                }
            }
        }
        self.finish()
    }

    /// Skips lines before the first command, as sigrok-cli puts `META samplerate: 1000000` there;
    /// returns how many. A rate in them is the sampling clock.
    fn preamble<R: BufRead>(&mut self, input: &mut R) -> Result<u64, Error> {
        for skipped in 0..MAX_PREAMBLE_LINES {
            if !super::is_preamble(input.fill_buf()?) {
                return Ok(skipped);
            }
            let mut line = Vec::new();
            input.take(MAX_PREAMBLE_BYTES).read_until(b'\n', &mut line)?;
            let text = String::from_utf8_lossy(&line);
            let rate = text.split_once("samplerate").map(|(_, rate)| rate);
            let rate = rate.map(|rate| rate.trim_matches([':', '=', ' ', '\r', '\n']));
            let tick = rate.and_then(super::parse_frequency).and_then(Tick::from_hz);
            self.sampled_at = self.sampled_at.or(tick);
        }
        Ok(MAX_PREAMBLE_LINES)
    }

    /// A truncated file is read as far as possible.
    fn refused(&mut self, error: io::Error, line: u64) -> Result<(), Error> {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            let what = format!("line {line}: the file ends in the middle of a command");
            self.notes.push(format!("{what}; was the recording stopped by force?"));
            return Ok(());
        }
        let Some(parse) = error.get_ref().and_then(|e| e.downcast_ref::<ParseError>()) else {
            return Err(if error.get_ref().is_some_and(|e| e.is::<TooLong>()) {
                Error::at_line(
                    line,
                    format!("a command of more than {MAX_COMMAND_BYTES} bytes"),
                    ADVICE,
                )
            } else {
                error.into()
            });
        };
        Err(Error::at_line(line, parse.kind().to_string(), ADVICE))
    }

    /// Handles a command; returns whether to continue.
    fn command(&mut self, command: Command, line: u64) -> Result<bool, Error> {
        match command {
            Command::Timescale(quantity, unit) => {
                let tick = Tick::new(u64::from(quantity), unit.divisor());
                let tick = tick.ok_or_else(|| Error::at_line(line, "a timescale of 0", ADVICE))?;
                self.timescale = self.timescale.or(Some(tick));
            }
            Command::Comment(text) => self.sampled_at = self.sampled_at.or(rate_in(&text)),
            Command::ScopeDef(_, name) => {
                if self.scopes.len() == MAX_DEPTH {
                    let what = format!("more than {MAX_DEPTH} scopes within each other");
                    return Err(Error::at_line(line, what, ADVICE));
                }
                self.scopes.push(name);
            }
            Command::Upscope => {
                self.scopes.pop();
            }
            Command::VarDef(kind, bits, id, name, index) => {
                let index = index.as_ref();
                self.variable(Var { kind, bits, id, name, index }, line)?;
            }
            Command::Timestamp(at) => return self.time(at, line),
            Command::ChangeScalar(id, value) => {
                self.change(id, &[value], line)?;
            }
            Command::ChangeVector(id, value) => {
                // Shorter values are extended on the left (18.2.1): x and z with themselves, others
                // with 0.
                let fill = match value.get(0) {
                    Some(value @ (Value::X | Value::Z)) => value,
                    _ => Value::V0,
                };
                let bits = self
                    .variables
                    .get(&id)
                    .map_or(0, |v| v.iter().map(Vec::len).max().unwrap_or(0));
                let missing = bits.saturating_sub(value.len());
                let extra = value.len().saturating_sub(bits);
                let values = std::iter::repeat_n(fill, missing).chain(value.iter().skip(extra));
                self.change(id, &values.collect::<Vec<_>>(), line)?;
            }
            _ => {}
        }
        Ok(true)
    }

    fn variable(&mut self, var: Var, line: u64) -> Result<(), Error> {
        let wide = var.bits == 0 || var.bits > MAX_BITS;
        if wide || matches!(var.kind, VarType::Real | VarType::String) {
            self.left_out += 1;
            self.variables.entry(var.id).or_default();
            self.short_ids.set(var.id, None);
            return Ok(());
        }
        if self.builder.len() + var.bits as usize > MAX_CHANNELS {
            let what = format!("more than {MAX_CHANNELS} lines");
            return Err(Error::at_line(line, what, "export fewer of them"));
        }
        // The outermost scope is the test bench or the program that wrote the file: no information.
        let inner = self.scopes.get(1..).unwrap_or_default();
        let parts = inner.iter().map(String::as_str).chain([var.name.as_str()]);
        let full = parts.collect::<Vec<_>>().join(".");
        let channels = (0..var.bits).rev().map(|bit| {
            let name = match (var.bits, var.index) {
                (1, None) => full.clone(),
                (_, Some(ReferenceIndex::BitSelect(n))) => format!("{full}[{n}]"),
                (_, Some(ReferenceIndex::Range(msb, lsb))) if msb < lsb => {
                    format!("{full}[{}]", i64::from(*lsb) - i64::from(bit))
                }
                (_, Some(ReferenceIndex::Range(_, lsb))) => {
                    format!("{full}[{}]", i64::from(*lsb) + i64::from(bit))
                }
                (_, None) => format!("{full}[{bit}]"),
            };
            self.builder.channel(name)
        });
        let channels = channels.collect();
        let variables = self.variables.entry(var.id).or_default();
        variables.push(channels);
        let only = if let [only] = variables.as_slice() { only.first().copied() } else { None };
        self.short_ids.set(var.id, only);
        Ok(())
    }

    fn time(&mut self, at: u64, line: u64) -> Result<bool, Error> {
        let start = *self.start.get_or_insert(at);
        if at < start + self.now {
            self.notes.push(format!(
                "line {line}: time goes back from {} to {at}; what follows was not read",
                start + self.now
            ));
            self.cut = true;
            return Ok(false);
        }
        if at > Edge::MAX_TICK {
            return Err(Error::at_line(line, format!("time {at} is too large"), ADVICE));
        }
        self.now = at - start;
        Ok(true)
    }

    fn change(&mut self, id: IdCode, values: &[Value], line: u64) -> Result<(), Error> {
        let Some(variables) = self.variables.get(&id) else {
            let (count, _) = self.unknown.get_or_insert((0, line));
            *count += 1;
            return Ok(());
        };
        for channels in variables {
            for (channel, value) in channels.iter().zip(values) {
                let level = match value {
                    Value::V0 => Level::Low,
                    Value::V1 => Level::High,
                    Value::X | Value::Z => Level::Unknown,
                };
                self.builder.set(*channel, self.now, level, || Place::Line(line))?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Capture, Error> {
        let tick = self.timescale.or(self.clock).ok_or(Error::NoClock("the file ($timescale)"))?;
        if self.builder.len() == 0 {
            return Err(Error::in_file(
                "no variable of one or more bits is declared",
                "is it a dump of analogue values only?",
            ));
        }
        if self.left_out > 0 {
            let n = self.left_out;
            self.notes.push(format!(
                "{n} variables were left out: reals, strings, or wider than {MAX_BITS} bits"
            ));
        }
        if let Some((count, line)) = self.unknown {
            self.notes.push(format!(
                "{count} changes of variables that are not declared, the first in line {line}"
            ));
        }
        if let Some((count, line)) = self.skipped {
            self.notes.push(format!(
                "commands that VCD does not have were passed over: {count}, the first in line \
                 {line}"
            ));
        }
        let channels = self.builder.finish();
        let start = self.start.unwrap_or(0) as i64;
        let from_edges = || resolution::inferred(tick, start, &channels);
        let stated = self.clock.or(self.sampled_at).filter(|r| r.is_longer_than(tick));
        let sampled = stated.or_else(from_edges);
        Ok(Capture {
            tick,
            resolution: sampled.unwrap_or(tick),
            resolution_inferred: stated.is_none() && sampled.is_some(),
            start,
            end: self.now,
            channels,
            notes: self.notes,
            cut: self.cut,
            simulated: None,
        })
    }
}

/// The content of `$var`.
struct Var<'a> {
    kind: VarType,
    bits: u32,
    id: IdCode,
    name: String,
    index: Option<&'a ReferenceIndex>,
}

/// Whether a command has a name that the standard does not have, as `$attrbegin` of GTKWave: up to
/// its `$end` it can be passed over.
fn is_unknown(error: &io::Error) -> bool {
    let parse = error.get_ref().and_then(|e| e.downcast_ref::<ParseError>());
    parse.is_some_and(|parse| matches!(parse.kind(), ParseErrorKind::UnknownCommand))
}

/// The rate in sigrok's and our comment: `Acquisition with 8/16 channels at 24 MHz`.
fn rate_in(comment: &str) -> Option<Tick> {
    let (_, rate) = comment.strip_prefix("Acquisition with ")?.rsplit_once(" at ")?;
    Tick::from_hz(super::parse_frequency(rate)?)
}

/// A name without what would end it, and without what a terminal obeys.
fn plain(name: &str) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !is_obeyed(c);
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// Writes a VCD file. Its timescale is a power of ten that represents every edge exactly, or, if
/// none does, the coarsest one that keeps each edge within a twentieth of the resolution.
///
/// # Errors
/// Those of `out`, and time bases that no timescale can represent.
pub fn write(capture: &Capture, out: &mut dyn Write) -> Result<(), Error> {
    let (quantity, unit, scale) = timescale(capture)?;
    let mut writer = vcd::Writer::new(out);
    writer.version(concat!("strobe ", env!("CARGO_PKG_VERSION")))?;
    let channels = &capture.channels;
    if let Some(hz) = capture.resolution.hz() {
        let n = channels.len();
        writer.comment(&format!("Acquisition with {n}/{n} channels at {hz} Hz"))?;
    }
    writer.timescale(quantity, unit)?;
    writer.add_module("capture")?;
    let ids = channels.iter().map(|c| writer.add_wire(1, &plain(&c.name)));
    let ids: Vec<IdCode> = ids.collect::<io::Result<_>>()?;
    writer.upscope()?;
    writer.enddefinitions()?;
    let too_late = || Error::Unwritable("times beyond what a VCD file can hold".to_owned());
    let start = u64::try_from(capture.start).unwrap_or(0);
    let time = |at: u64| capture.tick.convert(start + at, scale).ok_or_else(too_late);
    writer.timestamp(time(0)?)?;
    writer.begin(vcd::SimulationCommand::Dumpvars)?;
    for (id, channel) in ids.iter().zip(channels) {
        writer.change_scalar(*id, value(channel.initial))?;
    }
    writer.end()?;
    let mut last = 0;
    for (at, channel, level) in changes(channels) {
        if at != last {
            writer.timestamp(time(at)?)?;
            last = at;
        }
        writer.change_scalar(ids[channel], value(level))?;
    }
    if capture.end > last {
        writer.timestamp(time(capture.end)?)?;
    }
    writer.flush()?;
    Ok(())
}

fn value(level: Level) -> Value {
    match level {
        Level::Low => Value::V0,
        Level::High => Value::V1,
        Level::Unknown => Value::X,
    }
}

/// All edges of all channels by time.
pub(super) fn changes(channels: &[Channel]) -> impl Iterator<Item = (u64, usize, Level)> {
    let mut rest: Vec<_> = channels.iter().map(|c| c.edges.iter().peekable()).collect();
    let heads = rest.iter_mut().map(|edges| edges.peek().map(|edge| edge.at()));
    let mut next: BinaryHeap<_> =
        (0..).zip(heads).filter_map(|(channel, at)| Some(Reverse((at?, channel)))).collect();
    std::iter::from_fn(move || {
        let Reverse((at, channel)): Reverse<(u64, usize)> = next.pop()?;
        let edge = rest[channel].next()?;
        next.extend(rest[channel].peek().map(|following| Reverse((following.at(), channel))));
        Some((at, channel, edge.level()))
    })
}

/// The coarsest sufficient timescale, as in the file and as a tick.
fn timescale(capture: &Capture) -> Result<(u32, TimescaleUnit, Tick), Error> {
    use TimescaleUnit::{FS, MS, NS, PS, S, US};
    let units = [S, MS, US, NS, PS, FS].into_iter();
    let scales = units.flat_map(|unit| [100, 10, 1].map(|quantity| (quantity, unit)));
    let scales = scales.filter_map(|(quantity, unit)| {
        Some((quantity, unit, Tick::new(u64::from(quantity), unit.divisor())?))
    });
    let exact = scales.clone().find(|(_, _, scale)| {
        capture.tick.convert(1, *scale).and_then(|n| scale.times(n)) == Some(capture.tick)
    });
    let near = || {
        scales.clone().find(|(_, _, scale)| {
            scale.times(10).is_some_and(|ten| !ten.is_longer_than(capture.resolution))
        })
    };
    exact.or_else(near).ok_or_else(|| {
        Error::Unwritable("no VCD timescale is fine enough for this capture".to_owned())
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_hold_nothing_that_a_terminal_obeys() {
        assert_eq!(super::plain("a b\u{202e}c\u{1b}[1m\u{2066}d\u{9b}\u{2028}"), "a_b_c_[1m_d__");
        assert_eq!(super::plain("S\u{fc}d:D0"), "S\u{fc}d:D0");
    }
}
