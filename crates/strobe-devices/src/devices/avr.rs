//! Peripherals of AVR parts. Registers are of one byte each and lie at scattered addresses, so that
//! board files give an address for each by its name: a model's `offset` is the register's place in
//! [`Device::registers`](super::Device::registers).

use strobe_sim::kernel::device::{Context, Maker, Reading};

mod adc;
mod clock;
mod comparator;
mod eeprom;
mod external;
mod general;
mod port;
mod power;
mod prescaler;
mod sleep;
mod spi;
mod standstill;
#[cfg(test)]
mod tests;
mod timer;
mod twi;
mod usart;
mod usi;
mod watchdog;

/// A register that shows a window for timed sequences, which is open up to and including a cycle.
fn until_closed(open_until: Option<u64>, cx: &Context) -> Reading {
    let closes = open_until.filter(|&until| cx.now() <= until);
    Reading::FIXED.before(closes.map_or(u64::MAX, |until| until + 1))
}

/// Model names as board files write them.
pub(super) const MODELS: &[(&str, Maker)] = &[
    ("avr-adc", adc::create),
    ("avr-clock", clock::create),
    ("avr-comparator", comparator::create),
    ("avr-eeprom", eeprom::create),
    ("avr-external", external::create),
    ("avr-general", general::create),
    ("avr-port", port::create),
    ("avr-power", power::create),
    ("avr-prescaler", prescaler::create),
    ("avr-sleep", sleep::create),
    ("avr-spi", spi::create),
    ("avr-timer-high-speed", timer::high_speed::create),
    ("avr-timer16", timer::create_wide),
    ("avr-timer8", timer::create_narrow),
    ("avr-twi", twi::create),
    ("avr-usart", usart::create),
    ("avr-usi", usi::create),
    ("avr-watchdog", watchdog::create),
];
