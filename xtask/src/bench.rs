//! `cargo xtask bench`: simulation speed, measured against QEMU and simavr in the same run on the
//! same ELF files.
//!
//! strobe runs each program on the bare core and with the full profile; QEMU plain, with a plugin
//! that calls a function before every instruction (which a profiler in QEMU must do), and with
//! counters that its generated code increments; simavr in its own loop. Runs of the contenders
//! alternate, so that noise on the machine affects all of them. Method and results:
//! `docs/benchmarks.md`.

mod contender;
mod list;
mod load;
mod report;
mod swo;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use contender::{Contender, Run};
pub(crate) use load::Core;
use report::{Measured, Program, Report};

/// Measure simulation speed against QEMU and simavr
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Programs to run instead of the bundled load; they must end by themselves in QEMU (microbit,
    /// mps2-an385 or mps2-an386)
    elf: Vec<PathBuf>,
    /// Programs with options and peers of their own instead, from a TOML file; fails if one is a
    /// tenth slower than recorded there
    #[arg(long, value_name = "FILE", conflicts_with_all = ["elf", "core", "swo"])]
    list: Option<PathBuf>,
    /// Cores to run on; without programs of one's own all of them, else the Cortex-M0
    #[arg(long, value_delimiter = ',')]
    core: Vec<Core>,
    /// Runs of each program by each contender; the median counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Measure how fast trace streams are decoded instead, against other decoders
    #[arg(long)]
    swo: bool,
    /// Where orbuculum's orbcat is, if not in the PATH
    #[arg(long, value_name = "FILE", requires = "swo")]
    orbcat: Option<PathBuf>,
    /// Also write all runs as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask is in the workspace")?;
    let target = root.join("target/bench");
    std::fs::create_dir_all(&target)
        .with_context(|| format!("cannot create {}", target.display()))?;
    if args.swo {
        return swo::run(root, args.orbcat.as_deref(), args.runs);
    }
    let strobe = load::build_strobe(root)?;
    if let Some(list) = &args.list {
        return list::run(list, &strobe, &target, args.runs);
    }
    let plugin = load::build_plugin(root, &target)?;
    let nothing = load::write_nothing(&target)?;
    let (mut arm, mut avr) = (Vec::new(), Vec::new());
    for core in cores(args) {
        let contenders = contender::all(core, &plugin, &strobe, &target);
        let load = match (&args.elf[..], core) {
            ([], Core::Avr) => load::build_avr_programs(root, &target)?,
            ([], _) => [vec![nothing.clone()], load::build_programs(root, &target, core)?].concat(),
            (given, Core::Avr) => given.to_vec(),
            (given, _) => [std::slice::from_ref(&nothing), given].concat(),
        };
        let programs = if core == Core::Avr { &mut avr } else { &mut arm };
        for elf in load {
            programs.push(measure(&elf, core, &contenders, args.runs)?);
        }
    }
    let report = |peers: String, programs: Vec<Program>| {
        (!programs.is_empty()).then(|| Report { peers, cpu: contender::cpu_model(), programs })
    };
    let peers = if arm.is_empty() { String::new() } else { contender::qemu_version()? };
    let reports: Vec<Report> =
        [report(peers, arm), report("simavr".to_owned(), avr)].into_iter().flatten().collect();
    let shown: Vec<String> = reports.iter().map(Report::to_string).collect();
    print!("{}", shown.join("\n"));
    if let Some(path) = &args.json {
        let json = serde_json::to_string_pretty(&reports)? + "\n";
        std::fs::write(path, json).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn cores(args: &Args) -> Vec<Core> {
    match (&args.core[..], &args.elf[..]) {
        ([], []) => Core::ALL.to_vec(),
        ([], _) => vec![Core::M0],
        (some, _) => some.to_vec(),
    }
}

/// Runs one program with all contenders in turn, several times.
fn measure(elf: &Path, core: Core, contenders: &[Contender], runs: u32) -> Result<Program> {
    let name = elf.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut all: Vec<Vec<Run>> = vec![Vec::new(); contenders.len()];
    for turn in 1..=runs {
        for (contender, done) in contenders.iter().zip(&mut all) {
            eprintln!("{} {name}: {} ({turn} of {runs})", core.board(), contender.name);
            done.push(contender.run(elf, core)?);
        }
    }
    let everything = || all.iter().flatten();
    // All counts must agree, and all exit codes too; otherwise the contenders did not run the same
    // program. QEMU counts an instruction twice when it leaves a block before it for an exception,
    // a few times per run.
    let counts: Vec<u64> = everything().filter_map(|run| run.instructions).collect();
    let Some(&instructions) = counts.first() else {
        bail!("{name}: no contender counted instructions")
    };
    if counts.iter().any(|count| count.abs_diff(instructions) > instructions / 1_000_000) {
        bail!("{name}: instruction counts differ: {counts:?}");
    }
    let cycles: Vec<u64> = everything().filter_map(|run| run.cycles).collect();
    if cycles.iter().any(|n| n.abs_diff(cycles[0]) > cycles[0] / 100) {
        bail!("{name}: cycles differ: {cycles:?}");
    }
    let codes: Vec<i32> = everything().map(|run| run.exit_code).collect();
    if codes.iter().any(|&code| code != codes[0]) {
        bail!("{name}: exit codes differ: {codes:?}");
    }
    let measured = contenders.iter().zip(all);
    let measured =
        measured.map(|(contender, runs)| Measured { contender: contender.name, runs }).collect();
    Ok(Program { core: core.board(), name, instructions, measured })
}
