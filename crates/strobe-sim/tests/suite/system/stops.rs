//! Stop addresses: each arrival is reported, and once, wherever a run is cut.

use strobe_sim::cortexm::Stop;
use strobe_sim::cortexm::timing::CoreKind;
use strobe_synth::{Cond, LoadStore};

use super::program::{Program, run};

/// Arrivals at the beginning of a loop in 600 cycles.
fn arrivals(kind: CoreKind, stride: usize) -> u32 {
    let mut program = Program::new();
    let start = program.here();
    let turn = program.label();
    // Reset leaves Z set.
    program.access(LoadStore::Ldr, 1, 0);
    program.branch(Cond::Eq, turn);
    let mut machine = program.machine(kind, ());
    machine.set_stops(vec![start]);
    let mut arrivals = 0;
    for limit in (stride..=600).step_by(stride) {
        loop {
            match run(&mut machine, limit as u64) {
                Stop::Address(at) if at == start => arrivals += 1,
                Stop::Limit => break,
                other => panic!("{other:?}"),
            }
        }
    }
    arrivals
}

#[test]
fn arrivals_are_reported_wherever_a_run_is_cut() {
    for kind in [CoreKind::CortexM3, CoreKind::CortexM4] {
        let whole = arrivals(kind, 600);
        assert!(whole > 80, "{whole}");
        for stride in [1, 2, 3, 4, 5, 8, 100] {
            assert_eq!(arrivals(kind, stride), whole, "cut every {stride} cycles");
        }
    }
}
