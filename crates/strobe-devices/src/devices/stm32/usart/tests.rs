//! The serial port as firmware, the host and a logic analyser see it.

use proptest::prelude::*;

use crate::rig::{Rig, apb_device};
use strobe_sim::kernel::device::{DeviceId, Direction, Size};

const BASE: u32 = 0x4001_3800;
const OTHER: u32 = 0x4000_4400;
const CR1: u32 = BASE;
const CR2: u32 = BASE + 0x04;
const CR3: u32 = BASE + 0x08;
const BRR: u32 = BASE + 0x0c;
const RQR: u32 = BASE + 0x18;
const ISR: u32 = BASE + 0x1c;
const ICR: u32 = BASE + 0x20;
const RDR: u32 = BASE + 0x24;
const TDR: u32 = BASE + 0x28;

const UE: u32 = 1;
const RE: u32 = 1 << 2;
const TE: u32 = 1 << 3;
const IDLE: u32 = 1 << 4;
const RXNE: u32 = 1 << 5;
const TC: u32 = 1 << 6;
const TXE: u32 = 1 << 7;

fn port() -> (Rig, DeviceId) {
    let one = apb_device(("USART1", "stm32-usart"), BASE, &[27], "");
    let two = apb_device(("USART2", "stm32-usart"), OTHER, &[28], "");
    let rig = Rig::new(&(one + &two));
    let id = rig.bus.device_named("USART1").unwrap();
    (rig, id)
}

fn flags(rig: &mut Rig, mask: u32) -> u32 {
    rig.read32(ISR) & mask
}

#[test]
fn flags_follow_the_double_buffer_cycle_by_cycle() {
    // 115200 baud from 8 and 48 MHz, and the fastest rate there is; one with the bus clock divided.
    for (brr, apb) in [(69u64, 1u64), (417, 1), (16, 1), (104, 4)] {
        let (mut rig, _) = port();
        rig.bus.clocks.apb_divider = apb as u32;
        rig.write32(BRR, brr as u32);
        rig.write32(CR1, UE | TE);
        let frame = 10 * brr * apb;
        rig.run_to(frame);
        assert_eq!(flags(&mut rig, TXE | TC), TXE | TC, "the idle frame is over");
        rig.write32(TDR, 0x41);
        assert_eq!(flags(&mut rig, TXE | TC), TXE, "the shift register takes it at once");
        rig.write32(TDR, 0x42);
        assert_eq!(flags(&mut rig, TXE | TC), 0);
        rig.run_to(2 * frame - 1);
        assert_eq!(flags(&mut rig, TXE | TC), 0);
        rig.run_to(2 * frame);
        assert_eq!(flags(&mut rig, TXE | TC), TXE);
        rig.run_to(3 * frame - 1);
        assert_eq!(flags(&mut rig, TXE | TC), TXE);
        rig.run_to(3 * frame);
        assert_eq!(flags(&mut rig, TXE | TC), TXE | TC);
        let sent: Vec<_> = rig.bus.outputs.frames.iter().map(|f| (f.cycle, f.value)).collect();
        assert_eq!(sent, [(2 * frame, 0x41), (3 * frame, 0x42)]);
    }
}

#[test]
fn the_first_byte_waits_for_the_idle_frame() {
    let (mut rig, _) = port();
    rig.watch("USART1_TX");
    rig.write32(BRR, 100);
    rig.write32(CR1, UE | TE);
    rig.run_to(10);
    rig.write32(TDR, 0xff);
    assert_eq!(flags(&mut rig, TXE), 0);
    rig.run_to(5000);
    assert_eq!(rig.edges("USART1_TX"), [(1000, false), (1100, true)]);
}

#[test]
fn transmit_interrupts_come_when_the_flags_do() {
    let (mut rig, _) = port();
    rig.write32(BRR, 100);
    rig.write32(CR1, UE | TE);
    rig.run_to(1000);
    rig.write32(TDR, 1);
    rig.write32(TDR, 2);
    rig.write32(CR1, UE | TE | 1 << 7);
    assert_eq!(rig.run_to_irq(27, 10_000), Some(2000));
    rig.write32(CR1, UE | TE | 1 << 6);
    assert_eq!(rig.run_to_irq(27, 10_000), Some(3000));
    rig.write32(ICR, TC);
    assert!(!rig.irq(27));
}

#[test]
fn host_bytes_arrive_at_baud_rate_after_receiver_enable() {
    let (mut rig, id) = port();
    b"ab".iter().for_each(|&byte| rig.bus.host_byte(id, byte));
    rig.run_to(12_345);
    rig.write32(BRR, 100);
    rig.write32(CR1, UE | RE | 1 << 5);
    assert_eq!(rig.run_to_irq(27, 20_000), Some(12_345 + 950));
    assert_eq!((rig.read32(RDR), rig.irq(27)), (0x61, false));
    assert_eq!(rig.run_to_irq(27, 20_000), Some(12_345 + 1950));
    assert_eq!(rig.read32(RDR), 0x62);
    // The line is free at +2000 and idle one frame later.
    rig.run_to(12_345 + 2999);
    assert_eq!(flags(&mut rig, IDLE), 0);
    rig.run_to(12_345 + 3000);
    assert_eq!(flags(&mut rig, IDLE), IDLE);
}

#[test]
fn a_byte_not_read_in_time_is_an_overrun() {
    let (mut rig, id) = port();
    rig.write32(BRR, 100);
    rig.write32(CR1, UE | RE);
    b"xyz".iter().for_each(|&byte| rig.bus.host_byte(id, byte));
    rig.run_to(10_000);
    assert_eq!(flags(&mut rig, 0x2f), RXNE | 1 << 3);
    assert_eq!(rig.read32(RDR), u32::from(b'x'));
    rig.write32(ICR, 1 << 3);
    assert_eq!(flags(&mut rig, 0x2f), 0);
}

#[test]
fn the_host_queue_is_bounded_and_reports_it() {
    let (mut rig, id) = port();
    let room = rig.bus.host_room(id);
    (0..room).for_each(|_| rig.bus.host_byte(id, 0));
    assert_eq!((rig.bus.host_room(id), rig.bus.warnings.iter().count()), (0, 0));
    rig.bus.host_byte(id, 0);
    assert!(rig.bus.warnings.iter().next().unwrap().0.contains("lost"));
}

#[test]
fn dma_requests_are_levels_of_the_flags() {
    let (mut rig, id) = port();
    rig.watch("USART1_TX_DMA");
    rig.watch("USART1_RX_DMA");
    rig.write32(BRR, 100);
    rig.write32(CR3, 0b11 << 6);
    rig.write32(CR1, UE | TE | RE);
    rig.run_to(500);
    rig.write32(TDR, 1);
    rig.bus.host_byte(id, 7);
    rig.run_to(3000);
    rig.read32(RDR);
    assert_eq!(rig.edges("USART1_TX_DMA"), [(0, true), (500, false), (1000, true)]);
    assert_eq!(rig.edges("USART1_RX_DMA"), [(1450, true), (3000, false)]);
}

#[test]
fn separate_kernel_clock_sets_the_bit_time() {
    let (mut rig, _) = port();
    rig.bus.clocks.set_core_hz(0, 48_000_000);
    rig.bus.clocks.set_kernel_hz("USART1", Some(8_000_000));
    rig.write32(BRR, 69);
    rig.write32(CR1, UE | TE);
    rig.write32(TDR, 0);
    rig.run_to(20 * 69 * 6);
    assert_eq!(rig.bus.outputs.frames[0].cycle, 20 * 69 * 6);
}

#[test]
fn oversampling_by_8_halves_the_divider() {
    let (mut rig, _) = port();
    // USARTDIV = 0x22 = 34: BRR[3:0] = 2 >> 1; 17 clocks per bit.
    rig.write32(BRR, 0x21);
    rig.write32(CR1, UE | TE | 1 << 15);
    rig.write32(TDR, 0x55);
    rig.run_to(20 * 17);
    assert_eq!(rig.bus.outputs.frames.len(), 1);
    assert_eq!(rig.bus.outputs.frames[0].cycle, 20 * 17);
}

#[test]
fn a_break_holds_the_line_low_for_a_frame() {
    let (mut rig, _) = port();
    rig.watch("USART1_TX");
    rig.write32(BRR, 100);
    rig.write32(CR1, UE | TE);
    rig.run_to(1000);
    rig.write32(RQR, 2);
    assert_ne!(flags(&mut rig, 1 << 18), 0);
    rig.write32(TDR, 0xff);
    rig.run_to(9000);
    let edges = rig.edges("USART1_TX");
    assert_eq!(edges, [(1000, false), (2000, true), (2200, false), (2300, true)]);
    assert_eq!(flags(&mut rig, 1 << 18), 0);
}

#[test]
fn unmodelled_modes_are_reported() {
    let (mut rig, _) = port();
    rig.write32(CR2, 1 << 14);
    assert_eq!(rig.bus.warnings.iter().next(), Some(("USART1: LIN mode is not modelled", 1)));
}

/// What a logic analyser makes of a TX line that is idle high: (data, stop bit was high).
fn decode(edges: &[(u64, bool)], bit: u64, word_bits: u64) -> Vec<(u16, bool)> {
    let level = |cycle: u64| edges.iter().rev().find(|e| e.0 <= cycle).is_none_or(|e| e.1);
    let (mut frames, mut from) = (Vec::new(), 0);
    while let Some(&(start, _)) = edges.iter().find(|e| e.0 >= from && !e.1) {
        let sample = |n: u64| level(start + bit * n + bit / 2);
        let word = (0..word_bits).map(|n| u16::from(sample(n + 1)) << n).sum();
        frames.push((word, sample(word_bits + 1)));
        from = start + bit * (word_bits + 1) + bit / 2;
    }
    frames
}

fn with_parity(data: u16, data_bits: u32, cr1: u32) -> u16 {
    let ones = data.count_ones() + u32::from(cr1 >> 9 & 1 != 0);
    if cr1 >> 10 & 1 == 0 { data } else { data | ((ones % 2) as u16) << data_bits }
}

proptest! {
    /// Every format: the line carries the bytes, and a second port on the line receives them.
    #[test]
    fn the_line_carries_what_was_written(
        bytes in proptest::collection::vec(any::<u16>(), 1..8),
        brr in 16u32..200,
        length in prop_oneof![Just(0u32), Just(1 << 12), Just(1 << 28)],
        parity in prop_oneof![Just(0u32), Just(1 << 10), Just(1 << 10 | 1 << 9)],
        stop in prop_oneof![Just(0u32), Just(2 << 12)],
    ) {
        let (mut rig, _) = port();
        rig.watch("USART1_TX");
        rig.set("USART2_RX", true);
        for base in [BASE, OTHER] {
            rig.write32(base + 0x0c, brr);
            rig.write32(base + 0x04, stop);
            rig.write32(base, UE | TE | RE | length | parity | 1 << 5);
        }
        let (mut sent, mut received) = (0, Vec::new());
        while rig.bus.next_due != u64::MAX || sent < bytes.len() {
            while sent < bytes.len() && flags(&mut rig, TXE) != 0 {
                rig.write32(TDR, bytes[sent].into());
                sent += 1;
            }
            rig.run_to(rig.bus.next_due);
            rig.set("USART2_RX", rig.level("USART1_TX"));
            if rig.irq(28) {
                prop_assert_eq!(rig.read32(OTHER + 0x1c) & 0xf, 0);
                received.push(rig.read32(OTHER + 0x24) as u16);
            }
        }
        let word_bits = match length { 0 => 8, 0x1000 => 9, _ => 7 };
        let data_bits = word_bits - u32::from(parity != 0);
        let data: Vec<u16> = bytes.iter().map(|b| b & ((1 << data_bits) - 1)).collect();
        let words: Vec<u16> = data.iter().map(|&d| with_parity(d, data_bits, parity)).collect();
        prop_assert_eq!(&received, &words);
        let seen = decode(&rig.edges("USART1_TX"), brr.into(), word_bits.into());
        prop_assert_eq!(seen, words.into_iter().map(|w| (w, true)).collect::<Vec<_>>());
        let frames = |wanted: Direction| -> Vec<u16> {
            let frames = rig.bus.outputs.frames.iter();
            frames.filter(|f| f.direction == wanted).map(|f| f.value).collect()
        };
        prop_assert_eq!(&frames(Direction::Transmit), &data);
        prop_assert_eq!(&frames(Direction::Receive), &data);
    }

    #[test]
    fn no_access_panics_or_hangs(
        accesses in proptest::collection::vec(
            (0u32..0x30, any::<u32>(), 0u64..5000, 0u8..8), 1..60)
    ) {
        let (mut rig, id) = port();
        rig.watch("USART1_TX");
        let mut now = 0;
        for (offset, value, wait, kind) in accesses {
            let size = [Size::Byte, Size::Half, Size::Word][kind as usize % 3];
            let address = BASE + offset / size.bytes() * size.bytes();
            match kind {
                0..3 => rig.bus.write(address, size, value).unwrap(),
                3..6 => drop(rig.bus.read(address, size).unwrap()),
                6 => rig.bus.host_byte(id, value as u8),
                _ => {
                    rig.bus.clocks.apb_divider = 1 << (value & 3);
                    rig.bus.clocks_dirty = true;
                    rig.set("USART1_RX", value & 4 != 0);
                }
            }
            now += wait;
            rig.run_to(now);
            prop_assert_eq!(rig.bus.now, now);
        }
        let cycles = rig.bus.outputs.frames.iter().map(|f| f.cycle);
        prop_assert!(cycles.is_sorted());
    }
}

/// Edges come late to nobody: looked at from far away, they are where they are from near, with
/// baud rate and clock changed in the middle of bytes.
#[test]
fn edges_do_not_depend_on_the_core_step() {
    let run = |every: bool| {
        let (mut rig, _) = port();
        rig.watch("USART1_TX");
        rig.write32(BRR, 100);
        rig.write32(CR1, UE | TE);
        let go_to = |rig: &mut Rig, cycle: u64| {
            while every && rig.bus.next_due < cycle {
                rig.run_to(rig.bus.next_due);
            }
            rig.run_to(cycle);
        };
        for (byte, at) in [(0x55, 1000), (0xa7, 1500), (0x31, 2900), (0xf0, 4711)] {
            go_to(&mut rig, at);
            rig.write32(TDR, byte);
            go_to(&mut rig, at + 333);
            rig.write32(BRR, 100 + (at % 7) as u32);
            go_to(&mut rig, at + 444);
            rig.bus.clocks.apb_divider = 1 + (at % 3) as u32;
            rig.bus.clocks_dirty = true;
            rig.bus.settle();
        }
        go_to(&mut rig, 5_300);
        (rig.edges("USART1_TX"), rig.bus.outputs.frames.clone(), rig.bus.next_due)
    };
    let (edges, frames, due) = run(true);
    assert!(edges.len() > 15 && frames.len() >= 2, "{edges:?} {frames:?}");
    assert!(due != u64::MAX, "it ends within a byte");
    assert_eq!(run(false), (edges, frames, due));
}

/// The core need not look up for an edge unless somebody acts on it.
#[test]
fn edges_that_nobody_acts_on_are_no_events() {
    let (mut rig, id) = port();
    rig.watch("USART1_TX");
    rig.write32(BRR, 100);
    rig.write32(CR1, UE | TE);
    rig.run_to(1000);
    rig.write32(TDR, 0x55);
    let events = rig.bus.events;
    assert_eq!((rig.bus.next_due, rig.bus.next_notable()), (1100, 2000));
    rig.run_to(1950);
    assert_eq!((rig.edges("USART1_TX").len(), rig.bus.events), (10, events));
    rig.write32(TDR, 0x55);
    rig.run_to(2000);
    assert_eq!(rig.bus.events, events + 1, "the flags change");
    rig.bus.outputs.heard_by.push(id);
    assert_eq!(rig.bus.next_notable(), 2100);
}
