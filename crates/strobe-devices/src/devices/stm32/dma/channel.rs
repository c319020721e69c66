//! One DMA channel: where it reads and writes next, and what is left.
//!
//! Knows neither the bus nor the other channels.

use super::Flags;
use crate::devices::common::register::bit;
use strobe_sim::kernel::device::Size;

/// Bits of CCR.
pub(super) mod ccr {
    pub(crate) const EN: u32 = 0;
    pub(crate) const TCIE: u32 = 1;
    pub(crate) const DIR: u32 = 4;
    pub(crate) const CIRC: u32 = 5;
    pub(crate) const PINC: u32 = 6;
    pub(crate) const MINC: u32 = 7;
    pub(crate) const PSIZE: u32 = 8;
    pub(crate) const MSIZE: u32 = 10;
    pub(crate) const PL: u32 = 12;
    pub(crate) const MEM2MEM: u32 = 14;
}

/// Flags of a channel in ISR and IFCR, as bits of its nibble; the enables in CCR are in the same
/// order.
pub(super) mod flag {
    pub(crate) const GLOBAL: u32 = 1 << 0;
    pub(crate) const COMPLETE: u32 = 1 << 1;
    pub(crate) const HALF: u32 = 1 << 2;
    pub(crate) const ERROR: u32 = 1 << 3;
}

/// One end of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) address: u32,
    pub(super) size: Size,
}

/// A channel's registers and its place in the block.
#[derive(Debug, Clone, Default)]
pub(super) struct Channel {
    pub(super) ccr: u32,
    /// CPAR and CMAR as firmware wrote them.
    pub(super) peripheral: u32,
    pub(super) memory: u32,
    /// CNDTR: what is left.
    pub(super) left: u32,
    /// CNDTR when the channel was enabled.
    count: u32,
    /// Beats done since the start of the block.
    done: u32,
    /// Flags, without the global one.
    pub(super) flags: Flags,
}

impl Channel {
    pub(super) fn is_enabled(&self) -> bool {
        bit(self.ccr, ccr::EN)
    }

    /// Whether the channel moves something when requested.
    pub(super) fn is_armed(&self) -> bool {
        self.is_enabled() && self.left > 0
    }

    /// Whether the channel asks by itself, without a peripheral.
    pub(super) fn is_memory_to_memory(&self) -> bool {
        bit(self.ccr, ccr::MEM2MEM)
    }

    /// Priority level, 3 is the highest.
    pub(super) fn priority(&self) -> u32 {
        self.ccr >> ccr::PL & 3
    }

    /// Writes CCR; enabling starts the block at the programmed addresses.
    pub(super) fn configure(&mut self, value: u32) {
        let was_enabled = self.is_enabled();
        self.ccr = value & 0x7fff;
        if self.is_enabled() && !was_enabled {
            self.count = self.left;
            self.done = 0;
        }
    }

    /// Where the next beat reads and writes. Addresses are aligned to the size, whose low bits the
    /// controller ignores (RM0360, DMA_CPARx).
    pub(super) fn ends(&self) -> (End, End) {
        let end = |base: u32, size: u32, increments: bool| {
            let size = match self.ccr >> size & 3 {
                0 => Size::Byte,
                1 => Size::Half,
                _ => Size::Word,
            };
            let offset = if increments { self.done.wrapping_mul(size.bytes()) } else { 0 };
            let address = base.wrapping_add(offset) & !(size.bytes() - 1);
            End { address, size }
        };
        let peripheral = end(self.peripheral, ccr::PSIZE, bit(self.ccr, ccr::PINC));
        let memory = end(self.memory, ccr::MSIZE, bit(self.ccr, ccr::MINC));
        if bit(self.ccr, ccr::DIR) { (memory, peripheral) } else { (peripheral, memory) }
    }

    /// A beat is done: counts it, flags half and end of the block, and starts the next one if
    /// circular.
    pub(super) fn complete(&mut self) {
        self.left = self.left.saturating_sub(1);
        self.done = self.done.wrapping_add(1);
        if self.left == self.count / 2 {
            self.raise(flag::HALF);
        }
        if self.left == 0 {
            self.raise(flag::COMPLETE);
            if bit(self.ccr, ccr::CIRC) && !self.is_memory_to_memory() {
                self.left = self.count;
                self.done = 0;
            }
        }
    }

    /// Sets a flag.
    fn raise(&mut self, flag: u32) {
        let enabled = self.enabled_flags();
        self.flags.raise(flag, enabled);
    }

    /// A bus error: the channel is switched off.
    pub(super) fn fail(&mut self) {
        self.flags.set |= flag::ERROR;
        self.ccr &= !(1 << ccr::EN);
    }

    /// The channel's nibble of ISR.
    pub(super) fn status(&self) -> u32 {
        self.flags.set | if self.flags.set != 0 { flag::GLOBAL } else { 0 }
    }

    /// Clears flags by the channel's nibble of IFCR; the global bit clears all.
    pub(super) fn clear(&mut self, nibble: u32) {
        self.flags.set &= if nibble & flag::GLOBAL != 0 { 0 } else { !nibble };
    }

    /// Flags that request an interrupt once set.
    fn enabled_flags(&self) -> u32 {
        // TCIE, HTIE and TEIE are in the order of the flags.
        (self.ccr >> ccr::TCIE & 7) << 1
    }

    /// Whether the channel requests an interrupt.
    pub(super) fn interrupts(&self) -> bool {
        self.flags.set & self.enabled_flags() != 0
    }
}
