//! `strobe report` on archives as tools and tracers of others left them, made up with what was hard
//! about the real ones: the totals are those of the generators.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::number;
use crate::common::recorded::{
    balance, column, figure, findings, recorded, row, rows, unattributed,
};
use serde_json::Value;
use strobe_model::measurement::{Measurement, Severity};
use strobe_synth::ctf::CtfTrace;
use strobe_synth::{archive, tracer};

fn strobe(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strobe"));
    command.args(arguments).env_remove("COLUMNS").output().expect("strobe starts")
}

fn printed(arguments: &[&str]) -> String {
    let output = strobe(arguments);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {messages}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn refused(arguments: &[&str], code: i32) -> String {
    let output = strobe(arguments);
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path: PathBuf = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path.into_os_string().into_string().unwrap()
}

#[test]
fn samples_and_the_profile_that_was_published_of_them() {
    let made = archive::samples(1, 5000);
    let folder = tempfile::tempdir().unwrap();
    let packets = write(folder.path(), "packets.json", made.packets.as_bytes());
    let symbols = write(folder.path(), "functions.csv", made.functions.as_bytes());
    let profile = write(folder.path(), "profile.txt", made.profile.as_bytes());
    let arguments = ["report", &packets, "--symbols", &symbols, "--published", &profile];
    let report = recorded(&arguments);
    let (published, attributed) = (rows(&report, "published"), made.attributed());
    let footer = &report.table("published").unwrap().footer[0];
    let sums = [1, 2].map(|column| footer[column].number().unwrap().as_u64());
    let total: u64 = made.published.iter().map(|(_, hits)| hits).sum();
    assert!(total * 2 < attributed, "the faulty profile has {total} of {attributed}");
    assert_eq!(sums, [attributed, total]);
    assert_eq!(figure(&report, "samples"), attributed + made.corrupt);
    // Each function, whether it was published or lost.
    let counted = |row: &Value| (row["function"].to_string(), number(&row["samples"]));
    let lost = published.iter().find(|row| row["published"].is_null()).map(counted);
    let mut all: Vec<(String, u64)> = published.iter().map(counted).collect();
    all.sort();
    let all: Vec<(&str, u64)> = all.iter().map(|(name, n)| (name.trim_matches('"'), *n)).collect();
    assert!(all.iter().copied().eq(made.samples.iter().map(|(name, n)| (name.as_str(), *n))));
    let in_profile = |name: &str| made.published.iter().any(|(other, _)| other == name);
    let most = made.samples.iter().filter(|(name, _)| !in_profile(name)).map(|(_, n)| *n).max();
    assert_eq!(lost.map(|(_, n)| n), most);
    // The tool's fault leaves exactly what was published.
    let fault = |report: &Measurement| {
        let all = findings(report, "published-fault");
        all[0].evidence[0].1.clone()
    };
    let is = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert!(fault(&report).contains(&is("exact", "yes")));
    assert!(fault(&report).contains(&is("functions", &made.published.len().to_string())));
    let hits = published.iter().filter_map(|f| f["published"].as_u64());
    assert!(hits.eq(made.published.iter().map(|(_, hits)| *hits)));
    let warned = |text: &str| {
        let warning = report.findings.iter().find(|finding| finding.text.contains(text));
        warning.map(|warning| warning.count)
    };
    assert_eq!(warned("`overflow`"), Some(made.overflows));
    assert_eq!(warned("no packet or have no address"), Some(made.unusable));
    let text = printed(&arguments);
    let thousands = format!("{},{:03}", attributed / 1000, attributed % 1000);
    let wanted = format!("{thousands} attributed + {} outside the firmware", made.corrupt);
    assert!(made.corrupt > 3 && text.contains(&wanted), "{wanted}: {text}");
    // With a hit more, the fault no longer explains it.
    let first = format!("hits: {}\n", made.published[0].1);
    let other = made.profile.replacen(&first, &format!("hits: {}\n", made.published[0].1 + 1), 1);
    let other = write(folder.path(), "other.txt", other.as_bytes());
    let report = recorded(&["report", &packets, "--symbols", &symbols, "--published", &other]);
    assert!(fault(&report).contains(&is("exact", "no")));
}

/// What every chain of callers has of a measure, with all below it.
fn below(report: &Measurement, measure: &str) -> Vec<u64> {
    let profile = report.profiles().next().expect("a profile");
    let mut sums = vec![0; profile.stacks.location.len()];
    let values = &profile.chains.of(measure).expect("the measure").values;
    for (stack, value) in profile.chains.at.iter().zip(values) {
        sums[stack.expect("a caller") as usize] += *value as u64;
    }
    // Those who call come first.
    for stack in (0..sums.len()).rev() {
        if let Some(parent) = profile.stacks.parent[stack] {
            sums[parent as usize] += sums[stack];
        }
    }
    sums
}

#[test]
fn allocations_as_text_and_as_tree() {
    let made = archive::allocations(2, 1500);
    let folder = tempfile::tempdir().unwrap();
    let text = write(folder.path(), "itm_port0.txt", &made.text);
    let symbols = write(folder.path(), "functions.csv", made.functions.as_bytes());
    let tree = write(folder.path(), "tree.json", &made.tree);
    let report = recorded(&["report", &text, "--symbols", &symbols, "--published", &tree]);
    assert_eq!((figure(&report, "blocks"), figure(&report, "bytes")), (made.count, made.bytes));
    let big = (figure(&report, "big-blocks"), figure(&report, "big-bytes"));
    assert_eq!((big, figure(&report, "failed")), ((made.big_count, made.big_bytes), made.failed));
    assert!(made.big_count > 20 && made.failed > 5);
    let damage = [
        ("callers damaged", "count", made.damaged_frames),
        ("callers damaged", "of", made.frames),
        ("callers in no function", "count", made.astray_frames),
        ("allocations with such a caller", "count", made.doubtful),
        ("unreadable first lines of allocations", "count", made.damaged_heads),
        ("lines before the first allocation", "count", made.before),
        ("remarks of the unwinder in place of a caller", "count", made.remarks),
        ("bytes that are no UTF-8", "count", made.not_utf8),
    ];
    for (what, of, wanted) in damage {
        assert_eq!(number(&row(&report, "damage", what)[of]), wanted, "{what}");
        assert!(wanted >= 5, "hardly any {what}: {wanted}");
    }
    // Every chain of callers, with what was allocated below it.
    let (blocks, bytes) = (below(&report, "blocks"), below(&report, "bytes"));
    assert_eq!(blocks.len(), made.chains.len());
    assert_eq!(
        blocks.iter().sum::<u64>(),
        made.chains.values().map(|(count, _)| count).sum::<u64>()
    );
    assert_eq!(
        bytes.iter().sum::<u64>(),
        made.chains.values().map(|(_, bytes)| bytes).sum::<u64>()
    );
    assert_eq!(balance(&report, "blocks").attributed, made.count);
    assert_eq!(unattributed(&report, "blocks", "no caller"), 0);
    // Where the unwinder remarked that it was at its end, the tool made up a caller: that is all
    // that differs.
    let published = row(&report, "published", "published");
    assert_eq!(
        (number(&published["blocks"]), number(&published["bytes"])),
        (made.count, made.bytes)
    );
    assert_eq!(number(&published["same"]), made.chains.len() as u64);
    assert_eq!(number(&published["callers"]), made.chains.len() as u64 + made.made_up);
    assert_eq!(number(&published["differ"]), made.made_up);
    assert_eq!(findings(&report, "published-not-utf8")[0].count, made.tree_not_utf8);
    // The tree alone.
    let report = recorded(&["report", &tree]);
    assert_eq!((figure(&report, "blocks"), figure(&report, "bytes")), (made.count, made.bytes));
    let damage = row(&report, "damage", "bytes that are no UTF-8");
    assert_eq!(number(&damage["count"]), made.tree_not_utf8);
    // Valid UTF-8, which the archive itself is not.
    assert!(made.tree_not_utf8 > 3);
    assert!(printed(&["report", &text, "--top", "0"]).contains('\u{fffd}'));
}

#[test]
fn a_tracers_streams_and_their_folder() {
    let (heap, isr) = (tracer::heap(3, 1200), tracer::interrupts(4, 900, true));
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "metadata.tsdl", tracer::metadata().as_bytes());
    let stream = write(folder.path(), "mem-dyn.raw.bin", &heap.bytes);
    write(folder.path(), "isr.raw.bin", &isr.bytes);
    let report = recorded(&["report", &stream]);
    assert_eq!(figure(&report, "heap-peak"), heap.truth.peak_bytes);
    let undecodable = column(&report, "streams", "undecodable-bytes");
    assert_eq!(undecodable, [(heap.noise + heap.tail) as u64]);
    let error = refused(&["report", folder.path().to_str().unwrap()], 64);
    assert!(error.contains("no trace but a folder with streams"), "{error}");
    assert!(error.contains(".raw.bin"), "{error}");
    // As the directory of a trace, all its streams side by side.
    let trace = tempfile::tempdir().unwrap();
    write(trace.path(), "metadata", tracer::metadata().as_bytes());
    write(trace.path(), "channel0", &heap.bytes);
    write(trace.path(), "channel1", &isr.bytes);
    let report = recorded(&["report", trace.path().to_str().unwrap()]);
    let sum = |table: &str, id: &str| column(&report, table, id).iter().sum::<u64>();
    assert_eq!(sum("streams", "events"), (heap.events.len() + isr.events.len()) as u64);
    assert_eq!(figure(&report, "heap-peak"), heap.truth.peak_bytes);
    let lost: u64 = isr.truth.handlers.values().map(|handlers| handlers.unmatched_enters).sum();
    assert_eq!(sum("interrupts", "unmatched-enters"), lost);
}

/// `strobe heap` of such a trace, as a directory and as one stream, has the heap and nothing else.
#[test]
fn the_heap_of_a_trace_is_shown_alone() {
    let (heap, isr) = (tracer::heap(3, 1200), tracer::interrupts(4, 900, true));
    let (folder, trace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(folder.path(), "metadata.tsdl", tracer::metadata().as_bytes());
    let stream = write(folder.path(), "mem-dyn.raw.bin", &heap.bytes);
    write(trace.path(), "metadata", tracer::metadata().as_bytes());
    write(trace.path(), "channel0", &heap.bytes);
    let silent = write(trace.path(), "channel1", &isr.bytes);
    for path in [stream.as_str(), trace.path().to_str().unwrap()] {
        let (alone, all) = (recorded(&["heap", path]), recorded(&["report", path]));
        assert_eq!(figure(&alone, "heap-peak"), heap.truth.peak_bytes);
        assert!(alone.sections.iter().all(|section| section.id.starts_with("heap")));
        for section in all.sections.iter().filter(|section| section.id.starts_with("heap")) {
            assert_eq!(alone.section(&section.id), Some(section));
        }
        let error = refused(&["heap", path, "--sample-bytes", "64"], 64);
        assert!(error.contains("firmware that is run"), "{error}");
    }
    std::fs::remove_file(trace.path().join("channel0")).unwrap();
    assert!(Path::new(&silent).exists());
    let error = refused(&["heap", trace.path().to_str().unwrap()], 65);
    assert!(error.contains("nothing in it is about heaps"), "{error}");
}

#[test]
fn a_trace_of_unknown_events_states_what_it_is() {
    let made = (0..).map(CtfTrace::generate).find(|t| t.lost > 0 && t.events.len() > 5).unwrap();
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "metadata", made.metadata.as_bytes());
    let stream = write(folder.path(), "channel0", &[&made.stream[..], b"tail"].concat());
    let trace = folder.path().to_str().unwrap();
    let report = recorded(&["report", trace]);
    let kinds = rows(&report, "kinds");
    let events: u64 = column(&report, "kinds", "events").iter().sum();
    assert_eq!(events, made.events.len() as u64);
    assert_eq!(rows(&report, "undecodable")[0]["bytes"], 4);
    let text = printed(&["report", trace]);
    assert!(text.contains(&format!("the tracer left out {} event", made.lost)), "{text}");
    // One stream beside its metadata, or with it given.
    assert_eq!(rows(&recorded(&["report", &stream]), "kinds"), kinds);
    let elsewhere = tempfile::tempdir().unwrap();
    let alone = write(elsewhere.path(), "channel0", &made.stream);
    let metadata = folder.path().join("metadata").into_os_string().into_string().unwrap();
    let report = recorded(&["report", &alone, "--metadata", &metadata]);
    assert_eq!(rows(&report, "kinds"), kinds);
    let error = refused(&["report", &alone, "--as", "ctf"], 65);
    assert!(error.contains("no metadata beside it"), "{error}");
}

/// What lies in the directory and is in no figure is stated: a trace further down, a device, a file
/// that is no stream of this trace.
#[test]
fn ignored_files_of_a_trace_are_stated() {
    let made = (0..).map(CtfTrace::generate).find(|t| t.events.len() > 5).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().to_str().unwrap();
    write(folder.path(), "metadata", made.metadata.as_bytes());
    write(folder.path(), "channel0", &made.stream);
    let alone = recorded(&["report", trace]);
    assert!(["left-out", "undecodable-bytes"].iter().all(|code| findings(&alone, code).is_empty()));
    std::fs::create_dir_all(folder.path().join("session/inner")).unwrap();
    write(folder.path(), "session/inner/metadata", made.metadata.as_bytes());
    write(folder.path(), "session/inner/channel0", &made.stream);
    write(folder.path(), "other", &[0x5a; 5000]);
    let report = recorded(&["report", trace]);
    let events = |report| column(report, "kinds", "events").iter().sum::<u64>();
    assert_eq!(events(&report), events(&alone));
    let left_out = findings(&report, "left-out");
    assert!(left_out.len() == 1 && left_out[0].text.starts_with("session/inner is a trace of its"));
    let bad = findings(&report, "undecodable-bytes");
    assert_eq!((bad.len(), bad[0].count, bad[0].severity), (1, 5000, Severity::Warning));
    assert!(bad[0].text.contains("no event was found in other"), "{}", bad[0].text);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/dev/null", folder.path().join("channel1")).unwrap();
        let report = recorded(&["report", trace]);
        let left_out: Vec<_> = findings(&report, "left-out");
        assert!(left_out.iter().any(|finding| finding.text.starts_with("channel1 is a device")));
    }
}

#[test]
fn wrong_files_are_named_with_their_fault() {
    let folder = tempfile::tempdir().unwrap();
    let metadata = write(folder.path(), "metadata", b"trace {\n byte_order = up;\n};");
    let error = refused(&["report", folder.path().to_str().unwrap()], 65);
    assert!(error.contains(&metadata) && error.contains("line 2, column 2"), "{error}");
    let packets = write(folder.path(), "p.json", b"{\"packet\": [}");
    assert!(refused(&["report", &packets], 65).contains("not JSON: "));
    let packets = write(
        folder.path(),
        "p.json",
        b"{\"packet\": [{\"packet\": \"pc sample\", \"value\": \"0x10\"}]}",
    );
    let csv = write(folder.path(), "f.csv", b"address,size,name\n12,4,f\n");
    assert!(
        refused(&["report", &packets, "--symbols", &csv], 65)
            .contains("line 2: expected an address")
    );
    let profile = write(folder.path(), "profile.txt", b"function: f\nhits: 1\n");
    assert!(refused(&["report", &packets, "--published", &profile], 64).contains("--symbols"));
    let table = write(folder.path(), "m.toml", b"[[event]]\nname = 'a'\nmeans = 'nonsense'\n");
    write(folder.path(), "metadata", b"trace { byte_order = le; };");
    let error = refused(&["report", folder.path().to_str().unwrap(), "--meanings", &table], 65);
    assert!(error.contains("m.toml: not a table of meanings"), "{error}");
    assert!(refused(&["report", &packets, "--as", "allocations"], 65).contains("allocated-blks"));
    assert!(refused(&["report", "/nowhere"], 66).contains("cannot read /nowhere"));
}
