//! Which symbol each byte of the image belongs to: functions and variables together, disjoint.
//!
//! For reports on what fills a memory. Look-ups of single addresses are in `firmware.rs`.

use std::ops::Range;

use crate::Firmware;
use crate::frames::Frames;
use crate::functions::FunctionId;
use crate::interval::{Claim, flatten};

/// Whom bytes belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    /// A function, with its literal pools and jump tables.
    Function(FunctionId),
    /// A variable or constant, by its index in [`Firmware::data_symbols`].
    Data(u32),
}

/// A contiguous run of bytes at run-time addresses, with one owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    /// Addresses at run time; the end is exclusive and may be 2^32.
    pub range: Range<u64>,
    /// The innermost symbol there.
    pub owner: Owner,
}

impl Firmware {
    /// The owners of bytes, sorted by address and disjoint; what no symbol covers is left out.
    /// Where symbols overlap, the one that starts last owns the bytes; of two at one address, the
    /// variable, then the first in the symbol table.
    pub fn layout(&self) -> Vec<Owned> {
        let functions = (0..).zip(self.functions()).map(|(id, function)| Claim {
            start: u64::from(function.start),
            end: function.end(),
            priority: u64::from(function.start) << 1,
            value: Owner::Function(FunctionId(id)),
        });
        let data = self.data_symbols().iter().enumerate().rev().map(|(index, symbol)| Claim {
            start: u64::from(symbol.address),
            end: u64::from(symbol.address) + u64::from(symbol.size),
            priority: u64::from(symbol.address) << 1 | 1,
            value: Owner::Data(index as u32),
        });
        let pieces = flatten(functions.chain(data).collect());
        let owned = pieces.into_iter().map(|p| Owned { range: p.start..p.end, owner: p.value });
        owned.collect()
    }

    /// Whether the debug information describes code that was inlined.
    pub fn has_inlined_code(&self) -> bool {
        self.debug.scopes.iter().any(|scope| scope.caller.is_some())
    }

    /// The runs of code within a range of addresses in which function, inlined calls and source
    /// line stay the same, with their frames.
    pub fn code_pieces(
        &self,
        within: Range<u64>,
    ) -> impl Iterator<Item = (Range<u64>, Frames<'_>)> {
        let first = self.spots.partition_point(|piece| piece.end <= within.start);
        let until = within.end;
        let pieces = self.spots[first..].iter().take_while(move |piece| piece.start < until);
        pieces.map(move |piece| {
            let range = piece.start.max(within.start)..piece.end.min(within.end);
            (range, Frames { frames: self.chain(piece.value), missing: None })
        })
    }
}
