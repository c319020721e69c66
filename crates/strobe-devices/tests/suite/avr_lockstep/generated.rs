//! Generated programs that have every instruction with random operands.

use strobe_synth::{AVR_FORMS, AvrPart, AvrSequence};

use super::prove::{part, prove};

/// Instructions that stop or change the machine itself: they have tests of their own.
const APART: [&str; 4] = ["sleep", "break", "spm", "spm z+"];

fn generated(which: AvrPart, seeds: std::ops::Range<u64>) {
    let mut forms = vec![0; AVR_FORMS.len()];
    let mut total = 0;
    for seed in seeds {
        let sequence = AvrSequence::generate(seed, which, 2500);
        let name = format!("seed {seed} for {which:?}");
        total += prove(&name, &part(which), &sequence.image, 1_000_000);
        forms.iter_mut().zip(&sequence.forms).for_each(|(sum, n)| *sum += n);
    }
    for (form, count) in AVR_FORMS.iter().zip(forms) {
        let covered = count > 0 || !which.has(form) || APART.contains(&form.name);
        assert!(covered, "no {} in any program", form.name);
    }
    eprintln!("{which:?}: {total} instructions agree");
}

#[test]
fn atmega328p() {
    generated(AvrPart::Atmega328p, 0..24);
}

#[test]
fn atmega2560() {
    generated(AvrPart::Atmega2560, 0..24);
}

#[test]
fn attiny85() {
    generated(AvrPart::Attiny85, 0..24);
}
