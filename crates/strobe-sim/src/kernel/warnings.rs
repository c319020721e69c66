//! What the user should know about their firmware, each thing once with a count.

/// Warnings in the order they first came up.
#[derive(Debug, Default, Clone)]
pub struct Warnings(Vec<Entry>);

#[derive(Debug, Clone)]
struct Entry {
    /// What it is one of, for programs.
    code: &'static str,
    /// Texts of this code differ by their place, and only the first one's is kept.
    once: bool,
    text: String,
    count: u64,
}

/// Distinct texts remembered.
const LIMIT: usize = 256;

impl Warnings {
    /// Adds one, or counts it if it is known. docs/measurement.md lists the codes.
    pub fn add(&mut self, code: &'static str, text: String) {
        match self.0.iter_mut().find(|known| known.text == text) {
            Some(known) => known.count += 1,
            None => self.push(Entry { code, once: false, text, count: 1 }),
        }
    }

    /// Adds one of which only the first one's text is kept.
    pub fn add_once(&mut self, code: &'static str, text: impl FnOnce() -> String) {
        match self.0.iter_mut().find(|known| known.once && known.code == code) {
            Some(known) => known.count += 1,
            None => self.push(Entry { code, once: true, text: text(), count: 1 }),
        }
    }

    fn push(&mut self, entry: Entry) {
        if self.0.len() < LIMIT {
            self.0.push(entry);
        }
    }

    /// Texts with how often each came up.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> + '_ {
        self.coded().map(|(_, text, count)| (text, count))
    }

    /// The same with their codes.
    pub fn coded(&self) -> impl Iterator<Item = (&'static str, &str, u64)> + '_ {
        self.0.iter().map(|entry| (entry.code, entry.text.as_str(), entry.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_one_line_with_its_first_place() {
        let mut warnings = Warnings::default();
        for place in 0..500 {
            warnings.add_once("flash-write", || format!("the first at {place}"));
            warnings.add("reset", "the same".to_owned());
        }
        let all: Vec<_> = warnings.coded().collect();
        assert_eq!(all, [("flash-write", "the first at 0", 500), ("reset", "the same", 500)]);
    }
}
