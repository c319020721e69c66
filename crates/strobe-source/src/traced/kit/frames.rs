//! Frames of bytes as records with their times.

use crate::traced::totals::{PacketKind, StreamTotals, TimeBase};
use strobe_decode::kit::{Decoder, Event, FRAME_BYTES};

use super::super::Settings;
use super::super::span::Span;
use super::reader::{Numbers, Record};

/// Reads records of bytes.
#[derive(Debug, Clone, Default)]
pub struct Frames {
    decoder: Decoder,
    clock: Clock,
    numbers: Numbers,
}

/// The target's clock of 32 bits as one that never wraps. Between two records must be less than a
/// turn of it: how many there were nobody knows.
#[derive(Debug, Clone, Copy, Default)]
struct Clock {
    /// What it showed last, and the time that was.
    last: Option<(u32, u64)>,
}

impl Clock {
    fn at(&mut self, shows: u32, restarted: bool) -> u64 {
        let time = match self.last {
            // It may have begun anew as well: how long that took is not known.
            Some((_, time)) if restarted => time,
            Some((last, time)) => time + u64::from(shows.wrapping_sub(last)),
            None => 0,
        };
        self.last = Some((shows, time));
        time
    }
}

impl Frames {
    /// More bytes; gives their records, each with the time when it was made.
    pub fn push(&mut self, bytes: &[u8], sink: &mut impl FnMut(Record, Span)) {
        let Frames { decoder, clock, numbers } = self;
        // Where something is broken, the next record's number shows how many are missing.
        decoder.push(bytes, &mut |event| {
            let Event::Frame(frame) = event else { return };
            if let Some(record) = numbers.take(frame.head, frame.values) {
                let now = clock.at(frame.time, record.restarted);
                sink(record, (now, now));
            }
        });
    }

    /// Bytes are missing here.
    pub fn gap(&mut self) {
        self.decoder.gap(&mut |_| {});
    }

    /// No more will come.
    pub fn finish(&mut self) {
        self.decoder.finish(&mut |_| {});
    }

    /// What became of the bytes, and how well records could be timed.
    pub fn totals(&self, settings: &Settings) -> (StreamTotals, TimeBase) {
        let stats = self.decoder.stats();
        let short = stats.frames - stats.with_values;
        let short_bytes = short * FRAME_BYTES as u64;
        let kind =
            |name: &str, packets, bytes| PacketKind { name: name.to_owned(), packets, bytes };
        let kinds = [
            kind("record with a value", stats.with_values, stats.frame_bytes - short_bytes),
            kind("record", short, short_bytes),
        ];
        let stream = StreamTotals {
            bytes: stats.bytes,
            packets: stats.frames,
            packet_bytes: stats.frame_bytes,
            padding_bytes: stats.padding_bytes,
            undecodable_bytes: stats.undecodable_bytes,
            disruptions: stats.disruptions,
            kinds: kinds.into_iter().filter(|kind| kind.packets > 0).collect(),
            ..StreamTotals::default()
        };
        // A clock that stands still gives no time.
        let timed = if self.ticks() > 0 { stats.frames } else { 0 };
        let times = TimeBase {
            local: timed,
            exact: timed,
            untimed: stats.frames - timed,
            ticks: self.ticks(),
            tick_cycles: settings.tick_cycles,
            core_hz: settings.core_hz,
            ..TimeBase::default()
        };
        (stream, times)
    }

    /// Whole frames that are no records.
    pub fn unusable(&self) -> u64 {
        self.numbers.unusable
    }

    /// Whether many records came and no time passed.
    pub fn clock_stands_still(&self) -> bool {
        self.decoder.stats().frames > 9 && self.ticks() == 0
    }

    /// Ticks from the first record to the last.
    fn ticks(&self) -> u64 {
        self.clock.last.map_or(0, |(_, time)| time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_synth::kit::{frame, head};

    fn times(records: &[(u16, u32)]) -> Vec<u64> {
        let (mut frames, mut times) = (Frames::default(), Vec::new());
        for (number, time) in records {
            frames.push(&frame(&[head(1, 1, *number), *time]), &mut |_, now| times.push(now.0));
        }
        times
    }

    #[test]
    fn the_clock_goes_round() {
        assert_eq!(times(&[(0, 0xffff_fff0), (1, 0x10), (2, 0x0f)]), [0, 0x20, 0x1_0000_001f]);
    }

    #[test]
    fn a_target_that_began_anew_takes_no_time() {
        assert_eq!(times(&[(7, 1000), (8, 1500), (0, 20), (1, 30)]), [0, 500, 500, 510]);
    }

    #[test]
    fn damaged_data_is_lost() {
        let (mut frames, mut records) = (Frames::default(), Vec::new());
        let mut bytes = frame(&[head(5, 6, 0), 100, (-2_i32).cast_unsigned()]);
        bytes.extend([0x81, 0x02]);
        bytes.extend(frame(&[head(1, 1, 2), 120]));
        frames.push(&bytes, &mut |record, now| records.push((record.lost, now)));
        frames.finish();
        assert_eq!(records, [(0, (0, 0)), (1, (20, 20))]);
        let (stream, times) = frames.totals(&Settings::default());
        assert_eq!((stream.packets, stream.packet_bytes, stream.undecodable_bytes), (2, 27, 2));
        assert_eq!((times.ticks, times.exact, frames.unusable()), (20, 2, 0));
    }
}
