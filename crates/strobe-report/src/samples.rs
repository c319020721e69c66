//! Records built by hand, one for each way a report can go. For tests only.

mod archives;

use strobe_model::against::{self, AGAINST_SCHEMA, Against};
use strobe_model::*;

pub(crate) use archives::{allocations, events, no_events, published};

use Cause::*;

/// Puts a record together and works out its sums.
struct Build(Record);

impl Build {
    fn new(file: &str) -> Self {
        let moment = |cycle| Moment { cycle, nanoseconds: 0 };
        Build(Record {
            schema: SCHEMA,
            subject: Subject {
                file: file.into(),
                sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".into(),
                build_id: Some("5f3c9d1e0b7a42c8a1d2e3f405162738495a6b7c".into()),
                compilers: vec!["GNU C17 12.2.1 -mcpu=cortex-m0 -Os -g".into()],
                detail: "functions, lines and inlined calls, from DWARF 4".into(),
                board: "STM32F070CB".into(),
                core: "Cortex-M0".into(),
                clock: vec![ClockSpan { cycle: 0, hz: 8_000_000 }],
                sizes: Sizes { flash: 1732, ram: 1 },
            },
            instrument: Instrument {
                kind: "simulated board".into(),
                tool: "strobe 0.1.0".into(),
                settings: Default::default(),
            },
            window: Window {
                begin: moment(0),
                end: moment(0),
                entries: 1,
                nanoseconds: 0,
                end_reason: EndReason::Exit { code: 0 },
            },
            totals: Totals {
                cycles: Bounds::default(),
                instructions: 0,
                by_cause: CauseCycles::ZERO,
            },
            balance: Balance::new(Parts::default()).unwrap(),
            trust: Trust::Exact,
            coverage: Coverage::default(),
            profile: Profile::default(),
            exceptions: Vec::new(),
            scheduling: None,
            series: Vec::new(),
            unmodelled: Vec::new(),
            warnings: Vec::new(),
            fault: None,
            traced: None,
        })
    }

    fn file(&mut self, name: &str) -> u32 {
        self.0.profile.files.push(name.into());
        self.0.profile.files.len() as u32 - 1
    }

    fn function(&mut self, name: &str, address: u32, file: Option<u32>) -> u32 {
        let address = Some(format!("{address:#010x}"));
        self.0.profile.functions.push(Function { name: name.into(), address, file });
        self.0.profile.functions.len() as u32 - 1
    }

    /// An address with its cycles; `slack` is what models may have counted too many and too few.
    fn sample(
        &mut self,
        (address, function, line): (u32, Option<u32>, Option<(u32, u32)>),
        count: u64,
        cycles: &[(Cause, u64)],
        slack: (u64, u64),
    ) {
        let mut sum = CauseCycles::ZERO;
        cycles.iter().for_each(|(cause, n)| sum[*cause] += n);
        let likely = sum.total();
        let frame = |function| Frame {
            function,
            file: line.map(|l: (u32, u32)| l.0),
            line: line.map(|l| l.1),
        };
        self.0.profile.addresses.push(AddressSample {
            address,
            count,
            jumped: 0,
            cycles: sum,
            bounds: Bounds { low: likely - slack.0, likely, high: likely + slack.1 },
            function,
            frames: function.map(frame).into_iter().collect(),
        });
    }

    fn node(&mut self, place: Place, parent: Option<u32>, calls: u64, self_cycles: u64) -> u32 {
        let self_instructions = self_cycles / 2;
        self.0.profile.tree.push(TreeNode {
            place,
            parent,
            calls,
            self_cycles,
            self_idle: None,
            self_instructions,
        });
        self.0.profile.tree.len() as u32 - 1
    }

    fn finish(mut self) -> Record {
        let record = &mut self.0;
        let profile = &record.profile;
        let mut totals =
            Totals { cycles: Bounds::default(), instructions: 0, by_cause: CauseCycles::ZERO };
        let mut unnamed = 0;
        for sample in &profile.addresses {
            totals.cycles += sample.bounds;
            totals.instructions += sample.count;
            totals.by_cause += sample.cycles;
            unnamed += if sample.function.is_none() { sample.cycles.busy() } else { 0 };
        }
        let cycles = totals.cycles.likely;
        let hz = record.subject.clock.last().map_or(1, |c| c.hz);
        let nanoseconds = (u128::from(cycles) * 1_000_000_000 / u128::from(hz)) as u64;
        record.window.end = Moment { cycle: cycles, nanoseconds };
        record.window.nanoseconds = nanoseconds;
        record.coverage.run_cycles = cycles;
        record.coverage.seen_cycles = cycles;
        record.balance = Balance::new(Parts {
            taken: cycles,
            attributed: totals.by_cause.busy() - unnamed,
            unattributed: if unnamed > 0 { vec![("no symbol".into(), unnamed)] } else { vec![] },
            idle: totals.by_cause[Asleep],
            lost: 0,
        })
        .unwrap();
        record.totals = totals;
        self.0
    }
}

fn thread() -> Place {
    Place::Thread("main".into())
}

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
    record.coverage.lost_cycles = 5000;
    record.coverage.overhead_cycles = 12;
    record
}

/// A fault, with code outside every function.
pub(crate) fn faulted() -> Record {
    let mut b = Build::new("fault.elf");
    let main = b.function("main", 0x0800_0100, None);
    b.sample((0x0800_0100, Some(main), None), 10, &[(Execute, 10), (LoadStore, 4)], (0, 0));
    b.sample((0x0800_0200, None, None), 3, &[(Execute, 3)], (0, 0));
    let root = b.node(thread(), None, 1, 0);
    let m = b.node(Place::Function(main), Some(root), 1, 14);
    b.node(Place::Unknown, Some(m), 1, 3);
    b.0.window.end_reason = EndReason::HardFault;
    let hex = |n: u32| format!("{n:#010x}");
    let names = ["R0", "R1", "R2", "R3", "R12", "LR", "PC", "xPSR"];
    let mut registers: Vec<(String, String)> =
        (0..13).map(|n| (format!("R{n}"), hex(n * 0x0101_0101))).collect();
    for name in ["SP", "LR", "PC", "xPSR", "MSP", "PSP"] {
        registers.push((name.into(), hex(0x2000_0fe0)));
    }
    b.0.fault = Some(Fault {
        kind: "HardFault".into(),
        text: "unaligned load of a word from 0x20000001; Cortex-M0 cannot do that".into(),
        pc: "0x08000110".into(),
        status: Vec::new(),
        at: Moment { cycle: 17, nanoseconds: 2125 },
        registers,
        frame: names.iter().map(|n| ((*n).to_owned(), hex(1))).collect(),
        backtrace: vec![
            "0x08000110 read_word (inlined) at src/read.c:12".into(),
            "0x08000110 main at src/main.c:44".into(),
            "0x080000c8 Reset_Handler at startup.c:20".into(),
        ],
    });
    b.finish()
}

/// A fault on a core that has status registers.
pub(crate) fn faulted_with_status() -> Record {
    let mut record = faulted();
    if let Some(fault) = &mut record.fault {
        fault.text =
            "precise bus fault: load of 4 bytes from 0x30000000, where nothing answers".into();
        let status = [
            (
                "CFSR",
                "0x00008200 PRECISERR: nothing answered a load or store; the stacked PC is its; BFARVALID: BFAR holds the address",
            ),
            ("HFSR", "0x40000000 FORCED: a fault whose own handler is disabled or cannot preempt"),
            ("BFAR", "0x30000000 the address that did not answer"),
        ];
        fault.status = status.map(|(name, words)| (name.into(), words.into())).into();
    }
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

/// Without symbols, everything is by address.
pub(crate) fn without_symbols() -> Record {
    let mut b = Build::new("stripped.elf");
    b.0.subject.build_id = None;
    b.0.subject.compilers.clear();
    b.0.subject.detail = "no symbols: figures are by address".into();
    b.sample((0x0800_00f2, None, None), 400, &[(Execute, 400), (Refill, 800)], (0, 0));
    b.sample((0x0800_00f4, None, None), 200, &[(Execute, 200)], (0, 0));
    let root = b.node(thread(), None, 1, 0);
    b.node(Place::Unknown, Some(root), 1, 1400);
    b.finish()
}

/// Names as C++ and Rust make them, two of a kind, and one that would write to the terminal.
pub(crate) fn long_names() -> Record {
    let mut b = Build::new("names.elf");
    let files = [b.file("src/a.cpp"), b.file("src/b.cpp")];
    let names = [
        "<core::iter::adapters::map::Map<core::slice::iter::Iter<u8>, my_crate::codec::decode::{closure#0}> as \
         core::iter::traits::iterator::Iterator>::fold::<usize, core::iter::adapters::filter::Filter<_, _>>",
        "std::__detail::_Executor<__gnu_cxx::__normal_iterator<char const*, std::string>, \
         std::allocator<std::sub_match<char const*>>, true>::_M_dfs(_Match_mode, long)",
        "init",
        "init",
        "evil\x1b[2J\x07name",
    ];
    let root = b.node(thread(), None, 1, 0);
    for (i, name) in (0u32..).zip(names) {
        let file = files.get(i as usize % 3).copied();
        let function = b.function(name, 0x0800_0100 + i * 16, file);
        let cycles = 1000 >> i;
        let place = (0x0800_0100 + i * 16, Some(function), file.map(|f| (f, 10 + i)));
        b.sample(place, cycles, &[(Execute, cycles), (Refill, cycles / 2)], (0, 0));
        b.node(Place::Function(function), Some(root), 1, cycles + cycles / 2);
    }
    b.finish()
}

/// Nothing ran at all.
pub(crate) fn zero() -> Record {
    let mut b = Build::new("zero.elf");
    b.0.subject.clock = vec![ClockSpan { cycle: 0, hz: 0 }];
    b.0.window.end_reason = EndReason::Interrupted;
    b.0.series.push(Series {
        name: "PB8 high".into(),
        unit: "cycles".into(),
        values: Vec::new(),
        bounds: Vec::new(),
        count: 0,
        since_cycle: 0,
    });
    let mut exception = exact().exceptions.remove(0);
    exception.count = 0;
    b.0.exceptions.push(exception);
    let root = b.node(thread(), None, 1, 0);
    b.node(Place::Unknown, Some(root), 0, 0);
    b.0.subject.clock[0].hz = 1;
    let mut record = b.finish();
    record.subject.clock[0].hz = 0;
    record
}

/// As large as figures get.
pub(crate) fn largest() -> Record {
    let mut b = Build::new("largest.elf");
    let main = b.function("main", 0x0800_0100, None);
    let most = u64::MAX - 10;
    b.sample(
        (0x0800_0100, Some(main), None),
        u64::MAX,
        &[(Execute, most), (Asleep, 10)],
        (most, 0),
    );
    let root = b.node(thread(), None, u64::MAX, 0);
    b.node(Place::Function(main), Some(root), u64::MAX, u64::MAX);
    b.0.trust = Trust::Modelled {
        causes: vec![ModelledCause {
            cause: Execute,
            cycles: Bounds { low: 0, likely: most, high: most },
            why: "it is a test".into(),
        }],
    };
    b.0.series.push(Series {
        name: "all of it".into(),
        unit: "cycles".into(),
        values: vec![u64::MAX; 2],
        bounds: vec![(0, u64::MAX); 2],
        count: u64::MAX,
        since_cycle: 0,
    });
    b.finish()
}

/// What another instrument makes: samples, some of them lost.
pub(crate) fn sampled() -> Record {
    let mut record = exact();
    record.subject.file = "sampled.elf".into();
    record.instrument.kind = "trace pin".into();
    record.trust = Trust::Sampled { n: 4010, period_cycles: Some(1000) };
    let mut parts = record.balance.parts().clone();
    (parts.taken, parts.lost) = (parts.taken + 7000, 7000);
    record.totals.cycles = Bounds::exact(parts.taken);
    record.balance = Balance::new(parts).unwrap();
    record.coverage.lost_cycles = 7000;
    record.coverage.run_cycles += 7000;
    record
}

/// What comes out of a trace pin, with everything that it can tell, some of it lost.
pub(crate) fn traced() -> Record {
    let mut b = Build::new("traced.elf");
    let file = b.file("src/main.c");
    let main = b.function("main", 0x0800_0100, Some(file));
    let idle = b.function("idle", 0x0800_0200, None);
    b.sample((0x0800_0100, Some(main), Some((file, 12))), 300, &[(Execute, 300)], (0, 0));
    b.sample((0x0800_0104, Some(main), Some((file, 13))), 100, &[(Execute, 100)], (0, 0));
    b.sample((0x0800_0200, Some(idle), None), 50, &[(Asleep, 50)], (0, 0));
    b.sample((0x1fff_0000, None, None), 5, &[(Execute, 5)], (0, 0));
    let mut record = b.finish();
    let share = |sample: u32, count| AddressShare {
        sample,
        count,
        jumped: 0,
        cycles: CauseCycles::of(Execute, count),
        bounds: Bounds::exact(count),
    };
    record.profile.shares = vec![
        Share { who: Who::Thread(0), addresses: vec![share(0, 300)], modelled: Vec::new() },
        Share { who: Who::Interrupt(15), addresses: vec![share(1, 80)], modelled: Vec::new() },
    ];
    record.instrument.kind = "trace pin".into();
    record.instrument.settings = [("baud".to_owned(), "115200".to_owned())].into();
    record.trust = Trust::Sampled { n: 655, period_cycles: Some(16_384) };
    record.balance = Balance::new(Parts {
        taken: 3200,
        attributed: 400,
        unattributed: vec![("outside the firmware".into(), 5)],
        idle: 250,
        lost: 2545,
    })
    .unwrap();
    record.warnings.push(Warning { text: "somebody should know".into(), count: 1 });
    record.traced = Some(Box::new(what_was_traced()));
    record
}

fn what_was_traced() -> Traced {
    let kind = |name: &str, packets, bytes| PacketKind { name: name.into(), packets, bytes };
    Traced {
        stream: StreamTotals {
            frames: Some(FrameTotals {
                bytes: 6_420,
                frames: 400,
                sync_bytes: 4,
                streams: vec![(0, 10), (1, 5_990)],
                stream: Some(1),
                undecodable_bytes: 16,
            }),
            bytes: 5_990,
            packets: 1_700,
            packet_bytes: 5_980,
            padding_bytes: 3,
            undecodable_bytes: 7,
            disruptions: 2,
            packets_in_doubt: 20,
            overflows: 600,
            kinds: vec![kind("overflow", 600, 600), kind("PC sample", 455, 2_275)],
        },
        recording: Some(Recording {
            source: "serial /dev/ttyUSB0".into(),
            nanoseconds: 312_000_000,
            notes: vec![("the source broke off: unplugged".into(), 1), ("bytes lost".into(), 12)],
        }),
        times: TimeBase {
            local: 500,
            global: 3,
            ticks: 819_200,
            tick_cycles: Some(64),
            core_hz: Some(168_000_000),
            exact: 900,
            between: 300,
            unsure: 450,
            untimed: 50,
            bridged: 1,
        },
        sampling: Sampling {
            taken: 655,
            awake: 455,
            asleep: 200,
            prohibited: 0,
            period_cycles: Some(16_384),
            expected: Some(Expected {
                samples: 3_200,
                from: "local timestamps".into(),
                at_least: true,
            }),
            idle_by_name: 50,
        },
        exceptions: vec![TracedException {
            number: 15,
            name: "SysTick (tick)".into(),
            entered: 100,
            left: 98,
            unmatched: 2,
            timed: 90,
            own: 9_000,
            shortest: 64,
            longest: 128,
            vague: 8,
            at_most: 640,
            depth: 2,
            samples: 80,
        }],
        threads: vec![TracedThread {
            name: "worker".into(),
            pointer: 0x2000_0100,
            runs: 12,
            cycles: 1_000_000,
            samples: 300,
        }],
        channels: vec![
            Channel {
                port: 0,
                packets: 20,
                bytes: 26,
                interrupted: 1,
                text: Some("hello\nwor[lost?]ld\u{1b}[31m\n".into()),
                text_skipped: 4,
                decoded: None,
            },
            Channel { port: 3, packets: 2, bytes: 8, ..Channel::default() },
        ],
        counters: vec![EventCounter {
            name: "CPICNT".into(),
            what: "cycles of instructions beyond their first".into(),
            wraps: 1_000,
        }],
        watched: vec![Watched {
            comparator: 1,
            name: "level".into(),
            reads: 1,
            writes: 3,
            matches: 4,
            min: 2,
            max: 900,
            values: vec![(0, 2), (64, 900), (128, 7), (640, 7)],
            more: 0,
            from: vec![("main".into(), 4)],
        }],
        window: None,
        kit: None,
    }
}

fn extreme(cycles: u64, at: u64, function: Option<&str>) -> Extreme {
    Extreme {
        cycles,
        at: Moment { cycle: at, nanoseconds: at * 125 },
        address: "0x08000120".into(),
        function: function.map(str::to_owned),
    }
}

fn thread_row(name: &str, cycles: u64, idle: u64) -> ThreadStatistics {
    ThreadStatistics {
        name: name.into(),
        structure: None,
        id: None,
        priority: None,
        stack: ("0x20000100".into(), "0x20000180".into()),
        cycles,
        idle,
        runs: 0,
        gave_up: 0,
        preempted: 0,
        longest_run: Some(extreme(cycles, 4000, Some("main"))),
        wake: Latency::default(),
        wakes_unknown: 0,
    }
}

/// Two threads and an interrupt, with who ran when and whose samples are whose.
pub(crate) fn threaded() -> Record {
    let mut b = Build::new("threads.elf");
    let worker = b.function("worker", 0x0800_0100, None);
    let idle = b.function("idle", 0x0800_0110, None);
    let tick = b.function("SysTick_Handler", 0x0800_0120, None);
    b.sample((0x0800_0100, Some(worker), None), 500, &[(Execute, 600)], (0, 0));
    b.sample((0x0800_0110, Some(idle), None), 10, &[(Execute, 40), (Asleep, 3000)], (0, 0));
    b.sample((0x0800_0120, Some(tick), None), 100, &[(Execute, 160), (FetchWait, 200)], (20, 40));
    let places = [
        (Place::Thread("worker".into()), worker, 600, 0),
        (Place::Thread("(idle_stack)".into()), idle, 3040, 3000),
        (Place::Exception("SysTick".into()), tick, 360, 0),
    ];
    for (place, function, cycles, asleep) in places {
        let root = b.node(place, None, 1, 0);
        let node = b.node(Place::Function(function), Some(root), 1, cycles);
        b.0.profile.tree[node as usize].self_idle = Some(asleep);
    }
    let fetch = Bounds { low: 180, likely: 200, high: 240 };
    let why = "what the prefetch buffer hides is not documented".into();
    b.0.trust =
        Trust::Modelled { causes: vec![ModelledCause { cause: FetchWait, cycles: fetch, why }] };
    let whos = [Who::Thread(0), Who::Thread(1), Who::Interrupt(15)];
    b.0.profile.shares = (0..).zip(whos).map(|(at, who)| share(&b.0, at, who, fetch)).collect();
    b.0.exceptions.push(ExceptionStatistics {
        number: 15,
        name: "SysTick".into(),
        handler: Some("SysTick_Handler".into()),
        count: 9,
        cycles: 360,
        latency_min: 16,
        latency_sum: 160,
        latency_max: 32,
        latency_max_at: Moment { cycle: 2000, nanoseconds: 250_000 },
        latency_worst: Some(extreme(32, 2000, Some("worker"))),
        longest_run: Some(extreme(41, 2041, None)),
        ..ExceptionStatistics::default()
    });
    let wake = Latency { count: 3, min: 50, sum: 250, max: Some(extreme(120, 2100, Some("idle"))) };
    let threads = vec![
        ThreadStatistics {
            structure: Some("0x20000040".into()),
            id: Some(2),
            priority: Some(3),
            runs: 3,
            gave_up: 2,
            preempted: 1,
            wake,
            wakes_unknown: 1,
            ..thread_row("worker", 600, 0)
        },
        ThreadStatistics { runs: 3, preempted: 3, ..thread_row("(idle_stack)", 3040, 3000) },
    ];
    let timeline = Some(timeline());
    let note = "Baton: baton_thread has no member level; priorities are not shown".into();
    let rtos = Some(Rtos { name: "Baton".into(), understood: true, notes: vec![note] });
    let balance = Scheduling::balanced(4000, &threads, &b.0.exceptions, false).unwrap();
    b.0.scheduling = Some(Scheduling { rtos, threads, balance, timeline });
    b.finish()
}

/// All of a sample is one thread's or interrupt's.
fn share(record: &Record, at: usize, who: Who, fetch: Bounds) -> Share {
    let sample = &record.profile.addresses[at];
    let modelled = sample.cycles[FetchWait] > 0;
    Share {
        who,
        addresses: vec![AddressShare {
            sample: at as u32,
            count: sample.count,
            jumped: sample.jumped,
            cycles: sample.cycles,
            bounds: sample.bounds,
        }],
        modelled: if modelled { vec![(FetchWait, fetch)] } else { Vec::new() },
    }
}

/// The worker waits for the tick that wakes it.
fn timeline() -> Timeline {
    let moment = |cycle: u64| Moment { cycle, nanoseconds: cycle * 125 };
    let segment = |who, start, begin, end, idle| Segment {
        who,
        start,
        begin: moment(begin),
        end: moment(end),
        idle,
    };
    let (worker, idle, tick) = (Who::Thread(0), Who::Thread(1), Who::Interrupt(15));
    let switched = |by_itself, waited| Start::Switched { by_itself, waited };
    let segments = vec![
        segment(worker, Start::Window, 1200, 1500, 0),
        segment(idle, switched(true, None), 1500, 1984, 470),
        segment(tick, Start::Entered { latency: 32, chained: false }, 1984, 2100, 0),
        segment(worker, switched(false, Some(120)), 2100, 2200, 0),
        segment(tick, Start::Entered { latency: 16, chained: true }, 2200, 2240, 0),
        segment(worker, Start::Resumed, 2240, 2400, 0),
    ];
    let latency = extreme(120, 2100, Some("idle"));
    let worst = Some(WorstLatency { who: worker, latency });
    Timeline { begin: moment(1400), end: moment(2300), worst, segments, dropped: 1 }
}

/// All of them.
pub(crate) fn records() -> Vec<(&'static str, Record)> {
    vec![
        ("exact", exact()),
        ("threaded", threaded()),
        ("modelled", modelled()),
        ("windowed", windowed()),
        ("faulted", faulted()),
        ("faulted_with_status", faulted_with_status()),
        ("unmodelled", unmodelled()),
        ("without_symbols", without_symbols()),
        ("long_names", long_names()),
        ("zero", zero()),
        ("largest", largest()),
        ("sampled", sampled()),
        ("traced", traced()),
    ]
}

fn instruction(
    address: u32,
    (bytes, text): (&str, &str),
    line: u32,
    causes: &[(Cause, CycleRange, Option<&str>)],
) -> InstructionCycles {
    let source = SourceLine { file: "loop.s".into(), line, text: None, inlined: None };
    let causes: Vec<CausedCycles> = causes
        .iter()
        .map(|&(cause, cycles, when)| CausedCycles { cause, cycles, when: when.map(str::to_owned) })
        .collect();
    let sum = |parts: &[&CausedCycles]| {
        parts.iter().fold(CycleRange::exact(0), |sum, part| sum.plus(part.cycles))
    };
    let always: Vec<_> = causes.iter().filter(|c| c.when.is_none()).collect();
    let all: Vec<_> = causes.iter().collect();
    InstructionCycles {
        address,
        bytes: bytes.into(),
        text: text.into(),
        source: Some(source),
        cycles: sum(&always).or(sum(&all)),
        causes,
        note: None,
        run: None,
    }
}

/// The founding loop, explained.
pub(crate) fn explained() -> CyclesReport {
    let one = CycleRange::exact(1);
    let wait = CycleRange::modelled(0, 1.0, 2);
    let taken = Some("if taken");
    let branch = [
        (Execute, one, None),
        (Refill, CycleRange::exact(2), taken),
        (FetchWait, CycleRange::modelled(1, 1.5, 3), taken),
    ];
    let load = [(Execute, one, None), (LoadStore, one, None), (DataWait, wait, None)];
    let instructions = vec![
        instruction(0x0800_00b8, ("2001", "movs r0, #1"), 4, &[(Execute, one, None)]),
        instruction(0x0800_00ba, ("4907", "ldr r1, [pc, #28]  ; 0x48000418"), 5, &load),
        instruction(0x0800_00c2, ("bf00", "nop"), 9, &[(Execute, one, None)]),
        instruction(0x0800_00c4, ("3b01", "subs r3, #1"), 10, &[(Execute, one, None)]),
        instruction(0x0800_00ca, ("d1fa", "bne 0x080000c2"), 13, &branch),
        instruction(
            0x0800_00cc,
            ("4770", "bx lr"),
            14,
            &branch.map(|(cause, n, _)| (cause, n, None)),
        ),
    ];
    CyclesReport {
        schema: CYCLES_SCHEMA,
        function: "test_loop".into(),
        address: 0x0800_00b8,
        size_bytes: 36,
        board: "STM32F070CB".into(),
        core: "Cortex-M0".into(),
        clock_hz: Some(48_000_000),
        conditions: vec!["flash: 1 wait state, prefetch on".into()],
        instructions,
        blocks: vec![
            BlockCycles {
                first: 0x0800_00b8,
                last: 0x0800_00ba,
                cycles: CycleRange::modelled(3, 4.0, 5),
                run: None,
            },
            BlockCycles {
                first: 0x0800_00c2,
                last: 0x0800_00ca,
                cycles: CycleRange::modelled(3, 6.5, 8),
                run: None,
            },
            BlockCycles {
                first: 0x0800_00cc,
                last: 0x0800_00cc,
                cycles: CycleRange::modelled(4, 4.5, 6),
                run: None,
            },
        ],
        loops: vec![LoopCycles {
            header: 0x0800_00c2,
            back_edge: 0x0800_00ca,
            depth: 0,
            per_iteration: CycleRange::modelled(6, 6.5, 8),
            run: None,
        }],
        totals: FunctionCycles {
            instructions: 6,
            once_through: Some(CycleRange::modelled(10, 13.5, 19)),
            run: None,
        },
        notes: vec![
            "a taken branch to the upper half of a flash word waits 1 to 3 cycles, likely 1.5: the flash \
             interface keeps state that no manual documents"
                .into(),
        ],
    }
}

/// The same with what a run saw.
pub(crate) fn explained_with_run() -> CyclesReport {
    let mut report = explained();
    let run = |count, likely: u64, slack: u64| {
        Some(RunCycles {
            count,
            jumped: 0,
            cycles: Bounds { low: likely - slack, likely, high: likely + slack },
            by_cause: CauseCycles::of(Execute, likely),
        })
    };
    for (instruction, count) in report.instructions.iter_mut().zip([10, 10, 2550, 2550, 2550, 10]) {
        let slack = if instruction.cycles.likely.is_some() { count / 2 } else { 0 };
        instruction.run = run(count, count * instruction.cycles.max, slack);
    }
    report.blocks[1].run = run(2550, 16_575, 1270);
    report.loops[0].run = run(2550, 16_575, 1270);
    report.totals.run = run(10, 16_700, 1280);
    report.instructions[5].note = Some("returns to the caller".into());
    report
}

/// A function without anything.
fn nothing() -> CyclesReport {
    CyclesReport {
        instructions: Vec::new(),
        blocks: Vec::new(),
        loops: Vec::new(),
        notes: Vec::new(),
        conditions: Vec::new(),
        clock_hz: None,
        totals: FunctionCycles::default(),
        ..explained()
    }
}

/// All of them.
pub(crate) fn cycles() -> Vec<(&'static str, CyclesReport)> {
    vec![
        ("explained", explained()),
        ("explained_with_run", explained_with_run()),
        ("nothing", nothing()),
    ]
}

fn capture() -> CaptureSummary {
    CaptureSummary {
        file: "board.sr".into(),
        format: "sigrok session".into(),
        resolution_ps: 41_667,
        resolution_inferred: true,
        start_ps: -1_000_000,
        duration_ps: 2_500_000_000,
        channels: vec!["LED".into(), "RX".into()],
        simulated: None,
    }
}

/// A pin with a late pulse, one that never changes, and a time between the two.
pub(crate) fn pins() -> PinsReport {
    let widths = (0..50).map(|n| 45_000_000 + n % 3 * 41_667).chain([9_000_000_000]);
    let high = Distribution::with_histogram(widths.collect(), 41_667);
    let led = PinStatistics {
        pin: "LED".into(),
        initial: PinLevel::Low,
        rising: 51,
        falling: 51,
        unknown: 1,
        high_total_ps: 1_200_000_000,
        low_total_ps: 1_300_000_000,
        low_ps: Distribution::of(vec![458_333, 500_000]),
        period_ps: Distribution::of(vec![45_500_000, 46_000_000]),
        duty_ppm: Distribution::of(vec![989_900, 990_000]),
        jitter: Distribution::of(vec![41_667])
            .map(|cycle_to_cycle_ps| Jitter { period_ps: 29_463, cycle_to_cycle_ps }),
        high_ps: high,
    };
    let still = PinStatistics {
        pin: "RX".into(),
        initial: PinLevel::High,
        rising: 0,
        falling: 0,
        unknown: 0,
        high_total_ps: 2_500_000_000,
        low_total_ps: 0,
        high_ps: None,
        low_ps: None,
        period_ps: None,
        duty_ppm: None,
        jitter: None,
    };
    let interval = |times| PinInterval {
        from: "RX falling".into(),
        to: "LED rising".into(),
        times_ps: Distribution::of(times),
        unanswered: 2,
    };
    PinsReport {
        schema: PINS_SCHEMA,
        capture: capture(),
        pins: vec![led, still],
        intervals: vec![interval(vec![1_500_000, 1_541_667]), interval(Vec::new())],
        notes: vec!["line 7: the file ends in the middle of a command".into()],
    }
}

/// The same pins on a simulated board, whose models leave some doubt.
pub(crate) fn simulated_pins() -> PinsReport {
    let mut report = pins();
    report.capture.file = "firmware.elf".into();
    report.capture.format = "simulated on a-board".into();
    let duration_ps = Bounds { low: 2_400_000_000, likely: 2_500_000_000, high: 2_650_000_000 };
    report.capture.simulated = Some(SimulatedCapture { board: "a-board".into(), duration_ps });
    let widths = [45_000_000, 45_020_000];
    let bounds = [(44_000_000, 47_000_000), (44_000_000, 47_000_000)];
    let led = &mut report.pins[0];
    led.high_ps = Distribution::of(widths.into()).map(|d| d.bounded(&widths, &bounds));
    led.low_ps = Distribution::of(vec![600_000]);
    report
}

/// Both side by side.
pub(crate) fn against() -> Against {
    let (a, b) = (simulated_pins(), pins());
    Against {
        schema: AGAINST_SCHEMA,
        pairs: vec![
            against::pins((&a.capture, &a.pins[0]), (&b.capture, &b.pins[0]), 100),
            against::intervals((&a.capture, &a.intervals[0]), (&b.capture, &b.intervals[0]), 100),
        ],
        a: a.capture,
        b: b.capture,
        clock_tolerance_ppm: 100,
        notes: Vec::new(),
    }
}

fn bus(protocol: &str, lane: &str, words: Vec<BusWord>) -> BusReport {
    let summary = LaneSummary::of(&words, capture().duration_ps);
    BusReport {
        schema: BUS_SCHEMA,
        capture: capture(),
        protocol: protocol.into(),
        settings: vec![BusSetting { name: "data bits".into(), value: "8".into() }],
        lanes: vec![BusLane { name: lane.into(), pin: "RX".into(), baud: None, words, summary }],
        transfers: Vec::new(),
        transfer_gaps_ps: None,
        clock_low_ps: None,
        stretched: None,
        unit: None,
        core: None,
        fault_counts: Default::default(),
        faults: Vec::new(),
        notes: Vec::new(),
    }
}

fn words(text: &[u8]) -> Vec<BusWord> {
    let word = |(n, byte): (i64, &u8)| BusWord {
        start_ps: n * 90_000_000,
        end_ps: n * 90_000_000 + 86_805_556,
        value: u32::from(*byte),
        kind: WordKind::Data,
        acknowledged: None,
        faulty: false,
    };
    (0..).zip(text).map(word).collect()
}

/// A serial line with two faults.
pub(crate) fn uart() -> BusReport {
    let mut words = words(b"Hello, serial world!\r\n");
    words[4].faulty = true;
    for word in &mut words[9..] {
        (word.start_ps, word.end_ps) = (word.start_ps + 2_000_000_000, word.end_ps + 2_000_000_000);
    }
    let mut report = bus("uart", "rx", words);
    report.lanes[0].baud = Some(Baud {
        used: 115_200.0,
        origin: BaudOrigin::NearestUsual,
        measured: Some(115_384.6),
        misfit: Some(0.04),
        pulses: 7,
        sure: false,
    });
    let fault = |at: i64, kind, text: &str| BusFault {
        start_ps: at,
        end_ps: at + 1_000_000,
        lane: "rx".into(),
        kind,
        text: text.into(),
    };
    report.faults = vec![
        fault(360_000_000, FaultKind::Framing, "a stop bit is low after 0x6f"),
        fault(900_000_000, FaultKind::Glitch, "a pulse of 0.12 bits"),
    ];
    report.fault_counts = report.faults.iter().map(|f| (f.kind, 1)).collect();
    report
}

/// Two transfers of I2C, one to nobody.
pub(crate) fn i2c() -> BusReport {
    let mut words = words(&[0xa0, 0x12, 0x41, 0x90]);
    for (word, acknowledged) in words.iter_mut().zip([true, true, false, false]) {
        word.acknowledged = Some(acknowledged);
    }
    (words[0].kind, words[3].kind) = (WordKind::Address, WordKind::Address);
    let mut report = bus("i2c", "i2c", words);
    let transfer = |first, words, address| BusTransfer {
        start_ps: first as i64 * 90_000_000 - 1_000_000,
        end_ps: (first + words) as i64 * 90_000_000 - 2_000_000,
        first,
        words,
        address: Some(address),
        read: Some(false),
        whole: true,
    };
    report.transfers = vec![transfer(0, 3, 0x50), transfer(3, 1, 0x48)];
    report.transfer_gaps_ps = Distribution::of(vec![1_000_000]);
    report.clock_low_ps = Distribution::of(vec![5_000_000, 5_000_000, 19_000_000]);
    let (count, total_ps, longest_ps) = (1, 14_000_000, 14_000_000);
    report.stretched = Some(Stretched { count, total_ps, longest_ps });
    report
}

/// A plan that loses most of its samples, with a watch.
pub(crate) fn plan() -> PlanReport {
    let line = Line::new(168_000_000, 115_200, Encoding::Nrz).unwrap();
    let mut settings = TraceSettings::new(168_000_000.try_into().unwrap(), line);
    settings.sampling = Some(PcSampling::nearest(16384));
    let what = (WatchWhat::PcAndValue, WatchAccess::Write);
    let watch = Watch::new("current_task", 0, (0x2000_0040, 4), what.0, what.1).unwrap();
    settings.watches = Watches::new(vec![watch]).unwrap();
    let part = |name: &str, packets: u64, bytes: Bounds, how: &str| PlanPart {
        name: name.to_owned(),
        packets: Bounds::exact(packets),
        bytes,
        how: how.to_owned(),
    };
    let field = |field: &str, bits, value, meaning: &str| RegisterField {
        field: field.to_owned(),
        bits,
        value,
        meaning: meaning.to_owned(),
    };
    let demcr = RegisterWrite {
        register: "DEMCR".to_owned(),
        address: 0xe000_edfc,
        value: 0x0100_0000,
        mask: 0x0100_0000,
        check: 0x0100_0000,
        fields: vec![field("TRCENA", (24, 24), 1, "trace blocks on")],
    };
    let acpr = RegisterWrite {
        register: "TPIU_ACPR".to_owned(),
        address: 0xe004_0010,
        value: 0x5b1,
        mask: u32::MAX,
        check: 0xffff,
        fields: vec![field("SWOSCALER", (15, 0), 0x5b1, "168000000 Hz / 1458 = 115226 baud")],
    };
    let watched = Bounds { low: 700, likely: 1000, high: 1000 };
    PlanReport {
        schema: PLAN_SCHEMA,
        line: PlanLine {
            divider: line.divider(),
            actual_baud: 115_226.34,
            error_ppm: 229,
            last_bit_off_ppm: 2172,
        },
        parts: vec![
            part("PC samples", 10_254, Bounds::exact(51_269), "one for 16384 cycles, 5 bytes"),
            part("watch current_task", 200, watched, "100 accesses/s, 10 bytes each"),
        ],
        required: Bounds::exact(51_269) + watched,
        available: 11_522,
        loss_ppm: Bounds { low: 778_000, likely: 814_000, high: 815_000 },
        samples: Some(PlanSamples {
            period_cycles: 16384,
            asked_cycles: Some(20_000),
            taken_per_second: 10_253.906_25,
            received_per_second: Bounds { low: 1897, likely: 1907, high: 2276 },
        }),
        verdict: Verdict::Loses,
        proposals: vec![PlanProposal {
            change: "921600 baud".to_owned(),
            settings: settings.clone(),
            required: Bounds::exact(51_269) + watched,
            available: 92_307,
        }],
        registers: vec![demcr, acpr],
        notes: vec!["a sample every 16384 cycles is the slowest that the DWT offers".to_owned()],
        target: "stm32f4".to_owned(),
        settings,
    }
}
