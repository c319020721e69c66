//! The heap as the kit for the target reports it (`firmware/kit/trace/strobe_heap.c`), against what
//! the simulator sees of the same firmware, and what a call costs.

use std::collections::BTreeMap;

use strobe_model::measurement::{Measurement, Number, Profile, Trust};

use crate::common::recorded::{profile, recorded, row, rows};
use crate::common::{number, prebuilt, strobe};

/// Totals that both have.
const TOTALS: [&str; 7] = [
    "heap-peak",
    "heap-live",
    "heap-live-blocks",
    "heap-bytes",
    "heap-blocks",
    "heap-leaks",
    "heap-failed",
];

/// A firmware and how it is recorded.
struct Recorded {
    name: &'static str,
    board: &'static str,
    arguments: &'static [&'static str],
}

// Its threads go on when the last sample is there.
const LEAKY: Recorded =
    Recorded { name: "leaky-kit", board: "stm32f070cb", arguments: &["--rtt", "--for", "400ms"] };
const THREADS: Recorded = Recorded { name: "leaky-kit-threads", ..LEAKY };
const STACKS: Recorded =
    Recorded { name: "strings-kit-rtt", board: "cortex-m3", arguments: &["--rtt"] };
const PIN: Recorded = Recorded {
    name: "strings-kit-itm",
    board: "stm32f407",
    arguments: &[
        "--clock",
        "16M",
        "--baud",
        "2M",
        "--period",
        "none",
        "--timestamps",
        "1",
        "--port",
        "30",
        "--port",
        "31",
    ],
};

impl Recorded {
    /// Where it is recorded to.
    fn file(&self, more: &[&str], directory: &tempfile::TempDir) -> String {
        let file = directory.path().join("heap.strobe").display().to_string();
        let (board, firmware) = (format!("sim:{}", self.board), prebuilt(self.name));
        let source = ["record", &board, "--elf", &firmware, "-q", "--force", "-o", &file];
        let ran = strobe(&[&source[..], self.arguments, more].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        file
    }

    fn heap(&self, more: &[&str]) -> Measurement {
        let directory = tempfile::tempdir().expect("a directory");
        let file = self.file(more, &directory);
        recorded(&["heap", &file, "--elf", &prebuilt(self.name)])
    }

    /// A simulated run of it to its end.
    fn simulated(&self) -> Measurement {
        let until = ["--until", "finished"];
        // The other one exits.
        let until = if self.board == "cortex-m3" { &[] } else { &until[..] };
        let firmware = prebuilt(self.name);
        recorded(&[&["heap", &firmware, "--board", self.board, "--quiet"], until].concat())
    }
}

fn totals(m: &Measurement) -> BTreeMap<&str, Option<Number>> {
    TOTALS.iter().map(|&id| (id, m.total(id).and_then(|total| total.value()))).collect()
}

/// A measure of the heap's profile by the function that called the allocator.
fn by_function(m: &Measurement, measure: &str) -> BTreeMap<String, i64> {
    let profile = profile(m, "heap-profile");
    let values = profile.chains.values.iter().find(|v| v.measure == measure).expect("a measure");
    let mut sums = BTreeMap::new();
    for (at, value) in profile.chains.at.iter().zip(&values.values) {
        let name = names(profile, *at).first().cloned().unwrap_or_default();
        *sums.entry(name).or_default() += value;
    }
    sums.retain(|_, value| *value != 0);
    sums
}

/// Functions of a stack without those that are inlined, the innermost first.
fn names(profile: &Profile, mut at: Option<u32>) -> Vec<String> {
    let mut names = Vec::new();
    while let Some(stack) = at {
        let location = profile.stacks.location[stack as usize] as usize;
        let function = profile.locations.function[location].expect("a function");
        names.push(profile.functions.name[function as usize].clone());
        at = profile.stacks.parent[stack as usize];
    }
    names
}

/// Every figure that both have is the same: the records are all there.
#[test]
fn totals_are_those_of_the_simulation() {
    for firmware in [LEAKY, THREADS, STACKS, PIN] {
        let (exact, kit) = (firmware.simulated(), firmware.heap(&[]));
        assert_eq!(totals(&kit), totals(&exact), "{}", firmware.name);
        assert!(totals(&kit).values().all(Option::is_some), "{}", firmware.name);
    }
}

/// The leak by its call site, and who allocates how much.
#[test]
fn call_sites_are_those_of_the_simulation() {
    let (exact, kit) = (LEAKY.simulated(), LEAKY.heap(&[]));
    for measure in ["live-bytes", "bytes", "blocks"] {
        assert_eq!(by_function(&kit, measure), by_function(&exact, measure), "{measure}");
    }
    let leaks = kit.table("heap-leaks").expect("a leak");
    let callers = leaks.column("callers").and_then(|column| column.cells[0].text());
    assert_eq!(callers, Some("record_new"));
}

/// The table by thread, and which thread a call site is of, with the names that the firmware sends.
#[test]
fn threads_are_those_of_the_simulation() {
    let (exact, kit) = (THREADS.simulated(), THREADS.heap(&[]));
    let threads = rows(&exact, "heap-threads");
    assert_eq!(rows(&kit, "heap-threads"), threads);
    assert!(threads.len() > 2 && number(&threads[0]["peak"]) > 0, "{threads:?}");
    assert_eq!(by_thread(&kit), by_thread(&exact));
    // Where the firmware sends none, there is one caller.
    let without = LEAKY.heap(&[]);
    assert!(without.table("heap-threads").is_none());
    let sites = without.table("heap-sites").expect("call sites");
    assert!(sites.column("context").is_some() && sites.column("thread").is_none());
}

/// Bytes by thread and the function that called the allocator.
fn by_thread(m: &Measurement) -> BTreeMap<(String, String), i64> {
    let profile = profile(m, "heap-profile");
    let values = profile.chains.of("bytes").expect("a measure");
    let mut sums = BTreeMap::new();
    for (n, value) in values.values.iter().enumerate() {
        let label = profile.chains.label[n].map(|label| &profile.labels[label as usize]);
        let thread = label.map_or("unknown".to_owned(), |of| format!("{} {}", of.key, of.value));
        let function = names(profile, profile.chains.at[n]).first().cloned().unwrap_or_default();
        *sums.entry((thread, function)).or_default() += value;
    }
    sums
}

/// What is lost may leave a thread unknown, and never makes it another one.
#[test]
fn behind_a_loss_a_thread_is_right_or_unknown() {
    let exact = by_thread(&THREADS.simulated());
    let lossy = THREADS.heap(&["--poll-rate", "20"]);
    let found = by_thread(&lossy);
    for (who, bytes) in &found {
        let is_unknown = who.0 == "unknown";
        assert!(is_unknown || exact.get(who).is_some_and(|all| bytes <= all), "{who:?}: {found:?}");
    }
    assert!(found.keys().any(|(thread, _)| thread == "unknown"), "{found:?}");
    assert!(found.keys().any(|(thread, _)| thread.starts_with("thread ")), "{found:?}");
    let threads = lossy.section("heap-threads").expect("threads");
    assert!(threads.notes.iter().any(|note| note.contains("unknown")), "{:?}", threads.notes);
}

/// With a piece of the stack in each record the host finds all callers.
#[test]
fn chains_come_from_pieces_of_the_stack() {
    let kit = STACKS.heap(&[]);
    let profile = profile(&kit, "heap-profile");
    let chains: Vec<Vec<String>> = profile.chains.at.iter().map(|at| names(profile, *at)).collect();
    let has = |chain: &[&str]| chains.iter().any(|names| names[..] == *chain);
    assert!(
        has(&["concatenate", "append", "join_temporaries", "main", "Reset_Handler"]),
        "{chains:?}"
    );
    assert!(has(&["sort_buffer", "main", "Reset_Handler"]), "{chains:?}");
}

/// A probe that looks too seldom misses records: what is live, the peak and leaks are unknown.
#[test]
fn losses_leave_leaks_unknown() {
    let kit = LEAKY.heap(&["--poll-rate", "5"]);
    for id in ["heap-peak", "heap-live", "heap-live-blocks", "heap-leaks"] {
        let total = kit.total(id).expect("a total");
        assert!(matches!(total.trust(), Trust::Unknown { .. }), "{id}: {total:?}");
    }
    let allocated = kit.total("heap-blocks").expect("a total");
    assert!(matches!(allocated.trust(), Trust::AtLeast), "{allocated:?}");
    assert!(kit.table("heap-leaks").is_none());
    assert!(kit.findings.iter().any(|finding| finding.code == "heap-uncertain"));
}

/// `report` has the heap beside the rest; without the firmware there are addresses.
#[test]
fn a_report_has_the_heap_too() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = LEAKY.file(&[], &directory);
    let report = recorded(&["report", &file, "--elf", &prebuilt(LEAKY.name)]);
    assert_eq!(totals(&report), totals(&LEAKY.heap(&[])));
    assert!(number(&row(&report, "kit-records", "RTT")["records"]) > 300);
    let bare = recorded(&["heap", &file]);
    assert_eq!(totals(&bare), totals(&report));
    let wrong = strobe(&["heap", &file, "--check-memory"]);
    assert_eq!(wrong.code, 64, "{}", wrong.stderr);
}

/// What a wrapper adds to a call of its allocator, in tenths of a cycle: all that it does and calls
/// but the allocator itself, which `malloc` may have jumped to.
fn added(m: &Measurement, wrapper: &str, allocator: [&str; 2]) -> u64 {
    let profile = profile(m, "profile");
    let of = |id: &str| &profile.chains.of(id).expect("a measure").values;
    let (cycles, calls) = (of("cycles"), of("calls"));
    let (mut sum, mut count) = (0, 0);
    for (n, at) in profile.chains.at.iter().enumerate() {
        let chain = names(profile, *at);
        let has = |name: &str| chain.iter().any(|other| other == name);
        count += if chain.first().is_some_and(|first| first == wrapper) { calls[n] } else { 0 };
        sum += if has(wrapper) && !allocator.iter().any(|name| has(name)) { cycles[n] } else { 0 };
    }
    assert!(count > 0, "{wrapper}");
    u64::try_from(sum * 10 / count).expect("no fewer than none")
}

/// `docs/kit.md` has these figures: `cargo test -p strobe-cli kit_heap -- --nocapture` prints them.
/// Over RTT they are of the first calls, for which the buffer has room without a reader.
#[test]
fn a_call_costs_what_the_document_states() {
    let document = std::fs::read_to_string(crate::common::root().join("docs/kit.md"));
    let document = document.expect("docs/kit.md");
    let rows = [
        (LEAKY, "40ms", "Cortex-M0 | RTT | return address"),
        (THREADS, "40ms", "Cortex-M0 | RTT | return address, thread"),
        (STACKS, "1ms", "Cortex-M3 | RTT | 32 words of the stack"),
        (PIN, "finished", "Cortex-M4 | ITM | return address"),
    ];
    for (firmware, until, way) in rows {
        let elf = prebuilt(firmware.name);
        let m = recorded(&["run", &elf, "--board", firmware.board, "--until", until, "--quiet"]);
        let made = added(&m, "__wrap_malloc", ["malloc", "_malloc_r"]);
        let freed = added(&m, "__wrap_free", ["free", "_free_r"]);
        let [made, freed] = [made, freed].map(|tenths| format!("{}.{}", tenths / 10, tenths % 10));
        let row = format!("| {way} | {made} | {freed} |");
        println!("{row}");
        assert!(document.contains(&row), "docs/kit.md lacks this row:\n{row}");
    }
}
