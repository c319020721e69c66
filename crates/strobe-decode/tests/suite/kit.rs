//! Frames of the kit written by an independent encoder, whole, in pieces and damaged.

use proptest::prelude::*;
use strobe_decode::kit::{Decoder, Event, Frame, Stats, Values, is_likely};
use strobe_synth::kit::{frame, head};

/// All events in the pieces; the statistics must balance.
fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Event>, Stats) {
    let (mut decoder, mut events) = (Decoder::new(), Vec::new());
    let mut take = |event| events.push(event);
    pieces.into_iter().for_each(|piece| decoder.push(piece, &mut take));
    decoder.finish(&mut take);
    let stats = decoder.stats();
    assert_eq!(stats.frame_bytes + stats.padding_bytes + stats.undecodable_bytes, stats.bytes);
    assert_eq!(stats.frame_bytes, 11 * stats.frames + 5 * stats.values);
    let broken = events.iter().filter(|event| **event == Event::Broken).count() as u64;
    assert_eq!((stats.disruptions, stats.frames), (broken, events.len() as u64 - broken));
    (events, stats)
}

fn bytes(frames: &[Frame]) -> Vec<u8> {
    let words = |f: &Frame| [&[f.head, f.time], &f.values[..]].concat();
    frames.iter().flat_map(|f| frame(&words(f))).collect()
}

/// How many values the kinds of records have, as `strobe_trace.h` has it.
const VALUES: [(u32, usize); 14] = [
    (1, 0),
    (2, 0),
    (3, 0),
    (4, 1),
    (5, 1),
    (6, 2),
    (8, 1),
    (9, 1),
    (10, 1),
    (11, 1),
    (12, 3),
    (13, 4),
    (14, 9),
    (15, 1),
];

fn any_frame() -> impl Strategy<Value = Frame> {
    let kind = prop::sample::select(VALUES.to_vec());
    (kind, 0..4096u32, any::<u16>(), any::<u32>(), any::<[u32; 9]>()).prop_map(
        |((kind, values), id, number, time, words)| Frame {
            head: head(kind, id, number),
            time,
            values: words.into_iter().take(values).collect(),
        },
    )
}

/// The index of the frame with the byte at `at`.
fn frame_at(frames: &[Frame], at: usize) -> usize {
    (0..frames.len()).find(|n| at < bytes_of(&frames[..n + 1])).expect("a byte of a frame")
}

fn bytes_of(frames: &[Frame]) -> usize {
    bytes(frames).len()
}

/// The frames between the intact ones, all of which must be present and in order.
fn between(
    events: &[Event],
    before: &[Frame],
    after: &[Frame],
) -> Result<Vec<Frame>, TestCaseError> {
    let found = events.iter().filter_map(|event| match event {
        Event::Frame(frame) => Some(*frame),
        Event::Broken => None,
    });
    let found: Vec<Frame> = found.collect();
    prop_assert!(found.starts_with(before) && found.ends_with(after));
    prop_assert!(found.len() >= before.len() + after.len());
    Ok(found[before.len()..found.len() - after.len()].to_vec())
}

/// Whether the frames between are none, or a single frame that is also in the bytes as the encoder
/// would write it: the seven check bits of a fragment match in one of 128 cases, and no decoder can
/// detect that.
fn is_in(wrong: &[Frame], left: &[u8]) -> bool {
    match wrong {
        [] => true,
        [frame] => {
            let bytes = bytes(&[*frame]);
            left.windows(bytes.len()).any(|window| window == bytes)
        }
        _ => false,
    }
}

#[test]
fn a_frame_by_hand() {
    // 0x1002_0003 and 0x80: seven bits at a time, the lowest first.
    let mark = [0x8b, 0x03, 0x00, 0x08, 0x00, 0x01, 0x00, 0x01, 0x00, 0x00, 0x00];
    assert_eq!(frame(&[head(1, 2, 3), 0x80]), mark);
    let expected = Frame { head: 0x1002_0003, time: 0x80, values: Values::default() };
    assert_eq!(decode([&mark[..]]).0, [Event::Frame(expected)]);
}

#[test]
fn only_what_a_kit_may_send_is_a_frame() {
    for kind in 0..16 {
        for values in 0..12 {
            let words = [&[head(kind, 1, 1), 7], &[9; 12][..values]].concat();
            let bytes = frame(&words);
            let is_one = decode([&bytes[..]]).1.frame_bytes == bytes.len() as u64;
            assert_eq!(is_one, VALUES.contains(&(kind, values)), "{kind} {values}");
        }
    }
    // More than 32 bits in a word, with a matching exclusive or.
    let mut wide = frame(&[head(1, 1, 1), 7]);
    wide[10] ^= 0x10;
    wide[0] ^= 0x10;
    assert_eq!(decode([&wide[..]]).1.frames, 0);
}

#[test]
fn zeros_between_frames_are_padding() {
    let one = bytes(&[Frame { head: head(1, 1, 1), time: 5, values: Values::default() }]);
    let (events, stats) = decode([&[0; 3][..], &one, &[0; 9], &one, &[0; 2]]);
    assert_eq!((events.len(), stats.padding_bytes, stats.undecodable_bytes), (2, 14, 0));
}

#[test]
fn a_stream_of_nothing_is_not_the_kits() {
    assert!(!is_likely(&[]));
    assert!(!is_likely(&[0; 4096]));
    let mut rng = strobe_synth::Rng::new(1);
    let noise: Vec<u8> = (0..1 << 16).map(|_| rng.next_u32() as u8).collect();
    assert!(!is_likely(&noise));
    assert!(!is_likely(&strobe_synth::swo::mixed(10_000, 1).bytes));
}

proptest! {
    #[test]
    fn frames_come_out_whatever_the_pieces(
        frames in prop::collection::vec(any_frame(), 1..40), size in 1..40usize,
    ) {
        let bytes = bytes(&frames);
        let (events, stats) = decode(bytes.chunks(size));
        prop_assert_eq!(events, frames.iter().copied().map(Event::Frame).collect::<Vec<_>>());
        prop_assert_eq!(stats.undecodable_bytes + stats.padding_bytes, 0);
        prop_assert_eq!(is_likely(&bytes), frames.len() > 1);
    }

    #[test]
    fn a_changed_bit_costs_one_frame(
        frames in prop::collection::vec(any_frame(), 3..20),
        at in any::<prop::sample::Index>(),
        bit in 0..8u32,
    ) {
        let mut bytes = bytes(&frames);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let damaged = frame_at(&frames, at);
        let (before, after) = (&frames[..damaged], &frames[damaged + 1..]);
        let left = &bytes[bytes_of(before)..bytes.len() - bytes_of(after)];
        let (events, stats) = decode([&bytes[..]]);
        let wrong = between(&events, before, after)?;
        prop_assert!(is_in(&wrong, left) && !wrong.contains(&frames[damaged]));
        prop_assert!(stats.undecodable_bytes > 0);
    }

    #[test]
    fn lost_bytes_cost_the_frames_that_they_were_in(
        frames in prop::collection::vec(any_frame(), 3..20),
        from in any::<prop::sample::Index>(), length in 1..11usize,
    ) {
        let mut bytes = bytes(&frames);
        let from = from.index(bytes.len());
        let to = (from + length).min(bytes.len());
        let (first, last) = (frame_at(&frames, from), frame_at(&frames, to - 1));
        let (before, after) = (&frames[..first], &frames[last + 1..]);
        bytes.drain(from..to);
        let left = &bytes[bytes_of(before)..bytes.len() - bytes_of(after)];
        let (events, _) = decode([&bytes[..]]);
        prop_assert!(is_in(&between(&events, before, after)?, left));
    }

    #[test]
    fn anything_is_accounted_for(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        size in 1..20usize,
    ) {
        prop_assert_eq!(decode([&bytes[..]]), decode(bytes.chunks(size)));
    }
}
