//! The host's end of a simulated serial port: a stream, a file or a pseudo-terminal.
//!
//! Knows nothing of the simulated chip: bytes go out by [`HostPort::write`] and come in by
//! [`HostPort::read`], neither of which ever waits for the other side.

mod input;
#[cfg(unix)]
mod pty;

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::str::FromStr;

pub use input::{InputError, InputSpec, InputSpecError, Source};

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

/// Which serial device goes where, as `USART1=file:log.txt` says it.
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
    "serial port `{text}`: {problem}; write DEVICE=TARGET, as USART1=pty, where TARGET is stdout, stderr, \
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

/// A port that could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The file cannot be made.
    #[error("serial port {device}: cannot write {}: {source}", path.display())]
    File {
        /// The device.
        device: String,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No pseudo-terminal is to be had.
    #[error("serial port {device}: cannot make a pseudo-terminal: {source}; use file:PATH instead")]
    Pty {
        /// The device.
        device: String,
        /// Why.
        source: io::Error,
    },
}

enum Output {
    Null,
    Writer(Box<dyn Write + Send>),
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
    /// Opens what the specification names. The path of a new pseudo-terminal goes to standard
    /// error, so that a person can attach a terminal to it.
    ///
    /// # Errors
    /// When the file or the pseudo-terminal cannot be made.
    pub fn open(spec: &Spec) -> Result<Self, PortError> {
        let device = spec.device.clone();
        let output = match &spec.target {
            Target::Null => Output::Null,
            Target::Stdout => Output::Writer(Box::new(io::stdout())),
            Target::Stderr => Output::Writer(Box::new(io::stderr())),
            Target::File(path) => match File::create(path) {
                Ok(file) => Output::Writer(Box::new(io::BufWriter::new(file))),
                Err(source) => return Err(PortError::File { device, path: path.clone(), source }),
            },
            Target::Pty => match open_pty() {
                Ok(output) => output,
                Err(source) => return Err(PortError::Pty { device, source }),
            },
        };
        let port = HostPort { device, output, lost: 0 };
        if let Some(path) = port.terminal() {
            let _ = writeln!(io::stderr(), "serial port {} is {path}", port.device);
        }
        Ok(port)
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

    /// Whether bytes may come in.
    pub fn expects_input(&self) -> bool {
        self.terminal().is_some()
    }

    /// Takes bytes from the firmware. A closed other side is no error; what it misses is counted.
    pub fn write(&mut self, bytes: &[u8]) {
        let lost = match &mut self.output {
            Output::Null => 0,
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
    fn a_bad_specification_says_what_to_write() {
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
        let spec = format!("USART1=file:{}", path.display()).parse().unwrap();
        let mut port = HostPort::open(&spec).unwrap();
        port.write(b"hello");
        port.flush();
        assert_eq!(std::fs::read(&path).unwrap(), b"hello");
        let missing = Target::File(folder.path().join("no/such/folder"));
        let error = HostPort::open(&Spec { device: "U".to_owned(), target: missing });
        assert!(error.err().unwrap().to_string().starts_with("serial port U: cannot write"));
    }
}
