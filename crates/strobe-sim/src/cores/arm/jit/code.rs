//! Host code in memory, and the one place where it is called.

#![allow(unsafe_code)]

use cranelift_codegen::ir::{AbiParam, Function, types};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::Module;

use super::{Compiled, MOST_MEMORIES};
use crate::cores::arm::core::Machine;
use crate::cores::arm::cpu::Cpu;
use crate::cores::arm::exec::{Port, Work, exec};
use crate::cores::arm::fault::Fault;
use crate::kernel::device::Size;
use crate::kernel::flash::accelerator::Accelerator;
use crate::kernel::observe::{Observer, StackWindow, TransferKind};
use strobe_isa::thumb::insn::Insn;

/// What compiled code reads and writes besides the registers.
#[repr(C)]
pub(super) struct Frame {
    /// Cycles left before the horizon.
    pub(super) budget: i64,
    /// Instructions retired since reset.
    pub(super) instructions: u64,
    /// The half cycle carried.
    pub(super) carry: u32,
    /// Where an indirect jump goes.
    pub(super) value: u32,
    pub(super) ram: *mut u8,
    pub(super) flash: *const u8,
    /// The further memories, in the bus's order.
    pub(super) more: [*mut u8; MOST_MEMORIES],
    /// The flash accelerator, and the stamps that it keeps by block.
    pub(super) accelerator: *mut Accelerator,
    pub(super) stamps: *const u64,
    /// Where the stack pointer may go.
    pub(super) stack: StackWindow,
    /// The machine, for what is reported to its observer: a `Machine` of the observer that the
    /// code was compiled for.
    pub(super) machine: *mut (),
}

// SAFETY: what a frame points at is the machine's that it is part of and goes to another thread
// with it; each pointer is written again before code runs.
unsafe impl Send for Frame {}

impl Default for Frame {
    /// A frame that is still to be filled.
    fn default() -> Self {
        Frame {
            budget: 0,
            instructions: 0,
            carry: 0,
            value: 0,
            ram: std::ptr::null_mut(),
            flash: std::ptr::null(),
            more: [std::ptr::null_mut(); MOST_MEMORIES],
            accelerator: std::ptr::null_mut(),
            stamps: std::ptr::null(),
            stack: StackWindow::NONE,
            machine: std::ptr::null_mut(),
        }
    }
}

/// Why compiled code returned. The number is part of what it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExitKind {
    /// The block has not begun: it does not fit before the horizon.
    Horizon,
    /// The block ended and goes on at its end.
    Next,
    /// The block ended with its direct jump.
    Direct,
    /// The block ended with a jump to `Frame::value`.
    Indirect,
    /// The instruction `at` has not begun: it needs care.
    Miss,
}

/// What compiled code returns, packed into a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exit {
    pub(super) kind: ExitKind,
    /// Block, by its number in the region.
    pub(super) block: usize,
    /// Instruction in the block.
    pub(super) at: usize,
}

impl Exit {
    pub(super) fn pack(self) -> i64 {
        (self.block as i64) << 16 | (self.at as i64) << 8 | self.kind as i64
    }

    #[inline(always)]
    fn unpack(word: i64) -> Self {
        use ExitKind::*;
        let kind = match word & 0xff {
            0 => Horizon,
            1 => Next,
            2 => Direct,
            3 => Indirect,
            _ => Miss,
        };
        Exit { kind, block: (word >> 16) as usize, at: (word >> 8 & 0xff) as usize }
    }
}

/// The executable memory of one region. Boxed: the module is half a kilobyte that nobody reads, in
/// the middle of what is read at each call.
struct Memory(Option<Box<JITModule>>);

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(module) = self.0.take() {
            // SAFETY: the memory goes with its `Code`, and code runs only inside `Code::run`, which
            // borrows that: nobody is in, or can call into, what is freed here.
            unsafe { module.free_memory() };
        }
    }
}

/// Executes one instruction that neither branches nor uses memory: called from compiled code.
pub(super) const ALONE: unsafe extern "C" fn(*mut Cpu, *const Insn) = alone;

unsafe extern "C" fn alone(cpu: *mut Cpu, insn: *const Insn) {
    // SAFETY: compiled code passes the processor that `Code::run` borrowed for it and does not
    // touch it meanwhile; the instruction is one of a block's, which outlive the code
    // (`Machine::forget_code`).
    let (cpu, insn) = unsafe { (&mut *cpu, *insn) };
    let done = exec(cpu, &mut NoMemory, insn);
    debug_assert!(done.is_ok(), "{insn:?} uses memory");
}

/// A block begins whose lines the accelerator may lack; `arrived` as [`Accelerator::arrived`].
/// Returns the cycles that it waits, likely figure: called from compiled code.
pub(super) const FETCH: unsafe extern "C" fn(*mut Frame, u32, u32) -> i64 = fetch;

unsafe extern "C" fn fetch(frame: *mut Frame, block: u32, arrived: u32) -> i64 {
    // SAFETY: compiled code passes the frame that `Code::run` borrowed for it; nothing else refers
    // to it or to its accelerator meanwhile. Block numbers are those that the stamps were made
    // for.
    let frame = unsafe { &mut *frame };
    let accelerator = unsafe { &mut *frame.accelerator };
    accelerator.arrived = arrived;
    accelerator.fetch(block).likely as i64
}

/// The instruction at `pc` reads so many bytes at an address in flash; otherwise as [`FETCH`].
pub(super) const READ: unsafe extern "C" fn(*mut Frame, u32, u32, u32) -> i64 = read;

unsafe extern "C" fn read(frame: *mut Frame, pc: u32, address: u32, bytes: u32) -> i64 {
    // SAFETY: as in `fetch`.
    let frame = unsafe { &mut *frame };
    let accelerator = unsafe { &mut *frame.accelerator };
    accelerator.read_span(pc, address, bytes).likely as i64
}

/// Reports a transfer from an instruction to an address, with the cycles left then, the
/// instructions retired, and for a call where it returns to.
pub(super) type Report = unsafe extern "C" fn(*mut Frame, u32, u32, i64, u64, u32);

/// What compiled code calls to report transfers, by their kind.
#[derive(Clone, Copy)]
pub(super) struct Reports {
    pub(super) call: Report,
    pub(super) direct: Report,
    pub(super) indirect: Report,
}

impl Reports {
    /// Those for a machine with such an observer; none if it does not want to know.
    pub(super) fn to<O: Observer>() -> Option<Self> {
        O::FLOW.then_some(Reports {
            call: report_call::<O>,
            direct: report_direct::<O>,
            indirect: report_indirect::<O>,
        })
    }
}

// One function for each kind, so that whoever observes knows the kind when it is compiled.

unsafe extern "C" fn report_call<O: Observer>(
    frame: *mut Frame,
    from: u32,
    to: u32,
    budget: i64,
    instructions: u64,
    return_address: u32,
) {
    let kind = TransferKind::Call { return_address };
    // SAFETY: as `report` demands, which compiled code was made to keep to.
    unsafe { report::<O>(frame, kind, (from, to), (budget, instructions)) }
}

unsafe extern "C" fn report_direct<O: Observer>(
    frame: *mut Frame,
    from: u32,
    to: u32,
    budget: i64,
    instructions: u64,
    _: u32,
) {
    // SAFETY: as in `report_call`.
    unsafe { report::<O>(frame, TransferKind::Direct, (from, to), (budget, instructions)) }
}

unsafe extern "C" fn report_indirect<O: Observer>(
    frame: *mut Frame,
    from: u32,
    to: u32,
    budget: i64,
    instructions: u64,
    _: u32,
) {
    // SAFETY: as in `report_call`.
    unsafe { report::<O>(frame, TransferKind::Indirect, (from, to), (budget, instructions)) }
}

/// Reports a transfer from compiled code that goes on behind it.
///
/// # Safety
/// `frame` is the one that [`Code::run`] was given, its `machine` a live `Machine<O>` that nothing
/// else refers to during the call, and memory has all registers.
#[inline(always)]
unsafe fn report<O: Observer>(
    frame: *mut Frame,
    kind: TransferKind,
    (from, to): (u32, u32),
    (budget, instructions): (i64, u64),
) {
    // SAFETY: by the caller's promise. The frame is part of the machine, so that it is not used
    // while the machine is borrowed.
    unsafe {
        let machine = (*frame).machine.cast::<Machine<O>>();
        let stack = (*machine).report_compiled(kind, (from, to), (budget, instructions));
        (*frame).stack = stack;
    }
}

/// No memory at all.
struct NoMemory;

impl Port for NoMemory {
    type Stop = ();
    const EXCEPTION_RETURNS: bool = false;

    fn refuse(&mut self, _: Fault) {}
    fn divide_by_zero(&mut self) -> Result<(), ()> {
        Err(())
    }
    fn spend(&mut self, _: Work) {}
    fn load(&mut self, _: u32, _: Size, _: u32) -> Result<u32, ()> {
        Err(())
    }
    fn literal(&mut self, _: u32) -> Result<u32, ()> {
        Err(())
    }
    fn store(&mut self, _: u32, _: Size, _: u32, _: u32) -> Result<(), ()> {
        Err(())
    }
}

type Entry = unsafe extern "C" fn(*mut Cpu, *mut Frame, u32) -> i64;

/// One compiled region.
pub(super) struct Code {
    entry: Entry,
    _memory: Memory,
}

impl<O: Observer> Machine<O> {
    /// Runs compiled code until it gives up; the frame is filled.
    #[inline(always)]
    pub(super) fn enter_compiled(&mut self, at: Compiled) -> Exit {
        let entry = self.jit.regions[at.region as usize].code.entry;
        let machine = &raw mut *self;
        // SAFETY: `entry` points at code that `build::function` made for this signature and that
        // the region keeps; nothing that it calls forgets regions. It touches only: fields of `cpu`
        // and `frame`; the region's `Counters`, whose boxes do not
        // move, at its own block numbers and its plan's events, of which they hold one each;
        // `frame.accelerator`, and its stamps at numbers of blocks that it was given; guest memory
        // through `frame.ram`, `frame.flash` and `frame.more` after comparing the offset with the
        // length that the memory had when the code was made (`memory::pointer`), and memories never
        // change size; and, in `report`, the machine behind `frame.machine`, which is this one.
        // All of them are reached through `machine`, so that no borrow is open meanwhile. An entry
        // number that does not exist leaves at once.
        unsafe {
            let frame = &raw mut (*machine).jit.frame;
            let accelerator = &raw mut (*machine).bus.flash_interface.accelerator;
            (*frame).machine = machine.cast();
            (*frame).stamps = (*accelerator).stamps.as_ptr();
            (*frame).accelerator = accelerator;
            Exit::unpack(entry(&raw mut (*machine).cpu, frame, at.entry))
        }
    }
}

/// Compiles functions into executable memory.
pub(super) struct Compiler {
    isa: cranelift_codegen::isa::OwnedTargetIsa,
    context: cranelift_codegen::Context,
    builder: FunctionBuilderContext,
}

impl Compiler {
    /// A compiler for this host; `None` if Cranelift does not know it.
    pub(super) fn new() -> Option<Self> {
        let mut flags = settings::builder();
        flags.set("opt_level", "none").ok()?;
        flags.set("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }).ok()?;
        let isa = cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()?;
        (isa.pointer_type() == types::I64).then(|| Compiler {
            isa,
            context: cranelift_codegen::Context::new(),
            builder: FunctionBuilderContext::new(),
        })
    }

    /// Compiles what `build` puts into the function; `None` if that fails.
    pub(super) fn compile(
        &mut self,
        build: impl FnOnce(&mut Function, &mut FunctionBuilderContext, TargetFrontendConfig),
    ) -> Option<Code> {
        let builder =
            JITBuilder::with_isa(self.isa.clone(), cranelift_module::default_libcall_names());
        let mut module = JITModule::new(builder);
        let mut signature = module.make_signature();
        let parameters = [types::I64, types::I64, types::I32];
        signature.params.extend(parameters.map(AbiParam::new));
        signature.returns.push(AbiParam::new(types::I64));
        let id = module.declare_anonymous_function(&signature).ok()?;
        self.context.clear();
        self.context.func.signature = signature;
        build(&mut self.context.func, &mut self.builder, module.target_config());
        module.define_function(id, &mut self.context).ok()?;
        module.finalize_definitions().ok()?;
        let address = module.get_finalized_function(id);
        // SAFETY: `address` is the start of the function just defined with exactly this signature,
        // under the host's default calling convention, which is what `extern "C"` means.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(address) };
        Some(Code { entry, _memory: Memory(Some(Box::new(module))) })
    }
}
