//! A pseudo-terminal as a serial line: raw bytes both ways, whoever is or is not attached.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

/// Bytes kept for a terminal that does not read, beyond what the system keeps.
const BACKLOG_LIMIT: usize = 1 << 20;

/// Both ends of a pseudo-terminal. The other end is held open as well, so that programs may attach
/// and leave as they like: its last close would otherwise end the line.
pub(super) struct Pty {
    controller: File,
    _terminal: OwnedFd,
    path: String,
    backlog: VecDeque<u8>,
}

impl Pty {
    pub(super) fn open() -> io::Result<Self> {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&controller)?;
        unlockpt(&controller)?;
        let path = ptsname(&controller, Vec::new())?;
        let path = path.into_string().map_err(|_| io::Error::other("its path is not text"))?;
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
        let terminal = rustix::fs::open(&path, flags, rustix::fs::Mode::empty())?;
        // A serial line neither echoes nor edits nor translates line ends.
        let mut settings = tcgetattr(&terminal)?;
        settings.make_raw();
        tcsetattr(&terminal, OptionalActions::Now, &settings)?;
        rustix::io::ioctl_fionbio(&controller, true)?;
        let controller = File::from(controller);
        Ok(Pty { controller, _terminal: terminal, path, backlog: VecDeque::new() })
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Sends what the system takes and keeps the rest; returns how many bytes had to be dropped.
    pub(super) fn write(&mut self, bytes: &[u8]) -> usize {
        let kept = bytes.len().min(BACKLOG_LIMIT - self.backlog.len());
        self.backlog.extend(&bytes[..kept]);
        self.flush();
        bytes.len() - kept
    }

    /// Sends what has been kept, as far as the system takes it now.
    pub(super) fn flush(&mut self) {
        while !self.backlog.is_empty() {
            match self.controller.write(self.backlog.as_slices().0) {
                Ok(0) => return,
                Ok(count) => drop(self.backlog.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The line is full; or broken, which the limit of what is kept takes care of.
                Err(_) => return,
            }
        }
    }

    pub(super) fn read(&mut self, room: usize) -> Vec<u8> {
        // The system's own buffer holds no more than this.
        let mut bytes = vec![0; room.min(4096)];
        // An error means that there is no input.
        let count = self.controller.read(&mut bytes).unwrap_or(0);
        bytes.truncate(count);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::HostPort;
    use super::*;

    fn port() -> HostPort {
        HostPort::pty("USART1").unwrap()
    }

    fn attach(port: &HostPort) -> File {
        File::options().read(true).write(true).open(port.terminal().unwrap()).unwrap()
    }

    #[test]
    fn raw_bytes_cross_both_ways() {
        let mut port = port();
        assert!(port.expects_input());
        assert_eq!(port.read(100), b"", "reading does not wait");
        let mut terminal = attach(&port);
        port.write(b"a\r\n\x03\xff");
        let mut seen = [0; 5];
        terminal.read_exact(&mut seen).unwrap();
        assert_eq!(&seen, b"a\r\n\x03\xff");
        terminal.write_all(b"\x04ok\n").unwrap();
        assert_eq!(port.read(3), b"\x04ok");
        assert_eq!(port.read(100), b"\n");
    }

    #[test]
    fn terminals_come_and_go() {
        let mut port = port();
        port.write(b"early ");
        drop(attach(&port));
        assert_eq!(port.read(100), b"");
        port.write(b"late");
        let mut seen = [0; 10];
        attach(&port).read_exact(&mut seen).unwrap();
        assert_eq!((&seen, port.lost()), (b"early late", 0));
    }

    #[test]
    fn nobody_reading_neither_blocks_nor_fills_memory() {
        let mut port = port();
        let block = [b'x'; 4096];
        let total = 2 * BACKLOG_LIMIT;
        (0..total / block.len()).for_each(|_| port.write(&block));
        assert!(port.lost() > 0 && port.lost() < total as u64);
        // What was kept arrives, followed by what is sent later.
        let mut terminal = attach(&port);
        let mut expected = total - port.lost() as usize;
        let mut buffer = [0; 65536];
        while expected > 0 {
            let count = terminal.read(&mut buffer).unwrap();
            expected -= count;
            port.flush();
        }
        port.write(b"!");
        assert_eq!(terminal.read(&mut buffer).unwrap(), 1);
    }
}
