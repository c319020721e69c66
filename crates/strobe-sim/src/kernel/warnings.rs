//! What the user should know about their firmware, each thing once with a count.

/// Warnings in the order they first came up.
#[derive(Debug, Default, Clone)]
pub struct Warnings(Vec<(String, u64)>);

/// Distinct texts remembered.
const LIMIT: usize = 256;

impl Warnings {
    /// Adds one, or counts it if it is known.
    pub fn add(&mut self, text: String) {
        if let Some((_, count)) = self.0.iter_mut().find(|(known, _)| *known == text) {
            *count += 1;
        } else if self.0.len() < LIMIT {
            self.0.push((text, 1));
        }
    }

    /// Texts with how often each came up.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> + '_ {
        self.0.iter().map(|(text, count)| (text.as_str(), *count))
    }
}
