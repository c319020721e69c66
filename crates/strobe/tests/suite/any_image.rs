//! Any bytes as a program: it runs for the time it is given, and the report adds up. The fuzz
//! target `image` does the same with its own inputs; what it finds becomes a case here.

use crate::common::image::exercise;
use proptest::prelude::*;
use strobe_synth::{Core, Options, Sequence};

/// Code that does something: mostly common encodings, so that it gets further than its first
/// instruction.
fn halfword() -> impl Strategy<Value = u16> {
    prop_oneof![
        4 => 0..0x4800u16,
        3 => 0x4800..0xb000u16,
        2 => 0xb000..0xc000u16,
        2 => 0xd000..0xe000u16,
        1 => 0xe000..0xe010u16,
        1 => any::<u16>(),
        // Where 32-bit instructions begin; the Cortex-M0 has few.
        1 => 0xe800..=0xffffu16,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn a_random_program_is_bounded_and_adds_up(
        how in any::<u8>(),
        code in prop::collection::vec(halfword(), 0..400),
    ) {
        let code = code.into_iter().flat_map(u16::to_le_bytes);
        exercise(&[how].into_iter().chain(code).collect::<Vec<u8>>());
    }
}

/// Programs made to get far: every form of instruction, exceptions and faults.
#[test]
fn generated_programs_are_bounded_and_add_up() {
    for seed in 0..16 {
        let core = [Core::V6m, Core::V7emFp][seed as usize % 2];
        let options = Options { core, snippets: 40, ..Options::default() };
        let sequence = Sequence::generate(seed, &options);
        for (_, code) in sequence.segments() {
            for how in 0..128 {
                exercise(&[&[how], code.as_slice()].concat());
            }
        }
    }
}
