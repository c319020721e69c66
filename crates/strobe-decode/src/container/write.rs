//! Writing recordings: complete chunks, written soon enough that little is lost if the process is
//! killed.

use std::io::{self, Write};

use super::{
    End, HEAD, Header, MAGIC, MARK, MAX_HEADER, MAX_PAYLOAD, Note, POLLED_BYTES, Polled, VERSION,
    kind,
};

/// How long bytes may wait to share a chunk with later ones, in microseconds.
const WAIT_US: u64 = 100_000;

/// Writes a recording. Chunks are flushed at once; bytes are held for a tenth of a second at most,
/// if the caller reports the time with [`Writer::tick`].
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    sequence: u32,
    raw: Vec<u8>,
    polled: Vec<Polled>,
    /// When the oldest and the newest of the held bytes were received.
    since_us: u64,
    newest_us: u64,
    end: End,
}

impl<W: Write> Writer<W> {
    /// Begins a recording by writing its header.
    pub fn new(mut out: W, header: &Header) -> io::Result<Self> {
        let json = serde_json::to_vec(header)?;
        if json.len() > MAX_HEADER {
            let text =
                format!("a header of {} bytes exceeds the maximum of {MAX_HEADER}", json.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((json.len() as u32).to_le_bytes());
        bytes.extend(crc32fast::hash(&json).to_le_bytes());
        bytes.extend(json);
        out.write_all(&bytes)?;
        out.flush()?;
        let end = End { raw_bytes: 0, polled: 0, why: String::new() };
        let (raw, polled) = (Vec::with_capacity(MAX_PAYLOAD), Vec::new());
        Ok(Writer { out, sequence: 0, raw, polled, since_us: 0, newest_us: 0, end })
    }

    /// Bytes of the pin; the last of them was received at `host_us` (microseconds since the
    /// recording began).
    pub fn raw(&mut self, host_us: u64, mut bytes: &[u8]) -> io::Result<()> {
        self.write_polled()?;
        while !bytes.is_empty() {
            if self.raw.is_empty() {
                self.since_us = host_us;
            }
            self.newest_us = host_us;
            let (now, later) = bytes.split_at(bytes.len().min(MAX_PAYLOAD - self.raw.len()));
            self.raw.extend(now);
            bytes = later;
            if self.raw.len() == MAX_PAYLOAD {
                self.write_raw()?;
            }
        }
        self.tick(host_us)
    }

    /// A polled program counter.
    pub fn polled(&mut self, sample: Polled) -> io::Result<()> {
        self.write_raw()?;
        if self.polled.is_empty() {
            self.since_us = sample.host_us;
        }
        self.polled.push(sample);
        if self.polled.len() == MAX_PAYLOAD / POLLED_BYTES {
            self.write_polled()?;
        }
        self.tick(sample.host_us)
    }

    /// An event beside the bytes.
    pub fn note(&mut self, host_us: u64, note: &Note) -> io::Result<()> {
        self.write_waiting()?;
        let json = serde_json::to_vec(note)?;
        self.chunk(kind::NOTE, host_us, &json)
    }

    /// Writes the held bytes if they have waited long enough. Call it at least ten times a second
    /// while no bytes are received.
    pub fn tick(&mut self, host_us: u64) -> io::Result<()> {
        let waits = !self.raw.is_empty() || !self.polled.is_empty();
        if waits && host_us.saturating_sub(self.since_us) >= WAIT_US {
            self.write_waiting()?;
        }
        Ok(())
    }

    /// Ends the recording with the end mark, and returns the output.
    pub fn finish(mut self, host_us: u64, why: &str) -> io::Result<W> {
        self.write_waiting()?;
        let json = serde_json::to_vec(&End { why: why.to_owned(), ..self.end.clone() })?;
        self.chunk(kind::END, host_us, &json)?;
        Ok(self.out)
    }

    fn write_waiting(&mut self) -> io::Result<()> {
        self.write_raw()?;
        self.write_polled()
    }

    fn write_raw(&mut self) -> io::Result<()> {
        if self.raw.is_empty() {
            return Ok(());
        }
        self.end.raw_bytes += self.raw.len() as u64;
        let mut raw = std::mem::take(&mut self.raw);
        let result = self.chunk(kind::RAW, self.newest_us, &raw);
        raw.clear();
        self.raw = raw;
        result
    }

    fn write_polled(&mut self) -> io::Result<()> {
        let samples = std::mem::take(&mut self.polled);
        let Some(first) = samples.first() else { return Ok(()) };
        let mut payload = Vec::with_capacity(samples.len() * POLLED_BYTES);
        for sample in &samples {
            let after = sample.host_us.saturating_sub(first.host_us);
            let after = u32::try_from(after).unwrap_or(u32::MAX);
            [after, sample.pc, sample.halted_us]
                .iter()
                .for_each(|w| payload.extend(w.to_le_bytes()));
        }
        self.end.polled += samples.len() as u64;
        self.chunk(kind::POLLED, first.host_us, &payload)
    }

    /// One write for the whole chunk, so that nothing comes between its parts.
    fn chunk(&mut self, kind: u16, host_us: u64, payload: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(HEAD + payload.len());
        bytes.extend(MARK);
        bytes.extend(kind.to_le_bytes());
        bytes.extend([0; 2]);
        bytes.extend((payload.len() as u32).to_le_bytes());
        bytes.extend(self.sequence.to_le_bytes());
        bytes.extend(host_us.to_le_bytes());
        bytes.extend(crc32fast::hash(payload).to_le_bytes());
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes.extend(payload);
        self.sequence = self.sequence.wrapping_add(1);
        self.out.write_all(&bytes)?;
        self.out.flush()
    }
}
