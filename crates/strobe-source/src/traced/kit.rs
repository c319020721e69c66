//! Records of the kit for the target (`firmware/kit/trace`), which it writes to two stimulus ports.
//!
//! [`Reader`] makes records of words and finds by their numbers what is missing; [`Totals`] adds them up. The kit leaves its version and
//! port in the ELF file, so nobody has to say where to look. Nothing here knows names or clocks.

mod reader;
mod totals;

use strobe_symbols::Firmware;

pub(super) use self::reader::{Reader, Record, What};
pub(super) use self::totals::Totals;

/// The id whose name describes the kit.
const DESCRIPTION: u16 = 4095;

/// What the firmware calls an id.
pub(super) fn name(id: u16, firmware: Option<&Firmware>) -> String {
    let name = firmware.and_then(|firmware| firmware.trace_names().get(&id).cloned());
    name.unwrap_or_else(|| format!("id {id}"))
}

/// The stimulus port of the kit's records, if the firmware has the kit and this can read what it sends.
pub fn kit_port(firmware: &Firmware) -> Option<u8> {
    let description = firmware.trace_names().get(&DESCRIPTION)?;
    let port = description.strip_prefix("1 itm ")?.parse().ok()?;
    // Values go to the next one.
    (port < 31).then_some(port)
}
