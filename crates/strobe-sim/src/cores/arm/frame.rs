//! Exception frames of ARMv7-M (DDI 0403, B1.5.6-B1.5.8): what is stacked on the way into a handler
//! and comes back on the way out, the floating-point registers among it, at once or lazily.
//!
//! Frames of ARMv6-M, which are simpler, are with `exception.rs`.

use strobe_model::{Bounds, Cause};

use super::core::Machine;
use super::cpu::Cpu;
use super::fault::{ExceptionStep, Fault};
use super::mpu::{Purpose, Rights};
use super::system::{fpccr, number};
use crate::kernel::device::Size;
use crate::kernel::observe::{Observer, Wait};

/// R0-R3, R12, LR, return address, xPSR.
const BASIC_BYTES: u32 = 0x20;
/// The same, S0-S15, FPSCR and a reserved word.
const EXTENDED_BYTES: u32 = 0x68;
/// Floating-point words of a frame: S0-S15 and FPSCR.
const FP_WORDS: u32 = 17;

/// EXC_RETURN bit 4: the frame is a basic one.
pub(super) const BASIC_FRAME: u32 = 1 << 4;

/// Why a word of a frame could not be reached.
#[derive(Debug, Clone, Copy)]
struct Unreachable {
    address: u32,
    protected: bool,
}

/// A frame that was stacked.
pub(super) struct Stacked {
    /// Where, if all of it could be written.
    pub(super) frame: Option<u32>,
    /// The EXC_RETURN value that comes back to it.
    pub(super) exc_return: u32,
    /// The floating-point registers were written as well.
    pub(super) with_fp: bool,
    /// What went wrong.
    pub(super) fault: Option<Fault>,
}

impl<O: Observer> Machine<O> {
    /// What the running code may access; `privileged` if it is not the running code.
    pub(super) fn rights(&self, privileged: bool) -> Rights {
        let unprotected = self.system.mpu.is_on() && self.execution_priority() < 0;
        Rights { privileged, unprotected }
    }

    fn frame_access(&self, address: u32, purpose: Purpose, r: Rights) -> Result<(), Unreachable> {
        if self.system.mpu.permission(address, r).allows(purpose) {
            return Ok(());
        }
        Err(Unreachable { address, protected: true })
    }

    fn stack_word(&mut self, address: u32, word: u32, rights: Rights) -> Result<(), Unreachable> {
        self.frame_access(address, Purpose::Store, rights)?;
        self.bus.now = self.now;
        let written = self.bus.write(address, Size::Word, word);
        written.map_err(|_| Unreachable { address, protected: false })?;
        self.bus.code_written(address);
        Ok(())
    }

    fn unstack_word(&mut self, address: u32, rights: Rights) -> Result<u32, Unreachable> {
        self.frame_access(address, Purpose::Load, rights)?;
        self.bus.now = self.now;
        let read = self.bus.read(address, Size::Word);
        read.map_err(|_| Unreachable { address, protected: false })
    }

    /// Stacks a frame on the stack in use (PushStack). The stack pointer moves even if nothing is
    /// there.
    pub(super) fn stack(&mut self, return_address: u32) -> Stacked {
        let fpca = self.cpu.fpca;
        let bytes = if fpca { EXTENDED_BYTES } else { BASIC_BYTES };
        let aligned = fpca || self.system.aligns_frames();
        let sp = self.cpu.r[13];
        let padding = if aligned { sp & 4 } else { 0 };
        let frame = sp.wrapping_sub(bytes) & if aligned { !7 } else { !3 };
        let xpsr = self.cpu.xpsr() & !(1 << 9) | padding << 7;
        let r = &self.cpu.r;
        let words = [r[0], r[1], r[2], r[3], r[12], r[14], return_address, xpsr];
        self.cpu.r[13] = frame;
        let rights = self.rights(self.cpu.is_privileged());
        let all = (0..).zip(words).map(|(i, word)| (frame.wrapping_add(4 * i), word));
        let mut failed = all
            .map(|(address, word)| self.stack_word(address, word, rights))
            .find_map(Result::err)
            .map(stacking);
        let with_fp = fpca && self.system.fpccr & fpccr::LSPEN == 0;
        if with_fp && failed.is_none() {
            failed = self.stack_fp(frame.wrapping_add(BASIC_BYTES), rights).err();
        } else if fpca {
            self.reserve_fp(frame.wrapping_add(BASIC_BYTES));
        }
        Stacked {
            frame: failed.is_none().then_some(frame),
            exc_return: exc_return(&self.cpu),
            with_fp,
            fault: failed,
        }
    }

    fn stack_fp(&mut self, at: u32, rights: Rights) -> Result<(), Fault> {
        if !self.system.fp_enabled(rights.privileged) {
            return Err(Fault::NoCoprocessor);
        }
        self.write_fp(at, rights).map_err(stacking)
    }

    fn write_fp(&mut self, at: u32, rights: Rights) -> Result<(), Unreachable> {
        for i in 0..16 {
            self.stack_word(at.wrapping_add(4 * i), self.cpu.fp.s[i as usize], rights)?;
        }
        self.stack_word(at.wrapping_add(64), self.cpu.fp.fpscr(), rights)
    }

    /// Remembers where the registers go if a handler uses the unit (UpdateFPCCR).
    fn reserve_fp(&mut self, at: u32) {
        let priority = self.execution_priority();
        let nvic = &self.system.nvic;
        let ready =
            |exception| nvic.enabled.contains(exception) && nvic.priority_of(exception) < priority;
        let bits = [
            (fpccr::USER, !self.cpu.is_privileged()),
            (fpccr::THREAD, self.cpu.ipsr == 0),
            (fpccr::HFRDY, priority > -1),
            (fpccr::BFRDY, ready(number::BUS_FAULT)),
            (fpccr::MMRDY, ready(number::MEM_MANAGE)),
            (fpccr::MONRDY, ready(number::DEBUG_MONITOR)),
        ];
        let set = bits.into_iter().filter(|(_, on)| *on).fold(fpccr::LSPACT, |all, (b, _)| all | b);
        let kept = self.system.fpccr & (fpccr::ASPEN | fpccr::LSPEN);
        self.system.fpccr = kept | set;
        self.system.fpcar = at & !7;
    }

    /// Before a floating-point instruction at `pc`: whether there may be one, the interrupted
    /// code's registers saved, and a context of its own (ExecuteFPCheck, B1.5.7).
    pub(super) fn prepare_fp(&mut self, pc: u32) -> Result<(), Fault> {
        if self.cpu.fp_ready {
            return Ok(());
        }
        if !self.system.fp_enabled(self.cpu.is_privileged()) {
            return Err(Fault::NoCoprocessor);
        }
        if self.system.fpccr & fpccr::LSPACT != 0 {
            self.preserve_fp(pc)?;
        }
        if self.system.fpccr & fpccr::ASPEN != 0 && !self.cpu.fpca {
            let fpscr = self.system.new_fpscr();
            self.cpu.fp.set_fpscr(fpscr);
            self.cpu.fpca = true;
        }
        self.cpu.fp_ready = true;
        Ok(())
    }

    /// The lazy save (PreserveFPState), which the first floating-point instruction of a handler
    /// waits for.
    fn preserve_fp(&mut self, pc: u32) -> Result<(), Fault> {
        let state = self.system.fpccr;
        let rights =
            Rights { privileged: state & fpccr::USER == 0, unprotected: state & fpccr::HFRDY == 0 };
        let at = self.system.fpcar;
        self.system.fpccr &= !fpccr::LSPACT;
        self.write_fp(at, rights).map_err(|u| Fault::Exception {
            step: ExceptionStep::LazySave,
            address: u.address,
            protected: u.protected,
        })?;
        let words = u64::from(FP_WORDS);
        // Seventeen stores one after the other; whether a cycle is lost before or behind is not
        // documented.
        let wait = Bounds { low: words, likely: words, high: words + 2 };
        self.add_wait(pc, Wait::of(Cause::ExceptionEntry, wait));
        Ok(())
    }

    /// Takes the registers back from the frame that `exc_return` describes (PopStack), and goes to
    /// the mode it describes. Nothing has changed if that fails.
    pub(super) fn unstack(&mut self, exc_return: u32) -> Result<(), Fault> {
        let (to_handler, process) = (exc_return & 8 == 0, exc_return & 4 != 0);
        let extended = self.system.arch().fp && exc_return & BASIC_FRAME == 0;
        let bytes = if extended { EXTENDED_BYTES } else { BASIC_BYTES };
        let frame = if process { self.cpu.psp() } else { self.cpu.msp() };
        let rights = self.rights(to_handler || !self.cpu.unprivileged);
        let mut words = [0u32; 8];
        for (i, word) in (0..).zip(&mut words) {
            *word = self.unstack_word(frame.wrapping_add(4 * i), rights).map_err(unstacking)?;
        }
        if extended {
            self.unstack_fp(frame.wrapping_add(BASIC_BYTES), rights)?;
        }
        let [r0, r1, r2, r3, r12, lr, return_address, xpsr] = words;
        let realign = if extended || self.system.aligns_frames() { xpsr >> 7 & 4 } else { 0 };
        let sp = frame.wrapping_add(bytes) | realign;
        if process {
            self.cpu.set_psp(sp);
        } else {
            self.cpu.set_msp(sp);
        }
        if return_address & 1 != 0 {
            self.bus.warnings.add(
                "unpredictable",
                "a stacked return address had bit 0 set, which the manual leaves open: taken as \
                 clear"
                    .to_owned(),
            );
        }
        let cpu = &mut self.cpu;
        cpu.set_mode((xpsr & 0x1ff) as u16, process);
        cpu.r[..4].copy_from_slice(&[r0, r1, r2, r3]);
        cpu.r[12] = r12;
        cpu.r[14] = lr;
        cpu.pc = return_address & !1;
        cpu.set_apsr(xpsr);
        cpu.set_epsr(xpsr);
        cpu.fpca = extended;
        cpu.exclusive = false;
        cpu.fp_ready = false;
        Ok(())
    }

    fn unstack_fp(&mut self, at: u32, rights: Rights) -> Result<(), Fault> {
        // Nobody has used the unit: the registers still are what they were.
        if self.system.fpccr & fpccr::LSPACT != 0 {
            self.system.fpccr &= !fpccr::LSPACT;
            return Ok(());
        }
        if !self.system.fp_enabled(rights.privileged) {
            return Err(Fault::NoCoprocessor);
        }
        let mut words = [0u32; FP_WORDS as usize];
        for (i, word) in (0..).zip(&mut words) {
            *word = self.unstack_word(at.wrapping_add(4 * i), rights).map_err(unstacking)?;
        }
        self.cpu.fp.s[..16].copy_from_slice(&words[..16]);
        self.cpu.fp.set_fpscr(words[16]);
        Ok(())
    }

    /// Whether the way back by `exc_return` will read floating-point registers.
    pub(super) fn unstacks_fp(&self, exc_return: u32) -> bool {
        self.system.arch().fp
            && exc_return & BASIC_FRAME == 0
            && self.system.fpccr & fpccr::LSPACT == 0
    }
}

/// Which mode, stack and frame to come back to.
fn exc_return(cpu: &Cpu) -> u32 {
    let mode = match (cpu.ipsr, cpu.spsel) {
        (0, false) => 0x9,
        (0, true) => 0xd,
        _ => 0x1,
    };
    0xffff_ffe0 | if cpu.fpca { 0 } else { BASIC_FRAME } | mode
}

fn stacking(u: Unreachable) -> Fault {
    let step = ExceptionStep::Stacking;
    Fault::Exception { step, address: u.address, protected: u.protected }
}

fn unstacking(u: Unreachable) -> Fault {
    let step = ExceptionStep::Unstacking;
    Fault::Exception { step, address: u.address, protected: u.protected }
}
