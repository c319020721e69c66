//! Builds test firmware. A missing compiler fails the test, so that no comparison is skipped
//! silently.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Where flash starts on most microcontrollers.
pub(crate) const FLASH: u32 = 0x0800_0000;

/// A directory for one test's files.
pub(crate) struct Workshop {
    directory: TempDir,
}

impl Workshop {
    pub(crate) fn new() -> Self {
        Workshop { directory: TempDir::new().expect("a temporary directory") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Compiles the C, C++ and assembly sources with GCC and links them.
    pub(crate) fn gcc(&self, name: &str, flags: &[&str]) -> PathBuf {
        self.gcc_at(name, flags, FLASH)
    }

    /// As [`Workshop::gcc`], with the code at another address.
    pub(crate) fn gcc_at(&self, name: &str, flags: &[&str], origin: u32) -> PathBuf {
        const CPU: [&str; 2] = ["-mcpu=cortex-m0", "-mthumb"];
        let tools = Tools {
            cc: &["arm-none-eabi-gcc", CPU[0], CPU[1]],
            cxx: &["arm-none-eabi-g++", CPU[0], CPU[1], "-fno-exceptions", "-fno-rtti"],
            link: &[
                "arm-none-eabi-gcc",
                CPU[0],
                CPU[1],
                "-nostartfiles",
                "-Wl,--gc-sections",
                "-Wl,--build-id",
            ],
        };
        self.build(name, &tools, flags, origin)
    }

    /// One assembly file, assembled and linked alone.
    pub(crate) fn assembly(&self, name: &str, source: &str) -> PathBuf {
        let elf = self.path(name);
        let mut command = Command::new("arm-none-eabi-gcc");
        command
            .args(["-mcpu=cortex-m0", "-mthumb", "-nostdlib", "-T"])
            .arg(self.linker_script(FLASH));
        command.arg(fixture(source)).arg("-o").arg(&elf);
        run(&mut command);
        elf
    }

    /// A program with the C library of GCC's packages, at the linker's default address near 0.
    pub(crate) fn newlib(&self, name: &str, flags: &[&str]) -> PathBuf {
        let elf = self.path(name);
        let mut command = Command::new("arm-none-eabi-gcc");
        command.args(["-mcpu=cortex-m0", "-mthumb", "-specs=rdimon.specs"]).args(flags);
        command.arg(fixture("library.c")).arg("-o").arg(&elf).arg("-lm");
        run(&mut command);
        elf
    }

    /// Compiles with Clang and links with LLD.
    pub(crate) fn clang(&self, name: &str, flags: &[&str]) -> PathBuf {
        const TARGET: [&str; 3] = ["--target=armv6m-none-eabi", "-ffreestanding", "-fshort-enums"];
        let tools = Tools {
            cc: &["clang-14", TARGET[0], TARGET[1], TARGET[2]],
            cxx: &["clang++-14", TARGET[0], TARGET[1], TARGET[2], "-fno-exceptions", "-fno-rtti"],
            link: &[
                "clang-14",
                TARGET[0],
                "-nostdlib",
                "-fuse-ld=lld",
                "-Wl,--gc-sections",
                "-Wl,--build-id",
            ],
        };
        self.build(name, &tools, flags, FLASH)
    }

    /// Compiles the Rust source with rustc and links it with its LLD.
    pub(crate) fn rustc(&self, name: &str, flags: &[&str]) -> PathBuf {
        let elf = self.path(name);
        let script = self.linker_script(FLASH);
        let mut command = Command::new("rustc");
        command.args(["--edition=2024", "--target=thumbv6m-none-eabi", "-Cpanic=abort"]);
        command.arg(format!("-Clink-arg=-T{}", script.display())).args(flags);
        command.arg(fixture("demo.rs")).arg("-o").arg(&elf);
        run(&mut command);
        elf
    }

    /// A copy with parts removed by `arm-none-eabi-objcopy`.
    pub(crate) fn objcopy(&self, elf: &Path, name: &str, flags: &[&str]) -> PathBuf {
        let copy = self.path(name);
        run(Command::new("arm-none-eabi-objcopy").args(flags).arg(elf).arg(&copy));
        copy
    }

    fn build(&self, name: &str, tools: &Tools<'_>, flags: &[&str], origin: u32) -> PathBuf {
        let script = self.linker_script(origin);
        // The directory's name differs each time, but the bytes must be the same.
        let place = format!("-fdebug-prefix-map={}=/workshop", self.directory.path().display());
        let mut objects = Vec::new();
        let mut sources = ["util.c", "main.cpp", "startup.S"].map(fixture).to_vec();
        sources.extend(self.many_units());
        for source in sources {
            let stem = source.file_name().expect("a file name").to_string_lossy().into_owned();
            let object = self.path(&format!("{name}.{stem}.o"));
            let driver = if stem.ends_with("cpp") { tools.cxx } else { tools.cc };
            let mut command = Command::new(driver[0]);
            command.args(&driver[1..]).args(flags).arg("-c").arg(&source).arg("-o").arg(&object);
            command.arg("-I").arg(fixture("")).arg(&place);
            run(&mut command);
            objects.push(object);
        }
        let elf = self.path(name);
        let mut command = Command::new(tools.link[0]);
        command
            .args(&tools.link[1..])
            .args(flags)
            .arg("-T")
            .arg(script)
            .args(objects)
            .arg("-o")
            .arg(&elf);
        run(&mut command);
        elf
    }

    /// Eight units that call each other.
    fn many_units(&self) -> Vec<PathBuf> {
        (0..8)
            .map(|unit| {
                let (name, next) = if unit == 0 {
                    ("many".to_owned(), "many_1(x)".to_owned())
                } else if unit < 7 {
                    (format!("many_{unit}"), format!("many_{}(x)", unit + 1))
                } else {
                    (format!("many_{unit}"), "mix(x)".to_owned())
                };
                let mut text = String::from("#include \"shared.h\"\nint many_1(int);\n");
                let _ = writeln!(text, "int many_{}(int x);", unit + 1);
                let _ = writeln!(text, "static int local(int x) {{ return mix(x) + {unit}; }}");
                let _ = writeln!(
                    text,
                    "int {name}(int x) {{ x = local(x) + sink;\n    return {next} + mix(x); }}"
                );
                let path = self.path(&format!("unit{unit}.c"));
                fs::write(&path, text).expect("a source file");
                path
            })
            .collect()
    }

    fn linker_script(&self, origin: u32) -> PathBuf {
        let template = fs::read_to_string(fixture("link.ld")).expect("the linker script");
        let path = self.path(&format!("link-{origin:x}.ld"));
        fs::write(&path, template.replace("FLASH_ORIGIN", &format!("{origin:#x}")))
            .expect("a linker script");
        path
    }
}

struct Tools<'a> {
    cc: &'a [&'a str],
    cxx: &'a [&'a str],
    link: &'a [&'a str],
}

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Runs a tool to success and returns what it printed.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| {
        panic!(
            "{command:?} cannot be started: {error}; `make test` installs the compilers the \
             tests need"
        )
    });
    assert!(
        output.status.success(),
        "{command:?} failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}
