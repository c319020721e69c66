//! `strobe cycles` adds up, and shows of each figure whether a model has a part in it.

use strobe_model::measurement::{Cell, Content, Measurement, Table};

use crate::common::figures::{column, number};
use crate::common::{measured, prebuilt, strobe};

/// One function explained.
fn explained(program: &str, function: &str, arguments: &[&str]) -> Measurement {
    let elf = prebuilt(program);
    let all = [&["cycles", &elf, function], arguments].concat();
    let ran = strobe(&all);
    assert_eq!(ran.code, 0, "{all:?}: {}", ran.stderr);
    measured(&all).1
}

/// A range of cycles in a row of a table.
struct Range {
    min: u64,
    max: u64,
    likely: Option<f64>,
    likely_most: Option<f64>,
}

/// The ranges of a table whose columns begin with that name.
fn ranges_of(table: &Table, prefix: &str) -> Vec<Range> {
    let cells = |end: &str| {
        let column = table.column(&format!("{prefix}-{end}"));
        column.map_or(&[][..], |column| column.cells.as_slice())
    };
    let each = cells("min").iter().zip(cells("max")).zip(cells("likely"));
    each.zip(cells("likely-most"))
        .map(|(((min, max), likely), most)| Range {
            min: number(min),
            max: number(max),
            likely: likely.number().map(|n| n.as_f64()),
            likely_most: most.number().map(|n| n.as_f64()),
        })
        .collect()
}

fn table<'a>(explained: &'a Measurement, id: &str) -> &'a Table {
    explained.table(id).unwrap_or_else(|| panic!("no table {id}"))
}

/// Every range in the tables.
fn ranges(explained: &Measurement) -> Vec<Range> {
    let tables = explained.sections.iter().filter_map(|section| match &section.content {
        Content::Table(table) => Some(table),
        _ => None,
    });
    tables
        .flat_map(|table| [ranges_of(table, "cycles"), ranges_of(table, "iteration")])
        .flatten()
        .collect()
}

/// Functions of every kind: loops, calls, returns through a register, tables, peripherals.
const FUNCTIONS: [(&str, &str); 6] = [
    ("loop-48mhz", "test_loop"),
    ("shift", "send_by_cpu"),
    ("shift", "main"),
    ("stepper", "on_tick"),
    ("hello-uart", "_vfprintf_r"),
    ("hello-uart", "memset"),
];

#[test]
fn modelled_instructions_always_have_an_estimate() {
    for (program, function) in FUNCTIONS {
        let explained = explained(program, function, &["--wait-states", "1"]);
        let instructions = ranges_of(table(&explained, "instructions"), "cycles");
        let addresses = column(&explained, "instructions", "address");
        assert!(!instructions.is_empty());
        for (range, address) in instructions.iter().zip(addresses) {
            let causes = column(&explained, "causes", "address").iter();
            let mut causes = causes.zip(column(&explained, "causes", "cause"));
            let waits = causes.any(|(at, cause)| {
                at == address && cause.text().is_some_and(|cause| cause.ends_with("wait"))
            });
            assert_eq!(range.likely.is_some(), waits, "{program} {function}: {address:?}");
        }
        let ranges = ranges(&explained);
        assert!(ranges.iter().any(|range| range.likely.is_some()), "{program} {function}");
        for Range { min, max, likely, likely_most } in ranges {
            let Some(likely) = likely else { continue };
            let most = likely_most.unwrap_or(likely);
            let in_order = min as f64 <= likely && likely <= most && most <= max as f64;
            assert!(in_order, "{program} {function}: {min} {likely} {most} {max}");
        }
        let [least, likely] =
            ["min", "likely"].map(|end| explained.total(&format!("once-through-{end}")));
        assert_eq!(least.is_some(), likely.is_some(), "{program} {function}");
    }
}

#[test]
fn without_wait_states_figures_are_documented_ones() {
    for function in ["main", "merge_sort", "compare_u16", "_vfprintf_r"] {
        let explained = explained("generic-c", function, &[]);
        let ranges = ranges(&explained);
        assert!(!ranges.is_empty() && ranges.iter().all(|r| r.likely.is_none()), "{function}");
        assert_eq!(explained.total("once-through-likely"), None, "{function}");
    }
}

#[test]
fn a_block_is_the_sum_of_its_instructions() {
    for (program, function) in FUNCTIONS {
        let explained = explained(program, function, &["--wait-states", "1"]);
        let address = |cell: &Cell| match cell {
            Cell::Address(address) => *address,
            other => panic!("{other:?} is no address"),
        };
        let blocks = ranges_of(table(&explained, "blocks"), "cycles");
        assert!(!blocks.is_empty());
        let edges = ["first", "last"].map(|edge| column(&explained, "blocks", edge));
        for (block, (first, last)) in blocks.iter().zip(edges[0].iter().zip(edges[1])) {
            let inside = address(first)..=address(last);
            let addresses = column(&explained, "instructions", "address").iter();
            let ranges = ranges_of(table(&explained, "instructions"), "cycles");
            let sum = addresses
                .zip(ranges)
                .filter(|(at, _)| inside.contains(&address(at)))
                .fold((0, 0), |sum, (_, cycles)| (sum.0 + cycles.min, sum.1 + cycles.max));
            assert_eq!(sum, (block.min, block.max), "{program} {function}: {first:?}");
        }
    }
}

/// What a run took lies within what was said of it beforehand.
#[test]
fn a_run_stays_within_the_bounds() {
    // The others run without wait states as well, before the clock is set up.
    let later = ["test_loop", "send_by_cpu", "on_tick", "_vfprintf_r"];
    for (program, function) in FUNCTIONS.into_iter().filter(|(_, f)| later.contains(f)) {
        let explained = explained(program, function, &["--run", "--until", "30ms"]);
        let ranges = ranges_of(table(&explained, "instructions"), "cycles");
        let [counts, cycles] =
            ["runs", "run-cycles"].map(|name| column(&explained, "instructions", name));
        let mut some = false;
        for ((range, count), cycles) in ranges.iter().zip(counts).zip(cycles) {
            let count = number(count);
            if count == 0 {
                continue;
            }
            // Bounds are those of runs in which it may have run more or less often.
            let taken = number(cycles);
            let within = range.min * count <= taken && taken <= range.max * count;
            assert!(within, "{program} {function}: {count} times {cycles:?}");
            some = true;
        }
        assert!(some, "{program} {function} did not run");
    }
}

/// What a run took of an instruction whose time its operands, its target or its condition decide
/// lies in the range that the tables give.
#[test]
fn ranges_hold_what_a_run_took() {
    let (mut wide, mut looked_at) = (0, 0);
    for (program, function) in
        [("calculator-m3", "expected"), ("calculator-m3", "run"), ("benched-m3", "scale")]
    {
        let m = explained(program, function, &["--run", "--until", "50ms"]);
        let table = m.table("instructions").unwrap();
        let text = |row: usize| table.column("instruction").unwrap().cells[row].text().unwrap();
        let of = |id: &str, row: usize| table.column(id).unwrap().cells[row].number();
        for (row, range) in ranges_of(table, "cycles").iter().enumerate() {
            let Some((runs, cycles)) = of("runs", row).zip(of("run-cycles", row)) else { continue };
            let (runs, cycles) = (runs.as_u64(), cycles.as_u64());
            let is_within = range.min * runs <= cycles && cycles <= range.max * runs;
            assert!(is_within, "{function}: {}: {runs} in {cycles}", text(row));
            let name = text(row);
            wide += u32::from(runs > 0 && (name.contains("div") || name.contains("mull")));
            looked_at += u32::from(runs > 0);
        }
        let loops = table_of_loops(&m);
        assert!(loops.iter().all(|(runs, taken)| *runs == 0 || *taken > 0), "{loops:?}");
    }
    assert!(wide >= 3 && looked_at > 30, "{wide} {looked_at}");
}

/// How often each loop's head ran and its branch back was taken.
fn table_of_loops(m: &Measurement) -> Vec<(u64, u64)> {
    let Some(table) = m.table("loops") else { return Vec::new() };
    let cells = |id: &str| table.column(id).unwrap().cells.iter().map(number);
    cells("runs").zip(cells("taken")).collect()
}
