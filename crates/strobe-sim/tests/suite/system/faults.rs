//! Faults: which exception, which status bits, where a run ends and what its report holds.

use strobe_sim::cortexm::fault::ExceptionStep;
use strobe_sim::cortexm::timing::CoreKind;
use strobe_sim::cortexm::{Fault, FaultAccess, FaultReport, FaultStatus, Machine, Stop};
use strobe_sim::device::Size;
use strobe_synth::{Barrier, Insn, LoadStore, Reg, Special};

use super::program::{
    FAULT_HANDLERS, NO_FLASH, NOWHERE, Program, RAM, RAM_BYTES, after, end, run, scs, word,
};

const FORCED: u32 = 1 << 30;

fn stopped(program: Program, kind: CoreKind) -> (Machine<()>, Stop) {
    let mut machine = program.machine(kind, ());
    let stop = run(&mut machine, 100_000);
    (machine, stop)
}

fn hard_fault(program: Program) -> FaultReport {
    match stopped(program, CoreKind::CortexM4f).1 {
        Stop::HardFault(report) => *report,
        other => panic!("{other:?}"),
    }
}

fn lockup(program: Program) -> FaultReport {
    match stopped(program, CoreKind::CortexM4f).1 {
        Stop::Lockup(report) => *report,
        other => panic!("{other:?}"),
    }
}

fn status(report: &FaultReport) -> FaultStatus {
    report.status.expect("ARMv7-M has status registers")
}

/// A name, what does it, the exception, and CFSR.
type Case = (&'static str, fn(&mut Program), u16, u32);

const CASES: [Case; 12] = [
    ("undefined", |p| p.emit(Insn::Udf { imm8: 0 }), 6, 1 << 16),
    ("no Thumb bit", |p| p.jump(0x400), 6, 1 << 17),
    ("no coprocessor", |p| p.move_to_single(0, 0), 6, 1 << 19),
    (
        "unaligned",
        |p| {
            p.store(scs::CCR, 0x208);
            p.load(0, RAM + 1);
        },
        6,
        1 << 24,
    ),
    (
        "division",
        |p| {
            p.store(scs::CCR, 0x210);
            p.set(0, 0);
            p.wide("UDIV", &[('d', 0), ('n', 0), ('m', 0)]);
        },
        6,
        1 << 25,
    ),
    ("load", |p| p.load(0, NOWHERE), 5, 1 << 9 | 1 << 15),
    ("store to code", |p| p.store(NO_FLASH, 0), 5, 1 << 9 | 1 << 15),
    ("fetch", |p| p.jump(NO_FLASH | 1), 5, 1 << 8),
    ("fetch from a device", |p| p.jump(0x4000_0001), 4, 1),
    (
        "a bad return",
        |p| {
            p.svc();
            p.handler(11);
            p.set(0, 0xffff_fff3);
            p.emit(Insn::Bx { rm: Reg::new(0) });
        },
        6,
        1 << 18,
    ),
    (
        "a load by nobody",
        |p| {
            p.msr(Special::Control, 1);
            p.load(0, scs::CFSR);
        },
        5,
        1 << 9 | 1 << 15,
    ),
    (
        "protection",
        |p| {
            p.store(scs::MPU_RBAR, RAM + 0x100 + 0x10);
            p.store(scs::MPU_RASR, 7 << 1 | 1);
            p.store(scs::MPU_CTRL, 5);
            p.load(0, RAM + 0x104);
        },
        4,
        1 << 1 | 1 << 7,
    ),
];

#[test]
fn each_fault_has_its_exception_and_bits() {
    for (name, act, exception, cfsr) in CASES {
        let mut p = Program::new();
        p.store(scs::SHCSR, FAULT_HANDLERS);
        act(&mut p);
        p.stop();
        for number in 4..7 {
            p.handler(number);
            p.load(0, scs::CFSR);
            p.emit(Insn::Mrs { rd: Reg::new(1), from: Special::Ipsr });
            p.stop();
        }
        let machine = end(p, CoreKind::CortexM4f);
        assert_eq!(machine.cpu.r[1], u32::from(exception), "{name}");
        assert_eq!(machine.cpu.r[0], cfsr, "{name}");
        let [handled] = machine.handled_faults() else { panic!("{name}: one fault") };
        assert_eq!((handled.count, handled.report.exception), (1, exception), "{name}");
        assert_eq!(status(&handled.report).cfsr, cfsr, "{name}");
        assert!(!handled.report.text().is_empty(), "{name}");
    }
}

/// Without handlers of their own they all are HardFaults, which end a run.
#[test]
fn without_a_handler_each_escalates() {
    for (name, act, _, cfsr) in CASES {
        let mut p = Program::new();
        act(&mut p);
        p.stop();
        p.handler(3);
        p.stop();
        let report = hard_fault(p);
        assert_eq!(status(&report).cfsr, cfsr, "{name}");
        assert_eq!(status(&report).hfsr, FORCED, "{name}");
        assert_eq!(report.exception, 3, "{name}");
    }
}

#[test]
fn a_precise_fault_says_what_was_accessed_by_whom() {
    let mut p = Program::new();
    p.set(0, NOWHERE + 2);
    let pc = p.here();
    p.access(LoadStore::Ldrh, 1, 0);
    p.stop();
    let report = hard_fault(p);
    assert_eq!((report.fault, report.pc), (Fault::Bus { address: NOWHERE + 2 }, pc));
    let access = FaultAccess { address: NOWHERE + 2, size: Size::Half, write: false };
    assert_eq!(report.access, Some(access));
    assert_eq!(status(&report).bfar, NOWHERE + 2);
    let text = report.text();
    assert_eq!(text, "precise bus fault: load of 2 bytes from 0x30000002, where nothing answers");
    assert_eq!(report.frame, Some(RAM + RAM_BYTES - 0x20));
}

/// The write buffer lets the core go on; the stacked PC is a little later.
#[test]
fn a_buffered_store_to_nowhere_is_noticed_later() {
    let store = |p: &mut Program| {
        p.set(0, NOWHERE);
        let pc = p.here();
        p.access(LoadStore::Str, 0, 0);
        pc
    };
    let mut p = Program::new();
    let pc = store(&mut p);
    p.nops(8);
    p.stop();
    let report = hard_fault(p);
    assert_eq!(report.fault, Fault::LostStore { address: NOWHERE, pc });
    assert!((pc + 4..=pc + 6).contains(&report.pc), "{report:?}");
    assert_eq!((status(&report).cfsr, status(&report).hfsr), (1 << 10, FORCED));
    assert!(report.text().starts_with("imprecise bus fault: "), "{}", report.text());

    // DSB waits for the buffer.
    let mut p = Program::new();
    let pc = store(&mut p);
    p.barrier(Barrier::Dsb);
    p.nops(8);
    p.stop();
    assert_eq!(hard_fault(p).pc, pc + 6);

    // ACTLR.DISDEFWBUF: there is none.
    let mut p = Program::new();
    p.store(scs::ACTLR, 2);
    let pc = store(&mut p);
    p.stop();
    let report = hard_fault(p);
    assert_eq!((report.fault, report.pc), (Fault::Bus { address: NOWHERE }, pc));
    assert!(report.text().contains("store of 4 bytes to 0x30000000"), "{}", report.text());
}

/// An imprecise fault waits until its priority lets it be taken.
#[test]
fn an_imprecise_fault_stays_pending_while_masked() {
    let mut p = Program::new();
    p.store(scs::SHCSR, FAULT_HANDLERS);
    p.emit(Insn::Cps { disable: true });
    p.store(NOWHERE, 0);
    p.nops(10);
    p.load(4, scs::SHCSR);
    p.load(5, scs::CFSR);
    p.emit(Insn::Cps { disable: false });
    p.nops(2);
    p.stop();
    p.handler(5);
    p.set(3, 1);
    p.stop();
    let machine = end(p, CoreKind::CortexM3);
    assert_eq!(machine.cpu.r[3], 1, "the handler has run");
    assert_eq!(machine.cpu.r[4], FAULT_HANDLERS | 1 << 14, "BUSFAULTPENDED");
    assert_eq!(machine.cpu.r[5], 1 << 10);
}

/// DDI 0337E, 5.12.1: the handler of HardFault runs although its frame could not be stacked.
#[test]
fn exhausted_stack_is_a_hard_fault_with_stkerr() {
    let mut p = Program::new();
    p.msr(Special::Msp, RAM + 8);
    p.nops(1);
    p.emit(Insn::Push { list: 0xf, lr: false });
    p.stop();
    p.handler(3);
    p.set(4, 1);
    p.stop();
    let mut machine = p.machine(CoreKind::CortexM3, ());
    let Stop::HardFault(report) = run(&mut machine, 1000) else { panic!("a HardFault") };
    // Below RAM lies code, where stores are not buffered.
    assert_eq!(report.fault, Fault::Bus { address: RAM - 8 });
    assert_eq!(status(&report).cfsr, 1 << 9 | 1 << 15 | 1 << 12);
    assert_eq!(report.frame, None);
    assert_eq!(run(&mut machine, 2000), Stop::SleepsForever, "it runs on if asked to");
    assert_eq!(machine.cpu.r[4], 1);
}

/// A thread's stack is bad, the handler's is not: BusFault is taken instead of the interrupt, which
/// stays pending.
#[test]
fn stacking_fault_of_higher_priority_is_taken_first() {
    let mut p = Program::new();
    p.store(scs::SHCSR, FAULT_HANDLERS);
    p.store(scs::IPR, 0x80);
    p.store(scs::ISER, 1);
    p.msr(Special::Psp, NO_FLASH);
    p.msr(Special::Control, 2);
    p.store(scs::ISPR, 1);
    p.nops(2);
    p.stop();
    p.handler(5);
    p.load(4, scs::CFSR);
    p.load(5, scs::ISPR);
    p.stop();
    let machine = after(p, CoreKind::CortexM4);
    assert_eq!((machine.cpu.r[4], machine.cpu.r[5]), (1 << 12, 1));
    let [handled] = machine.handled_faults() else { panic!("one fault") };
    let step = ExceptionStep::Stacking;
    let address = NO_FLASH - 0x20;
    assert_eq!(handled.report.fault, Fault::Exception { step, address, protected: false });
}

#[test]
fn a_frame_that_is_gone_is_unstkerr() {
    let mut p = Program::new();
    p.svc();
    p.stop();
    p.handler(11);
    p.msr(Special::Msp, RAM + RAM_BYTES - 8);
    p.bx_lr();
    let report = hard_fault(p);
    let (step, address) = (ExceptionStep::Unstacking, RAM + RAM_BYTES);
    assert_eq!(report.fault, Fault::Exception { step, address, protected: false });
    assert_eq!(status(&report).cfsr, 1 << 11);
}

#[test]
fn a_lazy_save_to_nowhere_is_lsperr() {
    let mut p = Program::new();
    p.store(scs::CPACR, 0xf << 20);
    p.move_to_single(0, 0);
    p.svc();
    p.stop();
    p.handler(11);
    p.store(scs::FPCAR, NO_FLASH);
    p.move_to_single(0, 0);
    p.stop();
    assert_eq!(status(&hard_fault(p)).cfsr, 1 << 13);
}

#[test]
fn a_vector_that_cannot_be_read_is_vecttbl() {
    // The first 32 vectors are the last of the flash.
    let table = 0x1_0000 - 0x80;
    let mut p = Program::new();
    p.store(scs::ISER + 4, 1);
    p.store(scs::VTOR, table);
    p.store(scs::STIR, 32);
    p.nops(2);
    p.stop();
    let mut machine = p.machine(CoreKind::CortexM3, ());
    machine.bus.load(table + 12, &0x401u32.to_le_bytes()).expect("flash");
    let Stop::HardFault(report) = run(&mut machine, 1000) else { panic!("a HardFault") };
    assert_eq!((status(&report).cfsr, status(&report).hfsr), (0, 1 << 1));
    assert!(report.text().contains("vector"), "{}", report.text());

    // HardFault's own.
    let mut p = Program::new();
    p.store(scs::VTOR, NOWHERE);
    p.svc();
    let report = lockup(p);
    assert!(report.text().contains("vector"), "{}", report.text());
}

#[test]
fn fault_at_hard_fault_priority_locks_up() {
    // In HardFault's handler.
    let mut p = Program::new();
    p.emit(Insn::Udf { imm8: 0 });
    p.handler(3);
    p.load(0, NOWHERE);
    let mut machine = p.machine(CoreKind::CortexM3, ());
    assert!(matches!(run(&mut machine, 1000), Stop::HardFault(_)));
    let Stop::Lockup(report) = run(&mut machine, 1000) else { panic!("a lockup") };
    assert_eq!(report.fault, Fault::Bus { address: NOWHERE });
    assert_eq!(status(&report).cfsr, 1 << 16 | 1 << 9 | 1 << 15, "both faults");

    // At HardFault's priority (DDI 0337E, 5.12.1: code that uses FAULTMASK acts as a HardFault).
    let mut p = Program::new();
    p.emit(Insn::CpsFault { disable: true, interrupts: false });
    p.emit(Insn::Udf { imm8: 0 });
    assert_eq!(lockup(p).fault, Fault::Undefined);
}

/// CCR.BFHFNMIGN lets code at HardFault's priority find out what is there.
#[test]
fn code_with_faultmask_may_probe() {
    let mut p = Program::new();
    p.store(scs::CCR, 0x300);
    p.emit(Insn::CpsFault { disable: true, interrupts: false });
    p.set(3, 7);
    p.load(3, NOWHERE);
    p.load(4, scs::CFSR);
    p.emit(Insn::CpsFault { disable: false, interrupts: false });
    p.stop();
    let machine = end(p, CoreKind::CortexM4);
    assert_eq!((machine.cpu.r[3], machine.cpu.r[4]), (0, 1 << 9 | 1 << 15));
}

#[test]
fn a_breakpoint_is_debugevt_or_the_monitors() {
    let mut p = Program::new();
    p.emit(Insn::Bkpt { imm8: 1 });
    let report = hard_fault(p.clone());
    assert_eq!((status(&report).hfsr, status(&report).dfsr), (1 << 31, 2));
    assert_eq!(report.pc, 0x400);

    let mut p = Program::new();
    p.store(scs::DEMCR, 1 << 16);
    p.emit(Insn::Bkpt { imm8: 1 });
    p.stop();
    p.handler(12);
    p.set(3, 1);
    p.stop();
    assert_eq!(end(p, CoreKind::CortexM4).cpu.r[3], 1);
}

#[test]
fn a_masked_svc_escalates_behind_itself() {
    let mut p = Program::new();
    p.emit(Insn::Cps { disable: true });
    p.svc();
    let next = p.here();
    p.stop();
    let (machine, stop) = stopped(p, CoreKind::CortexM3);
    let Stop::HardFault(report) = stop else { panic!("{stop:?}") };
    assert_eq!(report.fault, Fault::SvcMasked);
    assert_eq!((status(&report).cfsr, status(&report).hfsr), (0, FORCED));
    assert_eq!(word(&machine, report.frame.expect("stacked") + 24), next);
}

/// Registers for privileged code, but for what CCR.USERSETMPEND opens.
#[test]
fn unprivileged_code_may_trigger_interrupts_if_allowed() {
    for allowed in [false, true] {
        let mut p = Program::new();
        p.store(scs::CCR, 0x200 | u32::from(allowed) << 1);
        p.store(scs::ISER, 1);
        p.msr(Special::Control, 1);
        p.store(scs::STIR, 0);
        p.nops(2);
        p.stop();
        p.handler(16);
        p.set(3, 1);
        p.stop();
        let (machine, stop) = stopped(p, CoreKind::CortexM4);
        if allowed {
            assert_eq!((stop, machine.cpu.r[3]), (Stop::SleepsForever, 1));
        } else {
            let Stop::HardFault(report) = stop else { panic!("{stop:?}") };
            assert_eq!(report.fault, Fault::Unprivileged { address: scs::STIR });
        }
    }
}

/// A handler that goes on is the firmware's own business: the run goes on, and faults are counted
/// by place.
#[test]
fn handled_faults_are_counted() {
    let mut p = Program::new();
    p.store(scs::SHCSR, FAULT_HANDLERS);
    for _ in 0..3 {
        p.emit(Insn::Udf { imm8: 0 });
    }
    p.stop();
    p.handler(6);
    // Steps over it.
    p.emit(Insn::MemSp { load: true, rt: Reg::new(0), words: 6 });
    p.wide("ADDW", &[('d', 0), ('n', 0), ('i', 2)]);
    p.emit(Insn::MemSp { load: false, rt: Reg::new(0), words: 6 });
    p.bx_lr();
    let machine = end(p, CoreKind::CortexM3);
    let places: Vec<(u32, u64)> =
        machine.handled_faults().iter().map(|h| (h.report.pc, h.count)).collect();
    assert_eq!(places.len(), 3, "{places:?}");
    assert!(places.iter().all(|p| p.1 == 1), "{places:?}");
    assert_eq!(machine.abandoned(), 3);
}
