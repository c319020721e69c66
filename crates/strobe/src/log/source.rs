//! What git knows of the current folder: whose measurements are logged, and of which commit.

use std::path::PathBuf;
use std::process::Command;

use strobe_archive::date;

use crate::exit;

/// The source that was measured.
#[derive(Default)]
pub struct Source {
    /// The name of the work tree, else of the folder.
    pub project: Option<String>,
    /// Its commit, with `-dirty` behind it where files have changed.
    pub commit: Option<String>,
    /// When that was made: microseconds since 1970-01-01 UTC.
    pub commit_time: Option<i64>,
    /// Its branch.
    pub branch: Option<String>,
}

impl Source {
    /// Asks git, unless commit and branch are given.
    ///
    /// # Errors
    /// A commit that can be none (64).
    pub fn of(commit: Option<&str>, branch: Option<&str>) -> anyhow::Result<Source> {
        let project = git(&["rev-parse", "--show-toplevel"])
            .map(PathBuf::from)
            .or_else(|| std::env::current_dir().ok())
            .and_then(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()));
        // The current branch is not that of another commit.
        let here = match commit {
            None => git(&["symbolic-ref", "--short", "--quiet", "HEAD"]),
            Some(_) => None,
        };
        let commit = match commit {
            Some(text) => Some(given(text)?),
            None => head(),
        };
        let clean = commit.as_deref().map(|commit| commit.trim_end_matches("-dirty"));
        let commit_time = clean
            .and_then(|commit| {
                git(&["show", "-s", "--format=%ct", &format!("{commit}^{{commit}}")])
            })
            .and_then(|seconds| seconds.parse::<i64>().ok())
            .and_then(|seconds| seconds.checked_mul(date::SECOND));
        let branch = branch.map(str::to_owned).or(here);
        Ok(Source { project, commit, commit_time, branch })
    }

    /// The commit, for messages.
    pub fn shown(&self) -> String {
        self.commit.as_deref().map_or_else(
            || "without a commit".to_owned(),
            |commit| format!("of {}", strobe_archive::short(commit)),
        )
    }
}

/// The commit of a name; as it is given where git does not know it.
fn given(text: &str) -> anyhow::Result<String> {
    if text.is_empty() || text.starts_with('-') || text.contains(char::is_whitespace) {
        return Err(exit::usage(format!("--commit {text}: no commit")));
    }
    let known = git(&["rev-parse", "--verify", "--quiet", &format!("{text}^{{commit}}")]);
    Ok(known.unwrap_or_else(|| text.to_owned()))
}

fn head() -> Option<String> {
    let commit = git(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]);
    Some(if changed.is_none_or(|files| files.is_empty()) { commit } else { commit + "-dirty" })
}

/// What git prints; none where there is no repository or no git.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
