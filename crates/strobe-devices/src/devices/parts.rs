//! Parts beside the chip: what a circuit board's pins lead to. A part is a device without
//! registers, clock and interrupts: it sees and drives pins, and knows nothing of the chip.

use strobe_sim::kernel::device::Maker;

mod cable;
mod i2c_eeprom;
mod sd_card;
mod st7787;
#[cfg(test)]
mod tests;
mod tlc5940;
mod wire;

/// Model names as `[[part]]` writes them.
pub(crate) const MODELS: &[(&str, Maker)] = &[
    ("cable", cable::create),
    ("i2c-eeprom", i2c_eeprom::create),
    ("sd-card", sd_card::create),
    ("st7787", st7787::create),
    ("tlc5940", tlc5940::create),
    ("wire", wire::create),
];
