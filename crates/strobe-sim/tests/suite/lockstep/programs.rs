//! Real programs: compiled C and Rust, other people's crates among them.

use std::path::{Path, PathBuf};

use strobe_sim::cortexm::timing::CoreKind;

use super::machine::{Core, Stride};
use super::prove::{prove, prove_on};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn prebuilt(name: &str) -> PathBuf {
    root().join(format!("firmware/prebuilt/{name}.elf"))
}

/// Compiled by GCC and rustc, with threads, exceptions, recursion, library code and semihosting.
#[test]
fn prebuilt_firmware() {
    for (name, exit_code) in [("generic-c", 42), ("crc-rs", 0), ("wordcount", 0)] {
        let proof = prove(name, &prebuilt(name));
        assert_eq!(proof.exit_code, exit_code, "{name}");
        eprintln!("{name}: {} instructions agree", proof.instructions);
    }
}

/// The same sources for a Cortex-M3, and arithmetic of all kinds for a Cortex-M4 with its floating-point unit.
#[test]
fn prebuilt_firmware_for_armv7m() {
    for (kind, name, exit_code) in [
        (CoreKind::CortexM3, "generic-c-m3", 42),
        (CoreKind::CortexM3, "x25519-c-m3", 0),
        (CoreKind::CortexM4f, "numbers-m4f", 0),
    ] {
        let proof = prove_on(kind, name, &prebuilt(name));
        assert_eq!(proof.exit_code, exit_code, "{name}");
        eprintln!("{name}: {} instructions agree", proof.instructions);
    }
}

/// More than ten million instructions of arithmetic: every step agrees with QEMU, and the cycles with a count made
/// independently, by summing the manual's table over QEMU's trace.
#[test]
fn x25519_in_lockstep_and_to_the_cycle() {
    let elf = prebuilt("x25519-c");
    let proof = prove("x25519-c", &elf);
    assert_eq!(proof.exit_code, 0);
    assert!(proof.instructions > 10_000_000, "only {} instructions", proof.instructions);
    let bytes = std::fs::read(elf).expect("read before");
    let mut m0_plus = Core::load(&bytes, CoreKind::CortexM0plus, Stride::One);
    m0_plus.run_to_exit();
    for (simulated, count) in [proof.cycles, m0_plus.cycles()].into_iter().zip(proof.counts) {
        assert_eq!(count.instructions, proof.instructions);
        // All that may differ is what the table has no figure for: the semihosting calls, one or two cycles each.
        let without = count.without_figure;
        assert!(without < 10, "{count:?}");
        let difference = simulated.abs_diff(count.cycles);
        assert!(difference <= 2 * without, "simulated {simulated}, counted {count:?}");
        eprintln!("x25519-c: simulated {simulated} cycles, counted {}", count.cycles);
    }
}

/// Whatever programs somebody has put below `target/lockstep/cortex-m3` and `target/lockstep/cortex-m4f`: they must run on
/// QEMU's machines for these cores without devices, and end by semihosting.
#[test]
#[ignore = "takes as long as the programs found"]
fn programs_found_for_armv7m() {
    let mut total = 0;
    for (kind, name) in [(CoreKind::CortexM3, "cortex-m3"), (CoreKind::CortexM4f, "cortex-m4f")] {
        let directory = root().join("target/lockstep").join(name);
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        let mut elves: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
        elves.sort();
        for elf in elves {
            let proof = prove_on(kind, &elf.display().to_string(), &elf);
            eprintln!("{}: {} agree", elf.display(), proof.instructions);
            total += proof.instructions;
        }
    }
    assert!(total > 0, "no programs below target/lockstep");
}

/// Seventeen programs nobody here wrote, fifty-six million instructions on the Cortex-M0.
#[test]
#[ignore = "takes minutes, and needs `cargo xtask subjects` to have built them"]
fn subjects() {
    prove_subjects(CoreKind::CortexM0, "");
}

/// The same built for the larger cores.
#[test]
#[ignore = "takes minutes, and needs `cargo xtask subjects` to have built them"]
fn subjects_for_armv7m() {
    prove_subjects(CoreKind::CortexM3, "-m3");
    prove_subjects(CoreKind::CortexM4f, "-m4f");
}

fn prove_subjects(kind: CoreKind, suffix: &str) {
    let directory = root().join("firmware/subjects/fw/src/bin");
    let sources = std::fs::read_dir(directory).expect("the subjects' sources");
    let mut total = 0;
    let mut count = 0;
    for source in sources {
        let path = source.expect("a directory entry").path();
        let name = format!("{}{suffix}", path.file_stem().unwrap_or_default().display());
        let elf = root().join("target/subjects").join(&name).with_extension("elf");
        assert!(elf.exists(), "{name}.elf is missing: run `cargo xtask subjects`");
        let proof = prove_on(kind, &name, &elf);
        assert_eq!(proof.exit_code, 0, "{name}");
        total += proof.instructions;
        count += 1;
    }
    assert!(count >= 16, "{count} subjects");
    eprintln!("{}: {total} instructions agree", kind.name());
}
