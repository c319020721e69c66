//! `strobe record`: what is in the file, however it ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{self, command, heeding_signals, prebuilt, ran, strobe};
use strobe_decode::container::{Content, Ending, Header, Note, Reader, Summary};

/// What a recording has.
#[derive(Debug)]
struct Recording {
    header: Header,
    raw: Vec<u8>,
    notes: Vec<Note>,
    summary: Summary,
}

fn read(path: &Path) -> Recording {
    let file = std::fs::File::open(path).expect("it was written");
    let mut reader = Reader::new(file).expect("a recording");
    let (mut raw, mut notes) = (Vec::new(), Vec::new());
    while let Some(chunk) = reader.next().expect("it can be read") {
        match chunk.content {
            Content::Raw(bytes) => raw.extend(bytes),
            Content::Note(note) => notes.push(note),
            Content::Polled(_) | Content::End(_) => {}
        }
    }
    let header = reader.header().expect("it is whole").clone();
    Recording { header, raw, notes, summary: reader.summary().clone() }
}

fn why(recording: &Recording) -> String {
    match &recording.summary.ending {
        Ending::Marked(end) => end.why.clone(),
        other => format!("{other:?}"),
    }
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }
}

#[test]
fn recording_of_a_file_keeps_all_messages() {
    let folder = Folder::new();
    let stream = strobe_synth::swo::mixed(5000, 7).bytes;
    std::fs::write(folder.path("raw.swo"), &stream).expect("it is ours");
    let (elf, out) = (common::prebuilt("threads-freertos"), folder.path("out.strobe"));
    let source = format!("file:{}", folder.path("raw.swo").display());
    let ran = ran(command()
        .args(["record", &source, "--elf", &elf, "--target", "stm32f4", "-o"])
        .arg(&out)
        .args(["--clock=168MHz", "--baud=2M", "--period=16384", "--exceptions", "--timestamps=1"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("0 bytes undecodable"), "{}", ran.stderr);
    let recording = read(&out);
    assert!(recording.raw == stream);
    assert_eq!(why(&recording), "the source ended");
    let header = recording.header;
    assert_eq!((header.source.kind.as_str(), header.source.name.as_str()), ("file", "raw.swo"));
    assert_eq!((header.target.as_deref(), header.programmed), (Some("stm32f4"), false));
    let settings = header.settings.expect("they were given");
    assert_eq!((settings.line.baud(), settings.exceptions), (2_000_000, true));
    let elf = header.elf.expect("it was given");
    assert_eq!((elf.file.as_str(), elf.sha256.len()), ("threads-freertos.elf", 64));
}

#[test]
fn standard_input_and_output_are_source_and_recording() {
    let mut child = command()
        .args(["record", "-", "-o", "-", "--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("a pipe").write_all(b"\x01H\x01i").expect("it listens");
    let output = child.wait_with_output().expect("it ends");
    let mut reader = Reader::new(&output.stdout[..]).expect("a recording");
    let chunk = reader.next().expect("memory does not fail").expect("a chunk");
    assert_eq!(chunk.content, Content::Raw(b"\x01H\x01i"));
}

impl Drop for Running {
    /// A test that fails leaves nothing running.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// When something that must happen is given up: long enough for any machine under any load, so what
/// is not there by then never comes.
const LONGEST: Duration = Duration::from_secs(600);

/// A recording from a server, under way.
struct Running {
    child: Child,
    peer: TcpStream,
    /// Its messages.
    said: BufReader<ChildStderr>,
    text: String,
}

impl Running {
    /// Without a limit for silence, if there is none in `more`: no test writes within a certain
    /// time.
    fn start(out: &Path, more: &[&str]) -> Self {
        Self::launch(heeding_signals(), out, more)
    }

    /// The same with a command that goes on with strobe's arguments.
    fn launch(mut command: Command, out: &Path, more: &[&str]) -> Self {
        let server = TcpListener::bind("127.0.0.1:0").expect("a port");
        let source = format!("tcp:{}", server.local_addr().expect("an address"));
        command.args(["record", &source, "-o"]).arg(out).args(more);
        if !more.contains(&"--silence") {
            command.args(["--silence", "0s"]);
        }
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let said = BufReader::new(child.stderr.take().expect("a pipe"));
        let (peer, _) = server.accept().expect("a call");
        Running { child, peer, said, text: String::new() }
    }

    /// Waits until the file is a recording that has something.
    fn wait_for(&self, out: &Path, something: impl Fn(&Recording) -> bool) {
        let until = Instant::now() + LONGEST;
        // Before the header is written it is no recording.
        let has = || std::fs::read(out).is_ok_and(|file| Reader::new(&file[..]).is_ok());
        while !has() || !something(&read(out)) {
            assert!(Instant::now() < until, "it does not arrive in the file");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until it has said something.
    fn wait_for_word(&mut self, word: &str) {
        while !self.text.contains(word) {
            let read = self.said.read_line(&mut self.text).expect("text");
            assert!(read > 0, "{word}: {}", self.text);
        }
    }

    #[cfg(unix)]
    fn interrupt(&self) {
        self.signal("INT");
    }

    #[cfg(unix)]
    fn signal(&self, signal: &str) {
        common::signal(signal, self.child.id());
    }

    fn end(mut self) -> (Option<i32>, String) {
        let until = Instant::now() + LONGEST;
        let status = loop {
            match self.child.try_wait().expect("it is ours") {
                Some(status) => break status,
                None if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
                None => {
                    self.child.kill().expect("it runs");
                    panic!("it does not end: {}", self.text);
                }
            }
        };
        self.said.read_to_string(&mut self.text).expect("text");
        (status.code(), std::mem::take(&mut self.text))
    }
}

#[test]
fn kill_loses_nothing_older_than_a_second() {
    let folder = Folder::new();
    let out = folder.path("killed.strobe");
    let mut running = Running::start(&out, &[]);
    for n in 0..5u8 {
        running.peer.write_all(&[n; 1000]).expect("it listens");
        std::thread::sleep(Duration::from_millis(30));
    }
    // A second is what is promised, a tenth what it takes, and nothing more comes that could push
    // them out.
    running.wait_for(&out, |recording| recording.raw.len() == 5000);
    running.child.kill().expect("it runs");
    running.child.wait().expect("it is dead");
    let recording = read(&out);
    assert_eq!(recording.raw.len(), 5000);
    assert_eq!(recording.summary.damaged_bytes, 0);
    assert!(matches!(recording.summary.ending, Ending::CutShort { .. }));
}

#[test]
#[cfg(unix)]
fn ctrl_c_ends_it_with_its_mark() {
    let folder = Folder::new();
    let out = folder.path("stopped.strobe");
    let mut running = Running::start(&out, &[]);
    running.peer.write_all(&[0x70; 10]).expect("it listens");
    running.wait_for(&out, |recording| recording.raw.len() == 10);
    running.interrupt();
    let (code, text) = running.end();
    assert_eq!(code, Some(0), "{text}");
    let recording = read(&out);
    assert_eq!((why(&recording).as_str(), recording.raw.len()), ("Ctrl-C", 10));
}

/// What service managers and closed terminals send.
#[test]
#[cfg(unix)]
fn other_signals_end_it_with_their_marks() {
    for (signal, mark) in [("TERM", "SIGTERM"), ("HUP", "SIGHUP")] {
        let folder = Folder::new();
        let out = folder.path("stopped.strobe");
        let mut running = Running::start(&out, &[]);
        running.peer.write_all(&[0x70; 10]).expect("it listens");
        running.wait_for(&out, |recording| recording.raw.len() == 10);
        running.signal(signal);
        let (code, text) = running.end();
        assert_eq!(code, Some(0), "{text}");
        let recording = read(&out);
        assert_eq!((why(&recording).as_str(), recording.raw.len()), (mark, 10));
    }
}

/// A recording that `nohup` started goes on when the terminal is closed.
#[test]
#[cfg(target_os = "linux")]
fn a_signal_that_was_ignored_stays_ignored() {
    let folder = Folder::new();
    let out = folder.path("nohup.strobe");
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(command().get_program());
    let mut running = Running::launch(shell, &out, &[]);
    running.peer.write_all(&[0x70; 10]).expect("it listens");
    running.wait_for(&out, |recording| recording.raw.len() == 10);
    running.signal("HUP");
    running.peer.write_all(&[0x70; 10]).expect("it listens");
    running.wait_for(&out, |recording| recording.raw.len() == 20);
    running.signal("TERM");
    assert_eq!(running.end().0, Some(0));
    assert_eq!(why(&read(&out)), "SIGTERM");
}

#[test]
fn the_time_is_kept() {
    let folder = Folder::new();
    let out = folder.path("timed.strobe");
    // Whether anything comes in time is left to the machine, and so is the exit code.
    let running = Running::start(&out, &["--for", "300ms"]);
    running.end();
    assert_eq!(why(&read(&out)), "time");
    let bytes = std::fs::read(&out).expect("it was written");
    let mut reader = Reader::new(&bytes[..]).expect("a recording");
    let mut last = 0;
    while let Some(chunk) = reader.next().expect("memory does not fail") {
        last = chunk.host_us;
    }
    assert!(last >= 300_000, "{last} us");
}

#[test]
#[cfg(unix)]
fn gaps_are_noted() {
    let folder = Folder::new();
    let out = folder.path("broken.strobe");
    let mut running = Running::start(&out, &[]);
    running.peer.write_all(&[1; 100]).expect("it listens");
    running.wait_for(&out, |recording| recording.raw.len() == 100);
    running.peer.shutdown(std::net::Shutdown::Both).expect("it is open");
    running.wait_for(&out, |recording| !recording.notes.is_empty());
    running.interrupt();
    let (code, text) = running.end();
    assert!(code == Some(0) && text.contains("broke off"), "{text}");
    let recording = read(&out);
    assert!(matches!(recording.notes[..], [Note::Gap { .. }]), "{:?}", recording.notes);
}

#[test]
fn silence_is_an_error_that_states_what_to_check() {
    let folder = Folder::new();
    let out = folder.path("silent.strobe");
    let (code, text) = Running::start(&out, &["--silence", "300ms"]).end();
    assert_eq!(code, Some(68));
    for word in ["wire", "TRACE_IOEN", "TRCENA", "bit rate", "PLL"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert_eq!(why(&read(&out)), "nothing came");
}

#[test]
#[cfg(unix)]
fn garbage_is_reported_while_it_comes() {
    let folder = Folder::new();
    let out = folder.path("garbage.strobe");
    let mut running = Running::start(&out, &["--clock=16MHz", "--baud=1M"]);
    running.peer.write_all(&[0x80; 20_000]).expect("it listens");
    running.wait_for_word("undecodable: is the bit rate right");
    running.interrupt();
    assert_eq!(running.end().0, Some(0));
}

/// Orbuculum's frames in a file as it writes one: what is recorded are the pin's bytes, and where a
/// frame was damaged that is noted.
#[test]
fn orbuculum_frames_are_removed_and_damage_is_noted() {
    let folder = Folder::new();
    let stream = strobe_synth::swo::mixed(5000, 7).bytes;
    let mut frames = b"%%ORBFLOW1.0.0%%".to_vec();
    frames.extend(strobe_synth::orbflow::frames(1, &stream, 200));
    let (raw, out) = (folder.path("raw.of"), folder.path("out.strobe"));
    let source = format!("file:{}", raw.display());
    std::fs::write(&raw, &frames).expect("it is ours");
    let whole = ran(command().args(["record", &source, "-o"]).arg(&out));
    assert_eq!(whole.code, 0, "{}", whole.stderr);
    let recording = read(&out);
    assert!(recording.raw == stream && recording.notes.is_empty());
    let at = frames.len() / 2;
    frames[at] ^= 0x10;
    std::fs::write(&raw, &frames).expect("it is ours");
    let damaged = ran(command().args(["record", &source, "--force", "-o"]).arg(&out));
    assert!(damaged.stderr.contains("came damaged"), "{}", damaged.stderr);
    let recording = read(&out);
    assert!((200..=400).contains(&(stream.len() - recording.raw.len())));
    assert!(matches!(&recording.notes[..], [Note::Gap { .. }]), "{:?}", recording.notes);
}

/// Frames with other tags are named: nothing is wrong with the wiring.
#[test]
fn frames_with_other_tags_alone_are_named() {
    let folder = Folder::new();
    let stream = strobe_synth::swo::mixed(500, 7).bytes;
    let tagged = |tag: u8| strobe_synth::orbflow::frames(tag, &stream, 200);
    let raw = folder.path("raw.of");
    let source = format!("file:{}", raw.display());
    let cases: [(&[u8], &str); 2] = [(&[7], "have tag 7,"), (&[9, 7, 8], "have tags 7, 8 and 9,")];
    for (tags, named) in cases {
        let frames: Vec<u8> = tags.iter().flat_map(|tag| tagged(*tag)).collect();
        std::fs::write(&raw, frames).expect("it is ours");
        let out = folder.path("out.strobe");
        let ran = ran(command().args(["record", &source, "--force", "--quiet", "-o"]).arg(&out));
        assert_eq!(ran.code, 68, "{}", ran.stderr);
        assert!(ran.stderr.contains(named), "{}", ran.stderr);
        assert!(ran.stderr.contains("tag 1 no byte"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("the wire"), "{}", ran.stderr);
    }
}

#[test]
fn sources_that_cannot_be_opened_leave_no_file() {
    let folder = Folder::new();
    let out = folder.path("none.strobe");
    // A port that is taken, by a connection from it: nobody else can come to listen there
    // meanwhile.
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = TcpStream::connect(server.local_addr().expect("an address")).expect("it listens");
    let deaf = taken.local_addr().expect("an address");
    let (tcp, openocd) = (format!("tcp:{deaf}"), format!("openocd:{deaf}"));
    let cases: [(&[&str], i32, &str); 11] = [
        (&["nonsense"], 64, "Sources:"),
        (&["udp:1:2"], 64, "no kind of source"),
        (&["serial:/dev/ttyUSB0"], 64, "serial:DEVICE@BAUD"),
        (&["tcp:localhost"], 64, "tcp:HOST:PORT"),
        (&["orbflow:localhost"], 64, "orbflow:HOST:PORT"),
        (&["orbflow:localhost:3402/256"], 64, "a tag of 0 to 255"),
        (&[&tcp], 68, "refused"),
        (&[&openocd, "--clock=16MHz", "--baud=1M"], 68, "TCL port"),
        (&[&openocd], 64, "--clock"),
        (&["file:/there/is/none"], 66, "/there/is/none"),
        (&["file:/", "--halt"], 64, "--halt needs a probe"),
    ];
    for (arguments, code, expected) in cases {
        let ran = ran(command().arg("record").args(arguments).arg("-o").arg(&out));
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
        assert!(!out.exists(), "{arguments:?}");
    }
    let hopeless = ["--clock=168MHz", "--baud=115200", "--period=16384"];
    let ran = ran(command().args(["record", &openocd, "-o"]).arg(&out).args(hopeless));
    assert_eq!(ran.code, 69, "{}", ran.stderr);
}

#[test]
fn a_recording_that_cannot_be_written_is_an_error() {
    let ran = strobe(&["record", "file:/dev/null", "-o", "/there/is/no/folder"]);
    assert_eq!(ran.code, 74, "{}", ran.stderr);
    let ran = strobe(&["record", "file:/dev/null", "-o", "/dev/full"]);
    assert_eq!(ran.code, 74, "{}", ran.stderr);
}

#[test]
fn a_probe_needs_a_chip() {
    let folder = Folder::new();
    let out = folder.path("none.strobe").display().to_string();
    let ran = strobe(&["record", "probe", "-o", &out, "--clock=16MHz", "--baud=1M"]);
    assert_eq!(ran.code, 64, "{}", ran.stderr);
    assert!(ran.stderr.contains("--chip") || ran.stderr.contains("feature"), "{}", ran.stderr);
}

/// It is known before anything is recorded, and is the firmware's fault or the board's.
#[test]
fn board_that_cannot_run_firmware_leaves_no_recording() {
    let (folder, elf) = (Folder::new(), prebuilt("generic-c-m3"));
    let out = folder.path("none.strobe");
    let ran = ran(command().args(["record", "sim:cortex-m0", "--elf", &elf, "-o"]).arg(&out));
    assert_eq!(ran.code, 65, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("another core").count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("here sim:BOARD names a board"), "{}", ran.stderr);
    assert!(!out.exists(), "nothing was recorded");
}

/// The registers of the plan, on the simulated STM32F407: they make its pin speak.
#[test]
fn a_simulated_board_does_what_the_plan_says() {
    let folder = Folder::new();
    let out = folder.path("simulated.strobe");
    let elf = common::prebuilt("numbers-m4f");
    let ran = ran(command()
        .args(["record", "sim:stm32f407", "--elf", &elf, "-o"])
        .arg(&out)
        .args(["--clock=16MHz", "--baud=2M", "--period=4096", "--for=100ms"]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let recording = read(&out);
    assert!(recording.raw.len() > 1000, "{} bytes", recording.raw.len());
    let samples = recording.raw.chunks_exact(5).filter(|packet| packet[0] == 0x17).count();
    assert_eq!(samples, recording.raw.len() / 5, "nothing but samples");
    assert_eq!(recording.header.target.as_deref(), Some("stm32f407"));
}

/// A pin at a rate that nobody listens to is not a recording that went well.
#[test]
fn a_recording_of_nothing_fails() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("nothing.strobe").display().to_string();
    let firmware = prebuilt("trace");
    // The core runs at twice what is said, and so does the pin.
    let source = ["record", "sim:stm32f407", "--elf", &firmware, "-q", "-o", &file];
    let pin = ["--clock", "84M", "--baud", "2M", "--period", "16384"];
    let ran = strobe(&[&source[..], &pin].concat());
    assert_eq!(ran.code, 68, "{}", ran.stderr);
    assert!(ran.stderr.contains("nothing has come. Check: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("the bit rate, which follows the core's clock"), "{}", ran.stderr);
}
