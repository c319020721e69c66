//! What a file holds for the programmer and not for memory. avr-gcc's ELF files have fuses, which
//! choose the clock, and behind them lock bits and signature, which a run has no use for; Intel HEX
//! has configuration words, as option bytes.

use strobe_devices::board::Board;
use strobe_model::number::hertz;
use strobe_sim::bus::Bus;
use strobe_symbols::{Firmware, Segment};

use super::families;

/// Where fuses are (avr-libc, <avr/fuse.h>: section `.fuse`).
const FUSES: u32 = 0x82_0000;
const LOCK_BITS: u32 = 0x83_0000;

/// In the high byte, programmed where it is zero (ATmega328P data sheet, table 27-6, and other
/// parts').
const BOOT_RESET: u8 = 1 << 0;

/// Whether a segment is nothing to be loaded.
pub(super) fn is_for_programmer(firmware: &Firmware, segment: &Segment) -> bool {
    firmware.machine().conventions().has_fuses && segment.load_address.0 >= FUSES
}

/// States which configuration words were left out, since the board has nothing there.
pub(super) fn note_configuration(firmware: &Firmware, board: &Board, bus: &mut Bus) {
    for range in families::configuration(firmware) {
        let Ok(at) = u32::try_from(range.start) else { continue };
        if bus.memory_at(at).is_some() || bus.device_at(at).is_some() {
            continue;
        }
        let text = format!(
            "the {} bytes from {at:#010x} on are configuration words, which a programmer writes \
             beside the flash: board {} has nothing there, so code that reads them faults; the \
             chip's SVD file (--svd) has their registers",
            range.end - range.start,
            board.name()
        );
        bus.warnings.add("configuration-words", text);
    }
}

/// The fuses that the firmware brings.
pub(super) fn of(firmware: &Firmware) -> Option<&[u8]> {
    let is_fuses = |s: &&Segment| (FUSES..LOCK_BITS).contains(&s.load_address.0);
    let segment =
        firmware.segments().iter().filter(|s| is_for_programmer(firmware, s)).find(is_fuses);
    segment.map(Segment::data).filter(|data| !data.is_empty())
}

/// Programs them, and returns what they choose.
pub(super) fn program(fuses: &[u8], whose: &str, bus: &mut Bus) {
    let names = ["low", "high", "extended"].iter().zip(fuses);
    let bytes: Vec<String> = names.map(|(name, byte)| format!("{name} {byte:#04x}")).collect();
    let effects = bus.program_fuses(fuses);
    let hz = hertz(bus.clocks.core_hz());
    bus.warnings.add(
        "fuses",
        format!(
            "the fuses {whose} ({}) choose {}; the core begins at {hz}",
            bytes.join(", "),
            effects.join("; ")
        ),
    );
    let Some(&high) = fuses.get(1) else { return };
    // Tiny parts have other fuses in these places; they have no boot section.
    let is_blank = bus.flash.data.starts_with(&[0xff, 0xff]);
    let has_boot_section = bus.flash.data.len() > 8 << 10 && !is_blank;
    if has_boot_section && high & BOOT_RESET == 0 {
        let text = "the fuse BOOTRST is programmed, for a bootloader: the run begins at address 0 \
                    all the same";
        bus.warnings.add("fuses", text.to_owned());
    }
}
