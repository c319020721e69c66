//! The serial port of the ATmega328P as firmware, the host and a logic analyser see it.

use crate::rig::Rig;
use strobe_sim::kernel::device::{DeviceId, Direction};

const UCSRA: u16 = 0xc0;
const UCSRB: u16 = 0xc1;
const UCSRC: u16 = 0xc2;
const UBRRL: u16 = 0xc4;
const UDR: u16 = 0xc6;

fn port() -> (Rig, DeviceId) {
    let rig = Rig::builtin("arduino-uno");
    let id = rig.bus.device_named("USART0").unwrap();
    (rig, id)
}

#[test]
fn a_byte_takes_320_cycles_at_500_kbit() {
    let (mut rig, _) = port();
    rig.watch("PD1");
    rig.bus.io_write(UBRRL, 1);
    rig.bus.io_write(UCSRB, 0x08);
    rig.bus.io_write(UDR, 0x55);
    assert_eq!(rig.bus.io_read(UCSRA), 0x20, "the shift register takes it at once");
    rig.bus.io_write(UDR, 0x0f);
    assert_eq!(rig.bus.io_read(UCSRA), 0);
    rig.run_to(320);
    assert_eq!(rig.bus.io_read(UCSRA), 0x20);
    rig.run_to(639);
    assert_eq!(rig.bus.io_read(UCSRA), 0x20);
    rig.run_to(640);
    assert_eq!(rig.bus.io_read(UCSRA), 0x60);
    let sent: Vec<_> = rig.bus.outputs.frames.iter().map(|f| (f.cycle, f.value)).collect();
    assert_eq!(sent, [(320, 0x55), (640, 0x0f)]);
    let times: Vec<u64> = rig.edges("PD1").iter().map(|e| e.0).collect();
    assert_eq!(&times[..6], [0, 0, 32, 64, 96, 128]);
    assert_eq!(&times[times.len() - 4..], [320, 352, 480, 608]);
}

/// Bytes that the firmware had no chance to take are no overrun of its own.
#[test]
fn host_sending_too_fast_is_named_as_the_cause() {
    let (mut rig, id) = port();
    let room = rig.bus.host_room(id);
    (0..room).for_each(|_| rig.bus.host_byte(id, 0));
    assert_eq!((rig.bus.host_room(id), rig.bus.warnings.iter().count()), (0, 0));
    rig.bus.host_byte(id, 0);
    let (text, _) = rig.bus.warnings.iter().next().unwrap();
    assert!(text.contains("the host sends faster"), "{text}");
}

#[test]
fn fourth_start_bit_overwrites_the_third_byte() {
    let (mut rig, id) = port();
    rig.bus.io_write(UBRRL, 1);
    rig.bus.io_write(UCSRB, 0x90);
    b"abcd".iter().for_each(|&byte| rig.bus.host_byte(id, byte));
    assert_eq!(rig.run_to_irq(18, 1000), Some(304), "the middle of the stop bit");
    // The third waits in the shift register until the fourth begins.
    rig.run_to(959);
    assert_eq!(rig.bus.io_read(UCSRA) & 0x88, 0x80);
    rig.run_to(960);
    assert_eq!(rig.bus.io_read(UCSRA) & 0x88, 0x88);
    rig.run_to(2000);
    let read: Vec<u8> = (0..3).map(|_| rig.bus.io_read(UDR)).collect();
    assert_eq!(read, b"abd");
    assert_eq!(rig.bus.io_read(UCSRA) & 0x88, 0);
    assert!(!rig.irq(18));
}

#[test]
fn bits_on_the_pin_form_frames_with_errors() {
    // Seven bits, even parity, one stop bit, double speed: 16 cycles a bit.
    for (stop, parity, errors) in [(1u32, 1u32, 0), (1, 0, 0x04), (0, 1, 0x10)] {
        let levels = stop << 9 | parity << 8 | 0x43 << 1;
        let (mut rig, _) = port();
        rig.drive("PD0", Some(true));
        rig.bus.io_write(UBRRL, 1);
        rig.bus.io_write(UCSRA, 2);
        rig.bus.io_write(UCSRC, 0x24);
        rig.bus.io_write(UCSRB, 0x10);
        for bit in 0..10 {
            rig.drive("PD0", Some(levels >> bit & 1 != 0));
            rig.advance(16);
        }
        assert_eq!(rig.bus.io_read(UCSRA) & 0x9c, 0x80 | errors, "{levels:b}");
        assert_eq!(rig.bus.io_read(UDR), 0x43);
        assert_eq!(rig.bus.outputs.frames[0].direction, Direction::Receive);
    }
}

#[test]
fn the_complete_interrupt_clears_its_flag() {
    let (mut rig, _) = port();
    rig.bus.io_write(UBRRL, 1);
    rig.bus.io_write(UCSRB, 0x48);
    rig.bus.io_write(UDR, 1);
    assert_eq!(rig.run_to_irq(20, 1000), Some(320));
    rig.bus.acknowledge(20);
    assert_eq!((rig.irq(20), rig.bus.io_read(UCSRA)), (false, 0x20));
}

#[test]
fn nine_bits_go_out_with_two_stop_bits() {
    let (mut rig, _) = port();
    rig.bus.io_write(UCSRC, 0x0e);
    rig.bus.io_write(UCSRB, 0x0d);
    rig.bus.io_write(UDR, 0xaa);
    rig.run_to(12 * 16);
    let frame = rig.bus.outputs.frames[0];
    assert_eq!((frame.cycle, frame.value), (12 * 16, 0x1aa));
}
