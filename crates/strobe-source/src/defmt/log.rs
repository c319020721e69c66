//! A channel's bytes on their way to messages.

use std::collections::{BTreeMap, VecDeque};

use crate::defmt::message::Decoded;
use crate::defmt::message::Message;

use super::table::Table;
use super::{Encoding, Refused};

/// Bytes of a frame as it is sent; longer ones are none.
const LONGEST: usize = 64 << 10;
/// Frames without marks are looked for when so many bytes have come, since each search begins at
/// the beginning.
const BATCH: usize = 4 << 10;
/// Messages that are kept, and characters of them.
const KEPT: usize = 1000;
const KEPT_TEXT: usize = 256 << 10;
/// Characters of a message that are kept.
const LONGEST_TEXT: usize = 4 << 10;
/// Zeros that the encoding may put behind a frame.
const FILL: usize = 6;
/// Levels, the gravest first.
const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", ""];

/// Takes the bytes of a channel and keeps the last messages and counts of everything.
#[derive(Debug, Clone)]
pub struct Log {
    table: Table,
    /// Bytes of the frame that has not ended.
    pending: Vec<u8>,
    /// The frame that has not ended is too long, with so many bytes that are not kept.
    skipped: u64,
    /// Bytes that are in no frame although they were looked at.
    tried: usize,
    /// Where among the pending bytes something was lost first.
    lost_at: Option<usize>,
    totals: Decoded,
    levels: BTreeMap<&'static str, u64>,
    last: VecDeque<Message>,
    kept_text: usize,
}

impl Log {
    /// A channel that nothing has come from.
    pub fn new(table: Table) -> Log {
        let encoding = table.encoding().name().to_owned();
        let totals = Decoded { format: "defmt".to_owned(), encoding, ..Decoded::default() };
        Log {
            table,
            pending: Vec::new(),
            skipped: 0,
            tried: 0,
            lost_at: None,
            totals,
            levels: BTreeMap::new(),
            last: VecDeque::new(),
            kept_text: 0,
        }
    }

    /// More bytes of the channel.
    pub fn push(&mut self, bytes: &[u8]) {
        match self.table.encoding() {
            Encoding::Rzcobs => self.marked(bytes),
            Encoding::Raw => bytes.chunks(BATCH).for_each(|bytes| self.unmarked(bytes)),
        }
    }

    /// Bytes may be missing here.
    pub fn lost(&mut self) {
        self.lost_at.get_or_insert(self.pending.len());
    }

    /// What the channel has said, nothing more being to come.
    pub fn finish(mut self) -> Decoded {
        if self.table.encoding() == Encoding::Raw {
            self.search();
        }
        let mut totals = self.totals;
        totals.trailing_bytes = self.pending.len() as u64 + self.skipped;
        totals.earlier = totals.messages - self.last.len() as u64;
        let levels = LEVELS.iter().filter_map(|level| Some((*level, *self.levels.get(level)?)));
        totals.levels = levels.map(|(level, n)| (level.to_owned(), n)).collect();
        totals.last = self.last.into();
        totals
    }

    /// Bytes with a zero behind each frame.
    fn marked(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == 0) {
            self.keep(&bytes[..end]);
            self.ended();
            self.totals.separator_bytes += 1;
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LONGEST - self.pending.len();
        let (kept, rest) = bytes.split_at(bytes.len().min(room));
        self.pending.extend_from_slice(kept);
        self.skipped += rest.len() as u64;
    }

    /// The pending bytes are a frame.
    fn ended(&mut self) {
        let bytes = self.pending.len() as u64 + self.skipped;
        let lost_at = self.lost_at.take();
        if bytes == 0 {
            return;
        }
        let message = if self.skipped == 0 { self.unpacked() } else { None };
        match message {
            Some(message) => self.message(message, bytes, lost_at.is_some()),
            None => {
                self.totals.malformed += 1;
                self.totals.malformed_bytes += bytes;
            }
        }
        self.pending.clear();
        self.skipped = 0;
    }

    fn unpacked(&self) -> Option<Message> {
        let frame = self.table.unpack(&self.pending).filter(|frame| frame.len() <= LONGEST)?;
        let (message, used) = self.table.decode(&frame).ok()?;
        let rest = &frame[used..];
        (rest.len() <= FILL && rest.iter().all(|byte| *byte == 0)).then_some(message)
    }

    /// Bytes with nothing between frames.
    fn unmarked(&mut self, bytes: &[u8]) {
        if self.totals.stopped {
            self.totals.malformed_bytes += bytes.len() as u64;
            return;
        }
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= self.tried + BATCH {
            self.search();
        }
    }

    /// Takes as many frames from the pending bytes as there are. After a loss nobody knows where
    /// the next one begins.
    fn search(&mut self) {
        let mut begin = 0;
        while begin < self.pending.len() {
            match self.table.decode(&self.pending[begin..]) {
                Ok((message, used)) => {
                    begin += used;
                    let is_doubtful = self.lost_at.is_some_and(|at| at < begin);
                    self.message(message, used as u64, is_doubtful);
                }
                Err(Refused::Short) if self.pending.len() - begin < LONGEST => break,
                Err(Refused::Short | Refused::Malformed) => {
                    self.totals.stopped = true;
                    self.totals.malformed += 1;
                    self.totals.malformed_bytes += (self.pending.len() - begin) as u64;
                    begin = self.pending.len();
                }
            }
        }
        self.pending.drain(..begin);
        self.lost_at = self.lost_at.map(|at| at.saturating_sub(begin));
        self.tried = self.pending.len();
    }

    fn message(&mut self, mut message: Message, bytes: u64, is_doubtful: bool) {
        self.totals.messages += 1;
        self.totals.message_bytes += bytes;
        self.totals.doubtful += u64::from(is_doubtful);
        message.doubtful = is_doubtful;
        let level = message.level.as_deref().unwrap_or_default();
        let level = LEVELS.iter().find(|known| **known == level).unwrap_or(&"");
        *self.levels.entry(level).or_default() += 1;
        if message.text.len() > LONGEST_TEXT {
            message.text.truncate(message.text.floor_char_boundary(LONGEST_TEXT));
            message.text.push_str(" ...");
        }
        self.kept_text += size(&message);
        self.last.push_back(message);
        while self.last.len() > KEPT || (self.kept_text > KEPT_TEXT && self.last.len() > 1) {
            self.kept_text -= self.last.pop_front().map_or(0, |first| size(&first));
        }
    }
}

fn size(message: &Message) -> usize {
    message.text.len() + message.time.as_ref().map_or(0, String::len)
}
