//! `--log DIR` of commands that measure: their result goes into an archive as well.

use std::path::PathBuf;

use strobe_model::measurement::Measurement;

use super::entry::{self, Entry, Names};
use super::source::Source;
use crate::{files, interrupt, terminal};

/// The option.
#[derive(clap::Args)]
pub struct ArchiveArgs {
    /// Add the whole measurement to an archive as well, with the commit of the current folder
    /// (`strobe log` names others; docs/history.md).
    #[arg(long, value_name = "DIR")]
    log: Option<PathBuf>,
}

impl ArchiveArgs {
    /// Whether the folder can be added to: before a run, which a wrong name shall not cost. No
    /// output replaces what is in it.
    ///
    /// # Errors
    /// Where it is none, or an output is a file of it (64, 66).
    pub fn ready(&self) -> anyhow::Result<()> {
        let Some(directory) = &self.log else { return Ok(()) };
        entry::fits(directory)?;
        if !files::is_directory(directory).unwrap_or(false) {
            return Ok(());
        }
        let all = files::below(directory)?;
        all.iter().try_for_each(|file| files::will_read(&directory.join(file)))
    }

    /// Adds a measurement, if that was asked for and it was not stopped.
    ///
    /// # Errors
    /// If it cannot be written (74).
    pub fn add(&self, measurement: &Measurement) -> anyhow::Result<()> {
        let Some(directory) = &self.log else { return Ok(()) };
        if interrupt::happened() || entry::is_part(measurement) {
            terminal::message(
                "strobe: not logged: it was stopped, and has only part of the figures",
            );
            return Ok(());
        }
        let source = Source::of(None, None)?;
        let mut entry = Entry::new(directory, Names::default(), source, None)?;
        entry.add(measurement)?;
        for line in entry.write()? {
            terminal::message(&format!("strobe: logged {line}"));
        }
        Ok(())
    }
}
