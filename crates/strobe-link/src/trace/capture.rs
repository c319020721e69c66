//! A logic analyser's capture of the pin as a link: the one decoder from its edges to the pin's
//! bytes.
//!
//! A byte without a valid stop bit, or with a level that nobody knows, is none: it is left out, and
//! the note in its place marks the gap, so that no frame or packet is read
//! across it. A line that is low all the time is a byte lost only between other bytes: before the
//! first and behind the last one the pin may just not be in use.

use std::time::Duration;

use strobe_decode::bus::baud;
use strobe_decode::bus::uart::{Event, Format, Uart};
use strobe_decode::capture::Capture;
use strobe_decode::container::Note;

use super::link::{Error, Link, ReadOutcome};
use super::pieces::Pieces;

/// Fewer samples to a bit than this and it cannot be decoded.
const FEWEST_SAMPLES: f64 = 2.0;
/// Fewer than this and it may be wrong.
const FEW_SAMPLES: f64 = 4.0;
/// How far the rate given may be from the one that the pulses have.
const OFF: f64 = 0.03;

/// A pin of a capture as a link; everything is there at once. Time is the capture's own.
pub struct Captured {
    notes: std::vec::IntoIter<String>,
    pieces: Pieces,
    elapsed: Duration,
    /// What is to be noted of the line at the end.
    last: std::vec::IntoIter<Note>,
}

impl Captured {
    /// Decodes a channel at that bit rate (NRZ), or at the one that its pulses have.
    ///
    /// # Errors
    /// If there is no rate, or the capture's clock is too slow for it.
    pub fn new(capture: &Capture, channel: usize, rate: Option<f64>) -> Result<Captured, Error> {
        let line = &capture.channels[channel];
        let measured = baud::estimate(capture, channel);
        let rate_used = rate.or(measured.as_ref().map(|measured| measured.used));
        let Some(baud) = rate_used.filter(|baud| *baud > 0.0) else {
            return Err(Error::open(&line.name, "it has too few pulses to find its bit rate"));
        };
        let bit = baud::bit_ticks(capture, baud);
        if bit < FEWEST_SAMPLES {
            let why = format!("{baud:.0} baud is more than half the capture's clock");
            return Err(Error::open(&line.name, why));
        }
        let mut notes = capture.notes.clone();
        let samples = 1e12 / baud / capture.resolution.ps(1) as f64;
        if samples < FEW_SAMPLES {
            notes.push(format!(
                "{}: {samples:.1} samples to a bit are too few to rely on; record with a faster \
                 clock",
                line.name
            ));
        }
        let pulses = measured.filter(|measured| measured.sure).and_then(|m| m.measured);
        if let Some(pulses) = pulses.filter(|pulses| (baud / pulses - 1.0).abs() > OFF) {
            notes.push(format!("{}: {baud:.0} baud, but the pulses have {pulses:.0}", line.name));
        }
        let mut words =
            Words { capture, pieces: Pieces::default(), any: false, held: 0, broken: 0 };
        let mut uart = Uart::new(Format::default(), bit, line.initial);
        for edge in &line.edges {
            uart.push(edge.at(), edge.level(), &mut |event| words.take(event));
        }
        uart.finish(capture.end, &mut |event| words.take(event));
        let Words { pieces, broken, .. } = words;
        let broken = (broken > 0).then(|| Note::Text {
            text: format!(
                "{broken} words of the line have no valid stop bit; is {baud:.0} baud right?"
            ),
        });
        let cut = capture.cut.then(|| Note::Gap { why: "times go back in the capture".to_owned() });
        let last: Vec<Note> = broken.into_iter().chain(cut).collect();
        let (notes, last) = (notes.into_iter(), last.into_iter());
        Ok(Captured { notes, pieces, elapsed: Duration::ZERO, last })
    }
}

/// Makes pieces of what is on the line.
struct Words<'a> {
    capture: &'a Capture,
    pieces: Pieces,
    any: bool,
    /// Breaks behind the last word.
    held: u64,
    broken: u64,
}

impl Words<'_> {
    fn take(&mut self, event: Event) {
        match event {
            Event::Word(word) => {
                let at = Duration::from_nanos(self.capture.ps(word.end) / 1000);
                let held = std::mem::take(&mut self.held);
                let byte = u8::try_from(word.value).ok();
                let sound = byte.filter(|_| !word.framing_error && !word.unknown);
                let damaged = held + u64::from(sound.is_none());
                if damaged > 0 {
                    self.broken += damaged;
                    self.pieces.damaged(damaged, at);
                }
                if let Some(byte) = sound {
                    self.pieces.byte(byte, at);
                }
                self.any = true;
            }
            // A zero whose stop bit is wrong looks like a break.
            Event::Break { .. } => self.held += u64::from(self.any),
            // A spike that no receiver would see; a word that the capture's end cuts.
            Event::Glitch { .. } | Event::CutShort { .. } => {}
        }
    }
}

impl Link for Captured {
    fn read(&mut self, into: &mut Vec<u8>, _: Duration) -> Result<ReadOutcome, Error> {
        if let Some(text) = self.notes.next() {
            return Ok(ReadOutcome::Note(Note::Text { text }));
        }
        let Some((came, at)) = self.pieces.next(into) else {
            return Ok(self.last.next().map_or(ReadOutcome::Ended, ReadOutcome::Note));
        };
        self.elapsed = at.max(self.elapsed);
        Ok(came)
    }

    fn elapsed(&self) -> Option<Duration> {
        Some(self.elapsed)
    }
}
