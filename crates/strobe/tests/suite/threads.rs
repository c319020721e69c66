//! Threads on the bundled kernel: one program with structures after four systems, so that what is
//! known of each system by its description alone must give the same picture.

use crate::common::*;
use serde_json::Value;

/// The bundled programs and what tells strobe about their kernel.
const SYSTEMS: [(&str, &str, &str); 4] = [
    ("threads", "Baton", "firmware/threads/baton.toml"),
    ("threads-freertos", "FreeRTOS", ""),
    ("threads-nuttx", "NuttX", ""),
    ("threads-zephyr", "Zephyr", ""),
];

fn run(program: &str, rtos: &str) -> Value {
    let description = root().join(rtos).display().to_string();
    let rtos = match rtos {
        "" => vec![],
        "none" => vec!["--rtos", "none"],
        _ => vec!["--rtos", &description],
    };
    let program = prebuilt(program);
    let (code, record) = record(&[&[program.as_str(), "--until", "finished"], &rtos[..]].concat());
    assert_eq!(code, 0);
    record
}

fn threads(record: &Value) -> &[Value] {
    array(&record["scheduling"]["threads"])
}

fn thread<'a>(record: &'a Value, name: &str) -> &'a Value {
    let mut all = threads(record).iter();
    all.find(|t| t["name"] == name).unwrap_or_else(|| panic!("no thread {name}"))
}

fn interrupt<'a>(record: &'a Value, name: &str) -> &'a Value {
    let mut all = array(&record["exceptions"]).iter();
    all.find(|e| e["name"].as_str().is_some_and(|n| n.contains(name))).expect(name)
}

#[test]
fn every_system_names_its_threads() {
    for (program, system, description) in SYSTEMS {
        let record = run(program, description);
        let rtos = &record["scheduling"]["rtos"];
        assert_eq!(rtos["name"], system);
        assert_eq!(rtos["understood"], true, "{rtos}");
        assert_eq!(array(&rtos["notes"]), [] as [Value; 0], "{system}");
        let names: Vec<&str> =
            threads(&record).iter().map(|t| t["name"].as_str().expect("a name")).collect();
        assert_eq!(names, ["(startup)", "sensor", "filter", "logger", "idle"], "{system}");
        // Zephyr counts the other way.
        let sign = if system == "Zephyr" { -1 } else { 1 };
        for (name, priority) in [("sensor", 4), ("filter", 3), ("logger", 2), ("idle", 0)] {
            assert_eq!(thread(&record, name)["priority"], sign * priority, "{system} {name}");
        }
    }
}

/// 100 samples, one for each interrupt; the logger sleeps 10 ms between its rounds of about 3000
/// turns.
#[test]
fn threads_run_as_the_program_says() {
    for (program, system, description) in SYSTEMS {
        let record = run(program, description);
        let count = |name: &str, what: &str| number(&thread(&record, name)[what]);
        // The first run starts the timer; each of the others is woken by it.
        assert_eq!(
            count("sensor", "runs"),
            101,
            "{system}: the first is by hand, without exception"
        );
        assert_eq!(count("sensor", "gave_up"), 100);
        assert_eq!(count("sensor", "preempted"), 0, "nothing is better than the sensor");
        assert_eq!(number(&thread(&record, "sensor")["wake"]["count"]), 100);
        assert_eq!(number(&interrupt(&record, "TIM3")["count"]), 100);
        assert!(count("logger", "preempted") >= 20, "{system}: the others are better");
        assert_eq!(count("idle", "gave_up"), 0, "{system}: idle never waits");
        assert!(count("idle", "idle") > 100 * count("idle", "runs"), "{system}: it sleeps");
        // Everybody who waited was woken by something known.
        for t in threads(&record) {
            assert_eq!(t["wakes_unknown"], 0, "{system} {t}");
        }
    }
}

/// `flush_log` masks interrupts for 250 turns of 7 cycles. The interrupts that fall into it are the
/// late ones, and late is at most as long as that.
#[test]
fn the_worst_latencies_are_where_interrupts_are_masked() {
    for (program, system, description) in SYSTEMS {
        let record = run(program, description);
        let worst = &interrupt(&record, "SysTick")["latency_worst"];
        assert_eq!(worst["function"], "flush_log", "{system}");
        let cycles = number(&worst["cycles"]);
        assert!((100..250 * 7 + 100).contains(&cycles), "{system}: {cycles}");
        let worst = &thread(&record, "sensor")["wake"]["max"];
        assert_eq!(worst["function"], "flush_log", "{system}");
        let run = &thread(&record, "logger")["longest_run"];
        // Nobody runs longer than the two milliseconds between samples.
        assert!(number(&run["cycles"]) < 16_000, "{system}");
    }
}

/// No exception takes part in the switches, and all stacks are the main stack pointer's.
#[test]
fn switches_by_hand_are_seen() {
    let (code, record) = record(&[&prebuilt("coroutines")]);
    assert_eq!(code, 3);
    let names: Vec<&str> = threads(&record).iter().filter_map(|t| t["name"].as_str()).collect();
    assert_eq!(names, ["main", "(first_stack)", "(second_stack)", "(third_stack)"]);
    let of = |name: &str, what: &str| number(&thread(&record, name)[what]);
    // The first one is also the one that ends.
    for (name, runs) in names[1..].iter().zip([101, 100, 100]) {
        assert_eq!((of(name, "runs"), of(name, "gave_up"), of(name, "preempted")), (runs, runs, 0));
    }
    assert_eq!((of("main", "runs"), of("main", "gave_up")), (1, 1));
    // The work of the second and the third is two and three times the first one's.
    let base = of("(second_stack)", "cycles") - of("(first_stack)", "cycles");
    let next = of("(third_stack)", "cycles") - of("(second_stack)", "cycles");
    assert!(base.abs_diff(next) < 200 && base > 100 * 100 * 3, "{base} {next}");
    // The calls of each thread are complete: a round is one call of work and one of pass_on.
    let tree = array(&record["profile"]["tree"]);
    let functions = array(&record["profile"]["functions"]);
    for name in ["work", "pass_on", "resume"] {
        let calls = |node: &&Value| {
            let function =
                node["place"]["function"].as_u64().map(|f| &functions[f as usize]["name"]);
            function.is_some_and(|f| f == name)
        };
        let calls: Vec<u64> = tree.iter().filter(calls).map(|n| number(&n["calls"])).collect();
        let rounds = calls.iter().filter(|calls| **calls == 100).count();
        assert_eq!(rounds, 3, "{name}: {calls:?}");
    }
}

/// What a thread is called changes nothing about whose cycles are whose.
#[test]
fn stacks_alone_tell_the_same_threads_apart() {
    for (program, system, description) in SYSTEMS {
        let (named, unnamed) = (run(program, description), run(program, "none"));
        assert_eq!(unnamed["scheduling"]["rtos"], Value::Null);
        assert_eq!(threads(&named).len(), threads(&unnamed).len(), "{system}");
        for (named, unnamed) in threads(&named).iter().zip(threads(&unnamed)) {
            let name = unnamed["name"].as_str().expect("a name");
            match named["name"].as_str() {
                Some("(startup)") => assert_eq!(name, "main"),
                Some(known) => assert_eq!(name, format!("({known}_stack)")),
                None => panic!("{named}"),
            }
            for what in ["cycles", "idle", "runs", "gave_up", "preempted", "longest_run", "stack"] {
                assert_eq!(named[what], unnamed[what], "{system}, {what} of {name}");
            }
        }
    }
}

#[test]
fn time_per_thread_and_interrupt_sums_to_the_window() {
    for arguments in [
        &["--until", "finished"][..],
        &["--until", "77ms"],
        &["--from", "work", "--to", "semaphore_give", "--until", "finished"],
        &["--from", "filter_main", "--until", "100ms", "--interpret"],
    ] {
        let program = prebuilt("threads-freertos");
        let (_, record) = record(&[&[program.as_str()], arguments].concat());
        let window = number(&record["totals"]["cycles"]["likely"]);
        let of_threads: u64 = threads(&record).iter().map(|t| number(&t["cycles"])).sum();
        let of_interrupts: u64 =
            array(&record["exceptions"]).iter().map(|e| number(&e["cycles"])).sum();
        assert_eq!(of_threads + of_interrupts, window, "{arguments:?}");
        let balance = &record["scheduling"]["balance"];
        assert_eq!(number(&balance["taken"]), window, "{arguments:?}");
        assert_eq!(balance["idle"], record["balance"]["idle"], "{arguments:?}");
        // The call tree's roots are the same threads and interrupts, with the same cycles.
        let tree = array(&record["profile"]["tree"]);
        let mut sums: Vec<u64> = tree.iter().map(|n| number(&n["self_cycles"])).collect();
        for (i, node) in tree.iter().enumerate().rev() {
            if let Some(parent) = node["parent"].as_u64() {
                sums[parent as usize] += sums[i];
            }
        }
        for (node, sum) in tree.iter().zip(sums).filter(|(n, _)| n["parent"].is_null()) {
            let place = &node["place"];
            let cycles = match (place["thread"].as_str(), place["exception"].as_str()) {
                (Some(name), _) => number(&thread(&record, name)["cycles"]),
                (_, Some(name)) => number(&interrupt(&record, name)["cycles"]),
                _ => panic!("{place} is a root"),
            };
            assert_eq!(sum, cycles, "{place} in {arguments:?}");
        }
    }
}

#[test]
fn a_description_that_does_not_fit_is_said_so() {
    let freertos = root().join("crates/strobe-source/rtos/freertos.toml").display().to_string();
    let ran = strobe(&["run", &prebuilt("threads"), "--rtos", &freertos]);
    assert_eq!(ran.code, 64, "{}", ran.stderr);
    assert!(ran.stderr.contains("no variable pxReadyTasksLists"), "{}", ran.stderr);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("wrong.toml");
    let wrong = "name = 'Baton'\nvariables = ['baton']\n[[layout]]\nrunning = 'baton.holder'\nname = 'nmae'\n";
    std::fs::write(&path, wrong).expect("a file");
    let path = path.display().to_string();
    let (_, record) = record(&[&prebuilt("threads"), "--until", "finished", "--rtos", &path]);
    let notes = array(&record["scheduling"]["rtos"]["notes"]);
    assert_eq!(
        notes,
        ["Baton: baton_thread has no member nmae; threads are called by their variables"]
    );
    let names: Vec<&str> = threads(&record).iter().filter_map(|t| t["name"].as_str()).collect();
    assert_eq!(
        names[1..3],
        ["(sensor_stack)", "(filter_stack)"],
        "the four structures share an array"
    );
}

#[test]
fn the_profile_by_thread_is_readable() {
    let baton = root().join("firmware/threads/baton.toml").display().to_string();
    let ran = strobe(&[
        "run",
        &prebuilt("threads"),
        "--rtos",
        &baton,
        "--until",
        "finished",
        "--by",
        "thread",
        "--terse",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let (_, tables) = ran.stdout.split_once("\nthreads and interrupts").expect("the table");
    insta::assert_snapshot!(tables);
}

/// What each thread and interrupt has of every address is together what the address has.
#[test]
fn profiles_of_threads_and_interrupts_add_up_to_the_whole() {
    let program = prebuilt("threads-zephyr");
    let until = ["--until", "finished"];
    let (_, whole) = record(&[&[program.as_str(), "--by", "thread"], &until[..]].concat());
    let addresses = array(&whole["profile"]["addresses"]);
    let mut cycles = vec![0; addresses.len()];
    let mut counts = vec![0; addresses.len()];
    let mut names = Vec::new();
    for share in array(&whole["profile"]["shares"]) {
        for part in array(&share["addresses"]) {
            let at = number(&part["sample"]) as usize;
            cycles[at] +=
                part["cycles"].as_object().expect("causes").values().map(number).sum::<u64>();
            counts[at] += number(&part["count"]);
        }
        names.push(share["who"].to_string());
    }
    assert_eq!(names.len(), 8, "five threads and three interrupts: {names:?}");
    for ((address, cycles), count) in addresses.iter().zip(cycles).zip(counts) {
        let sum: u64 = address["cycles"].as_object().expect("causes").values().map(number).sum();
        assert_eq!(cycles, sum, "{}", address["address"]);
        assert_eq!(count, number(&address["count"]));
    }
    let mut rest = number(&whole["balance"]["taken"]);
    let all = ["(startup)", "sensor", "filter", "logger", "idle", "PendSV", "SysTick", "TIM3"];
    for name in all {
        let (_, only) = record(&[&[program.as_str(), "--thread", name], &until[..]].concat());
        rest -= number(&only["balance"]["taken"]);
        let tree = array(&only["profile"]["tree"]);
        assert_eq!(tree.iter().filter(|node| node["parent"].is_null()).count(), 1, "{name}");
        let seen: u64 = tree.iter().map(|node| number(&node["self_cycles"])).sum();
        assert_eq!(seen, number(&only["balance"]["taken"]), "{name}: calls and samples agree");
        assert_eq!(only["coverage"]["run_cycles"], whole["coverage"]["run_cycles"]);
    }
    assert_eq!(rest, 0);
}

#[test]
fn a_thread_that_never_ran_is_named() {
    let ran = strobe(&["run", &prebuilt("threads-nuttx"), "--until", "5ms", "--thread", "loger"]);
    assert_eq!(ran.code, 64, "{}", ran.stderr);
    assert!(ran.stderr.contains("(startup), sensor, filter, logger, idle"), "{}", ran.stderr);
}

fn timeline(arguments: &[&str]) -> Value {
    let program = prebuilt("threads-freertos");
    let until = ["--until", "finished", "--timeline"];
    let (_, record) = record(&[&[program.as_str()], &until[..], arguments].concat());
    record["scheduling"]["timeline"].clone()
}

fn cycle(moment: &Value) -> u64 {
    number(&moment["cycle"])
}

/// Segments follow each other without a gap over the whole span.
fn assert_covered(timeline: &Value) {
    let segments = array(&timeline["segments"]);
    assert!(cycle(&segments[0]["begin"]) <= cycle(&timeline["begin"]));
    let last = segments.last().expect("a segment");
    assert!(cycle(&last["end"]) >= cycle(&timeline["end"]));
    for pair in segments.windows(2) {
        assert_eq!(pair[0]["end"], pair[1]["begin"]);
    }
}

#[test]
fn a_timeline_covers_its_span() {
    for arguments in [
        &["last"][..],
        &["worst"],
        &["worst", "--span", "300us"],
        &["last", "--span", "20ms"],
        &["worst", "--thread", "logger"],
        &["worst", "--thread", "SysTick"],
        &["--span", "1s"],
    ] {
        let timeline = timeline(arguments);
        assert_covered(&timeline);
        assert_eq!(timeline["dropped"], 0);
        let worst = arguments[0] == "worst";
        assert_eq!(timeline["worst"].is_null(), !worst, "{arguments:?}");
    }
    let length = |timeline: &Value| {
        number(&timeline["end"]["nanoseconds"]) - number(&timeline["begin"]["nanoseconds"])
    };
    assert_eq!(length(&timeline(&["last"])), 5_000_000, "the default");
    assert_eq!(length(&timeline(&["worst", "--span", "300us"])), 300_000);
}

/// The worst latency in the timeline is the one in the tables.
#[test]
fn the_timeline_shows_the_worst_latency() {
    let program = prebuilt("threads-freertos");
    for (who, name) in [("thread", "sensor"), ("interrupt", "SysTick")] {
        let arguments = [&program, "--until", "finished", "--timeline", "worst", "--thread", name];
        let (_, record) = record(&arguments);
        let worst = &record["scheduling"]["timeline"]["worst"];
        let wanted = match who {
            "thread" => &thread(&record, name)["wake"]["max"],
            _ => &interrupt(&record, name)["latency_worst"],
        };
        assert_eq!(worst["latency"], *wanted, "{name}");
        assert!(worst["who"][who].is_u64(), "{worst}");
    }
    // Interrupts alone: the firmware has no threads.
    let (_, record) = record(&[&prebuilt("stepper"), "--until", "20ms", "--timeline", "worst"]);
    let worst = &record["scheduling"]["timeline"]["worst"];
    assert_eq!(worst["latency"], interrupt(&record, "TIM3")["latency_worst"]);
}

#[test]
fn timelines_are_readable() {
    let program = prebuilt("threads-freertos");
    let run = |arguments: &[&str]| {
        let common = ["run", &program, "--until", "finished", "--terse", "--timeline"];
        let ran = strobe(&[&common[..], arguments].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let (_, after) = ran.stdout.split_once("\ntimeline").expect("a timeline");
        let (chart, _) = after.split_once("\nmodelled").expect("an end");
        chart.to_owned()
    };
    insta::assert_snapshot!(run(&["last", "--top", "6"]));
    insta::assert_snapshot!(run(&["worst", "--span", "2ms", "--thread", "sensor"]));
}

#[test]
fn a_span_is_a_time() {
    let ran = strobe(&["run", &prebuilt("blink"), "--timeline", "last", "--span", "5"]);
    assert_eq!(ran.code, 64, "{}", ran.stderr);
    assert!(ran.stderr.contains("a time such as 5ms"), "{}", ran.stderr);
}
