//! `strobe query`: SQL on an archive, where the build has an engine.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use strobe_archive::{Answer, Filter, QueryError, Value, query};

use crate::{archive, exit, files, output, terminal};

const EXAMPLES: &str = "\
Examples:
  strobe query archive 'SELECT commit, value FROM figures
      WHERE item = '\\''filter_step'\\'' AND figure = '\\''cycles'\\'' ORDER BY commit_time'
  strobe query archive 'SELECT item, max(value) AS most FROM figures
      WHERE section = '\\''stacks'\\'' GROUP BY item ORDER BY most DESC LIMIT 10' --format csv

The table is `figures`; its columns are in docs/history.md. The same statements run on any engine
that reads Parquet in folders project=.../board=.../date=...

Exit codes: 0 done, 64 wrong arguments or statement, or a build without SQL, 65 no archive, 66
cannot be read, 74 cannot be written";

/// Ask an archive of `strobe log` in SQL. In builds with the feature `query`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The archive's folder.
    directory: PathBuf,
    /// A SELECT statement on the table `figures`.
    #[arg(value_name = "SQL")]
    statement: String,
    /// How to print the answer.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Write the answer to a file; `-` is standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people.
    #[default]
    Text,
    /// Comma-separated values (RFC 4180), with a line of names.
    Csv,
    /// An array with an object for each row.
    Json,
}

impl Args {
    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::FileSet) {
        named.reads_archive(&self.directory);
        named.writes("-o", self.output.as_deref().and_then(files::of_output));
    }
}

/// Asks and prints.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if !query::IS_THERE {
        return Err(exit::usage(QueryError::Without.to_string()));
    }
    let (reading, usable) = archive::look(&args.directory, &Filter::default())?;
    for (file, why) in &reading.skipped {
        terminal::message(&format!("strobe: {file} was left out: {why}"));
    }
    // Engines read all files of a folder: where some are unusable, one of links to the others.
    let is_whole = reading.skipped.iter().all(|(file, _)| !file.ends_with(".parquet"));
    let links = if is_whole { None } else { Some(links(&args.directory, &usable)?) };
    let directory = links.as_ref().map_or(args.directory.as_path(), tempfile::TempDir::path);
    let answer = query::run(directory, &args.statement).map_err(|error| match error {
        QueryError::Statement(_) | QueryError::Without => exit::usage(error.to_string()),
        QueryError::Engine(_) => exit::data(format!("{}: {error}", args.directory.display())),
    })?;
    let text = match args.format {
        Format::Text => text(&answer),
        Format::Csv => csv(&answer),
        Format::Json => json(&answer),
    };
    output::write(text.as_bytes(), args.output.as_deref().and_then(files::of_output))?;
    Ok(ExitCode::SUCCESS)
}

/// A folder with links to the files that can be used.
fn links(directory: &Path, usable: &[archive::Usable]) -> anyhow::Result<tempfile::TempDir> {
    let failed = |e: std::io::Error| exit::output(format!("no temporary folder: {e}"));
    let links = tempfile::Builder::new().prefix("strobe-query-").tempdir().map_err(failed)?;
    let whole = directory.canonicalize().map_err(failed)?;
    for file in usable {
        let link = links.path().join(&file.path);
        if let Some(folder) = link.parent() {
            files::folder(folder)?;
        }
        files::link(&whole.join(&file.path), &link).map_err(failed)?;
    }
    Ok(links)
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Boolean(is) => is.to_string(),
        Value::Whole(n) => n.to_string(),
        Value::Real(x) => x.to_string(),
        Value::Text(text) => text.clone(),
    }
}

fn text(answer: &Answer) -> String {
    let cells: Vec<Vec<String>> =
        answer.rows.iter().map(|row| row.iter().map(shown).collect()).collect();
    let wide = |column: usize| {
        let cells = cells.iter().filter_map(|row| row.get(column));
        let names = answer.columns.get(column);
        names.into_iter().chain(cells).map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..answer.columns.len()).map(wide).collect();
    let is_number = |column: usize| {
        let mut values = answer.rows.iter().filter_map(|row| row.get(column));
        values.any(|value| matches!(value, Value::Whole(_) | Value::Real(_)))
    };
    let numbers: Vec<bool> = (0..answer.columns.len()).map(is_number).collect();
    let line = |cells: &[String]| {
        let padded = cells.iter().zip(&widths).zip(&numbers).map(|((cell, width), number)| {
            if *number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    let rows: String = cells.iter().map(|row| line(row)).collect();
    let (n, s) = (answer.rows.len(), if answer.rows.len() == 1 { "" } else { "s" });
    format!("{}{rows}({n} row{s})\n", line(&answer.columns))
}

/// Lines end as everywhere in a pipe: what goes out shows a carriage return as `\r`, for a terminal
/// obeys it.
fn csv(answer: &Answer) -> String {
    let quoted = |text: &str| {
        if text.contains(['"', ',', '\n', '\r']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.to_owned()
        }
    };
    let line = |cells: Vec<String>| cells.join(",") + "\n";
    let names = line(answer.columns.iter().map(|name| quoted(name)).collect());
    let row = |row: &Vec<Value>| line(row.iter().map(|value| quoted(&shown(value))).collect());
    names + &answer.rows.iter().map(row).collect::<String>()
}

fn json(answer: &Answer) -> String {
    let value = |value: &Value| match value {
        Value::Null => serde_json::Value::Null,
        Value::Boolean(is) => (*is).into(),
        Value::Whole(n) => (*n).into(),
        Value::Real(x) => (*x).into(),
        Value::Text(text) => text.clone().into(),
    };
    let row = |row: &Vec<Value>| -> serde_json::Value {
        answer
            .columns
            .iter()
            .cloned()
            .zip(row.iter().map(value))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let rows: Vec<serde_json::Value> = answer.rows.iter().map(row).collect();
    let mut text = format!("{:#}", serde_json::Value::Array(rows));
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_printed_in_three_ways() {
        let answer = Answer {
            columns: vec!["item".to_owned(), "n".to_owned()],
            rows: vec![
                vec![Value::Text("a, \"b\"".to_owned()), Value::Whole(12)],
                vec![Value::Null, Value::Real(0.5)],
            ],
        };
        assert_eq!(text(&answer), "item      n\na, \"b\"   12\n        0.5\n(2 rows)\n");
        assert_eq!(csv(&answer), "item,n\n\"a, \"\"b\"\"\",12\n,0.5\n");
        let read: serde_json::Value = serde_json::from_str(&json(&answer)).expect("JSON");
        assert_eq!(read[1]["n"], 0.5);
        assert!(read[1]["item"].is_null());
    }
}
