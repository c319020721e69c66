//! Memory protection and privilege, with fast paths on.

use strobe_sim::cortexm::timing::CoreKind;
use strobe_sim::cortexm::{Fault, Machine, Purpose, Stop};
use strobe_synth::{AddSub, Cond, Insn, LoadStore, Reg, Special};

use super::program::{FAULT_HANDLERS, Program, RAM, RAM_BYTES, after, run, scs};

/// RASR of 2^size bytes with AP and XN.
fn region(size: u32, access: u32, never: bool) -> u32 {
    u32::from(never) << 28 | access << 24 | (size - 1) << 1 | 1
}

const FULL: u32 = 3;
const PRIVILEGED: u32 = 1;
const READ_ONLY: u32 = 6;

impl Program {
    fn region(&mut self, number: u32, base: u32, attributes: u32) {
        self.store(scs::MPU_RBAR, base | 0x10 | number);
        self.store(scs::MPU_RASR, attributes);
    }

    /// Code for everybody, RAM as said, and the unit on.
    fn protect(&mut self, ram: u32) {
        self.store(scs::SHCSR, FAULT_HANDLERS);
        self.region(0, 0, region(16, READ_ONLY, false));
        self.region(1, RAM, ram);
        self.store(scs::MPU_CTRL, 5);
    }
}

/// Sums and stores in a loop, so that hot code runs.
fn busy(p: &mut Program) {
    p.set(0, RAM + 0x100);
    p.set(1, 3000);
    let again = p.label();
    p.access(LoadStore::Ldr, 2, 0);
    p.emit(Insn::AddSubReg { op: AddSub::Add, rd: Reg::new(2), rn: Reg::new(2), rm: Reg::new(1) });
    p.access(LoadStore::Str, 2, 0);
    p.emit(Insn::AddSubImm3 { op: AddSub::Sub, rd: Reg::new(1), rn: Reg::new(1), imm3: 1 });
    p.branch(Cond::Ne, again);
}

fn finished(p: Program) -> Machine<()> {
    let mut machine = p.machine(CoreKind::CortexM4, ());
    machine.set_compile_after(Some(2));
    assert_eq!(run(&mut machine, 1_000_000), Stop::SleepsForever);
    machine
}

/// What is allowed costs nothing, whichever way the code runs: with everything allowed the fast
/// ways, with a hole in RAM one instruction after the other.
#[test]
fn allowed_accesses_take_the_same_time() {
    let program = |hole: u32| {
        let mut p = Program::new();
        p.protect(region(14, FULL, true));
        p.region(2, RAM + 0x2000, region(8, hole, true));
        busy(&mut p);
        p.stop();
        finished(p)
    };
    let (open, holed) = (program(FULL), program(0));
    assert_eq!(open.cycles(), holed.cycles());
    assert_eq!(open.cpu.r[..6], holed.cpu.r[..6]);
    assert_eq!(open.handled_faults().len() + holed.handled_faults().len(), 0);
}

/// The same loop without privilege meets RAM that is for privileged code, and code already compiled
/// must notice.
#[test]
fn losing_privilege_takes_effect_on_hot_code() {
    let mut p = Program::new();
    p.protect(region(14, PRIVILEGED, true));
    p.set(5, 2);
    let again = p.label();
    p.set(0, RAM + 0x100);
    p.set(1, 3000);
    let inner = p.label();
    let load = p.here();
    p.access(LoadStore::Ldr, 2, 0);
    p.emit(Insn::AddSubImm3 { op: AddSub::Sub, rd: Reg::new(1), rn: Reg::new(1), imm3: 1 });
    p.branch(Cond::Ne, inner);
    p.msr(Special::Control, 1);
    p.emit(Insn::AddSubImm3 { op: AddSub::Sub, rd: Reg::new(5), rn: Reg::new(5), imm3: 1 });
    p.branch(Cond::Ne, again);
    p.stop();
    p.handler(4);
    p.load(4, scs::CFSR);
    p.stop();
    // The frame cannot be stacked either: MSTKERR as well as DACCVIOL.
    let machine = finished(p);
    assert_eq!(machine.cpu.r[4], 1 << 1 | 1 << 4 | 1 << 7);
    let first = &machine.handled_faults()[0].report;
    assert_eq!(first.pc, load);
    let address = RAM + 0x100;
    assert_eq!(first.fault, Fault::Protected { address, purpose: Purpose::Load });
}

#[test]
fn code_that_may_not_be_executed_is_not() {
    // bx lr, put into RAM and called before and after RAM is made execute-never.
    for never in [false, true] {
        let mut p = Program::new();
        p.store(RAM + 0x200, 0x4770_4770);
        p.protect(region(14, FULL, false));
        p.set(3, RAM + 0x201);
        p.emit(Insn::Blx { rm: Reg::new(3) });
        p.region(1, RAM, region(14, FULL, never));
        p.emit(Insn::Blx { rm: Reg::new(3) });
        p.set(4, 1);
        p.stop();
        p.handler(4);
        p.load(4, scs::CFSR);
        p.stop();
        let machine = finished(p);
        assert_eq!(machine.cpu.r[4], 1, "IACCVIOL, or the end");
        let faults = machine.handled_faults();
        assert_eq!(faults.len(), usize::from(never));
        if let [fault] = faults {
            let address = RAM + 0x200;
            assert_eq!(fault.report.fault, Fault::Protected { address, purpose: Purpose::Fetch });
        }
    }
}

/// A guard below a thread's stack, as operating systems have it: the frame that runs into it is
/// MSTKERR, and the handler has a stack of its own.
#[test]
fn a_stack_guard_is_mstkerr() {
    let mut p = Program::new();
    p.protect(region(14, FULL, true));
    p.region(2, RAM + 0x800, region(5, READ_ONLY, true));
    p.msr(Special::Psp, RAM + 0x830);
    p.msr(Special::Control, 2);
    p.svc();
    p.stop();
    p.handler(4);
    p.load(4, scs::CFSR);
    p.stop();
    let machine = after(p, CoreKind::CortexM3);
    assert_eq!(machine.cpu.r[4], 1 << 4);
    assert_eq!(machine.cpu.msp(), RAM + RAM_BYTES);
}

/// HardFault's handler may look everywhere unless HFNMIENA.
#[test]
fn the_hard_fault_handler_is_not_protected() {
    for hfnmiena in [false, true] {
        let mut p = Program::new();
        p.region(0, RAM + 0x100, region(5, 0, true));
        p.store(scs::MPU_CTRL, 5 | u32::from(hfnmiena) << 1);
        p.load(0, RAM + 0x100);
        p.stop();
        p.handler(3);
        p.load(0, RAM + 0x100);
        p.set(4, 1);
        p.stop();
        let mut machine = p.machine(CoreKind::CortexM4, ());
        assert!(matches!(run(&mut machine, 1000), Stop::HardFault(_)));
        let stop = run(&mut machine, 2000);
        assert_eq!(matches!(stop, Stop::Lockup(_)), hfnmiena, "{stop:?}");
        assert_eq!(machine.cpu.r[4], u32::from(!hfnmiena));
    }
}
