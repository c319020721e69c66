//! Parses the register dumps that QEMU logs with `-d cpu`.
//!
//! Ten million dumps are three gigabytes of text, so the parser works on bytes at fixed columns and
//! allocates nothing per dump. It knows the format of the log, not its source.

use std::io::{self, Read};

use crate::state::{CpuState, FpState};

/// Why a log could not be read.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// Reading failed.
    #[error("cannot read the register dumps")]
    Io(#[from] io::Error),
    /// A dump does not have the format of QEMU 7.2.
    #[error("register dump at byte {offset} does not have the format of QEMU 7.2: {text:?}")]
    Malformed {
        /// Offset in the log.
        offset: u64,
        /// Its first line.
        text: String,
    },
    /// The log ends within a dump.
    #[error("the register dump at byte {offset} is truncated")]
    Truncated {
        /// Offset in the log.
        offset: u64,
    },
}

/// Four lines of four registers, each `R00=00000000` with a separator, then `XPSR=00000000`.
const LINE: usize = 4 * 13;
const DUMP: usize = 4 * LINE + 5 + 8;
const START: &[u8] = b"R00=";

/// With `-d fpu`, these follow: sixteen lines of two singles and the double of both, then FPSCR.
const FP_LINE: usize = 13 + 13 + 20 + 1;
const FP_DUMP: usize = 16 * FP_LINE + 7 + 8;
const FP_START: &[u8] = b"s00=";

/// QEMU logs a block when it enters it, and this line after it if an interrupt was taken first and
/// the block did not run.
const NOT_RUN: &[u8] = b"Stopped execution of TB chain";

/// Iterates over the dumps of a log. Each is the state before an instruction that was then
/// executed.
pub struct DumpReader<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    consumed: u64,
    /// The last dump, held until the next line shows that its instruction was executed.
    last: Option<CpuState>,
    withdrawn: u64,
}

/// The kind of a line in the log.
enum Line {
    Dump(CpuState),
    Fp(FpState),
    NotRun,
    Other,
}

impl<R: Read> DumpReader<R> {
    /// Reads a log.
    pub fn new(input: R) -> Self {
        let buffer = vec![0; 1 << 18];
        Self { input, buffer, start: 0, end: 0, consumed: 0, last: None, withdrawn: 0 }
    }

    /// Number of dumps dropped because their instruction was not executed at that point.
    pub fn withdrawn(&self) -> u64 {
        self.withdrawn
    }

    /// Moves the rest of the buffer to the front and reads more; false at the end of the input.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let read = self.input.read(&mut self.buffer[self.end..])?;
        self.end += read;
        Ok(read > 0)
    }

    fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        self.consumed += bytes as u64;
    }

    /// The next line, or the lines of a dump; `None` at the end of the log.
    fn next_line(&mut self) -> Result<Option<Line>, DumpError> {
        while self.end - self.start < FP_DUMP {
            if !self.fill()? {
                break;
            }
        }
        let window = &self.buffer[self.start..self.end];
        if window.is_empty() {
            return Ok(None);
        }
        let offset = self.consumed;
        if window.starts_with(START) {
            let dump = window.get(..DUMP).ok_or(DumpError::Truncated { offset })?;
            let state = parse(dump).ok_or_else(|| DumpError::Malformed {
                offset,
                text: String::from_utf8_lossy(&dump[..LINE]).into_owned(),
            })?;
            self.consume(DUMP);
            return Ok(Some(Line::Dump(state)));
        }
        if window.starts_with(FP_START) {
            let dump = window.get(..FP_DUMP).ok_or(DumpError::Truncated { offset })?;
            let state = parse_fp(dump).ok_or_else(|| DumpError::Malformed {
                offset,
                text: String::from_utf8_lossy(&dump[..FP_LINE]).into_owned(),
            })?;
            self.consume(FP_DUMP);
            return Ok(Some(Line::Fp(state)));
        }
        // Other lines, and the rest of a dump's last one.
        let not_run = window.starts_with(NOT_RUN);
        let line = window.iter().position(|&b| b == b'\n').map_or(window.len(), |at| at + 1);
        self.consume(line);
        Ok(Some(if not_run { Line::NotRun } else { Line::Other }))
    }
}

impl<R: Read> Iterator for DumpReader<R> {
    type Item = Result<CpuState, DumpError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.next_line() {
                Ok(Some(Line::Dump(state))) => {
                    if let Some(executed) = self.last.replace(state) {
                        return Some(Ok(executed));
                    }
                }
                Ok(Some(Line::Fp(fp))) => {
                    if let Some(last) = &mut self.last {
                        last.fp = Some(fp);
                    }
                }
                Ok(Some(Line::NotRun)) => self.withdrawn += u64::from(self.last.take().is_some()),
                Ok(Some(Line::Other)) => {}
                Ok(None) => return self.last.take().map(Ok),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

fn parse(dump: &[u8]) -> Option<CpuState> {
    let mut state = CpuState::default();
    for (n, value) in state.r.iter_mut().enumerate() {
        let at = n * 13;
        if dump[at] != b'R' || dump[at + 3] != b'=' {
            return None;
        }
        *value = hex(&dump[at + 4..at + 12])?;
    }
    let status = &dump[4 * LINE..];
    if !status.starts_with(b"XPSR=") {
        return None;
    }
    state.xpsr = hex(&status[5..])?;
    Some(state)
}

fn parse_fp(dump: &[u8]) -> Option<FpState> {
    let mut state = FpState::default();
    for (n, value) in state.s.iter_mut().enumerate() {
        let at = n / 2 * FP_LINE + n % 2 * 13;
        if dump[at] != b's' || dump[at + 3] != b'=' {
            return None;
        }
        *value = hex(&dump[at + 4..at + 12])?;
    }
    let status = &dump[16 * FP_LINE..];
    if !status.starts_with(b"FPSCR: ") {
        return None;
    }
    state.fpscr = hex(&status[7..])?;
    Some(state)
}

fn hex(digits: &[u8]) -> Option<u32> {
    let mut value = 0;
    let mut bad = 0;
    for &digit in digits {
        let nibble = NIBBLE[usize::from(digit)];
        bad |= nibble;
        value = value << 4 | u32::from(nibble & 15);
    }
    (bad < 16).then_some(value)
}

/// The value of a hexadecimal digit, 255 for other characters.
const NIBBLE: [u8; 256] = {
    let mut table = [255; 256];
    let mut n = 0;
    while n < 16 {
        table[b"0123456789abcdef"[n] as usize] = n as u8;
        n += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "\
R00=00000023 R01=00000007 R02=00000000 R03=00000000
R04=e000ed04 R05=10000000 R06=00000000 R07=00000009
R08=00000000 R09=00000000 R10=00000000 R11=00000000
R12=00000000 R13=20004000 R14=ffffffff R15=0000004e
XPSR=61000000 -ZC- T priv-thread
";

    /// The additional lines of `-d fpu`, for registers that hold their own numbers.
    fn fp() -> String {
        let pair = |d: u32| {
            let (low, high) = (2 * d, 2 * d + 1);
            format!("s{low:02}={low:08x} s{high:02}={high:08x} d{d:02}={high:08x}{low:08x}\n")
        };
        (0..16).map(pair).collect::<String>() + "FPSCR: 03c0009f\n"
    }

    fn states(text: &str) -> Vec<CpuState> {
        DumpReader::new(text.as_bytes()).map(|s| s.expect("a sound log")).collect()
    }

    /// Returns one byte at a time.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            out[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    #[test]
    fn registers_are_read() {
        let [state] = states(ONE)[..] else { panic!("one dump") };
        assert_eq!((state.r[0], state.r[4], state.pc()), (0x23, 0xe000_ed04, 0x4e));
        assert_eq!(state.xpsr, 0x6100_0000);
    }

    #[test]
    fn floating_point_registers_belong_to_the_dump_before_them() {
        let fp = fp();
        let log = format!("{ONE}{fp}Trace 0: 0x1\n{ONE}");
        let [with, without] = states(&log)[..] else { panic!("two dumps") };
        let expected = FpState { s: std::array::from_fn(|n| n as u32), fpscr: 0x03c0_009f };
        assert_eq!((with.fp, without.fp), (Some(expected), None));
        let damaged = format!("{ONE}{}", fp.replace("s07=0000", "s07=xxxx"));
        let error = DumpReader::new(damaged.as_bytes()).next().expect("an item");
        assert!(matches!(error, Err(DumpError::Malformed { .. })), "{error:?}");
        for length in FP_START.len()..FP_DUMP {
            let cut = format!("{ONE}{}", &fp[..length]);
            let error = DumpReader::new(cut.as_bytes()).next().expect("an item");
            assert!(matches!(error, Err(DumpError::Truncated { .. })), "{length}: {error:?}");
        }
    }

    #[test]
    fn other_lines_are_skipped_and_withdrawn_states_dropped() {
        let [second, third] =
            ["50", "52"].map(|pc| ONE.replace("0000004e", &format!("000000{pc}")));
        let stopped = "Stopped execution of TB chain before 0x7fb93c057700 [00000050] \n";
        let irq = "Taking exception 5 [IRQ] on CPU 0\n";
        let text = format!("Loaded reset SP\n{ONE}{second}{stopped}{irq}{third}{irq}{second}end");
        let mut reader = DumpReader::new(text.as_bytes());
        let pcs: Vec<u32> = reader.by_ref().map(|s| s.expect("a sound log").pc()).collect();
        assert_eq!(pcs, [0x4e, 0x52, 0x50]);
        assert_eq!(reader.withdrawn(), 1);
        let trickled: Vec<_> =
            DumpReader::new(Trickle(text.as_bytes())).map(Result::unwrap).collect();
        assert_eq!(trickled, states(&text));
        assert!(states(&format!("{ONE}{stopped}")).is_empty());
    }

    #[test]
    fn a_damaged_dump_is_an_error_with_its_place() {
        let text = format!("note\n{}", ONE.replace("e000ed04", "e000zd04"));
        let error = DumpReader::new(text.as_bytes()).next().expect("an item").expect_err("damaged");
        assert!(matches!(error, DumpError::Malformed { offset: 5, .. }), "{error}");
    }

    #[test]
    fn every_truncation_inside_a_dump_is_noticed() {
        for length in START.len()..DUMP {
            let mut reader = DumpReader::new(&ONE.as_bytes()[..length]);
            let error = reader.next().expect("an item").expect_err("cut off");
            assert!(matches!(error, DumpError::Truncated { offset: 0 }), "{length}: {error}");
        }
    }
}
