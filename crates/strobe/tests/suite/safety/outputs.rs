//! No output is an input, results take their place when they are whole, and what cannot be written
//! ends in 74.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::{Folder, is_symlink};

/// Calls, each with the file that it must leave as it was.
const ATTEMPTS: [(&[&str], &str); 31] = [
    (&["report", "q.strobe", "--port", "0=q.strobe"], "q.strobe"),
    (&["report", "q.swo", "--as", "swo", "--port", "0=q.swo"], "q.swo"),
    (&["record", "file:q.swo", "-o", "q.swo", "--force"], "q.swo"),
    (&["record", "file:q.swo", "--elf", "fw.elf", "-o", "fw.elf", "--force"], "fw.elf"),
    (&["run", "fw.elf", "-o", "fw.elf"], "fw.elf"),
    (&["run", "fw.elf", "-o", "./fw.elf"], "fw.elf"),
    (&["run", "fw.elf", "-o", "soft"], "fw.elf"),
    (&["run", "fw.elf", "-o", "hard"], "fw.elf"),
    (&["run", "fw.elf", "--swo", "fw.elf"], "fw.elf"),
    (&["run", "fw.elf", "--uart", "USART1=file:fw.elf"], "fw.elf"),
    (&["export", "x.measurement", "--to", "collapsed", "-o", "x.measurement"], "x.measurement"),
    (&["pins", "x.vcd", "--export", "x.vcd"], "x.vcd"),
    (&["run", "--rig", "rig.toml", "-o", "fw.elf"], "fw.elf"),
    (&["run", "--rig", "rig.toml", "--uart", "USART1=file:board.toml"], "board.toml"),
    (&["bench", "--rounds", "1", "-o", "in.txt", "cat in.txt", "true"], "in.txt"),
    // What only the firmware names.
    (&["cycles", "fw.elf", "test_loop", "-o", SOURCE], SOURCE),
    (&["run", "fw.elf", "--annotate", "test_loop", "-o", SOURCE], SOURCE),
    (&["run", "fw.elf", "--attach", "source", "-o", SOURCE], SOURCE),
    (&["run", "fw.elf", "--annotate", "test_loop", "--swo", SOURCE], SOURCE),
    (&["run", "fw.elf", "--attach", "source", "--uart", UART], SOURCE),
    // What other processes read or write, and strobe.toml or options for them name.
    (&["check", "--junit", "fw.elf"], "fw.elf"),
    (&["check", "-o", "soft"], "fw.elf"),
    (&["check", "--markdown", "hard"], "fw.elf"),
    (&["check", "-o", "board.toml"], "board.toml"),
    (&["check", "-o", "in.txt"], "in.txt"),
    (&["check", "-o", "log.txt"], "log.txt"),
    (&["check", "--junit", "x.measurement"], "x.measurement"),
    (&["check", "--junit", "base.toml"], "base.toml"),
    (&["check", "--accept", "--junit", "base.toml"], "base.toml"),
    (&["init", "fw.elf", "--board", "board.toml", "-o", "board.toml", "--force"], "board.toml"),
    (
        &["init", "fw.elf", "-o", "in.txt", "--force", "--", "--uart-input", "USART1=file:in.txt"],
        "in.txt",
    ),
];

/// Where the firmware's debug information has a source file, from the folder on.
const SOURCE: &str = "firmware/loop/test_loop.S";
const UART: &str = "USART1=file:firmware/loop/test_loop.S";

/// Budgets that name all kinds of files.
const BUDGETS: &str = r#"
baseline = "base.toml"
[[firmware]]
elf = "fw.elf"
board = "board.toml"
until = "finished"
run = ["--uart-input", "USART1=file:in.txt", "--uart", "USART1=file:log.txt"]
[firmware.measurement.m]
file = "x.measurement"
[[firmware.budget]]
function = "test_loop"
max = "1 s"
"#;

fn everything() -> Folder {
    let folder = Folder::new();
    let recorded = folder.strobe(&["record", "file:q.swo", "-o", "q.strobe"]);
    assert_eq!(recorded.code, 0, "{}", recorded.stderr);
    let measured = folder.strobe(&["run", "fw.elf", "-o", "x.measurement"]);
    assert_eq!(measured.code, 0, "{}", measured.stderr);
    symlink("fw.elf", folder.path("soft")).expect("a link");
    std::fs::hard_link(folder.path("fw.elf"), folder.path("hard")).expect("a link");
    let board = "../../crates/strobe-devices/boards/stm32f070cb.toml";
    let board = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(board);
    std::fs::copy(board, folder.path("board.toml")).expect("the board's file");
    std::fs::create_dir_all(folder.path("firmware/loop")).expect("it is ours");
    folder.write(SOURCE, b"somebody's work");
    folder.write("strobe.toml", BUDGETS.as_bytes());
    folder.write("in.txt", b"in");
    folder.write("log.txt", b"of an earlier run");
    assert_eq!(folder.strobe(&["check", "--accept"]).code, 0);
    folder.write(
        "rig.toml",
        b"name = 'one'\n[[chip]]\nname = 'a'\nboard = 'board.toml'\nfirmware = 'fw.elf'\n",
    );
    folder
}

#[test]
fn no_output_is_an_input() {
    let folder = everything();
    for (arguments, file) in ATTEMPTS {
        let before = folder.read(file);
        let ran = folder.strobe(arguments);
        assert_eq!(ran.code, 64, "{arguments:?}: {}", ran.stderr);
        let names_it = ran.stderr.contains(file) || ran.stderr.contains("--accept");
        assert!(names_it, "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{arguments:?}");
        assert_eq!(folder.read(file), before, "{arguments:?} destroyed {file}");
    }
}

/// A shell opens the file for that, and no argument names it.
#[test]
fn standard_output_is_no_input() {
    let folder = everything();
    let calls: [(&[&str], &str); 5] = [
        (&["report", "q.strobe"], "q.strobe"),
        (&["run", "fw.elf", "--board", "board.toml"], "board.toml"),
        (&["pins", "x.vcd"], "x.vcd"),
        (&["export", "x.measurement", "--to", "collapsed", "-o", "/dev/stdout"], "x.measurement"),
        (&["cycles", "fw.elf", "test_loop"], SOURCE),
    ];
    for (arguments, file) in calls {
        let before = folder.read(file);
        let onto = std::fs::OpenOptions::new().append(true).open(folder.path(file)).expect("ours");
        let ran = folder.command(arguments).stdout(onto).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(64), "{arguments:?}: {stderr}");
        assert!(stderr.contains("standard output"), "{arguments:?}: {stderr}");
        assert_eq!(folder.read(file), before, "{arguments:?} destroyed {file}");
    }
    folder.write("log", b"of before\n");
    let log = std::fs::OpenOptions::new().append(true).open(folder.path("log")).expect("ours");
    let ran = folder.command(&["size", "fw.elf", "-o", "/dev/stdout"]).stdout(log).output();
    assert!(ran.expect("it runs").status.success());
    assert!(folder.read("log").starts_with(b"of before\n"));
}

/// A shell has made an empty file where a trace or an archive lies: that is no input.
#[test]
fn new_file_next_to_inputs_is_an_output() {
    let folder = everything();
    let made = strobe_synth::ctf::CtfTrace::generate(1);
    std::fs::create_dir(folder.path("trace")).expect("a folder");
    folder.write("trace/metadata", made.metadata.as_bytes());
    folder.write("trace/channel0", &made.stream);
    let logged = folder.strobe(&["log", "archive", "x.measurement"]);
    assert_eq!(logged.code, 0, "{}", logged.stderr);
    for (arguments, output) in
        [(["report", "trace"], "trace/report.txt"), (["history", "archive"], "archive/history.txt")]
    {
        let onto = std::fs::File::create(folder.path(output)).expect("ours");
        let ran = folder.command(&arguments).stdout(onto).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{arguments:?}: {stderr}");
        assert!(!folder.read(output).is_empty(), "{arguments:?}");
    }
    let report = folder.read("trace/report.txt");
    let report = String::from_utf8_lossy(&report);
    let words: Vec<&str> = report.split_whitespace().collect();
    assert!(words.join(" ").contains("report.txt is standard output, and was not"), "{report}");
    // What is in it now would be read.
    let onto = std::fs::OpenOptions::new().append(true).open(folder.path("trace/report.txt"));
    let ran = folder.command(&["report", "trace"]).stdout(onto.expect("ours")).output();
    assert_eq!(ran.expect("it runs").status.code(), Some(64));
}

/// In GitHub Actions a file is written that no argument names.
#[test]
fn the_summary_of_a_step_is_no_input() {
    let folder = everything();
    for file in ["fw.elf", "strobe.toml", "in.txt", "base.toml"] {
        let before = folder.read(file);
        let mut command = folder.command(&["check"]);
        command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", file);
        let ran = crate::common::ran(&mut command);
        assert_eq!(ran.code, 64, "{file}: {}", ran.stderr);
        assert_eq!(folder.read(file), before);
    }
}

/// Neither what a build has yet to make nor the file with the budgets itself.
#[test]
fn inputs_of_a_check_are_never_written() {
    let folder = Folder::new();
    let budget = "[[firmware.budget]]\nsize = \"total\"\nmax = \"1 MiB\"\n";
    let built = "[[firmware]]\nelf = \"new.elf\"\nbuild = \"cp fw.elf new.elf\"\n";
    folder.write("strobe.toml", format!("{built}{budget}").as_bytes());
    let ran = folder.strobe(&["check", "--junit", "new.elf"]);
    assert_eq!(ran.code, 64, "{}", ran.stderr);
    assert!(!folder.path("new.elf").exists(), "nothing was built");
    let ran = folder.strobe(&["check", "--junit", "new.xml"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let run = "[[firmware]]\nelf = \"fw.elf\"\nrun = [\"--uart\", \"USART1=file:strobe.toml\"]\n";
    folder.write("strobe.toml", format!("{run}{budget}").as_bytes());
    let before = folder.read("strobe.toml");
    assert_eq!(folder.strobe(&["check"]).code, 64);
    assert_eq!(folder.read("strobe.toml"), before);
}

/// Source files that only the debug information names, of runs that another process makes.
#[test]
fn source_files_read_by_children_are_never_written() {
    let folder = everything();
    let budgets = BUDGETS.replace("run = [", "run = [\"--attach\", \"source\", ");
    folder.write("strobe.toml", budgets.as_bytes());
    symlink(SOURCE, folder.path("notes")).expect("a link");
    let calls: [&[&str]; 3] = [
        &["check", "--junit", SOURCE],
        &["check", "-o", "notes"],
        &["init", "fw.elf", "-o", "notes", "--force", "--", "--attach", "source"],
    ];
    for arguments in calls {
        let ran = folder.strobe(arguments);
        assert_eq!(ran.code, 64, "{arguments:?}: {}", ran.stderr);
        assert_eq!(folder.read(SOURCE), b"somebody's work", "{arguments:?}");
    }
}

#[test]
fn only_a_baseline_is_replaced_by_a_baseline() {
    let folder = Folder::new();
    folder.write("main.c", b"int main(void)");
    for file in ["strobe.toml", "fw.elf", "main.c"] {
        let budgets = format!(
            "baseline = \"{file}\"\n[[firmware]]\nelf = \"fw.elf\"\n\
             [[firmware.budget]]\nsize = \"total\"\nmax = \"1 MiB\"\n"
        );
        folder.write("strobe.toml", budgets.as_bytes());
        let before = folder.read(file);
        let ran = folder.strobe(&["check", "--accept"]);
        assert_eq!(ran.code, 65, "{file}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("{file} is no baseline")), "{}", ran.stderr);
        assert_eq!(folder.read(file), before);
    }
}

#[test]
fn no_output_is_another_output() {
    let folder = Folder::new();
    let twice: [&[&str]; 3] = [
        &["run", "fw.elf", "-o", "same", "--swo", "same"],
        &["run", "fw.elf", "-o", "same", "--uart", "USART1=file:./same"],
        &["report", "q.swo", "--port", "0=same", "--port", "1=same"],
    ];
    for arguments in twice {
        let ran = folder.strobe(arguments);
        assert_eq!(ran.code, 64, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("written twice"), "{}", ran.stderr);
        assert!(!folder.path("same").exists(), "{arguments:?}");
    }
    let twice = ["run", "fw.elf", "-o", "/dev/null", "--uart", "USART1=file:/dev/null"];
    assert_eq!(folder.strobe(&twice).code, 0, "nothing is lost there");
}

/// What was logged before is one of the archive's measurements.
#[test]
fn no_output_replaces_what_was_logged() {
    let folder = Folder::new();
    let run = ["run", "fw.elf", "--until", "finished", "--quiet", "--log", "archive"];
    let ran = folder.strobe(&run);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let logged = ran.stderr.lines().find(|line| line.contains("logged 1 measurement"));
    let place = logged.and_then(|line| line.rsplit_once(": ")).expect("it is logged").1;
    let before = folder.read(place);
    let again = folder.strobe(&[&run[..], &["-o", place]].concat());
    assert_eq!(again.code, 64, "{}", again.stderr);
    assert!(folder.read(place) == before, "{place} was replaced");
}

#[test]
fn a_result_keeps_links_and_modes() {
    let folder = Folder::new();
    folder.write("old", b"older");
    let mode = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(folder.path("old"), mode).expect("its mode");
    symlink("old", folder.path("link")).expect("a link");
    let before = folder.files();
    assert_eq!(folder.strobe(&["run", "fw.elf", "-o", "link"]).code, 0);
    assert!(is_symlink(&folder.path("link")));
    assert!(folder.read("old").len() > 100);
    let mode = std::fs::metadata(folder.path("old")).expect("a file").permissions().mode();
    assert_eq!((mode & 0o777, folder.files()), (0o640, before));
    let stdout = folder.strobe(&["run", "fw.elf", "-o", "/dev/stdout"]);
    assert_eq!((stdout.code, stdout.stdout.as_bytes()), (0, &*folder.read("old")));
}

/// The limit on a file's size stands in for a full disk.
#[test]
fn oversized_result_leaves_the_older_one() {
    let folder = Folder::new();
    folder.write("old.measurement", b"older");
    let strobe = assert_cmd::cargo::cargo_bin!("strobe").display();
    let script = format!("trap '' XFSZ; ulimit -f 2; '{strobe}' run fw.elf -o old.measurement");
    let mut shell = std::process::Command::new("bash");
    let ran = shell.args(["-c", &script]).current_dir(folder.0.path()).output().expect("bash");
    assert_eq!(ran.status.code(), Some(74), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(folder.read("old.measurement"), b"older");
    assert_eq!(folder.files(), 4, "nothing is left beside it");
}

#[test]
fn a_log_that_cannot_be_written_ends_in_74() {
    let folder = Folder::new();
    std::fs::copy(crate::common::prebuilt("hello-uart"), folder.path("fw.elf")).expect("a copy");
    let ran = folder.strobe(&["run", "fw.elf", "--uart", "USART1=file:/dev/full"]);
    assert_eq!(ran.code, 74, "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot write /dev/full"), "{}", ran.stderr);
    assert!(ran.stdout.contains("balance"), "the report is there all the same");
    let ran = folder.strobe(&["run", "fw.elf", "--uart", "USART1=file:log"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!folder.read("log").is_empty());
}

#[test]
fn a_recording_is_not_recorded_over() {
    let folder = Folder::new();
    folder.write("x.strobe", b"an older one");
    let arguments = ["record", "file:q.swo", "-o", "x.strobe"];
    let ran = folder.strobe(&arguments);
    assert_eq!(ran.code, 64, "{}", ran.stderr);
    assert!(ran.stderr.contains("--force"), "{}", ran.stderr);
    assert_eq!(folder.read("x.strobe"), b"an older one");
    assert_eq!(folder.strobe(&[&arguments[..], &["--force"]].concat()).code, 0);
    assert!(folder.read("x.strobe").starts_with(b"\x93strobe\n"));
}

#[test]
fn a_recording_under_way_is_not_written_by_another() {
    let folder = Folder::new();
    folder.fifo("wire");
    let first = ["record", "file:wire", "-o", "x.strobe", "--silence", "0s", "-q"];
    let mut first = folder.command(&first).spawn().expect("it starts");
    let mut wire = std::fs::OpenOptions::new().write(true).open(folder.path("wire")).expect("it");
    std::io::Write::write_all(&mut wire, &folder.read("q.swo")).expect("it is read");
    while std::fs::metadata(folder.path("x.strobe")).map_or(0, |m| m.len()) < 200 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let second = folder.strobe(&["record", "file:q.swo", "-o", "x.strobe", "--force"]);
    assert_eq!(second.code, 74, "{}", second.stderr);
    assert!(second.stderr.contains("another process"), "{}", second.stderr);
    let others: [&[&str]; 4] = [
        &["size", "fw.elf", "-o", "x.strobe"],
        &["run", "fw.elf", "--uart", "USART1=file:x.strobe"],
        &["pins", "x.vcd", "--export", "x.strobe"],
        &["bench", "--samples", "x.strobe", "--rounds", "1", "true", "true"],
    ];
    for arguments in others {
        let ran = folder.strobe(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (74, ""), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("another process"), "{arguments:?}: {}", ran.stderr);
    }
    drop(wire);
    assert!(first.wait().expect("it ends").success());
    let report = folder.strobe(&["report", "x.strobe"]);
    assert_eq!(report.code, 0, "{}", report.stderr);
    // The stream contradicts itself; the recording does not.
    let whole = !report.stdout.contains("bytes from byte") && report.stdout.contains("ends here");
    assert!(whole, "{}", report.stdout);
}

/// `-o -` is standard output in every command, whether or not a file has that name.
#[test]
fn a_dash_is_standard_output() {
    let folder = everything();
    let calls: [&[&str]; 10] = [
        &["run", "fw.elf"],
        &["size", "fw.elf"],
        &["stack", "fw.elf"],
        &["cycles", "fw.elf", "test_loop"],
        &["pins", "x.vcd"],
        &["plan", "--clock", "16MHz", "--baud", "2M"],
        &["check"],
        &["report", "q.swo"],
        &["export", "x.measurement", "--to", "collapsed"],
        &["init", "fw.elf", "--until", "finished"],
    ];
    for is_there in [false, true] {
        if is_there {
            folder.write("-", b"a file");
        }
        for call in calls {
            let ran = folder.strobe(&[call, &["-o", "-"]].concat());
            assert_eq!(ran.code, 0, "{call:?}: {}", ran.stderr);
            assert!(ran.stdout.len() > 20, "{call:?}: {}", ran.stdout);
            // Which writes to a file of its own without.
            let is_own = call[0] == "init";
            assert!(is_own || ran.stdout == folder.strobe(call).stdout, "{call:?}");
        }
        let mut record = folder.command(&["record", "file:q.swo", "-q", "-o", "-"]);
        let recorded = record.output().expect("it runs").stdout;
        assert!(recorded.starts_with(b"\x93strobe\n"), "{recorded:?}");
        assert_eq!(folder.path("-").exists(), is_there);
    }
    assert_eq!(folder.read("-"), b"a file");
    let options: [&[&str]; 3] = [
        &["pins", "x.vcd", "--export", "-"],
        &["check", "--junit", "-"],
        &["run", "fw.elf", "--uart", "USART1=file:-"],
    ];
    for arguments in options {
        let ran = folder.strobe(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (64, ""), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("./-"), "{}", ran.stderr);
    }
    assert_eq!(folder.strobe(&["size", "fw.elf", "-o", "./-"]).code, 0);
    assert_ne!(folder.read("-"), b"a file", "by a path it is one");
}

/// More than a pipe holds, of which somebody takes a byte.
#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = Folder::new();
    folder.write("long.swo", &strobe_synth::swo::mixed(500, 7).bytes.repeat(200));
    let strobe = assert_cmd::cargo::cargo_bin!("strobe").display();
    for call in ["record file:long.swo -o -", "report long.swo --format json -o -"] {
        let script = format!("'{strobe}' {call} | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}");
        let mut shell = std::process::Command::new("bash");
        let ran = shell.args(["-c", &script]).current_dir(folder.0.path()).output().expect("bash");
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(0), "{call}: {stderr}");
        assert!(!stderr.contains("pipe"), "{call}: {stderr}");
    }
}
