//! What `strobe --version` prints: the commit, and what was compiled in.
//!
//! Results name the version alone: the same measurement gives the same record, whichever commit
//! made the program.

use std::sync::LazyLock;

/// The features that a build can have, as in Cargo.toml.
const FEATURES: &[(&str, bool)] = &[
    ("compiler", cfg!(feature = "compiler")),
    ("defmt", cfg!(feature = "defmt")),
    ("probe", cfg!(feature = "probe")),
    ("query", cfg!(feature = "query")),
];

/// For `-V`: version, commit and its day.
pub const SHORT: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("STROBE_COMMIT"), ")");

/// The day of the commit, if it is known.
pub const DAY: Option<&str> = option_env!("STROBE_DAY");

/// For `--version`: also the features and what it was built for.
pub static LONG: LazyLock<String> = LazyLock::new(|| {
    let signed =
        |&(name, there): &(&str, bool)| format!(" {}{name}", if there { '+' } else { '-' });
    let features: String = FEATURES.iter().map(signed).collect();
    format!("{SHORT}\nfeatures:{features}\ntarget: {}", env!("STROBE_TARGET"))
});

#[cfg(test)]
mod tests {
    use super::*;

    /// A feature of Cargo.toml that is missing from the table would go unsaid.
    #[test]
    fn the_table_has_every_feature() {
        let manifest: toml::Table = include_str!("../Cargo.toml").parse().expect("a manifest");
        let features = manifest["features"].as_table().expect("a table").keys();
        let features: Vec<&str> =
            features.map(String::as_str).filter(|f| *f != "default").collect();
        let mut table: Vec<&str> = FEATURES.iter().map(|(name, _)| *name).collect();
        table.sort_unstable();
        assert_eq!(table, features);
    }
}
