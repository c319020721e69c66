//! Formats values as babeltrace2 does, so that the two outputs can be compared line by line.

use std::fmt;

use super::types::Base;
use super::value::{Number, Value};

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Value::Integer(number, base) => integer(*number, *base, f),
            Value::Float(value) => write!(f, "{value}"),
            Value::Text(text) => {
                f.write_str("\"")?;
                text.chars().try_for_each(|c| escaped(c, f))?;
                f.write_str("\"")
            }
            Value::Enumeration(number, ty) => {
                f.write_str("( ")?;
                let mut any = false;
                for label in ty.labels_of(number.wide()) {
                    let separator = if any { ", " } else { "" };
                    write!(f, "{separator}\"{label}\"")?;
                    any = true;
                }
                let unknown = if any { "" } else { "<unknown>" };
                write!(f, "{unknown} : container = {} )", number.wide())
            }
            Value::Struct(fields) if fields.is_empty() => f.write_str("{ }"),
            Value::Struct(fields) => {
                for (i, (name, value)) in fields.iter().enumerate() {
                    write!(f, "{}{name} = {value}", if i == 0 { "{ " } else { ", " })?;
                }
                f.write_str(" }")
            }
            Value::Variant(_, value) => write!(f, "{{ {value} }}"),
            Value::Array(elements) if elements.is_empty() => f.write_str("[ ]"),
            Value::Array(elements) => {
                for (i, value) in elements.iter().enumerate() {
                    write!(f, "{}[{i}] = {value}", if i == 0 { "[ " } else { ", " })?;
                }
                f.write_str(" ]")
            }
        }
    }
}

fn integer(number: Number, base: Base, f: &mut fmt::Formatter) -> fmt::Result {
    match (base, number) {
        (Base::Decimal, number) => write!(f, "{}", number.wide()),
        (Base::Hexadecimal, Number::Unsigned(n)) => write!(f, "0x{n:X}"),
        (Base::Hexadecimal, Number::Signed(n)) => write!(f, "0x{n:X}"),
        (Base::Octal, Number::Unsigned(n)) => write!(f, "0{n:o}"),
        (Base::Octal, Number::Signed(n)) => write!(f, "0{n:o}"),
        (Base::Binary, Number::Unsigned(n)) => write!(f, "0b{n:b}"),
        (Base::Binary, Number::Signed(n)) => write!(f, "0b{n:b}"),
    }
}

fn escaped(c: char, f: &mut fmt::Formatter) -> fmt::Result {
    match c {
        '"' | '\\' => write!(f, "\\{c}"),
        '\n' => f.write_str("\\n"),
        '\r' => f.write_str("\\r"),
        '\t' => f.write_str("\\t"),
        c if c.is_control() => write!(f, "\\x{:02x}", c as u32),
        c => write!(f, "{c}"),
    }
}
