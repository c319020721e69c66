//! Formats: `postcard` with COBS framing and `crc`, telemetry over a noisy line.

use crate::data::{Stream, hex};
use core::fmt::{self, Write};
use crc::{CRC_16_IBM_SDLC, CRC_32_ISCSI, CRC_64_XZ, Crc};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Message<'a> {
    Hello { name: &'a str, version: (u8, u8) },
    Samples([i16; 12]),
    Fault { code: u32, at: u64, context: Option<f32> },
}

/// The check values of three catalogue entries, then 150 frames of which every seventh arrives
/// damaged.
pub fn work(out: &mut dyn Write) -> fmt::Result {
    let crc = Crc::<u32>::new(&CRC_32_ISCSI);
    writeln!(out, "crc-16 {:04x}", Crc::<u16>::new(&CRC_16_IBM_SDLC).checksum(b"123456789"))?;
    writeln!(out, "crc-32 {:08x}", crc.checksum(b"123456789"))?;
    writeln!(out, "crc-64 {:016x}", Crc::<u64>::new(&CRC_64_XZ).checksum(b"123456789"))?;

    let mut stream = Stream::new(0xf4a3e);
    let (mut good, mut refused) = (0, 0);
    for turn in 0..150 {
        let message = message(turn, &mut stream);
        let mut packed = [0; 64];
        let packed = postcard::to_slice_crc32(&message, &mut packed, crc.digest())
            .map_err(|_| fmt::Error)?;
        let mut frame = [0; 72];
        let frame = postcard::to_slice_cobs(&&packed[..], &mut frame).map_err(|_| fmt::Error)?;
        if turn < 3 {
            hex(out, "frame", frame)?;
        }
        if turn % 7 == 6 {
            let place = stream.word() as usize % (frame.len() - 1);
            frame[place] ^= 0x10;
        }
        let arrived = postcard::from_bytes_cobs::<&[u8]>(frame).ok();
        match arrived.map(|bytes| postcard::from_bytes_crc32::<Message<'_>>(bytes, crc.digest())) {
            Some(Ok(same)) if same == message => good += 1,
            _ => refused += 1,
        }
    }
    writeln!(out, "{good} arrived, {refused} refused")
}

fn message(turn: u32, stream: &mut Stream) -> Message<'static> {
    match turn % 3 {
        0 => Message::Hello { name: "north tower", version: (1, turn as u8) },
        1 => Message::Samples(core::array::from_fn(|_| (stream.word() >> 20) as i16 - 2048)),
        _ => Message::Fault {
            code: stream.word(),
            at: u64::from(turn) << 33,
            context: turn.is_multiple_of(2).then_some(turn as f32 / 8.0),
        },
    }
}
