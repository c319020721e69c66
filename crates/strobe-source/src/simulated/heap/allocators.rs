//! Memory allocators as data: a table of their functions by name, and which of them a firmware has.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Deserialize;
use strobe_sim::device::Size;
use strobe_sim::observe::heap::{Entry, UsableRule};
use strobe_symbols::{Firmware, Machine};

/// What comes with the project.
const BUILTIN: &str = include_str!("allocators.toml");

/// Where an AVR's data space begins in ELF files and on the simulated bus.
const AVR_DATA: u32 = 0x80_0000;

/// Names of functions in a message.
const MOST_NAMES: usize = 20;

/// A table of allocators.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allocators {
    /// Lists of functions that several allocators share.
    #[serde(default)]
    functions: BTreeMap<String, Vec<Function>>,
    #[serde(default)]
    allocator: Vec<Allocator>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Allocator {
    name: String,
    #[serde(default)]
    needs: Vec<String>,
    functions: Functions,
    #[serde(default)]
    header: u32,
    usable: Option<Usable>,
    #[serde(default)]
    arena: Arena,
    /// The variable in which it keeps the least that was ever free of its arena's variable.
    least_free: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Functions {
    Shared(String),
    Own(Vec<Function>),
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Function {
    names: Vec<String>,
    size: Option<u8>,
    count: Option<u8>,
    pointer: Option<u8>,
    alignment: Option<u8>,
    out: Option<u8>,
    grows: Option<u8>,
    #[serde(default)]
    own: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Usable {
    at: i32,
    #[serde(default = "four")]
    bytes: u8,
    mask: u32,
    #[serde(default)]
    less: u32,
    #[serde(default)]
    follows_negative: bool,
}

fn four() -> u8 {
    4
}

/// Where an allocator's memory is.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arena {
    /// A variable that is all of it.
    variable: Option<String>,
    /// Symbols at its begin and end.
    begin: Option<String>,
    end: Option<String>,
    /// What its function that `grows` has returned.
    #[serde(default)]
    grows: bool,
}

/// What a function does, with the numbers of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Returns a new block of `size` bytes, times `count`.
    Allocate {
        /// Bytes.
        size: u8,
        /// Times.
        count: Option<u8>,
    },
    /// Frees a block.
    Free {
        /// Its address.
        pointer: u8,
    },
    /// Resizes a block, which may move it.
    Reallocate {
        /// Its address.
        pointer: u8,
        /// Bytes.
        size: u8,
        /// Times.
        count: Option<u8>,
    },
    /// Takes memory from the system.
    Grow {
        /// Bytes.
        by: u8,
    },
    /// Reads or writes the allocator's own structures: statistics, walks, initialisation.
    Own,
}

/// A function of an allocator, in a firmware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its name.
    pub name: String,
    /// Its allocator, as an index into [`Found::heaps`].
    pub heap: usize,
    /// What it does.
    pub role: Role,
}

/// Where the memory of an allocator is, in a firmware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Area {
    /// From an address to another one, from the beginning.
    Fixed(u32, u32),
    /// What was taken from the system.
    Grown,
    /// Nobody knows.
    Unknown(String),
}

/// An allocator that a firmware has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heap {
    /// Its name.
    pub name: String,
    /// Bytes that each block takes beside its own.
    pub header: u32,
    /// Where its memory is.
    pub area: Area,
    /// Whether the usable size of blocks can be read.
    pub knows_usable: bool,
    /// Its bytes in all, and where it keeps the least that was ever free of them.
    pub least_free: Option<(u32, u32)>,
}

/// The allocators of a firmware.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The allocators.
    pub heaps: Vec<Heap>,
    /// Their functions, in the order of [`Found::entries`].
    pub functions: Vec<Known>,
    /// Where they begin.
    pub entries: Vec<Entry>,
    /// What pointers are relative to.
    pub base: u32,
    /// Bits of a pointer and of a size.
    pub mask: u32,
}

impl Found {
    /// An argument of a call.
    pub fn argument(&self, arguments: &[u32; 4], at: u8) -> u32 {
        arguments[usize::from(at & 3)] & self.mask
    }

    /// Bytes that a call asks for; none where they are more than there are addresses.
    pub fn bytes(&self, arguments: &[u32; 4], size: u8, count: Option<u8>) -> Option<u32> {
        let size = self.argument(arguments, size);
        let all = match count {
            None => size,
            Some(count) => size.checked_mul(self.argument(arguments, count))?,
        };
        (all <= self.mask).then_some(all)
    }
}

impl Allocators {
    /// Parses a table.
    ///
    /// # Errors
    /// When it is not TOML, or an entry makes no sense; the text names it.
    pub fn parse(toml: &str) -> Result<Self, String> {
        let parsed: Allocators =
            toml::from_str(toml).map_err(|e| e.to_string().trim_end().to_owned())?;
        for allocator in &parsed.allocator {
            let name = &allocator.name;
            let functions = parsed.of(allocator)?;
            if functions.is_empty() {
                return Err(format!("allocator {name}: it has no functions"));
            }
            for function in functions {
                let shown = function.names.first().map_or("a function without names", |n| n);
                function.role().map_err(|why| format!("allocator {name}: {shown}: {why}"))?;
            }
            let bytes = allocator.usable.as_ref().map(|usable| usable.bytes);
            if bytes.is_some_and(|bytes| !matches!(bytes, 1 | 2 | 4)) {
                return Err(format!("allocator {name}: usable: bytes are 1, 2 or 4"));
            }
        }
        if parsed.allocator.is_empty() {
            return Err("at least one [[allocator]] is needed".to_owned());
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

    fn of<'a>(&'a self, allocator: &'a Allocator) -> Result<&'a [Function], String> {
        match &allocator.functions {
            Functions::Own(list) => Ok(list),
            Functions::Shared(name) => {
                self.functions.get(name).map(Vec::as_slice).ok_or_else(|| {
                    format!("allocator {}: there is no list of functions {name}", allocator.name)
                })
            }
        }
    }
}

impl Function {
    fn role(&self) -> Result<Role, String> {
        let Function { size, count, pointer, alignment, out, grows, own, names } = self;
        let all = [size, count, pointer, alignment, out, grows];
        if names.is_empty() || names.iter().any(|name| name.trim_start_matches('*').is_empty()) {
            return Err("names are missing".to_owned());
        }
        if all.iter().any(|argument| argument.is_some_and(|n| n > 3)) {
            return Err("only the first four arguments, 0 to 3, can be seen".to_owned());
        }
        if *own {
            return match all.iter().all(|argument| argument.is_none()) {
                true => Ok(Role::Own),
                false => Err("what is own takes no arguments".to_owned()),
            };
        }
        match (*pointer, *size, *grows) {
            (None, None, Some(by)) => Ok(Role::Grow { by }),
            (None, Some(size), None) => Ok(Role::Allocate { size, count: *count }),
            (Some(pointer), Some(size), None) => {
                Ok(Role::Reallocate { pointer, size, count: *count })
            }
            (Some(pointer), None, None) if count.is_none() => Ok(Role::Free { pointer }),
            _ => Err("it needs size, pointer, both, grows, or own".to_owned()),
        }
    }
}

/// The allocators that a firmware has; if accesses of memory are to be checked (`checks`), with
/// those of their functions that allocate nothing.
///
/// # Errors
/// When it has none: the text names the functions that were looked for.
pub fn find(firmware: &Firmware, own: Option<&Allocators>, checks: bool) -> Result<Found, String> {
    let tables = own.cloned().unwrap_or_default().with_builtin();
    let names = Names::new(firmware);
    let is_avr = firmware.machine() == Machine::Avr;
    let (base, mask) = if is_avr { (AVR_DATA, 0xffff) } else { (0, u32::MAX) };
    let mut found = Found { base, mask, ..Found::default() };
    let mut taken = HashSet::new();
    for table in &tables {
        for allocator in &table.allocator {
            let functions = table.of(allocator)?;
            let functions = functions.iter().filter(|function| checks || !function.own);
            add(firmware, &names, allocator, functions, &mut taken, &mut found);
        }
    }
    let allocates =
        |known: &Known| matches!(known.role, Role::Allocate { .. } | Role::Reallocate { .. });
    match found.functions.iter().any(allocates) {
        true => Ok(found),
        false => Err(nothing(firmware, &tables)),
    }
}

/// Adds an allocator, if the firmware has it.
fn add<'a>(
    firmware: &Firmware,
    names: &Names,
    allocator: &Allocator,
    functions: impl Iterator<Item = &'a Function>,
    taken: &mut HashSet<u32>,
    found: &mut Found,
) {
    let is_there = |name: &String| firmware.symbol(name).is_ok() || names.has(name);
    if !allocator.needs.is_empty() && !allocator.needs.iter().any(is_there) {
        return;
    }
    let usable = allocator.usable.as_ref().map(|usable| rule(usable, found.base));
    let mut any = false;
    for function in functions {
        let Ok(role) = function.role() else { continue };
        for (name, address) in function.names.iter().flat_map(|name| names.find(name)) {
            if !taken.insert(address) {
                continue;
            }
            any |= role != Role::Own;
            let heap = found.heaps.len();
            found.functions.push(Known { name, heap, role });
            let usable = usable
                .filter(|_| !matches!(role, Role::Free { .. } | Role::Grow { .. } | Role::Own));
            found.entries.push(Entry { address, usable, out: function.out });
        }
    }
    if any {
        found.heaps.push(Heap {
            name: allocator.name.clone(),
            header: allocator.header,
            area: area(firmware, &allocator.arena),
            knows_usable: usable.is_some(),
            least_free: least_free(firmware, allocator),
        });
    }
}

fn rule(usable: &Usable, base: u32) -> UsableRule {
    let size = match usable.bytes {
        1 => Size::Byte,
        2 => Size::Half,
        _ => Size::Word,
    };
    let Usable { at, mask, less, follows_negative, .. } = *usable;
    UsableRule { base, at, size, mask, less, follows_negative }
}

fn area(firmware: &Firmware, arena: &Arena) -> Area {
    let address = |name: &Option<String>| Some(firmware.symbol(name.as_ref()?).ok()?.address);
    if let Some(name) = &arena.variable {
        let symbol = firmware.data_symbols().iter().find(|s| s.name == *name && s.size > 0);
        return match symbol {
            Some(s) => Area::Fixed(s.address, s.address.saturating_add(s.size)),
            None => Area::Unknown(format!("the firmware has no variable {name}")),
        };
    }
    match (address(&arena.begin), address(&arena.end)) {
        (Some(begin), Some(end)) if begin < end => Area::Fixed(begin, end),
        _ if arena.grows => Area::Grown,
        _ => Area::Unknown("the table of allocators does not say where its memory is".to_owned()),
    }
}

fn least_free(firmware: &Firmware, allocator: &Allocator) -> Option<(u32, u32)> {
    let variable = |name: &str| {
        let mut all = firmware.data_symbols().iter();
        all.find(|s| s.name == name && s.size > 0).map(|s| (s.size, s.address))
    };
    let (whole, _) = variable(allocator.arena.variable.as_deref()?)?;
    let (_, address) = variable(allocator.least_free.as_deref()?)?;
    Some((whole, address))
}

/// Functions by linkage name.
struct Names<'a> {
    by_name: HashMap<&'a str, Vec<u32>>,
}

impl<'a> Names<'a> {
    fn new(firmware: &'a Firmware) -> Self {
        let mut by_name: HashMap<&str, Vec<u32>> = HashMap::new();
        for function in firmware.functions() {
            for name in function.linkage_names() {
                // What link-time optimisation makes local is the same function.
                let name = name.split_once(".lto_priv").map_or(name, |(bare, _)| bare);
                let starts = by_name.entry(name).or_default();
                if !starts.contains(&function.start) {
                    starts.push(function.start);
                }
            }
        }
        Names { by_name }
    }

    fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Functions of that name with their addresses.
    fn find(&self, name: &str) -> Vec<(String, u32)> {
        let shown = |name: &str, starts: &[u32]| {
            starts.iter().map(|start| (name.to_owned(), *start)).collect::<Vec<_>>()
        };
        let Some(end) = name.strip_prefix('*') else {
            return self.by_name.get(name).map(|s| shown(name, s)).unwrap_or_default();
        };
        let matches = self.by_name.iter().filter(|(name, _)| name.ends_with(end));
        let mut all: Vec<_> = matches.flat_map(|(_, starts)| shown(end, starts)).collect();
        all.sort_by_key(|(_, start)| *start);
        all
    }
}

/// Why nothing can be seen.
fn nothing(firmware: &Firmware, tables: &[Allocators]) -> String {
    if firmware.functions().is_empty() {
        return "the firmware has no symbols (stripped?): allocators are found by the names of \
                their functions; build it without -s, or give the file before strip"
            .to_owned();
    }
    // Of each allocator the first function that allocates.
    let functions = |table: &Allocators| -> Vec<String> {
        let first = |allocator: &Allocator| {
            let mut all = table.of(allocator).ok()?.iter();
            let takes = all.find(|f| f.size.is_some() && f.pointer.is_none())?;
            Some(takes.names.first()?.trim_start_matches('*').to_owned())
        };
        table.allocator.iter().filter_map(first).collect()
    };
    let mut names: Vec<String> = tables.iter().flat_map(functions).collect();
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "the firmware has no memory allocator that is known by name; looked for {}{more}. Describe \
         its own in a file, a few lines, and name that with --allocators (docs/heap.md)",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_project_holds_together() {
        let table = Allocators::parse(BUILTIN).unwrap();
        assert!(table.allocator.len() > 15);
        let firmware = Firmware::of_functions([
            ("malloc".to_owned(), 0x100, 0x20),
            ("free".to_owned(), 0x120, 0x20),
            ("_RNvCsabc_7___rustc12___rust_alloc".to_owned(), 0x140, 0x10),
        ]);
        let found = find(&firmware, None, false).unwrap();
        let names: Vec<&str> = found.heaps.iter().map(|heap| heap.name.as_str()).collect();
        assert_eq!(names, ["Rust global allocator", "malloc"]);
        assert_eq!(found.functions.len(), 3);
    }

    #[test]
    fn a_firmware_without_allocators_is_an_error_that_helps() {
        let firmware = Firmware::of_functions([("main".to_owned(), 0x100, 0x20)]);
        let error = find(&firmware, None, false).unwrap_err();
        assert!(error.contains("pvPortMalloc") && error.contains("--allocators"), "{error}");
        let own = "[[allocator]]\nname = \"pool\"\nfunctions = [{ names = [\"main\"], size = 0 }]";
        let found = find(&firmware, Some(&Allocators::parse(own).unwrap()), true).unwrap();
        assert_eq!(found.heaps[0].name, "pool");
    }

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
        ] {
            assert!(with(bad).is_err(), "{bad}");
        }
        assert!(Allocators::parse("").is_err());
    }
}
