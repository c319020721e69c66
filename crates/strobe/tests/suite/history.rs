//! `strobe log`, `strobe history` and `strobe query`, from the first build to damaged archives.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use strobe_model::measurement::Measurement;

use crate::common::recorded::{recorded, rows};
use crate::common::{Ran, command, prebuilt, ran, strobe};

/// A folder with an archive to be, and measurements of two builds of one firmware.
struct Archive(tempfile::TempDir);

impl Archive {
    fn new() -> Archive {
        Archive(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> String {
        self.0.path().join("archive").display().to_string()
    }

    /// What is flash and RAM of a bundled program, as a measurement.
    fn size(&self, program: &str) -> String {
        let path = self.0.path().join(format!("{program}.measurement")).display().to_string();
        let ran = strobe(&["size", &prebuilt(program), "-o", &path]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        path
    }

    /// Logs it, in a folder that is no repository.
    fn log(&self, measurement: &str, arguments: &[&str]) -> Ran {
        let mut log = command();
        log.current_dir(self.0.path()).args(["log", &self.path(), measurement]).args(arguments);
        ran(&mut log)
    }

    fn logged(&self, measurement: &str, arguments: &[&str]) {
        let ran = self.log(measurement, arguments);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }

    /// Two builds: the kit off, then on.
    fn of_two_builds() -> Archive {
        let archive = Archive::new();
        for (program, commit, day) in
            [("trace-kit-off", "aaa1", "2026-01-01"), ("trace-kit", "bbb2", "2026-02-01")]
        {
            let size = archive.size(program);
            let all = ["--commit", commit, "--date", day, "--project", "demo"];
            archive.logged(&size, &[&all[..], &["--board", "m0", "--subject", "kit"]].concat());
        }
        archive
    }

    /// Its files.
    fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut left = vec![PathBuf::from(self.path())];
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { left.push(path) } else { found.push(path) }
            }
        }
        found.sort();
        found
    }

    fn history(&self, arguments: &[&str]) -> Measurement {
        recorded(&[&["history", &self.path()], arguments].concat())
    }
}

fn code(measurement: &Measurement, code: &str) -> usize {
    measurement.findings.iter().filter(|finding| finding.code == code).count()
}

#[test]
fn builds_are_logged_and_the_larger_one_is_named() {
    let archive = Archive::of_two_builds();
    let places = ["date=2026-01-01", "date=2026-02-01"];
    for (path, date) in archive.files().iter().zip(places) {
        let folder = Path::new("archive/project=demo/board=m0").join(date);
        assert!(path.parent().unwrap().ends_with(&folder), "{}", path.display());
    }
    let overview = archive.history(&[]);
    let groups = rows(&overview, "measurements");
    assert_eq!(groups.len(), 1);
    assert_eq!((&groups[0]["measurements"], &groups[0]["commits"]), (&2.into(), &2.into()));
    let rises = rows(&overview, "rises-bytes");
    assert!(rises.iter().all(|row| row["commit"] == "bbb2" && row["known"] == "exactly"));
    let flash = rises.iter().find(|row| row["figure"] == "totals/flash").unwrap();
    let (before, after) = (flash["before"].as_i64().unwrap(), flash["after"].as_i64().unwrap());
    assert_eq!(flash["change"].as_i64(), Some(after - before));

    let item = archive.history(&["(all)", "--section", "totals", "--figure", "flash"]);
    let builds = rows(&item, "history");
    assert_eq!(builds.len(), 2);
    assert_eq!(
        (builds[0]["value"].as_i64(), builds[1]["value"].as_i64()),
        (Some(after), Some(before))
    );
    assert_eq!(builds[0]["step"], "more, exactly");
    let grew = archive.history(&["--grew", "30d"]);
    assert!(rows(&grew, "grew-bytes").iter().any(|row| row["figure"] == "totals/flash"));
}

#[test]
fn a_function_is_shown_as_text_with_its_trend() {
    let archive = Archive::of_two_builds();
    let shown = strobe(&["history", &archive.path(), "main"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    for part in ["main", "aaa1", "bbb2", "2026-02-01", "trend"] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    let none = strobe(&["history", &archive.path(), "no_such_function"]);
    assert_eq!(none.code, 64);
    assert!(none.stderr.contains("nothing in the archive has that name"), "{}", none.stderr);
    let like = strobe(&["history", &archive.path(), "mian"]);
    assert!(like.stderr.contains("did you mean main"), "{}", like.stderr);
    for (option, name) in [("--section", "layers"), ("--figure", "flash"), ("--subject", "kit")] {
        let wrong = strobe(&["history", &archive.path(), option, "nonsense"]);
        assert_eq!(wrong.code, 64);
        let expected = format!("{option} nonsense: ");
        assert!(
            wrong.stderr.contains(&expected) && wrong.stderr.contains(name),
            "{}",
            wrong.stderr
        );
    }
    let many = strobe(&["history", &archive.path(), "a"]);
    assert_eq!((many.code, many.stderr.contains("which one of")), (64, true), "{}", many.stderr);
    let wrong = strobe(&["history", &archive.path(), "--grew", "soon"]);
    assert_eq!(wrong.code, 64, "{}", wrong.stderr);
    // Answers are measurements, which other commands read.
    let path = archive.0.path().join("answer.json").display().to_string();
    assert_eq!(strobe(&["history", &archive.path(), "-o", &path]).code, 0);
    let report = strobe(&["report", &path]);
    assert_eq!((report.code, report.stdout.contains("took more")), (0, true), "{}", report.stderr);
}

#[test]
fn the_commit_is_that_of_the_folder() {
    let archive = Archive::new();
    let size = archive.size("trace-kit");
    let tree = archive.0.path().join("My project");
    fs::create_dir(&tree).unwrap();
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(&tree).args(["-c", "user.name=a", "-c", "user.email=a@b"]);
        let date = "2026-03-04T05:06:07Z";
        git.env("GIT_COMMITTER_DATE", date).env("GIT_AUTHOR_DATE", date);
        let output = git.args(arguments).output().expect("git is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "--quiet", "--initial-branch", "work"]);
    fs::write(tree.join("a.c"), "int a;").unwrap();
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "a"]);
    let commit = git(&["rev-parse", "HEAD"]);
    let log = || ran(command().current_dir(&tree).args(["log", &archive.path(), &size]));
    assert_eq!(log().code, 0);
    fs::write(tree.join("a.c"), "int b;").unwrap();
    let dirty = log();
    assert!(dirty.stdout.contains("1 measurement of"), "{}", dirty.stdout);
    assert!(archive.files().iter().all(|path| {
        path.display().to_string().contains("project=My-project/board=none/date=")
    }));
    let builds = rows(&archive.history(&["(all)", "--figure", "flash"]), "history");
    let names: Vec<_> = builds.iter().map(|row| row["commit"].as_str().unwrap()).collect();
    let short = &commit[..12];
    assert_eq!(names, [&format!("{short}-dirty"), short]);
    assert!(builds.iter().all(|row| row["branch"] == "work" && row["date"] == "2026-03-04"));
}

/// `--log`: the measurement as a whole, whatever of it is printed.
#[test]
fn measurements_are_logged_immediately() {
    let archive = Archive::new();
    let elf = prebuilt("trace-kit");
    let log = |arguments: &[&str]| {
        let mut log = command();
        ran(log.current_dir(archive.0.path()).args(arguments).args(["--log", &archive.path()]))
    };
    let plain = strobe(&["size", &elf, "--top", "1"]);
    let logged = log(&["size", &elf, "--top", "1"]);
    assert_eq!((logged.code, &logged.stdout), (0, &plain.stdout), "{}", logged.stderr);
    assert!(logged.stderr.contains("logged 1 measurement without a commit"), "{}", logged.stderr);
    let of_file = archive.log(&archive.size("trace-kit"), &[]);
    let figures =
        |text: &str| text.split(", ").nth(1).unwrap().split(':').next().unwrap().to_owned();
    assert_eq!(figures(&logged.stderr), figures(&of_file.stdout));
    assert_eq!(log(&["stack", &elf]).code, 0);
    assert_eq!(log(&["bench", &prebuilt("benched"), "--filter", "crc16"]).code, 0);
    let groups = rows(&archive.history(&[]), "measurements");
    let of = |row: &serde_json::Value, column: &str| row[column].to_string();
    let found: Vec<_> =
        groups.iter().map(|row| (of(row, "instrument"), of(row, "measurements"))).collect();
    let expected = [
        ("\"benchmarks on a simulated board\"", "1"),
        ("\"image sizes\"", "2"),
        ("\"image stacks\"", "1"),
    ];
    assert_eq!(found, expected.map(|(name, n)| (name.to_owned(), n.to_owned())));
    let crc = rows(&archive.history(&["crc16/64", "--figure", "cycles"]), "history");
    assert_eq!(crc.len(), 1);
    // What cannot be logged is refused before anything is measured.
    let other = archive.0.path().display().to_string();
    fs::write(archive.0.path().join("main.c"), "int a;").unwrap();
    let refused = strobe(&["size", &elf, "--log", &other]);
    assert_eq!((refused.code, refused.stdout.as_str()), (64, ""), "{}", refused.stderr);
    assert_eq!(strobe(&["size", &elf, "--why", "main", "--log", &archive.path()]).code, 64);
}

/// Each call writes a file of its own; none is ever half there.
/// Flash and stacks are read off an image: on no board, and by instruments of their own.
#[test]
fn sizes_and_stacks_have_histories_of_their_own() {
    let archive = Archive::new();
    for (program, commit, day) in
        [("trace-kit-off", "aaa1", "2026-01-01"), ("trace-kit", "bbb2", "2026-02-01")]
    {
        let stack = archive.0.path().join("stack.measurement").display().to_string();
        let ran = strobe(&["stack", &prebuilt(program), "-o", &stack]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let all = ["--commit", commit, "--date", day, "--project", "demo", "--subject", "kit"];
        archive.logged(&archive.size(program), &all);
        archive.logged(&stack, &all);
    }
    let folder = Path::new(&archive.path()).join("project=demo/board=none");
    assert!(folder.is_dir(), "{:?}", archive.files());
    let shown = strobe(&["history", &archive.path()]).stdout;
    for instrument in ["image sizes", "image stacks"] {
        assert!(shown.contains(instrument), "{instrument}: {shown}");
    }
    let flash = strobe(&["history", &archive.path(), "(all)", "--figure", "flash"]).stdout;
    assert!(flash.contains("totals/flash, demo none kit"), "{flash}");
    assert!(flash.contains("measurements  2"), "{flash}");
    let stacks = strobe(&["history", &archive.path(), "main", "--figure", "worst"]).stdout;
    assert!(stacks.contains("worst, demo none kit"), "{stacks}");
    assert!(!stacks.contains("varies"), "a worst case is a bound and no sample: {stacks}");
}

#[test]
fn several_writers_do_not_disturb_each_other() {
    let archive = Archive::new();
    let size = archive.size("trace-kit");
    let writers: Vec<_> = (0..8)
        .map(|n| {
            let mut log = command();
            let (day, commit) = ("2026-05-05", format!("c{n}"));
            log.args(["log", &archive.path(), &size, "--commit", &commit, "--date", day]);
            log.stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let files = archive.files();
    assert_eq!(files.len(), 8, "{files:?}");
    let overview = archive.history(&[]);
    assert_eq!(rows(&overview, "measurements")[0]["commits"], 8);
    assert!(rows(&overview, "rises-bytes").is_empty());
}

#[test]
fn damaged_and_foreign_files_are_named_and_left_out() {
    let archive = Archive::of_two_builds();
    let first = archive.files().remove(0);
    let whole = fs::read(&first).unwrap();
    let folder = first.parent().unwrap();
    fs::write(folder.join("part-half.parquet"), &whole[..whole.len() / 2]).unwrap();
    fs::write(folder.join("part-empty.parquet"), "").unwrap();
    fs::write(folder.join(".strobe-x.part"), "somebody writes").unwrap();
    fs::write(Path::new(&archive.path()).join("notes.txt"), "mine").unwrap();
    // Another version: the key's value is one byte before its end in the file's own metadata.
    let key = b"strobe.archive.schema";
    let at = whole.windows(key.len()).rposition(|part| part == key).unwrap() + key.len();
    let mut other = whole.clone();
    let digit = other[at..].iter().position(|byte| *byte == b'1').unwrap() + at;
    other[digit] = b'7';
    fs::write(folder.join("part-later.parquet"), other).unwrap();

    let overview = archive.history(&[]);
    assert_eq!(code(&overview, "archive-file"), 4, "{:?}", overview.findings);
    assert_eq!(rows(&overview, "measurements")[0]["measurements"], 2);
    let text = strobe(&["history", &archive.path()]).stdout;
    for part in ["part-half.parquet", "not complete", "schema is version 7", "notes.txt"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // None left that can be used.
    for file in archive.files() {
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, &bytes[..bytes.len() / 3]).unwrap();
    }
    let none = strobe(&["history", &archive.path()]);
    assert_eq!(none.code, 65, "{}", none.stdout);
    assert!(none.stderr.contains("none of"), "{}", none.stderr);
}

/// Another program's files may be compressed in another way.
#[test]
fn unreadable_rows_are_not_blamed_on_filters() {
    let archive = Archive::of_two_builds();
    // The column's compression follows its path: Snappy (1) becomes gzip (2), as thrift has them.
    let column = b"value\x15\x02";
    for file in archive.files() {
        let mut bytes = fs::read(&file).unwrap();
        let at = bytes.windows(column.len()).rposition(|part| part == column).unwrap();
        bytes[at + column.len() - 1] = 4;
        fs::write(&file, bytes).unwrap();
    }
    let ran = strobe(&["history", &archive.path()]);
    assert_eq!(ran.code, 65, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("no figure can be read; project=demo"), "{}", ran.stderr);
}

#[test]
fn other_folders_are_not_taken_for_archives() {
    let archive = Archive::new();
    let missing = strobe(&["history", &archive.path()]);
    assert_eq!(missing.code, 66, "{}", missing.stderr);
    fs::create_dir(archive.path()).unwrap();
    let empty = strobe(&["history", &archive.path()]);
    assert_eq!((empty.code, empty.stderr.contains("the archive is empty")), (65, true));
    let other = archive.0.path().display().to_string();
    fs::write(archive.0.path().join("main.c"), "int a;").unwrap();
    let ran = strobe(&["history", &other]);
    assert_eq!((ran.code, ran.stderr.contains("is no archive")), (65, true), "{}", ran.stderr);
    let size = archive.size("trace-kit");
    assert_eq!(strobe(&["log", &other, &size]).code, 64);
    assert_eq!(strobe(&["log", &size, &size]).code, 66);
    let file = archive.0.path().join("main.c").display().to_string();
    let none = archive.log(&file, &[]);
    assert_eq!((none.code, none.stderr.contains("is no measurement")), (65, true));
    for wrong in [["--date", "yesterday"], ["--project", "../up"], ["--commit", "-x"]] {
        assert_eq!(archive.log(&size, &[&wrong.join("=")]).code, 64, "{wrong:?}");
    }
    assert!(archive.files().is_empty());
}

#[test]
fn projects_are_kept_apart() {
    let archive = Archive::of_two_builds();
    let size = archive.size("trace-kit");
    archive.logged(&size, &["--project", "other", "--board", "m4", "--commit", "ccc3"]);
    let all = archive.history(&[]);
    assert_eq!(rows(&all, "measurements").len(), 2);
    let one = archive.history(&["--project", "other"]);
    assert_eq!(rows(&one, "measurements").len(), 1);
    assert!(rows(&one, "rises-bytes").is_empty());
    let none = strobe(&["history", &archive.path(), "--project", "nobody"]);
    assert_eq!((none.code, none.stderr.contains("demo on m0, other on m4")), (65, true));
}

#[test]
#[cfg(not(feature = "query"))]
fn without_its_feature_sql_names_the_way_to_it() {
    let archive = Archive::of_two_builds();
    let ran = strobe(&["query", &archive.path(), "SELECT 1"]);
    assert_eq!(ran.code, 64);
    assert!(ran.stderr.contains("--features query"), "{}", ran.stderr);
}

#[test]
#[cfg(feature = "query")]
fn sql_answers_what_history_answers() {
    let archive = Archive::of_two_builds();
    let folder = archive.files()[0].parent().unwrap().to_owned();
    fs::write(folder.join("part-half.parquet"), "PAR1").unwrap();
    let flash = "SELECT commit, value, project, date FROM figures \
                 WHERE section = 'totals' AND figure = 'flash' ORDER BY time";
    let csv = strobe(&["query", &archive.path(), flash, "--format", "csv"]);
    assert_eq!(csv.code, 0, "{}", csv.stderr);
    assert!(csv.stderr.contains("part-half.parquet was left out"), "{}", csv.stderr);
    let builds = rows(&archive.history(&["(all)", "--figure", "flash"]), "history");
    let line = |row: &serde_json::Value, date: &str| {
        format!("{},{},demo,{date}", row["commit"].as_str().unwrap(), row["value"])
    };
    let expected = [
        "commit,value,project,date".to_owned(),
        line(&builds[1], "2026-01-01"),
        line(&builds[0], "2026-02-01"),
    ];
    assert_eq!(csv.stdout.lines().collect::<Vec<_>>(), expected);
    let wrong = strobe(&["query", &archive.path(), "SELEC 1"]);
    assert_eq!(wrong.code, 64, "{}", wrong.stderr);
    for writes in ["DROP TABLE figures", "COPY figures TO 'x.csv'", "CREATE TABLE a AS SELECT 1"] {
        assert_eq!(strobe(&["query", &archive.path(), writes]).code, 64, "{writes}");
    }
}
