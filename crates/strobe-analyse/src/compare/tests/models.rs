//! What timing models are off: in each row and sum of two models, in no difference of one.

use strobe_model::measurement::{
    CORE_TIMING, Cell, Content, Kind, Measurement, Number, ON_A_CHIP, Quantity, Trust, Unit,
};

use super::super::{Comparison, compare, compare_sets};
use super::{A, B, Row, cell, codes, modelled, run};
use crate::figures::figures;

/// Two cores with the bands of their timing, on boards of their own.
fn timed(core: &str, (low, high): (f64, f64), rows: &[Row]) -> Measurement {
    let mut run = run(rows, Kind::Exact);
    run.subject.core = Some(core.to_owned());
    run.subject.board = Some(format!("board of {core}"));
    let trust = Trust::Modelled { low: low.into(), high: high.into(), why: Some("it is".into()) };
    let figure = Quantity::new(Some(100u64.into()), Unit::PERCENT, trust).unwrap();
    let fact = strobe_model::measurement::Fact::figure(CORE_TIMING, figure);
    run.subject.facts.push(fact);
    run
}

/// Of different models the bands of both count, for each row and for the sum; of one model neither
/// does.
#[test]
fn errors_of_two_timing_models_are_in_every_row() {
    const A: &[Row] = &[("near", None, 102_560, 0, 40), ("far", None, 10_000, 0, 1)];
    const B: &[Row] = &[("near", None, 92_320, 0, 40), ("far", None, 20_000, 0, 1)];
    let m3 = |rows| timed("Cortex-M3", (97.5, 110.1), rows);
    let m4 = |rows| timed("Cortex-M4", (99.3, 110.4), rows);
    let is_known = |compared: &Comparison, name: &str| {
        let row = compared.functions[0].rows.iter().find(|row| row.name == name);
        row.unwrap().certain.is_known()
    };
    let other = compare(&m3(A), &m4(B));
    assert_eq!([is_known(&other, "near"), is_known(&other, "far")], [false, true]);
    assert!(codes(&other).contains(&"other-model"));
    let difference = cell(&other.measurement, "totals-cycles", "difference", "cycles").cloned();
    let Some(Cell::Figure { trust: Trust::Modelled { low, high, .. }, .. }) = difference else {
        panic!("{difference:?}");
    };
    assert!(low.as_f64() < 0.0 && high.as_f64() > 0.0, "{low:?} {high:?}");
    let same = compare(&m3(A), &m3(B));
    assert_eq!([is_known(&same, "near"), is_known(&same, "far")], [true, true]);
    // The memory of another board is a part of the model.
    let mut elsewhere = m3(B);
    elsewhere.subject.board = Some("with other RAM".to_owned());
    assert!(!is_known(&compare(&m3(A), &elsewhere), "near"));
    // A side that follows its manual has no band.
    let mut manual = m3(B);
    manual.subject.core = Some("Cortex-M0".to_owned());
    manual.subject.facts.clear();
    let compared = compare(&m3(A), &manual);
    assert!(is_known(&compared, "near"));
    compared.measurement.check().unwrap();
    // Repeated runs vary, and what the models are off does not.
    let sets = compare_sets(&[m3(A), m3(A)], &[m4(B), m4(B)]).unwrap();
    assert_eq!([is_known(&sets, "near"), is_known(&sets, "far")], [false, true]);
}

/// What one place has less in the low model, another one may have more: the band is that of their
/// sum, wherever it is shown, and not of each place.
#[test]
fn model_errors_do_not_accumulate_in_sums() {
    const ROWS: &[Row] = &[("wait", None, 10_000, 0, 1), ("wait", Some(0), 10_000, 0, 1)];
    let of = |core: &str, band: (f64, f64)| {
        let mut run = timed(core, band, ROWS);
        for section in &mut run.sections {
            if let Content::Profile(profile) = &mut section.content {
                profile.measures[0].kind = modelled();
                let cycles = &mut profile.chains.values[0];
                (cycles.low, cycles.high) = (vec![9_000, 11_000], vec![11_000, 9_000]);
            }
        }
        run.window.duration = Quantity::exact(10_000_000u64, Unit::NANOSECONDS);
        run.window.ended.kind = "limit".to_owned();
        run
    };
    let compared = compare(&of("Cortex-M3", (97.5, 110.0)), &of("Cortex-M4", (99.5, 110.0)));
    let compared = compared.measurement;
    compared.check().unwrap();
    let table = compared.table("profile-functions").unwrap();
    let own = table.columns.iter().position(|column| column.id == "self-a").unwrap();
    let all = table.footer.iter().find(|row| row[0].text() == Some("all")).map(|row| &row[own]);
    let places = [
        cell(&compared, "profile-functions", "self-a", "wait"),
        cell(&compared, "profile-measures-cycles", "a", "cycles"),
        all,
    ];
    for place in places {
        let Some(Cell::Figure { trust: Trust::Modelled { low, high, .. }, .. }) = place else {
            panic!("{place:?}");
        };
        let (low, high) = (low.as_f64(), high.as_f64());
        assert!((19_499.0..=19_500.0).contains(&low), "{place:?}");
        assert!((22_000.0..=22_001.0).contains(&high), "{place:?}");
    }
    // And what is stopped at a time takes that time.
    let time = cell(&compared, "totals-nanoseconds", "difference", "window");
    assert_eq!(time, Some(&Cell::Exact(0i64.into())));
}

/// What a timing model is off, it is off on both sides.
#[test]
fn error_of_a_shared_timing_model_cancels() {
    let on = |core: &str, rows: &[Row]| {
        let mut run = run(rows, Kind::Exact);
        run.subject.core = Some(core.to_owned());
        let band = strobe_model::Bounds { low: 1000, likely: 1400, high: 1800 };
        let band = Quantity::modelled(band, Unit::CYCLES, Some("inferred".to_owned()));
        run.push_total(ON_A_CHIP, "cycles on a chip", band);
        run
    };
    let is_shared = |compared: &Comparison| codes(compared).contains(&"shared-model");
    let alike = compare(&on("Cortex-M4F", A), &on("Cortex-M4F", B));
    assert!(cell(&alike.measurement, "totals-cycles", "difference", ON_A_CHIP).is_none());
    assert_eq!(figures(&alike.measurement)["totals-cycles/cycles/difference"], Number::Integer(90));
    assert!(is_shared(&alike));
    let other = compare(&on("Cortex-M4F", A), &on("Cortex-M3", B));
    let row = cell(&other.measurement, "totals-cycles", "difference", ON_A_CHIP);
    assert!(matches!(row, Some(Cell::Figure { trust: Trust::Modelled { .. }, .. })), "{row:?}");
    assert!(!is_shared(&other));
    assert!(!is_shared(&compare(&run(A, Kind::Exact), &run(B, Kind::Exact))));
}
