//! Finds packets in the bytes of ITM and DWT.
//!
//! Packets have no end marks, so one wrong byte can make the next few look like other packets.
//! After a byte that begins no packet the decoder continues with the next one, and is back in step
//! after a few. Synchronisation packets have a unique pattern and are found even where a wrong
//! packet has consumed a part of them. Everything between an undecodable byte and the next
//! synchronisation is counted as in doubt.

use super::length::{AHEAD, BLOCK, lengths};
use super::packet::{EXCEPTION, GTS1, GTS2, OVERFLOW, PC_SLEEP, Packet, Raw, SYNC};

/// Receives packets.
pub trait Sink {
    /// A packet.
    fn packet(&mut self, raw: Raw);
    /// A run of bytes that belong to no packet.
    fn undecodable(&mut self, at: u64, bytes: u64);
}

/// Zero bytes at the beginning of a synchronisation packet: 47 zero bits, of which seven are in its
/// last byte.
const SYNC_ZEROS: u64 = 5;
const SYNC_END: u8 = 0x80;

/// Length of the longest packet.
const LONGEST: usize = 7;

/// Classes of header bytes.
const PLAIN: u8 = 0;
/// The packet ends with the first byte whose continuation bit is clear.
const CONTINUED: u8 = 1;
/// The packet needs a closer look.
const SPECIAL: u8 = 2;

static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut all = [SPECIAL; 256];
    let mut header = 0;
    while header < 256 {
        all[header] = class(header as u8);
        header += 1;
    }
    all
}

const fn class(header: u8) -> u8 {
    let (size, id) = (header & 3, header >> 3);
    if size != 0 && header & 4 == 0 {
        return PLAIN;
    }
    if size != 0 {
        return match (id, size) {
            (0, 1) | (1, 2) | (2, 1 | 3) | (3, 1) | (16..=23, _) => PLAIN,
            (8..=15, 3) => PLAIN,
            (8..=15, _) if id & 1 == 1 => PLAIN,
            // The payload decides whether the packet exists.
            _ => SPECIAL,
        };
    }
    match header {
        0x10..=OVERFLOW if header & 0xf == 0 => PLAIN,
        0xc0..=0xff if header & 0xf == 0 => CONTINUED,
        GTS1 => CONTINUED,
        _ => SPECIAL,
    }
}

/// Mask of the bytes after a header, by the packet's length.
const MASKS: [u64; 8] =
    [0, 0, 0xff, 0xffff, 0xff_ffff, 0xffff_ffff, 0xff_ffff_ffff, 0xffff_ffff_ffff];

/// Statistics of the decoder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// All bytes.
    pub bytes: u64,
    /// Packets, synchronisation included.
    pub packets: u64,
    /// Bytes of packets.
    pub packet_bytes: u64,
    /// Extra zero bytes before those of a synchronisation packet.
    pub padding_bytes: u64,
    /// Undecodable bytes.
    pub undecodable_bytes: u64,
    /// Runs of undecodable bytes.
    pub disruptions: u64,
    /// Packets between undecodable bytes and the next synchronisation: they may be wrong.
    pub packets_in_doubt: u64,
}

/// A push decoder.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    /// The received part of an incomplete packet.
    held: [u8; LONGEST],
    held_count: usize,
    /// Zero bytes that may begin a synchronisation packet, and the number of zeros before them at
    /// the end of other packets.
    zeros: u64,
    zeros_before: u64,
    /// Zero bytes at the end of the decided bytes, up to the number that matters.
    last_zeros: u64,
    /// Undecodable bytes not yet reported.
    bad: u64,
    /// Their end.
    bad_end: u64,
    page: u8,
    in_doubt: bool,
    stats: Stats,
}

/// The classification of the bytes at a position.
enum Found {
    Packet,
    Nothing,
    /// More bytes are needed to decide.
    Unfinished,
}

impl Decoder {
    /// A decoder at the beginning of a stream.
    pub fn new() -> Self {
        Decoder::default()
    }

    /// Statistics so far. Bytes of an incomplete packet are in `bytes` only.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Decodes the next bytes of the stream.
    pub fn push<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) {
        let mut done = 0;
        while done < bytes.len() {
            done += self.decode_bytewise(&bytes[done..], AHEAD, sink);
            done += self.fast(&bytes[done..], sink);
        }
    }

    /// The end of the stream: held bytes are no packet.
    pub fn finish<S: Sink>(&mut self, sink: &mut S) {
        let left = self.held_count as u64 + std::mem::take(&mut self.zeros);
        self.held_count = 0;
        self.disrupt(left, self.stats.bytes);
        self.report(sink);
    }

    /// A gap: held bytes are no packet, and the next byte may be within one.
    pub fn gap<S: Sink>(&mut self, sink: &mut S) {
        self.finish(sink);
        self.last_zeros = 0;
        self.in_doubt = true;
    }

    /// Whether the fast path may continue: no bytes are held and none wait to be reported.
    fn is_clear(&self) -> bool {
        self.held_count == 0 && self.zeros == 0 && self.bad == 0
    }

    /// Decodes byte by byte until the fast path may continue and has more than `ahead` bytes before
    /// it, or until the end; returns the number of bytes consumed.
    fn decode_bytewise<S: Sink>(&mut self, bytes: &[u8], ahead: usize, sink: &mut S) -> usize {
        for (i, &byte) in bytes.iter().enumerate() {
            if self.is_clear() && bytes.len() - i > ahead {
                return i;
            }
            self.one(byte, sink);
        }
        bytes.len()
    }

    /// Decodes whole blocks; returns the number of bytes consumed.
    fn fast<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) -> usize {
        let mut table = [0; BLOCK];
        let mut done = 0;
        while self.is_clear() && bytes.len() - done > AHEAD {
            let n = (bytes.len() - done - AHEAD).min(BLOCK);
            lengths(&bytes[done..done + n + AHEAD], &mut table[..n]);
            done += self.block(&bytes[done..], &table[..n], sink);
        }
        done
    }

    /// Decodes the packets that begin in a block; returns the position reached.
    fn block<S: Sink>(&mut self, bytes: &[u8], lengths: &[u8], sink: &mut S) -> usize {
        let mut at = 0;
        while at < lengths.len() {
            at += self.plain(&bytes[at..], &lengths[at..], sink);
            if at < lengths.len() {
                // A special header: decode it and what depends on it.
                at += self.decode_special(&bytes[at..], sink);
                if !self.is_clear() {
                    break;
                }
            }
        }
        at
    }

    fn decode_special<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) -> usize {
        self.one(bytes[0], sink);
        1 + self.decode_bytewise(&bytes[1..], 0, sink)
    }

    /// Decodes packets that need no closer look; returns the position reached.
    fn plain<S: Sink>(&mut self, bytes: &[u8], lengths: &[u8], sink: &mut S) -> usize {
        let (base, page) = (self.stats.bytes, self.page);
        let (mut at, mut packets) = (0, 0);
        while let Some(&length) = lengths.get(at) {
            let Some(&[header, ref rest @ ..]) = bytes[at..].first_chunk::<9>() else { break };
            let word = u64::from_le_bytes(*rest);
            if is_special(header, word, length) {
                break;
            }
            let payload = word & MASKS[usize::from(length & 7)];
            sink.packet(Raw { at: base + at as u64, header, length, page, payload });
            packets += 1;
            at += usize::from(length);
        }
        self.stats.bytes += at as u64;
        self.stats.packets += packets;
        self.stats.packet_bytes += at as u64;
        if self.in_doubt {
            self.stats.packets_in_doubt += packets;
        }
        self.note_zeros(&bytes[..at]);
        at
    }

    /// Decodes one byte.
    fn one<S: Sink>(&mut self, byte: u8, sink: &mut S) {
        self.stats.bytes += 1;
        if self.zeros > 0 || self.held_count == 0 && byte == 0 {
            return self.zero_or_end(byte, sink);
        }
        self.held[self.held_count] = byte;
        self.held_count += 1;
        match begins(&self.held[..self.held_count]) {
            Found::Unfinished => {}
            Found::Packet => self.whole(sink),
            Found::Nothing => {
                // The first byte is no header; the others may be.
                let (held, count) = (self.held, std::mem::take(&mut self.held_count));
                self.stats.bytes -= count as u64 - 1;
                self.disrupt(1, self.stats.bytes);
                self.note_zeros(&held[..1]);
                held[1..count].iter().for_each(|&byte| self.one(byte, sink));
            }
        }
    }

    /// Holds an incomplete packet.
    fn whole<S: Sink>(&mut self, sink: &mut S) {
        self.report(sink);
        let (held, count) = (self.held, std::mem::take(&mut self.held_count));
        let mut payload = [0; 8];
        payload[..count - 1].copy_from_slice(&held[1..count]);
        let raw = Raw {
            at: self.stats.bytes - count as u64,
            header: held[0],
            length: count as u8,
            page: self.page,
            payload: u64::from_le_bytes(payload),
        };
        if let Some(Packet::Page(page)) = raw.packet() {
            self.page = page;
        }
        self.deliver(raw, count as u64, sink);
        self.note_zeros(&held[..count]);
    }

    fn deliver<S: Sink>(&mut self, raw: Raw, bytes: u64, sink: &mut S) {
        sink.packet(raw);
        self.stats.packets += 1;
        self.stats.packet_bytes += bytes;
        self.stats.packets_in_doubt += u64::from(self.in_doubt);
    }

    /// Handles a zero byte that may be part of a synchronisation, or the byte after the zeros.
    fn zero_or_end<S: Sink>(&mut self, byte: u8, sink: &mut S) {
        if byte == 0 {
            if self.zeros == 0 {
                self.zeros_before = self.last_zeros;
            }
            self.zeros += 1;
            return;
        }
        let zeros = std::mem::take(&mut self.zeros);
        if byte == SYNC_END && self.zeros_before + zeros >= SYNC_ZEROS {
            return self.synchronised(zeros, sink);
        }
        self.stats.bytes -= 1;
        self.disrupt(zeros, self.stats.bytes);
        self.last_zeros = (self.zeros_before + zeros).min(SYNC_ZEROS);
        self.one(byte, sink);
    }

    /// A synchronisation packet ends here, with `zeros` bytes of its own.
    fn synchronised<S: Sink>(&mut self, zeros: u64, sink: &mut S) {
        // A packet that has consumed a part of it was none.
        self.in_doubt |= zeros < SYNC_ZEROS;
        self.report(sink);
        let own = zeros.min(SYNC_ZEROS) + 1;
        self.stats.padding_bytes += zeros + 1 - own;
        let at = self.stats.bytes - own;
        self.page = 0;
        self.in_doubt = false;
        let raw = Raw { at, header: SYNC, length: own as u8, page: 0, payload: 0 };
        self.deliver(raw, own, sink);
        self.last_zeros = 0;
    }

    /// `bytes` bytes up to `end` belong to no packet.
    fn disrupt(&mut self, bytes: u64, end: u64) {
        if bytes > 0 {
            self.stats.disruptions += u64::from(self.bad == 0);
            self.bad += bytes;
            self.bad_end = end;
            self.stats.undecodable_bytes += bytes;
            self.in_doubt = true;
        }
    }

    /// Reports undecodable bytes.
    fn report<S: Sink>(&mut self, sink: &mut S) {
        let bad = std::mem::take(&mut self.bad);
        if bad > 0 {
            sink.undecodable(self.bad_end - bad, bad);
        }
    }

    /// Updates the count of trailing zero bytes.
    fn note_zeros(&mut self, bytes: &[u8]) {
        let zeros = bytes.iter().rev().take_while(|&&byte| byte == 0).count().min(5);
        let before = if zeros == bytes.len() { self.last_zeros } else { 0 };
        self.last_zeros = (before + zeros as u64).min(SYNC_ZEROS);
    }
}

/// Whether the packet that begins with `header` needs a closer look; `word` is what follows it.
#[inline(always)]
fn is_special(header: u8, word: u64, length: u8) -> bool {
    let end = word >> ((8 * u32::from(length)).wrapping_sub(9) & 63) & 1;
    let exception = header == EXCEPTION && word & 0x3000 == 0;
    let sleep = header == PC_SLEEP && (word as u8).wrapping_add(1) > 1;
    CLASS[usize::from(header)] + end as u8 >= SPECIAL || exception | sleep
}

/// Classifies these bytes, of which all but the last have been examined.
fn begins(bytes: &[u8]) -> Found {
    let (header, last) = (bytes[0], bytes[bytes.len() - 1]);
    let follow = bytes.len() - 1;
    if header & 3 != 0 {
        let size = [0, 1, 2, 4][usize::from(header & 3)];
        if header & 4 != 0 && !is_hardware(header) {
            return Found::Nothing;
        }
        if follow < size {
            return Found::Unfinished;
        }
        return whole_or_nothing(bytes);
    }
    let most = match header {
        GTS1 => 4,
        GTS2 => 6,
        _ if header & 8 != 0 && header & 0x80 != 0 => 4,
        _ if header & 8 != 0 => 0,
        _ if header & 0xf == 0 && header >= 0xc0 => 4,
        _ => return whole_or_nothing(bytes),
    };
    let ends = most == 0 || follow > 0 && last & 0x80 == 0;
    // Only the fourth byte of an extension has eight payload bits.
    let full = header & 8 != 0 && follow == 4;
    match () {
        () if ends || full => whole_or_nothing(bytes),
        () if follow < most => Found::Unfinished,
        () => Found::Nothing,
    }
}

fn whole_or_nothing(bytes: &[u8]) -> Found {
    let mut payload = [0; 8];
    payload[..bytes.len() - 1].copy_from_slice(&bytes[1..]);
    let payload = u64::from_le_bytes(payload);
    let raw = Raw { at: 0, header: bytes[0], length: bytes.len() as u8, page: 0, payload };
    if raw.packet().is_some() { Found::Packet } else { Found::Nothing }
}

/// Whether hardware sends packets with that header, whatever the payload.
fn is_hardware(header: u8) -> bool {
    matches!((header >> 3, header & 3), (0, 1) | (1, 2) | (2, 1 | 3) | (3, 1) | (8..=23, _))
}
