//! OpenOCD over its TCL port: it writes the registers and hands on what the adapter hears of the
//! pin.
//!
//! Commands and answers end with 0x1a; between answers come events, of which `type target_trace
//! data` has the pin's bytes in hexadecimal digits. An answer does not state whether the command
//! worked, so each is wrapped in one that does. Before 0.12 the pin is set up with `tpiu config`,
//! since then with an object that the board's configuration has made.

mod flash;
pub mod messages;

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use strobe_decode::container::Note;
use strobe_decode::trace_settings::{Encoding, Line, TraceSettings};

use self::messages::{Answer, Messages};
use super::link::{Error, Link, ReadOutcome};
use super::program::{self, Registers};
use super::registers::{writes, writes_off};
use super::target::Target;

pub use flash::program as program_flash;

/// How long OpenOCD may take to answer.
const ANSWER: Duration = Duration::from_secs(5);
/// How often whoever waits is asked whether it goes on.
const ASKED_EVERY: Duration = Duration::from_millis(100);
/// The most bytes of events that may come before an answer.
const EVENTS: usize = 1 << 24;

/// A link through OpenOCD.
pub struct OpenOcd {
    tcl: Tcl,
    settings: TraceSettings,
    /// The object that is the pin, since 0.12.
    pin: Option<String>,
}

impl OpenOcd {
    /// Connects to the TCL port (`localhost:6666`), sets up pin and registers, and has trace data
    /// sent here. Gives the settings as they are: an adapter may have another bit rate than was
    /// asked for.
    pub fn open(
        address: &str,
        settings: &TraceSettings,
        target: &Target,
    ) -> Result<(OpenOcd, TraceSettings), Error> {
        let mut tcl = Tcl::connect(address)?;
        tcl.command("version").map_err(|error| tcl.not_openocd(error))?;
        program::capable(&mut tcl, settings)?;
        tcl.command("tcl_notifications on")?;
        tcl.command("tcl_trace on")?;
        let mut settings = settings.clone();
        let pin = tcl.start_pin(&settings)?;
        if let Some(pin) = &pin {
            settings.line = tcl.granted(pin, &settings.line)?;
        }
        let registers = writes(&settings, target).map_err(|e| Error::open(address, e))?;
        program::program(&mut tcl, &registers)?;
        Ok((OpenOcd { tcl, settings: settings.clone(), pin }, settings))
    }
}

impl Link for OpenOcd {
    fn read(&mut self, into: &mut Vec<u8>, timeout: Duration) -> Result<ReadOutcome, Error> {
        let until = Instant::now() + timeout;
        let Some(message) = self.tcl.event(until)? else { return Ok(ReadOutcome::Nothing) };
        let came = messages::event(&message, into);
        came.ok_or_else(|| self.tcl.failed("trace data that are no digits"))
    }

    fn close(&mut self) -> Result<Option<Note>, Error> {
        self.tcl.command("tcl_trace off")?;
        program::program(&mut self.tcl, &writes_off(&self.settings))?;
        match &self.pin {
            Some(pin) => self.tcl.command(&format!("{pin} disable"))?,
            None => self.tcl.command("tpiu config disable")?,
        };
        Ok(None)
    }
}

/// Connects to the TCL port for the target's memory alone: the pin is left as it is.
///
/// # Errors
/// If OpenOCD is not there.
pub fn memory(address: &str) -> Result<impl Registers + use<>, Error> {
    let mut tcl = Tcl::connect(address)?;
    tcl.command("version").map_err(|error| tcl.not_openocd(error))?;
    Ok(tcl)
}

/// The TCL port.
struct Tcl {
    address: String,
    stream: TcpStream,
    messages: Messages,
    /// Events that came while an answer was waited for.
    events: VecDeque<String>,
}

impl Tcl {
    fn connect(address: &str) -> Result<Tcl, Error> {
        let open = |why: String| {
            Error::open(
                format!("OpenOCD at {address}"),
                format!("{why}; does it run, with its TCL port there?"),
            )
        };
        let mut addresses = address.to_socket_addrs().map_err(|e| open(e.to_string()))?;
        let first = addresses.next().ok_or_else(|| open("it has no address".to_owned()))?;
        let stream = TcpStream::connect_timeout(&first, ANSWER).map_err(|e| open(e.to_string()))?;
        let (messages, events) = (Messages::default(), VecDeque::new());
        Ok(Tcl { address: address.to_owned(), stream, messages, events })
    }

    fn failed(&self, why: impl ToString) -> Error {
        Error::failed(format!("OpenOCD at {}", self.address), why)
    }

    fn not_openocd(&self, error: Error) -> Error {
        self.failed(format!("{error}; is that its TCL port (6666), not GDB's or Telnet's?"))
    }

    /// Runs a command and gives what it returned.
    fn command(&mut self, command: &str) -> Result<String, Error> {
        self.command_within(command, ANSWER, &mut || true)
    }

    /// The same for a command that may take longer. `goes_on` is asked meanwhile; when it does not,
    /// or when the time is over, the connection is of no more use.
    fn command_within(
        &mut self,
        command: &str,
        longest: Duration,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<String, Error> {
        self.stream.write_all(&messages::wrapped(command)).map_err(|e| self.failed(e))?;
        let (until, mut bytes) = (Instant::now() + longest, 0);
        loop {
            let Some(message) = self.message(until.min(Instant::now() + ASKED_EVERY))? else {
                if goes_on() && Instant::now() < until {
                    continue;
                }
                break;
            };
            match messages::answer(&message) {
                Answer::Ok(result) => return Ok(result.to_owned()),
                Answer::Bad(why) => return Err(self.failed(format!("`{command}`: {why}"))),
                Answer::Nonsense => {
                    return Err(self.failed(format!("an answer that is none: {message:?}")));
                }
                Answer::Event => {
                    bytes += message.len();
                    if bytes > EVENTS || Instant::now() > until {
                        break;
                    }
                    self.events.push_back(message);
                }
            }
        }
        let seconds = longest.as_secs_f64();
        Err(self.failed(format!("no answer to `{command}` in {seconds} s")))
    }

    /// The next event, if one comes in time.
    fn event(&mut self, until: Instant) -> Result<Option<String>, Error> {
        match self.events.pop_front() {
            Some(event) => Ok(Some(event)),
            None => self.message(until),
        }
    }

    fn message(&mut self, until: Instant) -> Result<Option<String>, Error> {
        loop {
            let message = self.messages.next_whole().map_err(|e| self.failed(e))?;
            if message.is_some() || !self.more(until)? {
                return Ok(message);
            }
        }
    }

    /// Waits for more bytes; `false` if none come in time. A signal does not end that: Ctrl-C in
    /// the middle of a command would look like an answer that does not come.
    fn more(&mut self, until: Instant) -> Result<bool, Error> {
        let mut block = [0; 1 << 14];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let set = self.stream.set_read_timeout(Some(left.max(Duration::from_millis(1))));
            match set.and_then(|()| self.stream.read(&mut block)) {
                Ok(0) => return Err(self.failed("it has closed the connection")),
                Ok(bytes) => {
                    self.messages.push(&block[..bytes]);
                    return Ok(true);
                }
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => return Ok(false),
                    _ => return Err(self.failed(error)),
                },
            }
        }
    }

    /// Has the adapter listen to the pin; gives the object that is the pin, if this OpenOCD has
    /// such.
    fn start_pin(&mut self, settings: &TraceSettings) -> Result<Option<String>, Error> {
        let line = &settings.line;
        let (trace_hz, baud) = (line.trace_hz(), line.baud());
        let protocol = match line.encoding() {
            Encoding::Nrz => "uart",
            Encoding::Manchester => "manchester",
        };
        let Ok(names) = self.command("tpiu names") else {
            let formatter = if settings.formatter { "on" } else { "off" };
            let old = format!("tpiu config internal - {protocol} {formatter} {trace_hz} {baud}");
            self.command(&old)?;
            return Ok(None);
        };
        let mut names = names.split_whitespace();
        let all: Vec<&str> = names.by_ref().collect();
        // Chips with a block for the pin alone have it beside the TPIU of the parallel port.
        let swo = all.iter().find(|name| name.contains("swo"));
        let Some(pin) = swo.or(all.first()).map(|name| (*name).to_owned()) else {
            return Err(self.failed(
                "its configuration has no TPIU or SWO; add one with `tpiu create NAME -dap DAP \
                 -ap-num 0 -baseaddr 0xE0040000`",
            ));
        };
        self.command(&format!(
            "{pin} configure -protocol {protocol} -traceclk {trace_hz} -pin-freq {baud} -output -"
        ))?;
        self.command(&format!("{pin} enable"))?;
        Ok(Some(pin))
    }

    /// The line as the adapter has it.
    fn granted(&mut self, pin: &str, asked: &Line) -> Result<Line, Error> {
        let answer = self.command(&format!("{pin} cget -pin-freq"))?;
        let baud = answer.parse().map_err(|_| self.failed(format!("a pin of {answer} baud")))?;
        Line::new(asked.trace_hz(), baud, asked.encoding()).map_err(|e| self.failed(e))
    }
}

impl Registers for Tcl {
    fn read_word(&mut self, address: u32) -> Result<u32, Error> {
        let mut word = [0];
        self.read_words(address, &mut word)?;
        Ok(word[0])
    }

    fn write_word(&mut self, address: u32, value: u32) -> Result<(), Error> {
        self.command(&format!("mww {address:#010x} {value:#010x}")).map(|_| ())
    }

    fn read_words(&mut self, address: u32, into: &mut [u32]) -> Result<(), Error> {
        let count = into.len();
        let answer = match self.command(&format!("read_memory {address:#010x} 32 {count}")) {
            Ok(answer) => answer,
            // Before 0.12.
            Err(error) if error.to_string().contains("invalid command name") => {
                let count = if count == 1 { String::new() } else { format!(" {count}") };
                self.command(&format!("capture {{mdw {address:#010x}{count}}}"))?
            }
            Err(error) => return Err(error),
        };
        let words = messages::words(&answer).filter(|words| words.len() == count);
        let wrong = || self.failed(format!("{address:#010x} reads as {answer:?}"));
        into.copy_from_slice(&words.ok_or_else(wrong)?);
        Ok(())
    }
}
