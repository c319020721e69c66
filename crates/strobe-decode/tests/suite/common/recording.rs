//! Invariants of reading any bytes as a recording, for properties and the fuzz target.

use strobe_decode::container::{Content, Ending, Error, Reader, Summary};

/// Reads bytes as a recording and checks the totals; returns the raw bytes and the summary, or
/// `None` if it is no recording.
#[allow(dead_code)]
pub fn read(bytes: &[u8]) -> Option<(Vec<u8>, Summary)> {
    let mut reader = match Reader::new(bytes) {
        Ok(reader) => reader,
        Err(Error::Io(error)) => panic!("memory does not fail: {error}"),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return None;
        }
    };
    let (mut raw, mut chunks, mut polled, mut before) = (Vec::new(), 0, 0, 0);
    while let Some(chunk) = reader.next().expect("memory does not fail") {
        assert!(chunk.at >= before && chunk.at < bytes.len() as u64);
        before = chunk.at + 1;
        chunks += 1;
        match chunk.content {
            Content::Raw(bytes) => raw.extend(bytes),
            Content::Polled(samples) => polled += samples.len() as u64,
            Content::Note(_) | Content::End(_) => {}
        }
    }
    assert_eq!(reader.next().expect("memory does not fail"), None, "the end stays the end");
    let summary = reader.summary().clone();
    assert_ne!(summary.ending, Ending::Unread);
    assert_eq!((summary.chunks, summary.raw_bytes), (chunks, raw.len() as u64));
    assert_eq!(summary.polled, polled);
    let listed: u64 = summary.damages.iter().map(|damage| damage.bytes).sum();
    assert!(listed == summary.damaged_bytes || summary.damages.len() == 100);
    assert!(summary.damages.windows(2).all(|d| d[0].at + d[0].bytes < d[1].at));
    Some((raw, summary))
}
