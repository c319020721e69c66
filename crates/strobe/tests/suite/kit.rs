//! The kit for the target (`firmware/kit/trace`): what it sends, what a call of it costs, and that
//! nothing of it is left when it is off.

mod cost;
mod rtt;

use crate::common::recorded::{
    balance, column, ended, fact, figure, findings, functions, lines, recorded, row, rows, spent,
    spread, unattributed,
};
use crate::common::{array, number, prebuilt, strobe};
use serde_json::Value;
use strobe_model::measurement::Measurement;

/// Ports 30 and 31, at 2 Mbaud.
const WRITES: [&str; 8] = [
    "0xe000edfc=0x01000000",
    "0xe0042004=0x20",
    "0xe0040010=83",
    "0xe00400f0=2",
    "0xe0040304=0x100",
    "0xe0000fb0=0xc5acce55",
    "0xe0000e00=0xc0000000",
    "0xe0000e80=0x1000b",
];

/// Records that the program makes: 81 ticks and the last mark, 20 of the burst, 40 rounds of six
/// ends and begins and two values, and five short texts.
const RECORDS: u64 = 81 + 1 + 20 + 40 * 8 + 5;

/// A run that ends well.
fn run(firmware: &str, more: &[&str]) -> Measurement {
    recorded(&[&["run", firmware, "--quiet"], more].concat())
}

fn simulated(traced: bool) -> Measurement {
    let mut arguments = vec!["--board", "stm32f407", "--until", "finished"];
    let writes = WRITES.iter().filter(|_| traced);
    writes.for_each(|write| arguments.extend(["--trace-write", write]));
    run(&prebuilt("trace-kit"), &arguments)
}

/// The only row of the kit's own sums.
fn kit(report: &Measurement) -> Value {
    rows(report, "kit-records").remove(0)
}

/// The text of a channel, by its place.
fn channel_text(report: &Measurement, place: usize) -> Vec<String> {
    let channel = &rows(report, "kit-channels")[place];
    lines(report, &format!("kit-channel-{}", channel["id"])).to_vec()
}

#[test]
fn firmware_events_are_reported_by_name() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("kit.strobe").display().to_string();
    let firmware = prebuilt("trace-kit");
    let source = ["record", "sim:stm32f407", "--elf", &firmware, "-q", "-o", &file];
    let pin = ["--clock", "168M", "--baud", "2M", "--period", "none", "--timestamps", "1"];
    let ran = strobe(&[&source[..], &pin, &["--port", "30", "--port", "31"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let report = decoded(&file, &firmware, &[]);
    let kit = kit(&report);

    // The burst is what the pin cannot carry, and all that is missing.
    let (came, lost) = (number(&kit["records"]), number(&kit["missing"]));
    assert_eq!(came + lost, RECORDS);
    assert!((10..20).contains(&lost) && number(&kit["places"]) == 1, "{lost} lost");
    assert_eq!(number(&kit["unusable"]), 0);
    let named = |list: &str, name: &str| row(&report, list, name);
    assert_eq!(number(&named("kit-marks", "tick")["count"]), 82);
    assert_eq!(number(&named("kit-marks", "burst")["count"]) + lost, 20);
    assert_eq!(number(&named("kit-values", "level")["count"]), 40);
    assert!(named("kit-values", "error")["min"].as_i64() < Some(0));
    assert_eq!(named("kit-channels", "log")["bytes"], 15);
    assert_eq!(channel_text(&report, 0), ["on"; 5]);

    // The simulation's figure for the same function, plus the call and the records' own time.
    let (cycles, calls) = spent(&simulated(true), "filter");
    let filter = named("kit-regions", "filter");
    assert_eq!((calls, number(&filter["exact"])), (40, 40));
    let longer = spread(&report, "kit-durations", "filter").sum() / 40 - cycles / 40;
    assert!((5..60).contains(&longer), "{longer}");

    let ran = strobe(&["report", &file, "--elf", &firmware]);
    for line in
        ["missing, in 1 place", "  filter\n", "  tick\n", "  level\n", "channel log\n  | on\n"]
    {
        assert!(ran.stdout.contains(line), "{line}\n{}", ran.stdout);
    }
    // Without the firmware nobody knows that these are records.
    let ran = strobe(&["report", &file]);
    let port = report_of(&["report", &file]);
    assert!(column(&port, "ports", "port").contains(&30), "{}", ran.stdout);
    assert!(port.section("kit-records").is_none() && ran.stdout.contains("stimulus ports"));
}

/// Twenty rounds of two regions, two values and a mark, and a text.
fn is_of_the_crate(report: &Measurement) {
    let kit = kit(report);
    assert_eq!((number(&kit["records"]), number(&kit["missing"])), (20 * 7 + 1, 0));
    let regions = rows(report, "kit-regions");
    assert!(regions.iter().all(|r| number(&r["exact"]) == 20 && number(&r["unmatched"]) == 0));
    assert_eq!((&regions[0]["region"], &regions[1]["region"]), (&"round".into(), &"work".into()));
    assert_eq!(rows(report, "kit-values")[1]["min"].as_i64(), Some(-19));
    assert_eq!(channel_text(report, 0), ["ok"]);
}

/// The crate's records are the source's.
#[test]
fn the_crate_writes_the_same() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("kit.strobe").display().to_string();
    let firmware = prebuilt("trace-kit-rs");
    let source = ["record", "sim:stm32f407", "--elf", &firmware, "-q", "-o", &file];
    let pin = ["--clock", "16M", "--baud", "2M", "--period", "none", "--timestamps", "1"];
    let ran = strobe(&[&source[..], &pin, &["--port", "30", "--port", "31"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    is_of_the_crate(&decoded(&file, &firmware, &[]));
    let run = run(&firmware, &["--board", "stm32f407", "--until", "finished"]);
    for (function, most) in
        [("strobe_trace::kit::way::record", 32), ("strobe_trace::kit::way::value", 36)]
    {
        let (cycles, times) = spent(&run, function);
        println!("{function}: {}.{} cycles", cycles / times, cycles * 10 / times % 10);
        assert!(cycles <= most * times, "{function}: {cycles} in {times} calls");
    }
}

/// The report of a file.
fn decoded(file: &str, firmware: &str, more: &[&str]) -> Measurement {
    report_of(&[&["report", file, "--elf", firmware], more].concat())
}

fn report_of(arguments: &[&str]) -> Measurement {
    recorded(arguments)
}

/// What comes out of a simulated serial port while the firmware runs, in a file.
fn over_uart(directory: &tempfile::TempDir, board: &str, firmware: &str, port: &str) -> String {
    let file = directory.path().join("kit.bytes").display().to_string();
    let port = format!("{port}=file:{file}");
    let ran = strobe(&["run", firmware, "--board", board, "--until", "finished", "--uart", &port]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    file
}

/// Records of `trace-kit/small.c`: forty rounds of seven, and five short texts.
const SMALL: u64 = 40 * 7 + 5;

/// Everything that `trace-kit/small.c` sends, with nothing lost.
fn is_small(report: &Measurement, transport: &str) {
    let kit = kit(report);
    assert_eq!(
        (number(&kit["records"]), number(&kit["missing"]), number(&kit["restarts"])),
        (SMALL, 0, 0)
    );
    assert_eq!((number(&kit["unusable"]), &kit["transport"]), (0, &transport.into()));
    for (region, name) in rows(report, "kit-regions").iter().zip(["round", "work"]) {
        assert_eq!(region["region"], name);
        assert_eq!((number(&region["exact"]), number(&region["unmatched"])), (40, 0));
    }
    let done = &rows(report, "kit-marks")[0];
    assert_eq!((&done["mark"], number(&done["count"])), (&"done".into(), 40));
    let values = rows(report, "kit-values");
    assert_eq!(number(&values[0]["count"]), 40);
    let error = &values[1];
    assert_eq!(
        (&error["value"], error["min"].as_i64(), error["last"].as_i64()),
        (&"error".into(), Some(-39), Some(-39))
    );
    assert_eq!(channel_text(report, 0), ["on"; 5]);
    assert_eq!(figure(report, "packets"), SMALL);
    assert_eq!(balance(report, "bytes").attributed, 11 * 200 + 16 * 85);
    assert_eq!(unattributed(report, "bytes", "undecodable"), 0);
}

/// The region `work` is the function `work`, as the simulation has it, with its call and the
/// record's own time: 40 of both.
fn work_is_timed(report: &Measurement, firmware: &str, board: &str, until: &[&str], most: u64) {
    let run = run(firmware, &[&["--board", board][..], until].concat());
    let (cycles, calls) = spent(&run, "work");
    let longer = (spread(report, "kit-durations", "work").sum() - cycles) / calls;
    println!("{firmware}: {longer} cycles longer");
    assert!(calls == 40 && (5..most).contains(&longer), "{longer} cycles longer");
}

#[test]
fn records_come_through_a_serial_port() {
    for (board, name, port) in
        [("stm32f070cb", "kit-m0-bytes", "USART1"), ("arduino-uno", "kit-avr-bytes", "USART0")]
    {
        let (firmware, directory) = (prebuilt(name), tempfile::tempdir().expect("a directory"));
        let file = over_uart(&directory, board, &firmware, port);
        let record = decoded(&file, &firmware, &[]);
        is_small(&record, "bytes");
        assert_eq!(
            record,
            decoded(&file, &firmware, &["--as", "kit"]),
            "the bytes identify \
            themselves"
        );
        // The port's interrupts are in it.
        let cycles = spread(&record, "kit-durations", "work").sum();
        assert!(cycles > 40 * 3000, "{cycles}");
        let part = decoded(&file, &firmware, &["--from", "work", "--to", "work"]);
        assert_eq!((part.window.entries, figure(&part, "cycles")), (Some(40), cycles));
        // A recording of the same.
        let (source, recording) = (format!("file:{file}"), format!("{file}.strobe"));
        let arguments = ["record", &source, "--elf", &firmware, "-q", "-o", &recording, "--force"];
        for kit in [&[][..], &["--kit"]] {
            let ran = strobe(&[&arguments[..], kit].concat());
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            is_small(&decoded(&recording, &firmware, &[]), "bytes");
        }
        let times = ["export", &recording, "--to", "chrome", "--elf", &firmware, "--clock", "16M"];
        let ran = strobe(&times);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let trace: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let slices = array(&trace["traceEvents"]).iter().filter(|event| event["ph"] == "X").count();
        assert_eq!(slices, 80, "regions on the time line");
    }
}

#[test]
fn damage_is_counted_and_the_rest_comes() {
    let (firmware, directory) =
        (prebuilt("kit-m0-bytes"), tempfile::tempdir().expect("a directory"));
    let file = over_uart(&directory, "stm32f070cb", &firmware, "USART1");
    let mut bytes = std::fs::read(&file).expect("it was written");
    bytes[500] ^= 0x04;
    bytes.drain(1000..1003);
    bytes.splice(2000..2000, [0xff, 0x00, 0x41]);
    std::fs::write(&file, bytes).expect("it is ours");
    let record = decoded(&file, &firmware, &[]);
    let kit = kit(&record);
    let lost = number(&kit["missing"]);
    assert!((3..=6).contains(&lost) && number(&kit["records"]) + lost == SMALL, "{lost} lost");
    let undecodable = findings(&record, "undecodable-bytes");
    assert_eq!((number(&kit["places"]), undecodable.len()), (3, 1));
    let places = ("places".to_owned(), "3".to_owned());
    assert!(undecodable[0].evidence[0].1.contains(&places), "{undecodable:?}");
    assert_eq!(balance(&record, "bytes").taken, SMALL * 11 + 85 * 5);
    let ran = strobe(&["report", &file, "--elf", &firmware]);
    assert!(
        ran.stdout.contains("  bytes\n") && ran.stdout.contains("missing, in 3 places"),
        "{}",
        ran.stdout
    );
}

/// Between a region's beginning and its end there is what the region does, and nothing is counted
/// twice or forgotten.
#[test]
fn marks_bound_what_is_measured() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("kit.strobe").display().to_string();
    let firmware = prebuilt("trace-kit");
    let source = ["record", "sim:stm32f407", "--elf", &firmware, "-q", "-o", &file, "--insist"];
    let pin = ["--clock", "168M", "--baud", "12M", "--period", "1024", "--timestamps", "1"];
    let ran = strobe(&[&source[..], &pin, &["--port", "30", "--port", "31"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let report = |bounds: &[&str]| decoded(&file, &firmware, bounds);
    let whole = report(&[]);
    let all = figure(&whole, "samples");
    assert!(whole.window.entries.is_none());
    for name in ["filter", "sort"] {
        let record = report(&["--from", name, "--to", name]);
        let inside = figure(&record, "samples");
        assert_eq!(inside + fact(&record, "samples outside of parts"), all, "{name}");
        let region = row(&whole, "kit-regions", name);
        let [begun, ended] = ["begun", "ended"].map(|field| number(&region[field]));
        let marks =
            ["begin", "end"].map(|what| fact(&record, &format!("marks that {what} a part")));
        assert_eq!(marks, [begun, ended], "{name}");
        assert_eq!(record.window.entries, Some(begun), "{name}");
        // What the region does not call itself belongs to the tick's handler and to whoever marks
        // its ends.
        let functions = functions(&record, "samples");
        let of = |function: &str| functions.get(function).copied().unwrap_or(0);
        let own = of(name) + of("settle") + of("SysTick_Handler") + of("strobe_trace_record");
        assert!(own * 100 >= inside * 98 && inside > 300, "{own} of {inside} in {name}");
        let other = if name == "filter" { "sort" } else { "filter" };
        assert_eq!(of(other), 0, "{other} in {name}");
    }
    let text =
        strobe(&["report", &file, "--elf", &firmware, "--from", "sort", "--to", "sort"]).stdout;
    assert!(text.contains(" in 40 windows"), "{text}");
    // A mark that does not come ends with the same code as everywhere.
    for marks in [["--from", "level=77777777"], ["--to", "level=77777777"]] {
        let (code, never) = ended(&[&["report", &file, "--elf", &firmware][..], &marks].concat());
        assert_eq!(code, 122, "{marks:?}");
        let nothing = marks[0] == "--from";
        assert_eq!(figure(&never, "samples") == 0, nothing, "{marks:?}");
    }
    let ran = strobe(&["report", &file, "--elf", &firmware, "--from", "nobody"]);
    assert_eq!(ran.code, 64, "{}", ran.stderr);
    assert!(ran.stderr.contains("the firmware has tick, round"), "{}", ran.stderr);
}
