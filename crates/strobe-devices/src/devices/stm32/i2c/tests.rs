//! The controller as firmware and the bus see it (RM0090 27.3.3 and 27.6).

use proptest::prelude::*;

use super::*;
use crate::rig::{RAM, Rig, apb_device};

const BASE: u32 = 0x4000_5400;
const DMA: u32 = 0x4002_6000;
const START: u32 = 1 << cr1::START;
const STOP: u32 = 1 << cr1::STOP;
const ACK: u32 = 1 << cr1::ACK;
const POS: u32 = 1 << cr1::POS;
const ON: u32 = 1 << cr1::PE;
/// 100 kHz from 8 MHz: 80 cycles.
const PERIOD: u64 = 80;

fn bus() -> Rig {
    let targets = "targets = [{ address = 0x4a, registers = [1, 2, 3, 4, 5, 6, 7, 8] }]";
    let i2c = apb_device(("I2C1", "stm32-i2c-v1"), BASE, &[20, 21], targets);
    let table = "requests = [['I2C1_RX_DMA', 'I2C1_TX_DMA']]";
    let mut rig =
        Rig::new(&(i2c + &apb_device(("DMA1", "stm32-dma-streams"), DMA, &[11, 12], table)));
    rig.write32(BASE + CCR, 40);
    rig.write32(BASE + CR1, ON);
    rig
}

/// Waits for flags of SR1 by polling it; panics when nothing is on its way any more.
fn wait(rig: &mut Rig, flags: u32) -> u32 {
    loop {
        let now = rig.read32(BASE + SR1);
        if now & flags != 0 {
            return now;
        }
        assert_ne!(rig.bus.next_due, u64::MAX, "waits for {flags:#x}, has {now:#x}");
        let next = rig.bus.next_due;
        rig.run_to(next);
    }
}

fn start(rig: &mut Rig, address: u32) -> u32 {
    rig.set_bits(BASE + CR1, START);
    wait(rig, sr1::SB);
    rig.write32(BASE + DR, address);
    wait(rig, sr1::ADDR | sr1::AF)
}

fn stop(rig: &mut Rig) {
    rig.set_bits(BASE + CR1, STOP);
    rig.run_to(rig.bus.now + 20 * PERIOD);
    assert_eq!(rig.read32(BASE + SR2) & 3, 0, "the bus is free");
    assert_eq!(rig.read32(BASE + CR1) & STOP, 0);
}

fn write(rig: &mut Rig, bytes: &[u8]) {
    assert_eq!(start(rig, 0x4a << 1) & sr1::AF, 0);
    assert_eq!(rig.read32(BASE + SR2), 0b111);
    for &byte in bytes {
        wait(rig, sr1::TXE);
        rig.write32(BASE + DR, byte.into());
    }
    wait(rig, sr1::BTF);
}

/// The sequences of 27.3.3 for one, two and more bytes.
fn read(rig: &mut Rig, count: usize) -> Vec<u32> {
    let mut bytes = Vec::new();
    let get = |rig: &mut Rig| rig.read32(BASE + DR);
    rig.write32(BASE + CR1, ON | ACK | if count == 2 { POS } else { 0 });
    assert_eq!(start(rig, 0x4a << 1 | 1) & sr1::AF, 0);
    match count {
        1 => {
            rig.write32(BASE + CR1, ON);
            rig.read32(BASE + SR2);
            rig.set_bits(BASE + CR1, STOP);
            wait(rig, sr1::RXNE);
            bytes.push(get(rig));
        }
        2 => {
            rig.read32(BASE + SR2);
            rig.write32(BASE + CR1, ON | POS);
            wait(rig, sr1::BTF);
            rig.set_bits(BASE + CR1, STOP);
            bytes.extend([get(rig), get(rig)]);
        }
        _ => {
            rig.read32(BASE + SR2);
            while bytes.len() < count - 3 {
                wait(rig, sr1::RXNE);
                bytes.push(get(rig));
            }
            wait(rig, sr1::BTF);
            rig.write32(BASE + CR1, ON);
            bytes.push(get(rig));
            rig.set_bits(BASE + CR1, STOP);
            bytes.push(get(rig));
            wait(rig, sr1::RXNE);
            bytes.push(get(rig));
        }
    }
    rig.run_to(rig.bus.now + 20 * PERIOD);
    assert_eq!(rig.read32(BASE + SR2) & 3, 0);
    bytes
}

#[test]
fn an_address_that_nobody_has_is_not_acknowledged() {
    let mut rig = bus();
    rig.write32(BASE + CR2, 1 << cr2::ITERREN);
    let begin = rig.bus.now;
    assert_eq!(start(&mut rig, 0x20 << 1), sr1::AF);
    assert_eq!(rig.bus.now - begin, 10 * PERIOD, "start, eight bits, acknowledge");
    assert!(rig.irq(21) && !rig.irq(20));
    rig.write32(BASE + SR1, 0);
    assert!(!rig.irq(21));
    stop(&mut rig);
}

#[test]
fn a_target_takes_what_is_written() {
    let mut rig = bus();
    write(&mut rig, &[2, 0xaa, 0xbb]);
    stop(&mut rig);
    write(&mut rig, &[1]);
    // A repeated start keeps the bus.
    assert_eq!(read(&mut rig, 5), [2, 0xaa, 0xbb, 5, 6]);
    let frames: Vec<u16> = rig.bus.outputs.frames.iter().map(|f| f.value).collect();
    assert_eq!(frames, [0x94, 2, 0xaa, 0xbb, 0x94, 1, 0x95, 2, 0xaa, 0xbb, 5, 6]);
}

#[test]
fn bytes_take_nine_periods_and_the_clock_is_held() {
    let mut rig = bus();
    start(&mut rig, 0x4a << 1);
    rig.run_to(5_000);
    assert_eq!(rig.read32(BASE + SR1), sr1::ADDR);
    rig.read32(BASE + SR2);
    assert_eq!(rig.read32(BASE + SR1), sr1::TXE);
    rig.write32(BASE + DR, 0);
    assert_eq!(rig.read32(BASE + SR1), sr1::TXE, "in the shift register");
    rig.write32(BASE + DR, 7);
    assert_eq!(rig.read32(BASE + SR1), 0);
    rig.run_to(5_000 + 9 * PERIOD - 1);
    assert_eq!(rig.read32(BASE + SR1), 0);
    rig.run_to(5_000 + 9 * PERIOD);
    assert_eq!(rig.read32(BASE + SR1), sr1::TXE);
    rig.run_to(5_000 + 18 * PERIOD);
    assert_eq!(rig.read32(BASE + SR1), sr1::TXE | sr1::BTF);
    // Fast mode with the long duty: 25 clocks.
    rig.write32(BASE + CCR, 3 << 14 | 2);
    rig.write32(BASE + DR, 9);
    rig.run_to(5_000 + 18 * PERIOD + 9 * 50);
    assert_eq!(rig.bus.outputs.frames.len(), 4);
}

#[test]
fn every_length_of_reading_ends_where_it_should() {
    for count in 1..=8 {
        let mut rig = bus();
        let expected: Vec<u32> = (1..=count as u32).collect();
        assert_eq!(read(&mut rig, count), expected);
        assert_eq!(rig.bus.outputs.frames.len(), 1 + count, "not a byte too many");
    }
}

#[test]
fn interrupts_follow_the_flags() {
    let mut rig = bus();
    rig.write32(BASE + CR2, 1 << cr2::ITEVTEN);
    rig.set_bits(BASE + CR1, START);
    assert_eq!(rig.run_to_irq(20, 10_000), Some(PERIOD));
    rig.read32(BASE + SR1);
    rig.write32(BASE + DR, 0x94);
    assert!(!rig.irq(20));
    assert_eq!(rig.run_to_irq(20, 10_000), Some(10 * PERIOD));
    rig.read32(BASE + SR1);
    rig.read32(BASE + SR2);
    assert!(!rig.irq(20), "TXE needs ITBUFEN");
    rig.write32(BASE + CR2, 1 << cr2::ITEVTEN | 1 << cr2::ITBUFEN);
    assert!(rig.irq(20));
}

#[test]
fn dma_sends_and_receives() {
    let mut rig = bus();
    rig.bus.load(RAM, &[3, 0x33, 0x44]).unwrap();
    rig.write32(BASE + CR2, 1 << cr2::DMAEN);
    let stream = |rig: &mut Rig, n: u32, cr: u32, count: u32, memory: u32| {
        let base = DMA + 0x10 + 0x18 * n;
        rig.write32(base + 4, count);
        rig.write32(base + 8, BASE + DR);
        rig.write32(base + 12, memory);
        rig.write32(base, cr);
    };
    stream(&mut rig, 1, 1 | 1 << 6 | 1 << 10, 3, RAM);
    start(&mut rig, 0x94);
    rig.read32(BASE + SR2);
    wait(&mut rig, sr1::BTF);
    rig.write32(BASE + CR2, 0);
    stop(&mut rig);
    write(&mut rig, &[2]);
    rig.write32(BASE + CR2, 1 << cr2::DMAEN);
    stream(&mut rig, 0, 1 | 1 << 4 | 1 << 10, 3, RAM + 64);
    rig.write32(BASE + CR1, ON | ACK);
    start(&mut rig, 0x95);
    rig.read32(BASE + SR2);
    assert!(rig.run_to_irq(11, 100_000).is_some());
    assert_eq!(rig.read32(RAM + 64) & 0xff_ffff, 0x44_3303);
}

#[test]
fn switching_off_lets_go_of_the_bus() {
    let mut rig = bus();
    start(&mut rig, 0x94);
    rig.write32(BASE + CR1, 0);
    assert_eq!((rig.read32(BASE + SR1), rig.read32(BASE + SR2)), (0, 0));
    rig.write32(BASE + CR1, 1 << cr1::SWRST);
    assert_eq!((rig.read32(BASE + TRISE), rig.read32(BASE + CCR)), (2, 0));
    rig.write32(BASE + CR1, ON | 2);
    assert!(rig.warnings().contains("I2C1: SMBus mode is not modelled"));
}

#[test]
fn impossible_targets_are_refused() {
    for (target, problem) in [
        ("{ address = 0x80, registers = [1] }", "0x80 is no address of seven bits"),
        ("{ address = 1, registers = [] }", "0x1 needs 1 to 256 registers"),
    ] {
        let device =
            apb_device(("I2C1", "stm32-i2c-v1"), BASE, &[], &format!("targets = [{target}]"));
        let error = std::panic::catch_unwind(|| Rig::new(&device)).err().unwrap();
        assert!(error.downcast_ref::<String>().unwrap().contains(problem));
    }
}

proptest! {
    /// What was written comes back, however the reads are cut up.
    #[test]
    fn a_register_file_keeps_what_it_was_given(
        bytes in proptest::collection::vec(any::<u8>(), 1..8), cut in 1usize..8,
    ) {
        let mut rig = bus();
        write(&mut rig, &[&[0], &bytes[..]].concat());
        stop(&mut rig);
        write(&mut rig, &[0]);
        let mut back = Vec::new();
        while back.len() < bytes.len() {
            let rest = bytes.len() - back.len();
            back.extend(read(&mut rig, cut.min(rest)).into_iter().map(|b| b as u8));
        }
        prop_assert_eq!(back, bytes);
    }

    #[test]
    fn no_access_panics_or_hangs(
        accesses in proptest::collection::vec((0u32..0x28, any::<u32>(), 0u64..2000, 0u8..6), 1..80)
    ) {
        let mut rig = bus();
        let mut now = rig.bus.now;
        for (offset, value, wait, kind) in accesses {
            let size = [Size::Byte, Size::Half, Size::Word][kind as usize % 3];
            let address = BASE + offset / size.bytes() * size.bytes();
            match kind {
                // The peripheral on more often than not.
                0..3 => rig.write(address, size, if offset < 4 { value | 1 } else { value }),
                _ => drop(rig.read(address, size)),
            }
            now += wait;
            rig.run_to(now);
            prop_assert_eq!(rig.bus.now, now);
        }
    }
}
