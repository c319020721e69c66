//! The kit for the target (`firmware/kit/trace`): what it tells, what a call of it costs, and that nothing of it is left when it is off.

mod common;

use common::{array, number, prebuilt, strobe};
use serde_json::Value;
use strobe_symbols::Firmware;

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

/// Records that the program makes: 81 ticks and the last mark, 20 of the burst, 40 rounds of six ends and begins and two values, and five
/// short texts.
const RECORDS: u64 = 81 + 1 + 20 + 40 * 8 + 5;

fn simulated(traced: bool) -> Value {
    let firmware = prebuilt("trace-kit");
    let mut arguments = vec![firmware.as_str(), "--board", "stm32f407", "--until", "finished"];
    let writes = WRITES.iter().filter(|_| traced);
    writes.for_each(|write| arguments.extend(["--trace-write", write]));
    let (code, record) = common::record(&arguments);
    assert_eq!(code, 0);
    record
}

/// Cycles and calls of a function with all that it calls: at the likely figure.
fn spent(record: &Value, name: &str) -> (u64, u64) {
    let profile = &record["profile"];
    let functions = array(&profile["functions"]);
    let index = functions.iter().position(|f| f["name"] == name);
    let index = index.unwrap_or_else(|| panic!("no {name}")) as u64;
    let nodes = array(&profile["tree"]);
    let is_it = |node: &Value| node["place"]["function"].as_u64() == Some(index);
    let (mut cycles, mut calls) = (0, 0);
    for (at, node) in nodes.iter().enumerate() {
        if is_it(node) {
            calls += number(&node["calls"]);
        }
        let mut up = Some(at);
        while let Some(here) = up {
            if is_it(&nodes[here]) {
                cycles += number(&node["self_cycles"]);
                break;
            }
            up = nodes[here]["parent"].as_u64().map(|parent| parent as usize);
        }
    }
    (cycles, calls)
}

#[test]
fn what_the_firmware_says_comes_out_by_name() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("kit.strobe").display().to_string();
    let firmware = prebuilt("trace-kit");
    let source = ["record", "sim:stm32f407", "--elf", &firmware, "-q", "-o", &file];
    let pin = ["--clock", "168M", "--baud", "2M", "--period", "none", "--timestamps", "1"];
    let ran = strobe(&[&source[..], &pin, &["--port", "30", "--port", "31"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = strobe(&["report", &file, "--elf", &firmware, "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let record: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let kit = &record["traced"]["kit"];

    // The burst is what the pin cannot carry, and all that is missing.
    let (came, lost) = (number(&kit["records"]), number(&kit["lost"]));
    assert_eq!(came + lost, RECORDS);
    assert!((10..20).contains(&lost) && number(&kit["losses"]) == 1, "{lost} lost");
    assert_eq!(number(&kit["unusable"]), 0);
    let named = |list: &str, name: &str| {
        let all = array(&kit[list]);
        all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
    };
    assert_eq!(number(&named("marks", "tick")["count"]), 82);
    assert_eq!(number(&named("marks", "burst")["count"]) + lost, 20);
    assert_eq!(number(&named("values", "level")["count"]), 40);
    assert!(named("values", "error")["min"].as_i64() < Some(0));
    assert_eq!(named("channels", "log")["text"], "on\n".repeat(5));

    // What the simulation says of the same function, plus the call and the records' own time.
    let (cycles, calls) = spent(&simulated(true), "filter");
    let filter = named("regions", "filter");
    assert_eq!((calls, number(&filter["timed"])), (40, 40));
    let longer = number(&filter["sum"]) / 40 - cycles / 40;
    assert!((5..60).contains(&longer), "{longer}");

    let ran = strobe(&["report", &file, "--elf", &firmware]);
    for line in
        ["missing in 1 place", "  filter\n", "  tick\n", "  level\n", "channel log: 15 bytes"]
    {
        assert!(ran.stdout.contains(line), "{line}\n{}", ran.stdout);
    }
    // Without the firmware nobody knows that these are records.
    let ran = strobe(&["report", &file]);
    assert!(ran.stdout.contains("port 30: "), "{}", ran.stdout);
}

/// `docs/kit.md` has these figures: `cargo test -p strobe --test kit -- --nocapture` prints them.
#[test]
fn a_call_costs_little() {
    for (traced, state) in [(true, "traced"), (false, "nobody listens")] {
        let record = simulated(traced);
        for (function, calls, most) in
            [("strobe_trace_record", 342, 25), ("strobe_trace_value", 80, 32)]
        {
            let (cycles, times) = spent(&record, function);
            println!("{function}, {state}: {}.{} cycles", cycles / times, cycles * 10 / times % 10);
            assert_eq!(times, calls);
            assert!(cycles <= most * times, "{function}, {state}: {cycles} in {times} calls");
        }
    }
}

/// The crate's records are the source's.
#[test]
fn the_crate_says_the_same() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("kit.strobe").display().to_string();
    let firmware = prebuilt("trace-kit-rs");
    let source = ["record", "sim:stm32f407", "--elf", &firmware, "-q", "-o", &file];
    let pin = ["--clock", "16M", "--baud", "2M", "--period", "none", "--timestamps", "1"];
    let ran = strobe(&[&source[..], &pin, &["--port", "30", "--port", "31"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = strobe(&["report", &file, "--elf", &firmware, "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let record: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let kit = &record["traced"]["kit"];
    // Twenty rounds of two regions, two values and a mark, and a text.
    assert_eq!((number(&kit["records"]), number(&kit["lost"])), (20 * 7 + 1, 0));
    let regions = array(&kit["regions"]);
    assert!(regions.iter().all(|r| number(&r["timed"]) == 20 && number(&r["unmatched"]) == 0));
    assert_eq!((&regions[0]["name"], &regions[1]["name"]), (&"round".into(), &"work".into()));
    assert_eq!(kit["values"][1]["min"].as_i64(), Some(-19));
    assert_eq!(kit["channels"][0]["text"], "ok\n");
    let (code, run) = common::record(&[&firmware, "--board", "stm32f407", "--until", "finished"]);
    assert_eq!(code, 0);
    for (function, most) in
        [("strobe_trace::itm::on::record", 32), ("strobe_trace::itm::on::value", 36)]
    {
        let (cycles, times) = spent(&run, function);
        println!("{function}: {}.{} cycles", cycles / times, cycles * 10 / times % 10);
        assert!(cycles <= most * times, "{function}: {cycles} in {times} calls");
    }
}

#[test]
fn nothing_is_left_when_it_is_off() {
    let read = |name: &str| {
        let bytes = std::fs::read(prebuilt(name)).expect("a bundled program");
        Firmware::parse(bytes).expect("firmware")
    };
    let [on, off, without] = ["trace-kit", "trace-kit-off", "trace-kit-without"].map(read);
    let code = |firmware: &Firmware| -> Vec<(String, u32, Vec<u8>)> {
        let all = firmware.functions().iter();
        all.map(|f| {
            let bytes = firmware.bytes_at(f.start, f.size as usize);
            (f.name.clone(), f.start, bytes.unwrap_or_default().to_vec())
        })
        .collect()
    };
    let data = |firmware: &Firmware| -> Vec<(String, u32, u32)> {
        let all = firmware.data_symbols().iter();
        all.map(|d| (d.name.clone(), d.address, d.size)).collect()
    };
    assert!(code(&off).len() > 10 && code(&off).iter().all(|(_, _, bytes)| !bytes.is_empty()));
    assert!(code(&off) == code(&without) && data(&off) == data(&without));
    assert!(code(&on) != code(&off));
    assert!(on.trace_names().len() == 9 && off.trace_names().is_empty());
}

/// Between a region's beginning and its end there is what the region does, and nothing is counted twice or forgotten.
#[test]
fn marks_bound_what_is_measured() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("kit.strobe").display().to_string();
    let firmware = prebuilt("trace-kit");
    let source = ["record", "sim:stm32f407", "--elf", &firmware, "-q", "-o", &file, "--insist"];
    let pin = ["--clock", "168M", "--baud", "12M", "--period", "1024", "--timestamps", "1"];
    let ran = strobe(&[&source[..], &pin, &["--port", "30", "--port", "31"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let report = |bounds: &[&str]| -> Value {
        let arguments = ["report", &file, "--elf", &firmware, "--format", "json"];
        let ran = strobe(&[&arguments[..], bounds].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        serde_json::from_str(&ran.stdout).expect("JSON")
    };
    let whole = report(&[]);
    let all = number(&whole["traced"]["sampling"]["taken"]);
    assert!(whole["traced"].get("window").is_none());
    let regions = array(&whole["traced"]["kit"]["regions"]);
    for name in ["filter", "sort"] {
        let record = report(&["--from", name, "--to", name]);
        let window = &record["traced"]["window"];
        let inside = number(&record["traced"]["sampling"]["taken"]);
        assert_eq!(inside + number(&window["samples_outside"]), all, "{name}");
        let region = regions.iter().find(|region| region["name"] == name).expect("the region");
        let [begun, ended] = ["begun", "ended"].map(|field| number(&region[field]));
        assert_eq!([&window["starts"], &window["stops"]].map(number), [begun, ended], "{name}");
        assert_eq!(number(&record["window"]["entries"]), begun, "{name}");
        // What the region does not call itself belongs to the tick's handler and to whoever marks its ends.
        let functions = array(&record["profile"]["functions"]);
        let of = |function: &str| {
            let index = functions.iter().position(|f| f["name"] == function);
            let samples = array(&record["profile"]["addresses"]);
            let samples =
                samples.iter().filter(|s| s["function"].as_u64() == index.map(|i| i as u64));
            samples.map(|sample| number(&sample["count"])).sum::<u64>()
        };
        let own = of(name) + of("settle") + of("SysTick_Handler") + of("strobe_trace_record");
        assert!(own * 100 >= inside * 98 && inside > 300, "{own} of {inside} in {name}");
        let other = if name == "filter" { "sort" } else { "filter" };
        assert_eq!(of(other), 0, "{other} in {name}");
    }
    let text =
        strobe(&["report", &file, "--elf", &firmware, "--from", "sort", "--to", "sort"]).stdout;
    assert!(text.contains("window         from sort to sort: 40 parts, "), "{text}");
    let never = report(&["--from", "level=77777777"]);
    assert_eq!(number(&never["traced"]["sampling"]["taken"]), 0);
    let ran = strobe(&["report", &file, "--elf", &firmware, "--from", "nobody"]);
    assert_eq!(ran.code, 64, "{}", ran.stderr);
    assert!(ran.stderr.contains("the firmware has tick, round"), "{}", ran.stderr);
}
