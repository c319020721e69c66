//! Any bytes as an ELF file: parsing and every lookup must neither panic nor hang, and lookups must
//! agree with each other.
//!
//! `cargo +nightly fuzz run -s none elf fuzz/corpus/elf -- -rss_limit_mb=1024 -timeout=10`; small
//! firmware files make a good corpus.
#![no_main]

#[path = "../../crates/strobe-symbols/tests/suite/common/exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::exercise(bytes));
