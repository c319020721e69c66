//! Runs that nobody bounds, and runs that somebody stops.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use super::{Folder, ended};
use crate::common::{self, Ran, heeding_signals, prebuilt, strobe};

#[test]
fn endless_firmware_runs_for_one_second() {
    let ran = strobe(&["run", &prebuilt("blink")]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("--until"), "{}", ran.stdout);
    assert!(ran.stdout.contains("1.000 s"), "{}", ran.stdout);
    let longer = strobe(&["run", &prebuilt("blink"), "--until", "3s"]);
    assert!(longer.stdout.contains("3.000 s"), "{}", longer.stdout);
}

fn stopped(child: Child, signal: &str) -> Ran {
    let mut child = child;
    common::signal(signal, child.id());
    ended(&mut child, Duration::from_secs(60), signal);
    let output = child.wait_with_output().expect("it has ended");
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Starts a command and waits until signals end what it runs, which Ctrl-C is the last to do.
fn start(arguments: &[&str]) -> Child {
    catching(arguments, 2)
}

/// Starts a command and waits until it catches that signal.
fn catching(arguments: &[&str], signal: u32) -> Child {
    let mut command = heeding_signals();
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let status = format!("/proc/{}/status", child.id());
    let caught = || {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        mask >> (signal - 1) & 1 == 1
    };
    while !caught() {
        assert_eq!(child.try_wait().expect("it is ours"), None, "it ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

#[test]
fn signals_end_a_run_with_its_report() {
    for signal in ["INT", "TERM", "HUP"] {
        let elf = prebuilt("x25519-c");
        let ran = stopped(start(&["run", &elf, "--until", "exit", "--interpret"]), signal);
        assert_eq!(ran.code, 130, "{signal}: {}", ran.stderr);
        assert!(ran.stdout.contains("stopped by the user"), "{signal}: {}", ran.stdout);
        assert!(ran.stdout.contains("balance"), "{signal}");
    }
}

/// Before anything is measured there is nothing to report.
#[test]
fn signals_end_readers_with_the_code_of_ctrl_c() {
    let folder = Folder::new();
    let mut vcd = "$timescale 1 us $end\n$var wire 1 ! A $end\n".to_owned();
    for time in 0..3_000_000 {
        let _ = writeln!(vcd, "#{time}\n{}!", time & 1);
    }
    folder.write("long.vcd", vcd.as_bytes());
    let [long, out] = ["long.vcd", "out.strobe"].map(|name| folder.path(name));
    let (long, out) = (long.display().to_string(), out.display().to_string());
    let pin = format!("sr:{long}:A@115200");
    let commands: [&[&str]; 3] =
        [&["pins", &long], &["report", &long, "--pin", "A@115200"], &["record", &pin, "-o", &out]];
    for (arguments, number, signal) in
        [(commands[0], 15, "TERM"), (commands[1], 1, "HUP"), (commands[2], 15, "TERM")]
    {
        let ran = stopped(catching(arguments, number), signal);
        assert_eq!((ran.code, ran.stdout.as_str()), (130, ""), "{arguments:?}: {}", ran.stderr);
    }
    assert!(!folder.path("out.strobe").exists());
}

/// Commands that make something else of a run than its profile: all state that it was stopped.
#[test]
fn every_report_of_a_stopped_run_states_it() {
    let elf = prebuilt("x25519-c");
    let run = ["--until", "exit", "--interpret"];
    let stack: &[&str] = &["stack", &elf, "--run"];
    for arguments in [stack, &["cycles", &elf, "main", "--run"], &["pins", &elf]] {
        let ran = stopped(start(&[arguments, &run].concat()), "TERM");
        assert_eq!(ran.code, 130, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stdout.contains("stopped by the user"), "{arguments:?}: {}", ran.stdout);
        assert!(!ran.stdout.contains("Ctrl-C"), "{arguments:?}: {}", ran.stdout);
        assert!(!ran.stdout.contains("the recording ends"), "{arguments:?}: {}", ran.stdout);
    }
}

#[test]
fn stopped_run_writes_no_first_file() {
    let folder = Folder::new();
    let file = folder.0.path().join("strobe.toml");
    let (elf, out) = (prebuilt("x25519-c"), file.display().to_string());
    let child = start(&["init", &elf, "-o", &out, "--until", "exit", "--", "--interpret"]);
    let ran = stopped(child, "TERM");
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert!(!file.exists());
}

#[test]
fn a_comparison_that_is_stopped_has_no_ratio() {
    let elf = prebuilt("x25519-c");
    let child = start(&["compare", &elf, &elf, "--until", "exit", "--interpret"]);
    let ran = stopped(child, "TERM");
    assert_eq!((ran.code, ran.stdout.as_str()), (130, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("nothing is compared"), "{}", ran.stderr);
}

/// What a run that was cut off, or that failed, did not do is not less.
#[test]
fn unfinished_run_passes_no_limit() {
    let folder = Folder::new();
    let blink = prebuilt("blink");
    let ran = folder.strobe(&["run", &blink, "-o", "whole.measurement", "--until", "1ms"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let whole = folder.0.path().join("whole.measurement");
    let text = std::fs::read_to_string(whole).expect("a measurement");
    let ended = "\"ended\":{\"kind\":\"";
    let text = text.replace(&format!("{ended}limit\""), &format!("{ended}interrupted\""));
    std::fs::write(folder.0.path().join("part.measurement"), text).expect("it can be written");
    let pairs = [("whole", "part"), ("part", "whole"), ("part", "part")];
    for (a, b) in pairs.map(|(a, b)| (format!("{a}.measurement"), format!("{b}.measurement"))) {
        let ran = folder.strobe(&["compare", &a, &b, "--fail-above", "clock_to_48mhz=100%"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (65, ""), "{a} {b}");
        assert!(ran.stderr.contains("stopped by the user"), "{}", ran.stderr);
        assert_eq!(folder.strobe(&["compare", &a, &b]).code, 0, "{a} {b}");
    }
    let fault = prebuilt("fault");
    let sides = ["compare", &blink, &fault, "--until", "20ms"];
    let ran = strobe(&[&sides[..], &["--fail-above", "2%"]].concat());
    assert_eq!(ran.code, 120, "{}", ran.stderr);
    assert!(ran.stdout.contains("b failed where a did not"), "{}", ran.stdout);
    assert_eq!(strobe(&sides).code, 0);
    // Both fail: there is nothing that one has not come to.
    assert_eq!(strobe(&["compare", &fault, &fault, "--fail-above", "2%"]).code, 0);
}

#[test]
fn runs_of_different_lengths_are_not_divided_in_silence() {
    let folder = Folder::new();
    let elf = prebuilt("loop-0ws");
    let compare = |a: &str, b: &str| {
        let ran = folder.strobe(&["compare", a, b]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let run = |name: &str, until: &[&str]| {
        let arguments = [&["run", &elf, "-o", name], until].concat();
        assert_eq!(folder.strobe(&arguments).code, 0);
    };
    run("short.measurement", &["--until", "100us"]);
    run("long.measurement", &["--until", "200us"]);
    run("place.measurement", &["--until", "finished"]);
    let text = compare("short.measurement", "long.measurement");
    assert!(text.contains("stopped after different times"), "{text}");
    let text = compare("short.measurement", "place.measurement");
    assert!(text.contains("ended for different reasons"), "{text}");
    let text = compare("short.measurement", "short.measurement");
    assert!(!text.contains("different"), "{text}");
    // Of pins as well, whose times are in picoseconds.
    for (name, until) in [("few.measurement", "100us"), ("many.measurement", "300us")] {
        let ran = folder.strobe(&["pins", &elf, "-o", name, "--until", until]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let text = compare("few.measurement", "many.measurement");
    assert!(text.contains("recordings of different lengths, 0.100 ms (a) and 0.30"), "{text}");
    let text = compare("few.measurement", "few.measurement");
    assert!(!text.contains("different lengths"), "{text}");
}

/// The system waits for a writer in silence: whoever forgot it sees what is missing.
#[test]
#[cfg(unix)]
fn pipe_without_a_writer_is_awaited_until_a_signal() {
    let folder = Folder::new();
    folder.fifo("wire");
    let start = || {
        let mut command = heeding_signals();
        command.args(["record", "file:wire", "-o", "x.strobe"]).current_dir(folder.0.path());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("it is text");
        assert!(line.contains("wire is a pipe, waiting for a writer"), "{line}");
        (child, stderr)
    };
    let most = Duration::from_secs(60);
    for signal in ["INT", "TERM", "HUP"] {
        let (mut child, _stderr) = start();
        common::signal(signal, child.id());
        ended(&mut child, most, signal);
        assert_eq!(child.wait().expect("it has ended").code(), Some(130), "{signal}");
        assert!(!folder.path("x.strobe").exists(), "{signal}");
    }
    let (mut child, _stderr) = start();
    std::fs::write(folder.path("wire"), folder.read("q.swo")).expect("it is read");
    ended(&mut child, most, "a writer");
    assert_eq!(child.wait().expect("it has ended").code(), Some(0));
    assert!(folder.path("x.strobe").exists());
}
