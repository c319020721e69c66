//! The counter of a timer as pure arithmetic: where it stands, when it wraps, what it passes.
//!
//! A position numbers the ticks of one period, so that any stretch of time is one addition whatever
//! the counting mode. It knows neither cycles nor registers nor flags.

/// How the counter runs (RM0360, "Counter modes").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// 0 to the top, then 0.
    Up,
    /// The top to 0, then the top.
    Down,
    /// 0 to the top and back.
    Center,
}

/// A counter with its top (the active auto-reload value).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counter {
    mode: Mode,
    top: u32,
    /// Ticks since the start of the period. Negative while the counter runs outside 0..=top
    /// because firmware moved it or the top: it gets back in range by wrapping at its full
    /// width.
    position: i64,
    /// Number of counter values, a power of two.
    modulus: i64,
}

impl Counter {
    /// A counter of `bits` bits at 0 that counts up through its full width.
    pub(super) fn new(bits: u32) -> Self {
        let modulus = 1i64 << bits;
        Counter { mode: Mode::Up, top: (modulus - 1) as u32, position: 0, modulus }
    }

    /// The largest value the counter can hold.
    pub(super) fn mask(&self) -> u32 {
        (self.modulus - 1) as u32
    }

    /// The counter register.
    pub(super) fn value(&self) -> u32 {
        let top = i64::from(self.top);
        let value = match self.mode {
            Mode::Down => top - self.position,
            Mode::Center if self.position > top => 2 * top - self.position,
            Mode::Up | Mode::Center => self.position,
        };
        value.rem_euclid(self.modulus) as u32
    }

    /// Whether the next tick lowers the value.
    pub(super) fn is_down(&self) -> bool {
        match self.mode {
            Mode::Up => false,
            Mode::Down => true,
            Mode::Center => self.position >= i64::from(self.top),
        }
    }

    /// The active auto-reload value.
    pub(super) fn top(&self) -> u32 {
        self.top
    }

    /// Puts the counter to `value`, which goes on in direction `down` where the mode leaves a
    /// choice.
    pub(super) fn place(&mut self, value: u32, down: bool) {
        let (value, top) = (i64::from(value & self.mask()), i64::from(self.top));
        self.position = match self.mode {
            Mode::Down => top - value,
            // Going down from above the top is undefined in the manual; the top is the nearest
            // place.
            Mode::Center if down => (2 * top - value).max(top) % (2 * top).max(1),
            Mode::Up | Mode::Center if value > top => value - self.modulus,
            Mode::Up | Mode::Center => value,
        };
    }

    /// Changes mode and top without moving the value.
    pub(super) fn set(&mut self, mode: Mode, top: u32) {
        let (value, down) = (self.value(), self.is_down());
        self.mode = mode;
        self.top = top & self.mask();
        self.place(value, down);
    }

    /// Start of the period with a new top: 0, or the top when counting down.
    pub(super) fn restart(&mut self, top: u32) {
        self.top = top & self.mask();
        self.position = 0;
    }

    /// Ticks of a whole period; `None` while the counter is blocked by a top of zero.
    pub(super) fn period(&self) -> Option<i64> {
        let top = i64::from(self.top);
        match self.mode {
            _ if top == 0 => None,
            Mode::Center => Some(2 * top),
            Mode::Up | Mode::Down => Some(top + 1),
        }
    }

    /// Ticks between two overflows or underflows.
    pub(super) fn boundary_spacing(&self) -> Option<i64> {
        let period = self.period()?;
        Some(if self.mode == Mode::Center { period / 2 } else { period })
    }

    /// Ticks until the next overflow or underflow.
    pub(super) fn to_boundary(&self) -> Option<i64> {
        let spacing = self.boundary_spacing()?;
        Some(if self.position < 0 {
            spacing - self.position
        } else {
            spacing - self.position % spacing
        })
    }

    /// Ticks until the value may change by more than one step: at an overflow, or where it wraps at
    /// its full width. `None` while it is blocked.
    pub(super) fn to_jump(&self) -> Option<i64> {
        let boundary = self.to_boundary()?;
        Some(if self.position < 0 { -self.position } else { boundary })
    }

    /// Moves on by `ticks` that end before the next boundary.
    pub(super) fn advance(&mut self, ticks: i64) {
        self.position += ticks;
    }

    /// Crosses the next boundary; `top` is the auto-reload value from there on. The counter reloads
    /// after the auto-reload register has been updated, so it starts from the new top.
    pub(super) fn cross_boundary(&mut self, top: u32) {
        let at_top = self.mode == Mode::Center && self.position < i64::from(self.top);
        self.top = top & self.mask();
        self.position = if at_top { i64::from(self.top) } else { 0 };
    }

    /// Whether the counter stands at the start of its period.
    pub(super) fn at_start(&self) -> bool {
        self.position == 0
    }

    /// The positions at which the value equals `compare`, counting up and counting down.
    pub(super) fn matches(&self, compare: u32) -> [Option<i64>; 2] {
        let (compare, top) = (i64::from(compare), i64::from(self.top));
        if compare > top {
            return [None, None];
        }
        match self.mode {
            Mode::Up => [Some(compare), None],
            Mode::Down => [None, Some(top - compare)],
            Mode::Center if compare == 0 => [Some(0), Some(0)],
            Mode::Center => [Some(compare), Some(2 * top - compare)],
        }
    }

    /// Ticks until the counter next arrives at `position`, at least one.
    pub(super) fn ticks_to(&self, position: i64) -> Option<i64> {
        let away = position - self.position;
        Some(if away > 0 { away } else { away + self.period()? })
    }

    /// Whether moving on by `ticks` (less than to the boundary) arrives at `position`.
    pub(super) fn passes(&self, position: i64, ticks: i64) -> bool {
        position > self.position && position <= self.position + ticks
    }

    /// Whether the counter stands at `position`.
    pub(super) fn is_at(&self, position: i64) -> bool {
        self.position == position
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same counter, one tick at a time, after the manual's prose.
    struct Reference {
        mode: Mode,
        top: u32,
        value: u32,
        down: bool,
    }

    impl Reference {
        /// Returns whether the tick was an overflow or underflow.
        fn tick(&mut self) -> bool {
            match self.mode {
                Mode::Up => {
                    let over = self.value == self.top;
                    self.value = if over { 0 } else { (self.value + 1) & 0xff };
                    over
                }
                Mode::Down => {
                    let under = self.value == 0;
                    self.value = if under { self.top } else { self.value - 1 };
                    under
                }
                Mode::Center => {
                    self.value =
                        if self.down { self.value - 1 } else { self.value.wrapping_add(1) & 0xff };
                    let turned = self.value == if self.down { 0 } else { self.top };
                    self.down ^= turned;
                    turned
                }
            }
        }
    }

    fn mode() -> impl Strategy<Value = Mode> {
        prop_oneof![Just(Mode::Up), Just(Mode::Down), Just(Mode::Center)]
    }

    proptest! {
        #[test]
        fn counts_like_one_tick_at_a_time(mode in mode(), top in 1u32..256, value in 0u32..256) {
            let mut counter = Counter::new(8);
            counter.set(mode, top);
            // In the center modes only values below the top have a defined direction.
            let value = if mode == Mode::Center { value % top } else { value };
            counter.place(value, false);
            let mut reference = Reference { mode, top, value, down: false };
            for tick in 0..1500 {
                let boundary = counter.to_boundary() == Some(1);
                let is_next = |p| counter.ticks_to(p) == Some(1);
                let arrives: Vec<u32> = (0..=top)
                    .filter(|&c| counter.matches(c).into_iter().flatten().any(is_next))
                    .collect();
                if boundary { counter.cross_boundary(top) } else { counter.advance(1) }
                prop_assert_eq!(reference.tick(), boundary, "tick {}", tick);
                prop_assert_eq!(reference.value, counter.value(), "tick {}", tick);
                if reference.value <= top {
                    prop_assert_eq!(arrives, vec![reference.value], "tick {}", tick);
                } else {
                    prop_assert_eq!(arrives, Vec::<u32>::new());
                }
            }
        }

        #[test]
        fn a_change_of_mode_or_top_keeps_the_value(
            steps in proptest::collection::vec((mode(), any::<u8>(), any::<u8>(), 0i64..50), 1..20)
        ) {
            let mut counter = Counter::new(8);
            for (mode, top, value, ticks) in steps {
                counter.place(u32::from(value), false);
                let before = counter.value();
                counter.set(mode, u32::from(top));
                if mode != Mode::Center || before <= u32::from(top) {
                    prop_assert_eq!(counter.value(), before);
                }
                if counter.to_boundary().is_some_and(|b| ticks < b) { counter.advance(ticks) }
                prop_assert!(counter.value() <= 0xff);
            }
        }
    }
}
