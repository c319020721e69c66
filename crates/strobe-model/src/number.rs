//! Numbers as sentences and tables have them.

/// Digits in groups of three: `1,234,567`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 call`, `2,000 calls`: English plurals that take an s.
pub fn counted(n: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// A frequency with its digits grouped, as `8,000,000 Hz`.
pub fn hertz(n: impl Into<u64>) -> String {
    format!("{} Hz", grouped(n.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_in_groups_and_one_is_singular() {
        assert_eq!([0, 999, 1_000, 29_096].map(grouped), ["0", "999", "1,000", "29,096"]);
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!([0, 1, 2_000].map(|n| counted(n, "call")), ["0 calls", "1 call", "2,000 calls"]);
        assert_eq!([hertz(50u32), hertz(8_000_000u32)], ["50 Hz", "8,000,000 Hz"]);
    }
}
