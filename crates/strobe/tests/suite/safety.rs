//! Nothing destroyed, nothing smuggled, nothing without end: what a command does to files, what it
//! takes from them, and what it prints of them.

mod ends;
mod limits;
mod outputs;
mod visible;

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::common::{Ran, command, prebuilt, ran};

/// A folder with a firmware `fw.elf`, the bytes of a trace pin `q.swo` and a capture `x.vcd`.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Folder(tempfile::tempdir().expect("a folder"));
        std::fs::copy(prebuilt("loop-0ws"), folder.path("fw.elf")).expect("a copy");
        folder.write("q.swo", &strobe_synth::swo::mixed(500, 7).bytes);
        folder.write(
            "x.vcd",
            b"$timescale 1 us $end\n$var wire 1 ! A $end\n#0\n0!\n#5\n1!\n#9\n0!\n",
        );
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).expect("it is ours");
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    fn files(&self) -> usize {
        std::fs::read_dir(self.0.path()).expect("the folder").count()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command();
        command.args(arguments).current_dir(self.0.path());
        command
    }

    fn strobe(&self, arguments: &[&str]) -> Ran {
        ran(&mut self.command(arguments))
    }

    fn fifo(&self, name: &str) {
        let made = Command::new("mkfifo").arg(self.path(name)).status().expect("mkfifo");
        assert!(made.success());
    }
}

/// Waits for the end of a process, which must come in this time.
fn ended(child: &mut Child, within: Duration, what: &str) {
    let begun = Instant::now();
    while child.try_wait().expect("a process").is_none() {
        if begun.elapsed() > within {
            let _ = child.kill();
            panic!("{what}: still running after {within:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_symlink(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}
