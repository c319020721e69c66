//! The table of allocators as it is written, in a file of the project's or of the user's own.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{FunctionError, Role, TableError};

/// What comes with the project.
pub(super) const BUILTIN: &str = include_str!("../allocators.toml");

/// A table of allocators.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allocators {
    /// Lists of functions that several allocators share.
    #[serde(default)]
    pub(super) functions: BTreeMap<String, Vec<Function>>,
    #[serde(default)]
    pub(super) allocator: Vec<Allocator>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Allocator {
    pub(super) name: String,
    #[serde(default)]
    pub(super) needs: Vec<String>,
    pub(super) functions: Functions,
    #[serde(default)]
    pub(super) header: u32,
    pub(super) usable: Option<Usable>,
    #[serde(default)]
    pub(super) arena: Arena,
    /// A garbage collector frees blocks, without a call for each.
    #[serde(default)]
    pub(super) collects: bool,
    /// The variable in which it keeps the least that was ever free of its arena's variable.
    pub(super) least_free: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Functions {
    Shared(String),
    Own(Vec<Function>),
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Function {
    pub(super) names: Vec<String>,
    pub(super) size: Option<u8>,
    pub(super) count: Option<u8>,
    pub(super) pointer: Option<u8>,
    pub(super) alignment: Option<u8>,
    pub(super) out: Option<u8>,
    pub(super) grows: Option<u8>,
    /// The argument that points to memory that the allocator is given, of `size` bytes.
    pub(super) memory: Option<u8>,
    /// The argument that points to a pool, all of whose blocks are of one size.
    pub(super) pool: Option<u8>,
    /// Where in the pool's structure that size is.
    pub(super) at: Option<u32>,
    /// The first of the two arguments that are a Rust `Layout`: size and alignment.
    pub(super) layout: Option<u8>,
    /// What it frees may be memory that was never allocated: it adds that to the pool.
    #[serde(default)]
    pub(super) adds: bool,
    /// It does nothing but call others of the table: inlined, it hides nothing.
    #[serde(default)]
    pub(super) wraps: bool,
    #[serde(default)]
    pub(super) own: bool,
    #[serde(default)]
    pub(super) passes: bool,
    /// Which of an allocator's forms it belongs to: what one form allocates, another must not free.
    pub(super) form: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Usable {
    pub(super) at: i32,
    #[serde(default = "four")]
    pub(super) bytes: u8,
    pub(super) mask: u32,
    #[serde(default)]
    pub(super) less: u32,
    #[serde(default)]
    pub(super) follows_negative: bool,
}

fn four() -> u8 {
    4
}

/// Where an allocator's memory is.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arena {
    /// A variable that is all of it.
    pub(super) variable: Option<String>,
    /// Symbols at its begin and end.
    pub(super) begin: Option<String>,
    pub(super) end: Option<String>,
    /// What its function that `grows` has returned, and what others have brought as `memory`.
    #[serde(default)]
    pub(super) grows: bool,
    /// From `begin` to the end of the last block.
    #[serde(default)]
    pub(super) reaches: bool,
}

impl Allocators {
    /// Parses a table.
    ///
    /// # Errors
    /// When it is not TOML, or an entry makes no sense; the text names it.
    pub fn parse(toml: &str) -> Result<Self, TableError> {
        let parsed: Allocators = toml::from_str(toml)
            .map_err(|e| TableError::Syntax { message: e.to_string().trim_end().to_owned() })?;
        for allocator in &parsed.allocator {
            let functions = parsed.of(allocator)?;
            if functions.is_empty() {
                return Err(TableError::NoFunctions { allocator: allocator.name.clone() });
            }
            for function in functions {
                let shown = function.names.first().map_or("a function without names", |n| n);
                function.role().map_err(|error| TableError::Function {
                    allocator: allocator.name.clone(),
                    function: shown.to_owned(),
                    error,
                })?;
            }
            let bytes = allocator.usable.as_ref().map(|usable| usable.bytes);
            if bytes.is_some_and(|bytes| !matches!(bytes, 1 | 2 | 4)) {
                return Err(TableError::UsableBytes { allocator: allocator.name.clone() });
            }
        }
        if parsed.allocator.is_empty() {
            return Err(TableError::Empty);
        }
        Ok(parsed)
    }

    /// This table and, after it, the one that comes with the project.
    #[must_use]
    pub fn with_builtin(mut self) -> Vec<Allocators> {
        self.allocator.retain(|allocator| !allocator.name.is_empty());
        // A test parses it.
        let builtin = Allocators::parse(BUILTIN).unwrap_or_default();
        vec![self, builtin]
    }

    /// The functions of an allocator.
    pub(super) fn of<'a>(&'a self, allocator: &'a Allocator) -> Result<&'a [Function], TableError> {
        match &allocator.functions {
            Functions::Own(list) => Ok(list),
            Functions::Shared(name) => {
                self.functions.get(name).map(Vec::as_slice).ok_or_else(|| TableError::UnknownList {
                    allocator: allocator.name.clone(),
                    list: name.clone(),
                })
            }
        }
    }
}

impl Function {
    /// What it does.
    pub(super) fn role(&self) -> Result<Role, FunctionError> {
        let Function { size, count, pointer, alignment, out, .. } = self;
        let Function { grows, memory, pool, at, layout, .. } = self;
        let (names, adds) = (&self.names, self.adds);
        // The alignment comes first, unless the debug information has it otherwise.
        let of_layout = layout.map(|at| at.saturating_add(1));
        let all = [size, count, pointer, alignment, out, grows, memory, pool, &of_layout];
        if names.is_empty() || names.iter().any(|name| name.trim_matches('*').is_empty()) {
            return Err(FunctionError::NoNames);
        }
        if layout.is_some() && (size.is_some() || pointer.is_some()) {
            return Err(FunctionError::Layout);
        }
        if all.iter().any(|argument| argument.is_some_and(|n| n > 3)) {
            return Err(FunctionError::Argument);
        }
        if at.is_some() && pool.is_none() {
            return Err(FunctionError::NoPool);
        }
        let alone = match (self.own, self.passes) {
            (false, false) => None,
            (true, false) => Some((Role::Own, "own")),
            (false, true) => Some((Role::Passes, "passes")),
            (true, true) => return Err(FunctionError::OwnAndPasses),
        };
        if let Some((role, name)) = alone {
            return if all.iter().all(|argument| argument.is_none()) && !adds {
                Ok(role)
            } else {
                Err(FunctionError::Arguments { key: name })
            };
        }
        if let Some(memory) = *memory {
            return match (*size, [count, pointer, alignment, out, grows, pool, layout]) {
                (Some(size), [None, None, None, None, None, None, None]) if !adds => {
                    Ok(Role::Give { memory, size })
                }
                _ => Err(FunctionError::Memory),
            };
        }
        let role = match (*pointer, size.or(of_layout), *grows, *pool) {
            (None, None, Some(by), None) => Role::Grow { by },
            (None, Some(size), None, None) => Role::Allocate { size: Some(size), count: *count },
            (None, None, None, Some(pool)) if count.is_none() => {
                Role::Allocate { size: at.map(|_| pool), count: None }
            }
            (Some(pointer), Some(size), None, None) => {
                Role::Reallocate { pointer, size, count: *count }
            }
            (Some(pointer), None, None, None) if count.is_none() => Role::Free { pointer, adds },
            _ => return Err(FunctionError::Role),
        };
        if adds && !matches!(role, Role::Free { .. }) { Err(FunctionError::Adds) } else { Ok(role) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_make_no_sense_are_refused() {
        let with = |functions: &str| {
            Allocators::parse(&format!("[[allocator]]\nname = \"x\"\nfunctions = {functions}"))
        };
        for bad in [
            "[]",
            "\"unknown\"",
            "[{ names = [\"f\"] }]",
            "[{ names = [\"f\"], size = 4 }]",
            "[{ names = [], size = 0 }]",
            "[{ names = [\"*\"], size = 0 }]",
            "[{ names = [\"f\"], size = 0, grows = 0 }]",
            "[{ names = [\"f\"], sise = 0 }]",
            "[{ names = [\"f\"], pool = 0, size = 1 }]",
            "[{ names = [\"f\"], size = 0, at = 4 }]",
            "[{ names = [\"f\"], size = 0, adds = true }]",
            "[{ names = [\"f\"], passes = true, size = 0 }]",
            "[{ names = [\"f\"], passes = true, own = true }]",
            "[{ names = [\"f\"], passes = true }]\ncollect = true",
        ] {
            assert!(with(bad).is_err(), "{bad}");
        }
        assert!(Allocators::parse("").is_err());
    }
}
