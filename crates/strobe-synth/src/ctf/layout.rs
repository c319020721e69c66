//! The layout around events: packets, and the headers of various tracers.

use crate::Rng;

use super::bits::BitWriter;
use super::types::Kind;

/// The form of an event header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    /// A 64-bit time and an 8-bit id, as in small tracers.
    Plain,
    /// A 5-bit id and a 27-bit time, or both in full: LTTng's compact header.
    Compact,
    /// A 16-bit id and a 32-bit time, or both in full: LTTng's large header.
    Large,
}

/// A trace without its events.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) big: bool,
    pub(super) in_packets: bool,
    pub(super) header: Header,
}

const UUID: &str = "2a6422d0-6cee-11e0-8c08-cb07d7b3a564";

impl Layout {
    pub(super) fn random(rng: &mut Rng) -> Self {
        let header = rng.pick(&[Header::Plain, Header::Compact, Header::Large]);
        // Short times need a packet with a begin timestamp.
        let in_packets = header != Header::Plain || rng.one_in(2);
        Layout { big: rng.one_in(2), in_packets, header }
    }

    pub(super) fn metadata(&self, kinds: &[Kind]) -> String {
        let order = if self.big { "be" } else { "le" };
        let mut text = "/* CTF 1.8 */\n\n".to_owned();
        for bits in [5, 8, 16, 27, 32, 64] {
            let align = if bits % 8 == 0 { 8 } else { 1 };
            text += &format!(
                "typealias integer {{ size = {bits}; align = {align}; signed = false; }} := \
                 uint{bits}_t;\n"
            );
        }
        text += &format!("trace {{\n\tmajor = 1;\n\tminor = 8;\n\tbyte_order = {order};\n");
        if self.in_packets {
            text += &format!("\tuuid = \"{UUID}\";\n");
            text += "\tpacket.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t \
                     stream_id; };\n";
        }
        text += "};\n\nenv { tracer_name = \"made up\"; tracer_major = 2; };\n\n";
        text += "clock {\n\tname = \"monotonic\";\n\tfreq = 1000000000;\n\toffset = 0;\n};\n\n";
        for bits in [27, 32, 64] {
            let align = if bits % 8 == 0 { 8 } else { 1 };
            text += &format!(
                "typealias integer {{ size = {bits}; align = {align}; signed = false; map = \
                 clock.monotonic.value; }} := uint{bits}_clock_t;\n"
            );
        }
        text += &self.stream();
        for kind in kinds {
            text += &kind.metadata();
        }
        text
    }

    fn stream(&self) -> String {
        let short = |name: &str, id: &str, last: u32, time: u32| {
            format!(
                "struct {name} {{\n\tenum : {id} {{ compact = 0 ... {}, extended = {last} }} \
                 id;\n\tvariant <id> {{\n\
                 \t\tstruct {{ uint{time}_clock_t timestamp; }} compact;\n\
                 \t\tstruct {{ uint32_t id; uint64_clock_t timestamp; }} extended;\n\t}} v;\n\
                 }} align(8);\n\n",
                last - 1
            )
        };
        let (definition, header) = match self.header {
            Header::Plain => {
                (String::new(), "struct { uint64_clock_t timestamp; uint8_t id; }".to_owned())
            }
            Header::Compact => (short("compact", "uint5_t", 31, 27), "struct compact".to_owned()),
            Header::Large => (short("large", "uint16_t", 65535, 32), "struct large".to_owned()),
        };
        let context = "\tpacket.context := struct {\n\t\tuint64_clock_t timestamp_begin;\n\
                       \t\tuint64_clock_t timestamp_end;\n\t\tuint64_t content_size;\n\
                       \t\tuint64_t packet_size;\n\
                       \t\tuint64_t events_discarded;\n\t\tuint32_t cpu_id;\n\t};\n";
        let context = if self.in_packets { context } else { "" };
        let id = if self.in_packets { "\tid = 0;\n" } else { "" };
        format!("{definition}stream {{\n{id}\tevent.header := {header};\n{context}}};\n\n")
    }

    /// Header and context; returns where the sizes are to be written.
    pub(super) fn begin_packet(
        &self,
        bits: &mut BitWriter,
        begin: u64,
        end: u64,
        lost: u64,
    ) -> Option<u64> {
        if !self.in_packets {
            return None;
        }
        bits.put(0xc1fc_1fc1, 32);
        let uuid: String = UUID.chars().filter(|c| *c != '-').collect();
        let uuid = u128::from_str_radix(&uuid, 16).expect("hexadecimal digits");
        bits.text(&uuid.to_be_bytes());
        bits.put(0, 32);
        bits.put(begin, 64);
        bits.put(end, 64);
        let sizes = bits.len();
        bits.put(0, 64);
        bits.put(0, 64);
        bits.put(lost, 64);
        bits.put(3, 32);
        Some(sizes)
    }

    pub(super) fn event_header(&self, bits: &mut BitWriter, id: u32, ticks: u64, rng: &mut Rng) {
        let (id_bits, time_bits, align) = match self.header {
            Header::Plain => {
                bits.align(8);
                bits.put(ticks, 64);
                bits.put(id.into(), 8);
                return;
            }
            Header::Compact => (5, 27, 1),
            Header::Large => (16, 32, 8),
        };
        bits.align(8);
        let extended = (1u32 << id_bits) - 1;
        if id < extended && !rng.one_in(4) {
            bits.put(id.into(), id_bits);
            bits.align(align);
            bits.put(ticks & ((1 << time_bits) - 1), time_bits);
        } else {
            bits.put(extended.into(), id_bits);
            bits.align(8);
            bits.put(id.into(), 32);
            bits.put(ticks, 64);
        }
    }
}
