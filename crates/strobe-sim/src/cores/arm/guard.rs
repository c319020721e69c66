//! When memory protection must be asked at each access.
//!
//! The fast path and compiled code reach memories without asking. They may as long as the
//! protection unit is off, or allows the running code everything there that they could do;
//! otherwise every instruction takes the careful path. Accesses outside memories take that path,
//! and are asked about, in any case.

use std::ops::Range;

use super::core::Machine;
use super::mpu::{Permission, Rights};
use crate::kernel::memory::{Memory, MemoryKind};
use crate::kernel::observe::Observer;

/// What was found out last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Guarded {
    /// Each access must be asked about.
    pub(crate) everywhere: bool,
    /// For which registers of the unit, which rights, and whether code had been decoded from RAM.
    known: Option<(u32, Rights, bool)>,
}

impl<O: Observer> Machine<O> {
    /// Finds out again if anything that matters has changed.
    pub(super) fn look_at_protection(&mut self) {
        if !self.system.mpu.is_on() {
            self.guarded = Guarded::default();
            return;
        }
        let rights = self.rights(self.cpu.is_privileged());
        let code_in_ram = self.bus.runs_code_in_ram();
        let asked = Some((self.system.mpu.generation, rights, code_in_ram));
        if self.guarded.known != asked {
            let everywhere = !self.may_everything(rights, code_in_ram);
            self.guarded = Guarded { everywhere, known: asked };
        }
    }

    fn may_everything(&self, rights: Rights, code_in_ram: bool) -> bool {
        let bus = &self.bus;
        let may = |range: Range<u32>| self.system.mpu.permission_throughout(&range, rights);
        let allows = |memory: &Memory| {
            let Permission { load, store, fetch } = may(span(memory.base, memory.data.len()));
            match memory.kind {
                MemoryKind::Ram => load && store && (fetch || !code_in_ram),
                MemoryKind::Flash => load && fetch,
            }
        };
        let memories = [&bus.flash, &bus.ram].into_iter().chain(&bus.more);
        let mut windows = bus.aliases.iter().map(|&(base, size, _)| span(base, size as usize));
        memories.into_iter().all(allows)
            && (!self.blocks.run_elsewhere() || windows.all(|window| may(window).fetch))
    }

    /// Whether instructions may be fetched from there.
    pub(super) fn may_fetch(&self, address: u32) -> bool {
        let rights = self.rights(self.cpu.is_privileged());
        self.system.mpu.permission(address, rights).fetch
    }
}

fn span(base: u32, bytes: usize) -> Range<u32> {
    base..base.saturating_add(bytes as u32)
}
