//! Bus decoders, tested with signals that share no code with them, and against sigrok's decoders.

mod speed;
mod two_wires;

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::lines::capture;
use proptest::prelude::*;
use strobe_analyse::figures::figures;
use strobe_decode::bus::report::{FaultKind, WordKind};
use strobe_decode::bus::uart::{Parity, StopBits};
use strobe_decode::bus::{self, Decoded, Listing, baud, i2c, spi, uart};
use strobe_decode::capture::{self as captures, Capture, Level, write_sigrok};
use strobe_decode::pins;
use strobe_decode::pins::report::PinsReport;
use strobe_synth::captures::{LineFault, spi_bus, trace_pin};
use strobe_synth::{I2cWave, Line, ParityBit, SpiWave, UartWave};

fn values(decoded: &Decoded, lane: usize) -> Vec<u32> {
    decoded.lanes[lane].words.iter().map(|word| word.value).collect()
}

fn faults(decoded: &Decoded) -> Vec<(FaultKind, i64)> {
    decoded.faults.iter().map(|fault| (fault.kind, fault.start_ps)).collect()
}

/// The measurements of a bus and of the pins it is on hold together and have what was found.
fn measured(decoded: Decoded, protocol: &str, capture: &Capture) {
    let summary = pins::summary(capture, "file".to_owned(), "made up");
    let each = (0..capture.channels.len()).map(|at| pins::statistics(capture, at, None));
    let report = PinsReport {
        capture: summary.clone(),
        pins: each.collect(),
        intervals: Vec::new(),
        notes: Vec::new(),
    };
    let measurement = pins::measurement(&report);
    measurement.check().unwrap();
    let all = figures(&measurement);
    for pin in &report.pins {
        let high = all.get(&format!("pins/{} high/count", pin.pin)).map(|n| n.as_u64());
        assert_eq!(high, pin.high_ps.as_ref().map(|high| high.count));
        let time = |id: &str| all[&format!("edges/{}/{id}", pin.pin)].as_u64();
        assert_eq!(time("high") + time("low"), summary.duration_ps);
    }
    let report = decoded.report(protocol, capture, summary);
    let measurement = bus::measurement(&report, Listing::EachWord);
    measurement.check().unwrap();
    let words: usize = report.lanes.iter().map(|lane| lane.words.len()).sum();
    let rows = measurement.table("words").map_or(0, |table| table.len());
    assert_eq!((rows, figures(&measurement)["totals/words"].as_u64()), (words, words as u64));
    let faults = measurement.table("faults").map_or(0, |table| table.len());
    assert_eq!(faults, report.faults.len());
}

/// The output of sigrok-cli with one decoder: sample range and text of each annotation.
fn sigrok(path: &Path, decoder: &str, annotations: &str) -> Vec<(u64, u64, String)> {
    let output = Command::new("sigrok-cli")
        .arg("-i")
        .arg(path)
        .args(["-P", decoder, "-A", annotations, "--protocol-decoder-samplenum"])
        .output()
        .expect("sigrok-cli, which scripts/setup installs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let annotation = |line: &str| {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let (_, text) = rest.split_once(": ")?;
        Some((from.parse().ok()?, to.parse().ok()?, text.to_owned()))
    };
    text.lines().map(|line| annotation(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

fn sigrok_on(capture: &Capture, decoder: &str, annotations: &str) -> Vec<(u64, u64, String)> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("capture.sr");
    std::fs::write(&path, write_sigrok(capture).unwrap().0).unwrap();
    sigrok(&path, decoder, annotations)
}

fn hex(annotations: &[(u64, u64, String)]) -> Vec<u32> {
    let number = |text: &str| u32::from_str_radix(text, 16).unwrap_or_else(|_| panic!("{text}"));
    annotations.iter().map(|(_, _, text)| number(text)).collect()
}

/// A sigrok session as a file, and as strobe reads it.
fn session(bytes: &[u8]) -> (tempfile::TempDir, PathBuf, Capture) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.sr");
    std::fs::write(&path, bytes).unwrap();
    let (_, capture) = captures::read(&mut Cursor::new(bytes), &Default::default()).unwrap();
    (directory, path, capture)
}

/// In its own mode the bus decodes to the words that were sent; in any other mode, to those that
/// sigrok decodes.
#[test]
fn spi_decodes_as_sigrok_in_every_mode() {
    let lines = |cs| spi::Lines { clk: 0, mosi: Some(1), miso: Some(2), cs, dc: None };
    for mode in [(false, false), (true, true)] {
        let bus = spi_bus(7, mode, 60);
        let (_keep, path, capture) = session(&bus.session);
        for (second_edge, rests_high) in
            [(false, false), (false, true), (true, false), (true, true)]
        {
            let format = spi::Format { rests_high, second_edge, ..Default::default() };
            for cs in [Some(3), None] {
                let ours = spi::decode(&capture, lines(cs), format);
                let decoder = format!(
                    "spi:clk=CLK:mosi=MOSI:miso=MISO:cpol={}:cpha={}{}",
                    u8::from(rests_high),
                    u8::from(second_edge),
                    if cs.is_some() { ":cs=CS" } else { "" }
                );
                for (lane, name) in [(0, "spi=mosi-data"), (1, "spi=miso-data")] {
                    let theirs = hex(&sigrok(&path, &decoder, name));
                    assert!(theirs.len() > 40, "{} words", theirs.len());
                    assert_eq!(values(&ours, lane), theirs, "{mode:?}: {decoder} {name}");
                }
                if (rests_high, second_edge) == mode && cs.is_some() {
                    let (out, back): (Vec<u32>, Vec<u32>) = bus.words.iter().copied().unzip();
                    assert_eq!((values(&ours, 0), values(&ours, 1)), (out, back));
                    assert_eq!(
                        (ours.transfers.len() as u64, faults(&ours)),
                        (bus.transfers, vec![])
                    );
                }
            }
        }
        let (rests_high, second_edge) = mode;
        let lsb = spi::Format { lsb_first: true, rests_high, second_edge, ..Default::default() };
        let (cpol, cpha) = (u8::from(rests_high), u8::from(second_edge));
        let decoder =
            format!("spi:clk=CLK:mosi=MOSI:cpol={cpol}:cpha={cpha}:bitorder=lsb-first:cs=CS");
        let theirs = hex(&sigrok(&path, &decoder, "spi=mosi-data"));
        assert_eq!(values(&spi::decode(&capture, lines(Some(3)), lsb), 0), theirs);
    }
}

#[test]
fn three_samples_per_bit_decode_as_sigrok() {
    for fault in [None, Some(LineFault::StopBit), Some(LineFault::Break)] {
        let pin = trace_pin(11, 3000, fault);
        let (_keep, path, capture) = session(&pin.session);
        let swo = capture.channel("SWO").unwrap();
        let ours = uart::decode(&capture, swo, "rx", Default::default(), 3.0);
        let theirs = hex(&sigrok(&path, "uart:rx=SWO:baudrate=8000000", "uart=rx-data"));
        let mut sent: Vec<u32> = pin.bytes.iter().map(|byte| u32::from(*byte)).collect();
        assert!(sent.len() > 10_000, "{}", sent.len());
        assert!(theirs == sent, "sigrok reads other bytes than were sent");
        let kinds: Vec<FaultKind> = ours.faults.iter().map(|fault| fault.kind).collect();
        let wanted = match fault {
            None => None,
            Some(LineFault::StopBit) => Some(FaultKind::Framing),
            Some(LineFault::Break) => {
                // A break is no byte to us.
                sent.remove(pin.fault.unwrap());
                Some(FaultKind::Break)
            }
        };
        assert!(kinds.iter().eq(&wanted), "{fault:?}: {kinds:?}");
        assert!(values(&ours, 0) == sent, "other bytes than were sent");
        assert_eq!(baud::estimate(&capture, swo).unwrap().used, 8e6);
    }
}

/// 115200 baud at 24 MHz.
const BIT: f64 = 24e6 / 115_200.0;

#[test]
fn a_clean_uart_line_decodes_to_what_sigrok_decodes() {
    let mut wave = UartWave::new(BIT);
    wave.parity = ParityBit::Even;
    wave.rest(12.0);
    let text = b"Stroboscope\r\n\x00\xff\x55\xaa".map(u32::from);
    for (n, byte) in text.iter().enumerate() {
        wave.send(*byte);
        wave.rest(n as f64 * 0.37);
    }
    wave.rest(12.0);
    let capture = capture(24, &[("rx", &wave.line)], wave.now as u64);
    let format = uart::Format { parity: Parity::Even, ..Default::default() };
    let ours = uart::decode(&capture, 0, "rx", format, BIT);
    let theirs =
        hex(&sigrok_on(&capture, "uart:rx=rx:baudrate=115200:parity=even", "uart=rx-data"));
    assert_eq!(values(&ours, 0), text);
    assert_eq!(theirs, text);
    assert_eq!(faults(&ours), []);
}

#[test]
fn every_uart_fault_is_counted_and_located() {
    let mut wave = UartWave::new(BIT);
    wave.parity = ParityBit::Odd;
    wave.rest(20.0);
    wave.send(0x41);
    let parity = wave.send_with(0x42, true, false);
    let framing = wave.send_with(0x43, false, true);
    wave.rest(3.0);
    wave.send(0x44);
    wave.rest(5.0);
    let idle_glitch = wave.now.round() as u64;
    wave.put(false, 0.2);
    wave.rest(5.0);
    let stop = wave.now.round() as u64;
    wave.put(false, 14.0);
    wave.rest(5.0);
    // A spike in the first data bit, away from its middle.
    wave.put(false, 1.0);
    wave.put(true, 0.7);
    let spike = wave.now.round() as u64;
    wave.put(false, 0.1);
    wave.put(true, 0.2);
    for bit in [false, false, false, false, false, true, false, true] {
        wave.put(bit, 1.0);
    }
    wave.rest(6.0);
    let cut = wave.now.round() as u64;
    wave.put(false, 3.0);
    let capture = capture(24, &[("rx", &wave.line)], wave.now as u64);
    let format = uart::Format { parity: Parity::Odd, ..Default::default() };
    let ours = uart::decode(&capture, 0, "rx", format, BIT);
    assert_eq!(values(&ours, 0), [0x41, 0x42, 0x43, 0x44, 0x41]);
    let wanted = [
        (FaultKind::Parity, parity),
        (FaultKind::Framing, framing),
        (FaultKind::Glitch, idle_glitch),
        (FaultKind::Break, stop),
        (FaultKind::Glitch, spike),
        (FaultKind::CutShort, cut),
    ];
    assert_eq!(faults(&ours), wanted.map(|(kind, at)| (kind, capture.at_ps(at))));

    let decoder = "uart:rx=rx:baudrate=115200:parity=odd";
    // sigrok reports the break's zero byte, which is not one, and warns of its stop and parity
    // bits.
    let theirs = hex(&sigrok_on(&capture, decoder, "uart=rx-data"));
    assert_eq!(theirs, [0x41, 0x42, 0x43, 0x44, 0x00, 0x41]);
    let errors = sigrok_on(&capture, decoder, "uart=rx-parity-err");
    let near = |at: u64, from: u64| at >= from && (at - from) as f64 <= 12.0 * BIT;
    assert!(
        errors.len() == 2 && near(errors[0].0, parity) && near(errors[1].0, stop),
        "{errors:?}"
    );
    // Its frame errors: the low stop bit, the glitch that is no start bit, the break.
    let warnings = sigrok_on(&capture, decoder, "uart=rx-warnings");
    let places = [framing, idle_glitch, stop];
    assert_eq!(warnings.len(), places.len(), "{warnings:?}");
    for (warning, place) in warnings.iter().zip(places) {
        assert!(near(warning.0, place), "{warning:?} is not at {place}");
    }
    let breaks = sigrok_on(&capture, decoder, "uart=rx-break");
    assert!(breaks.len() == 1 && breaks[0].0.abs_diff(stop) <= 1, "{breaks:?}");
}

#[test]
fn three_wires_with_a_ninth_bit() {
    let mut wave = SpiWave::new((false, false), 3);
    wave.select(true);
    for (dc, byte) in [(0, 0x2a), (1, 0x00), (1, 0xef), (0, 0x2c)] {
        wave.word(dc << 8 | byte, 0, 9);
    }
    wave.word(5, 0, 4);
    wave.select(false);
    let [clk, data, _, cs] = &wave.lines;
    let capture = capture(1, &[("clk", clk), ("data", data), ("cs", cs)], wave.now + 10);
    let lines = spi::Lines { clk: 0, mosi: Some(1), miso: None, cs: Some(2), dc: None };
    let ours = spi::decode(&capture, lines, spi::Format { dc_bit: true, ..Default::default() });
    let words: Vec<_> = ours.lanes[0].words.iter().map(|w| (w.kind, w.value)).collect();
    let (c, d) = (WordKind::Command, WordKind::Data);
    assert_eq!(words, [(c, 0x2a), (d, 0x00), (d, 0xef), (c, 0x2c)]);
    assert_eq!(ours.faults.len(), 1);
    assert!(ours.faults[0].text.contains("4 bits"));
    assert_eq!((ours.transfers.len(), ours.transfers[0].words), (1, 4));
}

/// Words at a speed, sampled at so many megahertz.
fn sent_at(baud: f64, megahertz: u64, words: &[u8], rest: f64) -> Capture {
    let mut wave = UartWave::new(megahertz as f64 * 1e6 / baud);
    wave.rest(12.0);
    for (n, word) in words.iter().enumerate() {
        wave.send(u32::from(*word));
        wave.rest(rest * ((n * 7) % 5) as f64);
    }
    wave.rest(12.0);
    capture(megahertz, &[("rx", &wave.line)], wave.now as u64)
}

/// With a clock pulse too few or too many in a transfer its words may be others, and no number of
/// faulty ones is exact.
#[test]
fn words_of_transfers_with_surplus_bits_are_doubtful() {
    let read = |clocks: [u32; 3]| {
        let (mut clk, mut cs, mosi) = (Line::new(false), Line::new(true), Line::new(false));
        let mut now = 100;
        for n in clocks {
            cs.set(now, false);
            for _ in 0..n {
                clk.set(now + 10, true);
                clk.set(now + 20, false);
                now += 20;
            }
            cs.set(now + 20, true);
            now += 70;
        }
        let capture = capture(24, &[("clk", &clk), ("mosi", &mosi), ("cs", &cs)], now);
        let lines = spi::Lines { clk: 0, mosi: Some(1), miso: None, cs: Some(2), dc: None };
        let decoded = spi::decode(&capture, lines, spi::Format::default());
        let summary = pins::summary(&capture, "file".to_owned(), "made up");
        bus::measurement(&decoded.report("spi", &capture, summary), Listing::EachWord)
    };
    for (clocks, words) in [([32, 32, 16], 0), ([32, 31, 16], 3), ([33, 32, 7], 4)] {
        let out = read(clocks);
        let faulty = out.total("faulty").expect("there are words");
        let exact = *faulty.trust() == strobe_model::measurement::Trust::Exact;
        assert_eq!(exact, words == 0, "{clocks:?}");
        let moved = out.findings.iter().filter(|f| f.text.contains("end within a word"));
        assert_eq!(moved.map(|f| f.count).sum::<u64>(), words, "{clocks:?}");
    }
}

fn parities() -> impl Strategy<Value = (ParityBit, Parity)> {
    prop::sample::select(vec![
        (ParityBit::None, Parity::None),
        (ParityBit::Even, Parity::Even),
        (ParityBit::Odd, Parity::Odd),
        (ParityBit::Mark, Parity::Mark),
        (ParityBit::Space, Parity::Space),
    ])
}

proptest! {
    /// A speed that is called sure is the one that was sent with.
    #[test]
    fn a_sure_speed_is_right(
        words in prop::collection::vec(any::<u8>(), 4..80), rest in 0.0f64..4.0,
        baud in prop::sample::select(
            vec![9600.0, 31_250.0, 38_400.0, 57_600.0, 100_000.0, 115_200.0, 250_000.0],
        ),
        megahertz in prop::sample::select(vec![2u64, 8, 24])
    ) {
        let capture = sent_at(baud, megahertz, &words, rest);
        if let Some(found) = baud::estimate(&capture, 0).filter(|found| found.sure) {
            prop_assert_eq!(found.used, baud, "{:?}", found);
        }
    }

    #[test]
    fn uart_words_arrive_as_sent(
        words in prop::collection::vec((any::<u32>(), 0.0f64..20.0), 1..30), bits in 5u32..=9,
        (sent, parity) in parities(),
        (stop, stop_bits) in prop::sample::select(vec![
            (1.0, StopBits::One), (1.5, StopBits::OneAndAHalf), (2.0, StopBits::Two)
        ]),
        bit in 4.0f64..300.0, off in -0.02f64..0.02, inverted: bool
    ) {
        let mut wave =
            UartWave { data_bits: bits, parity: sent, stop_bits: stop, ..UartWave::new(bit) };
        wave.rest(3.0);
        for (word, rest) in &words {
            wave.send(word & ((1 << bits) - 1));
            wave.rest(*rest);
        }
        wave.rest(3.0);
        let line = if inverted { wave.line.inverted() } else { wave.line };
        let capture = capture(1, &[("rx", &line)], wave.now as u64);
        let data_bits = bits as u8;
        let format = uart::Format { data_bits, parity, stop_bits, msb_first: false, inverted };
        let ours = uart::decode(&capture, 0, "rx", format, bit * (1.0 + off));
        let wanted: Vec<u32> = words.iter().map(|(word, _)| word & ((1 << bits) - 1)).collect();
        prop_assert_eq!(values(&ours, 0), wanted);
        prop_assert_eq!(faults(&ours), []);
        measured(ours, "uart", &capture);
    }

    #[test]
    fn spi_words_arrive_as_sent(
        words in prop::collection::vec((any::<u32>(), any::<u32>()), 0..20), bits in 1u32..=32,
        rests_high: bool, second_edge: bool, lsb_first: bool, half in 1u64..5, cut in 0u32..32
    ) {
        let cut = cut % bits;
        let mask = |word: u32| word & (u32::MAX >> (32 - bits));
        let mut wave = SpiWave::new((rests_high, second_edge), half);
        wave.select(true);
        for (out, back) in &words {
            wave.word(*out, *back, bits);
        }
        wave.word(0, 0, cut);
        wave.select(false);
        let [clk, mosi, miso, cs] = &wave.lines;
        let lines = [("clk", clk), ("mosi", mosi), ("miso", miso), ("cs", cs)];
        let capture = capture(1, &lines, wave.now + 10);
        let lines = spi::Lines { clk: 0, mosi: Some(1), miso: Some(2), cs: Some(3), dc: None };
        let format = spi::Format {
            rests_high,
            second_edge,
            lsb_first,
            bits: bits as u8,
            ..Default::default()
        };
        let ours = spi::decode(&capture, lines, format);
        let wanted = |pick: fn(&(u32, u32)) -> u32| -> Vec<u32> {
            let sent = words.iter().map(|w| mask(pick(w)));
            sent.map(|w| if lsb_first { w.reverse_bits() >> (32 - bits) } else { w }).collect()
        };
        prop_assert_eq!(values(&ours, 0), wanted(|w| w.0));
        prop_assert_eq!(values(&ours, 1), wanted(|w| w.1));
        prop_assert_eq!(ours.faults.len(), usize::from(cut > 0));
        prop_assert_eq!(ours.notes.len(), 0);
        measured(ours, "spi", &capture);
    }

    #[test]
    fn i2c_bytes_arrive_as_sent(
        transfers in prop::collection::vec(
            (prop::collection::vec((any::<u8>(), any::<bool>(), 0u64..50), 1..8), any::<bool>()),
            0..6,
        ),
        quarter in 1u64..20
    ) {
        let mut wave = I2cWave::new(quarter);
        for (bytes, stop) in &transfers {
            wave.start();
            for (byte, ack, stretch) in bytes {
                wave.byte(*byte, *ack, *stretch);
            }
            if *stop {
                wave.stop();
            }
        }
        let capture = capture(1, &[("scl", &wave.scl), ("sda", &wave.sda)], wave.now);
        let ours = i2c::decode(&capture, 0, 1);
        let wanted: Vec<(u32, Option<bool>)> = transfers.iter().flat_map(|(bytes, _)| bytes)
            .map(|(byte, ack, _)| (u32::from(*byte), Some(*ack))).collect();
        let seen: Vec<_> = ours.lanes[0].words.iter().map(|w| (w.value, w.acknowledged)).collect();
        prop_assert_eq!(seen, wanted);
        prop_assert_eq!(ours.transfers.len(), transfers.len());
        prop_assert_eq!(faults(&ours), []);
    }

    #[test]
    fn any_signal_is_decoded_without_harm(
        edges in prop::collection::vec((0usize..4, 1u64..40, 0u8..3), 0..200),
        bit in 0.01f64..1000.0
    ) {
        let mut text = "$timescale 1us $end $var wire 1 ! a $end $var wire 1 \" b $end $var wire \
                        1 # c $end $var wire 1 $ d $end $enddefinitions $end\n".to_owned();
        let mut at = 0;
        for (line, step, level) in &edges {
            at += step - 1;
            let (id, level) = (["!", "\"", "#", "$"][*line], ["0", "1", "x"][usize::from(*level)]);
            text += &format!("#{at}\n{level}{id}\n");
        }
        let mut bytes = Cursor::new(text.as_bytes());
        let (_, capture) = captures::read(&mut bytes, &Default::default()).unwrap();
        let mut channels = capture.channels.iter();
        prop_assert!(channels.all(|c| c.initial != Level::High || !edges.is_empty()));
        let (parity, stop_bits) = (Parity::Even, StopBits::Two);
        let format = uart::Format { parity, stop_bits, ..Default::default() };
        let spi_lines = spi::Lines { clk: 0, mosi: Some(1), miso: None, cs: Some(2), dc: Some(3) };
        for decoded in [
            uart::decode(&capture, 0, "rx", format, bit),
            spi::decode(&capture, spi_lines, spi::Format::default()),
            i2c::decode(&capture, 0, 1),
        ] {
            for word in decoded.lanes.iter().flat_map(|lane| &lane.words) {
                prop_assert!(word.start_ps <= word.end_ps);
            }
            prop_assert!(decoded.faults.is_sorted_by_key(|fault| fault.start_ps));
            for transfer in &decoded.transfers {
                prop_assert!(transfer.start_ps <= transfer.end_ps);
            }
        }
        baud::estimate(&capture, 0);
    }
}
