//! What a format string states of the bytes that are sent with it, worked out once for each text.

use defmt_parser::{DisplayHint, Fragment, ParserMode, TimePrecision, Type};

/// Longest column that a number may be filled up to.
const WIDEST: usize = 128;
/// Digits of an argument's number.
const DIGITS: usize = 3;

/// One argument as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// So many bytes, whatever they are.
    Bytes(usize),
    /// An unsigned number of so many bytes.
    Number(usize),
    /// Of the target's size, signed.
    Isize,
    Bool,
    Char,
    /// A length and as many bytes of UTF-8.
    Text,
    /// The number of a text.
    Interned,
    /// A length and as many bytes.
    Slice,
    /// So many bytes.
    Array(usize),
    /// The number of a text and what goes with it.
    Format,
    /// A count, one text, and for each element what goes with it.
    Formats,
    /// The same without the count.
    FormatArray(usize),
    /// Bytes of UTF-8 and 0xff.
    Preformatted,
    /// Texts with what goes with each, up to a zero.
    Sequence,
}

/// What the decoder cannot show in one way or the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hint {
    /// Dates to the second.
    Seconds,
    /// Dates to the millisecond.
    Milliseconds,
    /// In hexadecimal.
    Hexadecimal,
    /// Bytes of CBOR.
    Cbor,
    /// Nothing that matters.
    Other,
}

/// A text's arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    /// In the order in which they are sent.
    pub items: Vec<Item>,
    /// Arguments in the order in which they are shown; one may be shown several times.
    pub shown: Vec<(usize, Hint)>,
    /// Bytes of the text.
    pub length: usize,
}

impl Shape {
    /// The shape of a text; `None` if it is none that `defmt` makes.
    pub fn of(text: &str) -> Option<Shape> {
        if !has_small_indices(text) {
            return None;
        }
        let fragments = defmt_parser::parse(text, ParserMode::ForwardsCompatible).ok()?;
        let mut types: Vec<Option<Type>> = Vec::new();
        let mut shown = Vec::new();
        for fragment in fragments {
            let Fragment::Parameter(parameter) = fragment else { continue };
            let index = parameter.index;
            if types.len() <= index {
                types.resize(index + 1, None);
            }
            types[index] = Some(joined(types[index].take(), parameter.ty));
            shown.push((index, hint(parameter.hint)?));
        }
        let items = types.into_iter().map(|ty| ty.map(item)).collect::<Option<_>>()?;
        Some(Shape { items, shown, length: text.len() })
    }
}

/// The parser makes a list that is as long as the greatest number of an argument.
fn has_small_indices(text: &str) -> bool {
    let mut bytes = text.as_bytes();
    while let [first, rest @ ..] = bytes {
        bytes = rest;
        if *first != b'{' {
            continue;
        }
        if let [b'{', after @ ..] = rest {
            bytes = after;
            continue;
        }
        if rest.iter().take_while(|byte| byte.is_ascii_digit()).count() > DIGITS {
            return false;
        }
    }
    true
}

/// Several ranges of bits of one argument are sent as one that has them all.
fn joined(before: Option<Type>, ty: Type) -> Type {
    match (before, ty) {
        (Some(Type::BitField(a)), Type::BitField(b)) => {
            Type::BitField(a.start.min(b.start)..a.end.max(b.end))
        }
        (_, ty) => ty,
    }
}

fn item(ty: Type) -> Item {
    match ty {
        // Whole bytes, of which those below the first bit are left out.
        Type::BitField(bits) => {
            let bytes = usize::from((bits.end - 1) / 8 - bits.start / 8 + 1);
            Item::Bytes(bytes.next_power_of_two())
        }
        Type::Bool => Item::Bool,
        Type::Char => Item::Char,
        Type::Debug | Type::Display => Item::Preformatted,
        Type::FormatSequence => Item::Sequence,
        Type::I8 => Item::Bytes(1),
        Type::I16 => Item::Bytes(2),
        Type::I32 | Type::F32 => Item::Bytes(4),
        Type::I64 | Type::F64 => Item::Bytes(8),
        Type::I128 => Item::Bytes(16),
        Type::Isize => Item::Isize,
        Type::U8 => Item::Number(1),
        Type::U16 => Item::Number(2),
        Type::U32 | Type::Usize => Item::Number(4),
        Type::U64 => Item::Number(8),
        Type::U128 => Item::Number(16),
        Type::IStr => Item::Interned,
        Type::Str => Item::Text,
        Type::U8Slice => Item::Slice,
        Type::U8Array(length) => Item::Array(length),
        Type::Format => Item::Format,
        Type::FormatSlice => Item::Formats,
        Type::FormatArray(length) => Item::FormatArray(length),
    }
}

/// `None` for numbers with more columns than anybody wants.
fn hint(hint: Option<DisplayHint>) -> Option<Hint> {
    let wide = |zero_pad: usize, hint| (zero_pad <= WIDEST).then_some(hint);
    match hint {
        Some(DisplayHint::Hexadecimal { zero_pad, .. }) => wide(zero_pad, Hint::Hexadecimal),
        Some(
            DisplayHint::NoHint { zero_pad }
            | DisplayHint::Octal { zero_pad, .. }
            | DisplayHint::Binary { zero_pad, .. },
        ) => wide(zero_pad, Hint::Other),
        Some(DisplayHint::ISO8601(TimePrecision::Seconds)) => Some(Hint::Seconds),
        Some(DisplayHint::ISO8601(_)) => Some(Hint::Milliseconds),
        Some(DisplayHint::Cbor) => Some(Hint::Cbor),
        _ => Some(Hint::Other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_sent_once_ordered_by_number() {
        let shape = Shape::of("{1=u16} {0=u8} {1=u16:x}").expect("a shape");
        assert_eq!(shape.items, [Item::Number(1), Item::Number(2)]);
        let hints = [(1, Hint::Other), (0, Hint::Other), (1, Hint::Hexadecimal)];
        assert_eq!(shape.shown, hints);
    }

    #[test]
    fn bit_ranges_are_sent_as_the_bytes_containing_them() {
        let items = |text| Shape::of(text).expect("a shape").items;
        assert_eq!(items("{0=0..3} {0=4..9}"), [Item::Bytes(2)]);
        assert_eq!(items("{0=20..31}"), [Item::Bytes(2)]);
        assert_eq!(items("{0=7..25}"), [Item::Bytes(4)]);
        assert_eq!(items("{0=0..128}"), [Item::Bytes(16)]);
    }

    #[test]
    fn texts_that_ask_for_too_much_have_none() {
        for text in ["{99999999999999=u8}", "{4000000000=u8}", "{=u8:0999999}", "{=u8", "{1=u8}"] {
            assert_eq!(Shape::of(text), None, "{text}");
        }
        assert!(Shape::of("{{12345}} {=u8:04}").is_some());
    }
}
