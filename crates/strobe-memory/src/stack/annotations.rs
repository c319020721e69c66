//! What only the author of a program knows, from a file: where indirect calls go, how deep
//! recursion gets, what dynamic allocation takes, which functions are threads.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Deserialize;
use strobe_symbols::{Firmware, SymbolError};

/// The annotations of one program, as their file has them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Annotations {
    /// By the function that calls, or the address of the call: what may be called.
    #[serde(default)]
    calls: BTreeMap<String, Vec<String>>,
    /// How many calls of a function may be active at once.
    #[serde(default)]
    recursion: BTreeMap<String, u32>,
    /// Bytes that a function takes from the stack by dynamic allocation, at most.
    #[serde(default)]
    dynamic: BTreeMap<String, u32>,
    /// Functions that threads begin with.
    #[serde(default)]
    threads: BTreeMap<String, ThreadEntry>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ThreadEntry {
    stack: Option<Size>,
}

/// Bytes, or the variable that is the stack.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Size {
    Bytes(u32),
    Variable(String),
}

/// What is wrong with annotations.
#[derive(Debug, thiserror::Error)]
pub enum AnnotationError {
    /// No such syntax or field.
    #[error("{0}")]
    Syntax(#[from] toml::de::Error),
    /// A name that the firmware does not have, or more than once.
    #[error("[{table}] {name}: {error}")]
    Name {
        /// The table.
        table: &'static str,
        /// The name.
        name: String,
        /// Why not.
        error: SymbolError,
    },
    /// What is said does not fit the firmware, or contradicts something else there.
    #[error("[{table}] {name}: {why}")]
    Contradiction {
        /// The table.
        table: &'static str,
        /// The name or address.
        name: String,
        /// What is wrong.
        why: String,
    },
}

/// A thread that was annotated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Thread {
    pub(super) entry: u32,
    pub(super) name: String,
    pub(super) stack: Option<(u32, String)>,
}

/// Annotations with addresses for names.
#[derive(Debug, Clone, Default)]
pub(super) struct Resolved {
    /// By function.
    pub(super) callers: BTreeMap<u32, (String, Vec<u32>)>,
    /// By address of the call.
    pub(super) sites: BTreeMap<u32, (String, Vec<u32>)>,
    pub(super) recursion: BTreeMap<u32, (String, u32)>,
    pub(super) dynamic: BTreeMap<u32, (String, u32)>,
    pub(super) threads: Vec<Thread>,
}

impl Annotations {
    /// Reads the text of a file.
    pub fn parse(text: &str) -> Result<Annotations, AnnotationError> {
        Ok(toml::from_str(text)?)
    }

    pub(super) fn resolve(&self, firmware: &Firmware) -> Result<Resolved, AnnotationError> {
        let mut out = Resolved::default();
        for (name, targets) in &self.calls {
            if targets.is_empty() {
                return Err(contradiction("calls", name, "no targets are listed"));
            }
            let targets = targets.iter().map(|target| function(firmware, "calls", target));
            let targets = targets.collect::<Result<Vec<u32>, _>>()?;
            let (place, is_site) = match address(name) {
                Some(address) => (address & !1, true),
                None => (function(firmware, "calls", name)?, false),
            };
            let into = if is_site { &mut out.sites } else { &mut out.callers };
            if into.insert(place, (name.clone(), targets)).is_some() {
                return Err(contradiction("calls", name, "the same place is listed twice"));
            }
        }
        for (table, from, into) in [
            ("recursion", &self.recursion, &mut out.recursion),
            ("dynamic", &self.dynamic, &mut out.dynamic),
        ] {
            for (name, number) in from {
                let at = function(firmware, table, name)?;
                if table == "recursion" && *number == 0 {
                    return Err(contradiction(table, name, "a function that runs is active once"));
                }
                if into.insert(at, (name.clone(), *number)).is_some() {
                    return Err(contradiction(table, name, "the same function is listed twice"));
                }
            }
        }
        let mut seen = BTreeSet::new();
        for (name, thread) in &self.threads {
            let entry = function(firmware, "threads", name)?;
            if !seen.insert(entry) {
                return Err(contradiction("threads", name, "the same function is listed twice"));
            }
            let stack = match &thread.stack {
                None => None,
                Some(Size::Bytes(bytes)) => Some((*bytes, "annotated".to_owned())),
                Some(Size::Variable(variable)) => Some(sized(firmware, variable)?),
            };
            out.threads.push(Thread { entry, name: name.clone(), stack });
        }
        Ok(out)
    }
}

impl Resolved {
    /// Bounds of dynamic allocation by function.
    pub(super) fn bounds(&self) -> HashMap<u32, u32> {
        self.dynamic.iter().map(|(at, (_, bytes))| (*at, *bytes)).collect()
    }
}

pub(super) fn contradiction(
    table: &'static str,
    name: &str,
    why: impl Into<String>,
) -> AnnotationError {
    AnnotationError::Contradiction { table, name: name.to_owned(), why: why.into() }
}

fn address(name: &str) -> Option<u32> {
    u32::from_str_radix(name.strip_prefix("0x")?, 16).ok()
}

fn function(firmware: &Firmware, table: &'static str, name: &str) -> Result<u32, AnnotationError> {
    let found = firmware.symbol(name);
    let found =
        found.map_err(|error| AnnotationError::Name { table, name: name.to_owned(), error })?;
    match found.function {
        Some(_) => Ok(found.address),
        None => Err(contradiction(table, name, "a variable, not a function")),
    }
}

fn sized(firmware: &Firmware, name: &str) -> Result<(u32, String), AnnotationError> {
    let table = "threads";
    let found = firmware.symbol(name);
    let found =
        found.map_err(|error| AnnotationError::Name { table, name: name.to_owned(), error })?;
    match found.size {
        0 => Err(contradiction(table, name, "the symbol has no size; give the bytes instead")),
        size => Ok((size, found.name)),
    }
}
