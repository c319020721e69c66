//! What the user should know about their firmware, each thing once with a count.

/// Warnings in the order they first came up.
#[derive(Debug, Default, Clone)]
pub struct Warnings(Vec<Entry>);

#[derive(Debug, Clone)]
struct Entry {
    /// What it is one of, where texts differ by their place.
    kind: Option<&'static str>,
    text: String,
    count: u64,
}

/// Distinct texts remembered.
const LIMIT: usize = 256;

impl Warnings {
    /// Adds one, or counts it if it is known.
    pub fn add(&mut self, text: String) {
        match self.0.iter_mut().find(|known| known.text == text) {
            Some(known) => known.count += 1,
            None => self.push(Entry { kind: None, text, count: 1 }),
        }
    }

    /// Adds one of a kind, of which only the first one's text is kept.
    pub fn add_kind(&mut self, kind: &'static str, text: impl FnOnce() -> String) {
        match self.0.iter_mut().find(|known| known.kind == Some(kind)) {
            Some(known) => known.count += 1,
            None => self.push(Entry { kind: Some(kind), text: text(), count: 1 }),
        }
    }

    fn push(&mut self, entry: Entry) {
        if self.0.len() < LIMIT {
            self.0.push(entry);
        }
    }

    /// Texts with how often each came up.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> + '_ {
        self.0.iter().map(|entry| (entry.text.as_str(), entry.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_one_line_with_its_first_place() {
        let mut warnings = Warnings::default();
        for place in 0..500 {
            warnings.add_kind("flash", || format!("the first at {place}"));
            warnings.add("the same".to_owned());
        }
        let all: Vec<_> = warnings.iter().collect();
        assert_eq!(all, [("the first at 0", 500), ("the same", 500)]);
    }
}
