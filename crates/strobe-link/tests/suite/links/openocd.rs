//! OpenOCD, played and real.
//!
//! The played one answers as its TCL port does, in the way of version 0.12 or of 0.11. The real one
//! has no chip: a memory written in Tcl stands in for it, so what is tried is its port, its
//! interpreter and its commands; it is skipped where it is not installed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use strobe_decode::container::Note;
use strobe_link::trace::link::{Error, Link};
use strobe_link::trace::openocd::{self, OpenOcd};
use strobe_link::trace::rtt::{Polled, RttFilter};
use strobe_link::trace::target::find;

use super::target::{Chip, DWT_CTRL};
use super::{LONGEST, listen, rtt, settings};

/// How the peer is to be.
#[derive(Clone)]
struct Peer {
    chip: Arc<Mutex<Chip>>,
    /// Commands, as they came.
    log: Arc<Mutex<Vec<String>>>,
    old: bool,
    granted: Option<u32>,
    pins: &'static str,
    /// Sent as soon as the pin is switched on.
    events: &'static str,
}

fn peer() -> Peer {
    Peer {
        chip: Arc::new(Mutex::new(Chip::new())),
        log: Arc::default(),
        old: false,
        granted: None,
        pins: "chip.tpiu",
        events: "",
    }
}

impl Peer {
    /// Serves one connection.
    fn serve(self) -> (String, JoinHandle<()>) {
        let server = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = server.local_addr().expect("an address").to_string();
        let thread = thread::spawn(move || {
            let (stream, _) = server.accept().expect("a call");
            self.talk(stream);
        });
        (address, thread)
    }

    fn talk(self, mut stream: TcpStream) {
        let (mut pending, mut block) = (Vec::new(), [0; 100]);
        loop {
            let Ok(n) = stream.read(&mut block) else { return };
            if n == 0 {
                return;
            }
            pending.extend(&block[..n]);
            while let Some(end) = pending.iter().position(|byte| *byte == 0x1a) {
                let line = String::from_utf8(pending.drain(..=end).collect()).expect("text");
                // What the wrapping catches.
                let inner = line
                    .split_once("[catch {")
                    .and_then(|(_, rest)| rest.split_once("} strobe_result"));
                let command = inner.expect("every command is caught").0;
                let answer = match self.run(command) {
                    Ok(result) => format!("ok {result}"),
                    Err(why) => format!("bad {why}"),
                };
                let mut out = Vec::new();
                // Events may come before the answer.
                if command.ends_with("enable") || command.starts_with("tpiu config internal") {
                    out.extend(self.events.bytes());
                }
                out.extend(answer.bytes());
                out.push(0x1a);
                for piece in out.chunks(7) {
                    if stream.write_all(piece).is_err() {
                        return;
                    }
                }
            }
        }
    }

    fn run(&self, command: &str) -> Result<String, String> {
        self.log.lock().expect("one at a time").push(command.to_owned());
        let number = |text: &str| {
            let digits = text.trim_end_matches('}').strip_prefix("0x").expect("hexadecimal");
            u32::from_str_radix(digits, 16).expect("a number")
        };
        let mut chip = self.chip.lock().expect("one at a time");
        let words: Vec<&str> = command.split_whitespace().collect();
        match words[..] {
            ["version"] => Ok("Open On-Chip Debugger 0.12.0".to_owned()),
            ["read_memory", ..] if self.old => {
                Err("invalid command name \"read_memory\"".to_owned())
            }
            ["read_memory", address, "32", count] => {
                let words =
                    (number(address)..).step_by(4).map(|at| format!("{:#x}", chip.read(at)));
                Ok(words.take(count.parse().expect("a count")).collect::<Vec<_>>().join(" "))
            }
            ["capture", "{mdw", address] => {
                let address = number(address);
                Ok(format!("{address:#010x}: {:08x} \n", chip.read(address)))
            }
            // Eight words to a line.
            ["capture", "{mdw", address, count] => {
                let count: u32 = count.trim_end_matches('}').parse().expect("a count");
                let mut lines = String::new();
                for n in 0..count {
                    let at = number(address) + 4 * n;
                    if n % 8 == 0 {
                        lines += &format!("{}{at:#010x}: ", if n > 0 { "\n" } else { "" });
                    }
                    lines += &format!("{:08x} ", chip.read(at));
                }
                Ok(lines)
            }
            ["mww", address, value] => {
                chip.write(number(address), number(value));
                Ok(String::new())
            }
            ["tpiu", "names"] if self.old => {
                Err("tpiu names: command requires more arguments".to_owned())
            }
            ["tpiu", "names"] => Ok(self.pins.to_owned()),
            ["tpiu", "config", ..] if !self.old => Err("invalid subcommand \"config\"".to_owned()),
            [_, "cget", "-pin-freq"] => Ok(self.granted.unwrap_or(1_000_000).to_string()),
            ["tpiu", ..] | [_, "configure" | "enable" | "disable", ..] => Ok(String::new()),
            ["tcl_trace" | "tcl_notifications", "on" | "off"] => Ok(String::new()),
            _ => Err(format!("invalid command name \"{}\"", words[0])),
        }
    }
}

fn open(address: &str) -> Result<(OpenOcd, strobe_decode::trace_settings::TraceSettings), Error> {
    OpenOcd::open(address, &settings(), find("generic").expect("a family"))
}

const DATA: &str = "type target_trace data 17010203\x1atype target_reset mode run\r\n\x1atype \
                    target_trace data 04ff\r\n\x1a";

#[test]
fn registers_are_written_and_data_come() {
    let peer = Peer { events: DATA, ..peer() };
    let (address, thread) = peer.clone().serve();
    let (mut link, used) = open(&address).expect("a sound chip");
    assert_eq!(used, settings());
    peer.chip.lock().expect("ours").is_tracing();
    let log = peer.log.lock().expect("ours").clone();
    let configure =
        "chip.tpiu configure -protocol uart -traceclk 16000000 -pin-freq 1000000 -output -";
    assert!(log.iter().any(|command| command == configure), "{log:?}");
    let heard = listen(&mut link, |heard| heard.bytes.len() == 6);
    assert_eq!(heard.bytes, [0x17, 1, 2, 3, 4, 0xff]);
    assert_eq!(heard.notes, [Note::Text { text: "the target was reset (run)".to_owned() }]);
    assert_eq!(link.close(), Ok(None));
    peer.chip.lock().expect("ours").is_quiet();
    drop(link);
    thread.join().expect("the peer has not panicked");
    assert_eq!(peer.log.lock().expect("ours").last().expect("some"), "chip.tpiu disable");
}

#[test]
fn versions_before_0_12_have_other_commands() {
    let peer = Peer { old: true, events: DATA, ..peer() };
    let (address, thread) = peer.clone().serve();
    let (mut link, _) = open(&address).expect("a sound chip");
    peer.chip.lock().expect("ours").is_tracing();
    let log = peer.log.lock().expect("ours").clone();
    let config = "tpiu config internal - uart off 16000000 1000000";
    assert!(log.iter().any(|command| command == config), "{log:?}");
    assert_eq!(listen(&mut link, |heard| heard.bytes.len() == 6).bytes.len(), 6);
    drop(link);
    thread.join().expect("the peer has not panicked");
}

#[test]
fn an_adapter_with_another_rate_changes_the_divider() {
    let peer = Peer { granted: Some(500_000), pins: "chip.tpiu chip.swo", ..peer() };
    let (address, _) = peer.clone().serve();
    let (_link, used) = open(&address).expect("a sound chip");
    assert_eq!(used.line.baud(), 500_000);
    assert_eq!(peer.chip.lock().expect("ours").read(0xe004_0010), 31);
    let log = peer.log.lock().expect("ours").clone();
    assert!(log.iter().any(|command| command == "chip.swo enable"), "{log:?}");
}

#[test]
fn failures_are_reported() {
    let refused = |peer: Peer| {
        let (address, _) = peer.serve();
        open(&address).err().expect("it does not work").to_string()
    };
    let error = refused(Peer { pins: "", ..peer() });
    assert!(error.contains("tpiu create"), "{error}");
    let narrow = peer();
    narrow.chip.lock().expect("ours").bits.insert(0xe004_0010, 7);
    let error = refused(narrow);
    assert!(error.contains("TPIU_ACPR") && error.contains("0x00000007"), "{error}");
    let poor = peer();
    poor.chip.lock().expect("ours").words.insert(DWT_CTRL, 0x0800_0000);
    assert!(refused(poor).contains("NOTRCPKT"));
}

#[test]
fn another_server_is_recognised() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("an address").to_string();
    let thread = thread::spawn(move || {
        let (mut peer, _) = server.accept().expect("a call");
        // GDB's acknowledgement, and then nothing.
        peer.write_all(b"+\x1a").expect("it takes it");
    });
    let error = open(&address).err().expect("no OpenOCD").to_string();
    assert!(error.contains("TCL port"), "{error}");
    thread.join().expect("it has sent");
}

#[test]
fn broken_connection_is_an_error_after_its_bytes() {
    let peer = Peer { events: DATA, ..peer() };
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("an address").to_string();
    let (send, receive) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let (stream, _) = server.accept().expect("a call");
        send.send(stream.try_clone().expect("a second handle")).expect("it is wanted");
        peer.talk(stream);
    });
    let (mut link, _) = open(&address).expect("a sound chip");
    let stream = receive.recv().expect("the connection");
    stream.shutdown(std::net::Shutdown::Both).expect("it is open");
    let heard = listen(&mut link, |_| false);
    assert_eq!(heard.bytes, [0x17, 1, 2, 3, 4, 0xff]);
    assert!(heard.error.expect("it is gone").to_string().contains("OpenOCD"));
}

#[test]
fn a_buffer_in_ram_is_read_through_both_versions() {
    for old in [false, true] {
        let peer = Peer { old, ..peer() };
        rtt::set_up(&mut peer.chip.lock().expect("ours").words);
        let (address, _) = peer.clone().serve();
        let memory = openocd::memory(&address).expect("it is there");
        let wanted = RttFilter { block: rtt::BLOCK..rtt::BLOCK + 1, channel: 0 };
        let mut link = Polled::new(memory, wanted, None);
        let (mut sent, mut came) = (Vec::new(), Vec::new());
        for n in 0..20u8 {
            let piece = vec![n; usize::from(n) * 3];
            assert!(rtt::write(&mut peer.chip.lock().expect("ours").words, &piece));
            sent.extend(piece);
            let until = Instant::now() + LONGEST;
            while came.len() < sent.len() && Instant::now() < until {
                link.read(&mut came, Duration::from_millis(20)).expect("memory");
            }
            assert_eq!(came, sent);
        }
        let read = peer.chip.lock().expect("ours").read(rtt::BLOCK + 40);
        assert_eq!(read, sent.len() as u32 % rtt::SIZE, "everything was taken out");
    }
}

/// A memory in place of a chip, and a pin that OpenOCD's own commands cannot make without one.
const STAND_IN: &str = r#"
adapter driver dummy
transport select jtag
gdb_port disabled
telnet_port disabled
array set memory {}
set memory(3758100480) 0x40000000
set memory(3758157308) 0x401
proc mww {address value} { set ::memory([expr {$address + 0}]) [expr {$value + 0}] }
proc read_memory {address width count} {
    set address [expr {$address + 0}]
    if {![info exists ::memory($address)]} { return 0x0 }
    return [format 0x%x $::memory($address)]
}
proc tpiu {what} { return chip.tpiu }
proc chip.tpiu {what args} { if {$what eq "cget"} { return 1000000 } }
"#;

/// Ends OpenOCD with the test.
struct Real(Child);

impl Drop for Real {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Real {
    /// Starts it with a configuration, on a port that it finds free itself; gives the port's
    /// address.
    fn start(script: &Path) -> (Self, String) {
        let mut command = Command::new("openocd");
        command.args(["-c", "tcl_port 0", "-f"]).arg(script);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("openocd starts; the package of that name has it");
        let said = BufReader::new(child.stderr.take().expect("a pipe"));
        let real = Real(child);
        let mut lines = said.lines();
        let mut before = Vec::new();
        let port = loop {
            let line = lines.next().unwrap_or_else(|| panic!("openocd has ended: {before:?}"));
            let line = line.expect("text");
            let port = line.split_once("Listening on port ").map(|(_, rest)| rest.to_owned());
            before.push(line);
            if let Some(rest) = port {
                break rest.split(' ').next().expect("a port").to_owned();
            }
        };
        // Its later output must go somewhere.
        thread::spawn(move || lines.for_each(drop));
        (real, format!("127.0.0.1:{port}"))
    }
}

#[test]
fn the_real_openocd_takes_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("stand-in.cfg");
    std::fs::write(&script, STAND_IN).expect("it is ours");
    let (_real, address) = Real::start(&script);
    let (mut link, _) = open(&address).expect("it listens");
    // The values to restore are those that the registers were to have.
    assert_eq!(link.close(), Ok(None));
}
