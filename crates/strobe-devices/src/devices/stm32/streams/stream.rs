//! One DMA stream: its registers, where its two ports read and write next, and what is left.
//!
//! Knows neither the bus nor the other streams. The peripheral side counts items (NDTR), the memory
//! side bytes, because the FIFO between them lets one run ahead of the other.

use super::fifo::Fifo;
use crate::devices::common::register::bit;
use crate::devices::stm32::dma::Flags;
use strobe_sim::kernel::device::Size;

/// Bits of SxCR.
pub(super) mod cr {
    pub(crate) const EN: u32 = 0;
    pub(crate) const DMEIE: u32 = 1;
    pub(crate) const PFCTRL: u32 = 5;
    pub(crate) const DIR: u32 = 6;
    pub(crate) const CIRC: u32 = 8;
    pub(crate) const PINC: u32 = 9;
    pub(crate) const MINC: u32 = 10;
    pub(crate) const PSIZE: u32 = 11;
    pub(crate) const MSIZE: u32 = 13;
    pub(crate) const PINCOS: u32 = 15;
    pub(crate) const PL: u32 = 16;
    pub(crate) const DBM: u32 = 18;
    pub(crate) const CT: u32 = 19;
    pub(crate) const PBURST: u32 = 21;
    pub(crate) const MBURST: u32 = 23;
    pub(crate) const CHSEL: u32 = 25;
    /// DMEIE, TEIE, HTIE, TCIE: what can be changed while the stream is on.
    pub(crate) const INTERRUPTS: u32 = 0x1e;
}

/// Bits of SxFCR.
mod fcr {
    pub(super) const DMDIS: u32 = 2;
    pub(super) const FS: u32 = 3;
    pub(super) const FEIE: u32 = 7;
    pub(super) const WRITABLE: u32 = 0x87;
    /// Half full is the threshold.
    pub(super) const RESET: u32 = 1;
}

/// Flags of a stream, as bits of its six in LISR and HISR.
pub(super) mod flag {
    pub(crate) const FIFO: u32 = 1 << 0;
    pub(crate) const ERROR: u32 = 1 << 3;
    pub(crate) const HALF: u32 = 1 << 4;
    pub(crate) const COMPLETE: u32 = 1 << 5;
}

/// Which way a stream moves data: CR.DIR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    FromPeripheral,
    ToPeripheral,
    /// From the peripheral address to the memory address, without requests.
    Copy,
}

/// Accesses that one of a stream's ports makes next, all of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) address: u32,
    pub(super) size: Size,
    /// From one to the next.
    pub(super) step: u32,
    pub(super) beats: u32,
    /// The port writes what the FIFO has; otherwise it reads into the FIFO.
    pub(super) write: bool,
}

/// A stream's registers and its place in the block.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    pub(super) cr: u32,
    fcr: u32,
    /// NDTR: items left on the peripheral's side.
    pub(super) left: u32,
    pub(super) peripheral: u32,
    pub(super) memory: [u32; 2],
    pub(super) flags: Flags,
    fifo: Fifo,
    /// NDTR when the stream was enabled.
    count: u32,
    /// Bytes moved on the memory's side in this block, and the buffer it uses.
    memory_done: u32,
    buffer: usize,
    /// The memory port empties or fills the FIFO since it crossed the threshold.
    flowing: bool,
    /// Switched off; the FIFO is still being emptied to memory.
    closing: bool,
}

impl Default for Stream {
    fn default() -> Self {
        Stream {
            cr: 0,
            fcr: fcr::RESET,
            left: 0,
            peripheral: 0,
            memory: [0; 2],
            flags: Flags::default(),
            fifo: Fifo::default(),
            count: 0,
            memory_done: 0,
            buffer: 0,
            flowing: false,
            closing: false,
        }
    }
}

impl Stream {
    pub(super) fn is_enabled(&self) -> bool {
        bit(self.cr, cr::EN)
    }

    pub(super) fn way(&self) -> Direction {
        match self.cr >> cr::DIR & 3 {
            1 => Direction::ToPeripheral,
            2 => Direction::Copy,
            _ => Direction::FromPeripheral,
        }
    }

    /// CHSEL.
    pub(super) fn channel(&self) -> usize {
        (self.cr >> cr::CHSEL & 7) as usize
    }

    /// Priority level, 3 is the highest.
    pub(super) fn priority(&self) -> u32 {
        self.cr >> cr::PL & 3
    }

    /// Direct mode: one item in the FIFO at most. Copies always use the FIFO (10.3.6).
    fn is_direct(&self) -> bool {
        !bit(self.fcr, fcr::DMDIS) && self.way() != Direction::Copy
    }

    /// 10.3.9: double buffers imply circular mode, which copies do not have.
    fn is_circular(&self) -> bool {
        (bit(self.cr, cr::CIRC) || bit(self.cr, cr::DBM)) && self.way() != Direction::Copy
    }

    fn size(&self, at: u32) -> Size {
        [Size::Byte, Size::Half, Size::Word, Size::Word][(self.cr >> at & 3) as usize]
    }

    fn peripheral_size(&self) -> Size {
        self.size(cr::PSIZE)
    }

    /// In direct mode there is nothing that could pack (10.3.12).
    fn memory_size(&self) -> Size {
        if self.is_direct() { self.peripheral_size() } else { self.size(cr::MSIZE) }
    }

    /// PBURST or MBURST: beats of a burst.
    fn burst(&self, at: u32) -> u32 {
        if self.is_direct() { 1 } else { [1, 4, 8, 16][(self.cr >> at & 3) as usize] }
    }

    /// FTH in bytes.
    fn threshold(&self) -> u32 {
        4 * ((self.fcr & 3) + 1)
    }

    /// Bytes of the block that the memory's side has not moved yet.
    fn memory_left(&self) -> u32 {
        (self.count * self.peripheral_size().bytes()).saturating_sub(self.memory_done)
    }

    /// Writes CR; enabling starts the block at the programmed addresses.
    pub(super) fn configure(&mut self, value: u32) {
        let value = value & 0x0fef_ffff;
        if !self.is_enabled() {
            self.cr = value;
            if self.is_enabled() {
                self.enable();
            }
            return;
        }
        self.cr = self.cr & !cr::INTERRUPTS | value & cr::INTERRUPTS;
        if !bit(value, cr::EN) {
            self.disable();
        }
    }

    fn enable(&mut self) {
        self.fifo = Fifo::default();
        (self.count, self.memory_done) = (self.left, 0);
        self.buffer = usize::from(bit(self.cr, cr::DBM) && bit(self.cr, cr::CT));
        self.flowing = self.way() == Direction::ToPeripheral;
        self.closing = false;
        // 10.3.12: a threshold that no number of bursts reaches exactly is refused.
        let burst = self.burst(cr::MBURST) * self.memory_size().bytes();
        if !self.is_direct()
            && self.burst(cr::MBURST) > 1
            && !self.threshold().is_multiple_of(burst)
        {
            self.flags.set |= flag::FIFO;
            self.cr &= !(1 << cr::EN);
        }
    }

    /// 10.3.13: what the FIFO still holds goes to memory, then the stream is off and shows it.
    fn disable(&mut self) {
        self.closing = self.way() != Direction::ToPeripheral && self.fifo.len() > 0;
        if !self.closing {
            self.finish();
        }
    }

    fn finish(&mut self) {
        self.closing = false;
        self.cr &= !(1 << cr::EN);
        self.flags.set |= flag::COMPLETE;
    }

    /// A bus error: the stream is switched off.
    pub(super) fn fail(&mut self) {
        self.flags.set |= flag::ERROR;
        self.closing = false;
        self.cr &= !(1 << cr::EN);
    }

    /// What the peripheral port would do if it were asked to.
    pub(super) fn peripheral_job(&self) -> Option<Job> {
        if !self.is_enabled() || self.closing || self.left == 0 {
            return None;
        }
        let size = self.peripheral_size();
        let burst = self.burst(cr::PBURST);
        // What is left of the block after the last whole burst goes one by one.
        let beats = if self.left < burst { 1 } else { burst };
        let bytes = beats * size.bytes();
        let write = self.way() == Direction::ToPeripheral;
        let ready = if write {
            self.fifo.len() >= bytes
        } else if self.is_direct() {
            self.fifo.len() == 0
        } else {
            self.fifo.room() >= bytes
        };
        // PINCOS: steps of a word whatever the size.
        let step = match (bit(self.cr, cr::PINC), bit(self.cr, cr::PINCOS)) {
            (false, _) => 0,
            (true, true) if burst == 1 => 4,
            (true, _) => size.bytes(),
        };
        let done = self.count.wrapping_sub(self.left);
        let address = self.peripheral.wrapping_add(done.wrapping_mul(step));
        ready.then_some(Job { address: aligned(address, size), size, step, beats, write })
    }

    /// What the memory port does next, if anything.
    pub(super) fn memory_job(&self) -> Option<Job> {
        if !self.is_enabled() || self.memory_left() == 0 {
            return None;
        }
        let write = self.way() != Direction::ToPeripheral;
        let (level, left) = (self.fifo.len(), self.memory_left());
        let (size, burst) = (self.memory_size(), self.burst(cr::MBURST));
        let whole = burst * size.bytes();
        let available = if write { level.min(left) } else { self.fifo.room().min(left) };
        let ready = match (write, self.is_direct()) {
            // One item at a time, loaded before the peripheral asks for it.
            (true, true) => level > 0,
            (false, true) => level == 0,
            (true, false) => level > 0 && (self.flowing || self.closing || level >= left),
            (false, false) => self.flowing && self.fifo.room() >= size.bytes(),
        };
        let (size, beats) = match available {
            bytes if bytes >= whole => (size, burst),
            bytes if bytes >= size.bytes() || !write => (size, 1),
            // A rest that is no whole item.
            _ => (Size::Byte, 1),
        };
        let step = if bit(self.cr, cr::MINC) { size.bytes() } else { 0 };
        let offset = if bit(self.cr, cr::MINC) { self.memory_done } else { 0 };
        let address = aligned(self.memory[self.buffer].wrapping_add(offset), size);
        // With bursts set, single accesses are for the rest of a block only.
        let fits = beats == burst || self.closing || left < whole;
        (ready && fits).then_some(Job { address, size, step, beats, write })
    }

    /// Hands over what a port writes.
    pub(super) fn pop(&mut self, size: Size) -> u32 {
        self.fifo.pop(size)
    }

    /// Takes what a port has read.
    pub(super) fn push(&mut self, item: u32, size: Size) {
        self.fifo.push(item, size);
    }

    /// The peripheral port has made its accesses.
    pub(super) fn peripheral_done(&mut self, job: Job) {
        let half = self.count / 2;
        let before = self.left;
        self.left = self.left.saturating_sub(job.beats);
        if job.write && before > half && self.left <= half {
            self.raise(flag::HALF);
        }
        if self.left == 0 && self.is_circular() {
            self.left = self.count;
        }
        if job.write && before <= job.beats {
            self.block_done();
        }
        self.update_flow();
    }

    /// The memory port has made its accesses.
    pub(super) fn memory_done(&mut self, job: Job) {
        let bytes = self.count * self.peripheral_size().bytes();
        let before = self.memory_done;
        self.memory_done += job.beats * job.size.bytes();
        if job.write && before < bytes.div_ceil(2) && self.memory_done >= bytes.div_ceil(2) {
            self.raise(flag::HALF);
        }
        if self.memory_left() == 0 {
            if self.is_circular() {
                self.memory_done = 0;
                self.buffer ^= usize::from(bit(self.cr, cr::DBM));
            }
            if job.write && !self.closing {
                self.block_done();
            }
        }
        if self.closing && self.fifo.len() == 0 {
            self.finish();
        }
        self.update_flow();
    }

    /// Sets a flag.
    fn raise(&mut self, flag: u32) {
        let enabled = self.enabled_flags();
        self.flags.raise(flag, enabled);
    }

    fn block_done(&mut self) {
        self.raise(flag::COMPLETE);
        if !self.is_circular() {
            self.cr &= !(1 << cr::EN);
        } else if bit(self.cr, cr::DBM) {
            self.cr ^= 1 << cr::CT;
        }
    }

    /// 10.3.12: reaching the threshold starts the memory port, which goes on until the FIFO is
    /// empty, or full on the way to a peripheral.
    fn update_flow(&mut self) {
        let (level, threshold) = (self.fifo.len(), self.threshold());
        let item = self.memory_size().bytes();
        self.flowing = match self.way() {
            Direction::ToPeripheral if self.flowing => self.fifo.room() >= item,
            Direction::ToPeripheral => level <= threshold && self.fifo.room() >= item,
            _ if self.flowing => level >= item,
            _ => level >= threshold,
        };
    }

    /// SxFCR as it reads.
    pub(super) fn fifo_control(&self) -> u32 {
        let copies = u32::from(self.way() == Direction::Copy) << fcr::DMDIS;
        self.fcr | copies | self.fifo.status() << fcr::FS
    }

    /// Writes SxFCR; while the stream is on only the interrupt can be changed.
    pub(super) fn set_fifo_control(&mut self, value: u32) {
        let writable = if self.is_enabled() { 1 << fcr::FEIE } else { fcr::WRITABLE };
        self.fcr = self.fcr & !writable | value & writable;
    }

    /// Writes SxM0AR or SxM1AR: with double buffers also while the stream is on and uses the other
    /// one.
    pub(super) fn set_memory(&mut self, which: usize, address: u32) {
        let in_use = !bit(self.cr, cr::DBM) || usize::from(bit(self.cr, cr::CT)) == which;
        if !self.is_enabled() || !in_use {
            self.memory[which] = address;
        }
    }

    /// Flags that request an interrupt once set.
    fn enabled_flags(&self) -> u32 {
        // DMEIE, TEIE, HTIE and TCIE are in the order of the flags from the direct mode error on.
        let enables = (self.cr >> cr::DMEIE & 0xf) << 2;
        let fifo = if bit(self.fcr, fcr::FEIE) { flag::FIFO } else { 0 };
        enables | fifo
    }

    /// Whether the stream requests an interrupt.
    pub(super) fn interrupts(&self) -> bool {
        self.flags.set & self.enabled_flags() != 0
    }
}

fn aligned(address: u32, size: Size) -> u32 {
    address & !(size.bytes() - 1)
}
