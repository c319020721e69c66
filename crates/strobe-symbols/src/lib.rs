//! The content of a firmware image, from its ELF file and DWARF debug information, or from Intel
//! HEX.
//!
//! [`Firmware::parse`] takes the bytes of the file and provides: the segments to load, the
//! function, source line and inlined calls of an address, the instructions, the address of a name,
//! and stack unwinding. It never opens a file, prints nothing, and knows nothing of events, cycles,
//! simulators or reports.
//!
//! Untrusted bytes never make it panic, hang or allocate more than a multiple of the file's size.
//! Damage to the image is an [`Error`]; damage that costs only names or lines is a [`Warning`] and
//! the rest is still used.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let firmware = strobe_symbols::Firmware::parse(std::fs::read("firmware.elf")?)?;
//! for frame in firmware.frames(0x0800_01f4).frames {
//!     let (name, file) = (frame.name.unwrap_or("?"), frame.file.unwrap_or("?"));
//!     println!("{name} {file}:{}", frame.line.unwrap_or(0));
//! }
//! # Ok(())
//! # }
//! ```

mod accesses;
mod attributes;
mod avr;
mod bench;
mod cfi;
mod code;
mod compressed;
mod constants;
mod convention;
mod detail;
mod device;
mod disasm;
mod dwarf;
mod elf;
mod epilogue;
mod error;
mod exidx;
mod firmware;
mod frame_rules;
mod frames;
mod functions;
mod hex;
mod image;
mod interned;
mod interval;
mod kit;
mod layout;
mod lookup;
mod names;
mod notes;
mod paths;
mod prologue;
mod relocations;
mod segments;
mod symtab;
mod types;
mod unwind;
mod vectors;

pub use attributes::BuildTarget;
pub use bench::{Benchmark, Benchmarks};
pub use code::CodeKind;
pub use convention::ArgumentWords;
pub use detail::Detail;
pub use device::{AvrPart, AvrTarget};
pub use disasm::{DataItem, Instruction, Item, Listing, Literal, Reference};
pub use error::{Error, Warning};
pub use firmware::Firmware;
pub use frame_rules::FrameRow;
pub use frames::{Frame, Frames, FramesBatch, Missing};
pub use functions::{DataSymbol, Function, FunctionId, FunctionSource};
pub use hex::write as write_hex;
pub use image::{
    LoadAddress, Machine, Permissions, ReturnAddress, SectionRange, Segment, TOTAL_SIZE_LIMIT,
};
pub use interned::Interned;
pub use layout::{Owned, Owner};
pub use lookup::{SymbolError, SymbolMatch};
pub use names::{demangle, plain_name};
pub use paths::short_path;
pub use relocations::Relocation;
pub use types::{Route, Step, TypeError, TypeId, Types, Value};
pub use unwind::{Backtrace, Registers, StackFrame, StackFrameKind, StackWindow, UnwindEnd};
pub use vectors::{FoundBy, VectorTable};

/// What linker scripts call the end of all variables, below which no stack may grow.
pub const DATA_ENDS: [&str; 9] = [
    "_ebss",
    "__bss_end__",
    "__bss_end",
    "_bss_end",
    "__ebss",
    "_end",
    "end",
    "__end__",
    "_noinit_end",
];
