//! Orbuculum's frames ("orbflow"): several streams on one connection, each frame tagged with its
//! stream number.
//!
//! A frame is a tag, data, and a byte that makes the sum of all 0. Consistent overhead byte
//! stuffing removes the zeros from it, and a zero ends it. The format is defined by its one
//! implementation (`Src/oflow.c`, `Src/cobs.c` of orbuculum); files begin with a signature. A frame
//! with a wrong sum is dropped as a whole, because the wrong byte is unknown.
//!
//! Accepts pieces of any size and needs the memory of one frame. It does not interpret the streams.

/// The default tag of the ITM's stream.
pub const ITM: u8 = 1;
/// The signature of files.
pub const SIGNATURE: &[u8; 16] = b"%%ORBFLOW1.0.0%%";
/// Maximum size of an encoded frame; orbuculum's have half of it.
pub const LONGEST: usize = 1 << 13;
/// Consecutive frames needed to recognise the format: by chance one in 65536 pairs is sound.
const SURE: usize = 2;
/// The same behind the rest of a frame, which shows nothing by itself, or behind a zero: what has
/// been listened to in the middle. They must have data: bytes that a firmware sends again and again
/// may look like empty ones.
const SURE_BEHIND: usize = 4;

/// Receives what the decoder finds.
pub trait Sink {
    /// The data of a frame.
    fn frame(&mut self, tag: u8, data: &[u8]);
    /// So many bytes are no frame: data may be missing here in any of the streams.
    fn damaged(&mut self, bytes: u64);
}

/// Statistics. After [`Decoder::finish`] all bytes are in data, overhead or damage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// All bytes.
    pub bytes: u64,
    /// Frames with a correct sum.
    pub frames: u64,
    /// Bytes of data in them.
    pub data_bytes: u64,
    /// Bytes of tags, sums, stuffing, zeros and a signature.
    pub overhead_bytes: u64,
    /// Byte runs that end as a frame does and are none.
    pub damaged_frames: u64,
    /// Bytes of them.
    pub damaged_bytes: u64,
}

/// Splits a connection into frames.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    /// The encoded bytes of the current frame, up to the maximum.
    frame: Vec<u8>,
    /// Their number, those beyond the maximum included.
    length: u64,
    stats: Stats,
}

impl Decoder {
    /// A decoder at the beginning of a stream.
    pub fn new() -> Self {
        Decoder::default()
    }

    /// Statistics so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Decodes the next bytes.
    pub fn push(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        self.stats.bytes += bytes.len() as u64;
        for piece in bytes.split_inclusive(|byte| *byte == 0) {
            let (data, ends) = match piece.split_last() {
                Some((0, data)) => (data, true),
                _ => (piece, false),
            };
            self.length += piece.len() as u64;
            self.frame.extend(&data[..data.len().min(LONGEST + 1 - self.frame.len())]);
            if ends {
                self.end(sink);
            }
        }
    }

    /// A gap: the current frame is incomplete.
    pub fn gap(&mut self, sink: &mut impl Sink) {
        if self.length > 0 {
            self.damaged(sink);
        }
    }

    /// The end of the stream.
    pub fn finish(&mut self, sink: &mut impl Sink) {
        self.gap(sink);
    }

    fn end(&mut self, sink: &mut impl Sink) {
        if self.nothing_before() && self.frame.starts_with(SIGNATURE) {
            self.frame.drain(..SIGNATURE.len());
        }
        if self.frame.is_empty() {
            // Consecutive zeros.
            self.stats.overhead_bytes += std::mem::take(&mut self.length);
            return;
        }
        let Some(plain) = plain(&mut self.frame) else { return self.damaged(sink) };
        let [tag, data @ .., _] = plain else { return self.damaged(sink) };
        self.stats.frames += 1;
        self.stats.data_bytes += data.len() as u64;
        self.stats.overhead_bytes += self.length - data.len() as u64;
        sink.frame(*tag, data);
        self.frame.clear();
        self.length = 0;
    }

    fn nothing_before(&self) -> bool {
        let Stats { overhead_bytes, damaged_bytes, frames, .. } = self.stats;
        overhead_bytes + damaged_bytes + frames == 0
    }

    fn damaged(&mut self, sink: &mut impl Sink) {
        self.frame.clear();
        let bytes = std::mem::take(&mut self.length);
        self.stats.damaged_frames += 1;
        self.stats.damaged_bytes += bytes;
        sink.damaged(bytes);
    }
}

/// A frame's tag, data and sum, if it is one; `None` otherwise.
fn plain(frame: &mut [u8]) -> Option<&[u8]> {
    if frame.len() > LONGEST {
        return None;
    }
    let length = cobs::decode_in_place(frame).ok()?;
    let plain = &frame[..length];
    let sum = plain.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    (length >= 2 && sum == 0).then_some(plain)
}

/// Whether a stream that begins with these bytes consists of frames; `None` if more bytes are
/// needed to decide. It may begin in the middle of a frame, or with the zero that ended one.
pub fn looks_like(bytes: &[u8]) -> Option<bool> {
    if bytes.starts_with(SIGNATURE) {
        return Some(true);
    }
    let ended = bytes.split_inclusive(|byte| *byte == 0).filter(|piece| piece.ends_with(&[0]));
    let mut ended = ended.map(|piece| data_of(&piece[..piece.len() - 1]));
    let (mut sound, needed, least) = match ended.next() {
        Some(None) => (0, SURE_BEHIND, 1),
        first => (usize::from(first.is_some()), SURE, 0),
    };
    for data in ended {
        if data.is_none_or(|data| data < least) {
            return Some(false);
        }
        sound += 1;
        if sound == needed {
            return Some(true);
        }
    }
    // Too long for so many frames.
    (bytes.len() > (needed + least) * LONGEST).then_some(false)
}

/// How much data a frame has, if it is one.
fn data_of(piece: &[u8]) -> Option<usize> {
    let mut frame = piece.to_vec();
    plain(&mut frame).map(|plain| plain.len() - 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_bytes_are_no_frames() {
        assert_eq!(looks_like(&[0, 0, 0, 0, 0, 0x80, 0x17, 1, 2]), Some(false));
        assert_eq!(looks_like(b"\x01H\x01e\x01l\x01l\x01o"), None);
        assert_eq!(looks_like(&strobe_synth::swo::mixed(2000, 1).bytes), Some(false));
        assert_eq!(looks_like(&[1; 2 * LONGEST + 1]), Some(false));
    }

    /// Two frames as orbuculum sends them, byte by byte: tag 1, data 0x70 and data 0.
    #[test]
    fn frames_as_bytes() {
        let bytes = [4, 1, 0x70, 0x8f, 0, 2, 1, 2, 0xff, 0];
        assert_eq!(looks_like(&bytes), Some(true));
        assert_eq!(looks_like(&bytes[..9]), None);
        let mut damaged = bytes;
        damaged[7] ^= 4;
        assert_eq!(looks_like(&damaged), Some(false));
    }

    /// From the middle of a frame, or from its end on: four frames behind it decide.
    #[test]
    fn a_stream_may_begin_in_the_middle() {
        let stream = strobe_synth::swo::mixed(2000, 3).bytes;
        let frames = strobe_synth::orbflow::frames(1, &stream, 90);
        let first = frames.iter().position(|byte| *byte == 0).expect("an end");
        for from in 1..=first {
            assert_eq!(looks_like(&frames[from..]), Some(true), "{from}");
        }
        let mut ends = (first..frames.len()).filter(|at| frames[*at] == 0);
        let few = ends.nth(SURE_BEHIND - 1).expect("more frames");
        assert_eq!(looks_like(&frames[first..=few]), None);
        // A word that a firmware sends again and again, and its parts are empty frames.
        let empty: Vec<u8> = [3, 1, 0xff, 0, 0].repeat(100);
        assert_eq!(looks_like(&[&[0x55, 0], &empty[..]].concat()), Some(false));
    }
}
