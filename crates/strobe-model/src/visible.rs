//! Which characters of a name or text a terminal would obey, for everybody who writes names that
//! come from files.

/// Whether a terminal would obey this character, or show what follows it in another order.
///
/// Those are the controls C0 and C1 with DEL (ECMA-48), line and paragraph separators, and the
/// marks, embeddings, overrides and isolates of the bidirectional algorithm (UAX #9, section 2).
#[must_use]
pub fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_separators_and_marks_are_unsafe_letters_safe() {
        for c in "\0\t\n\u{1b}\u{7f}\u{9b}\u{61c}\u{200e}\u{2028}\u{202e}\u{2066}".chars() {
            assert!(is_obeyed(c), "{c:?}");
        }
        // Letters that are written from right to left need no mark.
        assert!(!"a \u{fc}\u{5d0}\u{627}\u{200d}\u{3c0}".chars().any(is_obeyed));
    }
}
