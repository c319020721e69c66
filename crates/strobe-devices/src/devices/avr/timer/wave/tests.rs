//! Counts and outputs by waveform, clock by clock, as the data sheet's figures have them.

use super::*;

fn wave(mode: Option<Mode>, compare: u16, action: u8) -> Wave {
    let mut wave = Wave::new(2, 0xff);
    wave.channels[0] = Channel { compare, buffer: compare, action, output: false };
    wave.channels[1].compare = 0xff;
    wave.channels[1].buffer = 0xff;
    wave.set_mode(mode.unwrap());
    wave
}

/// Counter values and output at each clock.
fn course(wave: &mut Wave, clocks: usize) -> (Vec<u16>, Vec<bool>) {
    let step = |wave: &mut Wave| {
        let seen = (wave.count, wave.channels[0].output);
        wave.run(1);
        seen
    };
    (0..clocks).map(|_| step(wave)).unzip()
}

#[test]
fn clear_on_compare_period_is_top_plus_one() {
    let mut wave = wave(Mode::narrow(2), 3, 1);
    let (counts, output) = course(&mut wave, 9);
    assert_eq!(counts, [0, 1, 2, 3, 0, 1, 2, 3, 0]);
    assert_eq!(output, [0, 0, 0, 0, 1, 1, 1, 1, 0].map(|n| n == 1));
}

#[test]
fn fast_pwm_is_high_for_compare_plus_one_clocks() {
    for compare in [0, 1, 100, 254, 255] {
        let mut wave = wave(Mode::narrow(3), compare, 2);
        wave.run(256);
        let high = course(&mut wave, 256).1.iter().filter(|&&level| level).count();
        assert_eq!(high, usize::from(compare) + 1);
    }
}

#[test]
fn phase_correct_pwm_is_high_for_twice_the_compare() {
    for compare in [0, 1, 100, 254, 255] {
        let mut wave = wave(Mode::narrow(1), compare, 2);
        wave.run(510);
        let high = course(&mut wave, 510).1.iter().filter(|&&level| level).count();
        assert_eq!(high, 2 * usize::from(compare));
    }
}

#[test]
fn many_clocks_at_once_end_as_single_ones() {
    for wgm in 0..16 {
        let Some(mode) = Mode::wide(wgm) else { continue };
        let mut fast = Wave::new(3, 0xffff);
        (fast.capture, fast.channels[0].buffer) = (700, 900);
        fast.channels[1] = Channel { buffer: 30, action: 2, ..Channel::default() };
        fast.channels[0].action = 1;
        fast.set_mode(mode);
        let mut slow = fast.clone();
        let clocks = 700_001;
        let raised = (0..clocks).fold(0, |raised, _| raised | slow.run(1));
        assert_eq!(fast.run(clocks), raised, "{mode:?}");
        assert_eq!(fast.count, slow.count, "{mode:?}");
        let outputs = |w: &Wave| w.channels.iter().map(|c| c.output).collect::<Vec<_>>();
        assert_eq!(outputs(&fast), outputs(&slow), "{mode:?}");
    }
}

#[test]
fn the_shortest_periods_are_not_counted_one_by_one() {
    for wgm in [4, 12, 14, 15, 9, 11] {
        let mut fast = Wave::new(2, 0xffff);
        fast.set_mode(Mode::wide(wgm).unwrap());
        fast.set_count(40_000);
        let mut slow = fast.clone();
        let clocks = 100_000;
        let raised = (0..clocks).fold(0, |raised, _| raised | slow.run(1));
        assert_eq!(fast.run(clocks), raised, "{wgm}");
        assert_eq!(fast, slow, "{wgm}");
        // Counted one by one these would take an hour.
        fast.run(1 << 40);
        assert!(fast.events.iter().sum::<u64>() >= 1 << 40, "{wgm}");
    }
}

#[test]
fn flags_that_cannot_be_raised_are_known() {
    for (wgm, compares, count) in
        (0..16).flat_map(|wgm| [([0, 0], 0), ([9, 30], 5), ([90, 3], 95)].map(|(c, n)| (wgm, c, n)))
    {
        let Some(mode) = Mode::wide(wgm) else { continue };
        let mut wave = Wave::new(2, 0xffff);
        wave.capture = 50;
        wave.channels[0].buffer = compares[0];
        wave.channels[1].buffer = compares[1];
        wave.set_mode(mode);
        wave.set_count(count);
        for _ in 0..200 {
            let known = wave.can_raise();
            let raised = wave.clone().run(1 << 18);
            assert_eq!(raised & !known, 0, "{mode:?} {compares:?} {count}");
            wave.run(1);
        }
    }
}

#[test]
fn a_written_counter_matches_nothing_at_its_next_clock() {
    let mut wave = wave(Mode::narrow(0), 5, 0);
    wave.set_count(5);
    assert_eq!(wave.run(1), 0);
    wave.set_count(4);
    assert_eq!((wave.run(1), wave.run(1)), (0, 2));
}
