//! `strobe man`: manual pages, made of the same options as `--help`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::{exit, output, version};

/// Print a manual page, or write all of them into a folder.
#[derive(clap::Args)]
pub struct Args {
    /// The subcommand whose page is printed [default: the page of strobe itself].
    #[arg(value_name = "SUBCOMMAND")]
    subcommand: Option<String>,
    /// Write every page into this folder: strobe.1, strobe-run.1 and so on.
    #[arg(long, value_name = "FOLDER", conflicts_with = "subcommand")]
    out: Option<PathBuf>,
}

/// Prints one page, for `man -l -`, or writes all.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let commands = commands();
    let Some(folder) = &args.out else {
        let command = match &args.subcommand {
            None => commands.first(),
            Some(name) => commands.iter().skip(1).find(|command| command.get_name() == name),
        };
        let name = args.subcommand.as_deref().unwrap_or("strobe");
        let unknown = || exit::usage(format!("strobe has no subcommand `{name}`"));
        output::write(&page(command.ok_or_else(unknown)?)?, None)?;
        return Ok(ExitCode::SUCCESS);
    };
    std::fs::create_dir_all(folder)
        .map_err(|e| exit::output(format!("cannot create {}: {e}", folder.display())))?;
    for command in &commands {
        let path = folder.join(Man::new(command.clone()).get_filename());
        output::write(&page(command)?, Some(&path))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What has a page of its own: strobe first, then its subcommands.
fn commands() -> Vec<Command> {
    let mut strobe = crate::Cli::command().disable_help_subcommand(true);
    strobe.build();
    let subcommands: Vec<Command> = strobe.get_subcommands().cloned().collect();
    std::iter::once(strobe).chain(subcommands).collect()
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

/// The pages that belong together: the command's own names all others.
fn see_also(command: &Command) -> Roff {
    let mut roff = Roff::default();
    if command.get_name() != "strobe" {
        roff.control("SH", ["SEE ALSO"]);
        roff.text([roman("strobe(1)")]);
    }
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
