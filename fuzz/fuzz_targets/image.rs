//! Any bytes as a program on a simulated core with the full profile: it must not panic, must stop
//! at its limit, and every cycle and instruction must be accounted for in each view.
//!
//! `cargo +nightly fuzz run -s none image -- -max_len=1024 -timeout=10`; a first byte and any
//! firmware's code make a good corpus.
#![no_main]

#[path = "../../crates/strobe/tests/suite/common/image.rs"]
mod image;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| image::exercise(bytes));
