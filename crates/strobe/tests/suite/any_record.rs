//! Any text as a record: refused with a message, or shown. The fuzz target `record` does the same
//! with its own inputs; what it finds becomes a case here.

use crate::common::old_record::exercise;
use proptest::prelude::*;
use serde_json::Value;

fn minimal() -> Value {
    serde_json::from_str(include_str!("common/minimal-record.json")).expect("JSON")
}

#[test]
fn a_small_record_stands_it() {
    exercise(&minimal().to_string());
}

/// Every place in the value that a number or a text could be at.
fn leaves<'a>(value: &'a mut Value, found: &mut Vec<&'a mut Value>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| leaves(item, found)),
        Value::Object(fields) => fields.values_mut().for_each(|field| leaves(field, found)),
        leaf => found.push(leaf),
    }
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0..4u64).prop_map(Value::from),
        Just(Value::from(u64::MAX)),
        (0..64u32).prop_map(|n| Value::from(1u64 << n)),
        Just(Value::from(-1)),
        Just(Value::Null),
        ".{0,8}".prop_map(Value::from),
        Just(Value::from("0xffffffff")),
    ]
}

proptest! {
    #[test]
    fn other_values_are_refused_or_shown(
        changes in prop::collection::vec((any::<prop::sample::Index>(), leaf()), 1..6),
    ) {
        let mut record = minimal();
        for (which, value) in changes {
            let mut places = Vec::new();
            leaves(&mut record, &mut places);
            let at = which.index(places.len());
            *places[at] = value;
        }
        exercise(&record.to_string());
    }
}
