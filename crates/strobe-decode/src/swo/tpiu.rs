//! Unpacks the frames of the trace port's formatter, which multiplex up to 111 streams (CoreSight
//! architecture IHI 0029, D4).
//!
//! A frame is sixteen bytes: the even ones have a stream number or data, the odd ones data, the
//! last one the lowest bits of the even ones. Synchronisations separate frames, and half
//! synchronisations fill idle time. Frames can only be located after the first full
//! synchronisation; bytes before it, and those of frames cut short by another one, are counted.

use super::marks::Marks;

/// Receives the bytes of streams.
pub trait Sink {
    /// Bytes of a stream; `at` is the offset of their frame.
    fn bytes(&mut self, stream: u8, at: u64, bytes: &[u8]);
    /// Bytes that belong to no frame.
    fn undecodable(&mut self, at: u64, bytes: u64);
}

/// Size of a frame.
const FRAME: usize = 16;

/// So many synchronisations at the ends of frames, and so many times those that are elsewhere, are
/// no chance: it is one in sixteen.
const REGULAR: u64 = 4;

/// The last byte of a synchronisation, full (after three times 0xff) or half (after one).
const SYNC_END: u8 = 0x7f;

/// Statistics of the decoder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// All bytes.
    pub bytes: u64,
    /// Complete frames.
    pub frames: u64,
    /// Bytes of synchronisations, full and half.
    pub sync_bytes: u64,
    /// Bytes of streams.
    pub data_bytes: u64,
    /// Bytes of stream 0, which is padding.
    pub null_bytes: u64,
    /// Bytes of no frame.
    pub undecodable_bytes: u64,
    /// Frames with a reserved stream number, a sign of wrong framing.
    pub reserved_streams: u64,
}

/// A push decoder.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    frame: [u8; FRAME],
    count: usize,
    /// Number of 0xff bytes right before, as far as they may belong to a synchronisation.
    ones: u8,
    synchronised: bool,
    /// Bytes to skip before the first frame.
    skip: u8,
    stream: u8,
    marks: Marks,
    /// How often the framing was lost.
    slips: u64,
    /// Whether the first synchronisation was in the midst of a frame, once there was one.
    is_misaligned: Option<bool>,
    /// Frames up to the last synchronisation, and synchronisations where frames had ended.
    frames_before: u64,
    fits: u64,
    stats: Stats,
}

impl Decoder {
    /// A decoder that waits for the first synchronisation.
    pub fn new() -> Self {
        Decoder::default()
    }

    /// A decoder whose first frame begins after `skip` bytes, for streams with few
    /// synchronisations.
    pub fn aligned(skip: u8) -> Self {
        Decoder { skip, synchronised: skip == 0, ..Decoder::default() }
    }

    /// Statistics so far. Bytes of an incomplete frame are in `bytes` only.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Places where the framing was lost, or where a stream's number must be wrong or is missing:
    /// `own` is the stream that is read, and `is_known` is true of others that somebody recognised.
    /// Bytes went to the wrong stream there, or to none.
    pub fn wrong_places(&self, own: u8, is_known: impl Fn(u8) -> bool) -> u64 {
        self.slips + self.marks.wrong(own, self.stats.frames, is_known)
    }

    /// Whether the first synchronisation contradicts where frames were taken to begin.
    pub fn is_misaligned(&self) -> bool {
        self.is_misaligned == Some(true)
    }

    /// Whether synchronisations are where frames end, time and again.
    pub fn is_regular(&self) -> bool {
        self.fits >= REGULAR && self.fits > REGULAR * self.slips
    }

    /// Decodes the next bytes of the trace port.
    pub fn push<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) {
        bytes.iter().for_each(|&byte| self.one(byte, sink));
    }

    /// The end of the trace: held bytes are no frame.
    pub fn finish<S: Sink>(&mut self, sink: &mut S) {
        let left =
            std::mem::take(&mut self.count) as u64 + u64::from(std::mem::take(&mut self.ones));
        self.lose(left, sink);
    }

    /// A gap: held bytes are no frame, and the next frame is found by a synchronisation.
    pub fn gap<S: Sink>(&mut self, sink: &mut S) {
        self.marks.gap();
        self.finish(sink);
        self.synchronised = false;
    }

    fn one<S: Sink>(&mut self, byte: u8, sink: &mut S) {
        self.stats.bytes += 1;
        if self.skip > 0 {
            self.skip -= 1;
            self.synchronised = self.skip == 0;
            return self.lose(1, sink);
        }
        // A half synchronisation may only be at an even offset, where no frame has 0xff: that would
        // be stream 127.
        if byte == 0xff && (self.ones > 0 || !self.synchronised || self.count.is_multiple_of(2)) {
            self.ones += 1;
            if self.ones > 3 {
                self.ones = 3;
                self.lose(1, sink);
            }
            return;
        }
        match (std::mem::take(&mut self.ones), byte) {
            (0, _) => self.next(byte, sink),
            (3, SYNC_END) => self.synchronise(sink),
            (1, SYNC_END) if self.synchronised => self.stats.sync_bytes += 2,
            (ones, _) => {
                self.out_of_step(u64::from(ones), sink);
                self.next(byte, sink);
            }
        }
    }

    /// A full synchronisation: a frame begins.
    fn synchronise<S: Sink>(&mut self, sink: &mut S) {
        self.stats.sync_bytes += 4;
        let cut_short = std::mem::take(&mut self.count) as u64;
        self.is_misaligned.get_or_insert(cut_short > 0);
        let before = std::mem::replace(&mut self.frames_before, self.stats.frames);
        self.fits += u64::from(self.synchronised && cut_short == 0 && self.stats.frames > before);
        if cut_short > 0 {
            self.slips += 1;
            self.stats.undecodable_bytes += cut_short;
            sink.undecodable(self.stats.bytes - 4 - cut_short, cut_short);
        }
        self.synchronised = true;
    }

    /// The framing was wrong: search for the next synchronisation.
    fn out_of_step<S: Sink>(&mut self, ones: u64, sink: &mut S) {
        self.stats.bytes -= 1;
        let left = ones + std::mem::take(&mut self.count) as u64;
        self.lose(left, sink);
        self.stats.bytes += 1;
        // Before the first synchronisation there is nothing to lose.
        self.slips += u64::from(std::mem::take(&mut self.synchronised));
        self.marks.gap();
    }

    /// `bytes` bytes, up to the last, belong to no frame.
    fn lose<S: Sink>(&mut self, bytes: u64, sink: &mut S) {
        if bytes > 0 {
            self.stats.undecodable_bytes += bytes;
            sink.undecodable(self.stats.bytes - bytes, bytes);
        }
    }

    fn next<S: Sink>(&mut self, byte: u8, sink: &mut S) {
        if !self.synchronised {
            return self.lose(1, sink);
        }
        self.frame[self.count] = byte;
        self.count += 1;
        if self.count == FRAME {
            self.count = 0;
            self.frame(sink);
        }
    }

    /// A complete frame: emits the bytes of its streams.
    fn frame<S: Sink>(&mut self, sink: &mut S) {
        self.stats.frames += 1;
        let at = self.stats.bytes - FRAME as u64;
        let low_bits = self.frame[FRAME - 1];
        let mut data = [0; FRAME];
        let mut count = 0;
        for pair in 0..FRAME / 2 {
            let (even, low) = (self.frame[2 * pair], low_bits >> pair & 1);
            let odd = (pair < FRAME / 2 - 1).then(|| self.frame[2 * pair + 1]);
            if even & 1 == 0 {
                data[count] = even | low;
                count += 1;
                if let Some(odd) = odd {
                    data[count] = odd;
                    count += 1;
                }
                continue;
            }
            // A stream change. If the low bit is set, the byte beside it still belongs to the old
            // stream.
            if let (Some(odd), 1) = (odd, low) {
                data[count] = odd;
                count += 1;
            }
            self.hand_on(at, &data[..count], sink);
            count = 0;
            let before = std::mem::replace(&mut self.stream, even >> 1);
            self.marks.number(before, self.stream, self.stats.frames);
            self.stats.reserved_streams += u64::from((0x70..=0x7a).contains(&self.stream));
            if let (Some(odd), 0) = (odd, low) {
                data[count] = odd;
                count += 1;
            }
        }
        self.hand_on(at, &data[..count], sink);
    }

    fn hand_on<S: Sink>(&mut self, at: u64, bytes: &[u8], sink: &mut S) {
        self.stats.data_bytes += bytes.len() as u64;
        self.marks.data(self.stream, bytes);
        if self.stream == 0 {
            self.stats.null_bytes += bytes.len() as u64;
        } else if !bytes.is_empty() {
            sink.bytes(self.stream, at, bytes);
        }
    }
}
