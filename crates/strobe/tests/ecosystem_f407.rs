//! Programs on Embassy and stm32f4xx-hal run on the STM32F407's boards as they do on the circuit boards.
//!
//! `cargo xtask subjects` builds them; without that these tests fail and say so. What each of them does is in
//! firmware/ecosystem/README.md.

mod common;

use std::fs;

use common::*;

/// Runs a program to a limit.
fn on(board: &str, name: &str, until: &str, more: &[&str]) -> serde_json::Value {
    let path = root().join("target/subjects").join(name).with_extension("elf");
    assert!(path.exists(), "{} is missing: run `cargo xtask subjects`", path.display());
    let elf = path.display().to_string();
    let (code, record) = record(&[&[&elf, "--board", board, "--until", until], more].concat());
    assert_eq!(code, 0, "{name}");
    assert_eq!(record["window"]["end_reason"]["kind"], "limit", "{name}");
    assert!(array(&record["unmodelled"]).is_empty(), "{name} touches what the board lacks");
    assert_balanced(&record);
    record
}

/// What a program sends until then.
fn sent(board: &str, name: &str, port: &str, until: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log.txt");
    let uart = format!("{port}=file:{}", log.display());
    on(board, name, until, &["--uart", &uart]);
    fs::read_to_string(log).unwrap()
}

fn final_hz(record: &serde_json::Value) -> u64 {
    number(&array(&record["subject"]["clock"]).last().expect("a clock")["hz"])
}

#[test]
fn embassy_blinky_keeps_its_rhythm_on_the_internal_oscillator() {
    let record = on("stm32f4-discovery", "f407-blinky", "1600ms", &["--mark", "LD4,LD5"]);
    assert_eq!(final_hz(&record), 16_000_000);
    let tick = 1600;
    assert_each(&widths(&record, "PD12 high"), 4_000_000, tick);
    assert_each(&widths(&record, "PD12 low"), 4_000_000, tick);
    assert_each(&widths(&record, "PD14 high"), 8_000_000, tick);
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
    let expected = "random true\r\ncodec true 0xe3\r\nnobody Err(Nack)\r\nspi [255, 255, 255]\r\ncrc 0xa695c4aa\r\n";
    assert_eq!(text, expected);
}

#[test]
fn embassy_frames_come_back_through_the_plug() {
    let record = on("olimex-e407", "f407-ethernet", "100ms", &[]);
    let mac = array(&record["exceptions"]).iter().find(|e| e["name"] == "IRQ61 (ETH)");
    assert_eq!(mac.map(|e| number(&e["count"])), Some(4));
    let text = sent("olimex-e407", "f407-ethernet", "USART1", "100ms");
    // Four bytes more come back: of frames with a type and not a length the MAC keeps the check sequence, whatever
    // MACCR.APCS says (RM0090 33.6.2), unless MACCR.CSTF is set.
    let line = |n| format!("sent {n}, received {}, same true\r\n", n + 4);
    let lines = [60, 61, 400, 1514].map(line);
    assert_eq!(text, format!("link up\r\n{}", lines.concat()));
}

#[test]
fn hal_serial_prints_three_lines() {
    let text = sent("stm32f4-discovery", "f407-hal-serial", "USART2", "50ms");
    let expected: String = (1..=3).map(|n| format!("line {n} at 168000000 Hz\r\n")).collect();
    assert_eq!(text, expected);
}

#[test]
fn hal_blinky_polls_systick_between_floating_point() {
    let record = on("stm32f4-discovery", "f407-hal-blinky", "1100ms", &["--mark", "LD4"]);
    assert_eq!(final_hz(&record), 168_000_000);
    let edges = [widths(&record, "PD12 high"), widths(&record, "PD12 low")].concat();
    assert_each(&edges, 42_000_000, 500);
    assert_eq!(edges.len(), 3);
}
