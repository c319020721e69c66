//! The kit for the target (`firmware/kit/trace`): what it sends, what a call of it costs, and that
//! nothing of it is left when it is off.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::common::recorded::{
    balance, column, counter, ended, fact, figure, findings, functions, lines, recorded, row, rows,
    spent, spread, unattributed,
};
use crate::common::{self, array, command, number, prebuilt, signal, strobe};
use serde_json::Value;
use strobe_model::measurement::Measurement;
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
fn what_the_firmware_says_comes_out_by_name() {
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

/// `docs/kit.md` has these figures: `cargo test -p strobe-cli kit:: -- --nocapture` prints them.
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

/// What a recording of RTT holds; `more` are arguments for the recording.
fn over_rtt(board: &str, firmware: &str, more: &[&str]) -> Measurement {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("kit.strobe").display().to_string();
    let board = format!("sim:{board}");
    let source = ["record", &board, "--rtt", "--elf", firmware, "-q", "-o", &file];
    let ran = strobe(&[&source[..], more].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    decoded(&file, firmware, &[])
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
fn records_come_over_rtt() {
    let until = ["--until", "finished"];
    for (board, name, until) in [
        ("stm32f070cb", "kit-m0-rtt", &until[..]),
        ("cortex-m3", "kit-m3-rtt", &[]),
        ("cortex-m4f", "kit-m4-rtt", &[]),
    ] {
        let firmware = prebuilt(name);
        let record = over_rtt(board, &firmware, &[]);
        is_small(&record, "RTT");
        // Interrupts of the clock are in it too.
        work_is_timed(&record, &firmware, board, until, 300);
        assert_eq!(record.instrument.kind, "records of the firmware's kit");
    }
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

/// A probe that looks too seldom: the buffer is full, and the numbers show what it could not hold.
#[test]
fn what_a_full_buffer_could_not_take_is_counted() {
    let firmware = prebuilt("trace-kit-rtt");
    let whole = over_rtt("stm32f407", &firmware, &[]);
    let all = kit(&whole);
    assert_eq!((number(&all["records"]), number(&all["missing"])), (RECORDS, 0), "bursts too");
    let record = over_rtt("stm32f407", &firmware, &["--poll-rate", "50"]);
    let kit = kit(&record);
    let (came, lost) = (number(&kit["records"]), number(&kit["missing"]));
    assert!(lost > 50 && came > 100, "{came} came, {lost} lost");
    // The last ones may be among them, and no number follows.
    assert!((RECORDS - 40..=RECORDS).contains(&(came + lost)), "{came} came, {lost} lost");
    assert_eq!(unattributed(&record, "bytes", "undecodable"), 0, "none is torn");
}

#[test]
fn the_block_is_found_without_a_symbol() {
    let (firmware, directory) = (prebuilt("kit-m0-rtt"), tempfile::tempdir().expect("a directory"));
    let file = directory.path().join("kit.strobe").display().to_string();
    let arguments = ["--elf", &firmware, "-q", "-o", &file, "--force"];
    let arguments = [&["record", "sim:stm32f070cb", "--rtt=0"], &arguments[..]].concat();
    let ran = strobe(&[&arguments[..], &["--rtt-at", "0x20000000..0x20004000"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    is_small(&decoded(&file, &firmware, &[]), "RTT");
    let wrong = ["--rtt-at", "0x30000000"];
    let ran = strobe(&[&arguments[..], &wrong].concat());
    assert!(ran.code == 68 && ran.stderr.contains("0x30000000"), "{}", ran.stderr);
    let other = strobe(&[&["record", "sim:stm32f070cb", "--rtt=3"], &arguments[3..]].concat());
    assert!(other.code == 68 && other.stderr.contains("no 3"), "{}", other.stderr);
    let serial = strobe(&["record", "file:x", "--rtt", "-o", &file, "--force"]);
    assert!(serial.code == 64 && serial.stderr.contains("--rtt"), "{}", serial.stderr);
}

/// OpenOCD's TCL port before a memory with RTT's block at an address, whose buffer always gets more
/// of the bytes. Returns the port's address, the end that receives something when all of them have
/// been read, and one to drop: the answer to the next command waits for that.
fn openocd(block: u32, bytes: Vec<u8>) -> (String, Receiver<()>, Sender<()>) {
    const SIZE: u32 = 256;
    let buffer = block + 0x100;
    let mut words: BTreeMap<u32, u32> = BTreeMap::new();
    let id = [0x4747_4553, 0x5220_5245, 0x0000_5454, 0];
    let all = id.into_iter().chain([1, 0, 0, buffer, SIZE, 0, 0, 0]);
    words.extend((block..).step_by(4).zip(all));
    let (offset, read) = (block + 36, block + 40);
    let mut left = bytes.into_iter();
    let mut fill = move |words: &mut BTreeMap<u32, u32>| loop {
        let at = words[&offset];
        let next = (at + 1) % SIZE;
        let Some(byte) = (next != words[&read]).then(|| left.next()).flatten() else { return };
        let word = words.entry(buffer + at / 4 * 4).or_default();
        *word = *word & !(0xff << (at % 4 * 8)) | u32::from(byte) << (at % 4 * 8);
        words.insert(offset, next);
    };
    fill(&mut words);
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("an address").to_string();
    let (all_read, finished) = channel();
    let (go_on, held) = channel::<()>();
    std::thread::spawn(move || {
        let (mut stream, _) = server.accept().expect("a call");
        let lines = BufReader::new(stream.try_clone().expect("a stream")).split(0x1a);
        let mut empty = false;
        for line in lines.map_while(Result::ok) {
            if std::mem::take(&mut empty) {
                let _ = (all_read.send(()), held.recv());
            }
            let line = String::from_utf8(line).expect("text");
            let command = line.split_once("[catch {").expect("every command is caught").1;
            let command = command.split_once("} strobe_result").expect("and its result kept").0;
            let number = |text: &str| u32::from_str_radix(text.trim_start_matches("0x"), 16);
            let answer = match command.split(' ').collect::<Vec<_>>()[..] {
                ["version"] => "Open On-Chip Debugger 0.12.0".to_owned(),
                ["read_memory", at, "32", count] => {
                    let (at, count) = (number(at).expect("hex"), count.parse().expect("a count"));
                    let word = |at| format!("{:#x}", words.get(&at).copied().unwrap_or_default());
                    (at..).step_by(4).take(count).map(word).collect::<Vec<_>>().join(" ")
                }
                ["mww", at, value] => {
                    let (at, value) = (number(at).expect("hex"), number(value).expect("hex"));
                    assert_eq!(at, read, "nothing else is the host's");
                    words.insert(at, value);
                    fill(&mut words);
                    empty = words[&offset] == words[&read];
                    String::new()
                }
                _ => panic!("{command}"),
            };
            let _ = stream.write_all(format!("ok {answer}\x1a").as_bytes());
        }
    });
    (address, finished, go_on)
}

/// The bytes that a simulated serial port sent, once more through a buffer behind OpenOCD.
#[test]
#[cfg(unix)]
fn rtt_is_recorded_through_openocd() {
    let (bytes, directory) = (prebuilt("kit-m0-bytes"), tempfile::tempdir().expect("a directory"));
    let file = over_uart(&directory, "stm32f070cb", &bytes, "USART1");
    let firmware = prebuilt("kit-m0-rtt");
    let parsed = Firmware::parse(std::fs::read(&firmware).expect("a bundled program"));
    let parsed = parsed.expect("firmware");
    let symbol = parsed.data_symbols().iter().find(|symbol| symbol.name == "_SEGGER_RTT");
    let (address, finished, go_on) = openocd(
        symbol.expect("the kit's block").address,
        std::fs::read(&file).expect("it is there"),
    );
    let (source, recording) = (format!("openocd:{address}"), format!("{file}.strobe"));
    let arguments = ["record", &source, "--rtt", "--elf", &firmware, "-q", "--silence", "0s"];
    let mut process = command();
    process.args(arguments).args(["-o", &recording]);
    let mut process = process.spawn().expect("it starts");
    // It ends once everything is read, not after a time, which would depend on the load; and in the
    // middle of a command.
    let all_read = finished.recv_timeout(Duration::from_secs(600));
    signal("INT", process.id());
    drop(go_on);
    let status = process.wait().expect("it ends");
    assert!(all_read.is_ok() && status.success(), "{all_read:?}, {status}");
    is_small(&decoded(&recording, &firmware, &[]), "RTT");
    let ran = strobe(&["report", &recording, "--elf", &firmware]);
    assert!(ran.stdout.contains("the RTT control block is at 0x20000"), "{}", ran.stdout);
}

/// `trace-kit/tasks.c`: each of them counts, and sends its count.
#[test]
fn threads_and_interrupts_at_once_tear_nothing() {
    let firmware = prebuilt("kit-tasks");
    let record = over_rtt("stm32f070cb", &firmware, &[]);
    let kit = kit(&record);
    let wrong = ["missing", "places", "unusable"].map(|what| number(&kit[what]));
    assert_eq!(wrong, [0, 0, 0]);
    assert_eq!(unattributed(&record, "bytes", "undecodable"), 0);
    let values = rows(&record, "kit-values");
    let mut all = 0;
    for (id, name) in (1..).zip(["fast", "slow", "high", "low", "idle"]) {
        let counts = row(&record, "kit-values", name);
        let of_it = counter(&record, "kit-timeline", name);
        assert_eq!(of_it.len() as u64, number(&counts["count"]), "{name}");
        let in_order = of_it.iter().zip(0..).all(|((_, value), n)| *value == n);
        assert!(in_order, "{name}");
        let total = values.iter().find(|value| number(&value["id"]) == 16 + id).expect("a total");
        assert_eq!(number(&counts["count"]), number(&total["last"]), "{name}, by its own count");
        assert!(number(&counts["count"]) > 200, "{name} had its part");
        all += number(&counts["count"]);
    }
    let of = |name: &str| number(&row(&record, "kit-values", name)["count"]);
    // Two more from the slower interrupt each time, two with each text, and five totals.
    assert_eq!(number(&kit["records"]), all + 2 * of("slow") + 2 * of("high") + 5);
    assert_eq!(channel_text(&record, 0), vec!["high"; of("high") as usize]);
    // Times go forward only: regions are in one another's way, but none is of no time.
    let turn = &rows(&record, "kit-regions")[0];
    assert_eq!(number(&turn["exact"]), of("slow"));
    assert!(number(&turn["min"]) > 100 && number(&turn["max"]) < 5000, "{turn}");
    // They did come in between one another.
    let run = run(&firmware, &["--board", "stm32f070cb", "--until", "finished"]);
    assert!(column(&run, "interrupts", "count").iter().sum::<u64>() > 1500);
}

/// Cycles for a call of record and of value on each core and way, as `docs/kit.md` has them;
/// `strobe run` prints them.
#[test]
fn a_call_costs_what_the_documents_say() {
    let (finished, exit) = (&["--until", "finished"][..], &[][..]);
    let documents = std::fs::read_to_string(common::root().join("docs/kit.md")).expect("documents");
    for (core, way, board, name, until, record_tenths, value_tenths) in [
        ("Cortex-M0", "RTT", "stm32f070cb", "kit-m0-rtt", finished, 2033, 2440),
        ("Cortex-M3", "ITM", "cortex-m3", "kit-m3-itm", exit, 230, 210),
        ("Cortex-M3", "RTT", "cortex-m3", "kit-m3-rtt", exit, 1015, 1297),
        ("Cortex-M3", "bytes", "cortex-m3", "kit-m3-bytes", exit, 960, 1190),
        ("Cortex-M4", "ITM", "cortex-m4f", "kit-m4-itm", exit, 230, 210),
        ("Cortex-M4", "RTT", "cortex-m4f", "kit-m4-rtt", exit, 925, 1267),
        ("Cortex-M4", "bytes", "cortex-m4f", "kit-m4-bytes", exit, 920, 1200),
        ("Cortex-M0", "bytes", "stm32f070cb", "kit-m0-bytes", finished, 3837, 5050),
        ("AVR", "bytes", "arduino-uno", "kit-avr-bytes", finished, 4620, 6300),
    ] {
        let firmware = prebuilt(name);
        let run = run(&firmware, &[&["--board", board], until].concat());
        let ran = strobe(&[&["run", &firmware[..], "--board", board, "-q"], until].concat());
        let mut row = format!("| {core} | {way} |");
        for (function, expected) in
            [("strobe_trace_record", record_tenths), ("strobe_trace_value", value_tenths)]
        {
            let (cycles, calls) = spent(&run, function);
            let tenths = cycles * 10 / calls;
            println!("{core}, {way}, {function}: {}.{} cycles", tenths / 10, tenths % 10);
            // A model that is mended may move it a little.
            let off = tenths.abs_diff(expected);
            assert!(
                off * 50 <= expected,
                "{core}, {way}, {function}: {tenths} tenths, not {expected}"
            );
            let printed = ran.stdout.lines().filter(|line| line.ends_with(function));
            let mean = cycles as f64 / calls as f64;
            let whole = cycles % calls == 0;
            let figure = if whole { mean.to_string() } else { format!("{mean:.1}") };
            let has = |line: &str| {
                line.split_whitespace().any(|word| word.trim_start_matches('~') == figure)
            };
            assert!(printed.into_iter().any(has), "{figure}\n{}", ran.stdout);
            row += &format!(" {}.{} |", tenths / 10, tenths % 10);
        }
        assert!(documents.contains(&row), "docs/kit.md has no row {row}");
    }
}

/// The crate over RTT.
#[test]
fn the_crate_writes_the_same_over_rtt() {
    let firmware = prebuilt("trace-kit-rs-rtt");
    let record = over_rtt("stm32f407", &firmware, &[]);
    is_of_the_crate(&record);
    assert_eq!(unattributed(&record, "bytes", "undecodable"), 0);
    let run = run(&firmware, &["--board", "stm32f407", "--until", "finished"]);
    for (function, most) in
        [("strobe_trace::kit::way::record", 115), ("strobe_trace::kit::way::value", 155)]
    {
        let (cycles, times) = spent(&run, function);
        println!("{function}: {}.{} cycles", cycles / times, cycles * 10 / times % 10);
        assert!(cycles <= most * times, "{function}: {cycles} in {times} calls");
    }
}

/// The crate without its feature is what the program would be without the crate. Only the name of
/// the program differs.
#[test]
fn nothing_of_the_crate_is_left_when_it_is_off() {
    let read = |name: &str| {
        let bytes = std::fs::read(prebuilt(name)).expect("a bundled program");
        Firmware::parse(bytes).expect("firmware")
    };
    let [on, off, without] = ["trace-kit-rs", "trace-kit-rs-off", "trace-kit-rs-without"].map(read);
    let loaded = |firmware: &Firmware| -> Vec<(u32, Vec<u8>)> {
        let segments = firmware.segments().iter().filter(|segment| !segment.data().is_empty());
        segments.map(|segment| (segment.load_address.0, segment.data().to_vec())).collect()
    };
    assert!(loaded(&off).iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > 1000);
    assert!(loaded(&off) == loaded(&without), "byte for byte");
    assert!(loaded(&on) != loaded(&off));
    assert!(on.trace_names().len() == 7 && off.trace_names().is_empty());
    let ram = |firmware: &Firmware| firmware.data_symbols().iter().map(|d| d.size).sum::<u32>();
    assert_eq!(ram(&off), ram(&without));
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
