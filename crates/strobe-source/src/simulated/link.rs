//! A simulated board as a link: its trace blocks are programmed as a probe would, and its pin is
//! listened to at one bit rate; or a buffer in its RAM is read now and then.
//!
//! The board runs in a thread of its own and waits for whoever reads. Time is the board's own: an
//! hour of it may pass in a minute.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use strobe_decode::container::Note;
use strobe_devices::board::Board;
use strobe_link::trace::link::{Error, Link, ReadOutcome};
use strobe_link::trace::program::Registers;
use strobe_link::trace::rtt::{Rtt, RttFilter};
use strobe_sim::semihost::Console;
use strobe_symbols::Firmware;

mod start;

pub use start::Startup;

use crate::simulated::trace::{Pin, Programme};
use crate::simulated::{self, Debugger, Host, Limit, Progress, Settings};

/// Blocks that may wait: the board does not run far ahead.
const WAITING: usize = 16;
/// Bytes of a block, if they come fast.
const BLOCK: usize = 1 << 12;
/// The middle of a byte's last bit is so many half bits from its beginning. If by then the sender
/// is half a bit off, that bit is read as another.
const HALF_BITS: u64 = 19;

/// What the board sends over.
enum Sent {
    /// How many bytes came at another rate, the bytes behind them, and the board's time after
    /// those.
    Block { off_rate: u64, bytes: Vec<u8>, until: Duration },
    /// The run is over: why it could not begin, or nothing.
    Over(Option<String>),
}

/// A board that runs.
pub struct Simulated {
    sent: Receiver<Sent>,
    stop: Arc<AtomicBool>,
    board: Option<JoinHandle<()>>,
    elapsed: Duration,
    /// Bytes behind a note that has been given, and the board's time after them: until they are
    /// read it is not that late.
    behind: Option<(Vec<u8>, Duration)>,
}

/// How the board is to run.
pub struct Setup {
    /// What it runs.
    pub firmware: Firmware,
    /// The board.
    pub board: Board,
    /// Register writes that set up its trace blocks; what the firmware writes comes later.
    pub programme: Programme,
    /// The bit rate that the line is read at; whatever it is, if `None`.
    pub baud: Option<u32>,
    /// How long the board runs by its own time, if not for ever.
    pub limit: Option<Duration>,
    /// The buffer that is read instead of the pin, and how often in a second of the board's own
    /// time.
    pub rtt: Option<(RttFilter, u32)>,
}

impl Simulated {
    /// Starts the board.
    pub fn start(setup: Setup) -> Self {
        let (sender, sent) = sync_channel(WAITING);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let board = std::thread::spawn(move || run(&setup, sender, &stopped));
        Simulated { sent, stop, board: Some(board), elapsed: Duration::ZERO, behind: None }
    }
}

fn run(setup: &Setup, sender: SyncSender<Sent>, stop: &Arc<AtomicBool>) {
    let limit = setup.limit.map(|limit| limit.as_nanos().try_into().unwrap_or(u64::MAX));
    let settings = Settings {
        limit: limit.map(Limit::Nanoseconds),
        default_limit: None,
        trace: setup.programme.clone(),
        ..Settings::default()
    };
    let wanted_bit_ps = setup.baud.map(|baud| 1_000_000_000_000 / u64::from(baud.max(1)));
    let line = Line { sender, wanted_bit_ps, bytes: Vec::new(), off_rate: 0, until_ps: 0 };
    let memory = setup.rtt.clone().map(|(wanted, rate_hz)| Memory {
        rtt: Rtt::new(wanted),
        every_nanoseconds: 1_000_000_000 / u64::from(rate_hz.max(1)),
        failed: None,
    });
    let mut host = Listener { line, memory, stop: Arc::clone(stop) };
    let outcome = simulated::run(&setup.firmware, &setup.board, &settings, &mut host, stop);
    host.line.hand_over();
    let failed = host.memory.and_then(|memory| memory.failed).map(|error| error.to_string());
    let why = outcome.err().map(|error| error.to_string()).or(failed);
    let _ = host.line.sender.send(Sent::Over(why));
}

/// Listens to the pin.
struct Line {
    sender: SyncSender<Sent>,
    wanted_bit_ps: Option<u64>,
    bytes: Vec<u8>,
    off_rate: u64,
    until_ps: u64,
}

impl Line {
    /// Hands over what there is; `false` if nobody wants it any more.
    fn hand_over(&mut self) -> bool {
        let (bytes, off_rate) =
            (std::mem::take(&mut self.bytes), std::mem::take(&mut self.off_rate));
        let until = Duration::from_nanos(self.until_ps / 1000);
        self.sender.send(Sent::Block { bytes, off_rate, until }).is_ok()
    }
}

impl Pin for Line {
    fn byte(&mut self, at_ps: u64, bit_ps: u64, byte: u8) {
        self.until_ps = at_ps + 10 * bit_ps;
        let fits = self
            .wanted_bit_ps
            .is_none_or(|wanted| bit_ps.abs_diff(wanted).saturating_mul(HALF_BITS) <= wanted);
        if fits {
            self.bytes.push(byte);
        } else {
            // Earlier bytes stay before them.
            if !self.bytes.is_empty() {
                self.hand_over();
            }
            self.off_rate += 1;
        }
    }
}

/// Reads a buffer in memory, as a probe does.
struct Memory {
    rtt: Rtt,
    every_nanoseconds: u64,
    failed: Option<Error>,
}

struct Listener {
    line: Line,
    memory: Option<Memory>,
    stop: Arc<AtomicBool>,
}

impl Listener {
    fn hand_over_if_full(&mut self) {
        if self.line.bytes.len() >= BLOCK && !self.line.hand_over() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Debugger for Listener {
    fn every_nanoseconds(&self) -> u64 {
        self.memory.as_ref().map_or(u64::MAX, |memory| memory.every_nanoseconds)
    }

    fn look(&mut self, memory: &mut dyn Registers, nanoseconds: u64) {
        let Some(probe) = &mut self.memory else { return };
        self.line.until_ps = nanoseconds.saturating_mul(1000);
        if let Err(error) = probe.rtt.poll(memory, &mut self.line.bytes) {
            probe.failed.get_or_insert(error);
            self.stop.store(true, Ordering::Relaxed);
        }
        self.hand_over_if_full();
    }
}

impl Host for Listener {
    fn console(&mut self) -> Box<dyn Console> {
        Box::new(())
    }

    fn trace_pin(&mut self) -> Option<&mut dyn Pin> {
        if self.memory.is_some() {
            return None;
        }
        self.hand_over_if_full();
        Some(&mut self.line)
    }

    fn debugger(&mut self) -> Option<&mut dyn Debugger> {
        self.memory.is_some().then_some(self as &mut dyn Debugger)
    }

    fn progress(&mut self, _: &Progress) {
        if !self.line.hand_over() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Link for Simulated {
    fn read(&mut self, into: &mut Vec<u8>, timeout: Duration) -> Result<ReadOutcome, Error> {
        if let Some((bytes, until)) = self.behind.take() {
            self.elapsed = until.max(self.elapsed);
            into.extend(&bytes);
            return Ok(if bytes.is_empty() { ReadOutcome::Nothing } else { ReadOutcome::Bytes });
        }
        match self.sent.recv_timeout(timeout) {
            Ok(Sent::Block { bytes, off_rate: count @ 1.., until }) => {
                self.behind = Some((bytes, until));
                Ok(ReadOutcome::Note(Note::LineErrors { count }))
            }
            Ok(Sent::Block { bytes, off_rate: 0, until }) => {
                self.elapsed = until.max(self.elapsed);
                into.extend(&bytes);
                Ok(if bytes.is_empty() { ReadOutcome::Nothing } else { ReadOutcome::Bytes })
            }
            Ok(Sent::Over(Some(why))) => Err(Error::open("the simulated board", why)),
            Ok(Sent::Over(None)) | Err(RecvTimeoutError::Disconnected) => Ok(ReadOutcome::Ended),
            Err(RecvTimeoutError::Timeout) => Ok(ReadOutcome::Nothing),
        }
    }

    fn elapsed(&self) -> Option<Duration> {
        Some(self.elapsed)
    }

    fn close(&mut self) -> Result<Option<Note>, Error> {
        self.stop.store(true, Ordering::Relaxed);
        // A full channel must not keep the board waiting.
        while self.sent.recv_timeout(Duration::from_secs(1)).is_ok() {}
        if let Some(board) = self.board.take() {
            board.join().map_err(|_| Error::failed("the simulated board", "a defect of strobe"))?;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever records ends by the board's time, and must have read everything before it.
    #[test]
    fn time_advances_when_bytes_after_a_note_are_read() {
        let (sender, sent) = sync_channel(WAITING);
        let until = Duration::from_millis(20);
        sender.send(Sent::Block { off_rate: 3, bytes: vec![1, 2], until }).unwrap();
        let stop = Arc::default();
        let mut link = Simulated { sent, stop, board: None, elapsed: Duration::ZERO, behind: None };
        let mut bytes = Vec::new();
        let note = link.read(&mut bytes, Duration::ZERO).unwrap();
        assert!(matches!(note, ReadOutcome::Note(Note::LineErrors { count: 3 })));
        assert_eq!(link.elapsed(), Some(Duration::ZERO));
        assert!(matches!(link.read(&mut bytes, Duration::ZERO), Ok(ReadOutcome::Bytes)));
        assert_eq!((bytes, link.elapsed()), (vec![1, 2], Some(until)));
    }
}
