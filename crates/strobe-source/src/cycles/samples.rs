//! What the instructions of a function cost.

use strobe_model::{Bounds, Cause, CauseCycles};

use crate::cycles::report::*;

use Cause::*;

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
            "a taken branch to the upper half of a flash word waits 1 to 3 cycles, likely 1.5: the \
             flash \
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
            is_unbounded: false,
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
