//! What a part beside the chip exchanges with whoever runs the board: pictures that it shows, edges
//! on wires to another chip.

use super::DeviceId;

/// What a part shows: rows from the top, three bytes (red, green, blue) for each pixel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Pixels in a row.
    pub width: u16,
    /// Rows.
    pub height: u16,
    /// The pixels, `3 * width * height` bytes.
    pub rgb: Vec<u8>,
}

/// A picture with the moment from which it is to be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Core cycles since reset.
    pub cycle: u64,
    /// Who shows it.
    pub part: DeviceId,
    /// What.
    pub picture: Picture,
}

/// A change on a wire between two chips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// When, in core cycles since reset of the chip that hears of it.
    pub at: u64,
    /// Which, in the order of the cable's `outputs` or `inputs`.
    pub wire: usize,
    /// The level from then on; `None` if nobody holds the wire.
    pub level: Option<bool>,
}
