//! Runs AVR programs on simavr in a separate process: the state after each instruction, or the
//! externally visible events.
//!
//! The processes are small C programs beside this file. They are compiled with the host's `cc`
//! against simavr's library (Debian: libsimavr-dev) on first use.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use tempfile::NamedTempFile;

/// Sources of the C programs.
const TRACE: &str = include_str!("simavr/trace.c");
const WATCH: &str = include_str!("simavr/watch.c");
/// End marker in place of a program counter.
const END: u32 = u32::MAX;

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
pub enum SimavrError {
    /// The C program could not be compiled.
    #[error("cannot compile against simavr (apt install libsimavr-dev): {0}")]
    Build(String),
    /// Starting it or reading from it failed.
    #[error("simavr")]
    Io(#[from] std::io::Error),
    /// It ended before the end marker.
    #[error("simavr ended early, after {steps} steps")]
    Cut {
        /// Steps received.
        steps: u64,
    },
}

/// An AVR core between two instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvrState {
    /// Program counter, in bytes.
    pub pc: u32,
    /// Cycles since reset.
    pub cycles: u64,
    /// Stack pointer.
    pub sp: u16,
    /// Status register.
    pub sreg: u8,
    /// R0 to R31.
    pub r: [u8; 32],
    /// The bytes at the watched data addresses.
    pub watched: Vec<u8>,
}

/// A program that runs on simavr.
pub struct Simavr {
    child: Child,
    out: BufReader<ChildStdout>,
    watched: usize,
    steps: u64,
    data: Option<Vec<u8>>,
    _image: NamedTempFile,
}

impl Simavr {
    /// Runs a flash image on a part, by its simavr name, for at most so many steps; it ends earlier
    /// at a jump to itself. Each state has the bytes at the data addresses `watched`.
    ///
    /// # Errors
    /// When simavr is not available or does not start.
    pub fn start(
        mcu: &str,
        image: &[u8],
        steps: u64,
        watched: &[u16],
    ) -> Result<Self, SimavrError> {
        let program = path(&programs()?.trace);
        let mut file = NamedTempFile::new()?;
        file.write_all(image)?;
        let mut command = Command::new(program);
        command.arg(mcu).arg(file.path()).arg(steps.to_string());
        command.args(watched.iter().map(u16::to_string)).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let out = child.stdout.take().ok_or(SimavrError::Cut { steps: 0 })?;
        let out = BufReader::with_capacity(1 << 16, out);
        Ok(Simavr { child, out, watched: watched.len(), steps: 0, data: None, _image: file })
    }

    /// The state after the next instruction; `None` after the last.
    ///
    /// # Errors
    /// When the process ends early.
    pub fn step(&mut self) -> Result<Option<AvrState>, SimavrError> {
        if self.data.is_some() {
            return Ok(None);
        }
        let mut head = [0; 12];
        self.read(&mut head)?;
        let [a, b, c, d, cycles @ ..] = head;
        let (pc, cycles) = (u32::from_le_bytes([a, b, c, d]), u64::from_le_bytes(cycles));
        if pc == END {
            // The parts have at most 64 KiB of data space.
            let mut data = vec![0; (cycles as usize).min(1 << 16)];
            self.read(&mut data)?;
            self.data = Some(data);
            return Ok(None);
        }
        let mut rest = [0; 35];
        self.read(&mut rest)?;
        let mut watched = vec![0; self.watched];
        self.read(&mut watched)?;
        self.steps += 1;
        let [low, high, sreg, r @ ..] = rest;
        Ok(Some(AvrState { pc, cycles, sp: u16::from_le_bytes([low, high]), sreg, r, watched }))
    }

    /// The whole data space at the end, once [`Simavr::step`] has returned `None`.
    pub fn data(&self) -> Option<&[u8]> {
        self.data.as_deref()
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), SimavrError> {
        self.out.read_exact(bytes).map_err(|_| SimavrError::Cut { steps: self.steps })
    }
}

impl Drop for Simavr {
    fn drop(&mut self) {
        // It may be in the middle of its trace; it must not outlive this process.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An externally visible event in simavr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A pin changes.
    Edge {
        /// The port's letter.
        port: char,
        /// The pin's number in the port.
        bit: u8,
        /// Its new level.
        level: bool,
    },
    /// USART 0 sends a byte.
    Uart(u8),
    /// SPI sends a byte.
    Spi(u8),
}

/// Runs a flash image in simavr's own loop for so many cycles, on a part by its simavr name.
/// Returns the events with their cycles, in order of time.
///
/// # Errors
/// When simavr is not available or does not run to the end.
pub fn watch(
    mcu: &str,
    image: &[u8],
    hz: u32,
    cycles: u64,
) -> Result<Vec<(u64, Seen)>, SimavrError> {
    let mut file = NamedTempFile::new()?;
    file.write_all(image)?;
    let output = watch_command(mcu, file.path(), hz, cycles, true)?.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut seen = Vec::new();
    for line in text.lines() {
        match parse(line) {
            Some(event) => seen.push(event),
            None if line.starts_with("end ") => return Ok(seen),
            None => break,
        }
    }
    Err(SimavrError::Cut { steps: seen.len() as u64 })
}

/// The command for such a run, for timing; without `hooks` it runs and records nothing.
///
/// # Errors
/// When the program cannot be compiled.
pub fn watch_command(
    mcu: &str,
    image: &Path,
    hz: u32,
    cycles: u64,
    hooks: bool,
) -> Result<Command, SimavrError> {
    let mut command = Command::new(path(&programs()?.watch));
    command.arg(mcu).arg(image).arg(hz.to_string()).arg(cycles.to_string());
    command.arg(if hooks { "edges" } else { "plain" });
    Ok(command)
}

fn parse(line: &str) -> Option<(u64, Seen)> {
    let mut words = line.split(' ');
    let (what, cycle) = (words.next()?, words.next()?.parse().ok()?);
    let mut number = || words.next()?.parse::<u8>().ok();
    let seen = match what {
        "uart" => Seen::Uart(number()?),
        "spi" => Seen::Spi(number()?),
        "edge" => {
            let port = words.next()?.chars().next()?;
            let bit = words.next()?.parse().ok()?;
            Seen::Edge { port, bit, level: words.next()? == "1" }
        }
        _ => return None,
    };
    Some((cycle, seen))
}

/// The compiled programs: open files without a name, so that no file is left behind however this
/// process ends.
struct Programs {
    trace: File,
    watch: File,
}

/// The path of an open file for a child process: the descriptor is valid until the child has
/// started it.
fn path(program: &File) -> String {
    format!("/proc/self/fd/{}", program.as_raw_fd())
}

/// Compiled once per process.
fn programs() -> Result<&'static Programs, SimavrError> {
    static BUILT: OnceLock<Result<Programs, String>> = OnceLock::new();
    match BUILT.get_or_init(build) {
        Ok(programs) => Ok(programs),
        Err(error) => Err(SimavrError::Build(error.clone())),
    }
}

fn build() -> Result<Programs, String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (trace, watch) = (directory.path().join("trace"), directory.path().join("watch"));
    compile(TRACE, &trace)?;
    compile(WATCH, &watch)?;
    let open = |path: &Path| File::open(path).map_err(|error| error.to_string());
    Ok(Programs { trace: open(&trace)?, watch: open(&watch)? })
}

fn compile(text: &str, program: &Path) -> Result<(), String> {
    let source = program.with_extension("c");
    std::fs::write(&source, text).map_err(|error| error.to_string())?;
    let mut command = Command::new("cc");
    command.args(["-O2", "-std=gnu11", "-I/usr/include/simavr", "-o"]);
    command.arg(program).arg(&source).arg("-lsimavr");
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}
