//! Marks and the parts between them, where some of the marks are wrong or missing.

use strobe_decode::swo::reader::Framing;
use strobe_model::measurement::ids;
use strobe_model::measurement::{Quantity, Trust};
use strobe_synth::swo::Stream;

use super::super::super::{Bounds, Mark, Settings};
use super::{flipped, holds_of, settings, within};

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
    assert!(out.total(ids::total::CYCLES).is_none(), "{:?}", out.total(ids::total::CYCLES));
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
