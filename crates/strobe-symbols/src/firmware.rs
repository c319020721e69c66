//! [`Firmware`]: one parsed image and all queries on it.

mod chains;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use object::LittleEndian as LE;
use sha2::{Digest, Sha256};
use strobe_isa::{avr, thumb};

use crate::attributes::{self, BuildTarget};
use crate::bench::{self, Benchmarks};
use crate::cfi::CallFrameIndex;
use crate::code::{CodeKind, CodeMap};
use crate::detail::{self, Detail, Obstacle};
use crate::device::{self, AvrTarget};
use crate::dwarf::{self, Debug, FunctionRange};
use crate::elf::Elf;
use crate::error::{Error, Warning, Warnings};
use crate::exidx::ExceptionIndex;
use crate::frames::{DebugTables, FrameLocation, Scope, ScopeId, join};
use crate::functions::{DataSymbol, DwarfFunction, Function, FunctionId, Functions, data_symbols};
use crate::hex;
use crate::image::{Machine, SectionRange, Segment};
use crate::interval::{Claim, Piece, find, flatten};
use crate::lookup::{self, AllNames, SymbolError, SymbolMatch};
use crate::symtab::{Symbol, SymbolTable};
use crate::{compressed, kit, notes, segments};

/// A parsed firmware image. It owns its data, is immutable and can be shared between threads.
pub struct Firmware {
    /// The file, its debug sections unpacked.
    pub(crate) bytes: Arc<[u8]>,
    /// The file as it was, if they were not.
    original: Option<Arc<[u8]>>,
    machine: Machine,
    entry: u32,
    segments: Vec<Segment>,
    sections: Vec<SectionRange>,
    build_id: Option<Vec<u8>>,
    build_target: Option<BuildTarget>,
    avr_target: Option<AvrTarget>,
    producers: Vec<String>,
    detail: Detail,
    obstacle: Option<Obstacle>,
    pub(crate) code: CodeMap,
    pub(crate) cfi: CallFrameIndex,
    pub(crate) exidx: ExceptionIndex,
    functions: Vec<Function>,
    symbols: Vec<Symbol>,
    all_names: OnceLock<AllNames>,
    data_symbols: Vec<DataSymbol>,
    data_pieces: Vec<Piece<u32>>,
    pub(crate) debug: DebugTables,
    pub(crate) spots: Vec<Piece<FrameLocation>>,
    trace_names: BTreeMap<u16, String>,
    benchmarks: Benchmarks,
    warnings: Vec<Warning>,
}

impl Firmware {
    /// Parses an ELF file or Intel HEX. Damage to the image itself is an error; damage to symbols
    /// or debug information is a warning.
    pub fn parse(bytes: impl Into<Arc<[u8]>>) -> Result<Firmware, Error> {
        let bytes: Arc<[u8]> = bytes.into();
        if hex::is_hex(&bytes) { Self::parse_hex(bytes) } else { Self::parse_elf(bytes) }
    }

    /// Names without a firmware: functions by name, first address and size, as `nm --print-size`
    /// lists them. Those without a size extend to the next one.
    pub fn of_functions(list: impl IntoIterator<Item = (String, u32, u32)>) -> Firmware {
        let functions = Functions::of(list);
        Firmware {
            detail: if functions.list.is_empty() { Detail::Addresses } else { Detail::Functions },
            obstacle: None,
            code: CodeMap::all_code(Machine::Arm, &[]),
            spots: join(&functions.pieces, &DebugTables::default()),
            functions: functions.list,
            ..Firmware::nothing()
        }
    }

    fn nothing() -> Firmware {
        Firmware {
            original: None,
            machine: Machine::Arm,
            entry: 0,
            build_id: None,
            build_target: None,
            avr_target: None,
            producers: Vec::new(),
            detail: Detail::Addresses,
            obstacle: Some(Obstacle::Hex),
            cfi: CallFrameIndex::default(),
            exidx: ExceptionIndex::default(),
            code: CodeMap::all_code(Machine::Arm, &[]),
            segments: Vec::new(),
            sections: Vec::new(),
            functions: Vec::new(),
            symbols: Vec::new(),
            all_names: OnceLock::new(),
            data_pieces: Vec::new(),
            data_symbols: Vec::new(),
            debug: DebugTables::default(),
            spots: Vec::new(),
            trace_names: BTreeMap::new(),
            benchmarks: Benchmarks::default(),
            warnings: Vec::new(),
            bytes: Arc::from([]),
        }
    }

    /// Bytes at addresses, without names.
    fn parse_hex(bytes: Arc<[u8]>) -> Result<Firmware, Error> {
        let hex::Image { segments, entry, machine } = hex::read(&bytes)?;
        Ok(Firmware {
            machine,
            entry,
            code: CodeMap::all_code(machine, &segments),
            segments,
            bytes,
            ..Firmware::nothing()
        })
    }

    fn parse_elf(bytes: Arc<[u8]>) -> Result<Firmware, Error> {
        let mut warnings = Warnings::default();
        let unpacked = compressed::unpacked(&Elf::parse(&bytes)?, &mut warnings);
        let unpacked: Option<Arc<[u8]>> = unpacked.map(Arc::from);
        let (original, bytes) = match unpacked {
            Some(unpacked) => (Some(bytes), unpacked),
            None => (None, bytes),
        };
        let elf = Elf::parse(&bytes)?;
        let segments = segments::segments(&elf, &bytes)?;
        let mut table = SymbolTable::parse(&elf, &mut warnings);
        let code = CodeMap::new(&elf, &segments, std::mem::take(&mut table.mapping));
        let Debug { tables: debug, functions, producers, obstacle } =
            dwarf::read(&elf, &code, &mut warnings);
        let functions = Functions::new(&table, &code, &dwarf_functions(&debug, &functions));
        let spots = join(&functions.pieces, &debug);
        let data_symbols = data_symbols(&table);
        let detail = match (debug.line_pieces.is_empty(), functions.list.is_empty()) {
            (false, _) => Detail::Lines,
            (true, false) => Detail::Functions,
            (true, true) => Detail::Addresses,
        };
        Ok(Firmware {
            machine: elf.machine,
            entry: elf.header.e_entry.get(LE),
            build_id: notes::build_id(&elf),
            build_target: attributes::build_target(&elf),
            avr_target: device::avr_target(&elf),
            producers,
            segments,
            sections: section_ranges(&elf),
            detail,
            obstacle,
            cfi: CallFrameIndex::new(&elf, &code, &mut warnings),
            exidx: ExceptionIndex::new(&elf),
            code,
            functions: functions.list,
            symbols: table.symbols,
            all_names: OnceLock::new(),
            data_pieces: data_pieces(&data_symbols),
            data_symbols,
            debug,
            spots,
            trace_names: kit::names(&elf),
            benchmarks: bench::benchmarks(&elf),
            warnings: warnings.into_vec(),
            bytes: Arc::clone(&bytes),
            original,
        })
    }

    /// The sections that are in memory when the program runs, in address order.
    pub fn sections(&self) -> &[SectionRange] {
        &self.sections
    }

    /// The section at an address.
    pub fn section_at(&self, address: u32) -> Option<&SectionRange> {
        let upto = self.sections.partition_point(|section| section.start <= address);
        let section = self.sections[..upto].last()?;
        (u64::from(address) < u64::from(section.start) + u64::from(section.size)).then_some(section)
    }

    /// The machine the code is for.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// The processor the code was built for, as the compiler recorded it.
    pub fn build_target(&self) -> Option<&BuildTarget> {
        self.build_target.as_ref()
    }

    /// The part that an AVR's ELF file was built for.
    pub fn avr_target(&self) -> Option<&AvrTarget> {
        self.avr_target.as_ref()
    }

    /// The ELF entry point, Thumb bit as in the file. A Cortex-M starts from its vector table
    /// instead.
    pub fn entry(&self) -> u32 {
        self.entry
    }

    /// The segments to load, in order of load address.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The build id that the linker wrote (`--build-id`), if any.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }

    /// Names that the target kit has in the firmware, by id; the name of id 4095 describes the kit.
    pub fn trace_names(&self) -> &BTreeMap<u16, String> {
        &self.trace_names
    }

    /// Functions that are marked as benchmarks.
    pub fn benchmarks(&self) -> &Benchmarks {
        &self.benchmarks
    }

    /// SHA-256 of the whole file.
    pub fn sha256(&self) -> [u8; 32] {
        Sha256::digest(self.original.as_ref().unwrap_or(&self.bytes)).into()
    }

    /// The compilers with their flags (`DW_AT_producer`), without duplicates, sorted.
    pub fn producers(&self) -> &[String] {
        &self.producers
    }

    /// The finest detail that this file provides.
    pub fn detail(&self) -> Detail {
        self.detail
    }

    /// One sentence on the missing detail and the flag that provides it; empty if nothing is
    /// missing.
    pub fn detail_note(&self) -> String {
        detail::note(self.detail, self.obstacle)
    }

    /// Why there is no debug information although the file has some; `None` if all of it is used,
    /// or there is none.
    pub fn unusable_debug_information(&self) -> Option<&'static str> {
        detail::unusable(self.detail, self.obstacle)
    }

    /// Damage found in symbols and debug information.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// All functions, sorted by start. They may nest, as entry points inside another function do.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The function with that number.
    ///
    /// # Panics
    /// When the id comes from another firmware and is out of range, as with a slice.
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.0 as usize]
    }

    /// The function that an address belongs to; the Thumb bit is ignored.
    pub fn function_at(&self, address: u32) -> Option<FunctionId> {
        self.spot(address)?.value.function
    }

    /// The address of a name: a linkage name, an alias, a demangled name, or one without arguments
    /// or leading path.
    pub fn symbol(&self, name: &str) -> Result<SymbolMatch, SymbolError> {
        lookup::symbol(name, &self.functions, &self.symbols)
    }

    /// The same for a name that the firmware may have or not; `None` too where several symbols have
    /// it. Quicker than [`Firmware::symbol`] where there is none, which looks for similar names.
    pub fn symbol_if_any(&self, name: &str) -> Option<SymbolMatch> {
        let names = self.all_names.get_or_init(|| AllNames::new(&self.functions, &self.symbols));
        lookup::only(name, names, &self.functions, &self.symbols)
    }

    /// The error of a name that somebody gave, with where its code is if it was inlined everywhere.
    /// That looks at all scopes: [`Firmware::symbol`] alone does not.
    pub fn explain(&self, error: SymbolError) -> SymbolError {
        match error {
            SymbolError::NotFound { name, suggestions, .. } => {
                let inlined_into = self.inlined_into(&name);
                SymbolError::NotFound { name, inlined_into, suggestions }
            }
            error => error,
        }
    }

    /// The functions that a function of that name was inlined into, in order of their names.
    fn inlined_into(&self, name: &str) -> Vec<String> {
        let scopes = &self.debug.scopes;
        let is_named = |scope: &Scope| {
            let names = [scope.linkage_name, scope.display_name];
            let mut names = names.into_iter().flatten().map(|id| self.debug.string(id));
            scope.caller.is_some() && names.any(|own| lookup::is_called(own, name))
        };
        let named: Vec<bool> = scopes.iter().map(is_named).collect();
        if !named.contains(&true) {
            return Vec::new();
        }
        let caller = |id: &ScopeId| scopes[id.0 as usize].caller.map(|(caller, _)| caller);
        let within = self.spots.iter().filter_map(|piece| {
            let mut scopes = std::iter::successors(piece.value.scope, caller);
            scopes.any(|id| named[id.0 as usize]).then_some(piece.value.function?)
        });
        let within: BTreeSet<&str> = within.map(|id| self.function(id).name.as_str()).collect();
        within.into_iter().map(str::to_owned).collect()
    }

    /// Variables and constants, sorted by address.
    pub fn data_symbols(&self) -> &[DataSymbol] {
        &self.data_symbols
    }

    /// The variable or constant that holds an address.
    pub fn data_symbol_at(&self, address: u32) -> Option<&DataSymbol> {
        let piece = find(&self.data_pieces, u64::from(address))?;
        Some(&self.data_symbols[piece.value as usize])
    }

    /// Name and offset of the symbol at an address, such as `main+0x4`: a function or a variable.
    pub fn describe(&self, address: u32) -> Option<String> {
        let (name, offset) = match self.function_at(address).map(|id| self.function(id)) {
            Some(function) => (&function.name, (address & !1) - function.start),
            None => {
                let symbol = self.data_symbol_at(address)?;
                (&symbol.name, address - symbol.address)
            }
        };
        Some(if offset == 0 { name.clone() } else { format!("{name}+{offset:#x}") })
    }

    /// The target of a constant that looks like a pointer: a function's address with the Thumb bit,
    /// or a variable. Other numbers are not interpreted, however many of them are also addresses of
    /// code linked near 0.
    pub fn pointee(&self, value: u32) -> Option<String> {
        let starts_function = |id| self.function(id).start == value & !1;
        if value & 1 == 1 && self.function_at(value).is_some_and(starts_function) {
            self.describe(value)
        } else {
            self.data_symbol_at(value).and_then(|_| self.describe(value))
        }
    }

    /// The file's bytes for addresses at run time; `None` if it lacks some of them.
    pub fn bytes_at(&self, address: u32, size: usize) -> Option<&[u8]> {
        self.segments.iter().find_map(|segment| {
            let start = address.checked_sub(segment.run_address)? as usize;
            segment.data().get(start..start.checked_add(size)?)
        })
    }

    /// The file's half-word for an address at run time: a unit of code, of Thumb as of AVR.
    pub fn half_at(&self, address: u32) -> Option<u16> {
        let bytes = self.bytes_at(address, 2)?;
        Some(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    /// The Thumb instruction at an address at run time, of whatever core.
    pub fn thumb_at(&self, address: u32) -> Option<thumb::Code> {
        thumb::Code::read(address, |at| self.half_at(at))
    }

    /// The AVR instruction at an address, of whatever part, and its bytes.
    pub fn avr_at(&self, address: u32) -> Option<(avr::Insn, u32)> {
        let (first, second) = (self.half_at(address)?, self.half_at(address.wrapping_add(2)));
        let all = avr::Architecture::ALL;
        let (insn, size) = avr::decode(all, address, first, second.unwrap_or(0));
        (size == 2 || second.is_some()).then_some((insn, size))
    }

    /// The file's word for an address at run time.
    pub fn word_at(&self, address: u32) -> Option<u32> {
        let bytes = self.bytes_at(address, 4)?;
        Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Whether the image has code at an address, with a name or without.
    pub fn has_code_at(&self, address: u32) -> bool {
        !matches!(self.code.kind(address), None | Some(CodeKind::Data))
    }

    /// The kind of the bytes at an address; `None` outside the image.
    pub fn code_kind(&self, address: u32) -> Option<CodeKind> {
        self.code.kind(address)
    }

    /// Ranges of instructions, Thumb's or AVR's, sorted; ends are exclusive and may be 2^32.
    pub fn code_ranges(&self) -> impl Iterator<Item = std::ops::Range<u64>> {
        self.code
            .pieces_in(0..1 << 32)
            .filter(|piece| matches!(piece.value, CodeKind::Thumb | CodeKind::Avr))
            .map(|piece| piece.start..piece.end)
    }

    /// Whether mapping symbols separate instructions from data; without them data between functions
    /// is interpreted as code.
    pub fn has_mapping_symbols(&self) -> bool {
        self.code.has_mapping_symbols
    }
}

/// The debug information's functions with their names.
fn dwarf_functions<'a>(debug: &'a DebugTables, ranges: &[FunctionRange]) -> Vec<DwarfFunction<'a>> {
    let function = |range: &FunctionRange| {
        let scope = &debug.scopes[range.scope.0 as usize];
        Some(DwarfFunction {
            start: range.start,
            end: range.end,
            linkage_name: debug.string(scope.linkage_name?),
            display_name: debug.string(scope.display_name?),
            typed_name: scope.typed_name.map(|id| debug.string(id)),
        })
    };
    ranges.iter().filter_map(function).collect()
}

fn data_pieces(symbols: &[DataSymbol]) -> Vec<Piece<u32>> {
    let claim = |(index, symbol): (usize, &DataSymbol)| Claim {
        start: u64::from(symbol.address),
        end: u64::from(symbol.address) + u64::from(symbol.size),
        priority: u64::from(symbol.address),
        value: index as u32,
    };
    flatten(symbols.iter().enumerate().map(claim).collect())
}

impl std::fmt::Debug for Firmware {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Firmware")
            .field("entry", &format_args!("{:#010x}", self.entry))
            .field("segments", &self.segments)
            .field("detail", &self.detail)
            .field("functions", &self.functions.len())
            .finish_non_exhaustive()
    }
}

fn section_ranges(elf: &Elf) -> Vec<SectionRange> {
    let allocated = elf.sections.iter().filter(|section| section.is_allocated());
    let range = allocated.map(|section| SectionRange {
        name: section.name.clone(),
        start: section.address,
        size: section.size,
        has_contents: section.kind != object::elf::SHT_NOBITS,
        file_offset: section.file_offset,
    });
    let mut ranges: Vec<SectionRange> = range.collect();
    ranges.sort_by_key(|range| range.start);
    ranges
}
