//! Reading recordings: every complete chunk, and what is missing.
//!
//! Needs one pass and the memory of one chunk, whatever lengths the file claims.

use std::io::{self, Read};

use super::{
    End, HEAD, Header, MAGIC, MARK, MAX_HEADER, MAX_PAYLOAD, Note, POLLED_BYTES, PREAMBLE, Polled,
    VERSION, kind, word,
};

/// Why a file cannot be opened as a recording.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reading failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file does not begin with the magic number.
    #[error("not a strobe recording: its first eight bytes are not the format's magic number")]
    NoRecording,
    /// The file ends before its first chunk.
    #[error("the recording ends after {bytes} bytes, before its header does: nothing was recorded")]
    NoHeader {
        /// The length of the file.
        bytes: u64,
    },
    /// A newer version of strobe wrote the file, or its version field is damaged.
    #[error("the recording has format {found}; this strobe reads 1 to {VERSION}")]
    Version {
        /// The version in the file.
        found: u32,
    },
}

/// The content of a chunk.
#[derive(Debug, Clone, PartialEq)]
pub enum Content<'a> {
    /// Bytes of the pin.
    Raw(&'a [u8]),
    /// An event.
    Note(Note),
    /// Polled program counters.
    Polled(Vec<Polled>),
    /// The end mark.
    End(End),
}

/// A complete chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk<'a> {
    /// Where it begins in the file, in bytes.
    pub at: u64,
    /// Host time in microseconds since the recording began; for raw bytes, when the last of them
    /// was received.
    pub host_us: u64,
    /// Chunks right before this one that are missing or damaged: there is a gap before its
    /// content.
    pub missing_before: u32,
    /// The content.
    pub content: Content<'a>,
}

/// Bytes that belong to no chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// Where they begin in the file.
    pub at: u64,
    /// How many.
    pub bytes: u64,
}

/// How a recording ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Ending {
    /// Not read to the end yet.
    #[default]
    Unread,
    /// With the end mark.
    Marked(End),
    /// Without an end mark: the writer was stopped. The file ends with so many bytes of an
    /// incomplete chunk.
    CutShort {
        /// Their number.
        bytes: u64,
    },
}

/// Statistics of what has been read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Complete chunks of known kinds.
    pub chunks: u64,
    /// Raw bytes in them.
    pub raw_bytes: u64,
    /// Polled samples in them.
    pub polled: u64,
    /// Complete chunks of unknown kinds, and known ones whose content is not understood.
    pub unknown_chunks: u64,
    /// Chunks missing from the sequence of numbers.
    pub missing_chunks: u64,
    /// The first few places with bytes that belong to no chunk.
    pub damages: Vec<Damage>,
    /// The number of all such bytes.
    pub damaged_bytes: u64,
    /// The header is damaged.
    pub header_damaged: bool,
    /// How the recording ends.
    pub ending: Ending,
}

/// Places of damage that are kept individually.
const MAX_DAMAGES: usize = 100;

/// Reads a recording.
#[derive(Debug)]
pub struct Reader<R: Read> {
    input: R,
    header: Option<Header>,
    buffer: Vec<u8>,
    /// Where the unread part of the buffer begins, in the buffer and in the file.
    start: usize,
    offset: u64,
    ended: bool,
    next_sequence: u32,
    summary: Summary,
}

/// The header of a chunk.
struct Head {
    kind: u16,
    length: usize,
    sequence: u32,
    host_us: u64,
    crc: u32,
}

impl Head {
    fn parse(bytes: &[u8]) -> Option<Head> {
        let sound = bytes.starts_with(MARK) && crc32fast::hash(&bytes[..28]) == word(bytes, 28);
        let length = word(bytes, 8) as usize;
        (sound && length <= MAX_PAYLOAD).then(|| Head {
            kind: u16::from_le_bytes([bytes[4], bytes[5]]),
            length,
            sequence: word(bytes, 12),
            host_us: u64::from(word(bytes, 16)) | u64::from(word(bytes, 20)) << 32,
            crc: word(bytes, 24),
        })
    }
}

impl<R: Read> Reader<R> {
    /// Reads the header. If it is damaged, the chunks are read all the same.
    pub fn new(input: R) -> Result<Self, Error> {
        let mut reader = Reader {
            input,
            header: None,
            buffer: Vec::new(),
            start: 0,
            offset: 0,
            ended: false,
            next_sequence: 0,
            summary: Summary::default(),
        };
        reader.read_header()?;
        Ok(reader)
    }

    /// The header, unless it is damaged.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Statistics of what has been read so far.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    fn read_header(&mut self) -> Result<(), Error> {
        if !self.fill(PREAMBLE)? {
            let (bytes, have) = (self.rest().len() as u64, self.rest().len().min(MAGIC.len()));
            let right = self.rest()[..have] == MAGIC[..have] && have > 0;
            return Err(if right { Error::NoHeader { bytes } } else { Error::NoRecording });
        }
        if !self.rest().starts_with(MAGIC) {
            return Err(Error::NoRecording);
        }
        let preamble = self.rest();
        let (found, length) = (word(preamble, 8), word(preamble, 12) as usize);
        let crc = word(preamble, 16);
        if !(1..=VERSION).contains(&found) {
            return Err(Error::Version { found });
        }
        if length <= MAX_HEADER && self.fill(PREAMBLE + length)? {
            let json = &self.rest()[PREAMBLE..PREAMBLE + length];
            let sound = crc32fast::hash(json) == crc;
            self.header = sound.then(|| serde_json::from_slice(json).ok()).flatten();
            if sound {
                self.summary.header_damaged = self.header.is_none();
                self.skip(PREAMBLE + length);
                return Ok(());
            }
        }
        // Truncated within the header, or damaged: in the latter case chunks follow.
        self.summary.header_damaged = true;
        let (at, bytes) = (self.offset, self.search(0)?);
        if self.rest().is_empty() {
            return Err(Error::NoHeader { bytes: self.offset });
        }
        self.damaged(at, bytes);
        Ok(())
    }

    /// The next complete chunk of a known kind, or `None` at the end.
    #[expect(clippy::should_implement_trait, reason = "chunks borrow the reader's buffer")]
    pub fn next(&mut self) -> io::Result<Option<Chunk<'_>>> {
        while let Some((at, head)) = self.next_whole()? {
            let missing_before = head.sequence.wrapping_sub(self.next_sequence);
            // A sequence number that goes back means that files were concatenated.
            let missing_before = if missing_before >> 31 == 0 { missing_before } else { 0 };
            self.summary.missing_chunks += u64::from(missing_before);
            self.next_sequence = head.sequence.wrapping_add(1);
            let payload = self.start + HEAD..self.start + HEAD + head.length;
            self.skip(HEAD + head.length);
            let known = known(&head, &self.buffer[payload.clone()]);
            let Some(known) = known else {
                self.summary.unknown_chunks += 1;
                continue;
            };
            self.summary.chunks += 1;
            self.count(&known, payload.len());
            let content = match known {
                Known::Raw => Content::Raw(&self.buffer[payload]),
                Known::Other(content) => content,
            };
            return Ok(Some(Chunk { at, host_us: head.host_us, missing_before, content }));
        }
        Ok(None)
    }

    fn count(&mut self, known: &Known, bytes: usize) {
        match known {
            Known::Raw => self.summary.raw_bytes += bytes as u64,
            Known::Other(Content::Polled(samples)) => self.summary.polled += samples.len() as u64,
            Known::Other(Content::End(end)) => self.summary.ending = Ending::Marked(end.clone()),
            Known::Other(_) => {}
        }
    }

    /// Moves to the next complete chunk and returns its offset in the file.
    fn next_whole(&mut self) -> io::Result<Option<(u64, Head)>> {
        loop {
            let at = self.offset;
            if !self.fill(HEAD)? {
                self.cut_short();
                return Ok(None);
            }
            let Some(head) = Head::parse(self.rest()) else {
                let bytes = self.search(1)?;
                self.damaged(at, bytes);
                continue;
            };
            let whole = HEAD + head.length;
            let complete = self.fill(whole)?;
            if complete && crc32fast::hash(&self.rest()[HEAD..whole]) == head.crc {
                return Ok(Some((at, head)));
            }
            let bytes = match self.next_inside(&head)? {
                Some(bytes) => bytes,
                None if complete => whole,
                None => {
                    self.cut_short();
                    return Ok(None);
                }
            };
            self.skip(bytes);
            self.damaged(at, bytes as u64);
        }
    }

    /// Where the next chunk begins within the claimed length of a damaged one, because bytes of
    /// that one are missing.
    ///
    /// Recorded bytes may look like a chunk. So there is no search if the next chunk is where it
    /// should be, and one that is found must have a later number and time. No byte is examined more
    /// often than the longest chunk has room for headers, whatever the file contains.
    fn next_inside(&mut self, damaged: &Head) -> io::Result<Option<usize>> {
        let whole = HEAD + damaged.length;
        let more = self.fill(whole + HEAD)?;
        let rest = self.rest();
        let next = more.then(|| Head::parse(&rest[whole..])).flatten();
        if next.is_some_and(|next| next.sequence == damaged.sequence.wrapping_add(1)) {
            return Ok(None);
        }
        let later = |head: &Head| {
            let ahead = head.sequence.wrapping_sub(damaged.sequence);
            (1..1 << 31).contains(&ahead) && head.host_us >= damaged.host_us
        };
        let end = whole.min((rest.len() + 1).saturating_sub(HEAD));
        Ok((1..end).find(|&at| Head::parse(&rest[at..]).is_some_and(|head| later(&head))))
    }

    /// Moves at least `from` bytes on, to the next sound chunk header or to the end; returns the
    /// distance.
    fn search(&mut self, from: usize) -> io::Result<u64> {
        let begun = self.offset;
        self.skip(from.min(self.rest().len()));
        while self.fill(HEAD)? {
            let places = self.rest().len() - HEAD + 1;
            let found = (0..places).find(|&at| Head::parse(&self.rest()[at..]).is_some());
            self.skip(found.unwrap_or(places));
            if found.is_some() {
                return Ok(self.offset - begun);
            }
        }
        // Less than a header is left; it may belong to a truncated chunk.
        let rest = self.rest();
        let cut = (0..rest.len()).find(|&at| {
            let tail = &rest[at..];
            tail.starts_with(MARK) || MARK.starts_with(tail)
        });
        self.skip(cut.unwrap_or(self.rest().len()));
        Ok(self.offset - begun)
    }

    /// The rest of the file is an incomplete chunk.
    fn cut_short(&mut self) {
        let (at, bytes) = (self.offset, self.rest().len());
        self.skip(bytes);
        let bytes = bytes as u64;
        if self.summary.ending == Ending::Unread {
            self.summary.ending = Ending::CutShort { bytes };
        } else {
            self.damaged(at, bytes);
        }
    }

    fn damaged(&mut self, at: u64, bytes: u64) {
        if bytes > 0 {
            self.summary.damaged_bytes += bytes;
            let damages = &mut self.summary.damages;
            let room = damages.len() < MAX_DAMAGES;
            match damages.last_mut() {
                Some(last) if last.at + last.bytes == at => last.bytes += bytes,
                _ if room => damages.push(Damage { at, bytes }),
                _ => {}
            }
        }
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    fn skip(&mut self, bytes: usize) {
        self.start += bytes;
        self.offset += bytes as u64;
    }

    /// Fills the buffer with at least so many bytes; `false` if the input ends before.
    fn fill(&mut self, bytes: usize) -> io::Result<bool> {
        if self.rest().len() >= bytes {
            return Ok(true);
        }
        self.buffer.drain(..std::mem::take(&mut self.start));
        while self.buffer.len() < bytes && !self.ended {
            // Read at most a chunk at a time, whatever a length field claims.
            let have = self.buffer.len();
            self.buffer.resize(have + MAX_PAYLOAD, 0);
            let read = loop {
                match self.input.read(&mut self.buffer[have..]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    result => break result,
                }
            };
            self.buffer.truncate(have + *read.as_ref().unwrap_or(&0));
            self.ended = read? == 0;
        }
        Ok(self.buffer.len() >= bytes)
    }
}

/// A complete chunk, decoded before its bytes are borrowed.
enum Known {
    Raw,
    Other(Content<'static>),
}

fn known(head: &Head, payload: &[u8]) -> Option<Known> {
    let content = match head.kind {
        kind::RAW => return Some(Known::Raw),
        kind::NOTE => Content::Note(serde_json::from_slice(payload).ok()?),
        kind::POLLED if payload.len().is_multiple_of(POLLED_BYTES) => {
            let sample = |bytes: &[u8]| Polled {
                host_us: head.host_us.saturating_add(u64::from(word(bytes, 0))),
                pc: word(bytes, 4),
                halted_us: word(bytes, 8),
            };
            Content::Polled(payload.chunks_exact(POLLED_BYTES).map(sample).collect())
        }
        kind::END => Content::End(serde_json::from_slice(payload).ok()?),
        _ => return None,
    };
    Some(Known::Other(content))
}
