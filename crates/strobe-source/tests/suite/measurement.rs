//! Simulated runs as measurements: real runs of bundled firmware hold together, lose no figure of
//! their records, and partition.

mod attached;
mod timelines;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use strobe_devices::board::Board;
use strobe_model::Cause;
use strobe_model::measurement::{
    CORE_TIMING, Content, Distributions, Measurement, ON_A_CHIP, Profile, Quantity, Spread, Trust,
    Unit,
};
use strobe_source::simulated::run_record::RunRecord;
use strobe_source::simulated::{self, Joined, Limit, Quiet, Settings, TimelineSettings};
use strobe_symbols::Firmware;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn firmware(name: &str) -> Firmware {
    let path = root().join("firmware/prebuilt").join(format!("{name}.elf"));
    let bytes = std::fs::read(path).expect("it comes with the project");
    Firmware::parse(bytes).expect("an ELF file")
}

pub(crate) fn run(name: &str, board: &str, settings: &Settings) -> RunRecord {
    let board = Board::builtin(board).expect("a board that comes with the project");
    let never = AtomicBool::new(false);
    let outcome = simulated::run(&firmware(name), &board, settings, &mut Quiet, &never);
    outcome.expect("it runs").record
}

pub(crate) fn for_ms(milliseconds: u64) -> Settings {
    Settings { limit: Some(Limit::Nanoseconds(milliseconds * 1_000_000)), ..Settings::default() }
}

/// Runs with everything on that a measurement may hold.
fn full(milliseconds: u64) -> Settings {
    let timeline = Some(TimelineSettings { worst: false, nanoseconds: 5_000_000 });
    Settings { apart: true, timeline, ..for_ms(milliseconds) }
}

/// Each with its board, for so many milliseconds.
const RUNS: [(&str, &str, u64); 10] = [
    ("threads", "stm32f070cb", 20),
    ("threads-zephyr", "stm32f070cb", 20),
    ("threads-freertos", "stm32f070cb", 20),
    ("blink", "stm32f070cb", 20),
    ("stepper", "stm32f070cb", 20),
    ("loop-48mhz", "stm32f070cb", 5),
    ("fault", "stm32f070cb", 5),
    ("calculator-m4f", "stm32f407", 5),
    ("work-avr", "arduino-uno", 20),
    ("loop-avr", "arduino-uno", 20),
];

fn exact(quantity: Option<&Quantity>) -> u64 {
    quantity.and_then(Quantity::value).expect("it is known").as_u64()
}

fn profile(measurement: &Measurement) -> &Profile {
    measurement.profiles().next().expect("a profile")
}

fn distributions<'a>(measurement: &'a Measurement, id: &str) -> Option<&'a Distributions> {
    match &measurement.section(id)?.content {
        Content::Distributions(all) => Some(all),
        _ => None,
    }
}

fn sum(values: &[i64]) -> u64 {
    values.iter().map(|v| *v as u64).sum()
}

#[test]
fn measurements_are_consistent_and_equal_the_runs_totals() {
    for (name, board, ms) in RUNS {
        let record = run(name, board, &full(ms));
        let measurement = simulated::measurement(&record);
        measurement.check().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(exact(measurement.total("cycles")), record.totals.cycles, "{name}");
        assert_eq!(exact(measurement.total("instructions")), record.totals.instructions, "{name}");
        let idle = record.totals.by_cause[Cause::Asleep];
        assert_eq!(exact(measurement.total("idle")), idle, "{name}");
        let balances: Vec<u64> = measurement.balances.iter().map(|b| b.parts().taken).collect();
        assert_eq!(balances, [record.totals.cycles; 2], "{name}");
        let json = serde_json::to_string(&measurement).expect("JSON");
        let read: Measurement = serde_json::from_str(&json).expect("it reads its own");
        assert_eq!(read, measurement, "{name}");
    }
}

/// The band of what the timing of a core may be off is beside all that it measures; a run to a time
/// takes that time whatever the core does. A core that follows its manual has none.
#[test]
fn timing_model_error_is_next_to_its_cycles() {
    let timed = |name, board, ms| {
        let measurement = simulated::measurement(&run(name, board, &for_ms(ms)));
        let mut facts = measurement.subject.facts.iter();
        let fact = facts.find(|fact| fact.name == CORE_TIMING).cloned();
        let band = fact.map(|fact| match fact.figure.as_ref().map(Quantity::trust) {
            Some(Trust::Modelled { low, high, why: Some(why) }) => {
                (low.as_f64(), high.as_f64(), why.clone())
            }
            other => panic!("not modelled: {other:?}"),
        });
        (measurement.total(ON_A_CHIP).cloned(), measurement.total("cycles").cloned(), band)
    };
    let (chip, cycles, band) = timed("calculator-m4f", "stm32f407", 5);
    assert_eq!(chip, cycles, "a run to a time");
    let (low, high, why) = band.expect("a Cortex-M4F has residuals");
    assert_eq!((low, high), (99.3, 102.3));
    assert!(why.starts_with("The timing of the Cortex-M4F is inferred: "), "{why}");
    let (_, _, bare) = timed("generic-c-m3", "cortex-m3", 1);
    let (low, high, why) = bare.expect("a Cortex-M3 has residuals");
    // A part whose RAM makes the core wait: a tenth more.
    assert_eq!((low, high), (97.5, 110.1));
    assert!(why.contains("SRAM2"), "{why}");
    for (name, board) in [("blink", "stm32f070cb"), ("work-avr", "arduino-uno")] {
        let (chip, _, band) = timed(name, board, 20);
        assert!(chip.is_none() && band.is_none(), "{name}");
    }
}

/// Every cycle and instruction is at an address and in a call chain, in all of them the same
/// number.
#[test]
fn the_profile_has_every_cycle_twice_over() {
    for (name, board, ms) in RUNS {
        let record = run(name, board, &full(ms));
        let measurement = simulated::measurement(&record);
        let profile = profile(&measurement);
        let total = record.totals.cycles;
        let sums = |id: &str| {
            let sides = [&profile.leaves, &profile.chains];
            sides.map(|samples| samples.of(id).map(|values| sum(&values.values)))
        };
        assert_eq!(sums("cycles"), [Some(total); 2], "{name}");
        assert_eq!(sums("executions"), [Some(record.totals.instructions); 2], "{name}");
        assert_eq!(sums("asleep"), [Some(record.totals.by_cause[Cause::Asleep]); 2], "{name}");
        for cause in Cause::ALL {
            let id = cause.id();
            assert_eq!(sums(id)[0], Some(record.totals.by_cause[cause]), "{name}, {id}");
        }
        // By function they add up to the balance.
        let parts = measurement.balances[0].parts();
        let values = profile.leaves.of("cycles").expect("they have cycles");
        let mut named = 0;
        for (at, cycles) in profile.leaves.at.iter().zip(&values.values) {
            let function = at.and_then(|at| profile.function_at(at));
            named += if function.is_some() { *cycles as u64 } else { 0 };
        }
        let unnamed: u64 = parts.unattributed.iter().map(|(_, n)| n).sum();
        assert_eq!(named + unnamed, parts.taken, "{name}");
    }
}

/// What has a thread's label adds up to what the table states.
#[test]
fn labels_partition_the_cycles_among_threads_and_handlers() {
    for (name, board, ms) in RUNS {
        let record = run(name, board, &full(ms));
        let measurement = simulated::measurement(&record);
        let profile = profile(&measurement);
        let mut expected: BTreeMap<(String, String), u64> = BTreeMap::new();
        let threads = &record.scheduling.as_ref().expect("threads").threads;
        for thread in threads {
            expected.insert(("thread".to_owned(), thread.name.clone()), thread.cycles);
        }
        for e in &record.exceptions {
            expected.insert(("handler".to_owned(), e.name.clone()), e.cycles);
        }
        for samples in [&profile.leaves, &profile.chains] {
            let mut found: BTreeMap<(String, String), u64> = BTreeMap::new();
            let values = samples.of("cycles").expect("they have cycles");
            for (i, cycles) in values.values.iter().enumerate() {
                let label = samples.label(i).expect("everything is somebody's");
                let label = &profile.labels[label as usize];
                *found.entry((label.key.clone(), label.value.clone())).or_default() +=
                    *cycles as u64;
            }
            let mut all = expected.clone();
            all.retain(|_, cycles| *cycles > 0);
            found.retain(|_, cycles| *cycles > 0);
            assert_eq!(found, all, "{name}");
        }
    }
}

fn figures(spread: &Spread) -> (u64, u64, Option<u64>, Option<u64>) {
    (spread.count(), spread.sum(), spread.min(), spread.max())
}

#[test]
fn distributions_match_the_known_count_sum_and_extremes() {
    let mut seen = [0; 3];
    for (name, board, ms) in RUNS {
        let record = run(name, board, &full(ms));
        let measurement = simulated::measurement(&record);
        let find = |id: &str, of: &str| {
            let all = distributions(&measurement, id)?.distributions.iter();
            all.into_iter().find(|d| d.name == of).map(|d| &d.spread)
        };
        for e in record.exceptions.iter().filter(|e| e.count > 0) {
            let spread = find("latencies", &e.name).expect("its latencies");
            let old = (e.count, e.latency_sum, Some(e.latency_min), Some(e.latency_max));
            assert_eq!(figures(spread), old, "{name}: {}", e.name);
            let runs = find("durations", &format!("handler {}", e.name)).expect("its runs");
            assert_eq!(runs.sum(), e.cycles, "{name}: {}", e.name);
            assert_eq!(runs.max(), e.longest_run.as_ref().map(|run| run.cycles));
            seen[0] += 1;
        }
        for thread in &record.scheduling.as_ref().expect("threads").threads {
            let wake = &thread.wake;
            if wake.count > 0 {
                let spread = find("wake-ups", &thread.name).expect("its wake-ups");
                let max = wake.max.as_ref().map(|max| max.cycles);
                assert_eq!(figures(spread), (wake.count, wake.sum, Some(wake.min), max), "{name}");
                seen[1] += 1;
            }
            if let Some(longest) = &thread.longest_run {
                let runs = find("durations", &format!("thread {}", thread.name)).expect("runs");
                assert_eq!(runs.sum(), thread.cycles, "{name}: {}", thread.name);
                assert_eq!(runs.max(), Some(longest.cycles));
                seen[2] += 1;
            }
        }
    }
    assert!(seen.iter().all(|n| *n > 3), "{seen:?}");
}

#[test]
fn pins_keep_their_values_bounds_and_clock() {
    let settings = Settings { marks: vec!["PB8".to_owned()], ..for_ms(20) };
    let record = run("loop-48mhz", "stm32f070cb", &settings);
    let measurement = simulated::measurement(&record);
    measurement.check().expect("it holds together");
    let pins = distributions(&measurement, "pins").expect("pins");
    assert!(!pins.distributions.is_empty());
    for (distribution, series) in pins.distributions.iter().zip(&record.series) {
        assert_eq!(distribution.name, series.name);
        assert_eq!(distribution.values, series.values);
        assert_eq!(distribution.spread, series.values.iter().copied().collect());
        // A duty cycle is no time.
        let hertz = (distribution.unit == Unit::CYCLES).then_some(48_000_000);
        assert_eq!(distribution.hertz, hertz, "{}", series.name);
        assert!(distribution.low.is_none() && distribution.why.is_some(), "one run");
    }
}

#[test]
fn cycles_per_instruction_exclude_idle_cycles_and_instructions() {
    let mut idle_loops = 0;
    for (name, board, ms) in RUNS {
        let record = run(name, board, &full(ms));
        let idle: u64 = record.profile.addresses.iter().map(|a| a.idle_count()).sum();
        let busy = record.totals.instructions - idle;
        idle_loops += u64::from(idle > 0);
        let cycles = record.totals.by_cause.busy();
        let measurement = simulated::measurement(&record);
        let ratio = measurement.total("cycles-per-instruction").expect("it is there");
        let ratio = ratio.value().expect("it is known").as_f64();
        assert!((ratio - cycles as f64 / busy as f64).abs() < 1e-9, "{name}");
        assert!(ratio >= 0.9, "{name}: no core is faster than one instruction a cycle: {ratio}");
        let profile = profile(&measurement);
        if let Some(values) = profile.leaves.of("executions-idle") {
            assert_eq!(sum(&values.values), idle, "{name}");
        }
    }
    assert!(idle_loops > 0, "one of them spins");
}

#[test]
fn a_fault_is_a_finding_with_its_evidence() {
    let record = run("fault", "stm32f070cb", &for_ms(5));
    let measurement = simulated::measurement(&record);
    let fault = &measurement.findings[0];
    assert_eq!(fault.code, "hard-fault");
    let groups: Vec<&str> = fault.evidence.iter().map(|(name, _)| name.as_str()).collect();
    assert!(["backtrace", "registers", "stacked frame"].iter().all(|g| groups.contains(g)));
    let registers = &fault.evidence.iter().find(|(name, _)| name == "registers").expect("them").1;
    assert_eq!(*registers, record.fault.expect("a fault").registers);
    assert_eq!(measurement.window.ended.kind, "hard-fault");
}

#[test]
fn a_rig_has_its_chips_as_parts() {
    let chips = ["blink", "threads"].map(|name| run(name, "stm32f070cb", &for_ms(2)));
    let parts = chips.each_ref().map(simulated::measurement);
    let named = ["a", "b"].map(str::to_owned).into_iter().zip(parts).collect();
    let wire = ["a", "PB8", "b", "PB9"].map(str::to_owned);
    let joined = Joined { wires: vec![wire], delay_nanoseconds: 1000 };
    let rig = simulated::rig_measurement("pair", named, &joined);
    rig.check().expect("it holds together");
    let parts: Vec<&str> = rig.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(parts, ["a", "b"]);
    assert_eq!(rig.parts[1].measurement, simulated::measurement(&chips[1]));
    assert_eq!(rig.table("wires").map(|wires| wires.len()), Some(1));
}
