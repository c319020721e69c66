//! `strobe experiment` as the command that users start: descriptions, exit codes, what is kept,
//! two at once, ends by signals. Counts only, never times.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::bench::{finds, own, signal, started, wait_for};
use crate::common::{read, root, strobe};

/// Two variants that count to 3 and 4, in no time.
const COUNTS: &str = r#"
question = "which counts further?"
needs = ["sh"]
[measure]
counters = ["n"]
quick-seconds = 0.2
[[variant]]
name = "three"
run = "echo n 3"
[[variant]]
name = "four"
run = "echo n 4"
"#;

fn described(text: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("experiment.toml"), text).expect("a description");
    folder
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn new_experiment_passes_check_and_is_never_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = name(&folder.path().join("own"));
    assert_eq!(strobe(&["experiment", "new", &own]).code, 0);
    let checked = strobe(&["experiment", "check", &own]);
    assert_eq!((checked.code, checked.stdout.as_str()), (0, "own: 2 variants, nothing missing\n"));
    let again = strobe(&["experiment", "new", &own]);
    assert_eq!(again.code, 64);
    assert!(again.stderr.contains("is there already"), "{}", again.stderr);
    let listed = strobe(&["experiment", "list", &name(folder.path())]);
    assert_eq!(listed.code, 0);
    assert!(listed.stdout.starts_with("own "), "{}", listed.stdout);
}

#[test]
fn every_bundled_one_is_listed_and_can_be_read() {
    let experiments = root().join("experiments");
    let listed = strobe(&["experiment", "list", &name(&experiments)]).stdout;
    let folders = fs::read_dir(&experiments).expect("the experiments").flatten();
    for folder in folders.filter(|folder| folder.path().is_dir()) {
        let checked = strobe(&["experiment", "check", &name(&folder.path())]);
        // Programs may be missing here; a description must not be wrong.
        assert!(matches!(checked.code, 0 | 69), "{}", checked.stderr);
        let own = folder.file_name().to_string_lossy().into_owned();
        let line = listed.lines().find(|line| line.split_whitespace().next() == Some(own.as_str()));
        assert!(line.is_some_and(|line| line.ends_with('?')), "{own}: {listed}");
    }
}

#[test]
fn unusable_experiments_are_refused_with_distinct_exit_codes() {
    let wrong = [
        (format!("{COUNTS}[measures]\n"), 65, "did you mean measure?"),
        (COUNTS.replace("echo n 4", " "), 65, "variant four: run is empty"),
        (format!("build = 'exit 9;'\n{COUNTS}"), 65, "exit code 9"),
        (COUNTS.replace("\"sh\"", "\"no-such-program\""), 69, "needs no-such-program"),
        (format!("available = 'false'\n{COUNTS}"), 69, "`false`"),
    ];
    for (text, code, words) in wrong {
        let folder = described(&text);
        let ran = strobe(&["experiment", "run", &name(folder.path()), "--quick"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    }
    for action in ["run", "check", "list"] {
        assert_eq!(strobe(&["experiment", action, "no/such/folder"]).code, 66, "{action}");
    }
}

#[test]
fn report_and_compare_read_results_and_samples_stay() {
    let folder = described(COUNTS);
    let result = name(&folder.path().join("own.measurement"));
    let path = name(folder.path());
    let run = ["experiment", "run", &path, "--quick", "--expect"];
    let ran = strobe(&[&run[..], &["-o", &result]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let kept = folder.path().join(".strobe-experiment/quick-samples-0.done.jsonl");
    assert!(kept.is_file(), "raw samples are kept");
    let shown = strobe(&["report", &result]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("which counts further?"), "{}", shown.stdout);
    let compared = strobe(&["compare", &result, &result]);
    assert_eq!(compared.code, 0, "{}", compared.stderr);
    assert!(compared.stdout.contains("nothing that was compared"), "{}", compared.stdout);
}

#[test]
fn conditions_and_expectations_decide_the_exit_code() {
    let expect = "[[expect]]\nvariant = 'four'\ncounter = 'n'\nexactly = 5\n";
    let folder = described(&format!("{COUNTS}{expect}"));
    let path = name(folder.path());
    let run = ["experiment", "run", &path, "--quick", "--format", "json"];
    let ran = strobe(&run);
    assert_eq!(ran.code, 0, "only --expect judges");
    let words = "n of four is 4, and was expected to be 5";
    assert!(finds(&read(&ran), "expectation", words), "{}", ran.stdout);
    assert_eq!(strobe(&[&run[..], &["--expect"]].concat()).code, 1);

    let condition = "[[variant.condition]]\ncounter = 'n'\nat-least = 5\n";
    let folder = described(&format!("{COUNTS}{condition}"));
    let ran = strobe(&["experiment", "run", &name(folder.path()), "--quick", "--format", "json"]);
    assert_eq!(ran.code, 1);
    assert!(finds(&read(&ran), "failed", "four fails"), "{}", ran.stdout);
}

#[test]
fn concurrent_runs_do_not_overwrite_each_others_builds() {
    let word = own("7.2003");
    let build = format!("build = 'echo x >> builds; until test -e go; do sleep {word}; done'\n");
    let folder = described(&format!("{build}{COUNTS}"));
    let path = name(folder.path());
    let mut first = started(&["experiment", "run", &path, "--quick"]);
    wait_for(&word, 1);
    let second = strobe(&["experiment", "run", &path, "--quick"]);
    assert_eq!(second.code, 74, "{}", second.stderr);
    assert!(second.stderr.contains("another run of this experiment"), "{}", second.stderr);
    fs::write(folder.path().join("go"), "").expect("it goes on");
    assert_eq!(first.wait().expect("it ends").code(), Some(0));
    assert_eq!(fs::read_to_string(folder.path().join("builds")).expect("builds"), "x\n");
}

#[test]
fn services_end_with_strobe_however_it_ends() {
    for (name_of, word) in [("TERM", own("7200.301")), ("KILL", own("7200.302"))] {
        let service = format!(
            "[[service]]\nname = 'server'\nstart = 'setsid sleep {word} & sleep {word}'\n\
             ready = 'true'\n"
        );
        let slow = COUNTS.replace("echo n 3", &format!("sleep {word}"));
        let folder = described(&format!("{slow}{service}"));
        let mut strobe = started(&["experiment", "run", &name(folder.path()), "--quick"]);
        // Two of the service, one of the variant.
        wait_for(&word, 3);
        signal(&strobe, name_of);
        strobe.wait().expect("it ends");
        wait_for(&word, 0);
    }
}

/// Also while something is built or prepared; and the next run begins anew.
#[test]
fn nothing_survives_a_kill_before_the_first_round() {
    let (build, prepare) = (own("7200.303"), own("7200.304"));
    let builds =
        format!("build = 'test -e go || {{ setsid sleep {build} & sleep {build}; }}'\n{COUNTS}");
    let prepares = format!(
        "{COUNTS}[[service]]\nname = 'server'\nprepare = 'test -e go || sleep {prepare}'\n\
         start = 'sleep {prepare}'\nready = 'true'\n"
    );
    for (text, word, count) in [(builds, &build, 2), (prepares, &prepare, 1)] {
        let folder = described(&text);
        let path = name(folder.path());
        let run = ["experiment", "run", &path, "--quick"];
        let mut strobe_itself = started(&run);
        wait_for(word, count);
        signal(&strobe_itself, "KILL");
        strobe_itself.wait().expect("it ends");
        wait_for(word, 0);
        fs::write(folder.path().join("go"), "").expect("a file");
        let again = strobe(&run);
        assert_eq!(again.code, 0, "{}", again.stderr);
        wait_for(word, 0);
    }
}

#[test]
fn failing_variant_is_shown_with_its_output() {
    let fails = COUNTS.replace("echo n 4", "echo cannot connect to the database >&2; exit 3");
    let folder = described(&fails);
    let ran = strobe(&["experiment", "run", &name(folder.path()), "--quick", "--format", "json"]);
    assert_eq!(ran.code, 1);
    let words = "four fails: exit code 3; it has no time; its standard error ends: cannot connect";
    assert!(finds(&read(&ran), "failed", words), "{}", ran.stdout);
}

#[test]
fn curves_and_spreads_are_drawn() {
    let sweep = "[sweep]\nparameter = 'k'\nvalues = [1, 100]\n";
    let text = COUNTS.replace("echo n 3", "echo n $((3 * {k}))");
    let text = text.replace("[measure]", &format!("{sweep}[measure]\nmetric = 'n'"));
    let folder = described(&text.replace("quick-seconds = 0.2", "quick-seconds = 60.0"));
    let of = |file: &str| name(&folder.path().join(file));
    let (result, picture) = (of("own.measurement"), of("own.svg"));
    let ran = strobe(&["experiment", "run", &name(folder.path()), "--quick", "-o", &result]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let drawn = strobe(&["export", &result, "--to", "charts", "-o", &picture]);
    assert_eq!(drawn.code, 0, "{}", drawn.stderr);
    let svg = fs::read_to_string(&picture).expect("a picture");
    assert!(svg.contains("<polyline") && svg.contains("four / three"), "{svg}");
    let part = strobe(&["export", &result, "--part", "k=100", "--to", "charts", "-o", &picture]);
    assert_eq!(part.code, 0, "{}", part.stderr);
    assert!(fs::read_to_string(&picture).expect("a picture").contains("wall"));
}
