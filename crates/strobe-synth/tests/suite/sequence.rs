//! Properties of generated programs that hold without running them.

use std::collections::BTreeSet;

use strobe_synth::{FORMS, Options, Sequence};

#[test]
fn equal_seeds_give_equal_programs() {
    let options = Options::default();
    assert_eq!(Sequence::generate(5, &options).elf(), Sequence::generate(5, &options).elf());
    assert_ne!(Sequence::generate(5, &options).elf(), Sequence::generate(6, &options).elf());
}

#[test]
fn a_few_programs_contain_every_form() {
    let options = Options { snippets: 1500, ..Options::default() };
    let mut missing: BTreeSet<&str> = FORMS.iter().copied().collect();
    for seed in 0..4 {
        let sequence = Sequence::generate(seed, &options);
        for (_, insn) in sequence.listing() {
            assert!(FORMS.contains(&insn.form()), "{insn} has an unlisted form");
            missing.remove(insn.form());
        }
    }
    assert!(missing.is_empty(), "never generated: {missing:?}");
}

#[test]
fn without_exceptions_and_faults_there_are_none() {
    let options = Options { snippets: 300, exceptions: false, faults: false, ..Options::default() };
    let sequence = Sequence::generate(3, &options);
    let forbidden = ["SVC", "UDF", "UDF.W", "WFI"];
    for (address, insn) in sequence.listing() {
        assert!(!forbidden.contains(&insn.form()), "{insn} at {address:#x}");
    }
}

#[test]
fn the_listing_is_the_memory() {
    let sequence = Sequence::generate(9, &Options::default());
    for (address, insn) in sequence.listing() {
        let (start, bytes) =
            sequence.segments().iter().rev().find(|(start, _)| start <= address).expect("mapped");
        let at = (address - start) as usize;
        let code: Vec<u8> = insn.encode().iter().flat_map(|h| h.to_le_bytes()).collect();
        assert_eq!(bytes[at..at + code.len()], code, "{insn} at {address:#x}");
        assert_eq!(sequence.at(*address), Some(*insn));
    }
}

/// Derived from the encoding space: the halfwords that are predictable 16-bit instructions and do
/// not branch.
#[test]
fn exhaustive_programs_contain_every_halfword_without_branches() {
    let mut missing: BTreeSet<u16> = (0..0xe800).filter(|&h| is_straight_line(h)).collect();
    for sequence in Sequence::exhaustive(1) {
        for (_, insn) in sequence.listing() {
            missing.remove(&insn.encode()[0]);
        }
    }
    let some: Vec<String> = missing.iter().take(8).map(|h| format!("{h:04x}")).collect();
    assert!(missing.is_empty(), "{} are missing, first {some:?}", missing.len());
}

/// A5.2 of DDI 0419 read backwards: defined, predictable, and neither a branch nor a change of
/// system state.
fn is_straight_line(code: u16) -> bool {
    let list = code & 0xff;
    let base = 1 << (code >> 8 & 7);
    match code >> 12 {
        0..=3 => true,
        4 if !(0x4400..0x4800).contains(&code) => true,
        4 => {
            let (d, m) = (code >> 4 & 8 | code & 7, code >> 3 & 15);
            let compares = code >> 8 == 0x45;
            code < 0x4700 && d != 15 && !(compares && (m == 15 || d < 8 && m < 8))
        }
        5..=0xa => true,
        0xb => match code >> 8 & 15 {
            0 | 2 => true,
            4 | 0xc => list != 0,
            5 | 0xd => true,
            0xa => code >> 6 & 3 != 2,
            _ => false,
        },
        0xc if code & 0x800 == 0 => {
            list != 0 && (list & base == 0 || list & list.wrapping_neg() == base)
        }
        0xc => list != 0,
        _ => false,
    }
}
