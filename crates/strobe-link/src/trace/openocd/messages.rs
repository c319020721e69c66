//! What OpenOCD's TCL port sends, as bytes: messages that end with 0x1a, and what they mean. Knows
//! no connection and no clock.

use strobe_decode::container::Note;

use crate::trace::link::ReadOutcome;

/// What ends a message, in both directions.
pub const END: u8 = 0x1a;
/// The longest message that is waited for; trace data come in far shorter ones.
const LONGEST: usize = 1 << 22;

/// Puts messages together.
#[derive(Debug, Clone, Default)]
pub struct Messages {
    /// What has come and has not been handed over.
    pending: Vec<u8>,
    /// How much of it has no end in it.
    searched: usize,
}

/// A message that goes on and on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message without an end")]
pub struct TooLong;

impl Messages {
    /// More bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.pending.extend(bytes);
    }

    /// The next message that is whole, without its end. To be called until there is none before
    /// more bytes are pushed.
    ///
    /// # Errors
    /// When the one that has begun is longer than any.
    pub fn next_whole(&mut self) -> Result<Option<String>, TooLong> {
        let rest = &self.pending[self.searched..];
        let Some(end) = rest.iter().position(|byte| *byte == END) else {
            self.searched = self.pending.len();
            return if self.searched > LONGEST { Err(TooLong) } else { Ok(None) };
        };
        let end = self.searched + end;
        let message = String::from_utf8_lossy(&self.pending[..end]).into_owned();
        self.pending.drain(..=end);
        self.searched = 0;
        Ok(Some(message))
    }
}

/// Wraps a command so that its answer states whether it worked.
pub fn wrapped(command: &str) -> Vec<u8> {
    let text = format!(
        "if {{[catch {{{command}}} strobe_result]}} {{format \"bad %s\" $strobe_result}} \
         {{format \"ok %s\" $strobe_result}}"
    );
    [text.as_bytes(), &[END]].concat()
}

/// What a message is while an answer is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<'a> {
    /// The command worked and returned this.
    Ok(&'a str),
    /// It did not, and why.
    Bad(&'a str),
    /// No answer but an event.
    Event,
    /// Neither.
    Nonsense,
}

/// Reads the answer to a command that was [`wrapped`].
pub fn answer(message: &str) -> Answer<'_> {
    match message.split_once(' ') {
        Some(("type", _)) => Answer::Event,
        Some(("ok", result)) => Answer::Ok(result.trim()),
        Some(("bad", why)) => Answer::Bad(why.trim()),
        _ => Answer::Nonsense,
    }
}

/// What an event means: bytes of the pin go behind what is in `into`. `None` if it has trace data
/// that are no digits.
pub fn event(message: &str, into: &mut Vec<u8>) -> Option<ReadOutcome> {
    let words: Vec<&str> = message.split_whitespace().take(5).collect();
    let note = |text: String| Some(ReadOutcome::Note(Note::Text { text }));
    match words[..] {
        ["type", "target_trace", "data", digits] => {
            into.extend(unhex(digits)?);
            Some(ReadOutcome::Bytes)
        }
        ["type", "target_reset", "mode", mode] => note(format!("the target was reset ({mode})")),
        ["type", "target_state", "state", state] => note(format!("the target is {state}")),
        _ => Some(ReadOutcome::Nothing),
    }
}

/// The words that a read of memory returned: `0x40000001 0x0`, decimal numbers, or before 0.12
/// lines of `0xe0001000: 40000001 00000000`.
pub fn words(answer: &str) -> Option<Vec<u32>> {
    let bare_is_hex = answer.contains(':');
    let word = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None if bare_is_hex => u32::from_str_radix(text, 16).ok(),
        None => text.parse().ok(),
    };
    answer.split_whitespace().filter(|text| !text.ends_with(':')).map(word).collect()
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    let nibble = |digit: u8| char::from(digit).to_digit(16).map(|nibble| nibble as u8);
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| Some(nibble(pair[0])? << 4 | nibble(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_whole_however_they_are_cut() {
        let bytes = b"ok 1\x1a\x1atype target_state state halted\x1aok";
        for size in 1..bytes.len() {
            let (mut messages, mut all) = (Messages::default(), Vec::new());
            for piece in bytes.chunks(size) {
                messages.push(piece);
                while let Some(message) = messages.next_whole().expect("short ones") {
                    all.push(message);
                }
            }
            assert_eq!(all, ["ok 1", "", "type target_state state halted"], "by {size}");
        }
    }

    #[test]
    fn one_without_an_end_is_not_waited_for() {
        let mut messages = Messages::default();
        let block = [b'x'; 1 << 16];
        let pushed = (0..100).find(|_| {
            messages.push(&block);
            messages.next_whole() == Err(TooLong)
        });
        assert_eq!(pushed, Some(LONGEST >> 16));
    }

    #[test]
    fn events_and_answers_are_what_they_say() {
        let mut bytes = Vec::new();
        assert_eq!(event("type target_trace data 17FF00", &mut bytes), Some(ReadOutcome::Bytes));
        assert_eq!(bytes, [0x17, 0xff, 0]);
        for wrong in ["type target_trace data 1", "type target_trace data 1g"] {
            assert_eq!(event(wrong, &mut bytes), None);
        }
        assert_eq!(event("type target_trace data 1 2 3", &mut bytes), Some(ReadOutcome::Nothing));
        assert_eq!(answer("ok  two words "), Answer::Ok("two words"));
        assert_eq!(answer("bad"), Answer::Nonsense);
        assert_eq!(words("0xe0001000: 40000001 10 "), Some(vec![0x4000_0001, 0x10]));
        assert_eq!(words("0x10 10"), Some(vec![16, 10]));
        assert_eq!((words("1x"), words("")), (None, Some(Vec::new())));
    }
}
