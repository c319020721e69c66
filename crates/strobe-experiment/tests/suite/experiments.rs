//! Experiments as data: builds, services, sweeps, conditions, expectations.

use std::sync::atomic::AtomicBool;

use strobe_experiment::experiment::{Error, Run};
use strobe_experiment::file::File;
use strobe_model::measurement::Measurement;

use super::{GO_ON, host};

pub(crate) fn carried_out(text: &str) -> Result<Measurement, Error> {
    stopped_by(text, &GO_ON)
}

pub(crate) fn stopped_by(text: &str, stop: &AtomicBool) -> Result<Measurement, Error> {
    let file = File::parse(text).expect("a description");
    let folder = tempfile::tempdir().expect("a folder");
    let host = host("test");
    let (folder, kept) = (folder.path(), &folder.path().join("kept"));
    std::fs::create_dir_all(kept).expect("a folder");
    let run = Run {
        file: &file,
        name: "own",
        folder,
        kept,
        host: &host,
        quick: true,
        stop,
        tool: "strobe",
    };
    let result = run.carry_out(&mut |_| {});
    if let Ok(measurement) = &result {
        measurement.check().expect("it holds together");
        let samples = std::fs::read_dir(kept).expect("the folder").flatten();
        let kept = samples.filter(|e| e.file_name().to_string_lossy().ends_with("done.jsonl"));
        assert!(kept.count() > 0, "raw samples are kept");
    }
    result
}

/// The first costs 100 at once and 1 for each item, the second 2 for each: equal at 100.
const SWEEP: &str = r#"
question = "from how many items on?"
build = "echo built > {build}/file"
[sweep]
parameter = "items"
values = [10, 50, 200, 1000]
[measure]
metric = "cost"
counters = ["cost"]
same-output = true
quick-seconds = 30.0
[[variant]]
name = "table"
run = "cat {build}/file; echo cost $((100 + {items}))"
[[variant]]
name = "search"
run = "cat {build}/file; echo cost $((2 * {items}))"
[[expect]]
at = 10
variant = "search"
counter = "cost"
exactly = 20
[[expect]]
at = 1000
variant = "search"
counter = "cost"
more-than = "table"
"#;

#[test]
fn a_sweep_gives_curve_crossover_growth_and_advice() {
    let measurement = carried_out(SWEEP).expect("it builds");
    assert!(measurement.findings.is_empty(), "{:#?}", measurement.findings);
    assert_eq!(measurement.parts.len(), 4);
    let rounds = |of: &Measurement| of.total("rounds").and_then(|n| Some(n.value()?.as_u64()));
    let each = measurement.parts.iter().filter_map(|part| rounds(&part.measurement));
    assert_eq!(rounds(&measurement), Some(each.sum()), "the whole is all values");
    let table = measurement.table("crossover").expect("the section");
    let at = table.column("crossover").expect("the place").cells[1].number().expect("a number");
    assert!((80.0..125.0).contains(&at.as_f64()), "{at:?}");
    let growth = &table.column("growth").expect("growth").cells[1];
    assert_eq!(growth.text(), Some("n"));
    let advice = table.column("advice").expect("advice").cells[1].text().expect("words");
    assert!(
        advice.starts_with("search below items") && advice.contains("from 10 to 1000 only"),
        "{advice}"
    );
}

#[test]
fn failed_expectation_is_a_finding() {
    let wrong = SWEEP.replace("exactly = 20", "exactly = 21");
    let measurement = carried_out(&wrong).expect("it builds");
    let finding = measurement.findings.iter().find(|finding| finding.code == "expectation");
    assert_eq!(finding.expect("a finding").text, "cost of search is 20, and was expected to be 21");
}

#[test]
fn variant_with_a_false_claim_has_failed() {
    let text = SWEEP.replace(
        "name = \"search\"\n",
        "name = \"search\"\ncondition = [{ counter = \"cost\", at-least = 90 }]\n",
    );
    let measurement = carried_out(&text).expect("it builds");
    let failed = measurement.findings.iter().find(|finding| finding.code == "failed");
    let text = &failed.expect("it failed").text;
    assert!(text.contains("condition: cost is 20, not at least 90"), "{text}");
}

#[test]
fn failing_build_ends_the_experiment_with_its_output() {
    let wrong = SWEEP.replace("echo built", "echo wrong >&2; false; exit 3; echo");
    let error = carried_out(&wrong).expect_err("it does not build").to_string();
    assert!(error.contains("exit code 3") && error.ends_with("wrong"), "{error}");
}

#[test]
fn failing_variant_is_shown_with_output_and_signal() {
    let wrong = SWEEP.replace(
        "echo cost $((2 * {items}))",
        "echo no such host >&2; sh -c 'kill -SEGV $$'; exit $?",
    );
    let measurement = carried_out(&wrong).expect("it builds");
    let failed = measurement.findings.iter().find(|finding| finding.code == "failed");
    let text = &failed.expect("it failed").text;
    assert!(
        text.contains("search fails: exit code 139, by which a shell means: crashed"),
        "{text}"
    );
    assert!(text.contains("its standard error ends: no such host"), "{text}");
}

const VALUES: &str = r#"
question = "which is later?"
[measure]
metric = "late-nanoseconds.p99"
values = ["late-nanoseconds"]
lateness-ms = 1
quick-seconds = 60.0
[[variant]]
name = "early"
run = "i=0; while [ $i -lt 200 ]; do i=$((i + 1)); echo late-nanoseconds $i; done; sleep 0.01"
[[variant]]
name = "late"
run = "i=0; while [ $i -lt 200 ]; do i=$((i + 1)); echo late-nanoseconds $((i * 50)); done"
[[expect]]
variant = "late"
counter = "late-nanoseconds.p99"
exactly = 1
[[expect]]
variant = "early"
counter = "late-nanoseconds.max"
more-than = "late"
"#;

#[test]
fn many_values_of_one_run_have_percentiles_and_pictures() {
    let measurement = carried_out(VALUES).expect("it runs");
    let verdict = &measurement.table("verdicts").expect("verdicts").column("verdict");
    let verdict = verdict.expect("the verdict").cells[0].text().expect("words");
    assert_eq!(verdict, "late: 50 times the late-nanoseconds.p99 of early");
    let text = format!("{measurement:?}");
    for section in ["late-nanoseconds early", "machine-lateness-nanoseconds early", "over-time-"] {
        assert!(text.contains(section), "no {section}");
    }
    let findings: Vec<&str> = measurement.findings.iter().map(|f| f.text.as_str()).collect();
    let has = |words: &str| findings.iter().any(|text| text.contains(words));
    assert!(has("expected a constant late-nanoseconds.p99 of late"), "{findings:?}");
    assert!(has("late-nanoseconds.max of early was expected to be more"), "{findings:?}");
}

/// Those of the repository; `make experiments` runs them.
#[test]
fn founding_experiments_are_readable_and_have_a_page() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).expect("the experiments").flatten() {
        let text = std::fs::read_to_string(entry.path().join("experiment.toml"));
        let file = File::parse(&text.expect("a description"));
        let file = file.unwrap_or_else(|e| panic!("{}: {e}", entry.path().display()));
        let page = std::fs::read_to_string(entry.path().join("README.md")).expect("a page");
        assert!(page.contains(&file.question) && page.contains(&file.setup), "{:?}", entry.path());
        read += 1;
    }
    assert!(read >= 6, "{read}");
}
