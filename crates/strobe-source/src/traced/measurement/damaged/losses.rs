//! Bytes and packets that are missing: what was seen beside them is a bound.

use strobe_decode::swo::reader::{Framing, Reader};
use strobe_model::measurement::{Cell, Trust};
use strobe_synth::swo::Stream;

use super::super::super::{Accumulator, Settings};
use super::super::measurement;
use super::{TICK, TICKS, column, holds_in, measured, sent, settings};

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
fn figures_next_to_a_loss_are_bounds() {
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
