//! Damaged streams beside the truth of what was sent: what is called exact is right, what is called
//! a least is no more, and nothing is made up.

mod frames;
mod losses;
mod parts;
mod times;

use strobe_decode::swo::reader::{Framing, Hint, Reader};
use strobe_model::measurement::{Cell, Content, Measurement, Number, Quantity, Trust};
use strobe_synth::rng::Rng;
use strobe_synth::swo::Stream;

use super::super::{Accumulator, Session, Settings};
use super::measurement;

/// Ticks from one sample to the next, and core cycles of a tick.
const TICKS: u32 = 64;
const TICK: u32 = 64;

/// The greatest of the watched values.
const GREATEST: u32 = 99;

struct Truth {
    bytes: Vec<u8>,
    ticks: u64,
    longest: u64,
    entered: u64,
}

/// So many samples, each with a handler that runs for known times, text, a watched variable and an
/// event counter.
fn sent(samples: u32, seed: u64) -> Truth {
    let mut rng = Rng::new(seed);
    let mut stream = Stream::new();
    let mut truth = Truth { bytes: Vec::new(), ticks: 0, longest: 0, entered: 0 };
    for n in 0..samples {
        if n % 800 == 0 {
            stream.sync();
        }
        let own = 3 + rng.below(40);
        stream.pc_sample(0x0800_0100 + rng.below(64) * 2).local_timestamp(10, 0);
        stream.exception(15, 1).local_timestamp(5, 0);
        stream.exception(15, 2).local_timestamp(own, 0);
        stream.exception(0, 3).local_timestamp(TICKS - 15 - own, 0);
        match n % 8 {
            0 => stream.instrumentation(0, b"x"),
            3 => {
                let value = rng.below(GREATEST + 1).max(if n == 3 { GREATEST } else { 0 });
                stream.data_value(1, true, &value.to_le_bytes())
            }
            5 => stream.event_counters(1),
            _ => &mut stream,
        };
        truth.ticks += u64::from(TICKS);
        truth.longest = truth.longest.max(u64::from(own));
        truth.entered += 1;
    }
    truth.bytes = stream.bytes;
    truth
}

fn settings() -> Settings {
    Settings {
        core_hz: Some(16_000_000),
        period_cycles: Some(u64::from(TICKS * TICK)),
        tick_cycles: Some(TICK),
        ..Settings::default()
    }
}

fn measured(bytes: &[u8], framing: Framing) -> Measurement {
    within(bytes, framing, &settings())
}

fn within(bytes: &[u8], framing: Framing, settings: &Settings) -> Measurement {
    let mut accumulator = Accumulator::new(None).within(&settings.bounds);
    let mut reader = Reader::new(framing);
    reader.push(bytes, &mut accumulator);
    reader.finish(&mut accumulator);
    let record = accumulator.record(Some(&reader), None, settings).expect("it balances");
    let out = measurement(&record);
    out.check().expect("it holds together");
    out
}

/// Changes every bit with that probability, in millionths.
fn flipped(bytes: &[u8], millionths: u32, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut flip =
        |byte: &u8| {
            (0..8).fold(*byte, |byte, bit| {
                if rng.below(1_000_000) < millionths { byte ^ 1 << bit } else { byte }
            })
        };
    bytes.iter().map(&mut flip).collect()
}

/// What is claimed of a figure holds for the truth.
fn holds(value: Option<Number>, trust: &Trust, truth: u64, what: &str) {
    let value = value.map(Number::as_u64);
    let right = match trust {
        Trust::Exact => value == Some(truth),
        Trust::AtLeast => value <= Some(truth),
        Trust::AtMost => value >= Some(truth),
        Trust::Unknown { .. } => true,
        Trust::Resolution { low, high }
        | Trust::Sampled { low, high, .. }
        | Trust::Modelled { low, high, .. } => low.as_u64() <= truth && truth <= high.as_u64(),
    };
    assert!(right, "{what}: {value:?} {trust:?}, in truth {truth}");
}

fn holds_of(quantity: Option<&Quantity>, truth: u64, what: &str) {
    if let Some(quantity) = quantity {
        holds(quantity.value(), quantity.trust(), truth, what);
    }
}

fn holds_in(cell: &Cell, truth: u64, what: &str) {
    match cell {
        Cell::Exact(number) => holds(Some(*number), &Trust::Exact, truth, what),
        Cell::Figure { value, trust } => holds(*value, trust, truth, what),
        _ => {}
    }
}

/// The texts of a column, or the numbers.
fn column(out: &Measurement, table: &str, column: &str) -> Vec<Cell> {
    let column = out.table(table).and_then(|table| table.column(column));
    column.map(|column| column.cells.clone()).unwrap_or_default()
}

fn numbers(cells: &[Cell]) -> Vec<u64> {
    cells.iter().filter_map(|cell| Some(cell.number()?.as_u64())).collect()
}

/// Values that are shown as sure: all moments of time lines that have a part called exact.
fn values_on_lines(out: &Measurement) -> Vec<i64> {
    let lines = out.sections.iter().filter_map(|section| match &section.content {
        Content::Timeline(line) if !line.exact.is_empty() => Some(&line.counters.value),
        _ => None,
    });
    lines.flatten().copied().collect()
}

/// Nothing is there that was not sent, and all that is claimed is right; none was lost.
fn is_honest(out: &Measurement, truth: &Truth) {
    let lost = out.coverage.lost.as_ref().expect("samples can be lost");
    holds_of(Some(lost), 0, "lost");
    holds_of(out.total("cycles"), (truth.ticks - 10) * u64::from(TICK), "cycles");
    let exceptions = numbers(&column(out, "interrupts", "number"));
    assert!(exceptions.iter().all(|n| *n == 15), "{exceptions:?} {:#?}", out.table("interrupts"));
    let ports = numbers(&column(out, "ports", "port"));
    assert!(ports.iter().all(|n| *n == 0), "{ports:?}");
    let watched = numbers(&column(out, "watched-variables", "comparator"));
    assert!(watched.iter().all(|n| *n == 1), "{watched:?}");
    assert!(column(out, "counters", "counter").len() <= 1);
    let values = values_on_lines(out);
    assert!(values.iter().all(|value| *value <= i64::from(GREATEST)), "{values:?}");
    for cell in column(out, "watched-variables", "max") {
        holds_in(&cell, GREATEST.into(), "greatest value");
    }
    for cell in column(out, "interrupts", "max") {
        holds_in(&cell, truth.longest * u64::from(TICK), "longest");
    }
    for cell in column(out, "interrupts", "entered") {
        holds_in(&cell, truth.entered, "entered");
    }
}

#[test]
fn a_sound_stream_is_exact() {
    let truth = sent(5000, 1);
    let out = measured(&truth.bytes, Framing::Bare);
    is_honest(&out, &truth);
    let lost = out.coverage.lost.as_ref().expect("samples can be lost");
    assert_eq!((lost.trust(), lost.value()), (&Trust::Exact, Some(0u64.into())));
    assert_eq!(numbers(&column(&out, "interrupts", "max")), [truth.longest * u64::from(TICK)]);
    let doubts = |code: &str| ["damaged", "in-doubt", "undecodable-bytes"].contains(&code);
    assert!(!out.findings.iter().any(|finding| doubts(&finding.code)), "{:?}", out.findings);
    assert!(out.table("in-doubt").is_none());
}

#[test]
fn noise_before_the_first_synchronisation_is_in_no_figure() {
    for seed in 0..60 {
        let truth = sent(5000, seed);
        let mut rng = Rng::new(seed ^ 0xabcd);
        let mut bytes: Vec<u8> = (0..700).map(|_| rng.next_u32() as u8).collect();
        bytes.extend(&truth.bytes);
        let out = measured(&bytes, Framing::Bare);
        // All that was sent is there, or held in doubt.
        is_honest(&out, &Truth { ..sent(5000, seed) });
        let samples = out.total("samples").and_then(Quantity::value).map(Number::as_u64);
        assert_eq!(samples, Some(5000), "seed {seed}");
        assert_eq!(numbers(&column(&out, "interrupts", "entered")), [5000]);
        assert!(out.findings.iter().any(|finding| finding.code == "in-doubt"));
        // How long it lasted nobody knows, nor what was in it.
        assert_eq!(out.window.duration.trust(), &Trust::AtLeast);
        let lost = out.coverage.lost.as_ref().expect("samples can be lost");
        assert!(matches!(lost.trust(), Trust::Unknown { .. }), "{lost:?}");
        assert!(!out.findings.iter().any(|finding| finding.code == "damaged"));
    }
}

#[test]
fn wrong_bits_make_nothing_up() {
    for (millionths, samples) in [(100, 20_000), (1000, 8000), (10_000, 3000)] {
        for seed in 0..24 {
            let truth = sent(samples, seed);
            let out = measured(&flipped(&truth.bytes, millionths, seed), Framing::Bare);
            is_honest(&out, &truth);
            // Each eighth sample has a byte.
            for cell in column(&out, "ports", "bytes") {
                holds_in(&cell, truth.entered.div_ceil(8), "bytes");
            }
            let rates = [column(&out, "ports", "rate"), column(&out, "packets", "rate")].concat();
            assert!(rates.iter().all(|cell| cell.number().is_none()), "{rates:?}");
            // One wrong exit, and the samples up to the next are another one's.
            let theirs = column(&out, "interrupts", "samples");
            assert!(theirs.iter().all(|cell| cell.number().is_none()), "{theirs:?}");
            let first = out.findings.first().map(|finding| finding.code.as_str());
            assert_eq!(first, Some("damaged"), "{:?}", out.findings);
        }
    }
}

/// Single events of a damaged stream are kept, and none is called exact.
#[test]
fn no_event_of_a_damaged_stream_is_exact() {
    let truth = sent(4000, 1);
    for (millionths, exact) in [(0, true), (1000, false)] {
        let mut session = Session::new(settings(), None, Some(Hint::Bare), Vec::new());
        session.keep_events();
        session.push(&flipped(&truth.bytes, millionths, 1)).expect("no port fails");
        let (_, line) = session.finish(None).expect("it balances");
        let line = line.expect("a time line");
        assert_eq!((line.exact.is_empty(), line.moments.at.is_empty()), (!exact, false));
    }
}

#[test]
fn majority_of_the_stream_survives_wrong_bits() {
    let truth = sent(20_000, 3);
    let out = measured(&flipped(&truth.bytes, 100, 3), Framing::Bare);
    let samples = out.total("samples").and_then(Quantity::value).map_or(0, Number::as_u64);
    assert!((17_000..=20_000).contains(&samples), "{samples}");
    assert_eq!(numbers(&column(&out, "interrupts", "number")), [15]);
    assert_eq!(numbers(&column(&out, "ports", "port")), [0]);
    let cycles = out.total("cycles").and_then(Quantity::value).map_or(0, Number::as_u64);
    let all = truth.ticks * u64::from(TICK);
    assert!(cycles > all / 2 && cycles <= all, "{cycles} of {all}");
}

/// A return to a handler that never began is one packet, and a row of its own otherwise.
#[test]
fn a_wrong_number_of_a_return_makes_no_handler() {
    let truth = sent(600, 5);
    let thread: [u8; 3] = [0x0e, 0x00, 0x30];
    let returns = truth.bytes.windows(3).enumerate().filter(|(_, packet)| *packet == thread);
    // Before the first one a handler may have been open since before the trace.
    for (at, _) in returns.skip(1).step_by(40) {
        for bit in 0..8 {
            let mut bytes = truth.bytes.clone();
            bytes[at + 1] ^= 1 << bit;
            let out = measured(&bytes, Framing::Bare);
            is_honest(&out, &truth);
            assert_eq!(out.findings.first().map(|f| f.code.as_str()), Some("damaged"), "{at}");
        }
    }
}
