//! What a line brought, in its order: bytes, and between them the places where some came damaged.

use std::collections::VecDeque;
use std::time::Duration;

use strobe_decode::container::Note;

use super::link::ReadOutcome;

/// Bytes of a piece at most, so that each has a time of its own.
const MOST: usize = 1 << 12;

/// Pieces that wait to be read, each with the line's own time where it ends.
#[derive(Debug, Default)]
pub(super) struct Pieces(VecDeque<(Piece, Duration)>);

#[derive(Debug)]
enum Piece {
    Bytes(Vec<u8>),
    /// So many came damaged and are left out.
    Damaged(u64),
}

impl Pieces {
    /// A sound byte.
    pub fn byte(&mut self, byte: u8, at: Duration) {
        match self.0.back_mut() {
            Some((Piece::Bytes(bytes), until)) if bytes.len() < MOST => {
                bytes.push(byte);
                *until = at;
            }
            _ => self.0.push_back((Piece::Bytes(vec![byte]), at)),
        }
    }

    /// Damaged ones.
    pub fn damaged(&mut self, more: u64, at: Duration) {
        match self.0.back_mut() {
            Some((Piece::Damaged(count), until)) => {
                *count += more;
                *until = at;
            }
            _ => self.0.push_back((Piece::Damaged(more), at)),
        }
    }

    /// The next piece, as a link gives it, with its time.
    pub fn next(&mut self, into: &mut Vec<u8>) -> Option<(ReadOutcome, Duration)> {
        let (piece, at) = self.0.pop_front()?;
        let came = match piece {
            Piece::Bytes(bytes) => {
                into.extend(bytes);
                ReadOutcome::Bytes
            }
            Piece::Damaged(count) => ReadOutcome::Note(Note::LineErrors { count }),
        };
        Some((came, at))
    }
}
