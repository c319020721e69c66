//! `strobe record --flash`: through the real OpenOCD, whose flash and memory are made up, and what
//! it refuses. Skipped is nothing: OpenOCD is among what tests need.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use strobe_decode::container::Reader;

use crate::common::{command, prebuilt, ran, strobe};

/// OpenOCD without a chip, but with its own driver for a flash that is not there (`faux`): `reset`
/// and `flash write_image` run as they are. Since no memory is behind that flash, Tcl stands in for
/// it: it has the image's bytes from `verify_image` on, which fails as on targets that cannot
/// compare, so that each byte is read.
const STAND_IN: &str = r#"
adapter driver dummy
transport select jtag
gdb_port disabled
telnet_port disabled
jtag newtap chip cpu -irlen 4 -expected-id 0
target create chip.cpu testee -chain-position chip.cpu
flash bank bank0 faux 0x08000000 0x100000 0 0 chip.cpu
init
array set memory {}
set memory(3758100480) 0x40000000
proc verify_image {file address type} {
    set image [open $file]
    set high 0
    while {[gets $image line] >= 0} {
        scan [string range $line 1 8] %2x%4x%2x size offset kind
        if {$kind == 4} { scan [string range $line 9 12] %x high }
        if {$kind != 0} { continue }
        for {set n 0} {$n < $size} {incr n} {
            scan [string range $line [expr {9 + 2 * $n}] [expr {10 + 2 * $n}]] %x byte
            set at [expr {($high << 16) + $offset + $n}]
            set ::bytes($at) $byte
        }
    }
    close $image
    if {[info exists ::stuck]} { set ::bytes($::stuck) 0 }
    error "there is no memory to compare with"
}
proc mww {address value} { set ::memory([expr {$address + 0}]) [expr {$value + 0}] }
proc read_memory {address width count} {
    set words {}
    for {set n 0} {$n < $count} {incr n} {
        set at [expr {$address + 4 * $n}]
        set word 0
        if {[info exists ::memory($at)]} { set word $::memory($at) }
        for {set i 0} {$i < 4} {incr i} {
            if {[info exists ::bytes([expr {$at + $i}])]} {
                set word [expr {$word | ($::bytes([expr {$at + $i}]) << (8 * $i))}]
            }
        }
        lappend words [format 0x%x $word]
    }
    return $words
}
proc tpiu {what} { return chip.tpiu }
proc chip.tpiu {what args} { if {$what eq "cget"} { return 2000000 } }
"#;

/// Ends OpenOCD with the test.
struct Real(Child);

impl Drop for Real {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts OpenOCD on a port that it finds free; `more` is run before the port listens. Gives the
/// source's name.
fn openocd(folder: &Path, more: &str) -> (Real, String) {
    let script = folder.join("stand-in.cfg");
    std::fs::write(&script, format!("{STAND_IN}{more}\n")).expect("it is ours");
    let mut command = Command::new("openocd");
    command.args(["-c", "tcl_port 0", "-f"]).arg(&script);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("openocd starts; the package of that name has it");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let real = Real(child);
    let port = loop {
        let line = lines.next().expect("it listens before it ends").expect("text");
        if let Some((_, rest)) = line.split_once("Listening on port ") {
            break rest.split(' ').next().expect("a port").to_owned();
        }
    };
    // Its later output must go somewhere.
    std::thread::spawn(move || lines.for_each(drop));
    (real, format!("openocd:127.0.0.1:{port}"))
}

const PIN: [&str; 3] = ["--clock=16MHz", "--baud=2M", "--period=4096"];

/// The temporary files are in a folder whose name is Tcl, as far as Tcl is concerned.
#[test]
fn firmware_reaches_flash_and_report_through_openocd() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_real, source) = openocd(folder.path(), "");
    let odd = folder.path().join("ü a{b}\"$x[exit];#\\");
    std::fs::create_dir(&odd).expect("any name is a name");
    let (elf, out) = (prebuilt("trace"), folder.path().join("out.strobe"));
    // The firmware itself has such a name too.
    let firmware = odd.join("fw [shutdown] {.elf");
    std::fs::copy(elf, &firmware).expect("a bundled program");
    let mut record = command();
    record.args(["record", &source, "--flash", "--for=100ms", "--silence=0s", "-o"]).arg(&out);
    let ended = ran(record.arg("--elf").arg(&firmware).args(PIN).env("TMPDIR", &odd));
    // Nobody sends anything from a pin that is not there.
    assert_eq!(ended.code, 68, "{}", ended.stderr);
    assert!(ended.stderr.contains("bytes programmed in"), "{}", ended.stderr);
    assert!(ended.stderr.contains("OpenOCD 0.1"), "{}", ended.stderr);
    assert!(ended.stderr.contains("verified by reading back"), "{}", ended.stderr);
    assert!(!ended.stderr.contains('\r'), "no bar in a pipe: {}", ended.stderr);
    let left: Vec<_> = std::fs::read_dir(&odd).expect("it is there").collect();
    assert_eq!(left.len(), 1, "only the firmware: {left:?}");
    let bytes = std::fs::read(&out).expect("a recording was begun");
    let reader = Reader::new(&bytes[..]).expect("a recording");
    let flashed = reader.header().and_then(|header| header.flashed.clone()).expect("it was");
    assert!(flashed.verified && flashed.bytes > 1000, "{flashed:?}");
    let out = out.display().to_string();
    let report = strobe(&["report", &out, "--format", "measurement"]);
    assert!(report.stdout.contains("\"flashed\""), "{}{}", report.stdout, report.stderr);
}

#[test]
fn a_byte_that_flash_does_not_take_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    // In the vectors: the reset handler's address is never even.
    let (_real, source) = openocd(folder.path(), "set stuck [expr {0x08000004}]");
    let out = folder.path().join("out.strobe");
    let elf = prebuilt("trace");
    let mut record = command();
    record.args(["record", &source, "--flash", "--elf", &elf, "-o"]).arg(&out).args(PIN);
    let ended = ran(&mut record);
    assert_eq!(ended.code, 68, "{}", ended.stderr);
    assert!(ended.stderr.contains("verification failed at 0x08000004"), "{}", ended.stderr);
    assert!(!out.exists(), "no recording of firmware that is not there");
}

#[test]
fn unprogrammable_targets_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out.strobe");
    let elf = prebuilt("trace");
    let with_elf = ["--elf", &elf];
    let listens = "probe or openocd:HOST:PORT";
    let sources: [(&str, &[&str], &str); 9] = [
        ("openocd:127.0.0.1:1", &[], "--elf FIRMWARE"),
        ("probe", &[], "--elf FIRMWARE"),
        ("file:/dev/null", &with_elf, listens),
        ("-", &with_elf, listens),
        ("tcp:127.0.0.1:1", &with_elf, listens),
        ("orbflow:127.0.0.1:1", &with_elf, listens),
        ("serial:/dev/ttyS0@9600", &with_elf, listens),
        ("sr:capture.sr:D0", &with_elf, listens),
        ("sim", &with_elf, "needs no programming"),
    ];
    for (source, more, words) in sources {
        let mut record = command();
        record.args(["record", source, "--flash", "-o"]).arg(&out).args(more).args(PIN);
        let ended = ran(&mut record);
        assert_eq!(ended.code, 64, "{source}: {}", ended.stderr);
        assert!(ended.stderr.contains(words), "{source}: {}", ended.stderr);
        assert!(!out.exists(), "{source}");
    }
    let top = strobe(&["top", "sim", "--flash", "--elf", &elf]);
    assert!(top.code == 64 && top.stderr.contains("needs no programming"), "{}", top.stderr);
    let avr = ["--elf", &prebuilt("loop-avr")];
    let mut record = command();
    record.args(["record", "openocd:127.0.0.1:1", "--flash", "-o"]).arg(&out).args(avr).args(PIN);
    let ended = ran(&mut record);
    assert!(ended.code == 65 && ended.stderr.contains("Arm"), "{}", ended.stderr);
}
