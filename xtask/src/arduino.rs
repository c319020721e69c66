//! Our Arduino sketches with Arduino's own core and libraries, built as in the Arduino IDE, except
//! for link-time optimisation.
//!
//! The core is in Debian's package arduino-core-avr. Neither it nor the results are kept in the
//! repository. Names of sketches are those of the directories in `firmware/arduino`; this file must
//! not list them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::subjects::copy_if_changed;

/// The directory of the package.
const ARDUINO: &str = "/usr/share/arduino/hardware/arduino/avr";

/// Libraries for the sketches.
const LIBRARIES: [&str; 2] = ["Wire", "SPI"];

/// The core's `String` does not compile with Debian's compiler and C++11; the sketches do not use
/// it.
const LEFT_OUT: [&str; 1] = ["WString.cpp"];

/// A board from `boards.txt`.
struct Board {
    suffix: &'static str,
    mcu: &'static str,
    define: &'static str,
    variant: &'static str,
}

const BOARDS: [Board; 2] = [
    Board { suffix: "", mcu: "atmega328p", define: "ARDUINO_AVR_UNO", variant: "standard" },
    Board { suffix: "-mega", mcu: "atmega2560", define: "ARDUINO_AVR_MEGA2560", variant: "mega" },
];

/// The directory of Arduino's core.
pub(crate) fn installed() -> Result<PathBuf> {
    let folder = PathBuf::from(ARDUINO);
    ensure!(folder.is_dir(), "{ARDUINO} is missing: install the package arduino-core-avr");
    Ok(folder)
}

/// Builds every sketch for every board into `output`, as `arduino-NAME.elf`; returns the names.
pub(crate) fn build(root: &Path, output: &Path) -> Result<Vec<String>> {
    let core = installed()?.join("cores/arduino");
    let mut sketches = files(&root.join("firmware/arduino"), |path| path.is_dir())?;
    sketches.sort();
    let mut names = Vec::new();
    for board in &BOARDS {
        let objects = root.join("target/arduino").join(board.mcu);
        fs::create_dir_all(&objects)
            .with_context(|| format!("cannot create {}", objects.display()))?;
        let common = compile_all(&sources(&core)?, board, &objects)?;
        for sketch in &sketches {
            let name = sketch.file_name().context("a sketch has a name")?.to_string_lossy();
            let source = sketch.join(format!("{name}.ino"));
            let object = compile(&source, board, &objects)?;
            let name = format!("arduino-{name}{}", board.suffix);
            let mut link = Command::new("avr-gcc");
            link.arg(format!("-mmcu={}", board.mcu)).args(["-Os", "-Wl,--gc-sections", "-o"]);
            let linked = objects.join(&name).with_extension("elf");
            link.arg(&linked).arg(object).args(&common);
            succeed(link.arg("-lm"))?;
            copy_if_changed(&linked, &output.join(&name).with_extension("elf"))?;
            names.push(name);
        }
    }
    Ok(names)
}

/// The sources of the core and the libraries.
fn sources(core: &Path) -> Result<Vec<PathBuf>> {
    let mut directories = vec![core.to_owned()];
    for library in library_directories() {
        directories.extend([library.join("utility"), library].into_iter().filter(|d| d.is_dir()));
    }
    let is_source = |path: &Path| {
        let kind = path.extension().is_some_and(|e| ["c", "cpp", "S"].iter().any(|k| e == *k));
        kind && !LEFT_OUT.iter().any(|name| path.ends_with(name))
    };
    let mut all = Vec::new();
    for directory in directories {
        all.extend(files(&directory, is_source)?);
    }
    all.sort();
    Ok(all)
}

fn library_directories() -> impl Iterator<Item = PathBuf> {
    LIBRARIES.iter().map(|name| Path::new(ARDUINO).join("libraries").join(name).join("src"))
}

fn files(directory: &Path, wanted: impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    let paths: Vec<PathBuf> = entries.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    Ok(paths.into_iter().filter(|path| wanted(path)).collect())
}

fn compile_all(sources: &[PathBuf], board: &Board, objects: &Path) -> Result<Vec<PathBuf>> {
    sources.iter().map(|source| compile(source, board, objects)).collect()
}

fn compile(source: &Path, board: &Board, objects: &Path) -> Result<PathBuf> {
    let kind = source.extension().unwrap_or_default().to_string_lossy();
    let stem = source.file_name().context("a source has a name")?.to_string_lossy();
    let object = objects.join(format!("{stem}.o"));
    let mut command = Command::new("avr-gcc");
    match &*kind {
        "ino" => command.args(["-x", "c++", "-include", "Arduino.h", "-std=gnu++11"]),
        "cpp" => command.arg("-std=gnu++11"),
        "c" => command.arg("-std=gnu11"),
        _ => command.args(["-x", "assembler-with-cpp"]),
    };
    if matches!(&*kind, "ino" | "cpp") {
        command.args(["-fpermissive", "-fno-exceptions", "-fno-threadsafe-statics"]);
    }
    command.args(["-c", "-gdwarf-4", "-Os", "-w", "-ffunction-sections", "-fdata-sections"]);
    command.arg(format!("-mmcu={}", board.mcu)).arg(format!("-D{}", board.define));
    command.args(["-DF_CPU=16000000L", "-DARDUINO=10819", "-DARDUINO_ARCH_AVR"]);
    command.arg("-I").arg(Path::new(ARDUINO).join("cores/arduino"));
    command.arg("-I").arg(Path::new(ARDUINO).join("variants").join(board.variant));
    for library in library_directories() {
        command.arg("-I").arg(library);
    }
    succeed(command.arg(source).arg("-o").arg(&object))?;
    Ok(object)
}

fn succeed(command: &mut Command) -> Result<()> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {:?}: install gcc-avr", command.get_program()))?;
    if !output.status.success() {
        bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
