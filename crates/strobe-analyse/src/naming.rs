//! What rows of tables are of, apart from what else their words state: the same row of two
//! measurements has the same name, whatever happened to it in each.

/// How worst cases go on with where they were.
const WHERE: [&str; 3] = [", interrupted ", ", took over from ", ", stopped in "];

/// Words without where it was that something happened: `longest latency of SysTick` of `longest
/// latency of SysTick, interrupted main`. In another run it was elsewhere.
pub fn what(words: &str) -> &str {
    let place = WHERE.iter().find_map(|place| words.split_once(place));
    place.map_or(words, |(what, _)| what)
}

/// Words without an address in front of a function and the line behind it, `main` of
/// `0x08000296 main at src/main.c:25`, and without where it was that something happened. Another
/// build has the same code elsewhere.
pub fn placeless(words: &str) -> &str {
    let words = behind_address(words).unwrap_or(words);
    let is_line = |place: &str| {
        let line = place.rsplit_once(':').map(|(_, line)| line);
        line.is_some_and(|line| !line.is_empty() && line.chars().all(|c| c.is_ascii_digit()))
    };
    let at = words.split_once(" at ").filter(|(_, place)| is_line(place));
    what(at.map_or(words, |(name, _)| name))
}

/// What stands behind an address that words begin with: `main at src/main.c:25` of `0x08000296
/// main at src/main.c:25`.
pub fn behind_address(words: &str) -> Option<&str> {
    let (first, behind) = words.split_once(' ')?;
    let digits = first.strip_prefix("0x")?;
    digits.chars().all(|digit| digit.is_ascii_hexdigit()).then_some(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_without_places() {
        assert_eq!(
            what("longest latency of SVCall, interrupted main"),
            "longest latency of SVCall"
        );
        assert_eq!(what("longest run of thread a, b, stopped in f"), "longest run of thread a, b");
        assert_eq!(what("main at src/main.c:25"), "main at src/main.c:25");
        assert_eq!(placeless("0x08000296 main at src/main.c:25"), "main");
        assert_eq!(placeless("0x08000296 main"), "main");
        assert_eq!(placeless("RCC at 0x40021000"), "RCC at 0x40021000");
        assert_eq!(placeless("longest run of TIM3, interrupted main"), "longest run of TIM3");
        assert_eq!(behind_address("0x08000296"), None);
        assert_eq!(behind_address("0xyz main"), None);
    }
}
