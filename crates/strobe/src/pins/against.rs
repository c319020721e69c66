//! `strobe pins --against`: a capture beside a recording.

use std::path::Path;

use strobe_analyse::pairing;
use strobe_decode::capture::{AWAKE, Capture};
use strobe_decode::pins;
use strobe_model::against::{Against, Pair};
use strobe_model::measurement::Measurement;
use strobe_model::{CaptureSummary, PinsReport};

use super::{Args, trigger};
use crate::recording::Opened;
use crate::{capture, exit, input};

/// Compares and prints.
pub fn run(args: &Args, path: &Path, a: &Opened) -> anyhow::Result<()> {
    if input::is_firmware(path)? {
        let text = "--against takes a capture; of two firmwares, export the pins of one (--export) \
                    or use strobe compare";
        return Err(exit::usage(text));
    }
    // A simulation's clock is known, so the option is the capture's.
    let (format, other) = capture::open(path, args.source.samplerate, args.source.max_edges)?;
    let file = input::file_name(path);
    let format = format.name().to_owned();
    let b = Opened { file, format, capture: other, others: None, run: None, code: a.code };
    let sides = [a, &b];
    let summaries = sides.map(|s| pins::summary(&s.capture, s.file.clone(), &s.format));
    let pairs = pairs(args, &a.capture, &b.capture)?;
    let mut compared = Vec::new();
    if args.from.is_none() || !args.pins.is_empty() {
        compared.extend(pairs.iter().map(|(x, y)| {
            let [x, y] = [(&a.capture, *x), (&b.capture, *y)]
                .map(|(capture, at)| pins::statistics(capture, at, None));
            pairing::pins((&summaries[0], &x), (&summaries[1], &y), args.clock_tolerance)
        }));
    }
    compared.extend(intervals(args, sides, &summaries)?);
    let [a_summary, b_summary] = summaries;
    let notes = a.capture.notes.iter().chain(&b.capture.notes).cloned();
    let report = Against {
        a: a_summary,
        b: b_summary,
        clock_tolerance_ppm: args.clock_tolerance,
        pairs: compared,
        notes: notes.collect(),
    };
    let [a, b] = sides.map(|side| alone(args, side));
    let compared = strobe_report::pairing::measurement(&report, a, b);
    args.result.measurement(&compared, &args.result.selection())
}

/// One side as a measurement of its own.
fn alone(args: &Args, side: &Opened) -> Measurement {
    let Opened { file, format, capture, .. } = side;
    let summary = pins::summary(capture, file.clone(), format);
    let moving = (0..).zip(&capture.channels).filter(|(_, channel)| !channel.edges.is_empty());
    let wanted = |(at, _): &(usize, &_)| {
        args.pins.is_empty() || args.pins.iter().any(|p| capture.channel(p).is_ok_and(|c| c == *at))
    };
    let each = moving.filter(wanted).map(|(at, _)| pins::statistics(capture, at, None));
    let mut measurement = pins::measurement(&PinsReport {
        capture: summary,
        pins: each.collect(),
        intervals: Vec::new(),
        notes: capture.notes.clone(),
    });
    side.run.iter().for_each(|run| run.add_to(&mut measurement));
    measurement
}

/// `--pair` as two names.
fn named(text: &str) -> anyhow::Result<(&str, &str)> {
    text.split_once('=').ok_or_else(|| exit::usage(format!("--pair {text}: write it PIN=PIN")))
}

/// Which channel belongs to which.
fn pairs(args: &Args, a: &Capture, b: &Capture) -> anyhow::Result<Vec<(usize, usize)>> {
    let mut pairs = Vec::new();
    for text in &args.pair {
        let (x, y) = named(text)?;
        pairs.push((capture::channel(a, x)?, capture::channel(b, y)?));
    }
    if pairs.is_empty() {
        let same = |name: &str| b.channels.iter().position(|c| c.name.eq_ignore_ascii_case(name));
        let moving = (0..).zip(&a.channels).filter(|(_, c)| !c.edges.is_empty() && c.name != AWAKE);
        pairs.extend(moving.filter_map(|(at, c)| Some((at, same(&c.name)?))));
    }
    if !args.pins.is_empty() {
        let wanted = args.pins.iter().map(|name| capture::channel(a, name));
        let wanted: Vec<usize> = wanted.collect::<anyhow::Result<_>>()?;
        pairs.retain(|(x, _)| wanted.contains(x));
    }
    if pairs.is_empty() {
        let names = |capture: &Capture| {
            let moving = capture.channels.iter().filter(|c| !c.edges.is_empty());
            moving.take(64).map(|c| c.name.clone()).collect::<Vec<_>>().join(", ")
        };
        return Err(exit::usage(format!(
            "no pin has the same name in both; pair them with --pair, of {} and {}",
            names(a),
            names(b)
        )));
    }
    Ok(pairs)
}

/// Times between the edges that were asked for, in both.
fn intervals(
    args: &Args,
    sides: [&Opened; 2],
    summaries: &[CaptureSummary; 2],
) -> anyhow::Result<Vec<Pair>> {
    let Some(from) = &args.from else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for to in &args.to {
        let a = &sides[0].capture;
        let a = pins::interval(a, trigger(a, from)?, trigger(a, to)?, None);
        let capture = &sides[1].capture;
        let there = |text: &str| trigger(capture, &counterpart(args, text)?);
        let b = pins::interval(capture, there(from)?, there(to)?, None);
        all.push(pairing::intervals(
            (&summaries[0], &a),
            (&summaries[1], &b),
            args.clock_tolerance,
        ));
    }
    Ok(all)
}

/// An edge as the capture names it.
fn counterpart(args: &Args, edge: &str) -> anyhow::Result<String> {
    for text in &args.pair {
        let (x, y) = named(text)?;
        let rest = edge.strip_prefix(x).filter(|rest| rest.is_empty() || rest.starts_with(':'));
        if let Some(rest) = rest {
            return Ok(format!("{y}{rest}"));
        }
    }
    Ok(edge.to_owned())
}
