//! The simulated core as the comparison wants it: flash at 0, RAM at 0x20000000, stoppable
//! anywhere.

use std::sync::atomic::AtomicBool;

use strobe_oracle::{CpuState, FpState, Program, Step, Stepper, Stop};
use strobe_sim::bus::Bus;
use strobe_sim::cortexm::timing::{CoreKind, Timing};
use strobe_sim::cortexm::{self, CoreOptions, Machine};
use strobe_sim::device::Size;
use strobe_sim::memory::{Memory, MemoryKind};
use strobe_synth::Rng;

/// Flash and RAM in bytes, as QEMU's machine for the core has them.
fn memories(kind: CoreKind) -> (u32, u32) {
    if kind.architecture().v7m { (4 << 20, 4 << 20) } else { (256 << 10, 16 << 10) }
}

/// BKPT 0xAB: strides end before it, for what the host answers must be taken over at once.
const SEMIHOSTING: u32 = 0xbeab;
/// Calls that leave in R0 what no two hosts agree on: SYS_WRITEC and SYS_WRITE0 corrupt it,
/// SYS_CLOCK and SYS_TIME read the time.
const HOSTS_DIFFER: [u32; 4] = [0x03, 0x04, 0x10, 0x11];

/// How far to run between two comparisons.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stride {
    /// One instruction.
    One,
    /// A random number of cycles.
    Random { seed: u64, up_to: u32 },
}

pub(crate) struct Core {
    machine: Machine<()>,
    kind: CoreKind,
    stride: Stride,
    rng: Rng,
    exit_code: Option<i32>,
}

impl Core {
    pub(crate) fn load(elf: &[u8], kind: CoreKind, stride: Stride) -> Self {
        let (flash_bytes, ram_bytes) = memories(kind);
        let flash = Memory::new("flash", MemoryKind::Flash, 0, flash_bytes);
        let ram = Memory::new("ram", MemoryKind::Ram, 0x2000_0000, ram_bytes);
        let mut bus = Bus::new(flash, ram, 16_000_000);
        for (address, bytes) in Program::from_elf(elf).expect("an ELF program").image() {
            bus.load(address, bytes).expect("the program fits the memories");
        }
        let options = CoreOptions {
            timing: Timing::new(kind),
            irq_lines: 32,
            priority_bits: if kind.architecture().v7m { 8 } else { 2 },
            mpu_regions: 8,
            cpuid: 0x410c_c200,
            systick_reference_divider: 0,
            systick_calibration: 0,
            trace_gate: None,
            vtor_mask: 0,
            vectors: 0,
            bit_band: false,
        };
        let halfwords = (0..flash_bytes).step_by(2);
        let calls = halfwords.filter(|&at| bus.peek(at, Size::Half) == Some(SEMIHOSTING)).collect();
        let mut machine = Machine::new(bus, &options, ());
        machine.set_stops(calls);
        // Nearly everything as host code, against the interpreter and QEMU.
        machine.set_compile_after(Some(2));
        machine.reset().expect("the vector table can be read");
        let seed = if let Stride::Random { seed, .. } = stride { seed } else { 0 };
        Self { machine, kind, stride, rng: Rng::new(seed), exit_code: None }
    }

    /// Cycles since reset.
    pub(crate) fn cycles(&self) -> u64 {
        self.machine.cycles()
    }

    /// Runs to the program's end, with nobody to agree with.
    pub(crate) fn run_to_exit(&mut self) {
        self.machine.set_stops(Vec::new());
        let why = self.machine.run(u64::MAX, &AtomicBool::new(false));
        assert!(matches!(why, cortexm::Stop::Exit(_)), "{why:?}");
    }

    fn at_semihosting_call(&self) -> bool {
        self.machine.bus.peek(self.machine.cpu.pc, Size::Half) == Some(SEMIHOSTING)
    }

    /// How the program ended, once it has.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }
}

impl Stepper for Core {
    fn state(&self) -> CpuState {
        let cpu = &self.machine.cpu;
        let fp = FpState { s: cpu.fp.s, fpscr: cpu.fp.fpscr() };
        let fp = self.kind.architecture().fp.then_some(fp);
        CpuState { r: cpu.registers(), xpsr: cpu.xpsr(), fp }
    }

    fn adopt(&mut self, state: &CpuState) {
        self.machine.cpu.r[..15].copy_from_slice(&state.r[..15]);
        self.machine.cpu.set_apsr(state.xpsr);
    }

    fn step(&mut self) -> Step {
        let asks = self.at_semihosting_call();
        let cycles = match self.stride {
            Stride::Random { up_to, .. } if !asks => 1 + self.rng.below(up_to),
            Stride::Random { .. } | Stride::One => 1,
        };
        let answered = asks && HOSTS_DIFFER.contains(&self.machine.cpu.r[0]);
        // An instruction that faults does not retire, but it is a step of the trace.
        let steps = |machine: &Machine<()>| machine.instructions() + machine.abandoned();
        let before = steps(&self.machine);
        let limit = self.machine.cycles() + u64::from(cycles);
        let mut run = || self.machine.run(limit, &AtomicBool::new(false));
        let why = match run() {
            // A call that the step before ended at: reported first, then executed.
            cortexm::Stop::Address(_) if asks => run(),
            other => other,
        };
        let instructions = steps(&self.machine) - before;
        match why {
            cortexm::Stop::Limit | cortexm::Stop::Address(_) | cortexm::Stop::HardFault(_) => {
                Step { answered, ..Step::of(instructions) }
            }
            cortexm::Stop::Exit(code) => {
                self.exit_code = Some(code);
                Step::last(instructions, Stop::Exited)
            }
            other => Step::last(instructions, Stop::Stuck(format!("{other:?}"))),
        }
    }
}
