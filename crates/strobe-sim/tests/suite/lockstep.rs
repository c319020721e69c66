//! The functional proof: the simulated cores against QEMU's Cortex-M0, M3 and M4, registers and
//! flags equal at each step.
//!
//! Every program runs twice along one trace: stepped one by one, which takes the careful path
//! through each instruction, and in strides of many cycles, which lets whole blocks run as they do
//! when nobody looks.

mod long;
mod machine;
mod programs;
mod prove;

use prove::prove_on;
use strobe_sim::cortexm::timing::CoreKind;
use strobe_synth::{Core, Options, Sequence};

fn prove_sequence(kind: CoreKind, name: &str, sequence: &Sequence) {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), sequence.elf()).expect("write the program");
    let proof = prove_on(kind, name, file.path());
    assert_eq!(proof.exit_code, 0, "{name} met an exception it did not expect");
}

#[test]
fn every_16_bit_encoding() {
    for (part, sequence) in Sequence::exhaustive(1).iter().enumerate() {
        prove_sequence(CoreKind::CortexM0, &format!("exhaustive part {part}"), sequence);
    }
}

/// What the programs of a core are for it.
fn generated(kind: CoreKind, core: Core, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let (exceptions, faults) = (seed % 3 > 0, seed % 3 > 1);
        let options = Options { core, snippets: 1500, exceptions, faults };
        let sequence = Sequence::generate(seed, &options);
        prove_sequence(kind, &format!("seed {seed} of {options:?}"), &sequence);
    }
}

/// Straight programs, programs with exceptions, and programs with exceptions and faults, in turn.
#[test]
fn generated_sequences() {
    generated(CoreKind::CortexM0, Core::V6m, 0..24);
}

#[test]
fn generated_sequences_for_armv7m() {
    generated(CoreKind::CortexM3, Core::V7m, 0..18);
}

/// With the DSP extension and floating point.
#[test]
fn generated_sequences_for_armv7em() {
    generated(CoreKind::CortexM4f, Core::V7emFp, 0..24);
}
