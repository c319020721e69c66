//! The functions of a firmware by the names that the table of allocators has for them.

use std::collections::{BTreeMap, HashMap};

use strobe_symbols::{ArgumentWords, Firmware, demangle};

use super::Role;
use super::table::{Allocator, Allocators};

/// Functions by linkage name.
pub(super) struct Names<'a> {
    firmware: &'a Firmware,
    by_name: HashMap<&'a str, Vec<u32>>,
    /// Functions whose arguments are not where the calling convention has them.
    pub(super) conventions: BTreeMap<u32, ArgumentWords>,
}

impl<'a> Names<'a> {
    pub(super) fn new(firmware: &'a Firmware) -> Self {
        let mut by_name: HashMap<&str, Vec<u32>> = HashMap::new();
        for function in firmware.functions() {
            for name in function.linkage_names() {
                let name = bare(name);
                let starts = by_name.entry(name).or_default();
                if !starts.contains(&function.start) {
                    starts.push(function.start);
                }
            }
        }
        Names { firmware, by_name, conventions: firmware.changed_conventions() }
    }

    /// Whether there is a variable or function of that name.
    pub(super) fn is_there(&self, name: &str) -> bool {
        if name.contains('*') {
            self.by_name.keys().any(|known| fits(name, known))
        } else {
            self.by_name.contains_key(name) || self.firmware.symbol_if_any(name).is_some()
        }
    }

    /// Functions of that name with their addresses.
    pub(super) fn find(&self, pattern: &str) -> Vec<(String, u32)> {
        if !pattern.contains('*') {
            let starts = self.by_name.get(pattern).into_iter().flatten();
            return starts.map(|start| (pattern.to_owned(), *start)).collect();
        }
        let matches = self.by_name.iter().filter(|(name, _)| fits(pattern, name));
        // What every firmware has under the same name is shown by that.
        let shown = |name: &str| match pattern.strip_prefix('*').filter(|end| !end.contains('*')) {
            Some(end) if end.starts_with('_') => end.to_owned(),
            _ => demangle(name),
        };
        let mut all: Vec<_> = matches
            .flat_map(|(name, starts)| starts.iter().map(|start| (shown(name), *start)))
            .collect();
        all.sort_by_key(|(_, start)| *start);
        all
    }
}

/// A linkage name without what link-time optimisation adds where it makes a function local, which
/// is the same one.
pub(super) fn bare(name: &str) -> &str {
    let cut = [".lto_priv", ".llvm."].iter().filter_map(|mark| name.find(mark)).min();
    cut.map_or(name, |at| &name[..at])
}

/// Whether a name is one that the table means: `*` stands for anything.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|begin| name.strip_prefix(begin)) else {
        return false;
    };
    let Some(end) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(end)
}

/// What is looked for: the functions of allocators that may be in the firmware, with what they do.
pub(super) fn wanted<'a>(tables: &'a [Allocators], names: &Names) -> Vec<(&'a str, Role)> {
    let mut out = Vec::new();
    for table in tables {
        let may_be = |allocator: &&Allocator| {
            allocator.needs.is_empty() || allocator.needs.iter().any(|name| names.is_there(name))
        };
        for allocator in table.allocator.iter().filter(may_be) {
            for function in table.of(allocator).unwrap_or_default() {
                let Ok(role) = function.role() else { continue };
                if function.wraps {
                    continue;
                }
                out.extend(function.names.iter().map(|name| (name.as_str(), role)));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        assert!(fits("malloc", "malloc") && !fits("malloc", "malloc_r"));
        assert!(fits("*_alloc", "_R7_alloc") && !fits("*_alloc", "_alloc_zeroed"));
        assert!(fits("tlsf_*", "tlsf_malloc") && !fits("tlsf_*", "my_tlsf_malloc"));
        assert!(fits("*_heap*4init", "_R_heap_Nt4init") && !fits("*_heap*4init", "_R4init_heap"));
        assert!(fits("*$GT$5alloc17h*", "_ZN7_$GT$5alloc17h0123E"));
        assert_eq!(bare("free.lto_priv.0"), "free");
        assert_eq!(bare("_R5alloc.llvm.123"), "_R5alloc");
        assert_eq!(bare("free.constprop.0"), "free.constprop.0");
    }
}
