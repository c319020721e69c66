//! Invariants of reading any bytes as a capture, for properties and fuzz targets.

use std::io::Cursor;

use strobe_decode::capture::{self, Capture, Error, Level, Options};

/// Small enough for a fuzzer to reach.
pub fn options() -> Options {
    Options { max_edges: 10_000, max_sample_bytes: 1 << 22, ..Options::default() }
}

/// Reads bytes as VCD. This must not panic, hang, or allocate for data that is not there.
#[allow(dead_code)]
pub fn vcd(bytes: &[u8]) {
    let options = Options { clock: capture::Tick::from_hz(1_000_000), ..options() };
    judge(capture::read_vcd(&mut Cursor::new(bytes), &options));
}

/// Reads bytes as a sigrok session.
#[allow(dead_code)]
pub fn sigrok(bytes: &[u8]) {
    judge(capture::read_sigrok(&mut Cursor::new(bytes), &options()));
}

/// Reads bytes as a session's members: the zip around them is sound, so that fuzzing gets past it.
#[allow(dead_code)]
pub fn sigrok_members(metadata: &[u8], samples: &[u8]) {
    use std::io::Write;
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default();
    let stored = stored.compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in [("version", &b"2"[..]), ("metadata", metadata), ("logic-1-1", samples)] {
        zip.start_file(name, stored).expect("a name of its own");
        zip.write_all(bytes).expect("memory takes it");
    }
    sigrok(&zip.finish().expect("memory takes it").into_inner());
}

/// Reads bytes as a CSV export.
#[allow(dead_code)]
pub fn csv(bytes: &[u8]) {
    judge(capture::read_csv(&mut Cursor::new(bytes), &options()));
}

fn judge(result: Result<Capture, Error>) {
    match result {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(capture) => check(&capture),
    }
}

/// Checks a capture: edges by time, each a change, none before the beginning or after the end.
pub fn check(capture: &Capture) {
    assert!(!capture.tick.is_longer_than(capture.resolution));
    for channel in &capture.channels {
        let (mut at, mut level) = (0, channel.initial);
        for edge in &channel.edges {
            assert!(edge.at() > at && edge.level() != level, "{channel:?}");
            (at, level) = (edge.at(), edge.level());
        }
        assert!(at <= capture.end, "{channel:?} has an edge after {}", capture.end);
    }
    for step in capture.steps([Some(0), Some(1)]).take(100) {
        assert!(step.at <= capture.end);
        assert!(capture.channels.len() > 1 || step.levels[1] == Level::Unknown);
    }
    capture.at_ps(capture.end);
}
