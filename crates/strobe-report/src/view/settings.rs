//! Settings of an instrument and clocks of a core, in a line each.

use crate::number::{counted, grouped, hertz, time};

/// A setting as one would write it on the command line; numbers as everywhere in the report.
pub(crate) fn setting(name: &str, value: &str) -> String {
    let (number, unit) = value.split_once(' ').unwrap_or((value, ""));
    match (name, number.parse::<u64>(), unit) {
        ("default-limit", Ok(n), "cycles") => format!("limit {} (default)", cycles(n)),
        ("default-limit", Ok(n), "ns") => format!("limit {} (default)", time(u128::from(n))),
        ("until", Ok(n), "cycles") => format!("until {}", cycles(n)),
        ("until", Ok(n), "ns") => format!("until {}", time(u128::from(n))),
        ("until-symbol", ..) => format!("until {value}"),
        ("strict", ..) if value == "true" => "strict".to_owned(),
        ("on-fault", ..) if value == "run" => "run-on".to_owned(),
        _ => format!("{name} {value}"),
    }
}

/// `20,000 cycles`, `10 G cycles`.
fn cycles(n: u64) -> String {
    const GIGA: u64 = 1_000_000_000;
    if n > 0 && n.is_multiple_of(GIGA) {
        format!("{} G cycles", grouped(n / GIGA))
    } else {
        counted(n, "cycle")
    }
}

/// Clock changes listed one by one; further ones are counted.
const CLOCKS: usize = 4;

/// `8 MHz until cycle 1,723, then 48 MHz`, of first cycles with hertz; nothing where none is known.
pub(super) fn clock(spans: &[(u64, u32)]) -> Option<String> {
    let (last, earlier) = spans.split_last()?;
    if earlier.is_empty() {
        return Some(hertz(last.1));
    }
    let until =
        |pair: &[(u64, u32)]| format!("{} until cycle {}", hertz(pair[0].1), grouped(pair[1].0));
    let mut parts: Vec<String> = spans.windows(2).take(CLOCKS).map(until).collect();
    if earlier.len() > CLOCKS {
        parts.push(counted((earlier.len() - CLOCKS) as u64, "further change"));
    }
    Some(format!("{}, then {}", parts.join(", "), hertz(last.1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_read_like_the_command_line() {
        assert_eq!(setting("default-limit", "10000000000 cycles"), "limit 10 G cycles (default)");
        assert_eq!(setting("default-limit", "1000000000 ns"), "limit 1.000 s (default)");
        assert_eq!(setting("until", "1500 cycles"), "until 1,500 cycles");
        assert_eq!(setting("until", "20000000 ns"), "until 20.00 ms");
        assert_eq!(setting("until", "exit"), "until exit");
        assert_eq!(setting("until-symbol", "main"), "until main");
        assert_eq!(setting("on-fault", "run"), "run-on");
        assert_eq!(setting("strict", "true"), "strict");
        assert_eq!(setting("mark", "PB8,main"), "mark PB8,main");
        // What a later version or another instrument has set is shown as it is.
        assert_eq!(setting("sampling", "1 in 100"), "sampling 1 in 100");
    }
}
