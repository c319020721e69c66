//! The block as a driver sees it (RM0090 33.6 and 33.8).

use proptest::prelude::*;

use super::*;
use crate::devices::common::ethernet::frame_check;
use crate::rig::{RAM, Rig, apb_device};

const BASE: u32 = 0x4002_8000;
const OWN: u32 = 1 << 31;
const TX: u32 = RAM;
const RX: u32 = RAM + 0x100;
const BUFFERS: u32 = RAM + 0x400;
const OUT: u32 = RAM + 0xa00;

fn ethernet(options: &str) -> Rig {
    let device = apb_device(("ETH", "stm32-eth"), BASE, &[5, 6], options);
    let mut rig = Rig::new(&device.replace("size = 0x400", "size = 0x1400"));
    rig.run_to(8_000);
    rig
}

/// A ring of two transmit descriptors and two receive descriptors of 128 bytes, everything on at
/// 100 Mbit/s.
fn started() -> Rig {
    let mut rig = ethernet("backend = 'loopback'");
    for n in 0..2 {
        let end = if n == 1 { 1 << 15 } else { 0 };
        rig.write32(RX + 16 * n, OWN);
        rig.write32(RX + 16 * n + 4, 128 | end);
        rig.write32(RX + 16 * n + 8, BUFFERS + 128 * n);
    }
    rig.write32(BASE + DMATDLAR, TX);
    rig.write32(BASE + DMARDLAR, RX);
    rig.write32(BASE + DMAIER, dmasr::NIS | dmasr::RS | dmasr::TS);
    rig.write32(BASE + MACCR, 1 << maccr::FES | 1 << maccr::TE | 1 << maccr::RE);
    rig.write32(BASE + DMAOMR, 1 << dmaomr::ST | 1 << dmaomr::SR);
    rig
}

/// Hands over a frame in transmit descriptor `n` and polls.
fn send(rig: &mut Rig, n: u32, frame: &[u8], flags: u32) {
    rig.bus.load(OUT, frame).unwrap();
    let end = if n == 1 { 1 << tdes0::TER } else { 0 };
    rig.write32(TX + 16 * n + 4, frame.len() as u32);
    rig.write32(TX + 16 * n + 8, OUT);
    rig.write32(TX + 16 * n, OWN | 1 << tdes0::FS | 1 << tdes0::LS | flags | end);
    rig.write32(BASE + DMATPDR, 0);
}

fn bytes(rig: &Rig, from: u32, count: u32) -> Vec<u8> {
    (0..count).map(|i| rig.bus.peek(from + i, Size::Byte).unwrap() as u8).collect()
}

fn broadcast(length: usize) -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend([2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    frame.extend((14..length).map(|n| n as u8));
    frame
}

#[test]
fn reset_values_and_software_reset() {
    let mut rig = ethernet("");
    for (register, value) in [
        (MACCR, 0x8000),
        (registers::MACA0HR, 0x8000_ffff),
        (DMABMR, 0x2_0100),
        (DMASR, 0),
        (DMAOMR, 0),
    ] {
        assert_eq!(rig.read32(BASE + register), value, "register {register:#x}");
    }
    rig.write32(BASE + MACCR, 0xc);
    rig.write32(BASE + DMABMR, 1);
    assert_eq!((rig.read32(BASE + DMABMR) & 1, rig.read32(BASE + MACCR)), (1, 0x8000));
    rig.advance(8);
    assert_eq!(rig.read32(BASE + DMABMR) & 1, 0, "a microsecond later");
}

/// 33.4.1: 64 clocks of HCLK divided by 16.
#[test]
fn the_management_interface_takes_its_time() {
    let mut rig = ethernet("phy = { address = 1, id = 0x20005c90 }");
    let read = |rig: &mut Rig, address: u32, register: u32| {
        rig.write32(BASE + MACMIIAR, address << 11 | register << 6 | 2 << 2 | 1);
        assert_eq!(rig.read32(BASE + MACMIIAR) & 1, 1);
        rig.advance(64 * 16 - 1);
        assert_eq!(rig.read32(BASE + MACMIIAR) & 1, 1);
        rig.advance(1);
        assert_eq!(rig.read32(BASE + MACMIIAR) & 1, 0);
        rig.read32(BASE + MACMIIDR)
    };
    assert_eq!((read(&mut rig, 1, 2), read(&mut rig, 1, 3)), (0x2000, 0x5c90));
    assert_eq!(read(&mut rig, 0, 2), 0xffff, "nobody there");
    assert_eq!(read(&mut rig, 1, 1) & 4, 0, "no link yet");
    rig.advance(80_000);
    assert_eq!(read(&mut rig, 1, 1) & 0x24, 0x24);
    rig.write32(BASE + MACMIIDR, 0x0081);
    rig.write32(BASE + MACMIIAR, 1 << 11 | 4 << 6 | 2 | 1);
    rig.advance(64 * 42);
    assert_eq!(read(&mut rig, 1, 4), 0x81);
}

#[test]
fn sent_frame_returns_after_its_time_on_wire() {
    let mut rig = started();
    assert_eq!(rig.read32(BASE + DMASR) >> 20 & 7, 6, "suspended: nothing to send");
    let frame = broadcast(100);
    let begin = rig.bus.now;
    send(&mut rig, 0, &frame, 1 << tdes0::IC);
    let end = rig.run_to_irq(5, 1_000_000).unwrap();
    // 124 bytes with preamble, check sequence and gap at 100 Mbit/s; the core runs at 8 MHz.
    assert_eq!(end - begin, (124u64 * 8 * 8).div_ceil(100));
    assert_eq!(rig.read32(TX) & OWN, 0);
    let status = rig.read32(RX);
    assert_eq!(status, 104 << 16 | 1 << 9 | 1 << 8 | 1 << 5, "length with check sequence");
    assert_eq!(bytes(&rig, BUFFERS, 100), frame);
    assert_eq!(bytes(&rig, BUFFERS + 100, 4), frame_check(&frame));
    let flags = rig.read32(BASE + DMASR);
    assert_eq!(flags & 0x1_ffff, dmasr::NIS | dmasr::RS | dmasr::TS | dmasr::TBUS);
    rig.write32(BASE + DMASR, flags);
    assert!(!rig.irq(5));
}

#[test]
fn short_frames_are_padded_and_long_ones_span_descriptors() {
    let mut rig = started();
    send(&mut rig, 0, &broadcast(20), 0);
    rig.advance(1_000);
    assert_eq!(rig.read32(RX) >> 16, 64);
    assert_eq!(bytes(&rig, BUFFERS, 60), [&broadcast(20)[..], &[0; 40]].concat());
    rig.write32(RX, OWN);
    send(&mut rig, 1, &broadcast(200), 0);
    rig.advance(1_000);
    assert_eq!(rig.read32(RX + 16), 1 << 9, "the first of two");
    assert_eq!(rig.read32(RX), 204 << 16 | 1 << 8 | 1 << 5);
    assert_eq!(bytes(&rig, BUFFERS + 128, 128), broadcast(200)[..128]);
    assert_eq!(bytes(&rig, BUFFERS, 72), broadcast(200)[128..]);
}

#[test]
fn length_frames_lose_padding_and_checksum_on_request() {
    let mut rig = started();
    let control = rig.read32(BASE + MACCR);
    rig.write32(BASE + MACCR, control | 1 << 7);
    let mut frame = broadcast(34);
    frame[12..14].copy_from_slice(&20u16.to_be_bytes());
    send(&mut rig, 0, &frame, 0);
    rig.advance(1_000);
    assert_eq!(rig.read32(RX) >> 16, 34, "header and the twenty bytes that its length announces");
    rig.write32(RX, OWN);
    send(&mut rig, 1, &broadcast(100), 0);
    rig.advance(1_000);
    assert_eq!(rig.read32(RX + 16) >> 16, 104, "a type frame keeps its check sequence");
}

#[test]
fn without_descriptors_frames_wait_and_then_are_missed() {
    let mut rig = started();
    for n in 0..25 {
        send(&mut rig, n % 2, &broadcast(100), 0);
        rig.advance(1_000);
    }
    assert_eq!(rig.read32(BASE + DMASR) & dmasr::RBUS, dmasr::RBUS);
    assert_eq!(rig.read32(BASE + DMASR) >> 17 & 7, 4, "suspended");
    // Two are in memory, 19 of 104 bytes fit the FIFO.
    assert_eq!((rig.read32(BASE + DMAMFBOCR), rig.read32(BASE + DMAMFBOCR)), (25 - 2 - 19, 0));
    rig.write32(RX, OWN);
    rig.write32(RX + 16, OWN);
    rig.write32(BASE + DMARPDR, 0);
    assert_eq!((rig.read32(RX) & OWN, rig.read32(RX + 16) & OWN), (0, 0));
}

#[test]
fn addresses_are_filtered() {
    let own = [2, 0, 0, 0, 0, 0x42];
    for (destination, filter, taken) in [
        (own, 0, true),
        ([2, 0, 0, 0, 0, 0x43], 0, false),
        ([2, 0, 0, 0, 0, 0x43], 1, true),
        ([2, 0, 0, 0, 0, 0x43], 1 << 3, true),
        ([1, 0, 0x5e, 0, 0, 1], 0, false),
        ([1, 0, 0x5e, 0, 0, 1], 1 << 4, true),
        ([0xff; 6], 1 << 5, false),
    ] {
        let mut rig = started();
        rig.write32(BASE + registers::MACA0HR, 0x4200);
        rig.write32(BASE + registers::MACA0HR + 4, 2);
        rig.write32(BASE + registers::MACFFR, filter);
        let mut frame = broadcast(60);
        frame[..6].copy_from_slice(&destination);
        send(&mut rig, 0, &frame, 0);
        rig.advance(1_000);
        assert_eq!(rig.read32(RX) & OWN == 0, taken, "{destination:x?} {filter:#x}");
    }
}

/// The two examples of 33.8.1, MACHTHR: hashes 0x2c and 0x07.
#[test]
fn addresses_can_be_hashed() {
    for (address, register, place) in [
        ([0x1f, 0x52, 0x41, 0x9c, 0xb6, 0xaf], registers::MACHTHR, 0x2c - 32),
        ([0xa0, 0x0a, 0x98, 0x00, 0x00, 0x45], registers::MACHTLR, 0x07),
    ] {
        let mut all = Registers::reset();
        all.write(registers::MACFFR, 0b110);
        assert!(!filter::accepts(&all, &address));
        all.write(register, 1 << place);
        assert!(filter::accepts(&all, &address));
        all.write(register, !(1 << place));
        assert!(!filter::accepts(&all, &address));
    }
}

#[test]
fn chains_without_end_and_bad_addresses_end_in_flags() {
    let mut rig = started();
    rig.write32(TX + 4, 1000);
    rig.write32(TX + 8, OUT & !0xfff);
    rig.write32(TX + 12, TX);
    rig.write32(TX, OWN | 1 << tdes0::TCH);
    rig.write32(BASE + DMATPDR, 0);
    assert_eq!(rig.read32(BASE + DMASR) & dmasr::TJTS, dmasr::TJTS);
    rig.write32(BASE + DMATDLAR, 0x9000_0000);
    rig.write32(BASE + DMATPDR, 0);
    assert_eq!(rig.read32(BASE + DMASR) & dmasr::FBES, dmasr::FBES);
    assert_eq!(rig.read32(BASE + DMAOMR), 0, "both processes stopped");
}

proptest! {
    #[test]
    fn any_frame_comes_back(
        data in proptest::collection::vec(any::<u8>(), 46..240), enhanced in any::<bool>(),
    ) {
        let mut rig = ethernet("backend = 'loopback'");
        let stride = if enhanced { 32 } else { 16 };
        rig.write32(BASE + DMABMR, u32::from(enhanced) << 7);
        let frame = [&broadcast(14)[..], &data].concat();
        for n in 0..2 {
            rig.write32(RX + stride * n, OWN);
            rig.write32(RX + stride * n + 4, 256 | 64 << 16);
            rig.write32(RX + stride * n + 8, BUFFERS + 256 * n);
            rig.write32(RX + stride * n + 12, BUFFERS + 0x200 + 64 * n);
        }
        rig.write32(BASE + DMATDLAR, TX);
        rig.write32(BASE + DMARDLAR, RX);
        rig.write32(BASE + MACCR, 0xc | 1 << 25);
        rig.write32(BASE + DMAOMR, 1 << 13 | 2);
        send(&mut rig, 0, &frame, 0);
        rig.advance(10_000);
        prop_assert_eq!((rig.read32(RX) >> 16) as usize, frame.len());
        let length = frame.len().min(256);
        prop_assert_eq!(bytes(&rig, BUFFERS, length as u32), &frame[..length]);
    }

    #[test]
    fn no_access_panics_or_hangs(
        accesses in proptest::collection::vec(
            (
                prop_oneof![0u32..0x60, 0x1000u32..0x1058],
                any::<u32>(), any::<bool>(), 0u64..5000, 0u8..6,
            ),
            1..60,
        )
    ) {
        let mut rig = started();
        let mut now = rig.bus.now;
        for (offset, value, ours, wait, kind) in accesses {
            let size = [Size::Byte, Size::Half, Size::Word][kind as usize % 3];
            let address = BASE + offset / size.bytes() * size.bytes();
            // Some values lead the DMA into memory that is there.
            let value = if ours { RAM + value % 0x1000 } else { value };
            match kind {
                0..4 => rig.write(address, size, value),
                4 => rig.bus.load(TX, &value.to_le_bytes().repeat(8)).unwrap(),
                _ => drop(rig.read(address, size)),
            }
            now += wait;
            rig.run_to(now);
            prop_assert_eq!(rig.bus.now, now);
        }
    }
}
