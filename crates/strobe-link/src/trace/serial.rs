//! A serial adapter that listens to the pin, at any bit rate that the system and the adapter can
//! have.
//!
//! The system marks bytes that came damaged (framing, parity) or were breaks, if it knows (PARMRK);
//! they are left out and noted in their place, since a UART with the wrong bit rate makes nothing
//! but such bytes.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use super::link::{Error, Link, ReadOutcome};
use super::pieces::Pieces;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::termios::{
    ControlModes, InputModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// A link to a serial port.
pub struct Serial {
    what: String,
    port: File,
    marks: Marks,
    block: Vec<u8>,
    pieces: Pieces,
    ended: Option<Error>,
}

impl Serial {
    /// Opens a port, as `/dev/ttyUSB0`.
    pub fn open(device: &str, baud: u32) -> Result<Serial, Error> {
        let what = format!("{device} at {baud} baud");
        let mut options = OpenOptions::new();
        // Without NONBLOCK this would wait for a modem's carrier.
        let flags = OFlags::NOCTTY | OFlags::NONBLOCK;
        options.read(true).custom_flags(flags.bits() as i32);
        let port = options.open(device).map_err(|why| Error::open(device, why))?;
        let mut settings = tcgetattr(&port)
            .map_err(|_| Error::open(device, "it is no serial port; a plain file is file:PATH"))?;
        raw(&mut settings);
        settings.set_speed(baud).map_err(|why| Error::open(&what, why))?;
        tcsetattr(&port, OptionalActions::Now, &settings).map_err(|why| Error::open(&what, why))?;
        granted(&port, baud).map_err(|why| Error::open(&what, why))?;
        let block = vec![0; 1 << 16];
        Ok(Serial {
            what,
            port,
            marks: Marks::default(),
            block,
            pieces: Pieces::default(),
            ended: None,
        })
    }

    fn wait(&self, timeout: Duration) -> Result<bool, Error> {
        let seconds = i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX);
        let timeout = Timespec { tv_sec: seconds, tv_nsec: timeout.subsec_nanos().into() };
        let mut fds = [PollFd::new(&self.port, PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(n) => Ok(n > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(Error::failed(&self.what, error)),
        }
    }
}

/// Eight bits, no parity, nothing translated; damaged bytes marked.
fn raw(settings: &mut Termios) {
    settings.make_raw();
    settings.input_modes |= InputModes::INPCK | InputModes::PARMRK;
    settings.input_modes -= InputModes::IGNPAR | InputModes::IGNBRK | InputModes::BRKINT;
    settings.control_modes -= ControlModes::PARENB | ControlModes::CSTOPB | ControlModes::CRTSCTS;
    settings.control_modes |= ControlModes::CS8 | ControlModes::CREAD | ControlModes::CLOCAL;
    settings.special_codes[SpecialCodeIndex::VMIN] = 0;
    settings.special_codes[SpecialCodeIndex::VTIME] = 0;
}

/// Whether the port has the bit rate now: a driver that cannot have it takes another one without a
/// word.
fn granted(port: &File, baud: u32) -> Result<(), String> {
    let speed = tcgetattr(port).map_err(|e| e.to_string())?.input_speed();
    let off = f64::from(speed) / f64::from(baud) - 1.0;
    if off.abs() > 0.02 {
        return Err(format!("the port took {speed} baud instead; choose a rate that it has"));
    }
    Ok(())
}

impl Link for Serial {
    fn read(&mut self, into: &mut Vec<u8>, timeout: Duration) -> Result<ReadOutcome, Error> {
        if let Some((came, _)) = self.pieces.next(into) {
            return Ok(came);
        }
        if let Some(error) = self.ended.take() {
            return Err(error);
        }
        if !self.wait(timeout)? {
            return Ok(ReadOutcome::Nothing);
        }
        match self.port.read(&mut self.block) {
            // A port that is readable and has nothing has gone away.
            Ok(0) => Err(Error::failed(&self.what, "the port is gone")),
            Ok(bytes) => {
                self.marks.sort(&self.block[..bytes], &mut self.pieces);
                Ok(self.pieces.next(into).map_or(ReadOutcome::Nothing, |(came, _)| came))
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                Ok(ReadOutcome::Nothing)
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {
                Ok(ReadOutcome::Nothing)
            }
            Err(error) => Err(Error::failed(&self.what, error)),
        }
    }
}

/// Takes the system's marks out of the bytes: 0xff 0x00 and the damaged byte; a sound 0xff comes as
/// two.
#[derive(Debug, Default)]
struct Marks {
    state: Mark,
}

#[derive(Debug, Default, Clone, Copy)]
enum Mark {
    #[default]
    Nothing,
    Ff,
    FfZero,
}

impl Marks {
    /// Separates sound bytes from damaged ones.
    fn sort(&mut self, bytes: &[u8], into: &mut Pieces) {
        // The port does not report when.
        let at = Duration::ZERO;
        for &byte in bytes {
            self.state = match (self.state, byte) {
                (Mark::Nothing, 0xff) => Mark::Ff,
                (Mark::Nothing, _) => {
                    into.byte(byte, at);
                    Mark::Nothing
                }
                (Mark::Ff, 0) => Mark::FfZero,
                (Mark::Ff, 0xff) => {
                    into.byte(0xff, at);
                    Mark::Nothing
                }
                // A system that does not double it.
                (Mark::Ff, _) => {
                    into.byte(0xff, at);
                    into.byte(byte, at);
                    Mark::Nothing
                }
                (Mark::FfZero, _) => {
                    into.damaged(1, at);
                    Mark::Nothing
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_decode::container::Note;

    #[test]
    fn marks_are_taken_out_however_they_are_cut() {
        let bytes = [1, 0xff, 0xff, 2, 0xff, 0, 0x55, 3, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff];
        for size in 1..bytes.len() {
            let (mut marks, mut pieces) = (Marks::default(), Pieces::default());
            bytes.chunks(size).for_each(|piece| marks.sort(piece, &mut pieces));
            let (mut out, mut places) = (Vec::new(), Vec::new());
            while let Some((came, _)) = pieces.next(&mut out) {
                if let ReadOutcome::Note(Note::LineErrors { count }) = came {
                    places.push((out.len(), count));
                }
            }
            let found = (vec![1, 0xff, 2, 3, 0xff, 0xff], vec![(3, 1), (4, 1)]);
            assert_eq!((out, places), found, "by {size}");
        }
    }
}
