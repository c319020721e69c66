//! Any bytes as Intel HEX, unchanged and as individually valid records: parsing and every lookup
//! must neither panic nor hang.
//!
//! `cargo +nightly fuzz run -s none hex -- -max_len=4096 -rss_limit_mb=1024 -timeout=10`
#![no_main]

#[path = "../../crates/strobe-symbols/tests/suite/common/exercise.rs"]
mod exercise;
#[path = "../../crates/strobe-symbols/tests/suite/common/hex.rs"]
mod hex;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    exercise::exercise(&[b":", bytes].concat());
    exercise::exercise(&hex::from_noise(bytes));
});
