//! Threads on the bundled kernel: one program with structures after four systems, so that what is
//! known of each system by its description alone must give the same picture.

use std::collections::{BTreeMap, BTreeSet};

use strobe_model::measurement::{Cell, Content, Measurement, Timeline};

use crate::common::figures::*;
use crate::common::{measured, prebuilt, root, strobe};

/// The bundled programs and what describes their kernel to strobe.
const SYSTEMS: [(&str, &str, &str); 4] = [
    ("threads", "Baton", "firmware/threads/baton.toml"),
    ("threads-freertos", "FreeRTOS", ""),
    ("threads-nuttx", "NuttX", ""),
    ("threads-zephyr", "Zephyr", ""),
];

fn of_system(program: &str, rtos: &str) -> Measurement {
    let description = root().join(rtos).display().to_string();
    let rtos = match rtos {
        "" => vec![],
        "none" => vec!["--rtos", "none"],
        _ => vec!["--rtos", &description],
    };
    let program = prebuilt(program);
    let (code, ran) = run(&[&[program.as_str(), "--until", "finished"], &rtos[..]].concat());
    assert_eq!(code, 0);
    ran
}

/// Names of the threads in the order in which they came to be.
fn names(ran: &Measurement) -> Vec<&str> {
    texts(ran, "stacks", "thread")
}

/// A figure of a thread or handler.
fn of(ran: &Measurement, name: &str, what: &str) -> u64 {
    figure(ran, "threads", name, what)
}

/// Cycles of a thread or handler, asleep or not.
fn cycles(ran: &Measurement, name: &str) -> u64 {
    of(ran, name, "busy") + of(ran, name, "idle")
}

/// The operating system's name.
fn system_of(ran: &Measurement) -> Option<&str> {
    let fact = ran.subject.facts.iter().find(|fact| fact.name == "operating system");
    fact.and_then(|fact| fact.text.as_deref())
}

/// What could not be found out about the operating system.
fn notes(ran: &Measurement) -> Vec<&str> {
    let notes = ran.findings.iter().filter(|finding| finding.code == "rtos");
    notes.map(|finding| finding.text.as_str()).collect()
}

/// The worst case that begins so: cycles, nanosecond at which it ended, and all of its words.
fn worst<'a>(ran: &'a Measurement, what: &str) -> (u64, u64, &'a str) {
    let table = "worst-cases";
    let words = cell(ran, table, what, "what").text().expect("words");
    (figure(ran, table, what, "cycles"), figure(ran, table, what, "at"), words)
}

#[test]
fn every_system_names_its_threads() {
    for (program, system, description) in SYSTEMS {
        let ran = of_system(program, description);
        // Only what is understood is a fact.
        assert_eq!(system_of(&ran), Some(system));
        assert_eq!(notes(&ran), [""; 0], "{system}");
        let names = names(&ran);
        assert_eq!(names, ["(startup)", "sensor", "filter", "logger", "idle"], "{system}");
        // Zephyr counts the other way.
        let sign = if system == "Zephyr" { -1 } else { 1 };
        for (name, priority) in [("sensor", 4), ("filter", 3), ("logger", 2), ("idle", 0)] {
            let known = cell(&ran, "threads", name, "priority").number().map(|n| n.as_f64());
            assert_eq!(known, Some(f64::from(sign * priority)), "{system} {name}");
        }
    }
}

/// 100 samples, one for each interrupt; the logger sleeps 10 ms between its rounds of about 3000
/// turns.
#[test]
fn threads_run_as_the_program_specifies() {
    for (program, system, description) in SYSTEMS {
        let ran = of_system(program, description);
        let count = |name: &str, what: &str| of(&ran, name, what);
        // The first run starts the timer; each of the others is woken by it.
        assert_eq!(
            count("sensor", "runs"),
            101,
            "{system}: the first is by hand, without exception"
        );
        assert_eq!(count("sensor", "gave-up"), 100);
        assert_eq!(count("sensor", "preempted"), 0, "nothing is better than the sensor");
        assert_eq!(spread(&ran, "wake-ups", "sensor").spread.count(), 100);
        assert_eq!(figure(&ran, "interrupts", "TIM3", "count"), 100);
        assert!(count("logger", "preempted") >= 20, "{system}: the others are better");
        assert_eq!(count("idle", "gave-up"), 0, "{system}: idle never waits");
        assert!(count("idle", "idle") > 100 * count("idle", "runs"), "{system}: it sleeps");
        // Everybody who waited was woken by something known.
        for name in names(&ran) {
            assert_eq!(count(name, "wakes-unknown"), 0, "{system} {name}");
        }
    }
}

/// `flush_log` masks interrupts for 250 turns of 7 cycles. The interrupts that fall into it are the
/// late ones, and late is at most as long as that.
#[test]
fn the_worst_latencies_are_where_interrupts_are_masked() {
    for (program, system, description) in SYSTEMS {
        let ran = of_system(program, description);
        let (cycles, _, words) = worst(&ran, "longest latency of SysTick");
        assert!(words.ends_with(" flush_log"), "{system}: {words}");
        assert!((100..250 * 7 + 100).contains(&cycles), "{system}: {cycles}");
        let (_, _, words) = worst(&ran, "latest run of thread sensor after wake-up");
        assert!(words.ends_with(" flush_log"), "{system}: {words}");
        // Nobody runs longer than the two milliseconds between samples.
        let (cycles, ..) = worst(&ran, "longest run of thread logger");
        assert!(cycles > 0 && cycles < 16_000, "{system}");
    }
}

/// No exception takes part in the switches, and all stacks are the main stack pointer's.
#[test]
fn switches_by_hand_are_seen() {
    let (code, ran) = run(&[&prebuilt("coroutines")]);
    assert_eq!(code, 3);
    let names = names(&ran);
    assert_eq!(names, ["main", "(first_stack)", "(second_stack)", "(third_stack)"]);
    let of = |name: &str, what: &str| of(&ran, name, what);
    // The first one is also the one that ends.
    for (name, runs) in names[1..].iter().zip([101, 100, 100]) {
        assert_eq!((of(name, "runs"), of(name, "gave-up"), of(name, "preempted")), (runs, runs, 0));
    }
    assert_eq!((of("main", "runs"), of("main", "gave-up")), (1, 1));
    // The work of the second and the third is two and three times the first one's.
    let [first, second, third] =
        ["(first_stack)", "(second_stack)", "(third_stack)"].map(|name| cycles(&ran, name));
    let (base, next) = (second - first, third - second);
    assert!(base.abs_diff(next) < 200 && base > 100 * 100 * 3, "{base} {next}");
    // The calls of each thread are complete: a round is one call of work and one of pass_on.
    let nodes = nodes(&ran);
    for name in ["work", "pass_on", "resume"] {
        let calls = nodes.iter().filter(|node| node.is_function && node.name == name);
        let calls: Vec<u64> = calls.map(|node| node.calls).collect();
        let rounds = calls.iter().filter(|calls| **calls == 100).count();
        assert_eq!(rounds, 3, "{name}: {calls:?}");
    }
}

/// What a thread is called changes nothing about whose cycles are whose.
#[test]
fn stacks_alone_distinguish_the_same_threads() {
    for (program, system, description) in SYSTEMS {
        let (named, unnamed) = (of_system(program, description), of_system(program, "none"));
        assert_eq!((system_of(&unnamed), notes(&unnamed)), (None, vec![]));
        assert_eq!(names(&named).len(), names(&unnamed).len(), "{system}");
        for (known, name) in names(&named).into_iter().zip(names(&unnamed)) {
            match known {
                "(startup)" => assert_eq!(name, "main"),
                known => assert_eq!(name, format!("({known}_stack)")),
            }
            for what in ["busy", "idle", "runs", "gave-up", "preempted", "longest-run"] {
                let [a, b] = [(&named, known), (&unnamed, name)].map(|(ran, n)| of(ran, n, what));
                assert_eq!(a, b, "{system}, {what} of {name}");
            }
            for what in ["low", "top"] {
                let [a, b] = [(&named, known), (&unnamed, name)]
                    .map(|(ran, name)| cell(ran, "stacks", name, what));
                assert!(a == b && matches!(a, Cell::Address(_)), "{system}, {what} of {name}");
            }
            // Where and when: names of threads apart, the same words.
            let run = |ran, name| worst(ran, &format!("longest run of thread {name},"));
            if known != "(startup)" || of(&named, known, "runs") > 0 {
                let (a, b) = (run(&named, known), run(&unnamed, name));
                assert_eq!((a.0, a.1), (b.0, b.1), "{system}: {name}");
                let renamed = a.2.replace(&format!("thread {known},"), &format!("thread {name},"));
                assert_eq!(renamed, b.2, "{system}: {name}");
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
        let (_, ran) = run(&[&[program.as_str()], arguments].concat());
        let window = total(&ran, "cycles");
        let of_threads: u64 = names(&ran).into_iter().map(|name| cycles(&ran, name)).sum();
        let of_interrupts = column(&ran, "interrupts", "cycles").iter().map(number);
        assert_eq!(of_threads + of_interrupts.sum::<u64>(), window, "{arguments:?}");
        let mut balances = ran.balances.iter().map(|balance| balance.parts());
        let by_thread = balances.find(|parts| parts.what == "cycles by thread").expect("it");
        assert_eq!(by_thread.taken, window, "{arguments:?}");
        assert_eq!(by_thread.idle, balance(&ran).idle, "{arguments:?}");
        // The call tree's roots are the same threads and interrupts, with the same cycles.
        let roots = nodes(&ran).into_iter().filter(|node| node.parent.is_none());
        for root in roots {
            let (kind, name) = root.name.split_once(' ').expect("what it is and its name");
            let there = match kind {
                "thread" => cycles(&ran, name),
                "handler" => figure(&ran, "interrupts", name, "cycles"),
                _ => panic!("{} is a root", root.name),
            };
            assert_eq!(root.all, there, "{} in {arguments:?}", root.name);
        }
    }
}

#[test]
fn a_description_that_does_not_fit_is_reported() {
    let freertos = root().join("crates/strobe-source/rtos/freertos.toml").display().to_string();
    let ran = strobe(&["run", &prebuilt("threads"), "--rtos", &freertos]);
    assert_eq!(ran.code, 64, "{}", ran.stderr);
    assert!(ran.stderr.contains("no variable pxReadyTasksLists"), "{}", ran.stderr);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("wrong.toml");
    let wrong = "name = 'Baton'\nvariables = ['baton']\n[[layout]]\nrunning = 'baton.holder'\nname \
                 = 'nmae'\n";
    std::fs::write(&path, wrong).expect("a file");
    let path = path.display().to_string();
    let (_, ran) = run(&[&prebuilt("threads"), "--until", "finished", "--rtos", &path]);
    assert_eq!(
        notes(&ran),
        ["Baton: baton_thread has no member nmae; threads are called by their variables"]
    );
    assert_eq!(
        names(&ran)[1..3],
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
fn thread_and_interrupt_profiles_sum_to_the_whole() {
    let program = prebuilt("threads-zephyr");
    let until = ["--until", "finished"];
    let (_, whole) = run(&[&[program.as_str(), "--by", "thread"], &until[..]].concat());
    let (_, apart_from_nobody) = run(&[&[program.as_str()], &until[..]].concat());
    let leaves = |ran: &Measurement| {
        let profile = profile(ran);
        let measures = ["cycles", "executions"].map(|id| profile.leaves.of(id).expect("it"));
        let mut sums: BTreeMap<_, [i64; 2]> = BTreeMap::new();
        for (i, at) in profile.leaves.at.iter().enumerate() {
            let address = at.and_then(|at| profile.locations.address[at as usize]);
            let sum = sums.entry(address).or_default();
            sum.iter_mut().zip(measures).for_each(|(sum, values)| *sum += values.values[i]);
        }
        sums.retain(|_, sum| *sum != [0, 0]);
        sums
    };
    assert_eq!(leaves(&whole), leaves(&apart_from_nobody));
    let labels: BTreeSet<u32> =
        (0..profile(&whole).leaves.len()).filter_map(|i| profile(&whole).leaves.label(i)).collect();
    assert_eq!(labels.len(), 8, "five threads and three interrupts: {labels:?}");
    let mut rest = taken(&whole);
    let all = ["(startup)", "sensor", "filter", "logger", "idle", "PendSV", "SysTick", "TIM3"];
    for name in all {
        let arguments = [&["run", program.as_str(), "--thread", name], &until[..]].concat();
        let (_, only) = measured(&arguments);
        rest -= taken(&only);
        let nodes = nodes(&only);
        assert_eq!(nodes.iter().filter(|node| node.parent.is_none()).count(), 1, "{name}");
        let seen: u64 = nodes.iter().map(|node| node.own).sum();
        assert_eq!(seen, taken(&only), "{name}: calls and samples agree");
        assert_eq!(only.coverage.whole, whole.coverage.whole);
    }
    assert_eq!(rest, 0);
}

#[test]
fn a_thread_that_never_ran_is_named() {
    let ran = strobe(&["run", &prebuilt("threads-nuttx"), "--until", "5ms", "--thread", "loger"]);
    assert_eq!(ran.code, 64, "{}", ran.stderr);
    assert!(ran.stderr.contains("(startup), sensor, filter, logger, idle"), "{}", ran.stderr);
}

/// The time line of a run, and the notes on it.
fn timeline_of(ran: &Measurement) -> (&Timeline, &[String]) {
    let section = ran.section("timeline").expect("a time line");
    match &section.content {
        Content::Timeline(timeline) => (timeline, &section.notes),
        other => panic!("{other:?}"),
    }
}

/// The track that shows the worst latency: cycles, and the nanosecond at which it ended.
fn marked(timeline: &Timeline) -> Option<(String, u64, u64)> {
    let at = timeline.tracks.iter().position(|track| track.name.ends_with(" waits"))?;
    let mut spans = 0..timeline.spans.track.len();
    let span = spans.find(|i| timeline.spans.track[*i] as usize == at).expect("its span");
    let end = timeline.spans.begin[span] as u64 + timeline.spans.duration[span];
    let cycles = timeline.spans.details.iter().find(|column| column.id == "cycles");
    let cycles = number(&cycles.expect("cycles").cells[span]);
    Some((timeline.tracks[at].name.trim_end_matches(" waits").to_owned(), cycles, end))
}

fn timeline(arguments: &[&str]) -> Measurement {
    let program = prebuilt("threads-freertos");
    let until = ["--until", "finished", "--timeline"];
    measured(&[&["run", program.as_str()], &until[..], arguments].concat()).1
}

/// Spans follow each other without a gap over the whole of the exact part.
fn assert_covered(timeline: &Timeline) {
    let spans = &timeline.spans;
    let name = |track: u32| timeline.tracks[track as usize].name.as_str();
    let ran = (0..spans.track.len()).filter(|i| !name(spans.track[*i]).ends_with(" waits"));
    let extent = |i: usize| (spans.begin[i], spans.begin[i] + spans.duration[i] as i64);
    let mut ran: Vec<(i64, i64)> = ran.map(extent).collect();
    ran.sort_unstable();
    let exact = &timeline.exact[0];
    assert_eq!(timeline.exact.len(), 1);
    assert!(ran[0].0 <= exact.from);
    assert!(ran.last().expect("a span").1 >= exact.to);
    for pair in ran.windows(2) {
        assert_eq!(pair[0].1, pair[1].0);
    }
}

/// Worst cases are of the whole run, which goes on behind the last window.
#[test]
fn a_timeline_reaches_to_the_end_of_the_run() {
    let firmware = prebuilt("loop-48mhz");
    let run = |part: &str, windows: &[&str]| {
        let arguments = ["run", &firmware, "--until", "finished", part];
        measured(&[&arguments[..], windows].concat()).1
    };
    let whole = run("--timeline", &[]);
    for part in ["--timeline", "--timeline=worst"] {
        let ran = run(part, &["--from", "PB8=1", "--to", "PB8=0"]);
        ran.check().unwrap();
        assert_eq!(timeline_of(&ran).0.extent, timeline_of(&whole).0.extent, "{part}");
        assert!(ran.window.end.nanoseconds < whole.window.end.nanoseconds);
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
        let ran = timeline(arguments);
        let (timeline, notes) = timeline_of(&ran);
        assert_covered(timeline);
        assert!(notes.iter().all(|note| !note.contains("could not be kept")), "{notes:?}");
        let worst = arguments[0] == "worst";
        assert_eq!(marked(timeline).is_some(), worst, "{arguments:?}");
    }
    let length = |ran: &Measurement| {
        let exact = &timeline_of(ran).0.exact[0];
        exact.to - exact.from
    };
    assert_eq!(length(&timeline(&["last"])), 5_000_000, "the default");
    assert_eq!(length(&timeline(&["worst", "--span", "300us"])), 300_000);
}

/// The worst latency in the timeline is the one in the tables.
#[test]
fn the_timeline_shows_the_worst_latency() {
    let program = prebuilt("threads-freertos");
    let shown = |ran: &Measurement, name: &str, what: &str| {
        let (cycles, at, _) = worst(ran, what);
        let (who, shown, end) = marked(timeline_of(ran).0).expect("the worst latency");
        assert!(who.contains(name), "{who}");
        assert_eq!((shown, end), (cycles, at), "{name}");
    };
    for (name, what) in [
        ("sensor", "latest run of thread sensor after wake-up"),
        ("SysTick", "longest latency of SysTick"),
    ] {
        let arguments = ["--until", "finished", "--timeline", "worst", "--thread", name];
        shown(&measured(&[&["run", program.as_str()], &arguments[..]].concat()).1, name, what);
    }
    // Interrupts alone: the firmware has no threads.
    let (_, ran) = run(&[&prebuilt("stepper"), "--until", "20ms", "--timeline", "worst"]);
    shown(&ran, "TIM3", "longest latency of IRQ16 (TIM3)");
}

/// Wherever in the run they were: the exact part is its last milliseconds.
#[test]
fn worst_cases_are_moments_of_the_time_line() {
    let ran = timeline(&["last"]);
    let timeline = timeline_of(&ran).0;
    let moments = &timeline.moments;
    let moment = |name: &str, what: &str| {
        let at = (0..moments.at.len()).find(|&i| {
            let track = &timeline.tracks[moments.track[i] as usize];
            track.name == name && timeline.names[moments.name[i] as usize].starts_with(what)
        });
        let i = at.unwrap_or_else(|| panic!("no {what} of {name}"));
        (timeline.names[moments.name[i] as usize].as_str(), moments.at[i] as u64)
    };
    for (name, kind, what) in [
        ("sensor", "worst latency", "latest run of thread sensor after wake-up"),
        ("SysTick", "worst latency", "longest latency of SysTick"),
    ] {
        let (cycles, at, _) = worst(&ran, what);
        assert_eq!(moment(name, kind), (format!("{kind}: {cycles} cycles").as_str(), at));
        assert!((at as i64) < timeline.exact[0].from, "the test wants one from before");
    }
    let [deepest, at] = ["used", "at"].map(|what| figure(&ran, "stacks", "sensor", what));
    let stack = (format!("deepest stack: {deepest} bytes"), at);
    assert_eq!(moment("sensor", "deepest stack"), (stack.0.as_str(), stack.1));
}

#[test]
fn timelines_are_readable() {
    let program = prebuilt("threads-freertos");
    let run = |arguments: &[&str]| {
        let common = ["run", &program, "--until", "finished", "--terse", "--timeline"];
        let ran = strobe(&[&common[..], arguments].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let (_, after) = ran.stdout.split_once("\nwho ran when").expect("a time line");
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
