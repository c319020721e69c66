//! The chain of functions at an address, inlined ones first, each with its place in the source.
//!
//! Everything is resolved once, into one sorted table over the whole image, so that a lookup is one
//! binary search and a million of them take well under a second. This module must not know ELF or
//! DWARF.

use crate::functions::FunctionId;
use crate::interval::Piece;

/// Index of a string in [`DebugTables`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StringId(pub(crate) u32);

/// Index of a [`Scope`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ScopeId(pub(crate) u32);

/// A place in the source. Line and column count from 1; 0 if the compiler recorded none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Place {
    pub(crate) file: Option<StringId>,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// A function or an inlined call as the debug information describes it.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    /// The scope that this one was inlined into; `None` for a function.
    pub(crate) caller: Option<(ScopeId, Place)>,
    pub(crate) linkage_name: Option<StringId>,
    pub(crate) display_name: Option<StringId>,
    /// The name with the types that a generic function was made for, where mangling dropped them.
    pub(crate) typed_name: Option<StringId>,
}

/// Attributes of one contiguous run of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameLocation {
    pub(crate) function: Option<FunctionId>,
    pub(crate) scope: Option<ScopeId>,
    pub(crate) place: Option<Place>,
}

/// The debug information's contribution to the table.
#[derive(Debug, Default)]
pub(crate) struct DebugTables {
    pub(crate) strings: Vec<Box<str>>,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) scope_pieces: Vec<Piece<ScopeId>>,
    pub(crate) line_pieces: Vec<Piece<Place>>,
}

impl DebugTables {
    pub(crate) fn string(&self, id: StringId) -> &str {
        &self.strings[id.0 as usize]
    }
}

/// One function in the chain at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame<'a> {
    /// The display name, demangled; `None` if neither the symbol table nor the debug information
    /// has one.
    pub name: Option<&'a str>,
    /// The linkage name, mangled for C++ and Rust.
    pub linkage_name: Option<&'a str>,
    /// The function from [`Firmware::functions`](crate::Firmware::functions) that the code was
    /// emitted into; only the outermost frame has one.
    pub function: Option<FunctionId>,
    /// Source file as the compiler recorded it, joined to the compilation directory when relative.
    /// In the innermost frame the place is that of the instruction, in the others that of the
    /// inlined call.
    pub file: Option<&'a str>,
    /// Line, counted from 1; `None` for code without a line, such as generated code.
    pub line: Option<u32>,
    /// Column, counted from 1; `None` if not recorded. Some compilers record one for code without
    /// a line.
    pub column: Option<u32>,
    /// Whether the function was inlined into the next frame.
    pub inlined: bool,
}

/// Why an address has no frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Missing {
    /// The address is in the image's code, but no symbol covers it.
    NoSymbol,
    /// The address is in the image, but the bytes there are data.
    Data,
    /// The address is outside all sections and segments of the image: RAM that code was copied to,
    /// ROM, or a wild jump.
    OutsideImage,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Missing::NoSymbol => "no symbol covers this address",
            Missing::Data => "this address holds data, not code",
            Missing::OutsideImage => "this address is not in the ELF file",
        })
    }
}

/// The frames at an address, innermost first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Frames<'a> {
    /// The chain; empty if [`Frames::missing`] has a reason.
    pub frames: Vec<Frame<'a>>,
    /// The reason if no name and no line is known.
    pub missing: Option<Missing>,
}

impl<'a> Frames<'a> {
    /// The function whose source the instruction comes from.
    pub fn innermost(&self) -> Option<&Frame<'a>> {
        self.frames.first()
    }

    /// The function that the instruction was emitted into.
    pub fn outermost(&self) -> Option<&Frame<'a>> {
        self.frames.last()
    }
}

/// The results of many lookups, without duplicates.
#[derive(Debug, Clone)]
pub struct FramesBatch<'a> {
    /// For each address, in the same order, the index of its result.
    pub indices: Vec<u32>,
    /// The distinct results.
    pub distinct: Vec<Frames<'a>>,
}

impl<'a> FramesBatch<'a> {
    /// The result for the n-th address.
    pub fn get(&self, n: usize) -> Option<&Frames<'a>> {
        self.indices.get(n).and_then(|&index| self.distinct.get(index as usize))
    }

    /// The results in the order of the addresses.
    pub fn iter(&self) -> impl Iterator<Item = &Frames<'a>> {
        self.indices.iter().map(|&index| &self.distinct[index as usize])
    }
}

/// Combines functions, scopes and lines into one table of disjoint pieces.
pub(crate) fn join(
    functions: &[Piece<FunctionId>],
    debug: &DebugTables,
) -> Vec<Piece<FrameLocation>> {
    let mut borders: Vec<u64> = Vec::with_capacity(
        2 * (functions.len() + debug.scope_pieces.len() + debug.line_pieces.len()),
    );
    borders.extend(functions.iter().flat_map(|piece| [piece.start, piece.end]));
    borders.extend(debug.scope_pieces.iter().flat_map(|piece| [piece.start, piece.end]));
    borders.extend(debug.line_pieces.iter().flat_map(|piece| [piece.start, piece.end]));
    borders.sort_unstable();
    borders.dedup();
    let (mut functions, mut scopes, mut lines) =
        (Cursor::new(functions), Cursor::new(&debug.scope_pieces), Cursor::new(&debug.line_pieces));
    let mut table = Vec::with_capacity(borders.len());
    for pair in borders.windows(2) {
        let (start, end) = (pair[0], pair[1]);
        let value = FrameLocation {
            function: functions.at(start),
            scope: scopes.at(start),
            place: lines.at(start),
        };
        if value != (FrameLocation { function: None, scope: None, place: None }) {
            table.push(Piece { start, end, value });
        }
    }
    table
}

/// A cursor over a sorted list of pieces, for ascending addresses.
struct Cursor<'a, T> {
    rest: &'a [Piece<T>],
}

impl<'a, T: Copy> Cursor<'a, T> {
    fn new(pieces: &'a [Piece<T>]) -> Self {
        Cursor { rest: pieces }
    }

    fn at(&mut self, address: u64) -> Option<T> {
        while let [piece, rest @ ..] = self.rest {
            if address < piece.end {
                return (piece.start <= address).then_some(piece.value);
            }
            self.rest = rest;
        }
        None
    }
}
