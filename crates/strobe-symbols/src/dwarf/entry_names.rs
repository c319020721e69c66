//! Names of functions, which entries have directly or by reference to another entry, often in
//! another unit.

use std::collections::HashMap;

use super::strings::{Interner, text};
use crate::frames::StringId;
use crate::names::demangle;

/// Longest chain of references from an inlined copy to the entry that has the name.
const LONGEST_REFERENCE_CHAIN: usize = 16;

/// The name attributes of an entry.
#[derive(Clone, Copy, Default)]
pub(super) struct EntryNames<'a> {
    pub(super) linkage: Option<&'a [u8]>,
    pub(super) name: Option<&'a [u8]>,
    /// Offsets in `.debug_info` of the referenced entries.
    pub(super) origin: Option<usize>,
    pub(super) specification: Option<usize>,
    pub(super) namespace: Option<NamespaceId>,
}

/// Index of a namespace or type that contains functions.
#[derive(Clone, Copy)]
pub(super) struct NamespaceId(u32);

/// Index of an entry that may have a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct EntryId(u32);

/// The names of a function.
#[derive(Clone, Copy, Default)]
pub(super) struct Names {
    pub(super) linkage_name: Option<StringId>,
    pub(super) display_name: Option<StringId>,
    /// With the types of a generic function, which Rust's first mangling drops.
    pub(super) typed_name: Option<StringId>,
}

/// All entries that may have or need a name. Resolved at the end, since references lead across
/// units (LTO).
#[derive(Default)]
pub(super) struct NameTable<'a> {
    namespaces: Vec<(Option<NamespaceId>, &'a [u8])>,
    entries: Vec<EntryNames<'a>>,
    /// Functions, by their offset in `.debug_info`.
    by_offset: HashMap<usize, EntryId>,
    resolved: HashMap<EntryId, Names>,
}

impl<'a> NameTable<'a> {
    pub(super) fn add_namespace(
        &mut self,
        parent: Option<NamespaceId>,
        name: &'a [u8],
    ) -> NamespaceId {
        self.namespaces.push((parent, name));
        NamespaceId(self.namespaces.len() as u32 - 1)
    }

    /// Adds an entry. Other entries can refer to it if its offset is known.
    pub(super) fn add(&mut self, offset: Option<usize>, names: EntryNames<'a>) -> EntryId {
        let id = EntryId(self.entries.len() as u32);
        self.entries.push(names);
        if let Some(offset) = offset {
            self.by_offset.insert(offset, id);
        }
        id
    }

    pub(super) fn resolve(&mut self, id: EntryId, strings: &mut Interner) -> Names {
        if let Some(&names) = self.resolved.get(&id) {
            return names;
        }
        let names = self.follow(id, strings);
        self.resolved.insert(id, names);
        names
    }

    /// As in other symbolisers, a linkage name anywhere in the chain of references takes precedence
    /// over a plain name.
    fn follow(&self, id: EntryId, strings: &mut Interner) -> Names {
        let mut plain: Option<(&[u8], Option<NamespaceId>)> = None;
        let mut at = Some(id);
        for _ in 0..LONGEST_REFERENCE_CHAIN {
            let Some(names) = at.and_then(|at| self.entries.get(at.0 as usize)) else { break };
            if let Some(linkage) = names.linkage {
                let linkage = text(linkage);
                let display = demangle(&linkage);
                let typed = names.name.filter(|_| is_untyped(&linkage)).map(|name| {
                    let name = name.split(|byte| *byte == b'<').next().unwrap_or(name);
                    strings.intern(&self.qualified(names.namespace, name))
                });
                return Names {
                    linkage_name: Some(strings.intern(&linkage)),
                    display_name: Some(strings.intern(&display)),
                    typed_name: typed,
                };
            }
            plain = plain.or(names.name.map(|name| (name, names.namespace)));
            let next = names.origin.or(names.specification);
            at = next.and_then(|offset| self.by_offset.get(&offset)).copied();
        }
        let Some((name, namespace)) = plain else { return Names::default() };
        let display = self.qualified(namespace, name);
        Names {
            linkage_name: Some(strings.intern_bytes(name)),
            display_name: Some(strings.intern(&display)),
            typed_name: None,
        }
    }

    /// A name with its namespaces and types, for entries whose linkage name the compiler left out.
    fn qualified(&self, mut namespace: Option<NamespaceId>, name: &[u8]) -> String {
        let mut parts = vec![text(name)];
        while let Some((parent, name)) = namespace.and_then(|id| self.namespaces.get(id.0 as usize))
        {
            parts.push(text(name));
            namespace = *parent;
        }
        parts.reverse();
        parts.join("::")
    }
}

/// Whether a linkage name is of Rust's first mangling, `_ZN...17h<hash>E`: that of a generic
/// function is the same for all its types but for the hash.
fn is_untyped(linkage: &str) -> bool {
    let hash = linkage.strip_suffix('E').and_then(|name| name.get(name.len().checked_sub(19)?..));
    linkage.starts_with("_ZN")
        && hash
            .and_then(|hash| hash.strip_prefix("17h"))
            .is_some_and(|hash| hash.bytes().all(|digit| digit.is_ascii_hexdigit()))
}
