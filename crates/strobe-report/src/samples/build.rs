//! Puts a record together and works out its sums.

use strobe_model::*;

use Cause::*;

/// A record in the making.
pub(super) struct Build(pub(super) Record);

impl Build {
    pub(super) fn new(file: &str) -> Self {
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
            unreached: Vec::new(),
            unmodelled: Vec::new(),
            warnings: Vec::new(),
            fault: None,
            traced: None,
        })
    }

    pub(super) fn file(&mut self, name: &str) -> u32 {
        self.0.profile.files.push(name.into());
        self.0.profile.files.len() as u32 - 1
    }

    pub(super) fn function(&mut self, name: &str, address: u32, file: Option<u32>) -> u32 {
        let address = Some(format!("{address:#010x}"));
        self.0.profile.functions.push(Function { name: name.into(), address, file });
        self.0.profile.functions.len() as u32 - 1
    }

    /// An address with its cycles; `slack` is what models may have counted too many and too few.
    pub(super) fn sample(
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
            idle: 0,
            count,
            jumped: 0,
            cycles: sum,
            bounds: Bounds { low: likely - slack.0, likely, high: likely + slack.1 },
            function,
            frames: function.map(frame).into_iter().collect(),
        });
    }

    pub(super) fn node(
        &mut self,
        place: Place,
        parent: Option<u32>,
        calls: u64,
        self_cycles: u64,
    ) -> u32 {
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

    pub(super) fn finish(mut self) -> Record {
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
        record.coverage.lost_cycles = Some(0);
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

pub(super) fn thread() -> Place {
    Place::Thread("main".into())
}
