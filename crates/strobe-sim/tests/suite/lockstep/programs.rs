//! Real programs: compiled C and Rust, other people's crates among them.

use std::path::{Path, PathBuf};

use strobe_sim::cortexm::timing::CoreKind;

use super::prove::{prove, prove_on};

pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(super) fn prebuilt(name: &str) -> PathBuf {
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

/// The same sources for a Cortex-M3, and arithmetic of all kinds for a Cortex-M4 with its
/// floating-point unit.
#[test]
fn prebuilt_firmware_for_armv7m() {
    for (kind, name, exit_code) in
        [(CoreKind::CortexM3, "generic-c-m3", 42), (CoreKind::CortexM4f, "numbers-m4f", 0)]
    {
        let proof = prove_on(kind, name, &prebuilt(name));
        assert_eq!(proof.exit_code, exit_code, "{name}");
        eprintln!("{name}: {} instructions agree", proof.instructions);
    }
}
