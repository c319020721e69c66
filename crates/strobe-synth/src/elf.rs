//! An ELF writer for tests: valid by default, with any field overridable to test readers.
//!
//! Little-endian ELF32 from the System V ABI, written field by field. It checks nothing and writes
//! the fields as set.

/// A loadable segment.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    /// Where it is at run time (`p_vaddr`).
    pub virtual_address: u32,
    /// Where it is loaded (`p_paddr`).
    pub physical_address: u32,
    /// Its bytes in the file.
    pub data: Vec<u8>,
    /// `p_memsz`; the length of the data if `None`.
    pub memory_size: Option<u32>,
    /// `p_filesz`; the length of the data if `None`.
    pub file_size: Option<u32>,
    /// `p_offset`; the data's actual offset if `None`.
    pub file_offset: Option<u32>,
    /// `p_flags`: 1 execute, 2 write, 4 read.
    pub flags: u32,
}

/// A section; the null section, `.symtab`, `.strtab` and `.shstrtab` are added by the builder.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// `sh_type`: 1 PROGBITS, 7 NOTE, 8 NOBITS.
    pub kind: u32,
    /// `sh_flags`: 1 write, 2 alloc, 4 execute.
    pub flags: u32,
    /// `sh_addr`.
    pub address: u32,
    /// Its bytes in the file.
    pub data: Vec<u8>,
    /// `sh_size`; the length of the data if `None`.
    pub size: Option<u32>,
    /// `sh_offset`; the data's actual offset if `None`.
    pub file_offset: Option<u32>,
    /// `sh_addralign`.
    pub align: u32,
}

/// An entry of the symbol table.
#[derive(Clone, Debug, Default)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// `st_value`, with the Thumb bit for functions.
    pub value: u32,
    /// `st_size`.
    pub size: u32,
    /// `st_info`'s type: 0 none (mapping symbols), 1 object, 2 function.
    pub kind: u8,
    /// Whether it is global.
    pub global: bool,
    /// The section it is in, counted from 1 in the order added; 0xfff1 is absolute.
    pub section: u16,
}

/// Builds an ELF file for a Cortex-M.
#[derive(Clone, Debug)]
pub struct ElfBuilder {
    /// `e_ident[EI_CLASS]`: 1 is ELF32.
    pub class: u8,
    /// `e_ident[EI_DATA]`: 1 is little-endian. The file is written little-endian whatever the
    /// value.
    pub encoding: u8,
    /// `e_type`: 2 is an executable.
    pub file_type: u16,
    /// `e_machine`: 40 is ARM.
    pub machine: u16,
    /// `e_entry`.
    pub entry: u32,
    /// `e_flags`: of ARM the version of its EABI, of AVR the architecture.
    pub flags: u32,
    /// `e_phnum`; the actual number if `None`.
    pub segment_count: Option<u16>,
    /// `e_shnum`; the actual number if `None`.
    pub section_count: Option<u16>,
    /// `e_phoff`; the actual offset if `None`.
    pub segment_table_offset: Option<u32>,
    /// `e_shoff`; the actual offset if `None`.
    pub section_table_offset: Option<u32>,
    segments: Vec<Segment>,
    sections: Vec<Section>,
    symbols: Vec<Symbol>,
}

const EHDR: u32 = 52;
const PHDR: u32 = 32;
const SHDR: u32 = 40;
const SYMTAB: u32 = 2;
const STRTAB: u32 = 3;
const NOBITS: u32 = 8;

impl Default for ElfBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl ElfBuilder {
    /// An empty ARM executable.
    pub fn new() -> Self {
        Self {
            class: 1,
            encoding: 1,
            file_type: 2,
            machine: 40,
            entry: 0,
            flags: 0x0500_0200, // EABI version 5, soft float
            segment_count: None,
            section_count: None,
            segment_table_offset: None,
            section_table_offset: None,
            segments: Vec::new(),
            sections: Vec::new(),
            symbols: Vec::new(),
        }
    }

    /// Adds a readable and executable segment loaded where it runs.
    pub fn code(&mut self, address: u32, data: &[u8]) -> &mut Self {
        self.segment(Segment {
            virtual_address: address,
            physical_address: address,
            data: data.to_vec(),
            flags: 5,
            ..Segment::default()
        })
    }

    /// Adds a segment.
    pub fn segment(&mut self, segment: Segment) -> &mut Self {
        self.segments.push(segment);
        self
    }

    /// Adds a section.
    pub fn section(&mut self, section: Section) -> &mut Self {
        self.sections.push(section);
        self
    }

    /// Adds a symbol.
    pub fn symbol(&mut self, symbol: Symbol) -> &mut Self {
        self.symbols.push(symbol);
        self
    }

    /// Adds a function symbol with the Thumb bit set, in no particular section.
    pub fn function(&mut self, name: &str, address: u32, size: u32) -> &mut Self {
        self.symbol(Symbol {
            name: name.into(),
            value: address | 1,
            size,
            kind: 2,
            global: true,
            section: 0xfff1,
        })
    }

    /// Writes the file.
    pub fn build(&self) -> Vec<u8> {
        let mut body = Body { start: EHDR + PHDR * self.segments.len() as u32, bytes: Vec::new() };
        let program_headers: Vec<_> = self.segments.iter().map(|s| s.header(&mut body)).collect();
        let section_headers = self.section_headers(&mut body);
        body.align(4);
        let table = body.start + body.bytes.len() as u32;
        let segments_at = if self.segments.is_empty() { 0 } else { EHDR };

        let mut out = vec![0x7f, b'E', b'L', b'F', self.class, self.encoding, 1, 0];
        out.resize(16, 0);
        halves(&mut out, &[self.file_type, self.machine]);
        words(&mut out, &[1, self.entry]);
        words(&mut out, &[self.segment_table_offset.unwrap_or(segments_at)]);
        words(&mut out, &[self.section_table_offset.unwrap_or(table)]);
        words(&mut out, &[self.flags]);
        let count = self.segment_count.unwrap_or(program_headers.len() as u16);
        halves(&mut out, &[EHDR as u16, PHDR as u16, count, SHDR as u16]);
        let count = section_headers.len() as u16;
        halves(&mut out, &[self.section_count.unwrap_or(count), count - 1]);
        program_headers.iter().for_each(|header| words(&mut out, header));
        out.extend(body.bytes);
        section_headers.iter().for_each(|header| words(&mut out, header));
        out
    }

    /// Null, the caller's sections, then `.symtab`, `.strtab` and `.shstrtab`, which comes last.
    fn section_headers(&self, body: &mut Body) -> Vec<[u32; 10]> {
        let mut names = Strings::new();
        let mut headers = vec![[0; 10]];
        for s in &self.sections {
            let at = body.place(&s.data);
            let size = s.size.unwrap_or(s.data.len() as u32);
            let at = s.file_offset.unwrap_or(if s.kind == NOBITS { 0 } else { at });
            headers.push([
                names.add(&s.name),
                s.kind,
                s.flags,
                s.address,
                at,
                size,
                0,
                0,
                s.align,
                0,
            ]);
        }
        let (table, strings, first_global) = self.symbol_table();
        let at = body.place(&table);
        let link = headers.len() as u32 + 1;
        let name = names.add(".symtab");
        headers.push([name, SYMTAB, 0, 0, at, table.len() as u32, link, first_global, 4, 16]);
        let at = body.place(&strings.0);
        headers.push([names.add(".strtab"), STRTAB, 0, 0, at, strings.0.len() as u32, 0, 0, 1, 0]);
        let name = names.add(".shstrtab");
        let at = body.place(&names.0);
        headers.push([name, STRTAB, 0, 0, at, names.0.len() as u32, 0, 0, 1, 0]);
        headers
    }

    /// The table, its strings, and the index of the first global symbol: locals come first.
    fn symbol_table(&self) -> (Vec<u8>, Strings, u32) {
        let mut strings = Strings::new();
        let mut table = vec![0; 16];
        let (globals, locals): (Vec<_>, Vec<_>) = self.symbols.iter().partition(|s| s.global);
        for s in locals.iter().chain(&globals) {
            words(&mut table, &[strings.add(&s.name), s.value, s.size]);
            table.extend([u8::from(s.global) << 4 | s.kind & 15, 0]);
            halves(&mut table, &[s.section]);
        }
        (table, strings, locals.len() as u32 + 1)
    }
}

impl Segment {
    fn header(&self, body: &mut Body) -> [u32; 8] {
        const LOAD: u32 = 1;
        let at = body.place(&self.data);
        let size = self.data.len() as u32;
        [
            LOAD,
            self.file_offset.unwrap_or(at),
            self.virtual_address,
            self.physical_address,
            self.file_size.unwrap_or(size),
            self.memory_size.unwrap_or(size),
            self.flags,
            4,
        ]
    }
}

/// Everything between the program headers and the section headers.
struct Body {
    start: u32,
    bytes: Vec<u8>,
}

impl Body {
    fn align(&mut self, to: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0);
    }

    /// Appends bytes at a word boundary and returns their file offset.
    fn place(&mut self, data: &[u8]) -> u32 {
        self.align(4);
        let at = self.start + self.bytes.len() as u32;
        self.bytes.extend(data);
        at
    }
}

/// A string table.
struct Strings(Vec<u8>);

impl Strings {
    fn new() -> Self {
        Self(vec![0])
    }

    fn add(&mut self, s: &str) -> u32 {
        let at = self.0.len() as u32;
        self.0.extend(s.as_bytes());
        self.0.push(0);
        at
    }
}

fn words(out: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|w| out.extend(w.to_le_bytes()));
}

fn halves(out: &mut Vec<u8>, halves: &[u16]) {
    halves.iter().for_each(|h| out.extend(h.to_le_bytes()));
}
