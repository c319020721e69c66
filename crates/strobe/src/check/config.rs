//! Reading `strobe.toml`: firmwares, how they are measured, and their budgets (docs/check.md).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use strobe_analyse::budget::Limit;
use strobe_model::spelling;

use super::entry::{self, Budget};
use super::error::ConfigError;
use crate::exit;
use crate::files::{self, Kind};

/// Its limits in messages and bytes: far above any that a person writes.
const KIND: Kind = Kind::BUDGETS;

/// A whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Config {
    /// The version of its form, 1.
    #[serde(default = "one")]
    pub version: u32,
    /// Where accepted figures are kept, beside this file.
    #[serde(default = "baseline")]
    pub baseline: PathBuf,
    /// What is measured.
    #[serde(default)]
    pub firmware: Vec<Firmware>,
}

/// A firmware and how it is measured.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Firmware {
    /// Its name in reports; by default the file's without its ending.
    #[serde(default)]
    pub name: String,
    /// The ELF file.
    pub elf: PathBuf,
    /// A shell command that builds it.
    pub build: Option<String>,
    /// How long that may take.
    pub build_timeout: Option<String>,
    /// As `--board`.
    pub board: Option<String>,
    /// As `--until`.
    #[serde(default)]
    pub until: Words,
    /// Further options of `strobe run`.
    #[serde(default)]
    pub run: Vec<String>,
    /// Further options of `strobe size`.
    #[serde(default)]
    pub size: Vec<String>,
    /// Further options of `strobe stack`.
    #[serde(default)]
    pub stack: Vec<String>,
    /// How long each of them may take.
    pub timeout: Option<String>,
    /// The code with which the firmware or the run is to end.
    #[serde(default)]
    pub exit_code: i32,
    /// Measurements of other instruments, by name.
    #[serde(default)]
    pub measurement: BTreeMap<String, Other>,
    /// Its budgets as they are written.
    #[serde(default)]
    pub(super) budget: Vec<entry::EntryText>,
    /// Its budgets.
    #[serde(skip)]
    pub budgets: Vec<Budget>,
}

/// A measurement of another instrument.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Other {
    /// The file.
    pub file: PathBuf,
    /// A shell command that writes it.
    pub command: Option<String>,
}

/// One word or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Words {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl Default for Words {
    fn default() -> Self {
        Words::Several(Vec::new())
    }
}

impl Words {
    /// All of them.
    pub fn all(&self) -> &[String] {
        match self {
            Words::One(word) => std::slice::from_ref(word),
            Words::Several(words) => words,
        }
    }
}

fn one() -> u32 {
    1
}

fn baseline() -> PathBuf {
    "strobe-baseline.toml".into()
}

/// Reads and checks a file.
///
/// # Errors
/// What cannot be read (66), or is no such file or contradicts itself (65).
pub fn read(path: &Path) -> anyhow::Result<Config> {
    let text = files::text(path, &KIND)?;
    parse(&text).map_err(|e| exit::data(format!("{}: {e}", path.display())))
}

/// The same of its text.
fn parse(text: &str) -> Result<Config, ConfigError> {
    let syntax = |e: toml::de::Error| ConfigError::Syntax(explained(&e));
    let mut config: Config = toml::from_str(text).map_err(syntax)?;
    if config.version != 1 {
        return Err(ConfigError::Version(config.version));
    }
    if config.firmware.is_empty() {
        return Err(ConfigError::NoFirmware);
    }
    let mut names = BTreeSet::new();
    for firmware in &mut config.firmware {
        firmware.complete()?;
        if !names.insert(firmware.name.clone()) {
            return Err(ConfigError::SameFirmware(firmware.name.clone()));
        }
    }
    Ok(config)
}

impl Firmware {
    fn complete(&mut self) -> Result<(), ConfigError> {
        if self.name.is_empty() {
            let stem = self.elf.file_stem().unwrap_or_default();
            self.name = stem.to_string_lossy().into_owned();
        }
        for time in [&self.build_timeout, &self.timeout].into_iter().flatten() {
            if spelling::time(time).is_none_or(|nanoseconds| nanoseconds == 0) {
                let (firmware, time) = (self.name.clone(), time.clone());
                return Err(ConfigError::Time { firmware, time });
            }
        }
        if self.budget.is_empty() {
            return Err(ConfigError::NoBudgets(self.name.clone()));
        }
        let complete = |written: &entry::EntryText| {
            Budget::of(written, &self.measurement).map_err(|error| ConfigError::Budget {
                firmware: self.name.clone(),
                error: Box::new(error),
            })
        };
        self.budgets = self.budget.iter().map(complete).collect::<Result<_, _>>()?;
        self.contradictions()
    }

    /// Budgets of one name, and limits of one figure that nothing can keep.
    fn contradictions(&self) -> Result<(), ConfigError> {
        for (i, budget) in self.budgets.iter().enumerate() {
            for other in &self.budgets[..i] {
                let same = other.from == budget.from && other.selector == budget.selector;
                let Some((least, most)) = same.then(|| contradiction(other, budget)).flatten()
                else {
                    if other.name == budget.name {
                        let (firmware, name) = (self.name.clone(), budget.name.clone());
                        return Err(ConfigError::SameBudget { firmware, name });
                    }
                    continue;
                };
                return Err(ConfigError::Contradiction {
                    firmware: self.name.clone(),
                    budgets: [other.name.clone(), budget.name.clone()],
                    least: least.text.clone(),
                    most: most.text.clone(),
                });
            }
        }
        Ok(())
    }
}

fn contradiction<'a>(a: &'a Budget, b: &'a Budget) -> Option<(&'a Limit, &'a Limit)> {
    let pairs = [(&a.limits.least, &b.limits.most), (&b.limits.least, &a.limits.most)];
    let both =
        pairs.into_iter().filter_map(|(least, most)| Some((least.as_ref()?, most.as_ref()?)));
    both.into_iter().find(|(least, most)| Limit::contradicts(least, most))
}

/// The parser's message, with the nearest key for one that is not known.
pub fn explained(error: &toml::de::Error) -> String {
    let text = error.to_string();
    let nearest = nearest_key(error.message());
    let shown = text.trim_end().replace('\n', "\n  ");
    // A line of megabytes is no help.
    let shown: String = shown.chars().take(2000).collect();
    match nearest {
        Some(key) => format!("{shown}\n  did you mean `{key}`?"),
        None => shown,
    }
}

/// "unknown field `mx`, expected one of `max`, `min`": the most alike.
fn nearest_key(message: &str) -> Option<String> {
    let rest = message.strip_prefix("unknown field `")?;
    let (key, expected) = rest.split_once('`')?;
    let names = expected.split('`').skip(1).step_by(2);
    let edits = |name: &&str| strsim::damerau_levenshtein(key, name);
    names.min_by_key(edits).filter(|name| edits(name) * 2 <= name.len()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What editors complete and check by `#:schema`. `UPDATE_SCHEMA=1` writes it anew.
    #[test]
    fn the_committed_schema_is_that_of_the_types() {
        let schema = schemars::schema_for!(Config);
        let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
        let path = path.join("strobe-toml-1.json");
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(&path, &text).expect("the schema is written");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == text,
            "docs/schema/strobe-toml-1.json differs from the types; if files that are there still \
             keep it, run the tests with UPDATE_SCHEMA=1, else raise the version"
        );
        // Keys that are not known are errors to both.
        let firmware = &schema.as_value()["$defs"]["Firmware"];
        assert_eq!(firmware["additionalProperties"], false);
        assert!(firmware["properties"]["exit-code"].is_object(), "{firmware}");
    }

    fn wrong(budgets: &str) -> String {
        parse(&format!("[[firmware]]\nelf = \"a.elf\"\n{budgets}")).expect_err(budgets).to_string()
    }

    #[test]
    fn configuration_errors_are_named() {
        let text = wrong("[[firmware.budget]]\nfunction = \"f\"\nmx = \"1 cycles\"");
        assert!(text.contains("unknown field `mx`") && text.contains("mean `max`"), "{text}");
        let text = wrong("[[firmware.budget]]\nfunction = \"f\"");
        assert!(text.contains("neither `max` nor `min`"), "{text}");
        let text = wrong("[[firmware.budget]]\nmax = \"1 cycles\"");
        assert!(text.contains("what is it about"), "{text}");
        let text =
            wrong("[[firmware.budget]]\nfunction = \"f\"\npin = \"PB8\"\nmax = \"1 cycles\"");
        assert!(text.contains("function") && text.contains("pin"), "{text}");
        let text =
            wrong("[[firmware.budget]]\nfunction = \"f\"\nfigure = \"slef\"\nmax = \"1 cycles\"");
        assert!(text.contains("did you mean `self`"), "{text}");
        let text = wrong("");
        assert!(text.contains("nothing is checked"), "{text}");
        assert!(parse("").expect_err("empty").to_string().contains("nothing would be checked"));
        assert!(parse("version = 2").expect_err("later").to_string().contains("version 2"));
    }

    #[test]
    fn limits_that_nothing_keeps_are_refused() {
        let text = wrong("[[firmware.budget]]\nfunction = \"f\"\nmax = \"1 us\"\nmin = \"2 us\"");
        assert!(text.contains("contradict"), "{text}");
        let two = "[[firmware.budget]]\nname = \"a\"\nfunction = \"f\"\nmax = \"1 us\"\n\
                   [[firmware.budget]]\nname = \"b\"\nfunction = \"f\"\nmin = \"2 us\"";
        assert!(wrong(two).contains("a and b contradict"), "{}", wrong(two));
        let twice = "[[firmware.budget]]\nfunction = \"f\"\nmax = \"1 us\"\n\
                     [[firmware.budget]]\nfunction = \"f\"\nmax = \"2 us\"";
        assert!(wrong(twice).contains("two budgets"), "{}", wrong(twice));
        let both =
            "[[firmware]]\nelf = \"x/a.elf\"\n[[firmware.budget]]\nidle = true\nmin = \"1 %\"\n";
        let text = parse(&both.repeat(2)).expect_err("one name").to_string();
        assert!(text.contains("two firmwares are called a"), "{text}");
    }

    #[test]
    fn hostile_files_are_refused_in_few_words() {
        let deep = format!("x = {}", "[".repeat(100_000));
        let inline = format!("x = {}", "{a=".repeat(100_000));
        let long = format!("{} = 1", "k".repeat(1_000_000));
        for text in [deep, inline, long] {
            let error = parse(&text).expect_err("hostile").to_string();
            assert!(error.len() < 5_000, "{} bytes", error.len());
        }
    }
}
