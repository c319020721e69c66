//! Checksums that the MAC inserts and checks (RM0090 33.5.3): IPv4 header, TCP, UDP and ICMP; and
//! the frame's own.

/// Ethernet header without VLAN tag.
const HEADER: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];

/// One's complement sum (RFC 1071), folded, of bytes in pairs.
fn sum(bytes: &[u8], start: u32) -> u16 {
    let words =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&b| b.into()));
    let mut total = words.fold(u64::from(start), |all, word| all + u64::from(word));
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    total as u16
}

/// Where the parts of an IPv4 frame are.
struct Layout {
    /// The IP header, then its payload.
    header: std::ops::Range<usize>,
    payload: std::ops::Range<usize>,
    protocol: u8,
    fragment: bool,
}

/// `None` unless the frame holds a whole IPv4 packet.
fn layout(frame: &[u8]) -> Option<Layout> {
    if frame.get(12..14)? != IPV4 || frame.get(HEADER)? >> 4 != 4 {
        return None;
    }
    let field = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let length = usize::from(frame[HEADER] & 0xf) * 4;
    let total = usize::from(field(HEADER + 2)?);
    let fits = length >= 20 && total >= length && HEADER + total <= frame.len();
    fits.then_some(Layout {
        header: HEADER..HEADER + length,
        payload: HEADER + length..HEADER + total,
        protocol: frame[HEADER + 9],
        fragment: field(HEADER + 6)? & 0x3fff != 0,
    })
}

impl Layout {
    /// Where in the payload the protocol has its checksum.
    fn place(&self) -> Option<usize> {
        let at = match self.protocol {
            1 => 2,
            6 => 16,
            17 => 6,
            _ => return None,
        };
        (!self.fragment && at + 2 <= self.payload.len()).then_some(self.payload.start + at)
    }

    /// The pseudo header's part of the sum; ICMP has none.
    fn pseudo(&self, frame: &[u8]) -> u32 {
        if self.protocol == 1 {
            return 0;
        }
        let addresses = sum(&frame[self.header.start + 12..self.header.start + 20], 0);
        u32::from(addresses) + u32::from(self.protocol) + self.payload.len() as u32
    }
}

/// What TDES0.CIC asks for: 1 the header's, 2 the payload's with what software has put in its
/// place, 3 all.
pub(super) fn insert(frame: &mut [u8], cic: u32) {
    let Some(parts) = layout(frame).filter(|_| cic > 0) else { return };
    let at = parts.header.start + 10;
    frame[at..at + 2].fill(0);
    let header = !sum(&frame[parts.header.clone()], 0);
    frame[at..at + 2].copy_from_slice(&header.to_be_bytes());
    let Some(at) = parts.place().filter(|_| cic > 1) else { return };
    if cic == 3 {
        frame[at..at + 2].fill(0);
    }
    let start = if cic == 3 { parts.pseudo(frame) } else { 0 };
    let checksum = match !sum(&frame[parts.payload.clone()], start) {
        // RFC 768: zero means that there is none.
        0 if parts.protocol == 17 => 0xffff,
        checksum => checksum,
    };
    frame[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// Whether the header's and the payload's checksums are wrong.
pub(super) fn errors(frame: &[u8]) -> (bool, bool) {
    let Some(parts) = layout(frame) else { return (false, false) };
    let header = sum(&frame[parts.header.clone()], 0) != 0xffff;
    let absent = |at: usize| parts.protocol == 17 && frame[at..at + 2] == [0, 0];
    let payload = parts.place().is_some_and(|at| {
        !absent(at) && sum(&frame[parts.payload.clone()], parts.pseudo(frame)) != 0xffff
    });
    (header, payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UDP packet of RFC 1071's rules, with the checksums left out.
    fn packet(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend(IPV4);
        let total = 20 + payload.len() as u8;
        frame.extend([
            0x45, 0, 0, total, 0, 0, 0x40, 0, 0x40, protocol, 0, 0, 192, 168, 0, 1, 192, 168, 0,
            199,
        ]);
        frame.extend(payload);
        frame
    }

    /// The header of the worked example that textbooks have: 192.168.0.1 to 192.168.0.199, 0xb861.
    #[test]
    fn header_as_in_the_textbook() {
        let mut frame = packet(17, &[0; 95]);
        insert(&mut frame, 1);
        assert_eq!(frame[24..26], [0xb8, 0x61]);
        assert_eq!(errors(&frame), (false, false), "no UDP checksum");
        frame[22] -= 1;
        assert_eq!(errors(&frame), (true, false));
    }

    #[test]
    fn payloads_are_covered_with_their_pseudo_header() {
        for (protocol, at) in [(1, 2), (6, 16), (17, 6)] {
            let mut payload: Vec<u8> = (1..30).collect();
            payload[at] = 0x55;
            let mut frame = packet(protocol, &payload);
            assert_eq!(errors(&frame), (true, true));
            insert(&mut frame, 3);
            assert_eq!(errors(&frame), (false, false));
            frame[34 + 20] ^= 1;
            assert_eq!(errors(&frame), (false, true));
        }
    }

    #[test]
    fn non_ipv4_frames_are_unchanged() {
        for mut frame in [vec![], vec![0; 60], packet(17, &[0; 3])] {
            let before = frame.clone();
            insert(&mut frame[..], 0);
            assert_eq!(frame, before);
            assert!(errors(&frame) != (true, true));
        }
        let mut short = packet(6, &[0; 40]);
        short.truncate(30);
        insert(&mut short, 3);
        assert_eq!(errors(&short), (false, false));
    }
}
