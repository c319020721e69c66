//! `strobe bench` with commands that fail, hang and leave processes behind: exit codes, findings,
//! and that nothing survives. No test looks at a time.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use strobe_model::measurement::Measurement;

use crate::common::{command, read, strobe, total};

/// Whether one of the findings has that code and those words.
pub fn finds(measurement: &Measurement, code: &str, words: &str) -> bool {
    let mut of_code = measurement.findings.iter().filter(|finding| finding.code == code);
    of_code.any(|finding| finding.text.contains(words))
}

fn measured(arguments: &[&str]) -> (i32, Measurement) {
    let ran = strobe(&[arguments, &["--format=json"]].concat());
    (ran.code, read(&ran))
}

/// Seconds to sleep that no other suite on this machine uses: each counts its own processes.
pub fn own(seconds: &str) -> String {
    format!("{seconds}{}", std::process::id())
}

/// Processes one of whose arguments is that word.
fn processes(word: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let has = |path: &PathBuf| {
        let arguments = std::fs::read(path.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).split('\0').any(|argument| argument == word)
    };
    entries.map(|entry| entry.path()).filter(has).collect()
}

/// Waits until there are so many processes with that word.
pub fn wait_for(word: &str, count: usize) {
    for _ in 0..3000 {
        if processes(word).len() == count {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{:?} bear {word} after a minute, not {count}", processes(word));
}

/// Starts strobe with what it prints out of sight.
pub fn started(arguments: &[&str]) -> Child {
    let quiet = command().args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    quiet.expect("strobe starts")
}

/// Sends a signal.
pub fn signal(child: &Child, name: &str) {
    let line = format!("kill -{name} {}", child.id());
    let sent = std::process::Command::new("sh").args(["-c", &line]).status();
    assert!(sent.is_ok_and(|status| status.success()), "{line}");
}

#[test]
fn wrong_arguments_are_refused_before_anything_runs() {
    let wrong: [(&[&str], &str); 9] = [
        (&["true"], "two commands or more"),
        (&["--name", "a", "--name", "a", "true", "true"], "one name"),
        (&["", "true"], "a command is empty"),
        (&["--", "true", "--vs"], "no command beside --vs"),
        (&["--name", "a", "true", "false"], "1 of --name for 2 commands"),
        (&["--metric", "nonsense", "true", "false"], "counters named by --counter"),
        (&["--rounds", "0", "true", "false"], "0 is not in"),
        (&["--rounds", "3", "--warm-up", "3", "true", "false"], "leaves none"),
        (&["--threshold", "0", "true", "false"], "above 0"),
    ];
    for (arguments, words) in wrong {
        let ran = strobe(&[&["bench"][..], arguments].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (64, ""), "{arguments:?}");
        assert!(ran.stderr.contains(words), "{arguments:?}: {}", ran.stderr);
    }
}

/// As one would write it for a shell or another tool: quoted behind `--`, or the same thing twice.
#[test]
fn quoted_commands_run_and_equal_ones_are_numbered() {
    let line = "test 1 = 1";
    let ran = strobe(&["bench", "--rounds", "3", "--", line, "--vs", line]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(ran.stdout.contains("test 1 = 1 (2)"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("fails"), "{}", ran.stdout);
}

/// Valgrind is one of the programs that the tests need.
#[test]
fn valgrind_counts_what_load_does_not_move() {
    let lines = ["sort Cargo.toml", "sort -r Cargo.toml"];
    let begin = ["bench", "--rounds", "3", "--instrument", "valgrind"];
    let (code, measurement) = measured(&[&begin[..], &lines].concat());
    assert_eq!(code, 0, "{:?}", measurement.findings);
    let table = measurement.table("exact").expect("exact counts");
    let of = |name: &str| {
        let names = &table.column("count").expect("names").cells;
        let row =
            names.iter().position(|cell| cell.text().is_some_and(|text| text.starts_with(name)));
        let row = row.unwrap_or_else(|| panic!("no {name}: {names:?}"));
        let cell = &table.column("variant-1").expect("a variant").cells[row];
        (
            names[row].text().unwrap_or_default().to_owned(),
            cell.number().map_or(0.0, |n| n.as_f64()),
        )
    };
    for name in ["instructions", "l1-instruction-misses", "l1-data-misses", "branches"] {
        assert!(of(name).1 > 100.0, "{name}: {:?}", of(name));
    }
    assert!(of("l1-data-misses").1 < of("instructions").1);
    assert!(of("allocated-bytes").1 > of("allocations").1 && of("allocations").1 > 0.0);
    assert!(of("mispredictions").0.contains("not to be trusted"));
}

#[test]
fn commands_parted_by_vs_are_the_ones_in_quotes() {
    let names: &[&str] =
        &["bench", "--rounds=3", "--warm-up=1", "--name=a", "--name=b", "--counter=n"];
    let parted = ["--", "echo", "n", "3", "--vs", "echo", "n", "4"];
    for commands in [&parted[..], &["echo n 3", "echo n 4"]] {
        let measurement = read(&strobe(&[names, &["--format=json"], commands].concat()));
        assert_eq!(total(&measurement, "rounds"), 2_u64.into());
        let text = strobe(&[names, commands].concat()).stdout;
        let row = text.lines().find(|line| line.trim_end().ends_with("  n"));
        let row = row.unwrap_or_else(|| panic!("no exact count n in {text}"));
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["3", "4", "n"]);
    }
}

#[test]
fn failing_command_has_no_time() {
    let wrong: [(&str, &[&str], &str); 4] = [
        ("exit 3", &[], "exit code 3"),
        ("kill -SEGV $$", &[], "signal 11"),
        ("echo other", &["--same-output"], "another answer"),
        ("echo rubbish", &["--counter", "n"], "the counter n is not in the answer"),
    ];
    for (line, options, words) in wrong {
        let bad = format!("{line}; :");
        let names = ["bench", "--rounds", "2", "--name", "good", "--name", "bad"];
        let (code, measurement) = measured(&[&names[..], options, &["echo n 1", &bad]].concat());
        assert_eq!(code, 1, "{line}");
        assert!(finds(&measurement, "failed", words), "{line}: {:?}", measurement.findings);
        // Whichever ran first: the reference's answer is the right one.
        let mut failed = measurement.findings.iter().filter(|finding| finding.code == "failed");
        assert!(failed.all(|finding| finding.text.starts_with("bad fails")), "{line}");
    }
    let (code, measurement) = measured(&["bench", "--rounds", "2", "true", "./no-such-program x"]);
    assert_eq!(code, 1);
    assert!(finds(&measurement, "failed", "cannot be started"), "{:?}", measurement.findings);
}

#[test]
fn hanging_command_is_ended_with_its_descendants() {
    let word = own("7200.101");
    let hang = format!("sleep {word}");
    let hangs = ["--rounds", "1", "--timeout", "2s", "true", &hang];
    let (code, measurement) = measured(&[&["bench"][..], &hangs].concat());
    assert_eq!(code, 1);
    assert!(finds(&measurement, "failed", "timeout"), "{:?}", measurement.findings);
    wait_for(&word, 0);

    let word = own("7200.102");
    let daemon = format!("setsid sleep {word} & exit 0");
    let (code, measurement) = measured(&["bench", "--rounds", "2", "true", &daemon]);
    assert_eq!(code, 0);
    assert!(finds(&measurement, "left-behind", "which were killed"));
    wait_for(&word, 0);
}

#[test]
fn however_strobe_is_ended_its_commands_end_too() {
    let ends = [
        ("INT", "7200.103", Some(130)),
        ("TERM", "7200.104", Some(130)),
        ("KILL", "7200.105", None),
    ];
    for (name, word, code) in ends {
        let word = &own(word);
        let line = format!("setsid sleep {word} & sleep {word}; :");
        let mut strobe = started(&["bench", "--name", "a", "--name", "b", &line, &line]);
        wait_for(word, 2);
        signal(&strobe, name);
        assert_eq!(strobe.wait().expect("it ends").code(), code, "{name}");
        wait_for(word, 0);
    }
}

#[test]
fn samples_are_gone_on_with_and_never_mixed() {
    let folder = tempfile::tempdir().expect("a folder");
    let samples = folder.path().join("runs.jsonl").display().to_string();
    let run = |rounds: &str, second: &str| {
        strobe(&["bench", "--samples", &samples, "--rounds", rounds, "true", second])
    };
    assert_eq!(run("2", "echo b").code, 0);
    let more = run("4", "echo b");
    assert_eq!(more.code, 0);
    assert!(more.stderr.contains("going on after 2 rounds"), "{}", more.stderr);
    let text = std::fs::read_to_string(&samples).expect("the samples");
    assert_eq!(text.lines().count(), 1 + 4, "a head and four rounds");
    let other = run("4", "echo c");
    assert_eq!(other.code, 74, "{}", other.stderr);
    assert!(other.stderr.contains("samples of other commands"), "{}", other.stderr);
    assert_eq!(std::fs::read_to_string(&samples).expect("the samples"), text);
    std::fs::write(&samples, "notes").expect("it is ours");
    let other = run("2", "echo b");
    assert_eq!((other.code, other.stdout.as_str()), (74, ""), "{}", other.stderr);
    assert_eq!(std::fs::read_to_string(&samples).expect("the notes"), "notes");
}

#[test]
fn full_file_is_an_error_and_measurements_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let samples = folder.path().join("runs.jsonl").display().to_string();
    let line = r#"ulimit -f 4; exec "$0" bench --samples "$1" --rounds 200 true 'echo b'"#;
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", line]).arg(command().get_program()).arg(samples);
    let ran = crate::common::ran(&mut shell);
    assert_eq!(ran.code, 74, "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot write"), "{}", ran.stderr);
    assert!(ran.stdout.contains("rounds counted"), "{}", ran.stdout);
}
