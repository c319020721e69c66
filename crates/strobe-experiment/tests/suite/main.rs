//! The crate from outside, with real processes.
#![cfg(target_os = "linux")]

mod bad_luck;
mod events;
mod experiments;
mod founding;
mod rounds;
mod services;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use strobe_experiment::host::{Command, Host, Outcome, run};

/// Nobody wants an end.
static GO_ON: AtomicBool = AtomicBool::new(false);

/// The example `supervisor`, which cargo builds beside the tests.
fn host(mark: &str) -> Host {
    let own = std::env::current_exe().expect("this test");
    let folder = own.ancestors().nth(2).expect("the folder of the build");
    let supervisor = folder.join("examples/supervisor");
    assert!(supervisor.is_file(), "no {}", supervisor.display());
    Host { supervisor, mark: mark.to_owned() }
}

fn shell(line: &str) -> Command {
    Command {
        arguments: vec!["/bin/sh".to_owned(), "-c".to_owned(), line.to_owned()],
        ..Command::default()
    }
}

fn ended(line: &str) -> Outcome {
    run(&host("test"), &shell(line), &GO_ON)
}

/// Seconds to sleep that no other suite on this machine uses: each counts its own processes.
fn own(seconds: &str) -> String {
    format!("{seconds}.{}", std::process::id())
}

/// Processes whose arguments have that word.
fn processes(word: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let has = |path: &Path| {
        let arguments = std::fs::read(path.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).split('\0').any(|argument| argument == word)
    };
    entries.map(|entry| entry.path()).filter(|path| has(path)).collect()
}

/// Waits until none of them is left; how many there are after five seconds.
fn left(word: &str) -> usize {
    for _ in 0..250 {
        if processes(word).is_empty() {
            return 0;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    processes(word).len()
}
