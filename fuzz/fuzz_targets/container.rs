//! Any bytes as a recording, with and without a valid header.
//!
//! `cargo +nightly fuzz run -s none container -- -max_len=4096 -rss_limit_mb=1024 -timeout=10`
#![no_main]

#[path = "../../crates/strobe-decode/tests/suite/common/recording.rs"]
mod recording;

use strobe_decode::container::{PayloadKind, Header, Source, Writer};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    recording::read(bytes);
    let source = Source { kind: "file".to_owned(), name: String::new() };
    let header = Header {
        tool: "fuzz".to_owned(),
        source,
        target: None,
        core: None,
        settings: None,
        carries: PayloadKind::Unspecified,
        programmed: false,
        flashed: None,
        elf: None,
    };
    let mut file = Vec::new();
    Writer::new(&mut file, &header).expect("memory takes it").raw(0, &[1, 2]).expect("and this");
    file.extend(bytes);
    assert!(recording::read(&file).is_some());
});
