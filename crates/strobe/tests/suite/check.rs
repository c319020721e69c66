//! `strobe check` and `strobe init`: budgets of bundled firmware in directories of their own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use strobe_model::measurement::{Cell, Measurement};
use tempfile::TempDir;

use crate::common::{Ran, command, prebuilt, ran, read, root, signal, total};

/// A directory with a bundled firmware, `fw.elf`, and its budgets.
pub fn project(firmware: &str, budgets: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(prebuilt(firmware), folder.path().join("fw.elf")).unwrap();
    let head = "[[firmware]]\nelf = \"fw.elf\"\nuntil = \"finished\"\n";
    fs::write(folder.path().join("strobe.toml"), format!("{head}{budgets}")).unwrap();
    folder
}

pub fn check(folder: &TempDir, arguments: &[&str]) -> Ran {
    let mut command = command();
    for name in ["GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"] {
        command.env_remove(name);
    }
    ran(command.arg("check").args(arguments).current_dir(folder.path()))
}

pub fn budget(keys: &str) -> String {
    format!("\n[[firmware.budget]]\n{keys}\n")
}

pub fn verdicts(measurement: &Measurement) -> [u64; 5] {
    ["held", "exceeded", "undecided", "unknown", "broken"].map(|id| total(measurement, id).as_u64())
}

#[test]
fn the_demo_firmware_keeps_its_budgets() {
    let path = root().join("firmware/strobe.toml").display().to_string();
    let ran = crate::common::strobe(&["check", &path]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn exceeded_budget_fails_with_functions_in_every_form() {
    let budgets = [
        budget("function = \"test_loop\"\nmax = \"1000 cycles\""),
        budget("size = \"total\"\nmax = \"64 KiB\""),
        budget("pin = \"PB8\"\nmax = \"1 ms\""),
    ];
    let folder = project("loop-48mhz", &budgets.concat());
    let ran =
        check(&folder, &["--junit", "j.xml", "--markdown", "m.md", "--github", "-o", "v.json"]);
    assert_eq!(ran.code, 110, "{}", ran.stderr);
    let line = ran.stderr.lines().next().unwrap();
    assert!(line.starts_with("::error file=strobe.toml,title=budget exceeded"), "{line}");
    let at = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let xml = at("j.xml");
    let document = roxmltree::Document::parse(&xml).unwrap();
    let failure = document.descendants().find(|node| node.has_tag_name("failure")).unwrap();
    assert!(failure.text().unwrap().contains("test_loop "), "{xml}");
    assert!(at("m.md").contains("1 of 3 budgets not held"));
    let shown = check(&folder, &["--format", "json"]);
    assert_eq!(shown.code, 110);
    let measurement = read(&shown);
    assert_eq!(verdicts(&measurement), [2, 1, 0, 0, 0]);
    let evidence = &measurement.findings[0].evidence;
    assert!(evidence[0].1.iter().any(|(name, _)| name == "test_loop"), "{evidence:?}");
    let actions = ran_in_actions(&folder);
    assert!(actions.contains("1 of 3 budgets not held"));
}

/// What the functions below another one have is a part of its inclusive figure, sleep left out.
#[test]
fn the_functions_named_are_parts_of_the_figure() {
    let folder = project(
        "stepper",
        &budget("function = \"main\"\nfigure = \"inclusive\"\nmax = \"1 cycle\""),
    );
    let measurement = read(&check(&folder, &["--format", "json"]));
    assert_eq!(verdicts(&measurement), [0, 1, 0, 0, 0]);
    let (Cell::Figure { value: Some(value), .. } | Cell::Exact(value)) =
        &measurement.table("budgets-cycles").unwrap().column("value").unwrap().cells[0]
    else {
        panic!("a figure");
    };
    let (title, shares) = &measurement.findings[0].evidence[0];
    assert_eq!(title, "functions responsible");
    assert!(shares.len() > 1, "{shares:?}");
    let sum: u64 = shares.iter().map(|(_, n)| n.replace(',', "").parse::<u64>().unwrap()).sum();
    // The largest only: of a figure without sleep they are no more than it.
    assert!((value.as_u64() / 2..=value.as_u64()).contains(&sum), "{value:?} {shares:?}");
}

fn ran_in_actions(folder: &TempDir) -> String {
    let mut command = command();
    command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", "summary.md");
    let ran = ran(command.arg("check").current_dir(folder.path()));
    assert!(ran.stderr.starts_with("::error "), "{}", ran.stderr);
    fs::read_to_string(folder.path().join("summary.md")).unwrap()
}

#[test]
fn unmatched_budget_is_an_error_with_nearest_name() {
    let budgets = [
        budget("function = \"test_lopp\"\nmax = \"1 cycles\""),
        budget("function = \"tst_loop\"\nfigure = \"call-max\"\nmax = \"1 cycles\""),
        budget("section = \"pinz\"\nrow = \"PB8 high\"\ncolumn = \"max\"\nmax = \"1 ms\""),
        budget("section = \"pins\"\nrow = \"PB8 high\"\ncolumn = \"max\"\nmax = \"1 ms\""),
        budget("interrupt = \"SysTick\"\nmax = \"1 ms\""),
        budget("size = \"symbol/test_looop\"\nmax = \"1 KiB\""),
    ];
    let marked = format!("run = [\"--mark\", \"PB8\"]\n{}", budgets.concat());
    let folder = project("loop-48mhz", &marked);
    let ran = check(&folder, &["--format", "json"]);
    assert_eq!(ran.code, 65, "{}", ran.stderr);
    let measurement = read(&ran);
    assert_eq!(verdicts(&measurement), [1, 0, 0, 0, 5]);
    let texts: Vec<&str> = measurement.findings.iter().map(|finding| &*finding.text).collect();
    for text in [texts[0], texts[1], texts[4]] {
        assert!(text.contains("nearest: test_loop"), "{texts:?}");
    }
    assert!(texts[2].contains("nearest: pins"), "{texts:?}");
}

/// The loop takes 2,194 cycles, as its pin shows.
#[test]
fn times_between_arrivals_at_a_mark_have_budgets() {
    let budgets = [
        budget("mark = \"test_loop\"\nmax = \"2600 cycles\"\nmin = \"2000 cycles\""),
        budget("mark = \"test_loop\"\nfigure = \"count\"\nmax = \"9\"\nmin = \"9\""),
    ];
    let folder = project("loop-48mhz", &budgets.concat());
    let ran = check(&folder, &[]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

/// Of a firmware that GNU ld linked with a map of that form.
#[test]
fn memories_of_the_linkers_map_have_budgets() {
    let budgets = [
        budget("size = \"region/FLASH\"\nmax = \"128 KiB\""),
        budget("size = \"region/RAM\"\nfigure = \"free\"\nmin = \"8 KiB\""),
        budget("size = \"region/FLASH\"\nfigure = \"share\"\nmax = \"50 %\""),
    ];
    let with_map = format!("size = [\"--map\", \"fw.map\"]\n{}", budgets.concat());
    let folder = project("loop-48mhz", &with_map);
    let map = "Memory Configuration\n\nName             Origin             Length             \
               Attributes\n\
               FLASH            0x08000000         0x00020000         xr\n\
               RAM              0x20000000         0x00004000         xrw\n\
               *default*        0x00000000         0xffffffff\n\n\
               Linker script and memory map\n\n\
               .text           0x080000c0       0x10\n \
               .text          0x080000c0       0x10 main.o\n";
    fs::write(folder.path().join("fw.map"), map).unwrap();
    let ran = check(&folder, &[]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    fs::write(folder.path().join("strobe.toml"), {
        let head = "[[firmware]]\nelf = \"fw.elf\"\n";
        format!("{head}{}", budgets[0])
    })
    .unwrap();
    let ran = check(&folder, &[]);
    assert_eq!(ran.code, 65, "{}", ran.stdout);
    assert!(ran.stdout.contains("--map"), "{}", ran.stdout);
}

#[test]
fn figures_are_accepted_shown_and_counted_from() {
    let relative = budget("function = \"test_loop\"\nfigure = \"inclusive\"\nmax = \"+2 %\"");
    let folder = project("loop-48mhz-aligned", &relative);
    let ran = check(&folder, &[]);
    assert_eq!(ran.code, 65, "{}", ran.stdout);
    assert!(ran.stdout.contains("--accept"), "{}", ran.stdout);
    let ran = check(&folder, &["--accept"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("new -> "), "{}", ran.stdout);
    assert_eq!(check(&folder, &[]).code, 0);
    assert!(check(&folder, &["--accept"]).stdout.contains("as before"));
    // Without the alignment the loop waits for the flash.
    fs::copy(prebuilt("loop-48mhz"), folder.path().join("fw.elf")).unwrap();
    let ran = check(&folder, &[]);
    assert_eq!(ran.code, 110, "{}", ran.stdout);
    assert!(ran.stdout.contains("functions that changed"), "{}", ran.stdout);
    let ran = check(&folder, &["--accept"]);
    assert!(ran.stdout.contains(" -> ") && !ran.stdout.contains("new"), "{}", ran.stdout);
    assert!(ran.stdout.contains(" %)"), "{}", ran.stdout);
    assert_eq!(check(&folder, &[]).code, 0);
}

#[test]
fn foreign_or_truncated_baselines_are_refused() {
    let relative = budget("function = \"test_loop\"\nmax = \"+2 %\"")
        + &budget("function = \"main\"\nmax = \"+2 %\"");
    let folder = project("loop-48mhz", &relative);
    assert_eq!(check(&folder, &["--accept"]).code, 0);
    let path = folder.path().join("strobe-baseline.toml");
    let whole = fs::read_to_string(&path).unwrap();
    let refused = |text: &str, words: &str| {
        fs::write(&path, text).unwrap();
        let ran = check(&folder, &[]);
        assert_eq!(ran.code, 65, "{}", ran.stdout);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains(words), "{words}: {said}");
    };
    refused(&whole.replace("fw.elf", "other.elf"), "is of other.elf");
    refused(&whole.replace("baseline/1", "baseline/9"), "strobe-baseline/9");
    let last = whole.rfind("[firmware.").unwrap();
    refused(&whole[..last], "strobe check --accept");
    refused(&whole[..whole.len() / 3], "--accept");
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(folder).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
    let output = command.args(arguments).output().expect("git is installed");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn another_revision_is_built_compared_and_removed() {
    let relative = budget("function = \"test_loop\"\nfigure = \"inclusive\"\nmax = \"+2 %\"");
    let folder = project("loop-48mhz-aligned", &relative);
    let path = folder.path().join("strobe.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::rename(folder.path().join("fw.elf"), folder.path().join("made.bin")).unwrap();
    let build = "elf = \"fw.elf\"\nbuild = \"cp made.bin fw.elf\"";
    fs::write(&path, text.replace("elf = \"fw.elf\"", build)).unwrap();
    git(folder.path(), &["init", "-q"]);
    git(folder.path(), &["add", "made.bin", "strobe.toml"]);
    git(folder.path(), &["commit", "-q", "-m", "aligned"]);
    let ran = check(&folder, &["--against", "HEAD"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    fs::copy(prebuilt("loop-48mhz"), folder.path().join("made.bin")).unwrap();
    let ran = check(&folder, &["--against", "HEAD"]);
    assert_eq!(ran.code, 110, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("functions that changed"), "{}", ran.stdout);
    // Where the other revision cannot be built, today's figure is known all the same.
    let broken =
        text.replace("elf = \"fw.elf\"", "elf = \"fw.elf\"\nbuild = \"cp new.bin fw.elf\"");
    fs::write(&path, broken).unwrap();
    fs::copy(prebuilt("loop-48mhz"), folder.path().join("new.bin")).unwrap();
    let ran = check(&folder, &["--against", "HEAD", "--format", "json"]);
    assert_eq!(ran.code, 65, "{}", ran.stdout);
    let known = read(&ran).table("budgets-cycles").is_some_and(|table| {
        table.column("value").is_some_and(|value| value.cells[0].number().is_some())
    });
    assert!(known && ran.stdout.contains("of the other revision"), "{}", ran.stdout);
    let ran = check(&folder, &["--against", "no-such-branch"]);
    assert_eq!(ran.code, 65);
    assert!(ran.stderr.contains("no such revision"), "{}", ran.stderr);
    assert_eq!(git(folder.path(), &["worktree", "list"]).lines().count(), 1);
}

#[test]
fn builds_that_fail_or_hang_are_named() {
    let idle = budget("idle = true\nmin = \"0 %\"");
    let folder = project("loop-48mhz", &idle);
    let path = folder.path().join("strobe.toml");
    let text = fs::read_to_string(&path).unwrap();
    let with = |keys: &str| {
        fs::write(&path, text.replace("until", &format!("{keys}\nuntil"))).unwrap();
        let ran = check(&folder, &[]);
        assert_eq!(ran.code, 65, "{}", ran.stdout);
        ran.stdout
    };
    let failed = with("build = \"echo no rule >&2; exit 3\"");
    assert!(failed.contains("no rule") && failed.contains("failed"), "{failed}");
    let hung = with("build = \"sleep 1000\"\nbuild-timeout = \"200ms\"");
    assert!(hung.contains("ended after 0.2 s"), "{hung}");
    let ended = with("exit-code = 7");
    assert!(ended.contains("ended with 0"), "{ended}");
}

#[test]
fn bad_files_are_refused_in_words() {
    let folder = project("loop-48mhz", "");
    let path = folder.path().join("strobe.toml");
    let refused = |text: &str, words: &str| {
        fs::write(&path, text).unwrap();
        let ran = check(&folder, &[]);
        assert_eq!(ran.code, 65, "{}", ran.stderr);
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
        assert!(ran.stderr.len() < 6000, "{} bytes", ran.stderr.len());
    };
    let head = "[[firmware]]\nelf = \"fw.elf\"\n";
    let contradiction = budget("idle = true\nmin = \"50 %\"\nmax = \"40 %\"");
    refused(&format!("{head}{contradiction}"), "contradict");
    refused(&format!("{head}{head}"), "nothing is checked");
    let held = budget("idle = true\nmin = \"1 %\"");
    refused(&format!("{head}{held}{head}{held}"), "two firmwares are called fw");
    refused(&format!("{head}{}", budget("idle = true\nmim = \"1 %\"")), "did you mean `min`");
    refused(&format!("a = {}", "[".repeat(1 << 20)), "strobe.toml");
    refused(&"[[firmware]]\n".repeat(100_000), "elf");
    fs::write(&path, vec![b'#'; 5 << 20]).unwrap();
    assert_eq!(check(&folder, &[]).code, 65);
    fs::remove_file(&path).unwrap();
    assert_eq!(check(&folder, &[]).code, 66);
}

#[test]
fn other_instruments_are_read_and_truncated_files_fail() {
    let keys = "of = \"run\"\nsection = \"causes\"\nrow = \"execute\"\ncolumn = \"cycles\"\n\
                min = \"1 cycles\"";
    let other = keys.replace("\"run\"", "\"mine\"") + "\nname = \"mine\"";
    let head = "measurement.mine = { file = \"m.json\" }\n";
    let folder = project("loop-48mhz", &format!("{head}{}{}", budget(keys), budget(&other)));
    let mut run = command();
    run.args(["run", "fw.elf", "--until", "finished", "-q", "-o", "m.json"]);
    assert_eq!(ran(run.current_dir(folder.path())).code, 0);
    let whole = check(&folder, &[]);
    assert_eq!(whole.code, 0, "{}{}", whole.stdout, whole.stderr);
    let path = folder.path().join("m.json");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let cut = check(&folder, &["--format", "json"]);
    assert_eq!(cut.code, 65);
    assert_eq!(verdicts(&read(&cut)), [1, 0, 0, 0, 1]);
}

#[test]
fn a_firmware_without_symbols_keeps_what_needs_none() {
    let budgets = budget("function = \"test_loop\"\nmax = \"1 cycles\"")
        + &budget("total = \"cycles\"\nmax = \"1000000 cycles\"");
    let folder = project("loop-48mhz", &budgets);
    let elf = folder.path().join("fw.elf");
    let strip = Command::new("arm-none-eabi-strip").arg(&elf).status().expect("binutils");
    assert!(strip.success());
    let path = folder.path().join("strobe.toml");
    let text = fs::read_to_string(&path).unwrap().replace("finished", "100us");
    fs::write(&path, text).unwrap();
    let ran = check(&folder, &["--format", "json"]);
    assert_eq!(ran.code, 65, "{}", ran.stderr);
    assert_eq!(verdicts(&read(&ran)), [1, 0, 0, 0, 1]);
}

#[test]
fn a_first_file_holds_and_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(prebuilt("threads-freertos"), folder.path().join("fw.elf")).unwrap();
    let init = |more: &[&str]| {
        let mut command = command();
        command.args(["init", "fw.elf", "--until", "50ms"]).args(more);
        ran(command.current_dir(folder.path()))
    };
    let made = init(&[]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let text = fs::read_to_string(folder.path().join("strobe.toml")).unwrap();
    for word in ["function = ", "interrupt = ", "size = ", "idle = true", "\n# "] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let ran = check(&folder, &[]);
    assert_eq!(ran.code, 0, "{text}\n{}{}", ran.stdout, ran.stderr);
    let again = init(&[]);
    assert_eq!(again.code, 64);
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    // Further options of the run are kept for later ones.
    assert_eq!(init(&["--force", "--", "--bounds", "none"]).code, 0);
    let text = fs::read_to_string(folder.path().join("strobe.toml")).unwrap();
    assert!(text.contains("run = [\"--bounds\", \"none\"]"), "{text}");
    let ran = check(&folder, &[]);
    assert_eq!(ran.code, 0, "{text}\n{}{}", ran.stdout, ran.stderr);
}

/// One mistake has one message and one exit code, whichever command of the two meets it.
#[test]
fn first_file_reports_the_errors_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(prebuilt("fault"), folder.path().join("fault.elf")).unwrap();
    fs::copy(prebuilt("loop-48mhz"), folder.path().join("fw.elf")).unwrap();
    let run = |of: &str, arguments: &[&str]| {
        let mut command = command();
        ran(command.arg(of).args(arguments).current_dir(folder.path()))
    };
    let cases: [(&[&str], i32); 6] = [
        (&["fw.elf", "--until", "nosuch"], 64),
        (&["fw.elf", "--board", "nosuch"], 64),
        (&["fw.elf", "--until", "PB9:rise", "--until", "1ms"], 122),
        (&["fault.elf"], 120),
        (&["fw.elf", "--until", "1ms", "-o", "fw.elf/x"], 74),
        (&["fw.elf", "--until", "1ms", "-o", "nosuch/x"], 74),
    ];
    for (arguments, code) in cases {
        let (of_run, of_init) = (run("run", arguments), run("init", arguments));
        assert_eq!((of_run.code, of_init.code), (code, code), "{arguments:?} {}", of_init.stderr);
        if code == 64 {
            assert_eq!(of_init.stderr, of_run.stderr);
        }
        if code == 74 {
            let written = format!("cannot write {}", arguments[4]);
            assert!(of_init.stderr.contains(&written), "{}", of_init.stderr);
        }
        assert!(!folder.path().join("strobe.toml").exists(), "{arguments:?}");
    }
    let never = run("init", cases[2].0).stderr;
    assert_eq!(never, "strobe: --until PB9:rise was never reached\n");
}

/// A function without a budget of its own is in the whole; a handler is judged by one run of it.
#[test]
fn first_file_of_an_ending_program_budgets_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(prebuilt("generic-c"), folder.path().join("fw.elf")).unwrap();
    let init = |more: &[&str]| {
        let mut command = command();
        ran(command.args(["init", "fw.elf"]).args(more).current_dir(folder.path()))
    };
    let refused = init(&[]);
    assert_eq!(refused.code, 65);
    assert!(refused.stderr.contains("--exit-code 42"), "{}", refused.stderr);
    let made = init(&["--exit-code", "42"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let text = fs::read_to_string(folder.path().join("strobe.toml")).unwrap();
    assert!(text.contains("[[firmware.budget]]\ntotal = \"cycles\"\nmax = "), "{text}");
    assert!(text.contains("figure = \"duration-max\"") || !text.contains("interrupt = "), "{text}");
    assert!(!text.contains("_Handler\"\n"), "{text}");
    let checked = check(&folder, &[]);
    assert_eq!(checked.code, 0, "{text}\n{}{}", checked.stdout, checked.stderr);
}

/// The commands of the documented jobs and of the hook.
#[test]
fn documented_jobs_run() {
    let text = fs::read_to_string(root().join("docs/ci.md")).unwrap();
    let job = |line: &str| {
        let line = line.trim();
        let command = line.strip_prefix("run: ").or(line.strip_prefix("- "))?;
        command.starts_with("strobe ").then(|| command.to_owned())
    };
    let mut commands: Vec<String> = text.lines().filter_map(job).collect();
    let hooks = fs::read_to_string(root().join(".pre-commit-hooks.yaml")).unwrap();
    commands
        .extend(hooks.lines().filter_map(|line| line.strip_prefix("  entry: ")).map(str::to_owned));
    assert_eq!(commands.len(), 3, "{commands:?}");
    let folder = project("loop-48mhz", &budget("size = \"total\"\nmax = \"64 KiB\""));
    let strobe = command();
    let strobe = Path::new(strobe.get_program()).parent().unwrap().to_owned();
    for line in commands {
        let mut shell = Command::new("sh");
        let path = format!("{}:{}", strobe.display(), std::env::var("PATH").unwrap());
        shell.args(["-ec", &line]).env("PATH", path).current_dir(folder.path());
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
    for name in ["budgets.xml", "budgets.md", "budgets.measurement"] {
        assert!(folder.path().join(name).is_file(), "{name}");
    }
}

#[test]
fn watching_shows_what_a_build_changed_and_ends() {
    let folder = project("loop-48mhz", &budget("total = \"cycles\"\nmax = \"1 s\""));
    let path = folder.path().join("strobe.toml");
    let text = fs::read_to_string(&path).unwrap();
    let build = "build = \"cp $(cat which.c) fw.elf\"\nuntil";
    fs::write(&path, text.replace("until", build)).unwrap();
    let choose = |name| fs::write(folder.path().join("which.c"), prebuilt(name)).unwrap();
    choose("loop-48mhz");
    let mut command = command();
    command.args(["check", "--watch"]).current_dir(folder.path()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "1 of 1 budgets held");
    assert!(!lines.next().unwrap().contains("since the last build"));
    choose("loop-48mhz-aligned");
    assert_eq!(lines.next().unwrap(), "1 of 1 budgets held");
    let second = lines.next().unwrap();
    signal("INT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(second.contains("since the last build"), "{second}");
}
