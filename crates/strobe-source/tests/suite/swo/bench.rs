//! Runs a bundled firmware with its trace blocks programmed from outside, and takes apart what left
//! the pin.

use std::sync::atomic::AtomicBool;

use strobe_decode::swo::itm::{Decoder, Sink};
use strobe_decode::swo::packet::{Packet, Raw};
use strobe_decode::swo::tpiu;
use strobe_devices::board::Board;
use strobe_model::Cause;
use strobe_sim::semihost::Console;
use strobe_source::simulated::run_record::RunRecord;
use strobe_source::simulated::trace::{Pin, Programme};
use strobe_source::simulated::{self, Host, Settings};
use strobe_symbols::Firmware;

/// A byte of the pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Byte {
    pub(crate) at_ps: u64,
    pub(crate) bit_ps: u64,
    pub(crate) value: u8,
}

#[derive(Default)]
struct Bench(Vec<Byte>);

impl Pin for Bench {
    fn byte(&mut self, at_ps: u64, bit_ps: u64, value: u8) {
        self.0.push(Byte { at_ps, bit_ps, value });
    }
}

impl Host for Bench {
    fn console(&mut self) -> Box<dyn Console> {
        Box::new(())
    }
    fn trace_pin(&mut self) -> Option<&mut dyn Pin> {
        Some(self)
    }
}

/// A run with what was seen of it, exactly and at the pin.
pub(crate) struct Traced {
    pub(crate) record: RunRecord,
    /// What each register read as once it was written.
    pub(crate) programmed: Vec<u32>,
    pub(crate) bytes: Vec<Byte>,
    pub(crate) packets: Vec<Packet>,
}

/// What is traced, besides what the firmware writes to its ports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// TPIU_ACPR: cycles of a bit, less one.
    pub(crate) acpr: u32,
    /// ITM_TCR besides ITMENA, SYNCENA, TXENA and stream 1.
    pub(crate) tcr: u32,
    /// DWT_CYCCNT at the beginning.
    pub(crate) count: u32,
    /// DWT_CTRL besides CYCCNTENA.
    pub(crate) ctrl: u32,
}

/// TPIU_FFCR with EnFCont: the formatter's frames.
pub(crate) const FRAMES: (u32, u32) = (0xe004_0304, 0x102);
/// DWT_CTRL.PCSAMPLENA.
pub(crate) const SAMPLES: u32 = 1 << 12;
/// DWT_CTRL.EXCTRCENA.
pub(crate) const EXCEPTIONS: u32 = 1 << 16;

/// CYCTAP, POSTPRESET and POSTINIT of samples.
pub(crate) const fn every(tap: u32, preset: u32, init: u32) -> u32 {
    SAMPLES | tap << 9 | preset << 1 | init << 5
}

impl Plan {
    /// The writes: DEMCR, DBGMCU_CR, TPIU (SPPR, ACPR, FFCR), ITM (LAR, TER, TCR), and DWT last.
    pub(crate) fn programme(&self) -> Programme {
        Programme::from_iter([
            (0xe000_edfc, 0x0100_0000),
            (0xe004_2004, 0x20),
            (0xe004_00f0, 2),
            (0xe004_0010, self.acpr),
            (0xe004_0304, 0x100),
            (0xe000_0fb0, 0xc5ac_ce55),
            (0xe000_0e00, 3),
            (0xe000_0e80, 0x1_000d | self.tcr),
            (0xe000_1004, self.count),
            (0xe000_1000, 1 | self.ctrl),
        ])
    }
}

/// Runs a firmware of the STM32F407 to its end, with these writes before.
pub(crate) fn run(firmware: &str, trace: Programme) -> Traced {
    let path = format!("{}/../../firmware/prebuilt/{firmware}.elf", env!("CARGO_MANIFEST_DIR"));
    let firmware = Firmware::parse(std::fs::read(path).expect("a bundled program")).expect("ELF");
    let board = Board::builtin("stm32f407").expect("a bundled board");
    let settings = Settings { trace, ..Settings::default() };
    let mut bench = Bench::default();
    let never = AtomicBool::new(false);
    let outcome = simulated::run(&firmware, &board, &settings, &mut bench, &never).expect("runs");
    assert_eq!(outcome.programmed.len(), settings.trace.writes.len());
    let bytes = bench.0;
    // FFCR: frames, or packets alone.
    let framed = settings.trace.writes.iter().any(|w| (w.address, w.value) == FRAMES);
    let packets = if framed { decode(&unframed(&bytes)) } else { decode(&bytes) };
    let programmed = outcome.programmed.iter().map(|write| write.value).collect();
    Traced { record: outcome.record, programmed, bytes, packets }
}

/// The bytes of stream 1 in the formatter's frames.
pub(crate) fn unframed(bytes: &[Byte]) -> Vec<Byte> {
    let mut streams = Streams::default();
    let mut frames = tpiu::Decoder::new();
    // Whoever listens from the beginning needs no heartbeat.
    frames.push(&[0xff, 0xff, 0xff, 0x7f], &mut streams);
    let values: Vec<u8> = bytes.iter().map(|byte| byte.value).collect();
    frames.push(&values[..values.len() / 16 * 16], &mut streams);
    streams.0.into_iter().map(|value| Byte { at_ps: 0, bit_ps: 0, value }).collect()
}

#[derive(Default)]
struct Streams(Vec<u8>);

impl tpiu::Sink for Streams {
    fn bytes(&mut self, stream: u8, _at: u64, bytes: &[u8]) {
        assert!(stream < 2, "stream {stream}");
        if stream == 1 {
            self.0.extend(bytes);
        }
    }
    fn undecodable(&mut self, at: u64, bytes: u64) {
        panic!("{bytes} bytes at {at} are no frame");
    }
}

#[derive(Default)]
struct Packets(Vec<Packet>);

impl Sink for Packets {
    fn packet(&mut self, raw: Raw) {
        self.0.push(raw.packet().expect("a packet of the manual"));
    }
    fn undecodable(&mut self, at: u64, bytes: u64) {
        panic!("{bytes} bytes at {at} are no packet");
    }
}

pub(crate) fn decode(bytes: &[Byte]) -> Vec<Packet> {
    let (mut decoder, mut packets) = (Decoder::new(), Packets::default());
    let values: Vec<u8> = bytes.iter().map(|byte| byte.value).collect();
    decoder.push(&values, &mut packets);
    decoder.finish(&mut packets);
    packets.0
}

impl Traced {
    /// So many packets are such.
    pub(crate) fn count(&self, is: impl Fn(&Packet) -> bool) -> u64 {
        self.packets.iter().filter(|packet| is(packet)).count() as u64
    }

    /// Samples, asleep or not.
    pub(crate) fn samples(&self) -> u64 {
        self.count(|packet| matches!(packet, Packet::PcSample(_) | Packet::Sleep))
    }

    pub(crate) fn overflows(&self) -> u64 {
        self.count(|packet| *packet == Packet::Overflow)
    }

    pub(crate) fn cycles(&self) -> u64 {
        self.record.totals.cycles
    }

    /// What was written to a stimulus port.
    pub(crate) fn port(&self, wanted: u8) -> Vec<u32> {
        let value = |packet: &Packet| match *packet {
            Packet::Instrumentation { port, value, .. } if port == wanted => Some(value),
            _ => None,
        };
        self.packets.iter().filter_map(value).collect()
    }

    /// Cycles of each function without sleep, then those asleep, and how many samples each has. A
    /// sample of an address that was never executed fails the test.
    pub(crate) fn shares(&self) -> Vec<(String, u64, u64)> {
        let profile = &self.record.profile;
        let mut all: Vec<(String, u64, u64)> =
            profile.functions.iter().map(|function| (function.name.clone(), 0, 0)).collect();
        let mut asleep = ("asleep".to_owned(), 0, 0);
        for address in &profile.addresses {
            let function = address.function.expect("every instruction is some function's");
            all[function as usize].1 += address.cycles.total() - address.cycles[Cause::Asleep];
            asleep.1 += address.cycles[Cause::Asleep];
        }
        for packet in &self.packets {
            match *packet {
                Packet::Sleep => asleep.2 += 1,
                Packet::PcSample(pc) => {
                    let found = profile.addresses.binary_search_by_key(&pc, |a| a.address);
                    let at = found.unwrap_or_else(|_| panic!("{pc:#x} was not executed"));
                    all[profile.addresses[at].function.expect("some function's") as usize].2 += 1;
                }
                _ => {}
            }
        }
        all.push(asleep);
        all
    }
}

/// The interval that holds the true share in 95 % of cases, if samples are independent (Wilson's).
pub(crate) fn wilson(hits: u64, samples: u64) -> (f64, f64) {
    const Z: f64 = 1.959_964;
    let (n, p) = (samples as f64, hits as f64 / samples as f64);
    let middle = p + Z * Z / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    ((middle - half) / scale, (middle + half) / scale)
}
