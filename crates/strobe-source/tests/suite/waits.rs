//! Loops that wait, skipped against executed: each bundled firmware measures the same, and sends
//! the same trace.

use std::sync::atomic::AtomicBool;

use strobe_devices::board::Board;
use strobe_sim::model::Model;
use strobe_sim::semihost::Console;
use strobe_source::simulated::trace::Pin;
use strobe_source::simulated::{self, HeapSettings, Host, Settings, TimelineSettings};
use strobe_symbols::Firmware;

use crate::measurement::{firmware, for_ms, root};
use crate::swo::bench::{EXCEPTIONS, Plan, every};
use crate::unwinding;

/// Firmware that waits in most of the ways that there are: for serial ports, timers, DMA, ticks of
/// an operating system, in loops that count.
const WAITING: [&str; 14] = [
    "hello-uart",
    "display-dma",
    "display-spi",
    "display-bitbang",
    "shift",
    "stepper",
    "blink",
    "threads",
    "threads-freertos",
    "threads-zephyr",
    "threads-nuttx",
    "trace",
    "tour-mps2",
    "tour-lm3s6965",
];

/// All images for Arm, each with a board.
fn images() -> Vec<(String, &'static str)> {
    let files = std::fs::read_dir(root().join("firmware/prebuilt")).expect("it comes along");
    let names = files.filter_map(|file| {
        let name = file.expect("it can be listed").file_name().into_string().expect("ASCII");
        Some(name.strip_suffix(".elf")?.to_owned())
    });
    let mut images: Vec<_> = names.filter_map(|name| Some((board(&name)?, name))).collect();
    images.sort_unstable_by(|a, b| a.1.cmp(&b.1));
    images.into_iter().map(|(board, name)| (name, board)).collect()
}

fn board(name: &str) -> Option<&'static str> {
    match name {
        "echo-ping" | "kit-tasks" => Some("stm32f070cb"),
        _ => unwinding::board(name),
    }
}

/// Everything that a run shows: its measurement, or why there is none, and its trace.
#[derive(Default, PartialEq)]
struct Shown {
    measurement: String,
    trace: Vec<(u64, u8)>,
}

impl Host for Shown {
    fn console(&mut self) -> Box<dyn Console> {
        Box::new(())
    }

    fn trace_pin(&mut self) -> Option<&mut dyn Pin> {
        Some(&mut self.trace)
    }
}

fn shown(firmware: &Firmware, board: &Board, settings: &Settings) -> Shown {
    let mut shown = Shown::default();
    let never = AtomicBool::new(false);
    shown.measurement = match simulated::run(firmware, board, settings, &mut shown, &never) {
        Ok(outcome) => {
            let measurement = simulated::measurement(&outcome.record);
            serde_json::to_string_pretty(&measurement).expect("JSON")
        }
        Err(error) => error.to_string(),
    };
    shown
}

/// Whether the figures depend on whether waits are executed; if so, where they differ first.
fn difference(name: &str, board: &str, settings: &Settings) -> Option<String> {
    let (image, board) = (firmware(name), Board::builtin(board).expect("a bundled board"));
    let executed = Settings { execute_waits: true, ..settings.clone() };
    let [skipped, executed] = [settings, &executed].map(|s| shown(&image, &board, s));
    let mut lines = skipped.measurement.lines().zip(executed.measurement.lines());
    let other = lines.find(|(a, b)| a != b);
    (skipped != executed).then(|| {
        let traces = (skipped.trace.len(), executed.trace.len());
        format!("{name}: {other:?}, {traces:?} bytes of trace\n")
    })
}

/// Compares runs, two at a time.
fn all_agree(runs: &[(String, &'static str)], settings: impl Fn(&str) -> Settings + Sync) {
    let agree = |runs: &[(String, &'static str)]| -> String {
        let found = runs.iter().map(|(name, board)| difference(name, board, &settings(name)));
        found.flatten().collect()
    };
    let (one, other) = runs.split_at(runs.len() / 2);
    let found = std::thread::scope(|scope| {
        let other = scope.spawn(|| agree(other));
        agree(one) + &other.join().expect("it does not panic")
    });
    assert!(found.is_empty(), "{found}");
}

fn waiting() -> Vec<(String, &'static str)> {
    let boards = |name: &&str| (String::from(*name), board(name).expect("it has a board"));
    WAITING.iter().map(boards).collect()
}

/// Figures of threads, stacks and who ran when along with the others.
fn full(milliseconds: u64) -> Settings {
    let timeline = Some(TimelineSettings { worst: false, nanoseconds: 5_000_000 });
    Settings { apart: true, watch_stacks: true, timeline, ..for_ms(milliseconds) }
}

#[test]
fn all_firmware_measures_the_same() {
    let images = images();
    assert!(images.len() > 60, "{} images", images.len());
    all_agree(&images, |_| for_ms(10));
}

#[test]
fn firmware_that_waits_measures_the_same() {
    all_agree(&waiting(), |_| full(100));
}

#[test]
fn low_and_high_models_skip_the_same() {
    for model in [Model::Low, Model::High] {
        all_agree(&waiting(), |_| Settings { model, ..full(20) });
    }
}

#[test]
fn chosen_calls_and_heaps_are_the_same() {
    let calls = |name: &str| -> Vec<String> {
        let image = firmware(name);
        let names = image.functions().iter().map(|function| function.name.clone());
        names.filter(|name| ["main", "usart1_send", "delay"].contains(&name.as_str())).collect()
    };
    all_agree(&waiting(), |name| Settings { calls: calls(name), ..full(20) });
    let heap = || Some(HeapSettings::default());
    all_agree(&waiting(), |_| Settings { heap: heap(), ..for_ms(20) });
}

/// Samples, exceptions and timestamps; timestamps alone.
#[test]
fn traces_are_the_same() {
    let names = ["trace", "trace-kit", "trace-resonant", "log-rs", "numbers-m4f", "generic-c-m3"];
    let runs: Vec<_> =
        names.iter().map(|name| (String::from(*name), board(name).expect("a board"))).collect();
    for (ctrl, tcr) in [(every(1, 3, 2) | EXCEPTIONS, 2), (EXCEPTIONS, 0x302)] {
        let plan = Plan { acpr: 15, tcr, count: 0, ctrl };
        all_agree(&runs, |_| Settings { trace: plan.programme(), ..for_ms(20) });
    }
}
