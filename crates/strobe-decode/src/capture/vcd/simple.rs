//! The two commands that a VCD file is full of: times (`#100`) and changes of one bit (`1!`).
//!
//! The parser of the `vcd` crate reads byte by byte. These commands are read out of the block
//! instead; anything else, and a command that the block cuts, is left to the parser.

use std::io::BufRead;

use super::text::{Guard, Lines};
use super::{Error, IdCode, Level, Place, Reader};

/// Printable characters, `!` to `~`.
const ID_CHARACTERS: usize = 94;
/// Identifiers of one character or two have an entry.
const ENTRIES: usize = ID_CHARACTERS * (1 + ID_CHARACTERS);

/// More digits may not fit a time.
const MAX_DIGITS: usize = 19;

/// The channels of short identifiers.
#[derive(Default)]
pub(super) struct ShortIds(Vec<Option<usize>>);

impl ShortIds {
    /// Sets the channel of an identifier; none where a change of it is not of exactly one channel.
    pub(super) fn set(&mut self, id: IdCode, channel: Option<usize>) {
        if let Some(entry) = entry(id.to_string().as_bytes()) {
            self.0.resize(ENTRIES, None);
            self.0[entry] = channel;
        }
    }

    fn channel(&self, id: &[u8]) -> Option<usize> {
        entry(id).and_then(|entry| *self.0.get(entry)?)
    }
}

/// Where an identifier has its entry.
fn entry(id: &[u8]) -> Option<usize> {
    let digit = |byte: u8| byte.is_ascii_graphic().then(|| usize::from(byte - b'!'));
    match id {
        [one] => digit(*one),
        [one, two] => Some((digit(*one)? + 1) * ID_CHARACTERS + digit(*two)?),
        _ => None,
    }
}

impl Reader {
    /// Reads the times and changes that come next, up to any other command. Returns whether to
    /// continue.
    pub(super) fn simple_commands<R: BufRead>(
        &mut self,
        guard: &mut Guard<R>,
    ) -> Result<bool, Error> {
        loop {
            let Guard { inner, lines, .. } = guard;
            let block = inner.fill_buf()?;
            let (read, ended) = self.block(block, lines)?;
            let is_all = read == block.len() && read > 0;
            inner.consume(read);
            if !is_all || ended == Ended::Here {
                return Ok(ended != Ended::Here);
            }
        }
    }

    /// Reads a block; returns how much of it was read.
    fn block(&mut self, block: &[u8], lines: &mut Lines) -> Result<(usize, Ended), Error> {
        let mut at = 0;
        loop {
            while let Some(space) = block.get(at).filter(|byte| is_space(**byte)) {
                lines.pass(*space);
                at += 1;
            }
            let rest = &block[at..];
            let longest = &rest[..rest.len().min(1 + MAX_DIGITS + 1)];
            let Some(length) = longest.iter().position(|byte| is_space(*byte)) else {
                return Ok((at, Ended::No));
            };
            let line = lines.next();
            let done = match &rest[..length] {
                [b'#', digits @ ..] => match number(digits) {
                    Some(time) if self.time(time, line)? => true,
                    Some(_) => return Ok((at, Ended::Here)),
                    None => false,
                },
                [value, id @ ..] => self.scalar(*value, id, line)?,
                [] => false,
            };
            if !done {
                return Ok((at, Ended::No));
            }
            lines.pass(rest[0]);
            at += length;
        }
    }

    /// Takes a change of one bit; returns whether it is one.
    fn scalar(&mut self, value: u8, id: &[u8], line: u64) -> Result<bool, Error> {
        let level = match value {
            b'0' => Level::Low,
            b'1' => Level::High,
            b'x' | b'z' => Level::Unknown,
            _ => return Ok(false),
        };
        let Some(channel) = self.short_ids.channel(id) else { return Ok(false) };
        self.builder.set(channel, self.now, level, || Place::Line(line))?;
        Ok(true)
    }
}

/// Whether reading ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    No,
    /// Time goes back.
    Here,
}

/// What separates commands.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

fn number(digits: &[u8]) -> Option<u64> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    if !(1..=MAX_DIGITS).contains(&digits.len()) {
        return None;
    }
    digits.iter().try_fold(0, |number: u64, byte| Some(number * 10 + digit(byte)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_identifiers_have_different_entries() {
        let mut found: Vec<usize> = Vec::new();
        let mut id = IdCode::FIRST;
        for _ in 0..ENTRIES {
            found.push(entry(id.to_string().as_bytes()).expect("it is short"));
            id = id.next();
        }
        found.sort_unstable();
        assert!(found.iter().copied().eq(0..ENTRIES));
        assert_eq!(id.to_string().len(), 3);
        assert_eq!(entry(id.to_string().as_bytes()), None);
    }
}
