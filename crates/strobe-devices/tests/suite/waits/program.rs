//! A program of loops, and the registers of the board that it runs on.

use strobe_synth::{
    Assembler, Cond, Imm8Op, Insn, Label, LoadStore, Reg, Rng, Shift, Value, WideForm,
};

pub(crate) const RAM: u32 = 0x2000_0100;
const STACK: u32 = 0x2000_1000;
/// Behind the vectors of all three boards.
const CODE: u32 = 0x0800_0200;
const FLASH: u32 = 0x0800_0000;

pub(crate) const SYST_CSR: u32 = 0xe000_e010;
const DEMCR: u32 = 0xe000_edfc;
const CPACR: u32 = 0xe000_ed88;
pub(crate) const DWT_CTRL: u32 = 0xe000_1000;
pub(crate) const TIM3: u32 = 0x4000_0400;

/// A board, with the registers in which it differs from others.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) board: &'static str,
    /// It has the instructions of ARMv7-M.
    pub(crate) v7m: bool,
    /// It has a floating-point unit.
    pub(crate) fp: bool,
    /// FLASH_ACR, with a value for wait states.
    flash: (u32, u32),
    /// Registers that enable the clocks of TIM3 and USART1, with their bits.
    clocks: [(u32, u32); 2],
    /// USART1's registers, in the order of writing, with their values.
    usart: [(u32, u32); 2],
    /// USART1's status, and where it takes data.
    pub(crate) usart_status: u32,
    pub(crate) usart_data: u32,
}

pub(crate) const PARTS: [Part; 3] = [
    Part {
        board: "stm32f103rb",
        v7m: true,
        fp: false,
        flash: (0x4002_2000, 0x12),
        clocks: [(0x4002_101c, 2), (0x4002_1018, 1 << 14)],
        usart: [(0x4001_3808, 833), (0x4001_380c, 0x2008)],
        usart_status: 0x4001_3800,
        usart_data: 0x4001_3804,
    },
    Part {
        board: "stm32f407",
        v7m: true,
        fp: true,
        flash: (0x4002_3c00, 0x705),
        clocks: [(0x4002_3840, 2), (0x4002_3844, 1 << 4)],
        usart: [(0x4001_1008, 1667), (0x4001_100c, 0x2008)],
        usart_status: 0x4001_1000,
        usart_data: 0x4001_1004,
    },
    Part {
        board: "stm32f070cb",
        v7m: false,
        fp: false,
        flash: (0x4002_2000, 0x11),
        clocks: [(0x4002_101c, 2), (0x4002_1018, 1 << 14)],
        usart: [(0x4001_380c, 833), (0x4001_3800, 9)],
        usart_status: 0x4001_381c,
        usart_data: 0x4001_3828,
    },
];

/// A program under construction. R7 holds [`RAM`].
pub(crate) struct Program {
    pub(crate) asm: Assembler,
    pub(crate) rng: Rng,
    pub(crate) part: &'static Part,
    handler: Option<Label>,
}

pub(crate) const fn r(number: u8) -> Reg {
    Reg::new(number)
}

impl Program {
    pub(crate) fn new(part: &'static Part, seed: u64) -> Self {
        let mut program =
            Program { asm: Assembler::new(CODE), rng: Rng::new(seed), part, handler: None };
        program.set(7, RAM);
        program
    }

    pub(crate) fn emit(&mut self, insn: Insn) {
        self.asm.emit(insn);
    }

    pub(crate) fn wide(&mut self, form: &str, fields: &[(char, u32)]) {
        self.emit(Insn::Wide(WideForm::named(form).with(fields, 0)));
    }

    pub(crate) fn set(&mut self, register: u8, value: u32) {
        self.asm.load(r(register), Value::Word(value));
    }

    /// Writes a register; takes R0 and R1.
    pub(crate) fn poke(&mut self, address: u32, value: u32) {
        self.set(0, address);
        self.set(1, value);
        self.access(LoadStore::Str, 1, 0, 0);
    }

    /// `op rt, [rn, #units]`
    pub(crate) fn access(&mut self, op: LoadStore, rt: u8, rn: u8, units: u8) {
        self.emit(Insn::MemImm { op, rt: r(rt), rn: r(rn), units });
    }

    pub(crate) fn imm8(&mut self, op: Imm8Op, rdn: u8, imm8: u8) {
        self.emit(Insn::Imm8 { op, rdn: r(rdn), imm8 });
    }

    pub(crate) fn shift(&mut self, op: Shift, rd: u8, rm: u8, amount: u8) {
        self.emit(Insn::ShiftImm { op, rd: r(rd), rm: r(rm), amount });
    }

    pub(crate) fn label(&mut self) -> Label {
        self.asm.label_here()
    }

    pub(crate) fn branch(&mut self, cond: Cond, to: Label) {
        self.asm.b_cond(cond, to);
    }

    pub(crate) fn wait_states(&mut self) {
        let (address, value) = self.part.flash;
        self.poke(address, value);
    }

    /// Switches the cycle counter on, from a value on, if there is one.
    pub(crate) fn count_cycles(&mut self, from: u32) {
        if self.part.v7m {
            self.poke(DEMCR, 1 << 24);
            self.poke(DWT_CTRL + 4, from);
            self.poke(DWT_CTRL, 1);
        }
    }

    pub(crate) fn enable_fp(&mut self) {
        if self.part.fp {
            self.poke(CPACR, 0xf << 20);
        }
    }

    /// TIM3 counts up to a limit.
    pub(crate) fn start_timer(&mut self, prescaler: u32, limit: u32) {
        let (address, bits) = self.part.clocks[0];
        self.poke(address, bits);
        self.poke(TIM3 + 0x28, prescaler);
        self.poke(TIM3 + 0x2c, limit);
        self.poke(TIM3 + 0x14, 1);
        self.poke(TIM3 + 0x10, 0);
        self.poke(TIM3, 1);
    }

    pub(crate) fn start_usart(&mut self) {
        let (address, bits) = self.part.clocks[1];
        self.poke(address, bits);
        self.part.usart.iter().for_each(|&(address, value)| self.poke(address, value));
    }

    /// SysTick, with an interrupt whose handler counts in RAM.
    pub(crate) fn tick(&mut self, reload: u32, interrupts: bool) {
        self.poke(SYST_CSR + 4, reload);
        self.poke(SYST_CSR + 8, 0);
        self.poke(SYST_CSR, if interrupts { 7 } else { 5 });
    }

    /// Ends the code under way, which goes on behind its literals.
    pub(crate) fn pool(&mut self) {
        self.asm.pool_behind_branch();
    }

    /// What SysTick's handler does: it counts at [`RAM`] + 64.
    fn place_handler(&mut self) {
        self.handler = Some(self.label());
        self.set(0, RAM);
        self.access(LoadStore::Ldr, 1, 0, 16);
        self.imm8(Imm8Op::Add, 1, 1);
        self.access(LoadStore::Str, 1, 0, 16);
        self.emit(Insn::Bx { rm: Reg::LR });
        self.asm.pool();
    }

    /// The flash's contents, by address, and the code in words.
    pub(crate) fn finish(mut self) -> (Vec<(u32, Vec<u8>)>, String) {
        let end = self.label();
        self.asm.b(end);
        self.asm.pool();
        self.place_handler();
        let address = |label| self.asm.address_of(label).expect("it is bound") | 1;
        let mut vectors = [address(end); 48];
        (vectors[0], vectors[1]) = (STACK, CODE | 1);
        vectors[15] = address(self.handler.expect("it is placed"));
        let (code, listing) = self.asm.finish();
        let text = listing.iter().map(|(at, insn)| format!("{at:#x} {insn:?}\n")).collect();
        (vec![(FLASH, vectors.map(u32::to_le_bytes).concat()), (CODE, code)], text)
    }
}
