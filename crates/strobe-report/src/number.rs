//! Numbers as people read them: grouped digits, shares, times and clocks. Integers throughout, so
//! that the same figures print the same everywhere.

pub(crate) use strobe_model::number::counted;
pub use strobe_model::number::grouped;

/// A part of a whole: `52.6 %`. Never rounds something to nothing or nearly all to all; `-` of
/// nothing.
pub(crate) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let (part, whole) = (u128::from(part), u128::from(whole));
    match (part * 1000 + whole / 2) / whole {
        0 if part > 0 => "<0.1 %".to_owned(),
        1000 if part < whole => ">99.9 %".to_owned(),
        permille => format!("{}.{} %", permille / 10, permille % 10),
    }
}

/// `a / b` with two decimals: `1.90`; `-` when `b` is 0.
pub(crate) fn ratio(a: u64, b: u64) -> String {
    if b == 0 {
        return "-".to_owned();
    }
    let (a, b) = (u128::from(a), u128::from(b));
    let hundredths = (a * 100 + b / 2) / b;
    format!("{}.{:02}", grouped_u128(hundredths / 100), hundredths % 100)
}

fn grouped_u128(n: u128) -> String {
    grouped(u64::try_from(n).unwrap_or(u64::MAX))
}

/// A time with four significant digits and its unit: `45.19 us`.
pub(crate) fn time(nanoseconds: u128) -> String {
    // Rounding first: 999.96 us is 1.000 ms, not 1000 us.
    // Whole seconds are shown in full from 1000 s on.
    let rounded = round_to_four_digits(nanoseconds, 10_000_000_000_000);
    let (unit, name) = match rounded {
        0..1_000 => return format!("{rounded} ns"),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    in_unit(rounded, unit, name)
}

fn round_to_four_digits(n: u128, in_full_from: u128) -> u128 {
    if !(10_000..in_full_from).contains(&n) {
        return n;
    }
    let step = 10u128.pow(n.ilog10() - 3);
    (n + step / 2) / step * step
}

/// What has been rounded to four digits, in a unit.
fn in_unit(rounded: u128, unit: u128, name: &str) -> String {
    let whole = rounded / unit;
    let decimals = 4usize.saturating_sub(whole.to_string().len());
    if decimals == 0 {
        return format!("{} {name}", grouped_u128(whole));
    }
    let fraction = rounded % unit * 10u128.pow(decimals as u32) / unit;
    format!("{whole}.{fraction:0decimals$} {name}")
}

/// A time in picoseconds with four significant digits and its unit: `41.67 ns`.
pub(crate) fn picoseconds(ps: u64) -> String {
    let rounded = round_to_four_digits(u128::from(ps), 10_000_000_000_000_000);
    let units = [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns")];
    let Some((unit, name)) = units.into_iter().find(|(unit, _)| rounded >= *unit) else {
        return format!("{rounded} ps");
    };
    in_unit(rounded, unit, name)
}

/// A moment in picoseconds, as seconds with so many decimals: what analysers' own programs show.
pub(crate) fn moment(ps: i64, decimals: u32) -> String {
    let step = 10u64.pow(12 - decimals.min(12));
    let scaled = (ps.unsigned_abs() + step / 2) / step;
    let second = 10u64.pow(decimals.min(12));
    let sign = if ps < 0 && scaled > 0 { "-" } else { "" };
    format!("{sign}{}.{:0width$}", scaled / second, scaled % second, width = decimals as usize)
}

/// A clock: `48 MHz`, `32.768 kHz`.
pub(crate) fn hertz(hz: u32) -> String {
    let (unit, name): (u32, &str) = match hz {
        0..1_000 => return format!("{hz} Hz"),
        1_000..1_000_000 => (1_000, "kHz"),
        1_000_000..1_000_000_000 => (1_000_000, "MHz"),
        _ => (1_000_000_000, "GHz"),
    };
    let digits = unit.ilog10() as usize;
    let fraction = format!("{:0digits$}", hz % unit);
    let fraction = fraction.trim_end_matches('0');
    let dot = if fraction.is_empty() { "" } else { "." };
    format!("{}{dot}{fraction} {name}", hz / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_never_lie_at_the_ends() {
        let seen = [(0, 7), (1, 100_000), (1, 3), (99_999, 100_000), (7, 7), (1, 0)];
        let seen = seen.map(|(part, whole)| share(part, whole));
        assert_eq!(seen, ["0.0 %", "<0.1 %", "33.3 %", ">99.9 %", "100.0 %", "-"]);
        assert_eq!(share(u64::MAX, u64::MAX), "100.0 %");
    }

    #[test]
    fn times_have_four_digits() {
        let seen = [0, 999, 1_000, 45_187, 999_960, 1_234_567, 12_345_678_901, 4_000_000_000_000];
        let seen = seen.map(time);
        let wanted = [
            "0 ns", "999 ns", "1.000 us", "45.19 us", "1.000 ms", "1.235 ms", "12.35 s", "4,000 s",
        ];
        assert_eq!(seen, wanted);
    }

    #[test]
    fn picoseconds_find_their_unit() {
        let seen =
            [0, 999, 41_667, 500_000, 999_996_000, 45_187_000, 320_000_000_000].map(picoseconds);
        let wanted = ["0 ps", "999 ps", "41.67 ns", "500.0 ns", "1.000 ms", "45.19 us", "320.0 ms"];
        assert_eq!(seen, wanted);
        assert!(picoseconds(u64::MAX).ends_with(" s"));
    }

    #[test]
    fn moments_are_seconds() {
        assert_eq!(moment(114_155_000_000, 9), "0.114155000");
        assert_eq!(moment(-500_000, 7), "-0.0000005");
        assert_eq!(moment(-1, 9), "0.000000000");
    }

    #[test]
    fn clocks_have_no_idle_zeros() {
        let seen = [0, 32_768, 8_000_000, 14_745_600, 1_000_000_000].map(hertz);
        assert_eq!(seen, ["0 Hz", "32.768 kHz", "8 MHz", "14.7456 MHz", "1 GHz"]);
    }
}
