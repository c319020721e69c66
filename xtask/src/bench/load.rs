//! The load: the bundled programs, a program that does nothing, and the plugin, all built on
//! demand.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use strobe_oracle::qemu::Machine;
use strobe_synth::{Assembler, ElfBuilder, Imm8Op, Insn, Reg, Value};

const PROGRAMS: [&str; 6] = ["integer", "text", "float", "rounds", "interpreter", "threads"];

/// A core: the target of programs, and the contenders that can run them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Core {
    /// Cortex-M0
    M0,
    /// Cortex-M3
    M3,
    /// Cortex-M4 with floating-point unit
    M4f,
    /// AVRe+ of an ATmega328P
    Avr,
}

impl Core {
    pub(super) const ALL: [Core; 4] = [Core::M0, Core::M3, Core::M4f, Core::Avr];

    /// strobe's board with this core and memory only.
    pub(crate) fn board(self) -> &'static str {
        match self {
            Core::M0 => "cortex-m0",
            Core::M3 => "cortex-m3",
            Core::M4f => "cortex-m4f",
            Core::Avr => "arduino-uno",
        }
    }

    /// QEMU's machine with such a core, if it has one that programs can end in.
    pub(super) fn machine(self) -> Option<Machine> {
        match self {
            Core::M0 => Some(Machine::Microbit),
            Core::M3 => Some(Machine::Mps2An385),
            Core::M4f => Some(Machine::Mps2An386),
            Core::Avr => None,
        }
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Core::M0 => &["-mcpu=cortex-m0", "-masm-syntax-unified"],
            Core::M3 => &["-mcpu=cortex-m3"],
            Core::M4f => &["-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"],
            Core::Avr => &["-mmcu=atmega328p"],
        }
    }
}

/// Compiles the counting plugin for the QEMU of this host.
pub(super) fn build_plugin(root: &Path, target: &Path) -> Result<PathBuf> {
    let plugin = target.join("count.so");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut command = Command::new(compiler);
    command.args(["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden"]);
    command.arg(root.join("xtask/qemu-plugin/count.c")).arg("-o").arg(&plugin);
    succeed(command)?;
    Ok(plugin)
}

/// Builds strobe with the release profile, and this program beside it, whose own build may be
/// unoptimised.
pub(super) fn build_strobe(root: &Path) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).args(["build", "--quiet", "--release"]);
    command.args(["--package", "strobe-cli", "--package", "xtask"]);
    succeed(command)?;
    Ok(root.join("target/release/strobe"))
}

/// Compiles the bundled load.
pub(super) fn build_programs(root: &Path, target: &Path, core: Core) -> Result<Vec<PathBuf>> {
    let source = root.join("firmware/bench");
    let target = target.join(core.board());
    std::fs::create_dir_all(&target)
        .with_context(|| format!("cannot create {}", target.display()))?;
    let build = |name: &str| {
        let elf = target.join(name).with_extension("elf");
        let mut command = Command::new("arm-none-eabi-gcc");
        command.args(core.flags());
        command.args(["-O2", "-g", "-mthumb", "-Wall", "-Wextra", "-Werror"]);
        command.args([
            "-ffunction-sections",
            "-nostartfiles",
            "--specs=nano.specs",
            "-Wl,--gc-sections",
        ]);
        command.arg("-T").arg(source.join("bench.ld")).arg(source.join("start.c"));
        command.arg(source.join(name).with_extension("c")).arg("-o").arg(&elf);
        succeed(command).map(|()| elf)
    };
    PROGRAMS.iter().map(|name| build(name)).collect()
}

/// Compiles the load for the AVR: programs end asleep with interrupts off, which ends simavr too.
pub(super) fn build_avr_programs(root: &Path, target: &Path) -> Result<Vec<PathBuf>> {
    let source = root.join("firmware/bench/avr");
    let target = target.join(Core::Avr.board());
    std::fs::create_dir_all(&target)
        .with_context(|| format!("cannot create {}", target.display()))?;
    let compile = |sources: &[PathBuf], name: &str, more: &[&str]| {
        let elf = target.join(name).with_extension("elf");
        let mut command = Command::new("avr-gcc");
        command.args(Core::Avr.flags()).args(["-O2", "-gdwarf-4", "-Wall", "-std=gnu11"]);
        command.args(more).args(sources).args(["-lm", "-o"]).arg(&elf);
        succeed(command).map(|()| elf)
    };
    let once = target.join("once.o");
    let mut command = Command::new("avr-gcc");
    command.args(Core::Avr.flags()).args(["-O2", "-gdwarf-4", "-std=gnu11", "-Dmain=once", "-c"]);
    command.arg(root.join("firmware/work-avr/main.c")).arg("-o").arg(&once);
    succeed(command)?;
    Ok(vec![
        compile(&[source.join("nothing.c")], "start-and-exit", &[])?,
        compile(&[source.join("work.c"), once], "work", &[])?,
        compile(&[source.join("interrupts.c")], "interrupts", &[])?,
    ])
}

/// A program that exits at once: its time is that of starting and ending.
pub(super) fn write_nothing(target: &Path) -> Result<PathBuf> {
    const APPLICATION_EXIT: u32 = 0x2_0026;
    let mut asm = Assembler::new(8);
    asm.emit(Insn::Imm8 { op: Imm8Op::Mov, rdn: Reg::new(0), imm8: 0x18 });
    asm.load(Reg::new(1), Value::Word(APPLICATION_EXIT));
    asm.emit(Insn::Bkpt { imm8: 0xab });
    let (code, _) = asm.finish();
    let vectors = [0x2000_4000u32, 8 | 1].into_iter().flat_map(u32::to_le_bytes);
    let image: Vec<u8> = vectors.chain(code).collect();
    let path = target.join("start-and-exit.elf");
    let elf = ElfBuilder::new().code(0, &image).function("reset", 8, 8).build();
    std::fs::write(&path, elf).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

fn succeed(mut command: Command) -> Result<()> {
    let output =
        command.output().with_context(|| format!("cannot run {:?}", command.get_program()))?;
    if !output.status.success() {
        bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
