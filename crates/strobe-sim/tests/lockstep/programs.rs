//! Real programs: compiled C and Rust, other people's crates among them.

use std::path::{Path, PathBuf};

use crate::prove::prove;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compiled by GCC and rustc, with threads, exceptions, recursion, library code and semihosting.
#[test]
fn prebuilt_firmware() {
    let programs = [("generic-c", 42), ("crc-rs", 0), ("wordcount", 0), ("x25519-c", 0)];
    let mut instructions = 0;
    for (name, exit_code) in programs {
        let proof = prove(name, &root().join(format!("firmware/prebuilt/{name}.elf")));
        assert_eq!(proof.exit_code, exit_code, "{name}");
        eprintln!("{name}: {} instructions agree", proof.instructions);
        instructions += proof.instructions;
    }
    assert!(instructions > 10_000_000, "only {instructions} instructions");
}

/// Sixteen programs nobody here wrote, fifty-six million instructions.
#[test]
#[ignore = "takes minutes, and needs `cargo xtask subjects` to have built them"]
fn subjects() {
    let directory = root().join("target/subjects");
    let entries = std::fs::read_dir(&directory).expect("`cargo xtask subjects` has built them");
    let expected = entries.map(|entry| entry.expect("a directory entry").path());
    // Those with an expected output end by themselves; the others are for boards with devices.
    let mut names: Vec<PathBuf> =
        expected.filter(|p| p.extension().is_some_and(|e| e == "expected")).collect();
    names.sort();
    assert!(names.len() >= 8, "{} subjects in {}", names.len(), directory.display());
    for path in names {
        let elf = path.with_extension("elf");
        let name = elf.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let proof = prove(&name, &elf);
        assert_eq!(proof.exit_code, 0, "{name}");
        eprintln!("{name}: {} instructions agree", proof.instructions);
    }
}
