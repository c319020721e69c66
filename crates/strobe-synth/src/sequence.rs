//! Generated programs: seeded, self-contained, ending by themselves, and free of UNPREDICTABLE
//! behaviour.
//!
//! They run on two machines in parallel, so all behaviour that the architecture leaves open is
//! fixed by construction: addresses are aligned and inside a scratch window, stacks are balanced,
//! loops are counted, handlers restore what they use, and memory is written before it is read. The
//! generator must not know the results of instructions.

mod arith;
mod control;
mod exhaustive;
mod fault;
mod flow;
mod fp;
mod handlers;
mod memory;
mod mpu;
mod system;
mod wide;

use crate::asm::{Assembler, Value};
use crate::elf::ElfBuilder;
use crate::insn::{Cond, DataOp, Imm8Op, Insn, LoadStore, Reg};
use crate::rng::Rng;
use crate::wide::Extension;

/// Memory layout: 256 KiB of flash at 0 and 16 KiB of RAM at 0x20000000, the smallest part in use.
mod layout {
    /// 16 system vectors and 32 interrupts.
    pub(super) const CODE: u32 = 48 * 4;
    /// Subroutines that only a long BL reaches.
    pub(super) const FAR_CODE: u32 = 0x3_0000;
    /// Loads and stores go here; checksummed at the end.
    pub(super) const SCRATCH: u32 = 0x2000_0400;
    pub(super) const SCRATCH_BYTES: u32 = 0x800;
    /// Any address around here is a valid temporary stack pointer.
    pub(super) const PROCESS_STACK: u32 = 0x2000_1c00;
    pub(super) const SPARE_STACK: u32 = 0x2000_2800;
    pub(super) const INITIAL_SP: u32 = 0x2000_4000;
}

/// Number of IRQ handlers; they are numbered from 0.
const IRQS: u32 = 8;

/// The core to generate for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Core {
    /// ARMv6-M: Cortex-M0.
    V6m,
    /// ARMv7-M: Cortex-M3.
    V7m,
    /// ARMv7E-M with FPv4-SP: Cortex-M4 with its floating-point unit.
    V7emFp,
}

impl Core {
    fn is_v7m(self) -> bool {
        self != Core::V6m
    }

    /// The instruction set extensions of the core, ARMv7-M's own first.
    fn extensions(self) -> &'static [Extension] {
        match self {
            Core::V6m => &[],
            Core::V7m => &[Extension::None],
            Core::V7emFp => &[Extension::None, Extension::Dsp, Extension::Fp],
        }
    }

    /// The names of its forms of instructions.
    pub fn forms(self) -> Vec<&'static str> {
        let mut all = crate::FORMS.to_vec();
        if self.is_v7m() {
            all.extend(crate::FORMS_V7M);
        }
        let wide = crate::wide::forms().iter();
        all.extend(wide.filter(|f| self.extensions().contains(&f.extension)).map(|f| f.name));
        all
    }
}

/// Options of the generator.
#[derive(Clone, Debug)]
pub struct Options {
    /// The core whose instructions to use.
    pub core: Core,
    /// Top-level snippets; one is about ten instructions.
    pub snippets: u32,
    /// Include SVC, PendSV, SysTick, NMI and interrupts, pended by software with random
    /// priorities.
    pub exceptions: bool,
    /// Include instructions that fault (undefined, unaligned, no memory, no Thumb state); the
    /// HardFault handler steps over them. Without, a HardFault ends the program with an error.
    pub faults: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { core: Core::V6m, snippets: 400, exceptions: true, faults: true }
    }
}

/// A generated program.
#[derive(Clone, Debug)]
pub struct Sequence {
    segments: Vec<(u32, Vec<u8>)>,
    listing: Vec<(u32, Insn)>,
}

impl Sequence {
    /// Generates the program of a seed; equal seeds and options give equal programs.
    pub fn generate(seed: u64, options: &Options) -> Self {
        Self::of(Rng::new(seed), options, |generator| {
            for _ in 0..options.snippets {
                generator.top_level();
                if generator.asm.pool_due() {
                    generator.asm.pool_behind_branch();
                }
            }
        })
    }

    /// A program around a body: set-up before it, checksum and exit after it, then the handlers and
    /// the vector table.
    fn of(mut rng: Rng, options: &Options, body: impl Fn(&mut Gen)) -> Self {
        let (far, far_code, mut listing) = control::far_subroutines(&mut rng);
        let mut generator = Gen::new(rng, options.clone(), far);
        let reset = generator.asm.here();
        generator.prologue();
        body(&mut generator);
        generator.checksum_and_exit();
        generator.asm.pool();
        let vectors = generator.handlers(reset);
        // PC-relative loads reach a little ahead; memory after the program differs between
        // machines.
        generator.asm.data(&[0; 16]);
        let (code, near) = generator.asm.finish();
        assert!(layout::CODE + (code.len() as u32) < layout::FAR_CODE, "the program is too long");
        listing.extend(near);
        listing.sort_by_key(|(address, _)| *address);
        let mut low = vectors;
        low.extend(code);
        Self { segments: vec![(0, low), (layout::FAR_CODE, far_code)], listing }
    }

    /// The program's memory: address and bytes of each piece.
    pub fn segments(&self) -> &[(u32, Vec<u8>)] {
        &self.segments
    }

    /// Each instruction with its address, in order.
    pub fn listing(&self) -> &[(u32, Insn)] {
        &self.listing
    }

    /// The instruction at an address.
    pub fn at(&self, address: u32) -> Option<Insn> {
        let index = self.listing.binary_search_by_key(&address, |(at, _)| *at).ok()?;
        Some(self.listing[index].1)
    }

    /// The program as an ELF executable.
    pub fn elf(&self) -> Vec<u8> {
        let mut elf = ElfBuilder::new();
        elf.entry = layout::CODE | 1;
        for (address, bytes) in &self.segments {
            elf.code(*address, bytes);
        }
        elf.function("Reset_Handler", layout::CODE, 0).build()
    }
}

/// The state of the generator.
struct Gen {
    asm: Assembler,
    rng: Rng,
    options: Options,
    /// Low registers that a snippet may overwrite, as a mask.
    free: u8,
    /// Whether it may overwrite LR.
    lr_free: bool,
    /// Addresses of the far subroutines.
    far: Vec<u32>,
    /// Whether SVC is possible here: not in handlers, nor with exceptions masked.
    may_call: bool,
}

impl Gen {
    fn new(rng: Rng, options: Options, far: Vec<u32>) -> Self {
        let asm = Assembler::new(layout::CODE);
        Self { asm, rng, options, free: 0xff, lr_free: true, far, may_call: true }
    }

    fn emit(&mut self, insn: Insn) {
        self.asm.emit(insn);
    }

    /// Any low register, to read.
    fn low(&mut self) -> Reg {
        Reg::new(self.rng.below(8) as u8)
    }

    /// A low register to write.
    fn dest(&mut self) -> Reg {
        self.dest_besides(0)
    }

    /// A low register to write that is not in the mask.
    fn dest_besides(&mut self, mask: u8) -> Reg {
        let free: Vec<u8> = (0..8).filter(|n| (self.free & !mask) >> n & 1 == 1).collect();
        Reg::new(self.rng.pick(&free))
    }

    /// Two different low registers to write.
    fn two_dests(&mut self) -> (Reg, Reg) {
        let first = self.dest();
        (first, self.dest_besides(bit(first)))
    }

    /// Runs `body` with these registers protected from being written.
    fn keeping(&mut self, mask: u8, body: impl FnOnce(&mut Self)) {
        self.keeping_for(mask, body);
    }

    /// The same for a body with a result.
    fn keeping_for<T>(&mut self, mask: u8, body: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.free;
        self.free &= !mask;
        let result = body(self);
        self.free = before;
        result
    }

    fn mov(&mut self, rdn: Reg, imm8: u8) {
        self.emit(Insn::Imm8 { op: Imm8Op::Mov, rdn, imm8 });
    }

    fn load(&mut self, rt: Reg, word: u32) {
        self.asm.load(rt, Value::Word(word));
    }

    /// A value likely to reach an edge case.
    fn edge_value(&mut self) -> u32 {
        const EDGES: [u32; 12] = [
            0,
            1,
            2,
            0x7f,
            0x80,
            0xff,
            0x7fff,
            0x8000,
            0xffff,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
        ];
        match self.rng.below(4) {
            0 => self.rng.pick(&EDGES),
            1 => 1 << self.rng.below(32),
            _ => self.rng.next_u32(),
        }
    }

    /// A few straight-line snippets, at most about a hundred bytes.
    fn body(&mut self) {
        // 32-bit instructions take more room, and conditional branches do not reach further.
        let most = if self.is_v7m() { 2 } else { 4 };
        for _ in 0..=self.rng.below(most) {
            self.straight();
        }
    }

    /// One snippet without control flow that leaves SP as it was.
    fn straight(&mut self) {
        if self.is_v7m() && !self.rng.one_in(3) {
            return self.straight_v7m();
        }
        match self.rng.below(10) {
            0..6 => self.arith(),
            6..9 => self.memory(),
            _ => self.special_register(),
        }
    }

    fn straight_v7m(&mut self) {
        match self.rng.below(16) {
            0..10 => self.wide(),
            10 => self.wide_multiple(),
            11 => self.wide_push_pop(),
            12 => self.exclusive(),
            13 | 14 if self.has(Extension::Fp) => self.fp(),
            _ => self.it_block(),
        }
    }

    fn top_level(&mut self) {
        let exceptions = self.options.exceptions;
        if self.is_v7m() && self.rng.one_in(4) {
            return self.flow();
        }
        match self.rng.below(20) {
            0..8 => self.straight(),
            8..13 => self.control(),
            13 => self.hint_or_barrier(),
            14 => self.masked(),
            15 if exceptions && self.is_v7m() && self.rng.one_in(3) => self.unprivileged(),
            15 => self.other_stack(),
            16 | 17 if exceptions => self.exception(),
            18 if exceptions => self.nvic_registers(),
            19 if self.options.faults && self.is_v7m() && self.rng.one_in(4) => {
                self.fault_handlers();
            }
            19 if self.options.faults && self.is_v7m() && self.rng.one_in(3) => self.protected(),
            19 if self.options.faults => self.fault(),
            _ => self.arith(),
        }
    }

    /// Fills the scratch window and every register.
    fn prologue(&mut self) {
        let (pointer, end) = (Reg::new(0), Reg::new(1));
        self.load(pointer, layout::SCRATCH);
        self.load(end, layout::SCRATCH + layout::SCRATCH_BYTES);
        for n in 2..6 {
            let word = self.rng.next_u32();
            self.load(Reg::new(n), word);
        }
        let again = self.asm.label_here();
        self.emit(Insn::Stm { rn: pointer, list: 0b0011_1100 });
        for n in 2..6 {
            self.emit(Insn::Data { op: DataOp::Adc, rdn: Reg::new(n), rm: Reg::new(7 - n) });
        }
        self.emit(Insn::Data { op: DataOp::Cmp, rdn: pointer, rm: end });
        self.asm.b_cond(Cond::Ne, again);
        for n in 8..15 {
            let word = self.edge_value();
            self.load(Reg::new(7), word);
            if n != 13 {
                self.emit(Insn::MovHigh { rd: Reg::new(n), rm: Reg::new(7) });
            }
        }
        for n in 0..8 {
            let word = self.edge_value();
            self.load(Reg::new(n), word);
        }
        if self.has(Extension::Fp) {
            self.enable_fp();
            self.barriers();
        }
        if self.options.faults && self.is_v7m() {
            self.disable_write_buffer();
        }
        if self.options.exceptions {
            self.enable_interrupts();
        }
    }

    /// Sums the scratch window, so that a wrong store is detected even if nothing loaded it, and
    /// exits by semihosting.
    fn checksum_and_exit(&mut self) {
        let [pointer, end, sum, word] = [0, 1, 2, 3].map(Reg::new);
        self.load(pointer, layout::SCRATCH);
        self.load(end, layout::SCRATCH + layout::SCRATCH_BYTES);
        let again = self.asm.label_here();
        self.emit(Insn::MemImm { op: LoadStore::Ldr, rt: word, rn: pointer, units: 0 });
        self.emit(Insn::Data { op: DataOp::Adc, rdn: sum, rm: word });
        self.emit(Insn::Imm8 { op: Imm8Op::Add, rdn: pointer, imm8: 4 });
        self.emit(Insn::Data { op: DataOp::Cmp, rdn: pointer, rm: end });
        self.asm.b_cond(Cond::Ne, again);
        const APPLICATION_EXIT: u32 = 0x2_0026;
        self.exit(APPLICATION_EXIT);
    }

    /// Semihosting SYS_EXIT with a reason.
    fn exit(&mut self, reason: u32) {
        self.mov(Reg::new(0), 0x18);
        self.load(Reg::new(1), reason);
        self.emit(Insn::Bkpt { imm8: 0xab });
        let here = self.asm.label_here();
        self.asm.b(here);
    }
}

fn bit(r: Reg) -> u8 {
    1 << r.number()
}
