//! What is written, read by a decoder of the wire format that knows nothing of the one that wrote
//! it.

use std::collections::BTreeMap;
use std::io::Read;

use proptest::prelude::*;
use strobe_model::measurement::Quantity;

use super::super::subjects;
use super::*;

/// A message's fields by number, in their order.
type Fields = BTreeMap<u64, Vec<Field>>;

#[derive(Debug, Clone)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().expect("a byte");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return value;
        }
    }
    panic!("a number of more than 64 bits");
}

fn fields(mut bytes: &[u8]) -> Fields {
    let mut fields = Fields::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let field = match tag & 7 {
            0 => Field::Number(varint(&mut bytes)),
            2 => {
                let length = varint(&mut bytes) as usize;
                let (text, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(text.to_vec())
            }
            kind => panic!("wire type {kind}"),
        };
        fields.entry(tag >> 3).or_default().push(field);
    }
    fields
}

/// The numbers of a field, packed or not.
fn numbers(of: &Fields, field: u64) -> Vec<u64> {
    let mut all = Vec::new();
    for each in of.get(&field).into_iter().flatten() {
        match each {
            Field::Number(number) => all.push(*number),
            Field::Bytes(bytes) => {
                let mut bytes = bytes.as_slice();
                while !bytes.is_empty() {
                    all.push(varint(&mut bytes));
                }
            }
        }
    }
    all
}

fn number(of: &Fields, field: u64) -> u64 {
    numbers(of, field).first().copied().unwrap_or(0)
}

fn messages(of: &Fields, field: u64) -> Vec<Fields> {
    let message = |field: &Field| match field {
        Field::Bytes(bytes) => fields(bytes),
        Field::Number(_) => panic!("not a message"),
    };
    of.get(&field).into_iter().flatten().map(message).collect()
}

/// Frames, values, labels.
type Sample = (Vec<String>, Vec<i64>, Vec<(String, String)>);

/// A profile as it was read: types with units, and samples with their frames, innermost first,
/// values and labels.
#[derive(Debug)]
struct Decoded {
    types: Vec<(String, String)>,
    samples: Vec<Sample>,
    period: (String, u64),
    comments: Vec<String>,
}

fn decoded(profile: &Profile, choice: &Choice) -> Decoded {
    read(&subjects::write(&Pprof, &subjects::of(profile.clone()), choice))
}

fn read(file: &[u8]) -> Decoded {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).expect("gzip");
    let profile = fields(&bytes);
    let texts: Vec<String> = profile[&6]
        .iter()
        .map(|text| match text {
            Field::Bytes(bytes) => String::from_utf8(bytes.clone()).expect("UTF-8"),
            Field::Number(_) => panic!("not a text"),
        })
        .collect();
    assert_eq!(texts[0], "");
    let text = |of: &Fields, field| texts[number(of, field) as usize].clone();
    let pair = |of: &Fields| (text(of, 1), text(of, 2));
    let by_id = |field| -> BTreeMap<u64, Fields> {
        let all = messages(&profile, field);
        let count = all.len();
        let map: BTreeMap<u64, Fields> = all.into_iter().map(|m| (number(&m, 1), m)).collect();
        assert!(!map.contains_key(&0) && map.len() == count, "numbers are not unique");
        map
    };
    let (locations, functions) = (by_id(4), by_id(5));
    assert_eq!(by_id(3).len(), 1);
    let line = |line: &Fields| {
        let function = &functions[&number(line, 1)];
        format!("{}@{}:{}", text(function, 2), text(function, 4), number(line, 2))
    };
    let types: Vec<_> = messages(&profile, 1).iter().map(pair).collect();
    let sample = |sample: &Fields| {
        let frames = numbers(sample, 1).into_iter().flat_map(|id| {
            assert!(number(&locations[&id], 2) <= 1);
            messages(&locations[&id], 4).iter().map(line).collect::<Vec<_>>()
        });
        let values: Vec<i64> = numbers(sample, 2).into_iter().map(|v| v as i64).collect();
        assert_eq!(values.len(), types.len());
        (frames.collect(), values, messages(sample, 3).iter().map(pair).collect())
    };
    Decoded {
        samples: messages(&profile, 2).iter().map(sample).collect(),
        period: messages(&profile, 11)
            .first()
            .map_or_else(Default::default, |t| (text(t, 2), number(&profile, 12))),
        comments: numbers(&profile, 13).iter().map(|c| texts[*c as usize].clone()).collect(),
        types,
    }
}

fn assert_sums(decoded: &Decoded, profile: &Profile) {
    for (i, (name, unit)) in decoded.types.iter().enumerate() {
        let sum: i128 = decoded.samples.iter().map(|(_, values, _)| i128::from(values[i])).sum();
        assert_eq!(sum, subjects::total(profile, name), "{name}");
        assert_eq!(profile.measure(name).unwrap().unit.0, *unit);
    }
}

#[test]
fn measures_units_labels_and_chains_are_kept() {
    let profile = subjects::run();
    let decoded = decoded(&profile, &Choice::default());
    let names: Vec<&str> = decoded.types.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["cycles", "execute", "asleep", "executions"]);
    assert_sums(&decoded, &profile);
    let (frames, values, labels) = &decoded.samples[1];
    assert_eq!(frames, &["(asleep)@:0", "wait@src/main.c:0", "main@src/main.c:0"]);
    assert_eq!(values, &[400, 0, 400, 0]);
    assert_eq!(labels, &[("thread".to_owned(), "main".to_owned())]);
}

#[test]
fn places_have_their_lines_and_inlined_functions() {
    let choice = Choice { by_place: true, ..Choice::default() };
    let decoded = decoded(&subjects::run(), &choice);
    assert_sums(&decoded, &subjects::run());
    let inlined = decoded.samples.iter().find(|(_, values, _)| values[0] == 60).unwrap();
    assert_eq!(inlined.0, ["get@src/tick.c:77", "main@src/main.c:10"]);
}

#[test]
fn totals_of_all_are_kept() {
    for (_, profile) in subjects::profiles() {
        let decoded = decoded(&profile, &Choice::default());
        assert_sums(&decoded, &profile);
        assert!(!decoded.samples.is_empty());
    }
    let names = decoded(&subjects::hostile(), &Choice::default()).samples[0].0.clone();
    assert_eq!(names, ["a;b 12\nfn=(1) c@dir with space/ü;\n.c:0"]);
}

#[test]
fn profile_has_the_sampling_period_and_trust_of_figures() {
    let sampled = decoded(&subjects::sampled(), &Choice::default());
    assert_eq!(sampled.period, ("cycles".to_owned(), 1024));
    assert_eq!(sampled.comments, ["strobe 0: simulated board", "samples: sampled"]);
    let nowhere: Vec<_> = sampled.samples.iter().map(|(frames, ..)| frames[0].as_str()).collect();
    assert_eq!(nowhere[3..], ["(no symbol)@:0", "(no function)@:0"]);
    let mut profile = subjects::heap();
    profile.measures[0].kind = Kind::Modelled { why: "guessed".to_owned() };
    let bytes = &mut profile.chains.values[0];
    (bytes.low, bytes.high) = (vec![0, 1 << 40, 12], vec![5000, 1 << 40, 13]);
    let mut measurement = subjects::of(profile);
    measurement.window.duration = Quantity::exact(5u64, Unit::NANOSECONDS);
    let first = subjects::write(&Pprof, &measurement, &Choice::default());
    let comments = read(&first).comments;
    assert_eq!(comments[1], "bytes: modelled, 1099511627788 to 1099511632789: guessed");
    assert_eq!(first, subjects::write(&Pprof, &measurement, &Choice::default()), "same bytes");
}

proptest! {
    #[test]
    fn sums_are_any_profiles(profile in subjects::any_run()) {
        assert_sums(&decoded(&profile, &Choice::default()), &profile);
    }
}
