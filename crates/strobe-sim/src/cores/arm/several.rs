//! Transfers of several registers, which ARMv7-M interrupts for an exception and goes on with
//! afterwards (DDI 0403, B1.5.10).
//!
//! LDM, STM and POP keep in EPSR.ICI the register that comes next, and in the registers what was
//! loaded. They begin anew inside an IT block, with the base among the loaded registers, and for
//! floating-point registers; and PUSH does, for the frame is stacked where its words lie. With the
//! PC among the registers they finish, as they do with ACTLR.DISMCYCINT. ARMv6-M begins anew as
//! well; there, exceptions are taken behind the instruction here.

use strobe_model::{Bounds, Cause};

use super::core::Machine;
use super::fault::Fault;
use super::nvic::IDLE_PRIORITY;
use super::port::CarefulPort;
use crate::kernel::observe::{Observer, Wait};
use strobe_isa::thumb::insn::Insn;

/// Why an instruction did not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransferAborted {
    /// It never will.
    Fault(Fault),
    /// An exception comes first.
    Interrupted,
}

impl From<Fault> for TransferAborted {
    fn from(fault: Fault) -> Self {
        TransferAborted::Fault(fault)
    }
}

/// How far a transfer of several registers has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Several {
    /// Transfers that were made before an interruption.
    pub(crate) skip: u32,
    /// What they transferred, and what the others have so far.
    values: [u32; 16],
    done: u32,
    /// The running code's priority, if better exceptions may interrupt.
    yields_to: Option<i16>,
}

impl Several {
    /// An ordinary instruction.
    const ONE: Several = Several { skip: 0, values: [0; 16], done: 0, yields_to: None };

    /// The value of a transfer that has been made already.
    #[inline]
    pub(crate) fn kept(&self, transfer: u32) -> Option<u32> {
        (transfer < self.skip).then(|| self.values[transfer as usize & 15])
    }

    /// A transfer has been made.
    #[inline]
    pub(crate) fn note(&mut self, transfer: u32, value: u32) {
        if self.yields_to.is_some() {
            self.values[transfer as usize & 15] = value;
            self.done = transfer + 1;
        }
    }
}

/// The registers of an integer transfer that can be interrupted, its base, and whether it loads.
fn registers(insn: Insn) -> Option<(u16, u8, bool)> {
    match insn {
        Insn::Ldm { n, list } => Some((list.into(), n, true)),
        Insn::Stm { n, list } => Some((list.into(), n, false)),
        Insn::Push { list } => Some((list, 13, false)),
        Insn::Pop { list } => Some((list.into(), 13, true)),
        Insn::LoadMultiple { n, list, .. } => Some((list, n, true)),
        Insn::StoreMultiple { n, list, .. } => Some((list, n, false)),
        _ => None,
    }
}

/// The registers in a list, in the order of their transfers.
fn in_order(list: u16) -> impl Iterator<Item = usize> {
    (0..16).filter(move |n| list >> n & 1 != 0)
}

impl CarefulPort<'_> {
    /// Before a transfer: whether an exception comes first. The first transfer is part of the
    /// instruction's beginning.
    #[inline]
    pub(crate) fn go_on(&mut self, transfer: u32) -> Result<(), TransferAborted> {
        match self.several.yields_to {
            Some(priority) if transfer > self.several.skip => self.look_up(priority),
            _ => Ok(()),
        }
    }

    fn look_up(&mut self, priority: i16) -> Result<(), TransferAborted> {
        let now = self.bus.now;
        if !self.bus.attention && self.system.due() > now {
            return Ok(());
        }
        self.system.tick(now);
        self.system.update_lines(&self.bus.interrupts);
        match self.system.nvic.best_pending() {
            Some((_, best)) if best < priority => Err(TransferAborted::Interrupted),
            _ => Ok(()),
        }
    }
}

impl<O: Observer> Machine<O> {
    /// How an instruction transfers, going on where it was interrupted.
    pub(super) fn several(&mut self, insn: Insn, it: u8) -> Several {
        let first = std::mem::take(&mut self.cpu.resume_at);
        let fp = matches!(insn, Insn::FpLoadMultiple { .. } | Insn::FpStoreMultiple { .. });
        let list = registers(insn);
        if !self.system.arch().v7m || !(fp || list.is_some()) || self.system.finishes_transfers() {
            return Several::ONE;
        }
        let priority = self.execution_priority();
        let mut several = Several { yields_to: Some(priority.min(IDLE_PRIORITY)), ..Several::ONE };
        if let Some((list, ..)) = list
            && it == 0
            && first != 0
        {
            for n in in_order(list).take_while(|&n| n < usize::from(first)) {
                several.values[several.skip as usize] = self.cpu.r[n];
                several.skip += 1;
            }
        }
        several
    }

    /// An exception comes first: what is done so far is paid for, and kept if that is possible.
    pub(super) fn suspend(&mut self, insn: Insn, several: Several, pc: u32) {
        let cycles = 1 + u64::from(several.done.saturating_sub(several.skip));
        self.add_wait(pc, Wait::of(Cause::LoadStore, Bounds::exact(cycles)));
        self.check = true;
        let Some((list, base, loads)) = registers(insn) else { return };
        let pushes = !loads && base == 13;
        if self.cpu.it != 0 || pushes || loads && list >> base & 1 != 0 {
            return;
        }
        let mut order = in_order(list);
        for (n, &value) in order.by_ref().take(several.done as usize).zip(&several.values) {
            if loads {
                self.cpu.r[n] = value;
            }
        }
        self.cpu.resume_at = order.next().map_or(0, |n| n as u8);
    }
}
