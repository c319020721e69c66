//! Functions and variables with the bounds from the symbol table.
//!
//! Aliases become one function with several names; assembly labels without a size extend to the
//! next symbol; labels inside a function of known size stay labels. This module must not know lines
//! or inlining.

use std::collections::{HashMap, HashSet};

use crate::code::{CodeKind, CodeMap};
use crate::interval::{Claim, Piece, flatten};
use crate::names::demangle;
use crate::symtab::{Symbol, SymbolKind, SymbolTable};

/// Index of a function in [`Firmware::functions`](crate::Firmware::functions).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub u32);

/// The source of a function's bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FunctionSource {
    /// The symbol table gives start and size.
    Symbol,
    /// The symbol table has the start only, as for assembly without `.size`; the function is
    /// assumed to extend to the next symbol or the end of the section.
    UnsizedSymbol,
    /// No symbol: the bounds are from the debug information.
    Dwarf,
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// The display name, demangled.
    pub name: String,
    /// The linkage name, mangled for C++ and Rust, with the compiler's suffixes (`.constprop.0`).
    pub linkage_name: String,
    /// Other linkage names for the same address, in order of the symbol table.
    pub aliases: Vec<String>,
    /// First address, the Thumb bit cleared.
    pub start: u32,
    /// Size in bytes, literal pools included.
    pub size: u32,
    /// The source of the bounds.
    pub source: FunctionSource,
    /// The file of a function that is local to its file, from the symbol table, without directory.
    /// It is the only source information on a function without debug information.
    pub symbol_file: Option<String>,
}

impl Function {
    /// The address after the last byte; exclusive, it may be 2^32.
    pub fn end(&self) -> u64 {
        u64::from(self.start) + u64::from(self.size)
    }

    /// All linkage names, the preferred one first.
    pub fn linkage_names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.linkage_name.as_str()).chain(self.aliases.iter().map(String::as_str))
    }
}

/// A variable or constant with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataSymbol {
    /// The display name, demangled.
    pub name: String,
    /// The linkage name.
    pub linkage_name: String,
    /// First address.
    pub address: u32,
    /// Size in bytes.
    pub size: u32,
    /// The file of a variable that is local to its file, from the symbol table, without directory.
    pub symbol_file: Option<String>,
}

/// The functions of symbol table and debug information together.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    /// Sorted by start.
    pub(crate) list: Vec<Function>,
    /// The function of each address; where functions nest, the inner one.
    pub(crate) pieces: Vec<Piece<FunctionId>>,
}

/// A function in the debug information.
pub(crate) struct DwarfFunction<'a> {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) linkage_name: &'a str,
    pub(crate) display_name: &'a str,
    /// With the types of a generic function, where its linkage name has none.
    pub(crate) typed_name: Option<&'a str>,
}

impl Functions {
    pub(crate) fn new(table: &SymbolTable, code: &CodeMap, dwarf: &[DwarfFunction<'_>]) -> Self {
        let dwarf_names: HashMap<u64, &str> =
            dwarf.iter().map(|f| (f.start, f.linkage_name)).collect();
        let mut list = from_symbols(table, code, &dwarf_names);
        if code.machine.conventions().has_stale_sizes {
            cut_stale_sizes(&mut list);
        }
        let covered = flatten(claims(&list));
        list.extend(dwarf.iter().filter(|f| !overlaps(&covered, f.start, f.end)).map(from_dwarf));
        list.sort_by_key(|function| (function.start, std::cmp::Reverse(function.size)));
        list.dedup_by_key(|function| function.start);
        name_by_type(&mut list, dwarf);
        let pieces = flatten(claims(&list));
        Functions { list, pieces }
    }

    /// Functions from a list: name, first address, size or 0.
    pub(crate) fn of(given: impl IntoIterator<Item = (String, u32, u32)>) -> Self {
        let mut given: Vec<_> = given.into_iter().map(|(n, at, size)| (at & !1, size, n)).collect();
        given.sort();
        let starts: Vec<u32> = given.iter().map(|(start, ..)| *start).collect();
        let function = |(start, size, linkage_name): (u32, u32, String)| {
            let next = starts[starts.partition_point(|&other| other <= start)..].first();
            let reach = next.map_or(2, |next| next - start);
            let (size, source) = match size {
                0 => (reach, FunctionSource::UnsizedSymbol),
                size => (size, FunctionSource::Symbol),
            };
            let (name, aliases) = (demangle(&linkage_name), Vec::new());
            Function { name, linkage_name, aliases, start, size, source, symbol_file: None }
        };
        let mut list: Vec<Function> = given.into_iter().map(function).collect();
        list.sort_by_key(|function| (function.start, std::cmp::Reverse(function.size)));
        list.dedup_by_key(|function| function.start);
        let pieces = flatten(claims(&list));
        Functions { list, pieces }
    }
}

/// Functions of one name, made of one generic function for several types, get the names with the
/// types: `TaskStorage<F>::poll` of three tasks are three names.
fn name_by_type(list: &mut [Function], dwarf: &[DwarfFunction<'_>]) {
    let typed: HashMap<u64, &str> =
        dwarf.iter().filter_map(|f| Some((f.start, f.typed_name?))).collect();
    if typed.is_empty() {
        return;
    }
    let mut count: HashMap<&str, usize> = HashMap::new();
    list.iter().for_each(|function| *count.entry(&function.name).or_default() += 1);
    let is_shared = |function: &Function| count[function.name.as_str()] > 1;
    let is_shared: Vec<bool> = list.iter().map(is_shared).collect();
    for (function, _) in list.iter_mut().zip(is_shared).filter(|(_, is_shared)| *is_shared) {
        if let Some(name) = typed.get(&u64::from(function.start)) {
            (*name).clone_into(&mut function.name);
        }
    }
}

/// The linker shortens AVR code (`call` becomes `rcall`) but does not update the sizes of assembly
/// functions: avr-libc's floating point would seem to nest. No function of an AVR program extends
/// past the next one with a size.
fn cut_stale_sizes(list: &mut [Function]) {
    let mut next = u64::MAX;
    for function in list.iter_mut().rev() {
        if function.end() > next {
            function.size = (next - u64::from(function.start)) as u32;
        }
        if function.source == FunctionSource::Symbol {
            next = u64::from(function.start);
        }
    }
}

/// Of two functions at one address the one that starts later is the inner one.
fn claims(list: &[Function]) -> Vec<Claim<FunctionId>> {
    let claim = |(index, function): (usize, &Function)| Claim {
        start: u64::from(function.start),
        end: function.end(),
        priority: u64::from(function.start),
        value: FunctionId(index as u32),
    };
    list.iter().enumerate().map(claim).collect()
}

fn overlaps(pieces: &[Piece<FunctionId>], start: u64, end: u64) -> bool {
    let first = pieces.partition_point(|piece| piece.end <= start);
    pieces.get(first).is_some_and(|piece| piece.start < end)
}

fn from_dwarf(function: &DwarfFunction<'_>) -> Function {
    Function {
        name: function.display_name.to_owned(),
        linkage_name: function.linkage_name.to_owned(),
        aliases: Vec::new(),
        start: function.start as u32,
        size: (function.end - function.start) as u32,
        source: FunctionSource::Dwarf,
        symbol_file: None,
    }
}

fn from_symbols(
    table: &SymbolTable,
    code: &CodeMap,
    dwarf_names: &HashMap<u64, &str>,
) -> Vec<Function> {
    let mut candidates: Vec<&Symbol> =
        table.symbols.iter().filter(|symbol| may_be_function(symbol, code)).collect();
    candidates.sort_by_key(|symbol| symbol.address & !1);
    let sized = sized_ranges(&candidates);
    let inside_sized = |address: u32| {
        let before = sized.partition_point(|piece| piece.start < u64::from(address));
        sized[..before].last().is_some_and(|piece| u64::from(address) < piece.end)
    };
    candidates
        .retain(|symbol| symbol.kind == SymbolKind::Function || !inside_sized(symbol.address & !1));
    let mut functions = Vec::new();
    let mut rest = &candidates[..];
    while let Some(first) = rest.first() {
        let start = first.address & !1;
        let group = rest.partition_point(|symbol| symbol.address & !1 == start);
        let next = rest.get(group).map(|symbol| symbol.address & !1);
        functions.extend(function(&rest[..group], next, code, dwarf_names, &table.files));
        rest = &rest[group..];
    }
    functions
}

/// Functions have a type or are in code; compilers' local labels (`.L1`) belong to no function.
fn may_be_function(symbol: &Symbol, code: &CodeMap) -> bool {
    match symbol.kind {
        SymbolKind::Function => true,
        SymbolKind::Untyped => {
            !symbol.name.starts_with(".L")
                && code.area(symbol.address).is_some()
                && code.kind(symbol.address) != Some(CodeKind::Data)
        }
        SymbolKind::Object | SymbolKind::Absolute => false,
    }
}

fn sized_ranges(candidates: &[&Symbol]) -> Vec<Piece<()>> {
    let claim = |symbol: &&Symbol| Claim {
        start: u64::from(symbol.address & !1),
        end: u64::from(symbol.address & !1) + u64::from(symbol.size),
        priority: 0,
        value: (),
    };
    // Adjacent functions must stay separate: a label at the border starts a function of its own.
    let mut pieces: Vec<Piece<()>> = Vec::new();
    for piece in
        candidates.iter().filter(|s| s.kind == SymbolKind::Function && s.size > 0).map(claim)
    {
        match pieces.last_mut() {
            Some(last) if piece.start < last.end => last.end = last.end.max(piece.end),
            _ => pieces.push(Piece { start: piece.start, end: piece.end, value: () }),
        }
    }
    pieces
}

fn function(
    group: &[&Symbol],
    next: Option<u32>,
    code: &CodeMap,
    dwarf_names: &HashMap<u64, &str>,
    files: &[String],
) -> Option<Function> {
    let start = group.first()?.address & !1;
    let area_end = code.area(start).map(|area| area.end);
    let size = group.iter().map(|symbol| symbol.size).max()?;
    let source = if size > 0 { FunctionSource::Symbol } else { FunctionSource::UnsizedSymbol };
    let end = match size {
        // A function outside all sections and without a size (a ROM entry point that a linker
        // script names) is two bytes, so that its first instruction at least has a name.
        0 => area_end.unwrap_or(u64::from(start) + 2).min(next.map_or(u64::MAX, u64::from)),
        size => (u64::from(start) + u64::from(size)).min(area_end.unwrap_or(1 << 32)),
    };
    let dwarf_name = dwarf_names.get(&u64::from(start)).copied();
    let chosen = group.iter().enumerate().max_by_key(|(index, symbol)| {
        (
            symbol.kind == SymbolKind::Function,
            symbol.size > 0,
            dwarf_name == Some(&symbol.name),
            symbol.binding,
            std::cmp::Reverse(*index),
        )
    })?;
    let linkage_name = chosen.1.name.clone();
    Some(Function {
        name: demangle(&linkage_name),
        aliases: aliases(group, &linkage_name),
        linkage_name,
        start,
        size: u32::try_from(end.checked_sub(u64::from(start)).filter(|&size| size > 0)?).ok()?,
        source,
        symbol_file: chosen.1.file.and_then(|file| files.get(file as usize)).cloned(),
    })
}

/// The names at an address other than the chosen one.
fn aliases(group: &[&Symbol], chosen: &str) -> Vec<String> {
    // Most functions have one name only.
    if group.len() < 2 {
        return Vec::new();
    }
    let mut seen = HashSet::from([chosen]);
    let names = group.iter().map(|symbol| symbol.name.as_str()).filter(|&name| seen.insert(name));
    names.map(str::to_owned).collect()
}

/// Variables and constants, sorted by address.
pub(crate) fn data_symbols(table: &SymbolTable) -> Vec<DataSymbol> {
    let mut list: Vec<DataSymbol> = table
        .symbols
        .iter()
        .filter(|symbol| symbol.kind == SymbolKind::Object && symbol.size > 0)
        .map(|symbol| DataSymbol {
            name: demangle(&symbol.name),
            linkage_name: symbol.name.clone(),
            address: symbol.address,
            size: symbol.size,
            symbol_file: symbol.file.and_then(|file| table.files.get(file as usize)).cloned(),
        })
        .collect();
    list.sort_by(|a, b| (a.address, &a.linkage_name).cmp(&(b.address, &b.linkage_name)));
    list
}
