//! `strobe report` on archives: real ones, beside the repository and not in it (`../shared/data/microros`), with the totals that somebody else
//! worked out; and made-up ones, which run everywhere.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use strobe_synth::ctf::CtfTrace;

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

/// A file of the archive; `None` where it is not at hand, as in a plain clone.
fn archived(name: &str) -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/microros");
    if !folder.is_dir() {
        eprintln!("not at hand: {}", folder.display());
        return None;
    }
    let path = folder.join(name);
    assert!(path.exists(), "{} is missing", path.display());
    Some(path.into_os_string().into_string().expect("UTF-8"))
}

#[test]
fn samples_of_2019_over_a_serial_line() {
    let Some(packets) = archived("dec2019/uart_perf/packets.json") else { return };
    let symbols = archived("dec2019/uart_perf/functions.csv").unwrap();
    let profile = archived("dec2019/uart_perf/published_profile.txt").unwrap();
    let report = json(&["report", &packets, "--symbols", &symbols, "--published", &profile]);
    let published = &report["published"];
    assert_eq!(
        (published["counted"].as_u64(), published["total"].as_u64()),
        (Some(4653), Some(982))
    );
    assert_eq!(report["record"]["traced"]["sampling"]["taken"], 4664);
    let count = |name: &str| {
        let functions = published["functions"].as_array().unwrap().iter();
        let listed = functions.map(|f| (f["name"].as_str(), f["counted"].as_u64()));
        let missing = published["missing"].as_array().unwrap().iter();
        let missing = missing.map(|pair| (pair[0].as_str(), pair[1].as_u64()));
        listed.chain(missing).find(|(n, _)| *n == Some(name)).and_then(|(_, count)| count)
    };
    let wanted = [
        ("nx_start", 2268),
        ("up_idle", 1107),
        ("stm32_phyread", 615),
        ("up_mdelay", 325),
        ("exception_common", 19),
    ];
    for (name, samples) in wanted {
        assert_eq!(count(name), Some(samples), "{name}");
    }
    let text = printed(&["report", &packets, "--symbols", &symbols, "--published", &profile]);
    assert!(text.contains("4,653 attributed + 11 outside the firmware"), "{text}");
}

/// With the firmware itself, whose inlined functions the tool named, the fault leaves exactly what was published. The firmware is in the archive's own repository
/// and too big to be kept here.
#[test]
#[ignore = "STROBE_MICROROS_UART_ELF names dec2019/bm_publisher_uart_perf/nuttx.elf of micro-ROS/benchmarking-results"]
fn samples_of_2019_with_their_firmware() {
    let packets = archived("dec2019/uart_perf/packets.json").expect("the archive");
    let elf = std::env::var("STROBE_MICROROS_UART_ELF").expect("the firmware's ELF file");
    let profile = archived("dec2019/uart_perf/published_profile.txt").unwrap();
    let report = json(&["report", &packets, "--elf", &elf, "--published", &profile]);
    assert_eq!(report["published"]["fault"]["exact"], true);
    assert_eq!(report["published"]["fault"]["functions"], 10);
}

#[test]
fn samples_of_2019_over_ethernet() {
    let Some(packets) = archived("dec2019/ethernet_perf/packets.json") else { return };
    let symbols = archived("dec2019/ethernet_perf/functions.csv").unwrap();
    let profile = archived("dec2019/ethernet_perf/published_profile.txt").unwrap();
    let report = json(&["report", &packets, "--symbols", &symbols, "--published", &profile]);
    assert_eq!(report["record"]["traced"]["sampling"]["taken"], 1871);
    let published = &report["published"];
    assert_eq!(
        (published["counted"].as_u64(), published["total"].as_u64()),
        (Some(1867), Some(1547))
    );
    assert_eq!(published["missing"][0][0], "up_mdelay");
    assert_eq!(published["missing"][0][1], 327);
}

#[test]
fn allocations_of_2019() {
    let Some(text) = archived("dec2019/uart_mem/itm_port0.txt") else { return };
    let tree = archived("dec2019/uart_mem/published_tree.json").unwrap();
    let symbols = archived("dec2019/uart_mem/functions.csv").unwrap();
    let report = json(&["report", &text, "--symbols", &symbols, "--published", &tree]);
    assert_eq!((report["count"].as_u64(), report["big_bytes"].as_u64()), (Some(110), Some(76_992)));
    assert_eq!(report["damage"]["frames"], 3);
    assert_eq!(report["published"]["count"], 110);
    // Where the unwinder remarked that it was at its end, the tool made up a caller out of what it had read before.
    assert_eq!(report["damage"]["remarks"], 19);
    assert!(report["published"]["same"].as_u64().unwrap() >= 290);
    let roots = report["tree"].as_array().unwrap().iter().filter(|node| node["parent"].is_null());
    assert_eq!(roots.map(|node| node["count"].as_u64().unwrap()).sum::<u64>(), 110);
    let tree = archived("dec2019/ethernet_mem/published_tree.json").unwrap();
    let report = json(&["report", &tree]);
    assert_eq!(
        (report["count"].as_u64(), report["damage"]["not_utf8"].as_u64()),
        (Some(1163), Some(4))
    );
    // Valid UTF-8, which the tree itself is not.
    assert!(printed(&["report", &text, "--top", "0"]).contains('\u{fffd}'));
}

#[test]
fn streams_of_2020() {
    let Some(stream) = archived("aug2020/ethernet/mem-dyn.raw.bin") else { return };
    let report = json(&["report", &stream]);
    assert_eq!(report["heap"]["peak_bytes"], 85_648);
    assert_eq!(report["trace"]["streams"][0]["undecodable_bytes"], 1);
    let folder = archived("aug2020/ethernet").unwrap();
    let error = refused(&["report", &folder], 64);
    assert!(error.contains("no trace but a folder with streams"), "{error}");
    assert!(error.contains(".raw.bin"), "{error}");
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path: PathBuf = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path.into_os_string().into_string().unwrap()
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
