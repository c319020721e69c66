//! Traces in Common Trace Format with synthetic types and values, and the expected result of
//! reading them.
//!
//! Written from the specification, not from the reader. Metadata, stream and the expected text of
//! each event come from the same random choices; the text has the form in which babeltrace2 prints
//! fields, so that it checks both readers.

mod bits;
mod layout;
mod types;

use crate::Rng;
use bits::BitWriter;
use layout::{Header, Layout};
use types::{Kind, Random};

/// An event of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CtfEvent {
    /// Its kind.
    pub name: String,
    /// The clock reading.
    pub ticks: u64,
    /// Its fields, as `{ a = 1, b = "x" }`.
    pub fields: String,
}

/// A trace of one stream.
#[derive(Debug, Clone)]
pub struct CtfTrace {
    /// The metadata as text.
    pub metadata: String,
    /// The stream.
    pub stream: Vec<u8>,
    /// The events, in order.
    pub events: Vec<CtfEvent>,
    /// Number of events that the packets report as discarded.
    pub lost: u64,
    /// Number of packets.
    pub packets: u64,
    /// Whether packets have sizes. If not, the whole stream is one packet, and the padding of its
    /// last byte follows its last event.
    pub in_packets: bool,
}

impl CtfTrace {
    /// A trace for a seed: equal seeds give equal traces.
    pub fn generate(seed: u64) -> CtfTrace {
        let mut rng = Rng::new(seed);
        let layout = Layout::random(&mut rng);
        let kinds: Vec<Kind> = (0..1 + rng.below(5))
            .map(|i| {
                // Some numbers do not fit the short form of headers.
                let id = if rng.one_in(4) { 40_000 + i } else { i };
                let id = if layout.header == Header::Plain { i } else { id };
                Random { rng: &mut rng, big: layout.big }.event(i, id)
            })
            .collect();
        let mut trace = CtfTrace {
            metadata: layout.metadata(&kinds),
            stream: Vec::new(),
            events: Vec::new(),
            lost: 0,
            packets: 0,
            in_packets: layout.in_packets,
        };
        let mut ticks = 1000 + u64::from(rng.below(1000));
        let count = if layout.in_packets { 1 + rng.below(4) } else { 1 };
        for _ in 0..count {
            let lost = if rng.one_in(2) { u64::from(rng.below(100)) } else { 0 };
            let mut packet = Vec::new();
            for _ in 0..rng.below(12) {
                // Less than a wrap of the narrowest clock, but often across one.
                ticks += u64::from(rng.below(1 << 26));
                packet.push((ticks, rng.below(kinds.len() as u32) as usize));
            }
            trace.packet(&mut rng, &layout, &kinds, &packet, lost, &mut ticks);
        }
        trace
    }

    fn packet(
        &mut self,
        rng: &mut Rng,
        layout: &Layout,
        kinds: &[Kind],
        events: &[(u64, usize)],
        lost: u64,
        ticks: &mut u64,
    ) {
        let begin = events.first().map_or(*ticks, |(ticks, _)| *ticks);
        *ticks += u64::from(rng.below(1000));
        self.lost += if layout.in_packets { lost } else { 0 };
        let mut bits = BitWriter::new(layout.big);
        let sizes = layout.begin_packet(&mut bits, begin, *ticks, self.lost);
        for (ticks, kind) in events {
            layout.event_header(&mut bits, kinds[*kind].id, *ticks, rng);
            let fields = kinds[*kind].write(&mut bits, rng);
            let name = kinds[*kind].name.clone();
            self.events.push(CtfEvent { name, ticks: *ticks, fields });
        }
        if let Some(at) = sizes {
            let content = bits.len();
            let padding = u64::from(rng.below(20)) * 8;
            bits.align(8);
            let packet = bits.len() + padding;
            bits.pad_to(packet);
            bits.patch(at, content, packet);
        }
        bits.align(8);
        self.packets += 1;
        self.stream.extend_from_slice(&bits.finish());
    }
}

/// A metadata text in packets (section 7.1), of so many characters each at most.
pub fn packetised(metadata: &str, characters: usize, big: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let put = |out: &mut Vec<u8>, number: u32| {
        out.extend_from_slice(&if big { number.to_be_bytes() } else { number.to_le_bytes() });
    };
    for (i, text) in metadata.as_bytes().chunks(characters.max(1)).enumerate() {
        let (content, padding) = (37 + text.len(), i % 3);
        put(&mut out, 0x75d1_1d57);
        out.extend_from_slice(&[0x11; 16]);
        put(&mut out, 0);
        put(&mut out, content as u32 * 8);
        put(&mut out, (content + padding) as u32 * 8);
        out.extend_from_slice(&[0, 0, 0, 1, 8]);
        out.extend_from_slice(text);
        out.extend(std::iter::repeat_n(0, padding));
    }
    out
}
