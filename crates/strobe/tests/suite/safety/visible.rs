//! Nothing from an input reaches a terminal as anything but visible text.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use strobe_synth::{Assembler, ElfBuilder, Imm8Op, Insn, Reg};

use super::Folder;
use crate::common::Ran;

/// Sets a title, clears the screen, writes backwards, goes back to the line's begin and by one.
const HOSTILE: &str = "a\u{1b}]0;x\u{7}b\u{1b}[2Jc\u{202e}d\re\u{8}f\u{9b}31mg\u{2066}h";

/// Whether a terminal would obey something in it, but for newlines and tabs.
fn assert_harmless(text: &str, what: &str) {
    let bad = text.chars().find(|c| {
        c.is_control() && *c != '\n' && *c != '\t'
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || matches!(c, '\u{200e}' | '\u{200f}')
    });
    assert_eq!(bad, None, "{what}: {text:?}");
}

/// The same for both streams; something hostile must have been in one, now visible.
fn assert_shown(ran: &Ran, what: &str) {
    assert_harmless(&ran.stdout, what);
    assert_harmless(&ran.stderr, what);
    let all = format!("{}{}", ran.stdout, ran.stderr);
    assert!(all.contains("\\x1b") || all.contains("\\u001b"), "{what}: nothing of it\n{all}");
}

/// A firmware whose function and section have that name.
fn firmware(name: &str) -> Vec<u8> {
    let mut assembler = Assembler::new(0x40);
    assembler.emit(Insn::Imm8 { op: Imm8Op::Add, rdn: Reg::new(0), imm8: 1 });
    let here = assembler.label_here();
    assembler.b(here);
    let (code, _) = assembler.finish();
    let mut words = vec![0x2000_1000_u32];
    words.resize(16, 0x41);
    let mut image: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    image.extend(&code);
    let mut elf = ElfBuilder::new();
    elf.entry = 0x41;
    elf.code(0, &image);
    elf.function(name, 0x40, code.len() as u32);
    elf.build()
}

#[test]
fn arguments_and_file_names_are_shown_in_messages() {
    let folder = Folder::new();
    // A zero cannot be in an argument.
    for call in [
        ["run", HOSTILE],
        ["report", HOSTILE],
        ["run", &format!("--{HOSTILE}")],
        [HOSTILE, "x"],
        ["cycles", HOSTILE],
        ["plan", &format!("--clock={HOSTILE}")],
        ["record", &format!("{HOSTILE}:x")],
        ["pins", HOSTILE],
    ] {
        let ran = folder.strobe(&call);
        assert!([64, 66].contains(&ran.code), "{call:?}: {}", ran.stderr);
        assert_harmless(&ran.stderr, &format!("{call:?}"));
        assert_eq!(ran.stdout, "");
    }
    for call in [
        ["run", "fw.elf", "--from", HOSTILE],
        ["run", "fw.elf", "--until", HOSTILE],
        ["run", "fw.elf", "--mark", HOSTILE],
        ["run", "fw.elf", "--board", HOSTILE],
        ["run", "fw.elf", "--annotate", HOSTILE],
        ["run", "fw.elf", "--thread", HOSTILE],
        ["pins", "x.vcd", "--samplerate", HOSTILE],
        ["bus", "x.vcd", "-P", HOSTILE],
        ["cycles", "fw.elf", HOSTILE, "--terse"],
    ] {
        let ran = folder.strobe(&call);
        assert_ne!(ran.code, 0, "{call:?}");
        assert_harmless(&ran.stderr, &format!("{call:?}"));
        assert_harmless(&ran.stdout, &format!("{call:?}"));
    }
    let name = OsStr::from_bytes(b"\x1b]0;\xff\x07");
    let ran = crate::common::ran(folder.command(&["run"]).arg(name));
    assert_eq!(ran.code, 66, "{}", ran.stderr);
    assert_shown(&ran, "a name that is no UTF-8");
}

#[test]
fn excerpts_of_files_are_shown_in_messages() {
    let folder = Folder::new();
    let zero = format!("{HOSTILE}\0");
    let toml = format!("name = '{HOSTILE}' x\n");
    for (file, content, call) in [
        ("b.toml", &toml, &["run", "fw.elf", "--board", "b.toml"][..]),
        ("r.toml", &toml, &["run", "--rig", "r.toml"]),
        ("o.toml", &toml, &["run", "fw.elf", "--rtos", "o.toml"]),
        ("m.toml", &toml, &["report", "ctf", "--meanings", "m.toml"]),
        ("s.svd", &format!("<device><name>{zero}</nam>"), &["run", "fw.elf", "--svd", "s.svd"]),
        ("p.json", &format!("{{\"{zero}\": 1"), &["plan", "--plan", "p.json"]),
        ("v.csv", &zero, &["run", "fw.elf", "--adc", "ADC0=file:v.csv"]),
        ("y.vcd", &format!("$timescale 1 {zero} $end"), &["pins", "y.vcd"]),
        ("t", &zero, &["report", "t"]),
        ("f.csv", &zero, &["report", "q.swo", "--symbols", "f.csv"]),
    ] {
        folder.write(file, content.as_bytes());
        let ran = folder.strobe(call);
        assert_ne!(ran.code, 0, "{call:?}");
        assert_ne!(ran.stderr, "", "{call:?}");
        assert_harmless(&ran.stderr, &format!("{call:?}"));
    }
}

#[test]
fn names_in_reports_are_shown() {
    let folder = Folder::new();
    folder.write("evil.elf", &firmware(HOSTILE));
    for format in ["text", "json", "measurement"] {
        let ran = folder.strobe(&["run", "evil.elf", "--format", format]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_shown(&ran, format);
    }
    for colour in ["always", "never"] {
        let ran = folder.strobe(&["run", "evil.elf", "--color", colour]);
        let bare = ran.stdout.replace("\u{1b}[0m", "");
        let codes = ["1", "2", "31", "33", "34"];
        let bare =
            codes.iter().fold(bare, |text, code| text.replace(&format!("\u{1b}[{code}m"), ""));
        assert_harmless(&bare, colour);
        assert_eq!(ran.stdout.contains("\u{1b}[1m"), colour == "always");
    }
    let vcd = format!(
        "$timescale 1 us $end\n$var wire 1 ! {} $end\n#0\n0!\n#5\n1!\n#9\n0!\n",
        HOSTILE.replace([' ', '\r'], "_")
    );
    folder.write("evil.vcd", vcd.as_bytes());
    assert_shown(&folder.strobe(&["pins", "evil.vcd"]), "channel names");
    let ran = folder.strobe(&["bus", "evil.vcd", "-P", "uart:rx=missing"]);
    assert_harmless(&ran.stderr, "the channels that there are");
    let ran = folder.strobe(&["export", "evil.elf", "--to", "collapsed"]);
    assert_harmless(&ran.stdout, "an export");
    assert!(ran.stdout.starts_with("thread main;"), "{}", ran.stdout);
    for format in ["speedscope", "firefox"] {
        let ran = folder.strobe(&["export", "evil.elf", "--to", format, "-o", "out.json"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let text = String::from_utf8(folder.read("out.json")).expect("it is UTF-8");
        assert_harmless(&text, format);
        let read: Result<serde_json::Value, _> = serde_json::from_str(&text);
        assert!(read.is_ok_and(|value| value.to_string().contains('\u{202e}')), "{format}");
    }
}

/// What a firmware prints is text, whoever reads it.
#[test]
fn firmware_output_is_shown() {
    let folder = Folder::new();
    folder.write("in.txt", HOSTILE.as_bytes());
    let echo = crate::common::prebuilt("wordcount");
    let input = std::fs::File::open(folder.path("in.txt")).expect("a file");
    let ran = crate::common::ran(folder.command(&["run", &echo]).stdin(input));
    assert_harmless(&ran.stderr, "the console");
    assert_harmless(&ran.stdout, "the report");
}
