//! What was written to stimulus ports.

use std::collections::BTreeMap;

use crate::defmt::message::Decoded;
use crate::traced::totals::Channel;

use crate::defmt::Log;

/// Bytes of a port that are kept, the last ones.
const KEPT: usize = 64 << 10;

/// Stands in text where something may be missing.
const LOST: &str = "[lost?]";

#[derive(Debug, Clone, Default)]
pub(super) struct Port {
    packets: u64,
    bytes: u64,
    interrupted: u64,
    /// The last bytes.
    kept: std::collections::VecDeque<u8>,
    /// Where in the port's bytes something may be missing.
    gaps: std::collections::VecDeque<u64>,
    /// Losses up to its last write.
    losses: u64,
}

impl Port {
    /// Takes bytes; `losses` is how often anything was lost so far.
    pub fn write(&mut self, data: &[u8], losses: u64) {
        if self.losses != losses {
            self.losses = losses;
            self.gaps.push_back(self.bytes);
            self.interrupted += 1;
        }
        self.packets += 1;
        self.bytes += data.len() as u64;
        self.kept.extend(data);
        let over = self.kept.len().saturating_sub(KEPT);
        self.kept.drain(..over);
        let begin = self.bytes - self.kept.len() as u64;
        while self.gaps.front().is_some_and(|gap| *gap < begin) {
            self.gaps.pop_front();
        }
    }

    /// What was written to port `number`.
    pub fn finish(self, number: u8) -> Channel {
        channel(number, self, None)
    }
}

/// Follows stimulus ports.
#[derive(Debug, Clone, Default)]
pub(super) struct Channels {
    ports: BTreeMap<u8, Port>,
    losses: u64,
    /// Messages of ports that have a format of their own.
    logs: BTreeMap<u8, Log>,
}

impl Channels {
    /// Decodes what comes from a port.
    pub fn decode(&mut self, port: u8, log: Log) {
        self.logs.insert(port, log);
    }

    /// The port whose messages are decoded, if one is.
    pub fn decoded(&self) -> Option<u8> {
        self.logs.keys().next().copied()
    }

    pub fn write(&mut self, port: u8, data: &[u8]) {
        if let Some(log) = self.logs.get_mut(&port) {
            log.push(data);
        }
        let new = Port { losses: self.losses, ..Port::default() };
        self.ports.entry(port).or_insert(new).write(data, self.losses);
    }

    /// Packets have been lost, nobody knows whose.
    pub fn lost(&mut self) {
        self.losses += 1;
        self.logs.values_mut().for_each(Log::lost);
    }

    pub fn finish(mut self) -> Vec<Channel> {
        let channel = |(number, port)| {
            let decoded = self.logs.remove(&number).map(Log::finish);
            channel(number, port, decoded)
        };
        self.ports.into_iter().map(channel).collect()
    }
}

/// Text is text even if it was to be something else, unless that was found in it.
fn channel(number: u8, mut port: Port, decoded: Option<Decoded>) -> Channel {
    let begin = port.bytes - port.kept.len() as u64;
    let mut out = String::new();
    let is_other = decoded.as_ref().is_some_and(|decoded| decoded.messages > 0);
    let is_text = !is_other && is_text(port.kept.make_contiguous());
    if is_text {
        let (bytes, _) = port.kept.as_slices();
        let mut from = 0;
        for gap in port.gaps.iter().filter(|gap| **gap > begin) {
            let to = (gap - begin) as usize;
            out.push_str(&String::from_utf8_lossy(&bytes[from..to]));
            out.push_str(LOST);
            from = to;
        }
        out.push_str(&String::from_utf8_lossy(&bytes[from..]));
    }
    Channel {
        port: number,
        packets: port.packets,
        bytes: port.bytes,
        interrupted: port.interrupted,
        text: is_text.then_some(out),
        text_skipped: if is_text { begin } else { 0 },
        decoded: decoded.filter(|_| !is_text),
    }
}

/// Nearly all of it can be read.
fn is_text(bytes: &[u8]) -> bool {
    let readable = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x1b | b' '..=b'~' | 0x80..);
    let unreadable = bytes.iter().filter(|byte| !readable(byte)).count();
    let text = String::from_utf8_lossy(bytes);
    let wrong = text.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count();
    (unreadable + wrong) * 20 <= bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_shows_where_something_may_be_missing() {
        let mut channels = Channels::default();
        channels.write(0, b"ab");
        channels.lost();
        channels.lost();
        channels.write(0, b"c\n");
        channels.write(1, &[0, 1, 2, 3]);
        channels.lost();
        let all = channels.finish();
        assert_eq!(all[0].text.as_deref(), Some("ab[lost?]c\n"));
        assert_eq!((all[0].packets, all[0].bytes, all[0].interrupted), (2, 4, 1));
        assert_eq!((all[1].text.clone(), all[1].bytes), (None, 4));
    }

    #[test]
    fn the_end_of_much_text_is_kept() {
        let mut channels = Channels::default();
        for n in 0..100_000u32 {
            channels.write(0, format!("{n:04}").as_bytes());
            channels.lost();
        }
        let channel = channels.finish().remove(0);
        assert!(channel.bytes > 400_000 && channel.text_skipped > 0);
        assert!(channel.text.expect("text").ends_with("99999"));
    }
}
