//! The host's end of a simulated serial port: a stream, a file or a pseudo-terminal.
//!
//! Knows nothing of the simulated chip, and opens no files, which the caller does: bytes go out by
//! [`HostPort::write`] and come in by [`HostPort::read`], neither of which ever waits for the other
//! side.

mod input;
#[cfg(unix)]
mod pty;

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

pub use input::{InputSpec, InputSpecError, Source};

/// Where a port's bytes go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Standard output, which then holds more than the report.
    Stdout,
    /// Standard error.
    Stderr,
    /// A file, which is made anew.
    File(PathBuf),
    /// A new pseudo-terminal, which also sends bytes to the firmware.
    Pty,
    /// Nowhere.
    Null,
}

/// Which serial device goes where, as `USART1=file:log.txt` spells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The device's name on the board.
    pub device: String,
    /// Where its bytes go.
    pub target: Target,
}

/// A port specification that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "serial port `{text}`: {problem}; write DEVICE=TARGET, as USART1=pty, where TARGET is stdout, \
     stderr, \
     file:PATH, pty or null"
)]
pub struct SpecError {
    /// As given.
    pub text: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let error = |problem| SpecError { text: text.to_owned(), problem };
        let (device, target) = text.split_once('=').ok_or(error("there is no `=`"))?;
        if device.is_empty() {
            return Err(error("the device is missing"));
        }
        let target = match target {
            "stdout" => Target::Stdout,
            "stderr" => Target::Stderr,
            "pty" => Target::Pty,
            "null" => Target::Null,
            _ => match target.strip_prefix("file:") {
                Some("") => return Err(error("the file's path is missing")),
                Some(path) => Target::File(path.into()),
                None => return Err(error("no such target")),
            },
        };
        Ok(Spec { device: device.to_owned(), target })
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}=", self.device)?;
        match &self.target {
            Target::Stdout => f.write_str("stdout"),
            Target::Stderr => f.write_str("stderr"),
            Target::File(path) => write!(f, "file:{}", path.display()),
            Target::Pty => f.write_str("pty"),
            Target::Null => f.write_str("null"),
        }
    }
}

/// A pseudo-terminal that is not to be had.
#[derive(Debug, thiserror::Error)]
#[error("serial port {device}: cannot make a pseudo-terminal: {source}; use file:PATH instead")]
pub struct PortError {
    /// The device.
    device: String,
    /// Why.
    source: io::Error,
}

/// A file that grows.
struct Log {
    path: PathBuf,
    out: io::BufWriter<File>,
    failed: Option<io::Error>,
}

impl Log {
    /// Keeps the first error; the file ends before it.
    fn keep(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            self.failed.get_or_insert(error);
        }
    }
}

enum Output {
    Null,
    Writer(Box<dyn Write + Send>),
    File(Log),
    #[cfg(unix)]
    Pty(pty::Pty),
}

/// The host's end of one serial device.
pub struct HostPort {
    device: String,
    output: Output,
    lost: u64,
}

impl HostPort {
    /// A port whose bytes nobody wants.
    pub fn null(device: &str) -> Self {
        HostPort { device: device.to_owned(), output: Output::Null, lost: 0 }
    }

    /// A port whose bytes go to a file, which the caller has opened; `path` is its name. What
    /// cannot be written is an error, which [`HostPort::failure`] has.
    pub fn to_file(device: &str, path: &Path, file: File) -> Self {
        let (path, out) = (path.to_owned(), io::BufWriter::new(file));
        let output = Output::File(Log { path, out, failed: None });
        HostPort { device: device.to_owned(), output, lost: 0 }
    }

    /// A port with a new pseudo-terminal, whose path a person needs to attach a terminal to it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn pty(device: &str) -> Result<Self, PortError> {
        let device = device.to_owned();
        let output = match open_pty() {
            Ok(output) => output,
            Err(source) => return Err(PortError { device, source }),
        };
        Ok(HostPort { device, output, lost: 0 })
    }

    /// A port that writes to `writer`, as a buffer in memory.
    pub fn to_writer(device: &str, writer: Box<dyn Write + Send>) -> Self {
        HostPort { device: device.to_owned(), output: Output::Writer(writer), lost: 0 }
    }

    /// The device's name on the board.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// The path of the pseudo-terminal that a person or program can open.
    pub fn terminal(&self) -> Option<&str> {
        match &self.output {
            #[cfg(unix)]
            Output::Pty(pty) => Some(pty.path()),
            _ => None,
        }
    }

    /// Bytes that nobody took: the other side was closed or read too slowly.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Why bytes are missing from the port's file, if any are.
    pub fn failure(&self) -> Option<String> {
        let Output::File(Log { path, failed: Some(error), .. }) = &self.output else {
            return None;
        };
        Some(format!("serial port {}: cannot write {}: {error}", self.device, path.display()))
    }

    /// Whether bytes may come in.
    pub fn expects_input(&self) -> bool {
        self.terminal().is_some()
    }

    /// Takes bytes from the firmware. A closed other side is no error; what it misses is counted.
    pub fn write(&mut self, bytes: &[u8]) {
        let lost = match &mut self.output {
            Output::Null => 0,
            Output::File(log) if log.failed.is_some() => bytes.len(),
            Output::File(log) => {
                let done = log.out.write_all(bytes);
                log.keep(done);
                if log.failed.is_none() { 0 } else { bytes.len() }
            }
            Output::Writer(writer) => {
                let done = writer.write_all(bytes);
                if done.is_ok() { 0 } else { bytes.len() }
            }
            #[cfg(unix)]
            Output::Pty(pty) => pty.write(bytes),
        };
        self.lost += lost as u64;
    }

    /// Bytes for the firmware that have come in, at most `room`; never waits.
    pub fn read(&mut self, room: usize) -> Vec<u8> {
        match &mut self.output {
            #[cfg(unix)]
            Output::Pty(pty) => pty.read(room),
            _ => {
                let _ = room;
                Vec::new()
            }
        }
    }

    /// Hands on what has been held back.
    pub fn flush(&mut self) {
        match &mut self.output {
            Output::Null => {}
            Output::File(log) => {
                let done = log.out.flush();
                log.keep(done);
            }
            // Like a failed write, a closed other side must not end the measurement.
            Output::Writer(writer) => drop(writer.flush()),
            #[cfg(unix)]
            Output::Pty(pty) => pty.flush(),
        }
    }
}

#[cfg(unix)]
fn open_pty() -> io::Result<Output> {
    pty::Pty::open().map(Output::Pty)
}

#[cfg(not(unix))]
fn open_pty() -> io::Result<Output> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system has none"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn specifications_are_read_and_shown_alike() {
        for text in ["USART1=stdout", "USART1=stderr", "x=pty", "SPI2=null", "U=file:a=b.txt"] {
            assert_eq!(text.parse::<Spec>().unwrap().to_string(), text);
        }
        assert_eq!(
            "USART2=file:a=b.txt".parse::<Spec>().unwrap(),
            Spec { device: "USART2".to_owned(), target: Target::File("a=b.txt".into()) }
        );
    }

    #[test]
    fn a_bad_specification_states_what_to_write() {
        for (text, problem) in [
            ("", "there is no `=`"),
            ("USART1", "there is no `=`"),
            ("=pty", "the device is missing"),
            ("USART1=file:", "the file's path is missing"),
            ("USART1=tty", "no such target"),
        ] {
            let error = text.parse::<Spec>().unwrap_err();
            assert_eq!(error.problem, problem, "{text}");
            assert!(error.to_string().contains("file:PATH"));
        }
    }

    /// A writer whose contents the test can see.
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The other side has gone away.
    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn bytes_go_to_the_writer_in_order() {
        let seen = Shared::default();
        let mut port = HostPort::to_writer("USART1", Box::new(seen.clone()));
        port.write(b"tick ");
        port.write(b"tock");
        assert_eq!(*seen.0.lock().unwrap(), b"tick tock");
        assert_eq!((port.lost(), port.expects_input(), port.read(10)), (0, false, Vec::new()));
    }

    #[test]
    fn a_closed_side_is_counted_not_fatal() {
        let mut port = HostPort::to_writer("USART1", Box::new(Closed));
        port.write(b"abc");
        port.flush();
        assert_eq!(port.lost(), 3);
    }

    #[test]
    fn a_file_holds_what_was_sent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut port = HostPort::to_file("USART1", &path, File::create(&path).unwrap());
        port.write(b"hello");
        port.flush();
        assert_eq!(std::fs::read(&path).unwrap(), b"hello");
        assert_eq!((port.lost(), port.failure()), (0, None));
    }

    #[test]
    fn a_file_that_takes_nothing_is_reported() {
        let path = Path::new("/dev/full");
        let file = File::options().write(true).open(path).unwrap();
        let mut port = HostPort::to_file("USART1", path, file);
        port.write(b"hello");
        port.flush();
        let failure = port.failure().unwrap();
        assert!(failure.starts_with("serial port USART1: cannot write /dev/full: "), "{failure}");
    }
}
