//! Timers: TIM1, TIM3, TIM6, TIM7, TIM14 to TIM17 of RM0360 (sections 12 to 17) and TIM1 to TIM14
//! of RM0090 (sections 17 to 20) as one model.
//!
//! Modelled: the prescaler, counter and repetition counter in all counting modes, update events
//! with preload, one-pulse mode, output compare and PWM with complementary outputs, input capture,
//! interrupts, DMA requests. Not modelled, and said so when firmware asks for it: slave modes, dead
//! time, break inputs, DMA bursts.
//!
//! The counter is computed when somebody looks. Events are asked for only where an enabled
//! interrupt, DMA request or observed output needs one, so a timer that merely runs costs nothing.
//!
//! Signals: outputs `<NAME>_CH1`, `<NAME>_CH1N`; inputs `<NAME>_CH1_IN`; DMA requests
//! `<NAME>_UP_DMA`, `<NAME>_CH1_DMA`, which stay high until `<NAME>_UP_DMA_ACK` changes level.
//! Interrupt lines: one for all; with two, the second is capture/compare (TIM1 of RM0360); with
//! four, they are break, update, trigger and commutation, capture/compare (TIM1 and TIM8 of
//! RM0090).

mod channel;
mod counter;
mod features;
mod registers;
mod run;
mod shift;

#[cfg(test)]
mod tests;

use channel::Channel;
use counter::{Counter, Mode};
use features::Features;

use crate::devices::common::register::{self, bit};
use strobe_sim::kernel::device::{
    Context, Create, Device, OptionError, Reading, ShiftedTimer, Size,
};
use strobe_sim::kernel::signal::SignalId;

/// Bits of CR1.
mod cr1 {
    pub(super) const CEN: u32 = 0;
    pub(super) const UDIS: u32 = 1;
    pub(super) const URS: u32 = 2;
    pub(super) const OPM: u32 = 3;
    pub(super) const DIR: u32 = 4;
    pub(super) const CMS: u32 = 5;
    pub(super) const ARPE: u32 = 7;
}

/// Bits of BDTR.
mod bdtr {
    pub(super) const AOE: u32 = 14;
    pub(super) const MOE: u32 = 15;
}

/// The update flag: the same place in SR and EGR; its interrupt enable in DIER, and 8 bits up its
/// DMA enable.
const UPDATE: u32 = 1 << 0;
/// The first channel's flag.
const CAPTURE_COMPARE: u32 = 1 << 1;
/// All channels' flags.
const ALL_CAPTURE_COMPARE: u32 = 0b1_1110;
/// Commutation, trigger and break: the same places in SR, DIER and EGR.
const COMMUTATION: u32 = 1 << 5;
const TRIGGER: u32 = 1 << 6;
const BREAK: u32 = 1 << 7;
/// The first channel's overcapture flag.
const OVERCAPTURE: u32 = 1 << 9;

/// Flags of SR that ask for interrupts.
const FLAGS: usize = 8;

/// A DMA request with its acknowledge.
struct Request {
    /// The flag that raises it.
    flag: u32,
    request: SignalId,
    acknowledge: SignalId,
}

/// A timer.
struct Timer {
    features: Features,
    cr1: u32,
    cr2: u32,
    smcr: u32,
    dier: u32,
    sr: u32,
    /// Interrupts that were asked for while their flag was set, by its bit.
    lost: [u64; FLAGS],
    bdtr: u32,
    /// Prescaler, auto-reload and repetition as firmware wrote them.
    psc: u32,
    arr: u32,
    rcr: u32,
    /// The prescaler in force.
    prescaler: u32,
    /// Overflows left to let pass before the next update event.
    repetition: u32,
    channels: Vec<Channel>,
    counter: Counter,
    /// While running: the cycle at which the counter came to its present value.
    origin: u64,
    /// While stopped: kernel clocks since the counter came to its present value.
    phase: u64,
    running: bool,
    /// Core cycles per kernel clock.
    divider: u64,
    /// Flags whose DMA request waits for its acknowledge.
    requested: u32,
    requests: Vec<Request>,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let features: Features = cx.options()?;
    features.check()?;
    let name = cx.name;
    let mut wire = |suffix: &str| cx.signal(&format!("{name}_{suffix}"));
    let channels: Vec<Channel> = (1..=features.channels)
        .map(|n| {
            let output = wire(&format!("CH{n}"));
            Channel::new(output, wire(&format!("CH{n}N")), wire(&format!("CH{n}_IN")))
        })
        .collect();
    let mut request = |flag: u32, what: &str| Request {
        flag,
        request: wire(&format!("{what}_DMA")),
        acknowledge: wire(&format!("{what}_DMA_ACK")),
    };
    let mut requests = vec![request(UPDATE, "UP")];
    requests.extend(
        (0..channels.len()).map(|i| request(CAPTURE_COMPARE << i, &format!("CH{}", i + 1))),
    );
    channels.iter().for_each(|c| cx.listen(c.input));
    requests.iter().for_each(|r| cx.listen(r.acknowledge));
    Ok(Box::new(Timer::new(features, channels, requests)))
}

impl Timer {
    fn new(features: Features, channels: Vec<Channel>, requests: Vec<Request>) -> Self {
        let counter = Counter::new(features.bits);
        Timer {
            cr1: 0,
            cr2: 0,
            smcr: 0,
            dier: 0,
            sr: 0,
            lost: [0; FLAGS],
            bdtr: 0,
            psc: 0,
            arr: counter.mask(),
            rcr: 0,
            prescaler: 0,
            repetition: 0,
            channels,
            counter,
            origin: 0,
            phase: 0,
            running: false,
            divider: 1,
            requested: 0,
            requests,
            features,
        }
    }

    fn is_center(&self) -> bool {
        self.cr1 >> cr1::CMS & 3 != 0
    }

    /// Sets a flag of SR and its DMA request, if enabled.
    fn raise(&mut self, flag: u32) {
        self.raise_times(flag, 1);
    }

    /// The same for something that happened several times since anybody looked.
    fn raise_times(&mut self, flag: u32, times: u64) {
        if times == 0 {
            return;
        }
        if self.dier & flag != 0 {
            let taken = u64::from(self.sr & flag == 0);
            self.lost[flag.trailing_zeros() as usize % FLAGS] += times - taken;
        }
        self.sr |= flag;
        self.requested |= flag & self.dier >> 8;
    }

    /// The flags of SR that somebody waits for.
    fn wanted(&self) -> u32 {
        self.dier & !self.sr | self.dier >> 8 & !self.requested
    }

    /// Whether a channel's level reaches anyone.
    fn drives(&self, channel: &Channel, cx: &Context) -> bool {
        self.outputs_on()
            && (channel.output_enabled() && cx.is_observed(channel.output)
                || channel.complement_enabled() && cx.is_observed(channel.complement))
    }

    /// Timers with a break unit drive their outputs only while MOE is set.
    fn outputs_on(&self) -> bool {
        !self.features.break_unit || bit(self.bdtr, bdtr::MOE)
    }

    /// Shows the timer's state to the board and asks for the next event.
    fn publish(&mut self, cx: &mut Context) {
        let asserted = self.sr & self.dier & 0xff;
        let lines = match cx.interrupt_lines() {
            0 | 1 => &[0xff][..],
            2 | 3 => &[!ALL_CAPTURE_COMPARE, ALL_CAPTURE_COMPARE],
            _ => &[BREAK, UPDATE, TRIGGER | COMMUTATION, ALL_CAPTURE_COMPARE],
        };
        for (line, flags) in lines.iter().enumerate() {
            cx.interrupt(line, asserted & flags != 0);
            let own = self.lost.iter_mut().enumerate().filter(|(bit, _)| flags >> bit & 1 != 0);
            let lost: u64 = own.map(|(_, lost)| std::mem::take(lost)).sum();
            cx.lose_requests(line, lost);
        }
        for request in &self.requests {
            cx.set_signal(request.request, self.requested & request.flag != 0);
        }
        let on = self.outputs_on();
        for (i, channel) in self.channels.iter_mut().enumerate().filter(|(_, c)| c.is_output()) {
            channel.follow(&self.counter);
            // OISx and OISxN: what an enabled output shows while MOE is off.
            let idle = self.cr2 >> (8 + 2 * i);
            let main =
                if on { channel.output_level() } else { channel.output_enabled() && bit(idle, 0) };
            let complement = if on {
                channel.complement_level()
            } else {
                channel.complement_enabled() && bit(idle, 1)
            };
            cx.set_signal(channel.output, main);
            cx.set_signal(channel.complement, complement);
        }
        match self.next_event(cx) {
            Some(cycle) => cx.wake_at(cycle),
            None => cx.sleep(),
        }
    }

    /// The counter's value goes to a channel's register, as at an input edge.
    fn capture(&mut self, channel: usize) {
        let flag = CAPTURE_COMPARE << channel;
        if self.sr & flag != 0 {
            self.sr |= OVERCAPTURE << channel;
        }
        self.channels[channel].preload = self.counter.value();
        self.raise(flag);
    }

    fn mode(&self) -> Mode {
        match (self.is_center(), bit(self.cr1, cr1::DIR)) {
            (true, _) => Mode::Center,
            (false, true) => Mode::Down,
            (false, false) => Mode::Up,
        }
    }
}

impl Device for Timer {
    fn read(&mut self, offset: u32, size: Size, cx: &mut Context) -> Option<u32> {
        let before = (self.sr, self.requested, self.running);
        self.catch_up(cx.now());
        let register = self.read_register(offset & !3)?;
        // Firmware that polls a timer should be cheap to simulate.
        if (self.sr, self.requested, self.running) != before {
            self.publish(cx);
        }
        Some(register::part(register, offset, size))
    }

    fn reading(&mut self, offset: u32, size: Size, _: &mut Context) -> Reading {
        // Where a flag changes, reading also shows it to the board: no register is the same to it
        // from there on.
        let reading = if offset & !3 == registers::CNT { self.count() } else { Reading::FIXED };
        reading.part(self.counter.value(), offset, size).before(self.next_change())
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        self.catch_up(cx.now());
        let old = self.write_base(offset & !3)?;
        self.write_register(offset & !3, register::merge(old, offset, size, value), cx);
        self.publish(cx);
        Some(())
    }

    fn shifted_timer(&mut self) -> Option<&mut dyn ShiftedTimer> {
        Some(self)
    }

    fn event(&mut self, cx: &mut Context) {
        self.catch_up(cx.now());
        self.publish(cx);
    }

    fn signal(&mut self, id: SignalId, level: bool, cx: &mut Context) {
        self.catch_up(cx.now());
        for request in self.requests.iter().filter(|r| r.acknowledge == id) {
            self.requested &= !request.flag;
        }
        for i in 0..self.channels.len() {
            // Channels can swap inputs in pairs (CCxS = 2).
            let from = match self.channels[i].selection() {
                1 => i,
                2 => i ^ 1,
                _ => continue,
            };
            let hit = self.channels.get(from).is_some_and(|c| c.input == id);
            if hit && self.channels[i].takes_edge(level) {
                self.capture(i);
            }
        }
        self.publish(cx);
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        self.catch_up(cx.now());
        self.rebase(u64::from(cx.timer_divider()), cx.now());
        self.gate(cx);
        self.publish(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        // Whether somebody has looked before does not change what is lost.
        self.catch_up(cx.now());
        self.publish(cx);
        let mut channels = std::mem::take(&mut self.channels);
        channels.iter_mut().for_each(Channel::reset);
        let requests = std::mem::take(&mut self.requests);
        *self = Timer::new(self.features, channels, requests);
        self.divider = u64::from(cx.timer_divider());
        self.publish(cx);
    }
}
