//! A run on a simulated board: a profile with threads and causes, interrupts, pins, instructions.

use strobe_model::measurement::*;

use super::{FLASH, firmware, measure, modelled, values};
use Severity::{Advice, Note, Warning};

fn cause(id: &str, title: &str, letter: char, meaning: &str, advice: Option<&str>) -> Measure {
    let part = Part {
        of: "cycles".into(),
        letter: Some(letter),
        idle: id == "asleep",
        meaning: Some(meaning.into()),
        advice: advice.map(str::to_owned),
    };
    Measure { part: Some(part), ..measure(id, title, Unit::CYCLES) }
}

fn bounded<const N: usize>(measure: &str, all: [(i64, i64, i64); N]) -> Values {
    Values {
        measure: measure.into(),
        values: all.map(|v| v.1).into(),
        low: all.map(|v| v.0).into(),
        high: all.map(|v| v.2).into(),
    }
}

/// A thread that works, one that sleeps, a handler that waits for flash.
fn profile() -> Profile {
    let why = || Kind::Modelled { why: FLASH.into() };
    let fetch =
        cause("fetch-wait", "fetch wait", 'F', "the core waits for flash.", Some("Use RAM."));
    let addresses = [0x0800_0100, 0x0800_0104, 0x0800_0200, 0x0800_0300];
    let label = |key: &str, value: &str| Label { key: key.into(), value: value.into() };
    Profile {
        measures: vec![
            Measure { kind: why(), ..measure("cycles", "cycles", Unit::CYCLES) },
            cause("execute", "execute", 'E', "the instruction itself.", None),
            Measure { kind: why(), ..fetch },
            cause("asleep", "asleep or idle", 'z', "this is the room that is left.", None),
            measure("executions", "executions", Unit::INSTRUCTIONS),
            measure("calls", "calls", Unit::COUNT),
        ],
        files: vec!["src/main.c".into(), "src/tick.c".into()],
        functions: Functions {
            name: ["worker", "idle", "SysTick_Handler"].map(str::to_owned).into(),
            address: [0x0800_0100, 0x0800_0200, 0x0800_0300].map(|a| Some(Address(a))).into(),
            file: vec![Some(0), Some(0), Some(1)],
            ..Functions::default()
        },
        frames: Frames {
            function: vec![0, 0, 1, 2],
            file: vec![Some(0), Some(0), Some(0), Some(1)],
            line: vec![Some(12), Some(13), Some(20), None],
            outer: vec![None; 4],
        },
        locations: Locations {
            address: addresses.map(|a| Some(Address(a))).into(),
            function: vec![Some(0), Some(0), Some(1), Some(2)],
            frame: (0..4).map(Some).collect(),
        },
        stacks: Stacks { parent: vec![None, None, None, Some(0)], location: vec![0, 2, 3, 1] },
        labels: vec![
            label("thread", "worker"),
            label("thread", "(idle_stack)"),
            label("handler", "SysTick"),
        ],
        leaves: Samples {
            at: [0, 1, 2, 3].map(Some).into(),
            label: vec![Some(0), Some(0), Some(1), Some(2)],
            values: vec![
                bounded(
                    "cycles",
                    [(400, 400, 400), (200, 200, 200), (3040, 3040, 3040), (340, 360, 400)],
                ),
                values("execute", [400, 200, 40, 160]),
                bounded("fetch-wait", [(0, 0, 0), (0, 0, 0), (0, 0, 0), (180, 200, 240)]),
                values("asleep", [0, 0, 3000, 0]),
                values("executions", [300, 200, 10, 100]),
            ],
        },
        chains: Samples {
            at: vec![None, Some(0), Some(3), None, Some(1), None, Some(2)],
            label: vec![Some(0), Some(0), Some(0), Some(1), Some(1), Some(2), Some(2)],
            values: vec![
                values("cycles", [0, 400, 200, 0, 3040, 0, 360]),
                values("execute", [0, 400, 200, 0, 40, 0, 160]),
                values("fetch-wait", [0, 0, 0, 0, 0, 0, 200]),
                values("asleep", [0, 0, 0, 0, 3000, 0, 0]),
                values("calls", [1, 1, 3, 1, 1, 9, 9]),
            ],
        },
        merged_calls: 1,
    }
}

/// A simulated run with modelled cycles, threads, a fault and everything else that one can have.
pub(crate) fn simulated() -> Measurement {
    let mut run = firmware("threads.elf");
    run.coverage = Coverage {
        whole: Some(modelled((3980, 4000, 4040), Unit::CYCLES)),
        seen: Some(modelled((3980, 4000, 4040), Unit::CYCLES)),
        lost: Some(Quantity::exact(0u64, Unit::CYCLES)),
        overhead: Some(Quantity::exact(0u64, Unit::CYCLES)),
    };
    run.push_total("instructions", "instructions", Quantity::exact(610u64, Unit::INSTRUCTIONS));
    run.push_total("cycles", "cycles", modelled((3980, 4000, 4040), Unit::CYCLES));
    let trust = Trust::Modelled { low: 1.607.into(), high: 1.705.into(), why: Some(FLASH.into()) };
    let ratio = Quantity::new(Some(1.639.into()), Unit::RATIO, trust).unwrap();
    run.push_total("cycles-per-instruction", "cycles/instr.", ratio);
    run.push_total("idle", "idle", modelled((2980, 3000, 3040), Unit::CYCLES));
    let balance = Parts {
        what: "cycles".into(),
        unit: Unit::CYCLES,
        taken_as: "taken".into(),
        attributed_as: String::new(),
        taken: 4000,
        attributed: 1000,
        unattributed: Vec::new(),
        idle: 3000,
        lost: Loss::Known(0),
    };
    run.balances.push(Balance::new(balance).unwrap());
    let board =
        "board stm32f070cb was chosen because the firmware is linked for flash at 0x08000000";
    run.findings.push(Finding::new(Warning, "board-guessed", board));
    let mut register = Finding::new(Warning, "unmodelled", "a register without a model was read");
    (register.count, register.place) = (3, Some("main (main.c:12)".into()));
    register.advice = Some("Describe it in a board file.".into());
    run.findings.push(register);
    run.findings.push(Finding::new(Note, "sleep", "the core slept for most of the run"));
    run.findings.push(Finding::new(Advice, "ram", "run SysTick_Handler from RAM"));
    run.push("profile", "profile", Content::Profile(Box::new(profile())));
    run.push("interrupts", "interrupts: cycles with all calls", Content::Table(interrupts()));
    run.push("pins", "pins and marks", Content::Distributions(pins()));
    run.push("disassembly", "disassembly", Content::Table(disassembly()));
    let mut source = Table::new(vec![
        Column::text("file", "file"),
        Column::figure("line", "line", Unit::COUNT),
        Column::text("text", "text"),
    ]);
    source.row(["src/main.c".into(), 13u64.into(), "\tfor (;;)  count--;".into()]);
    run.push("source", "source", Content::Table(source));
    run
}

fn interrupts() -> Table {
    let mut table = Table::new(vec![
        Column::figure("count", "count", Unit::COUNT),
        Column::figure("cycles", "cycles", Unit::CYCLES).of(4000u64),
        Column::figure("latency_max", "latency max", Unit::CYCLES).worth(1),
        Column::figure("max_at", "max at", Unit::NANOSECONDS).worth(0),
        Column::text("name", "name and handler"),
    ]);
    let cycles: Cell = modelled((340, 360, 400), Unit::CYCLES).into();
    let latency: Cell = modelled((30, 32, 36), Unit::CYCLES).into();
    let at: Cell = 250_000u64.into();
    table.row([9u64.into(), cycles, latency, at, "SysTick: SysTick_Handler".into()]);
    table.row([1u64.into(), 40u64.into(), 16u64.into(), Cell::Empty, "PendSV".into()]);
    table.footer.push(vec![10u64.into(), 400u64.into(), Cell::Empty, Cell::Empty, "all".into()]);
    table
}

fn pins() -> Distributions {
    let spread = |values: &[u64]| values.iter().copied().collect::<Spread>();
    let why = Some(FLASH.to_owned());
    let mut high = Distribution::exact("PB8 high", Unit::CYCLES, spread(&[2172, 2172, 2173]));
    (high.low, high.high) = (Some(spread(&[2045; 3])), Some(spread(&[2554; 3])));
    (high.why, high.hertz) = (why, Some(48_000_000));
    let mut low = Distribution::exact("PB8 low", Unit::CYCLES, spread(&[25, 26]));
    low.hertz = Some(8_000_000);
    let width = Distribution::exact("PB9 high", Unit::NANOSECONDS, spread(&[1500, 2_000_000]));
    let never = Distribution::exact("PB9 low", Unit::NANOSECONDS, Spread::default());
    Distributions { distributions: vec![high, low, width, never] }
}

fn disassembly() -> Table {
    let mut table = Table::new(vec![
        Column::address("address", "address"),
        Column::text("bytes", "bytes"),
        Column::text("text", "instruction"),
        Column::text("file", "file"),
        Column::figure("line", "line", Unit::COUNT),
    ]);
    let rows = [
        (0x0800_0100, "bf00", "nop", 12),
        (0x0800_0104, "3b01", "subs\tr3, #1", 13),
        (0x0800_0106, "4770", "bx lr", 14),
        (0x0800_0200, "bf30", "wfi", 20),
    ];
    for (address, bytes, text, line) in rows {
        let line: u64 = line;
        table.row([
            Address(address).into(),
            bytes.into(),
            text.into(),
            "src/main.c".into(),
            line.into(),
        ]);
    }
    table
}
