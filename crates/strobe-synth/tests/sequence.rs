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
    let options = Options { snippets: 300, exceptions: false, faults: false };
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
