//! A recording of logic levels, whatever tool made it: channels, a time base, and for each channel
//! its edges.
//!
//! Readers stream: memory is taken for edges only, up to a limit that the caller sets, never for
//! what a header claims. What cannot be read but does not spoil the rest is said in
//! [`Capture::notes`].

mod build;
mod csv;
mod edges;
mod error;
mod level;
pub(crate) mod measured;
mod resolution;
mod sigrok;
mod simulated;
mod steps;
pub(crate) mod time;
mod vcd;

use std::io::{BufRead, Seek};

pub use edges::{Edges, EdgesIter};
pub use error::{Error, Place};
pub use level::{Edge, Level};
pub use sigrok::{read as read_sigrok, write as write_sigrok};
pub use simulated::{AWAKE, Recording, Simulated};
pub use steps::{Step, Steps};
pub use strobe_model::spelling::frequency as parse_frequency;
pub use time::Tick;
pub use vcd::{read as read_vcd, write as write_vcd};

pub use self::csv::read as read_csv;

/// What a reader may take, and the settings that the file does not state.
#[derive(Debug, Clone)]
pub struct Options {
    /// Edges of all channels together; each takes one to three bytes of memory as a rule.
    pub max_edges: usize,
    /// Bytes of unpacked samples in a sigrok session. They are not kept, but take time.
    pub max_sample_bytes: u64,
    /// The clock that took the capture, where the file does not state it or states it wrong.
    pub clock: Option<Tick>,
}

impl Default for Options {
    fn default() -> Self {
        Options { max_edges: 50_000_000, max_sample_bytes: 64 << 30, clock: None }
    }
}

/// The kinds of file that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Value change dump, IEEE 1364-2005 section 18.
    Vcd,
    /// A session of sigrok (`.sr`).
    Sigrok,
    /// The change list that Saleae's Logic exports.
    SaleaeCsv,
}

impl Format {
    /// Its name, for reports.
    pub fn name(self) -> &'static str {
        match self {
            Format::Vcd => "VCD",
            Format::Sigrok => "sigrok session",
            Format::SaleaeCsv => "Saleae CSV",
        }
    }

    /// What the first bytes look like.
    fn of(head: &[u8]) -> Option<Format> {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let text = head.trim_ascii_start();
        if head.starts_with(b"PK") {
            return Some(Format::Sigrok);
        }
        if text.starts_with(b"$") || is_preamble(head) {
            return Some(Format::Vcd);
        }
        let start = text.strip_prefix(b"\"").unwrap_or(text).get(..4)?;
        start.eq_ignore_ascii_case(b"time").then_some(Format::SaleaeCsv)
    }
}

/// Whether these bytes begin with a line that programs put before a VCD file, as sigrok-cli's `META
/// samplerate: 1000000`, or with a comment.
fn is_preamble(head: &[u8]) -> bool {
    [&b"META "[..], b"META:", b"//", b"; "].iter().any(|word| head.starts_with(word))
}

/// Levels over time.
///
/// Ticks count from the beginning of the recording; [`Capture::start`] is where that lies on the
/// file's own time line.
#[derive(Debug, Clone, PartialEq)]
pub struct Capture {
    /// What a tick is.
    pub tick: Tick,
    /// The clock that took the samples: an edge is known no better than this. Never finer than a
    /// tick.
    pub resolution: Tick,
    /// Whether the resolution was worked out from the edges, because the file does not state it.
    pub resolution_inferred: bool,
    /// Where the recording begins on the file's own time line, in ticks: before zero when it began
    /// before a trigger.
    pub start: i64,
    /// The last tick that is known to belong to the recording.
    pub end: u64,
    /// In the file's order.
    pub channels: Vec<Channel>,
    /// What the reader should know, each a sentence.
    pub notes: Vec<String>,
    /// Its times go back behind the end: what follows in the file was not read.
    pub cut: bool,
    /// What else is known of pins that were simulated.
    pub simulated: Option<Simulated>,
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// Its name; those of VCD files with their scopes, `top.uart.tx`.
    pub name: String,
    /// Its level at the beginning.
    pub initial: Level,
    /// By time, each a change of level.
    pub edges: Edges,
}

/// Channels listed in an error, so that the message stays readable.
const MAX_KNOWN: usize = 64;

/// A name of no channel, or of several.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no channel {name}, or more than one; there are: {}", .known.join(", "))]
pub struct ChannelError {
    /// As given, or the chip's name of the pin.
    pub name: String,
    /// The first of the capture's channels.
    pub known: Vec<String>,
}

impl Capture {
    /// The channel that a user's word means: its name, also in other case; the last part of a name
    /// with scopes; `D3` or `CH3` for channel 3 where no channel has such a name.
    ///
    /// # Errors
    /// The message for the user, with the names that there are.
    pub fn channel(&self, name: &str) -> Result<usize, ChannelError> {
        let name = self.name_on_chip(name);
        let position = |same: &dyn Fn(&str) -> bool| {
            let mut found = (0..).zip(&self.channels).filter(|(_, c)| same(&c.name));
            match (found.next(), found.next()) {
                (Some((at, _)), None) => Some(at),
                _ => None,
            }
        };
        let last_part = |full: &str| full.rsplit('.').next() == Some(name);
        let named = position(&|full| full == name)
            .or_else(|| position(&|full| full.eq_ignore_ascii_case(name)))
            .or_else(|| position(&last_part));
        named.or_else(|| self.numbered(name)).ok_or_else(|| {
            let known = self.channels.iter().take(MAX_KNOWN).map(|c| c.name.clone()).collect();
            ChannelError { name: name.to_owned(), known }
        })
    }

    /// What the chip calls a pin that the simulated board has a name of its own for.
    fn name_on_chip<'a>(&'a self, name: &'a str) -> &'a str {
        let names = self.simulated.iter().flat_map(|simulated| &simulated.names);
        let mut found = names.filter(|(own, _)| own.eq_ignore_ascii_case(name));
        found.next().map_or(name, |(_, pin)| pin)
    }

    /// A simulated board's pins have no numbers.
    fn numbered(&self, name: &str) -> Option<usize> {
        if self.simulated.is_some() {
            return None;
        }
        let upper = name.to_ascii_uppercase();
        let digits = upper.strip_prefix("CH").or_else(|| upper.strip_prefix('D'));
        let number: usize = digits.unwrap_or(&upper).parse().ok()?;
        (number < self.channels.len()).then_some(number)
    }

    /// The same capture with some of its channels only.
    #[must_use]
    pub fn only(&self, channels: &[usize]) -> Capture {
        let channels = channels.iter().filter_map(|at| self.channels.get(*at)).cloned().collect();
        let (notes, simulated) = (self.notes.clone(), self.simulated.clone());
        Capture { channels, notes, simulated, ..*self }
    }

    /// A tick of this capture on the file's own time line, in picoseconds.
    pub fn at_ps(&self, tick: u64) -> i64 {
        let tick = i128::from(self.start) + i128::from(tick);
        let ps = self.tick.ps(tick.unsigned_abs());
        let ps = i64::try_from(ps).unwrap_or(i64::MAX);
        if tick < 0 { -ps } else { ps }
    }

    /// How long a number of ticks is, in picoseconds.
    pub fn ps(&self, ticks: u64) -> u64 {
        u64::try_from(self.tick.ps(u128::from(ticks))).unwrap_or(u64::MAX)
    }

    /// The tick nearest to so many picoseconds from the beginning.
    pub fn tick_at(&self, ps: u64) -> u64 {
        Tick::decimal(12).convert(ps, self.tick).unwrap_or(u64::MAX)
    }

    /// The levels of some channels at each tick at which one of them changes, in order; `None`
    /// stands for a line that was not recorded, whose level is [`Level::Unknown`] throughout.
    pub fn steps<const N: usize>(&self, channels: [Option<usize>; N]) -> Steps<'_, N> {
        Steps::new(channels.map(|at| at.and_then(|at| self.channels.get(at))))
    }
}

/// Reads a capture of any of the known formats.
///
/// # Errors
/// When it is none of them, is broken, or exceeds a limit.
pub fn read<R: BufRead + Seek>(
    input: &mut R,
    options: &Options,
) -> Result<(Format, Capture), Error> {
    let head = input.fill_buf()?;
    if head.is_empty() {
        return Err(Error::Empty);
    }
    let format = Format::of(head).ok_or(Error::UnknownFormat)?;
    let capture = match format {
        Format::Vcd => vcd::read(input, options)?,
        Format::Sigrok => sigrok::read(input, options)?,
        Format::SaleaeCsv => csv::read(input, options)?,
    };
    Ok((format, capture))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(names: &[&str]) -> Capture {
        let channel = |name: &&str| Channel {
            name: (*name).to_owned(),
            initial: Level::Low,
            edges: Edges::default(),
        };
        Capture {
            tick: Tick::from_hz(24_000_000).unwrap(),
            resolution: Tick::from_hz(24_000_000).unwrap(),
            resolution_inferred: false,
            start: -24,
            end: 0,
            channels: names.iter().map(channel).collect(),
            notes: Vec::new(),
            cut: false,
            simulated: None,
        }
    }

    #[test]
    fn channels_are_found_by_what_people_call_them() {
        let found = |names: &[&str], name: &str| capture(names).channel(name).ok();
        assert_eq!(found(&["CLK", "clk"], "clk"), Some(1));
        assert_eq!(found(&["CLK", "MOSI"], "mosi"), Some(1));
        assert_eq!(found(&["top.a.rx", "top.b.tx"], "tx"), Some(1));
        assert_eq!(found(&["top.a.rx", "top.b.rx"], "rx"), None);
        assert_eq!(found(&["0", "1", "2"], "D2"), Some(2));
        assert_eq!(found(&["D1", "D0"], "D0"), Some(1));
        assert_eq!(found(&["a"], "D7"), None);
    }

    #[test]
    fn times_before_the_trigger_are_negative() {
        let capture = capture(&[]);
        assert_eq!(capture.at_ps(0), -1_000_000);
        assert_eq!(capture.at_ps(25), 41_667);
    }
}
