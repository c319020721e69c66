//! A disk without room: a small file system in memory, mounted where only the command sees it, or
//! where that is forbidden a limit on the size of files. What was measured stays whole.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Ran, command, ran, strobe};

/// Makes a disk of `$1` KiB at `$2`, runs the rest with it, and keeps what is on it in `$3`.
const ON_A_SMALL_DISK: &str = r#"
size=$1 disk=$2 kept=$3
shift 3
mount -t tmpfs -o "size=${size}k" strobe "$disk" 2>/dev/null ||
    { trap '' XFSZ; ulimit -S -f $((size * 2)); }
cp -r "$kept/." "$disk"
"$@"
code=$?
ulimit -S -f unlimited 2>/dev/null
cp -r "$disk/." "$kept"
exit $code"#;

/// Runs strobe with such a disk; it begins with what is in `kept`, which has what is on it then.
fn on_a_small_disk(kib: u32, disk: &Path, kept: &Path, arguments: &[&str]) -> Ran {
    let own = ["unshare", "--mount", "--map-root-user"];
    let allowed = Command::new(own[0]).args(&own[1..]).arg("true").output();
    let is_allowed = allowed.is_ok_and(|ran| ran.status.success());
    let mut shell = if is_allowed {
        let mut unshare = Command::new(own[0]);
        unshare.args(&own[1..]).arg("sh");
        unshare
    } else {
        Command::new("sh")
    };
    shell.args(["-c", ON_A_SMALL_DISK, "sh", &kib.to_string()]).args([disk, kept]);
    shell.arg(command().get_program()).args(arguments);
    ran(&mut shell)
}

fn has_no_room(text: &str) -> bool {
    text.contains("No space left on device") || text.contains("File too large")
}

#[test]
fn samples_on_a_full_disk_are_whole_and_resumable() {
    let folder = tempfile::tempdir().expect("a folder");
    let (disk, kept) = (folder.path().join("disk"), folder.path().join("kept"));
    [&disk, &kept].into_iter().for_each(|path| fs::create_dir(path).expect("a folder"));
    let samples = disk.join("runs.jsonl").display().to_string();
    let arguments = ["bench", "--samples", &samples, "--rounds", "2000", "true", "echo b"];
    let ran = on_a_small_disk(16, &disk, &kept, &arguments);
    assert_eq!(ran.code, 74, "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot write") && has_no_room(&ran.stderr), "{}", ran.stderr);
    assert!(ran.stdout.contains("rounds counted"), "what was measured is shown: {}", ran.stdout);
    let text = fs::read_to_string(kept.join("runs.jsonl")).expect("the samples");
    let whole: Vec<&str> = text.split_inclusive('\n').filter(|line| line.ends_with('\n')).collect();
    let is_json = |line: &&&str| serde_json::from_str::<serde_json::Value>(line).is_ok();
    assert_eq!(whole.iter().filter(is_json).count(), whole.len(), "{text}");
    let rounds = whole.len() - 1;
    assert!(rounds >= 3, "a head and rounds: {text}");
    // With room again it goes on after them.
    let samples = kept.join("runs.jsonl").display().to_string();
    let wanted = (rounds + 1).to_string();
    let more = strobe(&["bench", "--samples", &samples, "--rounds", &wanted, "true", "echo b"]);
    assert_eq!(more.code, 0, "{}", more.stderr);
    assert!(more.stderr.contains(&format!("going on after {rounds} rounds")), "{}", more.stderr);
}

/// A variant that fills the disk takes the room of everybody else, and is named for it.
const FILLS: &str = r#"
question = "what if there is no room?"
[measure]
counters = ["n"]
quick-seconds = 0.2
[[variant]]
name = "modest"
run = "echo n 3"
[[variant]]
name = "fills"
run = "echo n 4; head -c 10000000 /dev/zero > {build}/big"
"#;

#[test]
fn variant_filling_the_disk_fails_without_a_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let (disk, kept) = (folder.path().join("disk"), folder.path().join("kept"));
    [&disk, &kept].into_iter().for_each(|path| fs::create_dir(path).expect("a folder"));
    fs::write(kept.join("experiment.toml"), FILLS).expect("a description");
    let own = disk.display().to_string();
    let ran = on_a_small_disk(256, &disk, &kept, &["experiment", "run", &own, "--quick"]);
    // Where only files are limited, there is room for what strobe writes itself.
    assert!([74, 1].contains(&ran.code), "{}: {}", ran.code, ran.stderr);
    assert!(ran.stdout.contains("fills fails: "), "{}", ran.stdout);
    assert!(has_no_room(&format!("{}{}", ran.stdout, ran.stderr)), "{}", ran.stderr);
    assert!(!ran.stdout.contains("faster than"), "{}", ran.stdout);
}
