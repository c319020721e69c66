//! The packets of ITM and DWT, as plain values.

/// The relation of a local timestamp to the packet before it (ARMv7-M D4.2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Relation {
    /// The timestamp is synchronous to the packet.
    Synchronous,
    /// The timestamp was delayed: the packet is older than the timestamp.
    TimestampDelayed,
    /// The packet was delayed: its event is older than the packet.
    EventDelayed,
    /// Both were delayed.
    BothDelayed,
}

/// The function of an exception trace packet (ARMv7-M D4.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExceptionAction {
    /// Entry to the handler.
    Entered,
    /// Exit from the handler.
    Exited,
    /// Return to the interrupted code.
    Returned,
}

/// Event counters that have wrapped round (ARMv7-M D4.3.1), one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Counters(pub u8);

impl Counters {
    /// CPICNT: 256 extra cycles of instructions.
    pub const CPI: u8 = 1;
    /// EXCCNT: 256 cycles of exception overhead.
    pub const EXCEPTION: u8 = 1 << 1;
    /// SLEEPCNT: 256 cycles asleep.
    pub const SLEEP: u8 = 1 << 2;
    /// LSUCNT: 256 extra cycles of loads and stores.
    pub const LSU: u8 = 1 << 3;
    /// FOLDCNT: 256 instructions that took no cycle.
    pub const FOLD: u8 = 1 << 4;
    /// POSTCNT: the cycle counter's tap has counted down to zero.
    pub const CYCLES: u8 = 1 << 5;
}

/// A packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet {
    /// Synchronisation: at least 47 zero bits and a one.
    Sync,
    /// Overflow: packets were lost because a FIFO was full, or the local timestamp counter has
    /// wrapped.
    Overflow,
    /// Instrumentation: software wrote to a stimulus port.
    Instrumentation {
        /// The port, 0 to 255.
        port: u8,
        /// Bytes written: 1, 2 or 4.
        bytes: u8,
        /// The value written.
        value: u32,
    },
    /// The next packets' stimulus ports are those from `32 * page` on.
    Page(u8),
    /// An extension that no manual defines.
    Extension {
        /// It belongs to the DWT, not to the ITM.
        of_dwt: bool,
        /// Its value, up to 32 bits.
        value: u32,
    },
    /// Ticks since the local timestamp before.
    LocalTimestamp {
        /// Ticks of the timestamp clock, which a prescaler may divide.
        ticks: u32,
        /// Their relation to the packet before.
        relation: Relation,
    },
    /// The low 26 bits of the global timestamp; bits unchanged since the packet before are left
    /// out.
    GlobalTimestamp1 {
        /// The bits.
        low: u32,
        /// Number of bits in the packet, from bit 0 on: 7, 14, 21 or 26.
        bits: u8,
        /// The high bits have changed since they were last sent.
        wrapped: bool,
        /// The clock has changed: this and later counts are not comparable with earlier ones.
        clock_changed: bool,
    },
    /// The bits of the global timestamp from 26 on: 22 of a counter of 48 bits, 38 of one of 64.
    GlobalTimestamp2 {
        /// The bits, bit 0 of which is bit 26 of the timestamp.
        high: u64,
        /// The counter has 64 bits.
        wide: bool,
    },
    /// Event counters have wrapped.
    EventCounter(Counters),
    /// An exception began or ended.
    Exception {
        /// Its number, as in IPSR: 0 is the thread.
        number: u16,
        /// What happened.
        action: ExceptionAction,
    },
    /// Periodic sample of the program counter.
    PcSample(u32),
    /// A sample was due while the core was asleep.
    Sleep,
    /// A sample was due while tracing was prohibited.
    Prohibited,
    /// A comparator matched; this is the instruction's address.
    DataTracePc {
        /// Which comparator, 0 to 3.
        comparator: u8,
        /// The address.
        pc: u32,
    },
    /// A comparator matched (ARMv8-M).
    DataTraceMatch {
        /// Which comparator.
        comparator: u8,
    },
    /// A comparator matched; this is the data's address, or its low bits.
    DataTraceAddress {
        /// Which comparator.
        comparator: u8,
        /// Bytes of the address that were sent: 1, 2 or 4.
        bytes: u8,
        /// The bytes as a number.
        address: u32,
    },
    /// A comparator matched; this is the data read or written.
    DataTraceValue {
        /// Which comparator.
        comparator: u8,
        /// The access was a write.
        write: bool,
        /// Bytes: 1, 2 or 4.
        bytes: u8,
        /// The value.
        value: u32,
    },
    /// Counters of the performance monitoring unit have overflowed, one bit each (ARMv8.1-M).
    PmuOverflow(u8),
}

/// A packet as received: its header and payload.
///
/// Enough for counting and summing; [`Raw::packet`] decodes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw {
    /// Offset of its header in the stream.
    pub at: u64,
    /// The header; 0 for synchronisation.
    pub header: u8,
    /// Length, header included; for synchronisation, from the sixth byte from the end on.
    pub length: u8,
    /// The page of stimulus ports in force.
    pub page: u8,
    /// The payload, the first byte lowest.
    pub payload: u64,
}

/// Relations by bits 4 and 5 of the header of format 1.
static RELATIONS: [Relation; 4] = [
    Relation::Synchronous,
    Relation::TimestampDelayed,
    Relation::EventDelayed,
    Relation::BothDelayed,
];

/// The header that stands for synchronisation packets.
pub const SYNC: u8 = 0;
pub(super) const OVERFLOW: u8 = 0x70;
pub(super) const EXCEPTION: u8 = 0x0e;
pub(super) const PC_SLEEP: u8 = 0x15;
/// A sample of the program counter with an address.
pub(super) const PC_SAMPLE: u8 = 0x17;
pub(super) const GTS1: u8 = 0x94;
pub(super) const GTS2: u8 = 0xb4;

impl Raw {
    /// The address of a sample of the program counter, if it is one.
    #[inline]
    pub fn pc_sample(&self) -> Option<u32> {
        (self.header == PC_SAMPLE).then_some(self.payload as u32)
    }

    /// The ticks of a local timestamp, if it is one.
    #[inline]
    pub fn local_ticks(&self) -> Option<u32> {
        let is_protocol = self.header & 0xf == 0;
        let stamp = if is_protocol { self.local_timestamp() } else { None };
        stamp.map(|(ticks, _)| ticks)
    }

    /// Decodes the packet; `None` if no manual defines it.
    #[inline]
    pub fn packet(&self) -> Option<Packet> {
        match self.header {
            SYNC => Some(Packet::Sync),
            OVERFLOW => Some(Packet::Overflow),
            GTS1 => Some(self.global1()),
            GTS2 => self.global2(),
            header if header & 3 != 0 && header & 4 == 0 => Some(Packet::Instrumentation {
                port: self.page << 5 | header >> 3,
                bytes: self.bytes(),
                value: self.payload as u32,
            }),
            header if header & 3 != 0 => self.hardware(header >> 3),
            header if header & 8 != 0 => Some(self.extension()),
            header if header & 0xf == 0 => self.local(),
            _ => None,
        }
    }

    /// Payload size of a source packet.
    fn bytes(&self) -> u8 {
        self.length - 1
    }

    /// Seven bits of each byte, the lowest first.
    fn sevens(&self) -> u64 {
        (0..8).map(|i| (self.payload >> (8 * i) & 0x7f) << (7 * i)).sum()
    }

    #[inline]
    fn local(&self) -> Option<Packet> {
        let (ticks, relation) = self.local_timestamp()?;
        Some(Packet::LocalTimestamp { ticks, relation })
    }

    /// The ticks of a local timestamp and its relation to the packet before, if the header is one
    /// (ARMv7-M D4.2.4). Formats alternate unpredictably, so this is free of branches.
    #[inline(always)]
    pub(super) fn local_timestamp(&self) -> Option<(u32, Relation)> {
        let bits = self.header >> 4;
        // At most four bytes of seven bits each; format 2 has no payload, but 1 to 6 ticks in its
        // header.
        let four = self.payload as u32 & 0x7f7f_7f7f;
        let two = four & 0x7f_007f | (four & 0x7f00_7f00) >> 1;
        let ticks = two & 0x3fff | (two & 0x3fff_0000) >> 2;
        let (format2, relation) = if bits < 8 { (bits, 0) } else { (0, bits & 3) };
        let exists = matches!(bits, 1..=6 | 12..);
        exists.then_some((ticks + u32::from(format2), RELATIONS[usize::from(relation)]))
    }

    /// Whether it is a local timestamp of more ticks than fit into the counter, which has 21 bits
    /// (ITM functional description, DDI 0337 and DDI 0439): three bytes of seven.
    #[inline(always)]
    pub(super) fn is_impossible(&self) -> bool {
        let is_local = self.header >= 0xc0 && self.header & 0xf == 0;
        is_local && self.payload as u32 & 0x7f00_0000 != 0
    }

    fn global1(&self) -> Packet {
        let whole = self.length == 5;
        let last = (self.payload >> 24) as u8;
        Packet::GlobalTimestamp1 {
            low: self.sevens() as u32 & 0x3ff_ffff,
            bits: (7 * self.bytes()).min(26),
            wrapped: whole && last & 0x40 != 0,
            clock_changed: whole && last & 0x20 != 0,
        }
    }

    fn global2(&self) -> Option<Packet> {
        let wide = match self.length {
            5 => false,
            7 => true,
            _ => return None,
        };
        let bits = if wide { 38 } else { 22 };
        Some(Packet::GlobalTimestamp2 { high: self.sevens() & ((1 << bits) - 1), wide })
    }

    fn extension(&self) -> Packet {
        let of_dwt = self.header & 4 != 0;
        let first = u32::from(self.header >> 4 & 7);
        if self.length == 1 && !of_dwt {
            return Packet::Page(first as u8);
        }
        // The fourth payload byte has eight bits.
        let rest = if self.length == 5 {
            self.sevens() & 0x1f_ffff | (self.payload >> 24 & 0xff) << 21
        } else {
            self.sevens()
        };
        Packet::Extension { of_dwt, value: first | (rest as u32) << 3 }
    }

    #[inline]
    fn hardware(&self, id: u8) -> Option<Packet> {
        let (bytes, value) = (self.bytes(), self.payload as u32);
        let comparator = id >> 1 & 3;
        Some(match (id, bytes) {
            (0, 1) => Packet::EventCounter(Counters(value as u8)),
            (1, 2) => Packet::Exception {
                number: value as u16 & 0x1ff,
                action: match value >> 12 & 3 {
                    1 => ExceptionAction::Entered,
                    2 => ExceptionAction::Exited,
                    3 => ExceptionAction::Returned,
                    _ => return None,
                },
            },
            (2, 4) => Packet::PcSample(value),
            (2, 1) if value == 0 => Packet::Sleep,
            (2, 1) if value == 0xff => Packet::Prohibited,
            (3, 1) => Packet::PmuOverflow(value as u8),
            (8..=15, 4) if id & 1 == 0 => Packet::DataTracePc { comparator, pc: value },
            (8..=15, 1) if id & 1 == 0 && value == 1 => Packet::DataTraceMatch { comparator },
            (8..=15, _) if id & 1 == 1 => {
                Packet::DataTraceAddress { comparator, bytes, address: value }
            }
            (16..=23, _) => Packet::DataTraceValue { comparator, write: id & 1 == 1, bytes, value },
            _ => return None,
        })
    }
}
