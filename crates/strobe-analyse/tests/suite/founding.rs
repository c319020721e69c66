//! Errors of the founding documents that arithmetic and statistics find (docs/founding.md): each is
//! a test by its number.

use strobe_analyse::statistics::crossover::{Crossover, Point, crossover};
use strobe_analyse::statistics::repeated::{Runs, welch};

/// Five runs of 1,000 queries whose printed "stddev" is half the (population) variance.
fn rows(mean: f64, printed: f64) -> Runs {
    let variance = printed * 2.0 * 5.0 / 4.0;
    Runs { n: 5, mean, variance, min: mean, max: mean }
}

/// Two factories whose difference was taken for one: with their true spread there is none.
#[test]
fn e1_half_a_variance_is_no_deviation() {
    let deviation = (2.0 * 0.000_252_f64).sqrt();
    assert!((deviation / 0.000_252 - 89.0).abs() < 0.5, "89 times as large as printed");
    let queries = (2.0 * 405.529_567_f64).sqrt();
    assert!((queries - 28.5).abs() < 0.1, "{queries} queries a second, not 405.5");
    let (tuple, dict) = (rows(0.884_321, 0.000_252), rows(0.876_114, 0.000_070));
    let difference = welch(&tuple, &dict).expect("both vary");
    assert!(difference.low < 0.0 && difference.high > 0.0, "{difference:?}");
    assert!(difference.chance > 0.5, "{difference:?}");
    // The claim that stands: named tuples take 1.69 times as long.
    let named = rows(1.480_597, 0.000_065);
    assert!(welch(&dict, &named).expect("both vary").chance < 1e-6);
}

/// A slice of native code may take 1 to 2 ms.
#[test]
fn e2_five_yields_are_a_second_each() {
    let (whole_ms, yields) = (5360.0, 5.0);
    assert!(whole_ms / (yields + 1.0) > 800.0 && whole_ms / yields < 1100.0);
    // Microseconds were divided by 10,000 where 10 was right, for percent of a millisecond.
    let percent = |microseconds: u64, by: u64| microseconds / by;
    assert_eq!(
        (percent(1000, 10), percent(1000, 10_000), percent(1_000_000, 10_000)),
        (100, 0, 100)
    );
}

/// What 5,000 samples at one in 16,384 cycles of 168 MHz cover.
#[test]
fn e4_five_thousand_samples_cover_half_a_second() {
    let rate = 168e6 / 16384.0;
    let demanded = 5000.0 / rate;
    assert!((0.48..0.50).contains(&demanded), "{demanded} s at full demand");
    let through = 115_200.0 / 10.0 / 5.0;
    let seen = 5000.0 / through;
    assert!((2.1..2.3).contains(&seen), "{seen} s at the link's speed");
    assert!(seen / 500.0 < 0.005, "of a run of 500 s");
}

/// Samples in the function that reads the PHY were taken for the wait for an Ethernet frame. A run
/// whose messages go over a serial line has them as well: 615 of 4,664, by the recording that `make
/// recordings` judges.
#[test]
fn e5_phy_is_read_without_sending_a_frame() {
    let known = include_str!("../../../../xtask/src/recordings/known.toml");
    let (_, serial) = known.split_once("microros/dec2019/uart_perf/packets.json").expect("the run");
    let figure = |path: &str| -> u64 {
        let line = serial.lines().find(|line| line.starts_with(path)).expect("the figure");
        line.rsplit(' ').next().expect("a number").parse().expect("a number")
    };
    let phy = figure("\"/published/[function=stm32_phyread]/samples\"");
    let all = figure("\"/totals/samples\"");
    // Nothing waits there for what never happens: the share would be 0.
    let share = phy as f64 / all as f64;
    assert!(share > 0.1, "{phy} of {all}");
}

/// A listing's parts and the total that stands above them.
#[test]
fn e6_totals_are_not_the_sums_of_their_parts() {
    let (idle, phy, all) = (1212.0, 288.0, 1507.0);
    assert!((idle / all - 0.804_f64).abs() < 0.001 && (phy / all - 0.191_f64).abs() < 0.001);
    assert_eq!((5066 - 5016, 4996 - 4946), (50, 50), "1642 had become 1692 in both");
}

/// Factories of rows with 10 columns, in microseconds, measured anew: the advice turns round.
#[test]
fn e11_named_tuples_and_dictionaries_swap_at_250_rows() {
    let measured = [(1.0, 0.8, 111.0), (250.0, 317.0, 321.0), (10_000.0, 15_028.0, 7478.0)];
    let points: Vec<Point> = measured
        .iter()
        .map(|(at, dict, named)| Point { at: *at, pairs: vec![(*dict, *named); 9] })
        .collect();
    match crossover(&points, 1) {
        Some(Crossover::At { at, first_below, .. }) => {
            assert!((200.0..400.0).contains(&at) && first_below, "{at}");
        }
        other => panic!("{other:?}"),
    }
}

/// Cycles that fewer misses save, and those that the throughput needs.
#[test]
fn e12_fewer_misses_do_not_close_the_budget() {
    let (instructions, misses_before, misses_after, cycles_a_miss) = (0.970, 0.103, 0.082, 12.0);
    let saved = (misses_before - misses_after) * cycles_a_miss;
    assert!((0.24..0.27).contains(&saved), "{saved} cycles an instruction");
    let needed = 21_404.0 / 30_903.0 / instructions;
    assert!((0.71..0.72).contains(&needed), "{needed} of the cycles an instruction took");
    // Only at this many cycles an instruction would the misses explain all of it.
    let explains_all = saved / (1.0 - needed);
    assert!((0.8..1.0).contains(&explains_all), "{explains_all}, which was not measured");
}
