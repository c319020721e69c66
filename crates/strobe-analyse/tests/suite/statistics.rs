//! Statistics against the answers of SciPy, NumPy and ruptures (`statistics/fixtures.py`).

use strobe_analyse::statistics::growth::{Growth, fit};
use strobe_analyse::statistics::{
    autocorrelation, change, median_ranks, quantile, ranks, sign_test,
};

/// The cases of one kind: fields, each a list of numbers.
fn cases(kind: &str) -> Vec<Vec<Vec<f64>>> {
    let numbers = |field: &str| -> Vec<f64> {
        field.split(',').map(|number| number.parse().expect("a number")).collect()
    };
    let cases: Vec<_> = include_str!("statistics/fixtures.txt")
        .lines()
        .filter_map(|line| line.strip_prefix(kind)?.strip_prefix(" | "))
        .map(|line| line.split(" | ").map(numbers).collect())
        .collect();
    assert!(cases.len() >= 3, "{kind}");
    cases
}

fn close(ours: f64, theirs: f64, within: f64) {
    assert!((ours - theirs).abs() <= within * theirs.abs(), "{ours} instead of {theirs}");
}

#[test]
fn sign_tests_are_those_of_scipy() {
    for case in cases("sign") {
        close(sign_test(case[0][0] as u64, case[1][0] as u64), case[2][0], 1e-9);
    }
}

/// Small groups are judged exactly, ties and large ones by the approximation.
#[test]
fn rank_tests_are_those_of_scipy() {
    for case in cases("mann-whitney") {
        let ranks = ranks::mann_whitney(&case[0], &case[1]).expect("both have samples");
        assert_eq!(ranks.u, case[2][0]);
        close(ranks.p, case[3][0], 1e-9);
    }
}

#[test]
fn quantiles_are_those_of_numpy() {
    for case in cases("quantile") {
        close(quantile(&case[0], case[1][0]).expect("samples"), case[2][0], 1e-12);
    }
}

#[test]
fn intervals_of_the_median_are_those_of_scipy() {
    for case in cases("median-interval") {
        let mut sorted = case[0].clone();
        sorted.sort_by(f64::total_cmp);
        let (first, last) = median_ranks(sorted.len(), case[1][0]).expect("there are enough");
        assert_eq!((sorted[first], sorted[last]), (case[2][0], case[3][0]));
    }
}

#[test]
fn autocorrelation_is_that_of_numpy() {
    for case in cases("autocorrelation") {
        close(autocorrelation::at(&case[0], case[1][0] as usize), case[2][0], 1e-9);
    }
}

#[test]
fn change_points_are_those_of_ruptures() {
    for case in cases("pelt") {
        let wanted: Vec<usize> =
            case[2].iter().filter(|at| **at >= 0.0).map(|at| *at as usize).collect();
        assert_eq!(change::points(&case[0], case[1][0]), wanted);
    }
}

#[test]
fn fits_are_those_of_scipy() {
    for case in cases("fit") {
        let form = Growth::ALL[case[0][0] as usize];
        let points: Vec<(f64, f64)> = case[1].iter().copied().zip(case[2].clone()).collect();
        let fit = fit(form, &points).expect("five sizes");
        close(fit.offset, case[3][0], 1e-5);
        close(fit.slope, case[4][0], 1e-5);
    }
}
