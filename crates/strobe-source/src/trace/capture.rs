//! A logic analyser's capture of the pin: its bytes, with what the line's errors cost.

use std::time::Duration;

use strobe_decode::bus::uart::{Event, Format, Uart};
use strobe_decode::capture::Capture;
use strobe_decode::container::Note;

use super::link::{Came, Error, Link};

/// A pin of a capture as a link; everything is there at once.
pub struct Captured {
    pieces: std::vec::IntoIter<Piece>,
}

enum Piece {
    Bytes(Vec<u8>),
    Note(Note),
}

impl Captured {
    /// Decodes a channel at that bit rate (NRZ).
    pub fn new(capture: &Capture, channel: usize, baud: u32) -> Result<Captured, Error> {
        let what = capture.channels[channel].name.clone();
        let (seconds, ticks) = capture.tick.fraction();
        let bit = ticks as f64 / seconds as f64 / f64::from(baud);
        if bit < 2.0 {
            let why = format!("{baud} baud is more than half the capture's clock");
            return Err(Error::open(what, why));
        }
        let mut pieces = Pieces::default();
        let channel = &capture.channels[channel];
        let mut uart = Uart::new(Format::default(), bit, channel.initial);
        for edge in &channel.edges {
            uart.push(edge.at(), edge.level(), &mut |event| pieces.take(event));
        }
        uart.finish(capture.end, &mut |event| pieces.take(event));
        pieces.line_errors();
        Ok(Captured { pieces: pieces.all.into_iter() })
    }
}

#[derive(Default)]
struct Pieces {
    all: Vec<Piece>,
    errors: u64,
}

impl Pieces {
    fn take(&mut self, event: Event) {
        match event {
            Event::Word(word) if !word.framing_error && !word.unknown => {
                self.line_errors();
                match self.all.last_mut() {
                    Some(Piece::Bytes(bytes)) => bytes.push(word.value as u8),
                    _ => self.all.push(Piece::Bytes(vec![word.value as u8])),
                }
            }
            Event::Word(_) | Event::Break { .. } | Event::CutShort { .. } => self.errors += 1,
            // A spike that no receiver would see.
            Event::Glitch { .. } => {}
        }
    }

    fn line_errors(&mut self) {
        let count = std::mem::take(&mut self.errors);
        if count > 0 {
            self.all.push(Piece::Note(Note::LineErrors { count }));
        }
    }
}

impl Link for Captured {
    fn read(&mut self, into: &mut Vec<u8>, _: Duration) -> Result<Came, Error> {
        match self.pieces.next() {
            Some(Piece::Bytes(bytes)) => {
                into.extend(bytes);
                Ok(Came::Bytes)
            }
            Some(Piece::Note(note)) => Ok(Came::Note(note)),
            None => Ok(Came::Ended),
        }
    }
}
