//! Loops that firmware waits in, one kind at a time: each is skipped, and what changes in another
//! way is not.

use strobe_synth::{AddSub, Cond, DataOp, Extend, Imm8Op, Insn, Label, LoadStore, Reg, Shift};

use super::program::{PARTS, Part, Program, RAM, SYST_CSR, TIM3, r};
use super::prove::{Cycles, Run, prove};

const CYCLES: u64 = 1_500_000;

fn run_on(part: &'static Part, build: impl Fn(&mut Program), seed: u64, chunk: u32) -> Cycles {
    let mut program = Program::new(part, seed);
    program.wait_states();
    build(&mut program);
    program.pool();
    prove(program, Run { seed, cycles: CYCLES, chunk, compile_after: None })
}

/// At least so many of a hundred cycles are skipped, on each board that has what it takes.
fn is_skipped(percent: u64, build: impl Fn(&mut Program)) {
    for part in &PARTS {
        run_on(part, &build, 1, 9000);
        let Cycles { skipped, all } = run_on(part, &build, 2, 500_000);
        assert!(100 * skipped >= percent * all, "{skipped} of {all} on {}", part.board);
    }
}

fn is_executed(build: impl Fn(&mut Program)) {
    for part in &PARTS {
        assert_eq!(run_on(part, &build, 3, 500_000).skipped, 0, "on {}", part.board);
    }
}

impl Program {
    fn compare_with(&mut self, rn: u8, rm: u8) {
        self.emit(Insn::Data { op: DataOp::Cmp, rdn: r(rn), rm: r(rm) });
    }

    fn sum(&mut self, op: AddSub, rd: u8, rn: u8, rm: u8) {
        self.emit(Insn::AddSubReg { op, rd: r(rd), rn: r(rn), rm: r(rm) });
    }

    /// `ldr rt, [sp, #4 * words]`, or a store.
    fn on_stack(&mut self, load: bool, rt: u8, words: u8) {
        self.emit(Insn::MemSp { load, rt: r(rt), words });
    }

    /// Reads R6's register until a bit is set: `ldr; lsls; bpl`.
    fn wait_for_bit(&mut self, op: LoadStore, bit: u8) {
        let head = self.label();
        self.access(op, 0, 6, 0);
        self.shift(Shift::Lsl, 0, 0, 31 - bit);
        self.branch(Cond::Pl, head);
    }
}

#[test]
fn countdowns_are_skipped() {
    for (cond, step, from) in [
        (Cond::Ne, 1, 300_000),
        (Cond::Ne, 4, 800_000),
        (Cond::Pl, 1, 200_000),
        (Cond::Cs, 1, 200_000),
        (Cond::Hi, 3, 600_000),
        (Cond::Ge, 1, 200_000),
        (Cond::Gt, 7, 1_000_000),
        (Cond::Mi, 2, 0x8006_0000),
        (Cond::Lt, 255, 0x8600_0000),
    ] {
        is_skipped(90, |p| {
            p.set(4, from);
            let head = p.label();
            p.imm8(Imm8Op::Sub, 4, step);
            p.branch(cond, head);
        });
    }
}

#[test]
fn countups_to_a_limit_are_skipped() {
    for (cond, step, from, to) in [
        (Cond::Ne, 1, 0, 150_000),
        (Cond::Cc, 3, 5, 500_000),
        (Cond::Ls, 1, 0xfff0_0000, 0xfff2_0000),
        (Cond::Lt, 1, -100_000i32 as u32, 50_000),
        (Cond::Le, 2, 0x7ffb_0000, 0x7fff_fff0),
        (Cond::Ne, 2, 0xffff_0000, 0x0003_0000),
        (Cond::Mi, 1, -150_000i32 as u32, 0),
    ] {
        is_skipped(90, |p| {
            p.set(4, from);
            p.set(5, to);
            let head = p.label();
            p.imm8(Imm8Op::Add, 4, step);
            p.compare_with(4, 5);
            p.branch(cond, head);
        });
    }
}

/// What a compiler makes of `for (volatile int i = 0; i < n; i++);` without optimising.
#[test]
fn counters_on_the_stack_are_skipped() {
    for cond in [Cond::Lt, Cond::Cc, Cond::Ne] {
        is_skipped(90, |p| {
            p.emit(Insn::AdjustSp { op: AddSub::Sub, words: 2 });
            p.imm8(Imm8Op::Mov, 0, 0);
            p.on_stack(false, 0, 1);
            let (test, head) = (p.asm.label(), p.asm.label());
            p.asm.b(test);
            p.asm.bind(head);
            p.on_stack(true, 3, 1);
            p.imm8(Imm8Op::Add, 3, 1);
            p.on_stack(false, 3, 1);
            p.asm.bind(test);
            p.on_stack(true, 3, 1);
            p.set(2, 60_000);
            p.compare_with(3, 2);
            p.branch(cond, head);
        });
    }
}

#[test]
fn narrow_counters_in_memory_are_skipped() {
    // Up to a limit, again and again: a byte leaves too few turns to be skipped by nine tenths.
    for (load, store, extend, limit, percent) in [
        (LoadStore::Ldrh, LoadStore::Strh, Extend::Uxth, 60_000, 90),
        (LoadStore::Ldrh, LoadStore::Strh, Extend::Sxth, 32_000, 90),
        (LoadStore::Ldrb, LoadStore::Strb, Extend::Uxtb, 250, 0),
        (LoadStore::Ldrb, LoadStore::Strb, Extend::Sxtb, 120, 0),
    ] {
        is_skipped(percent, |p| {
            p.set(4, limit);
            let again = p.label();
            p.imm8(Imm8Op::Mov, 0, 0);
            p.access(store, 0, 7, 3);
            let head = p.label();
            p.access(load, 0, 7, 3);
            p.imm8(Imm8Op::Add, 0, 1);
            p.emit(Insn::Extend { op: extend, rd: r(0), rm: r(0) });
            p.access(store, 0, 7, 3);
            p.compare_with(0, 4);
            p.branch(Cond::Ne, head);
            p.asm.b(again);
        });
    }
}

#[test]
fn counters_that_wrap_are_followed() {
    // A byte that never comes to the limit.
    is_skipped(0, |p| {
        p.set(4, 1000);
        let head = p.label();
        p.access(LoadStore::Ldrb, 0, 7, 5);
        p.imm8(Imm8Op::Add, 0, 3);
        p.access(LoadStore::Strb, 0, 7, 5);
        p.imm8(Imm8Op::Sub, 4, 1);
        p.branch(Cond::Ne, head);
    });
    // A word of which only the upper half is looked at.
    is_skipped(50, |p| {
        p.imm8(Imm8Op::Mov, 4, 0);
        let head = p.label();
        p.imm8(Imm8Op::Add, 4, 1);
        p.shift(Shift::Lsr, 0, 4, 12);
        p.imm8(Imm8Op::Cmp, 0, 20);
        p.branch(Cond::Ne, head);
    });
}

#[test]
fn elapsed_cycles_are_skipped() {
    for from in [0, 0xfffc_0000] {
        let build = |p: &mut Program| {
            p.count_cycles(from);
            p.set(6, 0xe000_1004);
            p.set(5, 1_000_000);
            p.access(LoadStore::Ldr, 4, 6, 0);
            let head = p.label();
            p.access(LoadStore::Ldr, 0, 6, 0);
            p.sum(AddSub::Sub, 0, 0, 4);
            p.compare_with(0, 5);
            p.branch(Cond::Cc, head);
        };
        for part in PARTS.iter().filter(|part| part.v7m) {
            run_on(part, build, 1, 9000);
            let Cycles { skipped, all } = run_on(part, build, 2, 500_000);
            assert!(10 * skipped >= 9 * all, "{skipped} of {all} on {}", part.board);
        }
    }
}

#[test]
fn waits_for_systick_are_skipped() {
    // For its value, and ten times for its flag.
    is_skipped(90, |p| {
        p.tick(0xff_ffff, false);
        p.set(6, SYST_CSR + 8);
        p.set(5, 0xff_ffff - 1_600_000);
        let head = p.label();
        p.access(LoadStore::Ldr, 0, 6, 0);
        p.compare_with(0, 5);
        p.branch(Cond::Hi, head);
    });
    is_skipped(90, |p| {
        p.tick(99_999, false);
        p.set(6, SYST_CSR);
        p.imm8(Imm8Op::Mov, 4, 20);
        let head = p.label();
        p.wait_for_bit(LoadStore::Ldr, 16);
        p.imm8(Imm8Op::Sub, 4, 1);
        p.branch(Cond::Ne, head);
    });
}

/// `while (ticks - start < n);`, with and without a function that reads the ticks.
#[test]
fn ticks_that_a_handler_counts_are_awaited() {
    for called in [false, true] {
        is_skipped(90, |p| {
            p.tick(49_999, true);
            p.imm8(Imm8Op::Mov, 4, 0);
            let (function, begin) = (p.asm.label(), p.asm.label());
            p.asm.b(begin);
            p.asm.bind(function);
            p.emit(Insn::Push { list: 0x10, lr: true });
            p.access(LoadStore::Ldr, 0, 7, 16);
            p.emit(Insn::Pop { list: 0x10, pc: true });
            p.asm.bind(begin);
            let head = p.label();
            if called {
                p.asm.bl(function);
            } else {
                p.access(LoadStore::Ldr, 0, 7, 16);
            }
            p.sum(AddSub::Sub, 0, 0, 4);
            p.imm8(Imm8Op::Cmp, 0, 40);
            p.branch(Cond::Cc, head);
        });
    }
}

#[test]
fn flags_of_a_usart_are_awaited() {
    for bit in [7, 6] {
        is_skipped(80, |p| {
            p.start_usart();
            let (status, data) = (p.part.usart_status, p.part.usart_data);
            p.set(6, status);
            p.set(5, data);
            p.imm8(Imm8Op::Mov, 4, 40);
            let head = p.label();
            p.access(LoadStore::Str, 4, 5, 0);
            p.wait_for_bit(LoadStore::Ldr, bit);
            p.imm8(Imm8Op::Sub, 4, 1);
            p.branch(Cond::Ne, head);
        });
    }
}

#[test]
fn updates_of_a_timer_are_awaited() {
    for (prescaler, limit) in [(0, 0xffff), (71, 999), (7, 12_345)] {
        is_skipped(90, |p| {
            p.start_timer(prescaler, limit);
            p.set(6, TIM3 + 0x10);
            p.imm8(Imm8Op::Mov, 4, 5);
            p.imm8(Imm8Op::Mov, 5, 0);
            let head = p.label();
            p.wait_for_bit(LoadStore::Ldr, 0);
            p.access(LoadStore::Str, 5, 6, 0);
            p.imm8(Imm8Op::Sub, 4, 1);
            p.branch(Cond::Ne, head);
        });
    }
}

#[test]
fn counts_of_a_timer_are_awaited() {
    for (prescaler, limit, percent) in
        [(0, 60_000, 90), (6, 60_000, 90), (71, 10_000, 90), (999, 900, 90)]
    {
        is_skipped(percent, |p| {
            p.start_timer(prescaler, 0xffff);
            p.set(6, TIM3 + 0x24);
            p.set(5, limit);
            let head = p.label();
            p.access(LoadStore::Ldrh, 0, 6, 0);
            p.compare_with(0, 5);
            p.branch(Cond::Cc, head);
        });
    }
}

#[test]
fn timeouts_beside_a_flag_are_skipped() {
    is_skipped(90, |p| {
        p.start_usart();
        let status = p.part.usart_status;
        p.set(6, status);
        p.set(4, 60_000);
        let (head, out) = (p.label(), p.asm.label());
        p.access(LoadStore::Ldr, 0, 6, 0);
        p.shift(Shift::Lsl, 0, 0, 31 - 5);
        p.branch(Cond::Mi, out);
        p.imm8(Imm8Op::Sub, 4, 1);
        p.branch(Cond::Ne, head);
        p.asm.bind(out);
    });
}

/// Timeouts in a register that nobody modelled, which never comes.
#[test]
fn registers_without_a_model_are_awaited() {
    is_skipped(90, |p| {
        p.set(6, 0x4000_7c00);
        p.set(4, 60_000);
        let (head, out) = (p.label(), p.asm.label());
        p.access(LoadStore::Ldr, 0, 6, 0);
        p.imm8(Imm8Op::Cmp, 0, 0);
        p.branch(Cond::Ne, out);
        p.imm8(Imm8Op::Sub, 4, 1);
        p.branch(Cond::Ne, head);
        p.asm.bind(out);
    });
}

#[test]
fn loops_inside_a_loop_are_skipped() {
    is_skipped(90, |p| {
        p.set(4, 20_000);
        let head = p.label();
        p.imm8(Imm8Op::Mov, 5, 9);
        let inner = p.label();
        p.imm8(Imm8Op::Sub, 5, 1);
        p.branch(Cond::Ne, inner);
        p.imm8(Imm8Op::Sub, 4, 1);
        p.branch(Cond::Ne, head);
    });
}

/// A loop that writes on through memory, and one whose register takes no steps.
#[test]
fn work_is_executed() {
    is_executed(|p| {
        p.set(4, RAM + 0x100);
        p.set(5, RAM + 0x800);
        let head = p.label();
        p.emit(Insn::Stm { rn: r(4), list: 1 });
        p.compare_with(4, 5);
        p.branch(Cond::Cc, head);
    });
    is_executed(|p| {
        p.set(4, 1);
        p.set(3, 1_664_525);
        p.set(5, 100_000);
        let head = p.label();
        p.emit(Insn::Data { op: DataOp::Mul, rdn: r(4), rm: r(3) });
        p.imm8(Imm8Op::Add, 4, 223);
        p.imm8(Imm8Op::Sub, 5, 1);
        p.branch(Cond::Ne, head);
    });
}

fn leave_if(p: &mut Program, cond: Cond, body: impl Fn(&mut Program)) {
    let (head, out): (Label, Label) = (p.label(), p.asm.label());
    body(p);
    p.branch(cond, out);
    p.asm.b(head);
    p.asm.bind(out);
}

/// The last bit that is shifted out changes although the quotient does not.
#[test]
fn bits_shifted_out_are_followed() {
    is_skipped(0, |p| {
        p.imm8(Imm8Op::Mov, 4, 0);
        p.imm8(Imm8Op::Mov, 5, 0);
        leave_if(p, Cond::Cs, |p| {
            p.imm8(Imm8Op::Add, 4, 1);
            p.imm8(Imm8Op::Cmp, 5, 1);
            p.shift(Shift::Lsr, 0, 4, 10);
        });
    });
}

/// A byte of a word is written, and the rest of the word counts.
#[test]
fn bytes_beside_a_written_one_are_followed() {
    is_skipped(0, |p| {
        p.imm8(Imm8Op::Mov, 4, 0);
        p.access(LoadStore::Str, 4, 7, 0);
        p.set(5, 0x10_0000);
        p.set(3, 0x100);
        leave_if(p, Cond::Cs, |p| {
            p.access(LoadStore::Strb, 4, 7, 0);
            p.access(LoadStore::Ldr, 0, 7, 0);
            p.sum(AddSub::Add, 0, 0, 3);
            p.access(LoadStore::Str, 0, 7, 0);
            p.compare_with(0, 5);
        });
    });
}

/// Words that begin where others end.
#[test]
fn overlapping_counters_are_followed() {
    is_skipped(0, |p| {
        p.set(0, 0xfff0_0000);
        p.access(LoadStore::Str, 0, 7, 0);
        p.access(LoadStore::Str, 0, 7, 1);
        p.set(5, 0xfff8);
        leave_if(p, Cond::Eq, |p| {
            p.access(LoadStore::Ldr, 0, 7, 0);
            p.imm8(Imm8Op::Add, 0, 16);
            p.access(LoadStore::Str, 0, 7, 0);
            p.access(LoadStore::Ldrh, 1, 7, 0);
            p.access(LoadStore::Strh, 1, 7, 2);
            p.access(LoadStore::Ldr, 2, 7, 1);
            p.access(LoadStore::Ldrh, 3, 7, 1);
            p.compare_with(3, 5);
        });
    });
}

/// The interrupted code counts what it sees on the way to a tick.
#[test]
fn masked_stretches_are_skipped() {
    is_skipped(80, |p| {
        p.tick(49_999, true);
        let head = p.label();
        p.emit(Insn::Cps { disable: true });
        p.access(LoadStore::Ldr, 0, 7, 16);
        p.emit(Insn::Mrs { rd: r(1), from: strobe_synth::Special::Primask });
        p.emit(Insn::Cps { disable: false });
        p.imm8(Imm8Op::Cmp, 0, 40);
        p.branch(Cond::Cc, head);
    });
}

/// Reading data takes a flag with it.
#[test]
fn reads_with_side_effects_are_executed() {
    is_executed(|p| {
        p.start_usart();
        let data = if p.part.v7m { p.part.usart_data } else { p.part.usart_data - 4 };
        p.set(6, data);
        p.set(4, 20_000);
        let head = p.label();
        p.access(LoadStore::Ldr, 0, 6, 0);
        p.emit(Insn::MovHigh { rd: Reg::new(9), rm: r(0) });
        p.imm8(Imm8Op::Sub, 4, 1);
        p.branch(Cond::Ne, head);
    });
}
