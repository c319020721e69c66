//! When to look for a loop that waits.

/// Cycles from one look at code that runs without reading registers to the next, at least and at
/// most: a look costs as much as a few thousand cycles of compiled code.
const SHORTEST: u64 = 1 << 9;
const LONGEST: u64 = 1 << 24;

/// Heads that are remembered; a power of two.
const HEADS: usize = 128;

/// A head that has failed so often is tried once in 2 to the power of this.
const MOST_FAILURES: u8 = 14;

/// Times that a head is passed by behind which there was no room.
const CRAMPED: u32 = 8;

/// Instructions of a turn that are recorded at the first try, at most, and ever: most loops that
/// wait take fewer than thirty, those of a prompt that waits for a key some hundreds.
const FIRST_STEPS: usize = 128;
const MOST_STEPS: usize = 2048;

/// A place at which recording has begun.
#[derive(Debug, Clone, Copy, Default)]
struct Tried {
    pc: u32,
    failures: u8,
    /// Times that it is passed by before it is tried again.
    left: u32,
}

/// Decides when to record.
#[derive(Debug)]
pub(crate) struct Trigger {
    on: bool,
    armed: bool,
    /// The instructions that read registers last.
    readers: [u32; 4],
    reader: usize,
    /// The cycle at which code that reads none is looked at next.
    pub(in crate::cores::arm) next: u64,
    interval: u64,
    heads: Vec<Tried>,
}

impl Default for Trigger {
    fn default() -> Self {
        Trigger {
            on: true,
            armed: false,
            readers: [u32::MAX; 4],
            reader: 0,
            next: SHORTEST,
            interval: SHORTEST,
            heads: vec![Tried::default(); HEADS],
        }
    }
}

impl Trigger {
    pub(super) fn set_on(&mut self, on: bool) {
        self.on = on;
        self.armed = false;
        self.next = if on { 0 } else { u64::MAX };
    }

    #[inline(always)]
    pub(in crate::cores::arm) fn is_armed(&self) -> bool {
        self.armed
    }

    /// The instruction at `pc` has read a register.
    #[inline]
    pub(in crate::cores::arm) fn note_reader(&mut self, pc: u32) {
        if self.readers.contains(&pc) {
            self.armed = self.on;
        } else {
            self.readers[self.reader & 3] = pc;
            self.reader += 1;
        }
    }

    /// Code has run up to a cycle.
    #[inline]
    pub(in crate::cores::arm) fn note_time(&mut self, now: u64) {
        if now >= self.next && self.on {
            self.armed = true;
            self.next = now + self.interval;
            self.interval = (2 * self.interval).min(LONGEST);
        }
    }

    fn tried(&mut self, pc: u32) -> &mut Tried {
        let at = (pc >> 1).wrapping_mul(0x9e37_79b1) as usize >> 8;
        let tried = &mut self.heads[at % HEADS];
        if tried.pc != pc {
            *tried = Tried { pc, ..Tried::default() };
        }
        tried
    }

    /// Whether to record at a head.
    pub(super) fn takes(&mut self, pc: u32) -> bool {
        self.armed = false;
        let tried = self.tried(pc);
        tried.left = tried.left.saturating_sub(1);
        tried.left == 0
    }

    /// Instructions to record from a head on, at most: more at each try.
    pub(super) fn most_steps(&mut self, pc: u32) -> usize {
        (FIRST_STEPS << self.tried(pc).failures).min(MOST_STEPS)
    }

    /// Nothing could be skipped from a head on.
    pub(super) fn failed(&mut self, pc: u32) {
        self.armed = false;
        let tried = self.tried(pc);
        tried.failures = (tried.failures + 1).min(MOST_FAILURES);
        tried.left = 1 << tried.failures;
    }

    /// Something else happens too soon behind a head: loops that wait for a few turns do so often.
    pub(super) fn cramped(&mut self, pc: u32) {
        self.armed = false;
        self.tried(pc).left = CRAMPED;
    }

    /// Turns were skipped from a head on, up to a cycle.
    pub(super) fn skipped(&mut self, pc: u32, now: u64) {
        self.armed = false;
        *self.tried(pc) = Tried { pc, ..Tried::default() };
        self.interval = SHORTEST;
        self.next = now + SHORTEST;
    }
}
