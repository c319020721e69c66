//! `cargo xtask bench --swo`: decoding speed of trace streams, against orbuculum and the `itm`
//! crate, on the same bytes in the same run.
//!
//! Orbuculum is not in Debian: `--orbcat` is the path of a local build. It decodes every packet and
//! prints none; the crate counts what it decodes.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::contender::{cpu_model, timed};

/// Packets of the stream; about 80 MB.
const PACKETS: usize = 24_000_000;

/// A decoder in the comparison.
struct Decoder {
    name: &'static str,
    what: &'static str,
    command: Vec<String>,
    /// A peer, not part of strobe.
    peer: bool,
}

/// The measurements of one decoder.
#[derive(Default, Clone)]
struct Measured {
    cpu_us: Vec<u64>,
    packets: Option<u64>,
}

/// Measures and prints the results.
pub(super) fn run(root: &Path, orbcat: Option<&Path>, runs: u32) -> Result<()> {
    let file = root.join("target/bench/mixed.swo");
    let stream = strobe_synth::swo::mixed(PACKETS, 1).bytes;
    std::fs::write(&file, &stream).with_context(|| format!("cannot write {}", file.display()))?;
    let megabytes = stream.len() as f64 / 1e6;
    drop(stream);
    let all = decoders(root, &file, orbcat)?;
    let mut results = vec![Measured::default(); all.len()];
    for turn in 1..=runs {
        for (decoder, result) in all.iter().zip(&mut results) {
            eprintln!("{} ({turn} of {runs})", decoder.name);
            let mut command = Command::new(&decoder.command[0]);
            command.args(&decoder.command[1..]);
            let (run, printed) = timed(command)?;
            ensure!(run.exit_code == 0, "{} ended with {}", decoder.name, run.exit_code);
            result.cpu_us.push(run.cpu_us);
            let count = printed.strip_prefix("packets ").and_then(|n| n.trim().parse().ok());
            result.packets = count.or(result.packets);
        }
    }
    print(&all, &results, megabytes);
    std::fs::remove_file(&file).context("the stream cannot be removed")
}

fn decoders(root: &Path, file: &Path, orbcat: Option<&Path>) -> Result<Vec<Decoder>> {
    let mut build = Command::new(env!("CARGO"));
    build.current_dir(root).args(["build", "--release", "-p", "strobe-decode"]);
    let built = build.args(["--example", "count_packets"]).status()?;
    ensure!(built.success(), "count_packets cannot be built");
    let count = root.join("target/release/examples/count_packets");
    let (count, file) = (count.display().to_string(), file.display().to_string());
    let own = |how: &str| vec![count.clone(), how.to_owned(), file.clone()];
    let orbcat = orbcat.map_or_else(|| PathBuf::from("orbcat"), Path::to_path_buf);
    let mut all = vec![
        Decoder { name: "strobe", what: "packets", command: own("packets"), peer: false },
        Decoder { name: "strobe", what: "packets with times", command: own("timed"), peer: false },
        Decoder { name: "strobe", what: "events with times", command: own("events"), peer: false },
        Decoder { name: "itm 0.9.0-rc.1", what: "singles()", command: own("itm"), peer: true },
    ];
    if Command::new(&orbcat).arg("-V").output().is_ok() {
        let command = [&orbcat.display().to_string(), "-f", &file, "-p", "ITM", "-E"];
        let command = command.map(str::to_owned).to_vec();
        all.push(Decoder { name: "orbcat", what: "decode, print nothing", command, peer: true });
    } else {
        eprintln!("{} cannot be started; specify its path with --orbcat", orbcat.display());
    }
    Ok(all)
}

fn print(all: &[Decoder], results: &[Measured], megabytes: f64) {
    let rate = |result: &Measured| {
        let mut times = result.cpu_us.clone();
        times.sort_unstable();
        megabytes * 1e6 / times[times.len() / 2].max(1) as f64
    };
    let fastest = all.iter().zip(results).filter(|(decoder, _)| decoder.peer).map(|(_, r)| rate(r));
    let fastest = fastest.fold(0.0, f64::max);
    println!("{}, {megabytes:.1} MB, {PACKETS} packets; CPU time, medians\n", cpu_model());
    println!("| decoder | does | MB/s | times the fastest peer | packets counted |");
    println!("| --- | --- | --: | --: | --: |");
    for (decoder, result) in all.iter().zip(results) {
        let (rate, name, what) = (rate(result), decoder.name, decoder.what);
        let count = result.packets.map_or_else(|| "-".to_owned(), |n| n.to_string());
        println!("| {name} | {what} | {rate:.0} | {:.1} | {count} |", rate / fastest.max(1e-9));
    }
}
