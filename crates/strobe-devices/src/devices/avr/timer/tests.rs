//! Timers as firmware and a logic analyser see them, on the boards that have them.

use crate::rig::Rig;
use strobe_sim::kernel::device::Shift;

const TCCR0A: u16 = 0x44;
const TCCR0B: u16 = 0x45;
const TCNT0: u16 = 0x46;
const OCR0A: u16 = 0x47;
const TIMSK0: u16 = 0x6e;
const TIFR0: u16 = 0x35;
const GTCCR: u16 = 0x43;
const TCCR1A: u16 = 0x80;
const TCCR1B: u16 = 0x81;
const TCNT1L: u16 = 0x84;
const TCNT1H: u16 = 0x85;
const ICR1L: u16 = 0x86;
const OCR1AL: u16 = 0x88;
const OCR1AH: u16 = 0x89;
const TIMSK1: u16 = 0x6f;
const TIFR1: u16 = 0x36;
const TIMER1_COMPA: u32 = 11;
const TIMER0_OVF: u32 = 16;

fn uno() -> Rig {
    Rig::builtin("arduino-uno")
}

fn write(rig: &mut Rig, registers: &[(u16, u8)]) {
    registers.iter().for_each(|&(address, value)| rig.bus.io_write(address, value));
}

#[test]
fn a_compare_interrupt_comes_every_8192_cycles() {
    let mut rig = uno();
    // Clear timer on compare match, undivided: a period of OCR1A + 1 (16.9.2).
    write(&mut rig, &[(OCR1AH, 0x1f), (OCR1AL, 0xff), (TIMSK1, 2), (TCCR1B, 9)]);
    for n in 1..5 {
        assert_eq!(rig.run_to_irq(TIMER1_COMPA, 100_000), Some(8192 * n));
        rig.bus.acknowledge(TIMER1_COMPA as u16);
        assert!(!rig.irq(TIMER1_COMPA), "cleared on entry");
    }
}

#[test]
fn the_prescaler_keeps_its_phase_until_it_is_reset() {
    let mut rig = uno();
    rig.run_to(100);
    // Divided by 64: the next clock is at 128, whenever the timer starts.
    write(&mut rig, &[(TCCR0B, 3)]);
    rig.run_to(127);
    assert_eq!(rig.bus.io_read(TCNT0), 0);
    rig.run_to(128);
    assert_eq!(rig.bus.io_read(TCNT0), 1);
    rig.run_to(150);
    write(&mut rig, &[(GTCCR, 1)]);
    assert_eq!(rig.bus.io_read(GTCCR), 0, "cleared by hardware");
    rig.run_to(150 + 63);
    assert_eq!(rig.bus.io_read(TCNT0), 1);
    rig.run_to(150 + 64);
    assert_eq!(rig.bus.io_read(TCNT0), 2);
    // Held, and let go.
    write(&mut rig, &[(GTCCR, 0x81)]);
    rig.run_to(1000);
    write(&mut rig, &[(GTCCR, 0)]);
    rig.run_to(1063);
    assert_eq!(rig.bus.io_read(TCNT0), 2);
    rig.run_to(1064);
    assert_eq!(rig.bus.io_read(TCNT0), 3);
}

#[test]
fn an_overflow_is_flagged_until_a_one_is_written() {
    let mut rig = uno();
    write(&mut rig, &[(TCCR0B, 1)]);
    rig.run_to(255);
    assert_eq!((rig.bus.io_read(TCNT0), rig.bus.io_read(TIFR0) & 1), (255, 0));
    rig.run_to(256);
    assert_eq!((rig.bus.io_read(TCNT0), rig.bus.io_read(TIFR0) & 1), (0, 1));
    write(&mut rig, &[(TIMSK0, 1)]);
    assert!(rig.irq(TIMER0_OVF));
    rig.bus.io_set_bit(TIFR0, 1, true);
    assert!(rig.irq(TIMER0_OVF), "another flag's bit");
    rig.bus.io_set_bit(TIFR0, 0, true);
    assert!(!rig.irq(TIMER0_OVF));
}

#[test]
fn fast_pwm_drives_only_pins_that_are_outputs() {
    let mut rig = uno();
    rig.watch("PD6");
    write(&mut rig, &[(OCR0A, 63), (TCCR0A, 0x83), (TCCR0B, 1)]);
    rig.run_to(600);
    assert_eq!(rig.edges("PD6"), [], "DDRD6 is clear");
    write(&mut rig, &[(0x2a, 0x40)]);
    rig.run_to(2000);
    let edges: Vec<_> = rig.edges("PD6").into_iter().filter(|e| e.0 > 700).collect();
    assert_eq!(&edges[..4], [(768, true), (832, false), (1024, true), (1088, false)]);
}

#[test]
fn a_16_bit_access_goes_through_the_temporary_register() {
    let mut rig = uno();
    write(&mut rig, &[(TCNT1H, 0x12), (TCNT1L, 0xfe), (TCCR1B, 1)]);
    rig.run_to(1);
    assert_eq!(rig.bus.io_read(TCNT1L), 0xff);
    rig.run_to(5);
    assert_eq!(rig.bus.io_read(TCNT1H), 0x12, "as it was when the low byte was read");
    assert_eq!(rig.bus.io_read(TCNT1L), 0x03);
    assert_eq!(rig.bus.io_read(TCNT1H), 0x13);
}

#[test]
fn an_edge_captures_the_counter() {
    let mut rig = uno();
    rig.drive("PB0", Some(false));
    write(&mut rig, &[(TCCR1B, 0x41), (TCCR1A, 0)]);
    rig.run_to(300);
    rig.drive("PB0", Some(true));
    rig.run_to(400);
    rig.drive("PB0", Some(false));
    rig.run_to(500);
    assert_eq!(rig.bus.io_read(TIFR1) & 0x20, 0x20);
    assert_eq!((rig.bus.io_read(ICR1L), rig.bus.io_read(ICR1L + 1)), (300u16 as u8, 1));
}

#[test]
fn edges_of_a_pin_count() {
    let mut rig = uno();
    write(&mut rig, &[(TCCR0B, 7)]);
    for n in 0..10 {
        rig.drive("PD4", Some(n % 2 == 1));
        rig.advance(7);
    }
    assert_eq!(rig.bus.io_read(TCNT0), 5);
}

#[test]
fn power_reduction_stops_a_timer_and_hides_its_registers() {
    let mut rig = uno();
    write(&mut rig, &[(TCCR0B, 1)]);
    rig.run_to(10);
    write(&mut rig, &[(0x64, 0x20)]);
    rig.run_to(100);
    assert_eq!(rig.bus.io_read(TCNT0), 0);
    write(&mut rig, &[(0x64, 0)]);
    rig.run_to(105);
    assert_eq!(rig.bus.io_read(TCNT0), 15);
}

#[test]
fn third_compare_unit_of_the_mega_has_a_vector() {
    let mut rig = Rig::builtin("arduino-mega");
    // Timer 5, OCR5C = 99, divided by 8.
    write(&mut rig, &[(0x12d, 0), (0x12c, 99), (0x73, 8), (0x121, 2)]);
    assert_eq!(rig.run_to_irq(49, 10_000), Some(800));
}

#[test]
fn the_small_part_has_all_flags_in_one_register() {
    let mut rig = Rig::builtin("attiny85");
    write(&mut rig, &[(0x49, 9), (0x4a, 2), (0x53, 1), (0x59, 0x10)]);
    assert_eq!(rig.run_to_irq(10, 1000), Some(10));
    assert_eq!(rig.bus.io_read(0x58) & 0x12, 0x10);
}

#[test]
fn a_shifted_timer_keeps_its_period() {
    let mut rig = uno();
    let timer = rig.bus.device_named("TIMER1").expect("the board has one");
    assert_eq!(rig.bus.shift_timer(timer, 1, 2), Shift::Idle);
    write(&mut rig, &[(OCR1AH, 0x1f), (OCR1AL, 0xff), (TIMSK1, 2), (TCCR1B, 9)]);
    rig.run_to(2192);
    // Half of what is left up to 8191.
    assert_eq!(rig.bus.shift_timer(timer, 1, 2), Shift::Earlier(2999));
    for n in 1..4 {
        assert_eq!(rig.run_to_irq(TIMER1_COMPA, 100_000), Some(8192 * n - 2999));
        rig.bus.acknowledge(TIMER1_COMPA as u16);
    }
    // Toggles its pin.
    write(&mut rig, &[(TCCR1A, 0x40)]);
    assert!(matches!(rig.bus.shift_timer(timer, 1, 2), Shift::Unfit(_)));
}

#[test]
fn fast_pwm_overflow_without_a_pin_is_shifted() {
    let mut rig = uno();
    let timer = rig.bus.device_named("TIMER0").expect("the board has one");
    write(&mut rig, &[(TCCR0A, 3), (TIMSK0, 1), (TCCR0B, 3)]);
    rig.run_to(64);
    assert_eq!(rig.bus.shift_timer(timer, 1, 2), Shift::Earlier(127 * 64));
    assert_eq!(rig.run_to_irq(TIMER0_OVF, 100_000), Some((256 - 127) * 64));
}
