//! Stack unwinding: from the registers at one moment to the chain of calls.
//!
//! Frames made by calls are unwound with call frame information or, without any, with the exception
//! index tables; where the processor is in an epilogue, through what is left of it (`epilogue.rs`).
//! Each step is checked: the stack must not shrink, and what returns must return behind a call.
//! Frames made by exceptions are read where the hardware put them (ARMv6-M manual, B1.5.6 and
//! B1.5.8). Memory is read through a closure. Every walk ends, reports why, and marks guesses;
//! `unwind/code.rs` has the steps that need no tables. This module must not know the source of the
//! registers.

mod code;

use gimli::{BaseAddresses, CfaRule, Register, RegisterRule, UnwindContext, UnwindSection as _};

use crate::code::CodeKind;
use crate::exidx::{self, Rules, Stuck};
use crate::firmware::Firmware;
use crate::image::ReturnAddress;
use crate::prologue;

/// Maximum frames in a backtrace; deeper stacks are truncated.
const MOST_FRAMES: usize = 256;
/// Numbers of the core registers in DWARF and in the architecture.
const SP: usize = 13;
const LR: usize = 14;
const PC: usize = 15;

/// The processor's registers at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registers {
    /// R0 to R12, SP, LR, PC.
    pub core: [u32; 16],
    /// The main stack pointer, needed only while a process stack is in use.
    pub main_stack_pointer: Option<u32>,
    /// The process stack pointer, needed only to walk from a handler into a thread that uses it.
    pub process_stack_pointer: Option<u32>,
}

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StackFrameKind {
    /// The current position of the processor.
    Current,
    /// A call that has not returned.
    Caller,
    /// Interrupted by an exception.
    Interrupted,
}

/// One level of the stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackFrame {
    /// The current or return address, the Thumb bit cleared.
    pub pc: u32,
    /// The stack pointer there.
    pub sp: u32,
    /// The kind of frame.
    pub kind: StackFrameKind,
    /// Whether the frame was guessed from LR, for want of call frame information.
    pub guessed: bool,
}

impl StackFrame {
    /// The address for [`Firmware::frames`]: within the call instruction for callers, the exact one
    /// otherwise.
    pub fn lookup_address(&self) -> u32 {
        match self.kind {
            StackFrameKind::Caller => ReturnAddress(self.pc).call_site(),
            StackFrameKind::Current | StackFrameKind::Interrupted => self.pc,
        }
    }
}

/// Why a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnwindEnd {
    /// The outermost frame: it has no caller.
    #[error("the bottom of the stack")]
    Bottom,
    /// The function has no call frame information.
    #[error("no unwind information for the function at {pc:#010x}; compile with -g")]
    NoUnwindInfo {
        /// An address in the function.
        pc: u32,
    },
    /// The program counter is not in code.
    #[error("{pc:#010x} is not code of this image")]
    OutsideCode {
        /// The address.
        pc: u32,
    },
    /// The return address is not behind a call: the frame was not what the walk took it for.
    #[error("{pc:#010x} is not behind a call")]
    NotACall {
        /// The return address.
        pc: u32,
    },
    /// The exception index tables mark the function as one whose callers cannot be found.
    #[error("the function at {pc:#010x} is marked as not to be unwound; compile with -g")]
    Marked {
        /// An address in the function.
        pc: u32,
    },
    /// Memory that the walk needs cannot be read.
    #[error("the stack cannot be read at {address:#010x}")]
    Unreadable {
        /// The address.
        address: u32,
    },
    /// The interrupted thread uses the process stack, whose pointer was not given.
    #[error("the process stack pointer is not known")]
    NoProcessStackPointer,
    /// The call frame information has rules that no compiler emits for this machine, or is damaged.
    #[error("the unwind information for {pc:#010x} cannot be used")]
    BadUnwindInfo {
        /// An address in the function.
        pc: u32,
    },
    /// The same frame occurs again: the stack is overwritten.
    #[error("the stack repeats itself at {sp:#010x}; it may have been overwritten")]
    NoProgress {
        /// The stack pointer.
        sp: u32,
    },
    /// The limit was reached.
    #[error("more than {MOST_FRAMES} frames")]
    TooDeep,
}

/// The frames, innermost first, and why there are no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backtrace {
    /// The frames, innermost first; the first is where the processor is.
    pub frames: Vec<StackFrame>,
    /// Why the walk ended.
    pub end: UnwindEnd,
}

impl Firmware {
    /// Walks the stack from `registers`; `read_word` reads a word of memory as the program sees it.
    pub fn backtrace(
        &self,
        registers: &Registers,
        read_word: impl FnMut(u32) -> Option<u32>,
    ) -> Backtrace {
        self.walk(registers, StackFrameKind::Current, read_word)
    }

    fn walk(
        &self,
        registers: &Registers,
        innermost: StackFrameKind,
        read_word: impl FnMut(u32) -> Option<u32>,
    ) -> Backtrace {
        let mut walk = Walk {
            firmware: self,
            read_word,
            registers: registers.clone(),
            is_process: registers.main_stack_pointer.is_some_and(|at| at != registers.core[SP]),
            context: UnwindContext::new(),
        };
        let mut frames = vec![walk.frame(innermost, false)];
        let end = loop {
            if frames.len() == MOST_FRAMES {
                break UnwindEnd::TooDeep;
            }
            let Some(last) = frames.last() else { break UnwindEnd::Bottom };
            match walk.step(last) {
                Ok((kind, guessed)) => {
                    let next = walk.frame(kind, guessed);
                    if frames.iter().any(|frame| (frame.pc, frame.sp) == (next.pc, next.sp)) {
                        break UnwindEnd::NoProgress { sp: next.sp };
                    }
                    frames.push(next);
                }
                Err(end) => break end,
            }
        };
        Backtrace { frames, end }
    }
}

/// A part of a board's memory, as a capture holds it.
#[derive(Debug, Clone, Copy)]
pub struct StackWindow<'a> {
    /// Address of the first byte.
    pub address: u32,
    /// The bytes, in the order of their addresses.
    pub bytes: &'a [u8],
}

impl StackWindow<'_> {
    /// The word at an address, if all of it is there.
    pub fn word(&self, address: u32) -> Option<u32> {
        let at = usize::try_from(address.checked_sub(self.address)?).ok()?;
        let bytes = self.bytes.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }
}

impl Firmware {
    /// Walks a stack that was captured from a board: registers and so much of the stack. Where the
    /// window ends, so does the walk, with [`UnwindEnd::Unreadable`].
    pub fn backtrace_of(&self, registers: &Registers, stack: StackWindow<'_>) -> Backtrace {
        self.backtrace(registers, |address| stack.word(address))
    }

    /// The callers of a function, from the address that it returns to and so much of the stack as
    /// was captured when it was called, whose first word is where the stack pointer was. Other
    /// registers are not known: where a frame pointer is needed, the walk ends.
    pub fn callers(&self, returns_to: u32, stack: StackWindow<'_>) -> Backtrace {
        let mut core = [0; 16];
        (core[SP], core[PC]) = (stack.address, returns_to);
        let registers = Registers { core, main_stack_pointer: None, process_stack_pointer: None };
        self.walk(&registers, StackFrameKind::Caller, |address| stack.word(address))
    }
}

struct Walk<'a, M> {
    firmware: &'a Firmware,
    read_word: M,
    registers: Registers,
    /// The stack pointer is that of a process stack.
    is_process: bool,
    context: UnwindContext<usize>,
}

impl<M: FnMut(u32) -> Option<u32>> Walk<'_, M> {
    fn frame(&self, kind: StackFrameKind, guessed: bool) -> StackFrame {
        StackFrame { pc: self.registers.core[PC] & !1, sp: self.registers.core[SP], kind, guessed }
    }

    fn read(&mut self, address: u32) -> Result<u32, UnwindEnd> {
        (self.read_word)(address).ok_or(UnwindEnd::Unreadable { address })
    }

    /// Replaces the registers by those of the caller; returns the kind of frame and whether it is a
    /// guess.
    fn step(&mut self, frame: &StackFrame) -> Result<(StackFrameKind, bool), UnwindEnd> {
        if frame.kind != StackFrameKind::Caller
            && let Some(kind) = self.finish(frame)
        {
            return Ok((kind, false));
        }
        let moved = self.leave_process_stack(frame);
        let frame = moved.as_ref().unwrap_or(frame);
        let before = self.registers.clone();
        self.by_tables(frame).or_else(|end| {
            let may_be_known = matches!(
                end,
                UnwindEnd::NoUnwindInfo { .. }
                    | UnwindEnd::BadUnwindInfo { .. }
                    | UnwindEnd::Marked { .. }
                    | UnwindEnd::NoProgress { .. }
            );
            self.registers = before;
            let kind = may_be_known.then(|| self.by_code(frame)).flatten();
            kind.map(|kind| (kind, true)).ok_or(end)
        })
    }

    /// Goes to the caller by unwind information; without any, by a guess.
    fn by_tables(&mut self, frame: &StackFrame) -> Result<(StackFrameKind, bool), UnwindEnd> {
        let address = frame.lookup_address();
        if frame.kind != StackFrameKind::Caller
            && self.lacks_frame(address)
            && let Some(kind) = self.by_code(frame)
        {
            return Ok((kind, true));
        }
        if let Some(entry) = self.firmware.cfi.find(address) {
            let return_address = self.unwind_call(entry, address)?;
            return self.go_to(return_address, frame).map(|kind| (kind, false));
        }
        match self.firmware.exidx.find(self.firmware, address) {
            None => match self.by_code(frame) {
                Some(kind) => Ok((kind, true)),
                None => self.guess(frame),
            },
            // Assembly is marked so, too, and its innermost functions have not touched LR.
            Some(Rules::Cannot) => match self.by_code(frame) {
                Some(kind) => Ok((kind, true)),
                None => self.guess(frame).map_err(|end| match end {
                    UnwindEnd::NoUnwindInfo { pc } => UnwindEnd::Marked { pc },
                    other => other,
                }),
            },
            Some(Rules::Damaged) => Err(UnwindEnd::BadUnwindInfo { pc: address }),
            Some(Rules::Instructions(instructions)) => {
                let read = &mut self.read_word;
                let done = exidx::follow(&instructions, &mut self.registers.core, read);
                done.map_err(|stuck| match stuck {
                    Stuck::Unreadable(address) => UnwindEnd::Unreadable { address },
                    Stuck::Damaged => UnwindEnd::BadUnwindInfo { pc: address },
                    Stuck::Refused => UnwindEnd::Marked { pc: address },
                })?;
                let return_address = self.registers.core[PC];
                let kind = self.go_to(return_address, frame)?;
                // The tables describe a function behind its prologue.
                Ok((kind, frame.kind != StackFrameKind::Caller))
            }
        }
    }

    /// A function without call frame information may not have touched LR and SP yet, as small
    /// assembly functions never do. That can hold only at the innermost frame, and the next frame
    /// is marked as a guess.
    fn guess(&mut self, frame: &StackFrame) -> Result<(StackFrameKind, bool), UnwindEnd> {
        let lr = self.registers.core[LR];
        let is_code = |address| self.firmware.code_kind(address) == Some(CodeKind::Thumb);
        let here = is_code(frame.pc);
        let may_be_leaf = frame.kind != StackFrameKind::Caller && lr & 1 == 1;
        if may_be_leaf && (is_exception_return(lr) || is_code(ReturnAddress(lr).call_site())) {
            return self.go_to(lr, frame).map(|kind| (kind, true));
        }
        Err(if here {
            UnwindEnd::NoUnwindInfo { pc: frame.pc }
        } else {
            UnwindEnd::OutsideCode { pc: frame.pc }
        })
    }

    fn go_to(
        &mut self,
        return_address: u32,
        frame: &StackFrame,
    ) -> Result<StackFrameKind, UnwindEnd> {
        if is_exception_return(return_address) {
            self.unwind_exception(return_address)?;
            return Ok(StackFrameKind::Interrupted);
        }
        // LR is all ones after reset on ARMv7-M; start-up code often clears it.
        if return_address & !1 == 0 || return_address == u32::MAX {
            return Err(UnwindEnd::Bottom);
        }
        self.check_return(return_address)?;
        if return_address & !1 == frame.pc && self.registers.core[SP] == frame.sp {
            return Err(UnwindEnd::NoProgress { sp: frame.sp });
        }
        if self.registers.core[SP] < frame.sp || self.registers.core[SP] & 3 != 0 {
            return Err(UnwindEnd::NoProgress { sp: self.registers.core[SP] });
        }
        self.registers.core[PC] = return_address;
        Ok(StackFrameKind::Caller)
    }

    /// Whether a return address is behind a call. Kernels begin a thread with the return address of
    /// a function that ends it: that is the bottom of its stack.
    fn check_return(&self, return_address: u32) -> Result<(), UnwindEnd> {
        let pc = return_address & !1;
        let call = ReturnAddress(return_address).call_site();
        if self.firmware.code_kind(call) != Some(CodeKind::Thumb) && !self.is_function(pc) {
            return Err(UnwindEnd::OutsideCode { pc });
        }
        let is_call = prologue::call_before(self.firmware, pc).is_some();
        match return_address & 1 == 1 && is_call {
            true => Ok(()),
            false if self.is_function(pc) => Err(UnwindEnd::Bottom),
            false => Err(UnwindEnd::NotACall { pc }),
        }
    }

    /// Whether a function begins at an address.
    fn is_function(&self, address: u32) -> bool {
        let function = self.firmware.function_at(address).map(|id| self.firmware.function(id));
        function.is_some_and(|function| function.start & !1 == address)
    }

    /// Applies the rules of the call frame information and returns the return address.
    fn unwind_call(&mut self, entry: usize, address: u32) -> Result<u32, UnwindEnd> {
        let bad = |_| UnwindEnd::BadUnwindInfo { pc: address };
        let section = self.firmware.cfi.frames(&self.firmware.bytes);
        let bases = BaseAddresses::default();
        let fde = section
            .fde_from_offset(&bases, entry.into(), |section, bases, offset| {
                section.cie_from_offset(bases, offset)
            })
            .map_err(bad)?;
        let row = fde
            .unwind_info_for_address(&section, &bases, &mut self.context, u64::from(address))
            .map_err(bad)?
            .clone();
        let old = self.registers.core;
        let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else {
            return Err(UnwindEnd::BadUnwindInfo { pc: address });
        };
        let base =
            old.get(usize::from(register.0)).ok_or(UnwindEnd::BadUnwindInfo { pc: address })?;
        let cfa = base.wrapping_add_signed(offset as i32);
        for number in 0..PC {
            let value = match row.register(Register(number as u16)) {
                Some(RegisterRule::Offset(offset)) => {
                    self.read(cfa.wrapping_add_signed(offset as i32))?
                }
                Some(RegisterRule::ValOffset(offset)) => cfa.wrapping_add_signed(offset as i32),
                Some(RegisterRule::Register(other)) => {
                    old.get(usize::from(other.0)).copied().unwrap_or_default()
                }
                Some(RegisterRule::Undefined) if number == LR => return Err(UnwindEnd::Bottom),
                None | Some(RegisterRule::Undefined | RegisterRule::SameValue) => old[number],
                Some(_) => return Err(UnwindEnd::BadUnwindInfo { pc: address }),
            };
            self.registers.core[number] = value;
        }
        self.registers.core[SP] = cfa;
        Ok(self.registers.core[LR])
    }

    /// Reads the frame that the hardware pushed: R0 to R3, R12, LR, PC, xPSR.
    fn unwind_exception(&mut self, exception_return: u32) -> Result<(), UnwindEnd> {
        let from_process_stack = exception_return & 4 != 0;
        self.is_process = from_process_stack;
        let frame = if from_process_stack {
            self.registers.main_stack_pointer = Some(self.registers.core[SP]);
            self.registers.process_stack_pointer.ok_or(UnwindEnd::NoProcessStackPointer)?
        } else {
            self.registers.core[SP]
        };
        for (slot, number) in [0, 1, 2, 3, 12, LR, PC].into_iter().enumerate() {
            self.registers.core[number] = self.read(frame.wrapping_add(4 * slot as u32))?;
        }
        let status = self.read(frame.wrapping_add(28))?;
        // With a floating-point unit 18 more words are reserved (EXC_RETURN bit 4 clear, ARMv7-M
        // only). Bit 9 of the stacked xPSR is set if a word was added to align the frame to eight
        // bytes.
        let size = if exception_return & 0x10 == 0 { 0x68 } else { 0x20 };
        let padding = if status & 1 << 9 != 0 { 4 } else { 0 };
        self.registers.core[SP] = frame.wrapping_add(size + padding);
        Ok(())
    }
}

/// Whether a value in LR is an EXC_RETURN (ARMv6-M manual, table B1-8; ARMv7-M manual, table B1-9
/// for those with bit 4 clear).
fn is_exception_return(value: u32) -> bool {
    matches!(
        value,
        0xffff_fff1 | 0xffff_fff9 | 0xffff_fffd | 0xffff_ffe1 | 0xffff_ffe9 | 0xffff_ffed
    )
}
