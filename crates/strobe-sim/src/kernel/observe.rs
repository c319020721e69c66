//! What can be seen of a running board: the one interface between the simulation and whoever
//! measures.
//!
//! An observer states by associated constants what it wants to see; what nobody wants is compiled
//! out of the core's loop. Observers compose as tuples.

pub mod calls;
pub mod code;
pub mod counts;
pub mod deepest;
pub mod heap;
pub mod overflow;
pub mod per_call;
pub mod pins;
pub mod rtos;
pub mod schedule;
pub mod threads;
mod together;

use strobe_model::Cause;

use self::code::{BlockId, Code};
use self::schedule::Who;
use crate::kernel::bus::Bus;
use crate::kernel::device::{SerialFrame, Size};
use crate::kernel::model::Model;
use crate::kernel::signal::PinEdge;

/// Cycles beyond (or, on a single-cycle port, below) what the instruction table states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Why.
    pub cause: Cause,
    /// At least.
    pub low: i64,
    /// As counted on the simulated time line.
    pub likely: i64,
    /// At most.
    pub high: i64,
}

impl Wait {
    /// Cycles of a cause with their bounds.
    pub(crate) fn of(cause: Cause, b: strobe_model::Bounds) -> Self {
        Wait { cause, low: b.low as i64, likely: b.likely as i64, high: b.high as i64 }
    }

    /// The figure of one model, as one that is known.
    pub(crate) fn in_model(self, model: Model) -> Self {
        let only = |n: i64| Wait { low: n, likely: n, high: n, ..self };
        match model {
            Model::Low => only(self.low),
            Model::Likely => self,
            Model::High => only(self.high),
        }
    }
}

/// Which stack pointer is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stack {
    /// Main stack pointer.
    Main,
    /// Process stack pointer.
    Process,
}

/// How control went elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferKind {
    /// BL, BLX: `return_address` is in LR. AVR: CALL and its kind, which push it.
    Call {
        /// Where the callee will come back to.
        return_address: u32,
    },
    /// BX, POP {PC}, MOV PC; RET, IJMP: a return, a tail call or a computed jump.
    Indirect,
    /// A direct branch, or falling through, into another function.
    Direct,
    /// The core entered a handler. `to` is its first instruction.
    ExceptionEntry {
        /// Exception number.
        exception: u16,
        /// Cycle at which the exception became pending.
        pended_at: u64,
        /// The instruction that masked interrupts, if this one waited for the end of that.
        masked_from: Option<u32>,
        /// Stack pointer of the interrupted code before its frame was stacked.
        interrupted_sp: u32,
        /// The handler that ended just before, when tail-chained: nothing was unstacked in
        /// between.
        after: Option<u16>,
        /// Cycles of the entry, already in the transfer's `now`.
        cost: u64,
    },
    /// The core left a handler. `to` is the interrupted instruction.
    ExceptionReturn {
        /// Exception number of the handler that ended.
        exception: u16,
    },
    /// The core was reset after it had run. `to` is the first instruction.
    Reset,
}

/// A change of flow that may change the running function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// How.
    pub kind: TransferKind,
    /// Address of the instruction that did it (for exceptions, the one interrupted).
    pub from: u32,
    /// Address of the next instruction.
    pub to: u32,
    /// Stack pointer after the transfer: the address of the last thing pushed. A return address
    /// that a call pushes (AVR) counts as not pushed yet, so that a call and its return have
    /// the same.
    pub sp: u32,
    /// Which stack that is.
    pub stack: Stack,
    /// Cycles since reset, everything that the transfer cost included.
    pub now: u64,
    /// Of these, asleep or idle.
    pub asleep: u64,
    /// Instructions since reset.
    pub instructions: u64,
    /// The first words of a called function's arguments by the calling convention, of which the
    /// first is also a function's result: R0 to R3; AVR: R25:R24, R23:R22, R21:R20, R19:R18.
    pub arguments: [u32; 4],
}

/// A moment of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moment {
    /// Cycles since reset.
    pub cycle: u64,
    /// Of these, asleep.
    pub asleep: u64,
    /// Instructions since reset.
    pub instructions: u64,
}

/// A data access by the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Address of the instruction.
    pub pc: u32,
    /// Address accessed.
    pub address: u32,
    /// Width.
    pub size: Size,
    /// A store.
    pub write: bool,
    /// What was read or written.
    pub value: u32,
    /// Cycle of the data phase.
    pub cycle: u64,
}

/// One retired instruction in full, for observers that want each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retired {
    /// Its address.
    pub pc: u32,
    /// Cycle at which it started.
    pub start: u64,
    /// Cycles it took, all waits included.
    pub cycles: u32,
    /// It changed the flow.
    pub jumped: bool,
}

/// How the stack pointer has got to where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    /// Nobody knows.
    Unknown,
    /// By pushes, pops and sums, or with an exception's frame: it is on the stack that it was on.
    Moved,
    /// An instruction has set it to what a register or memory held.
    Set {
        /// What it was before.
        before: u32,
    },
}

/// The stack pointer at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackPoint {
    /// The stack pointer.
    pub sp: u32,
    /// Which one it is.
    pub stack: Stack,
    /// How it has got there.
    pub motion: Motion,
    /// The instruction that it was set by, or that an exception interrupted.
    pub pc: u32,
    /// Cycles since reset.
    pub now: u64,
}

/// Stack pointers that bring nothing new: of the running stack, all from the lowest to the highest
/// so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct StackWindow {
    /// The lowest.
    pub low: u32,
    /// How much higher the highest is.
    pub span: u32,
}

impl StackWindow {
    /// Every stack pointer.
    pub const ALL: StackWindow = StackWindow { low: 0, span: u32::MAX };
    /// None that a stack pointer, which is even, could be.
    pub const NONE: StackWindow = StackWindow { low: u32::MAX, span: 0 };

    /// What is left of one that holds `sp` without what lies below an address; none if `sp` does.
    #[must_use]
    pub(crate) fn above(self, low: u32, sp: u32) -> StackWindow {
        match low.checked_sub(self.low).filter(|_| self != Self::NONE) {
            Some(_) if sp < low => Self::NONE,
            Some(cut) => StackWindow { low, span: self.span.saturating_sub(cut) },
            None => self,
        }
    }

    /// Whether a stack pointer lies in it.
    #[inline(always)]
    pub fn contains(self, sp: u32) -> bool {
        sp.wrapping_sub(self.low) <= self.span
    }
}

/// What the trace pin is coded in (SPPR.TXMODE of a trace port interface unit).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// One pin, Manchester code.
    Manchester,
    /// One pin, as a serial port.
    Nrz,
}

/// A byte that leaves the trace pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceByte {
    /// Cycle at which its start bit begins.
    pub cycle: u64,
    /// The same in picoseconds since reset.
    pub at_ps: u64,
    /// How long a bit takes, in picoseconds. It changes with the core's clock.
    pub bit_ps: u64,
    /// The byte.
    pub value: u8,
    /// How the pin shows it.
    pub coding: Coding,
}

/// Sees a board run.
///
/// [`Observer::block`] stands for every instruction of a decoded block; instructions of a block
/// that was left or entered half-way come one by one through [`Observer::retired`].
pub trait Observer {
    /// Wants [`Observer::block`], [`Observer::retired`], [`Observer::skipped`] and
    /// [`Observer::wait`].
    const COUNTS: bool = false;
    /// Wants [`Observer::transfer`].
    const FLOW: bool = false;
    /// Wants [`Observer::instruction`] for each instruction; turns whole-block execution off.
    const EACH: bool = false;
    /// Wants [`Observer::access`], whatever [`Observer::follows_accesses`] answers; turns
    /// whole-block execution off.
    const ACCESSES: bool = false;

    /// Block `id` has been decoded. Ids count from 0; after [`Observer::forget`] they start again.
    fn decoded(&mut self, id: BlockId, code: &Code) {
        let _ = (id, code);
    }
    /// All block ids are void: code or its timing has changed.
    fn forget(&mut self) {}
    /// Block `id` ran from start to end `times` times; its last instruction jumped if `jumped`.
    /// Reported at the latest when the machine stops.
    #[inline(always)]
    fn block(&mut self, id: BlockId, jumped: bool, times: u64) {
        let _ = (id, jumped, times);
    }
    /// Block `id` ran `times` times in a row, jumping back to itself each time.
    fn idle_block(&mut self, id: BlockId, times: u64) {
        let _ = (id, times);
    }
    /// Instruction `at` of block `id` retired.
    fn retired(&mut self, id: BlockId, at: usize, jumped: bool) {
        let _ = (id, at, jumped);
    }
    /// The same `times` times more.
    fn retired_again(&mut self, id: BlockId, at: usize, jumped: bool, times: u64) {
        let _ = (id, at, jumped, times);
    }
    /// The instructions of block `id` before `at` retired, one after the other.
    fn retired_before(&mut self, id: BlockId, at: usize) {
        (0..at).for_each(|i| self.retired(id, i, false));
    }
    /// Instruction `at` of block `id`, which [`Observer::block`] or [`Observer::retired`] reports
    /// as well, did nothing but take one cycle, `times` times: its condition failed (IT).
    /// Reported at the latest when the machine stops.
    fn skipped(&mut self, id: BlockId, at: usize, times: u64) {
        let _ = (id, at, times);
    }
    /// Cycles on top of the instruction table, for the instruction at `pc`.
    fn wait(&mut self, pc: u32, wait: Wait) {
        let _ = (pc, wait);
    }
    /// Control went elsewhere. Memory may be looked at, devices do not answer.
    #[inline(always)]
    fn transfer(&mut self, transfer: &Transfer, bus: &Bus) {
        let _ = (transfer, bus);
    }
    /// Looks at [`Transfer::arguments`], which are zero otherwise.
    #[inline(always)]
    fn wants_arguments(&self) -> bool {
        false
    }
    /// A turn of a loop begins, of which more may follow that are not executed.
    fn begin_turn(&mut self, now: Moment) {
        let _ = now;
    }
    /// That turn has ended. Returns whether [`Observer::repeat_turn`] can account for more of it.
    fn end_turn(&mut self, now: Moment) -> bool {
        let _ = now;
        true
    }
    /// The turn took place `times` times more, with the same transfers, up to `now`. Instructions
    /// and waits are reported besides.
    fn repeat_turn(&mut self, times: u64, now: Moment) {
        let _ = (times, now);
    }
    /// Who runs, for observers that know; asked for after a transfer if counts are to be kept
    /// apart for each.
    fn who(&self) -> Option<Who> {
        None
    }
    /// What is counted from now on belongs to this thread or handler.
    fn belongs_to(&mut self, who: Who) {
        let _ = who;
    }
    /// An instruction retired.
    fn instruction(&mut self, retired: &Retired) {
        let _ = retired;
    }
    /// Wants [`Observer::stack`]; the answer does not change during a run.
    #[inline(always)]
    fn follows_stack(&self) -> bool {
        false
    }
    /// Stack pointers that [`Observer::stack`] need not hear of now; it changes with what that and
    /// [`Observer::transfer`] hear of.
    #[inline(always)]
    fn stack_window(&self) -> StackWindow {
        StackWindow::ALL
    }
    /// The stack pointer, outside [`Observer::stack_window`], after an instruction or a transfer;
    /// also after an exception's frame was stacked.
    fn stack(&mut self, point: StackPoint, bus: &Bus) {
        let _ = (point, bus);
    }
    /// Wants [`Observer::access`] in this run, which turns whole-block execution off; the answer
    /// does not change during a run.
    #[inline(always)]
    fn follows_accesses(&self) -> bool {
        Self::ACCESSES
    }
    /// The core accessed memory or a device.
    fn access(&mut self, access: &Access, bus: &mut Bus) {
        let _ = (access, bus);
    }
    /// A pin changed level.
    fn pin(&mut self, edge: &PinEdge) {
        let _ = edge;
    }
    /// A frame passed a serial interface.
    fn frame(&mut self, frame: &SerialFrame) {
        let _ = frame;
    }
    /// A byte left the trace pin, if the core has one. Reported in time order, some time after.
    fn trace(&mut self, byte: &TraceByte) {
        let _ = byte;
    }
    /// The core slept, or went round an idle loop, from one cycle to another; long sleeps come in
    /// pieces.
    fn slept(&mut self, from: u64, to: u64) {
        let _ = (from, to);
    }
}
