//! A link that cannot keep up: 115,226 baud at 168 MHz, a sample each 16,384 cycles (register
//! values of micro-ROS's benchmarking).

use super::bench::{Plan, Traced, every, run};

/// ACPR 0x5b1; CYCTAP 1, POSTPRESET 15.
const SLOW: Plan = Plan { acpr: 0x5b1, tcr: 0, count: 0, ctrl: every(1, 15, 0) };

fn slow(firmware: &str) -> Traced {
    let mut programme = SLOW.programme();
    // No stimulus ports: samples alone.
    programme.writes.retain(|write| write.address != 0xe000_0e00);
    run(firmware, programme)
}

/// Six bytes of 14,580 cycles for each sample that is kept: 18.7 %, and an overflow packet with
/// each.
#[test]
fn four_of_five_samples_are_lost() {
    for firmware in ["trace", "trace-detuned", "trace-resonant"] {
        let traced = slow(firmware);
        let taken = traced.cycles() / 16_384;
        let kept = traced.samples() as f64 / taken as f64;
        println!("{firmware}: {} of {taken}, {} overflows", traced.samples(), traced.overflows());
        assert!((0.17..0.26).contains(&kept), "{firmware}: {kept}");
        // What the buffers hold at first was lost by nobody.
        assert!(traced.samples() - traced.overflows() <= 20);
    }
}

/// Which samples are lost is no accident: the buffers have room again each 87,480 cycles. A loop of
/// just that length has each of its two functions in half of the time, and the pin shows one of
/// them alone or nearly so; with another length it shows both.
#[test]
fn full_buffer_does_not_lose_samples_at_random() {
    let share = |firmware| {
        let traced = slow(firmware);
        let shares = traced.shares();
        let of = |name: &str| shares.iter().find(|share| share.0 == name).expect("it has run");
        let (first, second) = (of("first"), of("second"));
        let exact = first.1 as f64 / (first.1 + second.1) as f64;
        let sampled = first.2 as f64 / (first.2 + second.2) as f64;
        println!(
            "{firmware}: first has {exact:.3} of the time and {sampled:.3} of {} samples",
            first.2 + second.2
        );
        assert!((exact - 0.5).abs() < 0.01, "{firmware}: {exact}");
        (sampled - exact).abs()
    };
    let (resonant, detuned) = (share("trace-resonant"), share("trace-detuned"));
    assert!(resonant > 0.3, "off by {resonant}");
    assert!(detuned < 0.1, "off by {detuned}");
}
