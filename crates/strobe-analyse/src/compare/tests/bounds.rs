//! Bounds of differences: as wide as those of both sides, and no wider than the total's.

use strobe_model::measurement::{Cell, Content, Kind, Number, Quantity, Trust, Unit};

use super::super::difference::Figure;
use super::{A, B, Row, cell, compare, modelled, run};

/// Whether a cell is of a model of which no bounds are known.
fn is_about(cell: Option<&Cell>) -> bool {
    let trust = match cell {
        Some(Cell::Figure { trust, .. }) => trust,
        _ => return false,
    };
    matches!(trust, Trust::Modelled { low, high, .. } if low == high)
}

/// Where one run is all there is, nobody knows the bounds of counts that waits decide: neither of
/// these nor of their differences.
#[test]
fn figures_without_bounds_are_not_exact() {
    let counted = |rows: &[Row]| {
        let mut run = run(rows, modelled());
        for section in &mut run.sections {
            match &mut section.content {
                Content::Profile(profile) => {
                    let calls = profile.measures.iter_mut().find(|measure| measure.id == "calls");
                    calls.unwrap().kind = modelled();
                }
                Content::Distributions(all) => {
                    let one = &mut all.distributions[0];
                    (one.resolution, one.why) = (None, Some("waits".to_owned()));
                }
                _ => {}
            }
        }
        let rounds = Number::from(rows.len());
        let trust = Trust::Modelled { low: rounds, high: rounds, why: None };
        let rounds = Quantity::new(Some(rounds), Unit::COUNT, trust).unwrap();
        run.push_total("rounds", "rounds", rounds);
        run
    };
    let compared = compare(&counted(A), &counted(B));
    compared.check().unwrap();
    for (section, column, row) in [
        ("profile-functions", "calls-a", "send"),
        ("profile-functions", "calls-difference", "send"),
        ("profile-functions", "per-call-b", "send"),
        ("profile-measures-count", "b", "calls"),
        ("profile-measures-count", "difference", "calls"),
        ("profile-measures-count", "ratio", "calls"),
        ("profile-measures-cycles", "a", "asleep"),
        ("totals-count", "difference", "rounds"),
        ("latencies", "max-a", "UART"),
        ("latencies", "max-difference", "UART"),
    ] {
        let cell = cell(&compared, section, column, row);
        assert!(is_about(cell), "{section} {column} {row}: {cell:?}");
    }
    let exact = cell(&compared, "profile-measures-cycles", "a", "execute");
    assert!(matches!(exact, Some(Cell::Exact(_))), "{exact:?}");
    // Bounds that agree with the figure are bounds.
    let mut bounded = counted(A);
    for section in &mut bounded.sections {
        if let Content::Distributions(all) = &mut section.content {
            let one = &mut all.distributions[0];
            (one.low, one.high) = (Some(one.spread.clone()), Some(one.spread.clone()));
        }
    }
    let compared = compare(&bounded, &bounded);
    let max = cell(&compared, "latencies", "max-a", "UART");
    assert!(matches!(max, Some(Cell::Exact(_))), "{max:?}");
}

/// Places may have a tenth less and a fifth more, and the whole takes what it takes.
#[test]
fn sums_of_functions_stay_within_the_totals_bounds() {
    let compared = compare(&run(A, modelled()), &run(B, modelled()));
    let table = compared.table("profile-functions").unwrap();
    let own = table.columns.iter().position(|column| column.id == "self-a").unwrap();
    let all = table.footer.iter().find(|row| row[0].text() == Some("all")).map(|row| &row[own]);
    let measured = cell(&compared, "profile-measures-cycles", "a", "cycles");
    for sum in [all, measured] {
        assert_eq!(sum, Some(&Cell::Exact(1380i64.into())));
    }
    let one = cell(&compared, "profile-functions", "self-a", "send");
    assert!(matches!(one, Some(Cell::Figure { .. })), "{one:?}");
}

#[test]
fn unknown_side_makes_the_difference_unknown() {
    let compared = compare(&run(A, modelled()), &run(B, Kind::Exact));
    compared.check().unwrap();
    let lost = cell(&compared, "totals-cycles", "difference", "lost").unwrap();
    let Cell::Figure { value: None, trust: Trust::Unknown { why } } = lost else {
        panic!("{lost:?}")
    };
    assert_eq!(why, "a: nobody counted; b: nobody counted");
    // 330 may be 297 to 396, so 500 is more by 104 to 203.
    let send = cell(&compared, "profile-functions", "self-difference", "send").unwrap();
    let Cell::Figure { value, trust } = send else { panic!("{send:?}") };
    assert_eq!(*value, Some(170i64.into()));
    assert_eq!(trust.bounds(), Some((104i64.into(), 203i64.into())));
    // The latency's ends are known to two cycles each.
    let max = cell(&compared, "latencies", "max-difference", "UART").unwrap();
    let Cell::Figure { trust: trust @ Trust::Resolution { .. }, .. } = max else {
        panic!("{max:?}")
    };
    let (low, high) = trust.bounds().unwrap();
    assert_eq!((low.as_f64(), high.as_f64()), (86.0, 94.0));
}

#[test]
fn samples_differ_with_an_interval() {
    let sampled = || Kind::Sampled { period: None, period_unit: None };
    let compared = compare(&run(A, sampled()), &run(B, sampled()));
    compared.check().unwrap();
    let send = cell(&compared, "profile-functions", "self-difference", "send").unwrap();
    let Cell::Figure { trust: Trust::Sampled { n, low, high }, .. } = send else {
        panic!("{send:?}")
    };
    assert_eq!(*n, 1380 + 1470);
    let (low, high) = (low.as_f64(), high.as_f64());
    assert!(100.0 < low && low < 140.0 && 200.0 < high && high < 240.0, "{low} to {high}");
}

#[test]
fn more_than_was_seen_has_one_end() {
    let known = |n: i64| Figure::exact(n);
    let at_least = |n: i64| Figure { value: Some(n.into()), trust: Trust::AtLeast };
    let trust = |a: &Figure, b: &Figure| a.to(b).trust;
    assert_eq!(trust(&known(3), &at_least(5)), Trust::AtLeast);
    assert_eq!(trust(&at_least(3), &known(5)), Trust::AtMost);
    assert!(matches!(trust(&at_least(3), &at_least(5)), Trust::Unknown { .. }));
    assert_eq!(known(3).to(&at_least(5)).value, Some(2i64.into()));
    assert_eq!(known(4).ratio(&known(6), false), Cell::Exact(1.5.into()));
    assert_eq!(known(0).ratio(&known(6), false), Cell::Empty);
    assert_eq!(at_least(4).ratio(&known(6), false), Cell::Empty);
}
