//! Analog to digital converter (ATmega328P data sheet, chapter 23): each channel has a constant
//! value from the board file, or the user's.
//!
//! A conversion takes 13 ADC clocks, the first after switching on 25, and begins with the ADC
//! clock's next edge; one that a trigger starts takes 13.5 from there, for the prescaler begins
//! anew (23.4). The channel's value counts when it begins. Triggers are wires of the board
//! file, other devices' flags: the first goes with ADTS = 1, an empty name is none.

use serde::Deserialize;

use crate::devices::avr::standstill::Standstill;
use strobe_sim::kernel::device::analog::{Analog, Channel};
use strobe_sim::kernel::device::{
    AnalogInput, ByteRegisters, Context, CoreEvents, Create, Device, OptionError, Reading, Size,
};
use strobe_sim::kernel::signal::SignalId;

const ADCL: u32 = 0;
const ADCH: u32 = 1;
const ADCSRA: u32 = 2;
const ADCSRB: u32 = 3;
const ADMUX: u32 = 4;
const DIDR0: u32 = 5;
const DIDR2: u32 = 6;

const ADEN: u8 = 1 << 7;
const ADSC: u8 = 1 << 6;
const ADATE: u8 = 1 << 5;
const ADIF: u8 = 1 << 4;
const ADIE: u8 = 1 << 3;
const ADLAR: u8 = 1 << 5;

const FIRST: u64 = 25;
const NORMAL: u64 = 13;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Results by the number in MUX, 0 to 1023; channels beyond give 0.
    values: Vec<u16>,
    /// How many bits of MUX are in ADMUX.
    mux_bits: u8,
    /// Whether MUX5 is in ADCSRB.
    #[serde(default)]
    mux5: bool,
    /// Wires of the triggers.
    #[serde(default)]
    triggers: Vec<String>,
}

struct Adc {
    values: Vec<Channel>,
    triggers: Vec<Option<SignalId>>,
    mux_mask: u8,
    mux5: bool,
    control_a: u8,
    control_b: u8,
    mux: u8,
    disabled: [u8; 2],
    flag: bool,
    result: u16,
    /// ADCL has been read: the result stays until ADCH is.
    locked: bool,
    /// The next conversion is the first.
    first: bool,
    /// Result and end of the conversion under way.
    running: Option<(u16, u64)>,
    standstill: Standstill,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    if options.values.iter().any(|&value| value > 1023) || options.values.len() > 64 {
        return Err(OptionError::invalid("values", "up to 64, of 0 to 1023"));
    }
    if options.mux_bits > 5 {
        return Err(OptionError::limit("mux_bits", "is at most 5"));
    }
    if options.triggers.len() > 7 {
        return Err(OptionError::invalid("triggers", "up to seven"));
    }
    let mut wire = |name: &String| {
        let id = cx.signal(name);
        cx.listen(id);
        id
    };
    let triggers = options.triggers.iter().map(|name| (!name.is_empty()).then(|| wire(name)));
    let triggers = triggers.collect();
    let constant = |value: &u16| Channel::new(Analog::Constant(*value));
    Ok(Box::new(Adc {
        values: options.values.iter().map(constant).collect(),
        triggers,
        mux_mask: (1 << options.mux_bits) - 1,
        mux5: options.mux5,
        control_a: 0,
        control_b: 0,
        mux: 0,
        disabled: [0; 2],
        flag: false,
        result: 0,
        locked: false,
        first: true,
        running: None,
        standstill: Standstill::default(),
    }))
}

impl Adc {
    fn channel(&self) -> usize {
        let high = if self.mux5 { self.control_b << 2 & 0x20 } else { 0 };
        usize::from(self.mux & self.mux_mask | high)
    }

    fn is_free_running(&self) -> bool {
        self.control_a & ADATE != 0 && self.control_b & 7 == 0
    }

    fn start(&mut self, cx: &mut Context) {
        let clock = 1u64 << (self.control_a & 7).max(1);
        let begin = cx.now().next_multiple_of(clock);
        let clocks = if std::mem::take(&mut self.first) { FIRST } else { NORMAL };
        self.run_until(begin + clocks * clock, cx);
    }

    /// A trigger starts a conversion.
    fn trigger(&mut self, cx: &mut Context) {
        let half = (1u64 << (self.control_a & 7).max(1)) / 2;
        let clocks = if std::mem::take(&mut self.first) { FIRST } else { NORMAL };
        self.run_until(cx.now() + (2 * clocks + 1) * half, cx);
    }

    fn run_until(&mut self, end: u64, cx: &Context) {
        let now = cx.nanoseconds();
        let channel = self.channel();
        let value = self.values.get_mut(channel).map_or(0, |channel| channel.convert(now));
        self.running = Some((value, end));
    }

    fn trigger_wire(&self) -> Option<SignalId> {
        let at = usize::from(self.control_b & 7).checked_sub(1)?;
        self.triggers.get(at).copied().flatten()
    }

    fn set_control(&mut self, value: u8, cx: &mut Context) {
        let starts = value & ADSC != 0 && self.running.is_none();
        self.control_a = value & !(ADSC | ADIF);
        self.flag &= value & ADIF == 0;
        if value & ADEN == 0 {
            (self.running, self.first) = (None, true);
        } else if starts {
            self.start(cx);
        }
        self.check_trigger(cx);
    }

    fn check_trigger(&self, cx: &mut Context) {
        let select = self.control_b & 7;
        if self.control_a & ADATE != 0 && select != 0 && self.trigger_wire().is_none() {
            let name = cx.name().to_owned();
            cx.warn_of(
                "not-modelled",
                format!("{name}: trigger {select} (ADTS) is not modelled: nothing starts"),
            );
        }
    }

    fn show(&self, cx: &mut Context) {
        cx.interrupt(0, self.flag && self.control_a & ADIE != 0);
        let end = self.running.map(|(_, end)| end).filter(|_| !self.standstill.is_on());
        cx.wake_at(end.unwrap_or(u64::MAX));
    }

    fn shown(&self) -> u16 {
        if self.mux & ADLAR != 0 { self.result << 6 } else { self.result }
    }
}

impl Device for Adc {
    fn read(&mut self, register: u32, _: Size, _: &mut Context) -> Option<u32> {
        Some(u32::from(match register {
            ADCL => {
                self.locked = true;
                self.shown() as u8
            }
            ADCH => {
                self.locked = false;
                (self.shown() >> 8) as u8
            }
            ADCSRA => {
                let busy = if self.running.is_some() { ADSC } else { 0 };
                self.control_a | busy | if self.flag { ADIF } else { 0 }
            }
            ADCSRB => self.control_b,
            ADMUX => self.mux,
            DIDR0 | DIDR2 => self.disabled[(register - DIDR0) as usize],
            _ => return None,
        }))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        // Reading a result byte again leaves the lock as it is.
        Reading::FIXED
    }

    fn write(&mut self, register: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
        let value = value as u8;
        match register {
            ADCL | ADCH => {}
            ADCSRA => self.set_control(value, cx),
            ADCSRB => {
                self.control_b = value;
                self.check_trigger(cx);
            }
            ADMUX => self.mux = value,
            DIDR0 | DIDR2 => self.disabled[(register - DIDR0) as usize] = value,
            _ => return None,
        }
        self.show(cx);
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        if let Some((value, end)) = self.running
            && end <= cx.now()
        {
            self.running = None;
            let again = self.flag && self.control_a & ADIE != 0;
            cx.lose_requests(0, again.into());
            self.flag = true;
            // A result that comes in between the two reads is lost (23.9.3).
            if !self.locked {
                self.result = value;
            }
            if self.is_free_running() {
                self.start(cx);
            }
        }
        self.show(cx);
    }

    fn signal(&mut self, id: SignalId, level: bool, cx: &mut Context) {
        let automatic = self.control_a & (ADEN | ADATE) == ADEN | ADATE;
        if level && automatic && Some(id) == self.trigger_wire() && self.running.is_none() {
            self.trigger(cx);
            self.show(cx);
        }
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        let runs =
            cx.clocked() && cx.clocks().sleep < strobe_sim::kernel::clock::SleepDepth::PowerDown;
        let Some(gap) = self.standstill.change(runs, cx.now()) else { return };
        self.running = self.running.map(|(value, end)| (value, end + gap));
        self.show(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.control_a, self.control_b, self.mux, self.disabled) = (0, 0, 0, [0; 2]);
        (self.flag, self.result, self.locked, self.first) = (false, 0, false, true);
        self.running = None;
        self.show(cx);
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

impl ByteRegisters for Adc {
    fn names(&self) -> &'static [&'static str] {
        &["ADCL", "ADCH", "ADCSRA", "ADCSRB", "ADMUX", "DIDR0", "DIDR2"]
    }
}

impl CoreEvents for Adc {
    fn interrupt_taken(&mut self, _: usize, cx: &mut Context) {
        self.flag = false;
        self.show(cx);
    }

    /// Going to sleep in the mode made for it starts a conversion (23.7).
    fn core_sleeps(&mut self, asleep: bool, cx: &mut Context) {
        let quiet = cx.clocks().sleep == strobe_sim::kernel::clock::SleepDepth::NoiseReduction;
        let ready = self.control_a & ADEN != 0 && self.running.is_none();
        if asleep && quiet && ready && cx.clocked() {
            self.start(cx);
            self.show(cx);
        }
    }
}

impl AnalogInput for Adc {
    fn set_input(&mut self, channel: usize, input: &Analog, _: &mut Context) -> bool {
        let Some(own) = self.values.get_mut(channel) else { return false };
        *own = Channel::new(input.clone());
        true
    }
}
