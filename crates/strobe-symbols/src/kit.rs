//! Names that the target kit puts into the ELF file for the ids it sends
//! (`firmware/kit/trace/strobe_trace.h`).
//!
//! The section `.strobe_names` has no address. It is a list: an id of two bytes, least significant
//! first, and a string that ends with a zero.

use std::collections::BTreeMap;

use crate::elf::Elf;

/// Maximum length of a name, in bytes.
const LONGEST: usize = 256;
/// Ids are 12 bits wide.
const MOST: usize = 1 << 12;

/// Names by id. The first name of an id counts; a damaged entry ends the list.
pub(crate) fn names(elf: &Elf<'_>) -> BTreeMap<u16, String> {
    elf.section(".strobe_names").map(|section| read(section.data)).unwrap_or_default()
}

fn read(mut rest: &[u8]) -> BTreeMap<u16, String> {
    let mut names = BTreeMap::new();
    while let [low, high, text @ ..] = rest {
        let id = u16::from_le_bytes([*low, *high]);
        let Some(end) = text.iter().position(|&byte| byte == 0).filter(|_| usize::from(id) < MOST)
        else {
            break;
        };
        let name = String::from_utf8_lossy(&text[..end.min(LONGEST)]).into_owned();
        names.entry(id).or_insert(name);
        rest = &text[end + 1..];
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(bytes: &[u8]) -> Vec<(u16, String)> {
        read(bytes).into_iter().collect()
    }

    #[test]
    fn ids_have_names() {
        let named = |id, name: &str| (id, name.to_owned());
        let bytes = b"\x02\x00two\0\xff\x0f1 itm 30\0\x01\x00\xc3\xa9\0\x02\x00again\0";
        assert_eq!(list(bytes), [named(1, "é"), named(2, "two"), named(4095, "1 itm 30")]);
    }

    #[test]
    fn damage_ends_the_list() {
        assert_eq!(list(b""), []);
        assert_eq!(list(b"\x01"), []);
        assert_eq!(list(b"\x01\x00a\0\x02\x00cut"), [(1, "a".to_owned())]);
        assert_eq!(list(b"\x01\x00a\0\x00\x10b\0\x02\x00c\0"), [(1, "a".to_owned())]);
        let long = [&b"\x01\x00"[..], &[b'x'; 5000], b"\0"].concat();
        assert_eq!(list(&long)[0].1.len(), LONGEST);
    }
}
