//! Memory allocators as data: a table of their functions by name, and which of them a firmware has.

mod error;
mod names;
mod table;
mod unseen;

use std::collections::HashSet;

use strobe_sim::device::Size;
use strobe_sim::observe::heap::{Entry, Inside, PoolRule, UsableRule};
use strobe_symbols::{Firmware, Step};

pub use self::error::{AllocatorsError, FunctionError, TableError};
use self::names::Names;
pub use self::table::Allocators;
use self::table::{Allocator, Arena, Function, Usable};

/// Names of functions in a message.
const MOST_NAMES: usize = 20;

/// What a function does, with the numbers of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Returns a new block of `size` bytes, times `count`.
    Allocate {
        /// Bytes; none if nothing states them.
        size: Option<u8>,
        /// Times.
        count: Option<u8>,
    },
    /// Frees a block.
    Free {
        /// Its address.
        pointer: u8,
        /// Memory that was never allocated is added to a pool.
        adds: bool,
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
    /// Is given memory to allocate from.
    Give {
        /// Its address.
        memory: u8,
        /// Bytes.
        size: u8,
    },
    /// Reads or writes the allocator's own structures: statistics, walks, initialisation.
    Own,
    /// Passes on what it is asked for; never among the calls that were seen.
    Passes,
}

impl Role {
    /// Whether it neither allocates nor frees.
    pub fn is_upkeep(self) -> bool {
        matches!(self, Role::Grow { .. } | Role::Give { .. } | Role::Own)
    }

    /// Whether it is one of those that allocate.
    pub fn allocates(self) -> bool {
        matches!(self, Role::Allocate { .. } | Role::Reallocate { .. })
    }

    /// The same where the words of the arguments are in other registers; none where one that
    /// matters is in none.
    fn moved(self, words: &[Option<u8>]) -> Option<Role> {
        let at = |word: u8| words.get(usize::from(word)).copied().flatten().filter(|at| *at < 4);
        let maybe = |word: Option<u8>| match word {
            None => Some(None),
            Some(word) => at(word).map(Some),
        };
        Some(match self {
            Role::Allocate { size, count } => {
                Role::Allocate { size: maybe(size)?, count: maybe(count)? }
            }
            Role::Free { pointer, adds } => Role::Free { pointer: at(pointer)?, adds },
            Role::Reallocate { pointer, size, count } => {
                Role::Reallocate { pointer: at(pointer)?, size: at(size)?, count: maybe(count)? }
            }
            Role::Grow { by } => Role::Grow { by: at(by)? },
            Role::Give { memory, size } => Role::Give { memory: at(memory)?, size: at(size)? },
            Role::Own | Role::Passes => self,
        })
    }

    /// The argument that points to the block that is freed or resized.
    fn pointer(self) -> Option<u8> {
        match self {
            Role::Free { pointer, .. } | Role::Reallocate { pointer, .. } => Some(pointer),
            _ => None,
        }
    }

    /// What is to be seen of it inside another allocator's call: as [`replay`](super::replay) takes
    /// such calls. One that stores the block's address (`out`) has it in its arguments.
    fn inside(self, out: Option<u8>) -> Inside {
        match self {
            _ if out.is_some() => Inside::Kept,
            Role::Allocate { .. } | Role::Reallocate { .. } => Inside::Makes,
            Role::Free { .. } => Inside::Frees,
            Role::Grow { .. } | Role::Give { .. } | Role::Own | Role::Passes => Inside::Kept,
        }
    }
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
    /// Its form, of an allocator with several: what one allocates, another must not free. None
    /// where functions of two forms are one, as linkers fold them.
    pub form: Option<String>,
}

/// Where the memory of an allocator is, in a firmware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Area {
    /// From an address to another one, from the beginning.
    Fixed(u32, u32),
    /// What was taken from the system, or what the heap of that index was given.
    HeapExtension(usize),
    /// From an address to the end of the last block: the allocator keeps nothing above it.
    Reaching(u32),
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
    /// Whether a garbage collector frees blocks, without a call for each.
    pub collects: bool,
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
    /// Where functions of theirs are without a call that could be seen, in words.
    pub unseen: Vec<String>,
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

    /// Bytes that a call asks for, 0 if nothing states them; none where they are more than there
    /// are addresses.
    pub fn bytes(&self, arguments: &[u32; 4], size: Option<u8>, count: Option<u8>) -> Option<u32> {
        let size = size.map_or(0, |size| self.argument(arguments, size));
        let all = match count {
            None => size,
            Some(count) => size.checked_mul(self.argument(arguments, count))?,
        };
        (all <= self.mask).then_some(all)
    }
}

/// The allocators that a firmware has; if accesses of memory are to be checked (`checks`), with
/// those of their functions that allocate nothing.
///
/// # Errors
/// When it has none: the text names the functions that were looked for.
pub fn find(
    firmware: &Firmware,
    own: Option<&Allocators>,
    checks: bool,
) -> Result<Found, AllocatorsError> {
    let tables = own.cloned().unwrap_or_default().with_builtin();
    let names = Names::new(firmware);
    let conventions = firmware.machine().conventions();
    let (base, mask) = (conventions.data_space, conventions.data_mask);
    let mut found = Found { base, mask, ..Found::default() };
    let mut taken = HashSet::new();
    for table in &tables {
        for allocator in &table.allocator {
            let functions = table.of(allocator)?;
            let functions = functions.iter().filter(|function| checks || !function.own);
            add(firmware, &names, allocator, functions, &mut taken, &mut found);
        }
    }
    let unseen = unseen::unseen(firmware, &found, &names::wanted(&tables, &names));
    if found.functions.iter().any(|known| known.role.allocates()) {
        found.unseen.extend(unseen);
        return Ok(found);
    }
    let inlined = [found.unseen, unseen].concat();
    if inlined.is_empty() {
        return Err(nothing(firmware, &tables));
    }
    Err(AllocatorsError::Inlined { inlined })
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
    if !allocator.needs.is_empty() && !allocator.needs.iter().any(|name| names.is_there(name)) {
        return;
    }
    let usable = allocator.usable.as_ref().map(|usable| rule(usable, found.base));
    let mut any = false;
    for function in functions {
        let Ok(mut role) = function.role() else { continue };
        if let (Some(at), Role::Allocate { size, .. }) = (function.layout, &mut role)
            && size_is_first(firmware)
        {
            *size = Some(at);
        }
        for (name, address) in function.names.iter().flat_map(|name| names.find(name)) {
            if !taken.insert(address) {
                unless_folded(found, address, function.form.as_ref());
                continue;
            }
            let role = match names.conventions.get(&address) {
                None => role,
                // Pointers that the table has besides are not followed.
                Some(words) => match role.moved(words).filter(|_| function.out.is_none()) {
                    Some(role) => role,
                    None => {
                        found.unseen.push(format!("{name} takes its arguments in ways of its own"));
                        continue;
                    }
                },
            };
            any |= !matches!(role, Role::Own | Role::Passes | Role::Give { .. });
            let heap = found.heaps.len();
            found.functions.push(Known { name, heap, role, form: function.form.clone() });
            let usable = usable.filter(|_| role.allocates());
            let pool = function.pool.zip(function.at).map(|place| pool(place, found));
            let (out, passes) = (function.out, role == Role::Passes);
            let (pointer, inside) = (role.pointer(), role.inside(out));
            let heap = heap as u32;
            found.entries.push(Entry { address, usable, out, pool, passes, heap, pointer, inside });
        }
    }
    if any {
        found.heaps.push(Heap {
            name: allocator.name.clone(),
            header: allocator.header,
            area: area(firmware, &allocator.arena, found.heaps.len()),
            knows_usable: usable.is_some(),
            collects: allocator.collects,
            least_free: least_free(firmware, allocator),
        });
    }
}

/// Takes the form off a function that one of another form is folded into.
fn unless_folded(found: &mut Found, address: u32, form: Option<&String>) {
    let at = found.entries.iter().position(|entry| entry.address == address);
    if let Some(known) = at.and_then(|at| found.functions.get_mut(at))
        && known.form.as_ref() != form
    {
        known.form = None;
    }
}

/// Whether the size comes first in a Rust `Layout`, which is passed as two arguments in the order
/// of its fields. That order is the compiler's choice; all of today's put the alignment first.
fn size_is_first(firmware: &Firmware) -> bool {
    let types = firmware.types();
    let Ok(layout) = types.named("Layout") else { return false };
    let at = |member: &str| match types.member(layout, member).ok()?.steps.as_slice() {
        [] => Some(0),
        [Step::Add(at)] => Some(*at),
        _ => None,
    };
    let align = at("align").or_else(|| at("align_"));
    at("size").or_else(|| at("size_")).zip(align).is_some_and(|(size, align)| size < align)
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

/// Where a pool, which this argument points to, keeps the size of its blocks: in a `size_t`.
fn pool((argument, at): (u8, u32), found: &Found) -> PoolRule {
    let size = if found.mask == u32::MAX { Size::Word } else { Size::Half };
    PoolRule { argument, mask: found.mask, base: found.base, at, size }
}

fn area(firmware: &Firmware, arena: &Arena, heap: usize) -> Area {
    let address = |name: &Option<String>| Some(firmware.symbol_if_any(name.as_ref()?)?.address);
    if let Some(name) = &arena.variable {
        let symbol = firmware.data_symbols().iter().find(|s| s.name == *name && s.size > 0);
        return match symbol {
            Some(s) => Area::Fixed(s.address, s.address.saturating_add(s.size)),
            None => Area::Unknown(format!("the firmware has no variable {name}")),
        };
    }
    match (address(&arena.begin), address(&arena.end)) {
        (Some(begin), Some(end)) if begin < end => Area::Fixed(begin, end),
        (Some(begin), None) if arena.reaches => Area::Reaching(begin),
        _ if arena.grows => Area::HeapExtension(heap),
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

/// Why nothing can be seen.
fn nothing(firmware: &Firmware, tables: &[Allocators]) -> AllocatorsError {
    if firmware.functions().is_empty() {
        return AllocatorsError::NoSymbols;
    }
    // Of each allocator the first function that allocates.
    let functions = |table: &Allocators| -> Vec<String> {
        let first = |allocator: &Allocator| {
            let mut all = table.of(allocator).ok()?.iter();
            let is_wrapped = |f: &Function| f.names.iter().any(|name| name.starts_with("__wrap"));
            let allocates = |f: &Function| matches!(f.role(), Ok(Role::Allocate { .. }));
            let takes = all.find(|f| allocates(f) && !is_wrapped(f))?;
            Some(takes.names.first()?.trim_start_matches('*').to_owned())
        };
        table.allocator.iter().filter_map(first).collect()
    };
    let mut names: Vec<String> = tables.iter().flat_map(functions).collect();
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    AllocatorsError::NotFound { names, more }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::table::BUILTIN;
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

    /// Every allocator of the table is found by the names of its functions alone, and what each of
    /// them does is understood.
    #[test]
    fn every_allocator_of_the_table_is_found_by_name() {
        let table = Allocators::parse(BUILTIN).unwrap();
        for allocator in &table.allocator {
            // What only looks after structures may be another allocator's sign.
            let functions = table.of(allocator).unwrap().iter().filter(|function| !function.own);
            let own: Vec<&String> = functions.flat_map(|function| &function.names).collect();
            let names = own.iter().copied().chain(allocator.needs.first());
            let names: BTreeSet<String> = names.map(|name| name.replace('*', "_R_")).collect();
            let placed = (0x100u32..).step_by(0x10).zip(names);
            let firmware = Firmware::of_functions(placed.map(|(at, name)| (name, at, 0x10)));
            let found = find(&firmware, None, false).unwrap();
            let heap = found.heaps.iter().position(|heap| heap.name == allocator.name);
            let heap = heap.unwrap_or_else(|| panic!("{} is not found", allocator.name));
            let known = found.functions.iter().filter(|known| known.heap == heap).count();
            assert_eq!(known, own.len(), "{}", allocator.name);
        }
    }

    #[test]
    fn a_firmware_without_allocators_is_an_error_that_helps() {
        let firmware = Firmware::of_functions([("main".to_owned(), 0x100, 0x20)]);
        let error = find(&firmware, None, false).unwrap_err().to_string();
        assert!(error.contains("pvPortMalloc") && error.contains("--allocators"), "{error}");
        assert!(error.contains(" malloc") && !error.contains("__wrap"), "{error}");
        let own = "[[allocator]]\nname = \"pool\"\nfunctions = [{ names = [\"main\"], size = 0 }]";
        let found = find(&firmware, Some(&Allocators::parse(own).unwrap()), true).unwrap();
        assert_eq!(found.heaps[0].name, "pool");
    }
}
