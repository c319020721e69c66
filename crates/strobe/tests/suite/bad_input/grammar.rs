//! Places, edges and addresses are spelled alike in every command, and what is never reached ends
//! alike.

use crate::common::{prebuilt, strobe};

/// One exit code, whatever the command, and the report all the same.
#[test]
fn unreached_conditions_share_one_exit_code() {
    let loop_8 = prebuilt("loop-0ws");
    let cases: [&[&str]; 10] = [
        &["run", &loop_8, "--until", "PA0:rise", "--until", "100us"],
        &["run", &loop_8, "--until", "100us", "--from", "PA0=1"],
        &["run", &loop_8, "--until", "100us", "--mark", "PA0"],
        &["cycles", &loop_8, "test_loop", "--run", "--until", "100us", "--from", "PA0:any"],
        &["compare", &loop_8, &loop_8, "--until", "100us", "--from", "PA0:fall"],
        &["compare", &loop_8, &loop_8, "--until", "PA0:fall", "--until", "PB8:rise"],
        &["stack", &loop_8, "--run", "--until", "PA0=1", "--until", "100us"],
        &["export", &loop_8, "--until", "PA0=1", "--until", "100us", "--to", "collapsed"],
        &["pins", &loop_8, "--until", "100us", "--trigger", "PA0:rise"],
        &["bus", &loop_8, "--until", "100us", "--trigger", "PA0=1", "-P", "uart:rx=PA0"],
    ];
    for case in cases {
        let ran = strobe(case);
        assert_eq!(ran.code, 122, "{case:?}: {}", ran.stderr);
        let text = ran.stdout + &ran.stderr;
        assert!(text.contains("never") || text.contains("before"), "{case:?}: {text}");
    }
}

#[test]
fn places_have_the_same_spellings_in_every_command() {
    let loop_8 = prebuilt("loop-0ws");
    let run = |from: &str, to: &str| {
        let ran = strobe(&["run", &loop_8, "--until", "finished", "--from", from, "--to", to]);
        assert_eq!(ran.code, 0, "{from} {to}: {}", ran.stderr);
        let cycles = ran.stdout.lines().find(|line| line.starts_with("  cycles  "));
        cycles.expect("cycles").to_owned()
    };
    let pulses = run("PB8=1", "PB8=0");
    assert_eq!(run("PB8:rise", "PB8:fall"), pulses);
    assert_eq!(run("PB8:rising", "PB8:0"), pulses);
    for (function, code) in [("test_loop", 0), ("0x080000c0", 0), ("0x80000c0", 0), ("0x0", 64)] {
        assert_eq!(strobe(&["cycles", &loop_8, function]).code, code, "{function}");
    }
}
