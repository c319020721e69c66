//! Captures of a trace pin and of an SPI bus as a logic analyser records them, with the transferred
//! data.
//!
//! The trace pin runs at the highest rate that the analyser can follow: 8 Mbaud at 24 MHz. It sends
//! frames of a trace port with the packets of ITM and DWT in one stream and other data in another.

use crate::sigrok::session;
use crate::swo::{Stream, frames};
use crate::{Line, Rng, SpiWave, UartWave};

/// A fault on the line, in the middle of the capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFault {
    /// The stop bit of a byte is low.
    StopBit,
    /// The same for a zero byte, so that the line is low for a whole word.
    Break,
}

/// A capture of a trace pin.
#[derive(Debug, Clone)]
pub struct TracePin {
    /// The capture, in which the pin is called `SWO`.
    pub session: Vec<u8>,
    /// The bytes sent.
    pub bytes: Vec<u8>,
    /// Index of the byte with the wrong stop bit.
    pub fault: Option<usize>,
    /// Bytes in no frame because of the fault: up to the next synchronisation.
    pub undecodable: u64,
    /// Program counters, in order.
    pub pcs: Vec<u32>,
    /// Overflows.
    pub overflows: u64,
    /// Exceptions entered, exited and returned from.
    pub exceptions: u64,
    /// Addresses of instructions that a comparator matched.
    pub data_pcs: u64,
    /// Values that a comparator matched.
    pub data_values: u64,
    /// Data that software wrote to port 0.
    pub text: String,
    /// Bytes of the other stream.
    pub other_bytes: u64,
}

/// The stream of ITM and DWT in the frames, and the other one.
pub const ITM_STREAM: u8 = 1;
const OTHER_STREAM: u8 = 2;

/// Packets in a burst. A burst begins with a synchronisation of the frames and is sent without a
/// pause; no packet spans two bursts.
const BURST: u32 = 70;

/// A capture of so many packets, with or without a fault on the line.
pub fn trace_pin(seed: u64, packets: u32, fault: Option<LineFault>) -> TracePin {
    let mut rng = Rng::new(seed);
    let mut pin = TracePin {
        session: Vec::new(),
        bytes: Vec::new(),
        fault: None,
        undecodable: 0,
        pcs: Vec::new(),
        overflows: 0,
        exceptions: 0,
        data_pcs: 0,
        data_values: 0,
        text: String::new(),
        other_bytes: 0,
    };
    let mut wave = UartWave::new(3.0);
    wave.rest(40.0);
    for n in 0..packets / BURST {
        let burst = pin.burst(&mut rng, n % 5 == 0);
        let wrong = fault.filter(|_| n == packets / BURST / 2).map(|fault| {
            // After the synchronisation and well before the end.
            let fits = |at: &usize| (burst[*at] == 0) == (fault == LineFault::Break);
            (20..burst.len()).find(fits).expect("a burst has bytes of both kinds")
        });
        if let Some(wrong) = wrong {
            pin.fault = Some(pin.bytes.len() + wrong);
            let frame = wrong - (wrong - 4) % 16;
            // The byte itself is lost.
            pin.undecodable = (burst.len() - frame - 1) as u64;
        }
        for (at, byte) in burst.iter().enumerate() {
            wave.send_with(u32::from(*byte), false, wrong == Some(at));
        }
        wave.rest(f64::from(rng.below(6000)) / 3.0);
        pin.bytes.extend(burst);
    }
    wave.rest(40.0);
    let led = Line { initial: false, edges: vec![(1000, true), (60_000, false)] };
    let lines = [("PC9", &led), ("SWO", &wave.line), ("PC8", &led)];
    pin.session = session(&lines, 24, wave.now as u64, 240_128);
    pin
}

impl TracePin {
    /// The frames of a burst.
    fn burst(&mut self, rng: &mut Rng, sync: bool) -> Vec<u8> {
        let mut parts: Vec<(u8, Vec<u8>)> = Vec::new();
        let mut stream = Stream::new();
        if sync {
            stream.sync();
        }
        for _ in 0..BURST {
            self.packet(rng, &mut stream);
            if rng.one_in(6) {
                parts.push((ITM_STREAM, std::mem::take(&mut stream.bytes)));
                let other: Vec<u8> = (0..1 + rng.below(9)).map(|_| rng.below(256) as u8).collect();
                self.other_bytes += other.len() as u64;
                parts.push((OTHER_STREAM, other));
            }
        }
        parts.push((ITM_STREAM, stream.bytes));
        frames(&parts, usize::MAX)
    }

    fn packet(&mut self, rng: &mut Rng, stream: &mut Stream) {
        match rng.below(100) {
            0..=44 => {
                let pc = 0x0800_0000 | rng.below(0x4_0000) & !1;
                self.pcs.push(pc);
                stream.pc_sample(pc);
            }
            45..=54 => {
                let byte = b'a' + rng.below(26) as u8;
                self.text.push(char::from(byte));
                stream.instrumentation(0, &[byte]);
            }
            55..=64 => {
                // IRQ 28: handler entry, exit, return to the thread.
                for (number, action) in [(44, 1), (44, 2), (0, 3)] {
                    stream.exception(number, action);
                }
                self.exceptions += 3;
            }
            65..=69 => {
                stream.data_pc(1, 0x0800_1000 | rng.below(0x1000) & !1);
                self.data_pcs += 1;
            }
            70..=74 => {
                stream.data_value(1, true, &rng.next_u32().to_le_bytes());
                self.data_values += 1;
            }
            75 | 76 => {
                stream.overflow();
                self.overflows += 1;
            }
            _ => {
                stream.local_timestamp(1 + rng.below(4000), 0);
            }
        }
    }
}

/// A capture of an SPI bus.
#[derive(Debug, Clone)]
pub struct SpiBus {
    /// The capture; its lines are called `CLK`, `MOSI`, `MISO` and `CS`.
    pub session: Vec<u8>,
    /// The words from the master and from the device.
    pub words: Vec<(u32, u32)>,
    /// Transfers.
    pub transfers: u64,
}

/// A sensor whose registers are read, one transfer for each register, on a bus of this mode (CPOL
/// and CPHA) at 333 kHz with six samples to a clock period and rests between bytes.
pub fn spi_bus(seed: u64, mode: (bool, bool), transfers: u64) -> SpiBus {
    let mut rng = Rng::new(seed);
    let mut wave = SpiWave::new(mode, 3);
    let mut words = Vec::new();
    for _ in 0..transfers {
        wave.now += u64::from(rng.below(400));
        wave.select(true);
        let read = 0x80 | rng.below(0x40);
        for n in 0..1 + rng.below(4) {
            let word = if n == 0 { (read, 0xff) } else { (0, rng.below(256)) };
            wave.word(word.0, word.1, 8);
            words.push(word);
            wave.now += u64::from(rng.below(20));
        }
        wave.select(false);
    }
    wave.now += 100;
    let [clk, mosi, miso, cs] = &wave.lines;
    let lines = [("CLK", clk), ("MOSI", mosi), ("MISO", miso), ("CS", cs)];
    let session = session(&lines, 2, wave.now, 100_000);
    SpiBus { session, words, transfers }
}
