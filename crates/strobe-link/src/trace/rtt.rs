//! RTT: a buffer in the target's RAM that is read over the debug port while the core runs, for
//! chips without a trace pin.
//!
//! SEGGER's control block states where the buffers are: an id of 16 bytes, the numbers of buffers
//! to and from the host, and a descriptor of six words for each (name, buffer, size, the target's
//! offset, the host's, flags). The target moves its offset when bytes are in, the host moves its
//! own when they are out. What the bytes mean is not known here.

use std::ops::Range;
use std::time::{Duration, Instant};

use strobe_decode::container::Note;
use strobe_symbols::Firmware;

use super::link::{Error, Link, ReadOutcome};
use super::program::Registers;

/// What the control block begins with: `SEGGER RTT` and zeros.
const ID: [u32; 4] = [0x4747_4553, 0x5220_5245, 0x0000_5454, 0];
/// Words of the block before the first descriptor, and of a descriptor.
const HEAD: u32 = 6;
const DESCRIPTOR: u32 = 6;
/// Greater buffers than this are none.
const MOST_BYTES: u32 = 1 << 20;
/// Words that are asked for at once.
const AT_ONCE: usize = 256;
/// How long to wait before a block that was not there is looked for again.
const AGAIN: Duration = Duration::from_millis(200);

/// Where RAM begins on nearly all of these chips, and how much of it is looked at.
pub const USUAL_RAM: Range<u32> = 0x2000_0000..0x2008_0000;

/// What to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RttFilter {
    /// Where the control block is: looked for at each word of this. One address is a range of one
    /// word.
    pub block: Range<u32>,
    /// Which buffer to the host.
    pub channel: u32,
}

impl RttFilter {
    /// A channel of the block in that range; without one of the block that the firmware has, else
    /// of one in the usual RAM.
    pub fn find(channel: u32, at: Option<Range<u32>>, firmware: Option<&Firmware>) -> RttFilter {
        let mut symbols = firmware.into_iter().flat_map(Firmware::data_symbols);
        let symbol = symbols.find(|symbol| symbol.name == "_SEGGER_RTT");
        let known = symbol.map(|symbol| symbol.address..symbol.address.saturating_add(1));
        RttFilter { block: at.or(known).unwrap_or(USUAL_RAM), channel }
    }
}

/// Reads a buffer, once its control block is found.
#[derive(Debug, Clone)]
pub struct Rtt {
    wanted: RttFilter,
    block: Option<u32>,
}

/// A descriptor.
struct Buffer {
    address: u32,
    size: u32,
    written: u32,
    read: u32,
}

impl Rtt {
    /// Nothing is read yet.
    pub fn new(wanted: RttFilter) -> Self {
        Rtt { wanted, block: None }
    }

    /// Where the control block was found.
    pub fn block(&self) -> Option<u32> {
        self.block
    }

    /// Puts what is in the buffer behind what is in `into`. The block is looked for first, where it
    /// is not known: firmware may set it up late.
    ///
    /// # Errors
    /// If the port or the target does not answer, or the block has no such buffer.
    pub fn poll(&mut self, port: &mut dyn Registers, into: &mut Vec<u8>) -> Result<(), Error> {
        let block = match self.block {
            Some(block) => block,
            None => {
                let Some(block) = find(port, &self.wanted.block)? else { return Ok(()) };
                self.has_channel(port, block)?;
                *self.block.insert(block)
            }
        };
        let descriptor = self.descriptor(block);
        let Some(buffer) = read_descriptor(port, descriptor)? else {
            // The firmware has not set it up, again perhaps.
            self.block = None;
            return Ok(());
        };
        if buffer.written == buffer.read {
            return Ok(());
        }
        if buffer.written < buffer.read {
            read_bytes(port, buffer.address + buffer.read..buffer.address + buffer.size, into)?;
            read_bytes(port, buffer.address..buffer.address + buffer.written, into)?;
        } else {
            read_bytes(port, buffer.address + buffer.read..buffer.address + buffer.written, into)?;
        }
        port.write_word(descriptor + 16, buffer.written)
    }

    fn descriptor(&self, block: u32) -> u32 {
        block.wrapping_add(4 * HEAD).wrapping_add(self.wanted.channel.wrapping_mul(4 * DESCRIPTOR))
    }

    fn has_channel(&self, port: &mut dyn Registers, block: u32) -> Result<(), Error> {
        let (channel, buffers) = (self.wanted.channel, port.read_word(block + 16)?);
        if channel < buffers {
            return Ok(());
        }
        let why = format!(
            "the control block at {block:#010x} has {buffers} buffers to the host, no {channel}"
        );
        Err(Error::failed("RTT", why))
    }
}

/// The first control block in a range. The end of the target's memory ends the search.
fn find(port: &mut dyn Registers, range: &Range<u32>) -> Result<Option<u32>, Error> {
    let mut words = [0; AT_ONCE + ID.len() - 1];
    let mut at = range.start & !3;
    while at < range.end {
        let places = (range.end.div_ceil(4) - at / 4).min(AT_ONCE as u32) as usize;
        let mut some = &mut words[..places + ID.len() - 1];
        if port.read_words(at, some).is_err() {
            // Its end may be just here.
            some = &mut words[..places];
            if let Err(error) = port.read_words(at, some) {
                return if at == range.start & !3 { Err(error) } else { Ok(None) };
            }
        }
        if let Some(place) = some.windows(ID.len()).position(|words| words == ID) {
            return Ok(Some(at + 4 * place as u32));
        }
        at = at.saturating_add(4 * AT_ONCE as u32);
    }
    Ok(None)
}

/// A descriptor that makes sense.
fn read_descriptor(port: &mut dyn Registers, at: u32) -> Result<Option<Buffer>, Error> {
    let mut words = [0; DESCRIPTOR as usize];
    port.read_words(at, &mut words)?;
    let [_, address, size, written, read, _] = words;
    let sane = size > 0
        && size <= MOST_BYTES
        && written < size
        && read < size
        && address.checked_add(size).is_some_and(|end| end < u32::MAX - 4);
    Ok(sane.then_some(Buffer { address, size, written, read }))
}

fn read_bytes(
    port: &mut dyn Registers,
    range: Range<u32>,
    into: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut words = [0; AT_ONCE];
    let mut at = range.start;
    while at < range.end {
        let from = at & !3;
        let count = ((range.end - from).div_ceil(4) as usize).min(AT_ONCE);
        let some = &mut words[..count];
        port.read_words(from, some)?;
        let end = range.end.min(from + 4 * count as u32);
        let bytes = some.iter().flat_map(|word| word.to_le_bytes());
        into.extend(bytes.skip((at - from) as usize).take((end - at) as usize));
        at = end;
    }
    Ok(())
}

/// A link to the buffer through a debug port.
pub struct Polled<P> {
    port: P,
    rtt: Rtt,
    pause: Duration,
    found: bool,
    /// When the block is looked for next.
    again: Instant,
}

impl<P: Registers> Polled<P> {
    /// Reads so many times a second, or about a thousand times.
    pub fn new(port: P, wanted: RttFilter, rate_hz: Option<u32>) -> Self {
        let pause = Duration::from_secs(1) / rate_hz.unwrap_or(1000).max(1);
        Polled { port, rtt: Rtt::new(wanted), pause, found: false, again: Instant::now() }
    }
}

impl<P: Registers> Link for Polled<P> {
    fn read(&mut self, into: &mut Vec<u8>, timeout: Duration) -> Result<ReadOutcome, Error> {
        let (until, had) = (Instant::now() + timeout, into.len());
        loop {
            let now = Instant::now();
            if self.rtt.block().is_some() || now >= self.again {
                self.rtt.poll(&mut self.port, into)?;
                self.again = now + AGAIN;
            }
            if let Some(block) = self.rtt.block().filter(|_| !self.found) {
                self.found = true;
                let text = format!("the RTT control block is at {block:#010x}");
                return Ok(ReadOutcome::Note(Note::Text { text }));
            }
            if into.len() > had {
                return Ok(ReadOutcome::Bytes);
            }
            if now >= until {
                return Ok(ReadOutcome::Nothing);
            }
            std::thread::sleep(self.pause.min(until - now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RAM from 0x2000_0000 on.
    struct Ram(Vec<u32>);

    impl Ram {
        fn with(at: usize, size: u32, channels: u32) -> Self {
            let mut words = vec![0x5555_5555; 2048];
            words[at..at + 4].copy_from_slice(&ID);
            words[at + 4..at + 6].copy_from_slice(&[channels, 0]);
            for channel in 0..channels as usize {
                let buffer = 0x2000_1001 + 0x400 * channel as u32;
                let from = at + 6 + 6 * channel;
                words[from..from + 6].copy_from_slice(&[0, buffer, size, 0, 0, 0]);
            }
            Ram(words)
        }

        fn place(&self, address: u32) -> Result<usize, Error> {
            let place = address.checked_sub(0x2000_0000).map(|at| at as usize / 4);
            let inside = place.filter(|at| *at < self.0.len());
            inside.ok_or_else(|| Error::failed("memory", format!("nothing at {address:#x}")))
        }

        fn put(&mut self, address: u32, byte: u8) {
            let at = self.place(address).expect("in RAM");
            let shift = address % 4 * 8;
            self.0[at] = self.0[at] & !(0xff << shift) | u32::from(byte) << shift;
        }

        /// What the firmware does.
        fn write(&mut self, at: usize, bytes: &[u8]) {
            let [_, buffer, size, mut offset, ..] = self.0[at..at + 6] else { unreachable!() };
            for byte in bytes {
                self.put(buffer + offset, *byte);
                offset = (offset + 1) % size;
            }
            self.0[at + 3] = offset;
        }
    }

    impl Registers for Ram {
        fn read_word(&mut self, address: u32) -> Result<u32, Error> {
            self.place(address).map(|at| self.0[at])
        }

        fn write_word(&mut self, address: u32, value: u32) -> Result<(), Error> {
            let at = self.place(address)?;
            self.0[at] = value;
            Ok(())
        }
    }

    fn wanted(channel: u32) -> RttFilter {
        RttFilter { block: USUAL_RAM, channel }
    }

    #[test]
    fn bytes_come_out_in_order_round_the_buffer() {
        let mut ram = Ram::with(301, 37, 2);
        let (mut rtt, mut came, mut sent) = (Rtt::new(wanted(1)), Vec::new(), Vec::new());
        for round in 0..40u8 {
            let bytes: Vec<u8> = (0..round % 36).map(|n| n ^ round).collect();
            ram.write(301 + 12, &bytes);
            sent.extend(bytes);
            rtt.poll(&mut ram, &mut came).expect("memory");
            assert_eq!(came, sent);
        }
        assert_eq!(rtt.block(), Some(0x2000_0000 + 4 * 301));
    }

    #[test]
    fn block_is_found_at_its_address_and_piece_borders() {
        for at in [0, 253, 254, 255, 256, 257, 2036] {
            let mut ram = Ram::with(at, 8, 1);
            let address = 0x2000_0000 + 4 * at as u32;
            assert_eq!(find(&mut ram, &USUAL_RAM), Ok(Some(address)), "{at}");
            assert_eq!(find(&mut ram, &(address..address + 1)), Ok(Some(address)));
            assert_eq!(find(&mut ram, &(address + 4..address + 5)).unwrap_or(None), None);
        }
        assert_eq!(find(&mut Ram(vec![0; 999]), &USUAL_RAM), Ok(None));
        assert!(find(&mut Ram(vec![0; 999]), &(0x3000_0000..0x3000_1000)).is_err());
    }

    #[test]
    fn block_set_up_late_or_again_is_awaited() {
        let mut ram = Ram(vec![0; 2048]);
        let (mut rtt, mut came) = (Rtt::new(wanted(0)), Vec::new());
        rtt.poll(&mut ram, &mut came).expect("nothing is no error");
        ram = Ram::with(7, 64, 1);
        ram.write(7 + 6, b"one");
        rtt.poll(&mut ram, &mut came).expect("memory");
        // After a reset, before its start-up code has run.
        for nonsense in
            [[0, 0, 0, 0], [0x2000_1000, 64, 99, 0], [0x2000_1000, 64, 0, 99], [u32::MAX, 64, 0, 1]]
        {
            ram.0[7 + 7..7 + 11].copy_from_slice(&nonsense);
            rtt.poll(&mut ram, &mut came).expect("nothing is no error");
        }
        ram = Ram::with(7, 64, 1);
        ram.write(7 + 6, b"two");
        rtt.poll(&mut ram, &mut came).expect("memory");
        assert_eq!(came, b"onetwo");
    }

    #[test]
    fn a_channel_that_is_not_there_is_an_error() {
        let failed = Rtt::new(wanted(2)).poll(&mut Ram::with(7, 64, 2), &mut Vec::new());
        assert!(failed.is_err_and(|e| e.to_string().contains("2 buffers to the host, no 2")));
    }
}
