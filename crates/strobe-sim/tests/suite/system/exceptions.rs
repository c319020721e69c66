//! Into handlers and out of them: cycles, order, frames with floating-point registers.

use strobe_sim::bus::Bus;
use strobe_sim::cortexm::timing::CoreKind;
use strobe_sim::cortexm::{Machine, Stop};
use strobe_sim::observe::{Access, Observer, Retired, Transfer, TransferKind, Wait};
use strobe_synth::{Hint, Insn, LoadStore, Reg, Special};

use super::program::{Program, RAM, RAM_BYTES, end, run, scs, word};

/// Keeps every instruction, every way into a handler, and how much shorter and longer all waits
/// could be.
#[derive(Default)]
struct Log {
    retired: Vec<Retired>,
    entries: Vec<(u16, u64, Option<u16>)>,
    masked: Vec<Option<u32>>,
    shorter: i64,
    longer: i64,
}

impl Observer for Log {
    const EACH: bool = true;
    const FLOW: bool = true;
    const COUNTS: bool = true;

    fn wait(&mut self, _: u32, wait: Wait) {
        self.shorter += wait.likely - wait.low;
        self.longer += wait.high - wait.likely;
    }

    fn instruction(&mut self, retired: &Retired) {
        self.retired.push(*retired);
    }

    fn transfer(&mut self, t: &Transfer, _: &Bus) {
        if let TransferKind::ExceptionEntry { exception, pended_at, masked_from, after, .. } =
            t.kind
        {
            self.entries.push((exception, t.now - pended_at, after));
            self.masked.push(masked_from);
        }
    }
}

impl Log {
    fn start_of(&self, pc: u32) -> u64 {
        let at = self.retired.iter().find(|r| r.pc == pc);
        at.unwrap_or_else(|| panic!("{pc:#x} did not run")).start
    }
}

fn ended(program: Program, kind: CoreKind) -> Machine<Log> {
    let mut machine = program.machine(kind, Log::default());
    assert_eq!(run(&mut machine, 100_000), Stop::SleepsForever);
    machine
}

fn enable_fp(p: &mut Program) {
    p.store(scs::CPACR, 0xf << 20);
}

#[test]
fn an_idle_core_enters_a_handler_in_twelve_cycles() {
    let mut p = Program::new();
    p.store(scs::SYST_RVR, 200);
    p.store(scs::SYST_CVR, 0);
    p.store(scs::SYST_CSR, 7);
    let here = p.here();
    p.emit(Insn::Hint { op: Hint::Wfi });
    p.jump(here | 1);
    p.handler(15);
    p.bx_lr();
    for kind in [CoreKind::CortexM3, CoreKind::CortexM4f] {
        let mut machine = p.clone().machine(kind, Log::default());
        run(&mut machine, 10_000);
        let entries = &machine.observer.entries;
        assert!(entries.len() > 40, "{entries:?}");
        assert!(entries.iter().all(|e| *e == (15, 12, None)), "{entries:?}");
    }
}

/// SVC 1, entry 12, BX 1 and exit 9 to 12, of which 10 is likely.
#[test]
fn empty_handler_costs_its_entry_and_exit() {
    let mut p = Program::new();
    let svc = p.here();
    p.svc();
    let next = p.here();
    p.nops(1);
    p.stop();
    p.handler(11);
    p.bx_lr();
    let machine = ended(p, CoreKind::CortexM4);
    let log = &machine.observer;
    assert_eq!(log.start_of(next) - log.start_of(svc), 1 + 12 + 1 + 10);
    assert_eq!((log.shorter, log.longer), (1, 2));
}

/// The same in every block and in the middle of one.
#[test]
fn request_delayed_by_masking_knows_the_masks_start() {
    let mut p = Program::new();
    p.store(scs::ICSR, 1 << 28);
    p.nops(1);
    let masks = p.here();
    p.emit(Insn::Cps { disable: true });
    p.emit(Insn::Cps { disable: true });
    p.store(scs::ICSR, 1 << 28);
    p.nops(3);
    p.emit(Insn::Cps { disable: false });
    p.nops(1);
    p.store(scs::ICSR, 1 << 28);
    p.nops(1);
    p.stop();
    p.handler(14);
    p.bx_lr();
    for kind in [CoreKind::CortexM0, CoreKind::CortexM3] {
        let machine = ended(p.clone(), kind);
        assert_eq!(machine.observer.masked, [None, Some(masks), None], "{kind:?}");
    }
}

#[test]
fn chained_handlers_are_six_cycles_apart() {
    let mut p = Program::new();
    p.store(scs::ICSR, 1 << 28 | 1 << 26);
    p.nops(1);
    p.stop();
    p.handler(14);
    p.nops(1);
    let bx = p.here();
    p.bx_lr();
    p.handler(15);
    let second = p.here();
    p.bx_lr();
    let machine = ended(p, CoreKind::CortexM3);
    let log = &machine.observer;
    assert_eq!(log.start_of(second) - log.start_of(bx), 1 + 6);
    let order: Vec<_> = log.entries.iter().map(|e| (e.0, e.2)).collect();
    assert_eq!(order, [(14, None), (15, Some(14))]);
}

/// SysTick comes up while PendSV's frame is stacked and goes first. Early, that costs nothing;
/// later its vector must be fetched anew; at the latest in the last cycle of the entry.
#[test]
fn late_arrival_goes_first_until_the_last_cycle() {
    let mut seen = Vec::new();
    for reload in 1..24 {
        let mut p = Program::new();
        p.store(scs::SHPR3, 0x40 << 16);
        p.store(scs::SYST_RVR, reload);
        p.store(scs::SYST_CVR, 0);
        p.set(0, scs::SYST_CSR);
        p.set(1, 3 | 4);
        p.set(2, scs::ICSR);
        p.set(3, 1 << 28);
        p.access(LoadStore::Str, 1, 0);
        p.access(LoadStore::Str, 3, 2);
        p.nops(4);
        p.stop();
        p.handler(14);
        p.bx_lr();
        p.handler(15);
        // Once is enough.
        p.set(0, scs::SYST_CSR);
        p.set(1, 0);
        p.access(LoadStore::Str, 1, 0);
        p.store(scs::ICSR, 1 << 25);
        p.bx_lr();
        let machine = ended(p, CoreKind::CortexM4);
        let entries = &machine.observer.entries;
        seen.push((entries[0].0, entries[0].1));
        assert_eq!(entries.len(), 2, "{entries:?}");
    }
    // From pending to the handler: 12 less the part of PendSV's entry that has passed, or 6.
    let late: Vec<u64> = seen.iter().filter(|e| e.0 == 15).map(|e| e.1).collect();
    assert_eq!(late, [10, 9, 8, 7, 6, 6, 6, 6, 6, 6], "{seen:?}");
    assert!(seen[late.len()..].iter().all(|e| *e == (14, 12)), "{seen:?}");
}

/// A context of the unit in thread mode and a handler that does not use it: room on the stack, no
/// time.
#[test]
fn lazy_stacking_is_free_until_handlers_use_the_fpu() {
    let program = |uses: bool| {
        let mut p = Program::new();
        enable_fp(&mut p);
        p.set(0, 0x3f80_0000);
        p.move_to_single(0, 0);
        let svc = p.here();
        p.svc();
        p.stop();
        p.handler(11);
        let handler = p.here();
        p.emit(Insn::MovHigh { rd: Reg::new(3), rm: Reg::LR });
        p.save(3, RAM);
        p.load(1, scs::FPCCR);
        p.load(2, scs::FPCAR);
        p.save(1, RAM + 4);
        p.save(2, RAM + 12);
        let at = p.here();
        if uses {
            p.move_to_single(0, 1);
        } else {
            p.nops(1);
        }
        let next = p.here();
        p.load(3, scs::FPCCR);
        p.save(3, RAM + 8);
        p.bx_lr();
        (ended(p, CoreKind::CortexM4f), [svc, handler, at, next])
    };
    for uses in [false, true] {
        let (machine, [svc, handler, at, next]) = program(uses);
        let log = &machine.observer;
        assert_eq!(log.start_of(handler) - log.start_of(svc), 13, "entry");
        let lazy = if uses { 17 } else { 0 };
        assert_eq!(log.start_of(next) - log.start_of(at), 1 + lazy);
        assert_eq!(word(&machine, RAM), 0xffff_ffe9);
        // LSPACT, THREAD, HFRDY, with LSPEN and ASPEN.
        assert_eq!(word(&machine, RAM + 4), 0xc000_0019);
        assert_eq!(word(&machine, RAM + 8) & 1, u32::from(!uses));
        let frame = word(&machine, RAM + 12);
        assert_eq!(frame, RAM + RAM_BYTES - 0x68 + 0x20);
        assert_eq!(machine.cpu.fp.s[0], 0x3f80_0000, "back again");
        let stacked = word(&machine, frame);
        assert_eq!(stacked, if uses { 0x3f80_0000 } else { 0 });
    }
}

/// Without LSPEN the seventeen words are stacked at once, and come back.
#[test]
fn eager_stacking_takes_seventeen_more_each_way() {
    let mut p = Program::new();
    enable_fp(&mut p);
    p.store(scs::FPCCR, 1 << 31);
    p.move_to_single(3, 0);
    let svc = p.here();
    p.svc();
    let next = p.here();
    p.nops(1);
    p.stop();
    p.handler(11);
    let bx = p.here();
    p.bx_lr();
    let machine = ended(p, CoreKind::CortexM4f);
    let log = &machine.observer;
    assert_eq!(log.start_of(bx) - log.start_of(svc), 1 + 12 + 17);
    assert_eq!(log.start_of(next) - log.start_of(bx), 1 + 10 + 17);
    assert!(machine.cpu.fpca);
}

/// Vectors in RAM share the system bus with the stack: no figure, so there are bounds.
#[test]
fn vectors_in_ram_are_fetched_behind_the_stacking() {
    let mut p = Program::new();
    // The table's entry for SVC, copied.
    p.load(0, 4 * 11);
    p.save(0, RAM + 0x80 + 4 * 11);
    p.store(scs::VTOR, RAM + 0x80);
    let svc = p.here();
    p.svc();
    p.stop();
    p.handler(11);
    let handler = p.here();
    p.bx_lr();
    let machine = ended(p, CoreKind::CortexM3);
    let log = &machine.observer;
    let entry = log.start_of(handler) - log.start_of(svc) - 1;
    assert!((13..=20).contains(&entry), "{entry}");
    let open = log.shorter + log.longer;
    assert!(open >= 7, "{open}");
}

#[test]
fn the_last_of_240_interrupts_has_its_vector() {
    let mut p = Program::new();
    p.store(scs::ISER + 4 * 7, 1 << 15);
    p.store(scs::STIR, 239);
    p.nops(2);
    p.stop();
    p.handler(255);
    p.emit(Insn::Mrs { rd: Reg::new(0), from: Special::Ipsr });
    p.load(1, scs::ICSR);
    p.bx_lr();
    let machine = end(p, CoreKind::CortexM3);
    assert_eq!(machine.cpu.r[0], 0, "stacked and restored");
    assert_eq!(machine.cpu.ipsr, 0);
}

/// Of two interrupts of one group neither preempts the other; the subpriority decides who goes
/// first.
#[test]
fn subpriorities_do_not_preempt() {
    for (group, expected) in [(4u32, [16, 17]), (3, [17, 16])] {
        let mut p = Program::new();
        p.store(scs::AIRCR, 0x05fa_0000 | group << 8);
        // IRQ1 is the better one.
        p.store(scs::IPR, 0x0010);
        p.store(scs::ISER, 3);
        p.set(5, RAM);
        p.store(scs::ISPR, 1);
        p.nops(2);
        p.stop();
        for irq in 0..2 {
            p.handler(16 + irq);
            if irq == 0 {
                p.store(scs::ISPR, 2);
                p.nops(2);
            }
            p.emit(Insn::Mrs { rd: Reg::new(0), from: Special::Ipsr });
            p.wide("STR post", &[('n', 5), ('t', 0), ('U', 1), ('i', 4)]);
            p.bx_lr();
        }
        let machine = end(p, CoreKind::CortexM4);
        assert_eq!([0, 4].map(|at| word(&machine, RAM + at)), expected, "PRIGROUP {group}");
    }
}

#[test]
fn sleep_on_exit_goes_back_to_sleep() {
    let mut p = Program::new();
    p.store(scs::SCR, 2);
    p.store(scs::ISER, 1);
    p.store(scs::ISPR, 1);
    p.nops(1);
    let behind = p.here();
    p.set(0, 1);
    p.stop();
    p.handler(16);
    p.bx_lr();
    let mut machine = p.machine(CoreKind::CortexM4, ());
    assert_eq!(run(&mut machine, 10_000), Stop::SleepsForever);
    assert!(machine.is_asleep());
    assert!(machine.cpu.pc <= behind && machine.cpu.r[0] == 0);
}

/// CCR.NONBASETHRDENA: a handler may return to thread mode although another one is active.
#[test]
fn threads_may_run_above_active_handlers_if_allowed() {
    for allowed in [false, true] {
        let mut p = Program::new();
        p.store(scs::CCR, 0x200 | u32::from(allowed));
        p.store(scs::SHCSR, 7 << 16);
        p.store(scs::SHPR3, 0xff << 16);
        p.store(scs::ICSR, 1 << 28);
        p.nops(2);
        p.stop();
        // PendSV calls SVC, whose handler changes the frame so that it returns to a thread.
        p.handler(14);
        p.svc();
        let thread = p.here();
        p.emit(Insn::Mrs { rd: Reg::new(4), from: Special::Ipsr });
        p.load(5, scs::SHCSR);
        p.stop();
        p.handler(11);
        p.set(0, 0x0100_0000);
        p.emit(Insn::MemSp { load: false, rt: Reg::new(0), words: 7 });
        p.set(0, 0xffff_fff9);
        p.emit(Insn::Bx { rm: Reg::new(0) });
        p.handler(6);
        p.load(4, scs::CFSR);
        p.stop();
        let machine = end(p, CoreKind::CortexM3);
        if allowed {
            assert_eq!(machine.cpu.r[4], 0, "thread mode");
            assert_eq!(machine.cpu.r[5] & 1 << 10, 1 << 10, "PendSV is active all the same");
            assert!(machine.cpu.pc > thread);
        } else {
            assert_eq!(machine.cpu.r[4], 1 << 18, "INVPC");
        }
    }
}

/// Keeps how often each instruction loaded, and the latency of each exception.
#[derive(Default)]
struct Loads {
    at: Vec<u32>,
    latency: Vec<u64>,
}

impl Observer for Loads {
    const ACCESSES: bool = true;
    const FLOW: bool = true;

    fn access(&mut self, access: &Access, _: &mut Bus) {
        if !access.write {
            self.at.push(access.pc);
        }
    }

    fn transfer(&mut self, t: &Transfer, _: &Bus) {
        if let TransferKind::ExceptionEntry { pended_at, .. } = t.kind {
            self.latency.push(t.now - pended_at);
        }
    }
}

/// SysTick comes up at each cycle of LDM of seven registers in turn.
#[test]
fn transfers_of_several_registers_are_interrupted_and_go_on() {
    let values: [u32; 7] = std::array::from_fn(|i| 0x1111_1111 * (i as u32 + 1));
    for (actlr, most) in [(0, 14), (1, 20)] {
        let mut latencies = Vec::new();
        for reload in 3..16 {
            let mut p = Program::new();
            p.store(scs::ACTLR, actlr);
            p.store(scs::SYST_RVR, reload);
            p.store(scs::SYST_CVR, 0);
            p.set(0, RAM);
            p.set(2, scs::SYST_CSR);
            p.set(1, 7);
            p.access(LoadStore::Str, 1, 2);
            p.nops(2);
            let ldm = p.here();
            p.emit(Insn::Ldm { rn: Reg::new(0), list: 0xfe });
            p.stop();
            p.handler(15);
            p.emit(Insn::Push { list: 0xc0, lr: false });
            p.store(scs::SYST_CSR, 0);
            p.store(scs::ICSR, 1 << 25);
            p.emit(Insn::Pop { list: 0xc0, pc: false });
            p.bx_lr();
            let mut machine = p.machine(CoreKind::CortexM4, Loads::default());
            machine.bus.load(RAM, &values.map(u32::to_le_bytes).concat()).expect("RAM");
            assert_eq!(run(&mut machine, 10_000), Stop::SleepsForever);
            assert_eq!(machine.cpu.r[1..8], values, "reload {reload}");
            assert_eq!(machine.cpu.r[0], RAM + 28);
            let loads = machine.observer.at.iter().filter(|pc| **pc == ldm).count();
            assert_eq!(loads, 7, "none is done twice");
            latencies.push(machine.observer.latency[0]);
        }
        let worst = latencies.iter().copied().max().expect("some");
        assert!(latencies.iter().all(|&l| l >= 12), "{latencies:?}");
        assert!(worst <= most && (actlr == 0 || worst > 14), "{latencies:?}");
    }
}
