//! `strobe plan`: what is refused, what is proposed, and scripts that the tools they are for can
//! read.

use std::process::Command;

use crate::common::{self, recorded, strobe};
use strobe_source::plan;

/// The measurement of something else.
const SERIAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/captures/serial.vcd");

const HOPELESS: [&str; 7] = [
    "plan",
    "--clock=168MHz",
    "--baud=115200",
    "--period=16384",
    "--target=stm32f4",
    "--terse",
    "--color=never",
];

fn planned(more: &[&str]) -> common::Ran {
    strobe(&[&["plan", "--clock=168MHz", "--baud=2M", "--target=stm32f4"], more].concat())
}

#[test]
fn plan_losing_four_fifths_needs_insistence() {
    let refused = strobe(&HOPELESS);
    assert_eq!(refused.code, 69, "{}", refused.stderr);
    assert!(refused.stderr.contains("loses about 81 %"), "{}", refused.stderr);
    assert!(refused.stderr.contains("921600 baud would fit"), "{}", refused.stderr);
    insta::assert_snapshot!(refused.stdout);
    let insisted = strobe(&[&HOPELESS[..], &["--insist"]].concat());
    assert_eq!((insisted.code, insisted.stdout), (0, refused.stdout));
    // Nor is it written out for another tool to carry out.
    let script = strobe(&[&HOPELESS[..], &["--script=gdb"]].concat());
    assert_eq!((script.code, script.stdout.as_str()), (69, ""));
}

#[test]
fn proposed_plan_fits() {
    let plan = recorded::recorded(&[
        "plan",
        "--clock=168MHz",
        "--baud=921600",
        "--period=16384",
        "--target=stm32f4",
    ]);
    assert_eq!(recorded::findings(&plan, "fits").len(), 1);
    let sum: u64 = recorded::column(&plan, "required", "bytes").iter().sum();
    assert_eq!(recorded::figure(&plan, "required"), sum, "the table adds up");
}

#[test]
fn a_plan_is_read_again_and_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("plan.measurement");
    let path = path.to_str().expect("text");
    let first = planned(&["--exceptions=100", "--timestamps=4", "-o", path]);
    assert_eq!((first.code, first.stdout.as_str()), (0, ""), "{}", first.stderr);
    let again = recorded::recorded(&["plan", "--settings", path, "--timestamps=none"]);
    let settings = plan::settings_of(&again).expect("its settings");
    assert!(settings.exceptions && settings.local_timestamps.is_none());
    assert_eq!(again.subject.name, "stm32f4");
    for (wrong, expected) in [
        ("{\"schema\":\"strobe-plan/1\"}", "strobe reads strobe-measurement/1"),
        ("settings = 1", "no measurement"),
        (&strobe(&["pins", SERIAL, "--format", "measurement"]).stdout, "no settings"),
    ] {
        std::fs::write(path, wrong).expect("it is ours");
        let refused = strobe(&["plan", "--settings", path]);
        assert_eq!(refused.code, 65, "{expected}");
        assert!(refused.stderr.contains(expected), "{expected}: {}", refused.stderr);
    }
}

#[test]
fn periods_are_rounded_to_hardware_values_and_reported() {
    let rounded = planned(&["--rate=10kHz", "--terse"]).stdout;
    let line = |name: &str| rounded.lines().find(|line| line.trim_start().starts_with(name));
    assert!(line("cycles between samples").is_some_and(|l| l.ends_with(" 16,384 cycles")));
    assert!(line("cycles asked for").is_some_and(|l| l.ends_with(" 16,800 cycles")), "{rounded}");
    let fitted = planned(&["--terse"]);
    assert!(fitted.stdout.contains("fits"), "{}", fitted.stdout);
}

#[test]
fn variables_are_watched_by_name() {
    let elf = common::prebuilt("threads-freertos");
    let data = strobe_symbols::Firmware::parse(std::fs::read(&elf).expect("it is built in"));
    let data = data.expect("an ELF file");
    let Some(variable) = data.data_symbols().iter().find(|s| s.size == 4 && s.address % 4 == 0)
    else {
        panic!("no variable of a word");
    };
    let watch = format!("--watch={}=1000", variable.name);
    let watched = planned(&["--elf", &elf, &watch, "--registers", "--terse"]);
    assert_eq!(watched.code, 0, "{}", watched.stderr);
    let comparator = format!("0xe0001020  {:#010x}  ", variable.address);
    let line = watched.stdout.lines().find(|line| line.contains("DWT_COMP0  "));
    assert!(line.is_some_and(|line| line.contains(&comparator)), "{}", watched.stdout);
    // Registers are shown on request, and are in the measurement.
    let plain = ["plan", "--clock=168MHz", "--baud=2M", "--elf", &elf, &watch];
    assert!(!strobe(&plain).stdout.contains("DWT_COMP0"));
    assert!(recorded::rows(&recorded::recorded(&plain), "fields").len() > 20);
    for (watch, expected) in [
        ("there_is_none", "no symbol"),
        ("0x20000001:4", "multiple"),
        ("0x20000000:4:sideways", "sideways"),
        ("0x20000000:pc:w", "alike"),
    ] {
        let refused = planned(&["--elf", &elf, "--watch", watch]);
        assert_eq!(refused.code, 64, "{watch}");
        assert!(refused.stderr.contains(expected), "{watch}: {}", refused.stderr);
    }
}

/// Runs a tool: whether it went well, and what it printed.
fn tool(name: &str, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(name).args(arguments).output();
    let output = output.unwrap_or_else(|e| panic!("{name}: {e}; the package of that name has it"));
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// A script in a file of that name.
fn script(kind: &str, folder: &tempfile::TempDir) -> String {
    let path = folder.path().join(format!("plan.{kind}")).display().to_string();
    let watch = "--watch=0x20000010:4:pc+value:w=100";
    let ran = planned(&["--exceptions=1000", watch, "--script", kind, "-o", &path]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    path
}

/// What stands in for a chip: memory in Tcl. A register with too few bits shows that the script
/// looks.
const STAND_IN: &str = "
adapter driver dummy
gdb_port disabled
telnet_port disabled
tcl_port disabled
noinit
proc mww {a v} { set ::m([expr {$a+0}]) [expr {$v+0}] }
proc read_memory {a w n} { set a [expr {$a+0}]; if {[info exists ::m($a)]} { return [expr \
{$::m($a) & $::bits}] }; return 0 }
proc tpiu {what} { return chip.tpiu }
proc chip.tpiu {args} { echo \"pin: $args\" }
";

#[test]
fn openocd_runs_its_script() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = script("openocd", &folder);
    let stand_in = folder.path().join("stand-in.cfg").display().to_string();
    std::fs::write(&stand_in, STAND_IN).expect("it is ours");
    let run = |bits: &str| {
        let bits = format!("set ::bits {bits}");
        let end = ["-c", "strobe_pin :3443", "-c", "strobe_trace", "-c", "shutdown"];
        tool("openocd", &[&["-f", &stand_in, "-f", &path, "-c", &bits][..], &end[..]].concat())
    };
    let (fine, text) = run("0xffffffff");
    assert!(fine && text.contains("-pin-freq 2000000 -output :3443"), "{text}");
    let (fine, text) = run("0xfffffffc");
    assert!(!fine && text.contains("reads back"), "{text}");
}

#[test]
fn gdb_reads_its_commands() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = script("gdb", &folder);
    let arguments = ["-nx", "-batch", "-x", &path, "-ex", "show user strobe_trace"];
    let (fine, text) = tool("gdb-multiarch", &arguments);
    assert!(fine && text.contains("0xe0001000"), "{text}");
    assert!(!text.to_lowercase().contains("error"), "{text}");
}

#[test]
fn the_shell_script_calls_probe_rs_for_each_register() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = script("probe-rs", &folder);
    // A probe-rs that prints its arguments, and reads ones.
    let fake = folder.path().join("probe-rs");
    let text = "#!/bin/sh\nif [ $1 = read ]; then echo ffffffff; else echo \"$@\"; fi\n";
    std::fs::write(&fake, text).expect("it is ours");
    let made = tool("chmod", &["+x", &fake.display().to_string()]);
    assert!(made.0, "{}", made.1);
    let path_variable = format!("PATH={}:/usr/bin:/bin", folder.path().display());
    let (fine, text) = tool("env", &[&path_variable, "sh", &path, "STM32F407VG"]);
    assert!(fine, "{text}");
    // The bits beside the written ones stay ones.
    assert!(text.contains("write --chip STM32F407VG b32 0xe000edfc 0xffffffff"), "{text}");
    assert!(text.contains("b32 0xe0042004 0xffffff3f"), "{text}");
    assert!(text.contains("b32 0xe0040010 0x00000053"), "{text}");
}
