//! Analog comparator (ATmega328P data sheet, chapter 22): which of two inputs is higher.
//!
//! Channel 0 is AIN0, channel 1 AIN1; both have constants from the board file or the user's
//! values, on the converter's scale. The wire `<name>_FLAG` is the flag. That the converter's
//! multiplexer replaces AIN1 (ACME), and captures by Timer1 (ACIC), are not modelled.

use serde::Deserialize;

use strobe_sim::kernel::device::analog::{Analog, Channel};
use strobe_sim::kernel::device::{
    AnalogInput, ByteRegisters, Context, CoreEvents, Create, Device, OptionError, Reading, Size,
};
use strobe_sim::kernel::signal::SignalId;

const ACSR: u32 = 0;
const DIDR1: u32 = 1;

const ACD: u8 = 1 << 7;
const ACBG: u8 = 1 << 6;
const ACO: u8 = 1 << 5;
const ACI: u8 = 1 << 4;
const ACIE: u8 = 1 << 3;
const ACIC: u8 = 1 << 2;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Values of AIN0 and AIN1, 0 to 1023.
    values: [u16; 2],
    /// That of the bandgap reference.
    bandgap: u16,
}

struct Comparator {
    inputs: [Channel; 2],
    bandgap: u16,
    flag_wire: SignalId,
    control: u8,
    disabled: u8,
    output: bool,
    flag: bool,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { values, bandgap } = cx.options()?;
    let name = cx.name.to_owned();
    Ok(Box::new(Comparator {
        inputs: values.map(|value| Channel::new(Analog::Constant(value))),
        bandgap,
        flag_wire: cx.signal(&format!("{name}_FLAG")),
        control: 0,
        disabled: 0,
        output: false,
        flag: false,
    }))
}

impl Comparator {
    /// Compares anew; a change may raise the flag (table 22-2).
    fn compare(&mut self, cx: &mut Context) {
        let now = cx.nanoseconds();
        let positive = match self.control & ACBG {
            0 => self.inputs[0].at(now),
            _ => self.bandgap,
        };
        let output = self.control & ACD == 0 && positive > self.inputs[1].at(now);
        if output != std::mem::replace(&mut self.output, output) {
            let asks = match self.control & 3 {
                0 => true,
                2 => !output,
                3 => output,
                _ => false,
            };
            let again = asks && self.flag && self.control & ACIE != 0;
            cx.lose_requests(0, again.into());
            self.flag |= asks;
        }
        let next = self.inputs.iter().filter_map(|input| input.next_change(now)).min();
        let due = next.filter(|_| self.control & ACD == 0);
        cx.wake_at(due.map_or(u64::MAX, |at| cx.clocks().cycle_at_nanoseconds(at)));
        cx.set_signal(self.flag_wire, self.flag);
        cx.interrupt(0, self.flag && self.control & ACIE != 0);
    }
}

impl Device for Comparator {
    fn read(&mut self, register: u32, _: Size, _: &mut Context) -> Option<u32> {
        Some(u32::from(match register {
            ACSR => {
                let output = if self.output { ACO } else { 0 };
                self.control | output | if self.flag { ACI } else { 0 }
            }
            DIDR1 => self.disabled,
            _ => return None,
        }))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, register: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
        let value = value as u8;
        match register {
            ACSR => {
                self.flag &= value & ACI == 0;
                self.control = value & !(ACO | ACI);
                if value & ACIC != 0 {
                    let name = cx.name().to_owned();
                    cx.warn_of(
                        "not-modelled",
                        format!("{name}: captures by the comparator (ACIC) are not modelled"),
                    );
                }
                self.compare(cx);
            }
            DIDR1 => self.disabled = value & 3,
            _ => return None,
        }
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        self.compare(cx);
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        self.compare(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.control, self.disabled) = (0, 0);
        self.compare(cx);
        self.flag = false;
        self.compare(cx);
    }

    fn byte_registers(&mut self) -> Option<&mut dyn ByteRegisters> {
        Some(self)
    }

    fn core_events(&mut self) -> Option<&mut dyn CoreEvents> {
        Some(self)
    }

    fn analog_input(&mut self) -> Option<&mut dyn AnalogInput> {
        Some(self)
    }
}

impl ByteRegisters for Comparator {
    fn names(&self) -> &'static [&'static str] {
        &["ACSR", "DIDR1"]
    }
}

impl CoreEvents for Comparator {
    fn interrupt_taken(&mut self, _: usize, cx: &mut Context) {
        self.flag = false;
        self.compare(cx);
    }
}

impl AnalogInput for Comparator {
    fn set_input(&mut self, channel: usize, input: &Analog, cx: &mut Context) -> bool {
        let Some(own) = self.inputs.get_mut(channel) else { return false };
        *own = Channel::new(input.clone());
        self.compare(cx);
        self.flag = false;
        true
    }
}
