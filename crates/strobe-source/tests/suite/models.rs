//! The bounds of the likely model against runs of the low and the high one: what these measure lies
//! between the bounds, and the bounds are not much wider than that.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use strobe_decode::capture::{Drift, Recording};
use strobe_decode::pins::statistics;
use strobe_model::{Bounds, Distribution, Record};
use strobe_sim::board::Board;
use strobe_sim::pace::Model;
use strobe_sim::semihost::Console;
use strobe_source::simulated::{self, Beginning, Host, Moment, Recorder, Settings};

use crate::measurement::{firmware, for_ms};

#[derive(Default)]
struct Pins {
    recording: Option<Recording>,
    end: (u64, Vec<(u64, u32)>),
}

impl Recorder for Pins {
    fn begin(&mut self, beginning: &Beginning) {
        self.recording = Some(Recording::new("board", beginning.at_ps, &beginning.pins, 1 << 24));
    }

    fn edge(&mut self, pin: usize, level: bool, at: Moment) -> bool {
        self.recording.as_mut().is_some_and(|r| r.edge(pin, level, at.at_ps, drift(at)))
    }

    fn slept(&mut self, _: Moment, _: Moment) -> bool {
        true
    }

    fn end(&mut self, at: Moment, clock: &[(u64, u32)]) {
        if let Some(recording) = &mut self.recording {
            recording.ends(at.at_ps, drift(at));
        }
        self.end = (at.at_ps, clock.to_vec());
    }
}

fn drift(at: Moment) -> Drift {
    let Moment { sooner_ps: sooner, later_ps: later, jitter_ps: jitter, epoch, .. } = at;
    Drift { sooner, later, jitter, epoch }
}

impl Host for Pins {
    fn console(&mut self) -> Box<dyn Console> {
        Box::new(())
    }

    fn recorder(&mut self) -> Option<&mut dyn Recorder> {
        Some(self)
    }
}

type Figures = BTreeMap<String, Bounds>;

/// Everything that a run measures.
fn figures(name: &str, board: &str, ms: u64, model: Model) -> Figures {
    let settings = Settings { model, record_pins: true, interpret: true, ..for_ms(ms) };
    let board = Board::builtin(board).expect("a board that comes with the project");
    let mut pins = Pins::default();
    let never = AtomicBool::new(false);
    let outcome = simulated::run(&firmware(name), &board, &settings, &mut pins, &never);
    let record = outcome.expect("it runs").record;
    let mut out = Figures::new();
    out.insert("whole".to_owned(), record.totals.cycles);
    functions(&record, &mut out);
    let (end, clock) = pins.end;
    let capture = pins.recording.expect("pins are recorded").finish(end, &clock);
    for channel in 0..capture.channels.len() {
        let pin = statistics(&capture, channel, None);
        let all = [("high", pin.high_ps), ("low", pin.low_ps), ("period", pin.period_ps)];
        for (what, distribution) in all {
            spread(&format!("{} {what}", pin.pin), distribution, &mut out);
        }
    }
    out
}

fn functions(record: &Record, out: &mut Figures) {
    for sample in &record.profile.addresses {
        let name = record.profile.function_name(sample.function);
        *out.entry(format!("function {name}")).or_default() += sample.bounds;
    }
}

fn spread(name: &str, distribution: Option<Distribution>, out: &mut Figures) {
    let Some(Distribution { min, mean, max, bounds, .. }) = distribution else { return };
    let of = |likely: u64, bounds: Option<Bounds>| bounds.unwrap_or(Bounds::exact(likely));
    let bounds = bounds.as_ref();
    out.insert(format!("{name} min"), of(min, bounds.map(|b| b.min)));
    out.insert(format!("{name} mean"), of(mean, bounds.map(|b| b.mean)));
    out.insert(format!("{name} max"), of(max, bounds.map(|b| b.max)));
}

/// Firmware with UART, SPI, timers, DMA, threads and sleep, behind wait states.
const RUNS: [(&str, &str, u64); 12] = [
    ("hello-uart", "stm32f070cb", 20),
    ("display-spi", "stm32f070cb", 20),
    ("display-dma", "stm32f070cb", 20),
    ("display-bitbang", "stm32f070cb", 20),
    ("shift", "stm32f070cb", 20),
    ("stepper", "stm32f070cb", 50),
    ("blink", "stm32f070cb", 50),
    ("threads", "stm32f070cb", 20),
    ("threads-freertos", "stm32f070cb", 20),
    ("tour-lm3s6965", "lm3s6965evb", 20),
    ("trace", "stm32f407", 20),
    ("loop-48mhz", "stm32f070cb", 5),
];

/// Runs of all three models, of which two are of one figure each.
fn three(name: &str, board: &str, ms: u64) -> [Figures; 3] {
    [Model::Low, Model::Likely, Model::High].map(|model| figures(name, board, ms, model))
}

/// Every width and period of every pin, and the whole, in all three runs; functions that take a
/// hundredth of the run or more. A cycle or two of rounding, and a thousandth, may be outside: the
/// models change the clock at different cycles.
#[test]
fn what_the_other_models_measure_lies_between_the_bounds() {
    for (name, board, ms) in RUNS {
        let [low, likely, high] = three(name, board, ms);
        let share = likely["whole"].likely / 100;
        for (what, bounds) in &likely {
            if what.starts_with("function") && bounds.likely < share {
                continue;
            }
            for run in [&low, &high] {
                let Some(measured) = run.get(what).map(|figure| figure.likely) else { continue };
                let slop = (bounds.likely / 1000).max(ROUNDING);
                let fits = measured + slop >= bounds.low && measured <= bounds.high + slop;
                assert!(fits, "{name}: {what} is {measured}, bounds {bounds:?}");
            }
        }
    }
}

/// Cycles.
const ROUNDING: u64 = 32;

/// What hardware shifts or a timer paces is known as well as it is known in each model.
#[test]
fn bounds_of_pins_are_not_much_wider_than_the_runs() {
    for (name, board, ms) in RUNS {
        let [low, likely, high] = three(name, board, ms);
        for (what, bounds) in likely.iter().filter(|(what, _)| what.starts_with('P')) {
            let runs = [&low, &likely, &high].map(|run| run.get(what).map(|b| b.likely));
            let runs = runs.into_iter().flatten();
            let (least, most) = (runs.clone().min(), runs.max());
            let apart = most.zip(least).map_or(0, |(most, least)| most - least);
            let wide = bounds.high - bounds.low;
            assert!(
                wide <= apart + apart / 2 + CYCLES,
                "{name}: {what} in {bounds:?}, {apart} apart"
            );
        }
    }
}

/// A few cycles at 48 MHz, in picoseconds: turns of a loop that polls.
const CYCLES: u64 = 250_000;

/// One bit of a UART, 64 bytes that are sent by polling, a run to a time.
#[test]
fn what_a_uart_paces_is_exact() {
    let [_, likely, _] = three("hello-uart", "stm32f070cb", 20);
    let uart = likely.iter().filter(|(what, _)| what.starts_with("PA9") && what.ends_with("min"));
    let mut bits = 0;
    for (what, bounds) in uart {
        assert!(bounds.is_exact(), "{what}: {bounds:?}");
        bits += 1;
    }
    assert!(bits >= 2, "high and low bits, and no other pin has them");
    let sending = likely["function usart1_send"];
    assert!((sending.high - sending.low) * 200 < sending.likely, "{sending:?}");
    assert!(likely["whole"].high - likely["whole"].low <= 64, "{:?}", likely["whole"]);
}
