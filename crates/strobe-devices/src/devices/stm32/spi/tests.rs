//! The interface as firmware and a device on its wires see it.

use proptest::prelude::*;

use crate::rig::{RAM, Rig, apb_device};
use strobe_sim::kernel::device::{Direction, Size};

const BASE: u32 = 0x4000_3800;
const DMA: u32 = 0x4002_0000;
const CR1: u32 = BASE;
const CR2: u32 = BASE + 0x04;
const SR: u32 = BASE + 0x08;
const DR: u32 = BASE + 0x0c;

const MSTR: u32 = 1 << 2;
const SPE: u32 = 1 << 6;
const SSI_SSM: u32 = 3 << 8;
const ON: u32 = MSTR | SPE | SSI_SSM;
const FRXTH: u32 = 1 << 12;
const BYTES: u32 = 7 << 8 | FRXTH;

const RXNE: u32 = 1;
const TXE: u32 = 1 << 1;
const MODF: u32 = 1 << 5;
const OVR: u32 = 1 << 6;
const BSY: u32 = 1 << 7;

fn spi(options: &str) -> Rig {
    let spi = apb_device(("SPI2", "stm32-spi"), BASE, &[26], options);
    let dma = "requests = [['SPI2_RX_DMA'], ['SPI2_TX_DMA']]\nirq_lines = [0, 1]";
    Rig::new(&(spi + &apb_device(("DMA1", "stm32-dma"), DMA, &[9, 10], dma)))
}

fn put(rig: &mut Rig, byte: u8) {
    rig.write(DR, Size::Byte, byte.into());
}

fn get(rig: &mut Rig) -> u32 {
    rig.read(DR, Size::Byte)
}

/// (cycle, value) of the frames sent so far.
fn sent(rig: &Rig) -> Vec<(u64, u16)> {
    let frames = rig.bus.outputs.frames.iter();
    frames.filter(|f| f.direction == Direction::Transmit).map(|f| (f.cycle, f.value)).collect()
}

#[test]
fn flags_follow_the_fifo_cycle_by_cycle() {
    for (br, apb) in [(0u32, 1u32), (2, 1), (7, 1), (0, 4)] {
        let mut rig = spi("loopback = true");
        rig.bus.clocks.apb_divider = apb;
        rig.write32(CR2, BYTES);
        rig.write32(CR1, ON | br << 3);
        let frame = u64::from((8 * apb * 2) << br);
        let flags = |rig: &mut Rig| rig.read32(SR) & (RXNE | TXE | BSY);
        assert_eq!(flags(&mut rig), TXE);
        // The first goes to the shift register, three wait; above a half TXE is off.
        (1..=4).for_each(|byte| put(&mut rig, byte));
        assert_eq!((flags(&mut rig), rig.read32(SR) >> 11 & 3), (BSY, 3));
        rig.run_to(frame - 1);
        assert_eq!(flags(&mut rig), BSY);
        rig.run_to(frame);
        assert_eq!((flags(&mut rig), rig.read32(SR) >> 11 & 3), (BSY | TXE | RXNE, 2));
        rig.run_to(4 * frame - 1);
        assert_eq!(flags(&mut rig), BSY | TXE | RXNE);
        rig.run_to(4 * frame);
        assert_eq!((flags(&mut rig), rig.read32(SR) >> 9 & 3), (TXE | RXNE, 3));
        assert_eq!(sent(&rig), [(frame, 1), (2 * frame, 2), (3 * frame, 3), (4 * frame, 4)]);
        assert_eq!((0..4).map(|_| get(&mut rig)).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(flags(&mut rig), TXE);
    }
}

/// RM0090 28.3.7: one frame in the data register and one in the shift register.
#[test]
fn without_fifos_there_is_one_frame_each_way() {
    for (dff, frame) in [(0u32, 16), (1 << 11, 32)] {
        let mut rig = spi("loopback = true\nfifo = false");
        assert_eq!((rig.read32(CR2), rig.read32(SR)), (0, TXE));
        rig.write32(CR2, !(1 << 4));
        assert_eq!(rig.read32(CR2), 0xe7);
        rig.write32(CR2, 0);
        rig.write32(CR1, ON | dff);
        rig.write32(DR, 0xa1b2);
        assert_eq!(rig.read32(SR), TXE | BSY, "in the shift register at once");
        rig.write32(DR, 0xc3d4);
        assert_eq!(rig.read32(SR), BSY);
        rig.run_to(frame);
        assert_eq!(rig.read32(SR), TXE | RXNE | BSY);
        rig.run_to(2 * frame);
        assert_eq!(rig.read32(SR), TXE | RXNE | OVR);
        let mask = if dff == 0 { 0xff } else { 0xffff };
        assert_eq!(rig.read(DR, Size::Byte), 0xb2);
        assert_eq!(rig.read32(DR), 0xa1b2 & mask, "the last frame again");
        assert_eq!((rig.read32(SR) & OVR, rig.read32(SR)), (OVR, TXE));
        assert_eq!(sent(&rig)[1], (2 * frame, (0xc3d4 & mask) as u16));
        rig.write32(DR, 1);
        rig.write32(DR, 2);
        rig.write32(DR, 3);
        assert!(rig.warnings().contains("written while it was full"));
    }
}

#[test]
fn half_word_accesses_pack_two_bytes() {
    let mut rig = spi("loopback = true");
    rig.write32(CR2, 7 << 8);
    rig.write32(CR1, ON);
    rig.write(DR, Size::Half, 0x0201);
    rig.run_to(16);
    assert_eq!(rig.read32(SR) & RXNE, 0, "the threshold is two bytes");
    rig.run_to(32);
    assert_eq!(rig.read32(SR) & RXNE, RXNE);
    assert_eq!(rig.read(DR, Size::Half), 0x0201);
    assert_eq!(sent(&rig), [(16, 1), (32, 2)]);
}

#[test]
fn long_and_short_frames_keep_their_bits() {
    for (bits, expected) in [(4u32, 0xd), (12, 0xbcd), (16, 0xabcd)] {
        let mut rig = spi("loopback = true");
        rig.write32(CR2, (bits - 1) << 8 | if bits > 8 { 0 } else { FRXTH });
        rig.write32(CR1, ON);
        let size = if bits > 8 { Size::Half } else { Size::Byte };
        rig.write(DR, size, 0xabcd & size.mask());
        rig.run_to(u64::from(2 * bits));
        assert_eq!(sent(&rig), [(u64::from(2 * bits), expected)]);
        assert_eq!(rig.read(DR, size), u32::from(expected));
    }
}

#[test]
fn overrun_keeps_the_old_data_and_clears_by_sequence() {
    let mut rig = spi("loopback = true");
    rig.write32(CR2, BYTES | 1 << 5);
    rig.write32(CR1, ON);
    for byte in 1..=5 {
        put(&mut rig, byte);
        rig.run_to(rig.bus.now + 100);
    }
    assert!(rig.irq(26));
    assert_eq!((0..4).map(|_| get(&mut rig)).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(rig.read32(SR) & OVR, OVR, "read of DR then SR shows it a last time");
    assert_eq!(rig.read32(SR) & OVR, 0);
}

#[test]
fn a_selected_master_gives_way() {
    let mut rig = spi("");
    rig.write32(CR1, MSTR | SPE | 1 << 9);
    assert_eq!((rig.read32(CR1) & (MSTR | SPE), rig.read32(SR) & MODF), (0, MODF));
    rig.write32(CR1, ON);
    assert_eq!((rig.read32(CR1) & SPE, rig.read32(SR) & MODF), (SPE, 0));
}

#[test]
fn receive_only_clocks_by_itself_until_switched_off() {
    let mut rig = spi("");
    rig.set("SPI2_MISO", true);
    rig.write32(CR2, BYTES);
    rig.write32(CR1, ON | 1 << 10);
    rig.run_to(16 * 3);
    rig.write32(CR1, ON & !SPE | 1 << 10);
    rig.run_to(1000);
    assert_eq!((get(&mut rig), rig.read32(SR) >> 9 & 3), (0xff, 2));
    assert_eq!(rig.bus.next_due, u64::MAX);
}

#[test]
fn nss_pulses_between_frames() {
    let mut rig = spi("");
    rig.watch("SPI2_NSS");
    rig.watch("SPI2_SCK");
    rig.write32(CR2, BYTES | 1 << 2 | 1 << 3);
    rig.write32(CR1, MSTR | SPE);
    put(&mut rig, 0);
    put(&mut rig, 0);
    rig.run_to(100);
    assert_eq!(rig.edges("SPI2_NSS"), [(0, false), (16, true), (18, false), (34, true)]);
    assert_eq!(rig.edges("SPI2_SCK").len(), 32);
    // Without pulses it is low as long as the interface is on.
    rig.write32(CR1, MSTR);
    rig.write32(CR2, BYTES | 1 << 2);
    rig.write32(CR1, MSTR | SPE);
    rig.run_to(200);
    rig.write32(CR1, MSTR);
    assert_eq!(rig.edges("SPI2_NSS")[4..], [(100, false), (200, true)]);
}

#[test]
fn dma_sends_without_gaps_and_receives_all() {
    let mut rig = spi("loopback = true");
    let data: Vec<u8> = (0..200).collect();
    rig.bus.load(RAM, &data).unwrap();
    let channel = |rig: &mut Rig, n: u32, ccr: u32, memory: u32| {
        let base = DMA + 0x08 + 0x14 * n;
        rig.write32(base + 0x04, 200);
        rig.write32(base + 0x08, DR);
        rig.write32(base + 0x0c, memory);
        rig.write32(base, ccr);
    };
    channel(&mut rig, 0, 0b1000_0011, RAM + 0x400);
    channel(&mut rig, 1, 0b1001_0011, RAM);
    rig.write32(CR2, BYTES | 0b11);
    rig.write32(CR1, ON | 1 << 3);
    let start = sent_start(&mut rig);
    assert!(rig.run_to_irq(9, 1_000_000).is_some());
    let back: Vec<u8> =
        (0..200).map(|i| rig.bus.peek(RAM + 0x400 + i, Size::Byte).unwrap() as u8).collect();
    assert_eq!(back, data);
    let frames = sent(&rig);
    assert_eq!(frames.len(), 200);
    assert_eq!(frames[199].0 - start, 200 * 32, "32 cycles a byte, without gaps");
}

/// The cycle at which the first frame began, from its end.
fn sent_start(rig: &mut Rig) -> u64 {
    while sent(rig).is_empty() {
        rig.run_to(rig.bus.next_due);
    }
    sent(rig)[0].0 - 32
}

#[test]
fn unmodelled_modes_are_reported() {
    let mut rig = spi("");
    rig.write32(CR1, SPE);
    rig.write32(CR1, 1 << 13);
    assert_eq!(
        rig.warnings(),
        "SPI2: slave mode is not modelled\nSPI2: CRC calculation is not modelled\n"
    );
}

/// What a device on the wires receives: samples MOSI at the clock edges of its mode.
fn slave_receives(rig: &Rig, cr1: u32, bits: usize) -> Vec<u16> {
    let mosi = rig.edges("SPI2_MOSI");
    let level = |cycle: u64| mosi.iter().rev().find(|e| e.0 <= cycle).is_some_and(|e| e.1);
    // Modes 0 and 3 sample on the rising edge.
    let rising = (cr1 & 1 != 0) == (cr1 & 2 != 0);
    let clock = rig.edges("SPI2_SCK");
    let samples = clock.iter().filter(|(cycle, edge)| *edge == rising && *cycle > 0);
    let samples: Vec<u16> = samples.map(|&(cycle, _)| u16::from(level(cycle))).collect();
    let word = |chunk: &[u16]| {
        let shifted = chunk.iter().enumerate();
        let lsb_first = cr1 & 1 << 7 != 0;
        shifted.map(|(i, b)| b << if lsb_first { i } else { bits - 1 - i }).sum()
    };
    assert_eq!(samples.len() % bits, 0);
    samples.chunks(bits).map(word).collect()
}

proptest! {
    #[test]
    fn the_wires_carry_what_was_written(
        words in proptest::collection::vec(any::<u16>(), 1..6),
        bits in 4usize..=16,
        mode in 0u32..4,
        lsb_first in any::<bool>(),
        br in 0u32..8,
    ) {
        let mut rig = spi("");
        rig.write32(CR2, (bits as u32 - 1) << 8 | FRXTH);
        let cr1 = mode | br << 3 | u32::from(lsb_first) << 7;
        // The clock is at its idle level before the first frame.
        rig.write32(CR1, cr1);
        ["SPI2_SCK", "SPI2_MOSI"].iter().for_each(|wire| rig.watch(wire));
        rig.run_to(10);
        rig.write32(CR1, ON | cr1);
        let size = if bits > 8 { Size::Half } else { Size::Byte };
        for &word in &words {
            while rig.read32(SR) & TXE == 0 {
                rig.run_to(rig.bus.next_due);
            }
            rig.write(DR, size, u32::from(word) & size.mask());
        }
        rig.run_to(1_000_000);
        let mask = (u32::from(u16::MAX) >> (16 - bits)) as u16;
        let expected: Vec<u16> = words.iter().map(|w| w & mask).collect();
        prop_assert_eq!(slave_receives(&rig, cr1, bits), expected.clone());
        let frame = (bits as u64 * 2) << br;
        let times = (1u64..).map(|n| 10 + n * frame);
        prop_assert_eq!(sent(&rig), times.zip(expected).collect::<Vec<_>>());
    }

    /// Watching the wires does not change what firmware sees.
    #[test]
    fn watched_or_not_is_the_same(
        bytes in proptest::collection::vec(any::<u8>(), 1..4), cr1 in 0u32..0x100,
    ) {
        let cr1 = cr1 & 0xbf | ON;
        let run = |watched: bool| {
            let mut rig = spi("loopback = true");
            if watched {
                rig.watch("SPI2_SCK");
            }
            rig.write32(CR2, BYTES);
            rig.write32(CR1, cr1);
            bytes.iter().for_each(|&byte| put(&mut rig, byte));
            rig.run_to(100_000);
            let got: Vec<u32> = bytes.iter().map(|_| get(&mut rig)).collect();
            (got, sent(&rig), rig.read32(SR))
        };
        prop_assert_eq!(run(true), run(false));
    }

    #[test]
    fn no_access_panics_or_hangs(
        accesses in proptest::collection::vec((0u32..0x28, any::<u32>(), 0u64..2000, 0u8..7), 1..60)
    ) {
        let mut rig = spi("");
        rig.watch("SPI2_SCK");
        let mut now = 0;
        for (offset, value, wait, kind) in accesses {
            let size = [Size::Byte, Size::Half, Size::Word][kind as usize % 3];
            let address = BASE + offset / size.bytes() * size.bytes();
            match kind {
                0..3 => rig.write(address, size, value),
                3..6 => drop(rig.read(address, size)),
                _ => rig.set("SPI2_MISO", value & 1 != 0),
            }
            now += wait;
            rig.run_to(now);
            prop_assert_eq!(rig.bus.now, now);
        }
    }
}
