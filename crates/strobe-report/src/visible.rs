//! What a terminal must not obey: control characters, escape sequences and marks that reverse the
//! direction of writing, in names and texts that come from files, made visible instead.
//!
//! A control character is written as in Rust, `\x1b`, and a mark as `\u{202e}`, so that what was
//! there can still be read. Newlines and tabs stay where they are layout.

use std::borrow::Cow;
use std::fmt::Write;

pub use strobe_model::visible::is_obeyed;

use crate::paint::Paint;

/// The text with everything visible but newlines and tabs: messages of several lines.
#[must_use]
pub fn text(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_obeyed(c) && c != '\n' && c != '\t', rust)
}

/// The text with everything visible, newlines and tabs as well: a name, a cell.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, is_obeyed, rust)
}

/// JSON whose strings hold nothing that a terminal obeys: what JSON allows unescaped is escaped as
/// JSON has it, so that it reads as the same value.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| is_obeyed(c) && !c.is_ascii_whitespace();
    escaped(text, obeyed, |c, out| {
        let _ = write!(out, "\\u{:04x}", u32::from(c));
    })
}

/// A text report: as [`text`], but for the colours that reports have if they have any.
#[must_use]
pub fn report(report: &str, colour: bool) -> Cow<'_, str> {
    if !colour {
        return text(report);
    }
    let codes = Paint::codes();
    let mut out = String::with_capacity(report.len());
    let mut rest = report;
    while let Some(at) = rest.find('\x1b') {
        out.push_str(&text(&rest[..at]));
        rest = &rest[at..];
        let own = codes.iter().find(|code| rest.starts_with(code.as_str()));
        let (code, length) =
            own.map_or((Cow::Borrowed("\\x1b"), 1), |code| (Cow::Owned(code.clone()), code.len()));
        out.push_str(&code);
        rest = &rest[length..];
    }
    out.push_str(&text(rest));
    Cow::Owned(out)
}

fn escaped(
    text: &str,
    is_escaped: impl Fn(char) -> bool,
    escape: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    let Some(first) = text.find(&is_escaped) else { return Cow::Borrowed(text) };
    let mut out = text[..first].to_owned();
    for c in text[first..].chars() {
        if is_escaped(c) { escape(c, &mut out) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// The character as Rust writes it.
fn rust(c: char, out: &mut String) {
    let _ = match c {
        '\n' => write!(out, "\\n"),
        '\r' => write!(out, "\\r"),
        '\t' => write!(out, "\\t"),
        c if c.is_ascii() => write!(out, "\\x{:02x}", u32::from(c)),
        c => write!(out, "\\u{{{:x}}}", u32::from(c)),
    };
}

/// Bytes of a stream as visible text, however they are cut into pieces: what a firmware prints
/// while it runs. A carriage return before a newline is layout; bytes that are no UTF-8 are written
/// as `\xff`.
#[derive(Debug, Default, Clone)]
pub struct Stream {
    /// The beginning of a character, or a carriage return that waits for what follows.
    held: Vec<u8>,
}

impl Stream {
    /// What of the stream can be shown now.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.held.extend(bytes);
        let held = std::mem::take(&mut self.held);
        let mut out = String::new();
        let mut chunks = held.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            let is_last = chunks.peek().is_none();
            let mut valid = chunk.valid();
            if is_last
                && chunk.invalid().is_empty()
                && let Some(before) = valid.strip_suffix('\r')
            {
                (valid, self.held) = (before, vec![b'\r']);
            }
            out.push_str(&text(&valid.replace("\r\n", "\n")));
            if is_last && is_begun(chunk.invalid()) {
                self.held = chunk.invalid().to_owned();
            } else {
                push_bytes(chunk.invalid(), &mut out);
            }
        }
        out
    }

    /// What was held back, no more coming.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        push_bytes(&std::mem::take(&mut self.held), &mut out);
        out
    }
}

/// Whether bytes may be the beginning of a character whose rest is still to come (Unicode,
/// table 3-7).
fn is_begun(bytes: &[u8]) -> bool {
    let length = match bytes.first() {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        _ => return false,
    };
    bytes.len() < length
}

fn push_bytes(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        let _ = match byte {
            b'\r' => write!(out, "\\r"),
            byte => write!(out, "\\x{byte:02x}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOSTILE: &str = "a\x1b]0;x\x07b\x1b[31mc\u{202e}d\0e\rf\x08g\u{9b}2Jh\u{2066}i\u{7f}";
    const VISIBLE: &str =
        "a\\x1b]0;x\\x07b\\x1b[31mc\\u{202e}d\\x00e\\rf\\x08g\\u{9b}2Jh\\u{2066}i\\x7f";

    #[test]
    fn terminal_controls_are_made_visible() {
        assert_eq!(text(HOSTILE), VISIBLE);
        assert_eq!(line(&format!("{HOSTILE}\n\t")), format!("{VISIBLE}\\n\\t"));
        assert_eq!(text("two\n\tlines, π"), "two\n\tlines, π");
    }

    #[test]
    fn json_reads_as_the_same_value() {
        let value = serde_json::Value::from(format!("{HOSTILE}\n\t\u{2028}"));
        let pretty = serde_json::to_string_pretty(&[&value]).expect("JSON");
        let safe = json(&pretty);
        assert!(safe.chars().all(|c| !is_obeyed(c) || c == '\n'), "{safe}");
        assert_eq!(serde_json::from_str::<Vec<serde_json::Value>>(&safe).expect("JSON"), [value]);
    }

    #[test]
    fn colours_of_reports_stay_and_others_do_not() {
        let painted = Paint::Hot.on("hot", crate::Style { colour: true, width: 80 });
        assert_eq!(report(&painted, true), painted);
        assert_eq!(report("\x1b]0;x\x07\x1b[2J", true), "\\x1b]0;x\\x07\\x1b[2J");
        assert!(!report(&painted, false).contains('\x1b'));
    }

    #[test]
    fn line_ends_survive_and_unprintable_bytes_are_escaped() {
        let mut stream = Stream::default();
        let mut shown = stream.push(b"one\r");
        shown += &stream.push(b"\ntwo\rthree\xff\xcf");
        shown += &stream.push(b"\x80\x1b[2J\xe2\x82");
        assert_eq!(shown, "one\ntwo\\rthree\\xffπ\\x1b[2J");
        assert_eq!(stream.finish(), "\\xe2\\x82");
    }

    proptest! {
        #[test]
        fn a_stream_is_the_same_however_it_is_cut(
            bytes in proptest::collection::vec(
                prop_oneof![any::<u8>(), Just(b'\r'), Just(b'\n')], 0..64,
            ),
            cut in 0_usize..64,
        ) {
            let whole = |pieces: &[&[u8]]| {
                let mut stream = Stream::default();
                let shown: String = pieces.iter().map(|piece| stream.push(piece)).collect();
                shown + &stream.finish()
            };
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            let shown = whole(&[first, second]);
            prop_assert_eq!(&shown, &whole(&[&bytes]));
            prop_assert!(shown.chars().all(|c| !is_obeyed(c) || c == '\n' || c == '\t'));
        }

        #[test]
        fn nothing_obeyed_is_left(
            hostile in "\\PC*[\\x00-\\x1f\\x7f-\\u{9f}\\u{200e}\\u{202a}-\\u{202e}]*\\PC*",
        ) {
            prop_assert!(line(&hostile).chars().all(|c| !is_obeyed(c)));
            let shown = report(&hostile, false);
            prop_assert!(shown.chars().all(|c| !is_obeyed(c) || "\n\t".contains(c)));
        }
    }
}
