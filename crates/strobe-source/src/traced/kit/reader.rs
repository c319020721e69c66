//! Heads and values as records, from two stimulus ports or from frames.

/// What a record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
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
}

/// A record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// What it is about, as the firmware numbers it.
    pub id: u16,
    /// Its content.
    pub what: What,
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
    /// The record of a head and of the value that came with it.
    pub fn take(&mut self, head: u32, value: Option<u32>) -> Option<Record> {
        let Some(what) = what(head, value) else {
            self.unusable += 1;
            return None;
        };
        let number = head as u16;
        let ahead = number.wrapping_sub(self.next.unwrap_or(number));
        self.next = Some(number.wrapping_add(1));
        // More than half of the numbers ahead is rather a few behind.
        let restarted = ahead >= 1 << 15;
        let lost = if restarted { 0 } else { ahead };
        Some(Record { id: (head >> 16 & 0xfff) as u16, what, lost, restarted })
    }
}

/// Reads records from two stimulus ports; see `strobe_trace.c` for how they are written.
#[derive(Debug, Clone)]
pub struct Reader {
    port: u8,
    /// The word at the next port, which the next record completes.
    value: Option<u32>,
    numbers: Numbers,
}

impl Reader {
    /// A reader of records at `port`, with their values at the one after it.
    pub fn new(port: u8) -> Self {
        Reader { port, value: None, numbers: Numbers::default() }
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
        self.value = None;
    }

    /// Takes what was written to one of the two ports.
    pub fn take(&mut self, port: u8, bytes: u8, word: u32) -> Option<Record> {
        if bytes != 4 {
            self.numbers.unusable += 1;
            return None;
        }
        if port != self.port {
            self.value = Some(word);
            return None;
        }
        let value = self.value.take();
        self.numbers.take(word, value)
    }
}

fn what(word: u32, value: Option<u32>) -> Option<What> {
    Some(match word >> 28 {
        1 => What::Mark,
        2 => What::Begin,
        3 => What::End,
        4 => What::Value(value?.into()),
        5 => What::Value(value?.cast_signed().into()),
        kind @ 8..=11 => What::Bytes(value?.to_le_bytes(), kind as usize - 7),
        _ => return None,
    })
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
        assert_eq!((record.id, record.what), (6, What::Value(-2)));
        // Its record was dropped, and the next one has no value: no mix-up.
        reader.take(31, 4, 1);
        assert_eq!(
            reader.take(30, 4, head(1, 1, 2)).map(|r| (r.what, r.lost)),
            Some((What::Mark, 1))
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
}
