//! Memories and frequencies as users write them: `flash=0x08000000:1M,ram=0x20000000:128K`,
//! `16MHz`.

use std::str::FromStr;

use strobe_devices::board::{Kind, Region};
use strobe_model::spelling;

/// One memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory(pub Region);

/// A frequency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hertz(pub u32);

/// A kind of memory as it is written.
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Flash => "flash",
        Kind::Ram => "ram",
    }
}

impl FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}`: expected flash=ADDRESS:SIZE or ram=ADDRESS:SIZE, as ram=0x20000000:64K"
            )
        };
        let (kind, place) = text.split_once('=').ok_or_else(wrong)?;
        let (base, size) = place.split_once(':').ok_or_else(wrong)?;
        let kind = match kind.trim() {
            "flash" => Kind::Flash,
            "ram" => Kind::Ram,
            _ => return Err(wrong()),
        };
        let base = number(base.trim()).ok_or_else(wrong)?;
        let size = size_bytes(size.trim()).ok_or_else(wrong)?;
        Ok(Memory(Region { kind, base, size }))
    }
}

fn number(text: &str) -> Option<u32> {
    let digits = text.replace('_', "");
    match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => digits.parse().ok(),
    }
}

/// `128K`, `1M`, `0x4000`.
fn size_bytes(text: &str) -> Option<u32> {
    let (digits, scale) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1 << 10),
        b'm' | b'M' => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    number(digits)?.checked_mul(scale)
}

impl FromStr for Hertz {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}`: expected a frequency, as 16MHz or 8000000");
        let hz = spelling::frequency(text).and_then(|hz| u32::try_from(hz).ok());
        hz.map(Hertz).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_kind_address_and_size() {
        let memory = |text: &str| text.parse::<Memory>().ok().map(|m| m.0);
        let flash = Region { kind: Kind::Flash, base: 0x0800_0000, size: 1 << 20 };
        assert_eq!(memory("flash=0x08000000:1M"), Some(flash));
        assert_eq!(memory("ram = 0x2000_0000 : 20k").map(|m| m.size), Some(20 << 10));
        for wrong in ["", "flash", "rom=0:1", "ram=0x20000000", "ram=x:1K", "ram=0:5000M"] {
            assert_eq!(memory(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn frequency_is_positive_with_or_without_unit() {
        let hz = |text: &str| text.parse::<Hertz>().ok().map(|h| h.0);
        assert_eq!(hz("16MHz"), Some(16_000_000));
        assert_eq!(hz("32.768kHz"), Some(32_768));
        assert_eq!(hz("8_000_000"), Some(8_000_000));
        assert_eq!((hz("0"), hz("MHz"), hz("-1"), hz("9e99")), (None, None, None, None));
    }
}
