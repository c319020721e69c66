//! Files, pipes and whatever else can only be read to its end: a thread reads, so that nobody waits
//! longer than he wants.

use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use super::link::{Error, Link, ReadOutcome};

/// Bytes that are read at once.
const BLOCK: usize = 1 << 16;
/// Blocks that may wait. A file is not read faster than it is used.
const WAITING: usize = 8;

/// A link to anything that can be read.
pub struct Stream {
    what: String,
    blocks: Receiver<std::io::Result<Vec<u8>>>,
}

impl Stream {
    /// Reads from `input`, which is called `what` in errors.
    pub fn new(what: impl Into<String>, input: impl Read + Send + 'static) -> Self {
        let (sender, blocks) = sync_channel(WAITING);
        std::thread::spawn(move || pump(input, &sender));
        Stream { what: what.into(), blocks }
    }
}

/// Reads until there is no more, or nobody listens.
fn pump(mut input: impl Read, to: &SyncSender<std::io::Result<Vec<u8>>>) {
    loop {
        let mut block = vec![0; BLOCK];
        let read = match input.read(&mut block) {
            Ok(0) => return,
            Ok(read) => {
                block.truncate(read);
                Ok(block)
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let failed = read.is_err();
        if to.send(read).is_err() || failed {
            return;
        }
    }
}

impl Link for Stream {
    fn read(&mut self, into: &mut Vec<u8>, timeout: Duration) -> Result<ReadOutcome, Error> {
        match self.blocks.recv_timeout(timeout) {
            Ok(Ok(block)) => {
                if into.is_empty() {
                    *into = block
                } else {
                    into.extend(block)
                }
                Ok(ReadOutcome::Bytes)
            }
            Ok(Err(error)) => Err(Error::failed(&self.what, error)),
            Err(RecvTimeoutError::Timeout) => Ok(ReadOutcome::Nothing),
            Err(RecvTimeoutError::Disconnected) => Ok(ReadOutcome::Ended),
        }
    }
}
