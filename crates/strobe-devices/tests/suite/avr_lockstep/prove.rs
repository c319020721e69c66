//! The comparison: the simulated core beside simavr's trace.

use std::sync::atomic::AtomicBool;

use strobe_devices::board::Board;
use strobe_oracle::simavr::{AvrState, Simavr};
use strobe_sim::avr::{Machine, Stop};
use strobe_synth::{AvrPart, Rng};

/// A part as both sides know it, with the data address of PORTB.
pub(crate) struct Part {
    pub(crate) mcu: &'static str,
    board: &'static str,
    port_b: u16,
}

pub(crate) fn part(part: AvrPart) -> Part {
    match part {
        AvrPart::Attiny85 => Part { mcu: "attiny85", board: "attiny85", port_b: 0x38 },
        AvrPart::Atmega328p => Part { mcu: "atmega328p", board: "arduino-uno", port_b: 0x25 },
        AvrPart::Atmega2560 => Part { mcu: "atmega2560", board: "arduino-mega", port_b: 0x25 },
    }
}

pub(crate) fn machine(part: &Part, image: &[u8]) -> Machine<()> {
    let board = Board::builtin(part.board).expect("comes with the project");
    let mut bus = board.build().expect("builds");
    bus.load(0, image).expect("fits the flash");
    let mut machine = Machine::new(bus, &board.avr_core().expect("an AVR"), ());
    machine.reset().expect("cannot fail");
    machine
}

fn state(machine: &Machine<()>) -> AvrState {
    let cpu = &machine.cpu;
    let pin = |bit: u8| machine.bus.signals.find(&format!("PB{bit}"));
    let level = |bit| pin(bit).is_some_and(|id| machine.bus.signals.level(id));
    let pins = (0..8u8).map(|bit| u8::from(level(bit)) << bit).sum();
    AvrState {
        pc: cpu.pc,
        cycles: machine.cycles(),
        sp: cpu.sp,
        sreg: cpu.sreg,
        r: cpu.r,
        watched: vec![pins],
    }
}

/// How far to run between two comparisons.
#[derive(Clone, Copy, Debug)]
enum Stride {
    One,
    Random { seed: u64, up_to: u32 },
}

/// Runs an image both ways beside simavr. Returns how many instructions agreed.
pub(crate) fn prove(name: &str, part: &Part, image: &[u8], most: u64) -> u64 {
    let one = compare(name, part, image, most, Stride::One);
    let strides = compare(name, part, image, most, Stride::Random { seed: 7, up_to: 300 });
    assert!(one.abs_diff(strides) < 1000, "{name}: {one} single steps, {strides} in strides");
    one
}

fn compare(name: &str, part: &Part, image: &[u8], most: u64, stride: Stride) -> u64 {
    let mut oracle = Simavr::start(part.mcu, image, most, &[part.port_b]).expect("simavr runs");
    let mut machine = machine(part, image);
    let mut rng = Rng::new(if let Stride::Random { seed, .. } = stride { seed } else { 0 });
    let go = AtomicBool::new(false);
    let mut expected = None;
    let mut steps = 0;
    loop {
        let before = state(&machine);
        let cycles = match stride {
            Stride::One => 1,
            Stride::Random { up_to, .. } => 1 + rng.below(up_to),
        };
        let stop = machine.run(machine.cycles() + u64::from(cycles), &go);
        while steps < machine.instructions() {
            let Some(next) = oracle.step().expect("simavr goes on") else {
                // The jump to itself: our side is ahead or asleep there.
                return finish(name, &machine, &oracle, steps);
            };
            expected = Some(next);
            steps += 1;
        }
        let now = state(&machine);
        if let Some(expected) = &mut expected {
            // Pins of this part's port that it has not are bits that simavr keeps.
            mask_pins(part, expected);
            assert!(
                &now == expected || idle(&machine),
                "{name} ({stride:?}), step {steps}, from {:#07x}:\n simavr {expected:x?}\n here   \
                 {now:x?}\n before {before:x?}",
                before.pc
            );
        }
        match stop {
            Stop::Limit => {}
            Stop::SleepsForever => {
                while oracle.step().expect("simavr goes on").is_some() {
                    steps += 1;
                }
                return finish(name, &machine, &oracle, steps);
            }
            other => panic!("{name}: {other:?} after {before:x?}"),
        }
    }
}

fn mask_pins(part: &Part, state: &mut AvrState) {
    if part.mcu == "attiny85" {
        state.watched[0] &= 0x3f;
    }
}

/// In the jump to itself at the end.
fn idle(machine: &Machine<()>) -> bool {
    let at = machine.cpu.pc as usize;
    machine.bus.flash.data.get(at..at + 2) == Some(&[0xff, 0xcf])
}

/// The RAM of both must be equal at the end.
fn finish(name: &str, machine: &Machine<()>, oracle: &Simavr, steps: u64) -> u64 {
    let data = oracle.data().expect("the trace has ended");
    let ram = &machine.bus.ram;
    let start = (ram.base & 0xffff) as usize;
    assert!(ram.data == data[start..], "{name}: RAM differs at the end");
    steps
}
