//! Any bytes as a VCD file: refused, or a capture whose edges are in order; no panic, no hang, no
//! allocation beyond the data.
//!
//! `cargo +nightly fuzz run -s none capture_vcd -- -rss_limit_mb=512 -timeout=10`; `docs/captures`
//! is a good corpus.
#![no_main]

#[path = "../../crates/strobe-decode/tests/suite/common/exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::vcd(bytes));
