//! Reads the symbol table once and classifies each symbol: a function, a label, a variable or a
//! mapping symbol.
//!
//! This module handles the Thumb bit, symbols without a type from assembly files and linker-defined
//! marks, so that no other module has to. It must not know debug information.

use object::LittleEndian as LE;
use object::elf::{self, Sym32, SymbolBind, SymbolSection, SymbolType};
use object::read::elf::Sym as _;

use crate::code::MappingSymbol;
use crate::elf::{Elf, Section, string_at};
use crate::error::Warnings;

/// Maximum length of a symbol name, in bytes.
const LONGEST_NAME: usize = 4 << 10;

/// A defined symbol with a name.
#[derive(Debug, Clone)]
pub(crate) struct Symbol {
    pub(crate) name: String,
    /// The address with the Thumb bit cleared for code.
    pub(crate) address: u32,
    pub(crate) size: u32,
    pub(crate) kind: SymbolKind,
    pub(crate) binding: Binding,
    /// Source file of a local symbol (`STT_FILE`), as an index into [`SymbolTable::files`].
    pub(crate) file: Option<u32>,
}

/// The kind of symbol, by how reliable it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SymbolKind {
    /// `STT_FUNC` and `STT_GNU_IFUNC`.
    Function,
    /// `STT_OBJECT` and `STT_COMMON`.
    Object,
    /// `STT_NOTYPE` in a section: assembly labels and some linker-defined marks.
    Untyped,
    /// A number that the linker script defines (`SHN_ABS`).
    Absolute,
}

/// Ordered from the least to the most specific name for an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Binding {
    Local,
    Weak,
    Global,
}

/// The content of the symbol table.
#[derive(Debug, Default)]
pub(crate) struct SymbolTable {
    pub(crate) symbols: Vec<Symbol>,
    pub(crate) mapping: Vec<MappingSymbol>,
    pub(crate) files: Vec<String>,
}

impl SymbolTable {
    pub(crate) fn parse(elf: &Elf<'_>, warnings: &mut Warnings) -> Self {
        let mut table = SymbolTable::default();
        let Some(section) = elf.sections.iter().find(|section| section.kind == elf::SHT_SYMTAB)
        else {
            return table;
        };
        let count = section.data.len() / size_of::<Sym32<LE>>();
        let Ok((entries, _)) = object::pod::slice_from_bytes::<Sym32<LE>>(section.data, count)
        else {
            warnings.push(
                &section.name,
                section.file_offset,
                "not aligned to 4 bytes: no symbol was read".to_owned(),
            );
            return table;
        };
        let strings = elf.sections.get(section.link).map_or(&[][..], |strings| strings.data);
        let mut unnamed = 0_usize;
        // Names may share bytes with the ends of others, but not many times over in a sound file.
        let mut name_bytes_left = 4 * strings.len() + LONGEST_NAME;
        for entry in entries.iter().skip(1) {
            let limit = LONGEST_NAME.min(name_bytes_left);
            match string_at(strings, entry.st_name.get(LE), limit).filter(|_| limit > 0) {
                Some(name) => {
                    name_bytes_left -= name.len().min(limit);
                    table.add(elf, entry, name);
                }
                None => unnamed += 1,
            }
        }
        if unnamed > 0 {
            let detail = format!(
                "{unnamed} symbols have no valid name in the string table: they are skipped"
            );
            warnings.push(&section.name, section.file_offset, detail);
        }
        warn_of_torn_table(section, warnings);
        table
    }

    fn add(&mut self, elf: &Elf<'_>, entry: &Sym32<LE>, name: String) {
        let kind = entry.st_type();
        if kind == elf::STT_FILE {
            self.files.push(name);
            return;
        }
        let section = entry.st_shndx(LE);
        if name.is_empty() || !is_in_memory(elf, section) {
            return;
        }
        let value = entry.st_value.get(LE);
        if kind == elf::STT_NOTYPE
            && let Some(mapping) = MappingSymbol::from_name(&name, value)
        {
            self.mapping.push(mapping);
            return;
        }
        let Some(kind) = symbol_kind(kind, section == elf::SHN_ABS) else { return };
        let binding = binding(entry.st_bind());
        // Local symbols follow the name of the file that defines them; all global ones come at the
        // end.
        let file = (binding == Binding::Local && section != elf::SHN_ABS)
            .then(|| self.files.len().checked_sub(1).map(|index| index as u32))
            .flatten();
        let address = if kind == SymbolKind::Function { value & !1 } else { value };
        self.symbols.push(Symbol {
            name,
            address,
            size: entry.st_size.get(LE),
            kind,
            binding,
            file,
        });
    }
}

/// Whether a symbol's value is an address. It is not for symbols of other modules, and not in
/// sections that are not loaded: GNU as puts `$d` into `.debug_frame`, at offsets that look like
/// addresses where code is linked near 0.
fn is_in_memory(elf: &Elf<'_>, section: SymbolSection) -> bool {
    match section.index() {
        None => section == elf::SHN_ABS || section == elf::SHN_XINDEX,
        Some(index) => {
            elf.sections.get(usize::from(index)).is_some_and(|section| section.has(elf::SHF_ALLOC))
        }
    }
}

fn symbol_kind(kind: SymbolType, absolute: bool) -> Option<SymbolKind> {
    match kind {
        elf::STT_FUNC | elf::STT_GNU_IFUNC => Some(SymbolKind::Function),
        elf::STT_OBJECT | elf::STT_COMMON => Some(SymbolKind::Object),
        elf::STT_NOTYPE if absolute => Some(SymbolKind::Absolute),
        elf::STT_NOTYPE => Some(SymbolKind::Untyped),
        _ => None,
    }
}

fn binding(bind: SymbolBind) -> Binding {
    match bind {
        elf::STB_LOCAL => Binding::Local,
        elf::STB_WEAK => Binding::Weak,
        _ => Binding::Global,
    }
}

fn warn_of_torn_table(section: &Section<'_>, warnings: &mut Warnings) {
    let rest = section.data.len() % size_of::<Sym32<LE>>();
    if rest != 0 {
        let offset = section.file_offset + (section.data.len() - rest) as u64;
        warnings.push(
            &section.name,
            offset,
            format!("ends with {rest} bytes of an incomplete symbol"),
        );
    }
}
