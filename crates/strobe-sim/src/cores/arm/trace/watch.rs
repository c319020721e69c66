//! How the core and the trace blocks meet: cycles are spent, bytes come out, and a debugger reaches
//! the registers.

use super::{Action, Counter, DWT, ITM, Sent, Spent, TPIU, Write};
use crate::cores::arm::core::Machine;
use crate::cores::arm::system::Caller;
use crate::kernel::device::Size;
use crate::kernel::memory::BusFault;
use crate::kernel::observe::{Observer, TraceByte};

impl<O: Observer> Machine<O> {
    /// All cycles up to now that nobody has been named for belong to an instruction: to the one
    /// that the profile counts them for.
    #[inline(always)]
    pub(in crate::cores::arm) fn spend(&mut self, pc: u32) {
        self.system.debug.trace.spend(self.now, Spent::At(pc));
    }

    /// Finds out again how closely the core must be looked at.
    pub(in crate::cores::arm) fn look_at_trace(&mut self) {
        let trace = &self.system.debug.trace;
        self.traced = trace.wants_instructions();
        if self.bus.watch_stores(trace.watched_stores()) {
            // Compiled code does not look at other stores than it had to.
            self.forget_compiled();
        }
    }

    /// An exception does something at a cycle.
    pub(in crate::cores::arm) fn trace_exception(&mut self, number: u16, action: Action, at: u64) {
        self.system.debug.trace.exception(number, action, at);
    }

    /// Cycles of an exception's entry or return, which begin now.
    pub(in crate::cores::arm) fn count_overhead(&mut self, cycles: u64) {
        self.system.debug.trace.count(Counter::Exception, cycles, self.now + cycles);
    }

    /// An instruction took so many cycles, of which so many to load and store beyond the first.
    ///
    /// What overlaps with the instruction before is counted here as the profile has it; the chip's
    /// own counters may put it elsewhere.
    pub(in crate::cores::arm) fn count_instruction(&mut self, cycles: u64, loading: u64) {
        let (trace, now) = (&mut self.system.debug.trace, self.now);
        let loading = loading.min(cycles.saturating_sub(1));
        trace.count(Counter::Lsu, loading, now);
        trace.count(Counter::Cpi, cycles.saturating_sub(1 + loading), now);
        trace.count(Counter::Fold, u64::from(cycles == 0), now);
    }

    /// Hands on what has left the trace pin, and puts its wire to what it is now.
    pub(in crate::cores::arm) fn drain_trace(&mut self) {
        self.drain_trace_to(self.now);
    }

    fn drain_trace_to(&mut self, to: u64) {
        let trace = &mut self.system.debug.trace;
        trace.run(self.now);
        if trace.went_elsewhere() {
            let text = "the trace port is set to its parallel pins (TPIU_SPPR is 0): no byte \
                        leaves the SWO pin";
            self.bus.warnings.add("trace-elsewhere", text.to_owned());
        }
        let is_seen = self.waveform.is_seen(&self.bus);
        let clocks = &self.bus.clocks;
        for sent in trace.sent.drain(..) {
            if is_seen {
                self.waveform.push(&sent);
            }
            let Sent { cycle, bit_cycles, value, coding } = sent;
            let at_ps = u64::try_from(clocks.picoseconds_at(cycle)).unwrap_or(u64::MAX);
            let bit_ps = u64::from(bit_cycles) * 1_000_000_000_000 / u64::from(clocks.hz_at(cycle));
            self.observer.trace(&TraceByte { cycle, at_ps, bit_ps, value, coding });
        }
        if is_seen {
            let idle = self.system.debug.trace.idles_high();
            self.waveform.show(&mut self.bus, idle, self.now, to);
            // Edges of other pins may have come before, in time after these.
            self.bus.outputs.edges.sort_by_key(|edge| edge.cycle);
        }
    }

    /// Lets the trace pin send what is left, as it would on a board that goes on; `limit` is the
    /// last cycle for it. No time passes for the core.
    pub(in crate::cores::arm) fn finish_trace(&mut self, limit: u64) {
        self.system.debug.trace.finish(limit);
        self.drain_trace_to(limit);
    }

    /// How much the trace blocks' buffers hold.
    pub fn set_trace_depths(&mut self, depths: super::Depths) {
        self.system.debug.trace.set_depths(depths);
    }

    /// Writes a word as a debugger does, while the core stands still: a register of the trace
    /// blocks, of the system control space, of a device, or memory.
    ///
    /// # Errors
    /// When nothing answers there.
    pub fn debugger_write(&mut self, address: u32, value: u32) -> Result<(), BusFault> {
        self.check = true;
        let (now, v7m) = (self.now, self.system.arch().v7m);
        match address & !0xfff {
            0xe000_e000 => self.system.write(address, Size::Word, value, now),
            ITM | DWT | TPIU if v7m => {
                let write = Write::new(address, Size::Word, value, true);
                self.system.debug.write(&write, now).ok_or(BusFault { address })?;
                if let Some(what) = self.system.debug.asked.take() {
                    self.bus.warnings.add("not-modelled", format!("{what}: not modelled"));
                }
            }
            _ => {
                self.bus.now = now;
                self.bus.write(address, Size::Word, value)?;
                if let Some(gate) = self.system.trace_gate.filter(|gate| gate.address == address) {
                    self.system.debug.trace.set_pin(gate.is_open(value), now);
                }
            }
        }
        Ok(())
    }

    /// Reads a word as a debugger does, while the core stands still.
    ///
    /// # Errors
    /// When nothing answers there.
    pub fn debugger_read(&mut self, address: u32) -> Result<u32, BusFault> {
        let (now, v7m) = (self.now, self.system.arch().v7m);
        match address & !0xfff {
            0xe000_e000 => {
                let caller = Caller { ipsr: self.cpu.ipsr, masked: self.masked_priority() };
                Ok(self.system.read(address, Size::Word, now, caller))
            }
            ITM | DWT | TPIU if v7m => {
                self.system.debug.read(address, now).ok_or(BusFault { address })
            }
            _ => {
                self.bus.now = now;
                self.bus.read(address, Size::Word)
            }
        }
    }
}
