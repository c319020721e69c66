//! The low and the high model run for real: what they measure lies within the bounds of the likely
//! run, whatever the figure is, and the bounds are no wider than the runs are apart.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use strobe_analyse::attribution::{By, rows};
use strobe_decode::capture::{Capture, Recording};
use strobe_decode::pins;
use strobe_decode::pins::report::PinsReport;
use strobe_devices::board::Board;
use strobe_model::measurement::{
    Cell, Content, Distribution, Measurement, Number, ON_A_CHIP, Quantity, Spread, Table,
};
use strobe_sim::semihost::Console;
use strobe_source::simulated::{self, Beginning, Host, Recorder, Settings, bounding_runs};

use crate::measurement::{firmware, for_ms};

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

/// Low, likely, high.
type Ends = (f64, f64, f64);
type Figures = BTreeMap<String, Ends>;

/// Everything that a run measures, as the likely run with bounds from the others, and as each of
/// the three alone.
struct Measured {
    bounded: Figures,
    alone: [Figures; 3],
}

fn measured(name: &str, board: &str, ms: u64) -> Option<Measured> {
    let firmware = firmware(name);
    let board = Board::builtin(board).expect("a board that comes with the project");
    let calls = if name == "hello-uart" { vec!["usart1_send".to_owned()] } else { Vec::new() };
    let apart = name.starts_with("threads");
    let settings = Settings { record_pins: true, apart, calls, ..for_ms(ms) };
    let never = AtomicBool::new(false);
    let mut own = Pins::default();
    let outcome = simulated::run(&firmware, &board, &settings, &mut own, &never);
    let likely = outcome.expect("it runs").record;
    if !bounding_runs::differ(&likely) {
        return None;
    }
    let mut hosts = [Pins::default(), Pins::default()];
    let others = bounding_runs::run(&firmware, &board, &settings, &likely, &mut hosts, &never);
    let others = others.expect("a run to a time ends so in each model");
    let [low, high] = hosts.map(Pins::measurement);
    let own = own.measurement();
    let mut pins = own.clone();
    bounding_runs::enclose(&mut pins, [&low, &high]);
    pins.check().expect("it holds together");
    let bounded = bounding_runs::measurement(&likely, &others);
    bounded.check().expect("it holds together");
    let both = |run: &Measurement, pins: &Measurement| {
        let mut all = figures(run);
        all.extend(figures(pins).into_iter().map(|(name, ends)| (format!("pins {name}"), ends)));
        all
    };
    let alone = [&others[0], &likely, &others[1]].map(simulated::measurement);
    Some(Measured {
        bounded: both(&bounded, &pins),
        alone: [both(&alone[0], &low), both(&alone[1], &own), both(&alone[2], &high)],
    })
}

/// Totals, cells of tables, functions and lines, and what distributions show, with their bounds.
fn figures(measurement: &Measurement) -> Figures {
    let mut out = Figures::new();
    let mut put = |name: String, quantity: &Quantity| {
        out.extend(ends(quantity.value(), quantity.trust().bounds()).map(|ends| (name, ends)));
    };
    put("duration".to_owned(), &measurement.window.duration);
    measurement.totals.iter().for_each(|total| put(total.id.clone(), &total.quantity));
    for section in &measurement.sections {
        match &section.content {
            Content::Table(table) => cells(&section.id, table, &mut out),
            Content::Distributions(all) => {
                for one in &all.distributions {
                    spread(&format!("{}/{}", section.id, one.name), one, &mut out);
                }
            }
            Content::Profile(profile) => {
                for by in [By::Function, By::Line] {
                    let flat = rows(profile, "cycles", &by).expect("cycles are measured");
                    for row in &flat.rows {
                        let busy = row.sums.busy().ordered();
                        let ends = (busy.low as f64, busy.value as f64, busy.high as f64);
                        out.insert(format!("{by:?} {}", row.name), ends);
                    }
                }
            }
            Content::Timeline(_) | Content::Text(_) => {}
        }
    }
    out
}

fn ends(value: Option<Number>, bounds: Option<(Number, Number)>) -> Option<Ends> {
    let value = value?.as_f64();
    let (low, high) = bounds.map_or((value, value), |(low, high)| (low.as_f64(), high.as_f64()));
    Some((low, value, high))
}

/// Cells of rows that have a name of their own, without moments.
fn cells(section: &str, table: &Table, out: &mut Figures) {
    let Some(names) = table.columns.iter().find(|c| c.cells.iter().all(|c| c.text().is_some()))
    else {
        return;
    };
    let is_moment = |id: &str| ["at", "cycle", "at-cycle"].contains(&id) || id.ends_with("-at");
    for column in table.columns.iter().filter(|column| !is_moment(&column.id)) {
        for (name, cell) in names.cells.iter().zip(&column.cells) {
            let bounds = match cell {
                Cell::Figure { trust, .. } => trust.bounds(),
                _ => None,
            };
            let name = name.text().unwrap_or_default();
            let name = format!("{section}/{name}/{}", column.id);
            out.extend(ends(cell.number(), bounds).map(|ends| (name, ends)));
        }
    }
}

fn spread(name: &str, one: &Distribution, out: &mut Figures) {
    let figure = |of: fn(&Spread) -> Option<f64>| {
        let value = of(&one.spread)?;
        let end = |spread: &Option<Spread>| spread.as_ref().and_then(of).unwrap_or(value);
        Some((end(&one.low), value, end(&one.high)))
    };
    type Reads = fn(&Spread) -> Option<f64>;
    let all: [(&str, Reads); 4] = [
        ("min", |s| s.min().map(|n| n as f64)),
        ("median", |s| s.quantile(0.5).map(|n| n as f64)),
        ("mean", Spread::mean),
        ("max", |s| s.max().map(|n| n as f64)),
    ];
    for (what, of) in all {
        out.extend(figure(of).map(|ends| (format!("{name}/{what}"), ends)));
    }
}

/// A figure of another run may be outside by this part of it: means and medians of runs of unequal
/// numbers of values are compared rank by rank.
const RANKS: f64 = 0.01;

/// How much wider than the runs bounds may be, in units of the figure: cycles, or picoseconds of a
/// few cycles.
const FLOOR: f64 = 4.0;

#[test]
fn figures_of_other_models_lie_within_the_bounds() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for (name, board, ms) in RUNS {
        let Some(Measured { bounded, alone, .. }) = measured(name, board, ms) else { continue };
        for (what, (low, value, high)) in &bounded {
            let others = alone.each_ref().map(|run| run.get(what).map(|ends| ends.1));
            // A function, a row or a pin that another run does not have.
            let [Some(a), Some(b), Some(c)] = others else { continue };
            let rank = what.ends_with("/mean") || what.ends_with("/median");
            let slop = if rank { value.abs() * RANKS } else { 0.0 };
            for measured in [a, b, c] {
                let fits = measured + slop >= *low && measured <= *high + slop;
                if !fits {
                    wrong.push(format!("{name}: {what} is {measured}, bounds {low} to {high}"));
                }
            }
            let apart = a.max(b).max(c) - a.min(b).min(c);
            let floor = if what.starts_with("pins ") { FLOOR * 1e6 / 48.0 } else { FLOOR };
            // Cells that are not counts of cycles have the fineness of their unit.
            let most = apart * 1.5 + floor + 2.0 * slop;
            // That one has the band of the core's model besides, which all runs share.
            if high - low > most && what != ON_A_CHIP {
                wrong.push(format!("{name}: {what} in {low} to {high}, runs {apart} apart"));
            }
            seen += usize::from(apart > 0.0);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 200, "{seen} figures in which the models differ");
}

/// One bit of a UART, 64 bytes that are sent by polling, a run to a time: what has a time of its
/// own is as exact as that.
#[test]
fn time_paced_by_a_uart_is_exact() {
    let Measured { bounded, .. } =
        measured("hello-uart", "stm32f070cb", 20).expect("it has wait states");
    let bits = bounded
        .iter()
        .filter(|(what, _)| what.starts_with("pins pins/PA9") && what.ends_with("/min"));
    let mut seen = 0;
    for (what, (low, value, high)) in bits.filter(|(what, _)| !what.contains("duty")) {
        assert!(low == value && value == high, "{what}: {low} to {high}");
        seen += 1;
    }
    assert!(seen >= 2, "high and low bits");
    let (low, value, high) = bounded["Function usart1_send"];
    assert!((high - low) * 200.0 < value, "{low} to {high}");
    let (low, value, high) = bounded["duration"];
    assert!(low == value && value == high, "a run to a time takes it: {low} to {high}");
}

#[derive(Default)]
struct Pins {
    recording: Option<Recording>,
    capture: Option<Capture>,
}

impl Pins {
    fn measurement(self) -> Measurement {
        let capture = self.capture.expect("pins are recorded");
        let channels = (0..).zip(&capture.channels).filter(|(_, c)| !c.edges.is_empty());
        let report = PinsReport {
            capture: pins::summary(&capture, String::new(), "simulated"),
            pins: channels.map(|(at, _)| pins::statistics(&capture, at, None)).collect(),
            intervals: Vec::new(),
            notes: Vec::new(),
        };
        pins::measurement(&report)
    }
}

impl Recorder for Pins {
    fn begin(&mut self, beginning: &Beginning) {
        self.recording = Some(Recording::new("board", beginning.at_ps, &beginning.pins, 1 << 24));
    }

    fn edge(&mut self, pin: usize, level: bool, at_ps: u64) -> bool {
        self.recording.as_mut().is_some_and(|r| r.edge(pin, level, at_ps))
    }

    fn slept(&mut self, _: u64, _: u64) -> bool {
        true
    }

    fn end(&mut self, at_ps: u64, clock: &[(u64, u32)]) {
        self.capture = self.recording.take().map(|recording| recording.finish(at_ps, clock));
    }
}

impl Host for Pins {
    fn console(&mut self) -> Box<dyn Console> {
        Box::new(())
    }

    fn recorder(&mut self) -> Option<&mut dyn Recorder> {
        Some(self)
    }
}
