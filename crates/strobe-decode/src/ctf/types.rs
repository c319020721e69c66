//! Types of fields: how bits become numbers, texts and compounds of them (section 4).

use std::sync::Arc;

use super::error::Position;

/// Types inside one another; recursion over them goes no deeper.
pub(super) const MAX_DEPTH: u32 = 64;
/// Parts of a type with all those of its parts.
pub(super) const MAX_PARTS: u64 = 1 << 20;

/// Which end of a number comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// The low end.
    Little,
    /// The high end.
    Big,
}

/// How a number likes to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Base {
    /// Base 2.
    Binary,
    /// Base 8.
    Octal,
    /// Base 10.
    #[default]
    Decimal,
    /// Base 16.
    Hexadecimal,
}

/// An integer (section 4.1.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integer {
    /// 1 to 64.
    pub bits: u8,
    /// Where it may begin, in bits from the packet's beginning: a power of two.
    pub align: u64,
    /// Two's complement.
    pub signed: bool,
    /// Its own, or `None` for the trace's.
    pub order: Option<ByteOrder>,
    /// How to show it.
    pub base: Base,
    /// It is a character.
    pub is_text: bool,
    /// The clock that it tells the time of, by index.
    pub clock: Option<usize>,
}

/// A floating-point number (section 4.1.3): binary32 or binary64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Float {
    /// 32 or 64.
    pub bits: u8,
    /// Where it may begin, in bits.
    pub align: u64,
    /// Its own, or `None` for the trace's.
    pub order: Option<ByteOrder>,
}

/// An enumeration (section 4.1.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enumeration {
    /// What holds its value.
    pub container: Integer,
    /// Labels with the values from and to which they apply.
    pub labels: Vec<(String, i128, i128)>,
}

impl Enumeration {
    /// Labels of a value, in the order of the metadata.
    pub fn labels_of(&self, value: i128) -> impl Iterator<Item = &str> {
        let fits = move |(_, from, to): &&(String, i128, i128)| (*from..=*to).contains(&value);
        self.labels.iter().filter(fits).map(|(label, ..)| label.as_str())
    }
}

/// A name and what it stands for. One leading underscore of the metadata is left out: it is there to keep names from being words of the language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// Its type.
    pub ty: Arc<Type>,
}

/// A structure (section 4.2.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Struct {
    /// In order.
    pub fields: Arc<[Field]>,
    /// Where it may begin, in bits: the greatest of its own and its fields'.
    pub align: u64,
    pub(super) extent: Extent,
}

/// A variant (section 4.2.2): one of its options, as a tag elsewhere says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// The enumeration that chooses; a variant without it cannot be read, only named.
    pub tag: Option<Path>,
    /// What there is to choose.
    pub options: Arc<[Field]>,
    pub(super) extent: Extent,
}

/// An array of fixed length (section 4.2.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// Elements.
    pub length: u64,
    /// What they are.
    pub element: Arc<Type>,
    pub(super) extent: Extent,
}

/// An array whose length is told elsewhere (section 4.2.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// Where.
    pub length: Path,
    /// What its elements are.
    pub element: Arc<Type>,
    pub(super) extent: Extent,
}

/// A reference to a field: names from a scope, or from an enclosing structure, downwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The names.
    pub names: Vec<String>,
    /// Where it is written.
    pub at: Position,
}

impl Path {
    /// As it is written.
    pub fn text(&self) -> String {
        self.names.join(".")
    }
}

/// What a field is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// An integer.
    Integer(Integer),
    /// A floating-point number.
    Float(Float),
    /// Bytes up to a zero (section 4.2.5).
    String,
    /// An integer with names for values.
    Enumeration(Enumeration),
    /// Fields one after another.
    Struct(Struct),
    /// One field of several.
    Variant(Variant),
    /// So many of the same.
    Array(Array),
    /// As many of the same as is told elsewhere.
    Sequence(Sequence),
}

/// How deep types go and how many they are in all: neither may be what some metadata can make of a few lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) depth: u32,
    pub(super) parts: u64,
}

impl Extent {
    /// Of something made of these.
    pub(super) fn around<'a>(parts: impl Iterator<Item = &'a Type>) -> Extent {
        let mut all = Extent { depth: 1, parts: 1 };
        for part in parts.map(Type::extent) {
            all.depth = all.depth.max(part.depth.saturating_add(1));
            all.parts = all.parts.saturating_add(part.parts);
        }
        all
    }
}

impl Type {
    /// Where a field of it may begin, in bits.
    pub fn align(&self) -> u64 {
        match self {
            Type::Integer(integer) => integer.align,
            Type::Float(float) => float.align,
            Type::String => 8,
            Type::Enumeration(enumeration) => enumeration.container.align,
            Type::Struct(structure) => structure.align,
            // Its option aligns itself.
            Type::Variant(_) => 1,
            Type::Array(Array { element, .. }) | Type::Sequence(Sequence { element, .. }) => {
                element.align()
            }
        }
    }

    /// Whether an array of it is a text: characters of a byte.
    pub(super) fn is_character(&self) -> bool {
        matches!(self, Type::Integer(i) if i.is_text && i.bits == 8 && i.align.is_multiple_of(8))
    }

    pub(super) fn extent(&self) -> Extent {
        match self {
            Type::Struct(structure) => structure.extent,
            Type::Variant(variant) => variant.extent,
            Type::Array(array) => array.extent,
            Type::Sequence(sequence) => sequence.extent,
            _ => Extent { depth: 1, parts: 1 },
        }
    }
}
