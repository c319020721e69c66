//! The kit's records over RTT: read by a probe while the firmware runs.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use strobe_model::measurement::Measurement;
use strobe_symbols::Firmware;

use super::{
    RECORDS, channel_text, decoded, is_of_the_crate, is_small, kit, over_uart, run, work_is_timed,
};
use crate::common::recorded::{column, counter, row, rows, spent, unattributed};
use crate::common::{command, number, prebuilt, signal, strobe};

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

/// A probe that looks too seldom: the buffer is full, and the numbers show what it could not hold.
#[test]
fn records_lost_to_a_full_buffer_are_counted() {
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
