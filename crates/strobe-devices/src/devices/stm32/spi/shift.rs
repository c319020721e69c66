//! One frame on the wires, half a clock period at a time (RM0360, "Clock phase and clock
//! polarity").
//!
//! Pure: what the wires do at each step and when; who drives them is not its business.

/// How a frame is clocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// Data bits, 4 to 16.
    pub(super) bits: u32,
    /// CPHA: data is sampled on the second edge of each clock period instead of the first.
    pub(super) second_edge: bool,
    /// LSBFIRST.
    pub(super) lsb_first: bool,
    /// Core cycles of half a clock period.
    pub(super) half: u64,
}

/// What happens on the wires in one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Step {
    /// The clock becomes active (true) or idle.
    pub(super) clock: Option<bool>,
    /// The data output's new level.
    pub(super) data: Option<bool>,
    /// The data input is sampled.
    pub(super) sample: bool,
}

/// A frame under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shift {
    shape: Shape,
    /// The cycle of the first step.
    start: u64,
    /// Step by step, or only the end.
    edges: bool,
    /// The next step, counted in half periods.
    next: u32,
    pub(super) sent: u16,
    pub(super) received: u16,
}

impl Shift {
    pub(super) fn new(shape: Shape, start: u64, edges: bool, data: u16) -> Self {
        let sent = data & ones(shape.bits);
        let next = if edges { 0 } else { 2 * shape.bits };
        Shift { shape, start, edges, next, sent, received: 0 }
    }

    /// The cycle of the next step.
    pub(super) fn next_at(&self) -> u64 {
        self.start + u64::from(self.next) * self.shape.half
    }

    /// The cycle of the last step, which ends the frame.
    pub(super) fn end(&self) -> u64 {
        self.start + u64::from(2 * self.shape.bits) * self.shape.half
    }

    /// Takes the next step; `None` once the frame is over.
    pub(super) fn step(&mut self) -> Option<Step> {
        let (period, second) = (self.next / 2, self.next % 2 == 1);
        if self.next > 2 * self.shape.bits {
            return None;
        }
        self.next += 1;
        let over = period == self.shape.bits;
        Some(match (self.shape.second_edge, second) {
            _ if over => Step { clock: Some(false), ..Step::default() },
            (false, false) => {
                let trailing = (period > 0).then_some(false);
                Step { clock: trailing, data: Some(self.output(period)), sample: false }
            }
            (false, true) => Step { clock: Some(true), data: None, sample: true },
            (true, false) => {
                Step { clock: Some(true), data: Some(self.output(period)), sample: false }
            }
            (true, true) => Step { clock: Some(false), data: None, sample: true },
        })
    }

    /// Whether the last step has been taken.
    pub(super) fn is_over(&self) -> bool {
        self.next > 2 * self.shape.bits
    }

    fn place(&self, period: u32) -> u32 {
        if self.shape.lsb_first { period } else { self.shape.bits - 1 - period }
    }

    fn output(&self, period: u32) -> bool {
        self.sent >> self.place(period) & 1 != 0
    }

    /// The sampling step just taken has seen `level`.
    pub(super) fn sampled(&mut self, level: bool) {
        let period = (self.next - 1) / 2;
        self.received |= u16::from(level) << self.place(period);
    }

    /// Without single steps, an input that stood still gives all bits at once.
    pub(super) fn received_at_once(&mut self, level: bool) {
        if !self.edges {
            self.received = if level { ones(self.shape.bits) } else { 0 };
        }
    }
}

fn ones(bits: u32) -> u16 {
    (u32::from(u16::MAX) >> (16 - bits)) as u16
}
