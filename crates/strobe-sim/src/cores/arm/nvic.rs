//! Which exceptions are enabled, pending and active, and with which priority (DDI 0403, B1.5.4 and
//! B3.4).
//!
//! Numbers and priorities only: how the core moves in and out of handlers is `exception.rs`, what
//! registers show of this is `system.rs`.

use super::system::number;
use crate::kernel::bus::{IRQ_WORDS, IRQS};

/// Exception numbers: the system's sixteen and 240 interrupts.
const NUMBERS: usize = 256;

/// Priority of the running code when nothing is active: below every exception.
pub(crate) const IDLE_PRIORITY: i16 = 256;

/// Exceptions by number: the first word is the system's, the others are laid out as NVIC registers
/// are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Set([u32; 1 + IRQ_WORDS]);

impl Set {
    fn place(exception: u16) -> (usize, u32) {
        match exception.checked_sub(number::IRQ0) {
            None => (0, 1 << exception),
            Some(irq) => (1 + usize::from(irq / 32) % IRQ_WORDS, 1 << (irq % 32)),
        }
    }

    pub(crate) fn contains(&self, exception: u16) -> bool {
        let (word, bit) = Self::place(exception);
        self.0[word] & bit != 0
    }

    pub(crate) fn set(&mut self, exception: u16, on: bool) {
        let (word, bit) = Self::place(exception);
        if on {
            self.0[word] |= bit;
        } else {
            self.0[word] &= !bit;
        }
    }

    /// 32 interrupts, as in the register of that number.
    pub(crate) fn irqs(&self, register: usize) -> u32 {
        self.0[1 + register]
    }

    pub(crate) fn any_irq(&self) -> bool {
        self.0[1..].iter().any(|&word| word != 0)
    }

    pub(crate) fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

/// The numbers in a word of a [`Set`].
pub(crate) fn numbers(word: usize, mut bits: u32) -> impl Iterator<Item = u16> {
    let first = if word == 0 { 0 } else { number::IRQ0 + 32 * (word as u16 - 1) };
    std::iter::from_fn(move || {
        let at = bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        (at < 32).then_some(first + at as u16)
    })
}

/// The state of every exception.
#[derive(Debug, Clone)]
pub(crate) struct Nvic {
    pub(crate) enabled: Set,
    /// Interrupts that have been enabled at any time: what others ask for, nobody takes by itself.
    pub(crate) wanted: Set,
    /// Those that were enabled for the first time, until somebody asks.
    pub(crate) first: Vec<u16>,
    pub(crate) pending: Set,
    pub(crate) active: Set,
    /// Interrupts that the chip has.
    irq_mask: [u32; IRQ_WORDS],
    /// Interrupt lines as last seen, to find rising edges.
    lines: [u32; IRQ_WORDS],
    priority: [u8; NUMBERS],
    /// Bits of a priority that exist.
    priority_mask: u8,
    /// AIRCR.PRIGROUP: the highest bit of a priority that decides nothing about preemption.
    pub(crate) group: u8,
    /// Cycle at which each exception last became pending.
    pended_at: [u64; NUMBERS],
    /// What was last written to NVIC_ISER or ICER, until somebody asks: a word of a [`Set`], its
    /// bits, and whether they were enabled.
    pub(crate) switched: Option<(usize, u32, bool)>,
}

impl Nvic {
    /// At reset. `irq_lines` interrupts, priorities in the upper `priority_bits` of a byte.
    pub(crate) fn new(irq_lines: u32, priority_bits: u8) -> Self {
        let mut irq_mask = [0; IRQ_WORDS];
        for irq in 0..irq_lines.min(IRQS as u32) {
            irq_mask[irq as usize / 32] |= 1 << (irq % 32);
        }
        Nvic {
            irq_mask,
            priority_mask: !(0xffu16 >> priority_bits.min(8)) as u8,
            ..Self::default()
        }
    }

    /// Back to reset, as the chip's maker built it.
    pub(crate) fn reset(&mut self) {
        *self = Nvic {
            wanted: self.wanted,
            irq_mask: self.irq_mask,
            priority_mask: self.priority_mask,
            ..Self::default()
        };
    }

    pub(crate) fn priority_mask(&self) -> u8 {
        self.priority_mask
    }

    /// ICTR.INTLINESNUM: registers for 32 interrupts each, but for the first.
    pub(crate) fn register_count(&self) -> u32 {
        let used = self.irq_mask.iter().rposition(|&word| word != 0);
        used.unwrap_or(0) as u32
    }

    /// Takes over the interrupt lines: a rising level becomes pending (B3.4.1). Returns whether any
    /// did.
    pub(crate) fn update_lines(&mut self, levels: &[u32; IRQ_WORDS], since: &[u64; IRQS]) -> bool {
        let mut any = false;
        for (word, level) in levels.iter().enumerate() {
            let level = level & self.irq_mask[word];
            let rising = level & !self.lines[word];
            self.lines[word] = level;
            for exception in numbers(word + 1, rising) {
                let irq = usize::from(exception - number::IRQ0);
                any |= self.pend(exception, since[irq]);
            }
        }
        any
    }

    /// When `exception` last became pending.
    pub(crate) fn pended_at(&self, exception: u16) -> u64 {
        self.pended_at.get(usize::from(exception)).copied().unwrap_or(0)
    }

    /// Makes an exception pending. Returns whether it was not.
    pub(crate) fn pend(&mut self, exception: u16, now: u64) -> bool {
        let new = !self.pending.contains(exception);
        if new {
            self.pending.set(exception, true);
            self.note_pended(exception, now);
        }
        new
    }

    /// Remembers since when an exception is pending.
    pub(crate) fn note_pended(&mut self, exception: u16, now: u64) {
        if let Some(at) = self.pended_at.get_mut(usize::from(exception)) {
            *at = now;
        }
    }

    /// NVIC_ISPR: returns whether any of these interrupts was not pending.
    pub(crate) fn pend_irqs(&mut self, register: usize, bits: u32, now: u64) -> bool {
        let mut any = false;
        for exception in numbers(register + 1, bits & self.irq_mask[register]) {
            any |= self.pend(exception, now);
        }
        any
    }

    /// NVIC_ICPR. A line that is still high keeps its interrupt pending (DUI 0497A 4.2.9), unless
    /// its handler runs.
    pub(crate) fn unpend_irqs(&mut self, register: usize, bits: u32) {
        let stays = self.lines[register] & !self.active.irqs(register);
        self.pending.0[1 + register] &= !bits | stays;
    }

    /// NVIC_ISER and ICER.
    pub(crate) fn enable_irqs(&mut self, register: usize, bits: u32, on: bool) {
        let bits = bits & self.irq_mask[register];
        let word = &mut self.enabled.0[1 + register];
        *word = if on { *word | bits } else { *word & !bits };
        if on {
            let wanted = &mut self.wanted.0[1 + register];
            self.first.extend(numbers(1 + register, bits & !*wanted));
            *wanted |= bits;
        }
        self.switched = Some((1 + register, bits, on));
    }

    /// The byte in NVIC_IPR or SHPR.
    pub(crate) fn priority_byte(&self, exception: u16) -> u8 {
        self.priority.get(usize::from(exception)).copied().unwrap_or(0)
    }

    /// Sets the byte in NVIC_IPR or SHPR, as far as the bits and the exception exist.
    pub(crate) fn set_priority_byte(&mut self, exception: u16, value: u8) {
        let irq = exception.checked_sub(number::IRQ0).map(usize::from);
        let exists = irq.is_none_or(|n| {
            self.irq_mask.get(n / 32).is_some_and(|word| word >> (n % 32) & 1 != 0)
        });
        if exists && let Some(byte) = self.priority.get_mut(usize::from(exception)) {
            *byte = value & self.priority_mask;
        }
    }

    /// The priority of an exception: lower goes first; negative ones are fixed.
    pub(crate) fn priority_of(&self, exception: u16) -> i16 {
        match exception {
            number::RESET => -3,
            number::NMI => -2,
            number::HARD_FAULT => -1,
            n => i16::from(self.priority_byte(n)),
        }
    }

    /// What of a priority decides over preemption (PRIGROUP).
    pub(crate) fn group_priority(&self, priority: i16) -> i16 {
        if priority < 0 { priority } else { priority & !((2 << self.group) - 1) }
    }

    /// The running code's priority but for the mask registers (ExecutionPriority, B1.5.4).
    pub(crate) fn active_priority(&self) -> i16 {
        let mut best = IDLE_PRIORITY;
        for (word, &bits) in self.active.0.iter().enumerate() {
            for exception in numbers(word, bits) {
                best = best.min(self.priority_of(exception));
            }
        }
        self.group_priority(best)
    }

    /// The pending and enabled exception with the best priority; ties go to the lower number.
    pub(crate) fn best_pending(&self) -> Option<(u16, i16)> {
        let mut best: Option<(u16, i16)> = None;
        for (word, (&pending, &enabled)) in self.pending.0.iter().zip(&self.enabled.0).enumerate() {
            for exception in numbers(word, pending & enabled) {
                let priority = self.priority_of(exception);
                if best.is_none_or(|(_, p)| priority < p) {
                    best = Some((exception, priority));
                }
            }
        }
        best
    }

    /// An exception is being entered: no longer pending, now active.
    pub(crate) fn activate(&mut self, exception: u16) {
        self.pending.set(exception, false);
        self.active.set(exception, true);
    }

    /// A handler has ended: an interrupt line that is still high becomes pending again. Returns
    /// whether one has.
    pub(crate) fn deactivate(&mut self, exception: u16, now: u64) -> bool {
        self.active.set(exception, false);
        let Some(irq) = exception.checked_sub(number::IRQ0) else { return false };
        let (register, bit) = (usize::from(irq / 32) % IRQ_WORDS, 1 << (irq % 32));
        self.lines[register] & bit != 0 && self.pend_irqs(register, bit, now)
    }
}

/// The exceptions that cannot be disabled.
const ALWAYS: [u16; 5] =
    [number::NMI, number::HARD_FAULT, number::SVCALL, number::PENDSV, number::SYSTICK];

impl Default for Nvic {
    fn default() -> Self {
        let mut enabled = Set::default();
        ALWAYS.into_iter().for_each(|exception| enabled.set(exception, true));
        Nvic {
            enabled,
            wanted: Set::default(),
            first: Vec::new(),
            pending: Set::default(),
            active: Set::default(),
            irq_mask: [0; IRQ_WORDS],
            lines: [0; IRQ_WORDS],
            priority: [0; NUMBERS],
            priority_mask: 0xc0,
            group: 0,
            pended_at: [0; NUMBERS],
            switched: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DUI 0497A 4.2.9: software cannot clear what the peripheral still asks for.
    #[test]
    fn a_high_line_stays_pending_when_cleared() {
        let mut nvic = Nvic::new(240, 4);
        let levels = |bits| [bits, 0, 0, 0, 0, 0, 0, 0];
        assert!(nvic.update_lines(&levels(1 << 20), &[7; IRQS]));
        assert_eq!(nvic.pended_at(36), 7);
        nvic.unpend_irqs(0, 1 << 20);
        assert!(nvic.pending.contains(36));
        nvic.activate(36);
        nvic.unpend_irqs(0, 1 << 20);
        assert!(!nvic.pending.contains(36), "its handler runs");
        assert!(!nvic.update_lines(&levels(0), &[0; IRQS]));
        assert!(!nvic.deactivate(36, 0));
    }

    #[test]
    fn line_still_high_after_its_handler_pends_again() {
        let mut nvic = Nvic::new(240, 4);
        let mut levels = [0; IRQ_WORDS];
        levels[7] = 1 << 15;
        nvic.update_lines(&levels, &[0; IRQS]);
        nvic.activate(255);
        assert!(nvic.deactivate(255, 99));
        assert_eq!((nvic.pending.contains(255), nvic.pended_at(255)), (true, 99));
    }

    #[test]
    fn ties_go_to_the_lower_exception_number() {
        let mut nvic = Nvic::new(240, 8);
        for irq in [5u16, 9, 239] {
            nvic.enable_irqs(usize::from(irq / 32), 1 << (irq % 32), true);
            nvic.pend(number::IRQ0 + irq, 0);
            nvic.set_priority_byte(number::IRQ0 + irq, 0x42);
        }
        assert_eq!(nvic.best_pending(), Some((21, 0x42)));
        nvic.set_priority_byte(25, 0x41);
        assert_eq!(nvic.best_pending(), Some((25, 0x41)), "the subpriority decides who goes first");
        nvic.set_priority_byte(255, 0x40);
        assert_eq!(nvic.best_pending(), Some((255, 0x40)));
    }

    #[test]
    fn interrupts_that_are_not_there_keep_nothing() {
        let mut nvic = Nvic::new(40, 3);
        nvic.enable_irqs(1, u32::MAX, true);
        nvic.set_priority_byte(16 + 39, 0xff);
        nvic.set_priority_byte(16 + 40, 0xff);
        assert!(nvic.pend_irqs(1, u32::MAX, 0));
        assert_eq!((nvic.enabled.irqs(1), nvic.pending.irqs(1)), (0xff, 0xff));
        assert_eq!((nvic.priority_byte(16 + 39), nvic.priority_byte(16 + 40)), (0xe0, 0));
        assert_eq!(nvic.register_count(), 1);
    }

    /// B1.5.4: what is below the group's bits keeps nobody from running.
    #[test]
    fn preemption_is_by_group() {
        let mut nvic = Nvic::new(8, 8);
        nvic.set_priority_byte(16, 0x67);
        nvic.activate(16);
        for (group, priority) in [(0, 0x66), (2, 0x60), (4, 0x60), (5, 0x40), (6, 0), (7, 0)] {
            nvic.group = group;
            assert_eq!(nvic.active_priority(), priority, "PRIGROUP {group}");
        }
        nvic.activate(number::HARD_FAULT);
        assert_eq!(nvic.active_priority(), -1);
    }
}
