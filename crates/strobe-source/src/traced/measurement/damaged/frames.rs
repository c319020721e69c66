//! Frames with wrong bits: of one source, and of one beside instruction trace.

use strobe_decode::swo::reader::{Framing, Hint, framing};
use strobe_model::measurement::Trust;
use strobe_synth::rng::Rng;
use strobe_synth::swo::{etm, frames, frames_with_repeats};

use super::{Truth, flipped, is_honest, measured, sent};

/// Frames of one source, and of one beside instruction trace.
fn framed(truth: &Truth, seed: u64) -> [Vec<u8>; 3] {
    let mut rng = Rng::new(seed);
    let trace = etm(4000, seed);
    let mut trace = trace.chunks(11);
    let mut parts = Vec::new();
    let mut rest = truth.bytes.as_slice();
    while !rest.is_empty() {
        let (part, more) = rest.split_at(rest.len().min(1 + rng.below(60) as usize));
        parts.push((1, part.to_vec()));
        parts.extend(trace.next().map(|part| (2, part.to_vec())));
        rest = more;
    }
    let one = [(1, truth.bytes.clone())];
    [frames(&one, 50), frames_with_repeats(&one, 50), frames(&parts, 50)]
}

#[test]
fn sound_frames_are_exact() {
    for seed in 0..4 {
        let truth = sent(3000, seed);
        for framed in framed(&truth, seed) {
            let out = measured(&framed, framing(&framed, Hint::Unknown));
            is_honest(&out, &truth);
            let lost = out.coverage.lost.as_ref().expect("samples can be lost");
            assert_eq!((lost.trust(), lost.value()), (&Trust::Exact, Some(0u64.into())));
            assert!(!out.findings.iter().any(|finding| finding.code == "damaged"));
        }
    }
}

#[test]
fn wrong_bits_in_frames_make_nothing_up() {
    for seed in 0..24 {
        let truth = sent(8000, seed);
        for framed in framed(&truth, seed) {
            for millionths in [100, 1000] {
                let bytes = flipped(&framed, millionths, seed);
                is_honest(&measured(&bytes, Framing::Frames { stream: 1, skip: None }), &truth);
                is_honest(&measured(&bytes, framing(&bytes, Hint::Unknown)), &truth);
            }
        }
    }
}

/// One wrong bit in the flag that makes a byte the number of a stream, or in such a number: what
/// follows is another stream's, and no figure hides it.
#[test]
fn a_wrong_stream_number_is_no_exact_total() {
    let truth = sent(600, 6);
    for framed in framed(&truth, 6) {
        // Bytes of frames, without the synchronisations of four bytes before each 50 of them.
        let place = |frame: usize, byte: usize| 4 * (frame / 50 + 1) + 16 * frame + byte;
        let frames = (framed.len() - 4) / 16 * 50 / 51;
        for frame in 0..frames {
            for byte in [2, 6, 14] {
                let mut bytes = framed.clone();
                let at = place(frame, byte);
                // Padding may begin with a frame's last number, without a byte behind it: there
                // a byte that is missing looks like one that was never sent.
                if byte == 14 && framed[at] <= 1 {
                    continue;
                }
                let bit = if bytes[at] & 1 == 0 { 0 } else { 1 + frame % 7 };
                bytes[at] ^= 1 << bit;
                // Number 0 before a byte of 0 is padding: two bytes less, and no sign of them.
                if bytes[at] == 1 && bytes[at + 1] == 0 {
                    continue;
                }
                is_honest(&measured(&bytes, Framing::Frames { stream: 1, skip: None }), &truth);
            }
        }
    }
}

/// Where the other source has ended, a wrong number makes a stream of the rest, which may be the
/// longest one there is.
#[test]
fn rest_of_a_stream_is_not_the_whole() {
    let truth = sent(2400, 3);
    let [_, _, framed] = framed(&truth, 3);
    let frames = (framed.len() - 4) / 16 * 50 / 51;
    let mut others = 0;
    for frame in (frames / 2..frames - 50).step_by(37) {
        let at = 4 * (frame / 50 + 1) + 16 * frame + 6;
        if framed[at] & 1 == 1 {
            continue;
        }
        let mut bytes = framed.clone();
        bytes[at] ^= 1;
        let found = framing(&bytes, Hint::Unknown);
        others += u32::from(!matches!(found, Framing::Frames { stream: 1, .. }));
        is_honest(&measured(&bytes, found), &truth);
    }
    assert!(others > 0);
}
