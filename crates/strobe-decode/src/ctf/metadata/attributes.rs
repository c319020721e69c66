//! Attributes of types and blocks, `name = value;`, and their valid values.

use super::parser::Parser;
use super::token::Kind;
use crate::ctf::error::{MetadataError, Position, Problem};
use crate::ctf::types::{Base, ByteOrder};

/// A value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Setting {
    Number(i128),
    Text(String),
    /// An identifier, or several joined by dots.
    Word(String),
}

impl Setting {
    pub(super) fn shown(&self) -> String {
        match self {
            Setting::Number(number) => number.to_string(),
            Setting::Text(text) => format!("{text:?}"),
            Setting::Word(word) => format!("`{word}`"),
        }
    }
}

impl Parser {
    /// `name = value;` until the closing brace.
    pub(super) fn attributes(&mut self) -> Result<Vec<(Position, String, Setting)>, MetadataError> {
        self.expect("{")?;
        let mut all = Vec::new();
        while !self.takes("}") {
            let at = self.at();
            let name = self.dotted("an attribute")?;
            self.expect("=")?;
            let value = self.setting()?;
            self.expect(";")?;
            all.push((at, name, value));
        }
        Ok(all)
    }

    /// Identifiers joined by dots.
    pub(super) fn dotted(&mut self, wanted: &'static str) -> Result<String, MetadataError> {
        let mut name = self.word(wanted)?;
        while self.takes(".") {
            name.push('.');
            name += &self.word("a name")?;
        }
        Ok(name)
    }

    /// The value of an attribute.
    pub(super) fn setting(&mut self) -> Result<Setting, MetadataError> {
        match self.peek().clone() {
            Kind::Word(_) => Ok(Setting::Word(self.dotted("a value")?)),
            Kind::Text(mut text) => {
                self.skip();
                while let Kind::Text(more) = self.peek() {
                    text += more;
                    self.skip();
                }
                Ok(Setting::Text(text))
            }
            _ => Ok(Setting::Number(self.signed_number()?)),
        }
    }

    pub(super) fn signed_number(&mut self) -> Result<i128, MetadataError> {
        let mut negative = false;
        while let Kind::Sign(sign @ ("-" | "+")) = *self.peek() {
            negative ^= sign == "-";
            self.skip();
        }
        let Kind::Number(number) = *self.peek() else { return Err(self.unexpected("a value")) };
        self.skip();
        Ok(if negative { -i128::from(number) } else { number.into() })
    }

    fn bad<T>(
        &self,
        at: Position,
        attribute: &str,
        value: &Setting,
        wanted: &'static str,
    ) -> Result<T, MetadataError> {
        let attribute = attribute.to_owned();
        Err(self.error(at, Problem::BadValue { attribute, value: value.shown(), wanted }))
    }

    pub(super) fn size(
        &self,
        at: Position,
        name: &str,
        value: &Setting,
    ) -> Result<u8, MetadataError> {
        match value {
            Setting::Number(bits @ 1..=64) => Ok(*bits as u8),
            _ => self.bad(at, name, value, "expected 1 to 64"),
        }
    }

    pub(super) fn alignment(&self, at: Position, value: &Setting) -> Result<u64, MetadataError> {
        match value {
            Setting::Number(bits) if (1..=1 << 32).contains(bits) && bits.count_ones() == 1 => {
                Ok(*bits as u64)
            }
            _ => self.bad(at, "align", value, "expected a power of two"),
        }
    }

    pub(super) fn flag(
        &self,
        at: Position,
        name: &str,
        value: &Setting,
    ) -> Result<bool, MetadataError> {
        match value {
            Setting::Number(0) => Ok(false),
            Setting::Number(1) => Ok(true),
            Setting::Word(word) if ["false", "FALSE"].contains(&word.as_str()) => Ok(false),
            Setting::Word(word) if ["true", "TRUE"].contains(&word.as_str()) => Ok(true),
            _ => self.bad(at, name, value, "expected true or false"),
        }
    }

    /// `None` is the trace's native byte order.
    pub(super) fn byte_order(
        &self,
        at: Position,
        value: &Setting,
    ) -> Result<Option<ByteOrder>, MetadataError> {
        match value {
            Setting::Word(word) => match word.as_str() {
                "native" => return Ok(None),
                "le" => return Ok(Some(ByteOrder::Little)),
                "be" | "network" => return Ok(Some(ByteOrder::Big)),
                _ => {}
            },
            Setting::Number(_) | Setting::Text(_) => {}
        }
        self.bad(at, "byte_order", value, "expected le, be, network or native")
    }

    pub(super) fn base(&self, at: Position, value: &Setting) -> Result<Base, MetadataError> {
        let base = match value {
            Setting::Number(2) => Base::Binary,
            Setting::Number(8) => Base::Octal,
            Setting::Number(10) => Base::Decimal,
            Setting::Number(16) => Base::Hexadecimal,
            Setting::Word(word) => match word.as_str() {
                "binary" | "b" => Base::Binary,
                "octal" | "oct" | "o" => Base::Octal,
                "decimal" | "dec" | "d" | "i" | "u" => Base::Decimal,
                "hexadecimal" | "hex" | "x" | "X" | "p" => Base::Hexadecimal,
                _ => return self.bad(at, "base", value, "expected 2, 8, 10 or 16"),
            },
            _ => return self.bad(at, "base", value, "expected 2, 8, 10 or 16"),
        };
        Ok(base)
    }

    pub(super) fn encoding(&self, at: Position, value: &Setting) -> Result<bool, MetadataError> {
        match value {
            Setting::Word(word) if word.eq_ignore_ascii_case("none") => Ok(false),
            Setting::Word(word) if ["UTF8", "ASCII", "utf8", "ascii"].contains(&word.as_str()) => {
                Ok(true)
            }
            _ => self.bad(at, "encoding", value, "expected none, UTF8 or ASCII"),
        }
    }

    /// `clock.NAME.value`.
    pub(super) fn clock_of(
        &mut self,
        at: Position,
        value: &Setting,
    ) -> Result<Option<usize>, MetadataError> {
        if let Setting::Word(word) = value {
            let name = word.strip_prefix("clock.").and_then(|rest| rest.strip_suffix(".value"));
            if let Some(name) = name.filter(|name| !name.contains('.')) {
                return Ok(Some(self.clock(at, name)));
            }
        }
        self.bad(at, "map", value, "expected clock.NAME.value")
    }
}
