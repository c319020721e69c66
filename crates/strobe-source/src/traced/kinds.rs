//! Packets by kind.

use crate::traced::totals::PacketKind;
use strobe_decode::swo::packet::Packet;

/// Pages of stimulus ports, among others.
pub(super) const EXTENSION: &str = "extension";

const NAMES: [&str; 15] = [
    "synchronisation",
    "overflow",
    "stimulus port",
    EXTENSION,
    "local timestamp",
    "global timestamp",
    "event counter",
    "exception",
    "PC sample",
    "sleep sample",
    "prohibited sample",
    "data trace: code",
    "data trace: value",
    "PMU overflow",
    "in doubt",
];

/// Counts of packets.
#[derive(Debug, Clone, Default)]
pub(super) struct Kinds {
    /// Packets and bytes.
    counts: [(u64, u64); NAMES.len()],
}

/// Bytes of a packet with a sample of the program counter.
const PC_SAMPLE_BYTES: u64 = 5;
/// Their places among the names, and that of local timestamps.
const PC_SAMPLE: usize = 8;
const LOCAL_TIMESTAMP: usize = 4;

impl Kinds {
    #[inline]
    pub fn add_pc_sample(&mut self) {
        let (packets, sum) = &mut self.counts[PC_SAMPLE];
        *packets += 1;
        *sum += PC_SAMPLE_BYTES;
    }

    pub fn add(&mut self, packet: &Packet, bytes: u64) {
        let kind = match packet {
            Packet::Sync => 0,
            Packet::Overflow => 1,
            Packet::Instrumentation { .. } => 2,
            Packet::Page(_) | Packet::Extension { .. } => 3,
            Packet::LocalTimestamp { .. } => LOCAL_TIMESTAMP,
            Packet::GlobalTimestamp1 { .. } | Packet::GlobalTimestamp2 { .. } => 5,
            Packet::EventCounter(_) => 6,
            Packet::Exception { .. } => 7,
            Packet::PcSample(_) => PC_SAMPLE,
            Packet::Sleep => 9,
            Packet::Prohibited => 10,
            Packet::DataTracePc { .. } | Packet::DataTraceMatch { .. } => 11,
            Packet::DataTraceAddress { .. } | Packet::DataTraceValue { .. } => 12,
            Packet::PmuOverflow(_) => 13,
        };
        let (packets, sum) = &mut self.counts[kind];
        *packets += 1;
        *sum += bytes;
    }

    #[inline]
    pub fn add_local_timestamp(&mut self, bytes: u64) {
        let (packets, sum) = &mut self.counts[LOCAL_TIMESTAMP];
        *packets += 1;
        *sum += bytes;
    }

    /// A packet that may be wrong: its kind proves nothing.
    pub fn add_doubtful(&mut self, bytes: u64) {
        let (packets, sum) = &mut self.counts[NAMES.len() - 1];
        *packets += 1;
        *sum += bytes;
    }

    pub fn overflows(&self) -> u64 {
        self.counts[1].0
    }

    pub fn finish(&self) -> Vec<PacketKind> {
        let all = NAMES.iter().zip(self.counts).filter(|(_, (packets, _))| *packets > 0);
        let kind = |(name, (packets, bytes)): (&&str, _)| PacketKind {
            name: (*name).to_owned(),
            packets,
            bytes,
        };
        all.map(kind).collect()
    }
}
