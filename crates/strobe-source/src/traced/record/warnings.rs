//! Warnings on the stream as a whole: what is not in it, and what should not be.

use crate::traced::totals::Traced;
use strobe_decode::swo::reader::Reader;
use strobe_model::measurement::Finding;
use strobe_symbols::Firmware;

use super::super::{Accumulator, Settings, gaps, windows};
use super::NONSENSE_PERCENT;

impl Accumulator {
    /// What is known before anything has a name; `without_pin` if the bytes came another way.
    pub(super) fn stream_warnings(
        &self,
        traced: &Traced,
        without_pin: bool,
        reader: Option<&Reader>,
        firmware: Option<&Firmware>,
        settings: &Settings,
    ) -> Vec<Finding> {
        // Instruction trace makes sense, though not here.
        let is_trace = reader.is_some_and(|reader| reader.instructions().is_some());
        let nonsense = nonsense(traced).filter(|_| !is_trace);
        let doubtful = nonsense.or_else(|| nothing(traced, without_pin));
        let mut warnings = settings.warnings.clone();
        warnings.extend(reader.and_then(instructions));
        warnings.extend(reader.and_then(other_streams));
        let symbols = firmware.map(Firmware::warnings).unwrap_or_default().iter();
        warnings.extend(symbols.map(|w| Finding::warning("debug-information", w.to_string())));
        warnings.extend(doubtful);
        let still = self.frames.as_ref().is_some_and(|(frames, _)| frames.clock_stands_still());
        warnings.extend(still.then(clock_stands_still));
        warnings.extend(traced.window.iter().flat_map(windows::warnings));
        let alone = reader.filter(|reader| self.signs(reader) == 0);
        let alone = alone.map_or(0, |_| self.too_long(settings).alone);
        warnings.extend(gaps::pauses(traced, alone));
        warnings
    }
}

/// Warns if there is nothing in a recording.
fn nothing(traced: &Traced, without_pin: bool) -> Option<Finding> {
    let text = if without_pin {
        "the recording holds nothing: did the firmware run, and send anything this way?"
    } else {
        "the recording holds nothing of the pin: was it wired and routed, and the bit rate that of \
         the core's clock then?"
    };
    let is_nothing = traced.recording.is_some() && traced.is_empty();
    is_nothing.then(|| Finding::warning("empty-recording", text))
}

/// Warns if there is instruction trace, which is not read.
fn instructions(reader: &Reader) -> Option<Finding> {
    let streams: Vec<String> = reader.instruction_streams().map(|n| n.to_string()).collect();
    let what = match (reader.instructions(), streams.len()) {
        (Some(_), _) => "the stream is".to_owned(),
        (None, 0) => return None,
        (None, 1) => format!("stream {} is", streams[0]),
        (None, _) => format!("streams {} are", streams.join(", ")),
    };
    let text = format!(
        "{what} instruction trace of an ETM, which strobe does not read; it reads the packets of \
         ITM and DWT"
    );
    Some(Finding::warning("instruction-trace", text))
}

/// Warns if there are packets of another source, which are not read.
fn other_streams(reader: &Reader) -> Option<Finding> {
    let streams: Vec<String> = reader.other_packet_streams().map(|n| n.to_string()).collect();
    let first = streams.first()?;
    let s = if streams.len() == 1 { "" } else { "s" };
    let all = streams.join(", ");
    let text = format!(
        "packets of ITM and DWT seem to be in stream{s} {all} as well, which no figure has: \
         --frames {first} reports that one instead"
    );
    Some(Finding::warning("other-stream", text))
}

/// Notes what records without time mean.
fn clock_stands_still() -> Finding {
    let text = "the clock of the records stands still, so no time is known: was STROBE_START \
                called, and does STROBE_TRACE_CLOCK count?";
    Finding::warning("clock-stands-still", text)
}

/// Warns if the stream is mostly not what it should be.
fn nonsense(traced: &Traced) -> Option<Finding> {
    let percent = traced.nonsense_percent();
    let text = format!(
        "{percent} % of the bytes belong to no packet: this is hardly what a trace pin sent. Is \
         the baud rate right, does the core's clock \
         change after reset, are there frames around the packets (--frames)?"
    );
    (percent >= NONSENSE_PERCENT).then(|| Finding::warning("not-a-trace", text))
}
