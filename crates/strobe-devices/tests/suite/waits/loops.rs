//! Loops with random contents: most of them wait, some of them change more with each turn than can
//! be accounted for.

use strobe_synth::{
    AddSub, Cond, DataOp, Extend, Imm8Op, Insn, Label, LoadStore, Reg, Reverse, Shift, Special,
};

use super::program::{PARTS, Program, TIM3, r};
use super::prove::{Run, prove};

/// Registers for whatever a turn works out, and those that count.
const SCRATCH: [u8; 4] = [0, 1, 2, 3];
const COUNTERS: [u8; 2] = [4, 5];
const ALL: [u8; 6] = [0, 1, 2, 3, 4, 5];
const CONDITIONS: [Cond; 14] = [
    Cond::Eq,
    Cond::Ne,
    Cond::Cs,
    Cond::Cc,
    Cond::Mi,
    Cond::Pl,
    Cond::Vs,
    Cond::Vc,
    Cond::Hi,
    Cond::Ls,
    Cond::Ge,
    Cond::Lt,
    Cond::Gt,
    Cond::Le,
];
/// Where counters begin: close to where they wrap as bytes, halfwords, words, with and without a
/// sign, and far from that.
const BEGINS: [u32; 12] = [
    0,
    1,
    100,
    255,
    5000,
    0xff00,
    0x7f80,
    0x7fff_ff00,
    0x8000_0010,
    0xffff_f000,
    0xffff_fffc,
    1 << 20,
];

/// A loop under construction.
struct Turn {
    exit: Label,
}

impl Program {
    fn scratch(&mut self) -> u8 {
        self.rng.pick(&SCRATCH)
    }

    fn any(&mut self) -> u8 {
        self.rng.pick(&ALL)
    }

    fn begin(&mut self) -> u32 {
        let near = self.rng.below(8);
        self.rng.pick(&BEGINS).wrapping_add(near)
    }

    /// Random contents of registers and memory, and a loop.
    fn random_loop(&mut self) {
        for register in ALL {
            let value = self.begin();
            self.set(register, value);
        }
        if self.rng.one_in(2) {
            self.emit(Insn::Stm { rn: r(7), list: 0x3f });
            self.set(7, super::program::RAM);
        }
        self.device();
        let turn = Turn { exit: self.asm.label() };
        let head = self.label();
        for _ in 0..1 + self.rng.below(6) {
            self.element(&turn);
        }
        self.end_turn(head);
        self.asm.bind(turn.exit);
        self.pool();
    }

    /// R6 points at a device.
    fn device(&mut self) {
        let status = self.part.usart_status;
        let places = [status, TIM3 + 0x24, TIM3 + 0x10, 0xe000_e010, 0xe000_1000, 0x4002_1000];
        let place = self.rng.pick(&places);
        self.set(6, place);
    }

    fn end_turn(&mut self, head: Label) {
        match self.rng.below(4) {
            0 => self.asm.b(head),
            1 => {
                let op = self.rng.pick(&[Imm8Op::Sub, Imm8Op::Add]);
                let (counter, step) = (self.rng.pick(&COUNTERS), 1 + self.rng.below(3) as u8);
                self.imm8(op, counter, step);
                let cond = self.rng.pick(&CONDITIONS);
                self.branch(cond, head);
            }
            _ => {
                self.compare();
                let cond = self.rng.pick(&CONDITIONS);
                self.branch(cond, head);
            }
        }
    }

    fn compare(&mut self) {
        let (rn, rm) = (self.any(), self.any());
        let imm8 = self.rng.next_u32() as u8;
        match self.rng.below(6) {
            0 => self.imm8(Imm8Op::Cmp, rn, imm8),
            1 => self.emit(Insn::Data { op: DataOp::Cmp, rdn: r(rn), rm: r(rm) }),
            2 => self.emit(Insn::Data { op: DataOp::Cmn, rdn: r(rn), rm: r(rm) }),
            3 => self.emit(Insn::Data { op: DataOp::Tst, rdn: r(rn), rm: r(rm) }),
            4 => {
                let counter = self.rng.pick(&COUNTERS);
                self.imm8(Imm8Op::Cmp, counter, imm8);
            }
            _ => {
                let (counter, limit) = (self.rng.pick(&COUNTERS), 8 + self.rng.below(4) as u8);
                self.emit(Insn::CmpHigh { rn: r(counter), rm: r(limit) });
            }
        }
    }

    fn element(&mut self, turn: &Turn) {
        match self.rng.below(if self.part.v7m { 18 } else { 14 }) {
            0 | 1 => self.count(),
            2 => self.count_in_memory(),
            3 => self.arithmetic(),
            4 => self.move_or_shift(),
            5 | 6 => self.remember(),
            7 => self.leave(turn),
            8 => self.pass_over(),
            9 => self.call_or_push(),
            10 => self.inner_loop(),
            11 => self.look_at_device(),
            12 => self.special(),
            13 => self.many(),
            14 => self.conditional(),
            15 => self.wide_data(),
            16 => self.wide_memory(),
            _ => self.leave_at_zero(turn),
        }
    }

    fn count(&mut self) {
        let op = self.rng.pick(&[AddSub::Add, AddSub::Sub]);
        let (rd, step) = (self.rng.pick(&COUNTERS), self.rng.below(4) as u8);
        let rm = self.any();
        let insn = if self.rng.one_in(5) {
            Insn::AddSubReg { op, rd: r(rd), rn: r(rd), rm: r(rm) }
        } else {
            Insn::AddSubImm3 { op, rd: r(rd), rn: r(rd), imm3: step }
        };
        self.emit(insn);
    }

    fn count_in_memory(&mut self) {
        let rt = self.scratch();
        let (load, store, most) = self.rng.pick(&[
            (LoadStore::Ldr, LoadStore::Str, 4),
            (LoadStore::Ldrh, LoadStore::Strh, 8),
            (LoadStore::Ldrb, LoadStore::Strb, 16),
        ]);
        let units = self.rng.below(most) as u8;
        self.access(load, rt, 7, units);
        let op = self.rng.pick(&[Imm8Op::Add, Imm8Op::Sub]);
        let step = self.rng.pick(&[1, 1, 1, 2, 16, 255]);
        self.imm8(op, rt, step);
        self.access(store, rt, 7, units);
        if self.rng.one_in(3) {
            self.extend();
        }
    }

    fn extend(&mut self) {
        let op = self.rng.pick(Extend::ALL);
        let (rd, rm) = (self.scratch(), self.any());
        self.emit(Insn::Extend { op, rd: r(rd), rm: r(rm) });
    }

    fn arithmetic(&mut self) {
        let (rd, rn, rm) = (self.scratch(), self.any(), self.any());
        let op = self.rng.pick(DataOp::ALL);
        let sum = self.rng.pick(AddSub::ALL);
        let insn = match self.rng.below(3) {
            0 => Insn::Data { op, rdn: r(rd), rm: r(rm) },
            1 => Insn::AddSubReg { op: sum, rd: r(rd), rn: r(rn), rm: r(rm) },
            _ => Insn::AddSubImm3 { op: sum, rd: r(rd), rn: r(rn), imm3: 3 },
        };
        self.emit(insn);
    }

    fn move_or_shift(&mut self) {
        let (rd, rm) = (self.scratch(), self.any());
        let imm8 = self.rng.next_u32() as u8;
        match self.rng.below(6) {
            0 => self.imm8(Imm8Op::Mov, rd, imm8),
            1 => self.emit(Insn::MovHigh { rd: r(rd), rm: r(rm) }),
            2 => {
                let op = self.rng.pick(Reverse::ALL);
                self.emit(Insn::Reverse { op, rd: r(rd), rm: r(rm) });
            }
            3 => self.extend(),
            _ => {
                let (op, amount) = (self.rng.pick(Shift::ALL), 1 + self.rng.below(31) as u8);
                self.shift(op, rd, rm, amount);
            }
        }
    }

    /// A load or store of any size, of bytes that others touch too.
    fn remember(&mut self) {
        let op = self.rng.pick(&[
            LoadStore::Str,
            LoadStore::Strh,
            LoadStore::Strb,
            LoadStore::Ldr,
            LoadStore::Ldrh,
            LoadStore::Ldrb,
        ]);
        let stores = matches!(op, LoadStore::Str | LoadStore::Strh | LoadStore::Strb);
        let rt = if stores { self.any() } else { self.scratch() };
        let shift = match op {
            LoadStore::Str | LoadStore::Ldr => 2,
            LoadStore::Strh | LoadStore::Ldrh => 1,
            _ => 0,
        };
        let units = self.rng.below(16 >> shift) as u8;
        self.access(op, rt, 7, units);
    }

    fn leave(&mut self, turn: &Turn) {
        if self.rng.one_in(2) {
            self.compare();
        }
        let cond = self.rng.pick(&CONDITIONS);
        self.branch(cond, turn.exit);
    }

    fn leave_at_zero(&mut self, turn: &Turn) {
        let (nonzero, rn) = (self.rng.one_in(4), self.any());
        self.asm.cbz(nonzero, r(rn), turn.exit);
    }

    /// Something that happens in some turns.
    fn pass_over(&mut self) {
        let over = self.asm.label();
        self.compare();
        let cond = self.rng.pick(&CONDITIONS);
        self.branch(cond, over);
        match self.rng.below(3) {
            0 => self.count(),
            1 => self.arithmetic(),
            _ => self.remember(),
        }
        self.asm.bind(over);
    }

    /// Keeps registers on the stack meanwhile, or calls a function that does.
    fn call_or_push(&mut self) {
        let (over, function) = (self.asm.label(), self.asm.label());
        let called = self.rng.one_in(2);
        if called {
            self.asm.bl(function);
            self.asm.b(over);
            self.asm.bind(function);
        }
        self.emit(Insn::Push { list: 0x3c, lr: called });
        self.emit(Insn::AdjustSp { op: AddSub::Sub, words: 2 });
        let (rt, rn, words) = (self.any(), self.scratch(), self.rng.below(4) as u8);
        self.emit(Insn::MemSp { load: false, rt: r(rt), words: 1 });
        self.arithmetic();
        self.emit(Insn::MemSp { load: true, rt: r(rn), words });
        self.emit(Insn::AdjustSp { op: AddSub::Add, words: 2 });
        self.emit(Insn::Pop { list: 0x3c, pc: called });
        self.asm.bind(over);
    }

    fn inner_loop(&mut self) {
        let (counter, times) = (self.scratch(), 1 + self.rng.below(6) as u8);
        self.imm8(Imm8Op::Mov, counter, times);
        let head = self.label();
        if self.rng.one_in(2) {
            self.count();
        }
        self.imm8(Imm8Op::Sub, counter, 1);
        self.branch(Cond::Ne, head);
    }

    /// Reads a register, and perhaps tests a bit of it.
    fn look_at_device(&mut self) {
        let rt = self.scratch();
        let units = self.rng.pick(&[0, 0, 0, 1, 2]);
        let op = self.rng.pick(&[LoadStore::Ldr, LoadStore::Ldr, LoadStore::Ldrh]);
        self.access(op, rt, 6, units);
        if self.rng.one_in(2) {
            let (rd, amount) = (self.scratch(), self.rng.below(32) as u8);
            self.shift(Shift::Lsl, rd, rt, amount);
        }
    }

    fn special(&mut self) {
        let rd = self.scratch();
        let from = self.rng.pick(&[Special::Apsr, Special::Primask, Special::Xpsr, Special::Msp]);
        match self.rng.below(4) {
            0 => self.emit(Insn::Mrs { rd: r(rd), from }),
            1 => self.emit(Insn::Msr { to: Special::Apsr, rn: r(rd) }),
            disable => self.emit(Insn::Cps { disable: disable == 2 }),
        }
    }

    fn many(&mut self) {
        self.emit(Insn::MovHigh { rd: Reg::new(12), rm: r(7) });
        let list = 0x3f & self.rng.next_u32() as u8 | 1;
        let insn = if self.rng.one_in(2) {
            Insn::Stm { rn: r(7), list }
        } else {
            Insn::Ldm { rn: r(7), list: list & 0xf }
        };
        self.emit(insn);
        self.emit(Insn::MovHigh { rd: r(7), rm: Reg::new(12) });
    }

    /// An IT block of one or two instructions.
    fn conditional(&mut self) {
        let cond = self.rng.pick(&CONDITIONS) as u8;
        let two = self.rng.one_in(2);
        self.emit(Insn::It { cond, mask: if two { (cond & 1) << 3 | 4 } else { 8 } });
        for _ in 0..1 + u32::from(two) {
            match self.rng.below(3) {
                0 => self.count(),
                1 => self.arithmetic(),
                _ => self.remember(),
            }
        }
    }

    fn wide_data(&mut self) {
        let form = self.rng.pick(&[
            "ADD reg",
            "SUB reg W",
            "RSB reg",
            "AND reg",
            "ORR reg",
            "EOR reg",
            "ADC reg",
            "CMP reg",
            "CMN reg",
            "MOV shifted",
            "MVN reg",
            "UBFX",
            "SBFX",
            "BFI",
            "UDIV",
            "SDIV",
            "MLA",
            "CLZ",
            "ADD imm",
            "SUB imm",
            "RSB imm",
            "UXTB W",
            "SXTH W",
            "UMULL",
            "ADDW",
            "MOV imm W",
        ]);
        let (d, n, m) = (self.scratch().into(), self.any().into(), self.any().into());
        let set = self.rng.below(2);
        let (imm, part, shift) = (self.rng.below(32), self.rng.below(8), self.rng.below(4));
        let other = u32::from(d == 0);
        let fields: &[(char, u32)] = match form {
            "CMP reg" | "CMN reg" => &[('n', n), ('m', m), ('i', imm), ('s', shift)],
            "MOV shifted" | "MVN reg" => {
                &[('S', set), ('d', d), ('m', m), ('i', imm), ('s', shift)]
            }
            "UBFX" | "SBFX" | "BFI" => &[('d', d), ('n', n), ('i', part), ('j', 8 + part)],
            "UDIV" | "SDIV" => &[('d', d), ('n', n), ('m', m)],
            "MLA" => &[('d', d), ('n', n), ('m', m), ('a', n)],
            "CLZ" => &[('d', d), ('n', m), ('m', m)],
            "ADD imm" | "SUB imm" | "RSB imm" => &[('S', set), ('d', d), ('n', n), ('i', imm)],
            "ADDW" => &[('d', d), ('n', n), ('i', imm)],
            "MOV imm W" => &[('S', set), ('d', d), ('i', imm)],
            "UXTB W" | "SXTH W" => &[('d', d), ('m', m), ('i', shift)],
            "UMULL" => &[('l', d), ('h', other), ('n', n), ('m', m)],
            _ => &[('S', set), ('d', d), ('n', n), ('m', m), ('i', imm), ('s', shift)],
        };
        self.wide(form, fields);
    }

    /// Accesses of two registers, unaligned and exclusive ones, and the floating-point unit.
    fn wide_memory(&mut self) {
        let (t, m) = (self.scratch().into(), self.any().into());
        let at = self.rng.below(16);
        let single = self.rng.below(2);
        match self.rng.below(if self.part.fp { 10 } else { 6 }) {
            0 => self.wide("STRD", &[('U', 1), ('n', 7), ('t', m), ('u', 5), ('i', at / 4)]),
            1 => self.wide("LDRD", &[('U', 1), ('n', 7), ('t', 1), ('u', 2), ('i', at / 4)]),
            2 => self.wide("LDR imm12", &[('n', 7), ('t', t), ('i', at)]),
            3 => self.wide("STR imm12", &[('n', 7), ('t', m), ('i', at)]),
            4 => self.wide("LDRSH imm12", &[('n', 7), ('t', t), ('i', at)]),
            5 => self.wide("LDREX", &[('n', 7), ('t', t), ('i', at / 4)]),
            6 => self.wide("VMOV from core", &[('w', single), ('m', m)]),
            7 => self.wide("VMOV to core", &[('w', single), ('d', t)]),
            8 => self.wide("VSTR", &[('U', 1), ('n', 7), ('v', single), ('i', at / 4)]),
            _ => self.wide("VADD", &[('v', single), ('w', 1), ('x', 0)]),
        }
    }
}

/// Three loops, one behind the other, on a board in a random state.
fn program(seed: u64) -> Program {
    let mut program = Program::new(&PARTS[(seed % 3) as usize], seed);
    if program.rng.one_in(2) {
        program.wait_states();
    }
    program.enable_fp();
    program.count_cycles(0xffff_0000);
    program.start_usart();
    let prescaler = program.rng.pick(&[0, 7, 71, 999]);
    program.start_timer(prescaler, 0xffff);
    let status = program.part.usart_data;
    program.poke(status, 0x55);
    if program.rng.one_in(3) {
        program.tick(4999, true);
    } else if program.rng.one_in(2) {
        program.tick(0xffff, false);
    }
    for high in 8..12 {
        let value = program.begin();
        program.set(0, value);
        program.emit(Insn::MovHigh { rd: r(high), rm: r(0) });
    }
    program.pool();
    (0..3).for_each(|_| program.random_loop());
    program
}

fn skipped(
    seeds: std::ops::Range<u64>,
    chunk: u32,
    cycles: u64,
    compile_after: Option<u32>,
) -> u64 {
    let run = |seed| prove(program(seed), Run { seed, cycles, chunk, compile_after });
    seeds.map(|seed| u64::from(run(seed).skipped > 0)).sum()
}

#[test]
fn random_loops_run_the_same() {
    let programs = skipped(0..300, 60_000, 100_000, None);
    assert!(programs > 100, "{programs} of 300 have a loop that is skipped");
}

#[test]
fn random_loops_run_the_same_in_short_stretches() {
    let programs = skipped(1000..1150, 1500, 60_000, None);
    assert!(programs > 30, "{programs} of 150 have a loop that is skipped");
}

#[test]
fn random_loops_run_the_same_compiled() {
    let programs = skipped(2000..2060, 60_000, 200_000, Some(2));
    assert!(programs > 20, "{programs} of 60 have a loop that is skipped");
}
