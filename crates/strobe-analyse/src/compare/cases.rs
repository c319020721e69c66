//! What a comparison has to find: one change each, and what cannot be compared at all.

mod builds;
mod work;

use strobe_model::measurement::{
    Address, Cell, Column, Content, Distribution, Distributions, Ended, Frames, Functions,
    Instrument, Kind, Locations, Measure, Measurement, Part, Profile, Quantity, Samples, Stacks,
    Subject, Table, Unit, Values, Window,
};

use super::threshold::{Limit, Outcome, judge, outcome};
use super::{compare, compare_sets};
use crate::figures::figures;

/// A function of a made-up run.
#[derive(Clone)]
struct Made {
    name: &'static str,
    file: &'static str,
    /// Cycles of executing and of fetch wait.
    cycles: [i64; 2],
    calls: i64,
    code: &'static [&'static str],
    address: u64,
    /// A function that is inlined into it, with all its cycles.
    inlined: Option<&'static str>,
}

fn made(name: &'static str, cycles: i64, calls: i64, code: &'static [&'static str]) -> Made {
    let address = 0x800_0000;
    Made { name, file: "main.c", cycles: [cycles, 0], calls, code, address, inlined: None }
}

const LOOP: &[&str] = &[
    "push {r4, lr}",
    "movs r4, #0",
    "ldr r2, [r0]",
    "adds r3, r2, r1",
    "str r3, [r0]",
    "pop {r4, pc}",
];
const SUM: &[&str] =
    &["movs r3, #1", "uxth r2, r0", "lsls r1, r2, #16", "orrs r1, r3", "eors r0, r1", "bx lr"];

fn program() -> Vec<Made> {
    vec![made("main", 5_000, 1, &[]), made("filter", 1_000, 10, LOOP), made("sum", 40_000, 10, SUM)]
}

fn measure(id: &str, kind: Kind) -> Measure {
    let unit = if id == "calls" { Unit::COUNT } else { Unit::CYCLES };
    let part = ["execute", "fetch-wait"].contains(&id).then(|| Part {
        of: "cycles".to_owned(),
        letter: None,
        idle: false,
        meaning: None,
        advice: None,
    });
    Measure { id: id.to_owned(), title: id.to_owned(), unit, kind, part }
}

fn run_of(functions: &[Made], kind: Kind) -> Measurement {
    let n = functions.len() as u32;
    let values = |measure: &str, of: &dyn Fn(&Made) -> i64| Values {
        measure: measure.to_owned(),
        values: functions.iter().map(of).collect(),
        ..Values::default()
    };
    let inlined: Vec<&str> = functions.iter().filter_map(|made| made.inlined).collect();
    let names = functions.iter().map(|made| made.name).chain(inlined.iter().copied());
    let files: Vec<String> = functions.iter().map(|made| made.file.to_owned()).collect();
    let mut frames = Frames::default();
    let mut innermost = Vec::new();
    for (at, made) in (0u32..).zip(functions) {
        let mut push = |function: u32, outer: Option<u32>| {
            frames.function.push(function);
            frames.file.push(Some(at));
            frames.line.push(Some(at + 1));
            frames.outer.push(outer);
            frames.function.len() as u32 - 1
        };
        let outer = push(at, None);
        let inner = made.inlined.map(|name| {
            let of = inlined.iter().position(|other| *other == name).unwrap_or(0) as u32;
            push(n + of, Some(outer))
        });
        innermost.push(Some(inner.unwrap_or(outer)));
    }
    let names: Vec<String> = names.map(str::to_owned).collect();
    let address = |made: &Made| Some(Address(made.address));
    let mut addresses: Vec<Option<Address>> = functions.iter().map(address).collect();
    addresses.resize(names.len(), None);
    let mut in_file: Vec<Option<u32>> = (0..n).map(Some).collect();
    in_file.resize(names.len(), None);
    let profile = Profile {
        measures: vec![
            measure("cycles", kind),
            measure("execute", Kind::Exact),
            measure("fetch-wait", Kind::Exact),
            measure("calls", Kind::Exact),
        ],
        files,
        functions: Functions {
            name: names,
            address: addresses,
            file: in_file,
            ..Functions::default()
        },
        frames,
        locations: Locations {
            address: functions.iter().map(address).collect(),
            function: (0..n).map(Some).collect(),
            frame: innermost,
        },
        stacks: Stacks {
            parent: (0..n).map(|at| (at > 0).then_some(0)).collect(),
            location: (0..n).collect(),
        },
        chains: Samples {
            at: (0..n).map(Some).collect(),
            label: Vec::new(),
            values: vec![
                values("cycles", &|made| made.cycles[0] + made.cycles[1]),
                values("execute", &|made| made.cycles[0]),
                values("fetch-wait", &|made| made.cycles[1]),
                values("calls", &|made| made.calls),
            ],
        },
        ..Profile::default()
    };
    let subject = Subject { name: "app.elf".to_owned(), ..Subject::default() };
    let window = Window::untimed("made up", Ended::default());
    let mut run = Measurement::new(subject, Instrument::default(), window);
    let cycles: i64 = functions.iter().map(|made| made.cycles[0] + made.cycles[1]).sum();
    run.push_total("cycles", "cycles", Quantity::exact(cycles, Unit::CYCLES));
    run.push("profile", "cycles", Content::Profile(Box::new(profile)));
    let mut disassembly =
        Table::new(vec![Column::address("address", "address"), Column::text("text", "text")]);
    for made in functions {
        for (text, at) in made.code.iter().zip(0u64..) {
            disassembly.row([Address(made.address + 2 * at).into(), (*text).into()]);
        }
    }
    run.push("disassembly", "instructions", Content::Table(disassembly));
    run
}

/// Functions lie one after the other.
fn linked(mut functions: Vec<Made>) -> Vec<Made> {
    for (made, n) in functions.iter_mut().zip(1u64..) {
        made.address += n * 0x100;
    }
    functions
}

fn run(functions: Vec<Made>) -> Measurement {
    run_of(&linked(functions), Kind::Exact)
}

fn sampled(functions: Vec<Made>) -> Measurement {
    run_of(&linked(functions), Kind::Sampled { period: None, period_unit: None })
}

fn texts<'m>(compared: &'m Measurement, section: &str, column: &str) -> Vec<&'m str> {
    let cells = &compared.table(section).unwrap().column(column).unwrap().cells;
    cells.iter().map(|cell| cell.text().unwrap_or("")).collect()
}

fn first<'m>(compared: &'m Measurement, column: &str) -> &'m str {
    texts(compared, "profile-functions", column)[0]
}

fn verdict(compared: &Measurement) -> String {
    texts(compared, "verdict", "answer").join("\n")
}

fn codes(compared: &Measurement) -> Vec<&str> {
    compared.findings.iter().map(|finding| finding.code.as_str()).collect()
}

fn checked(a: &Measurement, b: &Measurement) -> Measurement {
    let compared = compare(a, b);
    compared.check().unwrap();
    compared
}

#[test]
fn a_function_ten_times_slower_is_row_one_and_in_the_verdict() {
    let mut slow = program();
    slow[1].cycles[0] = 10_000;
    let compared = checked(&run(program()), &run(slow));
    assert_eq!(compared.sections[0].id, "verdict");
    assert_eq!(first(&compared, "function"), "filter");
    assert_eq!(first(&compared, "verdict"), "yes");
    let said = verdict(&compared);
    assert!(said.contains("filter: 10 times the cycles, 1,000 -> 10,000"), "{said}");
    assert!(said.contains("9,000 more cycles (+19.6 % of 46,000)"), "{said}");
    assert!(said.contains("yes: counted"), "{said}");
    let code = compared.sections.last().unwrap();
    assert_eq!(code.id, "profile-instructions-filter", "instructions come last");
}

#[test]
fn causes_add_up_to_the_difference() {
    let mut other = program();
    other[1].calls = 20;
    other[1].cycles = [2_000, 600];
    other[2].cycles = [39_000, 0];
    let compared = checked(&run(program()), &run(other));
    let all = figures(&compared);
    let figure = |name: &str| all[&format!("profile-causes/{name}")].as_f64();
    assert_eq!(figure("filter/difference"), 1_600.0);
    assert_eq!(figure("filter/more-calls"), 1_000.0, "twice the calls of what was there");
    assert_eq!(figure("filter/fetch-wait"), 600.0);
    assert_eq!(figure("filter/rest"), 0.0);
    assert_eq!(figure("all/difference"), 600.0);
    assert_eq!(figure("all/more-calls") + figure("all/execute") + figure("all/fetch-wait"), 600.0);
    let why = texts(&compared, "profile-causes", "why")[0];
    assert!(why.contains("more calls, 10 -> 20"), "{why}");
    assert!(why.contains("more fetch-wait per call, 0 -> 30"), "{why}");
}

#[test]
fn what_was_renamed_moved_or_split_is_one_function() {
    let mut renamed = program();
    renamed[1].name = "low_pass";
    let compared = checked(&run(program()), &run(renamed));
    let all = figures(&compared);
    assert_eq!(all["profile-functions/low_pass/self-difference"].as_f64(), 0.0);
    let changes = texts(&compared, "profile-functions", "change");
    assert!(changes.contains(&"renamed from filter (100 % alike)"), "{changes:?}");

    let mut moved = program();
    moved[1].file = "filter.c";
    let compared = checked(&run(program()), &run(moved));
    assert!(texts(&compared, "profile-functions", "change").contains(&"moved from main.c"));

    let mut split = program();
    split[1].cycles[0] = 400;
    split.push(made("filter.part.0", 600, 3, &[]));
    let compared = checked(&run(program()), &run(split));
    let all = figures(&compared);
    assert_eq!(all["profile-functions/filter/self-difference"].as_f64(), 0.0);
    let changes = texts(&compared, "profile-functions", "change");
    assert!(changes.contains(&"split: filter.part.0 in b"), "{changes:?}");
}

/// By the instructions that were the whole's, and by what that takes less.
#[test]
fn a_part_that_was_split_off_is_no_new_function() {
    let mut split = program();
    split[2].cycles[0] = 22_000;
    split.push(made("sum_tail", 19_000, 10, SUM));
    let compared = checked(&run(program()), &run(split.clone()));
    let changes = texts(&compared, "profile-functions", "change");
    let wanted = "new: split from sum, which takes 18,000 less";
    assert!(changes.contains(&wanted), "{changes:?}");
    let compared = checked(&run(split.clone()), &run(program()));
    let changes = texts(&compared, "profile-functions", "change");
    assert!(changes.contains(&"gone: now part of sum, which takes 18,000 more"), "{changes:?}");
    // One that takes as much as before has lost nothing.
    split[2].cycles[0] = 40_000;
    let compared = checked(&run(program()), &run(split));
    let changes = texts(&compared, "profile-functions", "change");
    assert!(changes.contains(&"new"), "{changes:?}");
}

/// Another place is no cause where fetching takes what it took.
#[test]
fn a_place_in_the_flash_is_named_where_fetching_waits() {
    let mut later = program();
    later[1].address += 8;
    later[1].calls = 20;
    later[1].cycles[0] = 2_000;
    let compared = checked(&run(program()), &run(later));
    let why = texts(&compared, "profile-causes", "why")[0];
    assert!(why.contains("more calls, 10 -> 20") && !why.contains("otherwise"), "{why}");
}

#[test]
fn what_memory_a_run_needs_is_in_the_verdict() {
    let with = |stack: u64, peak: u64| {
        let mut run = run(program());
        run.push_total("deepest-stack", "stack of main", Quantity::exact(stack, Unit::BYTES));
        run.push_total("heap-peak", "heap peak", Quantity::exact(peak, Unit::BYTES));
        run
    };
    let said = verdict(&checked(&with(152, 12), &with(352, 480)));
    assert!(said.contains("stack of main 152 -> 352 bytes"), "{said}");
    assert!(said.contains("heap peak 12 -> 480 bytes"), "{said}");
    let said = verdict(&checked(&with(152, 12), &with(152, 12)));
    assert!(said.contains("nothing that was compared"), "{said}");
}

#[test]
fn what_was_inlined_is_said_where() {
    let mut inlined = program();
    inlined.remove(1);
    inlined[0].inlined = Some("filter");
    inlined[0].cycles[0] = 5_800;
    let compared = checked(&run(program()), &run(inlined));
    let changes = texts(&compared, "profile-functions", "change");
    let wanted = "gone: inlined into main, where it takes 5,800";
    assert!(changes.contains(&wanted), "{changes:?}");
    let whys = texts(&compared, "profile-causes", "why");
    assert!(whys.iter().any(|why| why.contains("now has filter inlined")), "{whys:?}");
}

#[test]
fn the_same_instructions_elsewhere_are_named_as_that() {
    let mut shifted = program();
    shifted[1].cycles[1] = 500;
    shifted[1].address += 2;
    let compared = checked(&run(program()), &run(shifted));
    let why = texts(&compared, "profile-causes", "why")[0];
    assert!(why.contains("more fetch-wait per call, 0 -> 50"), "{why}");
    assert!(why.contains("the same instructions lie otherwise"), "{why}");
}

#[test]
fn a_longer_latency_is_in_the_verdict() {
    let with = |longest: u64| {
        let mut run = run(program());
        let spread = [12, 12, longest].into_iter().collect();
        let distributions = vec![Distribution::exact("SysTick", Unit::CYCLES, spread)];
        run.push("latencies", "latencies", Content::Distributions(Distributions { distributions }));
        run
    };
    let compared = checked(&with(20), &with(400));
    let said = verdict(&compared);
    assert!(said.contains("latencies: longest of SysTick 20 -> 400 cycles"), "{said}");
    assert_eq!(figures(&compared)["latencies/SysTick/max-difference"].as_f64(), 380.0);
}

#[test]
fn rows_are_named_by_as_many_words_as_they_need() {
    let with = |cycles: u64| {
        let mut run = run(program());
        let mut table = Table::new(vec![
            Column::figure("cycles", "cycles", Unit::CYCLES),
            Column::text("thread", "thread"),
            Column::text("kind", "kind"),
        ]);
        table.row([cycles.into(), "main".into(), "thread".into()]);
        table.row([7u64.into(), "main".into(), "handler".into()]);
        run.push("threads", "threads", Content::Table(table));
        run
    };
    let compared = checked(&with(100), &with(90));
    let all = figures(&compared);
    assert_eq!(all["threads/main, thread/cycles-difference"].as_f64(), -10.0);
    assert_eq!(all["threads/main, handler/cycles-difference"].as_f64(), 0.0);
}

#[test]
fn two_programs_and_missing_names_are_said() {
    let others = vec![
        made("setup", 4_000, 1, &[]),
        made("poll", 900, 9, &[]),
        made("render", 30_000, 3, &[]),
    ];
    assert!(codes(&checked(&run(program()), &run(others))).contains(&"different-programs"));
    let mut unnamed = run(program());
    if let Content::Profile(profile) = &mut unnamed.sections[0].content {
        profile.locations.function.fill(None);
    }
    let compared = checked(&run(program()), &unnamed);
    assert!(codes(&compared).contains(&"no-symbols"), "{:?}", compared.findings);
    let said = verdict(&compared);
    assert!(
        said.contains("cannot be compared, for those of b") && !said.contains("gone"),
        "{said}"
    );
    // As `strobe size` calls the bytes of a section without symbols.
    let mut section = run(program());
    if let Content::Profile(profile) = &mut section.sections[0].content {
        let names = &mut profile.functions.name;
        names.iter_mut().for_each(|name| *name = "(.text, no symbol)".to_owned());
    }
    assert!(codes(&checked(&run(program()), &section)).contains(&"no-symbols"));
    assert!(!codes(&compared).contains(&"different-programs"));
}

fn many(first: i64) -> Vec<Made> {
    const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let each = NAMES.iter().zip(0i64..).map(|(name, n)| made(name, 300 + 7 * n, 1, &[]));
    let mut all: Vec<Made> = each.collect();
    all[0].cycles[0] = first;
    all
}

#[test]
fn samples_that_may_be_chance_are_not_called_a_difference() {
    let compared = checked(&sampled(many(300)), &sampled(many(330)));
    assert!(first(&compared, "verdict").starts_with("undecided"));
    assert!(verdict(&compared).contains("needs"), "{}", verdict(&compared));
    let compared = checked(&sampled(many(300)), &sampled(many(900)));
    assert_eq!(first(&compared, "function"), "a");
    assert!(first(&compared, "verdict").starts_with("yes, q"), "{}", first(&compared, "verdict"));
    // Twice the recording is no difference.
    let twice = |mut all: Vec<Made>| {
        all.iter_mut().for_each(|made| made.cycles[0] *= 2);
        all
    };
    let compared = checked(&sampled(many(300)), &sampled(twice(many(300))));
    let verdicts = texts(&compared, "profile-functions", "verdict");
    assert!(verdicts.iter().all(|v| v.starts_with("undecided")), "{verdicts:?}");
}

#[test]
fn sets_of_runs_separate_luck_from_a_difference() {
    let with = |filter: i64, sum: i64| {
        let mut all = program();
        (all[1].cycles[0], all[2].cycles[0]) = (filter, sum);
        run(all)
    };
    let set = |filter: [i64; 4], sum: [i64; 4]| -> Vec<Measurement> {
        filter.into_iter().zip(sum).map(|(filter, sum)| with(filter, sum)).collect()
    };
    let a = set([1_000, 1_010, 990, 1_004], [40_000, 40_900, 39_000, 40_100]);
    let b = set([1_500, 1_505, 1_490, 1_498], [40_200, 39_100, 40_800, 40_300]);
    let compared = compare_sets(&a, &b).unwrap();
    compared.check().unwrap();
    let all = texts(&compared, "profile-functions", "function");
    let verdicts = texts(&compared, "profile-functions", "verdict");
    let of = |name: &str| verdicts[all.iter().position(|other| *other == name).unwrap()];
    assert!(of("filter").starts_with("yes, q"), "{}", of("filter"));
    assert!(of("sum").starts_with("undecided"), "{}", of("sum"));
    assert_eq!(of("main"), "equal");
    assert!(figures(&compared).contains_key("spread/totals/cycles/mean-a"));
    assert_eq!(compared.parts.len(), 8);
    assert!(compare_sets(&a, &[]).is_none());
    // One run of a side does not say how it varies.
    let compared = compare_sets(&a, &b[..1]).unwrap();
    assert!(first(&compared, "verdict").starts_with("undecided"));
}

#[test]
fn limits_hold_or_not_and_are_about_something() {
    let mut slow = program();
    slow[1].cycles[0] = 1_030;
    let mut compared = checked(&run(program()), &run(slow));
    let of = |compared: &Measurement, text: &str| outcome(compared, &text.parse().unwrap());
    assert_eq!(of(&compared, "1%"), Outcome::Holds);
    assert!(matches!(of(&compared, "filter=2%"), Outcome::Above(_)));
    assert_eq!(of(&compared, "filter=3%"), Outcome::Holds);
    assert!(matches!(of(&compared, "nobody=3%"), Outcome::Nothing(_)));
    let limits = ["filter=2%", "0.01%"].map(|text| text.parse::<Limit>().unwrap());
    assert_eq!(judge(&mut compared, &limits), Ok(true));
    assert_eq!(codes(&compared)[..2], ["above-limit", "above-limit"]);
    compared.check().unwrap();
    let maybe = checked(&sampled(many(300)), &sampled(many(330)));
    assert!(matches!(of(&maybe, "a=2%"), Outcome::MaybeAbove(_)));
    for wrong in ["2", "=2%", "x=", "-1%", "a%", "inf%"] {
        assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
    }
    assert_eq!(
        "operator==(a, b)=5 %".parse::<Limit>().unwrap().function.as_deref(),
        Some("operator==(a, b)")
    );
}

#[test]
fn an_empty_profile_is_compared_without_a_word_too_many() {
    let compared = checked(&run(Vec::new()), &run(Vec::new()));
    assert!(verdict(&compared).contains("nothing that was compared"));
    assert!(matches!(compared.table("profile-functions").unwrap().footer[0][0], Cell::Text(_)));
}
