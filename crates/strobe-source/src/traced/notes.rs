//! What happened beside the bytes of a recording, with how often.

use strobe_decode::container::Note;
use strobe_model::number::hertz;

/// Whether bytes are missing where this stands.
pub fn breaks_off(note: &Note) -> bool {
    matches!(
        note,
        Note::Gap { .. } | Note::Overrun { .. } | Note::Reconnected | Note::LineErrors { .. }
    )
}

/// Notes by their text, with how often each came.
#[derive(Default, Clone)]
pub struct Notes(pub Vec<(String, u64)>);

impl Notes {
    /// Something without a note of its own.
    pub fn add(&mut self, text: &str) {
        self.add_times(text.to_owned(), 1);
    }

    fn add_times(&mut self, text: String, n: u64) {
        /// Different texts that are kept apart.
        const MOST: usize = 50;
        match self.0.iter().position(|(other, _)| *other == text) {
            Some(at) => self.0[at].1 += n,
            None if self.0.len() < MOST => self.0.push((text, n)),
            None => {}
        }
    }

    /// A note of the recording.
    pub fn note(&mut self, note: &Note) {
        match note {
            Note::Gap { why } => self.add(&format!("the source broke off: {why}")),
            Note::Reconnected => self.add("the source came back"),
            Note::Overrun { bytes: Some(n), by } => {
                self.add_times(format!("bytes lost on the way, as {by} reports"), *n);
            }
            Note::Overrun { bytes: None, by } => {
                self.add(&format!("{by} had no room for some bytes"))
            }
            Note::LineErrors { count } => {
                self.add_times(
                    "bytes were damaged on the line (framing, parity, break)".to_owned(),
                    *count,
                );
            }
            Note::ClockChanged { core_hz, .. } => {
                self.add(&format!("the core clock became {}", hertz(*core_hz)))
            }
            Note::Intrusion { total_us, halted_us } => self.add(&format!(
                "taking samples halted the core for {halted_us} us of {total_us} us"
            )),
            Note::Text { text } => self.add(text),
            Note::Unknown => self.add("a note of a kind this version does not know"),
        }
    }
}
