//! Layers of a program (kernel, C library, application) by rules: first rule that fits.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;

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
pub struct Layers(Vec<Layer>);

#[derive(Debug)]
struct Layer {
    name: String,
    path: GlobSet,
    archive: GlobSet,
    symbol: GlobSet,
    section: GlobSet,
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
        Layers::read(BUILT_IN).unwrap_or(Layers(Vec::new()))
    }
}

impl Layers {
    /// The rules of a file, then the built-in ones.
    ///
    /// # Errors
    /// When it is not of the form of the built-in rules.
    pub fn parse(text: &str) -> Result<Self, RulesError> {
        let mut layers = Layers::read(text)?;
        layers.0.extend(Layers::default().0);
        Ok(layers)
    }

    fn read(text: &str) -> Result<Self, RulesError> {
        let file: File = toml::from_str(text).map_err(Box::new)?;
        let patterns =
            |rule: &Rule| [&rule.path, &rule.archive, &rule.symbol, &rule.section].map(Vec::len);
        if file.layer.iter().flat_map(patterns).sum::<usize>() > MOST_PATTERNS {
            return Err(RulesError::TooMany);
        }
        let layers: Result<_, _> = file.layer.into_iter().map(layer).collect();
        layers.map(Layers)
    }

    pub(super) fn of(&self, origin: Origin<'_>) -> &str {
        let fits = |layer: &&Layer| {
            let is = |set: &GlobSet, what: Option<&str>| what.is_some_and(|w| set.is_match(w));
            is(&layer.path, origin.path)
                || is(&layer.archive, origin.archive)
                || origin.symbols.iter().any(|symbol| is(&layer.symbol, *symbol))
                || is(&layer.section, origin.section)
        };
        self.0.iter().find(fits).map_or(REST, |layer| &layer.name)
    }
}

fn layer(rule: Rule) -> Result<Layer, RulesError> {
    let set = |patterns: &[String]| -> Result<GlobSet, globset::Error> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            set.add(GlobBuilder::new(pattern).build()?);
        }
        set.build()
    };
    let all = || -> Result<[GlobSet; 4], globset::Error> {
        Ok([set(&rule.path)?, set(&rule.archive)?, set(&rule.symbol)?, set(&rule.section)?])
    };
    match all() {
        Ok([path, archive, symbol, section]) => {
            Ok(Layer { name: rule.name, path, archive, symbol, section })
        }
        Err(error) => Err(RulesError::Pattern { layer: rule.name, error }),
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
