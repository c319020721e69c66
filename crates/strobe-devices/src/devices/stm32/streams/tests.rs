//! The controller as firmware and the bus see it (RM0090 10.3 and 10.5).

use proptest::prelude::*;

use crate::rig::{RAM, Rig, apb_device};
use strobe_sim::kernel::device::Size;

const BASE: u32 = 0x4002_6400;
const USART: u32 = 0x4001_1000;
const TIM: u32 = 0x4000_0400;
const LISR: u32 = BASE;
const LIFCR: u32 = BASE + 0x08;

const EN: u32 = 1;
const TCIE: u32 = 1 << 4;
const HTIE: u32 = 1 << 3;
const TO_PERIPHERAL: u32 = 1 << 6;
const COPY: u32 = 2 << 6;
const CIRC: u32 = 1 << 8;
const PINC: u32 = 1 << 9;
const MINC: u32 = 1 << 10;
const DBM: u32 = 1 << 18;
const CT: u32 = 1 << 19;
const FIFO: u32 = 1 << 2;
const FULL: u32 = 3;
const HALF: u32 = 1 << 4;
const COMPLETE: u32 = 1 << 5;

const OPTIONS: &str = r#"
    requests = [
      ["A_DMA", "B_DMA", "USART1_TX_DMA", "USART1_RX_DMA"],
      ["TIM3_UP_DMA B_DMA"],
    ]
"#;

fn controller() -> Rig {
    let irqs = [11, 12, 13, 14, 15, 16, 17, 18];
    let dma = apb_device(("DMA2", "stm32-dma-streams"), BASE, &irqs, OPTIONS);
    let usart = apb_device(("USART1", "stm32-usart-v1"), USART, &[27], "");
    let timer = apb_device(("TIM3", "stm32-tim"), TIM, &[28], "");
    Rig::new(&(dma + &usart + &timer))
}

fn registers(stream: u32) -> u32 {
    BASE + 0x10 + 0x18 * stream
}

/// Programs a stream and enables it last.
fn program(rig: &mut Rig, stream: u32, cr: u32, fcr: u32, count: u32, ends: (u32, u32)) {
    let base = registers(stream);
    rig.write32(base + 0x04, count);
    rig.write32(base + 0x08, ends.0);
    rig.write32(base + 0x0c, ends.1);
    rig.write32(base + 0x14, fcr);
    rig.write32(base, cr);
}

fn control(rig: &mut Rig, stream: u32) -> u32 {
    rig.read32(registers(stream))
}

fn left(rig: &mut Rig, stream: u32) -> u32 {
    rig.read32(registers(stream) + 4)
}

fn ram(rig: &Rig, offset: u32, count: u32) -> Vec<u8> {
    (0..count).map(|i| rig.bus.peek(RAM + offset + i, Size::Byte).unwrap() as u8).collect()
}

/// One request, served and withdrawn.
fn request(rig: &mut Rig, wire: &str, cycles: u64) {
    rig.set(wire, true);
    rig.run_to(rig.bus.now + cycles);
    rig.set(wire, false);
    rig.run_to(rig.bus.now + 20);
}

#[test]
fn reset_values() {
    let mut rig = controller();
    for stream in 0..8 {
        let base = registers(stream);
        let values: Vec<u32> = (0..6).map(|n| rig.read32(base + 4 * n)).collect();
        assert_eq!(values, [0, 0, 0, 0, 0, 0x21]);
    }
    assert_eq!((rig.read32(LISR), rig.read32(LISR + 4)), (0, 0));
}

/// 10.3.6: peripheral to memory, one item each time it is asked for, without the FIFO.
#[test]
fn direct_mode_moves_each_item_at_once() {
    let mut rig = controller();
    rig.write32(RAM, 0x4433_2211);
    program(&mut rig, 0, EN | PINC | MINC | TCIE | HTIE, 0, 4, (RAM, RAM + 64));
    rig.run_to(50);
    assert_eq!(left(&mut rig, 0), 4);
    // Arbitration 2 and read 1, seen in NDTR when over; then arbitration 2 and write 1.
    rig.set("A_DMA", true);
    rig.run_to(53);
    assert_eq!((left(&mut rig, 0), ram(&rig, 64, 1)), (3, vec![0]));
    rig.set("A_DMA", false);
    rig.run_to(56);
    assert_eq!(ram(&rig, 64, 2), [0x11, 0]);
    request(&mut rig, "A_DMA", 3);
    assert_eq!((rig.read32(LISR), rig.irq(11)), (HALF, true));
    rig.write32(LIFCR, HALF);
    assert!(!rig.irq(11));
    rig.set("A_DMA", true);
    rig.run_to(200);
    assert_eq!(ram(&rig, 64, 5), [0x11, 0x22, 0x33, 0x44, 0]);
    assert_eq!((rig.read32(LISR), control(&mut rig, 0) & EN), (COMPLETE, 0));
}

#[test]
fn towards_a_peripheral_one_item_is_loaded_ahead() {
    let mut rig = controller();
    rig.write32(RAM, 0x4433_2211);
    program(&mut rig, 0, EN | TO_PERIPHERAL | MINC, 0, 4, (RAM + 64, RAM));
    rig.run_to(50);
    rig.write32(RAM, 0);
    rig.set("A_DMA", true);
    rig.run_to(53);
    assert_eq!((ram(&rig, 64, 1), left(&mut rig, 0)), (vec![0x11], 3));
    rig.run_to(200);
    assert_eq!(ram(&rig, 64, 1), [0], "the others were read later");
}

/// 10.3.12: bytes from the peripheral collect in the FIFO and leave it as words.
#[test]
fn the_fifo_packs_up_to_its_threshold() {
    let mut rig = controller();
    rig.bus.load(RAM, &(1..=20).collect::<Vec<u8>>()).unwrap();
    let words = 2 << 13;
    program(&mut rig, 0, EN | PINC | MINC | words, FIFO | 1, 10, (RAM, RAM + 64));
    for n in 1..=7 {
        request(&mut rig, "A_DMA", 3);
        assert_eq!(left(&mut rig, 0), 10 - n);
    }
    assert_eq!(ram(&rig, 64, 8), [0; 8]);
    assert_eq!(rig.read32(registers(0) + 0x14) >> 3 & 7, 1, "between a quarter and a half");
    request(&mut rig, "A_DMA", 3);
    assert_eq!(ram(&rig, 64, 9), [1, 2, 3, 4, 5, 6, 7, 8, 0]);
    assert_eq!(rig.read32(registers(0) + 0x14) >> 3 & 7, 4, "empty");
    request(&mut rig, "A_DMA", 3);
    request(&mut rig, "A_DMA", 3);
    assert_eq!(ram(&rig, 64, 11), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0], "the rest of the block");
    assert_eq!(rig.read32(LISR) & COMPLETE, COMPLETE);
}

#[test]
fn a_full_fifo_feeds_bursts() {
    let mut rig = controller();
    rig.bus.load(RAM, &(0..64).collect::<Vec<u8>>()).unwrap();
    // Words in bursts of four from memory, single bytes to the peripheral.
    let bursts = 2 << 13 | 1 << 23;
    program(
        &mut rig,
        0,
        EN | TO_PERIPHERAL | MINC | PINC | bursts,
        FIFO | FULL,
        32,
        (RAM + 64, RAM),
    );
    rig.run_to(3);
    assert_eq!(rig.bus.contention(RAM, 2), 4, "the core waits for the whole burst");
    rig.run_to(20);
    assert_eq!(rig.read32(registers(0) + 0x14) >> 3 & 7, 5, "full before anybody asks");
    rig.set("A_DMA", true);
    rig.run_to(1000);
    assert_eq!(ram(&rig, 64, 33), (0..32).chain([64]).map(|n| n % 64).collect::<Vec<u8>>());
}

/// 10.3.12, table 48: a threshold that is no multiple of the burst.
#[test]
fn an_impossible_threshold_is_refused() {
    for (fth, mburst, msize, ok) in
        [(0, 1, 0, true), (0, 2, 0, false), (1, 2, 0, true), (2, 1, 1, false), (3, 1, 2, true)]
    {
        let mut rig = controller();
        let cr = EN | msize << 13 | mburst << 23;
        program(&mut rig, 0, cr, FIFO | fth | 1 << 7, 8, (RAM, RAM + 64));
        let state = (control(&mut rig, 0) & EN, rig.read32(LISR) & 1, rig.irq(11));
        assert_eq!(state, if ok { (1, 0, false) } else { (0, 1, true) }, "{fth} {mburst} {msize}");
    }
}

#[test]
fn memory_is_copied_through_both_ports() {
    let mut rig = controller();
    rig.bus.load(RAM, &(0..40).collect::<Vec<u8>>()).unwrap();
    program(
        &mut rig,
        5,
        EN | COPY | PINC | MINC | TCIE | 2 << 13,
        FIFO | FULL,
        37,
        (RAM, RAM + 64),
    );
    let end = rig.run_to_irq(16, 10_000).unwrap();
    assert_eq!(ram(&rig, 64, 38), (0..37).chain([0]).collect::<Vec<u8>>());
    // 37 reads of arbitration 2, access 1, acknowledge 1; the rest of the block is written behind
    // them.
    assert!((37 * 4..37 * 4 + 16).contains(&end), "{end}");
    assert_eq!(rig.read32(BASE + 4), COMPLETE << 6 | HALF << 6);
}

#[test]
fn circular_and_double_buffers() {
    let mut rig = controller();
    rig.write32(RAM, 0x4433_2211);
    rig.write32(registers(0) + 0x10, RAM + 96);
    program(&mut rig, 0, EN | PINC | MINC | DBM | TCIE, 0, 2, (RAM, RAM + 64));
    request(&mut rig, "A_DMA", 7);
    assert_eq!((ram(&rig, 64, 3), ram(&rig, 96, 2)), (vec![0x11, 0x22, 0], vec![0, 0]));
    assert_eq!((control(&mut rig, 0) & (CT | EN), left(&mut rig, 0)), (CT | EN, 2));
    // The buffer that is not in use can be moved.
    rig.write32(registers(0) + 0x0c, RAM + 128);
    rig.write32(registers(0) + 0x10, RAM + 200);
    request(&mut rig, "A_DMA", 7);
    assert_eq!((ram(&rig, 96, 2), control(&mut rig, 0) & CT), (vec![0x11, 0x22], 0));
    request(&mut rig, "A_DMA", 7);
    assert_eq!(ram(&rig, 128, 2), [0x11, 0x22]);
    assert_eq!(rig.bus.lost_requests(11), 2, "nobody cleared the first end");
    // A ring to a peripheral starts over.
    program(&mut rig, 1, EN | TO_PERIPHERAL | MINC | CIRC, 0, 3, (RAM + 300, RAM));
    rig.set("B_DMA", true);
    let mut seen = Vec::new();
    while seen.len() < 7 {
        let before = left(&mut rig, 1);
        let next = rig.bus.next_due;
        rig.run_to(next);
        if left(&mut rig, 1) != before {
            seen.push(ram(&rig, 300, 1)[0]);
        }
    }
    assert_eq!(seen, [0x11, 0x22, 0x33, 0x11, 0x22, 0x33, 0x11]);
}

/// 10.3.13: what is in the FIFO reaches memory before the stream is off.
#[test]
fn switching_off_flushes_the_fifo() {
    let mut rig = controller();
    rig.bus.load(RAM, &[1, 2, 3, 4]).unwrap();
    program(&mut rig, 0, EN | PINC | MINC, FIFO | FULL, 10, (RAM, RAM + 64));
    (0..3).for_each(|_| request(&mut rig, "A_DMA", 3));
    assert_eq!(ram(&rig, 64, 1), [0]);
    rig.write32(registers(0), PINC | MINC);
    assert_eq!(control(&mut rig, 0) & EN, EN, "not yet");
    rig.run_to(rig.bus.now + 50);
    assert_eq!((ram(&rig, 64, 4), left(&mut rig, 0)), (vec![1, 2, 3, 0], 7));
    assert_eq!((control(&mut rig, 0) & EN, rig.read32(LISR)), (0, COMPLETE));
    rig.set("A_DMA", true);
    rig.run_to(rig.bus.now + 50);
    assert_eq!(left(&mut rig, 0), 7);
}

#[test]
fn priority_then_number_decides_and_channels_select_the_wire() {
    let mut rig = controller();
    rig.set("B_DMA", true);
    let high = 1 << 16;
    program(&mut rig, 0, EN | MINC, 0, 100, (RAM, RAM + 64));
    program(&mut rig, 1, EN | MINC | high, 0, 3, (RAM, RAM + 64));
    rig.run_to(100);
    assert_eq!((left(&mut rig, 0), left(&mut rig, 1)), (100, 0), "stream 0 listens to A");
    rig.write32(registers(0), 0);
    rig.run_to(rig.bus.now + 10);
    let channel_1 = 1 << 25;
    program(&mut rig, 0, EN | MINC | channel_1, 0, 50, (RAM, RAM + 64));
    // In direct mode it would leave the port to the other while its item goes to memory.
    program(&mut rig, 1, EN | MINC | high, FIFO | FULL, 3, (RAM, RAM + 64));
    while left(&mut rig, 1) > 0 {
        assert!(left(&mut rig, 0) >= 49, "it had been granted before");
        let next = rig.bus.next_due;
        rig.run_to(next);
    }
    rig.run_to(rig.bus.now + 1000);
    assert_eq!(left(&mut rig, 0), 0);
}

#[test]
fn errors_switch_the_stream_off() {
    let mut rig = controller();
    program(&mut rig, 0, EN | COPY | 1 << 2, 0, 5, (0x9000_0000, RAM));
    rig.run_to(50);
    assert_eq!((rig.read32(LISR), control(&mut rig, 0) & EN, rig.irq(11)), (1 << 3, 0, true));
    // A controller whose peripheral port reaches one bus only.
    let limited = format!("apb1_only = true\n{OPTIONS}");
    let mut rig = Rig::new(&apb_device(("DMA1", "stm32-dma-streams"), BASE, &[11], &limited));
    program(&mut rig, 0, EN | COPY, 0, 5, (RAM, RAM + 64));
    rig.run_to(50);
    assert_eq!(rig.read32(LISR), 1 << 3);
}

#[test]
fn core_coupled_memory_is_out_of_reach() {
    let ccm = "[[memory]]\nname = 'ccm'\nkind = 'ram'\nbase = 0x1000_0000\nsize = 0x100\ncore_only \
               = true\n";
    let dma = apb_device(("DMA2", "stm32-dma-streams"), BASE, &[11], OPTIONS);
    let mut rig = Rig::new(&format!("{ccm}{dma}"));
    rig.write32(0x1000_0000, 7);
    program(&mut rig, 0, EN | COPY, 0, 5, (0x1000_0000, RAM));
    rig.run_to(50);
    assert_eq!((rig.read32(LISR), rig.read32(0x1000_0000)), (1 << 3, 7));
}

#[test]
fn it_serves_a_serial_port_both_ways() {
    let mut rig = controller();
    rig.bus.load(RAM, b"hello").unwrap();
    rig.write32(USART + 0x08, 100);
    rig.write32(USART + 0x14, 3 << 6);
    rig.write32(USART + 0x0c, 1 << 13 | 3 << 2);
    program(&mut rig, 2, EN | TO_PERIPHERAL | MINC | TCIE, 0, 5, (USART + 4, RAM));
    program(&mut rig, 3, EN | MINC | TCIE, 0, 4, (USART + 4, RAM + 64));
    let id = rig.bus.device_named("USART1").unwrap();
    b"ping".iter().for_each(|&byte| rig.bus.host_byte(id, byte));
    assert!(rig.run_to_irq(14, 100_000).is_some());
    assert_eq!(ram(&rig, 64, 5), b"ping\0");
    assert!(rig.run_to_irq(13, 100_000).is_some());
    rig.run_to(20_000);
    let sent = rig
        .bus
        .outputs
        .frames
        .iter()
        .filter(|f| f.direction == strobe_sim::kernel::device::Direction::Transmit);
    let sent: Vec<(u64, u8)> = sent.map(|f| (f.cycle, f.value as u8)).collect();
    assert_eq!(sent.iter().map(|s| s.1).collect::<Vec<_>>(), b"hello");
    assert_eq!(sent[4].0, 6 * 1000, "without a gap after the idle frame");
}

#[test]
fn a_timer_paces_it_once_per_update() {
    let mut rig = controller();
    rig.write32(TIM + 0x2c, 99);
    rig.write32(TIM + 0x0c, 1 << 8);
    program(&mut rig, 0, EN | MINC | 1 << 25, 0, 1000, (RAM, RAM + 64));
    rig.write32(TIM, 1);
    rig.run_to(1050);
    assert_eq!(left(&mut rig, 0), 1000 - 10);
}

proptest! {
    /// Whatever sizes, bursts, thresholds and pace: the bytes arrive, in order, and nothing else
    /// changes.
    #[test]
    fn every_setting_moves_the_same_bytes(
        way in 0u32..3, psize in 0u32..3, msize in 0u32..3, pburst in 0u32..3, mburst in 0u32..3,
        fcr in 0u32..8, blocks in 1u32..20, pace in 1u64..30,
    ) {
        let direct = fcr & 4 == 0 && way != 2;
        // A burst that the FIFO has no room for never begins, on silicon neither.
        let fits = direct || [1, 4, 8][pburst as usize] << psize <= 16;
        let pburst = if fits { pburst } else { 0 };
        let bytes = blocks * 16;
        let mut rig = controller();
        let data: Vec<u8> = (0..bytes).map(|n| (n * 7 + 1) as u8).collect();
        let (peripheral, memory) = (RAM + 0x100, RAM + 0x800);
        rig.bus.load(if way == 1 { memory } else { peripheral }, &data).unwrap();
        let sizes = psize << 11 | msize << 13 | pburst << 21 | mburst << 23;
        let cr = EN | way << 6 | PINC | MINC | sizes;
        program(&mut rig, 0, cr, fcr, bytes >> psize, (peripheral, memory));
        let refused = rig.read32(LISR) & 1 != 0;
        for _ in 0..2 * bytes {
            rig.set("A_DMA", true);
            rig.run_to(rig.bus.now + pace);
            rig.set("A_DMA", false);
            rig.run_to(rig.bus.now + 100);
        }
        let to = if way == 1 { 0x100 } else { 0x800 };
        if refused {
            prop_assert_eq!(left(&mut rig, 0), bytes >> psize);
        } else {
            prop_assert_eq!(ram(&rig, to, bytes + 1), [&data[..], &[0]].concat());
            prop_assert_eq!((left(&mut rig, 0), rig.bus.next_due), (0, u64::MAX));
            prop_assert_eq!(rig.read32(LISR), HALF | COMPLETE);
        }
    }

    #[test]
    fn no_access_panics_or_hangs(
        accesses in proptest::collection::vec((0u32..0xd0, any::<u32>(), 0u64..300, 0u8..7), 1..60)
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
