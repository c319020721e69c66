//! `strobe --version`: which commit was built, and with what.

use std::path::Path;
use std::process::Command;

use crate::common::strobe;

/// The commit that git shows as checked out, with its day; or nothing, where there is no
/// repository.
fn checked_out() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !root.join(".git").exists() {
        return None;
    }
    let mut git = Command::new("git");
    git.current_dir(root).args(["show", "--no-patch", "--abbrev=40", "--format=%h %cs"]);
    let output = git.output().expect("git runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let (commit, day) = text.trim().split_once(' ').expect("commit and day");
    Some(format!("{} {day}", &commit[..10]))
}

#[test]
fn the_short_version_is_one_line_with_the_commit() {
    let ran = strobe(&["-V"]);
    let commit = checked_out().unwrap_or_else(|| "unknown commit".to_owned());
    assert_eq!(ran.stdout, format!("strobe {} ({commit})\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(ran.code, 0);
}

#[test]
fn the_long_version_has_features_and_target() {
    let (short, long) = (strobe(&["-V"]).stdout, strobe(&["--version"]).stdout);
    let lines: Vec<&str> = long.lines().collect();
    assert_eq!(lines[0], short.trim_end());
    let features = lines[1].strip_prefix("features: ").expect("features");
    let signed = |feature: &str| matches!(feature.as_bytes(), [b'+' | b'-', b'a'..=b'z', ..]);
    assert!(features.split(' ').all(signed), "{features}");
    let has = |name: &str| features.split(' ').any(|feature| feature == name);
    assert!(has(if cfg!(feature = "probe") { "+probe" } else { "-probe" }), "{features}");
    let target = lines[2].strip_prefix("target: ").expect("a target");
    assert!(target.starts_with(std::env::consts::ARCH), "{target}");
    assert_eq!(lines.len(), 3);
}
