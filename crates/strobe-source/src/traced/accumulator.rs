//! Adds up the events of a stream.

use crate::code_profile::Who;
use crate::traced::totals::{EventCounter, PacketKind};
use strobe_decode::swo::packet::{Counters, Packet, Raw};
use strobe_decode::swo::timeline::{Event, EventKind, Events, Group, Time};

use super::channels::Channels;
use super::doubt::Steps;
use super::exceptions::Exceptions;
use super::gaps::Gaps;
use super::kinds::Kinds;
use super::kit;
use super::samples::Places;
use super::span::{self, Span};
use super::threads::Threads;
use super::watched::Comparators;
use super::windows::{Bounds, Edge, Windows};
use crate::defmt;

/// The counter behind the cycle counter. Its packet stands for one time that it ran out, and those
/// of the others for 256 of what they count (DDI 0403E, D4.3.1).
pub(super) const POSTCNT: &str = "POSTCNT";

/// Event counters: bit, register, what it counts.
const COUNTERS: [(u8, &str, &str); 6] = [
    (
        Counters::CPI,
        "CPICNT",
        "cycles of instructions beyond their first, without loads and stores",
    ),
    (Counters::EXCEPTION, "EXCCNT", "cycles of exception entry and exit"),
    (Counters::SLEEP, "SLEEPCNT", "cycles asleep"),
    (Counters::LSU, "LSUCNT", "cycles of loads and stores beyond their first"),
    (Counters::FOLD, "FOLDCNT", "instructions that took no cycle"),
    (Counters::CYCLES, POSTCNT, "a packet each time that the cycles of its period have passed"),
];

/// A local timestamp.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp {
    pub ticks: u64,
    /// Samples up to there.
    pub samples: u64,
}

/// Adds up events. Memory depends on how much code there is, not on how long the stream is.
#[derive(Debug, Clone, Default)]
pub struct Accumulator {
    pub(super) kinds: Kinds,
    pub(super) places: Places,
    pub(super) awake: u64,
    pub(super) asleep: u64,
    pub(super) prohibited: u64,
    /// Samples that were asked for over the debug port.
    pub(super) polled: u64,
    pub(super) exceptions: Exceptions,
    pub(super) threads: Threads,
    pub(super) channels: Channels,
    pub(super) comparators: Comparators,
    wraps: [u64; COUNTERS.len()],
    /// First and last local timestamp.
    pub(super) span: Option<(Stamp, Stamp)>,
    /// The comparator whose writes switch threads.
    thread: Option<u8>,
    pub(super) kit: Option<(kit::Reader, kit::Totals)>,
    /// The kit's records, where the stream is nothing else.
    pub(super) frames: Option<(kit::Frames, kit::Totals)>,
    /// Bytes of the channel that the stream is, where it is nothing else.
    pub(super) channel: Option<u64>,
    /// The parts that are measured, if not everything is.
    pub(super) windows: Option<Windows>,
    /// Ticks of each local timestamp.
    pub(super) steps: Steps,
    /// Times from sample to sample.
    pub(super) gaps: Gaps,
    /// The last packet was in doubt.
    in_doubt: bool,
}

impl Accumulator {
    /// An empty one; writes that comparator `thread` reports switch threads.
    pub fn new(thread: Option<u8>) -> Self {
        Accumulator { thread, ..Accumulator::default() }
    }

    /// The same, reading records of the kit for the target at that stimulus port and the next.
    pub fn with_kit(mut self, port: Option<u8>) -> Self {
        self.kit = port.map(|port| (kit::Reader::new(port), kit::Totals::default()));
        self
    }

    /// The same, measuring only parts.
    pub fn within(mut self, bounds: &Bounds) -> Self {
        self.windows = Windows::new(bounds);
        self.cut(Edge { begins: self.is_measuring(), ends: !self.is_measuring() }, 0);
        self
    }

    /// The same, decoding messages of `defmt` at that stimulus port.
    pub fn with_defmt(mut self, log: Option<(u8, defmt::Table)>) -> Self {
        if let Some((port, table)) = log {
            self.channels.decode(port, defmt::Log::new(table));
        }
        self
    }

    /// Bytes of the kit for the target, where its records come in frames of their own and not
    /// through a trace pin.
    pub fn kit_bytes(&mut self, bytes: &[u8]) {
        let (mut frames, mut totals) = self.frames.take().unwrap_or_default();
        frames.push(bytes, &mut |record, now| {
            totals.add(record, now);
            self.kit_record(&record, now.1);
        });
        self.frames = Some((frames, totals));
    }

    /// Bytes of one channel with nothing around them. They count as those of the port whose
    /// messages are decoded, or of port 0; that is returned.
    pub fn channel_bytes(&mut self, bytes: &[u8]) -> u8 {
        let port = self.channels.decoded().unwrap_or(0);
        if !bytes.is_empty() {
            self.channels.write(port, bytes);
        }
        *self.channel.get_or_insert(0) += bytes.len() as u64;
        port
    }

    /// Such bytes are missing here.
    pub fn channel_gap(&mut self) {
        self.channels.lost();
    }

    /// Such bytes are missing here.
    pub fn kit_gap(&mut self) {
        self.frames.get_or_insert_default().0.gap();
    }

    /// Samples that have come so far, those asleep included.
    pub fn samples(&self) -> u64 {
        self.awake + self.asleep + self.prohibited
    }

    /// Overflow packets so far.
    pub fn overflows(&self) -> u64 {
        self.kinds.overflows()
    }

    /// A program counter that was asked for over the debug port; `u32::MAX` is no address, but what
    /// DWT_PCSR has while the core is asleep or halted.
    pub fn polled(&mut self, pc: u32) {
        self.polled += 1;
        if !self.is_measuring() {
            self.outside();
        } else if pc == u32::MAX {
            self.asleep += 1
        } else {
            self.sample(pc)
        }
    }

    /// Samples by place, from a list that somebody else made.
    pub fn add_places(&mut self, places: Places, awake: u64) {
        self.places = places;
        self.awake += awake;
    }

    pub(super) fn counters(&self) -> Vec<EventCounter> {
        let all = COUNTERS.iter().zip(self.wraps).filter(|(_, wraps)| *wraps > 0);
        let counter = |(&(_, name, what), wraps): (&(u8, &str, &str), u64)| EventCounter {
            name: name.to_owned(),
            what: what.to_owned(),
            wraps,
        };
        all.map(counter).collect()
    }

    pub(super) fn packet_kinds(&self) -> Vec<PacketKind> {
        self.kinds.finish()
    }

    fn is_measuring(&self) -> bool {
        self.windows.as_ref().is_none_or(Windows::is_inside)
    }

    /// A sample that is not measured.
    fn outside(&mut self) {
        if let Some(windows) = &mut self.windows {
            windows.outside();
        }
    }

    /// A part ends, or begins, or both.
    fn cut(&mut self, edge: Edge, now: u64) {
        if edge.begins || edge.ends {
            self.exceptions.cut(edge.begins);
            self.threads.cut(edge.begins, now);
        }
    }

    fn lost(&mut self) {
        self.exceptions.lost();
        self.threads.lost();
        self.channels.lost();
        self.gaps.lost();
        if let Some((reader, totals)) = &mut self.kit {
            reader.lost();
            totals.lost();
        }
        if let Some(windows) = &mut self.windows {
            windows.packets_lost();
        }
    }

    fn sample(&mut self, pc: u32) {
        self.awake += 1;
        let who = self.who();
        self.places.add(pc, who);
    }

    fn asleep(&mut self) {
        self.asleep += 1;
        self.who();
    }

    /// Who has the core, counting one more sample of theirs.
    fn who(&mut self) -> Option<Who> {
        match (self.exceptions.seen, self.exceptions.current()) {
            (true, None) => None,
            (true, Some(number @ 1..)) => {
                self.exceptions.sample(number);
                Some(Who::Interrupt(number))
            }
            (_, _) if self.thread.is_some() => {
                self.threads.sample();
                self.threads.current().map(Who::Thread)
            }
            // The thread, there being only one as far as is known here.
            (true, Some(0)) => Some(Who::Thread(0)),
            (false, _) => None,
        }
    }

    fn write(&mut self, port: u8, bytes: u8, value: u32, now: Span) {
        match &mut self.kit {
            Some((reader, totals)) if reader.is_at(port) => {
                if let Some(record) = reader.take(port, bytes, value) {
                    totals.add(record, now);
                    self.kit_record(&record, span::likely(now));
                }
            }
            _ => self.channels.write(port, &value.to_le_bytes()[..usize::from(bytes).min(4)]),
        }
    }

    /// Of a record of the kit: whether a part begins or ends with it.
    fn kit_record(&mut self, record: &kit::Record, now: u64) {
        let Some(windows) = &mut self.windows else { return };
        if record.lost > 0 || record.restarted {
            windows.records_lost();
        }
        let edge = windows.record(record.id, &record.what, now);
        self.cut(edge, now);
    }

    /// A packet with a sample of the program counter.
    #[inline]
    fn pc_sample(&mut self, pc: u32) {
        self.in_doubt = false;
        self.kinds.add_pc_sample();
        if self.is_measuring() { self.sample(pc) } else { self.outside() }
    }

    /// A local timestamp, and when it was.
    #[inline]
    fn stamp(&mut self, ticks: u32, now: u64) {
        self.steps.add(ticks);
        let stamp = Stamp { ticks: now, samples: self.samples() };
        self.gaps.stamp(ticks, now, stamp.samples);
        let (first, _) = self.span.unwrap_or((stamp, stamp));
        self.span = Some((first, stamp));
    }

    /// A sample of whatever kind.
    fn any_sample(&mut self, packet: &Packet) {
        match packet {
            _ if !self.is_measuring() => self.outside(),
            Packet::PcSample(pc) => self.sample(*pc),
            Packet::Sleep => self.asleep(),
            _ => self.prohibited += 1,
        }
    }

    fn packet(&mut self, packet: Packet, bytes: u64, time: Time) {
        let now = time.likely();
        self.kinds.add(&packet, bytes);
        match packet {
            Packet::PcSample(_) | Packet::Sleep | Packet::Prohibited => self.any_sample(&packet),
            Packet::Overflow => self.lost(),
            Packet::Exception { number, action } => {
                self.exceptions.take(number, action, span::of(time));
            }
            Packet::Instrumentation { port, bytes, value } => {
                self.write(port, bytes, value, span::of(time));
                if let Some(windows) = &mut self.windows {
                    let edge = windows.write(port, value, now);
                    self.cut(edge, now);
                }
            }
            Packet::LocalTimestamp { ticks, .. } => self.stamp(ticks, now),
            Packet::EventCounter(_) if !self.is_measuring() => {}
            Packet::EventCounter(Counters(bits)) => {
                for (wraps, (bit, ..)) in self.wraps.iter_mut().zip(COUNTERS) {
                    *wraps += u64::from(bits & bit != 0);
                }
            }
            Packet::DataTraceValue { comparator, write, value, .. } => {
                if write && self.thread == Some(comparator) {
                    self.threads.switch(value, now);
                }
                self.comparators.value(comparator, write, value, now);
            }
            Packet::DataTracePc { comparator, pc } => self.comparators.code(comparator, pc),
            Packet::DataTraceMatch { comparator } | Packet::DataTraceAddress { comparator, .. } => {
                self.comparators.matched(comparator);
            }
            Packet::Sync
            | Packet::Page(_)
            | Packet::Extension { .. }
            | Packet::GlobalTimestamp1 { .. }
            | Packet::GlobalTimestamp2 { .. }
            | Packet::PmuOverflow(_) => {}
        }
    }
}

impl Events for Accumulator {
    /// Samples and timestamps are most of many streams: they need nothing of an event.
    #[inline]
    fn group(&mut self, group: &Group<'_>) {
        group.pieces().for_each(|(piece, time)| {
            let raw = piece.packet();
            if let Some(pc) = raw.and_then(Raw::pc_sample) {
                self.pc_sample(pc);
            } else if let Some((raw, ticks)) = raw.and_then(|raw| Some((raw, raw.local_ticks()?))) {
                self.in_doubt = false;
                self.kinds.add_local_timestamp(raw.length.into());
                self.stamp(ticks, time.likely());
            } else if let Some(event) = piece.event(time) {
                self.event(event);
            }
        });
    }

    fn event(&mut self, event: Event) {
        match event.what {
            EventKind::Packet(packet) => {
                self.in_doubt = false;
                self.packet(packet, event.bytes, event.time);
            }
            EventKind::Doubtful(_) => {
                self.kinds.add_doubtful(event.bytes);
                if !std::mem::replace(&mut self.in_doubt, true) {
                    self.lost();
                }
            }
            EventKind::Undecodable | EventKind::Gap => self.lost(),
        }
    }
}
