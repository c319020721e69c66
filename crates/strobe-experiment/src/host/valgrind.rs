//! Instructions by Valgrind: a count that a busy machine cannot move.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::{Command, Ended, Host, run};

/// What Valgrind counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counted {
    /// Instructions of the command and its descendants.
    Instructions(u64),
    /// Why there are none.
    No(String),
}

/// Counts the instructions of a command; files are kept in `folder` meanwhile, which is emptied.
/// It takes some fifty times as long as without.
pub fn instructions(
    host: &Host,
    command: &Command,
    folder: &Path,
    timeout: Duration,
    stop: &AtomicBool,
) -> Counted {
    let logs = folder.join("valgrind");
    let _ = fs::remove_dir_all(&logs);
    if let Err(error) = fs::create_dir_all(&logs) {
        return Counted::No(error.to_string());
    }
    let mut arguments: Vec<String> = ["valgrind", "--tool=cachegrind", "--cache-sim=no"]
        .into_iter()
        .chain(["--cachegrind-out-file=/dev/null", "--trace-children=yes"])
        .map(str::to_owned)
        .collect();
    arguments.push(format!("--log-file={}/%p", logs.display()));
    arguments.push("--".to_owned());
    arguments.extend(command.arguments.iter().cloned());
    let counted = Command { arguments, ..command.clone() }.within(timeout);
    let outcome = run(host, &counted, stop);
    let counted = match outcome.ended {
        Ended::Exit(0) => sum(&logs),
        Ended::NotStarted(why) => Counted::No(format!(
            "valgrind {why}; install it (Debian: apt-get install valgrind) for exact counts"
        )),
        ended => Counted::No(format!("under valgrind: {ended}")),
    };
    let _ = fs::remove_dir_all(&logs);
    counted
}

fn sum(logs: &Path) -> Counted {
    let texts = fs::read_dir(logs).into_iter().flatten().flatten();
    let counts: Vec<u64> =
        texts.filter_map(|entry| references(&fs::read_to_string(entry.path()).ok()?)).collect();
    if counts.is_empty() {
        return Counted::No("valgrind counted nothing".to_owned());
    }
    Counted::Instructions(counts.iter().sum())
}

/// The figure of `==123== I   refs:      1,234,567`.
fn references(log: &str) -> Option<u64> {
    let line = log.lines().rev().find(|line| line.contains("refs:"))?;
    line.rsplit_once(':')?.1.trim().replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_is_found_in_the_log() {
        let log = "==9== Cachegrind\n==9== \n==9== I   refs:      1,234,567\n";
        assert_eq!(references(log), Some(1_234_567));
        assert_eq!(references("==9== killed"), None);
    }
}
