//! Any registers and any stack window of a bundled program: the walk must end, and neither panic
//! nor hang; what it finds must hold together.
//!
//! `cargo +nightly fuzz run -s none unwind -- -max_len=4096 -timeout=10`; stacks of real programs
//! make a good corpus.
#![no_main]

use std::sync::LazyLock;

use strobe_symbols::Firmware;

#[path = "../../crates/strobe-symbols/tests/suite/common/window.rs"]
mod window;

/// One with call frame information, one with exception index tables.
static FIRMWARE: LazyLock<Vec<Firmware>> = LazyLock::new(|| {
    let images: [&[u8]; 2] = [
        include_bytes!("../../firmware/prebuilt/generic-c-m3.elf"),
        include_bytes!("../../firmware/prebuilt/crc-rs.elf"),
    ];
    images.iter().filter_map(|image| Firmware::parse(*image).ok()).collect()
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for firmware in FIRMWARE.iter() {
        window::walk(firmware, bytes);
    }
});
