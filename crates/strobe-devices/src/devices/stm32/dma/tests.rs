//! The controller as firmware and the bus see it.

use proptest::prelude::*;

use crate::rig::{RAM, Rig, apb_device};
use strobe_sim::kernel::device::Size;

const BASE: u32 = 0x4002_0000;
const USART: u32 = 0x4001_3800;
const TIM: u32 = 0x4000_0400;
const ISR: u32 = BASE;
const IFCR: u32 = BASE + 0x04;

const EN: u32 = 1;
const TCIE: u32 = 1 << 1;
const HTIE: u32 = 1 << 2;
const DIR: u32 = 1 << 4;
const CIRC: u32 = 1 << 5;
const PINC: u32 = 1 << 6;
const MINC: u32 = 1 << 7;
const MEM2MEM: u32 = 1 << 14;

const OPTIONS: &str = r#"
    requests = [
        [], ["A_DMA", "B_DMA when REMAP"], ["C_DMA unless REMAP"],
        ["USART1_TX_DMA"], ["TIM3_UP_DMA"],
    ]
    irq_lines = [0, 1, 1, 2, 2]
"#;

fn controller() -> Rig {
    let dma = apb_device(("DMA1", "stm32-dma"), BASE, &[9, 10, 11], OPTIONS);
    let usart = apb_device(("USART1", "stm32-usart"), USART, &[27], "");
    let timer = apb_device(("TIM3", "stm32-tim"), TIM, &[16], "");
    Rig::new(&(dma + &usart + &timer))
}

/// Programs a channel (counted from 1) and enables it last.
fn program(rig: &mut Rig, channel: u32, ccr: u32, count: u32, peripheral: u32, memory: u32) {
    let base = BASE + 0x08 + 0x14 * (channel - 1);
    rig.write32(base + 0x04, count);
    rig.write32(base + 0x08, peripheral);
    rig.write32(base + 0x0c, memory);
    rig.write32(base, ccr);
}

fn left(rig: &mut Rig, channel: u32) -> u32 {
    rig.read32(BASE + 0x0c + 0x14 * (channel - 1))
}

fn ram(rig: &Rig, offset: u32) -> u8 {
    rig.bus.peek(RAM + offset, Size::Byte).unwrap() as u8
}

#[test]
fn a_memory_copy_takes_five_cycles_per_beat() {
    let mut rig = controller();
    rig.bus.load(RAM, b"abcdefgh").unwrap();
    program(&mut rig, 1, EN | TCIE | PINC | MINC | MEM2MEM, 8, RAM, RAM + 100);
    // Arbitration and address 2, read 1, write 1; then the acknowledge 1.
    assert_eq!(rig.run_to_irq(9, 1000), Some(4 + 7 * 5));
    assert_eq!((0..8).map(|i| ram(&rig, 100 + i)).collect::<Vec<_>>(), b"abcdefgh");
    assert_eq!(rig.read32(ISR), 0b0111);
    rig.write32(IFCR, 1 << 1);
    assert_eq!((rig.read32(ISR), rig.irq(9)), (0b0101, false));
    rig.write32(IFCR, 1);
    assert_eq!(rig.read32(ISR), 0);
}

/// A boot loader that receives code by DMA.
#[test]
fn code_that_is_overwritten_is_decoded_anew() {
    let mut rig = controller();
    rig.bus.note_code_in_ram(RAM + 0x100, RAM + 0x120);
    let before = rig.bus.code_generation();
    program(&mut rig, 1, EN | PINC | MINC | MEM2MEM, 4, RAM, RAM + 0x80);
    rig.run_to(100);
    assert_eq!(rig.bus.code_generation(), before, "beside the code");
    program(&mut rig, 2, EN | PINC | MINC | MEM2MEM, 4, RAM, RAM + 0x11e);
    rig.run_to(200);
    assert!(rig.bus.code_generation() > before, "into the code");
}

#[test]
fn dma_access_delays_core_accesses_to_its_slave() {
    let mut rig = controller();
    program(&mut rig, 1, EN | MEM2MEM, 1, RAM, BASE + 0x400);
    rig.run_to(2);
    assert_eq!((rig.bus.contention(RAM, 2), rig.bus.contention(BASE, 2)), (1, 0));
    rig.run_to(3);
    // The rig's devices are on the APB: two cycles.
    assert_eq!((rig.bus.contention(RAM, 3), rig.bus.contention(BASE, 3)), (0, 2));
}

#[test]
fn each_request_seen_moves_one_item() {
    let mut rig = controller();
    rig.bus.load(RAM, &[1, 2, 3, 4]).unwrap();
    program(&mut rig, 2, EN | DIR | MINC | TCIE | HTIE, 4, RAM + 64, RAM);
    rig.run_to(50);
    assert_eq!(left(&mut rig, 2), 4);
    rig.set("A_DMA", true);
    rig.run_to(53);
    rig.set("A_DMA", false);
    rig.run_to(100);
    assert_eq!((left(&mut rig, 2), ram(&rig, 64)), (3, 1));
    rig.set("A_DMA", true);
    assert_eq!(rig.run_to_irq(10, 1000), Some(104), "half");
    rig.write32(IFCR, 0xffff_ffff);
    assert_eq!(rig.run_to_irq(10, 1000), Some(114), "complete");
    rig.run_to(200);
    assert_eq!((left(&mut rig, 2), ram(&rig, 64)), (0, 4));
}

/// A ring with a handler that comes late: halves and ends that are flagged already are lost.
#[test]
fn repeated_flags_of_a_ring_are_lost() {
    let mut rig = controller();
    program(&mut rig, 2, EN | MINC | CIRC | TCIE | HTIE, 4, RAM + 64, RAM);
    rig.set("A_DMA", true);
    // Twelve beats, the last at 59: three halves and three ends.
    rig.run_to(63);
    assert_eq!(rig.bus.lost_requests(10), 4);
    rig.write32(IFCR, 0xf << 4);
    rig.run_to(83);
    assert_eq!(rig.bus.lost_requests(10), 4, "the flags were clear");
}

#[test]
fn a_remap_wire_moves_requests_between_channels() {
    let mut rig = controller();
    program(&mut rig, 2, EN | MINC, 100, RAM, RAM + 64);
    program(&mut rig, 3, EN | MINC, 100, RAM, RAM + 64);
    rig.set("B_DMA", true);
    rig.set("C_DMA", true);
    rig.run_to(10);
    assert_eq!((left(&mut rig, 2), left(&mut rig, 3)), (100, 98));
    rig.set("REMAP", true);
    rig.run_to(20);
    assert!(left(&mut rig, 2) < 100);
}

#[test]
fn priority_then_channel_number_decides() {
    let mut rig = controller();
    program(&mut rig, 1, EN | MEM2MEM, 2, RAM, RAM + 64);
    program(&mut rig, 2, EN | MEM2MEM, 2, RAM, RAM + 64);
    program(&mut rig, 3, EN | MEM2MEM | 1 << 12, 2, RAM, RAM + 64);
    let mut order = Vec::new();
    for beat in 1..=6 {
        let before: Vec<u32> = (1..=3).map(|c| left(&mut rig, c)).collect();
        rig.run_to(beat * 5);
        order.extend((1..=3).filter(|&c| left(&mut rig, c) != before[c as usize - 1]));
    }
    // The first channel was granted before the others were on; a grant holds for one beat.
    assert_eq!(order, [1, 3, 3, 1, 2, 2]);
}

#[test]
fn a_bus_error_switches_the_channel_off() {
    let mut rig = controller();
    program(&mut rig, 1, EN | MEM2MEM | 1 << 3, 5, 0x9000_0000, RAM);
    assert_eq!(rig.run_to_irq(9, 100), Some(2));
    assert_eq!(rig.read32(ISR), 0b1001);
    assert_eq!(rig.read32(BASE + 0x08) & EN, 0);
    assert_eq!(left(&mut rig, 1), 5);
}

#[test]
fn a_circular_channel_starts_over() {
    let mut rig = controller();
    rig.bus.load(RAM, &[1, 2, 3]).unwrap();
    program(&mut rig, 2, EN | DIR | CIRC | MINC | TCIE, 3, RAM + 64, RAM);
    rig.set("A_DMA", true);
    let mut seen = Vec::new();
    for _ in 0..3 {
        rig.run_to_irq(10, 10_000).unwrap();
        rig.write32(IFCR, 0xffff_ffff);
        seen.push((ram(&rig, 64), left(&mut rig, 2)));
    }
    assert_eq!(seen, [(3, 3); 3]);
    assert!(rig.bus.next_due < u64::MAX, "it goes on");
}

#[test]
fn it_feeds_a_serial_port_without_the_core() {
    let mut rig = controller();
    rig.bus.load(RAM, b"hello").unwrap();
    rig.write32(USART + 0x0c, 100);
    rig.write32(USART + 0x08, 1 << 7);
    rig.write32(USART, 0b1001);
    program(&mut rig, 4, EN | DIR | MINC | TCIE, 5, USART + 0x28, RAM);
    // The data register is full during the idle frame; the last byte follows three frames later.
    let frame = 1000;
    let end = rig.run_to_irq(11, 100_000).unwrap();
    assert_eq!(end, 4 * frame + 2 + 1 + 2);
    rig.run_to(10 * frame);
    let sent: Vec<u8> = rig.bus.outputs.frames.iter().map(|f| f.value as u8).collect();
    assert_eq!(sent, b"hello");
    assert_eq!(rig.bus.outputs.frames[4].cycle, 6 * frame, "without a gap");
}

#[test]
fn a_timer_paces_it_once_per_update() {
    let mut rig = controller();
    rig.write32(TIM + 0x2c, 99);
    rig.write32(TIM + 0x0c, 1 << 8);
    program(&mut rig, 5, EN | MINC, 1000, RAM, RAM + 64);
    rig.write32(TIM, 1);
    rig.run_to(1050);
    assert_eq!(left(&mut rig, 5), 1000 - 10);
}

fn size(code: u32) -> Size {
    [Size::Byte, Size::Half, Size::Word, Size::Word][code as usize]
}

proptest! {
    /// Against the manual's description: read, widen with zeros or narrow, write, step both
    /// addresses.
    #[test]
    fn sizes_and_increments_agree_with_a_simple_reference(
        psize in 0u32..4, msize in 0u32..4, flags in 0u32..8, count in 1u32..40,
        from in 0u32..64, to in 0u32..512,
    ) {
        let ccr = (flags & 1) << 4 | (flags >> 1) << 6 | psize << 8 | msize << 10;
        let (peripheral, memory) = (RAM + 512 + from, RAM + 1024 + to);
        let mut rig = controller();
        let contents: Vec<u8> = (0..2048u32).map(|i| (i * 7 + 3) as u8).collect();
        rig.bus.load(RAM, &contents).unwrap();
        program(&mut rig, 1, EN | MEM2MEM | ccr, count, peripheral, memory);
        rig.run_to(u64::from(count) * 5);

        let mut expected = contents;
        for i in 0..count {
            let at = |base: u32, size: Size, step: bool| {
                let address = base + if step { i * size.bytes() } else { 0 };
                ((address - RAM) & !(size.bytes() - 1)) as usize
            };
            let p = (at(peripheral, size(psize), ccr & PINC != 0), size(psize));
            let m = (at(memory, size(msize), ccr & MINC != 0), size(msize));
            let (read, write) = if ccr & DIR != 0 { (m, p) } else { (p, m) };
            let mut value = [0; 4];
            let bytes = read.1.bytes() as usize;
            value[..bytes].copy_from_slice(&expected[read.0..read.0 + bytes]);
            let bytes = write.1.bytes() as usize;
            expected[write.0..write.0 + bytes].copy_from_slice(&value[..bytes]);
        }
        let result: Vec<u8> = (0..2048).map(|i| ram(&rig, i)).collect();
        prop_assert_eq!(result, expected);
        prop_assert_eq!((left(&mut rig, 1), rig.bus.next_due), (0, u64::MAX));
    }

    #[test]
    fn no_access_panics_or_hangs(
        accesses in proptest::collection::vec((0u32..0x80, any::<u32>(), 0u64..500, 0u8..7), 1..60)
    ) {
        let mut rig = controller();
        let mut now = 0;
        for (offset, value, wait, kind) in accesses {
            let size = [Size::Byte, Size::Half, Size::Word][kind as usize % 3];
            let address = BASE + offset / size.bytes() * size.bytes();
            match kind {
                0..3 => rig.bus.write(address, size, value).unwrap(),
                3..6 => drop(rig.bus.read(address, size).unwrap()),
                _ => rig.set("A_DMA", value & 1 != 0),
            }
            now += wait;
            rig.run_to(now);
            prop_assert_eq!(rig.bus.now, now);
        }
    }
}
