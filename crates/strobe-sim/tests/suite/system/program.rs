//! Small programs with their handlers, and the core that runs them.

use std::sync::atomic::AtomicBool;

use strobe_sim::bus::Bus;
use strobe_sim::cortexm::timing::{CoreKind, Timing};
use strobe_sim::cortexm::{CoreOptions, Machine, Stop};
use strobe_sim::device::Size;
use strobe_sim::memory::{Memory, MemoryKind};
use strobe_sim::observe::Observer;
use strobe_synth::{
    Assembler, Barrier, Cond, Hint, Insn, Label, LoadStore, Reg, Special, Value, WideForm,
};

/// Behind 256 vectors.
const CODE: u32 = 0x400;
const FLASH_BYTES: u32 = 0x1_0000;
pub(crate) const RAM: u32 = 0x2000_0000;
pub(crate) const RAM_BYTES: u32 = 0x4000;
/// Nothing answers here: behind all RAM, where stores are buffered.
pub(crate) const NOWHERE: u32 = 0x3000_0000;
/// Behind the flash, where they are not.
pub(crate) const NO_FLASH: u32 = 0x0100_0000;

/// Registers of the system control space.
pub(crate) mod scs {
    pub(crate) const ACTLR: u32 = 0xe000_e008;
    pub(crate) const SYST_CSR: u32 = 0xe000_e010;
    pub(crate) const SYST_RVR: u32 = 0xe000_e014;
    pub(crate) const SYST_CVR: u32 = 0xe000_e018;
    pub(crate) const ISER: u32 = 0xe000_e100;
    pub(crate) const ISPR: u32 = 0xe000_e200;
    pub(crate) const IPR: u32 = 0xe000_e400;
    pub(crate) const ICSR: u32 = 0xe000_ed04;
    pub(crate) const VTOR: u32 = 0xe000_ed08;
    pub(crate) const AIRCR: u32 = 0xe000_ed0c;
    pub(crate) const SCR: u32 = 0xe000_ed10;
    pub(crate) const CCR: u32 = 0xe000_ed14;
    pub(crate) const SHPR2: u32 = 0xe000_ed1c;
    pub(crate) const SHPR3: u32 = 0xe000_ed20;
    pub(crate) const SHCSR: u32 = 0xe000_ed24;
    pub(crate) const CFSR: u32 = 0xe000_ed28;
    pub(crate) const CPACR: u32 = 0xe000_ed88;
    pub(crate) const MPU_CTRL: u32 = 0xe000_ed94;
    pub(crate) const MPU_RBAR: u32 = 0xe000_ed9c;
    pub(crate) const MPU_RASR: u32 = 0xe000_eda0;
    pub(crate) const DEMCR: u32 = 0xe000_edfc;
    pub(crate) const STIR: u32 = 0xe000_ef00;
    pub(crate) const FPCCR: u32 = 0xe000_ef34;
    pub(crate) const FPCAR: u32 = 0xe000_ef38;
    pub(crate) const DWT_CTRL: u32 = 0xe000_1000;
    pub(crate) const DWT_CYCCNT: u32 = 0xe000_1004;
}

/// SHCSR with a handler for each fault.
pub(crate) const FAULT_HANDLERS: u32 = 7 << 16;

/// A program under construction. Helpers use R6 and R7.
#[derive(Clone)]
pub(crate) struct Program {
    asm: Assembler,
    vectors: Vec<(u32, Label)>,
}

impl Program {
    pub(crate) fn new() -> Self {
        Program { asm: Assembler::new(CODE), vectors: Vec::new() }
    }

    pub(crate) fn here(&self) -> u32 {
        self.asm.here()
    }

    pub(crate) fn emit(&mut self, insn: Insn) {
        self.asm.emit(insn);
    }

    pub(crate) fn wide(&mut self, form: &str, fields: &[(char, u32)]) {
        self.emit(Insn::Wide(WideForm::named(form).with(fields, 0)));
    }

    pub(crate) fn nops(&mut self, count: u32) {
        (0..count).for_each(|_| self.emit(Insn::Hint { op: Hint::Nop }));
    }

    pub(crate) fn set(&mut self, register: u8, value: u32) {
        self.asm.load(Reg::new(register), Value::Word(value));
    }

    /// Loads a register's value from an address.
    pub(crate) fn load(&mut self, register: u8, address: u32) {
        self.set(6, address);
        self.access(LoadStore::Ldr, register, 6);
    }

    /// Stores a constant at an address.
    pub(crate) fn store(&mut self, address: u32, value: u32) {
        self.set(7, value);
        self.save(7, address);
    }

    /// Stores a register at an address.
    pub(crate) fn save(&mut self, register: u8, address: u32) {
        self.set(6, address);
        self.access(LoadStore::Str, register, 6);
    }

    /// `op rt, [rn]`
    pub(crate) fn access(&mut self, op: LoadStore, rt: u8, rn: u8) {
        self.emit(Insn::MemImm { op, rt: Reg::new(rt), rn: Reg::new(rn), units: 0 });
    }

    pub(crate) fn msr(&mut self, to: Special, value: u32) {
        self.set(7, value);
        self.emit(Insn::Msr { to, rn: Reg::new(7) });
    }

    /// `vmov sN, rT`
    pub(crate) fn move_to_single(&mut self, n: u32, t: u32) {
        self.wide("VMOV from core", &[('w', n >> 1), ('N', n & 1), ('m', t)]);
    }

    pub(crate) fn barrier(&mut self, op: Barrier) {
        self.emit(Insn::Barrier { op });
    }

    pub(crate) fn svc(&mut self) {
        self.emit(Insn::Svc { imm8: 0 });
    }

    /// Jumps to an address, bit 0 being the Thumb bit.
    pub(crate) fn jump(&mut self, address: u32) {
        self.set(7, address);
        self.emit(Insn::Bx { rm: Reg::new(7) });
        self.asm.pool();
    }

    /// Ends a path: an empty loop, which ends the run when nothing is left to come.
    pub(crate) fn stop(&mut self) {
        let here = self.asm.label_here();
        self.asm.b(here);
        self.asm.pool();
    }

    /// A label here.
    pub(crate) fn label(&mut self) -> Label {
        self.asm.label_here()
    }

    pub(crate) fn branch(&mut self, cond: Cond, to: Label) {
        self.asm.b_cond(cond, to);
    }

    /// What follows handles an exception.
    pub(crate) fn handler(&mut self, exception: u32) {
        let label = self.asm.label_here();
        self.vectors.push((exception, label));
    }

    pub(crate) fn bx_lr(&mut self) {
        self.emit(Insn::Bx { rm: Reg::LR });
        self.asm.pool();
    }

    /// A core with the program in its flash, reset. Vectors without a handler lead to an empty
    /// loop.
    pub(crate) fn machine<O: Observer>(mut self, kind: CoreKind, observer: O) -> Machine<O> {
        let unexpected = self.here();
        self.stop();
        let address =
            |label| self.asm.address_of(label).expect("handlers are bound where they begin");
        let mut vectors = [unexpected | 1; 256];
        vectors[0] = RAM + RAM_BYTES;
        vectors[1] = CODE | 1;
        for &(exception, label) in &self.vectors {
            vectors[exception as usize] = address(label) | 1;
        }
        let (code, _) = self.asm.finish();
        let flash = Memory::new("flash", MemoryKind::Flash, 0, FLASH_BYTES);
        let ram = Memory::new("ram", MemoryKind::Ram, RAM, RAM_BYTES);
        let mut bus = Bus::new(flash, ram, 8_000_000);
        bus.load(0, &vectors.map(u32::to_le_bytes).concat()).expect("flash is that large");
        bus.load(CODE, &code).expect("flash is that large");
        let options = CoreOptions {
            timing: Timing::new(kind),
            irq_lines: 240,
            priority_bits: 8,
            mpu_regions: 8,
            cpuid: 0x410f_c241,
            systick_reference_divider: 0,
            systick_calibration: 0,
            trace_gate: None,
            vtor_mask: 0xffff_ff80,
            vectors: 0,
            bit_band: false,
        };
        let mut machine = Machine::new(bus, &options, observer);
        machine.reset().expect("there is a vector table");
        machine
    }
}

/// Runs up to a number of cycles since reset.
pub(crate) fn run<O: Observer>(machine: &mut Machine<O>, cycles: u64) -> Stop {
    machine.run(cycles, &AtomicBool::new(false))
}

/// Runs a program to its end and returns the core.
pub(crate) fn end(program: Program, kind: CoreKind) -> Machine<()> {
    let mut machine = program.machine(kind, ());
    let stop = run(&mut machine, 100_000);
    assert_eq!(stop, Stop::SleepsForever, "at {:#010x}", machine.cpu.pc);
    machine
}

/// Runs a program for a while and returns the core, which may have something pending for ever.
pub(crate) fn after(program: Program, kind: CoreKind) -> Machine<()> {
    let mut machine = program.machine(kind, ());
    assert_eq!(run(&mut machine, 2000), Stop::Limit);
    machine
}

/// A word in memory.
pub(crate) fn word<O: Observer>(machine: &Machine<O>, address: u32) -> u32 {
    machine.bus.peek(address, Size::Word).expect("there is memory")
}
