//! Any bytes as a program: it runs for the time it is given, and the report adds up. The fuzz target `image` does the same
//! with its own inputs; what it finds becomes a case here.

#[path = "common/image.rs"]
mod image;

use image::exercise;
use proptest::prelude::*;
use strobe_synth::{Core, Options, Sequence};

/// Code that does something: mostly common encodings, so that it gets further than its first instruction.
fn halfword() -> impl Strategy<Value = u16> {
    prop_oneof![
        4 => 0..0x4800u16,
        3 => 0x4800..0xb000u16,
        2 => 0xb000..0xc000u16,
        2 => 0xd000..0xe000u16,
        1 => 0xe000..0xe010u16,
        1 => any::<u16>(),
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
    for seed in 0..12 {
        let core = if seed % 2 == 0 { Core::V6m } else { Core::V7emFp };
        let options = Options { core, snippets: 40, ..Options::default() };
        for (_, code) in Sequence::generate(seed, &options).segments() {
            for how in 0..128 {
                exercise(&[&[how], code.as_slice()].concat());
            }
        }
    }
}
