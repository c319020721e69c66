//! How a timer counts and what its compare outputs do (ATmega328P data sheet, 15.7 and 16.9): plain
//! arithmetic that knows no register and no cycle.
//!
//! Everything that a match or the end of a period does is seen one timer clock later (figures
//! 15-10, 15-11): so it all happens with the clock at which the counter leaves the value.

/// Shape of the counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Shape {
    /// Up to the maximum, or, with another top, clear timer on compare match.
    #[default]
    Plain,
    /// Fast PWM: up to the top, compare registers loaded at its end.
    Fast,
    /// Phase correct: up and down, compare registers loaded at the top.
    PhaseCorrect,
    /// Phase and frequency correct: the same, loaded at the bottom.
    PhaseAndFrequencyCorrect,
}

/// What the counter's highest value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Top {
    Fixed(u16),
    CompareA,
    Capture,
}

/// A waveform generation mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mode {
    pub(super) shape: Shape,
    pub(super) top: Top,
}

impl Mode {
    /// WGM2:0 of an 8-bit timer (table 15-8). `None` is reserved.
    pub(super) fn narrow(wgm: u8) -> Option<Mode> {
        let (shape, top) = match wgm {
            0 => (Shape::Plain, Top::Fixed(0xff)),
            1 => (Shape::PhaseCorrect, Top::Fixed(0xff)),
            2 => (Shape::Plain, Top::CompareA),
            3 => (Shape::Fast, Top::Fixed(0xff)),
            5 => (Shape::PhaseCorrect, Top::CompareA),
            7 => (Shape::Fast, Top::CompareA),
            _ => return None,
        };
        Some(Mode { shape, top })
    }

    /// WGM3:0 of a 16-bit timer (table 16-4). `None` is reserved.
    pub(super) fn wide(wgm: u8) -> Option<Mode> {
        let bits = |n: u8| Top::Fixed((0x100 << n) - 1);
        let (shape, top) = match wgm {
            0 => (Shape::Plain, Top::Fixed(0xffff)),
            1..=3 => (Shape::PhaseCorrect, bits(wgm - 1)),
            4 => (Shape::Plain, Top::CompareA),
            5..=7 => (Shape::Fast, bits(wgm - 5)),
            8 => (Shape::PhaseAndFrequencyCorrect, Top::Capture),
            9 => (Shape::PhaseAndFrequencyCorrect, Top::CompareA),
            10 => (Shape::PhaseCorrect, Top::Capture),
            11 => (Shape::PhaseCorrect, Top::CompareA),
            12 => (Shape::Plain, Top::Capture),
            14 => (Shape::Fast, Top::Capture),
            15 => (Shape::Fast, Top::CompareA),
            _ => return None,
        };
        Some(Mode { shape, top })
    }

    pub(super) fn is_pwm(self) -> bool {
        self.shape != Shape::Plain
    }

    fn both_ways(self) -> bool {
        matches!(self.shape, Shape::PhaseCorrect | Shape::PhaseAndFrequencyCorrect)
    }
}

/// One compare unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Channel {
    /// What the counter is compared with.
    pub(super) compare: u16,
    /// What firmware has written, and what it reads.
    pub(super) buffer: u16,
    /// COMnx1:0.
    pub(super) action: u8,
    /// The waveform generator's output.
    pub(super) output: bool,
}

/// Flag of an overflow; those of the compare units follow, then that of input capture.
pub(super) const OVERFLOW: u8 = 1;
/// Flag of input capture, or of a top that its register sets.
pub(super) const CAPTURE: u8 = 1 << 4;

/// Counter, compare units and mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wave {
    pub(super) mode: Mode,
    pub(super) count: u16,
    down: bool,
    /// The counter has been written: its next clock matches nothing (15.7.3).
    blocked: bool,
    pub(super) channels: Vec<Channel>,
    pub(super) capture: u16,
    max: u16,
    /// How often each flag was raised since somebody took the counts.
    pub(super) events: [u64; 8],
}

impl Wave {
    pub(super) fn new(channels: usize, max: u16) -> Self {
        Wave {
            mode: Mode { shape: Shape::Plain, top: Top::Fixed(max) },
            count: 0,
            down: false,
            blocked: false,
            channels: vec![Channel::default(); channels],
            capture: 0,
            max,
            events: [0; 8],
        }
    }

    fn top(&self) -> u16 {
        match self.mode.top {
            Top::Fixed(top) => top,
            Top::CompareA => self.channels[0].compare,
            Top::Capture => self.capture,
        }
    }

    pub(super) fn set_count(&mut self, count: u16) {
        self.count = count & self.max;
        self.blocked = true;
    }

    pub(super) fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        if !mode.is_pwm() {
            self.down = false;
            self.channels.iter_mut().for_each(|c| c.compare = c.buffer);
        }
    }

    pub(super) fn set_compare(&mut self, channel: usize, value: u16) {
        let channel = &mut self.channels[channel];
        channel.buffer = value & self.max;
        if !self.mode.is_pwm() {
            channel.compare = channel.buffer;
        }
    }

    /// Whether the compare unit has its pin: COM is not 0 and, with PWM, not a reserved toggle.
    pub(super) fn is_connected(&self, at: usize) -> bool {
        match self.channels[at].action {
            0 => false,
            1 => !self.mode.is_pwm() || self.may_toggle(at),
            _ => true,
        }
    }

    /// With PWM only unit A toggles, and only in modes with a top that can be set (tables 15-3,
    /// 16-2): of the fast ones both with 16 bits, of the others that whose top is OCRnA.
    fn may_toggle(&self, at: usize) -> bool {
        at == 0
            && match self.mode.top {
                Top::Fixed(_) => false,
                Top::CompareA => true,
                Top::Capture => self.mode.shape == Shape::Fast,
            }
    }

    /// A strobe of FOCnx: the output does what a match would make it do (15.9.2). Not with PWM.
    pub(super) fn force(&mut self, at: usize) {
        if !self.mode.is_pwm() {
            self.act(at, false);
        }
    }

    fn act(&mut self, at: usize, down: bool) {
        let toggles = !self.mode.is_pwm() || self.may_toggle(at);
        let channel = &mut self.channels[at];
        match channel.action {
            1 if toggles => channel.output = !channel.output,
            2 => channel.output = down,
            3 => channel.output = !down,
            _ => {}
        }
    }

    /// Whether the counter turns around before it can go further up.
    pub(super) fn falls(&self) -> bool {
        self.mode.both_ways() && (self.down && self.count != 0 || self.count >= self.top())
    }

    /// Clocks that pass before the next one that does anything but count.
    pub(super) fn quiet(&self) -> u64 {
        let (count, top) = (self.count, self.top());
        if self.blocked || self.mode.both_ways() && (count == 0 || count >= top) {
            return 0;
        }
        let compares = self.channels.iter().map(|c| c.compare);
        let distance = if self.falls() {
            compares.chain([0]).filter(|&v| v <= count).map(|v| count - v).min()
        } else {
            compares.chain([top, self.max]).filter(|&v| v >= count).map(|v| v - count).min()
        };
        u64::from(distance.unwrap_or(0))
    }

    /// Counts `clocks` times; returns the flags that were raised.
    ///
    /// Periods that end as they began are the same from then on, so one of them stands for the
    /// rest. Two at a time, so that outputs that toggle end as they should; more and more, because
    /// a counter beyond its top comes to no period before it has been round.
    pub(super) fn run(&mut self, mut clocks: u64) -> u8 {
        let mut raised = 0;
        let mut periods = 2;
        loop {
            let stretch = periods * self.period();
            if clocks <= 2 * stretch {
                return raised | self.go(clocks);
            }
            let mut before = self.clone();
            raised |= self.go(stretch);
            clocks -= stretch;
            let counted = std::mem::replace(&mut before.events, self.events);
            if *self == before {
                let times = clocks / stretch;
                let sums = self.events.iter_mut().zip(counted);
                sums.for_each(|(sum, before)| *sum += times * (*sum - before));
                clocks %= stretch;
            }
            periods *= 2;
        }
    }

    /// Flags that counting may raise as everything is set now.
    pub(super) fn can_raise(&self) -> u8 {
        let top = self.top();
        let is_settled = self.count <= top && self.channels.iter().all(|c| c.compare == c.buffer);
        let channels = self.channels.iter().enumerate();
        let matching = channels.filter(|(_, c)| !is_settled || c.compare <= top);
        let compares = matching.fold(0, |all, (at, _)| all | OVERFLOW << (1 + at));
        let is_cleared = is_settled && self.mode.shape == Shape::Plain && top < self.max;
        let overflow = if is_cleared { 0 } else { OVERFLOW };
        let capture = if self.mode.top == Top::Capture { CAPTURE } else { 0 };
        compares | overflow | capture
    }

    /// Clocks to the next one of which a flag may be raised, or to the end of the period if that
    /// comes first; none where the counter goes up and down.
    pub(super) fn to_flags(&self, flags: u8) -> Option<u64> {
        if self.mode.both_ways() {
            return None;
        }
        let compares = (0..self.channels.len())
            .filter(|at| flags & OVERFLOW << (1 + at) != 0)
            .map(|at| self.channels[at].compare);
        // Beyond its top it goes on to the end of its range.
        let end = if self.count <= self.top() { self.top() } else { self.max };
        let next = compares.filter(|value| *value >= self.count).fold(end, u16::min);
        Some(u64::from(next - self.count))
    }

    /// The counter moves on, short of what [`to_flags`](Self::to_flags) gives.
    pub(super) fn move_on(&mut self, counts: u16) {
        self.count += counts;
    }

    fn period(&self) -> u64 {
        let top = u64::from(self.top());
        if self.mode.both_ways() { 2 * top.max(1) } else { top + 1 }
    }

    fn go(&mut self, mut clocks: u64) -> u8 {
        let mut raised = 0;
        while clocks > 0 {
            let quiet = self.quiet().min(clocks);
            let step = quiet as u16;
            self.count = if self.falls() { self.count - step } else { self.count + step };
            clocks -= quiet;
            if clocks > 0 {
                let flags = self.clock();
                let set = |bit: usize| u64::from(flags >> bit & 1);
                self.events.iter_mut().enumerate().for_each(|(bit, n)| *n += set(bit));
                raised |= flags;
                clocks -= 1;
            }
        }
        raised
    }

    /// The clock at which the counter leaves a value that means something.
    fn clock(&mut self) -> u8 {
        let (count, top, falls) = (self.count, self.top(), self.falls());
        let blocked = std::mem::take(&mut self.blocked);
        let mut raised = 0;
        for at in 0..self.channels.len() {
            if self.channels[at].compare == count && !blocked {
                raised |= OVERFLOW << (1 + at);
                self.act(at, falls);
            }
        }
        if count == top && self.mode.top == Top::Capture {
            raised |= CAPTURE;
        }
        let ends = match self.mode.shape {
            Shape::Plain => count == self.max,
            Shape::Fast => count == top || count == self.max,
            _ => count == 0,
        };
        raised |= if ends { OVERFLOW } else { 0 };
        self.down = falls;
        self.count = match () {
            () if self.mode.both_ways() && falls => count.saturating_sub(1),
            () if count == top || count == self.max => 0,
            () => count + 1,
        };
        // A top of 0 stays there.
        if self.mode.both_ways() && top == 0 && count == 0 {
            self.count = 0;
        }
        self.load(count, top, ends);
        raised
    }

    /// Loads buffered compare values, and begins a period of fast PWM.
    fn load(&mut self, count: u16, top: u16, ends: bool) {
        let fast = self.mode.shape == Shape::Fast;
        let loads = match self.mode.shape {
            Shape::Plain => false,
            Shape::PhaseCorrect => count >= top,
            Shape::Fast | Shape::PhaseAndFrequencyCorrect => ends,
        };
        if !loads {
            return;
        }
        for channel in &mut self.channels {
            channel.compare = channel.buffer;
            match channel.action {
                2 if fast => channel.output = true,
                3 if fast => channel.output = false,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
