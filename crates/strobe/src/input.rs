//! Reading firmware files.

use std::path::Path;

use strobe_model::spelling;
use strobe_symbols::{Detail, Firmware};

use crate::exit;
use crate::files::{self, Kind};

/// Reads and parses an ELF file or Intel HEX.
pub fn firmware(path: &Path) -> anyhow::Result<Firmware> {
    let bytes = files::bytes(path, &Kind::FIRMWARE)?;
    Firmware::parse(bytes).map_err(|e| exit::data(format!("{}: {e}", path.display())))
}

/// Whether a file looks like firmware, an ELF file or Intel HEX, by its first bytes.
pub fn is_firmware(path: &Path) -> anyhow::Result<bool> {
    let head = files::head(path, &Kind::RECORDED, 64)?;
    let is_hex = matches!(head.trim_ascii_start(), [b':', digit, ..] if digit.is_ascii_hexdigit());
    Ok(head.starts_with(b"\x7fELF") || is_hex)
}

/// Reads what is put into a part: the image of a memory card.
pub fn medium(path: &Path) -> anyhow::Result<Vec<u8>> {
    files::bytes(path, &Kind::MEDIUM)
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
