//! Watchdog timer (ATmega328P data sheet, 11.8 and 11.9): interrupt, reset, or one after the other,
//! from an oscillator of 128 kHz whose tolerance is not modelled. Also MCUSR, the reset flags.

use serde::Deserialize;

use strobe_sim::kernel::device::{
    ByteRegisters, Context, CoreEvents, Create, Device, Fuses, OptionError, Reading, ResetCause,
    Size,
};

const WDTCSR: u32 = 0;
const MCUSR: u32 = 1;

const WDIF: u8 = 1 << 7;
const WDIE: u8 = 1 << 6;
const WDCE: u8 = 1 << 4;
const WDE: u8 = 1 << 3;
/// The bits of WDP.
const PRESCALER: u8 = 0x27;

const WDRF: u8 = 1 << 3;
const PORF: u8 = 1;

const OSCILLATOR_HZ: u64 = 128_000;
/// Cycles within which a protected change must follow WDCE.
const WINDOW: u64 = 4;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// The fuse WDTON: the watchdog always runs and resets.
    #[serde(default)]
    always_on: bool,
}

/// In the fuses' high byte; fuses are programmed where they are zero.
const WDTON: u8 = 1 << 4;

struct Watchdog {
    always_on: bool,
    /// WDIE, WDE and WDP.
    control: u8,
    flag: bool,
    /// Until when WDE and WDP can be changed.
    open_until: Option<u64>,
    reset_flags: u8,
    due: u64,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { always_on } = cx.options()?;
    let due = u64::MAX;
    Ok(Box::new(Watchdog {
        always_on,
        control: 0,
        flag: false,
        open_until: None,
        reset_flags: 0,
        due,
    }))
}

impl Watchdog {
    /// WDE, which WDRF and the fuse force on.
    fn resets(&self) -> bool {
        self.always_on || self.control & WDE != 0 || self.reset_flags & WDRF != 0
    }

    fn runs(&self) -> bool {
        self.resets() || self.control & WDIE != 0
    }

    /// Core cycles until it runs out (table 11-2).
    fn period(&self, cx: &Context) -> u64 {
        let select = (self.control & 7 | self.control >> 2 & 8).min(9);
        ((u64::from(cx.clocks().core_hz()) << (11 + select)) / OSCILLATOR_HZ).max(1)
    }

    fn restart(&mut self, cx: &mut Context) {
        self.due = if self.runs() { cx.now() + self.period(cx) } else { u64::MAX };
        cx.wake_at(self.due);
    }

    fn show(&self, cx: &mut Context) {
        cx.interrupt(0, self.flag && self.control & WDIE != 0);
    }

    fn control(&mut self, value: u8, cx: &mut Context) {
        let before = (self.runs(), self.control & PRESCALER);
        if value & WDIF != 0 {
            self.flag = false;
        }
        let open = self.open_until.is_some_and(|until| cx.now() <= until);
        let unlocks = value & (WDCE | WDE) == WDCE | WDE;
        // WDE can always be set; clearing it, and a new prescaler, need the timed sequence.
        let free = if open && value & WDCE == 0 { WDE | PRESCALER } else { 0 };
        let keeps = self.control & (WDE | PRESCALER) & !free;
        self.control = keeps | value & (free | WDE | WDIE);
        if unlocks {
            self.open_until = Some(cx.now() + WINDOW);
        } else if open {
            self.open_until = None;
        }
        if before != (self.runs(), self.control & PRESCALER) {
            self.restart(cx);
        }
        self.show(cx);
    }

    fn status(&self, now: u64) -> u8 {
        let mut value = self.control;
        let mut set = |bit: u8, on: bool| value |= if on { bit } else { 0 };
        set(WDIF, self.flag);
        set(WDE, self.resets());
        set(WDCE, self.open_until.is_some_and(|until| now <= until));
        value
    }
}

impl Device for Watchdog {
    fn read(&mut self, register: u32, _: Size, cx: &mut Context) -> Option<u32> {
        Some(u32::from(match register {
            WDTCSR => self.status(cx.now()),
            MCUSR => self.reset_flags,
            _ => return None,
        }))
    }

    fn reading(&mut self, register: u32, _: Size, cx: &mut Context) -> Reading {
        match register {
            WDTCSR => super::until_closed(self.open_until, cx),
            _ => Reading::FIXED,
        }
    }

    fn write(&mut self, register: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
        match register {
            WDTCSR => self.control(value as u8, cx),
            // Flags are cleared by writing zeroes.
            MCUSR => self.reset_flags &= value as u8,
            _ => return None,
        }
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        if cx.now() < self.due {
            return cx.wake_at(self.due);
        }
        if self.control & WDIE != 0 {
            cx.lose_requests(0, self.flag.into());
            self.flag = true;
        } else if self.resets() {
            cx.system_reset(ResetCause::Watchdog);
        }
        self.restart(cx);
        self.show(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        self.reset_flags |= match cx.reset_cause() {
            ResetCause::PowerOn => PORF,
            _ => WDRF,
        };
        (self.control, self.flag, self.open_until) = (0, false, None);
        self.restart(cx);
        self.show(cx);
    }

    fn byte_registers(&mut self) -> Option<&mut dyn ByteRegisters> {
        Some(self)
    }

    fn core_events(&mut self) -> Option<&mut dyn CoreEvents> {
        Some(self)
    }

    fn fuses(&mut self) -> Option<&mut dyn Fuses> {
        Some(self)
    }
}

impl ByteRegisters for Watchdog {
    fn names(&self) -> &'static [&'static str] {
        &["WDTCSR", "MCUSR"]
    }
}

impl CoreEvents for Watchdog {
    fn watchdog_reset(&mut self, cx: &mut Context) {
        self.restart(cx);
    }

    fn may_reset(&self) -> bool {
        self.runs()
    }

    fn interrupt_taken(&mut self, _: usize, cx: &mut Context) {
        self.flag = false;
        // With both modes on, the next time-out resets (table 11-1).
        if self.resets() {
            self.control &= !WDIE;
        }
        self.show(cx);
    }
}

impl Fuses for Watchdog {
    fn program(&mut self, fuses: &[u8], _: &mut Context) -> Option<String> {
        self.always_on = fuses.get(1)? & WDTON == 0;
        self.always_on.then(|| "the watchdog is always on (WDTON)".to_owned())
    }
}
