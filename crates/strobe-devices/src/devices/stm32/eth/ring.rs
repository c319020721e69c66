//! The rings of descriptors in memory by which the MAC's DMA and the firmware hand frames to each
//! other (RM0090 33.6.7 and 33.6.8).
//!
//! Knows neither registers nor time: reads and writes memory through the context and returns what
//! it found.

use crate::devices::common::register::bit;
use strobe_sim::kernel::device::{Context, Size};
use strobe_sim::kernel::memory::BusFault;

/// Word 0 of either kind of descriptor.
pub(super) const OWN: u32 = 31;

/// Bits of a transmit descriptor's word 0.
pub(super) mod tdes0 {
    pub(crate) const IC: u32 = 30;
    pub(crate) const LS: u32 = 29;
    pub(crate) const FS: u32 = 28;
    pub(crate) const DP: u32 = 26;
    pub(crate) const CIC: u32 = 22;
    pub(crate) const TER: u32 = 21;
    pub(crate) const TCH: u32 = 20;
}

/// Bits of a receive descriptor's words 0 and 1.
mod rdes {
    pub(super) const FL: u32 = 16;
    pub(super) const ES: u32 = 15;
    /// The frame did not fit into the descriptors there were.
    pub(super) const DE: u32 = 14;
    pub(super) const FS: u32 = 9;
    pub(super) const LS: u32 = 8;
    pub(super) const DIC: u32 = 31;
    pub(super) const RER: u32 = 15;
    pub(super) const RCH: u32 = 14;
}

/// Descriptors and bytes that one frame may have: chains can be endless, frames not.
const MAX_DESCRIPTORS: usize = 256;
const MAX_FRAME: usize = 1 << 14;

/// Where descriptors are: the head of the list and the distance between them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ring {
    pub(super) head: u32,
    /// The descriptor to look at next.
    pub(super) at: u32,
    /// Bytes from one to the next unless they are chained.
    pub(super) stride: u32,
}

/// A descriptor's four words.
#[derive(Debug, Clone, Copy)]
struct Descriptor {
    at: u32,
    words: [u32; 4],
}

impl Ring {
    pub(super) fn new(head: u32, stride: u32) -> Self {
        Ring { head, at: head, stride }
    }

    fn read(&self, cx: &mut Context) -> Result<Descriptor, BusFault> {
        let mut words = [0; 4];
        for (address, word) in (self.at & !3..).step_by(4).zip(&mut words) {
            *word = cx.master_read(address, Size::Word)?;
        }
        Ok(Descriptor { at: self.at & !3, words })
    }

    fn advance(&mut self, end: bool, chained: Option<u32>) {
        self.at = match (end, chained) {
            (true, _) => self.head,
            (_, Some(next)) => next,
            _ => self.at.wrapping_add(self.stride),
        };
    }
}

impl Descriptor {
    /// The two buffers: (address, length); a chained descriptor has one.
    fn buffers(&self, chained: bool) -> [(u32, u32); 2] {
        let [_, sizes, first, second] = self.words;
        [(first, sizes & 0x1fff), (second, if chained { 0 } else { sizes >> 16 & 0x1fff })]
    }

    fn finish(&self, word0: u32, cx: &mut Context) -> Result<(), BusFault> {
        cx.master_write(self.at, Size::Word, word0 & !(1 << OWN))
    }
}

/// A frame that firmware wants sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outgoing {
    pub(super) bytes: Vec<u8>,
    /// Addresses and words 0 of its descriptors, to be handed back when it has been sent.
    descriptors: Vec<(u32, u32)>,
}

impl Outgoing {
    /// Word 0 of the descriptor that ends the frame.
    pub(super) fn last(&self) -> u32 {
        self.descriptors.last().map_or(0, |d| d.1)
    }

    /// Gives the descriptors back to the firmware.
    pub(super) fn hand_back(&self, cx: &mut Context) -> Result<(), BusFault> {
        for &(at, word0) in &self.descriptors {
            Descriptor { at, words: [0; 4] }.finish(word0, cx)?;
        }
        Ok(())
    }
}

/// What the transmit ring holds.
pub(super) enum Fetched {
    /// The next descriptor is the firmware's.
    Nothing,
    Frame(Outgoing),
    /// A frame without end.
    Endless,
}

/// Takes the next frame from the transmit ring.
pub(super) fn fetch(ring: &mut Ring, cx: &mut Context) -> Result<Fetched, BusFault> {
    let mut frame = Outgoing { bytes: Vec::new(), descriptors: Vec::new() };
    for _ in 0..MAX_DESCRIPTORS {
        let descriptor = ring.read(cx)?;
        let word0 = descriptor.words[0];
        if !bit(word0, OWN) {
            return Ok(Fetched::Nothing);
        }
        let chained = bit(word0, tdes0::TCH);
        if bit(word0, tdes0::FS) {
            frame.bytes.clear();
        }
        for (address, length) in descriptor.buffers(chained) {
            read_bytes(address, length, &mut frame.bytes, cx)?;
        }
        frame.descriptors.push((descriptor.at, word0));
        ring.advance(bit(word0, tdes0::TER), chained.then_some(descriptor.words[3]));
        if bit(word0, tdes0::LS) {
            return Ok(Fetched::Frame(frame));
        }
        if frame.bytes.len() > MAX_FRAME {
            break;
        }
    }
    Ok(Fetched::Endless)
}

fn read_bytes(from: u32, length: u32, to: &mut Vec<u8>, cx: &mut Context) -> Result<(), BusFault> {
    for i in 0..length {
        to.push(cx.master_read(from.wrapping_add(i), Size::Byte)? as u8);
    }
    Ok(())
}

/// Puts a frame (with its check sequence) into the receive ring. `None` if the next descriptor is
/// the firmware's; else whether an interrupt is wanted. `status` goes into the last descriptor.
pub(super) fn store(
    ring: &mut Ring,
    frame: &[u8],
    status: u32,
    cx: &mut Context,
) -> Result<Option<bool>, BusFault> {
    let mut rest = frame;
    for count in 0..MAX_DESCRIPTORS {
        let descriptor = ring.read(cx)?;
        if !bit(descriptor.words[0], OWN) && count == 0 {
            return Ok(None);
        }
        let word1 = descriptor.words[1];
        let chained = bit(word1, rdes::RCH);
        for (address, length) in descriptor.buffers(chained) {
            let (now, later) = rest.split_at(rest.len().min(length as usize));
            for (at, &byte) in (0u32..).zip(now) {
                cx.master_write(address.wrapping_add(at), Size::Byte, byte.into())?;
            }
            rest = later;
        }
        let after = next(*ring, &descriptor);
        // Only a frame that needs it looks at the next descriptor.
        let wanted = !rest.is_empty() && count + 1 < MAX_DESCRIPTORS;
        let more = wanted && bit(after.read(cx)?.words[0], OWN);
        let first = if count == 0 { 1 << rdes::FS } else { 0 };
        ring.at = after.at;
        if !more {
            let cut = if rest.is_empty() { 0 } else { 1 << rdes::DE | 1 << rdes::ES };
            let length = (frame.len() as u32) << rdes::FL;
            descriptor.finish(length | first | 1 << rdes::LS | status | cut, cx)?;
            return Ok(Some(!bit(word1, rdes::DIC)));
        }
        descriptor.finish(first, cx)?;
    }
    Ok(None)
}

fn next(mut ring: Ring, descriptor: &Descriptor) -> Ring {
    let word1 = descriptor.words[1];
    let chained = bit(word1, rdes::RCH).then_some(descriptor.words[3]);
    ring.advance(bit(word1, rdes::RER), chained);
    ring
}
