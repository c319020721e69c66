//! Rounds of variants whose truth is known.

use std::time::Duration;

use strobe_experiment::bench::{Bench, Settings};
use strobe_experiment::host::Command;
use strobe_experiment::judge::Verdict;
use strobe_experiment::measurement::{Parts, measurement};
use strobe_experiment::samples::{Metric, Round, Variant};

use super::{GO_ON, host, shell};

fn variants(lines: &[&str]) -> Vec<Variant> {
    let variant =
        |(n, line): (usize, &&str)| Variant { name: format!("v{n}"), command: shell(line) };
    lines.iter().enumerate().map(variant).collect()
}

fn carried_out(variants: &[Variant], settings: &Settings) -> Vec<Round> {
    let folder = tempfile::tempdir().expect("a folder");
    let host = host("test");
    let bench =
        Bench { host: &host, folder: folder.path(), variants, settings, stop: &GO_ON, check: None };
    let mut rounds = Vec::new();
    bench.run(&mut rounds, None, &mut |_| {}).expect("there is no log");
    rounds
}

fn judged(variants: &[Variant], settings: &Settings) -> strobe_experiment::judge::Judgement {
    strobe_experiment::judge::judge(variants, &carried_out(variants, settings), settings)
}

/// Counters are what load does not move: the machine may be as busy as it likes.
#[test]
fn counters_are_compared_exactly_and_decide() {
    let variants = variants(&["echo work 100; echo same", "echo same; echo work 150"]);
    let settings = Settings {
        metric: Metric::Counter("work".to_owned()),
        counters: vec!["work".to_owned()],
        same_output: true,
        ..Settings::default()
    };
    let judgement = judged(&variants, &settings);
    assert_eq!(judgement.comparisons[0].verdict, Some(Verdict::Differs { low: 1.5, high: 1.5 }));
    assert!(judgement.is_decided() && judgement.rounds == 7, "{judgement:?}");
    let work = judgement.exact.iter().find(|(metric, _)| metric.name() == "work");
    assert_eq!(work.expect("it repeats").1, [Some(100), Some(150)]);
}

#[test]
fn failing_variants_have_no_time() {
    let variants = variants(&["true", "exit 3", "sleep 5", "true"]);
    let settings =
        Settings { rounds: Some(4), timeout: Duration::from_millis(300), ..Settings::default() };
    let judgement = judged(&variants, &settings);
    let failure = |variant: usize| judgement.failures[variant].iter().next();
    assert_eq!(failure(0), None);
    assert_eq!(failure(1), Some((&"exit code 3".to_owned(), &3)));
    assert_eq!(failure(2), Some((&"timeout".to_owned(), &1)));
    assert_eq!(judgement.comparisons[0].verdict, None);
    assert!(judgement.comparisons[2].verdict.is_some());
    // Given up after three failures or one hang; the others go on.
    assert_eq!(judgement.runs, [4, 3, 1, 4]);
}

#[test]
fn another_answer_is_a_failure() {
    let variants = variants(&["echo 42", "echo 43", "echo count twelve; echo 42"]);
    let settings = Settings { same_output: true, rounds: Some(2), ..Settings::default() };
    let judgement = judged(&variants[..2], &settings);
    // The first run sets what is right; whichever was first, the other one fails.
    let failed: Vec<bool> = (0..2).map(|variant| judgement.has_failed(variant)).collect();
    assert!(failed[0] != failed[1], "{judgement:?}");
    let counted = Settings { counters: vec!["count".to_owned()], ..settings };
    let judgement = judged(&variants[2..], &counted);
    assert_eq!(
        judgement.failures[0].keys().next().expect("it fails"),
        "counter count: \"twelve\" is no whole number"
    );
}

#[test]
fn seed_decides_the_order_of_each_round() {
    let variants = variants(&["true", "true", "true"]);
    let settings = Settings { rounds: Some(6), ..Settings::default() };
    let orders = |rounds: &[Round]| -> Vec<Vec<usize>> {
        rounds.iter().map(|round| round.order.clone()).collect()
    };
    let (once, again) = (carried_out(&variants, &settings), carried_out(&variants, &settings));
    assert_eq!(orders(&once), orders(&again));
    assert!(orders(&once).iter().any(|order| *order != orders(&once)[0]));
}

#[test]
fn the_measurement_holds_together() {
    let variants = variants(&["echo work 7", "echo work 7", "exit 1"]);
    let settings =
        Settings { counters: vec!["work".to_owned()], rounds: Some(12), ..Settings::default() };
    let rounds = carried_out(&variants, &settings);
    let parts = Parts {
        title: "three",
        variants: &variants,
        rounds: &rounds,
        settings: &settings,
        counted: &[],
        clock_ns: 30,
        interrupted: false,
        tool: "strobe",
    };
    let measurement = measurement(&parts);
    measurement.check().expect("it holds together");
    assert!(!measurement.table("exact").expect("work repeats").is_empty(), "{measurement:#?}");
    let verdicts = measurement.table("verdicts").expect("verdicts");
    let text = verdicts.column("verdict").expect("in words").cells[1].text();
    assert_eq!(text, Some("v2 fails"));
    assert!(measurement.findings.iter().any(|finding| finding.code == "failed"));
    assert_eq!(Command::line("true").arguments, ["true"]);
}
