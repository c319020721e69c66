//! Captures of external formats: each format read, written, and read by sigrok-cli.

mod sessions;

use crate::common::exercise;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use strobe_decode::capture::{
    self, Capture, Channel, Edge, Format, Level, Options, Tick, write_sigrok, write_vcd,
};
use strobe_decode::pins;
use strobe_decode::pins::report::PinsReport;
use strobe_model::measurement::Trust;
use strobe_synth::captures::{LineFault, spi_bus, trace_pin};

fn read(bytes: &[u8]) -> Result<(Format, Capture), capture::Error> {
    capture::read(&mut Cursor::new(bytes), &Options::default())
}

fn parsed(text: &str) -> Capture {
    let (_, capture) = read(text.as_bytes()).expect("a capture");
    exercise::check(&capture);
    capture
}

fn refused(bytes: &[u8]) -> String {
    read(bytes).map(|_| ()).expect_err("no capture").to_string()
}

fn edges(channel: &Channel) -> Vec<(u64, Level)> {
    channel.edges.iter().map(|e| (e.at(), e.level())).collect()
}

use Level::{High, Low, Unknown};

#[test]
fn a_value_change_dump() {
    let capture = parsed(
        "$timescale 10 ns $end\n$scope module top $end\n$scope module uart $end\n\
         $var wire 1 ! tx $end\n$upscope $end\n\
         $var wire 3 # bus [6:4] $end\n$var real 64 % volts $end\n$upscope $end\n\
         $enddefinitions $end\n\
         #100\n$dumpvars\n1!\nb10 #\nr0.5 %\n$end\n#150\n0!\n#160\n1!\n0!\n#200\nbx1 #\nz!\n#250\n",
    );
    let names: Vec<&str> = capture.channels.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["uart.tx", "bus[6]", "bus[5]", "bus[4]"]);
    assert_eq!(capture.tick, Tick::from_hz(100_000_000).unwrap());
    assert_eq!((capture.start, capture.end), (100, 150));
    // Two changes at one instant are no pulse.
    assert_eq!(edges(&capture.channels[0]), [(50, Low), (100, Unknown)]);
    let levels = capture.channels[1..].iter().map(|c| (c.initial, edges(c)));
    let wanted =
        [(Low, vec![(100, Unknown)]), (High, vec![(100, Unknown)]), (Low, vec![(100, High)])];
    assert!(levels.eq(wanted));
    assert!(capture.notes[0].contains("1 variables were left out"), "{:?}", capture.notes);
}

/// What is behind a time that goes back is in no figure: what was read is a part of the recording.
#[test]
fn capture_read_until_times_go_back_is_incomplete() {
    let vcd = "$timescale 1 us $end\n$var wire 1 ! a $end\n$enddefinitions $end\n\
               #0\n0!\n#10\n1!\n#20\n0!\n";
    let csv = "Time [s],a\n0.000000,0\n0.000010,1\n0.000020,0\n";
    let back = [(vcd, "#15\n1!\n#90\n0!\n"), (csv, "0.000015,1\n0.000090,0\n")];
    for (text, behind, is_cut) in
        back.iter().flat_map(|(text, behind)| [(*text, "", false), (*text, *behind, true)])
    {
        let (format, capture) = read(format!("{text}{behind}").as_bytes()).expect("a capture");
        assert_eq!((capture.cut, capture.notes.len()), (is_cut, usize::from(is_cut)));
        let edges = edges(&capture.channels[0]);
        let times = edges.iter().map(|&(at, level)| (capture.ps(at) / 1_000_000, level));
        assert_eq!(times.collect::<Vec<_>>(), [(10, High), (20, Low)]);
        let report = PinsReport {
            capture: pins::summary(&capture, "a".to_owned(), format.name()),
            pins: vec![pins::statistics(&capture, 0, None)],
            intervals: Vec::new(),
            notes: capture.notes.clone(),
        };
        let out = pins::measurement(&report);
        out.check().expect("a measurement");
        let edges = out.total("edges").expect("a total");
        let trust = if is_cut { Trust::AtLeast } else { Trust::Exact };
        assert_eq!((edges.value(), edges.trust()), (Some(2u64.into()), &trust));
        let whole = out.coverage.whole.as_ref().expect("a length");
        assert_eq!(*whole.trust() == Trust::AtLeast, is_cut);
        assert_eq!(out.window.ended.kind == "cut-short", is_cut);
        assert_eq!(out.findings.len(), usize::from(is_cut));
    }
}

#[test]
fn resolution_is_the_given_clock_or_the_tick() {
    let body = "$var wire 1 ! a $end $enddefinitions $end\n#0 0! #125 1!";
    let options = Options { clock: Tick::from_hz(24_000_000), ..Options::default() };
    let read = |text: &str| capture::read(&mut Cursor::new(text.as_bytes()), &options).unwrap().1;
    let with = read(&format!("$timescale 1 ns $end {body}"));
    assert_eq!((with.ps(125), with.resolution.hz()), (125_000, Some(24_000_000)));
    let without = read(body);
    assert_eq!((without.tick.hz(), without.resolution.hz()), (Some(24_000_000), Some(24_000_000)));
}

#[test]
fn names_in_written_files_have_no_terminal_controls() {
    let head = "Acquisition with 1/1 channels at 1 MHz";
    let capture = parsed(&format!(
        "$comment {head} $end $timescale 1 us $end $var wire 1 ! a\u{202e}b\u{2066}c\u{61c}d $end \
         $enddefinitions $end\n#0 0! #5 1! #9 0!\n"
    ));
    assert_eq!(capture.channels[0].name, "a\u{202e}b\u{2066}c\u{61c}d");
    let (session, _) = write_sigrok(&capture).unwrap();
    assert_eq!(read(&session).unwrap().1.channels[0].name, "a?b?c?d");
    let mut dump = Vec::new();
    write_vcd(&capture, &mut dump).unwrap();
    assert_eq!(read(&dump).unwrap().1.channels[0].name, "a_b_c_d");
}

#[test]
fn lines_before_a_dump_are_skipped() {
    let dump = "$timescale 1us $end $var wire 1 ! a $end $enddefinitions $end\n#0 0! #10 1!\n";
    let plain = parsed(dump);
    let meta = parsed(&format!("META samplerate: 500000\r\n{dump}"));
    assert_eq!(meta.channels, plain.channels);
    assert_eq!(meta.resolution.hz(), Some(500_000));
    assert_eq!(
        parsed(&format!("// of a logic analyser\n; probe 3\n{dump}")).channels,
        plain.channels
    );
    assert!(refused(format!("META a\n{dump}foo!").as_bytes()).contains("line 4"));
    let endless = "META a\n".repeat(100_000);
    assert!(!refused(endless.as_bytes()).is_empty());
}

/// The blocks of a file cut its commands anywhere.
#[test]
fn dumps_are_the_same_in_blocks_of_any_size() {
    let dump = "$timescale 1us $end $var wire 1 ! a $end $var wire 2 \" v $end\n\
                $var wire 1 ### long $end $enddefinitions $end\n#0\n$dumpvars 0! b0x \" $end\n\
                1###\n#10 1!\n0? 0###\r\n#25\nx! b10 \"\n1\"\n#1234567 0! 1###\n#1234570\nz!\n#7\n";
    let read = |size: usize| {
        let mut input = std::io::BufReader::with_capacity(size, Cursor::new(dump.as_bytes()));
        capture::read_vcd(&mut input, &Options::default()).unwrap()
    };
    let whole = read(1 << 16);
    assert_eq!(
        edges(&whole.channels[0]),
        [(10, High), (25, Unknown), (1_234_567, Low), (1_234_570, Unknown)]
    );
    assert!(whole.notes[0].contains("line 14: time goes back"), "{:?}", whole.notes);
    assert!(whole.notes[1].contains("the first in line 7"), "{:?}", whole.notes);
    (1..dump.len()).for_each(|size| assert_eq!(read(size), whole, "{size}"));
}

#[test]
fn unsound_dumps_are_marked_and_partly_kept() {
    let head = "$timescale 1us $end $var wire 1 ! a $end $enddefinitions $end\n";
    let cases = [
        ("#0 0! #10 1! #5 0!", "time goes back from 10 to 5", 1),
        ("#0 0! #10 1! #20 0? #21 1?", "2 changes of variables that are not declared", 1),
        ("#0 0! #10 1! #20 b01", "ends in the middle of a command", 1),
    ];
    for (body, wanted, n) in cases {
        let capture = parsed(&format!("{head}{body}"));
        assert!(capture.notes.iter().any(|note| note.contains(wanted)), "{:?}", capture.notes);
        assert_eq!(capture.channels[0].edges.len(), n);
    }
    let none = refused(head.replace("$timescale 1us $end", "").as_bytes());
    assert!(none.contains("--samplerate"), "{none}");
    assert!(refused(format!("{head}\n#0\nfoo!").as_bytes()).contains("line 4"));
    let deep = "$scope module a $end\n".repeat(100_000);
    assert!(refused(deep.as_bytes()).contains("more than 64 scopes"));
    let endless = format!("$comment {}", "x".repeat(2 << 20));
    assert!(refused(endless.as_bytes()).contains("bytes"));
    let wide = "$timescale 1us $end $var wire 4000000000 ! a $end $enddefinitions $end\n#0";
    assert!(refused(wide.as_bytes()).contains("no variable"));
}

/// What sigrok and GTKWave open: Latin-1 in a date or a name, a mark in front, commands of
/// GTKWave's own. Lines count on.
#[test]
fn dumps_of_older_and_other_programs() {
    let dump = "$date 25 March $end\n$timescale 1us $end\n$scope module m $end\n\
                $var wire 1 ! a $end\n$upscope $end\n$enddefinitions $end\n#0 0! #10 1!\n";
    let plain = parsed(dump);
    let latin = |text: &str| text.chars().map(|c| c as u8).collect::<Vec<u8>>();
    let read = |bytes: &[u8]| read(bytes).expect("it is a capture").1;
    let date = read(&latin(&dump.replace("March", "M\u{e4}rz")));
    assert_eq!((date.channels, date.notes), (plain.channels.clone(), vec![]));
    let named = read(&latin(&dump.replace("! a", "! \u{b5}s")));
    assert_eq!(named.channels[0].name, "\u{b5}s");
    let marked = read(format!("\u{feff}{dump}").as_bytes());
    assert_eq!((marked.channels, marked.notes), (plain.channels.clone(), vec![]));
    let attributes = "$attrbegin misc 07 \n lib 1 $end\n$var";
    let attributed = read(dump.replace("$var", attributes).as_bytes());
    assert_eq!(attributed.channels, plain.channels);
    assert!(attributed.notes[0].contains("first in line 4"), "{:?}", attributed.notes);
    let late = refused(format!("{}foo!\n", dump.replace("$var", attributes)).as_bytes());
    assert!(late.contains("line 10"), "{late}");
    assert!(refused(b"$date x $end\n$nothing that ends").contains("line 2"));
}

#[test]
fn exports_of_both_generations_of_saleae() {
    let first = "Time[s], Channel 0, Channel 1\n-0.000000500000000, 1, 0\n\
                 0.000000125000000, 0, 0\n0.25, 0, 1\n";
    let second = "Time [s],Channel 0,Channel 1\r\n-0.000000500,1,0\r\n0.000000125,0,0\r\n\
                  0.250000000,0,1\r\n";
    for text in [first, second] {
        let capture = parsed(text);
        assert_eq!(capture.tick, Tick::from_hz(1_000_000_000).unwrap());
        assert_eq!(capture.start, -500);
        assert_eq!(capture.channels[0].initial, High);
        assert_eq!(edges(&capture.channels[0]), [(625, Low)]);
        assert_eq!(edges(&capture.channels[1]), [(250_000_500, High)]);
    }
}

#[test]
fn the_sampling_clock_shows_in_the_edges() {
    let rows = |ns: &dyn Fn(u64) -> u64| {
        let row = |n: u64| format!("0.{:09},{}\n", ns(n), n % 2);
        "Time [s],a\n".to_owned() + &(0..40).map(|n| row(n * n + n % 2 * 2)).collect::<String>()
    };
    let every_500_ns = parsed(&rows(&|n| n * 500));
    assert_eq!(every_500_ns.resolution, Tick::from_hz(2_000_000).unwrap());
    // 24 MHz in nanoseconds, as sigrok and Saleae round it.
    let thirds = parsed(&rows(&|n| n * 1_000_000_000 / 24_000_000));
    assert_eq!(thirds.resolution, Tick::from_hz(24_000_000).unwrap());
    assert!(thirds.resolution_inferred);
    let any = parsed(&rows(&|n| n * 37 + n / 3));
    assert_eq!(any.resolution, any.tick);
    let few = parsed("Time [s],a\n0.000000000,0\n0.000500000,1\n0.001000000,0\n");
    assert_eq!((few.tick, few.resolution), (few.tick, few.tick));
}

#[test]
fn exports_that_are_not_sound_name_the_line() {
    let cases: [(&str, &str); 7] = [
        ("Time [s],a\n", "no line follows"),
        ("Time [s]\n0,1\n", "no column but the time"),
        ("Time [s],a\n0.0,1\n0.1,2\n", "line 3: cell 2 is `2`"),
        ("Time [s],a\n0.0,1\n0.1\n", "line 3: 1 cells where the header has 2"),
        ("Time [s],a\n0.0,1,1\n", "line 2: more cells"),
        ("Time [s],a\nyesterday,1\n", "line 2: time `yesterday`"),
        ("Time [s],a\n0,0\n99999999999999,0\n0.0000000000001,1\n", "line 4: time"),
    ];
    for (text, wanted) in cases {
        let message = refused(text.as_bytes());
        assert!(message.contains(wanted), "{message}");
        assert!(message.contains(';') || message.contains('?'), "no advice in {message}");
    }
    assert!(refused(b"").contains("empty"));
    assert!(refused(b"\x7fELF").contains("neither a VCD file"));
}

fn session(metadata: &str, samples: &[(&str, &[u8])]) -> Vec<u8> {
    use std::io::Write;
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let fixed = [("version", &b"2"[..]), ("metadata", metadata.as_bytes())];
    for (name, bytes) in fixed.iter().chain(samples) {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A capture that every format can represent: known levels, a whole number of nanoseconds to the
/// tick.
fn captures() -> impl Strategy<Value = Capture> {
    let line = (any::<bool>(), prop::collection::btree_set(1u64..3000, 0..40));
    (
        prop::collection::vec(line, 1..12),
        prop::sample::select(vec![1_000_000, 24_000_000, 100_000_000]),
    )
        .prop_map(|(lines, hz)| {
            let channel = |(n, (high, times)): (usize, (bool, std::collections::BTreeSet<u64>))| {
                let edge = |(k, at): (usize, u64)| Edge::new(at, Level::of(high ^ (k % 2 == 0)));
                Channel {
                    name: format!("line{n}"),
                    initial: Level::of(high),
                    edges: times.into_iter().enumerate().map(edge).collect(),
                }
            };
            Capture {
                tick: Tick::from_hz(hz).unwrap(),
                resolution: Tick::from_hz(hz).unwrap(),
                resolution_inferred: false,
                start: 0,
                end: 3000,
                channels: lines.into_iter().enumerate().map(channel).collect(),
                notes: Vec::new(),
                cut: false,
                simulated: None,
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn written_files_are_read_again(capture in captures()) {
        let (bytes, notes) = write_sigrok(&capture).unwrap();
        prop_assert_eq!(notes, Vec::<String>::new());
        let (_, again) = read(&bytes).unwrap();
        prop_assert_eq!(&again, &capture);
        let mut vcd = Vec::new();
        write_vcd(&capture, &mut vcd).unwrap();
        let (_, again) = read(&vcd).unwrap();
        exercise::check(&again);
        // 24 MHz is rounded there, but the comment has the clock, and the nearest samples are the
        // same.
        prop_assert_eq!(again.resolution, capture.resolution);
        let (bytes, _) = write_sigrok(&again).unwrap();
        let (_, again) = read(&bytes).unwrap();
        prop_assert_eq!(again.channels, capture.channels);
    }

    #[test]
    fn any_text_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        exercise::vcd(&bytes);
        exercise::csv(&bytes);
        exercise::sigrok(&bytes);
        let (metadata, samples) = bytes.split_at(bytes.len() / 2);
        exercise::sigrok_members(metadata, samples);
    }

    #[test]
    fn nearly_sound_dumps_are_read_or_refused(
        words in prop::collection::vec(prop::sample::select(VCD_WORDS.to_vec()), 0..60)
    ) {
        exercise::vcd(words.join(" ").as_bytes());
        let head = "$var wire 3 ! a $end $enddefinitions $end ".to_owned();
        exercise::vcd((head + &words.join("\n")).as_bytes());
    }

    #[test]
    fn nearly_sound_exports_are_read_or_refused(
        cells in prop::collection::vec("[0-9]{0,3}\\.?[0-9]{0,16}|-?[01]|1e-?[0-9]{1,2}", 0..40)
    ) {
        let lines: Vec<String> = cells.chunks(3).map(|row| row.join(",")).collect();
        exercise::csv(format!("Time [s],a,b\n{}", lines.join("\n")).as_bytes());
        let times: String = cells.iter().map(|time| format!("{time},1,0\n")).collect();
        exercise::csv(format!("Time [s],a,b\n{times}").as_bytes());
    }

    #[test]
    fn nearly_sound_sessions_are_read_or_refused(
        unit in 0u32..70, probes in 0u32..70, rate in "[0-9]{0,9} ?[kMG]?(Hz)?",
        samples in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..400, flip in 1u8..
    ) {
        let metadata = format!("[device 1]\ntotal probes={probes}\nsamplerate={rate}\n\
                                unitsize={unit}\n");
        exercise::sigrok_members(metadata.as_bytes(), &samples);
        let mut zip = session(&metadata, &[("logic-1-1", &samples)]);
        if let Some(byte) = zip.get_mut(at) {
            *byte ^= flip;
        }
        exercise::sigrok(&zip);
    }
}

const VCD_WORDS: [&str; 24] = [
    "$timescale",
    "1us",
    "10",
    "ns",
    "$end",
    "$scope",
    "module",
    "$upscope",
    "$var",
    "wire",
    "8",
    "!",
    "real",
    "[7:0]",
    "#0",
    "#5",
    "#18446744073709551615",
    "0!",
    "x!",
    "b01xz",
    "r1.5",
    "s",
    "$dumpvars",
    "$comment",
];

/// Levels of each sample as sigrok-cli prints them.
fn sigrok_samples(path: &Path, format: &str) -> Vec<Vec<u8>> {
    let output = Command::new("sigrok-cli")
        .arg("-i")
        .arg(path)
        .args(["-I", format, "-O", "csv:header=false:label=off"])
        .output()
        .expect("sigrok-cli, which scripts/setup installs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    // The rate of a dump is the first line.
    text.lines()
        .filter(|line| !line.starts_with("META"))
        .map(|line| line.split(',').map(|cell| cell.as_bytes()[0] - b'0').collect())
        .collect()
}

/// The same levels from a capture, sampled at each tick.
fn samples(capture: &Capture, step: u64) -> Vec<Vec<u8>> {
    let all: Vec<_> = capture.channels.iter().map(|c| (c.initial, edges(c))).collect();
    let level = |(initial, edges): &(Level, Vec<(u64, Level)>), at: u64| {
        let n = edges.partition_point(|edge| edge.0 <= at);
        let level = n.checked_sub(1).map_or(*initial, |n| edges[n].1);
        u8::from(level.is_high())
    };
    let row = |at: u64| all.iter().map(|channel| level(channel, at)).collect();
    (0..=capture.end / step).map(|n| row(n * step)).collect()
}

fn temporary(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (directory, path)
}

#[test]
fn sigrok_reads_what_is_written_to_the_same_samples() {
    let (_, capture) = read(&spi_bus(1, (true, true), 40).session).unwrap();
    let wanted = samples(&capture, 1);
    let (bytes, _) = write_sigrok(&capture).unwrap();
    let (_keep, path) = temporary("again.sr", &bytes);
    assert!(sigrok_samples(&path, "srzip") == wanted, "the session differs");
    let mut vcd = Vec::new();
    write_vcd(&capture, &mut vcd).unwrap();
    let (_keep, path) = temporary("again.vcd", &vcd);
    // Half a microsecond is five ticks of the file's 100 ns.
    let read: Vec<_> = sigrok_samples(&path, "vcd").into_iter().step_by(5).collect();
    assert!(read[..] == wanted[..read.len()] && read.len() + 1 >= wanted.len(), "the dump differs");
}

#[test]
fn sessions_have_the_samples_that_sigrok_sees() {
    let sessions = [
        spi_bus(2, (false, false), 40).session,
        trace_pin(3, 3000, Some(LineFault::StopBit)).session,
    ];
    for session in sessions {
        let (_, capture) = read(&session).unwrap();
        exercise::check(&capture);
        assert!(capture.end > 10_000, "{}", capture.end);
        let (_keep, path) = temporary("session.sr", &session);
        assert!(samples(&capture, 1) == sigrok_samples(&path, "srzip"));
    }
}
