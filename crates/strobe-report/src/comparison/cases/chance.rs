//! What may be chance: samples, sets of runs, and limits on figures of these.

use strobe_analyse::compare::threshold::{Limit, Outcome, judge};
use strobe_model::measurement::Measurement;

use super::super::measurement;
use super::{
    Made, checked, codes, compare_sets, data, figures, first, many, of, program, run, sampled,
    texts, verdict,
};

#[test]
fn differences_within_chance_are_undecided() {
    let compared = checked(&sampled(many(300)), &sampled(many(330)));
    assert!(first(&compared, "verdict").starts_with("undecided"));
    assert!(verdict(&compared).contains("needs"), "{}", verdict(&compared));
    let compared = checked(&sampled(many(300)), &sampled(many(900)));
    assert_eq!(first(&compared, "function"), "a");
    assert!(first(&compared, "verdict").starts_with("yes, q"), "{}", first(&compared, "verdict"));
    // Twice the recording is no difference.
    let twice = |mut all: Vec<Made>| {
        all.iter_mut().for_each(|made| made.cycles[0] *= 2);
        all
    };
    let compared = checked(&sampled(many(300)), &sampled(twice(many(300))));
    let verdicts = texts(&compared, "profile-functions", "verdict");
    assert!(verdicts.iter().all(|v| v.starts_with("undecided")), "{verdicts:?}");
}

#[test]
fn sets_of_runs_separate_luck_from_a_difference() {
    let with = |filter: i64, sum: i64| {
        let mut all = program();
        (all[1].cycles[0], all[2].cycles[0]) = (filter, sum);
        run(all)
    };
    let set = |filter: [i64; 4], sum: [i64; 4]| -> Vec<Measurement> {
        filter.into_iter().zip(sum).map(|(filter, sum)| with(filter, sum)).collect()
    };
    let a = set([1_000, 1_010, 990, 1_004], [40_000, 40_900, 39_000, 40_100]);
    let b = set([1_500, 1_505, 1_490, 1_498], [40_200, 39_100, 40_800, 40_300]);
    let compared = compare_sets(&a, &b).unwrap();
    compared.check().unwrap();
    let all = texts(&compared, "profile-functions", "function");
    let verdicts = texts(&compared, "profile-functions", "verdict");
    let of = |name: &str| verdicts[all.iter().position(|other| *other == name).unwrap()];
    assert!(of("filter").starts_with("yes, q"), "{}", of("filter"));
    assert!(of("sum").starts_with("undecided"), "{}", of("sum"));
    assert_eq!(of("main"), "equal");
    assert!(figures(&compared).contains_key("spread/totals/cycles/mean-a"));
    assert_eq!(compared.parts.len(), 8);
    assert!(compare_sets(&a, &[]).is_none());
    // One run of a side does not say how it varies.
    let compared = compare_sets(&a, &b[..1]).unwrap();
    assert!(first(&compared, "verdict").starts_with("undecided"));
}

#[test]
fn limits_hold_or_not_and_are_about_something() {
    let mut slow = program();
    slow[1].cycles[0] = 1_030;
    let mut compared = data(&run(program()), &run(slow));
    assert_eq!(of(&compared, "1%"), Ok(Outcome::Holds));
    assert!(matches!(of(&compared, "filter=2%"), Ok(Outcome::Above(_))));
    assert_eq!(of(&compared, "filter=3%"), Ok(Outcome::Holds));
    assert!(of(&compared, "nobody=3%").is_err());
    let limits = ["filter=2%", "0.01%"].map(|text| text.parse::<Limit>().unwrap());
    assert_eq!(judge(&mut compared, &limits), Ok(true));
    let compared = measurement(compared);
    assert_eq!(codes(&compared)[..2], ["above-limit", "above-limit"]);
    compared.check().unwrap();
    let maybe = data(&sampled(many(300)), &sampled(many(330)));
    assert!(matches!(of(&maybe, "a=2%"), Ok(Outcome::MaybeAbove(_))));
    for wrong in ["2", "=2%", "x=", "-1%", "a%", "inf%"] {
        assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
    }
    assert_eq!(
        "operator==(a, b)=5 %".parse::<Limit>().unwrap().function.as_deref(),
        Some("operator==(a, b)")
    );
}
