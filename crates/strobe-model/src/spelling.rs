//! How times, frequencies, edges and addresses are spelled: alike in every command.

/// Which edges of a pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edges {
    /// From low to high.
    Rising,
    /// From high to low.
    Falling,
    /// Both.
    Any,
}

impl Edges {
    /// Their name, as `rising`.
    pub fn name(self) -> &'static str {
        match self {
            Edges::Rising => "rising",
            Edges::Falling => "falling",
            Edges::Any => "any",
        }
    }

    /// Whether an edge to this level is one of them.
    pub fn include(self, level: bool) -> bool {
        match self {
            Edges::Rising => level,
            Edges::Falling => !level,
            Edges::Any => true,
        }
    }

    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "1" | "rise" | "rising" | "high" => Edges::Rising,
            "0" | "fall" | "falling" | "low" => Edges::Falling,
            "any" | "both" => Edges::Any,
            _ => return None,
        })
    }
}

/// What is expected of a time, for messages.
pub const TIME: &str = "a time is a number and a unit, as 20us, 500ms, 1.5s, 2m";

/// What is expected of an edge, for messages.
pub const EDGES: &str = "rise (1, high), fall (0, low) and any are";

/// A pin's edges: `PB8=1` and `PB8:rise`, `PB8=0` and `PB8:fall`, `PB8:any`, each also in full
/// (`PB8:rising`) or by the level that it leads to (`PB8:high`). The name may have either sign; the
/// last one counts.
pub fn edge(text: &str) -> Option<(&str, Edges)> {
    let at = text.rfind([':', '='])?;
    let (name, word) = (&text[..at], &text[at + 1..]);
    let edges = Edges::named(word)?;
    (!name.is_empty()).then_some((name, edges))
}

/// A time in nanoseconds: `250ns`, `20us`, `1.5ms`, `2s`, `2m` or `2min`, `1h`; digits may be
/// grouped by `_`.
pub fn time(text: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(text)?;
    let scale: u64 = match unit {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    scaled(&number, scale)
}

/// Core cycles: `1000c`, `1_000_000cycles`.
pub fn cycles(text: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(text)?;
    if matches!(unit, "c" | "cycles") { number.parse().ok() } else { None }
}

/// A frequency in hertz: `24MHz`, `12.5 MHz`, `200k`, `1000000`. Sigrok writes `mHz` for megahertz,
/// so case means nothing.
///
/// `None` when it is none, 0, or no whole number of hertz.
pub fn frequency(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let bare = lower.strip_suffix("hz").unwrap_or(&lower).trim_end();
    let (digits, scale) = match bare.as_bytes().last()? {
        b'k' => (&bare[..bare.len() - 1], 1_000u64),
        b'm' => (&bare[..bare.len() - 1], 1_000_000),
        b'g' => (&bare[..bare.len() - 1], 1_000_000_000),
        _ => (bare, 1),
    };
    let digits = digits.trim();
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let starts = whole.starts_with(|c: char| c.is_ascii_digit());
    if !starts || !is_number(whole) || !is_number(part) {
        return None;
    }
    scaled(&digits.replace('_', ""), scale).filter(|hz| *hz > 0)
}

/// An address: `0x8000123`, also with groups, `0x0800_0123`.
pub fn address(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    let digits = digits.replace('_', "");
    let is_hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if is_hex { u64::from_str_radix(&digits, 16).ok() } else { None }
}

/// Whether this is a number without a unit: no name begins with a digit.
pub fn lacks_unit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) && address(text).is_none()
}

/// `1.5` and `ms`.
fn number_and_unit(text: &str) -> Option<(String, &str)> {
    let text = text.trim();
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')?;
    let starts = text.starts_with(|c: char| c.is_ascii_digit());
    starts.then(|| (text[..at].replace('_', ""), text[at..].trim_start()))
}

/// A decimal number times a whole one, exactly: what is no whole number is none.
fn scaled(number: &str, scale: u64) -> Option<u64> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = whole.parse().ok()?;
    let part = part.trim_end_matches('0');
    let mut sum = whole.checked_mul(scale)?;
    if !part.is_empty() {
        let divisor = 10u64.checked_pow(u32::try_from(part.len()).ok()?)?;
        let product = u128::from(part.parse::<u64>().ok()?) * u128::from(scale);
        if product % u128::from(divisor) != 0 {
            return None;
        }
        sum = sum.checked_add(u64::try_from(product / u128::from(divisor)).ok()?)?;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        assert_eq!(time("1.5ms"), Some(1_500_000));
        assert_eq!(time("0.1s"), Some(100_000_000));
        assert_eq!(time("2m"), Some(120_000_000_000));
        assert_eq!(time("2 min"), time("2m"));
        assert_eq!(time("1_000us"), Some(1_000_000));
        for wrong in ["", "12", "2parsecs", "ms", "-1s", "1.5ns", "1..5s", "99999999999h", "_1s"] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
        assert_eq!((cycles("1_000c"), cycles("1.5c"), cycles("1s")), (Some(1000), None, None));
    }

    #[test]
    fn frequencies_are_whole() {
        assert_eq!(frequency("12.5 MHz"), Some(12_500_000));
        assert_eq!(frequency("32.768kHz"), Some(32_768));
        assert_eq!(frequency("8_000_000"), Some(8_000_000));
        assert_eq!(frequency("200k"), Some(200_000));
        for wrong in ["", "MHz", "0", "-1", "0.5", "9e99", "1.2.3k", ".k"] {
            assert_eq!(frequency(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn edges_have_two_spellings() {
        for text in ["PB8=1", "PB8:rise", "PB8:rising", "PB8:1", "PB8=high"] {
            assert_eq!(edge(text), Some(("PB8", Edges::Rising)), "{text}");
        }
        assert_eq!(edge("top:tx:fall"), Some(("top:tx", Edges::Falling)));
        assert_eq!(edge("PB8=any"), Some(("PB8", Edges::Any)));
        for wrong in ["PB8", "PB8=2", "=1", "main"] {
            assert_eq!(edge(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn addresses_are_hexadecimal() {
        assert_eq!(address("0x8000123"), Some(0x0800_0123));
        assert_eq!(address("0X0800_0123"), Some(0x0800_0123));
        assert_eq!((address("8000123"), address("0x"), address("0xg")), (None, None, None));
        assert!(lacks_unit("12") && !lacks_unit("0x12") && !lacks_unit("main"));
    }
}
