//! Timers of 8 and 16 bits (ATmega328P data sheet, chapters 15, 16 and 18): registers, flags,
//! interrupts, pins.
//!
//! Wires: the compare outputs of the board file's `outputs`, each with one of that name and `_ON`
//! that shows whether the pin is the timer's; `<name>_OVF`, `_COMPA` to `_COMPC` and `_CAPT`, which
//! are its flags; `clock_pin` and `capture_pin` as given; `prescaler_reset`. The synchronisers in
//! front of the two pins are taken for instant: on silicon edges count 2.5 to 3.5 cycles later,
//! captures 4 later with the noise canceler. Capture from the analog comparator and Timer2's
//! crystal are not modelled.

use serde::Deserialize;

use self::clock::{Clock, Source};
use self::wave::{CAPTURE, Mode, Wave};
use strobe_sim::kernel::device::{
    ByteRegisters, Context, CoreEvents, Create, Device, OptionError, Reading, Shift, ShiftedTimer,
    Size, part_of,
};
use strobe_sim::kernel::signal::SignalId;

mod clock;
pub(super) mod high_speed;
#[cfg(test)]
mod tests;
mod wave;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Wires of the compare units' outputs, A first.
    outputs: Vec<String>,
    /// What CSn2:0 = 1, 2, ... divide by.
    prescaler: Vec<u16>,
    /// The pin whose edges clock the timer with CSn2:0 = 6 and 7.
    clock_pin: Option<String>,
    /// The pin whose edges capture the counter.
    capture_pin: Option<String>,
    /// The wire that resets the prescaler.
    prescaler_reset: String,
    /// Bits of TIMSK and TIFR: of the overflow, of the compare units, of capture.
    flags: Vec<u8>,
}

const NARROW: &[&str] = &["TCCRA", "TCCRB", "TCNT", "OCRA", "OCRB", "TIMSK", "TIFR", "ASSR"];
const WIDE: &[&str] = &[
    "TCCRA", "TCCRB", "TCCRC", "TCNTL", "TCNTH", "ICRL", "ICRH", "OCRAL", "OCRAH", "OCRBL",
    "OCRBH", "OCRCL", "OCRCH", "TIMSK", "TIFR",
];

/// A register of either kind of timer.
#[derive(Clone, Copy)]
enum Register {
    ControlA,
    ControlB,
    ControlC,
    Count,
    Capture,
    Compare(usize),
    /// The high byte of a 16-bit register.
    High,
    CompareHigh(usize),
    Mask,
    Flags,
    Asynchronous,
}

fn register(wide: bool, offset: u32) -> Option<Register> {
    use Register::*;
    let narrow = [ControlA, ControlB, Count, Compare(0), Compare(1), Mask, Flags, Asynchronous];
    let at = offset as usize;
    if !wide {
        return narrow.get(at).copied();
    }
    let all = [
        ControlA,
        ControlB,
        ControlC,
        Count,
        High,
        Capture,
        High,
        Compare(0),
        CompareHigh(0),
        Compare(1),
        CompareHigh(1),
        Compare(2),
        CompareHigh(2),
        Mask,
        Flags,
    ];
    all.get(at).copied()
}

struct Output {
    level: SignalId,
    on: SignalId,
}

struct Timer {
    wide: bool,
    wave: Wave,
    clock: Clock,
    outputs: Vec<Output>,
    prescaler: Vec<u16>,
    clock_pin: Option<SignalId>,
    capture_pin: Option<SignalId>,
    prescaler_reset: SignalId,
    /// For each flag of [`wave`], its bit in TIMSK and TIFR.
    bits: Vec<(u8, u8)>,
    /// The wires that show the flags, in the same order.
    flags: Vec<SignalId>,
    control_a: u8,
    control_b: u8,
    asynchronous: u8,
    /// By [`wave`]'s flags.
    enabled: u8,
    raised: u8,
    /// The register behind accesses of 16 bits (16.3).
    temp: u8,
}

fn create(cx: &mut Create, wide: bool) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    let channels = options.outputs.len();
    if channels == 0 || channels > if wide { 3 } else { 2 } {
        return Err(OptionError::invalid(
            "outputs",
            "one for each compare unit, two or, with 16 bits, up to three",
        ));
    }
    if options.prescaler.len() > 7 || options.prescaler.contains(&0) {
        return Err(OptionError::invalid("prescaler", "up to seven divisors"));
    }
    let captures = usize::from(options.capture_pin.is_some());
    if options.flags.len() != 1 + channels + captures || options.flags.iter().any(|&b| b > 7) {
        return Err(OptionError::invalid(
            "flags",
            "bit numbers of the overflow, each compare unit, and capture",
        ));
    }
    let of_wave = (0..=channels).map(|n| 1 << n).chain([CAPTURE]);
    let bits = of_wave.zip(options.flags.iter().map(|bit| 1 << bit)).collect();
    let wire = |cx: &mut Create, name: &Option<String>| {
        let id = cx.signal(name.as_deref()?);
        cx.listen(id);
        Some(id)
    };
    let names = ["OVF", "COMPA", "COMPB", "COMPC"].into_iter().take(1 + channels);
    let names = names.chain((captures > 0).then_some("CAPT"));
    let prefix = cx.name.to_owned();
    let flags = names.map(|name| cx.signal(&format!("{prefix}_{name}"))).collect();
    let prescaler_reset = cx.signal(&options.prescaler_reset);
    cx.listen(prescaler_reset);
    Ok(Box::new(Timer {
        wide,
        wave: Wave::new(channels, if wide { 0xffff } else { 0xff }),
        clock: Clock::new(),
        outputs: options
            .outputs
            .iter()
            .map(|name| Output { level: cx.signal(name), on: cx.signal(&format!("{name}_ON")) })
            .collect(),
        prescaler: options.prescaler,
        clock_pin: wire(cx, &options.clock_pin),
        capture_pin: wire(cx, &options.capture_pin),
        prescaler_reset,
        bits,
        flags,
        control_a: 0,
        control_b: 0,
        asynchronous: 0,
        enabled: 0,
        raised: 0,
        temp: 0,
    }))
}

pub(super) fn create_narrow(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    create(cx, false)
}

pub(super) fn create_wide(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    create(cx, true)
}

impl Timer {
    /// Counts up to now.
    fn catch_up(&mut self, cx: &mut Context) {
        let clocks = self.clock.take(cx.now());
        self.count(clocks, cx);
    }

    fn count(&mut self, clocks: u64, cx: &mut Context) {
        self.advance(clocks, cx);
        self.show(cx);
    }

    /// Counts up to now and, if outputs or flags have changed, shows that. A loop that polls reads
    /// without a change nearly always.
    fn catch_up_to_read(&mut self, cx: &mut Context) {
        let clocks = self.clock.take(cx.now());
        let outputs = self.levels();
        if self.advance(clocks, cx) || self.levels() != outputs {
            self.show(cx);
        }
    }

    /// Counts. Returns whether anything happened that raises a flag.
    fn advance(&mut self, clocks: u64, cx: &mut Context) -> bool {
        let before = self.raised;
        self.raised |= self.wave.run(clocks);
        let events = std::mem::take(&mut self.wave.events);
        for (line, &(flag, _)) in self.bits.iter().enumerate() {
            let happened = events[flag.trailing_zeros() as usize % events.len()];
            let taken = u64::from(before & flag == 0);
            if self.enabled & flag != 0 {
                cx.lose_requests(line, happened.saturating_sub(taken));
            }
        }
        self.raised != before || events.iter().any(|&n| n > 0)
    }

    /// The levels of the outputs, a bit each.
    fn levels(&self) -> u8 {
        let channels = self.wave.channels.iter().rev();
        channels.fold(0, |bits, channel| bits << 1 | u8::from(channel.output))
    }

    /// Outputs and interrupt lines as they are now, and the next event.
    fn show(&mut self, cx: &mut Context) {
        for (at, output) in self.outputs.iter().enumerate() {
            cx.set_signal(output.level, self.wave.channels[at].output);
            cx.set_signal(output.on, self.wave.is_connected(at));
        }
        for (line, &(flag, _)) in self.bits.iter().enumerate() {
            cx.interrupt(line, self.raised & self.enabled & flag != 0);
        }
        // Flags that something waits for count as enabled interrupts do.
        let mut watched = self.enabled;
        for (&(flag, _), &wire) in self.bits.iter().zip(&self.flags) {
            cx.set_signal(wire, self.raised & flag != 0);
            watched |= if cx.is_observed(wire) { flag } else { 0 };
        }
        let drives = (0..self.outputs.len()).any(|at| self.wave.is_connected(at));
        let wanted = drives || watched & !self.raised & self.wave.can_raise() != 0;
        let due = self.clock.after(cx.now(), self.wave.quiet() + 1).filter(|_| wanted);
        cx.wake_at(due.unwrap_or(u64::MAX));
    }

    /// The first cycle after `now` at which a flag may be raised that is not.
    fn next_change(&self, now: u64) -> u64 {
        let all = self.bits.iter().fold(0, |all, (flag, _)| all | flag);
        let may = all & !self.raised & self.wave.can_raise() != 0;
        let next = self.clock.after(now, self.wave.quiet() + 1).filter(|_| may);
        next.unwrap_or(u64::MAX)
    }

    /// TCNT as time passes, from `now` on, which it has counted up to.
    fn count_reading(&self, now: u64) -> Reading {
        let (period, next) = (self.clock.period(), self.clock.after(now, 1));
        let Some((period, next)) = period.zip(next) else { return Reading::FIXED };
        let until = next + self.wave.quiet() * period;
        Reading::Counting { period, next, down: self.wave.falls(), until }
    }

    fn bits_of(&self, flags: u8) -> u8 {
        let set = self.bits.iter().filter(|(flag, _)| flags & flag != 0);
        set.fold(0, |bits, (_, bit)| bits | bit)
    }

    fn flags_of(&self, bits: u8) -> u8 {
        let set = self.bits.iter().filter(|(_, bit)| bits & bit != 0);
        set.fold(0, |flags, (flag, _)| flags | flag)
    }

    fn set_mode(&mut self, cx: &mut Context) {
        let (a, b) = (self.control_a, self.control_b);
        let mode = if self.wide {
            Mode::wide(a & 3 | b >> 1 & 0xc)
        } else {
            Mode::narrow(a & 3 | b >> 1 & 4)
        };
        match mode {
            Some(mode) => self.wave.set_mode(mode),
            None => {
                let name = cx.name().to_owned();
                cx.warn(format!(
                    "{name}: the waveform mode that was set is reserved: the last one stays"
                ));
            }
        }
        for (at, channel) in self.wave.channels.iter_mut().enumerate() {
            channel.action = a >> (6 - 2 * at) & 3;
        }
        self.clock.source = self.source(cx);
    }

    fn source(&self, cx: &mut Context) -> Source {
        let select = self.control_b & 7;
        if self.asynchronous & 0x20 != 0 {
            let name = cx.name().to_owned();
            cx.warn(format!(
                "{name}: no crystal is connected to TOSC1 and TOSC2 (AS2): it stands still"
            ));
            return Source::Stopped;
        }
        match (select, self.clock_pin) {
            (0, _) => Source::Stopped,
            (6 | 7, Some(_)) => Source::Pin { rising: select == 7 },
            _ => match self.prescaler.get(usize::from(select) - 1) {
                Some(&divisor) => Source::Prescaled(divisor.into()),
                None => Source::Stopped,
            },
        }
    }

    /// A 16-bit register's high byte goes along with its low one.
    fn write_16(&mut self, low: u8) -> u16 {
        let high = if self.wide { u16::from(self.temp) << 8 } else { 0 };
        high | u16::from(low)
    }

    fn read_16(&mut self, value: u16) -> u8 {
        if self.wide {
            self.temp = (value >> 8) as u8;
        }
        value as u8
    }

    fn force(&mut self, bits: u8) {
        let channels = self.outputs.len();
        (0..channels).filter(|at| bits >> (7 - at) & 1 != 0).for_each(|at| self.wave.force(at));
    }
}

impl Device for Timer {
    fn read(&mut self, offset: u32, _: Size, cx: &mut Context) -> Option<u32> {
        self.catch_up_to_read(cx);
        Some(u32::from(match register(self.wide, offset)? {
            Register::ControlA => self.control_a,
            Register::ControlB => self.control_b,
            // The bits that force a match read as zero.
            Register::ControlC => 0,
            Register::Count => self.read_16(self.wave.count),
            Register::Capture => self.read_16(self.wave.capture),
            Register::High => self.temp,
            // Reading OCRnx does not need the temporary register (16.3).
            Register::Compare(at) => self.wave.channels.get(at)?.buffer as u8,
            Register::CompareHigh(at) => (self.wave.channels.get(at)?.buffer >> 8) as u8,
            Register::Mask => self.bits_of(self.enabled),
            Register::Flags => self.bits_of(self.raised),
            Register::Asynchronous => self.asynchronous,
        }))
    }

    fn reading(&mut self, offset: u32, _: Size, cx: &mut Context) -> Reading {
        let reading = match register(self.wide, offset) {
            Some(Register::Count) => {
                // The temporary register takes the high byte, which stays up to a carry.
                let count = u32::from(self.wave.count);
                self.count_reading(cx.now()).part(count, 0, Size::Byte)
            }
            _ => Reading::FIXED,
        };
        // Reading shows flags to the board.
        reading.before(self.next_change(cx.now()))
    }

    fn write(&mut self, offset: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
        self.catch_up(cx);
        let value = value as u8;
        match register(self.wide, offset)? {
            Register::ControlA => {
                let unused = if self.wide { 0 } else { 0x0c };
                self.control_a = value & !unused;
                self.set_mode(cx);
            }
            Register::ControlB => {
                self.control_b = value & if self.wide { 0xdf } else { 0x0f };
                self.set_mode(cx);
                if !self.wide {
                    self.force(value);
                }
            }
            Register::ControlC => self.force(value),
            Register::Count => {
                let count = self.write_16(value);
                self.wave.set_count(count);
            }
            Register::Capture => {
                let capture = self.write_16(value);
                // Only where it is the top (16.11.7).
                if self.wave.mode.top == wave::Top::Capture {
                    self.wave.capture = capture;
                }
            }
            Register::High => self.temp = value,
            Register::CompareHigh(at) => {
                self.wave.channels.get(at)?;
                self.temp = value;
            }
            Register::Compare(at) => {
                self.wave.channels.get(at)?;
                let compare = self.write_16(value);
                self.wave.set_compare(at, compare);
            }
            Register::Mask => self.enabled = self.flags_of(value),
            Register::Flags => self.raised &= !self.flags_of(value),
            // The busy flags stay clear: writes take effect at once.
            Register::Asynchronous => {
                self.asynchronous = value & 0x60;
                self.set_mode(cx);
            }
        }
        self.show(cx);
        Some(())
    }

    fn set_bit(&mut self, offset: u32, bit: u8, level: bool, cx: &mut Context) -> Option<()> {
        let keeps = match register(self.wide, offset)? {
            Register::Flags => 0,
            _ => self.read(offset, Size::Byte, cx)?,
        };
        let mask = 1 << bit;
        self.write(offset, Size::Byte, keeps & !mask | u32::from(level) << bit, cx)
    }

    fn event(&mut self, cx: &mut Context) {
        self.catch_up(cx);
    }

    fn signal(&mut self, id: SignalId, level: bool, cx: &mut Context) {
        self.catch_up(cx);
        if id == self.prescaler_reset {
            self.clock.hold(level, cx.now());
        }
        if Some(id) == self.clock_pin && self.clock.takes_edge(level) {
            self.count(1, cx);
        }
        let rising = self.control_b & 0x40 != 0;
        let captures = cx.clocked() && self.wave.mode.top != wave::Top::Capture;
        if Some(id) == self.capture_pin && level == rising && captures {
            self.wave.capture = self.wave.count;
            self.raised |= CAPTURE;
        }
        self.show(cx);
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        self.catch_up(cx);
        let awake = cx.clocks().io_runs();
        self.clock.set_running(cx.clocked() && awake, !awake, cx.now());
        self.show(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        let channels = self.outputs.len();
        self.catch_up(cx);
        self.wave = Wave::new(channels, if self.wide { 0xffff } else { 0xff });
        self.clock.source = Source::Stopped;
        self.clock.hold(false, cx.now());
        (self.control_a, self.control_b, self.asynchronous) = (0, 0, 0);
        (self.enabled, self.raised, self.temp) = (0, 0, 0);
        self.show(cx);
    }

    fn byte_registers(&mut self) -> Option<&mut dyn ByteRegisters> {
        Some(self)
    }

    fn core_events(&mut self) -> Option<&mut dyn CoreEvents> {
        Some(self)
    }

    fn shifted_timer(&mut self) -> Option<&mut dyn ShiftedTimer> {
        Some(self)
    }
}

impl ShiftedTimer for Timer {
    fn shift(&mut self, part: u32, of: u32, cx: &mut Context) -> Shift {
        self.catch_up(cx);
        if self.enabled == 0 || self.clock.source == Source::Stopped {
            return Shift::Idle;
        }
        let Source::Prescaled(divisor) = self.clock.source else {
            return Shift::Unfit("a pin clocks it");
        };
        if self.enabled & CAPTURE != 0 && self.wave.mode.top != wave::Top::Capture {
            return Shift::Unfit("it captures edges of a pin");
        }
        if (0..self.outputs.len()).any(|at| self.wave.is_connected(at)) {
            return Shift::Unfit("it drives pins");
        }
        let Some(left) = self.wave.to_flags(self.enabled) else {
            return Shift::Unfit("it counts up and down");
        };
        let counts = part_of(left, part, of);
        self.wave.move_on(counts as u16);
        self.show(cx);
        Shift::Earlier(counts.saturating_mul(divisor))
    }
}

impl ByteRegisters for Timer {
    fn names(&self) -> &'static [&'static str] {
        if self.wide { WIDE } else { NARROW }
    }

    fn is_shared(&self, offset: u32) -> bool {
        matches!(register(self.wide, offset), Some(Register::Mask | Register::Flags))
    }
}

impl CoreEvents for Timer {
    fn interrupt_taken(&mut self, line: usize, cx: &mut Context) {
        self.catch_up(cx);
        let flag = self.bits.get(line).map_or(0, |&(flag, _)| flag);
        self.raised &= !flag;
        self.show(cx);
    }
}
