//! The functional proof: the simulated core against QEMU's Cortex-M0, registers and flags equal at each step.
//!
//! Every program runs twice along one trace: stepped one by one, which takes the careful path through each instruction, and
//! in strides of many cycles, which lets whole blocks run as they do when nobody looks.

mod machine;
mod programs;
mod prove;

use prove::prove;
use strobe_synth::{Options, Sequence};

fn prove_sequence(name: &str, sequence: &Sequence) {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), sequence.elf()).expect("write the program");
    let proof = prove(name, file.path());
    assert_eq!(proof.exit_code, 0, "{name} met an exception it did not expect");
}

#[test]
fn every_16_bit_encoding() {
    for (part, sequence) in Sequence::exhaustive(1).iter().enumerate() {
        prove_sequence(&format!("exhaustive part {part}"), sequence);
    }
}

/// Straight programs, programs with exceptions, and programs with exceptions and faults, in turn.
#[test]
fn generated_sequences() {
    for seed in 0..24 {
        let options = Options { snippets: 1500, exceptions: seed % 3 > 0, faults: seed % 3 > 1 };
        prove_sequence(&format!("seed {seed} of {options:?}"), &Sequence::generate(seed, &options));
    }
}
