//! What must be up while an experiment runs: ready, counted, broken, and gone afterwards.

use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use strobe_experiment::experiment::Error;

use super::experiments::{carried_out, stopped_by};
use super::{left, own};

/// It sleeps for SLEEP seconds.
const SERVICE: &str = r#"
question = "does it answer?"
[[service]]
name = "one"
prepare = "echo {one.port} > {one.folder}/port"
start = "touch {one.folder}/up; sleep SLEEP"
ready = "test -e {one.folder}/up"
timeout-seconds = 5
[[variant]]
name = "a"
run = "test -s {one.folder}/port"
[[variant]]
name = "b"
run = "test {one.port} -gt 1023"
[measure]
quick-seconds = 0.2
"#;

/// The service with seconds that nobody else sleeps, and these.
fn service(seconds: &str) -> (String, String) {
    let word = own(seconds);
    (SERVICE.replace("SLEEP", &word), word)
}

#[test]
fn services_are_up_meanwhile_and_gone_afterwards() {
    let (text, word) = service("86411");
    let measurement = carried_out(&text).expect("it gets ready");
    assert!(!measurement.findings.iter().any(|f| f.code == "failed"), "{:?}", measurement.findings);
    assert_eq!(left(&word), 0);
}

#[test]
fn ended_or_unready_service_gives_no_figure() {
    let ends = SERVICE.replace("touch {one.folder}/up; sleep SLEEP", "echo no room >&2; exit 1");
    let error = carried_out(&ends).expect_err("it ended").to_string();
    assert!(error.contains("service one") && error.contains("no room"), "{error}");
    let (text, word) = service("86412");
    let never = text.replace("touch {one.folder}/up; ", "");
    let never = never.replace("timeout-seconds = 5", "timeout-seconds = 1");
    let error = carried_out(&never).expect_err("it is not ready").to_string();
    assert!(error.contains("not ready in time"), "{error}");
    assert_eq!(left(&word), 0);
}

#[test]
fn a_stop_ends_it_in_order() {
    let stop = AtomicBool::new(true);
    let (text, word) = service("86414");
    assert!(matches!(stopped_by(&text, &stop), Err(Error::Stopped)));
    assert_eq!(left(&word), 0);
}

/// Others' counters count by what they grow during a run.
#[test]
fn a_services_counters_are_counted_for_each_run() {
    let counted = SERVICE
        .replace("SLEEP", &own("86415"))
        .replace("touch {one.folder}/up", "echo 40 > {one.folder}/n; touch {one.folder}/up")
        .replace(
            "ready = ",
            "counters = \"echo syncs $(cat {one.folder}/n); echo other 3\"\nready = ",
        )
        .replace(
            "test -s {one.folder}/port",
            "n=$(cat {one.folder}/n); echo $((n + 3)) > {one.folder}/n",
        )
        .replace("[measure]", "[measure]\ncounters = [\"syncs\"]");
    // What is expected to be a count runs often enough to be one.
    let counted =
        format!("{counted}[[expect]]\nvariant = \"a\"\ncounter = \"syncs\"\nexactly = 3\n");
    let measurement = carried_out(&counted).expect("it gets ready");
    let table = measurement.table("exact").expect("exact counts");
    let column = |name: &str| table.column(name).expect("a variant").cells[0].number();
    assert_eq!(column("variant-1").expect("a count").as_f64(), 3.0);
    assert_eq!(column("variant-2").expect("a count").as_f64(), 0.0);

    let shrinks = counted.replace("$((n + 3))", "$((n - 3))");
    let measurement = carried_out(&shrinks).expect("it gets ready");
    let finding = measurement.findings.iter().find(|finding| finding.code == "failed");
    let text = &finding.expect("it cannot be counted").text;
    assert!(text.contains("a fails: syncs became less meanwhile"), "{text}");
}

/// A full disk, a crash: what was measured before is there, and what happened is in front of it.
#[test]
fn service_ending_early_is_named_with_its_output() {
    let ends = SERVICE
        .replace(
            "sleep SLEEP",
            "until test -e {one.folder}/full; do sleep 0.01; done; echo No space left >&2; exit 28",
        )
        .replace("test {one.port} -gt 1023", "touch {one.folder}/full; sleep 0.1");
    let measurement = carried_out(&ends).expect("there are rounds");
    let text = &measurement.findings.first().expect("a finding").text;
    assert!(
        text.contains("service one: ended by itself") && text.contains("exit code 28"),
        "{text}"
    );
    assert!(text.contains("No space left"), "{text}");
}

/// Somebody else takes the port between its choice and the server's start.
#[test]
fn a_port_that_was_taken_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let shared = format!("'{}'", folder.path().display());
    let (text, word) = service("86413");
    let taken = text
        .replace(
            "echo {one.port} > {one.folder}/port",
            &format!(
                "echo {{one.port}} > {{one.folder}}/port; test -e {shared}/taken || {{ echo \
                 {{one.port}} > {shared}/wanted; mv {shared}/wanted {shared}/port; until test -e \
                 {shared}/taken; do sleep 0.01; done; }}"
            ),
        )
        .replace(
            "touch {one.folder}/up; ",
            &format!(
                "test $(cat {shared}/taken) = {{one.port}} && {{ echo in use >&2; exit 1; }}; \
                 touch {{one.folder}}/up; "
            ),
        );
    let thief = std::thread::spawn({
        let folder = folder.path().to_owned();
        move || steal(&folder)
    });
    let measurement = carried_out(&taken).expect("it gets another port");
    assert!(!measurement.findings.iter().any(|f| f.code == "failed"), "{:?}", measurement.findings);
    drop(thief.join().expect("a thief"));
    assert_eq!(left(&word), 0);
}

fn steal(folder: &Path) -> TcpListener {
    let port = loop {
        if let Ok(text) = std::fs::read_to_string(folder.join("port")) {
            break text.trim().parse().expect("a port");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("it was free");
    std::fs::write(folder.join("taken"), port.to_string()).expect("a file");
    listener
}

/// What an earlier run has left is no part of this one.
#[test]
fn service_folder_begins_empty_and_is_removed() {
    let (text, word) = service("86416");
    let once = text.replace("prepare = \"", "prepare = \"mkdir {one.folder}/data && ");
    for _ in 0..2 {
        carried_out(&once).expect("it begins empty");
    }
    assert_eq!(left(&word), 0);
}
