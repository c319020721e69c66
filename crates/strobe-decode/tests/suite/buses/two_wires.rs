//! I2C: what sigrok decodes, faults with their places, and addresses of ten bits.

use strobe_decode::bus::i2c;
use strobe_decode::bus::report::{FaultKind, WordKind};
use strobe_synth::I2cWave;

use super::{faults, sigrok_on};
use crate::common::lines::capture;

#[test]
fn an_i2c_bus_decodes_to_what_sigrok_decodes() {
    let mut wave = I2cWave::new(30);
    wave.start();
    for (byte, ack) in [(0xa0, true), (0x12, true), (0x34, true)] {
        wave.byte(byte, ack, 0);
    }
    wave.start();
    wave.byte(0xa1, true, 500);
    wave.byte(0x5a, true, 0);
    wave.byte(0xc3, false, 0);
    wave.stop();
    wave.start();
    wave.byte(0x90, false, 0);
    wave.stop();
    let capture = capture(12, &[("scl", &wave.scl), ("sda", &wave.sda)], wave.now);
    let ours = i2c::decode(&capture, 0, 1);
    assert_eq!(faults(&ours), []);
    let decoder = "i2c:scl=scl:sda=sda";
    let annotated = |annotations: &str| sigrok_on(&capture, decoder, annotations);
    let theirs = annotated("i2c=address-write:address-read:data-write:data-read");
    let theirs = theirs.into_iter().map(|(_, _, text)| text);
    // The direction has an annotation of its own.
    let theirs: Vec<String> = theirs.filter(|text| text.contains(':')).collect();
    let mut mine = Vec::new();
    for transfer in &ours.transfers {
        let direction = if transfer.read == Some(true) { "read" } else { "write" };
        mine.push(format!("Address {direction}: {:02X}", transfer.address.unwrap()));
        let words = &ours.lanes[0].words[transfer.first as usize..][..transfer.words as usize];
        let data = words.iter().filter(|word| word.kind == WordKind::Data);
        mine.extend(data.map(|word| format!("Data {direction}: {:02X}", word.value)));
    }
    assert_eq!(mine, theirs);
    let acks = ours.lanes[0].words.iter().filter(|word| word.acknowledged == Some(true)).count();
    assert_eq!((acks, 7 - acks), (annotated("i2c=ack").len(), annotated("i2c=nack").len()));
    assert_eq!(
        annotated("i2c=start").len() + annotated("i2c=repeat-start").len(),
        ours.transfers.len()
    );
    let stretched = ours.stretched.unwrap();
    assert_eq!((stretched.count, stretched.longest_ps), (1, capture.ps(500)));
}

#[test]
fn broken_i2c_is_reported_with_its_place() {
    let mut wave = I2cWave::new(10);
    wave.start();
    wave.byte(0xa0, true, 0);
    wave.bit(true, 0);
    wave.bit(false, 0);
    wave.stop();
    wave.start();
    wave.stop();
    // Data falls while the clock is low, so what follows is a stop condition without a start.
    wave.scl.set(wave.now, false);
    wave.sda.set(wave.now + 5, false);
    wave.scl.set(wave.now + 10, true);
    wave.sda.set(wave.now + 20, true);
    let stray = wave.now + 20;
    let capture = capture(1, &[("scl", &wave.scl), ("sda", &wave.sda)], wave.now + 100);
    let ours = i2c::decode(&capture, 0, 1);
    let kinds: Vec<FaultKind> = ours.faults.iter().map(|fault| fault.kind).collect();
    assert_eq!(kinds, [FaultKind::CutShort, FaultKind::Violation, FaultKind::Violation]);
    assert!(ours.faults[0].text.contains("2 bits"), "{:?}", ours.faults[0]);
    assert_eq!(ours.faults[2].start_ps, capture.at_ps(stray));
}

/// A master that reads a sensor without its answer: after eight clocks there is a stop condition in
/// the ninth.
#[test]
fn bytes_without_an_answer_are_there_and_marked() {
    let mut wave = I2cWave::new(10);
    for byte in 0..20u8 {
        wave.start();
        wave.byte(0xa1, true, 0);
        (0..8).rev().for_each(|n| wave.bit(byte & (1 << n) != 0, 0));
        if byte % 2 == 0 { wave.stop() } else { wave.start() }
    }
    let capture = capture(1, &[("scl", &wave.scl), ("sda", &wave.sda)], wave.now + 100);
    let ours = i2c::decode(&capture, 0, 1);
    let cut = ours.faults.iter().filter(|fault| fault.kind == FaultKind::CutShort).count();
    assert_eq!(cut, 20, "{:?}", ours.faults);
    let data = ours.lanes[0].words.iter().filter(|word| word.kind == WordKind::Data);
    let data: Vec<_> = data.map(|word| (word.value, word.acknowledged, word.faulty)).collect();
    assert_eq!(data, (0..20).map(|n| (n, None, true)).collect::<Vec<_>>());
}

#[test]
fn ten_bit_addresses() {
    let mut wave = I2cWave::new(10);
    wave.start();
    wave.byte(0b1111_0100, true, 0);
    wave.byte(0x55, true, 0);
    wave.start();
    wave.byte(0b1111_0101, true, 0);
    wave.byte(0x77, false, 0);
    wave.stop();
    let capture = capture(1, &[("scl", &wave.scl), ("sda", &wave.sda)], wave.now);
    let ours = i2c::decode(&capture, 0, 1);
    let seen: Vec<_> =
        ours.transfers.iter().map(|t| (t.address.unwrap(), t.read.unwrap())).collect();
    assert_eq!(seen, [(0x255, false), (0x255, true)]);
}
