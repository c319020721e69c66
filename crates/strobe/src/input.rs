//! Reading firmware files.

use std::io::Read;
use std::path::Path;

use strobe_model::spelling;
use strobe_symbols::{Detail, Firmware};

use crate::exit;

/// The most a firmware file may have; far above any real one, far below what hurts.
const MAX_BYTES: u64 = 1 << 30;

/// Reads and parses an ELF file or Intel HEX.
pub fn firmware(path: &Path) -> anyhow::Result<Firmware> {
    let shown = path.display();
    let unreadable = |e: std::io::Error| exit::no_input(format!("cannot read {shown}: {e}"));
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(exit::no_input(format!(
            "{shown} is a directory; give the firmware's ELF file"
        )));
    }
    if metadata.len() > MAX_BYTES {
        return Err(exit::data(format!(
            "{shown} has {} bytes; no firmware is that large",
            metadata.len()
        )));
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    Firmware::parse(bytes).map_err(|e| exit::data(format!("{shown}: {e}")))
}

/// Whether a file looks like firmware, an ELF file or Intel HEX, by its first bytes.
pub fn is_firmware(path: &Path) -> anyhow::Result<bool> {
    let shown = path.display();
    let unreadable = |e: std::io::Error| exit::no_input(format!("cannot read {shown}: {e}"));
    if std::fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Err(exit::no_input(format!(
            "{shown} is a directory; give a firmware or a capture"
        )));
    }
    let mut head = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(64).read_to_end(&mut head).map_err(unreadable)?;
    let is_hex = matches!(head.trim_ascii_start(), [b':', digit, ..] if digit.is_ascii_hexdigit());
    Ok(head.starts_with(b"\x7fELF") || is_hex)
}

/// Reads what is put into a part: the image of a memory card.
pub fn medium(path: &Path) -> anyhow::Result<Vec<u8>> {
    let shown = path.display();
    let unreadable = |e: std::io::Error| exit::no_input(format!("cannot read {shown}: {e}"));
    if std::fs::metadata(path).map_err(unreadable)?.len() > MAX_BYTES {
        let limit = MAX_BYTES >> 20;
        return Err(exit::data(format!("{shown}: an image may have {limit} MiB at most")));
    }
    std::fs::read(path).map_err(unreadable)
}

/// The most a text that describes something may have: a linker's map of a large program.
const MAX_TEXT_BYTES: u64 = 256 << 20;

/// Reads a text; what is no UTF-8 in it is replaced.
pub fn text(path: &Path) -> anyhow::Result<String> {
    let shown = path.display();
    let unreadable = |e: std::io::Error| exit::no_input(format!("cannot read {shown}: {e}"));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(MAX_TEXT_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_TEXT_BYTES {
        let limit = MAX_TEXT_BYTES >> 20;
        return Err(exit::data(format!("{shown}: more than {limit} MiB")));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A path's last component, for records and headings.
pub fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned())
}

/// The function of that name, or at that address (`0x8000123`).
pub fn function<'a>(
    firmware: &'a Firmware,
    name: &str,
) -> anyhow::Result<&'a strobe_symbols::Function> {
    let note = match firmware.detail() {
        Detail::Addresses => format!(": {}", firmware.detail_note()),
        _ => String::new(),
    };
    if let Some(address) = spelling::address(name) {
        let id = u32::try_from(address).ok().and_then(|at| firmware.function_at(at & !1));
        let id = id.ok_or_else(|| exit::usage(format!("there is no function at {name}{note}")))?;
        return Ok(firmware.function(id));
    }
    let found = firmware.symbol(name).map_err(|e| exit::usage(format!("{e}{note}")))?;
    let id = found.function.or_else(|| firmware.function_at(found.address));
    let id = id.ok_or_else(|| exit::usage(format!("{name} is not a function")))?;
    Ok(firmware.function(id))
}
