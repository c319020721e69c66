//! What the other runs measured lies within the bounds, and these are no wider.

use proptest::prelude::*;
use strobe_model::measurement::{
    Address, Cell, Column, Content, Distribution, Distributions, Ended, Instrument, Kind, Label,
    Measure, Measurement, Profile, Quantity, Samples, Spread, Subject, Table, Trust, Unit, Values,
    Window,
};

use super::enclose;
use crate::attribution::{Amount, By, rows, tree};

const WHY: &str = "waits are modelled";

fn measurement() -> Measurement {
    let window = Window::untimed("tests have no clock", Ended::default());
    Measurement::new(Subject::default(), Instrument::default(), window)
}

fn enclosed(all: [Measurement; 3]) -> Measurement {
    let [mut likely, low, high] = all;
    enclose(&mut likely, [&low, &high], WHY);
    likely.check().expect("it holds together");
    likely
}

/// Two functions with an instruction each, at 0x10 and 0x20.
fn profile(cycles: &[(u64, i64)]) -> Measurement {
    let mut out = measurement();
    let mut profile = Profile {
        measures: vec![Measure::new("cycles", "cycles", Unit::CYCLES, Kind::Exact)],
        ..Profile::default()
    };
    profile.functions.name = vec!["wait".to_owned(), "work".to_owned()];
    profile.functions.address = vec![Some(Address(0x10)), Some(Address(0x20))];
    profile.functions.file = vec![None; 2];
    for (address, _) in cycles {
        profile.locations.address.push(Some(Address(*address)));
        profile.locations.function.push(Some(u32::from(*address >= 0x20)));
        profile.locations.frame.push(None);
    }
    let values = cycles.iter().map(|(_, cycles)| *cycles).collect();
    profile.leaves = Samples {
        at: (0..cycles.len() as u32).map(Some).collect(),
        label: Vec::new(),
        values: vec![Values { measure: "cycles".to_owned(), values, ..Values::default() }],
    };
    out.push("profile", "profile", Content::Profile(Box::new(profile)));
    out
}

/// A thread that calls `work` alone and through `wait`, with cycles of each chain by its functions.
fn called(chains: &[(&[u32], i64)]) -> Measurement {
    let sum = |function| {
        let own = chains.iter().filter(|(chain, _)| chain.last() == Some(&function));
        own.map(|(_, cycles)| cycles).sum()
    };
    let mut out = profile(&[(0x10, sum(0)), (0x20, sum(1))]);
    let Content::Profile(profile) = &mut out.sections[0].content else { unreachable!() };
    profile.labels.push(Label { key: "thread".to_owned(), value: "main".to_owned() });
    for (chain, cycles) in chains {
        let mut parent = None;
        for function in *chain {
            profile.stacks.parent.push(parent);
            profile.stacks.location.push(*function);
            parent = Some(profile.stacks.location.len() as u32 - 1);
        }
        profile.chains.at.push(parent);
        profile.chains.label.push(Some(0));
        let values = &mut profile.chains.values;
        let cycles_of = Values { measure: "cycles".to_owned(), ..Values::default() };
        values.resize(1, cycles_of);
        values[0].values.push(*cycles);
    }
    out
}

/// The low run called `wait` from `work`, which the likely one did not: that counts for the caller.
#[test]
fn call_chains_have_what_they_have_in_the_runs() {
    let likely = called(&[(&[0], 60), (&[0, 1], 30), (&[1], 10)]);
    let low = called(&[(&[1], 8), (&[1, 0], 4), (&[0, 1], 25), (&[0], 63)]);
    let high = called(&[(&[0], 45), (&[0, 1], 40), (&[1], 15)]);
    let all = enclosed([likely, low, high]);
    let profile = all.profiles().next().unwrap();
    let tree = tree(profile, "cycles").unwrap();
    let bounds = |name: &str, below: &str| {
        let is = |i: &usize| {
            let parent = tree.nodes[*i].parent.unwrap();
            tree.name(profile, *i) == name && tree.name(profile, parent) == below
        };
        let node = &tree.nodes[(1..tree.nodes.len()).find(is).unwrap()];
        let [own, all] = [node.own.bounds.ordered(), node.all.bounds.ordered()];
        ([own.low, own.value, own.high], [all.low, all.value, all.high])
    };
    let root = tree.name(profile, 0);
    assert_eq!(bounds("wait", &root), ([45, 60, 63], [85, 90, 90]));
    assert_eq!(bounds("work", "wait"), ([25, 30, 40], [25, 30, 40]));
    assert_eq!(bounds("work", &root), ([10, 10, 15], [10, 10, 15]));
    assert!(tree.nodes[0].all.bounds.is_exact(), "the run is as long in each");
    let flat = rows(profile, "cycles", &By::Function).unwrap();
    let row = flat.rows.iter().find(|row| row.name == "wait").unwrap();
    assert_eq!(row.inclusive.unwrap().ordered(), Amount { low: 85, value: 90, high: 90 });
}

#[test]
fn sums_are_those_of_the_runs() {
    // What work takes more, waiting takes less; the low run ran one instruction more.
    let likely = profile(&[(0x10, 60), (0x20, 30), (0x22, 10)]);
    let low = profile(&[(0x10, 70), (0x12, 5), (0x20, 20), (0x22, 5)]);
    let high = profile(&[(0x10, 40), (0x20, 45), (0x22, 15)]);
    let all = enclosed([likely, low, high]);
    let profile = all.profiles().next().unwrap();
    let flat = rows(profile, "cycles", &By::Function).unwrap();
    let bounds = |name: &str| {
        let row = flat.rows.iter().find(|row| row.name == name).unwrap();
        let amount = row.sums.busy().ordered();
        (amount.low, amount.value, amount.high)
    };
    assert_eq!((bounds("wait"), bounds("work")), ((40, 60, 75), (25, 40, 60)));
    assert!(flat.total.all.is_exact(), "the run is as long in each: {:?}", flat.total.all);
    let wait = profile.leaves.of("cycles").unwrap();
    assert_eq!(wait.bounds(0), Some((40, 75)));
}

fn table(rows: &[(&str, u64, u64)]) -> Measurement {
    let mut out = measurement();
    let mut table = Table::new(vec![
        Column::figure("cycles", "cycles", Unit::CYCLES),
        Column::figure("max-at", "max at", Unit::NANOSECONDS),
        Column::text("name", "name"),
    ]);
    for (name, cycles, at) in rows {
        table.row([(*cycles).into(), (*at).into(), (*name).into()]);
    }
    out.push("interrupts", "interrupts", Content::Table(table));
    out
}

#[test]
fn rows_are_found_by_their_names_and_moments_stay() {
    let likely = table(&[("SysTick", 100, 7), ("TIM3", 50, 8), ("EXTI", 9, 9)]);
    let low = table(&[("TIM3", 50, 1), ("SysTick", 90, 2)]);
    let high = table(&[("SysTick", 120, 3), ("TIM3", 50, 4), ("USART1", 1, 5)]);
    let all = enclosed([likely, low, high]);
    let table = all.table("interrupts").unwrap();
    let modelled = Trust::Modelled { low: 90u64.into(), high: 120u64.into(), why: None };
    let first = Cell::Figure { value: Some(100u64.into()), trust: modelled };
    // What another run did not have stays as it is.
    assert_eq!(table.columns[0].cells, [first, Cell::from(50u64), Cell::from(9u64)]);
    assert_eq!(table.columns[1].cells, [7u64, 8, 9].map(Cell::from));
}

fn worst_cases(rows: &[(&str, u64)]) -> Measurement {
    let mut out = measurement();
    let mut table = Table::new(vec![
        Column::figure("cycles", "cycles", Unit::CYCLES),
        Column::address("address", "address"),
        Column::text("what", "what"),
    ]);
    for (at, (what, cycles)) in (0x0800_0100u64..).zip(rows) {
        table.row([(*cycles).into(), Address(at).into(), (*what).into()]);
    }
    out.push("worst-cases", "worst cases", Content::Table(table));
    out
}

fn bounds_of(measurement: &Measurement, table: &str) -> Vec<(u64, u64)> {
    let end = |number: strobe_model::measurement::Number| number.as_f64() as u64;
    let cells = &measurement.table(table).unwrap().column("cycles").unwrap().cells;
    let bounds = |cell: &Cell| match cell {
        Cell::Exact(value) => (end(*value), end(*value)),
        Cell::Figure { trust: Trust::Modelled { low, high, .. }, .. } => (end(*low), end(*high)),
        other => panic!("{other:?} has no bounds"),
    };
    cells.iter().map(bounds).collect()
}

/// The longest latency of the low run was in another handler: it is the same worst case.
#[test]
fn worst_cases_are_the_same_wherever_they_were() {
    let late = "longest latency of SVCall";
    let case = |place: &str| format!("{late}, interrupted {place}");
    let run = "longest run of SVCall, interrupted main";
    let likely = worst_cases(&[(run, 30), (&case("TIM3_IRQHandler"), 701)]);
    let low = worst_cases(&[(run, 28), (&case("main"), 12)]);
    let high = worst_cases(&[(run, 31), (&case("TIM2_IRQHandler"), 650)]);
    let all = enclosed([likely, low, high]);
    assert_eq!(bounds_of(&all, "worst-cases"), [(28, 31), (12, 701)]);
}

/// Two threads may have one name.
#[test]
fn worst_cases_of_one_name_are_in_one_order() {
    let case = |place: &str| format!("longest run of thread worker, stopped in {place}");
    let likely = worst_cases(&[(&case("sum"), 10), (&case("sum"), 90)]);
    let low = worst_cases(&[(&case("sum"), 8), (&case("filter"), 80)]);
    let high = worst_cases(&[(&case("filter"), 12), (&case("sum"), 99)]);
    let all = enclosed([likely, low, high]);
    assert_eq!(bounds_of(&all, "worst-cases"), [(8, 12), (80, 99)]);
}

/// A run may wait for the same thing elsewhere: rows of loops are found by the loops.
#[test]
fn loops_are_found_by_their_places() {
    let loops = |rows: &[(&str, &str, u64)]| {
        let mut out = measurement();
        let mut table = Table::new(vec![
            Column::figure("cycles", "cycles", Unit::CYCLES),
            Column::text("waits-for", "waits for"),
            Column::text("place", "place"),
        ]);
        for (what, place, cycles) in rows {
            table.row([(*cycles).into(), (*what).into(), (*place).into()]);
        }
        out.push("waiting", "waiting", Content::Table(table));
        out
    };
    let likely = loops(&[("USART1", "0x08000100 put", 50), ("TIM3", "0x08000200 wait", 40)]);
    let low = loops(&[("USART1", "0x08000300 flush", 45), ("TIM3", "0x08000200 wait", 35)]);
    let high =
        loops(&[("a value in memory", "0x08000200 wait", 60), ("USART1", "0x08000100 put", 55)]);
    let all = enclosed([likely, low, high]);
    // The low run has no row of the first one, which stays as it is.
    assert_eq!(bounds_of(&all, "waiting"), [(50, 50), (35, 60)]);
}

#[test]
fn totals_get_bounds_from_the_runs() {
    let with = |quantity: Quantity| {
        let mut out = measurement();
        out.push_total("cycles", "cycles", quantity);
        out.push_total("bytes", "bytes", Quantity::exact(8u64, Unit::BYTES));
        out.push_total("lost", "lost", Quantity::unknown(Unit::COUNT, "nobody counts"));
        out
    };
    let wide = strobe_model::Bounds { low: 1, likely: 100, high: 900 };
    let cycles = |n: u64| with(Quantity::exact(n, Unit::CYCLES));
    let likely = with(Quantity::modelled(wide, Unit::CYCLES, Some("flash".to_owned())));
    let all = enclosed([likely, cycles(98), cycles(103)]);
    let trust = all.total("cycles").unwrap().trust().clone();
    let why = Some("flash".to_owned());
    assert_eq!(trust, Trust::Modelled { low: 98u64.into(), high: 103u64.into(), why });
    assert_eq!(*all.total("bytes").unwrap().trust(), Trust::Exact);
    assert!(all.total("lost").unwrap().value().is_none());
}

fn spread(values: &[u64]) -> Measurement {
    let mut out = measurement();
    let spread: Spread = values.iter().copied().collect();
    let distributions = vec![Distribution::exact("PB8 high", Unit::CYCLES, spread)];
    out.push("pins", "pins", Content::Distributions(Distributions { distributions }));
    out
}

/// A window that begins too late to be there in one of the models: the other one bounds it, and no
/// code ran in the one that lacks it.
#[test]
fn run_without_a_row_does_not_bound_it() {
    let all = enclosed([spread(&[40, 50]), measurement(), spread(&[60, 70])]);
    let own = only(&all);
    let ends = |spread: &Option<Spread>| spread.as_ref().map(|one| (one.min(), one.max()));
    assert_eq!(ends(&own.low), Some((Some(40), Some(50))));
    assert_eq!(ends(&own.high), Some((Some(60), Some(70))));
    let all = enclosed([profile(&[(0x10, 8), (0x20, 5)]), measurement(), profile(&[(0x10, 9)])]);
    let profile = all.profiles().next().expect("a profile");
    let cycles = profile.leaves.of("cycles").expect("cycles");
    assert_eq!((&cycles.low[..], &cycles.high[..]), (&[0, 0][..], &[9, 0][..]));
}

fn only(measurement: &Measurement) -> &Distribution {
    match &measurement.sections[0].content {
        Content::Distributions(all) => &all.distributions[0],
        _ => panic!("distributions were pushed"),
    }
}

#[test]
fn a_bit_that_hardware_shifts_is_exact() {
    let all = enclosed([spread(&[1456; 8]), spread(&[1456; 8]), spread(&[1456; 8])]);
    assert_eq!((&only(&all).low, &only(&all).high), (&None, &None));
}

/// A pulse that came once here and more often in another run is as short and as long as any there.
#[test]
fn one_value_stands_for_all_that_others_have() {
    let all = enclosed([spread(&[40]), spread(&[30, 35]), spread(&[38, 45, 50])]);
    let (low, high) = (only(&all).low.clone().unwrap(), only(&all).high.clone().unwrap());
    assert_eq!((low.count(), low.min(), low.max()), (1, Some(30), Some(30)));
    assert_eq!((high.count(), high.min(), high.max()), (1, Some(50), Some(50)));
}

proptest! {
    #[test]
    fn each_run_lies_within_the_bounds(
        likely in proptest::collection::vec(0u64..5000, 1..200),
        low in proptest::collection::vec(0u64..5000, 1..200),
        high in proptest::collection::vec(0u64..5000, 1..200),
    ) {
        let runs = [&likely, &low, &high].map(|values| values.iter().copied().collect::<Spread>());
        let all = enclosed([spread(&likely), spread(&low), spread(&high)]);
        let own = only(&all);
        if let (Some(least), Some(most)) = (&own.low, &own.high) {
            prop_assert_eq!(least.count(), own.spread.count());
            prop_assert_eq!(least.min(), runs.iter().filter_map(Spread::min).min());
            prop_assert_eq!(most.max(), runs.iter().filter_map(Spread::max).max());
            for part in [0.1, 0.5, 0.9] {
                let quantile = own.spread.quantile(part);
                prop_assert!(least.quantile(part) <= quantile && quantile <= most.quantile(part));
            }
            prop_assert!(least.mean() <= own.spread.mean() && own.spread.mean() <= most.mean());
            if likely.len() == low.len() && low.len() == high.len() {
                for run in &runs {
                    prop_assert!(least.mean() <= run.mean() && run.mean() <= most.mean());
                    prop_assert!(least.max() <= run.max() && run.min() <= most.min());
                }
            }
        } else {
            prop_assert!(runs.iter().all(|run| *run == own.spread));
        }
    }
}
