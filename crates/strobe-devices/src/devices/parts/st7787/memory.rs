//! The frame memory: what a window is, where the next pixel goes, what bytes make one.

/// Pixels in a row.
pub(super) const WIDTH: u16 = 240;
/// Rows.
pub(super) const HEIGHT: u16 = 320;

/// Memory access control (36h): rows from the bottom, columns from the right, the two exchanged,
/// blue before red.
const ROWS_REVERSED: u8 = 0x80;
const COLUMNS_REVERSED: u8 = 0x40;
const EXCHANGED: u8 = 0x20;
const BLUE_FIRST: u8 = 0x08;

/// How bytes make a pixel (3Ah).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// Two bytes: 5, 6 and 5 bits.
    Rgb565,
    /// Three bytes, the upper six bits of each.
    Rgb666,
}

/// Frame memory with its window.
#[derive(Debug)]
pub(super) struct Memory {
    /// Six bits each of red, green and blue.
    pixels: Vec<[u8; 3]>,
    pub(super) access: u8,
    format: Format,
    columns: (u16, u16),
    rows: (u16, u16),
    at: (u16, u16),
    bytes: Vec<u8>,
}

impl Default for Memory {
    fn default() -> Self {
        Memory {
            pixels: vec![[0; 3]; usize::from(WIDTH) * usize::from(HEIGHT)],
            access: 0,
            format: Format::Rgb666,
            columns: (0, WIDTH - 1),
            rows: (0, HEIGHT - 1),
            at: (0, 0),
            bytes: Vec::new(),
        }
    }
}

impl Memory {
    /// The settings of a reset; pixels stay.
    pub(super) fn reset(&mut self) {
        let pixels = std::mem::take(&mut self.pixels);
        *self = Memory { pixels, ..Memory::default() };
    }

    /// Columns and rows as the firmware counts them.
    fn size(&self) -> (u16, u16) {
        if self.access & EXCHANGED != 0 { (HEIGHT, WIDTH) } else { (WIDTH, HEIGHT) }
    }

    /// Sets the window's columns; false if they are none, and then nothing changes.
    pub(super) fn set_columns(&mut self, (from, to): (u16, u16)) -> bool {
        let fits = from <= to && to < self.size().0;
        if fits {
            self.columns = (from, to);
        }
        fits
    }

    /// The same for its rows.
    pub(super) fn set_rows(&mut self, (from, to): (u16, u16)) -> bool {
        let fits = from <= to && to < self.size().1;
        if fits {
            self.rows = (from, to);
        }
        fits
    }

    /// Sets the format; false if it is none of those known.
    pub(super) fn set_format(&mut self, code: u8) -> bool {
        match code & 7 {
            5 => self.format = Format::Rgb565,
            6 => self.format = Format::Rgb666,
            _ => return false,
        }
        true
    }

    /// Back to the window's first pixel.
    pub(super) fn begin(&mut self) {
        self.at = (self.columns.0, self.rows.0);
        self.bytes.clear();
    }

    /// Where a pixel of the firmware's coordinates lies.
    fn place(&self) -> Option<usize> {
        let (mut x, mut y) = self.at;
        if self.access & EXCHANGED != 0 {
            (x, y) = (y, x);
        }
        // The window may be older than the exchange of rows and columns.
        if x >= WIDTH || y >= HEIGHT {
            return None;
        }
        if self.access & COLUMNS_REVERSED != 0 {
            x = WIDTH - 1 - x;
        }
        if self.access & ROWS_REVERSED != 0 {
            y = HEIGHT - 1 - y;
        }
        Some(usize::from(y) * usize::from(WIDTH) + usize::from(x))
    }

    fn in_order(&self, [r, g, b]: [u8; 3]) -> [u8; 3] {
        if self.access & BLUE_FIRST != 0 { [b, g, r] } else { [r, g, b] }
    }

    /// A byte of a pixel; true if it completes one.
    pub(super) fn write(&mut self, byte: u8) -> bool {
        self.bytes.push(byte);
        let pixel = match (self.format, self.bytes.as_slice()) {
            (Format::Rgb565, &[high, low]) => {
                let value = u16::from_be_bytes([high, low]);
                let (r, b) = ((value >> 11) as u8, (value & 31) as u8);
                // The lowest bit of six is the highest of five.
                [r << 1 | r >> 4, (value >> 5 & 63) as u8, b << 1 | b >> 4]
            }
            (Format::Rgb666, &[r, g, b]) => [r >> 2, g >> 2, b >> 2],
            _ => return false,
        };
        self.bytes.clear();
        let pixel = self.in_order(pixel);
        if let Some(at) = self.place() {
            self.pixels[at] = pixel;
        }
        self.advance();
        true
    }

    /// The pixel at the place, in six bits each.
    pub(super) fn read(&self) -> [u8; 3] {
        self.place().map_or([0; 3], |at| self.in_order(self.pixels[at]))
    }

    /// Row by row, and from the last pixel of the window to its first.
    fn advance(&mut self) {
        let (x, y) = self.at;
        self.at = if x < self.columns.1 {
            (x + 1, y)
        } else if y < self.rows.1 {
            (self.columns.0, y + 1)
        } else {
            (self.columns.0, self.rows.0)
        };
    }

    /// Everything, in eight bits each.
    pub(super) fn picture(&self) -> Vec<u8> {
        self.pixels.iter().flatten().map(|six| six << 2 | six >> 4).collect()
    }
}
