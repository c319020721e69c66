//! Several chips in one simulation: `strobe run --rig`.

use std::io::Write;

use strobe_model::measurement::Measurement;

use crate::common::figures::*;
use crate::common::recorded::{recorded, rows};
use crate::common::{measured, prebuilt, strobe};

fn echo() -> String {
    format!("{}/../../firmware/echo/echo.toml", env!("CARGO_MANIFEST_DIR"))
}

/// The rig, whose chips are its parts.
fn chips(args: &[&str]) -> (i32, Measurement) {
    let (code, rig) = measured(&[&["run", "--rig"], args].concat());
    assert_eq!(rig.subject.kind, "rig");
    rig.parts.iter().for_each(|chip| assert_balanced(&chip.measurement));
    (code, rig)
}

/// A rig file of this text, as long as the result lives.
fn rig_file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

/// The rig's file with these lines changed.
fn changed(changes: &[(&str, &str)]) -> tempfile::NamedTempFile {
    let folder = format!("{}/../../firmware", env!("CARGO_MANIFEST_DIR"));
    let mut text = std::fs::read_to_string(echo())
        .unwrap()
        .replace("../prebuilt", &format!("{folder}/prebuilt"));
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    rig_file(&text)
}

fn path(file: &tempfile::NamedTempFile) -> &str {
    file.path().to_str().expect("UTF-8")
}

/// An AVR and a Cortex-M0 exchange bytes: 19.0 us to the middle of the stop bit, 1 us of wire, 0.7
/// us until the interrupt has written the answer, and the same way back.
#[test]
fn two_chips_talk_over_a_serial_line() {
    let (code, rig) = chips(&[&echo(), "--mark", "PB0", "--until", "PB1=1"]);
    assert_eq!(code, 0);
    let ping = part(&rig, "ping");
    assert_eq!(ended(ping), "reached", "all answers were right");
    // The first byte comes before the other chip listens; nothing comes back.
    let widths = widths(ping, "PB0 high");
    assert_eq!(widths.len(), 66);
    assert!(widths[1..].iter().all(|cycles| (650..=670).contains(cycles)), "{widths:?}");
    let pong = part(&rig, "pong");
    assert_eq!(ended(pong), "other-chip");
    assert!(pong.window.ended.text.contains("chip ping"), "{}", pong.window.ended.text);
    assert_eq!(figure(pong, "interrupts", "IRQ27 (USART1)", "count"), 65);
}

#[test]
fn the_order_of_the_chips_makes_no_difference() {
    let (_, rig) = chips(&[&echo(), "--until", "5ms"]);
    let text = std::fs::read_to_string(echo()).unwrap();
    let (before, rest) = text.split_once("[[chip]]").unwrap();
    let (ping, rest) = rest.split_once("[[chip]]").unwrap();
    let (pong, wires) = rest.split_once("[[wire]]").unwrap();
    let folder = format!("{}/../../firmware/prebuilt", env!("CARGO_MANIFEST_DIR"));
    let swapped = format!("{before}[[chip]]{pong}[[chip]]{ping}[[wire]]{wires}");
    let swapped = rig_file(&swapped.replace("../prebuilt", &folder));
    let (_, other) = chips(&[path(&swapped), "--until", "5ms"]);
    for name in ["ping", "pong"] {
        assert_eq!(part(&rig, name), part(&other, name), "{name}");
    }
}

#[test]
fn a_rig_ends_when_nothing_can_wake_any_chip() {
    let (code, rig) = chips(&[&echo()]);
    assert_eq!(code, 0);
    for name in ["ping", "pong"] {
        assert_eq!(ended(part(&rig, name)), "sleeps-forever", "{name}");
    }
}

#[test]
fn one_chip_can_be_reported_alone() {
    let (_, rig) = chips(&[&echo(), "--chip", "pong", "--until", "5ms"]);
    assert_eq!(rig.parts.len(), 1);
    let ran = strobe(&["run", "--rig", &echo(), "--chip", "pong", "--until", "5ms"]);
    let (_, chip) = ran.stdout.split_once("== pong ==\n\n").expect("the chip");
    assert!(chip.starts_with("echo-pong.elf on stm32f070cb"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("echo-ping.elf"), "{}", ran.stdout);
    assert_eq!(ran.stderr, "", "what goes over the wires is not for the terminal");
    let ran = strobe(&["run", "--rig", &echo(), "--until", "5ms"]);
    let headings: Vec<&str> = ran.stdout.lines().filter(|l| l.starts_with("== ")).collect();
    assert_eq!(headings, ["== ping ==", "== pong =="]);
}

/// A rig runs in strides of half a wire's time, which end wherever the core is by then.
#[test]
fn no_arrival_at_a_function_is_missed() {
    let mark = ["--chip", "pong", "--mark", "USART1_IRQHandler", "--until", "5ms"];
    let echo = echo();
    let (_, rig) = chips(&[&[echo.as_str()][..], &mark].concat());
    let pong = part(&rig, "pong");
    let entries = number(&column(pong, "interrupts", "count")[0]);
    let between = widths(pong, "USART1_IRQHandler to USART1_IRQHandler");
    assert_eq!(between.len() as u64 + 1, entries);
}

#[test]
fn a_chip_can_run_something_else() {
    let other = prebuilt("loop-avr");
    let (_, rig) =
        chips(&[&echo(), "--load", &format!("ping={other}"), "--mark", "PD1", "--until", "5ms"]);
    assert_eq!(widths(part(&rig, "ping"), "PD1 high"), [1022; 20]);
}

#[test]
fn rig_errors_are_reported() {
    let error = |rig: &str, more: &[&str], code: i32| {
        let ran = strobe(&[&["run", "--until", "1ms", "--rig", rig], more].concat());
        assert_eq!(ran.code, code, "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
        ran.stderr
    };
    let in_file = |change: (&str, &str), expected: &str| {
        let stderr = error(path(&changed(&[change])), &[], 65);
        assert!(stderr.contains(expected), "{stderr}");
    };
    in_file(("pong.PA10", "pong.PZ1"), ": chip pong: a wire: the chip has no pin PZ1");
    in_file(
        ("\"pong.PA10\"", "\"pang.PA10\""),
        "wire end pang.PA10: the rig has no chip pang; there are ping, pong",
    );
    in_file(("pong.PA10", "PA10"), "wire end PA10: write it CHIP.PIN");
    in_file(("to = \"ping.PD0\"", "to = \"pong.pa10\""), "chip pong: two wires end at pin pa10");
    // By the circuit board's name it is the same pin.
    let twice = "[[wire]]\nfrom = \"pong.PA8\"\nto = \"ping.D0\"\n\n[[wire]]\nfrom = \"ping.PD1\"";
    in_file(("[[wire]]\nfrom = \"ping.PD1\"", twice), "chip ping: two wires end at pin PD0");
    in_file(("name = \"echo\"", "nome = \"echo\""), "unknown field `nome`");
    in_file(
        ("name = \"echo\"", "name = \"echo\"\nwire_delay = \"1c\""),
        "wire_delay: a time from 2ns to 1s",
    );
    in_file(("name = \"pong\"", "name = \"ping\""), "chip ping: the name is given twice");
    let part = "[[part]]\nname = \"LCD\"\nmodel = \"mirror\"\nchip = \"pong\"\n\n[[wire]]\nfrom \
                = \"ping.PD1\"";
    in_file(("[[wire]]\nfrom = \"ping.PD1\"", part), "part LCD: model: no model `mirror`");
    assert!(error("/no/such/rig.toml", &[], 66).contains("cannot read rig file"));
    let wrong = |more: &[&str], expected: &str| {
        let stderr = error(&echo(), more, 64);
        assert!(stderr.contains(expected), "{stderr}");
    };
    wrong(&["--chip", "pang"], "the rig has no chip pang; there are ping, pong");
    wrong(&["--load", "pang=x.elf"], "the rig has no chip pang");
    wrong(&["--insert", "card=x.img"], "the rig has no part card");
    wrong(&["--mark", "PZ9"], "chip ping: board arduino-uno has no pin PZ9");
    wrong(&["--board", "arduino-uno"], "cannot be used with");
    // Options of rigs are no options of one firmware.
    let blink = prebuilt("blink");
    for (more, expected) in [
        (&[blink.as_str(), "--chip", "ping"][..], "cannot be used with"),
        (&[&blink, "--load", "ping=x.elf"], "cannot be used with"),
        (&[&echo()], "a rig file is given with --rig"),
    ] {
        let ran = strobe(&[&["run", "--until", "1ms"], more].concat());
        assert!(ran.code == 64 && ran.stderr.contains(expected), "{}", ran.stderr);
    }
}

/// What one chip sends arrives at the other a wire's delay later, with the same spacing.
#[test]
fn pins_of_chips_in_a_rig() {
    let bus = |chip: &str, line: &str| {
        let uart = format!("uart:rx={line}:baudrate=500000");
        let elf = echo();
        let bus = recorded(&["bus", &elf, "--chip", chip, "--until", "5ms", "-P", &uart]);
        let words = rows(&bus, "words").into_iter().map(|word| {
            (word["start"].as_i64().expect("a time"), word["value"].as_u64().expect("a value"))
        });
        words.collect::<Vec<_>>()
    };
    let (sent, received) = (bus("ping", "PD1"), bus("pong", "PA10"));
    assert_eq!(sent.len(), received.len());
    assert_eq!(
        sent[2..].iter().map(|word| word.1).collect::<Vec<_>>(),
        (0..64).collect::<Vec<_>>()
    );
    for (one, other) in sent.iter().zip(&received).skip(2) {
        assert_eq!(one.1, other.1);
        let late = other.0 - one.0;
        assert!((990_000..=1_010_000).contains(&late), "{late}");
    }
    let ran = strobe(&["pins", &prebuilt("loop-avr"), "--chip", "ping"]);
    assert!(ran.code == 64 && ran.stderr.contains("--chip is for rigs"), "{}", ran.stderr);
    let ran = strobe(&["pins", &echo(), "--board", "arduino-uno"]);
    assert!(ran.code == 64 && ran.stderr.contains("--board is for one firmware"), "{}", ran.stderr);
}

/// Totals of a rig say nothing of its chips: those are compared by name.
#[test]
fn rigs_are_compared_by_chip() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (a, b) = (file("a.measurement"), file("b.measurement"));
    for (output, until) in [(&a, "3ms"), (&b, "5ms")] {
        let ran = strobe(&["run", "--rig", &echo(), "--until", until, "-o", output]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let compared = |more: &[&str]| strobe(&[&["compare", &a, &b], more].concat());
    let whole = compared(&[]);
    assert!(whole.stdout.contains("not compared here: ping, pong"), "{}", whole.stdout);
    let part = compared(&["--part", "pong"]);
    assert_eq!(part.code, 0, "{}", part.stderr);
    assert!(part.stdout.contains("USART1"), "{}", part.stdout);
    let wrong = compared(&["--part", "pang"]);
    assert_eq!(wrong.code, 64);
    assert!(wrong.stderr.contains("parts are: ping, pong"), "{}", wrong.stderr);
}

/// Runs of the low and of the high model bound a rig's figures as they do those of one chip.
#[test]
fn a_rig_is_run_again_for_its_bounds() {
    let asked = |bounds: &str| {
        let (code, rig) = chips(&[&echo(), "--until", "2ms", "--bounds", bounds]);
        assert_eq!(code, 0);
        part(&rig, "pong").clone()
    };
    let [unbounded, runs] = ["none", "runs"].map(asked);
    let states =
        [&unbounded, &runs].map(|chip| chip.findings.iter().any(|f| f.code == "no-bounds"));
    assert_eq!(states, [true, false]);
    let ends = |chip: &Measurement| {
        let quantity = chip.total("instructions").expect("they are counted");
        let bounds = quantity.trust().bounds().filter(|(low, high)| low < high);
        bounds.map(|(low, high)| low.as_u64()..=high.as_u64())
    };
    assert_eq!(ends(&unbounded), None, "one run has no bounds");
    let bounds = ends(&runs).expect("the runs differ");
    assert!(bounds.contains(&total(&runs, "instructions")), "{bounds:?}");
}
