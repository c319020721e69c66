//! What is written can be read back, and what cannot be true is refused.

use proptest::prelude::*;
use strobe_model::*;

use super::{Error, Form, parse, record, write};
use crate::samples;

fn compact(record: &Record) -> String {
    let mut out = Vec::new();
    write(record, Form::Compact, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn every_sample_comes_back_as_it_was() {
    for (name, before) in samples::records() {
        assert_eq!(parse(&record(&before)).unwrap(), before, "{name}");
        assert_eq!(parse(&compact(&before)).unwrap(), before, "{name}, compact");
    }
}

#[test]
fn the_form_is_versioned_and_readable() {
    insta::assert_snapshot!(record(&samples::faulted()));
}

#[test]
fn the_minimal_record_is_read() {
    let record = parse(include_str!("../../tests/minimal.json")).unwrap();
    assert_eq!(record.totals.cycles, Bounds::exact(3));
}

#[test]
fn what_cannot_be_true_is_refused() {
    let text = record(&samples::exact());
    let refuse = |from: &str, to: &str| parse(&text.replacen(from, to, 1)).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            refuse("strobe-record/1", "strobe-record/2"),
            refuse("strobe-record/1", "another/1"),
            refuse("\"taken\": ", "\"taken\": 1"),
            refuse("\"0x080000f2\"", "\"0x+80000f2\""),
            refuse("{", ""),
        ]
        .join("\n")
    );
}

#[test]
fn indexes_that_point_nowhere_are_refused() {
    let mut wrong = samples::exact();
    wrong.profile.tree[1].parent = Some(2);
    let parent = parse(&record(&wrong));
    assert!(matches!(parent, Err(Error::Index { what: "parent", index: 2, .. })));
    let mut wrong = samples::exact();
    wrong.profile.addresses[0].frames[0].file = Some(99);
    let file = parse(&record(&wrong));
    assert!(matches!(file, Err(Error::Index { what: "file", index: 99, .. })));
}

#[test]
fn threads_that_are_not_there_are_refused() {
    let mut wrong = samples::threaded();
    let timeline = wrong.scheduling.as_mut().and_then(|s| s.timeline.as_mut());
    timeline.unwrap().segments[0].who = Who::Thread(2);
    assert!(matches!(parse(&record(&wrong)), Err(Error::Index { what: "thread", index: 2, .. })));
    let mut wrong = samples::threaded();
    wrong.profile.shares[0].addresses[0].sample = 3;
    assert!(matches!(parse(&record(&wrong)), Err(Error::Index { what: "address", index: 3, .. })));
}

prop_compose! {
    fn any_cycles()(values in proptest::array::uniform9(0u64..1 << 40)) -> CauseCycles {
        let mut sum = CauseCycles::ZERO;
        Cause::ALL.into_iter().zip(values).for_each(|(cause, n)| sum[cause] = n);
        sum
    }
}

prop_compose! {
    fn any_sample(functions: u32)(
        address in any::<u32>(),
        count in any::<u64>(),
        cycles in any_cycles(),
        slack in 0u64..1000,
        function in proptest::option::of(0..functions),
        line in proptest::option::of(1u32..),
    ) -> AddressSample {
        let likely = cycles.total();
        AddressSample {
            address,
            idle: 0,
            count,
            jumped: count / 2,
            cycles,
            bounds: Bounds { low: likely.saturating_sub(slack), likely, high: likely + slack },
            function,
            frames: function.map(|function| Frame { function, file: None, line }).into_iter().collect(),
        }
    }
}

prop_compose! {
    fn any_record()(
        names in proptest::collection::vec(".{0,12}", 1..6)
    )(
        samples in proptest::collection::vec(any_sample(names.len() as u32), 0..20),
        parents in proptest::collection::vec(any::<proptest::sample::Index>(), 0..20),
        places in proptest::collection::vec(0..names.len() as u32 + 1, 20),
        series in proptest::collection::vec(any::<u64>(), 0..9),
        texts in proptest::collection::vec(".{0,20}", 2),
        names in Just(names),
        code in any::<i32>()
    ) -> Record {
        let mut record = samples::zero();
        record.profile.functions = names
            .iter()
            .map(|name| Function { name: name.clone(), address: None, file: None })
            .collect();
        record.profile.addresses = samples;
        record.profile.tree = parents
            .iter()
            .enumerate()
            .map(|(i, parent)| TreeNode {
                place: match places[i] as usize {
                    f if f < names.len() => Place::Function(f as u32),
                    _ => Place::Unknown,
                },
                parent: (i > 0).then(|| parent.index(i) as u32).filter(|p| p % 3 > 0),
                calls: u64::from(places[i]),
                self_cycles: series.first().copied().unwrap_or(0),
                self_idle: series.get(1).copied(),
                self_instructions: 1,
            })
            .collect();
        record.series[0].values = series;
        record.warnings = vec![Warning { text: texts[0].clone(), count: 2 }];
        record.window.end_reason = EndReason::Exit { code };
        record.instrument.settings.insert(texts[1].clone(), texts[0].clone());
        record
    }
}

proptest! {
    #[test]
    fn any_record_comes_back_as_it_was(before in any_record()) {
        prop_assert_eq!(&parse(&record(&before)).unwrap(), &before);
        prop_assert_eq!(&parse(&compact(&before)).unwrap(), &before);
    }
}
