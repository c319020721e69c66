//! Proofs that take minutes each, for the scheduled run: whole programs, tens of millions of
//! instructions, many random ones.

use std::path::PathBuf;

use strobe_sim::cortexm::timing::CoreKind;
use strobe_synth::Core as Generated;

use super::machine::{Core, Stride};
use super::programs::{prebuilt, root};
use super::prove::{prove, prove_on};

/// Rare operands need many programs.
#[test]
#[ignore = "takes a quarter of an hour"]
fn many_generated_sequences() {
    super::generated(CoreKind::CortexM4f, Generated::V7emFp, 1000..1800);
    super::generated(CoreKind::CortexM3, Generated::V7m, 1000..1200);
}

/// More than ten million instructions of arithmetic: every step agrees with QEMU, and the cycles
/// with a count made independently, by summing the manual's table over QEMU's trace.
#[test]
#[ignore = "takes minutes"]
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
        // All that may differ is what the table has no figure for: the semihosting calls, one or
        // two cycles each.
        let without = count.without_figure;
        assert!(without < 10, "{count:?}");
        let difference = simulated.abs_diff(count.cycles);
        assert!(difference <= 2 * without, "simulated {simulated}, counted {count:?}");
        eprintln!("x25519-c: simulated {simulated} cycles, counted {}", count.cycles);
    }
}

/// The same arithmetic on a Cortex-M3.
#[test]
#[ignore = "takes minutes"]
fn x25519_for_armv7m() {
    let proof = prove_on(CoreKind::CortexM3, "x25519-c-m3", &prebuilt("x25519-c-m3"));
    assert_eq!(proof.exit_code, 0);
}

/// Whatever programs somebody has put below `target/lockstep/cortex-m3` and
/// `target/lockstep/cortex-m4f`: they must run on QEMU's machines for these cores without devices,
/// and end by semihosting.
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
