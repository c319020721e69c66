//! Where results go: standard output or a file, with or without colours.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use strobe_model::measurement::Measurement;
use strobe_report::{Excerpt, file, text};

use crate::{exit, files, terminal};

/// When to use colours.
#[derive(Clone, Copy, Default, clap::ValueEnum)]
pub enum Color {
    /// On terminals, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Makes the choice hold for all output.
    pub fn apply(self) {
        let choice = match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// How results are printed.
#[derive(Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs: the measurement, which report, compare and export read
    /// (docs/measurement.md).
    #[value(alias = "measurement")]
    Json,
}

/// How a command's result is wanted.
#[derive(clap::Args)]
pub struct OutputArgs {
    /// Leave out the explanations.
    #[arg(long)]
    terse: bool,
    /// How to print the result [default: text, or json for files that end in .json, .measurement
    /// or .measurement.gz].
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write the result to a file, `-` for standard output; a measurement is compressed if the name
    /// ends in .gz.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only these sections of the measurement, as `profile,interrupts`.
    #[arg(long, value_name = "SECTION", value_delimiter = ',')]
    fields: Vec<String>,
    /// Rows of each profile; of a measurement's tables, with sums by function instead of single
    /// samples. 0 for all [default: 20 as text, else all].
    #[arg(long, value_name = "N")]
    top: Option<usize>,
}

impl OutputArgs {
    /// Registers the file that is written.
    pub fn files(&self, named: &mut files::FileSet) {
        named.writes("-o", self.path());
    }

    /// The file that is written; none for standard output.
    fn path(&self) -> Option<&Path> {
        self.output.as_deref().and_then(files::of_output)
    }

    /// The look of a text report.
    pub fn options(&self) -> strobe_report::Options {
        options(self.path().is_none(), self.terse)
    }

    /// Text or JSON: as asked for, else by the name of the file.
    pub fn format(&self) -> Format {
        let name = self.path().and_then(Path::file_name).unwrap_or_default();
        let name = name.to_string_lossy();
        let bare = name.strip_suffix(".gz").unwrap_or(&name);
        let is_measurement = [".measurement", ".json"].iter().any(|end| bare.ends_with(end));
        self.format.unwrap_or(if is_measurement { Format::Json } else { Format::Text })
    }

    /// Whether only the sections are shown that a text report has by default.
    pub fn is_default_text(&self) -> bool {
        self.format() == Format::Text && self.fields.is_empty()
    }

    /// What of a measurement is shown as text.
    pub fn selection(&self) -> text::Selection {
        self.selection_of(20)
    }

    /// What of a measurement is shown as text, with so many rows unless the user names another
    /// number; 0 for all.
    pub fn selection_of(&self, top: usize) -> text::Selection {
        let sections = (!self.fields.is_empty()).then(|| self.fields.clone());
        text::Selection { top: self.top.unwrap_or(top), sections, ..text::Selection::default() }
    }

    /// Writes a measurement as text or JSON.
    pub fn measurement(
        &self,
        measurement: &Measurement,
        selection: &text::Selection,
    ) -> anyhow::Result<()> {
        if self.format() != Format::Text {
            return self.file(measurement);
        }
        self.known_fields(measurement)?;
        let mut out = Vec::new();
        text::measurement(measurement, selection, &self.options(), &mut out)?;
        self.write(&out)
    }

    /// Writes a measurement's file.
    pub fn file(&self, measurement: &Measurement) -> anyhow::Result<()> {
        self.known_fields(measurement)?;
        let excerpt = self.excerpt();
        let short = (!excerpt.is_all()).then(|| excerpt.of(measurement));
        let measurement = short.as_ref().unwrap_or(measurement);
        // What does not hold together is not written: whoever reads it would refuse it.
        measurement.check().map_err(|error| anyhow::anyhow!("a defect: {error}"))?;
        let is_compressed = self.path().is_some_and(|path| path.extension() == Some("gz".as_ref()));
        if is_compressed {
            let mut out = Vec::new();
            file::write_compressed(measurement, &mut out)?;
            return self.write(&out);
        }
        self.write(file::json(measurement).as_bytes())
    }

    fn excerpt(&self) -> Excerpt {
        Excerpt { sections: self.fields.clone(), top: self.top.filter(|top| *top > 0) }
    }

    /// Sections that were asked for are there.
    fn known_fields(&self, measurement: &Measurement) -> anyhow::Result<()> {
        let excerpt = self.excerpt();
        let missing = excerpt.missing(measurement);
        let parts = measurement.parts.iter().map(|part| &part.measurement);
        let all = std::iter::once(measurement).chain(parts);
        let mut known: Vec<&str> = Vec::new();
        for section in all.flat_map(|m| &m.sections) {
            // Parts have sections of one name.
            if !known.contains(&section.id.as_str()) {
                known.push(&section.id);
            }
        }
        match missing.first() {
            Some(field) => Err(exit::usage(format!(
                "--fields {field}: there is no such section; there are {}",
                known.join(", ")
            ))),
            None => Ok(()),
        }
    }

    /// Writes it where it is wanted.
    pub fn write(&self, bytes: &[u8]) -> anyhow::Result<()> {
        match self.path() {
            None => write(bytes, None),
            Some(path) => write(&terminal::safe(bytes, false), Some(path)),
        }
    }
}

/// The look of a text report. Only one that goes to a terminal is coloured and fitted to it.
pub fn options(to_stdout: bool, terse: bool) -> strobe_report::Options {
    let choice = anstream::AutoStream::choice(&io::stdout());
    let colour = to_stdout && choice != anstream::ColorChoice::Never;
    let on_terminal = to_stdout && io::stdout().is_terminal();
    let columns = on_terminal.then(terminal::columns).flatten();
    let width = columns.unwrap_or(100).clamp(60, 200);
    strobe_report::Options { style: strobe_report::Style { colour, width }, quiet: terse }
}

/// Writes a finished result to standard output, or to a file if one is named.
pub fn write(bytes: &[u8], path: Option<&Path>) -> anyhow::Result<()> {
    match path {
        None => Ok(terminal::result(bytes)?),
        Some(path) => files::write(path, bytes),
    }
}
