//! What budgets can be about: the heap of functions and windows, the timing of pins, sizes by
//! layer.

use std::fs;
use std::process::Command;

use strobe_model::measurement::Measurement;
use tempfile::TempDir;

use crate::check::{budget, check, project, verdicts};
use crate::common::{command, ran, read};

/// Budgets that hold only if each figure is what it must be, as `(keys, value)`.
fn exactly(figures: &[(&str, &str)]) -> String {
    let one = |(keys, value): &(&str, &str)| {
        budget(&format!("{keys}\nmin = \"{value}\"\nmax = \"{value}\""))
    };
    figures.iter().map(one).collect()
}

fn held(folder: &TempDir) -> Measurement {
    let ran = check(folder, &["--format", "json"]);
    let measurement = read(&ran);
    let texts: Vec<&str> = measurement.findings.iter().map(|finding| &*finding.text).collect();
    assert_eq!(ran.code, 0, "{texts:#?}\n{}", ran.stderr);
    measurement
}

fn texts(measurement: &Measurement) -> Vec<&str> {
    measurement.findings.iter().map(|finding| &*finding.text).collect()
}

/// As the source of `strings` has it: 40 pairs of 590 characters in all, 500 records of 8 bytes.
#[test]
fn heaps_of_calls_are_what_the_source_asks_for() {
    let of =
        |function: &str, figure: &str| format!("function = \"{function}\"\nfigure = \"{figure}\"");
    let window = "window = { from = \"join_temporaries\", to = \"join_buffer\" }\nfigure = ";
    let figures = [
        (of("sort_strings", "call-allocations-max"), "501"),
        (of("sort_strings", "call-allocated-max"), "6000 B"),
        (of("sort_strings", "call-heap-peak"), "6000 B"),
        (of("sort_strings", "call-left-max"), "0 B"),
        (of("sort_strings", "allocations"), "501"),
        (of("sort_strings", "allocated"), "6000 B"),
        (of("sort_buffer", "call-heap-peak"), "5000 B"),
        (of("join_buffer", "call-allocations-mean"), "1"),
        (of("join_buffer", "call-left-max"), "591 B"),
        (of("join_temporaries", "call-left-max"), "591 B"),
        (of("main", "allocations"), "665"),
        (of("compare_strings", "allocations"), "0"),
        (format!("{window}\"allocations-max\""), "161"),
        (format!("{window}\"left-max\""), "591 B"),
        ("heap = true\nfigure = \"allocations\"".to_owned(), "665"),
        ("heap = true\nfigure = \"leaks\"".to_owned(), "0"),
    ];
    let figures: Vec<(&str, &str)> =
        figures.iter().map(|(keys, value)| (&**keys, *value)).collect();
    let folder = project("strings", &exactly(&figures));
    let path = folder.path().join("strobe.toml");
    let text = fs::read_to_string(&path).unwrap().replace("\"finished\"", "\"exit\"");
    fs::write(&path, text).unwrap();
    held(&folder);
}

#[test]
fn a_heap_that_grew_names_those_that_allocate() {
    let budgets = [
        budget("function = \"sort_strings\"\nfigure = \"call-heap-peak\"\nmax = \"5999 B\""),
        budget("heap = true\nmax = \"1 B\""),
        budget("function = \"sort_strngs\"\nfigure = \"allocations\"\nmax = \"1\""),
        budget("function = \"sort_strngs\"\nfigure = \"call-heap-peak\"\nmax = \"1 B\""),
    ];
    let folder = project("strings", &budgets.concat());
    let path = folder.path().join("strobe.toml");
    let text = fs::read_to_string(&path).unwrap().replace("\"finished\"", "\"exit\"");
    fs::write(&path, text).unwrap();
    let measurement = read(&check(&folder, &["--format", "json"]));
    assert_eq!(verdicts(&measurement), [0, 2, 0, 0, 2], "{:?}", texts(&measurement));
    for finding in &measurement.findings[..2] {
        let (_, shares) = &finding.evidence[0];
        assert!(shares.iter().any(|(name, _)| name == "concatenate"), "{shares:?}");
    }
    for text in &texts(&measurement)[2..] {
        assert!(text.contains("nearest: sort_strings"), "{text}");
    }
}

/// Budgets of anything else are judged all the same.
#[test]
fn heap_budget_without_an_allocator_fails() {
    let budgets = [
        budget("heap = true\nmax = \"1 KiB\""),
        budget("function = \"main\"\nfigure = \"allocations\"\nmax = \"0\""),
        budget("total = \"cycles\"\nmax = \"1 s\""),
    ];
    let folder = project("loop-48mhz", &budgets.concat());
    let ran = check(&folder, &["--format", "json"]);
    assert_eq!(ran.code, 65, "{}", ran.stderr);
    let measurement = read(&ran);
    assert_eq!(verdicts(&measurement), [1, 0, 0, 0, 2]);
    assert!(texts(&measurement)[0].contains("no memory allocator"), "{:?}", texts(&measurement));
}

/// On an AVR everything is exact: the founding loop's pulses of 1,022 cycles at 16 MHz.
#[test]
fn a_pin_has_period_frequency_and_duty() {
    let of = |figure: &str| format!("pin = \"PD1\"\nfigure = \"{figure}\"");
    let budgets = [
        budget(&format!("{}\nmin = \"63.875 us\"\nmax = \"63.875 us\"", of("high-max"))),
        budget(&format!("{}\nmin = \"50 %\"\nmax = \"99 %\"", of("duty-mean"))),
        budget(&format!("{}\nmin = \"1 kHz\"\nmax = \"16 kHz\"", of("frequency-mean"))),
        budget(&format!("{}\nmax = \"1 ms\"", of("period-max"))),
        // One that never moves, one that the board has not, and a symbol that is not there.
        budget("pin = \"PD2\"\nfigure = \"duty-mean\"\nmax = \"99 %\""),
        budget("pin = \"PX9\"\nmax = \"1 ms\""),
        budget("mark = \"no_such_symbol\"\nmax = \"1 ms\""),
        budget(&format!("{}\nmax = \"1 kHz\"", of("frequency-min"))),
    ];
    let folder = project("loop-avr", &budgets.concat());
    let path = folder.path().join("strobe.toml");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("until = \"finished\"", "board = \"arduino-uno\"\nuntil = \"10ms\"");
    fs::write(&path, text).unwrap();
    let ran = check(&folder, &["--format", "json"]);
    let measurement = read(&ran);
    let texts = texts(&measurement);
    assert_eq!(verdicts(&measurement), [4, 1, 0, 0, 3], "{texts:?}");
    for word in ["PX9", "no_such_symbol"] {
        assert!(texts.iter().any(|text| text.contains("no ") && text.contains(word)), "{texts:?}");
    }
}

/// The same budget of a run and of a capture of that run.
#[test]
fn captured_pin_is_judged_as_a_simulated_one() {
    let figures = ["frequency-mean", "frequency-min", "duty-mean", "period-p99", "low-mean"];
    let each = figures.map(|figure| {
        let keys = format!("pin = \"PB8\"\nfigure = \"{figure}\"\nmax = \"1 ns\"");
        let keys = match figure {
            "duty-mean" => keys.replace("1 ns", "1 %"),
            figure if figure.starts_with("frequency") => keys.replace("1 ns", "1 Hz"),
            _ => keys,
        };
        budget(&keys) + &budget(&format!("{keys}\nof = \"pins\"\nname = \"{figure} of a capture\""))
    });
    let head = "measurement.pins = { file = \"p.measurement\" }\n";
    let folder = project("loop-48mhz", &format!("{head}{}", each.concat()));
    let mut pins = command();
    pins.args(["pins", "fw.elf", "PB8", "--until", "finished", "-q", "-o", "p.measurement"]);
    assert_eq!(ran(pins.current_dir(folder.path())).code, 0);
    let measurement = read(&check(&folder, &["--format", "json"]));
    assert_eq!(verdicts(&measurement), [0, 10, 0, 0, 0], "{:?}", texts(&measurement));
    for table in ["budgets-hertz", "budgets-percent", "budgets-nanoseconds"] {
        let values = measurement.table(table).unwrap().column("value").unwrap();
        let values: Vec<f64> =
            values.cells.iter().map(|cell| cell.number().unwrap().as_f64()).collect();
        for pair in values.chunks(2) {
            let apart = (pair[0] - pair[1]).abs() / pair[0];
            assert!(apart < 1e-3, "{table}: {values:?}");
        }
    }
}

/// A layer's symbols are named, and no others.
#[test]
fn sizes_by_layer_name_its_symbols() {
    let layer = |name: &str| budget(&format!("size = \"layer/{name}\"\nmax = \"1 B\""));
    let folder = project("threads-freertos", &(layer("C library") + &layer("application")));
    let measurement = read(&check(&folder, &["--format", "json"]));
    assert_eq!(verdicts(&measurement), [0, 2, 0, 0, 0]);
    let names = |at: usize| {
        let (_, shares) = &measurement.findings[at].evidence[0];
        shares.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>()
    };
    assert!(names(0).contains(&"memcpy"), "{:?}", names(0));
    assert!(!names(0).contains(&"semaphore_take"), "{:?}", names(0));
    assert!(names(1).contains(&"semaphore_take"), "{:?}", names(1));
    assert!(!names(1).contains(&"memcpy"), "{:?}", names(1));
}

/// What grew since another revision comes before what shrank by more.
#[test]
fn a_layer_that_grew_names_what_grew() {
    let keys = "size = \"layer/application\"\nmax = \"+0 %\"";
    let folder = project("pairs", &budget(keys));
    assert_eq!(check(&folder, &["--accept"]).code, 0);
    fs::copy(crate::common::prebuilt("pairs-slow"), folder.path().join("fw.elf")).unwrap();
    let measurement = read(&check(&folder, &["--format", "json"]));
    let (title, shares) = &measurement.findings[0].evidence[0];
    assert!(title.contains("changed"), "{title}");
    assert!(!shares.is_empty(), "{shares:?}");
}

#[test]
fn first_file_offers_valid_heap_and_pin_comments() {
    for (firmware, board, words) in [
        ("leaky", "stm32f070cb", ["# heap = true", "call-heap-peak"]),
        ("loop-avr", "arduino-uno", ["# pin = ", "frequency-mean"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::copy(crate::common::prebuilt(firmware), folder.path().join("fw.elf")).unwrap();
        let mut init: Command = command();
        init.args(["init", "fw.elf", "--until", "20ms", "--board", board]);
        let made = ran(init.current_dir(folder.path()));
        assert_eq!(made.code, 0, "{}", made.stderr);
        let path = folder.path().join("strobe.toml");
        let text = fs::read_to_string(&path).unwrap();
        words.iter().for_each(|word| assert!(text.contains(word), "{word}: {text}"));
        // Every comment behind the first budget that is none in words is one.
        let keys =
            ["# [[", "# heap =", "# pin =", "# function =", "# figure =", "# max =", "# min ="];
        let line = |line: &str| {
            if keys.iter().any(|key| line.starts_with(key)) {
                format!("{}\n", line.trim_start_matches("# "))
            } else {
                format!("{line}\n")
            }
        };
        let text: String = text.lines().map(line).collect();
        fs::write(&path, &text).unwrap();
        let ran = check(&folder, &[]);
        assert_eq!(ran.code, 0, "{text}\n{}{}", ran.stdout, ran.stderr);
    }
}

/// Who held an interrupt back is the function that ran in the worst case, not the largest one.
#[test]
fn a_late_interrupt_names_who_it_waited_for() {
    let keys = budget("interrupt = \"TIM3\"\nmax = \"1 cycle\"");
    let folder = project("threads-freertos", &keys);
    let ran = check(&folder, &["--format", "json"]);
    assert_eq!(ran.code, 110, "{}", ran.stderr);
    let measurement = read(&ran);
    let (title, functions) = &measurement.findings[0].evidence[0];
    assert_eq!((title.as_str(), functions.len()), ("functions responsible", 1), "{functions:?}");
    let value = texts(&measurement)[0];
    assert!(value.contains(&format!("latency-max: ~{} cycles (", functions[0].1)), "{value}");
}

/// Debug information has the paths of the machine that built the firmware.
#[test]
fn files_are_found_by_the_end_of_their_path() {
    let of = |path: &str| budget(&format!("size = \"{path}\"\nmax = \"1 B\""));
    let keys = [of("file/threads/kernel.c"), of("file/ernel.c"), of("directory/threads")];
    let folder = project("threads-freertos", &keys.concat());
    let measurement = read(&check(&folder, &["--format", "json"]));
    assert_eq!(verdicts(&measurement), [0, 2, 0, 0, 1]);
    let texts = texts(&measurement);
    assert!(texts[1].contains("no row of files `ernel.c`"), "{texts:?}");
    let (_, symbols) = &measurement.findings[0].evidence[0];
    assert!(!symbols.is_empty());
}
