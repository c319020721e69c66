//! `strobe man`: manual pages, made of the same options as `--help`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::files::FileSet;
use crate::{exit, files, output, version};

/// Print a manual page, or write all of them into a folder.
#[derive(clap::Args)]
pub struct Args {
    /// The subcommand whose page is printed, as `run` or `experiment run` [default: the page of
    /// strobe itself].
    #[arg(value_name = "SUBCOMMAND")]
    subcommand: Vec<String>,
    /// Write every page into this folder: strobe.1, strobe-run.1 and so on.
    #[arg(long, value_name = "FOLDER", conflicts_with = "subcommand")]
    out: Option<PathBuf>,
}

impl Args {
    /// Registers no file: none is both read and written.
    pub fn files(&self, _: &mut FileSet) {}
}

/// Prints one page, for `man -l -`, or writes all.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let commands = commands();
    let Some(folder) = &args.out else {
        let mut name = vec!["strobe"];
        name.extend(args.subcommand.iter().map(String::as_str));
        let wanted = name.join("-");
        let command = commands.iter().find(|command| page_name(command) == wanted);
        let unknown =
            || exit::usage(format!("strobe has no subcommand `{}`", args.subcommand.join(" ")));
        output::write(&page(command.ok_or_else(unknown)?)?, None)?;
        return Ok(ExitCode::SUCCESS);
    };
    files::folder(folder)?;
    for command in &commands {
        files::within(folder, &Man::new(command.clone()).get_filename(), &page(command)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What has a page of its own: strobe first, then its subcommands, each before its own ones.
fn commands() -> Vec<Command> {
    fn without_help(command: Command) -> Command {
        command.disable_help_subcommand(true).mut_subcommands(without_help)
    }
    fn with_subcommands(command: &Command) -> Vec<Command> {
        let below = command.get_subcommands().flat_map(with_subcommands);
        std::iter::once(command.clone()).chain(below).collect()
    }
    let mut strobe = without_help(crate::Cli::command());
    strobe.build();
    with_subcommands(&strobe)
}

/// What a command's page is called: `strobe-experiment-run`.
fn page_name(command: &Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

/// One page. It has the version and not the commit, so that pages change with the options.
fn page(command: &Command) -> std::io::Result<Vec<u8>> {
    let man = Man::new(command.clone())
        .source(concat!("strobe ", env!("CARGO_PKG_VERSION")))
        .manual("Stroboscope")
        // An empty field would be taken for none, and the next one for the date.
        .date(version::DAY.unwrap_or("undated"));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(text) = command.get_after_help() {
        further_sections(&text.to_string()).to_writer(&mut page)?;
    }
    see_also(command).to_writer(&mut page)?;
    Ok(page)
}

/// The text below the options in `--help`, with its lines as they are: a line that ends in a colon
/// is a heading.
fn further_sections(text: &str) -> Roff {
    let mut roff = Roff::default();
    let section = |roff: &mut Roff, heading: &str| {
        roff.control("SH", [heading]).control("nf", []);
    };
    let mut lines = text.lines().peekable();
    if lines.peek().is_some_and(|line| heading(line).is_none()) {
        section(&mut roff, "NOTES");
    }
    while let Some(line) = lines.next() {
        let next_is_heading = lines.peek().is_some_and(|next| heading(next).is_some());
        match heading(line) {
            Some(heading) => section(&mut roff, &heading),
            None if !line.is_empty() => {
                roff.text([roman(line)]);
            }
            None if !next_is_heading => {
                roff.control("sp", []);
            }
            None => {}
        }
        if next_is_heading || lines.peek().is_none() {
            roff.control("fi", []);
        }
    }
    roff
}

/// The heading on this line, if it is one.
fn heading(line: &str) -> Option<String> {
    let heading = line.strip_suffix(':').filter(|heading| !heading.starts_with(' '))?;
    Some(match heading {
        "Exit codes" => "EXIT STATUS".to_owned(),
        other => other.to_uppercase(),
    })
}

/// The pages that belong together: strobe's names its subcommands, each of these its own.
fn see_also(command: &Command) -> Roff {
    let mut roff = Roff::default();
    let name = page_name(command);
    if name == "strobe" {
        return roff;
    }
    roff.control("SH", ["SEE ALSO"]);
    let above = name.strip_suffix(command.get_name()).and_then(|above| above.strip_suffix('-'));
    roff.text([roman(match above.filter(|above| *above != "strobe") {
        Some(above) => format!("strobe(1), {above}(1)"),
        None => "strobe(1)".to_owned(),
    })]);
    roff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_help() {
        let mut without = Vec::new();
        for command in commands() {
            assert!(command.get_about().is_some(), "{} has no description", command.get_name());
            let silent = command.get_arguments().filter(|option| option.get_help().is_none());
            without.extend(
                silent.map(|option| format!("{}: {}", command.get_name(), option.get_id())),
            );
        }
        assert!(without.is_empty(), "without help: {without:?}");
    }

    #[test]
    fn text_below_the_options_has_its_headings() {
        let text = "Sources:\n  - a file\n\nmore\n\nExamples:\n  strobe run";
        let page = further_sections(text).to_roff();
        let expected = ".SH SOURCES\n.nf\n  \\- a file\n.sp\nmore\n.fi\n.SH EXAMPLES\n.nf\n  \
                        strobe run\n.fi\n";
        assert!(page.ends_with(expected), "{page}");
    }
}
