//! Common Trace Format compared with babeltrace2, event by event: streams of a tracer, synthetic
//! types, and the output of babeltrace2 itself.

use std::path::Path;
use std::process::Command;

use crate::common::traces::streams;
use strobe_decode::ctf::{Event, Item, Options, Reader, Trace, merge};
use strobe_synth::ctf::{CtfTrace, packetised};
use strobe_synth::tracer;

/// The events as strobe reads them, in babeltrace2's form.
fn ours(metadata: &[u8], stream: &[u8]) -> Vec<String> {
    let trace = Trace::parse(metadata).unwrap_or_else(|error| panic!("{error}"));
    let mut reader = Reader::new(&trace, stream, &Options::default());
    let mut lines = Vec::new();
    while let Some(item) = reader.next() {
        if let Item::Event(event) = item {
            lines.push(line(&event));
        }
    }
    lines
}

fn line(event: &Event) -> String {
    let name = &event.class.name;
    let fields = event.fields.as_ref().map_or(String::new(), |f| format!(" {f}"));
    format!("[{:020}] {name}:{fields}", event.time.unwrap_or_default())
}

fn babeltrace2(arguments: &[&str], trace: &Path) -> String {
    let output = Command::new("babeltrace2").args(arguments).arg(trace).output();
    let output = output.expect("babeltrace2 starts; the package of that name has it");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {}: {errors}", trace.display(), output.status);
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The events as babeltrace2 reads them.
fn theirs(trace: &Path) -> Vec<String> {
    let text = babeltrace2(&["--clock-cycles", "--no-delta"], trace);
    // The packet's processor is in each of its lines.
    text.lines().map(|line| line.trim_end().replacen("{ cpu_id = 3 }, ", "", 1)).collect()
}

fn directory(metadata: &[u8], stream: &[u8]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("metadata"), metadata).unwrap();
    std::fs::write(directory.path().join("stream"), stream).unwrap();
    directory
}

/// The line without its strings.
fn blank(line: &str) -> String {
    line.split('"').step_by(2).collect()
}

fn agree(what: &str, metadata: &[u8], stream: &[u8]) -> usize {
    let directory = directory(metadata, stream);
    let (ours, theirs) = (ours(metadata, stream), theirs(directory.path()));
    for (i, (a, b)) in ours.iter().zip(&theirs).enumerate() {
        // babeltrace2 2.0.4 shows an empty text of fixed length as the previous value of that
        // field.
        let (a, b) = if a.contains("\"\"") { (blank(a), blank(b)) } else { (a.clone(), b.clone()) };
        assert_eq!(a, b, "{what}, event {i}: strobe (left), babeltrace2 (right)");
    }
    assert_eq!(ours.len(), theirs.len(), "{what}");
    ours.len()
}

#[test]
fn a_tracers_streams_event_by_event() {
    let metadata = tracer::metadata();
    for (name, stream) in streams() {
        // babeltrace2 knows no start mark, and stops at a truncated event.
        let events = agree(name, metadata.as_bytes(), stream.whole_events());
        assert_eq!(events, stream.events.len(), "{name}");
    }
}

#[test]
fn parallel_streams_are_merged_as_by_babeltrace2() {
    let metadata = tracer::metadata();
    let all = streams();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("metadata"), &metadata).unwrap();
    for (name, stream) in &all {
        std::fs::write(directory.path().join(name), stream.whole_events()).unwrap();
    }
    let trace = Trace::parse(metadata.as_bytes()).unwrap();
    // After their marks, truncated as they are.
    let options = Options::default();
    let readers = all.iter().map(|(_, s)| Reader::new(&trace, &s.bytes, &options)).collect();
    let mut ours: Vec<String> = merge(readers)
        .filter_map(
            |(_, item)| if let Item::Event(event) = item { Some(line(&event)) } else { None },
        )
        .collect();
    let times =
        |lines: &[String]| lines.iter().map(|line| line[..22].to_owned()).collect::<Vec<_>>();
    let mut theirs = theirs(directory.path());
    assert!(times(&ours) == times(&theirs), "events in another order of time");
    // The order of simultaneous events is unspecified.
    ours.sort();
    theirs.sort();
    assert!(ours == theirs, "other events");
    assert!(ours.len() > 50_000, "{}", ours.len());
}

#[test]
fn made_up_traces_event_by_event() {
    let mut events = 0;
    for (seed, trace) in (0..).map(CtfTrace::generate).filter(|t| t.in_packets).take(60).enumerate()
    {
        events += agree(&format!("seed {seed}"), trace.metadata.as_bytes(), &trace.stream);
        let packets = packetised(&trace.metadata, 100 + seed, trace.metadata.contains("= be"));
        assert_eq!(ours(&packets, &trace.stream), ours(trace.metadata.as_bytes(), &trace.stream));
    }
    assert!(events > 300, "{events}");
}

/// babeltrace2 as an independent writer: packets with UUID, sizes and times, and its own metadata.
/// Its writer rejects variants, and 2.0.4 crashes on some other types; whatever it writes must be
/// readable.
#[test]
fn traces_that_babeltrace2_writes() {
    let mut written = 0;
    for seed in 100..160 {
        let trace = CtfTrace::generate(seed);
        if !trace.in_packets || trace.events.is_empty() {
            continue;
        }
        let source = directory(trace.metadata.as_bytes(), &trace.stream);
        let target = tempfile::tempdir().unwrap();
        let out = target.path().join("out/trace");
        let parent = out.parent().unwrap().to_str().unwrap();
        let arguments = ["--output-format", "ctf", "--output", parent];
        let status = Command::new("babeltrace2").args(arguments).arg(source.path()).output();
        if !status.expect("babeltrace2 starts").status.success() {
            continue;
        }
        let read = |name: &str| std::fs::read(out.join(name)).unwrap();
        let names = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names = names.map(|name| name.into_string().unwrap());
        let stream = names.find(|name| name != "metadata").unwrap();
        assert_eq!(ours(&read("metadata"), &read(&stream)), theirs(source.path()), "{seed}");
        written += 1;
    }
    assert!(written >= 10, "{written}");
}
