//! Servers that hand on the bytes of the pin: OpenOCD (3443), orbuculum (3443 and up, 3402 in its
//! frames), J-Link (2332), pyOCD (3443).
//!
//! A server that goes away is called again until it is back; the bytes of the meantime are gone,
//! and a note records it. Frames are taken off by [`super::orbflow`].

use std::io::{self, ErrorKind, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use strobe_decode::container::Note;

use super::link::{Error, Link, ReadOutcome};

/// How long a server may take to answer a call.
const CONNECT: Duration = Duration::from_secs(3);
/// How long to wait between calls.
const AGAIN: Duration = Duration::from_millis(300);

/// A link to a server.
pub struct Tcp {
    address: String,
    stream: Option<TcpStream>,
    /// When to call again.
    again: Instant,
    block: Vec<u8>,
}

impl Tcp {
    /// Calls a server, as `localhost:3443`.
    pub fn connect(address: &str) -> Result<Tcp, Error> {
        let stream = call(address).map_err(|why| Error::open(address, why))?;
        Ok(Tcp {
            address: address.to_owned(),
            stream: Some(stream),
            again: Instant::now(),
            block: vec![0; 1 << 16],
        })
    }

    /// The connection is gone: its last bytes are good, and from now on it is called again.
    fn gone(&mut self, why: String) -> ReadOutcome {
        self.stream = None;
        self.again = Instant::now() + AGAIN;
        ReadOutcome::Note(Note::Gap { why })
    }

    fn reconnect(&mut self, timeout: Duration) -> ReadOutcome {
        let wait = self.again.saturating_duration_since(Instant::now());
        std::thread::sleep(wait.min(timeout));
        if wait > timeout {
            return ReadOutcome::Nothing;
        }
        self.again = Instant::now() + AGAIN;
        match call(&self.address) {
            Ok(stream) => {
                self.stream = Some(stream);
                ReadOutcome::Note(Note::Reconnected)
            }
            Err(_) => ReadOutcome::Nothing,
        }
    }
}

fn call(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::other("it has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Link for Tcp {
    fn read(&mut self, into: &mut Vec<u8>, timeout: Duration) -> Result<ReadOutcome, Error> {
        let Some(stream) = &mut self.stream else { return Ok(self.reconnect(timeout)) };
        // A timeout of zero would mean none.
        let set = stream.set_read_timeout(Some(timeout.max(Duration::from_millis(1))));
        let read = set.and_then(|()| stream.read(&mut self.block));
        match read {
            Ok(0) => Ok(self.gone("the server has closed the connection".to_owned())),
            Ok(bytes) => {
                into.extend(&self.block[..bytes]);
                Ok(ReadOutcome::Bytes)
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => Ok(ReadOutcome::Nothing),
                ErrorKind::Interrupted => Ok(ReadOutcome::Nothing),
                _ => Ok(self.gone(error.to_string())),
            },
        }
    }
}
