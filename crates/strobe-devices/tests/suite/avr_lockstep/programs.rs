//! Real programs, and where simavr is wrong.

use std::path::Path;

use strobe_oracle::Program;
use strobe_oracle::simavr::Simavr;
use strobe_synth::{AvrForm, AvrPart};

use super::prove::{machine, part, prove};

/// What flash holds of a prebuilt program.
pub(crate) fn image(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware/prebuilt").join(name);
    image_of(&std::fs::read(path.with_extension("elf")).expect("a prebuilt program"))
}

/// What flash holds of a program.
pub(crate) fn image_of(elf: &[u8]) -> Vec<u8> {
    let mut image = Vec::new();
    for (address, bytes) in Program::from_elf(elf).expect("an ELF program").image() {
        // Zeroed memory has an address in RAM and no bytes.
        if bytes.is_empty() {
            continue;
        }
        let end = address as usize + bytes.len();
        image.resize(end.max(image.len()), 0xff);
        image[address as usize..end].copy_from_slice(bytes);
    }
    image
}

/// Compiled by avr-gcc with avr-libc: callbacks, jump tables, division, floating point, longjmp,
/// printf.
#[test]
fn prebuilt_firmware() {
    for (name, which) in [
        ("loop-avr", AvrPart::Atmega328p),
        ("work-avr", AvrPart::Atmega328p),
        ("work-avr-2560", AvrPart::Atmega2560),
    ] {
        let agreed = prove(name, &part(which), &image(name), 2_000_000);
        assert!(agreed > 15_000, "{name}: only {agreed} instructions");
        eprintln!("{name}: {agreed} instructions agree");
    }
}

/// The LED cube's loop whose instants of transmission are its whole point: simavr agrees with each
/// of its cycles.
#[test]
fn the_led_cubes_loop() {
    let mut image = image("cube");
    // LPM r24, Z+ and ADD r24, r22, before which it sets up five registers.
    let turn = image.windows(4).position(|bytes| bytes == [0x85, 0x91, 0x86, 0x0f]);
    let start = turn.expect("the loop") - 10;
    // Instead of vectors: r20 and r21 lead to a frame in RAM, a call, and an endless loop.
    let call = (start - 6) / 2;
    let stub: [(&str, &[(char, u32)]); 4] = [
        ("ldi", &[('d', 4), ('k', 0)]),
        ("ldi", &[('d', 5), ('k', 2)]),
        ("rcall", &[('k', call as u32)]),
        ("rjmp", &[('k', 0xfff)]),
    ];
    let words = stub.iter().flat_map(|(name, fields)| AvrForm::named(name).encode(fields));
    let words: Vec<u8> = words.flat_map(u16::to_le_bytes).collect();
    image[..words.len()].copy_from_slice(&words);
    let agreed = prove("cube", &part(AvrPart::Atmega328p), &image, 10_000);
    assert!((64 * 45..64 * 48).contains(&agreed), "{agreed} instructions");
}

/// simavr 1.6 takes ADIW and SBIW with a constant that ends in 12 to 15 for two words when it skips
/// them, as JMP is. They are one word (DS40002198, ADIW): the skip takes two cycles, and what comes
/// next runs.
#[test]
fn simavr_skips_two_words_at_adiw_against_the_manual() {
    let mut words = AvrForm::named("sbrc").encode(&[('d', 0), ('b', 0)]);
    words.extend(AvrForm::named("adiw").encode(&[('d', 0), ('k', 13)]));
    words.extend(AvrForm::named("inc").encode(&[('d', 5)]));
    words.extend(AvrForm::named("rjmp").encode(&[('k', 0xfff)]));
    let image: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let part = part(AvrPart::Atmega328p);

    let mut oracle = Simavr::start(part.mcu, &image, 1, &[]).expect("simavr runs");
    let wrong = oracle.step().expect("a step").expect("a state");
    assert_eq!(
        (wrong.pc, wrong.cycles),
        (6, 3),
        "simavr has been put right: skip ADIW in the lockstep too"
    );

    let mut machine = machine(&part, &image);
    machine.run(2, &Default::default());
    assert_eq!((machine.cpu.pc, machine.cycles(), machine.instructions()), (4, 2, 1));
    machine.run(3, &Default::default());
    assert_eq!(machine.cpu.r[5], 1);
}

/// simavr reads PINx without the synchroniser's delay; the manual wins (ATmega328P data sheet
/// 14.2.4).
#[test]
fn simavr_reads_pins_at_once_and_the_manual_wins() {
    let mut words = AvrForm::named("ldi").encode(&[('d', 0), ('k', 0xff)]);
    for (name, a) in [("out", 4), ("out", 5), ("in", 3), ("in", 3)] {
        words.extend(AvrForm::named(name).encode(&[('d', 16), ('a', a)]));
    }
    words.extend(AvrForm::named("rjmp").encode(&[('k', 0xfff)]));
    let image: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let part = part(AvrPart::Atmega328p);
    let mut oracle = Simavr::start(part.mcu, &image, 5, &[]).expect("simavr runs");
    let mut read = || oracle.step().expect("a step").expect("a state").r[16];
    let theirs: Vec<u8> = (0..5).map(|_| read()).collect();
    let mut machine = machine(&part, &image);
    let ours: Vec<u8> = (1..6)
        .map(|cycle| {
            machine.run(cycle, &Default::default());
            machine.cpu.r[16]
        })
        .collect();
    assert_eq!((theirs[3], ours[3], ours[4]), (0xff, 0, 0xff));
}
