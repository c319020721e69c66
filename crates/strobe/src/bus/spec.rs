//! The argument of `-P`: a decoder, its channels and its options, as `uart:rx=D0:baudrate=115200`.

use strobe_decode::bus::report::{Baud, BaudOrigin, BusSetting};
use strobe_decode::bus::uart::{Parity, StopBits};
use strobe_decode::bus::{Decoded, baud, i2c as i2c_bus, spi as spi_bus, uart as uart_line};
use strobe_decode::capture::Capture;
use strobe_report::grouped;

use crate::{capture, exit};

/// A decoder with what is still to be understood of its options.
pub struct Spec {
    pub decoder: String,
    values: Vec<(String, String)>,
    known: Vec<&'static str>,
}

impl Spec {
    pub fn parse(text: &str) -> anyhow::Result<Spec> {
        let mut parts = text.split([':', ',']);
        let decoder = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let mut values: Vec<(String, String)> = Vec::new();
        for part in parts {
            let Some((key, value)) = part.split_once('=') else {
                return Err(exit::usage(format!(
                    "`{part}` in {text}: a channel or option is NAME=VALUE"
                )));
            };
            let key = key.trim().to_ascii_lowercase();
            if values.iter().any(|(other, _)| *other == key) {
                return Err(exit::usage(format!("{text} has {key} twice")));
            }
            values.push((key, value.trim().to_owned()));
        }
        Ok(Spec { decoder, values, known: Vec::new() })
    }

    /// Takes what was said under one of some names.
    fn take(&mut self, names: &[&'static str]) -> Option<String> {
        self.known.extend(names);
        let at = self.values.iter().position(|(key, _)| names.contains(&key.as_str()))?;
        Some(self.values.remove(at).1)
    }

    fn channel(&mut self, name: &'static str, capture: &Capture) -> anyhow::Result<Option<usize>> {
        self.take(&[name]).map(|pin| capture::channel(capture, &pin)).transpose()
    }

    fn required(&mut self, name: &'static str, capture: &Capture) -> anyhow::Result<usize> {
        let found = self.channel(name, capture)?;
        let decoder = &self.decoder;
        found.ok_or_else(|| exit::usage(format!("{decoder} needs {name}, as {decoder}:{name}=PIN")))
    }

    /// Takes an option with a few values.
    fn choice<T: Copy>(
        &mut self,
        names: &[&'static str],
        default: T,
        choices: &[(&'static str, T)],
    ) -> anyhow::Result<T> {
        let Some(text) = self.take(names) else { return Ok(default) };
        let found = choices.iter().find(|(name, _)| text.eq_ignore_ascii_case(name));
        found.map(|(_, value)| *value).ok_or_else(|| {
            let can: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            exit::usage(format!("{}={text}: it can be {}", names[0], can.join(", ")))
        })
    }

    /// Takes a number within bounds.
    fn number(&mut self, names: &[&'static str], default: u8, most: u8) -> anyhow::Result<u8> {
        let Some(text) = self.take(names) else { return Ok(default) };
        let number = text.parse().ok().filter(|n| (1..=most).contains(n));
        number.ok_or_else(|| exit::usage(format!("{}={text}: it can be 1 to {most}", names[0])))
    }

    /// Nothing may be left.
    fn finish(&self) -> anyhow::Result<()> {
        let Some((key, _)) = self.values.first() else { return Ok(()) };
        let decoder = &self.decoder;
        let known = self.known.join(", ");
        Err(exit::usage(format!("{decoder} knows no {key}; it knows {known}")))
    }
}

type Done = (Decoded, Vec<BusSetting>);

fn setting(name: &str, value: impl ToString) -> BusSetting {
    BusSetting { name: name.to_owned(), value: value.to_string() }
}

const YES_NO: [(&str, bool); 4] = [("yes", true), ("no", false), ("1", true), ("0", false)];
const LSB_FIRST: [(&str, bool); 2] = [("lsb-first", true), ("msb-first", false)];
const PARITIES: [(&str, Parity); 7] = [
    ("none", Parity::None),
    ("even", Parity::Even),
    ("odd", Parity::Odd),
    ("one", Parity::Mark),
    ("mark", Parity::Mark),
    ("zero", Parity::Space),
    ("space", Parity::Space),
];
const STOP_BITS: [(&str, StopBits); 5] = [
    ("1", StopBits::One),
    ("1.0", StopBits::One),
    ("1.5", StopBits::OneAndAHalf),
    ("2", StopBits::Two),
    ("2.0", StopBits::Two),
];

/// The name of a value among the choices.
fn word<T: PartialEq>(value: T, choices: &[(&'static str, T)]) -> &'static str {
    choices.iter().find(|(_, choice)| *choice == value).map_or("", |(name, _)| name)
}

pub fn uart(spec: &mut Spec, capture: &Capture) -> anyhow::Result<Done> {
    let lines = [("rx", spec.channel("rx", capture)?), ("tx", spec.channel("tx", capture)?)];
    let mut format = uart_format(spec)?;
    let speed = spec.take(&["baudrate", "baud"]).map(|text| {
        let baud = text.parse::<f64>().ok().filter(|b| *b >= 0.1 && *b <= 1e9);
        baud.ok_or_else(|| {
            exit::usage(format!("baudrate={text}: a number of bits per second, as 115200"))
        })
    });
    let speed = speed.transpose()?;
    let invert = spec.choice(&["invert"], false, &YES_NO)?;
    let inverted = [
        spec.choice(&["invert_rx"], invert, &YES_NO)?,
        spec.choice(&["invert_tx"], invert, &YES_NO)?,
    ];
    spec.finish()?;
    let mut settings = vec![
        setting("data bits", format.data_bits),
        setting("parity", word(format.parity, &PARITIES)),
        setting("stop bits", word(format.stop_bits, &STOP_BITS)),
        setting("order", word(!format.msb_first, &LSB_FIRST)),
    ];
    let mut all = Decoded::default();
    for ((name, line), inverted) in lines.into_iter().zip(inverted) {
        let Some(channel) = line else { continue };
        format.inverted = inverted;
        if inverted {
            settings.push(setting("inverted", name));
        }
        all.join(uart_lane(capture, (name, channel), format, speed)?);
    }
    if all.lanes.is_empty() {
        return Err(exit::usage("uart needs rx or tx, as uart:rx=PIN"));
    }
    Ok((all, settings))
}

fn uart_format(spec: &mut Spec) -> anyhow::Result<uart_line::Format> {
    let mut format = uart_line::Format::default();
    if let Some(text) = spec.take(&["format"]) {
        let parts =
            text.get(..1).and_then(|b| b.parse().ok()).zip(text.get(1..2)).zip(text.get(2..));
        let bad = || exit::usage(format!("format={text}: as 8n1, 7e1, 8n2"));
        let ((bits, parity), stop) = parts.ok_or_else(bad)?;
        format.data_bits = bits;
        let parities =
            PARITIES.iter().find(|(name, _)| name.starts_with(&parity.to_ascii_lowercase()));
        format.parity = parities.ok_or_else(bad)?.1;
        format.stop_bits = STOP_BITS.iter().find(|(name, _)| *name == stop).ok_or_else(bad)?.1;
    }
    format.data_bits = spec.number(&["data_bits", "bits"], format.data_bits, 9)?;
    if !(5..=9).contains(&format.data_bits) {
        return Err(exit::usage("a uart word has 5 to 9 data bits"));
    }
    format.parity = spec.choice(&["parity"], format.parity, &PARITIES)?;
    format.stop_bits = spec.choice(&["stop_bits"], format.stop_bits, &STOP_BITS)?;
    format.msb_first = !spec.choice(&["bit_order", "bitorder"], true, &LSB_FIRST)?;
    Ok(format)
}

/// Decodes a line at the speed given, or at that of its pulses.
fn uart_lane(
    capture: &Capture,
    (name, channel): (&str, usize),
    format: uart_line::Format,
    speed: Option<f64>,
) -> anyhow::Result<Decoded> {
    let measured = baud::estimate(capture, channel);
    let baud = match (speed, measured) {
        (Some(used), Some(measured)) => Some(Baud { used, origin: BaudOrigin::Given, ..measured }),
        (Some(used), None) => {
            let (measured, misfit) = (None, None);
            Some(Baud { used, origin: BaudOrigin::Given, measured, misfit, pulses: 0, sure: false })
        }
        (None, measured) => measured,
    };
    let pin = &capture.channels[channel].name;
    let Some(baud) = baud else {
        return Err(exit::data(format!(
            "{pin} has too few pulses to find its speed; give it, as \
             uart:{name}={pin}:baudrate=115200"
        )));
    };
    let bit = baud::bit_ticks(capture, baud.used);
    let mut decoded = uart_line::decode(capture, channel, name, format, bit);
    let resolution = capture.resolution.ps(1) as f64 * baud.used / 1e12;
    if resolution > FEWEST {
        decoded.notes.push(format!(
            "{pin}: {:.1} samples to a bit are too few to rely on; record with a faster clock",
            1.0 / resolution
        ));
    }
    if let (Some(measured), BaudOrigin::Given) = (baud.measured.filter(|_| baud.sure), baud.origin)
    {
        let off = baud.used / measured - 1.0;
        if off.abs() > 0.03 {
            decoded.notes.push(format!(
                "{pin}: {} baud were given, the pulses show {measured:.0}",
                baud.used
            ));
        }
    }
    let (words, faulty) = words(&decoded);
    if baud::are_many(faulty, words)
        && let Some(better) = better_format(capture, channel, format, bit)
    {
        decoded.notes.push(format!(
            "{pin}: {} of {} words are faulty; with {better} hardly any is",
            grouped(faulty),
            grouped(words)
        ));
    }
    // Whatever the pulses show: words that are none were not sent like that.
    let sure = baud.sure && resolution <= FEWEST && words > 0 && !baud::are_many(faulty, words);
    for lane in &mut decoded.lanes {
        lane.baud = Some(Baud { sure, ..baud });
    }
    Ok(decoded)
}

/// More of a bit than this from sample to sample, and words cannot be relied on.
const FEWEST: f64 = 0.25;

/// Formats that are usual besides eight bits without parity. Seven bits with parity look like
/// eight.
const USUAL: [(&str, u8, Parity); 4] = [
    ("8e1", 8, Parity::Even),
    ("8o1", 8, Parity::Odd),
    ("9n1", 9, Parity::None),
    ("7n1", 7, Parity::None),
];

/// Words, and of them those that are faulty.
fn words(decoded: &Decoded) -> (u64, u64) {
    let summaries = decoded.lanes.iter().map(|lane| &lane.summary);
    summaries.fold((0, 0), |(words, faulty), s| (words + s.words, faulty + s.faulty))
}

/// The options with which a line has hardly any faulty words at that speed: another usual format,
/// or the other level at rest.
fn better_format(
    capture: &Capture,
    channel: usize,
    format: uart_line::Format,
    bit: f64,
) -> Option<String> {
    let fits = |(_, format): &(String, uart_line::Format)| {
        let (words, faulty) = words(&uart_line::decode(capture, channel, "", *format, bit));
        words > 0 && !baud::are_many(faulty, words)
    };
    let usual = |inverted: bool| {
        USUAL.iter().map(move |(name, data_bits, parity)| {
            let (data_bits, parity, stop_bits) = (*data_bits, *parity, StopBits::One);
            let format = uart_line::Format { data_bits, parity, stop_bits, inverted, ..format };
            (format!("format={name}"), format)
        })
    };
    let inverted = !format.inverted;
    let invert = if inverted { "invert=yes" } else { "invert=no" };
    let other = std::iter::once((invert.to_owned(), uart_line::Format { inverted, ..format }));
    let both = usual(inverted).map(|(name, format)| (format!("{name}:{invert}"), format));
    let mut all = usual(format.inverted).chain(other).chain(both);
    all.find(fits).map(|(options, _)| options)
}

pub fn spi(spec: &mut Spec, capture: &Capture) -> anyhow::Result<Done> {
    let clk = spec.required("clk", capture)?;
    let (mosi, miso) = (spec.channel("mosi", capture)?, spec.channel("miso", capture)?);
    let cs = spec.channel("cs", capture)?;
    let dc = spec.take(&["dc"]);
    let dc_bit = dc.as_deref() == Some("bit");
    let dc = dc.filter(|_| !dc_bit).map(|pin| capture::channel(capture, &pin)).transpose()?;
    let mode = spec.choice(&["mode"], 0, &[("0", 0), ("1", 1), ("2", 2), ("3", 3)])?;
    let bit = [("0", false), ("1", true)];
    let format = spi_bus::Format {
        rests_high: spec.choice(&["cpol"], mode >= 2, &bit)?,
        second_edge: spec.choice(&["cpha"], mode % 2 == 1, &bit)?,
        lsb_first: spec.choice(&["bitorder", "bit_order"], false, &LSB_FIRST)?,
        bits: spec.number(&["wordsize", "bits"], 8, if dc_bit { 31 } else { 32 })?,
        select_high: spec.choice(
            &["cs_polarity"],
            false,
            &[("active-low", false), ("active-high", true)],
        )?,
        dc_bit,
    };
    spec.finish()?;
    if mosi.is_none() && miso.is_none() {
        return Err(exit::usage("spi needs mosi or miso, as spi:clk=PIN:mosi=PIN"));
    }
    let mode = 2 * u8::from(format.rests_high) + u8::from(format.second_edge);
    let mut settings = vec![
        setting("mode", mode),
        setting("bits", format.bits),
        setting("order", word(format.lsb_first, &LSB_FIRST)),
    ];
    if cs.is_some() {
        settings
            .push(setting("select", if format.select_high { "active-high" } else { "active-low" }));
    }
    if dc_bit {
        settings.push(setting("data/command", "bit before each word"));
    }
    let lines = spi_bus::Lines { clk, mosi, miso, cs, dc };
    Ok((spi_bus::decode(capture, lines, format), settings))
}

pub fn i2c(spec: &mut Spec, capture: &Capture) -> anyhow::Result<Done> {
    let (scl, sda) = (spec.required("scl", capture)?, spec.required("sda", capture)?);
    spec.finish()?;
    let name = |at: usize| &capture.channels[at].name;
    let settings = vec![setting("scl", name(scl)), setting("sda", name(sda))];
    Ok((i2c_bus::decode(capture, scl, sda), settings))
}
