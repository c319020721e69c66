//! Heads and values as records, from two stimulus ports or from frames.

use strobe_decode::kit::{Values, values_of};

/// What a record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// Something happened.
    Mark,
    /// A region begins.
    Begin,
    /// A region ends.
    End,
    /// What a variable is.
    Value(i64),
    /// So many bytes of a channel, one to four of these.
    Bytes([u8; 4], usize),
    /// What happened to a block of the heap.
    Heap(HeapCall),
    /// Words of the stack from an address on, one to eight of these: what follows was called there.
    Stack(u32, [u32; 8], usize),
    /// Which thread makes the calls of allocators that follow, or what one is called.
    Thread(ThreadWhat),
}

/// What is reported of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadWhat {
    /// The thread of this handle runs.
    Runs(u32),
    /// It has a name of so many bytes, which follow.
    Named {
        /// The thread's handle.
        handle: u32,
        /// At most [`LONGEST_NAME`].
        length: usize,
    },
    /// Four bytes of that name, or its last ones.
    Letters {
        /// Which four, from 0.
        place: usize,
        /// The bytes; zeros behind the name.
        bytes: [u8; 4],
    },
}

/// Bytes of a thread's name.
const LONGEST_NAME: usize = 32;

/// A call of an allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapCall {
    /// What it did.
    pub what: HeapWhat,
    /// Where it returns to.
    pub returns_to: u32,
    /// The exception that made it, 0 in threads.
    pub exception: u16,
}

/// What an allocator did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeapWhat {
    /// It allocated a block, or could not (pointer 0).
    Allocated {
        /// The block.
        pointer: u32,
        /// Bytes asked for.
        size: u32,
    },
    /// It frees a block.
    Freed(u32),
    /// It begins to resize a block.
    Resizing(u32),
    /// It resized a block, or could not (pointer 0).
    Resized {
        /// The block before.
        before: u32,
        /// The block now.
        pointer: u32,
        /// Bytes asked for.
        size: u32,
    },
}

/// A record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// What it is about, as the firmware numbers it.
    pub id: u16,
    /// Its content.
    pub what: RecordKind,
    /// Its number, from 0 on since reset, in 16 bits.
    pub number: u16,
    /// Records that are missing between the last one and this.
    pub lost: u16,
    /// Its number is lower than the last one's: the target began anew.
    pub restarted: bool,
}

/// Makes records of their heads, and finds by their numbers what is missing.
#[derive(Debug, Clone, Default)]
pub struct Numbers {
    /// The number that the next record should have.
    next: Option<u16>,
    /// Heads that are of no record.
    pub unusable: u64,
}

impl Numbers {
    /// The record of a head and of the values that came with it, or before it.
    pub fn take(&mut self, head: u32, values: Values) -> Option<Record> {
        let Some(what) = what(head, values) else {
            self.unusable += 1;
            return None;
        };
        let number = head as u16;
        let ahead = number.wrapping_sub(self.next.unwrap_or(number));
        self.next = Some(number.wrapping_add(1));
        // More than half of the numbers ahead is rather a few behind.
        let restarted = ahead >= 1 << 15;
        let lost = if restarted { 0 } else { ahead };
        Some(Record { id: (head >> 16 & 0xfff) as u16, what, number, lost, restarted })
    }
}

/// Reads records from two stimulus ports; see `strobe_trace.c` for how they are written.
#[derive(Debug, Clone)]
pub struct Reader {
    port: u8,
    /// The words at the next port, the last of which the next record completes.
    values: Values,
    numbers: Numbers,
}

impl Reader {
    /// A reader of records at `port`, with their values at the one after it.
    pub fn new(port: u8) -> Self {
        Reader { port, values: Values::default(), numbers: Numbers::default() }
    }

    /// The port of records.
    pub fn port(&self) -> u8 {
        self.port
    }

    /// Words that are no record.
    pub fn unusable(&self) -> u64 {
        self.numbers.unusable
    }

    /// Whether a port is one of the two.
    pub fn is_at(&self, port: u8) -> bool {
        port.wrapping_sub(self.port) < 2
    }

    /// Packets have been lost, so a value may have lost its record.
    pub fn lost(&mut self) {
        self.values = Values::default();
    }

    /// Takes what was written to one of the two ports.
    pub fn take(&mut self, port: u8, bytes: u8, word: u32) -> Option<Record> {
        if bytes != 4 {
            self.numbers.unusable += 1;
            return None;
        }
        if port != self.port {
            self.values.shift_in(word);
            return None;
        }
        let values = std::mem::take(&mut self.values);
        self.numbers.take(word, values)
    }
}

fn what(head: u32, values: Values) -> Option<RecordKind> {
    let kind = head >> 28;
    let values = values.last(values_of(kind)?)?;
    let value = || values.first().copied();
    Some(match kind {
        1 => RecordKind::Mark,
        2 => RecordKind::Begin,
        3 => RecordKind::End,
        4 => RecordKind::Value(value()?.into()),
        5 => RecordKind::Value(value()?.cast_signed().into()),
        8..=11 => RecordKind::Bytes(value()?.to_le_bytes(), kind as usize - 7),
        14 => {
            let (address, words) = values.split_first()?;
            let count = (head >> 16 & 0xfff) as usize;
            RecordKind::Stack(*address, words.try_into().ok()?, Some(count).filter(|n| *n <= 8)?)
        }
        15 => RecordKind::Thread(thread((head >> 16 & 0xfff) as usize, value()?)?),
        _ => RecordKind::Heap(heap(head, &values)?),
    })
}

/// As `strobe_heap.h` has it.
fn thread(id: usize, word: u32) -> Option<ThreadWhat> {
    Some(match (id >> 8, id & 0xff) {
        (0, 0) => ThreadWhat::Runs(word),
        (1, length @ 1..=LONGEST_NAME) => ThreadWhat::Named { handle: word, length },
        (2, place) if place < LONGEST_NAME / 4 => {
            ThreadWhat::Letters { place, bytes: word.to_le_bytes() }
        }
        _ => return None,
    })
}

/// As `strobe_heap.h` has it.
fn heap(head: u32, values: &[u32]) -> Option<HeapCall> {
    let exception = (head >> 16 & 0x1ff) as u16;
    let (what, returns_to) = match (head >> 28, head >> 25 & 7, values) {
        (6, 0, &[pointer, returns_to]) => (HeapWhat::Freed(pointer), returns_to),
        (6, 1, &[pointer, returns_to]) => (HeapWhat::Resizing(pointer), returns_to),
        (12, 0, &[pointer, size, returns_to]) => {
            (HeapWhat::Allocated { pointer, size }, returns_to)
        }
        (13, 0, &[pointer, size, returns_to, before]) => {
            (HeapWhat::Resized { before, pointer, size }, returns_to)
        }
        _ => return None,
    };
    Some(HeapCall { what, returns_to, exception })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(kind: u32, id: u32, number: u16) -> u32 {
        kind << 28 | id << 16 | u32::from(number)
    }

    #[test]
    fn numbers_show_what_is_missing() {
        let mut reader = Reader::new(30);
        let mut lost = |number| {
            let record = reader.take(30, 4, head(1, 7, number)).expect("a record");
            (record.lost, record.restarted)
        };
        assert_eq!(lost(65_534), (0, false));
        assert_eq!(lost(65_535), (0, false));
        assert_eq!(lost(0), (0, false));
        assert_eq!(lost(5), (4, false));
        assert_eq!(lost(0), (0, true));
        assert_eq!(lost(1), (0, false));
    }

    #[test]
    fn a_value_belongs_to_the_record_right_behind_it() {
        let mut reader = Reader::new(30);
        assert_eq!(reader.take(31, 4, 0xffff_fffe), None);
        let record = reader.take(30, 4, head(5, 6, 0)).expect("a record");
        assert_eq!((record.id, record.what), (6, RecordKind::Value(-2)));
        // Its record was dropped, and the next one has no value: no mix-up.
        reader.take(31, 4, 1);
        assert_eq!(
            reader.take(30, 4, head(1, 1, 2)).map(|r| (r.what, r.lost)),
            Some((RecordKind::Mark, 1))
        );
        assert_eq!(reader.take(30, 4, head(4, 6, 3)), None);
        // Lost on the way.
        reader.take(31, 4, 1);
        reader.lost();
        assert_eq!(reader.take(30, 4, head(4, 6, 4)), None);
        assert_eq!(reader.unusable(), 2);
    }

    #[test]
    fn anything_can_be_written_to_a_port() {
        for kind in 0..16 {
            for bytes in [0, 1, 2, 4, 255] {
                for port in [0, 30, 31, 255] {
                    let mut reader = Reader::new(30);
                    let record = reader.take(port, bytes, head(kind, 4095, 1));
                    assert!(record.is_none() || (port, bytes) == (30, 4) && (1..4).contains(&kind));
                }
            }
        }
    }

    #[test]
    fn allocator_call_includes_the_words_before_it() {
        let mut reader = Reader::new(30);
        // Of a record that found no room for its head.
        reader.take(31, 4, 7);
        for word in [0x2000_0100, 24, 0x0800_0123] {
            assert_eq!(reader.take(31, 4, word), None);
        }
        let record = reader.take(30, 4, head(12, 15, 0)).expect("a record");
        let what = HeapWhat::Allocated { pointer: 0x2000_0100, size: 24 };
        let call = HeapCall { what, returns_to: 0x0800_0123, exception: 15 };
        assert_eq!(record.what, RecordKind::Heap(call));
        // One word is missing; a state that nobody sends.
        reader.take(31, 4, 0x2000_0100);
        assert_eq!(reader.take(30, 4, head(6, 0, 1)), None);
        (0..2).for_each(|word| _ = reader.take(31, 4, word));
        assert_eq!(reader.take(30, 4, head(6, 7 << 9, 2)), None);
        assert_eq!(reader.unusable(), 2);
    }

    #[test]
    fn stack_piece_with_missing_words_is_rejected() {
        for (count, is_one) in [(0, true), (8, true), (9, false), (4095, false)] {
            let mut reader = Reader::new(30);
            (0..9).for_each(|word| _ = reader.take(31, 4, word));
            assert_eq!(reader.take(30, 4, head(14, count, 0)).is_some(), is_one);
        }
    }

    #[test]
    fn a_thread_or_its_name_is_a_word() {
        let what = |id| {
            let mut reader = Reader::new(30);
            reader.take(31, 4, 0x6f64_6e75);
            reader.take(30, 4, head(15, id, 0)).map(|record| record.what)
        };
        assert_eq!(what(0), Some(RecordKind::Thread(ThreadWhat::Runs(0x6f64_6e75))));
        let named = ThreadWhat::Named { handle: 0x6f64_6e75, length: 32 };
        assert_eq!(what(0x120), Some(RecordKind::Thread(named)));
        let letters = ThreadWhat::Letters { place: 7, bytes: *b"undo" };
        assert_eq!(what(0x207), Some(RecordKind::Thread(letters)));
        for unknown in [1, 0x100, 0x121, 0x208, 0x300, 0xfff] {
            assert_eq!(what(unknown), None, "{unknown:#x}");
        }
    }
}
