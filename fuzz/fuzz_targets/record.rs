//! Any text as a record of earlier versions: refused, or shown in every way without a panic.
//!
//! `cargo +nightly fuzz run -s none record fuzz/corpus/record --
//! -timeout=10`; crates/strobe-source/tests/data has a corpus.
#![no_main]

#[path = "../../crates/strobe/tests/suite/common/old_record.rs"]
mod old_record;

libfuzzer_sys::fuzz_target!(|text: &str| old_record::exercise(text));
