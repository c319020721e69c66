//! Arguments that mean nothing.

use insta::assert_snapshot;

use super::{Messages, assert_reported, message};
use crate::common::{prebuilt, strobe};

#[test]
fn names_that_do_not_exist_are_wrong_arguments() {
    let mut messages = Messages::default();
    let of = |arguments: &[&str]| {
        message(&strobe(&[&["run", &prebuilt("fault")], arguments].concat()), 64)
    };
    messages.add("--until parse_haeder", &of(&["--until", "parse_haeder"]));
    messages.add("--mark PB8", &of(&["--mark", "PB8"]));
    messages.add("--from nowhere", &of(&["--from", "nowhere"]));
    messages.add("--to main", &of(&["--to", "main"]));
    messages.add("--annotate mian", &of(&["--annotate", "mian"]));
    messages.add("--uart USART9=null", &of(&["--uart", "USART9=null"]));
    messages.add("--ethernet ETH=loopback", &of(&["--ethernet", "ETH=loopback"]));
    messages.add("--until 100", &of(&["--until", "100"]));
    messages.add("--until 20mss", &of(&["--until", "20mss"]));
    messages.add("--until twice", &of(&["--until", "10ms", "--until", "20ms"]));
    let ran = strobe(&["run", &prebuilt("loop-48mhz"), "--from", "PB8:up", "--to", "PB8:low"]);
    messages.add("--from PB8:up", &message(&ran, 64));
    let ran = strobe(&["cycles", &prebuilt("fault"), "mian"]);
    messages.add("cycles mian", &message(&ran, 64));
    let ran = strobe(&["cycles", &prebuilt("fault"), "main", "--wait-states", "7"]);
    messages.add("cycles main --wait-states 7", &message(&ran, 64));
    assert_snapshot!(messages.0);
}

#[test]
fn arguments_that_do_not_parse_are_wrong_arguments() {
    for arguments in [
        &["run"][..],
        &["sprint"],
        &["run", "--uart", "USART1", "x.elf"],
        &["run", "--ethernet", "ETH=tap:", "x.elf"],
    ] {
        let ran = strobe(arguments);
        assert_eq!(ran.code, 64, "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
}

#[test]
fn probable_spelling_is_suggested() {
    let of = |arguments: &[&str]| {
        let ran = strobe(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (64, ""), "{}", ran.stderr);
        ran.stderr
    };
    let elf = prebuilt("fault");
    assert_eq!(
        of(&[&elf]),
        format!("strobe: `{elf}` is no command; to profile it: strobe run {elf}\n")
    );
    for (arguments, meant) in [
        (&["cylces", &elf, "main"][..], "'cycles'"),
        (&["run", "--untill", "main", &elf], "'--until'"),
        (&["run", "--by", "lines", &elf], "'line'"),
        (&["cycles", &elf, "mian"], "did you mean main?"),
    ] {
        let message = of(arguments);
        assert!(message.contains(meant), "no {meant} in\n{message}");
    }
}

/// What runs can end with is said where people look for it.
#[test]
fn the_commands_that_run_firmware_explain_their_exit_codes() {
    for command in ["run", "cycles"] {
        let help = strobe(&[command, "--help"]);
        assert_eq!(help.code, 0);
        assert_reported(
            &help.stdout,
            &[
                "120 HardFault",
                "only --run-on lets run",
                "130 stopped \
            by",
            ],
        );
    }
}
