//! Any text as a board file: refused, or a board that survives any accesses of firmware to its
//! devices.
//!
//! `cargo +nightly fuzz run -s none board fuzz/corpus/board crates/strobe-devices/boards --
//! -rss_limit_mb=2048 -timeout=10`; the shipped boards are a good corpus.
#![no_main]

#[path = "../../crates/strobe-devices/tests/suite/common/exercise_board.rs"]
mod exercise_board;

libfuzzer_sys::fuzz_target!(|text: &str| exercise_board::exercise(text));
