//! Damaged streams beside the truth of what was sent: what is called exact is right, what is called
//! a least is no more, and nothing is made up.

use strobe_decode::swo::reader::{Framing, Hint, Reader, framing};
use strobe_model::measurement::{Cell, Content, Measurement, Number, Quantity, Trust};
use strobe_synth::rng::Rng;
use strobe_synth::swo::{Stream, etm, frames, frames_with_repeats};

use super::super::{Accumulator, Bounds, Mark, Session, Settings};
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

/// Marks are packets as well: how many came is known within bounds, and where parts begin and end
/// is not.
#[test]
fn marks_of_a_damaged_stream_have_bounds() {
    let mut stream = Stream::new();
    for n in 0..2000 {
        if n % 200 == 0 {
            stream.sync();
        }
        stream.instrumentation(5, &[0x10]).local_timestamp(150, 0);
        stream.pc_sample(0x0800_0100).local_timestamp(150, 0);
        stream.instrumentation(6, &[0x20]).local_timestamp(500, 0);
    }
    let port = |port| Some(Mark::Port { port, value: None });
    let bounds = Bounds { from: port(5), to: port(6) };
    let settings = Settings { bounds, ..settings() };
    for millionths in [0, 100, 1000] {
        for seed in 0..24 {
            let bytes = flipped(&stream.bytes, millionths, seed);
            let out = within(&bytes, Framing::Bare, &settings);
            let counts = [("marks that begin a part", 2000), ("marks that end a part", 2000)];
            let none = ["repeated marks", "losses inside of parts", "samples outside of parts"];
            for (name, truth) in counts.into_iter().chain(none.map(|name| (name, 0))) {
                let fact = out.subject.facts.iter().find(|fact| fact.name == name);
                let figure = fact.and_then(|fact| fact.figure.as_ref());
                assert!(figure.is_some(), "{name}");
                holds_of(figure, truth, name);
            }
            assert_eq!(out.window.entries, (millionths == 0).then_some(2000));
        }
    }
}

/// A part whose end was lost goes on to the next end, and takes what lies between.
#[test]
fn parts_without_an_end_have_no_length() {
    let mut stream = Stream::new();
    stream.sync();
    for n in 0..400 {
        stream.instrumentation(5, &[0x10]).local_timestamp(150, 0);
        stream.pc_sample(0x0800_0100).local_timestamp(150, 0);
        // Of each tenth part the end is lost.
        match n % 40 {
            20 | 24 | 28 | 32 => stream.overflow(),
            _ => stream.instrumentation(6, &[0x20]),
        };
        stream.local_timestamp(500, 0);
    }
    let port = |port| Some(Mark::Port { port, value: None });
    let bounds = Bounds { from: port(5), to: port(6) };
    let settings = Settings { bounds, period_cycles: None, ..settings() };
    let out = within(&stream.bytes, Framing::Bare, &settings);
    assert!(out.total("cycles").is_none(), "{:?}", out.total("cycles"));
    let Trust::Unknown { why } = out.window.duration.trust() else { panic!("{:?}", out.window) };
    assert!(why.contains("their ends perhaps among them"), "{why}");
    assert_eq!(out.window.entries, None);
    let figure = |name: &str| {
        let fact = out.subject.facts.iter().find(|fact| fact.name == name);
        fact.and_then(|fact| fact.figure.clone())
    };
    for (name, truth) in [("marks that begin a part", 400), ("marks that end a part", 400)] {
        let figure = figure(name);
        assert_eq!(figure.as_ref().map(Quantity::trust), Some(&Trust::AtLeast), "{name}");
        holds_of(figure.as_ref(), truth, name);
    }
    holds_of(figure("repeated marks").as_ref(), 0, "repeated marks");
}

#[test]
fn what_most_of_the_stream_says_is_there_in_spite_of_wrong_bits() {
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

/// Frames of one source, and of one beside instruction trace.
fn framed(truth: &Truth, seed: u64) -> [Vec<u8>; 3] {
    let mut rng = Rng::new(seed);
    let trace = etm(4000, seed);
    let mut trace = trace.chunks(11);
    let mut parts = Vec::new();
    let mut rest = truth.bytes.as_slice();
    while !rest.is_empty() {
        let (part, more) = rest.split_at(rest.len().min(1 + rng.below(60) as usize));
        parts.push((1, part.to_vec()));
        parts.extend(trace.next().map(|part| (2, part.to_vec())));
        rest = more;
    }
    let one = [(1, truth.bytes.clone())];
    [frames(&one, 50), frames_with_repeats(&one, 50), frames(&parts, 50)]
}

#[test]
fn sound_frames_are_exact() {
    for seed in 0..4 {
        let truth = sent(3000, seed);
        for framed in framed(&truth, seed) {
            let out = measured(&framed, framing(&framed, Hint::Unknown));
            is_honest(&out, &truth);
            let lost = out.coverage.lost.as_ref().expect("samples can be lost");
            assert_eq!((lost.trust(), lost.value()), (&Trust::Exact, Some(0u64.into())));
            assert!(!out.findings.iter().any(|finding| finding.code == "damaged"));
        }
    }
}

#[test]
fn wrong_bits_in_frames_make_nothing_up() {
    for seed in 0..24 {
        let truth = sent(8000, seed);
        for framed in framed(&truth, seed) {
            for millionths in [100, 1000] {
                let bytes = flipped(&framed, millionths, seed);
                is_honest(&measured(&bytes, Framing::Frames { stream: 1, skip: None }), &truth);
                is_honest(&measured(&bytes, framing(&bytes, Hint::Unknown)), &truth);
            }
        }
    }
}

/// One wrong bit in the flag that makes a byte the number of a stream, or in such a number: what
/// follows is another stream's, and no figure hides it.
#[test]
fn a_wrong_stream_number_is_no_exact_total() {
    let truth = sent(600, 6);
    for framed in framed(&truth, 6) {
        // Bytes of frames, without the synchronisations of four bytes before each 50 of them.
        let place = |frame: usize, byte: usize| 4 * (frame / 50 + 1) + 16 * frame + byte;
        let frames = (framed.len() - 4) / 16 * 50 / 51;
        for frame in 0..frames {
            for byte in [2, 6, 14] {
                let mut bytes = framed.clone();
                let at = place(frame, byte);
                // Padding may begin with a frame's last number, without a byte behind it: there
                // a byte that is missing looks like one that was never sent.
                if byte == 14 && framed[at] <= 1 {
                    continue;
                }
                let bit = if bytes[at] & 1 == 0 { 0 } else { 1 + frame % 7 };
                bytes[at] ^= 1 << bit;
                // Number 0 before a byte of 0 is padding: two bytes less, and no sign of them.
                if bytes[at] == 1 && bytes[at + 1] == 0 {
                    continue;
                }
                is_honest(&measured(&bytes, Framing::Frames { stream: 1, skip: None }), &truth);
            }
        }
    }
}

/// Where the other source has ended, a wrong number makes a stream of the rest, which may be the
/// longest one there is.
#[test]
fn the_rest_of_a_stream_is_not_all_of_it() {
    let truth = sent(2400, 3);
    let [_, _, framed] = framed(&truth, 3);
    let frames = (framed.len() - 4) / 16 * 50 / 51;
    let mut others = 0;
    for frame in (frames / 2..frames - 50).step_by(37) {
        let at = 4 * (frame / 50 + 1) + 16 * frame + 6;
        if framed[at] & 1 == 1 {
            continue;
        }
        let mut bytes = framed.clone();
        bytes[at] ^= 1;
        let found = framing(&bytes, Hint::Unknown);
        others += u32::from(!matches!(found, Framing::Frames { stream: 1, .. }));
        is_honest(&measured(&bytes, found), &truth);
    }
    assert!(others > 0);
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

/// A timestamp that is too long has time in which no sample came, and no packet shows a loss.
#[test]
fn a_timestamp_that_samples_speak_against_is_damage() {
    let truth = sent(2000, 7);
    // Ticks behind a sample, and behind the end of a handler: at the end of these bytes.
    let (sample, thread) = ([0x08, 0xc0, 10], [0x0e, 0x00, 0x30, 0xc0]);
    let behind = |packets: &[u8]| {
        let mut all = truth.bytes.windows(packets.len()).enumerate().skip(3000);
        let found = all.find(|(_, bytes)| *bytes == packets);
        found.expect("there are many").0 + packets.len()
    };
    for at in [behind(&sample) - 1, behind(&thread)] {
        // One byte more: 128 ticks and more, up to those of three bytes.
        for more in [&[0x04][..], &[0x40], &[0x80, 0x40]] {
            let mut bytes = truth.bytes.clone();
            bytes[at] |= 0x80;
            bytes.splice(at + 1..at + 1, more.iter().copied());
            let out = measured(&bytes, Framing::Bare);
            is_honest(&out, &truth);
            assert_eq!(out.findings.first().map(|f| f.code.as_str()), Some("damaged"), "{more:?}");
        }
    }
}

/// A firmware may switch sampling off and on again: other packets go on, and no bit is wrong.
#[test]
fn sampling_that_was_off_is_no_damage() {
    let mut stream = Stream::new();
    for n in 0..4000 {
        if n % 800 == 0 {
            stream.sync();
        }
        let is_on = !(1000..1400).contains(&n);
        if is_on {
            stream.pc_sample(0x0800_0100).local_timestamp(10, 0);
        }
        stream.exception(15, 1).local_timestamp(if is_on { 5 } else { 15 }, 0);
        stream.exception(15, 2).local_timestamp(20, 0);
        stream.exception(0, 3).local_timestamp(TICKS - 35, 0);
    }
    let out = measured(&stream.bytes, Framing::Bare);
    let text = |code: &str| out.findings.iter().find(|f| f.code == code).map(|f| f.text.as_str());
    assert_eq!(text("damaged"), None);
    let paused = text("sampling-paused").expect("it is stated");
    assert!(paused.contains("from 255.784 to 358.440 ms"), "{paused}");
    let lost = out.coverage.lost.as_ref().expect("samples can be lost");
    let Trust::Unknown { why } = lost.trust() else { panic!("{lost:?}") };
    assert!(why.contains("sampling was off"), "{why}");
    let entered = column(&out, "interrupts", "entered");
    assert!(matches!(entered[..], [Cell::Exact(n)] if n.as_u64() == 4000), "{entered:?}");
    assert_eq!(out.total("samples").and_then(Quantity::value), Some(3600u64.into()));
    // Beside other signs of wrong bits it may be one as well.
    let out = measured(&flipped(&stream.bytes, 1000, 1), Framing::Bare);
    assert_eq!(out.findings.first().map(|f| f.code.as_str()), Some("damaged"));
    assert!(!out.findings.iter().any(|finding| finding.code == "sampling-paused"));
}

/// Where all samples speak against the timestamps, the period may be wrong as well.
#[test]
fn a_wrong_period_is_no_loss() {
    let truth = sent(2000, 7);
    for period_cycles in [2048, 8192] {
        let settings = Settings { period_cycles: Some(period_cycles), ..settings() };
        let out = within(&truth.bytes, Framing::Bare, &settings);
        let lost = out.coverage.lost.as_ref().expect("samples can be lost");
        let Trust::Unknown { why } = lost.trust() else { panic!("{lost:?}") };
        assert!(why.contains("the period or the tick may be another one"), "{why}");
        let cycles = out.total("cycles").expect("there are timestamps");
        assert_eq!(cycles.trust(), &Trust::AtLeast);
        is_honest(&out, &truth);
        assert!(!out.findings.iter().any(|finding| finding.code == "damaged"));
    }
}

/// What is missing behind a gap may have been anything that is counted.
#[test]
fn counts_beside_a_gap_are_a_least() {
    let truth = sent(2000, 4);
    let half = truth.bytes.len() / 2;
    for missing in [0, 1000] {
        let mut accumulator = Accumulator::new(None);
        let mut reader = Reader::new(Framing::Bare);
        reader.push(&truth.bytes[..half], &mut accumulator);
        if missing > 0 {
            reader.gap(&mut accumulator);
        }
        reader.push(&truth.bytes[half + missing..], &mut accumulator);
        reader.finish(&mut accumulator);
        let record = accumulator.record(Some(&reader), None, &settings()).expect("it balances");
        let out = measurement(&record);
        let entered = column(&out, "interrupts", "entered");
        assert_eq!(entered.len(), 1);
        for cell in entered.iter().chain(&column(&out, "ports", "writes")) {
            assert_eq!(matches!(cell, Cell::Exact(_)), missing == 0, "{cell:?}");
        }
        holds_in(&entered[0], truth.entered, "entered");
    }
}

/// What an overflow packet stands for may have been the longest handler, or the greatest value.
#[test]
fn what_was_seen_beside_a_loss_is_a_bound() {
    let seen = |lost: bool| {
        let mut stream = Stream::new();
        stream.sync();
        for n in 0..200u32 {
            let own = match n {
                50 => 900u32,
                120 => 2,
                _ => 30,
            };
            if lost && own != 30 {
                stream.overflow();
                continue;
            }
            stream.exception(15, 1).local_timestamp(100, 0);
            stream.instrumentation(0, b"abcd").data_value(1, true, &own.to_le_bytes());
            stream.exception(15, 2).local_timestamp(own, 0);
            stream.exception(0, 3).local_timestamp(5, 0);
        }
        measured(&stream.bytes, Framing::Bare)
    };
    let truth = [
        ("interrupts", "entered", 200),
        ("interrupts", "min", 2 * u64::from(TICK)),
        ("interrupts", "max", 900 * u64::from(TICK)),
        ("interrupts", "at-most", 900 * u64::from(TICK)),
        ("interrupts", "nested", 1),
        ("interrupts", "samples", 0),
        ("watched-variables", "min", 2),
        ("watched-variables", "max", 900),
        ("ports", "writes", 200),
        ("ports", "bytes", 800),
    ];
    for lost in [false, true] {
        let out = seen(lost);
        for (table, id, truth) in truth {
            let cells = column(&out, table, id);
            let [cell] = &cells[..] else { panic!("{table} {id}: {cells:?}") };
            assert_eq!(matches!(cell, Cell::Exact(_)), !lost, "{table} {id}: {cell:?}");
            holds_in(cell, truth, id);
        }
        let rates = column(&out, "packets", "rate");
        let are_most = |cell: &Cell| matches!(cell, Cell::Figure { trust: Trust::AtMost, .. });
        assert!(rates.iter().all(|cell| are_most(cell) == lost), "{rates:?}");
        assert_eq!(out.timelines().any(|line| line.exact.is_empty()), lost);
    }
}

/// Overflow packets and a loss of 0 never stand side by side.
#[test]
fn overflow_packets_are_a_loss() {
    for every in [100, 1000] {
        let mut stream = Stream::new();
        stream.sync();
        for n in 0..5000 {
            stream.pc_sample(0x0800_0100).local_timestamp(TICKS, 0);
            if n % every == every - 1 {
                stream.overflow();
            }
        }
        for known in [true, false] {
            let mut accumulator = Accumulator::new(None);
            let mut reader = Reader::new(Framing::Bare);
            reader.push(&stream.bytes, &mut accumulator);
            reader.finish(&mut accumulator);
            let period_cycles = settings().period_cycles.filter(|_| known);
            let settings = Settings { period_cycles, ..settings() };
            let record = accumulator.record(Some(&reader), None, &settings).expect("it balances");
            let out = measurement(&record);
            let lost = out.coverage.lost.as_ref().expect("samples can be lost");
            assert_ne!(lost.value(), Some(0u64.into()), "{lost:?}");
            assert_ne!(out.balances[0].parts().taken_as, "due");
        }
    }
}
