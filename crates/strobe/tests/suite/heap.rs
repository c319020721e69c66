//! `strobe heap`: what firmware allocates, by whom, and what it does not free.

use std::fs;
use std::io::Write;

use strobe_model::measurement::{Measurement, Unit};

use crate::common::figures::part;
use crate::common::{measured, prebuilt, strobe};

fn total(m: &Measurement, id: &str) -> u64 {
    let value = m.total(id).unwrap_or_else(|| panic!("no total {id}")).value();
    value.unwrap_or_else(|| panic!("{id} is unknown")).as_u64()
}

/// Rows of a table by function: its figures in a column.
fn of_function(m: &Measurement, table: &str, function: &str, column: &str) -> u64 {
    let table = m.table(table).unwrap_or_else(|| panic!("no table {table}"));
    let names = table.column("function").expect("functions");
    let rows = (0..table.len()).filter(|&row| names.cells[row].text() == Some(function));
    let figures = table.column(column).expect("the column");
    rows.filter_map(|row| Some(figures.cells[row].number()?.as_u64())).sum()
}

#[test]
fn the_leak_is_found_by_call_site_and_thread() {
    let (code, m) = measured(&["heap", &prebuilt("leaky"), "--until", "finished"]);
    assert_eq!(code, 0);
    assert_eq!(m.total("heap-peak").map(|peak| peak.unit().clone()), Some(Unit::BYTES));
    // Every eighth of 160 records; the run ends while the last is under way at the latest.
    let lost = of_function(&m, "heap-sites", "record_new", "live-blocks");
    assert!((20..=28).contains(&lost), "{lost}");
    assert_eq!(of_function(&m, "heap-leaks", "record_new", "end"), lost);
    assert_eq!(of_function(&m, "heap-leaks", "line_new", "end"), 0);
    assert_eq!(of_function(&m, "heap-sites", "report_main", "peak"), 1500);
    let threads = m.table("heap-threads").unwrap();
    let names: Vec<&str> =
        threads.column("thread").unwrap().cells.iter().filter_map(|cell| cell.text()).collect();
    assert!(["sensor", "logger", "report"].iter().all(|name| names.contains(name)), "{names:?}");
    // Its memory is what sbrk has handed out, so the largest free piece is known.
    assert!(total(&m, "heap-largest-free") > 0);
}

/// `run --heap` has the same sections beside the profile of cycles, and the same cycles as without.
#[test]
fn a_run_has_its_heap_as_sections() {
    let leaky = prebuilt("leaky");
    let (_, alone) = measured(&["heap", &leaky, "--until", "100ms"]);
    let (_, both) = measured(&["run", &leaky, "--until", "100ms", "--heap"]);
    let (_, without) = measured(&["run", &leaky, "--until", "100ms"]);
    for section in alone.sections.iter().filter(|section| section.id.starts_with("heap-")) {
        assert_eq!(both.section(&section.id), Some(section));
    }
    assert_eq!(both.total("cycles"), without.total("cycles"));
    assert_eq!(both.section("profile"), without.section("profile"));
    assert!(without.sections.iter().all(|section| !section.id.starts_with("heap-")));
}

/// Many strings against one buffer: the figures of the source.
#[test]
fn temporary_strings_are_counted_against_one_buffer() {
    let (code, m) = measured(&["heap", &prebuilt("strings"), "--until", "exit"]);
    assert_eq!(code, 0);
    // 40 pairs: a string for the key, two to complete it, one for the text so far; and the first.
    let temporaries = ["append", "join_temporaries"];
    let sum = |column| {
        temporaries.iter().map(|f| of_function(&m, "heap-sites", f, column)).sum::<u64>()
            + of_function(&m, "heap-sites", "concatenate", column)
    };
    // 500 strings to sort are made by the same function.
    assert_eq!(sum("blocks"), 40 * 4 + 1 + 500);
    assert_eq!(of_function(&m, "heap-sites", "join_buffer", "blocks"), 1);
    assert_eq!(of_function(&m, "heap-sites", "sort_buffer", "blocks"), 2);
    assert_eq!(of_function(&m, "heap-sites", "sort_buffer", "bytes"), 500 * 8 + 500 * 2);
    assert_eq!(total(&m, "heap-live-blocks"), 0);
    assert!(m.findings.iter().all(|f| f.code != "leak"), "{:?}", m.findings);
}

/// The layers' bytes are all bytes, and own rules come first.
#[test]
fn layers_add_up() {
    let layers = |more: &[&str]| {
        let firmware = prebuilt("leaky");
        let arguments = [&["heap", &firmware, "--until", "500ms"][..], more].concat();
        let (code, m) = measured(&arguments);
        assert_eq!(code, 0);
        let table = m.table("heap-layers").expect("layers").clone();
        let column = |id: &str| table.column(id).expect("a column").cells.clone();
        let bytes: u64 = column("bytes").iter().map(|c| c.number().unwrap().as_u64()).sum();
        assert_eq!(bytes, total(&m, "heap-bytes"));
        let names = column("layer").iter().map(|c| c.text().unwrap().to_owned()).collect();
        (names, m)
    };
    let (names, m): (Vec<String>, _) = layers(&[]);
    assert!(names.contains(&"application".to_owned()), "{names:?}");
    let at = |id: &str| m.sections.iter().position(|section| section.id == id);
    assert_eq!(at("heap-layers"), at("heap-threads").map(|at| at + 1));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("layers.toml");
    fs::write(&path, "[[layer]]\nname = \"all of it\"\nsymbol = [\"*\"]\n").unwrap();
    let (names, _): (Vec<String>, _) = layers(&["--layers", path.to_str().unwrap()]);
    assert_eq!(names, ["all of it"]);
}

/// Each fault of the firmware is a finding with the call chains that it has to do with.
#[test]
fn misuse_is_named_with_both_call_chains() {
    let (code, m) = measured(&["heap", &prebuilt("misuse"), "--until", "exit"]);
    assert_eq!(code, 0);
    let of = |code: &str| -> Vec<&str> {
        let all = m.findings.iter().filter(|finding| finding.code == code);
        all.map(|finding| finding.text.as_str()).collect()
    };
    let wild = of("wild-free");
    assert_eq!(wild.len(), 2);
    assert!(wild[0].contains("inside of a block") && wild[0].contains("free_inside"), "{wild:?}");
    assert!(wild[1].contains("free_no_block"), "{wild:?}");
    assert!(wild[1].contains("8 bytes into the variable no_block"), "{wild:?}");
    let in_handler = of("heap-in-handler");
    assert!(in_handler[0].contains("PendSV_Handler"));
    assert!(in_handler[0].starts_with("the allocator's "), "{in_handler:?}");
    assert!(of("failed-allocation")[0].contains("1000000 bytes"));
    let double = m.findings.iter().find(|finding| finding.code == "double-free").unwrap();
    assert!(double.text.contains("allocated at cycle") && double.text.contains("first freed"));
    let chains: Vec<&str> = double.evidence.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(chains, ["call chain", "allocated by", "freed by"]);
    // 24, 12 and 64 by malloc, 10 and 200 by realloc, 42 by calloc; the 64 is not freed.
    assert_eq!((total(&m, "heap-blocks"), total(&m, "heap-bytes")), (6, 352));
    assert_eq!((total(&m, "heap-live"), total(&m, "heap-peak")), (64, 242));
    let handlers = m.table("heap-threads").unwrap();
    let kinds = &handlers.column("kind").unwrap().cells;
    let handler = kinds.iter().position(|kind| kind.text() == Some("handler")).unwrap();
    let bytes = handlers.column("bytes").unwrap().cells[handler].number();
    assert_eq!(bytes.map(|bytes| bytes.as_u64()), Some(12));
}

/// Arguments in byte registers, addresses in a data space of their own.
#[test]
fn an_avr_has_a_heap_too() {
    let (code, m) = measured(&["heap", &prebuilt("heap-avr"), "--until", "20ms"]);
    assert_eq!(code, 0);
    let asked: u64 = (0..200).map(|n| 5 + n % 30).sum::<u64>() + 100;
    assert_eq!((total(&m, "heap-blocks"), total(&m, "heap-bytes")), (201, asked));
    assert_eq!((total(&m, "heap-live-blocks"), total(&m, "heap-failed")), (8, 1));
    assert_eq!(of_function(&m, "heap-sites", "go_round", "blocks"), 200);
    let last: u64 = (193..200).map(|n| 5 + n % 30).sum::<u64>() + 100;
    assert_eq!(total(&m, "heap-live"), last);
    let why = m.total("heap-largest-free").unwrap();
    assert_eq!(why.value(), None, "nobody knows where its memory ends");
}

#[test]
fn firmware_without_an_allocator_is_refused_with_advice() {
    let ran = strobe(&["heap", &prebuilt("blink")]);
    assert_eq!(ran.code, 65);
    for word in ["malloc", "pvPortMalloc", "--allocators"] {
        assert!(ran.stderr.contains(word), "{}", ran.stderr);
    }
}

/// A table of one's own: the wrapper is the outermost call then, and its callers the places.
#[test]
fn a_table_of_ones_own_comes_first() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records.toml");
    let table = "[[allocator]]\nname = \"records\"\nfunctions = [\n\
                 { names = [\"record_new\"], size = 0 },\n\
                 { names = [\"record_free\"], pointer = 0 },\n]\n";
    fs::write(&path, table).unwrap();
    let path = path.to_str().unwrap();
    let leaky = prebuilt("leaky");
    let (_, m) = measured(&["heap", &leaky, "--until", "finished", "--allocators", path]);
    assert_eq!(of_function(&m, "heap-sites", "record_new", "blocks"), 0);
    assert_eq!(of_function(&m, "heap-sites", "sensor_main", "blocks"), 160);
    fs::write(path, "[[allocator]]\nname = \"x\"\nfunctions = []\n").unwrap();
    let ran = strobe(&["heap", &leaky, "--allocators", path]);
    assert_eq!(ran.code, 65);
    assert!(ran.stderr.contains("it has no functions"), "{}", ran.stderr);
}

/// The sections reach the formats of other programs.
#[test]
fn heaps_are_exported() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("h.measurement");
    let file = file.to_str().unwrap();
    let ran = strobe(&["heap", &prebuilt("strings"), "--until", "exit", "-o", file]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = strobe(&["export", file, "--to", "collapsed", "--measure", "blocks"]);
    assert!(ran.stdout.contains("sort_strings"), "{}{}", ran.stdout, ran.stderr);
    let ran = strobe(&["export", file, "--to", "chrome"]);
    assert!(ran.stdout.contains("live bytes"), "{}", ran.stderr);
    let ran = strobe(&["report", file]);
    assert!(ran.stdout.contains("heap by call site"), "{}", ran.stdout);
}

/// Each access that must not be is a finding in the function that is named after it, and what only
/// looks like one is none.
#[test]
fn invalid_accesses_are_found_with_both_call_chains() {
    let (code, m) = measured(&["heap", &prebuilt("trespass"), "--until", "exit", "--check-memory"]);
    assert_eq!(code, 0);
    let codes = ["use-after-free", "heap-out-of-bounds", "uninitialised-read"];
    let found: Vec<(&str, String)> = m
        .findings
        .iter()
        .filter(|finding| codes.contains(&finding.code.as_str()))
        .map(|finding| {
            let place = finding.place.as_deref().unwrap_or_default();
            (finding.code.as_str(), place.split(' ').next().unwrap_or_default().to_owned())
        })
        .collect();
    let expected = [
        ("use-after-free", "read_after_free"),
        ("use-after-free", "write_after_free"),
        ("heap-out-of-bounds", "write_behind"),
        ("heap-out-of-bounds", "read_behind"),
        ("heap-out-of-bounds", "read_before"),
        ("uninitialised-read", "read_unwritten"),
        ("uninitialised-read", "read_unwritten_copy"),
    ];
    assert_eq!(found, expected.map(|(code, function)| (code, function.to_owned())));
    let of = |code: &str| m.findings.iter().find(|finding| finding.code == code).unwrap();
    let chains: Vec<&str> =
        of("use-after-free").evidence.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(chains, ["call chain", "allocated by", "freed by"]);
    assert!(of("use-after-free").text.contains("8 bytes into a freed block"));
    assert!(of("heap-out-of-bounds").text.contains("1 byte at"));
    assert!(of("heap-out-of-bounds").text.contains("right behind the end of a block"));
    let all = m.findings.iter().filter(|finding| codes.contains(&finding.code.as_str()));
    assert_eq!(total(&m, "heap-faults"), all.map(|finding| finding.count).sum::<u64>());
    // 200 of 400 bytes are never touched; what is, is written once and read three times.
    assert_eq!(of_function(&m, "heap-use", "use_a_part", "untouched"), 200);
    let table = m.table("heap-use").unwrap();
    let names = &table.column("function").unwrap().cells;
    let row = names.iter().position(|name| name.text() == Some("use_a_part")).unwrap();
    let figure = |id: &str| table.column(id).unwrap().cells[row].number().unwrap().as_f64();
    assert_eq!((figure("reads-per-byte"), figure("writes-per-byte")), (1.5, 0.5));
}

/// Checking changes nothing of what is measured otherwise, and firmware without faults has none.
#[test]
fn checking_memory_changes_no_figure() {
    for name in ["strings", "leaky", "heap-avr"] {
        let firmware = prebuilt(name);
        let (_, plain) = measured(&["heap", &firmware, "--until", "20ms"]);
        let (_, checked) = measured(&["heap", &firmware, "--until", "20ms", "--check-memory"]);
        for total in &plain.totals {
            assert_eq!(checked.total(&total.id), Some(&total.quantity), "{name}: {}", total.id);
        }
        for section in plain.sections.iter().filter(|section| section.id != "heap-calls") {
            assert_eq!(checked.section(&section.id), Some(section), "{name}");
        }
        assert_eq!(checked.findings, plain.findings, "{name}");
    }
    let ran = strobe(&["run", &prebuilt("strings"), "--check-memory"]);
    assert_eq!(ran.code, 64, "{}", ran.stderr);
}

/// What a run has measured, and what a board has recorded, have the same sections.
#[test]
fn heaps_of_measurements_and_archives_are_shown() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (run, plain) = (path("run.measurement"), path("plain.measurement"));
    let strings = prebuilt("strings");
    let ran = strobe(&["run", &strings, "--until", "exit", "--heap", "-o", &run]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let (code, m) = measured(&["heap", &run]);
    assert_eq!((code, total(&m, "heap-live-blocks")), (0, 0));
    assert!(m.sections.iter().all(|section| section.id.starts_with("heap")));
    assert!(m.section("heap-sites").is_some() && m.total("cycles").is_none());
    // The summary of a run without it shows how to get it.
    let ran = strobe(&["run", &strings, "--until", "exit", "-o", &plain]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = strobe(&["report", &plain]);
    assert!(ran.stdout.contains("heap peak") && ran.stdout.contains("--heap"), "{}", ran.stdout);
    let ran = strobe(&["heap", &plain]);
    assert_eq!(ran.code, 65);
    assert!(ran.stderr.contains("strobe run --heap"), "{}", ran.stderr);
    let ran = strobe(&["heap", &run, "--check-memory"]);
    assert_eq!(ran.code, 64);
    let ran = strobe(&["heap", &strings, "--elf", strings.as_str()]);
    assert_eq!(ran.code, 64);
    let text = path("itm.txt");
    fs::write(&text, strobe_synth::archive::allocations(2, 300).text).unwrap();
    let (code, m) = measured(&["heap", &text]);
    assert_eq!(code, 0);
    assert!(total(&m, "blocks") > 0);
    assert_eq!(m.total("heap-live").unwrap().value(), None, "it has no frees");
    let ran = strobe(&["heap", &path("nothing.elf")]);
    assert_eq!(ran.code, 66);
}

/// Between marks: what is allocated there, and what of it is left.
#[test]
fn windows_show_what_is_allocated_between_marks() {
    let marks = ["--from", "join_temporaries", "--to", "join_buffer"];
    let strings = prebuilt("strings");
    let (code, m) = measured(&[&["heap", &strings, "--until", "exit"][..], &marks].concat());
    assert_eq!(code, 0);
    let windows = m.table("heap-windows").expect("windows");
    let figure = |id: &str| windows.column(id).and_then(|c| c.cells[0].number()).unwrap().as_u64();
    // A string for the key, two to complete it, one for the text so far; and the first.
    assert_eq!((windows.len(), figure("blocks"), figure("freed-blocks")), (1, 161, 160));
    let grown = figure("live-end") - figure("live-begin");
    assert_eq!(grown, figure("bytes") - figure("freed"));
    let left = |function: &str, column| of_function(&m, "heap-window-sites", function, column);
    let sum: u64 =
        ["append", "join_temporaries", "concatenate"].iter().map(|f| left(f, "left")).sum();
    assert_eq!(sum, grown);
    assert_eq!(left("join_buffer", "blocks"), 0);
    // The rest is as without marks, and a run has the same.
    let (_, whole) = measured(&["heap", &strings, "--until", "exit"]);
    assert_eq!(m.section("heap-sites"), whole.section("heap-sites"));
    assert!(whole.section("heap-windows").is_none());
    let (_, run) =
        measured(&[&["run", &strings, "--heap", "--until", "exit"][..], &marks].concat());
    assert_eq!(run.section("heap-windows"), m.section("heap-windows"));
    let ran = strobe(&["heap", &strings, "--to", "join_buffer"]);
    assert!(ran.code == 64 && ran.stderr.contains("--from"), "{}", ran.stderr);
}

/// Samples are estimates, and the sums of all calls are exact.
#[test]
fn sampled_heaps_have_intervals() {
    let leaky = prebuilt("leaky");
    let (code, m) = measured(&["heap", &leaky, "--until", "finished", "--sample-bytes", "64"]);
    assert_eq!(code, 0);
    let (_, exact) = measured(&["heap", &leaky, "--until", "finished"]);
    let live = m.total("heap-live").expect("a total");
    let (low, high) = live.trust().bounds().expect("an interval");
    assert!((low.as_u64()..=high.as_u64()).contains(&total(&exact, "heap-live")), "{live:?}");
    assert_eq!(total(&m, "heap-calls"), total(&exact, "heap-blocks"));
    assert_eq!(total(&m, "heap-asked-bytes"), total(&exact, "heap-bytes"));
    assert_eq!(m.total("heap-peak").and_then(|peak| peak.value()), None);
    assert!(m.findings.iter().any(|f| f.code == "leak" && f.text.contains("record_new")));
    for wrong in [["--sample-bytes", "0"], ["--sample-bytes", "64k"]] {
        assert_eq!(strobe(&[&["heap", &leaky][..], &wrong].concat()).code, 64);
    }
    let both = strobe(&["heap", &leaky, "--sample-bytes", "64", "--check-memory"]);
    assert_eq!(both.code, 64, "{}", both.stderr);
}

/// Two chips with a heap and one without.
fn rig() -> tempfile::NamedTempFile {
    let chip = |name: &str, board: &str, firmware: &str| {
        let firmware = prebuilt(firmware);
        format!("[[chip]]\nname = {name:?}\nboard = {board:?}\nfirmware = {firmware:?}\n")
    };
    let chips = [
        chip("logger", "stm32f070cb", "leaky"),
        chip("node", "arduino-uno", "heap-avr"),
        chip("lamp", "stm32f070cb", "blink"),
    ];
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    write!(file, "name = \"heaps\"\n{}", chips.concat()).unwrap();
    file
}

/// Each chip of a rig has the heap that it has alone; one without an allocator has none.
#[test]
fn each_chip_of_a_rig_has_its_heap() {
    let rig = rig();
    let rig = rig.path().to_str().unwrap();
    let until = ["--until", "20ms"];
    let (code, heaps) = measured(&[&["heap", "--rig", rig][..], &until].concat());
    assert_eq!((code, heaps.parts.len()), (0, 3));
    for (name, firmware) in [("logger", "leaky"), ("node", "heap-avr")] {
        let (_, alone) = measured(&[&["heap", &prebuilt(firmware)][..], &until].concat());
        let chip = part(&heaps, name);
        assert!(total(chip, "heap-blocks") > 0, "{name}");
        for id in ["heap-blocks", "heap-bytes", "heap-peak"] {
            assert_eq!(chip.total(id), alone.total(id), "{name}: {id}");
        }
        assert!(chip.total("cycles").is_none(), "{name}");
        assert!(chip.sections.iter().all(|section| section.id.starts_with("heap")), "{name}");
    }
    let lamp = part(&heaps, "lamp");
    assert!(lamp.sections.is_empty());
    assert!(lamp.findings.iter().any(|f| f.code == "no-allocator"), "{:?}", lamp.findings);
    // A run has the same beside its profile, and `heap` reads it again.
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("rig.measurement");
    let file = file.to_str().unwrap();
    let ran = strobe(&[&["run", "--rig", rig, "--heap", "-o", file][..], &until].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let (_, again) = measured(&["heap", file]);
    for name in ["logger", "node"] {
        assert_eq!(part(&again, name).sections, part(&heaps, name).sections, "{name}");
    }
    // Without --heap the summary has the peak of each chip with a heap, which nobody has watched.
    let (_, run) = measured(&[&["run", "--rig", rig][..], &until].concat());
    assert_eq!(part(&run, "logger").total("heap-peak").map(|peak| peak.value()), Some(None));
    assert!(part(&run, "lamp").total("heap-peak").is_none());
}

#[test]
fn one_chip_of_a_rig_is_chosen_by_name() {
    let rig = rig();
    let rig = rig.path().to_str().unwrap();
    let of = |chip: &str| {
        strobe(&["heap", "--rig", rig, "--chip", chip, "--until", "5ms", "--measure", "bytes"])
    };
    let ran = of("node");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("== node ==") && !ran.stdout.contains("== logger =="));
    let ran = of("lamp");
    assert_eq!(ran.code, 65);
    assert!(ran.stderr.contains("chip lamp: the firmware has no memory"), "{}", ran.stderr);
    let echo = format!("{}/../../firmware/echo/echo.toml", env!("CARGO_MANIFEST_DIR"));
    let ran = strobe(&["heap", "--rig", &echo, "--until", "1ms"]);
    assert_eq!(ran.code, 65);
    assert!(ran.stderr.contains("no chip of the rig has a heap"), "{}", ran.stderr);
    // Marks are about the chosen chip.
    let marks = ["--from", "go_round", "--chip", "node", "--until", "5ms"];
    let (_, m) = measured(&[&["heap", "--rig", rig][..], &marks].concat());
    assert!(part(&m, "node").section("heap-windows").is_some());
    for wrong in [
        &["heap", &prebuilt("leaky"), "--chip", "node"][..],
        &["heap", &prebuilt("leaky"), "--rig", rig],
        &["heap", &prebuilt("leaky"), "--load", "node=x.elf"],
        &["heap", rig],
        &["heap", "--rig", rig, "--board", "arduino-uno"],
        &["heap", "--rig", rig, "--until", "1ms", "--measure", "nonsense"],
        &["heap"],
    ] {
        assert_eq!(strobe(wrong).code, 64, "{wrong:?}");
    }
}
