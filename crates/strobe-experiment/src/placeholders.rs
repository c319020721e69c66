//! `{name}` in the lines of a description, by what it stands for.
//!
//! Lines are for a shell, and what is put into them may have spaces and more (folders do): it is
//! escaped for the kind of quotes that it stands in, so that it stays one word and nothing in it is
//! carried out.

use std::collections::BTreeMap;

/// Names and what they stand for.
pub type Names = BTreeMap<String, String>;

/// Where in a shell's line a character stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Single,
    Double,
}

impl Quotes {
    /// After one more character, which no backslash precedes.
    fn after(self, c: char) -> Self {
        match (self, c) {
            (Quotes::None, '\'') => Quotes::Single,
            (Quotes::None, '"') => Quotes::Double,
            (Quotes::Single, '\'') | (Quotes::Double, '"') => Quotes::None,
            (same, _) => same,
        }
    }

    /// A value that is to be part of a word.
    fn escaped(self, value: &str) -> String {
        match self {
            Quotes::None if value.is_empty() => "''".to_owned(),
            Quotes::None => escape(value, |c| !c.is_alphanumeric() && !"/._-+:,=@%".contains(c)),
            Quotes::Double => escape(value, |c| "\"\\$`".contains(c)),
            Quotes::Single => value.replace('\'', r"'\''"),
        }
    }
}

fn escape(value: &str, special: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(value.len());
    for c in value.chars() {
        if special(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// A line for a shell; braces around anything else stay.
pub fn in_shell(line: &str, names: &Names) -> String {
    let mut filled = String::with_capacity(line.len());
    let (mut quotes, mut rest) = (Quotes::None, line);
    while let Some(c) = rest.chars().next() {
        if let Some((name, value)) = named(rest, names) {
            filled += &quotes.escaped(value);
            rest = &rest[name.len() + 2..];
            continue;
        }
        let backslash = c == '\\' && quotes != Quotes::Single;
        let taken: String = rest.chars().take(if backslash { 2 } else { 1 }).collect();
        if !backslash {
            quotes = quotes.after(c);
        }
        filled += &taken;
        rest = &rest[taken.len()..];
    }
    filled
}

/// A text that no shell reads, as the value of an environment variable.
pub fn plain(text: &str, names: &Names) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some((name, value)) = named(rest, names) {
            filled += value;
            rest = &rest[name.len() + 2..];
        } else {
            filled.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    filled
}

/// The name in braces that a text begins with, and what it stands for.
fn named<'a>(text: &'a str, names: &'a Names) -> Option<(&'a str, &'a str)> {
    let (name, _) = text.strip_prefix('{')?.split_once('}')?;
    names.get(name).map(|value| (name, value.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = r#"a b'c"d$HOME`e`\ é;&|"#;

    fn names() -> Names {
        let pairs = [("folder", HOSTILE), ("port", "8080"), ("empty", "")];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_sees_one_word_in_any_quotes() {
        let template = r#"printf '[%s]' {folder}/x "{folder}/x" 'it is {folder}/x' {empty} {port}"#;
        let line = in_shell(template, &names());
        let ran = std::process::Command::new("sh").args(["-c", &line]).output();
        let printed = String::from_utf8(ran.expect("a shell").stdout).expect("text");
        let expected = format!("[{HOSTILE}/x][{HOSTILE}/x][it is {HOSTILE}/x][][8080]");
        assert_eq!(printed, expected, "{line}");
    }

    #[test]
    fn other_braces_and_escaped_quotes_stay() {
        let line = r#"awk '{ print $1 }' \"{port}\" ${HOME} {unknown} {"#;
        assert_eq!(in_shell(line, &names()), line.replace("{port}", "8080"));
    }

    #[test]
    fn values_are_not_filled_again() {
        let names = [("a", "{b}"), ("b", "no")];
        let names: Names = names.map(|(n, v)| (n.to_owned(), v.to_owned())).into();
        assert_eq!(plain("{a}-{b}-{c}", &names), "{b}-no-{c}");
        assert_eq!(in_shell("'{a}'", &names), "'{b}'");
    }
}
