//! `strobe stack`: worst cases by machine code, beside what simulated runs use.

use std::fs;

use strobe_model::measurement::{Cell, Measurement, Table, Trust};

use crate::common::recorded::recorded;
use crate::common::{measured, prebuilt, root, strobe};

fn cell<'a>(table: &'a Table, column: &str, row: usize) -> &'a Cell {
    &table.column(column).unwrap_or_else(|| panic!("no column {column}")).cells[row]
}

fn bytes(cell: &Cell) -> Option<u64> {
    cell.number().map(|number| number.as_u64())
}

fn rows<'a>(m: &'a Measurement, table: &str) -> impl Iterator<Item = (usize, String)> + use<'a> {
    let table = m.table(table).expect("the table is there");
    let names = table.columns.iter().find(|c| matches!(c.cells.first(), Some(Cell::Text(_))));
    let cells = names.map(|column| column.cells.as_slice()).unwrap_or_default();
    cells.iter().enumerate().map(|(row, cell)| (row, cell.text().unwrap_or_default().to_owned()))
}

/// A worst case that is a bound is one: in every bundled program, whatever it runs into.
#[test]
fn measured_never_exceeds_static() {
    let (mut bounded, mut others) = (0, 0);
    for entry in fs::read_dir(root().join("firmware/prebuilt")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "elf") {
            continue;
        }
        let path = path.to_str().unwrap();
        let board: &[&str] = if path.contains("2560") { &["--board", "arduino-mega"] } else { &[] };
        let (_, m) = measured(&[&["stack", path, "--run", "--until", "10ms"], board].concat());
        assert!(
            m.findings.iter().all(|f| f.code != "measured-exceeds"),
            "{path}: {:?}",
            m.findings
        );
        let stacks = m.table("stacks").unwrap();
        let used = bytes(cell(stacks, "measured", 0)).unwrap_or_else(|| panic!("{path}"));
        let size = bytes(cell(stacks, "size", 0)).unwrap_or_else(|| panic!("{path}"));
        assert!(0 < used && used < size, "{path}: {used} of {size}");
        match cell(stacks, "worst", 0) {
            Cell::Figure { value: Some(worst), trust: Trust::AtMost } => {
                assert!(used <= worst.as_u64(), "{path}: {used} of {worst:?}");
                bounded += 1;
            }
            Cell::Figure { trust: Trust::AtLeast, .. } => {
                let why = ["unknown-calls", "recursion"];
                let is_why = |code: &str| why.contains(&code);
                assert!(m.findings.iter().any(|f| is_why(&f.code)), "{path}: {:?}", m.findings);
                others += 1;
            }
            other => panic!("{path}: {other:?}"),
        }
    }
    assert!(bounded >= 30 && others >= 10, "{bounded} {others}");
}

/// Threads are found by the calls that make them, and their stacks by the variables.
#[test]
fn threads_have_their_stacks() {
    let (_, m) = measured(&["stack", &prebuilt("threads"), "--run", "--until", "20ms"]);
    let stacks = m.table("stacks").unwrap();
    let mut seen = 0;
    for (row, name) in rows(&m, "stacks").filter(|(_, name)| name.ends_with("_main")) {
        assert_eq!(bytes(cell(stacks, "size", row)), Some(384), "{name}");
        let used = bytes(cell(stacks, "measured", row)).unwrap_or_else(|| panic!("{name}"));
        assert!(used <= bytes(cell(stacks, "worst", row)).unwrap(), "{name}: {used}");
        seen += 1;
    }
    assert_eq!(seen, 4);
    let deepest = cell(stacks, "deepest", 0).text().unwrap_or_default().to_owned();
    assert!(deepest.starts_with("SysTick_Handler"), "{deepest}");
}

/// Every run has the exact marks, and its summary the stack that has least left; flash and RAM are
/// those of `strobe size`.
#[test]
fn a_run_names_the_stack_with_the_least_margin() {
    let narrow = prebuilt("narrow");
    let (_, m) = measured(&["run", &narrow, "--until", "finished"]);
    let total = |id: &str| m.totals.iter().find(|total| total.id == id).expect("the total");
    assert_eq!(total("deepest-stack").title, "stack of reporter");
    let bytes_of = |id: &str| m.total(id)?.value().map(|number| number.as_u64());
    assert_eq!((bytes_of("deepest-stack"), bytes_of("stack-margin")), (Some(152), Some(40)));
    let stacks = m.table("stacks").unwrap();
    let reporter = rows(&m, "stacks").find(|(_, name)| name == "reporter").unwrap().0;
    assert_eq!(bytes(cell(stacks, "size", reporter)), Some(192));
    assert_eq!(*cell(stacks, "used", reporter), Cell::from(152_u64));
    let chain = cell(stacks, "deepest", reporter).text().unwrap();
    assert_eq!(chain, "reporter_main > report > digits");
    // What the image allows is a word more, that aligns an exception's frame, and the eight
    // registers that a switch of threads stores below it without moving the stack pointer.
    let (_, image) = measured(&["stack", &narrow]);
    let row = rows(&image, "stacks").find(|(_, name)| name == "reporter_main").unwrap().0;
    assert_eq!(bytes(cell(image.table("stacks").unwrap(), "margin", row)), Some(4));
    let size = recorded(&["size", &narrow]);
    let fact = |name: &str| m.subject.facts.iter().find(|fact| fact.name == name);
    for (name, id) in [("flash", "flash"), ("RAM", "ram")] {
        let figure = fact(name).and_then(|fact| fact.figure.as_ref());
        assert_eq!(figure, size.total(id), "{name}");
    }
}

#[test]
fn annotations_close_what_is_open() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("stacks.toml");
    let elf = prebuilt("threads");
    let write = |text: &str| fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let (_, open) = measured(&["stack", &elf]);
    write("[calls]\nstart_first = [\"idle_main\"]\n");
    let (_, closed) = measured(&["stack", &elf, "--annotations", file]);
    let trust = |m: &Measurement| match cell(m.table("stacks").unwrap(), "worst", 0) {
        Cell::Figure { trust, .. } => trust.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!((trust(&open), trust(&closed)), (Trust::AtLeast, Trust::AtMost));
    write("[calls]\nstart_frist = [\"idle_main\"]\n");
    let wrong = strobe(&["stack", &elf, "--annotations", file]);
    assert_eq!(wrong.code, 65);
    assert!(wrong.stderr.contains("start_frist"), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("did you mean start_first"), "{}", wrong.stderr);
    assert_eq!(strobe(&["stack", &elf, "--board", "cortex-m0"]).code, 64);
}

/// What is written can be read by the other commands.
#[test]
fn stacks_are_reported_compared_and_exported() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (one, two, out) = (path("a.measurement"), path("b.measurement"), path("out.txt"));
    for (elf, file) in [("x25519-c", &one), ("x25519-c-m3", &two)] {
        let ran = strobe(&["stack", &prebuilt(elf), "-o", file]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let report = strobe(&["report", &one]);
    assert!(report.stdout.contains("field_multiply"), "{}", report.stdout);
    let compared = strobe(&["compare", &one, &two]);
    assert_eq!(compared.code, 0, "{}", compared.stderr);
    let exported = strobe(&["export", &one, "--to", "collapsed", "-o", &out]);
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    let collapsed = fs::read_to_string(out).unwrap();
    assert!(
        collapsed.lines().any(|line| line.contains("Reset_Handler;main;x25519")),
        "{collapsed}"
    );
}

/// A copy of a board's memory, as a debugger makes it, shows how far painted stacks were used.
#[test]
fn memory_dump_shows_the_remaining_paint() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ram.bin");
    // The idle thread has used 48 of 192 bytes, the reporter all but 40; nothing runs on the
    // sampler's.
    let mut ram = vec![0xa5u8; 0x4000];
    for (at, byte) in ram.iter_mut().enumerate() {
        let is_used = (0x90..0xc0).contains(&at) || (0xc0 + 40..0x180).contains(&at);
        if is_used || at >= 0x280 {
            *byte = at as u8 | 1;
        }
    }
    fs::write(&path, &ram).unwrap();
    let given = format!("0x20000000={}", path.display());
    let firmware = prebuilt("narrow");
    let (_, m) = measured(&["stack", &firmware, "--ram", &given]);
    let painted = m.table("painted-stacks").unwrap();
    let used = |row| bytes(cell(painted, "used", row));
    let names: Vec<String> = rows(&m, "painted-stacks").map(|(_, name)| name).collect();
    assert_eq!(names[1..], ["idle_stack", "reporter_stack", "sampler_stack"]);
    assert_eq!([used(1), used(2), used(3)], [Some(48), Some(152), None]);
    assert!(matches!(cell(painted, "used", 1), Cell::Figure { trust: Trust::AtLeast, .. }));

    // Of another part of memory it shows nothing, and the report states it.
    let elsewhere = format!("0x10000000={}", path.display());
    let (_, m) = measured(&["stack", &firmware, "--ram", &elsewhere]);
    assert!(m.findings.iter().any(|f| f.code == "no-stack-in-memory"), "{:?}", m.findings);
    for wrong in ["ram.bin", "0x20000000=", "here=ram.bin", "0x120000000=ram.bin"] {
        let out = strobe(&["stack", &firmware, "--ram", wrong]);
        assert_eq!(out.code, 64, "{wrong}: {}", out.stderr);
    }
}
