//! The timer as firmware sees it: cycles of flags, interrupts and edges.

use proptest::prelude::*;

use crate::device::Size;
use crate::device::stm32::bench::Bench;

const BASE: u32 = 0x4000_0400;
const CR1: u32 = BASE;
const CR2: u32 = BASE + 0x04;
const DIER: u32 = BASE + 0x0c;
const SR: u32 = BASE + 0x10;
const EGR: u32 = BASE + 0x14;
const CCMR1: u32 = BASE + 0x18;
const CCER: u32 = BASE + 0x20;
const CNT: u32 = BASE + 0x24;
const PSC: u32 = BASE + 0x28;
const ARR: u32 = BASE + 0x2c;
const RCR: u32 = BASE + 0x30;
const CCR1: u32 = BASE + 0x34;
const CCR2: u32 = BASE + 0x38;
const BDTR: u32 = BASE + 0x44;

const FULL: &str = "channels = 4\ndown = true\nrepetition = true\nbreak_unit = true";
const GENERAL: &str = "channels = 4\ndown = true";

fn timer(options: &str) -> Bench {
    let mut bench = Bench::new();
    bench.add(("TIM3", "stm32-tim"), BASE, &[16], options);
    bench
}

/// Clears the flags at each interrupt and returns (cycle, flags) of the first `count`.
fn interrupts(bench: &mut Bench, count: usize) -> Vec<(u64, u32)> {
    let mut seen = Vec::new();
    while seen.len() < count {
        let Some(cycle) = bench.run_to_irq(16, 1_000_000_000) else { break };
        let flags = bench.read(SR);
        bench.write(SR, !flags);
        seen.push((cycle, flags));
    }
    seen
}

#[test]
fn the_period_is_exact_and_the_counter_agrees_with_it() {
    let mut bench = timer(GENERAL);
    bench.write(PSC, 7);
    bench.write(ARR, 999);
    bench.write(EGR, 1);
    bench.write(SR, 0);
    bench.write(DIER, 1);
    bench.write(CR1, 1);
    // CEN takes one clock, then 1000 ticks of 8 cycles.
    let cycles: Vec<u64> = interrupts(&mut bench, 3).iter().map(|(cycle, _)| *cycle).collect();
    assert_eq!(cycles, [8001, 16001, 24001]);
    assert_eq!(bench.read(CNT), 0);
    bench.run_to(24001 + 7);
    assert_eq!(bench.read(CNT), 0);
    bench.run_to(24001 + 8);
    assert_eq!(bench.read(CNT), 1);
    bench.run_to(32000);
    assert_eq!((bench.read(CNT), bench.read(SR) & 1), (999, 0));
    bench.run_to(32001);
    assert_eq!((bench.read(CNT), bench.read(SR) & 1), (0, 1));
}

/// The sequence of embassy-time's 16-bit driver: half period on CC1, overflow, alarm on CC2.
#[test]
fn half_and_full_period_and_an_alarm_interrupt_at_their_cycles() {
    let mut bench = timer(GENERAL);
    bench.write(PSC, 47);
    bench.write(ARR, 0xffff);
    bench.write(CR1, 1 << 2);
    bench.write(EGR, 1);
    assert_eq!(bench.read(SR) & 1, 0, "URS keeps UG from setting UIF");
    bench.write(SR, 0);
    bench.write(CR1, 0);
    bench.write(CCR1, 0x8000);
    bench.write(DIER, 1 | 1 << 1);
    bench.write(CR1, 1);
    bench.run_to(100);
    bench.write(CCR2, 1000);
    bench.write(DIER, 1 | 1 << 1 | 1 << 2);
    let at = |ticks: u64| 1 + ticks * 48;
    assert_eq!(
        interrupts(&mut bench, 5).into_iter().map(|(c, f)| (c, f & 7)).collect::<Vec<_>>(),
        [
            (at(1000), 4),
            (at(0x8000), 2),
            (at(0x1_0000), 1),
            (at(0x1_0000 + 1000), 4),
            (at(0x1_8000), 2),
        ]
    );
    // Whenever an interrupt comes, the counter already says so: now() never runs backwards.
    assert_eq!(bench.read(CNT), 0x8000);
}

#[test]
fn a_running_timer_that_nobody_watches_needs_no_events() {
    let mut bench = timer(GENERAL);
    bench.write(ARR, 9);
    bench.write(CR1, 1);
    assert_eq!(bench.bus.next_due, u64::MAX);
    let years = 48_000_000 * 3600 * 24 * 365;
    bench.run_to(years);
    assert_eq!(u64::from(bench.read(CNT)), (years - 1) % 10);
    assert_eq!(bench.read(SR) & 1, 1);
}

#[test]
fn preloaded_values_take_effect_at_the_update_event() {
    let mut bench = timer(GENERAL);
    bench.write(ARR, 99);
    bench.write(CR1, 1 << 7);
    bench.write(EGR, 1);
    bench.write(SR, 0);
    bench.write(DIER, 1);
    bench.write(CR1, 1 | 1 << 7);
    bench.write(ARR, 49);
    bench.write(PSC, 1);
    let cycles: Vec<u64> = interrupts(&mut bench, 3).iter().map(|(cycle, _)| *cycle).collect();
    assert_eq!(cycles, [101, 201, 301]);
}

#[test]
fn one_pulse_mode_stops_at_the_update_event() {
    let mut bench = timer(GENERAL);
    bench.write(ARR, 9);
    bench.write(DIER, 1);
    bench.write(CR1, 1 | 1 << 3);
    assert_eq!(interrupts(&mut bench, 2), [(11, 1 | 0b11110)]);
    assert_eq!(bench.read(CR1) & 1, 0);
    bench.run_to(1000);
    assert_eq!(bench.read(CNT), 0);
}

#[test]
fn the_repetition_counter_thins_out_update_events() {
    let mut bench = timer(FULL);
    bench.write(ARR, 9);
    bench.write(RCR, 3);
    bench.write(EGR, 1);
    bench.write(SR, 0);
    bench.write(DIER, 1);
    bench.write(CR1, 1);
    let cycles: Vec<u64> = interrupts(&mut bench, 2).iter().map(|(cycle, _)| *cycle).collect();
    assert_eq!(cycles, [41, 81]);
    bench.write(DIER, 0);
    // The same over a stretch that is skipped in one step: 3 overflows short of the next event.
    bench.run_to(81 + 40 * 1000 + 39);
    bench.write(SR, 0);
    bench.write(DIER, 1);
    assert_eq!(interrupts(&mut bench, 1), [(81 + 40 * 1001, 1 | 0b11110)]);
}

/// RM0360, "PWM edge-aligned mode": ARR = 8, CCR = 4.
#[test]
fn edge_aligned_pwm_has_the_programmed_duty() {
    for (compare, edges) in [
        (4, vec![(0, true), (5, false), (10, true), (14, false), (19, true), (23, false)]),
        (0, vec![]),
        (9, vec![(0, true)]),
    ] {
        let mut bench = timer(GENERAL);
        bench.watch("TIM3_CH1");
        bench.write(ARR, 8);
        bench.write(CCR1, compare);
        bench.write(CCMR1, 0x68);
        bench.write(EGR, 1);
        bench.write(CCER, 1);
        bench.write(CR1, 1);
        bench.run_to(27);
        assert_eq!(bench.edges("TIM3_CH1"), edges, "compare {compare}");
    }
}

/// RM0360, "Center-aligned PWM waveforms": ARR = 8, CCR = 4, flags in the three modes.
#[test]
fn center_aligned_pwm_is_symmetric_and_flags_by_direction() {
    for (cms, flags) in [(1, vec![13, 29]), (2, vec![5, 21]), (3, vec![5, 13, 21, 29])] {
        let mut bench = timer(GENERAL);
        bench.watch("TIM3_CH1");
        bench.write(ARR, 8);
        bench.write(CCR1, 4);
        bench.write(CCMR1, 0x68);
        bench.write(EGR, 1);
        bench.write(SR, 0);
        bench.write(CCER, 1);
        bench.write(DIER, 2);
        bench.write(CR1, 1 | cms << 5);
        let count = flags.len();
        let cycles: Vec<u64> =
            interrupts(&mut bench, count).iter().map(|(cycle, _)| *cycle).collect();
        assert_eq!(cycles, flags, "CMS = {cms}");
        bench.run_to(30);
        let edges = bench.edges("TIM3_CH1");
        assert_eq!(edges, [(0, true), (5, false), (13, true), (21, false), (29, true)]);
    }
}

#[test]
fn outputs_toggle_on_match_and_obey_main_output_enable() {
    let mut bench = timer(FULL);
    bench.watch("TIM3_CH2");
    bench.write(ARR, 9);
    bench.write(CCR2, 3);
    bench.write(CCMR1, 0x30 << 8);
    bench.write(CCER, 1 << 4);
    bench.write(CR1, 1);
    bench.run_to(20);
    assert_eq!(bench.edges("TIM3_CH2"), [], "MOE is off");
    bench.write(BDTR, 1 << 15);
    bench.run_to(40);
    // Matched twice before MOE; from then on every 10 cycles.
    assert_eq!(bench.edges("TIM3_CH2"), [(24, true), (34, false)]);
    bench.write(CR2, 1 << 10);
    bench.write(BDTR, 0);
    assert!(bench.level("TIM3_CH2"), "idle state of OIS2");
}

#[test]
fn an_input_edge_captures_the_counter() {
    let mut bench = timer(GENERAL);
    bench.write(CCMR1, 0x01);
    bench.write(CCER, 1);
    bench.write(DIER, 2);
    bench.write(CR1, 1);
    bench.run_to(101);
    bench.drive("TIM3_CH1_IN", true);
    assert!(bench.irq(16));
    bench.run_to(150);
    bench.drive("TIM3_CH1_IN", false);
    bench.run_to(201);
    bench.drive("TIM3_CH1_IN", true);
    assert_eq!(bench.read(SR) & (2 | 1 << 9), 2 | 1 << 9, "captured twice");
    assert_eq!(bench.read(CCR1), 200);
    assert!(!bench.irq(16), "reading the capture clears its flag");
}

#[test]
fn a_dma_request_stays_until_it_is_acknowledged() {
    let mut bench = timer(GENERAL);
    bench.watch("TIM3_UP_DMA");
    bench.write(ARR, 9);
    bench.write(DIER, 1 << 8);
    bench.write(CR1, 1);
    bench.run_to(25);
    bench.drive("TIM3_UP_DMA_ACK", true);
    bench.run_to(27);
    bench.drive("TIM3_UP_DMA_ACK", false);
    bench.run_to(35);
    assert_eq!(bench.edges("TIM3_UP_DMA"), [(11, true), (25, false), (31, true)]);
}

#[test]
fn the_counter_keeps_its_place_when_the_clock_ratio_changes() {
    let mut bench = timer(GENERAL);
    bench.write(PSC, 9);
    bench.write(EGR, 1);
    bench.write(SR, 0);
    bench.write(CR1, 1);
    bench.run_to(1 + 10 * 100 + 5);
    assert_eq!(bench.read(CNT), 100);
    bench.bus.clocks.timer_divider = 4;
    bench.bus.clocks_dirty = true;
    bench.bus.settle();
    assert_eq!(bench.read(CNT), 100);
    bench.run_to(1006 + 19);
    assert_eq!(bench.read(CNT), 100);
    bench.run_to(1006 + 20);
    assert_eq!(bench.read(CNT), 101);
}

#[test]
fn a_timer_with_two_lines_splits_its_interrupts() {
    let mut bench = Bench::new();
    bench.add(("TIM1", "stm32-tim"), BASE, &[13, 14], FULL);
    bench.write(ARR, 9);
    bench.write(CCR1, 5);
    bench.write(DIER, 3);
    bench.write(CR1, 1);
    bench.run_to(6);
    assert_eq!((bench.irq(13), bench.irq(14)), (false, true));
    bench.run_to(11);
    assert_eq!((bench.irq(13), bench.irq(14)), (true, true));
}

/// The simplest possible timer: up-counting, one tick at a time.
fn reference_flags(psc: u64, arr: u64, ccr: u64, cycles: u64) -> (u64, u32) {
    let (mut count, mut flags) = (0, 0);
    for _ in 0..cycles.saturating_sub(1) / (psc + 1) {
        count = if count == arr { 0 } else { count + 1 };
        flags |= u32::from(count == 0) | u32::from(count == ccr) << 1;
        flags |= u32::from(count == 0 && ccr > arr) << 1;
    }
    (count, flags)
}

proptest! {
    #[test]
    fn counter_and_flags_agree_with_a_tick_by_tick_reference(
        psc in 0u64..5, arr in 1u64..30, ccr in 0u64..40, cycles in 1u64..2000
    ) {
        let mut bench = timer(GENERAL);
        bench.write(PSC, psc as u32);
        bench.write(ARR, arr as u32);
        bench.write(CCR1, ccr as u32);
        bench.write(EGR, 1);
        bench.write(SR, 0);
        bench.write(CR1, 1);
        bench.run_to(cycles);
        let (count, flags) = reference_flags(psc, arr, ccr, cycles);
        prop_assert_eq!(u64::from(bench.read(CNT)), count);
        prop_assert_eq!(bench.read(SR) & 3, flags);
    }

    /// Looking often or seldom, with or without interrupts, gives the same counter and flags.
    #[test]
    fn looking_does_not_change_what_happens(
        setup in proptest::collection::vec((0u32..0x14, any::<u16>()), 0..12),
        looks in proptest::collection::vec(1u64..5000, 1..30),
    ) {
        let program = |bench: &mut Bench| {
            for &(register, value) in &setup {
                // Short periods, so that much happens; no DMA, which the looking would not acknowledge.
                let value = match register {
                    0x0a | 0x0b | 0x03 => value & 0x7f,
                    _ => value,
                };
                bench.write(BASE + register * 4, value.into());
            }
            let end = bench.bus.now;
            let cr1 = bench.read(CR1);
            bench.write(CR1, cr1 | 1);
            bench.write(SR, 0);
            end
        };
        let (mut often, mut seldom) = (timer(FULL), timer(FULL));
        program(&mut often);
        program(&mut seldom);
        often.watch("TIM3_CH1");
        let end = looks.iter().sum();
        let mut now = 0;
        for look in looks {
            now += look;
            often.run_to(now);
            often.read(CNT);
        }
        seldom.run_to(end);
        for register in [CNT, SR, CR1] {
            prop_assert_eq!(often.read(register), seldom.read(register), "{:#x}", register);
        }
        prop_assert_eq!(often.level("TIM3_CH1"), seldom.level("TIM3_CH1"));
    }

    #[test]
    fn no_access_panics_or_hangs(
        accesses in proptest::collection::vec(
            (0u32..0x60, any::<u32>(), 0u64..100_000, 0u8..6), 1..60)
    ) {
        let mut bench = timer(FULL);
        bench.watch("TIM3_CH1");
        let mut now = 0;
        for (offset, value, wait, kind) in accesses {
            let size = [Size::Byte, Size::Half, Size::Word][kind as usize % 3];
            let address = BASE + offset / size.bytes() * size.bytes();
            if kind < 3 {
                bench.bus.write(address, size, value).unwrap();
            } else {
                bench.bus.read(address, size).unwrap();
            }
            // Short waits: an output that toggles each cycle is an event each cycle.
            now += wait % 3000;
            bench.run_to(now);
            prop_assert_eq!(bench.bus.now, now);
        }
    }
}
