//! The trace port interface unit (DDI 0337 and DDI 0439, TPIU; DDI 0314H, chapter 8): from packets
//! to the bytes of a pin.
//!
//! Its clock is the core's, as on the STM32 and the other chips here. Bytes go out one by one with
//! a start and a stop bit; Manchester code, which lets up to eight bytes share them, is given the
//! same time.

use std::collections::VecDeque;

use super::fifo::Bytes;
use super::stamps::Line;
use crate::kernel::observe::Coding;

/// Bits of TPIU_FFCR.
mod ffcr {
    /// EnFCont: frames.
    pub(super) const CONTINUOUS: u32 = 1 << 1;
    pub(super) const WRITABLE: u32 = 0x142;
}

/// One start and one stop bit (DDI 0403E, C1.10.3).
const BITS_PER_BYTE: u64 = 10;

/// Bytes of a frame.
const FRAME: usize = 16;

/// A frame synchronisation, as a word of the pin's order.
const FRAME_SYNC: [u8; 4] = [0xff, 0xff, 0xff, 0x7f];

/// A byte that goes out at the pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) cycle: u64,
    /// Cycles of one bit.
    pub(crate) bit_cycles: u32,
    pub(crate) value: u8,
    pub(crate) coding: Coding,
}

/// The unit.
#[derive(Debug, Clone)]
pub(crate) struct Tpiu {
    /// ACPR: the clock is divided by one more.
    prescaler: u32,
    /// SPPR: 0 for the parallel port, 1 Manchester, 2 NRZ.
    protocol: u32,
    port_size: u32,
    format: u32,
    claims: u32,
    /// Whether the chip lets the pin out.
    pub(crate) pin_is_on: bool,
    frame: Frame,
    /// Whole frames and synchronisations on their way out.
    ready: VecDeque<u8>,
    /// When the byte that is going out is over.
    free_at: u64,
    busy_since: u64,
    /// Bytes went where no pin is.
    pub(crate) elsewhere: bool,
}

impl Default for Tpiu {
    fn default() -> Self {
        Tpiu {
            prescaler: 0,
            protocol: 1,
            port_size: 1,
            format: 0x102,
            claims: 0,
            pin_is_on: true,
            frame: Frame::default(),
            ready: VecDeque::new(),
            free_at: 0,
            busy_since: 0,
            elsewhere: false,
        }
    }
}

impl Tpiu {
    /// Reads a register; `None` where there is none.
    pub(crate) fn read(&self, offset: u32) -> Option<u32> {
        Some(match offset {
            // SSPSR: ports of one to four pins.
            0x000 => 0xf,
            0x004 => self.port_size,
            0x010 => self.prescaler,
            0x0f0 => self.protocol,
            // FFSR: the formatter cannot be stopped.
            0x300 => 8,
            0x304 => self.format,
            // TRIGGER, and integration registers.
            0x308 | 0xee8..=0xf00 => 0,
            0xfa0 => 0xf,
            0xfa4 => self.claims,
            0xfb0 | 0xfb4 | 0xfb8 => 0,
            // DEVID: NRZ and Manchester, a FIFO of four bytes, a clock of its own, one trace
            // source.
            0xfc8 => 0xca0,
            // DEVTYPE: a trace sink, trace port.
            0xfcc => 0x11,
            _ => return None,
        })
    }

    /// Writes a register; `None` where there is none.
    pub(crate) fn write(&mut self, offset: u32, value: u32) -> Option<()> {
        match offset {
            // One bit selects the size.
            0x004 if (value & 0xf).is_power_of_two() => self.port_size = value & 0xf,
            0x004 => {}
            0x010 => self.prescaler = value & 0xffff,
            0x0f0 => self.protocol = value & 3,
            0x304 => self.format = value & ffcr::WRITABLE,
            0xfa0 => self.claims |= value & 0xf,
            0xfa4 => self.claims &= !value,
            0x000 | 0x300 | 0x308 | 0xee8..=0xf00 | 0xfb0 | 0xfb4 | 0xfc8 | 0xfcc => {}
            _ => return None,
        }
        Some(())
    }

    /// The level of a pin that sends nothing: high as a serial port.
    pub(crate) fn idles_high(&self) -> bool {
        self.pin_is_on && self.protocol == 2
    }

    /// Bytes wait that nothing but time lets out.
    pub(crate) fn is_busy(&self) -> bool {
        !self.ready.is_empty() || !self.frame.is_empty()
    }

    /// Cycles of one bit.
    fn bit(&self) -> u64 {
        u64::from(self.prescaler) + 1
    }

    /// Cycles that a byte takes.
    fn byte_cycles(&self) -> u64 {
        match self.protocol {
            // Two edges of the clock, each with as many bits as there are pins.
            0 => (8 / u64::from(self.port_size.trailing_zeros() + 1)).max(1),
            _ => BITS_PER_BYTE * self.bit(),
        }
    }

    /// Frames are made: always for the parallel port, else if asked for.
    fn makes_frames(&self) -> bool {
        self.protocol == 0 || self.format & ffcr::CONTINUOUS != 0
    }

    /// What the ITM sees of the pin.
    pub(crate) fn line(&self, now: u64) -> Line {
        let busy_since = (now < self.free_at).then_some(self.busy_since);
        Line { bit: self.bit(), busy_since }
    }

    /// The DWT's heartbeat: an unfinished frame is filled up, and a frame synchronisation goes
    /// before the next.
    pub(crate) fn synchronise(&mut self) {
        if self.makes_frames() {
            self.ready.extend(self.frame.finish().into_iter().flatten());
            self.ready.extend(FRAME_SYNC);
        }
    }

    /// When the next byte can go out, from `now` on, if there is one. What fits into a frame is
    /// taken over meanwhile.
    pub(crate) fn next_start(&mut self, packets: &mut Bytes, stream: u8, now: u64) -> Option<u64> {
        let waits = if self.makes_frames() {
            while self.ready.len() < FRAME
                && let Some(byte) = packets.pop()
            {
                self.ready.extend(self.frame.push(stream, byte).into_iter().flatten());
            }
            self.is_busy()
        } else {
            self.is_busy() || !packets.is_empty()
        };
        waits.then_some(self.free_at.max(now))
    }

    /// Sends the next byte, which begins now; returns it if the pin shows it.
    pub(crate) fn send(&mut self, packets: &mut Bytes, now: u64) -> Option<Sent> {
        if self.ready.is_empty() {
            // Nothing more has come: what there is goes out now.
            self.ready.extend(self.frame.finish().into_iter().flatten());
        }
        let value = self.ready.pop_front().or_else(|| packets.pop())?;
        if now > self.free_at {
            self.busy_since = now;
        }
        self.free_at = now + self.byte_cycles();
        let coding = match self.protocol {
            1 => Coding::Manchester,
            2 => Coding::Nrz,
            _ => {
                self.elsewhere = true;
                return None;
            }
        };
        let bit_cycles = self.bit() as u32;
        self.pin_is_on.then_some(Sent { cycle: now, bit_cycles, value, coding })
    }
}

/// A frame under construction (DDI 0314H, 8.12): a stream's number where it changes, then its
/// bytes, of which the lowest bits of those at even places come in the last byte.
#[derive(Debug, Clone, Default)]
struct Frame {
    bytes: Vec<u8>,
    /// Whose bytes come next, unless a number changes it; it holds from frame to frame.
    stream: u8,
    /// The first byte is a number.
    begins_with_number: bool,
}

impl Frame {
    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Adds a byte; returns the frame that it completes, or that another stream has cut short.
    fn push(&mut self, stream: u8, byte: u8) -> Option<[u8; FRAME]> {
        let cut = if stream != self.stream { self.finish() } else { None };
        if self.is_empty() {
            self.begins_with_number = stream != self.stream;
            self.stream = stream;
            if self.begins_with_number {
                self.bytes.push(stream << 1 | 1);
            }
        }
        self.bytes.push(byte);
        if self.bytes.len() == FRAME - 1 { self.finish() } else { cut }
    }

    /// Ends the frame. An unfinished one is filled up with stream 0, which means nothing.
    fn finish(&mut self) -> Option<[u8; FRAME]> {
        let length = self.bytes.len();
        if length == 0 {
            return None;
        }
        let mut frame = [0; FRAME];
        frame[..length].copy_from_slice(&self.bytes);
        self.bytes.clear();
        if length < FRAME - 1 {
            self.stream = 0;
        }
        let first = if self.begins_with_number { 2 } else { 0 };
        for at in (first..FRAME - 1).step_by(2) {
            if at == length {
                // Stream 0 from here on.
                frame[at] = 1;
            } else if at + 1 == length && length < FRAME - 1 {
                // The last byte stands behind the change of stream, which is marked as belonging
                // before it.
                frame[at + 1] = frame[at];
                frame[at] = 1;
                frame[FRAME - 1] |= 1 << (at / 2);
            } else if at < length {
                frame[FRAME - 1] |= (frame[at] & 1) << (at / 2);
                frame[at] &= !1;
            }
        }
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::arm::trace::packet::Packet;

    fn nrz(prescaler: u32) -> Tpiu {
        let mut tpiu = Tpiu::default();
        for (offset, value) in [(0x10, prescaler), (0xf0, 2), (0x304, 0x100)] {
            tpiu.write(offset, value).expect("a register");
        }
        tpiu
    }

    #[test]
    fn a_byte_takes_ten_bits() {
        let (mut tpiu, mut packets) = (nrz(99), Bytes::default());
        packets.push(&Packet::software(0, 0x41, 1));
        assert_eq!(tpiu.next_start(&mut packets, 1, 7), Some(7));
        let first = tpiu.send(&mut packets, 7).expect("the pin is on");
        assert_eq!((first.value, first.bit_cycles, first.coding), (1, 100, Coding::Nrz));
        assert_eq!(tpiu.next_start(&mut packets, 1, 8), Some(1007));
    }

    /// The number stands where the stream changes and nowhere else.
    #[test]
    fn full_frames_follow_one_another() {
        let mut frame = Frame::default();
        let mut next = || (0..).find_map(|byte| frame.push(1, 2 * byte)).expect("some fill it");
        let (first, second) = (next(), next());
        assert_eq!((&first[..3], first[14], first[15]), (&[3, 0, 2][..], 26, 0));
        assert_eq!((&second[..3], second[14], second[15]), (&[0, 2, 4][..], 28, 0));
    }

    /// As a pin of an STM32F105 shows it (sigrok-dumps, trace/swo/stm32f105).
    #[test]
    fn frame_is_padded_at_once_if_nothing_follows() {
        let (mut tpiu, mut packets) = (nrz(0), Bytes::default());
        tpiu.write(0x304, 0x102).expect("FFCR");
        for begin in [0, 1000] {
            packets.push(&Packet::pc_sample(0x0800_0218));
            let mut sent = Vec::new();
            let mut now = begin;
            while let Some(start) = tpiu.next_start(&mut packets, 1, now) {
                now = start;
                sent.extend(tpiu.send(&mut packets, now).map(|sent| sent.value));
            }
            assert_eq!(now, begin + 150);
            assert_eq!(sent, [3, 0x17, 0x18, 2, 0, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
    }

    #[test]
    fn last_byte_may_follow_the_number_of_stream_0() {
        let mut frame = Frame::default();
        assert_eq!(frame.push(1, 0x55), None);
        assert_eq!(frame.finish().expect("a frame")[..4], [3, 0x55, 1, 0]);
        assert_eq!((frame.push(1, 0x55), frame.push(1, 0x77)), (None, None));
        let filled = frame.finish().expect("a frame");
        assert_eq!((&filled[..5], filled[15]), (&[3, 0x55, 1, 0x77, 0][..], 2));
    }

    /// Table 9-2 of DDI 0337I.
    #[test]
    fn registers_after_reset() {
        let tpiu = Tpiu::default();
        let values = [0, 4, 0x10, 0xf0, 0x300, 0x304, 0xfc8, 0xfcc].map(|at| tpiu.read(at));
        assert_eq!(values, [0xf, 1, 0, 1, 8, 0x102, 0xca0, 0x11].map(Some));
    }
}
