//! What is run: the bundled programs, a program that does nothing, and the plugin, all built on the spot.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use strobe_synth::{Assembler, ElfBuilder, Imm8Op, Insn, Reg, Value};

const PROGRAMS: [&str; 5] = ["integer", "text", "float", "rounds", "interpreter"];

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

/// Builds strobe as it is released, and beside it this program, whose own build may be unoptimised.
pub(super) fn build_strobe(root: &Path) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).args(["build", "--quiet", "--release"]);
    command.args(["--package", "strobe", "--package", "xtask"]);
    succeed(command)?;
    Ok(root.join("target/release/strobe"))
}

/// Compiles the bundled load.
pub(super) fn build_programs(root: &Path, target: &Path) -> Result<Vec<PathBuf>> {
    let source = root.join("firmware/bench");
    let build = |name: &str| {
        let elf = target.join(name).with_extension("elf");
        let mut command = Command::new("arm-none-eabi-gcc");
        command.args(["-O2", "-g", "-mcpu=cortex-m0", "-mthumb", "-Wall", "-Wextra", "-Werror"]);
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

/// A program that exits at once: running it takes what starting and ending takes.
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
