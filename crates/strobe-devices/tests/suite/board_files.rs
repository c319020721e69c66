//! Any text as a board file: refused with a message, or a board on which code runs. The fuzz target
//! `board` does the same with its own inputs; what it finds becomes a case here.

use crate::common::exercise_board::exercise;
use proptest::prelude::*;
use strobe_devices::board::Board;

const BOARDS: [&str; 4] = [
    include_str!("../../boards/cortex-m0.toml"),
    include_str!("../../boards/cortex-m0plus.toml"),
    include_str!("../../boards/cortex-m4f.toml"),
    include_str!("../../boards/stm32f070cb.toml"),
];

#[test]
fn the_shipped_boards_stand_it() {
    for text in BOARDS {
        assert!(Board::parse(text).is_ok());
        exercise(text);
    }
}

/// Where the text has numbers, in order.
fn numbers(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(|c: char| c.is_ascii_digit()).map(|i| at + i) {
        let token = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.');
        let end = text[start..].find(token).map_or(text.len(), |i| start + i);
        found.push(start..end);
        at = end;
    }
    found
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        (0..0x40u32).prop_map(|n| n.to_string()),
        any::<u32>().prop_map(|n| format!("{n:#x}")),
        (0..33u32).prop_map(|n| format!("{:#x}", (1u64 << n) - 1)),
        (0..32u32).prop_map(|n| format!("{:#x}", 1u64 << n)),
        Just("-1".to_owned()),
        Just("nan".to_owned()),
        Just("18446744073709551615".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn other_numbers_are_refused_or_run(
        board in 0..BOARDS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), number()), 1..4),
    ) {
        let mut text = BOARDS[board].to_owned();
        for (which, number) in changes {
            let places = numbers(&text);
            text.replace_range(places[which.index(places.len())].clone(), &number);
        }
        exercise(&text);
    }

    #[test]
    fn lost_and_doubled_lines_are_refused_or_run(
        board in 0..BOARDS.len(),
        from in any::<prop::sample::Index>(),
        count in 1..8usize,
        double in any::<bool>(),
    ) {
        let mut lines: Vec<&str> = BOARDS[board].lines().collect();
        let from = from.index(lines.len());
        let to = (from + count).min(lines.len());
        let again: Vec<&str> = lines[from..to].to_vec();
        if double {
            lines.splice(to..to, again);
        } else {
            lines.drain(from..to);
        }
        exercise(&lines.join("\n"));
    }
}
