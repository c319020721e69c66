//! From what went wrong to the exception it becomes: which fault, in which status bits, and whether
//! it escalates to HardFault or lockup (DDI 0419 and DDI 0403, B1.5.14-B1.5.15).

use super::core::Machine;
use super::fault::{ExceptionStep, Fault, FaultAccess, FaultReport, HandledFault};
use super::fault_status::{DFSR_BKPT, cfsr, hfsr};
use super::mpu::Purpose;
use super::run::Stop;
use super::system::number;
use crate::kernel::observe::Observer;

/// Kinds and places of handled faults that are kept apart.
const MOST_HANDLED: usize = 64;

impl Fault {
    /// The exception it is and the bits of CFSR that it sets (B1.5.14).
    fn consequence(self) -> (u16, u32) {
        use number::{BUS_FAULT, DEBUG_MONITOR, HARD_FAULT, MEM_MANAGE, SVCALL, USAGE_FAULT};
        match self {
            Fault::Protected { purpose: Purpose::Fetch, .. } => (MEM_MANAGE, cfsr::IACCVIOL),
            Fault::Protected { .. } => (MEM_MANAGE, cfsr::DACCVIOL | cfsr::MMARVALID),
            Fault::Bus { .. } | Fault::Unprivileged { .. } => {
                (BUS_FAULT, cfsr::PRECISERR | cfsr::BFARVALID)
            }
            Fault::LostStore { .. } => (BUS_FAULT, cfsr::IMPRECISERR),
            Fault::Fetch { .. } => (BUS_FAULT, cfsr::IBUSERR),
            Fault::Exception { step, protected, .. } => match (step, protected) {
                (ExceptionStep::Stacking, true) => (MEM_MANAGE, cfsr::MSTKERR),
                (ExceptionStep::Stacking, false) => (BUS_FAULT, cfsr::STKERR),
                (ExceptionStep::Unstacking, true) => (MEM_MANAGE, cfsr::MUNSTKERR),
                (ExceptionStep::Unstacking, false) => (BUS_FAULT, cfsr::UNSTKERR),
                (ExceptionStep::LazySave, true) => (MEM_MANAGE, cfsr::MLSPERR),
                (ExceptionStep::LazySave, false) => (BUS_FAULT, cfsr::LSPERR),
                (ExceptionStep::Vector, _) => (HARD_FAULT, 0),
            },
            Fault::Undefined => (USAGE_FAULT, cfsr::UNDEFINSTR),
            Fault::NotThumb => (USAGE_FAULT, cfsr::INVSTATE),
            Fault::BadReturn { .. } => (USAGE_FAULT, cfsr::INVPC),
            Fault::NoCoprocessor => (USAGE_FAULT, cfsr::NOCP),
            Fault::Unaligned { .. } => (USAGE_FAULT, cfsr::UNALIGNED),
            Fault::DivideByZero => (USAGE_FAULT, cfsr::DIVBYZERO),
            Fault::Breakpoint { .. } => (DEBUG_MONITOR, 0),
            Fault::SvcMasked => (SVCALL, 0),
        }
    }
}

impl<O: Observer> Machine<O> {
    /// A fault of the instruction at `pc`: its exception, HardFault, or lockup when that cannot be
    /// taken.
    pub(crate) fn fault(&mut self, fault: Fault, pc: u32) -> Result<(), Stop> {
        self.fault_of_access(fault, pc, None)
    }

    /// The same, with the access that failed.
    pub(crate) fn fault_of_access(
        &mut self,
        fault: Fault,
        pc: u32,
        access: Option<FaultAccess>,
    ) -> Result<(), Stop> {
        self.abandoned += u64::from(fault.replaces_an_instruction());
        if !self.system.arch().v7m {
            return self.hard_fault(fault, pc);
        }
        let exception = self.pend_fault(fault, pc, access)?;
        // SVC has retired, and is escalated on its way to the handler.
        let return_address = if fault == Fault::SvcMasked { self.cpu.pc } else { pc };
        self.cpu.pc = return_address;
        self.enter(exception, return_address)
    }

    /// All faults of ARMv6-M.
    fn hard_fault(&mut self, fault: Fault, pc: u32) -> Result<(), Stop> {
        let mut report = FaultReport::new(fault, &self.cpu, pc, self.now);
        if self.system.nvic.active_priority() <= -1 {
            return Err(Stop::Lockup(Box::new(report)));
        }
        if self.cpu.r[13] & !7 == 0 || self.push_is_impossible() {
            return Err(Stop::Lockup(Box::new(report)));
        }
        self.cpu.pc = pc;
        self.system.nvic.note_pended(number::HARD_FAULT, self.now);
        self.enter(number::HARD_FAULT, pc)?;
        report.frame = Some(if report.registers[13] == report.psp && report.psp != report.msp {
            self.cpu.psp()
        } else {
            self.cpu.msp()
        });
        Err(Stop::HardFault(Box::new(report)))
    }

    /// ARMv7-M: sets the status bits and makes the exception pending that the fault becomes, which
    /// is returned. What runs now decides; nothing is entered yet.
    pub(crate) fn pend_fault(
        &mut self,
        fault: Fault,
        pc: u32,
        access: Option<FaultAccess>,
    ) -> Result<u16, Stop> {
        let (wanted, bits) = fault.consequence();
        let priority = self.execution_priority();
        let nvic = &self.system.nvic;
        let takes = nvic.enabled.contains(wanted) && nvic.priority_of(wanted) < priority;
        let exception = if takes { wanted } else { number::HARD_FAULT };
        let status = &mut self.system.status;
        status.cfsr |= bits;
        match fault {
            Fault::Protected { address, purpose } if purpose != Purpose::Fetch => {
                status.mmfar = address;
            }
            Fault::Bus { address } | Fault::Unprivileged { address } => status.bfar = address,
            Fault::Breakpoint { .. } => status.dfsr |= DFSR_BKPT,
            _ => {}
        }
        status.hfsr |= match fault {
            Fault::Exception { step: ExceptionStep::Vector, .. } => hfsr::VECTTBL,
            _ if takes => 0,
            Fault::Breakpoint { .. } => hfsr::DEBUGEVT,
            _ => hfsr::FORCED,
        };
        let mut report = FaultReport::new(fault, &self.cpu, pc, self.now);
        report.exception = exception;
        report.access = access;
        report.status = Some(self.system.status);
        if exception == number::HARD_FAULT && priority <= -1 {
            return Err(Stop::Lockup(Box::new(report)));
        }
        self.system.nvic.pend(exception, self.now);
        // The first cause of a HardFault is the one to report.
        if !self.raised.iter().any(|r| r.exception == exception) {
            self.raised.push(report);
        }
        Ok(exception)
    }

    /// What cannot even become a HardFault.
    pub(super) fn lockup(&self, fault: Fault, pc: u32) -> Stop {
        let mut report = FaultReport::new(fault, &self.cpu, pc, self.now);
        report.status = self.system.arch().v7m.then_some(self.system.status);
        Stop::Lockup(Box::new(report))
    }

    /// A store in the write buffer has turned out to be lost: remembers the moment for the report.
    pub(crate) fn note_lost_store(&mut self) {
        let Some(store) = self.system.imprecise.take() else { return };
        let fault = Fault::LostStore { address: store.address, pc: store.pc };
        let mut report = FaultReport::new(fault, &self.cpu, self.cpu.pc, self.now);
        let bus_fault = self.system.nvic.pending.contains(number::BUS_FAULT);
        report.exception = if bus_fault { number::BUS_FAULT } else { number::HARD_FAULT };
        report.access = Some(FaultAccess { address: store.address, size: store.size, write: true });
        report.status = Some(self.system.status);
        self.raised.push(report);
    }

    /// The handler of `exception` is about to run: if a fault led there, a HardFault stops the run,
    /// and others are the firmware's own business.
    pub(crate) fn account_for_fault(
        &mut self,
        exception: u16,
        frame: Option<u32>,
    ) -> Result<(), Stop> {
        let Some(at) = self.raised.iter().position(|r| r.exception == exception) else {
            return Ok(());
        };
        let mut report = self.raised.remove(at);
        report.frame = frame;
        report.status = Some(self.system.status);
        if exception == number::HARD_FAULT {
            return Err(Stop::HardFault(Box::new(report)));
        }
        let same = |known: &&mut HandledFault| {
            (known.report.fault, known.report.pc) == (report.fault, report.pc)
        };
        if let Some(known) = self.handled.iter_mut().find(same) {
            known.count += 1;
        } else if self.handled.len() < MOST_HANDLED {
            self.handled.push(HandledFault { report, count: 1 });
        } else if let Some(last) = self.handled.last_mut() {
            last.count += 1;
        }
        Ok(())
    }

    /// Faults that the firmware's own handlers (MemManage, BusFault, UsageFault, DebugMonitor) were
    /// started for, each kind and place once.
    pub fn handled_faults(&self) -> &[HandledFault] {
        &self.handled
    }

    /// Instructions that faulted instead of retiring, since reset.
    pub fn abandoned(&self) -> u64 {
        self.abandoned
    }
}
