//! Sleep control (ATmega328P data sheet, chapter 10): whether SLEEP does anything, and which clocks
//! it stops. The register is SMCR or, on small parts, MCUCR, whose other bits are others'.
//!
//! Power-save and the standby modes stop the same clocks as power-down, as no crystal clocks
//! Timer2; standby starts sooner.

use serde::Deserialize;

use strobe_sim::kernel::clock::SleepDepth;
use strobe_sim::kernel::device::{
    ByteRegisters, Context, CoreEvents, Create, Device, OptionError, Reading, Size,
};

/// Cycles to start from standby (table 9-1).
const STANDBY_START: u64 = 6;

/// Beyond what any fuse chooses.
const MOST_START_UP: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Bit number of SE.
    enable_bit: u8,
    /// Bit number of SM0, the others above it.
    mode_bit: u8,
    /// How many bits SM has.
    mode_bits: u8,
    /// Cycles that the oscillator needs to start from power-down, by the fuses.
    start_up: u64,
}

struct Sleep {
    options: Options,
    value: u8,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    if options.enable_bit > 7 || !(1..=3).contains(&options.mode_bits) || options.mode_bit > 5 {
        return Err(OptionError::limit(
            "enable_bit and mode_bit",
            "are bit numbers, mode_bits is 2 or 3",
        ));
    }
    if options.start_up > MOST_START_UP {
        return Err(OptionError::limit("start_up", format!("is at most {MOST_START_UP} cycles")));
    }
    Ok(Box::new(Sleep { options, value: 0 }))
}

impl Sleep {
    fn mode(&self) -> u8 {
        self.value >> self.options.mode_bit & ((1 << self.options.mode_bits) - 1)
    }

    fn mask(&self) -> u8 {
        let modes = (1u8 << self.options.mode_bits) - 1;
        1 << self.options.enable_bit | modes << self.options.mode_bit
    }

    /// What the mode stops, and cycles to start again.
    fn effect(&self) -> (SleepDepth, u64) {
        match self.mode() {
            0 => (SleepDepth::Idle, 0),
            1 => (SleepDepth::NoiseReduction, 0),
            6 | 7 => (SleepDepth::PowerDown, STANDBY_START),
            _ => (SleepDepth::PowerDown, self.options.start_up),
        }
    }
}

impl Device for Sleep {
    fn read(&mut self, _: u32, _: Size, _: &mut Context) -> Option<u32> {
        Some(self.value.into())
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, _: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
        self.value = value as u8 & self.mask();
        cx.enable_sleep(self.value >> self.options.enable_bit & 1 != 0);
        Some(())
    }

    fn reset(&mut self, cx: &mut Context) {
        self.value = 0;
        cx.enable_sleep(false);
        cx.set_start_up(0);
        cx.change_clocks(|_, clocks| clocks.sleep = SleepDepth::Idle);
    }

    fn byte_registers(&mut self) -> Option<&mut dyn ByteRegisters> {
        Some(self)
    }

    fn core_events(&mut self) -> Option<&mut dyn CoreEvents> {
        Some(self)
    }
}

impl ByteRegisters for Sleep {
    fn names(&self) -> &'static [&'static str] {
        &["CONTROL"]
    }

    fn is_shared(&self, _: u32) -> bool {
        true
    }
}

impl CoreEvents for Sleep {
    fn core_sleeps(&mut self, asleep: bool, cx: &mut Context) {
        let (depth, start_up) = if asleep { self.effect() } else { (SleepDepth::Idle, 0) };
        cx.set_start_up(start_up);
        cx.change_clocks(|_, clocks| clocks.sleep = depth);
    }
}
