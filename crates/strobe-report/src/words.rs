//! Text that fits: cleaned, shortened in the middle, wrapped.

/// The text without control characters: names come from files, and a terminal must not obey them.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// At most `width` characters: the middle of a longer text gives way to `...`. Most of what is kept is
/// the end, where names differ (`core::fmt::num::<impl...>::fmt`).
pub(crate) fn shortened(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let keep = width.saturating_sub(3);
    let head = keep * 2 / 5;
    let tail = keep - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{start}...{end}").chars().take(width).collect()
}

/// Lines of at most `width` characters, broken at spaces; a longer word has its line to itself.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_ends_of_a_long_name_stay() {
        let name = "core::fmt::num::imp::<impl core::fmt::Display for u32>::fmt";
        assert_eq!(shortened(name, 30), "core::fmt:...lay for u32>::fmt");
    }

    #[test]
    fn escape_sequences_do_not_pass() {
        assert_eq!(clean("a\x1b[31mb\n"), "a?[31mb?");
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_asked(text in ".{0,60}", width in 0usize..40) {
            prop_assert!(shortened(&text, width).chars().count() <= width);
        }

        #[test]
        fn wrapping_keeps_every_word(text in "[a-z ]{0,80}", width in 1usize..40) {
            let again = wrapped(&text, width).join(" ");
            let words = |t: &str| t.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(words(&again), words(&text));
        }
    }
}
