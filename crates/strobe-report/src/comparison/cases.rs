//! What a comparison has to find: one change each, and what cannot be compared at all.

mod builds;
mod chance;
mod matching;
mod work;

use strobe_analyse::compare::Comparison;
use strobe_analyse::compare::threshold::{Outcome, Unjudged, outcome};
use strobe_analyse::figures::figures;
use strobe_model::measurement::{
    Address, Cell, Column, Content, Distribution, Distributions, Ended, Frames, Functions,
    Instrument, Kind, Locations, Measure, Measurement, Part, Profile, Quantity, Samples, Stacks,
    Subject, Table, Unit, Values, Window,
};

use super::{compare, measurement};

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

/// The same as data.
fn data(a: &Measurement, b: &Measurement) -> Comparison {
    strobe_analyse::compare::compare(a, b)
}

fn compare_sets(a: &[Measurement], b: &[Measurement]) -> Option<Measurement> {
    strobe_analyse::compare::compare_sets(a, b).map(measurement)
}

fn of(compared: &Comparison, limit: &str) -> Result<Outcome, Unjudged> {
    outcome(compared, &limit.parse().unwrap())
}

#[test]
fn tenfold_slower_function_is_first_and_in_the_verdict() {
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

/// Another place is no cause where fetching takes what it took.
#[test]
fn flash_placement_is_no_cause_without_fetch_waits() {
    let mut later = program();
    later[1].address += 8;
    later[1].calls = 20;
    later[1].cycles[0] = 2_000;
    let compared = checked(&run(program()), &run(later));
    let why = texts(&compared, "profile-causes", "why")[0];
    assert!(why.contains("more calls, 10 -> 20") && !why.contains("otherwise"), "{why}");
}

#[test]
fn verdict_has_the_memory_of_a_run() {
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

fn many(first: i64) -> Vec<Made> {
    const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let each = NAMES.iter().zip(0i64..).map(|(name, n)| made(name, 300 + 7 * n, 1, &[]));
    let mut all: Vec<Made> = each.collect();
    all[0].cycles[0] = first;
    all
}

#[test]
fn empty_profile_is_compared_in_few_words() {
    let compared = checked(&run(Vec::new()), &run(Vec::new()));
    assert!(verdict(&compared).contains("nothing that was compared"));
    assert!(matches!(compared.table("profile-functions").unwrap().footer[0][0], Cell::Text(_)));
}
