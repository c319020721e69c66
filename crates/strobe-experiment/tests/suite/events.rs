//! What kernel and processor count. Machines differ in what they count: each figure is known, or
//! refused with a remedy, and never a 0 that is none.

use strobe_experiment::bench::{Bench, Settings};
use strobe_experiment::host::{Command, Event, EventCount, run, uncounted};
use strobe_experiment::measurement::{Parts, measurement};
use strobe_experiment::samples::{Metric, Variant};
use strobe_model::measurement::{Cell, Measurement};

use super::{GO_ON, host, shell};

/// A command whose descendants do what is counted.
const LINE: &str = "(i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.01; exit 0) & wait";

fn counted(line: &str) -> Vec<(Event, EventCount)> {
    let command = Command { events: Event::all().collect(), ..shell(line) };
    run(&host("test"), &command, &GO_ON).events.into_iter().collect()
}

#[test]
fn every_event_is_known_or_refused_with_a_remedy() {
    let all = counted(LINE);
    assert_eq!(all.iter().map(|(event, _)| *event).collect::<Vec<_>>(), {
        Event::all().collect::<Vec<_>>()
    });
    for (event, count) in all {
        match &count {
            EventCount::Refused(why) => {
                let remedies = ["sysctl", "--cap-add", "virtual PMU", "perf_event_open"];
                assert!(remedies.iter().any(|remedy| why.contains(remedy)), "{event:?}: {why}");
                assert_eq!(count.value(), None);
            }
            // One of a processor's counters may be somebody else's all the time.
            EventCount::Counted { running_ns: 0, .. } => assert!(event.is_hardware(), "{count:?}"),
            EventCount::Counted { enabled_ns, running_ns, .. } => {
                assert!(running_ns <= enabled_ns, "{count:?}");
                // Whoever counts nothing of a loop and a sleep does not count; a machine need not
                // move anybody to another processor.
                let is_there = count.value().is_some_and(|n| n > 0);
                assert!(is_there || event == Event::CpuMigrations, "{event:?}: {count:?}");
            }
        }
    }
}

/// The supervisor's own work is not in it, what descendants do is.
#[test]
fn descendants_are_counted_and_the_supervisor_is_not() {
    let faults = |line: &str| {
        let all = counted(line);
        all.into_iter().find(|(event, _)| *event == Event::PageFaults)?.1.value()
    };
    let pages = "head -c 40000000 /dev/zero | tail -c 30000000 >/dev/null";
    let Some(few) = faults("exit 0") else { return };
    let many = faults(&format!("({pages}; exit 0) & wait")).expect("counted before");
    // 30 MB are more than 7,000 pages of 4 KiB; where pages are bigger, there are fewer.
    assert!(few < 2000 && many > few + 100, "{few} and {many}");
}

#[test]
fn unstartable_command_has_no_counts() {
    let missing = Command {
        arguments: vec!["/no/such/program".to_owned()],
        events: Event::all().collect(),
        ..Command::default()
    };
    assert!(run(&host("test"), &missing, &GO_ON).events.is_empty());
}

fn measured(names: &[&str]) -> Measurement {
    let folder = tempfile::tempdir().expect("a folder");
    let host = host("test");
    let variant = |name: &str| Variant { name: name.to_owned(), command: shell(LINE) };
    let variants = [variant("one"), variant("two")];
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let settings = Settings { rounds: Some(3), ..Settings::default() };
    let settings = settings.with_instruments(&names).expect("there are such");
    let (folder, settings) = (folder.path(), &settings);
    let bench =
        Bench { host: &host, folder, variants: &variants, settings, stop: &GO_ON, check: None };
    let mut rounds = Vec::new();
    bench.run(&mut rounds, None, &mut |_| {}).expect("there is no log");
    measurement(&Parts {
        title: "test",
        variants: &variants,
        rounds: &rounds,
        settings,
        counted: &[],
        clock_ns: 1,
        interrupted: false,
        tool: "strobe",
    })
}

#[test]
fn table_has_each_event_and_each_reason_once() {
    let measurement = measured(&["perf"]);
    measurement.check().expect("it holds together");
    let table = measurement.table("events").expect("the events");
    let mut unknown = 0;
    for event in Event::all() {
        let column = table.column(event.name()).expect("a column");
        assert_eq!(column.cells.len(), 2);
        for cell in &column.cells {
            match cell {
                Cell::Figure { value: None, .. } => unknown += 1,
                cell => assert!(cell.number().is_some(), "{event:?}: {cell:?}"),
            }
        }
    }
    let findings = measurement.findings.iter().filter(|finding| finding.code == "no-events");
    let texts: Vec<&str> = findings.map(|finding| finding.text.as_str()).collect();
    let named: usize = texts.iter().map(|text| text.matches("perf-").count()).sum();
    assert_eq!(named * 2, unknown, "{texts:?}");
    let mut reasons: Vec<&str> = texts.iter().filter_map(|text| text.rsplit(": ").next()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    assert_eq!(reasons.len(), texts.len(), "each reason once: {texts:?}");
}

#[test]
fn without_instruments_nothing_is_counted() {
    assert!(measured(&[]).table("events").is_none());
}

/// What is to be judged is counted without being asked for, or the machine is said not to.
#[test]
fn the_metric_is_an_instrument_of_its_own() {
    let settings = Settings { metric: Metric::named("perf-cycles"), ..Settings::default() };
    let settings = settings.with_instruments(&["perf-task-clock".to_owned()]).expect("events");
    assert_eq!(settings.events, [Event::TaskClock, Event::Cycles]);
    let cycles = counted("exit 0").into_iter().find(|(event, _)| *event == Event::Cycles);
    let is_known = cycles.is_some_and(|(_, count)| count.value().is_some());
    assert_eq!(uncounted(&host("test"), Event::Cycles, &GO_ON).is_none(), is_known);
}
