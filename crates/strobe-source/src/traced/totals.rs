//! What a trace pin carried beside samples: the stream itself, exceptions, text, counters, watched
//! variables.
//!
//! In a record that was made from samples, every figure of the profile and of the balance is a
//! number of samples; what is here has units of its own.

use strobe_decode::container::Flashed;
use strobe_model::measurement::{Loss, Spread};

use crate::defmt::message::Decoded;
use crate::traced::kit::model::Kit;

/// What a trace stream was read as.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Traced {
    /// The bytes and what became of them.
    pub stream: StreamTotals,
    /// The recording that they were in, if it was one of ours.
    pub recording: Option<Recording>,
    /// How well things could be timed.
    pub times: TimeBase,
    /// Samples of the program counter.
    pub sampling: Sampling,
    /// Exceptions, by number.
    pub exceptions: Vec<TracedException>,
    /// Threads, where a watched variable distinguishes them.
    pub threads: Vec<TracedThread>,
    /// Stimulus ports that something was written to.
    pub channels: Vec<Channel>,
    /// Event counters that wrapped.
    pub counters: Vec<EventCounter>,
    /// Comparators that matched.
    pub watched: Vec<Watched>,
    /// The parts that were measured, if not all of it: samples, exceptions, threads and event
    /// counters are those of the parts, everything else is of the whole stream.
    pub window: Option<TracedWindow>,
    /// What the kit for the target sent, if the firmware has it.
    pub kit: Option<Kit>,
    /// What was seen so seldom in a damaged stream that damage may have made it. It is in no other
    /// figure.
    pub in_doubt: Vec<InDoubt>,
}

/// Something that damage to a stream may have made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InDoubt {
    /// What, as `port 5`.
    pub what: String,
    /// Packets of it.
    pub packets: u64,
}

impl Traced {
    /// Nothing was recorded.
    pub fn is_empty(&self) -> bool {
        let framed = self.stream.frames.as_ref().map_or(0, |frames| frames.bytes);
        framed + self.stream.bytes + self.sampling.taken == 0
    }

    /// Share of the bytes that make no sense, in percent: they belong to no packet. Where the
    /// trace port's frames are lost, bytes belong to none up to the next synchronisation, which may
    /// be far; so where most are in frames, what is in these decides as well.
    pub fn nonsense_percent(&self) -> u64 {
        let share = |bad: u64, all: u64| (u128::from(bad) * 100 / u128::from(all.max(1))) as u64;
        let stream = &self.stream;
        let of_packets = share(stream.undecodable_bytes, stream.bytes);
        let Some(frames) = &stream.frames else { return of_packets };
        let outside = share(frames.undecodable_bytes, frames.bytes);
        let are_frames = outside < MOSTLY && stream.bytes > 0;
        if are_frames { outside.min(of_packets) } else { outside }
    }
}

/// From this share of bytes outside of frames on, in percent, nothing shows that there are any.
const MOSTLY: u64 = 50;

/// The parts of a stream between marks that the firmware sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TracedWindow {
    /// What begins a part; absent where the stream's beginning does.
    pub from: Option<String>,
    /// What ends one; absent where only the stream's end does.
    pub to: Option<String>,
    /// Marks that begin one.
    pub starts: u64,
    /// Marks that end one.
    pub stops: u64,
    /// Parts.
    pub parts: u64,
    /// Beginnings while one had begun, and ends while none had: another is missing, or came twice.
    pub repeated: u64,
    /// The last part has no end mark; it ends with the stream.
    pub open: bool,
    /// Times that packets or records were lost inside of parts, marks perhaps among them.
    pub losses_inside: u64,
    /// And outside of them.
    pub losses_outside: u64,
    /// Core cycles of all parts together, or ticks where a tick's cycles are not known.
    pub cycles: u64,
    /// Samples that lie in no part. They are in no other figure.
    pub samples_outside: u64,
}

/// The bytes of a stream: `bytes = packet_bytes + padding_bytes + undecodable_bytes`, behind the
/// frames if there are any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamTotals {
    /// Frames around the packets.
    pub frames: Option<FrameTotals>,
    /// Bytes that should be packets.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
    /// Bytes of packets.
    pub packet_bytes: u64,
    /// Zero bytes between packets.
    pub padding_bytes: u64,
    /// Bytes of no packet.
    pub undecodable_bytes: u64,
    /// Times that such bytes began.
    pub disruptions: u64,
    /// Packets near such bytes: they may be wrong, and are in no other figure.
    pub packets_in_doubt: u64,
    /// Places in the midst of the stream where bytes were wrong. Where there are any, single bits
    /// within the payloads of other packets may be wrong as well, which nothing shows.
    pub damage: u64,
    /// Overflow packets: each means that at least one other was lost.
    pub overflows: u64,
    /// Packets and their bytes by kind; both add up.
    pub kinds: Vec<PacketKind>,
}

/// Frames of the trace port's formatter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrameTotals {
    /// Bytes of the recording.
    pub bytes: u64,
    /// Whole frames.
    pub frames: u64,
    /// Bytes of synchronisation.
    pub sync_bytes: u64,
    /// Bytes by stream number.
    pub streams: Vec<(u8, u64)>,
    /// The stream whose packets were read.
    pub stream: Option<u8>,
    /// Bytes of no frame.
    pub undecodable_bytes: u64,
}

/// Packets of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketKind {
    /// Its name, as `PC sample`.
    pub name: String,
    /// How many.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What a recording's header states.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    /// What it was made from.
    pub source: String,
    /// Host time from the beginning to the last byte, in nanoseconds; a simulated board's own
    /// time.
    pub nanoseconds: u64,
    /// The same to the first byte, at most.
    pub first_nanoseconds: u64,
    /// What happened on the host's side: gaps, losses of the probe, missing ends; with how often.
    pub notes: Vec<(String, u64)>,
    /// The bytes came as fast as they could be read, from a file: host time is not the target's.
    pub replayed: bool,
    /// How the firmware was programmed for it, if it was. The measurement has it as facts.
    pub flashed: Option<Flashed>,
}

/// How well things could be timed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimeBase {
    /// Local timestamps.
    pub local: u64,
    /// Global timestamps.
    pub global: u64,
    /// Ticks of the local timestamp, first to last. Less than there were if something was lost.
    pub ticks: u64,
    /// Core cycles of a tick, where known.
    pub tick_cycles: Option<u32>,
    /// Core clock in hertz, where known.
    pub core_hz: Option<u32>,
    /// Packets known to the tick.
    pub exact: u64,
    /// Packets known to lie between two timestamps.
    pub between: u64,
    /// Packets behind a loss, whose times are at least what is said.
    pub unsure: u64,
    /// Packets that no timestamp follows.
    pub untimed: u64,
    /// Losses that a global timestamp gave the length of.
    pub bridged: u64,
}

impl TimeBase {
    /// Core cycles from the first to the last timestamp.
    pub fn cycles(&self) -> Option<u64> {
        let cycles = u64::from(self.tick_cycles?).checked_mul(self.ticks)?;
        (self.local > 0).then_some(cycles)
    }

    /// Whether timestamps run through nearly all of the stream, so that rates can be computed from
    /// them.
    pub fn is_thorough(&self) -> bool {
        let timed = self.exact + self.between + self.unsure;
        self.local > 0 && self.untimed.saturating_mul(10) <= timed
    }

    /// So many cycles in nanoseconds.
    pub fn nanoseconds(&self, cycles: u64) -> Option<u64> {
        let hz = u128::from(self.core_hz.filter(|hz| *hz > 0)?);
        u64::try_from(u128::from(cycles) * 1_000_000_000 / hz).ok()
    }
}

/// Samples of the program counter: `taken = awake + asleep + prohibited`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sampling {
    /// Samples that came.
    pub taken: u64,
    /// Of them, with an address.
    pub awake: u64,
    /// Of them, of a core asleep.
    pub asleep: u64,
    /// Of them, where tracing was prohibited.
    pub prohibited: u64,
    /// Core cycles between two samples, where known.
    pub period_cycles: Option<u64>,
    /// Samples that should have come, where that can be computed.
    pub expected: Option<Expected>,
    /// Samples in functions that count as idle because somebody said so.
    pub idle_by_name: u64,
    /// Samples that were lost; absent where none were taken.
    pub lost: Option<Loss>,
    /// Stretches without a sample in which other packets have times, the longest of them in their
    /// order: from and to, in core cycles. Sampling was off there, or lost without a sign.
    pub pauses: Vec<(u64, u64)>,
}

/// How many samples there should have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// How many.
    pub samples: u64,
    /// From which clock, in words.
    pub from: String,
    /// There may have been more: time was lost as well.
    pub at_least: bool,
}

/// An exception's handler as exception trace shows it. Times are in core cycles if
/// [`TimeBase::tick_cycles`] is known, else in ticks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TracedException {
    /// Its number.
    pub number: u16,
    /// Its name.
    pub name: String,
    /// Times entered.
    pub entered: u64,
    /// Times left.
    pub left: u64,
    /// Entries whose end never came, and ends whose entry never came.
    pub unmatched: u64,
    /// Times that are known to the tick from entry to end, without handlers that interrupted it;
    /// the next three are theirs.
    pub timed: u64,
    /// Their sum.
    pub own: u64,
    /// The shortest.
    pub shortest: u64,
    /// The longest.
    pub longest: u64,
    /// Times that are known with bounds only, because several packets share a timestamp or a
    /// packet had to wait.
    pub vague: u64,
    /// The longest that any of them may have been.
    pub at_most: u64,
    /// The most handlers that it interrupted, one inside the other, itself included.
    pub depth: u32,
    /// Samples taken in it.
    pub samples: u64,
    /// The times that are known to the tick.
    pub times: Spread,
}

/// A thread, identified by writes to the variable that points to the current one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TracedThread {
    /// Its symbol, or the pointer, as `0x20000100`.
    pub name: String,
    /// The pointer.
    pub pointer: u32,
    /// Times it became the current one.
    pub runs: u64,
    /// Core cycles (or ticks) from there to the next change, interrupts included, where nothing
    /// was lost in between.
    pub cycles: u64,
    /// Samples taken while it was the current one, not in handlers.
    pub samples: u64,
}

/// A stimulus port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Channel {
    /// The port.
    pub port: u8,
    /// Writes.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
    /// Overflows while it was in use: something of it may be missing there.
    pub interrupted: u64,
    /// Its text, if it is text: the end of it if there is much. Places where something may be
    /// missing have `[lost?]`.
    pub text: Option<String>,
    /// Bytes of text before it that are not here.
    pub text_skipped: u64,
    /// Its text, decoded by a library that knows the format.
    pub decoded: Option<Decoded>,
}

/// An event counter: it emits a packet each time it has wrapped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventCounter {
    /// Its name, as `CPICNT`.
    pub name: String,
    /// What it counts, in words.
    pub what: String,
    /// Times that it wrapped. Each is 256 of what it counts.
    pub wraps: u64,
}

/// What a comparator saw.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watched {
    /// The comparator, 0 to 3.
    pub comparator: u8,
    /// The variable, where known.
    pub name: String,
    /// Reads with their value.
    pub reads: u64,
    /// Writes with their value.
    pub writes: u64,
    /// Matches that reported an address only.
    pub matches: u64,
    /// Smallest value.
    pub min: u32,
    /// Greatest value.
    pub max: u32,
    /// Values with their times (core cycles or ticks), the first ones if there are many.
    pub values: Vec<(u64, u32)>,
    /// Values that are not here.
    pub more: u64,
    /// Code that made it match, by function or address, most often first.
    pub from: Vec<(String, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two bytes that are missing in a short recording leave a tenth of it outside of frames.
    #[test]
    fn frames_that_slip_are_still_frames() {
        let percent = |outside, undecodable, framed: bool| {
            let frames =
                FrameTotals { bytes: 22_000, undecodable_bytes: outside, ..FrameTotals::default() };
            let mut traced = Traced::default();
            traced.stream.frames = framed.then_some(frames);
            traced.stream.bytes = 18_000;
            traced.stream.undecodable_bytes = undecodable;
            traced.nonsense_percent()
        };
        assert_eq!((percent(2_100, 7, true), percent(0, 2_000, true)), (0, 0));
        // Noise that is taken for frames: what is in them is noise, too.
        assert_eq!(percent(2_200, 2_000, true), 10);
        assert_eq!(percent(12_000, 7, true), 54);
        assert_eq!(percent(0, 2_000, false), 11);
    }
}
