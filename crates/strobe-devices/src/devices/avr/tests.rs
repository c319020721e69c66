//! The ATmega328P's smaller peripherals as firmware sees them.

use crate::rig::Rig;
use strobe_sim::kernel::clock::SleepDepth;
use strobe_sim::kernel::device::analog::Analog;

fn uno() -> Rig {
    Rig::builtin("arduino-uno")
}

fn write(rig: &mut Rig, registers: &[(u16, u8)]) {
    registers.iter().for_each(|&(address, value)| rig.bus.io_write(address, value));
}

#[test]
fn spi_byte_costs_16_cycles_at_half_clock() {
    const SPSR: u16 = 0x4d;
    const SPDR: u16 = 0x4e;
    let mut rig = uno();
    rig.watch("PB5");
    // SS, MOSI and SCK are outputs; master, interrupt, double speed.
    write(&mut rig, &[(0x24, 0x2c), (SPSR, 1), (0x4c, 0xd0)]);
    rig.drive("PB4", Some(true));
    write(&mut rig, &[(SPDR, 0xa5)]);
    assert_eq!(rig.run_to_irq(17, 1000), Some(16));
    assert_eq!(rig.edges("PB5").len(), 16);
    assert_eq!(rig.edges("PB5")[0], (1, true));
    let frames: Vec<_> = rig.bus.outputs.frames.iter().map(|f| f.value).collect();
    assert_eq!(frames, [0xa5, 0xff]);
    assert_eq!(rig.bus.io_read(SPSR), 0x81);
    assert_eq!(rig.bus.io_read(SPDR), 0xff);
    assert!(!rig.irq(17), "cleared by reading SPSR and then SPDR");
    // A write during a transfer collides.
    write(&mut rig, &[(SPDR, 1), (SPDR, 2)]);
    rig.advance(20);
    assert_eq!(rig.bus.io_read(SPSR), 0xc1);
    assert_eq!(rig.bus.outputs.frames[2].value, 1);
}

#[test]
fn spi_modes_differ_in_clock_level_and_phase() {
    for mode in 0..4u8 {
        let mut rig = uno();
        rig.watch("PB3");
        rig.watch("PB5");
        write(&mut rig, &[(0x24, 0x2c), (0x4c, 0x50 | mode << 2), (0x4e, 0b0101_0101)]);
        rig.run_to(100);
        let (polarity, late) = (mode & 2 != 0, mode & 1 != 0);
        assert_eq!(rig.level("PB5"), polarity);
        // Bits change half a clock before they are sampled: at 4 cycles a clock, with CPHA on odd
        // ones' first edges.
        let data: Vec<u64> = rig.edges("PB3").iter().map(|e| e.0 % 4).collect();
        assert!(data.iter().all(|&at| at == if late { 2 } else { 0 }), "{mode}: {data:?}");
    }
}

#[test]
fn external_interrupts_see_their_edge_and_clear_on_entry() {
    let mut rig = uno();
    rig.drive("PD2", Some(true));
    // INT0 on falling edges; pin changes of PCINT18, which is the same pin.
    write(&mut rig, &[(0x69, 2), (0x3d, 1), (0x68, 4), (0x6d, 4)]);
    assert!(!rig.irq(1) && !rig.irq(5));
    rig.drive("PD2", Some(false));
    assert!(rig.irq(1) && rig.irq(5));
    rig.bus.acknowledge(1);
    rig.bus.acknowledge(5);
    assert!(!rig.irq(1) && !rig.irq(5));
    rig.drive("PD2", Some(true));
    assert!(!rig.irq(1) && rig.irq(5));
    // A low level asks as long as it lasts.
    write(&mut rig, &[(0x69, 0)]);
    rig.drive("PD2", Some(false));
    rig.bus.acknowledge(1);
    assert!(rig.irq(1));
}

/// What happens again while its flag still asks for a handler is lost.
#[test]
fn requests_that_nobody_took_are_lost() {
    let mut rig = uno();
    rig.drive("PD2", Some(false));
    // Pin changes of PCINT18.
    write(&mut rig, &[(0x68, 4), (0x6d, 4)]);
    for level in [true, false, true] {
        rig.drive("PD2", Some(level));
    }
    assert_eq!(rig.bus.lost_requests(5), 2);
    rig.bus.acknowledge(5);
    rig.drive("PD2", Some(false));
    assert_eq!(rig.bus.lost_requests(5), 2);
    // Conversions one after another, with ADIE, at half the clock: ends at 50, 76, and 102.
    let mut rig = uno();
    write(&mut rig, &[(0x7a, 0xe9)]);
    rig.run_to(110);
    assert_eq!(rig.bus.lost_requests(21), 2);
    // The watchdog as a timer, every 256,000 cycles.
    let mut rig = uno();
    write(&mut rig, &[(0x60, 0x40)]);
    rig.run_to(800_000);
    assert_eq!(rig.bus.lost_requests(6), 2);
}

#[test]
fn eeprom_writes_take_their_time_and_their_sequence() {
    let (eecr, eedr, eearl) = (0x3f, 0x40, 0x41);
    let mut rig = uno();
    write(&mut rig, &[(eearl, 7), (eedr, 0x5a), (eecr, 2)]);
    assert_eq!(rig.bus.io_read(eecr), 0, "without EEMPE nothing is written");
    rig.bus.io_set_bit(eecr, 2, true);
    rig.advance(5);
    rig.bus.io_set_bit(eecr, 1, true);
    assert_eq!(rig.bus.io_read(eecr) & 2, 0, "too late");
    rig.bus.io_set_bit(eecr, 2, true);
    rig.advance(2);
    let start = rig.bus.now;
    rig.bus.io_set_bit(eecr, 1, true);
    assert_eq!(rig.bus.io_read(eecr) & 2, 2);
    assert_eq!(std::mem::take(&mut rig.bus.requests.halted), 2);
    rig.bus.io_set_bit(eecr, 3, true);
    assert_eq!(rig.run_to_irq(22, 1_000_000), Some(start + 54_400), "3.4 ms");
    write(&mut rig, &[(eedr, 0)]);
    rig.bus.io_set_bit(eecr, 0, true);
    assert_eq!((rig.bus.requests.halted, rig.bus.io_read(eedr)), (4, 0x5a));
}

#[test]
fn the_watchdog_interrupts_first_and_then_resets() {
    let (wdtcsr, mcusr) = (0x60, 0x54);
    let mut rig = uno();
    assert_eq!(rig.bus.io_read(mcusr), 1, "power-on");
    write(&mut rig, &[(mcusr, 0), (wdtcsr, 0x18), (wdtcsr, 0x48)]);
    // 2048 cycles of 128 kHz: 16 ms.
    assert_eq!(rig.run_to_irq(6, 1_000_000), Some(256_000));
    rig.bus.acknowledge(6);
    rig.run_to(511_999);
    assert!(rig.bus.requests.reset.is_none());
    rig.run_to(512_000);
    assert!(rig.bus.requests.reset.is_some());
    rig.bus.reset();
    assert_eq!(rig.bus.io_read(mcusr), 8);
    // WDRF keeps it on.
    assert_eq!(rig.bus.io_read(wdtcsr), 8);
    write(&mut rig, &[(wdtcsr, 0)]);
    assert_eq!(rig.bus.io_read(wdtcsr), 8);
    write(&mut rig, &[(mcusr, 0), (wdtcsr, 0x18), (wdtcsr, 0)]);
    assert_eq!(rig.bus.io_read(wdtcsr), 0);
}

#[test]
fn converter_takes_25_and_then_13_clocks() {
    let (adcl, adcsra, admux) = (0x78, 0x7a, 0x7c);
    let mut rig = uno();
    // Divided by 128, with interrupt; the bandgap reference is channel 14.
    write(&mut rig, &[(admux, 0x4e), (adcsra, 0xcf)]);
    assert_eq!(rig.run_to_irq(21, 10_000), Some(25 * 128));
    rig.bus.acknowledge(21);
    assert_eq!((rig.bus.io_read(adcl), rig.bus.io_read(adcl + 1)), (225, 0));
    write(&mut rig, &[(adcsra, 0xcf)]);
    assert_eq!(rig.run_to_irq(21, 10_000), Some(38 * 128));
    // Left adjusted, free running.
    write(&mut rig, &[(admux, 0x60), (adcsra, 0xff)]);
    rig.bus.acknowledge(21);
    assert_eq!(rig.run_to_irq(21, 10_000), Some(51 * 128));
    assert_eq!(rig.bus.io_read(adcl + 1), 0x80);
    rig.bus.acknowledge(21);
    assert_eq!(rig.run_to_irq(21, 10_000), Some(64 * 128));
}

#[test]
fn the_clock_prescaler_needs_its_sequence() {
    let clkpr = 0x61;
    let mut rig = uno();
    write(&mut rig, &[(clkpr, 1)]);
    assert_eq!(rig.bus.clocks.core_hz(), 16_000_000);
    write(&mut rig, &[(clkpr, 0x80), (clkpr, 1)]);
    assert_eq!(rig.bus.clocks.core_hz(), 8_000_000);
    let mut small = Rig::builtin("attiny85");
    write(&mut small, &[(0x46, 0x80), (0x46, 0)]);
    assert_eq!(small.bus.clocks.core_hz(), 8_000_000);
    small.bus.reset();
    assert_eq!(small.bus.clocks.core_hz(), 1_000_000);
}

#[test]
fn deep_sleep_stops_timers_and_ports_except_the_watchdog() {
    let mut rig = uno();
    write(&mut rig, &[(0x45, 3), (0xc1, 8), (0xc6, 0x55), (0x60, 0x40), (0x53, 0x05)]);
    rig.run_to(100);
    let count = rig.bus.io_read(0x46);
    rig.bus.core_sleeps(true);
    assert_eq!(rig.bus.clocks.sleep, SleepDepth::PowerDown);
    assert_eq!(rig.run_to_irq(6, 1_000_000), Some(256_000));
    rig.bus.core_sleeps(false);
    assert_eq!(rig.bus.io_read(0x46), count);
    rig.advance(28);
    assert_eq!(rig.bus.io_read(0x46), count + 1, "the prescaler stood still as well");
    assert!(rig.bus.outputs.frames.is_empty());
    rig.advance(32);
    assert_eq!(rig.bus.outputs.frames.len(), 1, "160 cycles, of which 100 came before sleep");
}

#[test]
fn a_timers_flag_starts_a_conversion() {
    let (adcl, adcsra, adcsrb, admux) = (0x78, 0x7a, 0x7b, 0x7c);
    let mut rig = uno();
    assert!(rig.bus.set_analog("ADC2", &Analog::Each(vec![100, 200])));
    assert!(!rig.bus.set_analog("ADC99", &Analog::Constant(1)));
    assert!(!rig.bus.set_analog("TIMER1", &Analog::Constant(1)));
    // Divided by 2; the overflow of Timer0, which counts every cycle, triggers.
    write(&mut rig, &[(admux, 2), (adcsrb, 4), (adcsra, 0xa9), (0x45, 1)]);
    // The first takes 25 clocks and a half.
    assert_eq!(rig.run_to_irq(21, 10_000), Some(256 + 51));
    rig.bus.acknowledge(21);
    assert_eq!((rig.bus.io_read(adcl), rig.bus.io_read(adcl + 1)), (100, 0));
    rig.advance(512);
    assert!(!rig.irq(21), "the flag is still set: no edge");
    write(&mut rig, &[(0x35, 1)]);
    let next = rig.bus.now.next_multiple_of(256);
    assert_eq!(rig.run_to_irq(21, 10_000), Some(next + 27));
    assert_eq!((rig.bus.io_read(adcl), rig.bus.io_read(adcl + 1)), (200, 0));
}

#[test]
fn a_channel_may_change_with_time() {
    let mut rig = uno();
    // Volts of a logger: 0 for the first millisecond.
    rig.bus.set_analog("ADC0", &Analog::Course(vec![(0, 10), (1_000_000, 1000)]));
    let convert = |rig: &mut crate::rig::Rig| {
        write(rig, &[(0x7c, 0), (0x7a, 0xcf)]);
        rig.run_to_irq(21, 1_000_000).expect("it converts");
        rig.bus.acknowledge(21);
        u16::from(rig.bus.io_read(0x78)) | u16::from(rig.bus.io_read(0x79)) << 8
    };
    assert_eq!(convert(&mut rig), 10);
    rig.run_to(16_000);
    assert_eq!(convert(&mut rig), 1000);
}

#[test]
fn fuses_choose_the_clock() {
    for (board, low, hz) in [
        ("arduino-uno", 0xff, 16_000_000),
        ("arduino-uno", 0x62, 1_000_000),
        ("arduino-uno", 0xe2, 8_000_000),
        ("arduino-mega", 0xe3, 128_000),
        ("attiny85", 0xe1, 16_000_000),
        ("attiny85", 0xe2, 8_000_000),
        ("attiny85", 0x62, 1_000_000),
    ] {
        let mut rig = Rig::builtin(board);
        let effects = rig.bus.program_fuses(&[low, 0xd9, 0xff]);
        assert_eq!(rig.bus.clocks.core_hz(), hz, "{board} {low:#x}: {effects:?}");
        assert_eq!(rig.bus.clocks.history().len(), 1, "from the first cycle on");
        rig.bus.reset();
        assert_eq!(rig.bus.clocks.core_hz(), hz, "after a reset, too");
    }
}

#[test]
fn spi_as_a_slave_shifts_with_the_masters_clock() {
    let (spcr, spsr, spdr) = (0x4c, 0x4d, 0x4e);
    for mode in 0..4u8 {
        let (polarity, late) = (mode & 2 != 0, mode & 1 != 0);
        let mut rig = uno();
        rig.drive("PB2", Some(true));
        rig.drive("PB5", Some(polarity));
        // MISO is an output; slave with interrupt.
        write(&mut rig, &[(0x24, 0x10), (spcr, 0xc0 | mode << 2), (spdr, 0xc5)]);
        rig.drive("PB2", Some(false));
        let mut seen = 0;
        for bit in (0..8).rev() {
            let mosi = 0x3a >> bit & 1 != 0;
            if !late {
                rig.drive("PB3", Some(mosi));
                seen = seen << 1 | u8::from(rig.level("PB4"));
            }
            rig.drive("PB5", Some(!polarity));
            if late {
                rig.drive("PB3", Some(mosi));
                seen = seen << 1 | u8::from(rig.level("PB4"));
            }
            rig.drive("PB5", Some(polarity));
        }
        assert_eq!(seen, 0xc5, "mode {mode}");
        assert!(rig.irq(17));
        assert_eq!((rig.bus.io_read(spsr), rig.bus.io_read(spdr)), (0x80, 0x3a), "mode {mode}");
    }
}

#[test]
fn the_comparator_compares_and_interrupts_at_a_change() {
    let acsr = 0x50;
    let mut rig = uno();
    assert!(rig.bus.set_analog("AC0", &Analog::Course(vec![(0, 100), (1_000_000, 900)])));
    // On rising edges of the output.
    write(&mut rig, &[(acsr, 0x0b)]);
    assert_eq!(rig.bus.io_read(acsr) & 0x30, 0);
    assert_eq!(rig.run_to_irq(23, 100_000), Some(16_000), "a millisecond");
    assert_eq!(rig.bus.io_read(acsr) & 0x30, 0x30);
    rig.bus.acknowledge(23);
    assert_eq!(rig.bus.io_read(acsr) & 0x30, 0x20);
    // Three changes of the output, of which nobody took the first.
    let mut rig = uno();
    let course = [(0, 100), (1_000_000, 900), (2_000_000, 100), (3_000_000, 900)];
    assert!(rig.bus.set_analog("AC0", &Analog::Course(course.to_vec())));
    write(&mut rig, &[(acsr, 0x08)]);
    rig.run_to(60_000);
    assert_eq!(rig.bus.lost_requests(23), 2);
}

fn tiny() -> Rig {
    let mut rig = Rig::builtin("attiny85");
    rig.bus.program_fuses(&[0xe2, 0xdf, 0xff]);
    rig
}

#[test]
fn tiny_timer_counts_to_its_top_and_by_pll() {
    let mut rig = tiny();
    rig.watch("PB1");
    // OC1A, PB1: PWM with a top of 99, cleared at 24, by the system clock.
    write(&mut rig, &[(0x37, 2), (0x4d, 99), (0x4e, 24), (0x50, 0x61)]);
    rig.run_to(1000);
    let edges = rig.edges("PB1");
    let high: Vec<u64> =
        edges[1..].windows(2).filter(|p| p[0].1).map(|p| p[1].0 - p[0].0).collect();
    let period: Vec<u64> = edges.iter().filter(|e| e.1).map(|e| e.0).collect();
    assert!(high.iter().all(|&n| n == 25), "{edges:?}");
    assert!(period.windows(2).all(|p| p[1] - p[0] == 100), "{edges:?}");
    // Clear on compare with a prescaler of 8, and its interrupt.
    let mut rig = tiny();
    write(&mut rig, &[(0x4d, 49), (0x4e, 49), (0x59, 0x40), (0x50, 0x84)]);
    assert_eq!(rig.run_to_irq(3, 10_000), Some(400));
    rig.bus.acknowledge(3);
    assert_eq!(rig.run_to_irq(3, 10_000), Some(800));
    // 64 MHz: 256 clocks in 32 cycles.
    let mut rig = tiny();
    write(&mut rig, &[(0x47, 2)]);
    rig.advance(799);
    assert_eq!(rig.bus.io_read(0x47), 2, "not locked yet");
    rig.advance(1);
    assert_eq!(rig.bus.io_read(0x47), 3);
    write(&mut rig, &[(0x47, 6), (0x59, 4), (0x50, 1)]);
    let start = rig.bus.now;
    assert_eq!(rig.run_to_irq(4, 10_000), Some(start + 32));
}

#[test]
fn the_usi_shifts_by_software_three_wire() {
    let (usicr, usisr, usidr) = (0x2d, 0x2e, 0x2f);
    let mut rig = tiny();
    rig.watch("PB2");
    // DO and USCK are outputs; three wires, overflow interrupt.
    write(&mut rig, &[(0x37, 0x06), (usidr, 0xa7), (usisr, 0x40)]);
    let mut sent = 0;
    for bit in (0..8).rev() {
        rig.drive("PB0", Some(0x3c >> bit & 1 != 0));
        // The clock rises, and falls with the shift, as the data sheet's example does: 16 edges of
        // USCK.
        write(&mut rig, &[(usicr, 0x51)]);
        sent = sent << 1 | u8::from(rig.level("PB1"));
        write(&mut rig, &[(usicr, 0x53)]);
    }
    assert_eq!(sent, 0xa7);
    assert_eq!(rig.edges("PB2").len(), 16);
    assert_eq!(rig.bus.io_read(usidr), 0x3c);
    // Eight shifts: the counter of 16 is half-way.
    assert_eq!(rig.bus.io_read(usisr) & 0x4f, 8);
}

#[test]
fn usi_slave_counts_edges_and_detects_start_and_stop() {
    let (usicr, usisr, usidr) = (0x2d, 0x2e, 0x2f);
    let mut rig = tiny();
    rig.drive("PB0", Some(true));
    rig.drive("PB2", Some(true));
    // Two wires, start interrupt, shifted by rising edges of SCL; SCL is an output that lets go.
    write(&mut rig, &[(0x37, 0x04), (0x38, 0x05), (usidr, 0xff), (usisr, 0xf0), (usicr, 0xe8)]);
    rig.drive("PB0", Some(false));
    assert!(rig.irq(13), "START");
    rig.drive("PB2", Some(false));
    write(&mut rig, &[(usisr, 0xf0)]);
    for bit in (0..8).rev() {
        rig.drive("PB0", Some(0xa5 >> bit & 1 != 0));
        rig.drive("PB2", Some(true));
        rig.drive("PB2", Some(false));
    }
    assert!(rig.irq(14), "16 edges");
    assert_eq!(rig.bus.io_read(usidr), 0xa5);
    rig.drive("PB0", Some(false));
    rig.drive("PB2", Some(true));
    rig.drive("PB0", Some(true));
    assert_eq!(rig.bus.io_read(usisr) & 0x20, 0x20, "STOP");
}
