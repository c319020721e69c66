//! Interned names and paths, and the rules for joining paths.

use std::collections::HashMap;

use gimli::{AttributeValue, Dwarf, Section as _, Unit};

use super::{Budget, Reader, Stop};
use crate::frames::StringId;

/// Maximum length of a name or path, in bytes.
const LONGEST: usize = 16 << 10;

/// Assigns equal strings equal numbers.
#[derive(Default)]
pub(super) struct Interner {
    ids: HashMap<Box<str>, StringId>,
    strings: Vec<Box<str>>,
}

impl Interner {
    pub(super) fn intern(&mut self, text: &str) -> StringId {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = StringId(self.strings.len() as u32);
        self.strings.push(text.into());
        self.ids.insert(text.into(), id);
        id
    }

    pub(super) fn intern_bytes(&mut self, bytes: &[u8]) -> StringId {
        self.intern(&text(bytes))
    }

    pub(super) fn into_strings(self) -> Vec<Box<str>> {
        self.strings
    }
}

/// The string of an attribute, charged by its length; `None` if it is damaged.
pub(super) fn string<'a>(
    dwarf: &Dwarf<Reader<'a>>,
    unit: &Unit<Reader<'a>>,
    value: AttributeValue<Reader<'a>>,
    budget: &mut Budget,
) -> Result<Option<&'a [u8]>, Stop> {
    match dwarf.attr_string(unit, value) {
        Ok(text) => {
            budget.spend_bytes(text.len())?;
            Ok(Some(text.slice()))
        }
        Err(_) => {
            // A string without end was scanned to the end of its section.
            budget.spend_bytes(
                dwarf.debug_str.reader().len() + dwarf.debug_line_str.reader().len(),
            )?;
            Ok(None)
        }
    }
}

/// Text from the file, truncated to a sensible length.
pub(super) fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)])
}

/// Whether a path is absolute on any kind of host: the firmware may have been built on another.
pub(super) fn is_absolute(path: &[u8]) -> bool {
    matches!(path, [b'/' | b'\\', ..] | [b'a'..=b'z' | b'A'..=b'Z', b':', b'/' | b'\\', ..])
}

/// Appends a component, as `llvm-symbolizer` does: one separator between, nothing normalised.
pub(super) fn push_path(path: &mut Vec<u8>, component: &[u8]) {
    if component.is_empty() {
        return;
    }
    if path.last() == Some(&b'/') {
        let start = component.iter().position(|&byte| byte != b'/').unwrap_or(component.len());
        path.extend_from_slice(&component[start..]);
        return;
    }
    if !path.is_empty() && component[0] != b'/' {
        path.push(b'/');
    }
    path.extend_from_slice(component);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(components: &[&str]) -> String {
        let mut path = Vec::new();
        components.iter().for_each(|component| push_path(&mut path, component.as_bytes()));
        String::from_utf8(path).unwrap()
    }

    #[test]
    fn paths_are_joined_without_being_normalised() {
        assert_eq!(joined(&["/home/me", "src/../inc", "a.h"]), "/home/me/src/../inc/a.h");
        assert_eq!(joined(&["/home/me/", "", "a.c"]), "/home/me/a.c");
        assert_eq!(joined(&["", "a.c"]), "a.c");
    }

    #[test]
    fn paths_of_both_kinds_of_host_are_absolute() {
        assert!(
            is_absolute(b"/a")
                && is_absolute(b"C:\\a")
                && is_absolute(b"c:/a")
                && is_absolute(b"\\\\host\\a")
        );
        assert!(!is_absolute(b"a/b") && !is_absolute(b"C:a") && !is_absolute(b""));
    }
}
