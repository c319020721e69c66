//! What a variant's profiler printed: run once, behind the rounds, so that it disturbs none.

use std::time::Duration;

use strobe_model::measurement::{Finding, Section, Severity};

use super::Run;
use crate::host::{self, Command, Ended};
use crate::placeholders::Names;
use crate::profile;

/// Error in the command that prints a profile.
#[derive(Debug, thiserror::Error)]
enum ProfileError {
    /// The command failed.
    #[error("{ended}; {errors}")]
    Ended { ended: Ended, errors: String },
    /// Its output cannot be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
    /// Its output is not a known profile.
    #[error(transparent)]
    Format(#[from] profile::Error),
}

/// Bytes of a profile that are read.
const MOST: u64 = 64 << 20;

/// The profiles at one value of the sweep.
#[derive(Debug, Default)]
pub(super) struct Profiles {
    pub sections: Vec<Section>,
    pub findings: Vec<Finding>,
}

impl Run<'_> {
    /// Profiles of all variants that have one.
    pub(super) fn profiles(&self, names: &Names, timeout: Duration) -> Profiles {
        let mut profiles = Profiles::default();
        for variant in &self.file.variant {
            let Some(line) = &variant.profile else { continue };
            if self.stop.load(std::sync::atomic::Ordering::Relaxed) {
                break;
            }
            match self.profile(line, &variant.name, names, timeout) {
                Ok(sections) => profiles.sections.extend(sections),
                Err(why) => {
                    let text = format!("{} has no profile: {why}", variant.name);
                    profiles.findings.push(Finding::new(Severity::Warning, "no-profile", text));
                }
            }
        }
        profiles
    }

    fn profile(
        &self,
        line: &str,
        variant: &str,
        names: &Names,
        timeout: Duration,
    ) -> Result<Vec<Section>, ProfileError> {
        let (output, errors) = (self.kept.join("profile"), self.kept.join("errors"));
        let command = Command {
            output: Some(output.clone()),
            errors: Some(errors.clone()),
            file_limit: Some(MOST),
            ..self.command(line, names).within(timeout)
        };
        match host::run(self.host, &command, self.stop).ended {
            Ended::Exit(0) => {}
            ended => {
                let errors = host::tail(&errors, 3).unwrap_or_default().replace('\n', " / ");
                return Err(ProfileError::Ended { ended, errors });
            }
        }
        let bytes = std::fs::read(&output)?;
        let _ = std::fs::remove_file(&output);
        Ok(profile::sections(&String::from_utf8_lossy(&bytes), variant)?)
    }
}
