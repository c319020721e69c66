//! Devices, pipes and files that are far too long are refused, quickly, wherever they are named.

use std::process::Stdio;
use std::time::Duration;

use super::{Folder, ended};

/// Files as arguments, each call with `FILE` in it.
const CALLS: [&[&str]; 18] = [
    &["run", "FILE"],
    &["run", "fw.elf", "--board", "./FILE.toml"],
    &["run", "fw.elf", "--svd", "FILE"],
    &["run", "fw.elf", "--rtos", "FILE"],
    &["run", "fw.elf", "--insert", "card=FILE"],
    &["run", "fw.elf", "--adc", "ADC0=file:FILE"],
    &["run", "fw.elf", "--uart-input", "USART1=file:FILE"],
    &["run", "--rig", "FILE"],
    &["run", "--rig", "names.toml"],
    &["cycles", "FILE", "main"],
    &["compare", "FILE", "fw.elf"],
    &["pins", "FILE"],
    &["bus", "FILE", "-P", "uart:rx=A"],
    &["report", "FILE"],
    &["report", "q.swo", "--symbols", "FILE"],
    &["report", "q.swo", "--elf", "FILE"],
    &["export", "FILE", "--to", "chrome"],
    &["plan", "--clock", "16MHz", "--baud", "2M", "--elf", "FILE"],
];

fn calls(folder: &Folder, file: &str, what: &str) {
    folder.write(
        "names.toml",
        format!("name = 'x'\n[[chip]]\nname = 'a'\nboard = 'stm32f070cb'\nfirmware = '{file}'\n")
            .as_bytes(),
    );
    for call in CALLS {
        let arguments = call.iter().map(|word| match *word {
            "./FILE.toml" => format!("{file}.toml"),
            word => word.replace("FILE", file),
        });
        let arguments: Vec<String> = arguments.collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command = folder.command(&arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        ended(&mut child, Duration::from_secs(20), &format!("{arguments:?}"));
        let output = child.wait_with_output().expect("it has ended");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(65), "{arguments:?}: {stderr}");
        assert!(stderr.contains(what), "{arguments:?}: {stderr}");
    }
}

#[test]
fn devices_are_refused() {
    let folder = Folder::new();
    std::os::unix::fs::symlink("/dev/zero", folder.path("zero")).expect("a link");
    std::os::unix::fs::symlink("/dev/zero", folder.path("zero.toml")).expect("a link");
    calls(&folder, "zero", "is a device");
}

#[test]
fn pipes_without_a_writer_are_refused() {
    let folder = Folder::new();
    folder.fifo("pipe");
    folder.fifo("pipe.toml");
    calls(&folder, "pipe", "is a pipe");
}

/// Sparse files: they take no room, and would take 8 GiB of memory.
#[test]
fn files_that_are_too_long_are_refused() {
    let folder = Folder::new();
    for name in ["long", "long.toml"] {
        let file = std::fs::File::create(folder.path(name)).expect("it is ours");
        file.set_len(8 << 30).expect("it is sparse");
    }
    for call in
        CALLS.into_iter().filter(|call| !["pins", "bus", "report", "export"].contains(&call[0]))
    {
        let arguments: Vec<String> = call
            .iter()
            .map(|word| word.replace("./FILE.toml", "./long.toml").replace("FILE", "long"))
            .collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        if arguments.contains(&"names.toml") {
            let rig =
                "name = 'x'\n[[chip]]\nname = 'a'\nboard = 'stm32f070cb'\nfirmware = 'long'\n";
            folder.write("names.toml", rig.as_bytes());
        }
        let ran = folder.strobe(&arguments);
        assert_eq!(ran.code, 65, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("are read"), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn unopenable_and_malformed_files_have_different_exit_codes() {
    let folder = Folder::new();
    folder.write("board.toml", b"name = '\xff'");
    let ran = folder.strobe(&["run", "fw.elf", "--board", "board.toml"]);
    assert_eq!(ran.code, 65, "{}", ran.stderr);
    assert!(ran.stderr.contains("byte 8"), "{}", ran.stderr);
    let ran = folder.strobe(&["run", "fw.elf", "--board", "missing.toml"]);
    assert_eq!(ran.code, 66, "{}", ran.stderr);
}

/// A hundred bytes that stand for four gigabytes of samples.
#[test]
fn hour_long_pause_is_written_quickly() {
    let folder = Folder::new();
    let vcd = "$timescale 1 us $end\n$var wire 1 ! A $end\n#0\n0!\n#7\n1!\n#4294967000\n0!\n";
    folder.write("pause.vcd", vcd.as_bytes());
    let arguments = ["pins", "pause.vcd", "--export", "pause.sr", "--format", "json"];
    let mut child = folder.command(&arguments).stdout(Stdio::null()).spawn().expect("it starts");
    ended(&mut child, Duration::from_secs(60), "four gigabytes of samples");
    assert!(child.wait().expect("it has ended").success());
    assert!(folder.read("pause.sr").len() < 64 << 20);
    let short = "$timescale 1 us $end\n$var wire 1 ! A \
                 $end\n#0\n0!\n#7\n1!\n#29000000\n0!\n#29000003\n1!\n";
    folder.write("short.vcd", short.as_bytes());
    assert_eq!(folder.strobe(&["pins", "short.vcd", "--export", "short.sr"]).code, 0);
    let widths = |file: &str| {
        let ran = folder.strobe(&["pins", file, "--format", "json"]);
        let json: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
        json["pins"].clone()
    };
    assert_eq!(widths("short.sr"), widths("short.vcd"), "repeated members are the same samples");
}
