//! Orbuculum's frames ("orbflow"): several streams on one connection, each frame with the number of its stream.
//!
//! A frame is a tag, data, and a byte that makes the sum of all 0; consistent overhead byte stuffing takes the zeros out of it, and a zero ends it.
//! The format is told by its one implementation (`Src/oflow.c`, `Src/cobs.c` of orbuculum); files begin with a signature. A frame with a wrong sum
//! is left out whole: which of its bytes is wrong, nobody knows.
//!
//! Takes bytes in pieces of any size, and the memory of one frame. It must not know what is in the streams.

/// The tag of what the ITM sends, unless somebody has chosen another.
pub const ITM: u8 = 1;
/// What files begin with.
pub const SIGNATURE: &[u8; 16] = b"%%ORBFLOW1.0.0%%";
/// The most bytes that a frame may have as it is sent; orbuculum's have half of it.
pub const LONGEST: usize = 1 << 13;
/// Frames in a row that make sure: by chance one in 65536 pairs is sound.
const SURE: usize = 2;

/// Takes what the decoder finds.
pub trait Sink {
    /// The data of a frame.
    fn frame(&mut self, tag: u8, data: &[u8]);
    /// So many bytes are no frame; here something is missing in any of the streams.
    fn damaged(&mut self, bytes: u64);
}

/// What has been decoded. After [`Decoder::finish`] all bytes are in data, overhead or damage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes pushed.
    pub bytes: u64,
    /// Frames whose sum is right.
    pub frames: u64,
    /// Bytes of data in them.
    pub data_bytes: u64,
    /// Tags, sums, stuffing, zeros and a signature.
    pub overhead_bytes: u64,
    /// What ended as a frame does and is none.
    pub damaged_frames: u64,
    /// Bytes of it.
    pub damaged_bytes: u64,
}

/// Takes frames apart.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    /// The frame that has begun, as it was sent, without what is too much.
    frame: Vec<u8>,
    /// Bytes of it, those included.
    length: u64,
    stats: Stats,
}

impl Decoder {
    /// One that has seen nothing.
    pub fn new() -> Self {
        Decoder::default()
    }

    /// What has been decoded so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// More bytes.
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

    /// Bytes are missing here: what has begun will not be whole.
    pub fn gap(&mut self, sink: &mut impl Sink) {
        if self.length > 0 {
            self.damaged(sink);
        }
    }

    /// No more will come.
    pub fn finish(&mut self, sink: &mut impl Sink) {
        self.gap(sink);
    }

    fn end(&mut self, sink: &mut impl Sink) {
        if self.nothing_before() && self.frame.starts_with(SIGNATURE) {
            self.frame.drain(..SIGNATURE.len());
        }
        if self.frame.is_empty() {
            // Zeros one after the other.
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

/// Whether a stream that begins like this consists of frames; `None` if more must come to tell.
pub fn looks_like(bytes: &[u8]) -> Option<bool> {
    if bytes.starts_with(SIGNATURE) {
        return Some(true);
    }
    let ended = bytes.split_inclusive(|byte| *byte == 0).filter(|piece| piece.ends_with(&[0]));
    let mut sound = 0;
    for piece in ended {
        let mut frame = piece[..piece.len() - 1].to_vec();
        if plain(&mut frame).is_none() {
            return Some(false);
        }
        sound += 1;
        if sound == SURE {
            return Some(true);
        }
    }
    // Nothing that long is a frame.
    (bytes.len() > SURE * LONGEST).then_some(false)
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
        damaged[2] ^= 4;
        assert_eq!(looks_like(&damaged), Some(false));
    }
}
