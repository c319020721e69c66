//! Records of the kit for the target (`firmware/kit/trace`), which it writes to two stimulus ports,
//! or in frames over RTT or a sink of bytes.
//!
//! [`Reader`] makes records of words at ports and [`Frames`] of bytes; both find by the records'
//! numbers what is missing, and [`Totals`] adds up. The kit leaves its version and way in the ELF
//! file, so no option is needed to find it. Nothing here knows names or clocks.

mod frames;
mod heap;
pub mod model;
mod reader;
mod threads;
mod totals;

use strobe_decode::kit::Transport;
use strobe_symbols::Firmware;

pub(super) use self::frames::Frames;
pub(super) use self::reader::{Reader, Record, RecordKind};
pub(super) use self::totals::Totals;

/// The id whose name describes the kit.
const DESCRIPTION: u16 = 4095;

/// What the firmware calls an id.
pub(super) fn name(id: u16, firmware: Option<&Firmware>) -> String {
    let name = firmware.and_then(|firmware| firmware.trace_names().get(&id).cloned());
    name.unwrap_or_else(|| format!("id {id}"))
}

/// How the firmware's kit sends its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KitSetting {
    /// Over what.
    pub way: Transport,
    /// The stimulus port, over ITM; otherwise core cycles of a tick of the records' clock, 0 if
    /// that has none.
    pub number: u32,
}

/// The firmware's description of its kit, if it has one whose records this can read.
pub fn kit_setting(firmware: &Firmware) -> Option<KitSetting> {
    let description = firmware.trace_names().get(&DESCRIPTION)?.strip_prefix("1 ")?;
    let (way, number) = description.split_once(' ')?;
    let number = number.parse().ok()?;
    let way = match way {
        // Values go to the next one.
        "itm" if number < 31 => Transport::Itm,
        "rtt" => Transport::Rtt,
        "bytes" => Transport::Bytes,
        _ => return None,
    };
    Some(KitSetting { way, number })
}
