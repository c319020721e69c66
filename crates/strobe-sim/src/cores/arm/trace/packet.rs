//! Packets of ITM and DWT as bytes (DDI 0403E, appendix D4).
//!
//! Written down from the manual and shared with no decoder.

/// What an exception trace packet reports (D4.3.2): the field FN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// The handler begins.
    Enter = 1,
    /// The handler ends.
    Exit = 2,
    /// What was interrupted goes on.
    Return = 3,
}

/// Counters in an event counter packet (D4.3.1).
pub(crate) mod event {
    pub(crate) const CPI: u8 = 1;
    pub(crate) const EXC: u8 = 1 << 1;
    pub(crate) const SLEEP: u8 = 1 << 2;
    pub(crate) const LSU: u8 = 1 << 3;
    pub(crate) const FOLD: u8 = 1 << 4;
    pub(crate) const CYC: u8 = 1 << 5;
}

/// The longest packet, synchronisation.
const LONGEST: usize = 6;

/// One packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet {
    bytes: [u8; LONGEST],
    length: u8,
}

impl Packet {
    /// 47 zero bits and a one.
    pub(crate) const SYNC: Packet = Packet { bytes: [0, 0, 0, 0, 0, 0x80], length: 6 };
    /// Packets were lost, or the local timestamp counter has wrapped.
    pub(crate) const OVERFLOW: Packet = Packet { bytes: [0x70, 0, 0, 0, 0, 0], length: 1 };
    /// A sample of a core asleep.
    pub(crate) const SLEEP: Packet = Packet { bytes: [0x15, 0, 0, 0, 0, 0], length: 2 };

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    fn new(header: u8, payload: &[u8]) -> Self {
        let mut packet = Packet { bytes: [header, 0, 0, 0, 0, 0], length: 1 };
        payload.iter().for_each(|&byte| packet.push(byte));
        packet
    }

    fn push(&mut self, byte: u8) {
        self.bytes[usize::from(self.length)] = byte;
        self.length += 1;
    }

    /// A source packet: the header's lower bits give how many bytes follow.
    fn source(header: u8, value: u32, bytes: u32) -> Self {
        let size = [1, 1, 2, 2, 3][bytes.min(4) as usize];
        Packet::new(header | size, &value.to_le_bytes()[..bytes.min(4) as usize])
    }

    /// Software wrote 1, 2 or 4 bytes to a stimulus port, 0 to 31.
    pub(crate) fn software(port: u32, value: u32, bytes: u32) -> Self {
        Packet::source((port as u8) << 3, value, bytes)
    }

    /// A hardware source packet by its discriminator.
    fn hardware(id: u32, value: u32, bytes: u32) -> Self {
        Packet::source((id as u8) << 3 | 4, value, bytes)
    }

    /// Event counters that have wrapped.
    pub(crate) fn counters(which: u8) -> Self {
        Packet::hardware(0, which.into(), 1)
    }

    /// An exception does something.
    pub(crate) fn exception(number: u16, action: Action) -> Self {
        Packet::hardware(1, u32::from(number & 0x1ff) | (action as u32) << 12, 2)
    }

    /// A sample of the program counter.
    pub(crate) fn pc_sample(pc: u32) -> Self {
        Packet::hardware(2, pc, 4)
    }

    /// The instruction that made a comparator match.
    pub(crate) fn data_pc(comparator: u32, pc: u32) -> Self {
        Packet::hardware(8 + 2 * comparator, pc, 4)
    }

    /// The lower half of the address that made a comparator match.
    pub(crate) fn data_address(comparator: u32, address: u32) -> Self {
        Packet::hardware(9 + 2 * comparator, address & 0xffff, 2)
    }

    /// What was read or written where a comparator matched.
    pub(crate) fn data_value(comparator: u32, write: bool, value: u32, bytes: u32) -> Self {
        Packet::hardware(16 + 2 * comparator + u32::from(write), value, bytes)
    }

    /// Ticks since the local timestamp before; `relation` is the field TC (D4.2.4). Format 2, one
    /// byte, is for 1 to 6 ticks and a timestamp that nothing has delayed.
    pub(crate) fn local_timestamp(ticks: u32, relation: u8) -> Self {
        if relation == 0 && (1..=6).contains(&ticks) {
            return Packet::new((ticks as u8) << 4, &[]);
        }
        let mut packet = Packet::new(0xc0 | relation << 4, &[]);
        packet.push_sevens(ticks, 4);
        packet
    }

    /// Bits 0 to 25 of the global timestamp, of which the highest that are as before may be left
    /// out (D4.2.5).
    pub(crate) fn global_timestamp1(now: u32, before: u32, wrapped: bool) -> Self {
        let mut packet = Packet::new(0x94, &[]);
        let changed = now ^ before;
        let bytes = match changed {
            _ if wrapped || changed >> 21 != 0 => 4,
            _ if changed >> 14 != 0 => 3,
            _ if changed >> 7 != 0 => 2,
            _ => 1,
        };
        for n in 0..bytes {
            let more = if n + 1 < bytes { 0x80 } else { 0 };
            let bits = if n == 3 { now >> 21 & 0x1f } else { now >> (7 * n) & 0x7f };
            let wrap = if n == 3 { u32::from(wrapped) << 6 } else { 0 };
            packet.push((bits | wrap | more) as u8);
        }
        packet
    }

    /// Bits 26 to 47 of the global timestamp.
    pub(crate) fn global_timestamp2(high: u32) -> Self {
        let high = high & 0x3f_ffff;
        let seven = |n: u32| (high >> (7 * n)) as u8 & 0x7f | 0x80;
        Packet::new(0xb4, &[seven(0), seven(1), seven(2), (high >> 21) as u8])
    }

    /// Seven bits in each byte, with a mark where more follow; at least one byte.
    fn push_sevens(&mut self, value: u32, most: u32) {
        let bytes = (1..most).find(|n| value >> (7 * n) == 0).unwrap_or(most);
        for n in 0..bytes {
            let more = if n + 1 < bytes { 0x80 } else { 0 };
            self.push((value >> (7 * n)) as u8 & 0x7f | more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures of appendix D4, bit by bit.
    #[test]
    fn packets_are_those_of_the_manual() {
        let cases: [(Packet, &[u8]); 16] = [
            (Packet::software(0, 0x41, 1), &[0x01, 0x41]),
            (Packet::software(31, 0x1234, 2), &[0xfa, 0x34, 0x12]),
            (Packet::software(1, 0x1234_5678, 4), &[0x0b, 0x78, 0x56, 0x34, 0x12]),
            (Packet::pc_sample(0x0800_1234), &[0x17, 0x34, 0x12, 0x00, 0x08]),
            (Packet::SLEEP, &[0x15, 0]),
            (Packet::exception(15, Action::Enter), &[0x0e, 15, 0x10]),
            (Packet::exception(0x112, Action::Return), &[0x0e, 0x12, 0x31]),
            (Packet::counters(event::CYC), &[0x05, 0x20]),
            (Packet::data_pc(1, 0x0800_0000), &[0x57, 0, 0, 0, 8]),
            (Packet::data_address(2, 0x2000_1234), &[0x6e, 0x34, 0x12]),
            (Packet::data_value(0, true, 0x99, 1), &[0x8d, 0x99]),
            (Packet::data_value(3, false, 7, 4), &[0xb7, 7, 0, 0, 0]),
            (Packet::local_timestamp(6, 0), &[0x60]),
            (Packet::local_timestamp(200, 2), &[0xe0, 0xc8, 0x01]),
            (Packet::global_timestamp1(0x85, 0x05, false), &[0x94, 0x85, 0x01]),
            (Packet::global_timestamp2(1), &[0xb4, 0x81, 0x80, 0x80, 0]),
        ];
        for (packet, bytes) in cases {
            assert_eq!(packet.bytes(), bytes);
        }
        assert_eq!(Packet::global_timestamp1(0, 0, true).bytes(), [0x94, 0x80, 0x80, 0x80, 0x40]);
        assert_eq!(Packet::local_timestamp(0, 0).bytes(), [0xc0, 0]);
    }
}
