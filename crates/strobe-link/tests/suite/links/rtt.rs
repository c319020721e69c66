//! A buffer in RAM over debug ports: firmware that this plays writes it, and a link empties it
//! meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use strobe_link::trace::link::{Error, Link, ReadOutcome};
use strobe_link::trace::program::Registers;
use strobe_link::trace::rtt::{Polled, RttFilter, USUAL_RAM};

use super::target::Chip;

pub const BLOCK: u32 = 0x2000_0010;
const BUFFER: u32 = 0x2000_0102;
pub const SIZE: u32 = 61;

/// A control block with one buffer, as SEGGER describes it.
pub fn set_up(words: &mut BTreeMap<u32, u32>) {
    let id: Vec<u32> = b"SEGGER RTT\0\0\0\0\0\0"
        .chunks(4)
        .map(|four| u32::from_le_bytes(four.try_into().expect("four")))
        .collect();
    let rest = [1, 0, 0, BUFFER, SIZE, 0, 0, 0];
    for (at, word) in (BLOCK..).step_by(4).zip(id.into_iter().chain(rest)) {
        words.insert(at, word);
    }
}

/// Writes as the firmware does: all or nothing.
pub fn write(words: &mut BTreeMap<u32, u32>, bytes: &[u8]) -> bool {
    let (mut at, read) = (words[&(BLOCK + 36)], words[&(BLOCK + 40)]);
    let free = (read + SIZE - at - 1) % SIZE;
    if (free as usize) < bytes.len() {
        return false;
    }
    for byte in bytes {
        let shift = (BUFFER + at) % 4 * 8;
        let word = words.entry((BUFFER + at) & !3).or_default();
        *word = *word & !(0xff << shift) | u32::from(*byte) << shift;
        at = (at + 1) % SIZE;
    }
    words.insert(BLOCK + 36, at);
    true
}

/// A chip that writes whenever it was looked at, until it has written everything. RAM ends at 16
/// KiB.
struct Busy {
    chip: Chip,
    left: Vec<Vec<u8>>,
    lost: usize,
}

impl Registers for Busy {
    fn read_word(&mut self, address: u32) -> Result<u32, Error> {
        if !(0x2000_0000..0x2000_4000).contains(&address) {
            return Err(Error::failed("memory", "nothing there"));
        }
        Ok(self.chip.read(address))
    }

    fn write_word(&mut self, address: u32, value: u32) -> Result<(), Error> {
        assert_eq!(address, BLOCK + 40, "nothing but the host's offset is the host's");
        self.chip.write(address, value);
        for piece in self.left.split_off(self.left.len().saturating_sub(9)).iter().rev() {
            self.lost += usize::from(!write(&mut self.chip.words, piece));
        }
        Ok(())
    }
}

#[test]
fn buffered_bytes_arrive_in_order() {
    let pieces: Vec<Vec<u8>> = (0..=255u8).map(|n| vec![n; 11]).collect();
    let mut chip = Chip::new();
    set_up(&mut chip.words);
    assert!(write(&mut chip.words, &[0xee; 5]));
    let busy = Busy { chip, left: pieces.into_iter().rev().collect(), lost: 0 };
    let wanted = RttFilter { block: USUAL_RAM, channel: 0 };
    let mut link = Polled::new(busy, wanted, Some(10_000));
    let (mut bytes, mut notes) = (Vec::new(), 0);
    loop {
        match link.read(&mut bytes, Duration::from_millis(20)).expect("memory") {
            ReadOutcome::Note(_) => notes += 1,
            ReadOutcome::Nothing => break,
            _ => {}
        }
    }
    assert_eq!(notes, 1, "where the block was found");
    assert_eq!(bytes[..5], [0xee; 5]);
    // Nine pieces at a time, of which the buffer holds five.
    let came: Vec<u8> = bytes[5..].chunks(11).map(|piece| piece[0]).collect();
    assert!(bytes[5..].chunks(11).all(|piece| piece.iter().all(|byte| *byte == piece[0])));
    assert!(came.is_sorted());
    let expected = (0..=255u8).filter(|n| n % 9 < 5).count();
    assert_eq!(came.len(), expected);
}

#[test]
fn memory_that_does_not_answer_is_an_error() {
    let busy = Busy { chip: Chip::new(), left: Vec::new(), lost: 0 };
    let wanted = RttFilter { block: 0x1000_0000..0x1000_1000, channel: 0 };
    let error = Polled::new(busy, wanted, None).read(&mut Vec::new(), Duration::from_millis(1));
    assert!(error.is_err_and(|e| e.to_string().contains("nothing there")));
}
