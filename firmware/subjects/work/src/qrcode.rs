//! Codes: `qrcodegen-no-heap`, Reed-Solomon correction and the search for the best mask.

use core::fmt::{self, Write};
use qrcodegen_no_heap::{QrCode, QrCodeEcc, Version};

const VERSION: Version = Version::new(5);

/// Encodes a device label and prints the symbol, two rows in one.
pub fn work(out: &mut dyn Write) -> fmt::Result {
    let mut scratch = [0; VERSION.buffer_len()];
    let mut symbol = [0; VERSION.buffer_len()];
    let label = "HTTPS://EXAMPLE.ORG/DEVICE/0042?KEY=7F3A";
    let code = QrCode::encode_text(
        label,
        &mut scratch,
        &mut symbol,
        QrCodeEcc::Medium,
        Version::MIN,
        VERSION,
        None,
        true,
    )
    .map_err(|_| fmt::Error)?;

    writeln!(out, "version {}, mask {}", code.version().value(), code.mask().value())?;
    for y in (0..code.size()).step_by(2) {
        for x in 0..code.size() {
            out.write_char(match (code.get_module(x, y), code.get_module(x, y + 1)) {
                (true, true) => '#',
                (true, false) => '"',
                (false, true) => '.',
                (false, false) => ' ',
            })?;
        }
        writeln!(out, "|")?;
    }
    Ok(())
}
