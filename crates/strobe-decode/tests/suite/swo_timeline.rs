//! Times of events, from streams written by an independent encoder.

use proptest::prelude::*;
use strobe_decode::swo::packet::{Packet, Relation};
use strobe_decode::swo::reader::{Framing, Hint, Reader, framing};
use strobe_decode::swo::timeline::{Event, EventKind, Time};
use strobe_synth::Rng;
use strobe_synth::swo::{Stream, etm, frames, mixed};

fn read(bytes: &[u8], framing: Framing) -> (Vec<Event>, Reader) {
    read_pieces([bytes], framing)
}

fn read_pieces<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    framing: Framing,
) -> (Vec<Event>, Reader) {
    let (mut reader, mut all) = (Reader::new(framing), Vec::new());
    let mut keep = |event| all.push(event);
    pieces.into_iter().for_each(|piece| reader.push(piece, &mut keep));
    reader.finish(&mut keep);
    let times = reader.times();
    let timed = times.exact + times.between + times.unsure + times.untimed + times.local;
    assert_eq!(timed, all.len() as u64, "{times:?}");
    (all, reader)
}

/// Times of the PC samples, keyed by address.
fn samples(stream: &Stream) -> Vec<(u32, Time)> {
    let (events, _) = read(&stream.bytes, Framing::Bare);
    let sample = |event: &Event| match event.what {
        EventKind::Packet(Packet::PcSample(pc)) => Some((pc, event.time)),
        _ => None,
    };
    events.iter().filter_map(sample).collect()
}

#[test]
fn last_packet_has_the_timestamp_and_earlier_a_span() {
    let mut stream = Stream::new();
    stream.pc_sample(1).local_timestamp(100, 0);
    stream.pc_sample(2).pc_sample(3).local_timestamp(5, 0);
    stream.pc_sample(4).local_timestamp(50, 1).pc_sample(5).local_timestamp(50, 2);
    stream.pc_sample(6);
    let time = |earliest, latest: u64, relation| Time {
        earliest,
        latest: (latest > 0).then_some(latest),
        relation,
        sure: true,
    };
    assert_eq!(
        samples(&stream),
        [
            (1, time(100, 100, Some(Relation::Synchronous))),
            (2, time(100, 105, None)),
            (3, time(105, 105, Some(Relation::Synchronous))),
            (4, time(105, 155, Some(Relation::TimestampDelayed))),
            (5, time(155, 205, Some(Relation::EventDelayed))),
            (6, time(205, 0, None)),
        ]
    );
}

#[test]
fn behind_a_loss_times_are_not_sure() {
    let mut stream = Stream::new();
    stream.pc_sample(1).local_timestamp(10, 0).overflow();
    stream.pc_sample(2).local_timestamp(10, 0);
    let sure: Vec<bool> = samples(&stream).iter().map(|(_, time)| time.sure).collect();
    assert_eq!(sure, [true, false]);
}

#[test]
fn a_global_timestamp_restores_lost_ticks() {
    // The global clock runs at four times the local one's rate.
    let mut stream = Stream::new();
    let mut global = 1000u64;
    stream.global_timestamp1(global as u32, false, false).local_timestamp(1, 0);
    for pc in 0..100 {
        stream.pc_sample(pc).local_timestamp(1000, 0);
        global += 4000;
        stream.global_timestamp1(global as u32 & 0x3ff_ffff, false, false).local_timestamp(1, 0);
        global += 4;
    }
    // Five thousand ticks are lost.
    stream.overflow().pc_sample(500).local_timestamp(1000, 0);
    global += 4 * 6000;
    stream.global_timestamp1(global as u32 & 0x3ff_ffff, false, false).local_timestamp(1, 0);
    stream.pc_sample(501).local_timestamp(1000, 0);
    let all = samples(&stream);
    let last = all.last().expect("a sample").1;
    let truth = 100 * 1001 + 1 + 6000 + 1000;
    assert!(last.sure, "{last:?}");
    assert!(last.likely().abs_diff(truth) <= 2, "{last:?} {truth}");
    assert!(!all[100].1.sure);
    let (_, reader) = read(&stream.bytes, Framing::Bare);
    assert_eq!(reader.times().bridged, 1);
}

/// Global values are as old as the local timestamp before them, at most: before the loss they were
/// that old and behind it they were not, so that more time seems to have passed.
#[test]
fn restored_ticks_are_no_more_than_were_lost() {
    for lost in [0, 5000, 700_000] {
        for slower in [1, 4, 16] {
            let (mut stream, mut now) = (Stream::new(), 0u32);
            let value = |at: u32| (at / slower) & 0x3ff_ffff;
            for pc in 0..3000 {
                let taken = if pc < 2000 { now } else { now + 1000 };
                now += 1000;
                stream.pc_sample(pc);
                if pc % 10 == 0 {
                    stream.global_timestamp1(value(taken), false, false);
                }
                stream.local_timestamp(1000, 0);
                if pc == 1999 {
                    now += lost;
                    stream.overflow();
                }
            }
            let (_, reader) = read(&stream.bytes, Framing::Bare);
            assert_eq!(reader.times().bridged, 1);
            let last = samples(&stream).last().expect("a sample").1;
            let (seen, truth) = (last.likely(), u64::from(now));
            assert!(seen <= truth, "{seen} of {truth}");
            assert!(truth - seen <= 5000 + truth / 500, "{seen} of {truth}");
        }
    }
}

#[test]
fn a_changed_clock_bridges_nothing() {
    let mut stream = Stream::new();
    for n in 0..2000u32 {
        stream.pc_sample(n).global_timestamp1(4000 * n, false, false).local_timestamp(1000, 0);
    }
    stream.global_timestamp1(1, false, true).local_timestamp(1, 0).overflow();
    stream.global_timestamp1(9000, false, false).pc_sample(1).local_timestamp(1, 0);
    let (_, reader) = read(&stream.bytes, Framing::Bare);
    assert_eq!(reader.times().bridged, 0);
}

#[test]
fn without_timestamps_nothing_is_held_for_long() {
    let mut stream = Stream::new();
    (0..10_000).for_each(|pc| {
        stream.pc_sample(pc);
    });
    let (mut reader, mut seen) = (Reader::new(Framing::Bare), 0);
    reader.push(&stream.bytes, &mut |_| seen += 1);
    assert!(seen > 9_900, "{seen}");
}

#[test]
fn frames_are_distinguished_from_packets() {
    let stream = mixed(20_000, 7).bytes;
    assert_eq!(framing(&stream, Hint::Unknown), Framing::Bare);
    let framed = frames(&[(1, stream.clone())], 64);
    let marked = Framing::Frames { stream: 1, skip: None };
    assert_eq!(framing(&framed, Hint::Unknown), marked);
    // Remove the first synchronisation; all others are too far away.
    let parts = stream.chunks(61).flat_map(|part| [(1, part.to_vec()), (2, vec![7])]);
    let unmarked = frames(&parts.collect::<Vec<_>>(), usize::MAX);
    for cut in [4, 5, 19] {
        let skip = Some((20 - cut as u8) % 16);
        let found = framing(&unmarked[cut..], Hint::Unknown);
        assert_eq!(found, Framing::Frames { stream: 1, skip });
    }
    let hint = Hint::Frames(Some(1));
    assert_eq!(framing(&framed, hint), marked);
    let (bare, _) = read(&stream, Framing::Bare);
    let (unpacked, reader) = read(&framed, marked);
    assert_eq!(reader.stream(), Some(1));
    let what = |events: &[Event]| events.iter().map(|event| event.what).collect::<Vec<_>>();
    assert_eq!(what(&bare), what(&unpacked));
}

/// Of a source that changes its number, frames that begin elsewhere than at a synchronisation would
/// have nearly all in the second stream, where what they take for a number is that one by chance.
#[test]
fn frames_begin_where_a_synchronisation_is() {
    let stream = mixed(4000, 3).bytes;
    let (first, second) = stream.split_at(stream.len() / 2);
    for number in 2..0x70 {
        let framed = frames(&[(1, first.to_vec()), (number, second.to_vec())], 50);
        let found = framing(&framed, Hint::Unknown);
        let Framing::Frames { stream, skip: None } = found else { panic!("{number}: {found:?}") };
        let (_, reader) = read(&framed, found);
        let others: Vec<u8> = reader.other_packet_streams().collect();
        assert_eq!(others, [if stream == 1 { number } else { 1 }]);
    }
}

/// Many sources beside each other have a small part of the bytes each, and frames are seen all the
/// same.
#[test]
fn frames_of_many_sources_are_seen() {
    let sources: Vec<Vec<u8>> = (0..6).map(|n| mixed(1500, n).bytes).collect();
    let parts = (0..60).flat_map(|part| {
        let piece = move |(number, bytes): (u8, &Vec<u8>)| {
            let length = bytes.len() / 60;
            (number, bytes[part * length..][..length].to_vec())
        };
        (1u8..).zip(&sources).map(piece)
    });
    let framed = frames(&parts.collect::<Vec<_>>(), 50);
    let found = framing(&framed, Hint::Unknown);
    assert!(matches!(found, Framing::Frames { skip: None, .. }), "{found:?}");
    let (_, reader) = read(&framed, found);
    assert_eq!(reader.other_packet_streams().count(), 5);
}

/// Of a source whose number comes once, each wrong bit may spoil all up to the next
/// synchronisation.
#[test]
fn frames_with_wrong_bits_are_seen_by_their_synchronisations() {
    let framed = frames(&[(1, mixed(8000, 2).bytes)], 50);
    for seed in 0..8 {
        let mut rng = Rng::new(seed);
        let mut bytes = framed.clone();
        for byte in &mut bytes[20..] {
            *byte ^= u8::from(rng.below(200) == 0) << rng.below(8);
        }
        let found = framing(&bytes, Hint::Unknown);
        assert!(matches!(found, Framing::Frames { skip: None, .. }), "{seed}: {found:?}");
    }
}

/// Where most of the bytes are instruction trace, frames read as bare packets make more sense than
/// the few packets alone.
#[test]
fn a_few_packets_beside_much_instruction_trace_are_found() {
    let (packets, trace) = (mixed(2500, 4).bytes, etm(30_000, 4));
    let both = packets.chunks(20).zip(trace.chunks(120));
    let parts = both.flat_map(|(packets, trace)| [(1, packets.to_vec()), (2, trace.to_vec())]);
    let framed = frames(&parts.collect::<Vec<_>>(), 50);
    let found = framing(&framed, Hint::Unknown);
    assert_eq!(found, Framing::Frames { stream: 1, skip: None });
}

proptest! {
    /// The same events however the bytes are split, and times that never go backwards.
    #[test]
    fn chunks_do_not_matter(seed: u64, cut in 1usize..40, noise in 0usize..30) {
        let mut rng = Rng::new(seed);
        let mut bytes = mixed(2_000, seed).bytes;
        for _ in 0..noise {
            let at = rng.below(bytes.len() as u32) as usize;
            bytes[at] ^= 1 << rng.below(8);
        }
        let (whole, _) = read(&bytes, Framing::Bare);
        let (cut, _) = read_pieces(bytes.chunks(cut), Framing::Bare);
        prop_assert_eq!(&whole, &cut);
        prop_assert!(whole.is_sorted_by_key(|event| event.at));
        prop_assert!(whole.is_sorted_by_key(|event| event.time.likely()));
        for Event { time, .. } in whole {
            prop_assert!(time.latest.is_none_or(|latest| latest >= time.earliest));
        }
    }
}
