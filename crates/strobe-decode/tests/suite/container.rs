//! Recordings written, read back, cut and damaged.

use std::num::NonZeroU32;

use crate::common::recording::read;
use proptest::prelude::*;
use strobe_decode::container::*;
use strobe_decode::trace_settings::{Encoding, Line, TraceSettings};

fn header() -> Header {
    let line = Line::new(64_000_000, 2_000_000, Encoding::Nrz).expect("a whole divider");
    let core_hz = NonZeroU32::new(64_000_000).expect("not zero");
    Header {
        tool: "strobe 0.1.0".to_owned(),
        source: Source { kind: "tcp".to_owned(), name: "localhost:3443".to_owned() },
        target: Some("stm32f407vg".to_owned()),
        core: None,
        settings: Some(TraceSettings::new(core_hz, line)),
        carries: PayloadKind::Kit,
        programmed: true,
        elf: Some(Elf { file: "fw.elf".to_owned(), sha256: "00ff".to_owned(), build_id: None }),
        flashed: None,
    }
}

/// Three chunks of raw bytes with a note between, one of samples, and the end; also returns the raw
/// bytes.
fn sample() -> (Vec<u8>, Vec<u8>) {
    let mut writer = Writer::new(Vec::new(), &header()).expect("memory takes it");
    let raw: Vec<u8> = (0..600u32).map(|i| (i * 7) as u8).collect();
    writer.raw(10, &raw[..200]).expect("memory takes it");
    writer.tick(200_000).expect("memory takes it");
    writer.note(210_000, &Note::Gap { why: "unplugged".to_owned() }).expect("memory takes it");
    writer.raw(300_000, &raw[200..400]).expect("memory takes it");
    writer.note(310_000, &Note::Reconnected).expect("memory takes it");
    writer.raw(400_000, &raw[400..]).expect("memory takes it");
    for host_us in [500_000, 500_700] {
        let sample = Polled { host_us, pc: 0x0800_0123, halted_us: 3 };
        writer.polled(sample).expect("memory takes it");
    }
    (writer.finish(600_000, "test").expect("memory takes it"), raw)
}

#[test]
fn written_files_are_read_back() {
    let (bytes, raw) = sample();
    let mut reader = Reader::new(&bytes[..]).expect("a recording");
    assert_eq!(reader.header(), Some(&header()));
    let mut seen = Vec::new();
    while let Some(chunk) = reader.next().expect("memory does not fail") {
        let what = match chunk.content {
            Content::Raw(bytes) => format!("raw {}", bytes.len()),
            Content::Note(note) => format!("{note:?}"),
            Content::Polled(samples) => format!("{:?}", samples[1]),
            Content::End(end) => format!("{end:?}"),
        };
        assert_eq!(chunk.missing_before, 0);
        seen.push(format!("{} {what}", chunk.host_us));
    }
    let expected = [
        "10 raw 200",
        "210000 Gap { why: \"unplugged\" }",
        "300000 raw 200",
        "310000 Reconnected",
        "400000 raw 200",
        "500000 Polled { host_us: 500700, pc: 134218019, halted_us: 3 }",
        "600000 End { raw_bytes: 600, polled: 2, why: \"test\" }",
    ];
    assert_eq!(seen, expected);
    let (read, summary) = read(&bytes).expect("a recording");
    assert_eq!((read, summary.damaged_bytes, summary.missing_chunks), (raw, 0, 0));
}

#[test]
fn truncated_file_gives_its_whole_chunks() {
    let (bytes, raw) = sample();
    let header = bytes.windows(4).position(|four| four == b"\xd7SBk").expect("a chunk");
    let mut before = 0;
    for cut in 0..bytes.len() {
        let Some((read, summary)) = read(&bytes[..cut]) else {
            assert!(cut < header, "cut at {cut}");
            continue;
        };
        assert!(cut >= header, "cut at {cut}");
        assert_eq!(read, raw[..read.len()], "cut at {cut}");
        assert!(read.len() >= before && read.len() % 200 == 0);
        before = read.len();
        assert_eq!((summary.damaged_bytes, summary.missing_chunks), (0, 0));
        assert!(matches!(summary.ending, Ending::CutShort { .. }));
    }
    assert_eq!(before, raw.len());
}

#[test]
fn a_flipped_bit_costs_its_chunk_alone() {
    let (bytes, raw) = sample();
    let (_, whole) = read(&bytes).expect("a recording");
    let header = bytes.windows(4).position(|four| four == b"\xd7SBk").expect("a chunk");
    for at in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        let Some((read, summary)) = read(&bytes) else {
            assert!(at < 12 * 8, "magic and version, not bit {at}");
            continue;
        };
        let mut reader = Reader::new(&bytes[..]).expect("a recording");
        if at / 8 < header {
            assert_eq!((read, summary.header_damaged), (raw.clone(), true), "bit {at}");
            assert_eq!(reader.header(), None);
            continue;
        }
        assert!(reader.header().is_some());
        assert_eq!(summary.chunks, whole.chunks - 1, "bit {at}");
        // Damage at the end may look like truncation.
        let detected =
            summary.damaged_bytes > 0 || matches!(summary.ending, Ending::CutShort { .. });
        assert!(detected, "bit {at}: {summary:?}");
        while let Some(chunk) = reader.next().expect("memory does not fail") {
            assert!(chunk.missing_before <= 1);
        }
    }
}

/// A file system lost a few sectors: chunks in them are lost, the next chunk is found.
#[test]
fn bytes_lost_inside_a_payload_cost_their_chunk_alone() {
    let (bytes, raw) = sample();
    let places: Vec<usize> =
        bytes.windows(4).enumerate().filter(|(_, w)| w == b"\xd7SBk").map(|(at, _)| at).collect();
    for pair in places.windows(2) {
        let payload = pair[0] + 32..pair[1];
        for lost in [1, 5, 31, 32, 33, payload.len() - 1, payload.len()] {
            let lost = lost.min(payload.len());
            let with = [&bytes[..payload.start], &bytes[payload.start + lost..]].concat();
            let (read, summary) = read(&with).expect("a recording");
            assert_eq!(summary.chunks, places.len() as u64 - 1, "{lost} bytes after {}", pair[0]);
            assert_eq!(summary.damaged_bytes, (pair[1] - pair[0] - lost) as u64);
            assert_eq!(summary.missing_chunks, 1);
            assert!(matches!(summary.ending, Ending::Marked(_)));
            assert!(read.len() == raw.len() || read.len() + 200 == raw.len());
        }
    }
}

/// A recording within the payload of a damaged chunk is not extracted.
#[test]
fn a_chunk_inside_a_damaged_one_is_none() {
    let (inner, _) = sample();
    let mut writer = Writer::new(Vec::new(), &header()).expect("memory takes it");
    writer.raw(0, &inner).expect("memory takes it");
    writer.note(1, &Note::Reconnected).expect("memory takes it");
    let mut bytes = writer.finish(2, "test").expect("memory takes it");
    let first = bytes.windows(4).position(|four| four == b"\xd7SBk").expect("a chunk");
    bytes[first + 40] ^= 1;
    let (read, summary) = read(&bytes).expect("a recording");
    assert_eq!((read.len(), summary.chunks, summary.missing_chunks), (0, 2, 1));
    assert_eq!(summary.damaged_bytes, 32 + inner.len() as u64);
}

#[test]
fn chunks_of_other_kinds_are_counted_and_skipped() {
    let (mut bytes, raw) = sample();
    let first = bytes.windows(4).position(|four| four == b"\xd7SBk").expect("a chunk");
    bytes[first + 4..first + 6].copy_from_slice(&999u16.to_le_bytes());
    let crc = crc32fast::hash(&bytes[first..first + 28]);
    bytes[first + 28..first + 32].copy_from_slice(&crc.to_le_bytes());
    let (read, summary) = read(&bytes).expect("a recording");
    assert_eq!((read.as_slice(), summary.unknown_chunks), (&raw[200..], 1));
    assert_eq!((summary.missing_chunks, summary.damaged_bytes), (0, 0));
}

#[test]
fn chunks_that_are_gone_are_missed() {
    let (bytes, raw) = sample();
    let mark = |from: usize| {
        let found = bytes[from..].windows(4).position(|four| four == b"\xd7SBk");
        from + found.expect("another chunk")
    };
    let first = mark(0);
    let (second, third) = (mark(first + 1), mark(mark(first + 1) + 1));
    let without = [&bytes[..first], &bytes[third..]].concat();
    let (read, summary) = read(&without).expect("a recording");
    assert_eq!((read.as_slice(), summary.missing_chunks), (&raw[200..], 2));
    assert_eq!(summary.damaged_bytes, 0);
    assert!(second < third);
}

#[test]
fn other_files_are_refused_by_what_they_are() {
    let error = |bytes: &[u8]| Reader::new(bytes).expect_err("none").to_string();
    let (bytes, _) = sample();
    assert!(error(b"").contains("not a strobe recording"));
    assert!(error(b"\x7fELF and so on and so on and on").contains("not a strobe recording"));
    assert!(error(&bytes[..15]).contains("ends after 15 bytes"));
    let mut newer = bytes.clone();
    newer[8] = 2;
    assert!(error(&newer).contains("format 2"));
    // A length beyond the end of the file.
    let mut long = bytes[..20].to_vec();
    long[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(error(&long).contains("ends after"));
}

#[test]
fn much_at_once_is_cut_into_chunks() {
    let mut writer = Writer::new(Vec::new(), &header()).expect("memory takes it");
    let raw: Vec<u8> = (0..300_000u32).map(|i| (i >> 3) as u8).collect();
    writer.raw(1, &raw).expect("memory takes it");
    let bytes = writer.finish(2, "test").expect("memory takes it");
    let (read, summary) = read(&bytes).expect("a recording");
    assert!(read == raw);
    assert_eq!(summary.chunks, 300_000u64.div_ceil(1 << 16) + 1);
}

/// A reader that returns a few bytes at a time, with interruptions between.
struct Slow<'a>(&'a [u8], bool);

impl std::io::Read for Slow<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let n = buf.len().min(self.0.len()).min(3);
        buf[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}

#[test]
fn pieces_and_interruptions_change_nothing() {
    let (bytes, _) = sample();
    let mut reader = Reader::new(Slow(&bytes, false)).expect("a recording");
    while reader.next().expect("only interruptions").is_some() {}
    assert_eq!(Some(reader.summary()), read(&bytes).map(|(_, summary)| summary).as_ref());
}

proptest! {
    #[test]
    fn any_damage_is_survived_and_reported(
        places in proptest::collection::vec(
            (any::<prop::sample::Index>(), any::<u8>(), any::<bool>()),
            1..12,
        ),
    ) {
        let (mut bytes, _) = sample();
        for (at, byte, remove) in places {
            let at = at.index(bytes.len());
            if remove {
                bytes.remove(at);
            } else {
                bytes[at] = byte;
            }
        }
        read(&bytes);
    }

    /// Any bytes may be lost in any chunks: the other chunks are read, and each byte is in a chunk
    /// or reported as damage.
    #[test]
    fn holes_cost_the_chunks_that_they_are_in(
        holes in proptest::collection::vec(
            (0..6usize, any::<prop::sample::Index>(), 1..200usize),
            1..4,
        ),
    ) {
        let (bytes, _) = sample();
        let heads = bytes.windows(4).enumerate().filter(|(_, w)| w == b"\xd7SBk");
        let places: Vec<usize> = heads.map(|(at, _)| at).collect();
        let mut kept = vec![true; bytes.len()];
        let mut hit = std::collections::BTreeSet::new();
        for (chunk, from, length) in holes {
            let payload = places[chunk] + 32..places[chunk + 1];
            let from = payload.start + from.index(payload.len());
            kept[from..payload.end.min(from + length)].fill(false);
            hit.insert(chunk);
        }
        let left = bytes.iter().zip(&kept).filter(|(_, kept)| **kept);
        let with: Vec<u8> = left.map(|(byte, _)| *byte).collect();
        let (_, summary) = read(&with).expect("a recording");
        prop_assert_eq!(summary.chunks as usize, places.len() - hit.len());
        prop_assert_eq!(summary.missing_chunks as usize, hit.len());
        let whole: usize = (0..places.len()).filter(|n| !hit.contains(n))
            .map(|n| places.get(n + 1).unwrap_or(&bytes.len()) - places[n]).sum();
        prop_assert_eq!(summary.damaged_bytes as usize, with.len() - places[0] - whole);
    }

    /// A false chunk needs four magic bytes and a 32-bit checksum to match by chance: one in 2^64
    /// places.
    #[test]
    fn any_bytes_behind_a_header(rest in proptest::collection::vec(any::<u8>(), 0..300)) {
        let (bytes, _) = sample();
        let header = bytes.windows(4).position(|four| four == b"\xd7SBk").expect("a chunk");
        let (raw, summary) = read(&[&bytes[..header], &rest].concat()).expect("a recording");
        prop_assert_eq!((raw.len(), summary.chunks), (0, 0));
        let Ending::CutShort { bytes } = summary.ending else { panic!("no end mark") };
        prop_assert_eq!(summary.damaged_bytes + bytes, rest.len() as u64);
    }
}
