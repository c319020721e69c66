//! Another revision: a temporary work tree of git, which goes with everything that was built there.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::process;
use crate::exit;

const PATIENCE: Duration = Duration::from_secs(300);

/// A work tree; removed when it is dropped.
pub struct Worktree {
    repository: PathBuf,
    /// Its directory goes even where git refuses.
    place: Option<tempfile::TempDir>,
    inner: PathBuf,
}

impl Worktree {
    /// Checks a revision out.
    ///
    /// # Errors
    /// When the directory is in no repository or the revision does not exist (65).
    pub fn of(directory: &Path, revision: &str) -> anyhow::Result<Self> {
        if revision.starts_with('-') {
            return Err(exit::usage(format!("--against {revision}: no revision")));
        }
        let top = git(directory, &["rev-parse", "--show-toplevel"])?;
        let prefix = git(directory, &["rev-parse", "--show-prefix"])?;
        let commit = format!("{revision}^{{commit}}");
        let commit =
            git(directory, &["rev-parse", "--verify", "--quiet", &commit]).map_err(|_| {
                exit::data(format!("--against {revision}: there is no such revision in {top}"))
            })?;
        let place = tempfile::Builder::new()
            .prefix("strobe-against-")
            .tempdir()
            .map_err(|e| exit::output(format!("no temporary directory: {e}")))?;
        let tree = place.path().join("tree");
        let repository = PathBuf::from(top);
        // From here on dropping it removes what was begun.
        let worktree = Worktree { repository, inner: tree.join(prefix), place: Some(place) };
        let tree = tree.display().to_string();
        git(directory, &["worktree", "add", "--detach", "--force", &tree, &commit])?;
        Ok(worktree)
    }

    /// The directory in it that is the given one in the repository.
    pub fn directory(&self) -> &Path {
        &self.inner
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        let Some(place) = self.place.take() else { return };
        // Not through what watches for Ctrl-C: that is when this matters most.
        let git = |arguments: &[&str]| {
            let mut command = Command::new("git");
            let _ = command.current_dir(&self.repository).args(arguments).output();
        };
        let tree = place.path().join("tree").display().to_string();
        git(&["worktree", "remove", "--force", "--force", &tree]);
        drop(place);
        git(&["worktree", "prune"]);
    }
}

fn git(directory: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new("git");
    command.args(arguments);
    let shown = format!("git {}", arguments.join(" "));
    let ended = process::run(&shown, &mut command, directory, PATIENCE)
        .map_err(|e| exit::data(format!("{shown}: {e}")))?;
    if ended.status.success() {
        Ok(ended.output)
    } else {
        Err(exit::data(format!("{shown}: {}", ended.output)))
    }
}
