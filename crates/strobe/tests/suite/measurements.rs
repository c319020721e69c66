//! Measurements as files: every command writes one, `report`, `compare` and `export` read any.

use std::fs;
use std::path::{Path, PathBuf};

use strobe_model::measurement::{Content, Measurement};
use strobe_report::file;

use crate::common::{measured, prebuilt, root, strobe, total};

/// Writes one and reads it: the library holds it to what a measurement promises.
fn written(directory: &Path, name: &str, arguments: &[&str]) -> (PathBuf, Measurement) {
    let path = directory.join(name);
    let ran = strobe(&[arguments, &["-o", path.to_str().unwrap()]].concat());
    assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.stderr);
    assert_eq!(ran.stdout, "");
    let measurement = read(&path);
    (path, measurement)
}

fn read(path: &Path) -> Measurement {
    match file::read(&fs::read(path).unwrap()) {
        Ok(measurement) => measurement,
        other => panic!("{}: {other:?}", path.display()),
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn every_command_writes_one_and_report_shows_it() {
    let directory = tempfile::tempdir().unwrap();
    let docs = root().join("docs/captures");
    let [serial, pin, events] =
        ["serial.vcd", "pin.strobe", "events"].map(|name| docs.join(name).display().to_string());
    let (loop_elf, threads) = (prebuilt("loop-48mhz"), prebuilt("threads"));
    let (nuttx, fault) = (prebuilt("threads-nuttx"), prebuilt("fault"));
    let cases: [(&str, &[&str], &str); 9] = [
        ("run", &["run", &loop_elf, "--until", "finished", "--mark", "PB8"], "~21,830"),
        ("cycles", &["cycles", &loop_elf, "test_loop", "--wait-states", "1"], "080000ca"),
        ("pins", &["pins", &serial], "RX high"),
        ("against", &["pins", &serial, "--against", &serial], "RX"),
        ("bus", &["bus", &serial, "-P", "uart:rx=RX"], "framing error"),
        ("plan", &["plan", "--clock", "168MHz", "--baud", "2M"], "TPIU_ACPR"),
        ("events", &["report", &events], "thread"),
        ("pin", &["report", &pin, "--elf", &nuttx], "(asleep)"),
        ("threads", &["run", &threads, "--until", "20ms", "--timeline"], "PendSV"),
    ];
    for (name, arguments, shown) in cases {
        let (path, _) = written(directory.path(), &format!("{name}.measurement"), arguments);
        let report = strobe(&["report", text(&path)]);
        assert_eq!(report.code, 0, "{name}: {}", report.stderr);
        assert!(report.stdout.contains(shown), "{name}: {shown} in\n{}", report.stdout);
        // The same input gives the same bytes, compressed ones as well, and a report of a
        // measurement as one is the same again.
        let packed = directory.path().join(format!("{name}.measurement.gz"));
        assert_eq!(strobe(&["report", text(&path), "-o", text(&packed)]).code, 0);
        assert!(fs::metadata(&packed).unwrap().len() * 2 < fs::metadata(&path).unwrap().len());
        assert_eq!(read(&packed), read(&path), "{name}");
    }
    let path = directory.path().join("fault.measurement");
    assert_eq!(strobe(&["run", &fault, "-o", text(&path)]).code, 120);
    assert!(strobe(&["report", text(&path)]).stdout.contains("HardFault"));
}

#[test]
fn figures_are_those_of_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let elf = prebuilt("loop-48mhz");
    let run = ["run", &elf, "--until", "finished"];
    let (path, measurement) = written(directory.path(), "run.measurement", &run);
    let cycles = total(&measurement, "cycles").as_u64();
    let profile = measurement.profiles().next().unwrap();
    assert_eq!(profile.leaves.of("cycles").unwrap().sum() as u64, cycles);
    assert_eq!(profile.chains.of("cycles").unwrap().sum() as u64, cycles);
    assert_eq!(measured(&run), (0, measurement));
    // Text or JSON, the run itself shows what is read from its file.
    assert_eq!(strobe(&["report", text(&path)]).stdout, strobe(&run).stdout);
    let json = directory.path().join("run.json");
    assert_eq!(strobe(&[&run[..], &["-o", text(&json)]].concat()).code, 0);
    assert_eq!(fs::read(&json).unwrap(), fs::read(&path).unwrap());
}

#[test]
fn short_ones_still_hold_together() {
    let directory = tempfile::tempdir().unwrap();
    let run = ["run", &prebuilt("threads"), "--until", "50ms", "--timeline"];
    let (whole, _) = written(directory.path(), "whole.measurement", &run);
    let top = [&run[..], &["--top", "3"]].concat();
    let (short, measurement) = written(directory.path(), "short.measurement", &top);
    let length = |path: &Path| fs::metadata(path).unwrap().len();
    assert!(length(&short) * 3 < length(&whole), "{} {}", length(&short), length(&whole));
    let table = measurement.table("profile").expect("functions instead of samples");
    assert_eq!(table.len(), 3);
    // What is left out has a row of its own: the sum is the whole's.
    let of = |cells: &[strobe_model::measurement::Cell]| cells[1].number().unwrap().as_u64();
    let rows: u64 =
        table.column("self").unwrap().cells.iter().map(|c| c.number().unwrap().as_u64()).sum();
    let [others, all] = table.footer.as_slice() else { panic!("{:?}", table.footer) };
    assert_eq!(rows + of(others), of(all));
    let fields = [&run[..], &["--fields", "interrupts"]].concat();
    let (_, only) = written(directory.path(), "only.measurement", &fields);
    assert!(matches!(only.sections.as_slice(), [one] if matches!(one.content, Content::Table(_))));
    let wrong = strobe(&[&run[..], &["--fields", "heap", "--format", "measurement"]].concat());
    assert_eq!(wrong.code, 64);
    assert!(wrong.stderr.contains("there are") && wrong.stderr.contains("interrupts"));
}

#[test]
fn two_are_compared_whoever_wrote_them() {
    let directory = tempfile::tempdir().unwrap();
    let run = |name: &str, elf: &str| {
        written(directory.path(), name, &["run", &prebuilt(elf), "--until", "finished"]).0
    };
    let a = run("a.measurement", "loop-48mhz");
    let b = run("b.measurement", "loop-48mhz-aligned");
    let same = strobe(&["compare", text(&a), text(&a)]);
    assert_eq!(same.code, 0, "{}", same.stderr);
    let out = directory.path().join("c.measurement");
    assert_eq!(strobe(&["compare", text(&a), text(&b), "-o", text(&out)]).code, 0);
    let compared = read(&out);
    assert_eq!(compared.subject.kind, "comparison");
    assert_eq!(compared.parts.len(), 2);
    let shown = strobe(&["report", text(&out)]).stdout;
    assert!(shown.contains("test_loop"), "{shown}");
    // A firmware beside a measurement is run first.
    let mixed = strobe(&["compare", text(&a), &prebuilt("loop-48mhz"), "--until", "finished"]);
    assert_eq!(mixed.code, 0, "{}", mixed.stderr);
}

#[test]
fn a_run_is_exported_in_every_format_of_profiles() {
    let directory = tempfile::tempdir().unwrap();
    let run = ["run", &prebuilt("loop-48mhz"), "--until", "finished", "--timeline"];
    let (path, measurement) = written(directory.path(), "run.measurement", &run);
    let cycles = total(&measurement, "cycles").as_u64();
    for format in
        ["pprof", "collapsed", "flamegraph", "speedscope", "firefox", "callgrind", "chrome"]
    {
        let out = directory.path().join(format);
        let ran = strobe(&["export", text(&path), "--to", format, "-o", text(&out)]);
        assert_eq!(ran.code, 0, "{format}: {}", ran.stderr);
        assert!(fs::metadata(&out).unwrap().len() > 100, "{format}");
    }
    let collapsed = fs::read_to_string(directory.path().join("collapsed")).unwrap();
    let count = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
    assert_eq!(collapsed.lines().map(count).sum::<u64>(), cycles);
}

#[test]
fn broken_ones_are_refused_with_one_message() {
    let directory = tempfile::tempdir().unwrap();
    let run = ["run", &prebuilt("loop-0ws"), "--until", "finished"];
    let (path, _) = written(directory.path(), "run.measurement", &run);
    let whole = fs::read_to_string(&path).unwrap();
    let refused = |bytes: &[u8], words: &str| {
        fs::write(&path, bytes).unwrap();
        let ran = strobe(&["report", text(&path)]);
        assert_eq!(ran.code, 65, "{words}: {}", ran.stdout);
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    };
    refused(&whole.as_bytes()[..whole.len() / 2], "not a measurement");
    refused(whole.replace("measurement/1", "measurement/7").as_bytes(), "update this one");
    refused(b"{\"schema\": \"strobe-events/1\"}", "strobe reads strobe-measurement/1");
    let (head, tail) = whole.split_once("\"stacks\":{\"parent\":[").expect("stacks");
    let (_, rest) = tail.split_once(']').unwrap();
    refused(format!("{head}\"stacks\":{{\"parent\":[]{rest}").as_bytes(), "sections.profile");
}

#[test]
fn firmware_and_recordings_are_exported_directly() {
    let directory = tempfile::tempdir().unwrap();
    let (elf, nuttx) = (prebuilt("loop-48mhz"), prebuilt("threads-nuttx"));
    let pin = root().join("docs/captures/pin.strobe").display().to_string();
    let cases: [(&[&str], u64); 2] = [
        // As many cycles as `strobe run` counts, and as many samples as came.
        (&[&elf, "--until", "finished"], 23_734),
        (&[&pin, "--elf", &nuttx], 1_563),
    ];
    for (input, total) in cases {
        let export = |format: &str| {
            let out = directory.path().join(format);
            let to = ["--to", format, "-o", text(&out)];
            let ran = strobe(&[&["export"], input, &to[..]].concat());
            assert_eq!(ran.code, 0, "{input:?} {format}: {}", ran.stderr);
            fs::read_to_string(out).unwrap()
        };
        let count = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
        assert_eq!(export("collapsed").lines().map(count).sum::<u64>(), total, "{input:?}");
        assert!(export("chrome").contains("\"ph\": \"X\""), "{input:?} has a time line");
    }
}

/// What a model of waiting decides is nowhere stated as exact: neither how often a loop went round
/// nor the sums of it, in tables of people or of programs.
#[test]
fn how_often_waits_go_round_has_bounds_as_well() {
    let directory = tempfile::tempdir().unwrap();
    let elf = prebuilt("loop-48mhz");
    let arguments = ["run", &elf, "--until", "finished"];
    let (path, measurement) = written(directory.path(), "run.measurement", &arguments);
    let total = measurement.total("instructions").expect("instructions");
    let (low, high) = total.trust().bounds().expect("the clock's start is waited for");
    let profile = measurement.profiles().next().expect("a profile");
    let executions = profile.leaves.of("executions").expect("executions");
    // Where flash is slow, the same time has room for fewer turns.
    let ends = [&executions.high, &executions.low].map(|ends| ends.iter().sum::<i64>() as f64);
    assert_eq!(ends, [low.as_f64(), high.as_f64()]);
    let document: serde_json::Value =
        serde_json::from_slice(&fs::read(&path).unwrap()).expect("JSON");
    let columns = document["views"]["functions"][0]["table"]["columns"].as_array().expect("a view");
    let of = |id: &str| columns.iter().find(|column| column["id"] == id).expect("a column");
    let cells = of("executions")["cells"].as_array().expect("cells");
    assert!(cells.iter().any(|cell| cell.is_object()), "some are modelled: {cells:?}");
    assert!(cells.iter().any(|cell| cell.is_number()), "some are exact: {cells:?}");
    let shown = strobe(&["report", text(&path)]).stdout;
    assert!(shown.contains(" ~13,684 "), "{shown}");
}

/// Options that a measurement has no use for, functions that it does not have, other encodings.
#[test]
fn inapplicable_options_of_a_measurement_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let elf = prebuilt("blink");
    let arguments = ["run", &elf, "--until", "1ms"];
    let (path, _) = written(directory.path(), "run.measurement", &arguments);
    let refused: [(&[&str], &str); 6] = [
        (&["--from", "5"], "--from is for streams"),
        (&["--clock", "16MHz"], "--clock is for streams"),
        (&["--elf", &elf], "--elf is for streams"),
        (&["--idle", "main"], "--idle is for streams"),
        (&["--annotate", "main"], "no disassembly"),
        (&["--thread", "nobody"], "nobody"),
    ];
    for (options, why) in refused {
        let ran = strobe(&[&["report", text(&path)], options].concat());
        assert_eq!((ran.code, ran.stderr.contains(why)), (64, true), "{options:?}: {}", ran.stderr);
    }
    let ran = strobe(&["compare", text(&path), text(&path), "--until", "5ms"]);
    assert_eq!((ran.code, ran.stderr.contains("--until is for firmware")), (64, true));
    let of_pins = ["pins", &elf, "PA5", "--until", "1ms"];
    let (pins, _) = written(directory.path(), "pins.measurement", &of_pins);
    for options in [&["--by", "line"][..], &["--tree"], &["--treemap"]] {
        let ran = strobe(&[&["report", text(&pins)], options].concat());
        let why = format!("{} is about profiles", options.join(" "));
        assert_eq!((ran.code, ran.stderr.contains(&why)), (64, true), "{}", ran.stderr);
    }
    let attached = [&arguments[..], &["--attach", "disassembly"]].concat();
    let (listed, _) = written(directory.path(), "listed.measurement", &attached);
    let annotated = |name: &str| strobe(&["report", text(&listed), "--annotate", name]);
    assert_eq!(annotated("main").code, 0);
    let ran = annotated("nosuch");
    assert_eq!((ran.code, ran.stderr.contains("no function nosuch")), (64, true), "{}", ran.stderr);
    // As editors and shells of Windows write it.
    let json = fs::read_to_string(&path).unwrap();
    let marked = directory.path().join("marked.measurement");
    fs::write(&marked, format!("\u{feff}{json}")).unwrap();
    assert_eq!(strobe(&["report", text(&marked)]).stdout, strobe(&["report", text(&path)]).stdout);
    let wide: Vec<u8> =
        format!("\u{feff}{json}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(&marked, wide).unwrap();
    let ran = strobe(&["report", text(&marked)]);
    assert_eq!((ran.code, ran.stderr.contains("UTF-16")), (65, true), "{}", ran.stderr);
}

/// Functions are named or given by address, and a pin alone rises, wherever places are asked for.
#[test]
fn places_are_spelled_alike() {
    let elf = prebuilt("loop-48mhz");
    let until = ["run", &elf, "--until", "finished", "--format", "json"];
    let by = |options: &[&str]| {
        let ran = strobe(&[&until, options].concat());
        assert_eq!(ran.code, 0, "{options:?}: {}", ran.stderr);
        serde_json::from_str::<Measurement>(&ran.stdout).expect("a measurement")
    };
    let [address, name] = ["0x80000c0", "test_loop"];
    assert!(by(&["--calls", address]).sections == by(&["--calls", name]).sections);
    assert!(by(&["--idle", address]).sections == by(&["--idle", name]).sections);
    let [alone, rising] = ["PB8", "PB8=1"].map(|from| by(&["--from", from, "--to", "PB8:fall"]));
    assert!(alone.profiles().eq(rising.profiles()));
    assert_eq!(alone.window.entries, Some(10));
    let ran = strobe(&["run", &elf, "--until", "PB99"]);
    assert_eq!((ran.code, ran.stderr.contains("PB99")), (64, true), "{}", ran.stderr);
}
