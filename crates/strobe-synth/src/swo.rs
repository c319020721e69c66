//! Trace streams as hardware sends them: packets of ITM and DWT (ARMv7-M D4), TPIU frames (IHI 0029
//! D4).
//!
//! This shares nothing with the decoders: it encodes each packet from its description in the
//! manual.

use crate::rng::Rng;

/// A stream under construction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stream {
    /// The bytes so far.
    pub bytes: Vec<u8>,
}

impl Stream {
    /// An empty stream.
    pub fn new() -> Self {
        Stream::default()
    }

    /// 47 zero bits and a one.
    pub fn sync(&mut self) -> &mut Self {
        self.put(&[0, 0, 0, 0, 0, 0x80])
    }

    /// An overflow packet.
    pub fn overflow(&mut self) -> &mut Self {
        self.put(&[0b0111_0000])
    }

    /// A write of 1, 2 or 4 bytes to a stimulus port of the present page, 0 to 31.
    pub fn instrumentation(&mut self, port: u8, data: &[u8]) -> &mut Self {
        self.source(port << 3, data)
    }

    /// The page of stimulus ports, 0 to 7.
    pub fn page(&mut self, page: u8) -> &mut Self {
        self.put(&[page << 4 | 0b1000])
    }

    /// A local timestamp; one of 1 to 6 ticks that is synchronous (relation 0) takes the short
    /// form.
    pub fn local_timestamp(&mut self, ticks: u32, relation: u8) -> &mut Self {
        if relation == 0 && (1..=6).contains(&ticks) {
            return self.put(&[(ticks as u8) << 4]);
        }
        self.put(&[0b1100_0000 | relation << 4]);
        self.continued(u64::from(ticks), 4)
    }

    /// The low 26 bits of the global timestamp, all of them.
    pub fn global_timestamp1(&mut self, low: u32, wrapped: bool, clock_changed: bool) -> &mut Self {
        let last = (low >> 21) as u8 & 0x1f | u8::from(clock_changed) << 5 | u8::from(wrapped) << 6;
        let seven = |n: u32| (low >> (7 * n)) as u8 & 0x7f | 0x80;
        self.put(&[0x94, seven(0), seven(1), seven(2), last])
    }

    /// The high bits, 22 or 38 of them.
    pub fn global_timestamp2(&mut self, high: u64, wide: bool) -> &mut Self {
        let bytes = if wide { 6 } else { 4 };
        self.put(&[0xb4]);
        for n in 0..bytes {
            let more = if n + 1 < bytes { 0x80 } else { 0 };
            self.put(&[(high >> (7 * n)) as u8 & 0x7f | more]);
        }
        self
    }

    /// A sample of the program counter.
    pub fn pc_sample(&mut self, pc: u32) -> &mut Self {
        self.hardware(2, &pc.to_le_bytes())
    }

    /// A sample while the core is asleep.
    pub fn sleep(&mut self) -> &mut Self {
        self.hardware(2, &[0])
    }

    /// An exception: `action` is 1 entered, 2 exited, 3 returned.
    pub fn exception(&mut self, number: u16, action: u8) -> &mut Self {
        let word = number & 0x1ff | u16::from(action) << 12;
        self.hardware(1, &word.to_le_bytes())
    }

    /// Event counters that have wrapped.
    pub fn event_counters(&mut self, bits: u8) -> &mut Self {
        self.hardware(0, &[bits])
    }

    /// The data value of a comparator match.
    pub fn data_value(&mut self, comparator: u8, write: bool, data: &[u8]) -> &mut Self {
        self.hardware(0b10000 | comparator << 1 | u8::from(write), data)
    }

    /// The instruction address of a comparator match.
    pub fn data_pc(&mut self, comparator: u8, pc: u32) -> &mut Self {
        self.hardware(0b01000 | comparator << 1, &pc.to_le_bytes())
    }

    /// The low half of the data address of a comparator match.
    pub fn data_address(&mut self, comparator: u8, low: u16) -> &mut Self {
        self.hardware(0b01001 | comparator << 1, &low.to_le_bytes())
    }

    /// A packet of the DWT: discriminator 0 to 31, with 1, 2 or 4 bytes.
    pub fn hardware(&mut self, id: u8, data: &[u8]) -> &mut Self {
        self.source(id << 3 | 0b100, data)
    }

    fn source(&mut self, header: u8, data: &[u8]) -> &mut Self {
        let size = match data.len() {
            1 => 1,
            2 => 2,
            4 => 3,
            n => panic!("no packet has {n} bytes"),
        };
        self.put(&[header | size]).put(data)
    }

    fn continued(&mut self, value: u64, most: u32) -> &mut Self {
        let bytes = (1..most).find(|n| value >> (7 * n) == 0).unwrap_or(most);
        for n in 0..bytes {
            let more = if n + 1 < bytes { 0x80 } else { 0 };
            self.put(&[(value >> (7 * n)) as u8 & 0x7f | more]);
        }
        self
    }

    fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }
}

/// The output of a profiled firmware: so many packets of samples, timestamps, exceptions, text and
/// occasional synchronisation.
pub fn mixed(packets: usize, seed: u64) -> Stream {
    let mut rng = Rng::new(seed);
    let mut stream = Stream::new();
    stream.sync();
    for n in 0..packets {
        match rng.below(100) {
            0..=42 => stream.pc_sample(0x0800_0000 | rng.below(0x4_0000) & !1),
            43..=81 => stream.local_timestamp(
                {
                    let bits = 7 * (1 + rng.below(3));
                    rng.below(1 << bits)
                },
                0,
            ),
            82..=91 => stream.exception(15 + rng.below(40) as u16, 1 + rng.below(3) as u8),
            92..=97 => stream.instrumentation(0, &[b' ' + rng.below(90) as u8]),
            98 => stream.sleep(),
            _ => stream.data_value(0, true, &rng.next_u32().to_le_bytes()),
        };
        if n % 6000 == 0 {
            stream.sync();
        }
    }
    stream
}

/// Instruction trace of an ETM of version 3 (IHI 0014): P-headers, branches, and a synchronisation
/// with an address now and then.
pub fn etm(packets: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut out = Vec::new();
    for n in 0..packets {
        if n % 300 == 0 {
            out.extend([0, 0, 0, 0, 0, 0x80, 0x08, 0x21]);
            out.extend((0x0800_0001 | rng.below(1 << 16)).to_le_bytes());
        }
        match rng.below(10) {
            0..=6 => out.push(0x80 | (1 + rng.below(0x1f) as u8) << 2),
            7 => out.push((rng.below(64) << 1) as u8 | 1),
            _ => out.extend([rng.below(128) as u8 | 0x81, rng.below(64) as u8]),
        }
    }
    out
}

/// The same of version 4 (IHI 0064): atoms, addresses, synchronisations with trace info.
pub fn etm4(packets: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut out = Vec::new();
    for n in 0..packets {
        if n % 300 == 0 {
            out.extend([0; 11]);
            out.extend([0x80, 0x01, 0x01, 0x00, 0x9d]);
            out.extend((0x0800_0000 | rng.below(1 << 16)).to_le_bytes());
        }
        match rng.below(10) {
            0..=7 => out.push(0xf6 + rng.below(2) as u8),
            _ => out.extend([0x95, 1 + rng.below(127) as u8]),
        }
    }
    out
}

/// The frames of a trace port's formatter: (stream, bytes), with a synchronisation before every
/// `every` frames. The last is padded with stream 0. A stream's number comes where the source
/// changes and nowhere else, as from a Cortex-M3 or M4.
pub fn frames(parts: &[(u8, Vec<u8>)], every: usize) -> Vec<u8> {
    frames_of(parts, every, usize::MAX)
}

/// The same from a formatter that repeats the number of a source in every eighth frame (CoreSight
/// TPIU, DDI 0314H 8.12.1).
pub fn frames_with_repeats(parts: &[(u8, Vec<u8>)], every: usize) -> Vec<u8> {
    frames_of(parts, every, 8)
}

fn frames_of(parts: &[(u8, Vec<u8>)], every: usize, repeat: usize) -> Vec<u8> {
    let all: Vec<(u8, u8)> = parts
        .iter()
        .flat_map(|(stream, bytes)| bytes.iter().map(|&byte| (*stream, byte)))
        .collect();
    let mut out = Vec::new();
    let (mut at, mut now, mut count) = (0, None, 0);
    while at < all.len() {
        if count % every == 0 {
            out.extend([0xff, 0xff, 0xff, 0x7f]);
        }
        if count % repeat == 0 {
            now = None;
        }
        count += 1;
        out.extend(frame(&all, &mut at, &mut now));
    }
    out
}

/// The frame with the bytes from `at` on; `now` is the current stream.
fn frame(all: &[(u8, u8)], at: &mut usize, now: &mut Option<u8>) -> [u8; 16] {
    let get = |at: usize| all.get(at).copied().unwrap_or((0, 0));
    let mut frame = [0; 16];
    for pair in 0..8 {
        let (even, odd) = (2 * pair, 2 * pair + 1);
        let (stream, byte) = get(*at);
        if *now != Some(stream) {
            frame[even] = stream << 1 | 1;
            *now = Some(stream);
            if pair < 7 {
                frame[odd] = byte;
                *at += 1;
            }
            continue;
        }
        let (after, second) = get(*at + 1);
        *at += 1;
        if pair < 7 && after != stream {
            // The number of the new stream is first, with the flag that the old one has one more
            // byte.
            frame[even] = after << 1 | 1;
            frame[15] |= 1 << pair;
            frame[odd] = byte;
            *now = Some(after);
            continue;
        }
        frame[even] = byte & !1;
        frame[15] |= (byte & 1) << pair;
        if pair < 7 {
            frame[odd] = second;
            *at += 1;
        }
    }
    frame
}
