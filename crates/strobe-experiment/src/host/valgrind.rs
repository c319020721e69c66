//! Counts by Valgrind, which a busy machine cannot move: instructions, misses of modelled caches,
//! wrong guesses of a modelled branch predictor, allocations.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::{Command, Ended, Host, run};

/// What Valgrind counts of a command and its descendants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Count {
    /// Instructions executed.
    Instructions,
    /// Instruction fetches that the first level of cache did not hold.
    InstructionMisses,
    /// Reads and writes that the first level of cache did not hold.
    DataMisses,
    /// Accesses that no level held.
    LastLevelMisses,
    /// Branches, conditional and indirect.
    Branches,
    /// Branches that the modelled predictor guessed wrongly.
    Mispredictions,
    /// Calls that allocated a block, those of `realloc` among them.
    Allocations,
    /// Bytes asked for by them.
    AllocatedBytes,
    /// The most bytes in blocks at once, of the process that held the most.
    HeapPeak,
}

impl Count {
    /// Those of caches.
    pub const CACHE: [Count; 3] =
        [Count::InstructionMisses, Count::DataMisses, Count::LastLevelMisses];
    /// Those of branches.
    pub const BRANCHES: [Count; 2] = [Count::Branches, Count::Mispredictions];
    /// Those of the heap.
    pub const HEAP: [Count; 3] = [Count::Allocations, Count::AllocatedBytes, Count::HeapPeak];

    /// All of them.
    pub fn all() -> impl Iterator<Item = Count> {
        let first = [Count::Instructions].into_iter();
        first.chain(Count::CACHE).chain(Count::BRANCHES).chain(Count::HEAP)
    }

    /// Its name among counters.
    pub fn name(self) -> &'static str {
        match self {
            Count::Instructions => "instructions",
            Count::InstructionMisses => "l1-instruction-misses",
            Count::DataMisses => "l1-data-misses",
            Count::LastLevelMisses => "last-level-misses",
            Count::Branches => "branches",
            Count::Mispredictions => "mispredictions",
            Count::Allocations => "allocations",
            Count::AllocatedBytes => "allocated-bytes",
            Count::HeapPeak => "heap-peak-bytes",
        }
    }

    /// How its line in Valgrind's log begins, and what is in front of the figure's end.
    fn line(self) -> (&'static str, &'static str) {
        match self {
            Count::Instructions => ("I   refs:", ""),
            Count::InstructionMisses => ("I1  misses:", ""),
            Count::DataMisses => ("D1  misses:", ""),
            Count::LastLevelMisses => ("LL misses:", ""),
            Count::Branches => ("Branches:", ""),
            Count::Mispredictions => ("Mispredicts:", ""),
            Count::Allocations => ("Total:", "bytes in"),
            Count::AllocatedBytes => ("Total:", ""),
            Count::HeapPeak => ("At t-gmax:", ""),
        }
    }

    /// The figure in a log, as in `==9== Total:     1,024 bytes in 3 blocks`.
    fn find(self, log: &str) -> Option<u64> {
        let (begins, behind) = self.line();
        let line =
            log.lines().rev().find_map(|line| line.split_once(begins).map(|parts| parts.1))?;
        let figure = if behind.is_empty() { line } else { line.split_once(behind)?.1 };
        figure.split_whitespace().next()?.replace(',', "").parse().ok()
    }

    /// What two processes make together.
    fn add(self, a: u64, b: u64) -> u64 {
        if self == Count::HeapPeak { a.max(b) } else { a.saturating_add(b) }
    }
}

/// What Valgrind counted in one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counted {
    /// What was counted of what was wanted.
    pub counts: BTreeMap<Count, u64>,
    /// Why the rest was not.
    pub missing: Option<String>,
}

/// The modelled caches, the same on every machine so that counts are: size, ways, bytes of a line.
const CACHES: [&str; 3] = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"];

/// Counts of a command, which is run once by each tool that is needed: that takes some fifty times
/// as long as without, within the command's own limit. Files are kept in `folder` meanwhile.
pub fn counted(
    host: &Host,
    command: &Command,
    wanted: &[Count],
    folder: &Path,
    stop: &AtomicBool,
) -> Counted {
    let (heap, others): (Vec<Count>, Vec<Count>) =
        wanted.iter().partition(|count| Count::HEAP.contains(count));
    let switch = |name: &str, counts: &[Count]| {
        let is_on = counts.iter().any(|count| others.contains(count));
        format!("--{name}={}", if is_on { "yes" } else { "no" })
    };
    let mut cachegrind = vec!["--tool=cachegrind".to_owned()];
    cachegrind.push("--cachegrind-out-file=/dev/null".to_owned());
    cachegrind.push(switch("cache-sim", &Count::CACHE));
    cachegrind.push(switch("branch-sim", &Count::BRANCHES));
    cachegrind.extend(CACHES.map(str::to_owned));
    let dhat = ["--tool=dhat", "--dhat-out-file=/dev/null"].map(str::to_owned).to_vec();
    let mut all = Counted::default();
    for (tool, wanted) in [(cachegrind, others), (dhat, heap)] {
        if wanted.is_empty() || all.missing.is_some() {
            continue;
        }
        match by_tool(host, command, tool, &wanted, folder, stop) {
            Ok(counts) => all.counts.extend(counts),
            Err(error) => all.missing = Some(error.to_string()),
        }
    }
    all
}

/// Error in a run under Valgrind.
#[derive(Debug, thiserror::Error)]
enum ValgrindError {
    /// The folder for its logs cannot be made.
    #[error(transparent)]
    Folder(#[from] std::io::Error),
    /// Valgrind did not start.
    #[error("valgrind {cause}; install it (Debian: apt-get install valgrind) for exact counts")]
    NotStarted { cause: String },
    /// The command failed.
    #[error("under valgrind: {ended}")]
    Ended { ended: Ended },
    /// The logs have no counts.
    #[error("valgrind counted nothing")]
    NoCounts,
    /// The allocator is hidden from Valgrind.
    #[error("valgrind saw no allocation, and sees none of programs that are linked statically")]
    NoAllocations,
}

fn by_tool(
    host: &Host,
    command: &Command,
    tool: Vec<String>,
    wanted: &[Count],
    folder: &Path,
    stop: &AtomicBool,
) -> Result<BTreeMap<Count, u64>, ValgrindError> {
    let logs = folder.join("valgrind");
    let _ = fs::remove_dir_all(&logs);
    fs::create_dir_all(&logs)?;
    let mut arguments = vec!["valgrind".to_owned()];
    arguments.extend(tool);
    arguments.push("--trace-children=yes".to_owned());
    arguments.push(format!("--log-file={}/%p", logs.display()));
    arguments.push("--".to_owned());
    arguments.extend(command.arguments.iter().cloned());
    let counted = Command { arguments, ..command.clone() };
    let counts = match run(host, &counted, stop).ended {
        Ended::Exit(0) => sums(&logs, wanted),
        Ended::NotStarted(cause) => Err(ValgrindError::NotStarted { cause }),
        ended => Err(ValgrindError::Ended { ended }),
    };
    let _ = fs::remove_dir_all(&logs);
    counts
}

/// Of all processes: each has a log of its own.
fn sums(logs: &Path, wanted: &[Count]) -> Result<BTreeMap<Count, u64>, ValgrindError> {
    let logs = fs::read_dir(logs).into_iter().flatten().flatten();
    let logs: Vec<String> =
        logs.filter_map(|entry| fs::read_to_string(entry.path()).ok()).collect();
    let mut sums = BTreeMap::new();
    for &count in wanted {
        let figures = logs.iter().filter_map(|log| count.find(log));
        match figures.reduce(|a, b| count.add(a, b)) {
            None => return Err(ValgrindError::NoCounts),
            // Whoever brings an allocator along, or is linked statically, hides it.
            Some(0) if Count::HEAP.contains(&count) => {
                return Err(ValgrindError::NoAllocations);
            }
            Some(sum) => drop(sums.insert(count, sum)),
        }
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CACHEGRIND: &str = "==9== Cachegrind\n==9== \n==9== I   refs:      1,234,567\n\
        ==9== I1  misses:      2,293\n==9== LLi misses:      2,002\n\
        ==9== D1  misses:      2,948  ( 2,225 rd   +    723 wr)\n\
        ==9== LLd misses:      2,184  ( 1,562 rd   +    622 wr)\n\
        ==9== LL misses:       4,186  ( 3,564 rd   +    622 wr)\n\
        ==9== Branches:       69,557  (65,410 cond +  4,147 ind)\n\
        ==9== Mispredicts:     7,380  ( 6,880 cond +    500 ind)\n";
    const DHAT: &str = "==8== DHAT, a dynamic heap analysis tool\n\
        ==8== Total:     103,294 bytes in 160 blocks\n\
        ==8== At t-gmax: 102,812 bytes in 156 blocks\n==8== At t-end:  192 bytes in 14 blocks\n";

    #[test]
    fn figures_are_found_in_logs() {
        let of = |log: &str| Count::all().map(|count| count.find(log)).collect::<Vec<_>>();
        let found = [1_234_567, 2_293, 2_948, 4_186, 69_557, 7_380].map(Some);
        assert_eq!(of(CACHEGRIND), [&found[..], &[None; 3]].concat());
        let found = [160, 103_294, 102_812].map(Some);
        assert_eq!(of(DHAT), [&[None; 6], &found[..]].concat());
        assert!(of("==9== killed").iter().all(Option::is_none));
    }

    #[test]
    fn processes_add_up_and_no_allocation_is_unknown() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, log: &str| fs::write(folder.path().join(name), log).expect("room");
        write("1", DHAT);
        write("2", "==7== Total:     6 bytes in 2 blocks\n==7== At t-gmax: 5 bytes in 1 blocks\n");
        let sums = |wanted: &[Count]| {
            super::sums(folder.path(), wanted).map_err(|error| error.to_string())
        };
        let expected = [162, 103_300, 102_812];
        assert_eq!(sums(&Count::HEAP), Ok(Count::HEAP.into_iter().zip(expected).collect()));
        assert_eq!(sums(&[Count::Branches]), Err("valgrind counted nothing".to_owned()));
        write("1", "==8== Total:     0 bytes in 0 blocks\n");
        write("2", "");
        let why = sums(&Count::HEAP).expect_err("none was seen");
        assert!(why.contains("saw no allocation"), "{why}");
    }
}
