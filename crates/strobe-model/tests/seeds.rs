//! Property tests draw the same cases in each run, however they are configured: no test fails by
//! chance.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// What a property with this configuration draws.
fn drawn(config: ProptestConfig) -> Vec<u64> {
    let drawn = RefCell::new(Vec::new());
    proptest!(config, |(value: u64)| drawn.borrow_mut().push(value));
    drawn.into_inner()
}

/// In each of the ways in which tests here configure themselves.
#[test]
fn the_seed_is_fixed() {
    let configs = || {
        let few = ProptestConfig { cases: 20, failure_persistence: None, ..Default::default() };
        [ProptestConfig::default(), ProptestConfig::with_cases(50), few]
    };
    let why = ".cargo/config.toml sets PROPTEST_RNG_SEED for what runs through cargo; without \
               cargo, set it yourself";
    for config in configs() {
        assert!(matches!(config.rng_seed, RngSeed::Fixed(_)), "{why}");
    }
    assert_eq!(configs().map(drawn), configs().map(drawn), "{why}");
    // And not only one value over and over.
    let mut values = drawn(ProptestConfig::default());
    let all = values.len();
    values.sort_unstable();
    values.dedup();
    assert!(all >= 200 && values.len() == all, "{} of {all} differ", values.len());
}
