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

/// The same with a sign where it is negative: `-1,234,567`.
pub fn signed(n: i64) -> String {
    let sign = if n < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(n.unsigned_abs()))
}

/// The first names of many, and how many more there are: `a, b and 3 more`.
pub fn first_of<N: AsRef<str>>(names: impl IntoIterator<Item = N>, limit: usize) -> String {
    let mut names = names.into_iter();
    let mut text = String::new();
    for name in names.by_ref().take(limit) {
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(name.as_ref());
    }
    match names.count() {
        0 => text,
        more => format!("{text} and {more} more"),
    }
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
    fn names_beyond_the_limit_are_counted() {
        let first = |limit| first_of(["a", "b", "c"], limit);
        assert_eq!([first(1), first(2), first(3)], ["a and 2 more", "a, b and 1 more", "a, b, c"]);
        assert_eq!(first_of([] as [&str; 0], 3), "");
    }

    #[test]
    fn digits_come_in_groups_and_one_is_singular() {
        assert_eq!([0, 999, 1_000, 29_096].map(grouped), ["0", "999", "1,000", "29,096"]);
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!([0, 1, 2_000].map(|n| counted(n, "call")), ["0 calls", "1 call", "2,000 calls"]);
        assert_eq!([signed(-1_000), signed(1_000)], ["-1,000", "1,000"]);
        assert_eq!([hertz(50u32), hertz(8_000_000u32)], ["50 Hz", "8,000,000 Hz"]);
    }
}
