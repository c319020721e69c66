//! Layers of a program (kernel, C library, application) by rules: first rule that fits.

use serde::Deserialize;

use super::patterns::Patterns;

/// Rules for common kernels, libraries and chips' drivers.
const BUILT_IN: &str = include_str!("layers.toml");
/// What has a file or a symbol and fits no rule.
const REST: &str = "application";
/// The most rules of a file, so that a hostile one ends.
const MOST_PATTERNS: usize = 10_000;

/// Rules that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// Not TOML, or not of this form.
    #[error("no rules for layers: {0}")]
    Syntax(#[from] Box<toml::de::Error>),
    /// A pattern that is none.
    #[error("layer {layer}: {error}")]
    Pattern {
        /// Whose.
        layer: String,
        /// What is wrong with it.
        error: globset::Error,
    },
    /// Too many patterns.
    #[error("more than {MOST_PATTERNS} patterns")]
    TooMany,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    layer: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    name: String,
    #[serde(default)]
    path: Vec<String>,
    #[serde(default)]
    archive: Vec<String>,
    #[serde(default)]
    symbol: Vec<String>,
    #[serde(default)]
    section: Vec<String>,
}

/// Rules, in the order in which they are tried.
#[derive(Debug)]
pub struct Layers {
    names: Vec<String>,
    /// Of paths, archives, symbols and sections.
    patterns: [Patterns; 4],
}

/// What is known of bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Origin<'a> {
    pub(super) path: Option<&'a str>,
    pub(super) archive: Option<&'a str>,
    pub(super) symbols: [Option<&'a str>; 2],
    pub(super) section: Option<&'a str>,
}

impl Default for Layers {
    fn default() -> Self {
        // The file is part of the program, and a test reads it.
        let built_in = rules(BUILT_IN).and_then(Layers::of_rules);
        built_in.unwrap_or_else(|_| Layers { names: Vec::new(), patterns: Default::default() })
    }
}

impl Layers {
    /// The rules of a file, then the built-in ones.
    ///
    /// # Errors
    /// When it is not of the form of the built-in rules.
    pub fn parse(text: &str) -> Result<Self, RulesError> {
        let mut all = rules(text)?;
        all.extend(rules(BUILT_IN)?);
        Layers::of_rules(all)
    }

    fn of_rules(rules: Vec<Rule>) -> Result<Self, RulesError> {
        let set = |of: fn(&Rule) -> &Vec<String>| {
            let error = |(rule, error): (usize, _)| RulesError::Pattern {
                layer: rules[rule].name.clone(),
                error,
            };
            Patterns::new(rules.iter().map(|rule| of(rule).as_slice())).map_err(error)
        };
        let patterns = [
            set(|rule| &rule.path)?,
            set(|rule| &rule.archive)?,
            set(|rule| &rule.symbol)?,
            set(|rule| &rule.section)?,
        ];
        Ok(Layers { names: rules.into_iter().map(|rule| rule.name).collect(), patterns })
    }

    pub(super) fn of(&self, origin: Origin<'_>) -> &str {
        let [of_paths, of_archives, of_symbols, of_sections] = &self.patterns;
        let Origin { path, archive, symbols: [linked, shown], section } = origin;
        let shown = shown.filter(|shown| linked != Some(shown));
        let texts = [
            (of_paths, path),
            (of_archives, archive),
            (of_symbols, linked),
            (of_symbols, shown),
            (of_sections, section),
        ];
        let rules = texts.into_iter().filter_map(|(patterns, text)| patterns.first_rule(text?));
        rules.min().map_or(REST, |rule| &self.names[rule])
    }
}

/// The rules of a text.
fn rules(text: &str) -> Result<Vec<Rule>, RulesError> {
    let file: File = toml::from_str(text).map_err(Box::new)?;
    let patterns =
        |rule: &Rule| [&rule.path, &rule.archive, &rule.symbol, &rule.section].map(Vec::len);
    if file.layer.iter().flat_map(patterns).sum::<usize>() > MOST_PATTERNS {
        Err(RulesError::TooMany)
    } else {
        Ok(file.layer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some systems have the headers of C++ in a directory of newlib.
    #[test]
    fn headers_of_cpp_are_not_the_c_library() {
        let layers = Layers::default();
        let of = |path| layers.of(Origin { path: Some(path), ..Origin::default() });
        assert_eq!(of("/usr/include/newlib/c++/12.2.1/bits/vector.tcc"), "C++ runtime");
        assert_eq!(of("/opt/arm-none-eabi/include/c++/13.2.1/bits/stl_tree.h"), "C++ runtime");
        assert_eq!(of("/build/newlib/libc/stdio/findfp.c"), "C library");
        assert_eq!(of("/home/me/c++/main.cpp"), "application");
    }
}
