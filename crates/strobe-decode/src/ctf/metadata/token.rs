//! Tokens of TSDL: words, numbers, strings and signs (annex C.1.1), each with its place.

use crate::ctf::error::{MetadataError, Position, Problem};

/// Maximum size of a metadata text. That of a kernel tracer with every event has a tenth.
const MAX_TOKENS: usize = 8 << 20;

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word.
    Word(String),
    /// A number, without its sign.
    Number(u64),
    /// A string, without its quotation marks.
    Text(String),
    /// A sign of one to three characters.
    Sign(&'static str),
    /// The end.
    End,
}

impl Kind {
    /// The token for an error message.
    pub(super) fn shown(&self) -> String {
        match self {
            Kind::Word(word) => format!("`{word}`"),
            Kind::Number(number) => number.to_string(),
            Kind::Text(text) => format!("{text:?}"),
            Kind::Sign(sign) => format!("`{sign}`"),
            Kind::End => "the end".to_owned(),
        }
    }
}

/// A token and its place.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) at: Position,
}

/// Longer signs first.
const SIGNS: [&str; 17] =
    ["...", ":=", "->", "{", "}", "[", "]", "(", ")", "<", ">", ";", ":", ",", ".", "=", "*"];
const PLUS_MINUS: [&str; 2] = ["-", "+"];

struct Lexer<'s> {
    rest: &'s str,
    at: Position,
}

/// The tokens of a text; the last one is the end.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, MetadataError> {
    let mut lexer = Lexer { rest: text, at: Position { line: 1, column: 1 } };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks()?;
        let at = lexer.at;
        let kind = lexer.token()?;
        let is_end = kind == Kind::End;
        tokens.push(Token { kind, at });
        if is_end {
            return Ok(tokens);
        }
        if tokens.len() > MAX_TOKENS {
            return Err(wrong(at, "a shorter metadata", "another word".to_owned()));
        }
    }
}

fn wrong(at: Position, wanted: &'static str, found: String) -> MetadataError {
    MetadataError::Text { at, problem: Problem::Expected { wanted, found } }
}

impl<'s> Lexer<'s> {
    /// Advances by so many bytes, up to a character boundary.
    fn take(&mut self, bytes: usize) -> &'s str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        for character in taken.chars() {
            if character == '\n' {
                self.at = Position { line: self.at.line.saturating_add(1), column: 1 };
            } else {
                self.at.column = self.at.column.saturating_add(1);
            }
        }
        taken
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'s str {
        self.take(self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len()))
    }

    fn skip_blanks(&mut self) -> Result<(), MetadataError> {
        loop {
            // Some tracers pad their text with zero bytes.
            self.take_while(|c| c.is_whitespace() || c == '\0');
            if self.rest.starts_with("//") || self.rest.starts_with('#') {
                self.take_while(|c| c != '\n');
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                let at = self.at;
                let Some(end) = comment.find("*/") else {
                    return Err(wrong(at, "`*/` after `/*`", "the end".to_owned()));
                };
                self.take(end + 4);
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Kind, MetadataError> {
        let Some(first) = self.rest.chars().next() else { return Ok(Kind::End) };
        if first.is_ascii_alphabetic() || first == '_' {
            let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
            if word == "L" && self.rest.starts_with(['"', '\'']) {
                return self.token();
            }
            return Ok(Kind::Word(word.to_owned()));
        }
        if first.is_ascii_digit() {
            return self.number();
        }
        if first == '"' {
            return Ok(Kind::Text(self.quoted('"')?));
        }
        if first == '\'' {
            let at = self.at;
            let text = self.quoted('\'')?;
            let mut characters = text.chars();
            return match (characters.next(), characters.next()) {
                (Some(character), None) => Ok(Kind::Number(character.into())),
                _ => Err(wrong(at, "one character", format!("{text:?}"))),
            };
        }
        let sign = SIGNS.iter().chain(&PLUS_MINUS).find(|sign| self.rest.starts_with(**sign));
        match sign {
            Some(sign) => {
                self.take(sign.len());
                Ok(Kind::Sign(sign))
            }
            None => Err(wrong(self.at, "TSDL", format!("{first:?}"))),
        }
    }

    fn number(&mut self) -> Result<Kind, MetadataError> {
        let at = self.at;
        let word = self.take_while(|c| c.is_ascii_alphanumeric());
        let lower = word.to_ascii_lowercase();
        let digits = lower.trim_end_matches(['u', 'l']);
        let (digits, radix) = match digits.strip_prefix("0x") {
            Some(digits) => (digits, 16),
            None if digits.len() > 1 && digits.starts_with('0') => (&digits[1..], 8),
            None => (digits, 10),
        };
        let number = u64::from_str_radix(digits, radix);
        number.map(Kind::Number).map_err(|_| wrong(at, "a number of 64 bits", format!("`{word}`")))
    }

    fn quoted(&mut self, mark: char) -> Result<String, MetadataError> {
        let begin = self.at;
        self.take(1);
        let mut text = String::new();
        loop {
            let at = self.at;
            let Some(character) = self.rest.chars().next().filter(|c| *c != '\n') else {
                return Err(wrong(begin, "a quotation mark at the end of this", "none".to_owned()));
            };
            self.take(character.len_utf8());
            match character {
                '\\' => text.push(self.escaped(at)?),
                end if end == mark => return Ok(text),
                character => text.push(character),
            }
        }
    }

    /// The character of an escape sequence, after the backslash.
    fn escaped(&mut self, at: Position) -> Result<char, MetadataError> {
        let unknown = |found: &str| wrong(at, "an escape sequence of C", format!("`\\{found}`"));
        let Some(character) = self.rest.chars().next() else { return Err(unknown("")) };
        if ('0'..='7').contains(&character) {
            let octal = self.rest.bytes().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
            let digits = self.take(octal);
            let code = u32::from_str_radix(digits, 8).ok().and_then(char::from_u32);
            return code.ok_or_else(|| unknown(digits));
        }
        self.take(character.len_utf8());
        if character == 'x' {
            let digits = self.take_while(|c| c.is_ascii_hexdigit());
            let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
            return code.ok_or_else(|| unknown(digits));
        }
        let plain = match character {
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            '\\' | '\'' | '"' | '?' => character,
            _ => return Err(unknown(&character.to_string())),
        };
        Ok(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn words_numbers_and_texts() {
        let word = |w: &str| Kind::Word(w.to_owned());
        let text = "a_1 := 0x1F 017 42ULL 0 'a' \"x\\n\\x41\\101\\\"\" /* - */ -3 ...// end\n;";
        let wanted = [
            word("a_1"),
            Kind::Sign(":="),
            Kind::Number(31),
            Kind::Number(15),
            Kind::Number(42),
            Kind::Number(0),
            Kind::Number(97),
            Kind::Text("x\nAA\"".to_owned()),
            Kind::Sign("-"),
            Kind::Number(3),
            Kind::Sign("..."),
            Kind::Sign(";"),
            Kind::End,
        ];
        assert_eq!(kinds(text), wanted);
    }

    #[test]
    fn errors_have_a_place() {
        let at = |text: &str| tokens(text).map(|_| ()).unwrap_err().to_string();
        let number = "metadata, line 2, column 3: expected a number of 64 bits, found `09`";
        assert_eq!(at("a\n  09"), number);
        assert!(at("x \"abc\n\"").starts_with("metadata, line 1, column 3: expected a quotation"));
        assert!(at("/* x").contains("column 1"));
        assert!(at("a @").contains("found '@'"));
        assert!(at("\"\\q\"").contains("`\\q`"));
    }
}
