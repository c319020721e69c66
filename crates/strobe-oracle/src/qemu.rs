//! Runs a program on one of QEMU's Cortex-M machines ([`Machine`]).
//!
//! Knows QEMU's options and how to stop it; [`DumpReader`] parses the log.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::dump::{DumpError, DumpReader};
use crate::state::CpuState;

/// QEMU's command on Debian and Fedora.
pub const PROGRAM: &str = "qemu-system-arm";

/// QEMU's machine for each kind of core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// QEMU's only Cortex-M0: 256 KiB flash at 0, 16 KiB RAM at 0x20000000.
    Microbit,
    /// A Cortex-M3: 4 MiB RAM at 0 and at 0x20000000.
    Mps2An385,
    /// A Cortex-M4 with its floating-point unit; the same memories.
    Mps2An386,
}

impl Machine {
    /// Its name for `-M`.
    pub fn name(self) -> &'static str {
        match self {
            Machine::Microbit => "microbit",
            Machine::Mps2An385 => "mps2-an385",
            Machine::Mps2An386 => "mps2-an386",
        }
    }

    /// Whether it has a floating-point unit.
    pub fn has_fp(self) -> bool {
        self == Machine::Mps2An386
    }
}

/// The command that runs a program headless with semihosting on the Cortex-M0; the exit code is the
/// program's.
pub fn command(elf: &Path) -> Command {
    command_on(Machine::Microbit, elf)
}

/// The same for any of the machines.
pub fn command_on(machine: Machine, elf: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["-M", machine.name(), "-display", "none", "-serial", "none", "-monitor", "none"]);
    command.args(["-semihosting-config", "enable=on,target=native", "-kernel"]).arg(elf);
    command.stdin(Stdio::null());
    command
}

/// Why there is no trace, or why it ended.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// QEMU could not be started.
    #[error("cannot start {PROGRAM}; it comes with the package qemu-system-arm")]
    Start(#[source] io::Error),
    /// The log could not be parsed.
    #[error(transparent)]
    Dump(#[from] DumpError),
    /// The program was still running at the deadline.
    #[error("{elf:?} did not end in QEMU within {deadline:?}")]
    Deadline {
        /// The program.
        elf: PathBuf,
        /// The time limit.
        deadline: Duration,
    },
    /// QEMU executed nothing, or did not end by itself.
    #[error("QEMU failed, {status}: {stderr}")]
    Failed {
        /// Its exit status.
        status: ExitStatus,
        /// The beginning of its standard error.
        stderr: String,
    },
}

/// The registers before each instruction that QEMU executes.
///
/// One item is one step: from one instruction boundary to the next, including the entry of an
/// exception taken at that boundary. So the item after SVC is the first instruction of its handler,
/// as is the item after any instruction that a pended interrupt follows, and the item after an
/// exception return is the interrupted code or the next handler chained.
///
/// Programs whose control flow depends on time (SysTick, a polled UART) have no meaningful trace.
pub struct Trace {
    dumps: DumpReader<ChildStdout>,
    run: Run,
    elf: PathBuf,
    deadline: Duration,
    started: bool,
    ended: bool,
    exit_code: Option<i32>,
}

impl Trace {
    /// Starts QEMU's Cortex-M0; it is killed when the trace is dropped or the deadline passes.
    pub fn start(elf: &Path, deadline: Duration) -> Result<Self, TraceError> {
        Self::start_on(Machine::Microbit, elf, deadline)
    }

    /// Starts QEMU as one of its machines.
    pub fn start_on(machine: Machine, elf: &Path, deadline: Duration) -> Result<Self, TraceError> {
        let mut command = command_on(machine, elf);
        // One instruction per translation block, a dump before each block, and a note if it was not
        // executed after all. QEMU buffers a named log by line, and does not buffer standard error.
        let log = if machine.has_fp() { "cpu,fpu,exec,nochain" } else { "cpu,exec,nochain" };
        command.args(["-singlestep", "-d", log, "-D", "/dev/fd/1"]);
        let (run, log) = Run::start(command, deadline).map_err(TraceError::Start)?;
        let dumps = DumpReader::new(log);
        let elf = elf.to_owned();
        Ok(Self { dumps, run, elf, deadline, started: false, ended: false, exit_code: None })
    }

    /// The program's exit code, after the end of the trace.
    pub fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }

    /// The log has ended, so QEMU has exited or is about to.
    fn end(&mut self) -> Result<(), TraceError> {
        let (status, stderr, killed) = self.run.end();
        if killed {
            return Err(TraceError::Deadline { elf: self.elf.clone(), deadline: self.deadline });
        }
        let status = status.map_err(DumpError::Io)?;
        self.exit_code = status.code();
        if !self.started || self.exit_code.is_none() {
            return Err(TraceError::Failed { status, stderr });
        }
        Ok(())
    }
}

impl Iterator for Trace {
    type Item = Result<CpuState, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        match self.dumps.next() {
            Some(Ok(state)) => {
                self.started = true;
                Some(Ok(state))
            }
            Some(Err(DumpError::Truncated { .. })) | None => {
                self.ended = true;
                self.end().err().map(Err)
            }
            Some(Err(error)) => {
                self.ended = true;
                Some(Err(error.into()))
            }
        }
    }
}

/// A running QEMU, its watchdog, and the reader of its standard error.
struct Run {
    child: Arc<Mutex<Child>>,
    /// Dropped to stop the watchdog.
    alive: Option<Sender<()>>,
    watchdog: Option<JoinHandle<bool>>,
    stderr: Option<JoinHandle<String>>,
}

impl Run {
    fn start(mut command: Command, deadline: Duration) -> io::Result<(Self, ChildStdout)> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let log = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let complaints = child.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let child = Arc::new(Mutex::new(child));
        let (alive, gone) = mpsc::channel::<()>();
        let victim = Arc::clone(&child);
        let watchdog = std::thread::spawn(move || {
            let late = gone.recv_timeout(deadline) == Err(RecvTimeoutError::Timeout);
            if late {
                kill(&victim);
            }
            late
        });
        let stderr = std::thread::spawn(move || beginning_of(complaints));
        let (watchdog, stderr) = (Some(watchdog), Some(stderr));
        Ok((Self { child, alive: Some(alive), watchdog, stderr }, log))
    }

    /// Waits for QEMU to exit; returns its status, its standard error, and whether the watchdog
    /// killed it.
    fn end(&mut self) -> (io::Result<ExitStatus>, String, bool) {
        let stderr = self.stderr.take().and_then(|t| t.join().ok()).unwrap_or_default();
        let status = lock(&self.child).wait();
        self.alive = None;
        let killed = self.watchdog.take().and_then(|t| t.join().ok()).unwrap_or(false);
        (status, stderr, killed)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.watchdog.is_some() {
            kill(&self.child);
            let _ = self.end();
        }
    }
}

fn lock(child: &Mutex<Child>) -> std::sync::MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

fn kill(child: &Mutex<Child>) {
    // An error means that it has already exited.
    let _ = lock(child).kill();
}

/// Keeps the first few kilobytes and discards the rest, so that the writer never blocks.
fn beginning_of(mut stream: impl Read) -> String {
    let mut text = Vec::new();
    let mut chunk = [0; 1024];
    while let Ok(read @ 1..) = stream.read(&mut chunk) {
        let room = 4096usize.saturating_sub(text.len());
        text.extend_from_slice(&chunk[..read.min(room)]);
    }
    String::from_utf8_lossy(&text).trim().to_owned()
}
