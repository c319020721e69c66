//! `strobe bench` of firmware: marked functions, called on simulated boards.

use std::fs;

use strobe_model::measurement::{Measurement, Severity};

use crate::common::figures::{functions, spread};
use crate::common::{measured, prebuilt, read, strobe};

/// Runs `strobe bench` and reads its measurement.
fn bench(arguments: &[&str]) -> (i32, Measurement) {
    let ran = strobe(&[&["bench"], arguments, &["--format", "json"]].concat());
    (ran.code, read(&ran))
}

/// The figure of a benchmark with an input.
fn figure(m: &Measurement, benchmark: &str, input: Option<u64>, column: &str) -> Option<u64> {
    let table = m.table("benchmarks").expect("there are benchmarks");
    let cell = |column: &str, row: usize| {
        &table.column(column).unwrap_or_else(|| panic!("no column {column}")).cells[row]
    };
    let number = |column: &str, row: usize| cell(column, row).number().map(|n| n.as_u64());
    let name = input.map_or(benchmark.to_owned(), |input| format!("{benchmark}/{input}"));
    let row = (0..table.len()).find(|row| cell("benchmark", *row).text() == Some(&name));
    number(column, row.unwrap_or_else(|| panic!("no benchmark {benchmark} of {input:?}")))
}

const CORES: [&str; 4] = ["benched", "benched-m3", "benched-m4f", "benched-avr"];

/// `main` sorts the same numbers: from entry to return that takes as long as the benchmark without
/// the few instructions around it.
#[test]
fn call_costs_the_same_as_in_the_program() {
    for program in CORES {
        let elf = prebuilt(program);
        let (code, benchmarks) = bench(&[&elf, "--filter", "heap_sort"]);
        assert_eq!(code, 0, "{program}");
        let (_, run) = measured(&["run", &elf, "--calls", "heap_sort", "--until", "1s"]);
        let call =
            spread(&run, "calls", "heap_sort with callees").spread.max().expect("main calls it");
        let benched =
            figure(&benchmarks, "heap_sort", Some(256), "cycles").expect("it was measured");
        let around = benched.checked_sub(call).unwrap_or_else(|| panic!("{program}: {benched}"));
        assert!((2..60).contains(&around), "{program}: {benched} and {call}");
    }
}

#[test]
fn rows_do_not_depend_on_each_other() {
    let elf = prebuilt("benched");
    let (_, all) = bench(&[&elf]);
    for (filter, benchmark, input) in [
        ("heap*", "heap_sort", Some(64)),
        ("alloc", "allocate", Some(64)),
        ("poly", "polynomial", None),
    ] {
        let (_, alone) = bench(&[&elf, "--filter", filter]);
        for column in ["cycles", "instructions", "stack"] {
            let (alone, all) =
                (figure(&alone, benchmark, input, column), figure(&all, benchmark, input, column));
            assert!(alone.is_some() && alone == all, "{benchmark} {column}: {alone:?} {all:?}");
        }
    }
    assert_eq!(strobe(&["bench", &elf]).stdout, strobe(&["bench", &elf]).stdout);
}

#[test]
fn stack_and_allocations_are_those_of_the_call() {
    for program in CORES {
        let (_, m) = bench(&[&prebuilt(program)]);
        let recursion = |n| figure(&m, "recursion", Some(n), "stack").expect("stacks are watched");
        // Each level takes the same.
        assert!(recursion(8) > recursion(1), "{program}");
        let (first, second) = (recursion(8) - recursion(1), recursion(16) - recursion(8));
        assert_eq!(first * 8, second * 7, "{program}");
        let allocate = |column: &str| figure(&m, "allocate", Some(64), column);
        assert_eq!(allocate("blocks"), Some(1), "{program}");
        assert_eq!(allocate("allocated"), Some(64), "{program}");
        assert_eq!(allocate("calls"), Some(3), "{program}");
        assert!(allocate("least") < allocate("most"), "{program}: the first call grows the heap");
        assert_eq!(figure(&m, "heap_sort", Some(8), "blocks"), Some(0), "{program}");
    }
}

#[test]
fn growth_is_found_in_sweeps() {
    for program in CORES {
        let (_, m) = bench(&[&prebuilt(program)]);
        let table = m.table("growth").expect("there are sweeps");
        let text = |column: &str, row: usize| table.column(column).unwrap().cells[row].text();
        let row = |name: &str| (0..table.len()).find(|row| text("benchmark", *row) == Some(name));
        let growth = |name: &str| row(name).and_then(|row| text("growth", row));
        assert_eq!(growth("crc16"), Some("linear"), "{program}");
        assert_eq!(growth("insertion_sort"), Some("quadratic"), "{program}");
        assert_eq!(growth("heap_sort"), Some("n log n"), "{program}");
        // Where division is a loop over the bits that are there.
        let scale = if program == "benched" { "none fits" } else { "constant" };
        assert_eq!(growth("scale"), Some(scale), "{program}");
        assert_eq!(growth("recursion"), None, "{program}: three sizes say nothing");
    }
}

#[test]
fn cores_are_side_by_side() {
    let elfs = CORES.map(prebuilt);
    let mut arguments = vec!["bench"];
    arguments.extend(elfs.iter().map(String::as_str));
    let (code, m) = bench(&arguments[1..]);
    assert_eq!((code, m.parts.len()), (0, 4));
    let table = m.table("cycles").expect("cycles side by side");
    for part in &m.parts {
        let column = table.column(&part.name).expect("a column for each");
        let own = part.measurement.table("benchmarks").unwrap().column("cycles").unwrap();
        let sum = |cells: &[strobe_model::measurement::Cell]| -> u64 {
            cells.iter().filter_map(|cell| Some(cell.number()?.as_u64())).sum()
        };
        assert!(sum(&column.cells) > 0, "{}", part.name);
        assert_eq!(sum(&column.cells), sum(&own.cells), "{}", part.name);
    }
    let shown = strobe(&arguments);
    assert!(shown.stdout.contains("Cortex-M4") && shown.stdout.contains("AVR"), "{}", shown.stdout);
    let twice = strobe(&["bench", &elfs[0], &elfs[0]]);
    assert_eq!(twice.code, 64);
    assert!(twice.stderr.contains("--name"), "{}", twice.stderr);
}

#[test]
fn baselines_are_kept_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("bench.toml").display().to_string();
    let elf = prebuilt("benched");
    assert_eq!(strobe(&["bench", &elf, "--save", &kept]).code, 0);
    let same = strobe(&["bench", &elf, "--baseline", &kept]);
    assert_eq!(same.code, 0, "{}", same.stdout);
    let text = fs::read_to_string(&kept).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("cycles =")).collect();
    assert!(lines.len() > 15 && lines.is_sorted(), "{text}");

    // What was quicker and what was slower in the past.
    let old = |name: &str, cycles: &str| {
        let line = lines.iter().find(|line| line.starts_with(&format!("\"{name}\""))).unwrap();
        let rest = line.split_once(", ").unwrap().1;
        text.replace(line, &format!("\"{name}\" = {{ cycles = {cycles}, {rest}"))
    };
    fs::write(&kept, old("crc16/64", "1000000")).unwrap();
    assert_eq!(strobe(&["bench", &elf, "--baseline", &kept]).code, 0);
    fs::write(&kept, old("crc16/64", "1000")).unwrap();
    let (code, worse) = bench(&[&elf, "--baseline", &kept]);
    assert_eq!(code, 110);
    assert_eq!(worse.findings.iter().filter(|f| f.code == "worse").count(), 1);
    assert_eq!(worse.table("baseline").unwrap().len(), 1);
    // Neither does it matter where it was not asked for, nor within what is allowed.
    let other = ["bench", &elf, "--baseline", &kept, "--filter", "heap_sort"];
    assert_eq!(strobe(&other).code, 0);
    let allowed = ["bench", &elf, "--baseline", &kept, "--threshold", "1000"];
    assert_eq!(strobe(&allowed).code, 0);

    // A benchmark that is no longer there is not silently equal.
    let more = text.replace("\"crc16/64\"", "\"crc17/64\"");
    fs::write(&kept, more).unwrap();
    assert_eq!(strobe(&["bench", &elf, "--baseline", &kept]).code, 110);
    let cut = &text[..text.rfind("\n\"").unwrap()];
    fs::write(&kept, cut).unwrap();
    let cut = strobe(&["bench", &elf, "--baseline", &kept]);
    assert_eq!(cut.code, 65);
    assert!(cut.stderr.contains("--save"), "{}", cut.stderr);
    let m3 = strobe(&["bench", &prebuilt("benched-m3"), "--name", "benched", "--baseline", &kept]);
    assert_eq!(m3.code, 65);
}

/// The build of another branch has another name; where no name is known, nothing is silently equal.
#[test]
fn baseline_of_one_firmware_applies_to_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("bench.toml").display().to_string();
    let change = folder.path().join("change.elf").display().to_string();
    fs::copy(prebuilt("benched"), &change).unwrap();
    let bench = |files: &[&str], more: &[&str]| {
        strobe(&[&["bench"], files, &["--filter", "crc16"], more].concat())
    };
    assert_eq!(bench(&[&prebuilt("benched")], &["--save", &kept]).code, 0);
    let same = bench(&[&change], &["--baseline", &kept]);
    assert_eq!(same.code, 0, "{}", same.stderr);
    assert!(same.stdout.contains("benched are taken for those of change"), "{}", same.stdout);
    let text = fs::read_to_string(&kept).unwrap();
    fs::write(&kept, text.replace("cycles = ", "cycles = 1")).unwrap();
    let (m3, avr) = (prebuilt("benched-m3"), prebuilt("benched-avr"));
    let none = bench(&[&m3, &avr], &["--baseline", &kept]);
    assert_eq!(none.code, 65, "{}", none.stdout);
    assert!(none.stderr.contains("nothing would be compared"), "{}", none.stderr);
}

/// The profile adds up to the figure of its row, on every core, and other commands read it.
#[test]
fn call_is_profiled_from_entry_to_return() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sort.measurement").display().to_string();
    for program in CORES {
        let elf = prebuilt(program);
        let sort = ["--filter", "/^heap_sort$/", "--profile", "heap_sort"];
        let (code, m) = bench(&[&[elf.as_str()], &sort[..]].concat());
        assert_eq!(code, 0, "{program}");
        let all = functions(&m);
        let sum: u64 = all.iter().map(|(_, cycles)| cycles).sum();
        assert_eq!(Some(sum), figure(&m, "heap_sort", Some(256), "cycles"), "{program}: {all:?}");
        assert!(all.iter().any(|(name, _)| name == "heap_sort"), "{program}: {all:?}");
    }
    let elf = prebuilt("benched");
    assert_eq!(strobe(&["bench", &elf, "--profile", "crc16/64", "-o", &file]).code, 0);
    let shown = strobe(&["report", &file, "--fields", "profile"]);
    assert!(shown.code == 0 && shown.stdout.contains("first call of crc16/64"), "{}", shown.stdout);
    let stacks = folder.path().join("stacks.txt").display().to_string();
    let exported = strobe(&["export", &file, "--to", "collapsed", "-o", &stacks]);
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    assert!(fs::read_to_string(&stacks).unwrap().contains("crc16"));
}

#[test]
fn reports_for_others_have_a_case_for_each_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (kept, xml, summary) = (path("bench.toml"), path("bench.xml"), path("bench.md"));
    let elf = prebuilt("benched");
    let reports = ["bench", &elf, "--junit", &xml, "--markdown", &summary, "--filter", "sort"];
    assert_eq!(strobe(&[&reports[..], &["--save", &kept]].concat()).code, 0);
    let counted = |xml: &str| {
        let text = fs::read_to_string(xml).unwrap();
        let document = roxmltree::Document::parse(&text).unwrap();
        let suite = document.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
        ["tests", "failures", "errors"].map(|name| suite.attribute(name).unwrap().to_owned())
    };
    assert_eq!(counted(&xml), ["12", "0", "0"]);
    assert!(fs::read_to_string(&summary).unwrap().contains("12 measured"));

    let text = fs::read_to_string(&kept).unwrap();
    let line = text.lines().find(|line| line.starts_with("\"heap_sort/64\"")).unwrap();
    let rest = line.split_once(", ").unwrap().1;
    let less = format!("\"heap_sort/64\" = {{ cycles = 15000, {rest}");
    fs::write(&kept, text.replace(line, &less).replace("\"heap_sort/8\"", "\"gone_sort/8\""))
        .unwrap();
    let compared = strobe(&[&reports[..], &["--baseline", &kept]].concat());
    assert_eq!(compared.code, 110, "{}", compared.stderr);
    assert_eq!(counted(&xml), ["13", "2", "0"]);
    let summary = fs::read_to_string(&summary).unwrap();
    assert!(summary.starts_with("### strobe bench: 2 of 13 took more"), "{summary}");
    for part in ["cycles 15,037 after 15,000", "**more**", "**gone**", "| new |"] {
        assert!(summary.contains(part), "{part}: {summary}");
    }
    let failed = strobe(&[&reports[..], &["--timeout", "400us"]].concat());
    assert_eq!(failed.code, 1);
    assert_ne!(counted(&xml)[2], "0");
}

#[test]
fn measurements_of_benchmarks_are_compared_by_row() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (a, b) = (file("a.measurement"), file("b.measurement"));
    assert_eq!(strobe(&["bench", &prebuilt("benched"), "-o", &a]).code, 0);
    assert_eq!(strobe(&["bench", &prebuilt("benched-m3"), "-o", &b]).code, 0);
    let compared = read(&strobe(&["compare", &a, &b, "--format", "json"]));
    let table = compared.table("benchmarks").expect("benchmarks are compared");
    assert!(table.column("cycles-a").is_some() && table.len() >= 24, "{}", table.len());
    let shown = strobe(&["report", &a]);
    assert!(shown.code == 0 && shown.stdout.contains("heap_sort/64"), "{}", shown.stdout);
}

#[test]
fn unreturned_call_is_a_row_with_its_reason() {
    let elf = prebuilt("benched");
    let (code, m) = bench(&[&elf, "--filter", "sort", "--timeout", "400us"]);
    assert_eq!(code, 1);
    let failed = m.findings.iter().filter(|f| f.severity == Severity::Fault).count();
    let table = m.table("benchmarks").unwrap();
    assert!(failed > 0 && failed < table.len(), "{failed} of {}", table.len());
    assert_eq!(figure(&m, "insertion_sort", Some(256), "cycles"), None);
    assert!(figure(&m, "insertion_sort", Some(8), "cycles").is_some());
    let (code, m) = bench(&[&elf, "--filter", "scale", "--after", "crc16"]);
    assert_eq!(code, 1, "main does not call it");
    assert!(m.findings.iter().any(|f| f.text.contains("start-up did not reach crc16")));
}

#[test]
fn rust_marks_benchmarks_too() {
    let (code, m) = bench(&[&prebuilt("benched-rs")]);
    assert_eq!(code, 0);
    for n in [16, 64, 256, 1024] {
        assert!(figure(&m, "sort", Some(n), "cycles").is_some());
        // An addition and a load each, at least.
        let sum = figure(&m, "sum", Some(n), "instructions").unwrap();
        assert!(sum >= n && sum < 20 * n, "{n}: {sum}");
    }
    assert_eq!(figure(&m, "search", Some(1024), "calls"), Some(2));
    // The array of 1,024 words.
    assert!(figure(&m, "sort", Some(16), "stack").unwrap() > 4096);
}

/// Switched off, no name and no code of them is in the file.
#[test]
fn nothing_is_left_when_off() {
    for program in ["benched-off", "benched-rs-off"] {
        let elf = prebuilt(program);
        let bytes = fs::read(&elf).unwrap();
        let contains = |name: &[u8]| bytes.windows(name.len()).any(|window| window == name);
        assert!(!contains(b"strobe_bench\0") && !contains(b".strobe_bench"), "{program}");
        let ran = strobe(&["bench", &elf]);
        assert_eq!(ran.code, 65, "{program}");
        assert!(ran.stderr.contains("STROBE_BENCH"), "{}", ran.stderr);
    }
}

#[test]
fn wrong_arguments_are_named() {
    let elf = prebuilt("benched");
    let cases: [(&[&str], &str); 12] = [
        (&["bench", &elf, "true"], "cannot be measured together"),
        (&["bench", &elf, "--rounds", "3"], "--rounds"),
        (&["bench", "true", "false", "--filter", "x"], "--filter"),
        (&["bench", &elf, "--filter", "nothing"], "heap_sort"),
        (&["bench", &elf, "--filter", "["], "--filter ["),
        (&["bench", &elf, "--filter", "/(/"], "--filter /(/: unclosed group"),
        (&["bench", &elf, "--profile", "quick_sort"], "there are"),
        (&["bench", &elf, "--profile", "heap_sort/7"], "the inputs of heap_sort are 8, 16"),
        (&["bench", "true", "false", "--junit", "x.xml"], "--junit"),
        (&["bench", &elf, "--after", "nowhere"], "nowhere"),
        (&["bench", &elf, "--board", "blue", "--board", "green"], "2 of --board for 1"),
        (&["bench", &elf, "--threshold=-3"], "--threshold"),
    ];
    for (arguments, expected) in cases {
        let ran = strobe(arguments);
        assert_eq!(ran.code, 64, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
    }
    assert_eq!(strobe(&["bench", &elf, "--baseline", "/nowhere.toml"]).code, 66);
}
