//! Orbuculum's frames, written by an independent encoder: whole, in pieces, damaged.

use proptest::prelude::*;
use strobe_decode::orbflow::{Decoder, LONGEST, SIGNATURE, Sink, Stats, looks_like};
use strobe_synth::orbflow::{frame, frames};

#[derive(Default, Debug, PartialEq)]
struct Log {
    frames: Vec<(u8, Vec<u8>)>,
    damaged: Vec<u64>,
}

impl Sink for Log {
    fn frame(&mut self, tag: u8, data: &[u8]) {
        self.frames.push((tag, data.to_vec()));
    }

    fn damaged(&mut self, bytes: u64) {
        self.damaged.push(bytes);
    }
}

/// Decodes pieces; every byte must be accounted for.
fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Log, Stats) {
    let (mut decoder, mut log) = (Decoder::new(), Log::default());
    pieces.into_iter().for_each(|piece| decoder.push(piece, &mut log));
    decoder.finish(&mut log);
    let stats = decoder.stats();
    assert_eq!(stats.bytes, stats.data_bytes + stats.overhead_bytes + stats.damaged_bytes);
    assert_eq!(stats.data_bytes, log.frames.iter().map(|(_, data)| data.len() as u64).sum::<u64>());
    assert_eq!(
        (stats.frames, stats.damaged_frames),
        (log.frames.len() as u64, log.damaged.len() as u64)
    );
    assert_eq!(stats.damaged_bytes, log.damaged.iter().sum::<u64>());
    (log, stats)
}

/// Lengths around that of a full block, with zeros in all places that matter.
#[test]
fn blocks_of_all_lengths() {
    for length in (0..8usize).chain(248..262).chain(500..516).chain([4094]) {
        for zero in [None, Some(0), Some(length / 2), Some(length.saturating_sub(1))] {
            let mut data = vec![0x55; length];
            if let Some(byte) = zero.and_then(|at| data.get_mut(at)) {
                *byte = 0;
            }
            let mut bytes = Vec::new();
            frame(&mut bytes, 1, &data);
            assert_eq!(bytes.iter().filter(|byte| **byte == 0).count(), 1);
            let (log, _) = decode([&bytes[..]]);
            assert_eq!((log.frames, log.damaged), (vec![(1, data)], vec![]), "{length}, {zero:?}");
        }
    }
}

#[test]
fn a_signature_is_passed_over_at_the_beginning_only() {
    let all = frames(1, b"a stream", 3);
    let (log, _) = decode([&[&SIGNATURE[..], &all].concat()[..]]);
    assert_eq!((log.frames.len(), log.damaged.len()), (3, 0));
    let (log, _) = decode([&[&all, &SIGNATURE[..], &all].concat()[..]]);
    assert_eq!((log.frames.len(), log.damaged.len()), (5, 1));
}

#[test]
fn endless_frame_uses_no_memory_and_spoils_nothing() {
    let long = vec![0x41; 10 * LONGEST];
    let good = frames(1, b"after", 9);
    let (log, _) = decode([&long[..], &long, &[0], &good]);
    assert_eq!(log.frames, [(1, b"after".to_vec())]);
    assert_eq!(log.damaged, [20 * LONGEST as u64 + 1]);
}

#[test]
fn a_gap_costs_the_frame_that_it_is_in() {
    let good = frames(3, b"whole", 9);
    let (mut decoder, mut log) = (Decoder::new(), Log::default());
    decoder.push(&good[..4], &mut log);
    decoder.gap(&mut log);
    decoder.gap(&mut log);
    decoder.push(&good, &mut log);
    assert_eq!((log.frames.len(), log.damaged), (1, vec![4]));
}

fn some_frames() -> impl Strategy<Value = Vec<(u8, Vec<u8>)>> {
    let byte = prop_oneof![Just(0u8), Just(1), any::<u8>()];
    prop::collection::vec((any::<u8>(), prop::collection::vec(byte, 0..600)), 1..12)
}

proptest! {
    #[test]
    fn frames_come_back_whatever_the_pieces(all in some_frames(), size in 1..700usize) {
        let mut bytes = Vec::new();
        all.iter().for_each(|(tag, data)| frame(&mut bytes, *tag, data));
        let (log, _) = decode(bytes.chunks(size));
        prop_assert_eq!(&log.frames, &all);
        prop_assert!(log.damaged.is_empty());
        let recognised = looks_like(&bytes);
        prop_assert!(recognised == Some(true) || all.len() == 1 && recognised.is_none());
    }

    /// A byte is changed or lost: at most its frame and the next are lost, and no data is invented.
    #[test]
    fn damage_costs_its_frame(
        all in some_frames(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        gone in any::<bool>(),
    ) {
        let mut bytes = Vec::new();
        all.iter().for_each(|(tag, data)| frame(&mut bytes, *tag, data));
        let at = at.index(bytes.len());
        if gone {
            bytes.remove(at);
        } else {
            bytes[at] = byte;
        }
        let (log, _) = decode(bytes.chunks(97));
        let same = log.frames.iter().filter(|frame| all.contains(frame)).count();
        prop_assert!(same + 2 >= all.len(), "{} of {}", same, all.len());
        // Two of 256 fragments of a frame, or of two joined frames, have a correct sum by chance.
        prop_assert!(log.frames.len() <= same + 2);
    }

    #[test]
    fn any_bytes_decode_alike_in_pieces_of_any_size(
        bytes in prop::collection::vec(any::<u8>(), 0..2000), size in 1..50usize,
    ) {
        prop_assert_eq!(decode([&bytes[..]]), decode(bytes.chunks(size)));
        looks_like(&bytes);
    }
}
