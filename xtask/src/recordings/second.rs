//! Second opinions on the same recording: babeltrace2 and sigrok-cli.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;
use strobe_decode::ctf::{Item, Options, Reader, Trace};

use super::compare::{Judge, printed};
use super::known::{Recording, Second};
use super::select::value;

/// Compares with one of them.
pub(super) fn judge(
    judge: &Judge,
    recording: &Recording,
    second: &Second,
    differences: &mut Vec<String>,
) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let differ = match second {
        Second::Babeltrace { metadata } => babeltrace(judge, recording, metadata, scratch.path()),
        Second::ExportedCtf => exported_ctf(judge, recording, scratch.path()),
        Second::SigrokSamples { vcd_ticks } => {
            sigrok_samples(judge, recording, *vcd_ticks, scratch.path())
        }
        Second::SigrokWords { decoder, lanes, at_least } => {
            sigrok_words(judge, recording, decoder, lanes, *at_least)
        }
        Second::SigrokItm { decoder } => sigrok_itm(judge, recording, decoder),
    };
    differences.extend(differ?);
    Ok(())
}

/// The start mark that small tracers send before a stream. babeltrace2 does not know it.
const MARK: [u8; 4] = [0xbe, 0xbe, 0xde, 0xad];

fn babeltrace(
    judge: &Judge,
    recording: &Recording,
    metadata: &str,
    scratch: &Path,
) -> Result<Vec<String>> {
    let folder = judge.folder(recording);
    let metadata = std::fs::read(folder.join(metadata))?;
    let bytes = std::fs::read(folder.join(recording.name()))?;
    let mark = bytes.windows(MARK.len()).position(|bytes| bytes == MARK);
    let stream = &bytes[mark.map_or(0, |at| at + MARK.len())..];
    std::fs::write(scratch.join("metadata"), &metadata)?;
    std::fs::write(scratch.join("stream"), stream)?;
    let mut command = Command::new("babeltrace2");
    let text = printed(command.args(["--clock-cycles", "--no-delta"]).arg(scratch))?;
    let theirs: Vec<&str> = text.lines().map(str::trim_end).collect();
    let ours = events(&metadata, stream)?;
    Ok(first_difference("event", &ours, &theirs, "babeltrace2", shown).into_iter().collect())
}

/// A line without its quoted texts where one of them is empty: babeltrace2 2.0.4 shows an empty
/// text of fixed length as the previous value of that field.
fn shown(line: &str, other: &str) -> String {
    let blank = line.contains("\"\"") || other.contains("\"\"");
    if blank { line.split('"').step_by(2).collect() } else { line.to_owned() }
}

/// Events as babeltrace2 prints them.
fn events(metadata: &[u8], stream: &[u8]) -> Result<Vec<String>> {
    let trace = Trace::parse(metadata)?;
    let mut reader = Reader::new(&trace, stream, &Options::default());
    let mut lines = Vec::new();
    while let Some(item) = reader.next() {
        if let Item::Event(event) = item {
            let name = &event.class.name;
            let fields = event.fields.as_ref().map_or(String::new(), |f| format!(" {f}"));
            lines.push(format!("[{:020}] {name}:{fields}", event.time.unwrap_or_default()));
        }
    }
    Ok(lines)
}

/// The first difference of two lists.
fn first_difference(
    what: &str,
    ours: &[String],
    theirs: &[&str],
    who: &str,
    comparable: fn(&str, &str) -> String,
) -> Option<String> {
    let mut pairs = ours.iter().zip(theirs).enumerate();
    let differs = pairs.find(|(_, (a, b))| comparable(a, b) != comparable(b, a));
    if let Some((n, (a, b))) = differs {
        return Some(format!("{what} {n}: {who} reads `{b}`, found `{a}`"));
    }
    let (ours, theirs) = (ours.len(), theirs.len());
    (ours != theirs).then(|| format!("{what}s: {who} reads {theirs}, found {ours}"))
}

/// The export is read again with the same handlers, and has as many events as babeltrace2 reads.
fn exported_ctf(judge: &Judge, recording: &Recording, scratch: &Path) -> Result<Vec<String>> {
    let (folder, name) = (judge.folder(recording), recording.name());
    let out = scratch.join("out");
    let exported = out.to_str().context("the temporary directory's name")?;
    let both =
        judge.strobe(&folder, &["export", name, "--to", "ctf", "-o", exported]).and_then(|_| {
            Ok((
                judge.measured(&folder, &["report", name])?,
                judge.measured(&folder, &["report", exported])?,
            ))
        });
    let (before, after) = match both {
        Ok(both) => both,
        Err(failure) => return Ok(vec![failure]),
    };
    let mut differences = Vec::new();
    let timed = |report: &Value| -> Vec<Value> {
        let all = report["interrupts"].as_array();
        all.into_iter().flatten().map(|i| i["timed"].clone()).collect()
    };
    let (first, again) = (timed(&before), timed(&after));
    if first != again {
        differences.push(format!("exported as CTF: handlers {first:?} become {again:?}"));
    }
    let read =
        printed(Command::new("babeltrace2").arg("--clock-cycles").arg(&out))?.lines().count();
    let events = value(&after, "/streams/0/events");
    if events.as_ref().and_then(Value::as_u64) != Some(read as u64) {
        differences
            .push(format!("exported as CTF: babeltrace2 reads {read} events, found {events:?}"));
    }
    Ok(differences)
}

/// Levels of each sample, a line for each.
fn samples(path: &Path, format: &str) -> Result<Vec<String>> {
    let mut command = Command::new("sigrok-cli");
    command.arg("-i").arg(path).args(["-I", format, "-O", "csv:header=false:label=off"]);
    // The rate of a dump is the first line.
    let lines = printed(&mut command)?;
    Ok(lines.lines().filter(|line| !line.starts_with("META")).map(str::to_owned).collect())
}

fn sigrok_samples(
    judge: &Judge,
    recording: &Recording,
    vcd_ticks: Option<usize>,
    scratch: &Path,
) -> Result<Vec<String>> {
    let (folder, name) = (judge.folder(recording), recording.name());
    let wanted = samples(&folder.join(name), "srzip")?;
    let mut differences = Vec::new();
    let report = scratch.join("report");
    for (format, file, ticks) in [("srzip", "again.sr", Some(1)), ("vcd", "again.vcd", vcd_ticks)] {
        let Some(ticks) = ticks else { continue };
        let path = scratch.join(file);
        let text = |path: &Path| {
            path.to_str().map(str::to_owned).context("the temporary directory's name")
        };
        let (out, report) = (text(&path)?, text(&report)?);
        if let Err(failure) =
            judge.strobe(&folder, &["pins", name, "--export", &out, "-o", &report])
        {
            differences.push(failure);
            continue;
        }
        let read: Vec<String> = samples(&path, format)?.into_iter().step_by(ticks).collect();
        // A dump does not have the duration of its last level.
        let short = usize::from(format == "vcd");
        let whole = read.len() <= wanted.len() && read.len() + short >= wanted.len();
        if !whole || read[..] != wanted[..read.len()] {
            let (n, m) = (wanted.len(), read.len());
            differences.push(format!(
                "exported as {file}: sigrok-cli reads {m} samples, not the {n} of the original"
            ));
        }
    }
    Ok(differences)
}

/// Annotations of one of sigrok's decoders.
fn annotations(path: &Path, decoder: &str, which: &str) -> Result<String> {
    printed(Command::new("sigrok-cli").arg("-i").arg(path).args(["-P", decoder, "-A", which]))
}

fn sigrok_words(
    judge: &Judge,
    recording: &Recording,
    decoder: &str,
    lanes: &[String],
    at_least: usize,
) -> Result<Vec<String>> {
    let (folder, name) = (judge.folder(recording), recording.name());
    let report = match judge.measured(&folder, &["bus", name, "-P", decoder]) {
        Ok(report) => report,
        Err(failure) => return Ok(vec![failure]),
    };
    let mut differences = Vec::new();
    for (n, lane) in lanes.iter().enumerate() {
        let text = annotations(&folder.join(name), decoder, lane)?;
        let theirs: Vec<&str> =
            text.lines().filter_map(|line| Some(line.split_once(": ")?.1)).collect();
        let words = report["words"].as_array().into_iter().flatten();
        let line = &report["lines"][n]["line"];
        let values = words.filter(|word| word["line"] == *line);
        let values = values.filter_map(|word| word["value"].as_u64());
        let ours: Vec<String> = values.map(|value| format!("{value:02X}")).collect();
        let same =
            first_difference("word", &ours, &theirs, "sigrok-cli", |line, _| line.to_owned());
        let few =
            format!("sigrok-cli reads {} words, which is fewer than {at_least}", theirs.len());
        let found = same.or_else(|| (theirs.len() < at_least).then_some(few));
        differences.extend(found.map(|difference| format!("{decoder} {lane}: {difference}")));
    }
    Ok(differences)
}

/// Packets as counted by sigrok's own decoder, except for the sample at the end, which it drops.
fn sigrok_itm(judge: &Judge, recording: &Recording, decoder: &str) -> Result<Vec<String>> {
    let (folder, name) = (judge.folder(recording), recording.name());
    let report = match judge.measured(&folder, &["report", name]) {
        Ok(report) => report,
        Err(failure) => return Ok(vec![failure]),
    };
    let text = annotations(&folder.join(name), decoder, "arm_itm")?;
    let lines = |with: &str| text.lines().filter(|line| line.contains(with)).count() as u64;
    let expected = [
        ("PC sample", lines(" PC: ") + 1),
        ("overflow", lines("Overflow")),
        ("exception", lines("Enter: ") + lines("Resume: Thread")),
        ("data trace: code", lines("Watchpoint 1: PC")),
        ("data trace: value", lines("Write data") + lines(": address")),
    ];
    let mut differences = Vec::new();
    for (kind, expected) in expected {
        let path = format!("/packets/[kind={kind}]/packets");
        let found = value(&report, &path).and_then(|n| n.as_u64()).unwrap_or(0);
        if found != expected {
            differences.push(format!("{path}: sigrok-cli reads {expected}, found {found}"));
        }
    }
    let words: String =
        text.lines().filter_map(|line| line.split_once(" 0: \"")?.1.strip_suffix('"')).collect();
    let ours = value(&report, "/port-0").unwrap_or_default();
    let ours = ours.as_str().unwrap_or_default().replace("[lost?]", "");
    // The measurement has lines, of which the last may have had an end or none.
    if ours != words.trim_end_matches('\n') {
        differences.push(format!("port 0: sigrok-cli reads {words:?}, found {ours:?}"));
    }
    Ok(differences)
}
