//! The timer as firmware sees it: cycles of flags, interrupts and edges.

use proptest::prelude::*;

use crate::rig::{Rig, apb_device};
use strobe_sim::kernel::device::{Shift, Size};

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

fn timer(options: &str) -> Rig {
    Rig::new(&apb_device(("TIM3", "stm32-tim"), BASE, &[16], options))
}

/// Clears the flags at each interrupt and returns (cycle, flags) of the first `count`.
fn interrupts(rig: &mut Rig, count: usize) -> Vec<(u64, u32)> {
    let mut seen = Vec::new();
    while seen.len() < count {
        let Some(cycle) = rig.run_to_irq(16, 1_000_000_000) else { break };
        let flags = rig.read32(SR);
        rig.write32(SR, !flags);
        seen.push((cycle, flags));
    }
    seen
}

#[test]
fn period_is_exact_and_matches_the_counter() {
    let mut rig = timer(GENERAL);
    rig.write32(PSC, 7);
    rig.write32(ARR, 999);
    rig.write32(EGR, 1);
    rig.write32(SR, 0);
    rig.write32(DIER, 1);
    rig.write32(CR1, 1);
    // CEN takes one clock, then 1000 ticks of 8 cycles.
    let cycles: Vec<u64> = interrupts(&mut rig, 3).iter().map(|(cycle, _)| *cycle).collect();
    assert_eq!(cycles, [8001, 16001, 24001]);
    assert_eq!(rig.read32(CNT), 0);
    rig.run_to(24001 + 7);
    assert_eq!(rig.read32(CNT), 0);
    rig.run_to(24001 + 8);
    assert_eq!(rig.read32(CNT), 1);
    rig.run_to(32000);
    assert_eq!((rig.read32(CNT), rig.read32(SR) & 1), (999, 0));
    rig.run_to(32001);
    assert_eq!((rig.read32(CNT), rig.read32(SR) & 1), (0, 1));
}

/// The sequence of embassy-time's 16-bit driver: half period on CC1, overflow, alarm on CC2.
#[test]
fn half_period_overflow_and_alarm_interrupt_at_exact_cycles() {
    let mut rig = timer(GENERAL);
    rig.write32(PSC, 47);
    rig.write32(ARR, 0xffff);
    rig.write32(CR1, 1 << 2);
    rig.write32(EGR, 1);
    assert_eq!(rig.read32(SR) & 1, 0, "URS keeps UG from setting UIF");
    rig.write32(SR, 0);
    rig.write32(CR1, 0);
    rig.write32(CCR1, 0x8000);
    rig.write32(DIER, 1 | 1 << 1);
    rig.write32(CR1, 1);
    rig.run_to(100);
    rig.write32(CCR2, 1000);
    rig.write32(DIER, 1 | 1 << 1 | 1 << 2);
    let at = |ticks: u64| 1 + ticks * 48;
    assert_eq!(
        interrupts(&mut rig, 5).into_iter().map(|(c, f)| (c, f & 7)).collect::<Vec<_>>(),
        [
            (at(1000), 4),
            (at(0x8000), 2),
            (at(0x1_0000), 1),
            (at(0x1_0000 + 1000), 4),
            (at(0x1_8000), 2),
        ]
    );
    // Whenever an interrupt comes, the counter already shows it: now() never runs backwards.
    assert_eq!(rig.read32(CNT), 0x8000);
}

/// The same on the real board, behind the clock controller and with a half-word prescaler write.
#[test]
fn the_time_driver_runs_on_the_board() {
    const RCC: u32 = 0x4002_1000;
    const TIM15: u32 = 0x4001_4000;
    let mut rig = Rig::builtin("stm32f070cb");
    rig.set_bits(RCC + 0x0c, 1 << 16);
    rig.set_bits(RCC + 0x18, 1 << 16);
    rig.read32(RCC + 0x18);
    let reset = rig.read32(RCC + 0x0c);
    rig.write32(RCC + 0x0c, reset & !(1 << 16));
    rig.write32(TIM15 + 0x24, 0);
    rig.write(TIM15 + 0x28, Size::Half, 7);
    rig.write32(TIM15 + 0x2c, 0xffff);
    rig.write32(TIM15, 4);
    rig.write32(TIM15 + 0x14, 1);
    rig.write32(TIM15, 0);
    rig.write32(TIM15 + 0x34, 0x8000);
    rig.write32(TIM15 + 0x0c, 3);
    rig.write32(TIM15, 1);
    rig.write32(TIM15 + 0x38, 30_000);
    rig.write32(TIM15 + 0x0c, 7);
    assert_eq!(rig.run_to_irq(20, 10_000_000), Some(1 + 8 * 30_000));
}

#[test]
fn a_running_timer_that_nobody_watches_needs_no_events() {
    let mut rig = timer(GENERAL);
    rig.write32(ARR, 9);
    rig.write32(CR1, 1);
    assert_eq!(rig.bus.next_due, u64::MAX);
    let years = 48_000_000 * 3600 * 24 * 365;
    rig.run_to(years);
    assert_eq!(u64::from(rig.read32(CNT)), (years - 1) % 10);
    assert_eq!(rig.read32(SR) & 1, 1);
}

#[test]
fn preloaded_values_take_effect_at_the_update_event() {
    let mut rig = timer(GENERAL);
    rig.write32(ARR, 99);
    rig.write32(CR1, 1 << 7);
    rig.write32(EGR, 1);
    rig.write32(SR, 0);
    rig.write32(DIER, 1);
    rig.write32(CR1, 1 | 1 << 7);
    rig.write32(ARR, 49);
    rig.write32(PSC, 1);
    let cycles: Vec<u64> = interrupts(&mut rig, 3).iter().map(|(cycle, _)| *cycle).collect();
    assert_eq!(cycles, [101, 201, 301]);
}

#[test]
fn one_pulse_mode_stops_at_the_update_event() {
    let mut rig = timer(GENERAL);
    rig.write32(ARR, 9);
    rig.write32(DIER, 1);
    rig.write32(CR1, 1 | 1 << 3);
    assert_eq!(interrupts(&mut rig, 2), [(11, 1 | 0b11110)]);
    assert_eq!(rig.read32(CR1) & 1, 0);
    rig.run_to(1000);
    assert_eq!(rig.read32(CNT), 0);
}

#[test]
fn the_repetition_counter_thins_out_update_events() {
    let mut rig = timer(FULL);
    rig.write32(ARR, 9);
    rig.write32(RCR, 3);
    rig.write32(EGR, 1);
    rig.write32(SR, 0);
    rig.write32(DIER, 1);
    rig.write32(CR1, 1);
    let cycles: Vec<u64> = interrupts(&mut rig, 2).iter().map(|(cycle, _)| *cycle).collect();
    assert_eq!(cycles, [41, 81]);
    rig.write32(DIER, 0);
    // The same over a stretch that is skipped in one step: 3 overflows short of the next event.
    rig.run_to(81 + 40 * 1000 + 39);
    rig.write32(SR, 0);
    rig.write32(DIER, 1);
    assert_eq!(interrupts(&mut rig, 1), [(81 + 40 * 1001, 1 | 0b11110)]);
}

/// RM0360, "PWM edge-aligned mode": ARR = 8, CCR = 4.
#[test]
fn edge_aligned_pwm_has_the_programmed_duty() {
    for (compare, edges) in [
        (4, vec![(0, true), (5, false), (10, true), (14, false), (19, true), (23, false)]),
        (0, vec![]),
        (9, vec![(0, true)]),
    ] {
        let mut rig = timer(GENERAL);
        rig.watch("TIM3_CH1");
        rig.write32(ARR, 8);
        rig.write32(CCR1, compare);
        rig.write32(CCMR1, 0x68);
        rig.write32(EGR, 1);
        rig.write32(CCER, 1);
        rig.write32(CR1, 1);
        rig.run_to(27);
        assert_eq!(rig.edges("TIM3_CH1"), edges, "compare {compare}");
    }
}

/// RM0360, "Center-aligned PWM waveforms": ARR = 8, CCR = 4, flags in the three modes.
#[test]
fn center_aligned_pwm_is_symmetric_and_flags_by_direction() {
    for (cms, flags) in [(1, vec![13, 29]), (2, vec![5, 21]), (3, vec![5, 13, 21, 29])] {
        let mut rig = timer(GENERAL);
        rig.watch("TIM3_CH1");
        rig.write32(ARR, 8);
        rig.write32(CCR1, 4);
        rig.write32(CCMR1, 0x68);
        rig.write32(EGR, 1);
        rig.write32(SR, 0);
        rig.write32(CCER, 1);
        rig.write32(DIER, 2);
        rig.write32(CR1, 1 | cms << 5);
        let count = flags.len();
        let cycles: Vec<u64> =
            interrupts(&mut rig, count).iter().map(|(cycle, _)| *cycle).collect();
        assert_eq!(cycles, flags, "CMS = {cms}");
        rig.run_to(30);
        let edges = rig.edges("TIM3_CH1");
        assert_eq!(edges, [(0, true), (5, false), (13, true), (21, false), (29, true)]);
    }
}

#[test]
fn outputs_toggle_on_match_and_obey_main_output_enable() {
    let mut rig = timer(FULL);
    rig.watch("TIM3_CH2");
    rig.write32(ARR, 9);
    rig.write32(CCR2, 3);
    rig.write32(CCMR1, 0x30 << 8);
    rig.write32(CCER, 1 << 4);
    rig.write32(CR1, 1);
    rig.run_to(20);
    assert_eq!(rig.edges("TIM3_CH2"), [], "MOE is off");
    rig.write32(BDTR, 1 << 15);
    rig.run_to(40);
    // Matched twice before MOE; from then on every 10 cycles.
    assert_eq!(rig.edges("TIM3_CH2"), [(24, true), (34, false)]);
    rig.write32(CR2, 1 << 10);
    rig.write32(BDTR, 0);
    assert!(rig.level("TIM3_CH2"), "idle state of OIS2");
}

#[test]
fn an_input_edge_captures_the_counter() {
    let mut rig = timer(GENERAL);
    rig.write32(CCMR1, 0x01);
    rig.write32(CCER, 1);
    rig.write32(DIER, 2);
    rig.write32(CR1, 1);
    rig.run_to(101);
    rig.set("TIM3_CH1_IN", true);
    assert!(rig.irq(16));
    rig.run_to(150);
    rig.set("TIM3_CH1_IN", false);
    rig.run_to(201);
    rig.set("TIM3_CH1_IN", true);
    assert_eq!(rig.read32(SR) & (2 | 1 << 9), 2 | 1 << 9, "captured twice");
    assert_eq!(rig.read32(CCR1), 200);
    assert!(!rig.irq(16), "reading the capture clears its flag");
}

#[test]
fn a_dma_request_stays_until_it_is_acknowledged() {
    let mut rig = timer(GENERAL);
    rig.watch("TIM3_UP_DMA");
    rig.write32(ARR, 9);
    rig.write32(DIER, 1 << 8);
    rig.write32(CR1, 1);
    rig.run_to(25);
    rig.set("TIM3_UP_DMA_ACK", true);
    rig.run_to(27);
    rig.set("TIM3_UP_DMA_ACK", false);
    rig.run_to(35);
    assert_eq!(rig.edges("TIM3_UP_DMA"), [(11, true), (25, false), (31, true)]);
}

#[test]
fn counter_keeps_its_value_when_clock_ratio_changes() {
    let mut rig = timer(GENERAL);
    rig.write32(PSC, 9);
    rig.write32(EGR, 1);
    rig.write32(SR, 0);
    rig.write32(CR1, 1);
    rig.run_to(1 + 10 * 100 + 5);
    assert_eq!(rig.read32(CNT), 100);
    rig.bus.clocks.timer_divider = 4;
    rig.bus.clocks_dirty = true;
    rig.bus.settle();
    assert_eq!(rig.read32(CNT), 100);
    rig.run_to(1006 + 19);
    assert_eq!(rig.read32(CNT), 100);
    rig.run_to(1006 + 20);
    assert_eq!(rig.read32(CNT), 101);
}

#[test]
fn a_timer_with_two_lines_splits_its_interrupts() {
    let mut rig = Rig::new(&apb_device(("TIM1", "stm32-tim"), BASE, &[13, 14], FULL));
    rig.write32(ARR, 9);
    rig.write32(CCR1, 5);
    rig.write32(DIER, 3);
    rig.write32(CR1, 1);
    rig.run_to(6);
    assert_eq!((rig.irq(13), rig.irq(14)), (false, true));
    rig.run_to(11);
    assert_eq!((rig.irq(13), rig.irq(14)), (true, true));
}

/// RM0090 table 62: break, update, trigger and commutation, capture/compare.
#[test]
fn timer_with_four_lines_has_one_per_kind() {
    let mut rig = Rig::new(&apb_device(("TIM1", "stm32-tim"), BASE, &[24, 25, 26, 27], FULL));
    let lines = |rig: &Rig| [24, 25, 26, 27].map(|number| rig.irq(number));
    rig.write32(DIER, 0xff);
    for (event, expected) in [
        (1, [false, true, false, false]),
        (1 << 4, [false, false, false, true]),
        (1 << 5, [false, false, true, false]),
        (1 << 6, [false, false, true, false]),
        (1 << 7, [true, false, false, false]),
    ] {
        rig.write32(EGR, event);
        assert_eq!(lines(&rig), expected, "event {event:#x}");
        rig.write32(SR, 0);
    }
}

/// TIM2 and TIM5 of RM0090 count 32 bits.
#[test]
fn a_wide_timer_counts_past_16_bits() {
    let mut rig = timer("channels = 4\ndown = true\nbits = 32");
    assert_eq!(rig.read32(ARR), u32::MAX);
    rig.write32(CCR1, 0x12_3456);
    rig.write32(DIER, 2);
    rig.write32(CR1, 1);
    assert_eq!(rig.run_to_irq(16, 1 << 40), Some(1 + 0x12_3456));
    assert_eq!(rig.read32(CNT), 0x12_3456);
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
    fn counter_and_flags_match_a_stepwise_reference(
        psc in 0u64..5, arr in 1u64..30, ccr in 0u64..40, cycles in 1u64..2000
    ) {
        let mut rig = timer(GENERAL);
        rig.write32(PSC, psc as u32);
        rig.write32(ARR, arr as u32);
        rig.write32(CCR1, ccr as u32);
        rig.write32(EGR, 1);
        rig.write32(SR, 0);
        rig.write32(CR1, 1);
        rig.run_to(cycles);
        let (count, flags) = reference_flags(psc, arr, ccr, cycles);
        prop_assert_eq!(u64::from(rig.read32(CNT)), count);
        prop_assert_eq!(rig.read32(SR) & 3, flags);
    }

    /// Looking often or seldom, with or without interrupts, gives the same counter and flags.
    #[test]
    fn looking_does_not_change_what_happens(
        setup in proptest::collection::vec((0u32..0x14, any::<u16>()), 0..12),
        looks in proptest::collection::vec(1u64..5000, 1..30),
    ) {
        let program = |rig: &mut Rig| {
            for &(register, value) in &setup {
                // Short periods, so that much happens; no DMA, which the looking would not
                // acknowledge.
                let value = match register {
                    0x0a | 0x0b | 0x03 => value & 0x7f,
                    _ => value,
                };
                rig.write32(BASE + register * 4, value.into());
            }
            let end = rig.bus.now;
            let cr1 = rig.read32(CR1);
            rig.write32(CR1, cr1 | 1);
            rig.write32(SR, 0);
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
            often.read32(CNT);
        }
        seldom.run_to(end);
        for register in [CNT, SR, CR1] {
            prop_assert_eq!(often.read32(register), seldom.read32(register), "{:#x}", register);
        }
        prop_assert_eq!(often.level("TIM3_CH1"), seldom.level("TIM3_CH1"));
    }

    #[test]
    fn no_access_panics_or_hangs(
        accesses in proptest::collection::vec(
            (0u32..0x60, any::<u32>(), 0u64..100_000, 0u8..6), 1..60)
    ) {
        let mut rig = timer(FULL);
        rig.watch("TIM3_CH1");
        let mut now = 0;
        for (offset, value, wait, kind) in accesses {
            let size = [Size::Byte, Size::Half, Size::Word][kind as usize % 3];
            let address = BASE + offset / size.bytes() * size.bytes();
            if kind < 3 {
                rig.bus.write(address, size, value).unwrap();
            } else {
                rig.bus.read(address, size).unwrap();
            }
            // Short waits: an output that toggles each cycle is an event each cycle.
            now += wait % 3000;
            rig.run_to(now);
            prop_assert_eq!(rig.bus.now, now);
        }
    }
}

/// By `part` of `of` of what is left until its next interrupt.
fn shift(rig: &mut Rig, part: u32, of: u32) -> Shift {
    let id = rig.bus.device_named("TIM3").expect("the rig has one");
    rig.bus.shift_timer(id, part, of)
}

#[test]
fn shifted_timer_keeps_its_period_and_skips_nothing() {
    let mut rig = timer(GENERAL);
    rig.write32(PSC, 7);
    rig.write32(ARR, 999);
    rig.write32(EGR, 1);
    rig.write32(SR, 0);
    assert_eq!(shift(&mut rig, 1, 2), Shift::Idle, "it does not run");
    rig.write32(DIER, 1);
    rig.write32(CR1, 1);
    rig.run_to(4001);
    // Half of the 500 ticks of 8 cycles that are left.
    assert_eq!(shift(&mut rig, 1, 2), Shift::Earlier(2000));
    assert_eq!(rig.read32(CNT), 750);
    let cycles: Vec<u64> = interrupts(&mut rig, 3).iter().map(|(cycle, _)| *cycle).collect();
    assert_eq!(cycles, [6001, 14001, 22001]);
}

/// The next interrupt is that of a compare value; a shift ends before it.
#[test]
fn a_shift_is_short_of_the_next_compare_value() {
    let mut rig = timer(GENERAL);
    rig.write32(ARR, 999);
    rig.write32(EGR, 1);
    rig.write32(SR, 0);
    rig.write32(CCR1, 100);
    rig.write32(DIER, 0b11);
    rig.write32(CR1, 1);
    rig.run_to(1);
    assert_eq!(shift(&mut rig, 63, 64), Shift::Earlier(98));
    // Channels that ask for no interrupt have flags of their own.
    let asked = interrupts(&mut rig, 2).into_iter().map(|(cycle, flags)| (cycle, flags & 0b11));
    assert_eq!(asked.collect::<Vec<_>>(), [(3, 0b10), (903, 0b01)]);
}

#[test]
fn timer_with_uses_besides_interrupts_is_not_shifted() {
    for (register, value, word) in [
        (CR1, 0b1001, "one period"),
        (DIER, 0x101, "DMA"),
        (CCER, 1, "drives"),
        // Input TI1, enabled.
        (CCMR1, 1, "captures"),
    ] {
        let mut rig = timer(GENERAL);
        rig.write32(ARR, 999);
        rig.write32(DIER, 1);
        rig.write32(CR1, 1);
        if word == "captures" {
            rig.write32(CCMR1, 1);
            rig.write32(CCER, 1);
        }
        rig.write32(register, value);
        rig.run_to(100);
        let count = rig.read32(CNT);
        let Shift::Unfit(why) = shift(&mut rig, 1, 2) else { panic!("{word}") };
        assert!(why.contains(word), "{why}");
        assert_eq!(rig.read32(CNT), count);
    }
}
