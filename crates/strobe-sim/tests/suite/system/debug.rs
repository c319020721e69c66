//! DWT's cycle counter, which firmware measures itself with, and the other debug units.

use strobe_sim::cortexm::timing::CoreKind;
use strobe_sim::observe::{Observer, Retired};
use strobe_synth::{Hint, Insn, LoadStore};

use super::program::{Program, end, run, scs};

#[derive(Default)]
struct Starts(Vec<(u32, u64)>);

impl Observer for Starts {
    const EACH: bool = true;
    fn instruction(&mut self, retired: &Retired) {
        self.0.push((retired.pc, retired.start));
    }
}

fn counting() -> Program {
    let mut p = Program::new();
    p.store(scs::DEMCR, 1 << 24);
    p.store(scs::DWT_CTRL, 1);
    p.set(0, scs::DWT_CYCCNT);
    p
}

/// What a firmware measures of itself is what the simulator counts.
#[test]
fn the_cycle_counter_agrees_with_the_simulator() {
    for kind in [CoreKind::CortexM3, CoreKind::CortexM4] {
        let mut p = counting();
        let before = p.here();
        p.access(LoadStore::Ldr, 1, 0);
        p.nops(40);
        p.set(3, 1_000_000);
        p.set(4, 7);
        p.wide("UDIV", &[('d', 3), ('n', 3), ('m', 4)]);
        p.svc();
        let after = p.here();
        p.access(LoadStore::Ldr, 2, 0);
        p.stop();
        p.handler(11);
        p.bx_lr();
        let mut machine = p.machine(kind, Starts::default());
        run(&mut machine, 100_000);
        let start = |pc| {
            let at = machine.observer.0.iter().find(|r| r.0 == pc);
            at.expect("it has run").1
        };
        let measured = machine.cpu.r[2].wrapping_sub(machine.cpu.r[1]);
        assert_eq!(u64::from(measured), start(after) - start(before), "{kind:?}");
    }
}

#[test]
fn the_cycle_counter_can_be_set_and_counts_asleep() {
    let mut p = counting();
    p.set(1, 0);
    p.access(LoadStore::Str, 1, 0);
    p.store(scs::SYST_RVR, 5000);
    p.store(scs::SYST_CVR, 0);
    p.store(scs::SYST_CSR, 7);
    p.emit(Insn::Hint { op: Hint::Wfi });
    p.access(LoadStore::Ldr, 2, 0);
    p.stop();
    p.handler(15);
    p.store(scs::SYST_CSR, 0);
    p.bx_lr();
    let machine = end(p, CoreKind::CortexM4);
    assert!((5000..5100).contains(&machine.cpu.r[2]), "{}", machine.cpu.r[2]);
}

/// Firmware that prints there does not hang though nobody has set up the pin.
#[test]
fn stimulus_ports_take_everything() {
    let mut p = Program::new();
    p.store(scs::DEMCR, 1 << 24);
    p.store(0xe000_0fb0, 0xc5ac_ce55);
    p.store(0xe000_0e00, 1);
    p.store(0xe000_0e80, 1);
    p.set(0, 0xe000_0000);
    p.access(LoadStore::Ldr, 1, 0);
    p.access(LoadStore::Strb, 1, 0);
    p.access(LoadStore::Ldr, 2, 0);
    p.stop();
    let machine = end(p, CoreKind::CortexM4);
    assert_eq!((machine.cpu.r[1], machine.cpu.r[2]), (1, 1));
}

#[test]
fn the_core_identifies_itself() {
    let mut p = Program::new();
    p.load(0, 0xe000_ed00);
    p.load(1, 0xe000_ed60);
    p.load(2, 0xe000_e004);
    p.load(3, 0xe00f_f000);
    p.stop();
    let machine = end(p, CoreKind::CortexM4f);
    assert_eq!(machine.cpu.r[..4], [0x410f_c241, 0x0110_1110, 7, 0xfff0_f003]);
}
