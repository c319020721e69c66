//! Semihosting: the firmware's calls to its debugger (Arm's semihosting specification, 2.0).
//!
//! A call takes no simulated time beyond its BKPT; on a board the core would stand still meanwhile.

use crate::kernel::bus::Bus;
use crate::kernel::device::Size;

/// Where the firmware's standard streams go and come from.
pub trait Console: Send {
    /// Bytes for standard output (`error` false) or standard error.
    fn write(&mut self, error: bool, bytes: &[u8]);
    /// Fills `buffer` from standard input; returns the bytes read, 0 at the end.
    fn read(&mut self, buffer: &mut [u8]) -> usize;
}

/// Throws output away; input is empty.
impl Console for () {
    fn write(&mut self, _: bool, _: &[u8]) {}
    fn read(&mut self, _: &mut [u8]) -> usize {
        0
    }
}

/// Keeps output in memory, in the order written, whichever stream it was for.
impl Console for std::sync::Arc<std::sync::Mutex<Vec<u8>>> {
    fn write(&mut self, _: bool, bytes: &[u8]) {
        if let Ok(mut all) = self.lock() {
            all.extend_from_slice(bytes);
        }
    }
    fn read(&mut self, _: &mut [u8]) -> usize {
        0
    }
}

/// What a semihosting call asks of the simulation.
pub(crate) enum Outcome {
    /// R0 gets this value and the firmware goes on.
    Return(u32),
    /// The firmware ends with this code.
    Exit(i32),
}

/// State of the semihosting interface.
pub struct Semihost {
    /// The standard streams.
    pub console: Box<dyn Console>,
    open: Vec<Option<Stream>>,
    errno: u32,
    /// Calls of operations that are not supported, by number, reported once each.
    unsupported: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Input,
    Output,
    Error,
    /// [`FEATURES`], from this byte on.
    Features(u32),
}

/// The file ":semihosting-features" (2.4): `SHFB`, then a bit for each extension:
/// SYS_EXIT_EXTENDED, and standard error apart from standard output. C libraries that cannot read
/// it end without an exit code.
const FEATURES: [u8; 5] = *b"SHFB\x03";

impl Default for Semihost {
    fn default() -> Self {
        Semihost { console: Box::new(()), open: Vec::new(), errno: 0, unsupported: Vec::new() }
    }
}

const FAILED: u32 = u32::MAX;
/// ADP_Stopped_ApplicationExit, the reason code of a normal end.
const APPLICATION_EXIT: u32 = 0x2_0026;
/// The most one call transfers; a wild length must not take the host's memory.
const MAX_TRANSFER: u32 = 1 << 20;
const MAX_OPEN: usize = 64;

impl Semihost {
    /// Handles the call `op` with its parameter; `ns` is simulated time, `cycles` the cycle count.
    pub(crate) fn call(
        &mut self,
        op: u32,
        parameter: u32,
        bus: &mut Bus,
        ns: u64,
        cycles: u64,
    ) -> Outcome {
        let arg = |i: u32| bus.peek(parameter.wrapping_add(4 * i), Size::Word).unwrap_or(0);
        Outcome::Return(match op {
            0x01 => self.open(bus, arg(0), arg(1), arg(2)),
            0x02 => self.close(arg(0)),
            0x03 => self.write_char(bus, parameter),
            0x04 => self.write_string(bus, parameter),
            0x05 => self.write(bus, arg(0), arg(1), arg(2)),
            0x06 => self.read(bus, arg(0), arg(1), arg(2)),
            0x07 => self.read_char(),
            // SYS_ISERROR
            0x08 => u32::from((arg(0) as i32) < 0),
            0x09 => self.is_terminal(arg(0)),
            0x0a => self.seek(arg(0), arg(1)),
            0x0c => self.length(arg(0)),
            // SYS_CLOCK: centiseconds of simulated time.
            0x10 => (ns / 10_000_000) as u32,
            // SYS_TIME: a fixed epoch keeps runs the same everywhere.
            0x11 => (ns / 1_000_000_000) as u32,
            0x13 => self.errno,
            0x15 => command_line(bus, arg(0), arg(1)),
            0x16 => heap_info(bus, arg(0)),
            0x18 => return Outcome::Exit(i32::from(parameter != APPLICATION_EXIT)),
            0x20 => {
                let code = if arg(0) == APPLICATION_EXIT { arg(1) as i32 } else { 1 };
                return Outcome::Exit(code);
            }
            0x30 => elapsed(bus, parameter, cycles),
            0x31 => bus.clocks.core_hz(),
            other => {
                if !self.unsupported.contains(&other) && self.unsupported.len() < 64 {
                    self.unsupported.push(other);
                    bus.warnings.add(
                        "semihosting",
                        format!("semihosting operation {other:#04x} is not supported; it failed"),
                    );
                }
                FAILED
            }
        })
    }

    fn stream(&self, handle: u32) -> Option<Stream> {
        self.open.get(handle.checked_sub(1)? as usize).copied().flatten()
    }

    /// SYS_OPEN: only ":tt", the terminal, in the direction of the mode (0-3 r, 4-7 w, 8-11 a), and
    /// what this debugger can do.
    fn open(&mut self, bus: &mut Bus, name: u32, mode: u32, length: u32) -> u32 {
        let name = bytes(bus, name, length.min(256));
        let stream = match (name.as_slice(), mode) {
            (b":semihosting-features", 0 | 1) => Some(Stream::Features(0)),
            (b":tt", 0..=3) => Some(Stream::Input),
            (b":tt", 4..=7) => Some(Stream::Output),
            (b":tt", _) => Some(Stream::Error),
            _ => None,
        };
        let Some(stream) = stream.filter(|_| self.open.len() < MAX_OPEN) else {
            bus.warnings.add(
                "semihosting",
                format!(
                    "semihosting open of {:?} refused: only the standard streams (\":tt\") exist",
                    String::from_utf8_lossy(&name)
                ),
            );
            self.errno = 2;
            return FAILED;
        };
        self.open.push(Some(stream));
        self.open.len() as u32
    }

    fn close(&mut self, handle: u32) -> u32 {
        let slot = handle.checked_sub(1).and_then(|i| self.open.get_mut(i as usize));
        match slot {
            Some(slot) if slot.is_some() => {
                *slot = None;
                0
            }
            _ => FAILED,
        }
    }

    /// SYS_ISTTY.
    fn is_terminal(&self, handle: u32) -> u32 {
        let stream = self.stream(handle);
        u32::from(stream.is_some_and(|stream| !matches!(stream, Stream::Features(_))))
    }

    /// SYS_SEEK, which makes no sense on a terminal.
    fn seek(&mut self, handle: u32, to: u32) -> u32 {
        let slot = handle.checked_sub(1).and_then(|i| self.open.get_mut(i as usize));
        match slot {
            Some(Some(Stream::Features(at))) if to as usize <= FEATURES.len() => {
                *at = to;
                0
            }
            _ => FAILED,
        }
    }

    /// SYS_FLEN, which makes no sense on a terminal.
    fn length(&self, handle: u32) -> u32 {
        match self.stream(handle) {
            Some(Stream::Features(_)) => FEATURES.len() as u32,
            _ => FAILED,
        }
    }

    fn write_char(&mut self, bus: &Bus, at: u32) -> u32 {
        self.console.write(false, &bytes(bus, at, 1));
        0
    }

    fn write_string(&mut self, bus: &Bus, at: u32) -> u32 {
        let text: Vec<u8> = (0..MAX_TRANSFER)
            .map_while(|i| bus.peek(at.wrapping_add(i), Size::Byte))
            .map_while(|b| (b != 0).then_some(b as u8))
            .collect();
        self.console.write(false, &text);
        0
    }

    /// SYS_WRITE returns the bytes not written.
    fn write(&mut self, bus: &Bus, handle: u32, at: u32, length: u32) -> u32 {
        let error = match self.stream(handle) {
            Some(Stream::Output) => false,
            Some(Stream::Error) => true,
            _ => return length,
        };
        let data = bytes(bus, at, length.min(MAX_TRANSFER));
        self.console.write(error, &data);
        length - data.len() as u32
    }

    /// SYS_READ returns the bytes not read; all of them at the end of input.
    fn read(&mut self, bus: &mut Bus, handle: u32, at: u32, length: u32) -> u32 {
        let mut buffer = vec![0; length.min(MAX_TRANSFER) as usize];
        let n = match self.stream(handle) {
            Some(Stream::Input) => self.console.read(&mut buffer).min(buffer.len()),
            Some(Stream::Features(at)) => {
                let rest = FEATURES.get(at as usize..).unwrap_or_default();
                let n = rest.len().min(buffer.len());
                buffer[..n].copy_from_slice(&rest[..n]);
                self.seek(handle, at + n as u32);
                n
            }
            _ => return length,
        };
        for (i, &byte) in (0u32..).zip(&buffer[..n]) {
            if bus.write(at.wrapping_add(i), Size::Byte, u32::from(byte)).is_err() {
                return length - i;
            }
        }
        length - n as u32
    }

    fn read_char(&mut self) -> u32 {
        let mut byte = [0];
        if self.console.read(&mut byte) == 1 { u32::from(byte[0]) } else { FAILED }
    }
}

fn bytes(bus: &Bus, at: u32, length: u32) -> Vec<u8> {
    let byte = |i: u32| bus.peek(at.wrapping_add(i), Size::Byte).map(|b| b as u8);
    (0..length).map_while(byte).collect()
}

/// SYS_GET_CMDLINE: empty.
fn command_line(bus: &mut Bus, buffer: u32, length: u32) -> u32 {
    if length == 0 || bus.write(buffer, Size::Byte, 0).is_err() { FAILED } else { 0 }
}

/// SYS_HEAPINFO: zeros, which make the C library use its own layout.
fn heap_info(bus: &mut Bus, block: u32) -> u32 {
    for i in 0..4 {
        let _ = bus.write(block.wrapping_add(4 * i), Size::Word, 0);
    }
    0
}

/// SYS_ELAPSED: ticks are core cycles, 64 bits.
fn elapsed(bus: &mut Bus, at: u32, cycles: u64) -> u32 {
    let low = bus.write(at, Size::Word, cycles as u32);
    let high = bus.write(at.wrapping_add(4), Size::Word, (cycles >> 32) as u32);
    if low.and(high).is_ok() { 0 } else { FAILED }
}
