//! Any bytes as a sigrok session, and as metadata and samples inside a valid one: refused, or a
//! capture whose edges are in order; no panic, no hang, no allocation beyond the data.
//!
//! `cargo +nightly fuzz run -s none capture_sigrok -- -rss_limit_mb=512 -timeout=10`; small
//! sessions make a good corpus.
#![no_main]

#[path = "../../crates/strobe-decode/tests/suite/common/exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    exercise::sigrok(bytes);
    let (metadata, samples) = bytes.split_at(bytes.iter().position(|b| *b == 0).unwrap_or(0));
    exercise::sigrok_members(metadata, samples);
});
