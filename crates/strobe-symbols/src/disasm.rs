//! Disassembly with symbolic operands: branch targets and literals by name.
//!
//! `capstone` decodes Thumb with the M-profile's special registers, a table of ours decodes AVR.
//! This module skips data, which mapping symbols mark, and adds names. It must not know cycles: the
//! cost of an instruction is the simulator's subject.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

use capstone::arch::arm::{ArchExtraMode, ArchMode};
use capstone::arch::{BuildsCapstone, BuildsCapstoneExtraMode};
use capstone::{Capstone, Insn, Syntax};
use strobe_isa::thumb::{Code, is_wide};

use crate::avr;
use crate::code::CodeKind;
use crate::firmware::Firmware;
use crate::interval::Piece;

/// Bytes per decoding call: IT blocks must be within one call, and memory must stay bounded.
const CHUNK: u64 = 4096;

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// An instruction.
    Instruction(Instruction),
    /// Bytes that are not an instruction: a literal pool, a jump table, or an undefined encoding.
    Data(DataItem),
}

impl Item {
    /// Address of the first byte.
    pub fn address(&self) -> u32 {
        match self {
            Item::Instruction(instruction) => instruction.address,
            Item::Data(data) => data.address,
        }
    }
}

/// A decoded instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Address of the first byte.
    pub address: u32,
    /// Size in bytes: 2 or 4.
    pub size: u8,
    /// The encoding: the first halfword, then, for four bytes, the second. As `objdump` prints
    /// them.
    pub halfwords: [u16; 2],
    /// The mnemonic, such as `bl`.
    pub mnemonic: String,
    /// The operands as text, such as `r0, [pc, #8]`.
    pub operands: String,
    /// The target of a branch or call with a fixed destination.
    pub target: Option<Reference>,
    /// The word that a PC-relative load loads.
    pub literal: Option<Literal>,
}

/// Bytes between instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataItem {
    /// Address of the first byte.
    pub address: u32,
    /// Size in bytes: 1, 2 or 4.
    pub size: u8,
    /// The bytes as a little-endian number.
    pub value: u32,
    /// What the number points to, if it is a whole word and an address in the image.
    pub symbol: Option<String>,
}

/// An address with the name of the symbol there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The address, the Thumb bit cleared.
    pub address: u32,
    /// Name and offset, such as `main+0x4`.
    pub symbol: Option<String>,
}

/// A constant from a literal pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literal {
    /// Where the constant is.
    pub address: u32,
    /// Its value; `None` if the address is not in the file.
    pub value: Option<u32>,
    /// What the value points to, if it is an address in the image.
    pub symbol: Option<String>,
}

impl Instruction {
    /// The encoding as `objdump` prints it, such as `f7ff fffe`.
    pub fn encoding(&self) -> String {
        match self.size {
            4 => format!("{:04x} {:04x}", self.halfwords[0], self.halfwords[1]),
            _ => format!("{:04x}", self.halfwords[0]),
        }
    }
}

impl fmt::Display for Instruction {
    /// Mnemonic and operands, then the referenced symbols in angle brackets or after `=`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:<7} {}", self.mnemonic, self.operands);
        f.write_str(text.trim_end())?;
        if let Some(symbol) = self.target.as_ref().and_then(|target| target.symbol.as_ref()) {
            write!(f, " <{symbol}>")?;
        }
        if let Some(Literal { value: Some(value), symbol, .. }) = &self.literal {
            write!(f, " ={value:#x}")?;
            if let Some(symbol) = symbol {
                write!(f, " <{symbol}>")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for DataItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (directive, digits) = match self.size {
            4 => (".word", 10),
            2 => (".short", 6),
            _ => (".byte", 4),
        };
        write!(f, "{directive:<7} {:#0digits$x}", self.value)?;
        match &self.symbol {
            Some(symbol) => write!(f, " <{symbol}>"),
            None => Ok(()),
        }
    }
}

impl Firmware {
    /// The instructions and the data between them in `range`, in order. Bytes that are not in the
    /// file are left out.
    pub fn listing(&self, range: Range<u32>) -> Listing<'_> {
        let range = u64::from(range.start & !1)..u64::from(range.end);
        Listing { firmware: self, engine: engine(), rest: range, items: VecDeque::new() }
    }

    /// The instructions only.
    pub fn instructions(&self, range: Range<u32>) -> impl Iterator<Item = Instruction> {
        self.listing(range).filter_map(|item| match item {
            Item::Instruction(instruction) => Some(instruction),
            Item::Data(_) => None,
        })
    }
}

fn engine() -> Option<Capstone> {
    // Without the M-class mode capstone decodes none of MRS and MSR's special registers.
    let mut engine = Capstone::new()
        .arm()
        .mode(ArchMode::Thumb)
        .extra_mode([ArchExtraMode::MClass].into_iter())
        .build()
        .ok()?;
    // R9 to R12 as the manuals and fault reports name them, not SB, SL, FP and IP.
    engine.set_syntax(Syntax::NoRegName).ok()?;
    Some(engine)
}

/// Iterator over [`Item`]s, see [`Firmware::listing`].
pub struct Listing<'a> {
    firmware: &'a Firmware,
    engine: Option<Capstone>,
    rest: Range<u64>,
    items: VecDeque<Item>,
}

impl Iterator for Listing<'_> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        while self.items.is_empty() && !self.rest.is_empty() {
            let piece = self.firmware.code.pieces_in(self.rest.clone()).next()?;
            let piece = Piece { end: piece.end.min(piece.start + CHUNK), ..piece };
            self.rest.start = self.decode(piece).max(piece.start + 1);
        }
        self.items.pop_front()
    }
}

impl Listing<'_> {
    /// Decodes a piece and returns the address to continue from.
    fn decode(&mut self, piece: Piece<CodeKind>) -> u64 {
        let size = (piece.end - piece.start) as usize;
        let Some(bytes) = self.firmware.bytes_at(piece.start as u32, size) else {
            return self.skip_uninitialised(piece);
        };
        match piece.value {
            CodeKind::Thumb => self.decode_thumb(piece.start, bytes),
            CodeKind::Avr => self.decode_avr(piece.start, bytes),
            // No supported core executes Arm instructions: they are listed as words.
            CodeKind::Arm | CodeKind::Data => self.decode_data(piece.start, bytes),
        }
        self.items.back().map_or(piece.end, |last| match last {
            Item::Instruction(last) => u64::from(last.address) + u64::from(last.size),
            Item::Data(last) => u64::from(last.address) + u64::from(last.size),
        })
    }

    /// File contents may end before the piece does: zeroed memory follows and is not listed.
    fn skip_uninitialised(&mut self, piece: Piece<CodeKind>) -> u64 {
        match piece.end - piece.start {
            0..=1 => piece.end,
            size => self.decode(Piece { end: piece.start + size / 2, ..piece }),
        }
    }

    fn decode_thumb(&mut self, start: u64, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            for instruction in self.decode_run(start + at as u64, &bytes[at..]) {
                at += usize::from(instruction.size);
                self.items.push_back(Item::Instruction(instruction));
            }
            let rest = &bytes[at..];
            let is_wide = rest.get(1).is_some_and(|high| is_wide(u16::from(*high) << 8));
            // The second half of the last instruction may be in the next chunk; the caller
            // continues from there.
            let is_cut = rest.len() == 2 && at > 0 && is_wide;
            if rest.is_empty() || is_cut {
                return;
            }
            let size = if is_wide { 4 } else { 2 }.min(rest.len());
            self.decode_data(start + at as u64, &rest[..size]);
            at += size;
        }
    }

    fn decode_avr(&mut self, start: u64, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let address = start as u32 + at as u32;
            let word = |at: usize| bytes.get(at..at + 2).map(|b| u16::from_le_bytes([b[0], b[1]]));
            let decoded = word(at).and_then(|first| avr::decode(address, first, word(at + 2)));
            let Some(decoded) = decoded else {
                let size = 2.min(bytes.len() - at);
                let is_cut = at > 0 && at + 2 == bytes.len();
                if is_cut {
                    // Its second word may be in the next chunk; the caller continues from there.
                    return;
                }
                self.decode_data(start + at as u64, &bytes[at..at + size]);
                at += size;
                continue;
            };
            let target = decoded
                .target
                .map(|address| Reference { address, symbol: self.firmware.describe(address) });
            self.items.push_back(Item::Instruction(Instruction {
                address,
                size: decoded.size,
                halfwords: [word(at).unwrap_or(0), word(at + 2).unwrap_or(0)],
                mnemonic: decoded.mnemonic.to_owned(),
                operands: decoded.operands,
                target,
                literal: None,
            }));
            at += usize::from(decoded.size);
        }
    }

    /// The instructions up to the first undefined encoding.
    fn decode_run(&self, start: u64, bytes: &[u8]) -> Vec<Instruction> {
        let decoded = self.engine.as_ref().and_then(|engine| engine.disasm_all(bytes, start).ok());
        decoded.iter().flat_map(|run| run.iter()).map(|insn| self.instruction(insn)).collect()
    }

    fn decode_data(&mut self, start: u64, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let address = start as u32 + at as u32;
            let size = match bytes.len() - at {
                4.. if address.is_multiple_of(4) => 4,
                2.. if address.is_multiple_of(2) => 2,
                _ => 1,
            };
            let value = bytes[at..at + size]
                .iter()
                .rev()
                .fold(0, |value, &byte| value << 8 | u32::from(byte));
            let symbol = if size == 4 { self.firmware.pointee(value) } else { None };
            self.items.push_back(Item::Data(DataItem { address, size: size as u8, value, symbol }));
            at += size;
        }
    }

    fn instruction(&self, insn: &Insn<'_>) -> Instruction {
        let address = insn.address() as u32;
        let halfword = |at: usize| {
            insn.bytes().get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
        };
        let halfwords = [halfword(0), halfword(2)];
        let code = Code::read(address, |at| Some(halfwords[usize::from(at != address)]));
        Instruction {
            address,
            size: insn.len() as u8,
            halfwords,
            mnemonic: insn.mnemonic().unwrap_or_default().to_owned(),
            operands: insn.op_str().unwrap_or_default().to_owned(),
            target: code.and_then(|code| self.target(code)),
            literal: code.and_then(|code| self.literal(code)),
        }
    }

    fn target(&self, code: Code) -> Option<Reference> {
        let address = code.insn.target()?;
        Some(Reference { address, symbol: self.firmware.describe(address) })
    }

    /// The literal of `ldr rt, [pc, #offset]`.
    fn literal(&self, code: Code) -> Option<Literal> {
        let (_, address) = code.insn.literal()?;
        let value = self.firmware.word_at(address);
        let symbol = value.and_then(|value| self.firmware.pointee(value));
        Some(Literal { address, value, symbol })
    }
}
