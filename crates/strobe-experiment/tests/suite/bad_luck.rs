//! Commands that crash, hang, write too much or leave others behind; runs that are stopped, killed
//! or cut off. No process survives, nothing that was measured is lost.

use std::io::Write;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use strobe_experiment::host::{Command, Ended, Lease, MARK, run, start};
use strobe_experiment::samples::{Log, Round, Variant};

use super::{GO_ON, ended, host, left, own, processes, shell};

#[test]
fn each_end_has_its_name() {
    assert_eq!(ended("exit 0").ended, Ended::Exit(0));
    assert_eq!(ended("exit 7").ended, Ended::Exit(7));
    assert_eq!(ended("kill -SEGV $$").ended, Ended::Signal(11));
    let missing = Command { arguments: vec!["/no/such/program".to_owned()], ..Command::default() };
    assert!(matches!(run(&host("test"), &missing, &GO_ON).ended, Ended::NotStarted(_)));
    assert!(matches!(run(&host("test"), &Command::default(), &GO_ON).ended, Ended::NotStarted(_)));
}

#[test]
fn resource_use_includes_descendants() {
    let outcome = ended("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; (sleep 0.05)");
    assert!(outcome.wall_ns >= 50_000_000, "{outcome:?}");
    assert!(outcome.user_us > 0 && outcome.user_us * 1000 < outcome.wall_ns, "{outcome:?}");
    assert!(outcome.minor_faults > 0 && outcome.peak_bytes > 100_000, "{outcome:?}");
    assert!(outcome.voluntary_switches > 0, "{outcome:?}");
    assert_eq!(outcome.left_behind, 0);
}

/// Of pipes as well; what the supervisor reads itself is not in it.
#[test]
fn bytes_are_counted_with_descendants() {
    let bytes = |line: &str| {
        let outcome = ended(line);
        outcome.read_bytes.zip(outcome.written_bytes)
    };
    let Some((read, written)) = bytes("exit 0") else {
        // Not every system counts them: then they are unknown in both.
        assert_eq!(bytes("head -c 9 /dev/zero"), None);
        return;
    };
    assert!(written == 0 && read < 100_000, "a shell reads libraries' heads: {read}, {written}");
    let (read, written) =
        bytes("head -c 1000000 /dev/zero | cat; exit 0").expect("they are counted");
    assert!((2_000_000..2_200_000).contains(&read), "{read}");
    assert_eq!(written, 2_000_000);
}

#[test]
fn hanging_command_is_ended_with_its_children() {
    let word = own("86401");
    let line = format!("sleep {word} & sleep {word}");
    let command = shell(&line).within(Duration::from_millis(200));
    let begin = Instant::now();
    let outcome = run(&host("test"), &command, &GO_ON);
    assert_eq!(outcome.ended, Ended::TimedOut);
    assert!(begin.elapsed() < Duration::from_secs(20));
    assert_eq!(left(&word), 0);
}

/// A daemon: a session of its own, its parent gone.
#[test]
fn leftover_processes_are_found_and_ended() {
    let word = own("86402");
    let outcome = ended(&format!("setsid sh -c 'sleep {word} & exit 0' & wait"));
    assert_eq!((outcome.ended, outcome.left_behind > 0), (Ended::Exit(0), true));
    assert_eq!(left(&word), 0);
}

/// Helpers that see the end of their parent and follow it were not left behind.
#[test]
fn promptly_ending_processes_are_not_leftovers() {
    let one = || {
        let outcome = ended("(sleep 0.03; exit 0) & exit 0");
        assert_eq!(outcome.ended, Ended::Exit(0));
        outcome.left_behind
    };
    // A busy machine may give one of them no time to end in.
    assert!((0..50).any(|_| one() == 0));
}

#[test]
fn a_file_beyond_the_limit_ends_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let command = Command {
        arguments: ["head", "-c", "5000000", "/dev/zero"].map(str::to_owned).into(),
        output: Some(folder.path().join("out")),
        file_limit: Some(1 << 20),
        ..Command::default()
    };
    let outcome = run(&host("test"), &command, &GO_ON);
    assert_ne!(outcome.ended, Ended::Exit(0));
    let length = folder.path().join("out").metadata().expect("what was written").len();
    assert_eq!(length, 1 << 20);
}

#[test]
fn the_user_can_stop_it() {
    let stop = AtomicBool::new(false);
    let word = own("86403");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            stop.store(true, Ordering::Relaxed);
        });
        let outcome = run(&host("test"), &shell(&format!("sleep {word}")), &stop);
        assert_eq!(outcome.ended, Ended::Stopped);
    });
    assert_eq!(left(&word), 0);
}

/// A service is asked to end before it is made to.
#[test]
fn services_end_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let done = folder.path().join("done");
    let line = "trap 'echo > done; exit 0' TERM; echo > ready; while :; do sleep 0.01; done";
    let within = Some(folder.path().to_owned());
    let command = Command { grace_ms: 60_000, folder: within, ..shell(line) };
    let mut running = start(&host("test"), &command).expect("a supervisor");
    while !folder.path().join("ready").is_file() {
        assert!(!running.has_ended());
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(running.stop().ended, Ended::Stopped);
    assert!(done.is_file());
}

/// `strobe` is killed: the pipe closes, which the supervisor sees.
#[test]
fn nothing_survives_when_the_parent_is_killed() {
    let host = host("test");
    let mut supervisor = std::process::Command::new(&host.supervisor)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("a supervisor");
    let mut line = supervisor.stdin.take().expect("its input");
    let word = own("86404");
    let command = shell(&format!("sleep {word} & wait"));
    writeln!(line, "{}", serde_json::to_string(&command).expect("a command")).expect("it reads");
    while processes(&word).is_empty() {
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(line);
    supervisor.wait().expect("it ends");
    assert_eq!(left(&word), 0);
}

/// Waits until the kernel shows a new process with its environment: that is a moment after whoever
/// started it goes on.
fn shows_its_mark(process: u32) {
    let path = format!("/proc/{process}/environ");
    for _ in 0..1000 {
        let environment = std::fs::read(&path).expect("it runs");
        if environment.windows(MARK.len()).any(|part| part == MARK.as_bytes()) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{path} does not have {MARK}");
}

/// The supervisor is killed as well: the next run cleans up.
#[test]
fn next_run_cleans_up_after_a_killed_one() {
    let folder = tempfile::tempdir().expect("a folder");
    // Nobody else's: several suites may run at once.
    let mark = format!("{}-test-of-leftovers", std::process::id());
    let gone = folder.path().join(&mark);
    std::fs::write(&gone, "").expect("a claim without a lock");
    let mut orphan = std::process::Command::new("sleep")
        .arg("86405")
        .env(MARK, &mark)
        .spawn()
        .expect("a process");
    shows_its_mark(orphan.id());
    let own = Lease::take(folder.path()).expect("a claim");
    assert_eq!(own.cleaned, 1);
    assert!(!orphan.wait().expect("it was ended").success());
    assert!(!gone.exists());
    // That of a run which goes on is left alone.
    let other = Lease::take(folder.path()).expect("a second one");
    assert_eq!(other.cleaned, 0);
    assert_ne!(own.mark, other.mark);
    drop((own, other));
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
}

/// A file of somebody's has no line that was written here, whole or cut off; it stays as it is.
#[test]
fn only_samples_of_the_same_commands_are_resumed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("samples.jsonl");
    let variants = [Variant { name: "a".to_owned(), command: shell("true") }];
    drop(Log::open(&path, &variants, 1, &GO_ON).expect("a new file"));
    let head = std::fs::read(&path).expect("the head");
    for cut in [0, 1, head.len() / 2, head.len() - 1] {
        std::fs::write(&path, &head[..cut]).expect("it is cut off");
        let (log, rounds) = Log::open(&path, &variants, 1, &GO_ON).expect("what a kill leaves");
        drop(log);
        assert!(rounds.is_empty());
        assert_eq!(std::fs::read(&path).expect("the head"), head, "cut off after {cut}");
    }
    let longer = [&head[..head.len() - 1], b" "].concat();
    let other = std::fs::read_to_string(&path).expect("text").replace("true", "false");
    let half = &other.as_bytes()[..other.len() - 1];
    for foreign in [&b"notes"[..], b"notes\n", b"{", b"\n", b"\0\0", &longer, half] {
        std::fs::write(&path, foreign).expect("somebody's");
        let is_prefix = head.starts_with(foreign);
        assert_eq!(Log::open(&path, &variants, 1, &GO_ON).is_ok(), is_prefix, "{foreign:?}");
        assert!(is_prefix || std::fs::read(&path).expect("the file") == foreign, "{foreign:?}");
    }
}

#[test]
fn samples_that_are_too_long_are_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("samples.jsonl");
    let variants = [Variant { name: "a".to_owned(), command: shell("true") }];
    let refused = |words: &str| {
        let error = Log::open(&path, &variants, 1, &GO_ON).expect_err("too long").to_string();
        assert!(error.contains(words), "{error}");
    };
    let sparse = std::fs::File::create(&path).expect("a file");
    sparse.set_len(8 << 30).expect("it is sparse");
    refused("8,589,934,592 bytes");
    sparse.set_len(65 << 20).expect("it is sparse");
    refused("a line of it");
    assert_eq!(sparse.metadata().expect("it is there").len(), 65 << 20);
    drop(sparse);
    std::fs::remove_file(&path).expect("it is ours");
    let (mut log, _) = Log::open(&path, &variants, 1, &GO_ON).expect("a new file");
    log.add(&Round::default()).expect("there is room");
    drop(log);
    let stopped = Log::open(&path, &variants, 1, &AtomicBool::new(true)).expect_err("stopped");
    assert_eq!(stopped.kind(), std::io::ErrorKind::Interrupted);
}

#[test]
fn samples_go_on_after_the_last_whole_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("samples.jsonl");
    let variants = [Variant { name: "a".to_owned(), command: shell("true") }];
    let (mut log, rounds) = Log::open(&path, &variants, 1, &GO_ON).expect("a new file");
    assert!(rounds.is_empty());
    assert!(Log::open(&path, &variants, 1, &GO_ON).is_err(), "two at once");
    log.add(&Round::default()).expect("there is room");
    log.add(&Round { number: 1, ..Round::default() }).expect("there is room");
    drop(log);
    let mut text = std::fs::read(&path).expect("the file");
    text.truncate(text.len() - 5);
    std::fs::write(&path, text).expect("it is cut off");
    let (mut log, rounds) = Log::open(&path, &variants, 1, &GO_ON).expect("what is left of it");
    assert_eq!(rounds, [Round::default()]);
    log.add(&Round { number: 1, ..Round::default() }).expect("there is room");
    drop(log);
    assert_eq!(Log::open(&path, &variants, 1, &GO_ON).expect("both").1.len(), 2);
    assert!(Log::open(&path, &variants, 2, &GO_ON).is_err(), "another seed");
    // A device has no end to read up to.
    assert!(Log::open(std::path::Path::new("/dev/full"), &variants, 1, &GO_ON).is_err());
}
