//! Runs on a simulated board: exact, modelled, of windows, with registers that nobody modelled.

use strobe_model::*;

use super::build::{Build, thread};
use Cause::*;

/// A blinking LED: exact, mostly asleep, one interrupt.
pub(crate) fn exact() -> Record {
    let mut b = Build::new("blink.elf");
    let (main_c, tick_c) = (b.file("src/main.c"), b.file("src/tick.c"));
    let main = b.function("main", 0x0800_00f0, Some(main_c));
    let toggle = b.function("toggle", 0x0800_0140, Some(main_c));
    let tick = b.function("SysTick_Handler", 0x0800_0160, Some(tick_c));
    let copy = b.function("memcpy", 0x0800_0180, None);
    let at = |address, function, file, line| (address, Some(function), Some((file, line)));
    b.sample(at(0x0800_00f2, main, main_c, 31), 4000, &[(Execute, 4000), (Refill, 8000)], (0, 0));
    b.sample(
        at(0x0800_00f4, main, main_c, 32),
        2000,
        &[(Execute, 4000), (Asleep, 3_950_000)],
        (0, 0),
    );
    b.sample(at(0x0800_0140, toggle, main_c, 12), 20, &[(Execute, 20), (LoadStore, 20)], (0, 0));
    b.sample(
        at(0x0800_0160, tick, tick_c, 7),
        8000,
        &[(Execute, 8000), (LoadStore, 6000), (ExceptionEntry, 16_000), (ExceptionExit, 10_000)],
        (0, 0),
    );
    b.sample((0x0800_0180, Some(copy), None), 900, &[(Execute, 600), (LoadStore, 300)], (0, 0));
    let root = b.node(thread(), None, 1, 0);
    let m = b.node(Place::Function(main), Some(root), 1, 3_966_000);
    b.node(Place::Function(toggle), Some(m), 10, 40);
    b.node(Place::Function(copy), Some(m), 3, 900);
    let systick = b.node(Place::Exception("SysTick".into()), None, 1000, 0);
    b.node(Place::Function(tick), Some(systick), 1000, 40_000);
    b.0.exceptions.push(ExceptionStatistics {
        number: 15,
        name: "SysTick".into(),
        handler: Some("SysTick_Handler".into()),
        count: 1000,
        tail_chained: 0,
        cycles: 40_000,
        latency_min: 16,
        latency_sum: 16_420,
        latency_max: 31,
        latency_max_at: Moment { cycle: 1_234_567, nanoseconds: 154_320_875 },
        ..ExceptionStatistics::default()
    });
    b.0.series.push(Series {
        name: "PB8 high".into(),
        unit: "cycles".into(),
        values: vec![400_000, 400_000, 400_012, 400_000, 399_998],
        bounds: Vec::new(),
        count: 5,
        since_cycle: 0,
    });
    b.finish()
}

/// The founding loop at 48 MHz with a wait state: modelled fetch waits, a changed clock, marks.
pub(crate) fn modelled() -> Record {
    let mut b = Build::new("loop.elf");
    b.0.subject.clock =
        vec![ClockSpan { cycle: 0, hz: 8_000_000 }, ClockSpan { cycle: 1180, hz: 48_000_000 }];
    b.0.instrument.settings =
        [("mark", "PB8"), ("until", "exit")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    let file = b.file("loop.s");
    let looped = b.function("test_loop", 0x0800_00b8, Some(file));
    let main = b.function("main", 0x0800_0100, None);
    let ram = b.function("from_ram", 0x2000_0000, None);
    let at = |address, line| (address, Some(looped), Some((file, line)));
    b.sample(at(0x0800_00c2, 9), 2550, &[(Execute, 2550)], (0, 0));
    b.sample(at(0x0800_00c4, 10), 7650, &[(Execute, 7650)], (0, 0));
    b.sample(
        at(0x0800_00ca, 13),
        2550,
        &[(Execute, 2550), (Refill, 5080), (FetchWait, 3810)],
        (1270, 3810),
    );
    b.sample((0x0800_0100, Some(main), None), 210, &[(Execute, 180), (FetchWait, 40)], (40, 20));
    b.sample((0x2000_0000, Some(ram), None), 100, &[(Execute, 100), (LoadStore, 50)], (0, 0));
    let root = b.node(thread(), None, 1, 0);
    let m = b.node(Place::Function(main), Some(root), 1, 220);
    b.node(Place::Function(looped), Some(m), 10, 21_640);
    b.node(Place::Function(ram), Some(m), 1, 150);
    b.0.trust = Trust::Modelled {
        causes: vec![ModelledCause {
            cause: FetchWait,
            cycles: Bounds { low: 2540, likely: 3850, high: 7680 },
            why: "the STM32F0's flash interface keeps state across branches that no manual documents; \
                  1.5 cycles for each taken branch to the upper half of a word fit one published \
                  measurement, and 1 to 3 are possible"
                .into(),
        }],
    };
    b.0.series.push(Series {
        name: "PB8 high".into(),
        unit: "cycles".into(),
        values: vec![2171; 10],
        bounds: vec![(2044, 2552); 10],
        count: 10,
        since_cycle: 2400,
    });
    b.0.warnings.push(Warning {
        text: "GPIOB was accessed while its clock was off: it read as zero and ignored writes, as on the \
               chip; enable its clock in the RCC first"
            .into(),
        count: 3,
    });
    let mut record = b.finish();
    record.window.begin = Moment { cycle: 0, nanoseconds: 0 };
    record.window.nanoseconds = 579_833;
    record
}

/// Two windows of a longer run, with a recorder that lost some.
pub(crate) fn windowed() -> Record {
    let mut record = exact();
    let seen = record.coverage.seen_cycles;
    record.subject.file = "windowed.elf".into();
    record.window.begin = Moment { cycle: 1000, nanoseconds: 125_000 };
    record.window.end = Moment { cycle: 9_001_000, nanoseconds: 1_125_125_000 };
    record.window.entries = 2;
    record.window.end_reason = EndReason::Reached { place: "stop_here".into() };
    record.coverage.run_cycles = seen * 3;
    record.coverage.lost_cycles = Some(5000);
    record.coverage.overhead_cycles = 12;
    record
}

/// A firmware that touches what nobody modelled.
pub(crate) fn unmodelled() -> Record {
    let mut record = exact();
    record.subject.file = "i2c.elf".into();
    record.window.end_reason = EndReason::DefaultLimit;
    let register =
        |address: &str, peripheral: Option<&str>, known_device, reads, writes| UnmodelledRegister {
            address: address.into(),
            peripheral: peripheral.map(str::to_owned),
            register: None,
            known_device,
            reads,
            writes,
            first_from: "0x08000142 toggle at src/main.c:12".into(),
        };
    record.unmodelled = vec![
        register("0x40005400", Some("I2C1"), false, 12, 3),
        register("0x40021030", Some("RCC"), true, 1, 0),
        register("0x50000000", None, false, 0, 123_456),
    ];
    record.unmodelled[1].register = Some("RCC.CFGR3".into());
    record
}
