//! Field types: how bits become numbers, strings and compounds (section 4).

use std::sync::Arc;

use super::error::Position;

/// Maximum nesting of types; bounds the recursion over them.
pub(super) const MAX_DEPTH: u32 = 64;
/// Maximum number of parts of a type, nested ones included.
pub(super) const MAX_PARTS: u64 = 1 << 20;

/// Byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// Preferred base for display.
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
    /// Width, 1 to 64 bits.
    pub bits: u8,
    /// Alignment in bits from the packet's beginning: a power of two.
    pub align: u64,
    /// Signed, in two's complement.
    pub signed: bool,
    /// Byte order, or `None` for the trace's.
    pub order: Option<ByteOrder>,
    /// Base for display.
    pub base: Base,
    /// The integer is a character.
    pub is_text: bool,
    /// Index of the clock that it reads.
    pub clock: Option<usize>,
}

/// A floating-point number (section 4.1.3): binary32 or binary64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Float {
    /// Width, 32 or 64 bits.
    pub bits: u8,
    /// Alignment in bits.
    pub align: u64,
    /// Byte order, or `None` for the trace's.
    pub order: Option<ByteOrder>,
}

/// An enumeration (section 4.1.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enumeration {
    /// The integer that holds the value.
    pub container: Integer,
    /// Labels, each with its range of values, inclusive.
    pub labels: Vec<(String, i128, i128)>,
}

impl Enumeration {
    /// Labels of a value, in the order of the metadata.
    pub fn labels_of(&self, value: i128) -> impl Iterator<Item = &str> {
        let fits = move |(_, from, to): &&(String, i128, i128)| (*from..=*to).contains(&value);
        self.labels.iter().filter(fits).map(|(label, ..)| label.as_str())
    }
}

/// A field of a structure, or an option of a variant. One leading underscore is dropped: metadata
/// adds it to avoid keywords.
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
    /// The fields in order.
    pub fields: Arc<[Field]>,
    /// Alignment in bits: the maximum of its own and its fields'.
    pub align: u64,
    pub(super) extent: Extent,
}

/// A variant (section 4.2.2): one of several options, chosen by a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Path of the enumeration that chooses; a variant without a tag can be defined but not read.
    pub tag: Option<Path>,
    /// The options.
    pub options: Arc<[Field]>,
    pub(super) extent: Extent,
}

/// An array of fixed length (section 4.2.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// Number of elements.
    pub length: u64,
    /// Type of an element.
    pub element: Arc<Type>,
    pub(super) extent: Extent,
}

/// A sequence (section 4.2.4): an array whose length is another field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// Path of the length.
    pub length: Path,
    /// Type of an element.
    pub element: Arc<Type>,
    pub(super) extent: Extent,
}

/// A path to a field: names from a scope, or from an enclosing structure, downwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The names.
    pub names: Vec<String>,
    /// Where it is in the metadata.
    pub at: Position,
}

impl Path {
    /// The path as in the metadata.
    pub fn text(&self) -> String {
        self.names.join(".")
    }
}

/// The type of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// An integer.
    Integer(Integer),
    /// A floating-point number.
    Float(Float),
    /// Bytes up to a zero (section 4.2.5).
    String,
    /// An integer with labels for values.
    Enumeration(Enumeration),
    /// A sequence of fields.
    Struct(Struct),
    /// One of several fields.
    Variant(Variant),
    /// A fixed number of elements.
    Array(Array),
    /// A number of elements that another field has.
    Sequence(Sequence),
}

/// Depth of types and number of their parts. Both are limited, because a few lines of metadata can
/// describe any size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) depth: u32,
    pub(super) parts: u64,
}

impl Extent {
    /// The size of a compound of these.
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
    /// Alignment in bits.
    pub fn align(&self) -> u64 {
        match self {
            Type::Integer(integer) => integer.align,
            Type::Float(float) => float.align,
            Type::String => 8,
            Type::Enumeration(enumeration) => enumeration.container.align,
            Type::Struct(structure) => structure.align,
            // The option is aligned by itself.
            Type::Variant(_) => 1,
            Type::Array(Array { element, .. }) | Type::Sequence(Sequence { element, .. }) => {
                element.align()
            }
        }
    }

    /// Whether an array of this type is text: characters of one byte.
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
