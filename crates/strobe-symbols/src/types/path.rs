//! Syntax of paths: `_kernel.cpus[0].current`, `namespace::VARIABLE.member`, `list->head`.

use std::fmt;

use super::TypeError;

/// A name and its remaining parts.
#[derive(Debug)]
pub(super) struct Path<'p> {
    pub(super) name: &'p str,
    pub(super) parts: Vec<Part<'p>>,
}

/// One part of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'p> {
    Member(&'p str),
    Element(u32),
}

impl fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Part::Member(name) => write!(f, ".{name}"),
            Part::Element(index) => write!(f, "[{index}]"),
        }
    }
}

impl<'p> Path<'p> {
    pub(super) fn parse(path: &'p str) -> Result<Self, TypeError> {
        let wrong = || TypeError::Syntax { path: path.to_owned() };
        let (name, mut rest) = name(path).ok_or_else(wrong)?;
        let mut parts = Vec::new();
        while !rest.is_empty() {
            if let Some(index) = rest.strip_prefix('[') {
                let (digits, after) = index.split_once(']').ok_or_else(wrong)?;
                parts.push(Part::Element(digits.parse().map_err(|_| wrong())?));
                rest = after;
            } else {
                let member = rest.strip_prefix('.').or_else(|| rest.strip_prefix("->"));
                let (member, after) = member.and_then(self::name).ok_or_else(wrong)?;
                parts.push(Part::Member(member));
                rest = after;
            }
        }
        Ok(Path { name, parts })
    }
}

/// The name at the beginning of the text, and the rest.
fn name(text: &str) -> Option<(&str, &str)> {
    let end = text.find(['.', '[', ']', '-', ' ']).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_apart() {
        let path = Path::parse("ns::_kernel.cpus[12]->current").expect("a path");
        assert_eq!(path.name, "ns::_kernel");
        assert_eq!(path.parts, [Part::Member("cpus"), Part::Element(12), Part::Member("current")]);
        for wrong in ["", ".a", "a.", "a[", "a[b]", "a[-1]", "a b", "a..b", "a]"] {
            assert!(Path::parse(wrong).is_err(), "{wrong}");
        }
    }
}
