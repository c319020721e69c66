//! Sampled shares against the exact ones of the same run.

use super::bench::{Plan, every, run, wilson};

/// Of pairs of a run and a function, how many have the exact share within the interval that the
/// samples promise: at least 90 %.
///
/// Samples a fixed time apart are no random ones, but while their period and the firmware's have
/// little in common they spread even better. The periods here are odd multiples of the taps' 64 and
/// 1024 cycles, and each is tried in several phases.
///
/// One thing is in step with all of them: SysTick comes each 168,000 cycles, a millisecond, which
/// are 2625 times 64. Its handler, of some twenty cycles, is one of those that miss (see below).
#[test]
fn exact_shares_lie_within_their_intervals() {
    let periods = [(0, 12), (0, 10), (0, 6), (0, 14), (1, 0), (1, 2), (1, 4), (1, 6), (1, 12)];
    let phases = [(0, 0), (5, 333), (11, 50)];
    let (mut within, mut pairs) = (0, 0);
    for (tap, preset) in periods {
        for (init, count) in phases {
            // 33.6 Mbaud, which no pin has, so that nothing is lost.
            let plan = Plan { acpr: 4, tcr: 0, count, ctrl: every(tap, preset, init) };
            let traced = run("trace", plan.programme());
            assert_eq!(traced.overflows(), 0);
            let (samples, cycles) = (traced.samples(), traced.cycles());
            for (name, exact, hits) in traced.shares() {
                // What is not expected to be hit once proves nothing.
                if exact * samples < cycles {
                    continue;
                }
                let (low, high) = wilson(hits, samples);
                let share = exact as f64 / cycles as f64;
                pairs += 1;
                if low <= share && share <= high {
                    within += 1;
                } else {
                    println!(
                        "tap {tap} preset {preset} init {init} count {count}: {name} {share:.4}, \
                         {low:.4} to {high:.4}"
                    );
                }
            }
        }
    }
    println!("{within} of {pairs} pairs within");
    assert!(pairs > 200);
    assert!(within * 10 >= pairs * 9, "{within} of {pairs}");
}

/// DWT takes samples at multiples of 64 cycles, so it sees the same of whatever comes each 168,000,
/// a multiple of 64 too: a short handler of SysTick at 1 kHz and 168 MHz is hit again and again or
/// not at all, by the phase, however many samples there are.
#[test]
fn a_handler_in_step_with_the_samples_is_misjudged() {
    let sampled = |init| {
        let plan = Plan { acpr: 4, tcr: 0, count: 0, ctrl: every(0, 6, init) };
        let traced = run("trace", plan.programme());
        let shares = traced.shares();
        let (_, exact, hits) =
            shares.iter().find(|share| share.0 == "SysTick_Handler").expect("it has run");
        println!("phase {init}: {exact} of {} cycles, {hits} samples", traced.cycles());
        *hits as f64 / traced.samples() as f64 / (*exact as f64 / traced.cycles() as f64)
    };
    let phases = [0, 3, 5, 11, 14].map(sampled);
    let [low, high] = [f64::min, f64::max].map(|f| phases.into_iter().reduce(f).expect("five"));
    assert!(low < 0.5 && high > 3.0, "from {low} to {high} times the exact share");
}
