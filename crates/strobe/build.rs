//! Finds out which commit is built, for `strobe --version`: from the package's own note of it, else
//! from git.
//!
//! Reruns when another commit is checked out and not when a file changes: what is built of changed
//! files names the commit that they were changed from.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Hexadecimal digits of a commit that are shown.
const DIGITS: usize = 10;

fn main() {
    let package = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    println!("cargo::rerun-if-changed=build.rs");
    let commit = match (packaged(&package), checked_out(&package)) {
        (Some(commit), _) => commit,
        (None, Some((commit, day))) => {
            println!("cargo::rustc-env=STROBE_DAY={day}");
            format!("{commit} {day}")
        }
        (None, None) => "unknown commit".to_owned(),
    };
    println!("cargo::rustc-env=STROBE_COMMIT={commit}");
    println!("cargo::rustc-env=STROBE_TARGET={}", variable("TARGET"));
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

/// The commit that `cargo package` has noted, which has no date.
fn packaged(package: &Path) -> Option<String> {
    let note = std::fs::read_to_string(package.join(".cargo_vcs_info.json")).ok()?;
    let (_, rest) = note.split_once("\"sha1\"")?;
    let commit: String = rest.chars().skip_while(|c| !c.is_ascii_hexdigit()).take(DIGITS).collect();
    (commit.len() == DIGITS && commit.chars().all(|c| c.is_ascii_hexdigit())).then_some(commit)
}

/// The commit of the repository that the workspace is, and the day of it. Another repository around
/// a copy of our sources (a distribution's, for example) does not count.
fn checked_out(package: &Path) -> Option<(String, String)> {
    let workspace = package.parent()?.parent()?;
    if !workspace.join(".git").exists() {
        return None;
    }
    let git = |arguments: &[&str]| {
        let output = Command::new("git").current_dir(workspace).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    // The reflog grows with each commit and checkout, also where the branch itself is among the
    // packed ones.
    for file in ["HEAD", "logs/HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        let path = git(&["rev-parse", "--git-path", file]).map(|path| workspace.join(path));
        // A file that does not exist would have this run each time.
        if let Some(path) = path.filter(|path| path.exists()) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    let commit = git(&["rev-parse", "HEAD"])?;
    let day = git(&["log", "-1", "--format=%cs"])?;
    Some((commit.get(..DIGITS)?.to_owned(), day))
}
