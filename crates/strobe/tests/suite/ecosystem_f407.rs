//! Programs on Embassy and stm32f4xx-hal run on the STM32F407's boards as they do on the circuit
//! boards.
//!
//! `cargo xtask subjects` builds them; without that these tests fail with that message. What each
//! of them does is in firmware/ecosystem/README.md.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::common::figures::*;
use crate::common::{assert_each, root};
use strobe_devices::board::Board;
use strobe_model::measurement::Measurement;
use strobe_sim::device::ethernet::Backend;
use strobe_sim::semihost::Console;
use strobe_source::simulated::{self, Host, Limit, Quiet, Settings};
use strobe_symbols::Firmware;

fn built(name: &str) -> PathBuf {
    let path = root().join("target/subjects").join(name).with_extension("elf");
    assert!(path.exists(), "{} is missing: run `cargo xtask subjects`", path.display());
    path
}

/// Runs a program to a limit.
fn on(board: &str, name: &str, until: &str, more: &[&str]) -> Measurement {
    let elf = built(name).display().to_string();
    let (code, ran) = run(&[&[&elf, "--board", board, "--until", until], more].concat());
    assert_eq!(code, 0, "{name}");
    assert_eq!(ended(&ran), "limit", "{name}");
    assert!(ran.section("unmodelled").is_none(), "{name} touches what the board lacks");
    ran
}

/// What a program sends until then.
fn sent(board: &str, name: &str, port: &str, until: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log.txt");
    let uart = format!("{port}=file:{}", log.display());
    on(board, name, until, &["--uart", &uart]);
    fs::read_to_string(log).unwrap()
}

#[test]
fn embassy_blinky_keeps_its_rhythm_on_the_internal_oscillator() {
    let ran = on("stm32f4-discovery", "f407-blinky", "1600ms", &["--mark", "LD4,LD5"]);
    assert_eq!(final_hertz(&ran), 16_000_000);
    let tick = 1600;
    assert_each(&widths(&ran, "PD12 high"), 4_000_000, tick);
    assert_each(&widths(&ran, "PD12 low"), 4_000_000, tick);
    assert_each(&widths(&ran, "PD14 high"), 8_000_000, tick);
}

#[test]
fn embassy_usart_prints_each_100_ms_by_dma() {
    let text = sent("stm32f4-discovery", "f407-usart", "USART2", "550ms");
    let expected: String = (1..=5).map(|n| format!("line {n} at {} ms\r\n", 100 * n)).collect();
    assert_eq!(text, expected);
}

#[test]
fn embassy_finds_the_devices_of_the_board() {
    let text = sent("stm32f4-discovery", "f407-devices", "USART2", "100ms");
    // The CRC of `1234` is that of CRC-32/MPEG-2.
    let expected = "random true\r\ncodec true 0xe3\r\nnobody Err(Nack)\r\nspi [255, 255, \
                    255]\r\ncrc 0xa695c4aa\r\n";
    assert_eq!(text, expected);
}

#[test]
fn embassy_frames_come_back_through_the_plug() {
    let ran = on("olimex-e407", "f407-ethernet", "100ms", &[]);
    assert_eq!(figure(&ran, "interrupts", "IRQ61 (ETH)", "count"), 4);
    let text = sent("olimex-e407", "f407-ethernet", "USART1", "100ms");
    // Four bytes more come back: of frames with a type and not a length the MAC keeps the check
    // sequence, whatever MACCR.APCS is (RM0090 33.6.2), unless MACCR.CSTF is set.
    let line = |n| format!("sent {n}, received {}, same true\r\n", n + 4);
    let lines = [60, 61, 400, 1514].map(line);
    assert_eq!(text, format!("link up\r\n{}", lines.concat()));
}

/// A host that sends each frame back and keeps the serial port's output.
#[derive(Default)]
struct Echo {
    frames: VecDeque<Vec<u8>>,
    lengths: Vec<usize>,
    text: Vec<u8>,
}

impl Host for Echo {
    fn console(&mut self) -> Box<dyn Console> {
        Quiet.console()
    }

    fn serial_output(&mut self, _: &str, bytes: &[u8]) {
        self.text.extend(bytes);
    }

    fn frame_output(&mut self, name: &str, frame: &[u8]) {
        assert_eq!(name, "ETH");
        self.lengths.push(frame.len());
        self.frames.push_back(frame.to_vec());
    }

    fn frame_input(&mut self, _: &str) -> Option<Vec<u8>> {
        self.frames.pop_front()
    }
}

#[test]
fn embassy_exchanges_frames_with_the_host() {
    let firmware = Firmware::parse(fs::read(built("f407-ethernet")).unwrap()).unwrap();
    let board = Board::builtin("olimex-e407").unwrap();
    let settings = Settings {
        limit: Some(Limit::Nanoseconds(2_000_000_000)),
        networks: vec![("eth".to_owned(), Backend::Host)],
        ..Settings::default()
    };
    let mut host = Echo::default();
    let outcome =
        simulated::run(&firmware, &board, &settings, &mut host, &AtomicBool::new(false)).unwrap();
    assert_eq!(host.lengths, [60, 61, 400, 1514]);
    let text = String::from_utf8(host.text).unwrap();
    assert!(text.ends_with("sent 1514, received 1518, same true\r\n"), "{text}");
    assert_eq!(outcome.record.instrument.settings["ethernet"], "eth=host");
}

#[test]
fn hal_serial_prints_three_lines() {
    let text = sent("stm32f4-discovery", "f407-hal-serial", "USART2", "50ms");
    let expected: String = (1..=3).map(|n| format!("line {n} at 168000000 Hz\r\n")).collect();
    assert_eq!(text, expected);
}

#[test]
fn hal_blinky_polls_systick_between_floating_point() {
    let ran = on("stm32f4-discovery", "f407-hal-blinky", "1100ms", &["--mark", "LD4"]);
    assert_eq!(final_hertz(&ran), 168_000_000);
    let edges = [widths(&ran, "PD12 high"), widths(&ran, "PD12 low")].concat();
    assert_each(&edges, 42_000_000, 500);
    assert_eq!(edges.len(), 3);
}
