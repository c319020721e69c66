//! Estimates from sampled allocations against the exact figures of the same runs, over many seeds.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use strobe_devices::board::Board;
use strobe_model::measurement::{Cell, Content, Table, Trust};
use strobe_sim::semihost::Console;
use strobe_source::simulated::{self, HeapSampling, HeapSettings, Heaps, Host, Limit, Settings};

use crate::measurement::firmware;

/// Runs of each firmware.
const SEEDS: u64 = 60;

struct Alone;

impl Host for Alone {
    fn console(&mut self) -> Box<dyn Console> {
        Box::new(())
    }
}

fn heaps(name: &str, board: &str, sample: Option<HeapSampling>) -> Heaps {
    let settings = Settings {
        limit: Some(Limit::Nanoseconds(400_000_000)),
        heap: Some(HeapSettings { sample, ..HeapSettings::default() }),
        ..Settings::default()
    };
    let board = Board::builtin(board).expect("a board that comes with the project");
    let never = AtomicBool::new(false);
    let outcome = simulated::run(&firmware(name), &board, &settings, &mut Alone, &never);
    outcome.expect("it runs").heaps.expect("heaps were asked for")
}

fn sites(heaps: &Heaps) -> &Table {
    let section = heaps.sections.iter().find(|section| section.id == "heap-sites");
    match section.map(|section| &section.content) {
        Some(Content::Table(table)) => table,
        other => panic!("{other:?}"),
    }
}

/// A column by function and line.
fn column<'t>(table: &'t Table, id: &str) -> BTreeMap<(String, String), &'t Cell> {
    let texts = |id: &str| &table.column(id).expect("a column").cells;
    let text = |cell: &Cell| cell.text().unwrap_or_default().to_owned();
    let places = texts("function").iter().zip(texts("line"));
    let places = places.map(|(function, line)| (text(function), text(line)));
    places.zip(&table.column(id).expect("a column").cells).collect()
}

fn total(heaps: &Heaps, id: &str) -> f64 {
    let total = heaps.totals.iter().find(|total| total.id == id);
    let value = total.unwrap_or_else(|| panic!("{id}")).quantity.value();
    value.unwrap_or_else(|| panic!("{id} is not known")).as_f64()
}

/// Intervals of rows hold the exact figure as often as they state, and the mean of all estimates
/// is the exact figure.
#[test]
fn estimates_hold_the_exact_figures() {
    let (mut held, mut all) = (0_u64, 0_u64);
    for (name, board, bytes) in [
        ("leaky", "stm32f070cb", 256),
        ("strings", "cortex-m0", 300),
        ("heap-avr", "arduino-uno", 60),
    ] {
        let exact = heaps(name, board, None);
        let (mut live, mut asked) = (0.0, 0.0);
        for seed in 0..SEEDS {
            let sampled = heaps(name, board, Some(HeapSampling { bytes, seed }));
            live += total(&sampled, "heap-live");
            assert!(total(&sampled, "heap-calls") >= total(&exact, "heap-blocks"), "{name}");
            for id in ["bytes", "blocks", "live", "live-blocks"] {
                let truth = column(sites(&exact), id);
                for (place, cell) in column(sites(&sampled), id) {
                    let truth = truth[&place].number().expect("it is exact").as_f64();
                    let Cell::Figure { value, trust: Trust::Sampled { low, high, .. } } = cell
                    else {
                        panic!("{name} {place:?} {id}: {cell:?}");
                    };
                    asked += if id == "bytes" { value.expect("a value").as_f64() } else { 0.0 };
                    (all, held) = (
                        all + 1,
                        held + u64::from((low.as_f64()..=high.as_f64()).contains(&truth)),
                    );
                }
            }
        }
        let rounds = SEEDS as f64;
        let (live, asked) = (live / rounds, asked / rounds);
        println!(
            "{name}: live {live} of {}, {asked} of {}",
            total(&exact, "heap-live"),
            total(&exact, "heap-bytes")
        );
        // Three deviations of a mean of so many rounds, which are up to a fifth each.
        for (estimate, id) in [(live, "heap-live"), (asked, "heap-bytes")] {
            let truth = total(&exact, id);
            assert!((estimate - truth).abs() <= 0.1 * truth, "{name} {id}: {estimate} {truth}");
        }
    }
    println!("{held} of {all} intervals hold");
    assert!(all > 1000 && held * 100 >= all * 93, "{held} of {all}");
}

/// What is not sampled costs no memory, and what is all sampled is exact.
#[test]
fn one_byte_in_one_is_everything() {
    let exact = heaps("leaky", "stm32f070cb", None);
    let every = heaps("leaky", "stm32f070cb", Some(HeapSampling::every(1)));
    for id in ["heap-live", "heap-live-blocks"] {
        assert_eq!(total(&every, id), total(&exact, id), "{id}");
    }
    let leaks = |heaps: &Heaps| heaps.sections.iter().any(|section| section.id == "heap-leaks");
    assert!(leaks(&every) && leaks(&exact));
    let none = heaps("leaky", "stm32f070cb", Some(HeapSampling::every(1 << 30)));
    assert_eq!(total(&none, "heap-live"), 0.0);
    assert!(none.sections.is_empty());
}
