//! The text of a VCD file as the parser wants it: UTF-8 without a mark in front, and commands that
//! end.

use std::io::{self, BufRead, Read};

/// The mark that some editors put in front of UTF-8.
pub(super) const MARK: &[u8] = b"\xef\xbb\xbf";

/// Text in UTF-8. Bytes that are none are taken for Latin-1, in which older programs write names
/// and dates.
pub(super) struct Text<R> {
    inner: R,
    /// What is to be read, and how much of it has been.
    block: Vec<u8>,
    at: usize,
    /// The beginning of a character whose rest has not come yet.
    begun: Vec<u8>,
}

impl<R: BufRead> Text<R> {
    pub(super) fn new(inner: R) -> Self {
        Text { inner, block: Vec::new(), at: 0, begun: Vec::new() }
    }

    /// Reads the next block, unless there is nothing more.
    fn refill(&mut self) -> io::Result<()> {
        self.block.clear();
        self.at = 0;
        while self.block.is_empty() {
            let bytes = self.inner.fill_buf()?;
            let (came, over) = (bytes.len(), bytes.is_empty());
            if over && self.begun.is_empty() {
                break;
            }
            if self.begun.is_empty() && bytes.is_ascii() {
                self.block.extend_from_slice(bytes);
            } else {
                let mut raw = std::mem::take(&mut self.begun);
                raw.extend_from_slice(bytes);
                let kept = if over { 0 } else { begun(&raw) };
                let (whole, rest) = raw.split_at(raw.len() - kept);
                self.begun = rest.to_vec();
                for chunk in whole.utf8_chunks() {
                    self.block.extend_from_slice(chunk.valid().as_bytes());
                    let latin = chunk.invalid().iter().map(|byte| char::from(*byte));
                    self.block.extend(latin.collect::<String>().into_bytes());
                }
            }
            self.inner.consume(came);
        }
        Ok(())
    }
}

/// How many bytes at the end begin a character that may go on.
fn begun(raw: &[u8]) -> usize {
    match std::str::from_utf8(raw.get(raw.len().saturating_sub(3)..).unwrap_or_default()) {
        Ok(_) => 0,
        Err(_) => {
            let last = raw.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
            let is_open = std::str::from_utf8(last).is_err_and(|e| e.error_len().is_none());
            if is_open { last.len() } else { 0 }
        }
    }
}

impl<R: BufRead> Read for Text<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(out)?;
        self.consume(n);
        Ok(n)
    }
}

impl<R: BufRead> BufRead for Text<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.block.len() {
            self.refill()?;
        }
        Ok(&self.block[self.at..])
    }

    fn consume(&mut self, n: usize) {
        self.at = self.block.len().min(self.at + n);
    }
}

/// A reader that stops after a limited number of bytes until the limit is renewed.
pub(super) struct Guard<R> {
    pub(super) inner: R,
    pub(super) left: usize,
    pub(super) lines: Lines,
}

/// Counts lines.
pub(super) struct Lines {
    current: u64,
    /// The last byte ended the line: the next one belongs to another.
    ended: bool,
}

impl Lines {
    /// After so many lines.
    pub(super) fn after(lines: u64) -> Lines {
        Lines { current: lines + 1, ended: false }
    }

    /// The line of the last byte.
    pub(super) fn current(&self) -> u64 {
        self.current
    }

    /// The line of the next byte.
    pub(super) fn next(&self) -> u64 {
        self.current + u64::from(self.ended)
    }

    /// A byte was read.
    #[inline]
    pub(super) fn pass(&mut self, byte: u8) {
        self.current += u64::from(self.ended);
        self.ended = byte == b'\n';
    }
}

/// A command is longer than the limit.
#[derive(Debug, thiserror::Error)]
#[error("a command without end")]
pub(super) struct TooLong;

impl<R: BufRead> Guard<R> {
    /// Skips the rest of a command; returns whether it has an end.
    pub(super) fn skip_command(&mut self) -> io::Result<bool> {
        const END: &[u8; 5] = b" $end";
        // Its name is read, with the white space behind it.
        let mut last = *b"     ";
        let mut byte = [0];
        loop {
            let next = self.fill_buf()?.first();
            if last == *END && next.is_none_or(u8::is_ascii_whitespace) {
                return Ok(true);
            }
            if self.read(&mut byte)? == 0 {
                return Ok(false);
            }
            last.rotate_left(1);
            last[END.len() - 1] = if byte[0].is_ascii_whitespace() { b' ' } else { byte[0] };
        }
    }
}

impl<R: BufRead> Read for Guard<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.left = match self.left.checked_sub(out.len()) {
            Some(left) => left,
            None => return Err(io::Error::other(TooLong)),
        };
        if let [byte] = out {
            // The parser reads byte by byte.
            let Some(first) = self.inner.fill_buf()?.first() else { return Ok(0) };
            *byte = *first;
            self.lines.pass(*byte);
            self.inner.consume(1);
            return Ok(1);
        }
        let read = self.inner.read(out)?;
        out[..read].iter().for_each(|byte| self.lines.pass(*byte));
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Guard<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        self.inner.consume(n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the blocks, a character is one, and what is none is Latin-1.
    #[test]
    fn blocks_of_any_size_give_one_text() {
        let bytes = b"a \xc3\xa9 \xe9t\xe9 \xe2\x82\xac \xf0\x9f\x98\x80 \xe2\x82 \xc3";
        for size in 1..bytes.len() {
            let mut text = String::new();
            let input = io::BufReader::with_capacity(size, &bytes[..]);
            Text::new(input).read_to_string(&mut text).expect("it is UTF-8");
            assert_eq!(text, "a é été € 😀 \u{e2}\u{82} Ã", "{size}");
        }
    }
}
