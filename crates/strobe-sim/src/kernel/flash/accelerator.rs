//! Flash accelerators: wide lines, a cache of them for instructions, a small one for data, and
//! prefetch, as the STM32F4's (RM0090 3.5.2).
//!
//! Unlike a prefetch buffer alone, whose cost a board file prices per jump, a cache's cost is all
//! in what is in it. So its lines are followed, with the replacement that the manual names (least
//! recently used); what the manual leaves open becomes bounds. Code pays for its lines when a block
//! of it begins. A block that has found all its lines remembers the epoch, which counts the lines
//! brought in, and until the next one comes it need not look: a loop that fits costs one comparison
//! for each block. (Among lines used between the same two refills, the order of their first use
//! there stands for that of their last.)
//!
//! Knows lines and cycles, not instructions.
//!
//! Nothing depends on stores, the core's or DMA's: the caches hold lines of flash alone, and
//! programming it is not modelled.

use std::collections::HashMap;

use strobe_model::{Bounds, Cause};

use super::FlashCaches;
use crate::kernel::model::Model;

/// What an accelerator is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes that the flash reads at once; a power of two.
    pub line_bytes: u32,
    /// Lines that it holds without a cache, the one in use among them.
    pub buffer_lines: u8,
    /// Lines that the instruction cache holds; at most 254.
    pub instruction_lines: u8,
    /// Lines that the data cache holds.
    pub data_lines: u8,
    /// Cycles that a line can be asked for before the core executes anything in it, at most.
    pub ahead: u8,
}

/// A block's instructions in one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodeLine {
    /// Counted from the flash's start.
    pub(crate) line: u32,
    /// The first instruction that needs it.
    pub(crate) pc: u32,
    /// Cycles of its instructions there.
    pub(crate) cycles: u32,
}

/// Code was arrived at by a jump, not from the line before.
pub(crate) const JUMPED: u32 = u32::MAX;

/// How the flash is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Setting {
    wait_states: u8,
    prefetch: bool,
    caches: FlashCaches,
}

/// A sum of waits: low, likely, high.
type Sum = [u64; 3];

/// The state of an accelerator. Without one, or at no wait states, it is off and nobody waits.
#[derive(Debug, Default)]
pub struct Accelerator {
    shape: Option<Shape>,
    /// The flash it reads: first address and bytes.
    flash: (u32, u32),
    setting: Option<Setting>,
    /// Counts the lines brought in.
    pub(crate) epoch: u64,
    /// By block: the epoch in which all its lines were found.
    pub(crate) stamps: Vec<u64>,
    blocks: Vec<Box<[CodeLine]>>,
    /// The instruction cache or, with that off, what the interface holds of the flash.
    code: Lines,
    /// The other one of the two: a cache that is switched off keeps its lines (RM0090 3.5.2).
    aside: Lines,
    caches: FlashCaches,
    latest_code: u32,
    /// Cycles that the line in use was there before it was needed.
    lead: u32,
    /// Cycles in the line before, if the core comes from there; else [`JUMPED`].
    pub(crate) arrived: u32,
    /// Data lines, latest first.
    data: Vec<u32>,
    /// Those of the data cache while it is off, or of the buffer.
    data_aside: Vec<u32>,
    /// The first of them, where there is a data cache.
    pub(crate) latest_data: u32,
    waits: HashMap<(u32, Cause), Sum>,
    model: Model,
}

/// What an accelerator holds, but for when it came to that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    code: (u32, u32, u32),
    /// Lines of code, by their last use.
    lines: Vec<u32>,
    data: (u32, Vec<u32>),
}

/// Lines of a cache that replaces the least recently used.
#[derive(Debug, Default)]
struct Lines {
    /// By line: its place among the slots, from 1; 0 if it is not there.
    places: Vec<u8>,
    /// Lines with the time of their last use.
    slots: Vec<(u32, u64)>,
    capacity: usize,
    time: u64,
}

impl Lines {
    fn clear(&mut self) {
        self.places.fill(0);
        self.slots.clear();
    }

    /// Its lines, the one that was not used for longest first.
    fn by_use(&self) -> Vec<u32> {
        let mut slots = self.slots.clone();
        slots.sort_unstable_by_key(|slot| slot.1);
        slots.into_iter().map(|slot| slot.0).collect()
    }

    /// Uses a line; returns whether it was there.
    fn uses(&mut self, line: u32) -> bool {
        self.time += 1;
        let Some(place) = self.places.get_mut(line as usize) else { return true };
        if *place != 0 {
            self.slots[usize::from(*place) - 1].1 = self.time;
            return true;
        }
        let slot = if self.slots.len() < self.capacity {
            self.slots.push((line, self.time));
            self.slots.len()
        } else {
            let used = self.slots.iter().enumerate().min_by_key(|(_, slot)| slot.1);
            let slot = used.map_or(0, |(at, _)| at);
            let old = std::mem::replace(&mut self.slots[slot], (line, self.time));
            self.places[old.0 as usize] = 0;
            slot + 1
        };
        self.places[line as usize] = slot as u8;
        false
    }
}

impl Accelerator {
    /// An accelerator of a flash.
    pub fn new(shape: Shape, base: u32, bytes: u32) -> Self {
        let lines = |capacity: u8| Lines {
            places: vec![0; bytes.div_ceil(shape.line_bytes) as usize],
            capacity: usize::from(capacity),
            ..Lines::default()
        };
        let (code, aside) = (lines(shape.buffer_lines), lines(shape.instruction_lines));
        Accelerator {
            shape: Some(shape),
            flash: (base, bytes),
            code,
            aside,
            arrived: JUMPED,
            ..Self::default()
        }
    }

    /// Takes of every wait the figure of one model.
    pub(crate) fn set_model(&mut self, model: Model) {
        self.model = model;
    }

    /// Whether there is one.
    pub(crate) fn exists(&self) -> bool {
        self.shape.is_some()
    }

    /// Whether anybody may wait.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.setting.is_some()
    }

    /// The flash is set otherwise. Caches keep what they hold, the buffer does not. Returns whether
    /// that changes what code costs.
    pub(crate) fn set(&mut self, wait_states: u8, prefetch: bool, caches: FlashCaches) -> bool {
        if self.shape.is_none() {
            return false;
        }
        let setting = (wait_states > 0).then_some(Setting { wait_states, prefetch, caches });
        if setting == self.setting {
            return false;
        }
        self.setting = setting;
        if caches.instructions != self.caches.instructions {
            std::mem::swap(&mut self.code, &mut self.aside);
        }
        if !caches.instructions {
            self.code.clear();
        }
        if caches.data != self.caches.data {
            std::mem::swap(&mut self.data, &mut self.data_aside);
        }
        if !caches.data {
            self.data.clear();
        }
        self.caches = caches;
        self.forget_latest();
        true
    }

    /// These caches lose what they hold.
    pub(crate) fn empty(&mut self, caches: FlashCaches) {
        if caches.instructions {
            let cache = if self.caches.instructions { &mut self.code } else { &mut self.aside };
            cache.clear();
        }
        if caches.data {
            let cache = if self.caches.data { &mut self.data } else { &mut self.data_aside };
            cache.clear();
        }
        self.forget_latest();
    }

    fn forget_latest(&mut self) {
        self.latest_data = u32::MAX;
        self.latest_code = u32::MAX - 1;
        self.arrived = JUMPED;
        self.lead = 0;
        self.epoch += 1;
    }

    /// The most that a block with so many lines and words read from flash waits, likely figure.
    pub(crate) fn worst(&self, lines: u32, words: u32) -> u32 {
        self.setting.map_or(0, |s| u32::from(s.wait_states) * (lines + words))
    }

    /// Lines that so many bytes may touch.
    pub(crate) fn lines_in(&self, bytes: u32) -> u32 {
        self.shape.map_or(0, |shape| bytes / shape.line_bytes + 2)
    }

    fn line(&self, address: u32) -> Option<u32> {
        let offset = address.wrapping_sub(self.flash.0);
        (offset < self.flash.1).then(|| offset / self.shape.map_or(1, |shape| shape.line_bytes))
    }

    /// Bits of an offset in flash below the number of its line.
    #[cfg_attr(not(feature = "compiler"), expect(dead_code, reason = "nothing is compiled"))]
    pub(crate) fn line_shift(&self) -> u32 {
        self.shape.map_or(0, |shape| shape.line_bytes.trailing_zeros())
    }

    /// Block number `id` has been decoded: its instructions by real address, with bytes and cycles,
    /// and what address they run at.
    pub(crate) fn add_block(&mut self, id: u32, insns: impl Iterator<Item = (u32, u32, u32, u32)>) {
        if !self.is_on() {
            return;
        }
        let mut lines: Vec<CodeLine> = Vec::new();
        for (address, bytes, cycles, pc) in insns {
            let touched = [address, address.wrapping_add(bytes - 1)].map(|at| self.line(at));
            for line in touched.into_iter().flatten() {
                if lines.last().is_none_or(|last| last.line != line) {
                    lines.push(CodeLine { line, pc, cycles: 0 });
                }
            }
            if let Some(last) = lines.last_mut() {
                last.cycles += cycles;
            }
        }
        let at = id as usize;
        if at >= self.blocks.len() {
            self.blocks.resize(at + 1, Box::default());
            self.stamps.resize(at + 1, 0);
        }
        self.blocks[at] = lines.into();
        self.stamps[at] = 0;
    }

    /// Blocks are numbered anew.
    pub(crate) fn forget_blocks(&mut self) {
        self.blocks.clear();
        self.stamps.clear();
    }

    /// What decides what code and data will wait, besides [`Accelerator::has`].
    pub(crate) fn state(&self) -> State {
        State {
            code: (self.latest_code, self.lead, self.arrived),
            lines: self.code.by_use(),
            data: (self.latest_data, self.data.clone()),
        }
    }

    /// What was waited since [`Accelerator::take_waits`] is waited so many times more.
    pub(crate) fn repeat_waits(&mut self, times: u64) {
        for cycles in self.waits.values_mut().flatten() {
            *cycles += times * *cycles;
        }
    }

    /// Whether a block's lines were all there since the last one was brought in.
    #[inline(always)]
    pub(crate) fn has(&self, id: u32) -> bool {
        match self.setting {
            None => true,
            Some(_) => self.stamps.get(id as usize) == Some(&self.epoch),
        }
    }

    /// The core comes to the next block by a jump.
    #[inline(always)]
    pub(crate) fn jumped(&mut self) {
        self.arrived = JUMPED;
    }

    /// The core goes on behind a block.
    #[inline(always)]
    pub(crate) fn goes_on(&mut self, id: u32) {
        if self.is_on() {
            self.arrived = self.cycles_at_end(id);
        }
    }

    /// Cycles of a block in its last line.
    pub(crate) fn cycles_at_end(&self, id: u32) -> u32 {
        let lines = self.blocks.get(id as usize);
        lines.and_then(|lines| lines.last()).map_or(JUMPED, |last| last.cycles)
    }

    /// A block begins: brings in the lines that it lacks. What each waits is kept for
    /// [`Accelerator::take_waits`].
    pub(crate) fn fetch(&mut self, id: u32) -> Bounds {
        let mut sum = Bounds::exact(0);
        let mut arrived = std::mem::replace(&mut self.arrived, JUMPED);
        let (Some(setting), Some(lines)) = (self.setting, self.blocks.get_mut(id as usize)) else {
            return sum;
        };
        let lines = std::mem::take(lines);
        let (words, ahead) = self.shape.map_or((0, 0), |s| (s.line_bytes / 4, u32::from(s.ahead)));
        for &CodeLine { line, pc, cycles } in &lines {
            if arrived == JUMPED {
                self.lead = 0;
            } else if line == self.latest_code {
                // Still there.
                arrived += cycles;
                continue;
            }
            let there = self.code.uses(line);
            if !there {
                self.epoch += 1;
                let follows = line == self.latest_code + 1;
                let wait = setting.line_wait(arrived.saturating_add(self.lead), follows);
                let wait = self.model.of(wait);
                sum += wait;
                self.note(pc, Cause::FetchWait, wait);
            }
            let taken = if there { words } else { setting.period() };
            self.lead = match arrived {
                JUMPED => 0,
                _ => (arrived + self.lead).saturating_sub(taken).min(ahead),
            };
            self.latest_code = line;
            arrived = cycles;
        }
        // With less room than lines the first are gone again.
        let all = lines.len() <= self.code.capacity;
        self.stamps[id as usize] = if all { self.epoch } else { 0 };
        self.blocks[id as usize] = lines;
        sum
    }

    /// The core reads data at an address in flash.
    pub(crate) fn read(&mut self, address: u32) -> Bounds {
        let (Some(setting), Some(shape), Some(line)) =
            (self.setting, self.shape, self.line(address))
        else {
            return Bounds::exact(0);
        };
        let found = self.data.iter().position(|&l| l == line);
        if let Some(at) = found {
            self.data[..=at].rotate_right(1);
        } else {
            let lines = if setting.caches.data { usize::from(shape.data_lines).max(1) } else { 1 };
            self.data.truncate(lines - 1);
            self.data.insert(0, line);
        }
        if setting.caches.data {
            self.latest_data = line;
        }
        self.model.of(setting.data_wait(found.is_some()))
    }

    /// The same for consecutive bytes, waits kept as [`Accelerator::fetch`] keeps them.
    #[cfg_attr(not(feature = "compiler"), expect(dead_code, reason = "nothing is compiled"))]
    pub(crate) fn read_span(&mut self, pc: u32, address: u32, bytes: u32) -> Bounds {
        let mut sum = Bounds::exact(0);
        for at in (0..bytes).step_by(4) {
            sum += self.read(address.wrapping_add(at));
        }
        self.note(pc, Cause::DataWait, sum);
        sum
    }

    /// The core fetches an exception's vector, which comes over the instruction bus.
    pub(crate) fn read_vector(&mut self, address: u32) -> Bounds {
        match (self.setting, self.line(address)) {
            (Some(setting), Some(line)) if !self.code.uses(line) => {
                self.epoch += 1;
                self.latest_code = line;
                self.model.of(setting.line_wait(JUMPED, false))
            }
            _ => Bounds::exact(0),
        }
    }

    fn note(&mut self, pc: u32, cause: Cause, wait: Bounds) {
        if wait.high > 0 {
            let sum = self.waits.entry((pc, cause)).or_default();
            for (sum, cycles) in sum.iter_mut().zip([wait.low, wait.likely, wait.high]) {
                *sum += cycles;
            }
        }
    }

    /// What was waited since the last call, by instruction and cause.
    pub(crate) fn take_waits(&mut self) -> impl Iterator<Item = (u32, Cause, Bounds)> + '_ {
        self.waits
            .drain()
            .map(|((pc, cause), [low, likely, high])| (pc, cause, Bounds { low, likely, high }))
    }
}

impl Setting {
    /// Cycles from one line to the next.
    fn period(self) -> u32 {
        u32::from(self.wait_states) + 1
    }

    /// What a line of code waits that is not in the cache.
    fn line_wait(self, arrived: u32, follows: bool) -> Bounds {
        let states = u64::from(self.wait_states);
        if arrived == JUMPED {
            // RM0090 3.5.2: at least the wait states. Another read may have to end first; the
            // prefetch may have it.
            let low = if self.prefetch && follows { 0 } else { states };
            return Bounds { low, likely: states, high: 2 * states };
        }
        if !self.prefetch {
            // The core asks while it still has words to decode.
            return Bounds { low: states.saturating_sub(2), likely: states, high: states + 1 };
        }
        // Its read began when the line before was there, give or take a cycle.
        let wait = |period: u32| u64::from(period.saturating_sub(arrived)).min(states);
        let period = self.period();
        Bounds { low: wait(period - 1), likely: wait(period), high: wait(period + 1) }
    }

    /// What a data read waits whose line is among those read last, or is not.
    fn data_wait(self, found: bool) -> Bounds {
        let states = u64::from(self.wait_states);
        let (low, likely) = match (found, self.caches.data) {
            (true, true) => return Bounds::exact(0),
            // The manual names no buffer for data but the cache.
            (true, false) => (0, states),
            (false, _) => (states, states),
        };
        // A line of code may be under way.
        Bounds { low, likely, high: 2 * states }
    }
}

#[cfg(test)]
mod tests;
