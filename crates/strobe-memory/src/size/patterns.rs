//! The patterns of many rules in one set, so that a text is compared with all of them at once: an
//! image has hundreds of thousands of names.

use globset::{Candidate, Error, GlobBuilder, GlobSet, GlobSetBuilder};

/// Patterns, each of a rule.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    set: GlobSet,
    /// The rule of each pattern; they are in the order of the rules.
    rules: Vec<usize>,
}

impl Patterns {
    /// The patterns of each rule.
    ///
    /// # Errors
    /// What is wrong with a pattern, with the number of its rule.
    pub(super) fn new<'a>(
        rules: impl Iterator<Item = &'a [String]>,
    ) -> Result<Self, (usize, Error)> {
        let (mut set, mut of) = (GlobSetBuilder::new(), Vec::new());
        for (rule, patterns) in rules.enumerate() {
            for pattern in patterns {
                set.add(GlobBuilder::new(pattern).build().map_err(|error| (rule, error))?);
                of.push(rule);
            }
        }
        let last = of.last().copied().unwrap_or(0);
        Ok(Patterns { set: set.build().map_err(|error| (last, error))?, rules: of })
    }

    /// The first rule with a pattern that a text fits.
    pub(super) fn first_rule(&self, text: &str) -> Option<usize> {
        let candidate = Candidate::new(text);
        // Most texts fit none, which is quicker to find out than which ones.
        if !self.set.is_match_candidate(&candidate) {
            return None;
        }
        let fitting = self.set.matches_candidate(&candidate);
        fitting.into_iter().map(|pattern| self.rules[pattern]).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_wins() {
        let rules = [vec!["b*".to_owned()], vec!["*c".to_owned(), "abc".to_owned()], Vec::new()];
        let patterns = Patterns::new(rules.iter().map(Vec::as_slice)).unwrap();
        assert_eq!(patterns.first_rule("abc"), Some(1));
        assert_eq!(patterns.first_rule("bc"), Some(0));
        assert_eq!(patterns.first_rule("d"), None);
        assert_eq!(Patterns::default().first_rule("d"), None);
    }

    #[test]
    fn a_bad_pattern_is_of_its_rule() {
        let rules = [vec!["b*".to_owned()], vec!["[".to_owned()]];
        assert_eq!(Patterns::new(rules.iter().map(Vec::as_slice)).unwrap_err().0, 1);
    }
}
