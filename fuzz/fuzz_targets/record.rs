//! Any text as a record: refused, or shown in every way without a panic.
//!
//! `cargo +nightly fuzz run -s none record fuzz/corpus/record --
//! -timeout=10`; the output of `strobe run --format json` is a good corpus.
#![no_main]

#[path = "../../crates/strobe-report/tests/common/exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|text: &str| exercise::exercise(text));
