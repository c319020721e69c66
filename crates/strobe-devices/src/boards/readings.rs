//! What devices state of their registers' futures holds ([`Reading`]).
//!
//! Two boards go through the same random accesses. One of them also reads registers again and
//! again up to the cycle for which a device has stated what they show; it must see that, and
//! nothing of the board may ever be different from the other, which has not read.

use std::collections::BTreeMap;

use super::fuzz::{BOARDS, Subject, clocked};
use crate::rig::Rig;
use strobe_sim::kernel::device::{DeviceId, Reading, Size};

/// Runs for each device of a board, and random steps in each.
const RUNS: u64 = 6;
const STEPS: usize = 200;
/// Between these steps all registers of the device are written once.
const STIR_EVERY: usize = 50;
/// Registers looked at after each step.
const PROBES: usize = 4;
/// The longest stretch of time that is looked at after a read.
const SPAN: u64 = 1 << 21;

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// Values that enable things are more frequent than uniform ones.
    fn value(&mut self) -> u32 {
        match self.below(7) {
            0 => self.next() as u32,
            1 | 2 => self.below(0x100) as u32,
            3 => self.below(4) as u32,
            4 => 1 << self.below(32),
            5 => 1 << self.below(16) | 1 << self.below(16) | 1,
            _ => u32::MAX,
        }
    }

    /// Short and long stretches.
    fn cycles(&mut self) -> u64 {
        let bits = self.below(21);
        self.below(2 << bits)
    }
}

/// A register as the core reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Memory(u32, Size),
    Io(u16),
}

impl Place {
    fn read(self, rig: &mut Rig) -> u32 {
        match self {
            Place::Memory(address, size) => rig.read(address, size),
            Place::Io(address) => rig.bus.io_read(address).into(),
        }
    }

    fn has_model(self, rig: &mut Rig) -> bool {
        self.read(rig);
        match self {
            Place::Memory(address, _) => rig.bus.is_modelled(address),
            Place::Io(_) => true,
        }
    }

    fn write(self, rig: &mut Rig, value: u32) {
        match self {
            Place::Memory(address, size) => rig.write(address, size, value),
            Place::Io(address) => rig.bus.io_write(address, value as u8),
        }
    }

    fn reading(self, rig: &mut Rig) -> Reading {
        match self {
            Place::Memory(address, size) => rig.bus.reading(address, size),
            Place::Io(address) => rig.bus.io_reading(address),
        }
    }
}

/// How long a reading is stated for; nothing is known without an end.
fn end_of(reading: Reading) -> Option<u64> {
    match reading {
        Reading::Unknown => None,
        Reading::Steady { until } | Reading::Counting { until, .. } => Some(until),
    }
}

/// Everything of a board that something could notice.
fn state(rig: &Rig) -> impl PartialEq + std::fmt::Debug + use<> {
    let bus = &rig.bus;
    let wires: Vec<bool> = bus.signals.levels().collect();
    let (levels, since) = (bus.interrupts.levels, bus.interrupts.since);
    let outputs = (bus.outputs.edges.len(), bus.outputs.frames.len());
    (bus.now, bus.next_due, bus.clocks.core_hz(), (levels, since.to_vec()), wires, outputs)
}

/// Two boards, of which the first reads ahead.
struct Twins {
    rigs: [Rig; 2],
    random: Random,
    /// Registers of the device that most accesses go to, and of all.
    focus: Vec<Place>,
    all: Vec<Place>,
    /// What devices state.
    ask: fn(Place, &mut Rig) -> Reading,
    /// How often anything was stated, by the device's name.
    stated: BTreeMap<String, usize>,
}

impl Twins {
    fn new(
        subject: Subject,
        (device, seed): (usize, u64),
        ask: fn(Place, &mut Rig) -> Reading,
    ) -> Twins {
        let rigs = [clocked(subject), clocked(subject)];
        let random = Random(device as u64 * 0x1_0000_0001 + seed);
        // A clock controller would switch the device off.
        let switches = |at: &usize| {
            let slot = &rigs[0].bus.slots[*at];
            subject.1.iter().any(|enable| enable.wrapping_sub(slot.base) < slot.size)
        };
        let others = (0..rigs[0].bus.slots.len()).filter(|at| !switches(at));
        let all = others.flat_map(|at| places(&rigs[0], at)).collect();
        let focus = places(&rigs[0], device);
        Twins { rigs, random, focus, all, ask, stated: BTreeMap::new() }
    }

    fn place(&mut self) -> Place {
        let focus = !self.focus.is_empty() && self.random.below(8) != 0;
        let places = if focus { &self.focus } else { &self.all };
        places[self.random.below(places.len() as u64) as usize]
    }

    fn step(&mut self, device: usize) {
        let (what, place, value) = (self.random.below(16), self.place(), self.random.value());
        let (cycles, pin) = (self.random.cycles(), self.random.next() as usize);
        for rig in &mut self.rigs {
            match what {
                0..8 => place.write(rig, value),
                8..12 => rig.advance(cycles),
                12 | 13 => rig.bus.host_byte(DeviceId(device as u8), value as u8),
                14 => {
                    let pins: Vec<_> = rig.bus.signals.pins().collect();
                    let level = [None, Some(false), Some(true)][value as usize % 3];
                    rig.bus.drive_pin(pins[pin % pins.len()], level);
                }
                _ if value % 8 == 0 => rig.bus.reset(),
                _ => {}
            }
        }
    }

    /// Writes all registers of the device once.
    fn stir(&mut self) {
        for place in self.focus.clone() {
            let (value, skips) = (self.random.value(), self.random.below(4) == 0);
            let is_whole = !matches!(place, Place::Memory(_, Size::Byte | Size::Half));
            if is_whole && !skips {
                self.rigs.iter_mut().for_each(|rig| place.write(rig, value));
            }
        }
    }

    /// Reads a register, and then again as long as it is stated what it shows.
    fn probe(&mut self) -> Result<(), String> {
        let place = self.place();
        let [first, second] = &mut self.rigs;
        let value = place.read(first);
        if value != place.read(second) {
            return Err(format!("{place:x?}: another value without reading ahead"));
        }
        let reading = (self.ask)(place, first);
        let Some(until) = end_of(reading) else { return Ok(()) };
        *self.stated.entry(name_of(place, first)).or_default() += 1;
        let now = first.bus.now;
        let shorter = self.random.below(20);
        let span = 1 + self.random.below(SPAN >> shorter);
        let end = until.min(first.bus.next_due).min(now + span);
        for cycle in samples(reading, now, end, &mut self.random) {
            first.run_to(cycle);
            let seen = place.read(first);
            let stated = reading.value_at(value, cycle);
            if Some(seen) != stated {
                return Err(format!(
                    "{place:x?} of {}: {value:#x} at {now}, {reading:?}, but {seen:#x} at {cycle}",
                    name_of(place, first)
                ));
            }
        }
        let last = first.bus.now;
        second.run_to(last);
        self.compare(&format!("{place:x?} of {} read ahead", name_of(place, &self.rigs[0])))
    }

    fn compare(&self, after: &str) -> Result<(), String> {
        let [first, second] = &self.rigs;
        let (with, without) = (state(first), state(second));
        if with == without {
            return Ok(());
        }
        Err(format!("{after}: the board is\n{with:?}\nand not\n{without:?}"))
    }

    fn run(&mut self, device: usize) -> Result<(), String> {
        for step in 0..STEPS {
            match step % STIR_EVERY {
                0 => self.stir(),
                _ => self.step(device),
            }
            self.compare(&format!("step {step}"))?;
            for _ in 0..PROBES {
                self.probe().map_err(|e| format!("step {step}: {e}"))?;
            }
        }
        let [first, second] = &mut self.rigs;
        for &place in &self.all {
            if place.read(first) != place.read(second) {
                return Err(format!("{place:x?} is another in the end"));
            }
        }
        [&mut *first, second].into_iter().for_each(|rig| rig.bus.catch_up_timers());
        let texts = (first.warnings(), second.warnings());
        let lost = (&first.bus.interrupts.lost, &second.bus.interrupts.lost);
        if texts.0 != texts.1 || lost.0 != lost.1 {
            let differs = |&irq: &usize| lost.0[irq] != lost.1[irq];
            let irq = (0..lost.0.len()).find(differs).map(|irq| (irq, lost.0[irq], lost.1[irq]));
            return Err(format!("in the end: {texts:?}, lost requests: {irq:?}"));
        }
        self.compare("in the end")
    }
}

/// Cycles to look at: at both ends, around a counter's steps, and anywhere.
fn samples(reading: Reading, now: u64, end: u64, random: &mut Random) -> Vec<u64> {
    let mut cycles = vec![now, now + 1, now + 2, end.saturating_sub(2), end.saturating_sub(1)];
    if let Reading::Counting { period, next, .. } = reading {
        let steps = (end.saturating_sub(next) / period).saturating_sub(1);
        for step in [0, 1, random.below(steps + 1), steps] {
            let at = next.saturating_add(step * period);
            cycles.extend([at - 1, at, at + 1]);
        }
    }
    cycles.extend((0..4).map(|_| now + random.below(end.saturating_sub(now))));
    cycles.retain(|&cycle| cycle >= now && cycle < end);
    cycles.sort_unstable();
    cycles.dedup();
    cycles
}

/// The registers of a device.
fn places(rig: &Rig, device: usize) -> Vec<Place> {
    let slot = &rig.bus.slots[device];
    if slot.is_part {
        return Vec::new();
    }
    if rig.is_avr {
        let own = |&address: &u16| rig.bus.io.find(address).is_some_and(|(at, _)| at == device);
        return (0x20..0x200).filter(own).map(Place::Io).collect();
    }
    let near = (0..slot.size.min(0x80)).step_by(4);
    let far = [0x400, 0x404, 0xc00, 0xfe0, 0x1000, 0x1008, 0x1014, 0x1018, 0x1020];
    let offsets = near.chain(far.into_iter().filter(|&offset| offset < slot.size));
    let sizes = |offset| {
        let word = std::iter::repeat_n(Place::Memory(slot.base + offset, Size::Word), 4);
        let byte = Place::Memory(slot.base + offset + offset / 4 % 4, Size::Byte);
        let half = Place::Memory(slot.base + offset + offset / 4 % 2 * 2, Size::Half);
        word.chain([Place::Memory(slot.base + offset, Size::Half), byte, half])
    };
    offsets.flat_map(sizes).collect()
}

fn name_of(place: Place, rig: &Rig) -> String {
    let device = match place {
        Place::Memory(address, _) => rig.bus.device_at(address),
        Place::Io(address) => {
            rig.bus.io.find(address).map(|(at, _)| rig.bus.device_name(DeviceId(at as u8)))
        }
    };
    device.unwrap_or("nothing").to_owned()
}

/// Looks at all devices of a board; returns how often each has stated anything.
fn examine(subject: Subject) -> BTreeMap<String, usize> {
    let mut stated = BTreeMap::new();
    let devices = clocked(subject).bus.slots.len();
    for (device, seed) in (0..devices).flat_map(|at| (0..RUNS).map(move |seed| (at, seed))) {
        let mut twins = Twins::new(subject, (device, seed), Place::reading);
        let name = twins.rigs[0].bus.slots[device].name.clone();
        if let Err(e) = twins.run(device) {
            panic!("{name} of {}, run {seed}: {e}", subject.0);
        }
        twins.stated.into_iter().for_each(|(name, n)| *stated.entry(name).or_default() += n);
    }
    stated
}

/// Every device with registers states something of them.
fn examine_fully(board: &str) {
    let subject = *BOARDS.iter().find(|(name, _)| *name == board).expect("one of the boards");
    let stated = examine(subject);
    let mut rig = clocked(subject);
    for at in 0..rig.bus.slots.len() {
        let name = rig.bus.slots[at].name.clone();
        let known = stated.get(&name).copied().unwrap_or_default();
        let has_model = places(&rig, at).into_iter().any(|place| place.has_model(&mut rig));
        assert!(known > 0 || !has_model, "{name} states nothing");
    }
}

#[test]
fn readings_hold_on_stm32f0() {
    examine_fully("stm32f070cb");
}

#[test]
fn readings_hold_on_stm32f1() {
    examine_fully("stm32f103");
}

#[test]
fn readings_hold_on_stm32f4() {
    examine_fully("stm32f407");
}

#[test]
fn readings_hold_on_mps2() {
    examine_fully("mps2-an385");
}

#[test]
fn readings_hold_on_stellaris() {
    examine_fully("lm3s6965evb");
}

#[test]
fn readings_hold_on_atmega2560() {
    examine_fully("arduino-mega");
}

#[test]
fn readings_hold_on_atmega328() {
    examine_fully("arduino-uno");
}

#[test]
fn readings_hold_on_attiny85() {
    examine_fully("attiny85");
}

/// The test itself: with devices that state too much, it fails.
#[test]
fn a_device_that_states_too_much_is_found() {
    for (board, device) in
        [("stm32f103", "TIM2"), ("stm32f070cb", "SPI1"), ("arduino-uno", "TIMER1")]
    {
        let subject = *BOARDS.iter().find(|(name, _)| *name == board).expect("one of the boards");
        let at = clocked(subject).bus.device_named(device).expect("a device of the board").0;
        let fails = |seed| {
            Twins::new(subject, (at.into(), seed), |_, _| Reading::FIXED).run(at.into()).is_err()
        };
        assert!((0..RUNS).any(fails), "{device} of {board}");
    }
}
