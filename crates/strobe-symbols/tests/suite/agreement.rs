//! Agreement with `llvm-symbolizer --inlines` on every instruction address, for everything that
//! compilers emit.

use std::path::Path;

use crate::common::build::Workshop;
use crate::common::judge::compare;

/// Builds every combination and compares; prints the comparisons, for use with `--nocapture`.
fn agree(elf: &Path) {
    let verdict = compare(elf);
    eprintln!("{}: {verdict:?}", elf.file_name().unwrap_or_default().to_string_lossy());
    assert!(verdict.with_lines > 100, "{}: hardly any lines compared: {verdict:?}", elf.display());
}

#[test]
fn gcc_all_dwarf_versions() {
    let workshop = Workshop::new();
    for version in ["-gdwarf-2", "-gdwarf-3", "-gdwarf-4", "-gdwarf-5"] {
        agree(&workshop.gcc(&format!("gcc{version}.elf"), &[version, "-O2"]));
        agree(
            &workshop.gcc(
                &format!("gcc-sections{version}.elf"),
                &[version, "-Os", "-ffunction-sections"],
            ),
        );
    }
}

#[test]
fn gcc_without_optimisation() {
    let workshop = Workshop::new();
    agree(&workshop.gcc("gcc-O0.elf", &["-g", "-O0"]));
    agree(&workshop.gcc("gcc-O0-strict.elf", &["-g", "-O0", "-gstrict-dwarf", "-gno-column-info"]));
}

#[test]
fn gcc_link_time_optimisation() {
    let workshop = Workshop::new();
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        agree(&workshop.gcc(
            &format!("gcc-lto{version}.elf"),
            &[version, "-O2", "-flto", "-ffunction-sections"],
        ));
    }
}

#[test]
fn clang_all_dwarf_versions() {
    let workshop = Workshop::new();
    for version in ["-gdwarf-2", "-gdwarf-3", "-gdwarf-4", "-gdwarf-5"] {
        agree(&workshop.clang(&format!("clang{version}.elf"), &[version, "-O2"]));
        agree(&workshop.clang(
            &format!("clang-sections{version}.elf"),
            &[version, "-Os", "-ffunction-sections"],
        ));
    }
}

#[test]
fn clang_without_optimisation() {
    let workshop = Workshop::new();
    agree(&workshop.clang("clang-O0.elf", &["-g", "-O0"]));
}

#[test]
fn clang_link_time_optimisation() {
    let workshop = Workshop::new();
    agree(&workshop.clang("clang-lto.elf", &["-g", "-O2", "-flto", "-ffunction-sections"]));
}

#[test]
fn rustc_all_profiles() {
    let workshop = Workshop::new();
    for version in ["-Cdwarf-version=4", "-Cdwarf-version=5"] {
        for level in ["-Copt-level=0", "-Copt-level=3", "-Copt-level=s"] {
            agree(&workshop.rustc(&format!("rustc{version}{level}.elf"), &["-g", version, level]));
        }
    }
    agree(
        &workshop
            .rustc("rustc-lto.elf", &["-g", "-Copt-level=3", "-Clto=fat", "-Ccodegen-units=1"]),
    );
    agree(
        &workshop.rustc("rustc-v0.elf", &["-g", "-Copt-level=3", "-Csymbol-mangling-version=v0"]),
    );
    agree(&workshop.rustc("rustc-lines.elf", &["-Cdebuginfo=line-tables-only", "-Copt-level=3"]));
}

/// A C library, with assembly routines, prebuilt objects and functions without debug information.
#[test]
fn newlib_and_libgcc() {
    let workshop = Workshop::new();
    let elf = workshop.newlib("newlib.elf", &["-g", "-O2"]);
    agree(&elf);
}

/// Every bundled firmware: the shipped programs must resolve like those built by the tests.
#[test]
fn bundled_firmware_has_the_lines_of_llvm_symbolizer() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware/prebuilt");
    let entries = std::fs::read_dir(&directory).expect("firmware/prebuilt");
    let mut compared = 0;
    for entry in entries {
        let path = entry.expect("a directory entry").path();
        // On AVR, llvm-symbolizer names constants between functions, which are program memory too;
        // see avr.rs beside this.
        if path.extension().is_some_and(|extension| extension == "elf") && !is_avr(&path) {
            eprintln!("{}: {:?}", path.display(), compare(&path));
            compared += 1;
        }
    }
    assert!(compared > 0, "no firmware in {}", directory.display());
}

/// EM_AVR in the header's e_machine.
fn is_avr(path: &Path) -> bool {
    let bytes = std::fs::read(path).expect("a bundled firmware");
    bytes.get(18..20) == Some(&[83, 0])
}
