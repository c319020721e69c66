//! `strobe report` on archives as tools and tracers of others left them, made up with what was hard
//! about the real ones: the totals are those of the generators.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
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

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(&[arguments, &["--format", "json"]].concat())).expect("JSON")
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

/// An array's sum of a number in each of its elements.
fn sum(array: &Value, key: &str) -> u64 {
    array.as_array().unwrap().iter().map(|element| element[key].as_u64().unwrap()).sum()
}

#[test]
fn samples_and_the_profile_that_was_published_of_them() {
    let made = archive::samples(1, 5000);
    let folder = tempfile::tempdir().unwrap();
    let packets = write(folder.path(), "packets.json", made.packets.as_bytes());
    let symbols = write(folder.path(), "functions.csv", made.functions.as_bytes());
    let profile = write(folder.path(), "profile.txt", made.profile.as_bytes());
    let arguments = ["report", &packets, "--symbols", &symbols, "--published", &profile];
    let report = json(&arguments);
    let (published, attributed) = (&report["published"], made.attributed());
    let total: u64 = made.published.iter().map(|(_, hits)| hits).sum();
    assert!(total * 2 < attributed, "the faulty profile has {total} of {attributed}");
    assert_eq!(
        (published["counted"].as_u64(), published["total"].as_u64()),
        (Some(attributed), Some(total))
    );
    let taken = &report["record"]["traced"]["sampling"]["taken"];
    assert_eq!(taken.as_u64(), Some(attributed + made.corrupt));
    // Each function, whether it was published or lost.
    let functions = published["functions"].as_array().unwrap();
    let listed =
        functions.iter().map(|f| (f["name"].as_str().unwrap(), f["counted"].as_u64().unwrap()));
    let missing = published["missing"].as_array().unwrap().iter();
    let missing = missing.map(|pair| (pair[0].as_str().unwrap(), pair[1].as_u64().unwrap()));
    let lost = missing.clone().next();
    let mut all: Vec<(&str, u64)> = listed.chain(missing).collect();
    all.sort();
    assert!(all.iter().copied().eq(made.samples.iter().map(|(name, n)| (name.as_str(), *n))));
    let in_profile = |name: &str| made.published.iter().any(|(other, _)| other == name);
    let most = made.samples.iter().filter(|(name, _)| !in_profile(name)).map(|(_, n)| *n).max();
    assert_eq!(lost.map(|(_, n)| n), most);
    // The tool's fault leaves exactly what was published.
    assert_eq!(published["fault"]["exact"], true);
    assert_eq!(published["fault"]["functions"].as_u64(), Some(made.published.len() as u64));
    let hits = functions.iter().map(|f| f["published"].as_u64().unwrap());
    assert!(hits.eq(made.published.iter().map(|(_, hits)| *hits)));
    let warnings = report["record"]["warnings"].as_array().unwrap();
    let warned = |text: &str| {
        let warning = warnings.iter().find(|w| w["text"].as_str().unwrap().contains(text));
        warning.and_then(|warning| warning["count"].as_u64())
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
    let report = json(&["report", &packets, "--symbols", &symbols, "--published", &other]);
    assert_eq!(report["published"]["fault"]["exact"], false);
}

#[test]
fn allocations_as_text_and_as_tree() {
    let made = archive::allocations(2, 1500);
    let folder = tempfile::tempdir().unwrap();
    let text = write(folder.path(), "itm_port0.txt", &made.text);
    let symbols = write(folder.path(), "functions.csv", made.functions.as_bytes());
    let tree = write(folder.path(), "tree.json", &made.tree);
    let report = json(&["report", &text, "--symbols", &symbols, "--published", &tree]);
    let number = |value: &Value| value.as_u64().unwrap();
    assert_eq!((number(&report["count"]), number(&report["bytes"])), (made.count, made.bytes));
    let big = (number(&report["big_count"]), number(&report["big_bytes"]));
    assert_eq!((big, number(&report["failed"])), ((made.big_count, made.big_bytes), made.failed));
    assert!(made.big_count > 20 && made.failed > 5);
    let damage = [
        ("frames", made.damaged_frames),
        ("all_frames", made.frames),
        ("astray", made.astray_frames),
        ("allocations", made.doubtful),
        ("heads", made.damaged_heads),
        ("before", made.before),
        ("remarks", made.remarks),
        ("not_utf8", made.not_utf8),
    ];
    for (what, wanted) in damage {
        assert_eq!(report["damage"][what].as_u64(), Some(wanted), "{what}");
        assert!(wanted >= 5, "hardly any {what}: {wanted}");
    }
    // Every chain of callers, with what was allocated below it.
    assert_eq!(report["tree"].as_array().unwrap().len(), made.chains.len());
    assert_eq!(
        sum(&report["tree"], "count"),
        made.chains.values().map(|(count, _)| count).sum::<u64>()
    );
    assert_eq!(
        sum(&report["tree"], "bytes"),
        made.chains.values().map(|(_, bytes)| bytes).sum::<u64>()
    );
    let roots = report["tree"].as_array().unwrap().iter().filter(|node| node["parent"].is_null());
    assert_eq!(roots.map(|node| number(&node["count"])).sum::<u64>(), made.count);
    // Where the unwinder remarked that it was at its end, the tool made up a caller: that is all
    // that differs.
    let published = &report["published"];
    assert_eq!(
        (number(&published["count"]), number(&published["bytes"])),
        (made.count, made.bytes)
    );
    assert_eq!(number(&published["same"]), made.chains.len() as u64);
    assert_eq!(number(&published["nodes"]), made.chains.len() as u64 + made.made_up);
    assert_eq!(number(&published["all_differ"]), made.made_up);
    assert_eq!(number(&published["not_utf8"]), made.tree_not_utf8);
    // The tree alone.
    let report = json(&["report", &tree]);
    assert_eq!((number(&report["count"]), number(&report["bytes"])), (made.count, made.bytes));
    assert_eq!(number(&report["damage"]["not_utf8"]), made.tree_not_utf8);
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
    let report = json(&["report", &stream]);
    assert_eq!(report["heap"]["peak_bytes"].as_u64(), Some(heap.truth.peak_bytes));
    let undecodable = &report["trace"]["streams"][0]["undecodable_bytes"];
    assert_eq!(undecodable.as_u64(), Some((heap.noise + heap.tail) as u64));
    let error = refused(&["report", folder.path().to_str().unwrap()], 64);
    assert!(error.contains("no trace but a folder with streams"), "{error}");
    assert!(error.contains(".raw.bin"), "{error}");
    // As the directory of a trace, all its streams side by side.
    let trace = tempfile::tempdir().unwrap();
    write(trace.path(), "metadata", tracer::metadata().as_bytes());
    write(trace.path(), "channel0", &heap.bytes);
    write(trace.path(), "channel1", &isr.bytes);
    let report = json(&["report", trace.path().to_str().unwrap()]);
    assert_eq!(
        sum(&report["trace"]["streams"], "events"),
        (heap.events.len() + isr.events.len()) as u64
    );
    assert_eq!(report["heap"]["peak_bytes"].as_u64(), Some(heap.truth.peak_bytes));
    let lost: u64 = isr.truth.handlers.values().map(|handlers| handlers.unmatched_enters).sum();
    assert_eq!(sum(&report["interrupts"], "unmatched_enters"), lost);
}

#[test]
fn a_trace_of_unknown_events_says_what_it_is() {
    let made = (0..).map(CtfTrace::generate).find(|t| t.lost > 0 && t.events.len() > 5).unwrap();
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "metadata", made.metadata.as_bytes());
    let stream = write(folder.path(), "channel0", &[&made.stream[..], b"tail"].concat());
    let trace = folder.path().to_str().unwrap();
    let report = json(&["report", trace]);
    let events: u64 =
        report["kinds"].as_array().unwrap().iter().map(|k| k["count"].as_u64().unwrap()).sum();
    assert_eq!(events, made.events.len() as u64);
    assert_eq!(report["undecodable"][0]["bytes"], 4);
    let text = printed(&["report", trace]);
    assert!(text.contains(&format!("lost: {} event", made.lost)), "{text}");
    // One stream beside its metadata, or with it given.
    assert_eq!(json(&["report", &stream])["kinds"], report["kinds"]);
    let elsewhere = tempfile::tempdir().unwrap();
    let alone = write(elsewhere.path(), "channel0", &made.stream);
    let metadata = folder.path().join("metadata").into_os_string().into_string().unwrap();
    assert_eq!(json(&["report", &alone, "--metadata", &metadata])["kinds"], report["kinds"]);
    let error = refused(&["report", &alone, "--as", "ctf"], 65);
    assert!(error.contains("no metadata beside it"), "{error}");
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
