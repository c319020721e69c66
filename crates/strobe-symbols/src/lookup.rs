//! Resolves a name that the user typed to one address, or to candidates to choose from.
//!
//! This module must not know flags or commands: it takes a name and returns an address, candidates
//! or suggestions.

use std::collections::BTreeMap;

use crate::functions::{Function, FunctionId, FunctionSource};
use crate::names::{demangle, plain_name};
use crate::symtab::{Symbol, SymbolKind};

/// Names that a message lists.
const MOST_SHOWN: usize = 8;

/// A resolved name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolMatch {
    /// The symbol's address, the Thumb bit cleared for code.
    pub address: u32,
    /// Size in bytes; 0 when unknown.
    pub size: u32,
    /// The display name.
    pub name: String,
    /// The function that starts at the address, if it is one.
    pub function: Option<FunctionId>,
}

/// Why a name does not resolve to one address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SymbolError {
    /// No symbol has that name.
    #[error("no symbol {name:?} in the firmware{}", instead(.inlined_into, .suggestions))]
    NotFound {
        /// The name.
        name: String,
        /// Functions that have its code, where it was inlined everywhere and has none of its own.
        inlined_into: Vec<String>,
        /// Similar names, best first.
        suggestions: Vec<String>,
    },
    /// Several symbols have that name at different addresses.
    #[error("{name:?} is ambiguous: {}; give the full name", list(.candidates))]
    Ambiguous {
        /// The name.
        name: String,
        /// The possible meanings, in order of address.
        candidates: Vec<SymbolMatch>,
    },
}

fn instead(inlined_into: &[String], suggestions: &[String]) -> String {
    if !inlined_into.is_empty() {
        let shown = inlined_into.iter().take(MOST_SHOWN).map(String::as_str).collect::<Vec<_>>();
        let more = inlined_into.len() - shown.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        return format!(": it was inlined everywhere, into {}{more}", shown.join(", "));
    }
    match suggestions {
        [] => "; `strobe size FIRMWARE --top 0` lists its names".to_owned(),
        names => format!("; did you mean {}?", names.join(", ")),
    }
}

fn list(candidates: &[SymbolMatch]) -> String {
    let shown = candidates.iter().take(MOST_SHOWN);
    let shown = shown.map(|c| format!("{} at {:#010x}", c.name, c.address));
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if candidates.len() > MOST_SHOWN {
        text.push_str(&format!(" and {} more", candidates.len() - MOST_SHOWN));
    }
    text
}

/// Finds the address for a linkage name, an alias, a demangled name, or a demangled name without
/// arguments or leading path. The more exact match wins, so that `main` is never ambiguous because
/// a crate has a `main` of its own.
pub(crate) fn symbol(
    name: &str,
    functions: &[Function],
    others: &[Symbol],
) -> Result<SymbolMatch, SymbolError> {
    let mut found = matches(name, functions, others);
    match (found.len(), found.pop_first()) {
        (1, Some((_, only))) => Ok(only),
        (_, Some((_, first))) => Err(SymbolError::Ambiguous {
            name: name.to_owned(),
            candidates: std::iter::once(first).chain(found.into_values()).collect(),
        }),
        (_, None) => Err(SymbolError::NotFound {
            name: name.to_owned(),
            inlined_into: Vec::new(),
            suggestions: suggestions(name, functions, others),
        }),
    }
}

/// All names of an image in one text. A search in it shows quickly that no symbol can match a name,
/// which is the usual answer for names that only some firmware has.
#[derive(Debug, Clone)]
pub(crate) struct AllNames(Vec<u8>);

impl AllNames {
    pub(crate) fn new(functions: &[Function], others: &[Symbol]) -> Self {
        // Names from the symbol table are among the others already.
        let is_listed = |f: &Function| f.source != FunctionSource::Dwarf && !others.is_empty();
        let names = || {
            let shown = functions.iter().filter(|f| !is_listed(f) || f.name != f.linkage_name);
            let shown = shown.map(|function| function.name.as_str());
            let linked = functions.iter().filter(|f| !is_listed(f));
            let linked = linked.flat_map(Function::linkage_names);
            shown.chain(linked).chain(others.iter().map(|symbol| symbol.name.as_str()))
        };
        let mut text = Vec::with_capacity(names().map(|name| name.len() + 1).sum());
        for name in names() {
            text.extend_from_slice(name.as_bytes());
            text.push(0);
        }
        AllNames(text)
    }

    /// Whether any symbol may match a name.
    fn may_match(&self, name: &str) -> bool {
        let last = last_component(name);
        !is_identifier(last) || memchr::memmem::find(&self.0, last.as_bytes()).is_some()
    }
}

/// The same for names that a firmware may have or not: `None` where there is none, or more than
/// one. No similar names are looked for, which takes longer than all else.
pub(crate) fn only(
    name: &str,
    names: &AllNames,
    functions: &[Function],
    others: &[Symbol],
) -> Option<SymbolMatch> {
    if !names.may_match(name) {
        return None;
    }
    let mut found = matches(name, functions, others);
    let (_, only) = found.pop_first()?;
    found.is_empty().then_some(only)
}

/// What a name matches most exactly, by address.
fn matches(name: &str, functions: &[Function], others: &[Symbol]) -> BTreeMap<u32, SymbolMatch> {
    let exact = |f: &Function| f.linkage_names().any(|linkage| linkage == name) || f.name == name;
    let shown = |f: &Function| {
        may_end_in(f, name)
            && (f.linkage_names().any(|linkage| demangle(linkage) == name)
                || plain_name(&f.name) == name)
    };
    let tail = |f: &Function| may_end_in(f, name) && ends_path(&plain_name(&f.name), name);
    let tiers: [&dyn Fn(&Function) -> bool; 3] = [&exact, &shown, &tail];
    for (level, matches) in tiers.iter().enumerate() {
        let mut found: BTreeMap<u32, SymbolMatch> = BTreeMap::new();
        for (index, function) in
            functions.iter().enumerate().filter(|(_, function)| matches(function))
        {
            found.insert(function.start, function_match(index, function));
        }
        if level == 0 {
            for symbol in others.iter().filter(|symbol| symbol.name == name) {
                let address = symbol_address(symbol);
                found.entry(address).or_insert_with(|| SymbolMatch {
                    address,
                    size: symbol.size,
                    name: demangle(&symbol.name),
                    function: None,
                });
            }
        }
        if !found.is_empty() {
            return found;
        }
    }
    BTreeMap::new()
}

/// Whether a function's names may end in the last component of `name` once they are demangled,
/// which takes longer: encoded names hold identifiers as they are.
fn may_end_in(function: &Function, name: &str) -> bool {
    let last = last_component(name);
    !is_identifier(last)
        || function.name.contains(last)
        || function.linkage_names().any(|linkage| linkage.contains(last))
}

fn last_component(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

fn is_identifier(name: &str) -> bool {
    name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

fn function_match(index: usize, function: &Function) -> SymbolMatch {
    SymbolMatch {
        address: function.start,
        size: function.size,
        name: function.name.clone(),
        function: Some(FunctionId(index as u32)),
    }
}

fn symbol_address(symbol: &Symbol) -> u32 {
    match symbol.kind {
        SymbolKind::Function => symbol.address & !1,
        _ => symbol.address,
    }
}

/// Whether a function that is shown as `shown` can be called `name`.
pub(crate) fn is_called(shown: &str, name: &str) -> bool {
    // Few contain it: the plain name takes longer to find.
    let last = name.rsplit("::").next().unwrap_or(name);
    let is_plain = || {
        let plain = plain_name(shown);
        plain == name || ends_path(&plain, name)
    };
    shown == name || shown.contains(last) && is_plain()
}

/// Whether `path` ends in the whole path components `tail`, as `demo::led::toggle` does in
/// `led::toggle`.
fn ends_path(path: &str, tail: &str) -> bool {
    !tail.is_empty() && path.strip_suffix(tail).is_some_and(|head| head.ends_with("::"))
}

/// The three names most similar to the requested one, by their plain names or last components.
fn suggestions(name: &str, functions: &[Function], others: &[Symbol]) -> Vec<String> {
    const ALIKE: f64 = 0.8;
    let wanted = name.to_lowercase();
    let likeness = |candidate: &str| {
        let plain = plain_name(candidate).to_lowercase();
        let last = plain.rsplit("::").next().unwrap_or_default();
        let whole = strsim::jaro_winkler(&wanted, &plain);
        let contained = if wanted.len() >= 3 && plain.contains(&wanted) { 0.95 } else { 0.0 };
        whole.max(strsim::jaro_winkler(&wanted, last)).max(contained)
    };
    // Longer names than a user types would only cost time: the measure is quadratic.
    let names =
        functions.iter().map(|f| f.name.as_str()).chain(others.iter().map(|s| s.name.as_str()));
    let mut scored: Vec<(f64, &str)> = names
        .filter(|candidate| candidate.len() <= 256)
        .map(|candidate| (likeness(candidate), candidate))
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.dedup_by_key(|(_, candidate)| *candidate);
    scored.into_iter().take(3).map(|(_, candidate)| candidate.to_owned()).collect()
}
