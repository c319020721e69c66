//! Values of fields, with their names from the metadata.

use super::types::{Base, Enumeration};

/// A whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// From an unsigned integer.
    Unsigned(u64),
    /// From a signed one.
    Signed(i64),
}

impl Number {
    /// The value as a signed 128-bit integer.
    pub fn wide(self) -> i128 {
        match self {
            Number::Unsigned(n) => n.into(),
            Number::Signed(n) => n.into(),
        }
    }
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'t> {
    /// An integer.
    Integer(Number, Base),
    /// A floating-point number.
    Float(f64),
    /// A string; invalid UTF-8 is replaced.
    Text(String),
    /// A value of an enumeration.
    Enumeration(Number, &'t Enumeration),
    /// Fields by name.
    Struct(Vec<(&'t str, Value<'t>)>),
    /// The chosen option.
    Variant(&'t str, Box<Value<'t>>),
    /// Elements.
    Array(Vec<Value<'t>>),
}

impl<'t> Value<'t> {
    /// A field of a structure; for a variant, of the chosen option.
    pub fn get(&self, name: &str) -> Option<&Value<'t>> {
        match self {
            Value::Struct(fields) => {
                fields.iter().find(|(field, _)| *field == name).map(|(_, value)| value)
            }
            Value::Variant(_, value) => value.get(name),
            _ => None,
        }
    }

    /// The value as an integer.
    pub fn number(&self) -> Option<Number> {
        match self {
            Value::Integer(number, _) | Value::Enumeration(number, _) => Some(*number),
            Value::Variant(_, value) => value.number(),
            _ => None,
        }
    }

    /// The value as an unsigned number, if it is not negative.
    pub fn unsigned(&self) -> Option<u64> {
        u64::try_from(self.number()?.wide()).ok()
    }

    /// The value as text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::Variant(_, value) => value.text(),
            _ => None,
        }
    }

    /// The first label of an enumeration's value.
    pub fn label(&self) -> Option<&'t str> {
        match self {
            Value::Enumeration(number, ty) => {
                let ty: &'t Enumeration = ty;
                ty.labels_of(number.wide()).next()
            }
            Value::Variant(_, value) => value.label(),
            _ => None,
        }
    }
}
