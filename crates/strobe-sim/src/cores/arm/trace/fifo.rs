//! How much the trace blocks can hold before something is lost.

use std::collections::VecDeque;

use super::packet::Packet;

/// Depths of the buffers on the way to the pin.
///
/// No manual of a Cortex-M3 or M4 gives those of ITM and DWT; the trace port's is documented. They
/// decide how long a burst may be; how many packets a link loses that is always too slow does not
/// depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depths {
    /// Packets of software that wait in the ITM.
    pub software_packets: usize,
    /// Packets that wait in the DWT.
    pub hardware_packets: usize,
    /// Bytes of packets between ITM and pin.
    pub output_bytes: usize,
}

/// TPIU_DEVID bits 8 to 6 are 2: a FIFO of four bytes (DDI 0337 and DDI 0439, TPIU registers).
const TPIU_BYTES: usize = 4;

/// Of a Cortex-M3 and a Cortex-M4. A stimulus port's register is one packet; so that all four
/// comparators can match at once, four wait in the DWT; the ITM holds two packets of a word, and
/// what the TPIU has comes on top. All but the last assumed.
pub(crate) const DEPTHS: Depths =
    Depths { software_packets: 1, hardware_packets: 4, output_bytes: 10 + TPIU_BYTES };

/// A packet that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    pub(crate) packet: Packet,
    /// The cycle of what it reports.
    pub(crate) at: u64,
    /// It reports something, and is no mark of an overflow.
    pub(crate) is_data: bool,
}

/// Packets of one source, one after the other, with marks where some were lost.
#[derive(Debug, Clone, Default)]
pub(crate) struct Source {
    waiting: VecDeque<Waiting>,
    /// Of these, packets.
    packets: usize,
}

impl Source {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether one more packet can wait.
    pub(crate) fn has_room(&self, depth: usize) -> bool {
        self.packets < depth
    }

    /// Takes a packet, or notes that it was lost. However many are lost in a row, that is one
    /// overflow packet.
    pub(crate) fn push(&mut self, packet: Packet, at: u64, depth: usize) {
        if self.has_room(depth) {
            self.packets += 1;
            self.waiting.push_back(Waiting { packet, at, is_data: true });
        } else {
            self.overflow(at);
        }
    }

    /// Something was lost.
    pub(crate) fn overflow(&mut self, at: u64) {
        if self.waiting.back().is_none_or(|last| last.is_data) {
            self.waiting.push_back(Waiting { packet: Packet::OVERFLOW, at, is_data: false });
        }
    }

    pub(crate) fn first(&self) -> Option<&Waiting> {
        self.waiting.front()
    }

    pub(crate) fn pop(&mut self) {
        let popped = self.waiting.pop_front();
        self.packets -= usize::from(popped.is_some_and(|waiting| waiting.is_data));
    }
}

/// Bytes of packets on their way out. A packet goes in whole.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bytes {
    bytes: VecDeque<u8>,
}

impl Bytes {
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether a packet fits. One that is larger than the whole buffer passes through the empty
    /// one.
    pub(crate) fn fits(&self, packet: &Packet, depth: usize) -> bool {
        self.bytes.len() + packet.bytes().len() <= depth || self.bytes.is_empty()
    }

    pub(crate) fn push(&mut self, packet: &Packet) {
        self.bytes.extend(packet.bytes());
    }

    pub(crate) fn pop(&mut self) -> Option<u8> {
        self.bytes.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_losses_are_one_overflow() {
        let mut source = Source::default();
        let packet = |n| Packet::software(0, n, 1);
        (1..=4).for_each(|n| source.push(packet(n), n.into(), 2));
        assert!(!source.has_room(2));
        source.pop();
        source.push(packet(5), 5, 2);
        let mut seen = Vec::new();
        while let Some(waiting) = source.first() {
            seen.push(waiting.packet);
            source.pop();
        }
        assert_eq!(seen, [packet(2), Packet::OVERFLOW, packet(5)]);
        assert!(source.has_room(1));
    }
}
