//! `strobe pins --against`: a capture beside a recording.

use std::path::Path;

use strobe_decode::capture::{AWAKE, Capture};
use strobe_decode::pairing::report::{Against, Pair};
use strobe_decode::pins::report::{CaptureSummary, PinsReport};
use strobe_decode::pins::report::{PinInterval, PinStatistics};
use strobe_decode::{pairing, pins};
use strobe_model::measurement::Measurement;
use strobe_source::simulated::bounding_runs;

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
    let b = Opened { file, format, capture: other, bounding_runs: None, run: None, code: a.code };
    let sides = [a, &b];
    let summaries = sides.map(|s| pins::summary(&s.capture, s.file.clone(), &s.format));
    let pairs = pairs(args, &a.capture, &b.capture)?;
    let mut compared = Vec::new();
    if args.from.is_none() || !args.pins.is_empty() {
        compared.extend(pairs.iter().map(|(x, y)| {
            let [x, y] = [(a, *x), (&b, *y)].map(|(side, at)| statistics(side, at));
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
    let compared = pairing::measurement(&report, a, b);
    args.result.measurement(&compared, &args.result.selection())
}

/// What a pin did on one side, with the bounds of further runs.
fn statistics(side: &Opened, channel: usize) -> PinStatistics {
    let mut own = pins::statistics(&side.capture, channel, None);
    if let Some(runs) = &side.bounding_runs {
        let [low, high] = runs.each_ref().map(|run| pins::statistics(run, channel, None));
        pins::enclose(&mut own, &low, &high);
    }
    own
}

/// The times between two edges on one side, likewise.
fn interval(side: &Opened, from: &str, to: &str) -> anyhow::Result<PinInterval> {
    let mut own = interval_in(&side.capture, from, to)?;
    if let Some([low, high]) = &side.bounding_runs {
        let (low, high) = (interval_in(low, from, to)?, interval_in(high, from, to)?);
        pins::enclose_interval(&mut own, &low, &high);
    }
    Ok(own)
}

fn interval_in(capture: &Capture, from: &str, to: &str) -> anyhow::Result<PinInterval> {
    Ok(pins::interval(capture, trigger(capture, from)?, trigger(capture, to)?, None))
}

/// One side as a measurement of its own.
fn alone(args: &Args, side: &Opened) -> Measurement {
    let mut measurement = measured(args, side, &side.capture);
    if let Some(runs) = &side.bounding_runs {
        let [low, high] = runs.each_ref().map(|capture| measured(args, side, capture));
        bounding_runs::enclose(&mut measurement, [&low, &high]);
    }
    let is_enclosed = side.bounding_runs.is_some();
    side.run.iter().for_each(|run| run.add_to(&mut measurement, is_enclosed));
    measurement
}

/// A recording of one side as a measurement.
fn measured(args: &Args, side: &Opened, capture: &Capture) -> Measurement {
    let Opened { file, format, .. } = side;
    let summary = pins::summary(capture, file.clone(), format);
    let moving = (0..).zip(&capture.channels).filter(|(_, channel)| !channel.edges.is_empty());
    let wanted = |(at, _): &(usize, &_)| {
        args.pins.is_empty() || args.pins.iter().any(|p| capture.channel(p).is_ok_and(|c| c == *at))
    };
    let each = moving.filter(wanted).map(|(at, _)| pins::statistics(capture, at, None));
    pins::measurement(&PinsReport {
        capture: summary,
        pins: each.collect(),
        intervals: Vec::new(),
        notes: capture.notes.clone(),
    })
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
        let a = interval(sides[0], from, to)?;
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
