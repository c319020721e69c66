//! How much detail a firmware file has, and what the user can do to get more.

/// The finest detail available for an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Detail {
    /// Addresses only: no symbols and no debug information.
    Addresses,
    /// Function names, from the symbol table.
    Functions,
    /// Functions, inlined calls, source files and lines, from DWARF.
    Lines,
}

/// The reason for missing detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The file is Intel HEX.
    Hex,
    /// The file has no trace of debug information.
    NoDebugInfo,
    /// Debug information in the STABS format, which avr-gcc emits for plain `-g`.
    Stabs,
    /// Sections are compressed (`-gz`) in a way that cannot be unpacked.
    Compressed,
    /// The debug information is in separate `.dwo` files (`-gsplit-dwarf`).
    Split,
    /// There are DWARF sections, but nothing usable in them.
    Unusable,
}

/// One sentence on the missing detail and how to get it; empty if nothing is missing.
pub(crate) fn note(detail: Detail, obstacle: Option<Obstacle>) -> String {
    let have = match detail {
        Detail::Lines => return split_note(obstacle),
        Detail::Functions => "no source lines or inlined calls, function names only",
        Detail::Addresses => "no function names or source lines, addresses only",
    };
    let remedy = match obstacle {
        Some(Obstacle::NoDebugInfo) | None if detail == Detail::Addresses => {
            "the file has been stripped; give the unstripped one, compiled with -g (debug = true \
             in Cargo.toml)"
        }
        _ => unusable(detail, obstacle).unwrap_or(
            "the file has no DWARF; compile with -g (debug = true in Cargo.toml), which does not \
             change the code",
        ),
    };
    format!("{have}: {remedy}")
}

/// Why debug information that is there cannot be used.
pub(crate) fn unusable(detail: Detail, obstacle: Option<Obstacle>) -> Option<&'static str> {
    if detail == Detail::Lines {
        return None;
    }
    Some(match obstacle? {
        Obstacle::NoDebugInfo => return None,
        Obstacle::Hex => {
            "Intel HEX has none; give the ELF file that it was made from, compiled with -g"
        }
        Obstacle::Stabs => {
            "the debug information is STABS, which is not supported; compile with -gdwarf-4"
        }
        Obstacle::Compressed => {
            "the compressed debug sections cannot be unpacked; link without -gz or run objcopy \
             --decompress-debug-sections"
        }
        Obstacle::Split => "the debug information is in .dwo files; compile without -gsplit-dwarf",
        Obstacle::Unusable => {
            "the debug information cannot be used; compile with -g and link again"
        }
    })
}

fn split_note(obstacle: Option<Obstacle>) -> String {
    match obstacle {
        Some(Obstacle::Split) => {
            "source lines without inlined calls: parts of the debug information are in .dwo \
             files; compile without -gsplit-dwarf"
                .to_owned()
        }
        _ => String::new(),
    }
}
