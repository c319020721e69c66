//! Two recordings side by side as a measurement: each figure in both, the difference with its
//! bounds, and what follows.

use crate::pairing::report::{
    Against, Difference, Estimate, FigurePair, FigureUnit, Pair, Reason, Verdict,
};
use crate::pins::report::CaptureSummary;
use strobe_model::measurement::{
    Cell, Column, Content, Ended, Finding, Instrument, Measurement, NamedPart, Number, Quantity,
    Severity, Subject, Table, Trust, Unit, Window,
};

const EXPLAINED: &str = "bounds are all that is not known of a figure: the resolution of a \
                         capture's clock, the bounds of a simulation's models, the clocks' \
                         tolerance, and of a mean two standard errors";
const VERDICTS: &str = "agree: the ranges meet; differ: they do not; inconclusive: they meet but \
                        one is wider than a quarter of the figure, or the side without the extreme \
                        has fewer values, or one has none";
const BOTH: &str = "what is not known of either side";

/// The comparison, with what each side was measured as.
pub fn measurement(report: &Against, a: Measurement, b: Measurement) -> Measurement {
    let subject = Subject {
        kind: "comparison".to_owned(),
        name: format!("{} and {}", report.a.file, report.b.file),
        ..Subject::default()
    };
    let tool = format!("strobe {}", env!("CARGO_PKG_VERSION"));
    let mut instrument =
        Instrument { kind: "comparison".to_owned(), tool, ..Instrument::default() };
    let tolerance = report.clock_tolerance_ppm.to_string();
    instrument.settings.insert("clock tolerance (ppm)".to_owned(), tolerance);
    let window = Window::untimed("each side has a window of its own", Ended::default());
    let mut measurement = Measurement::new(subject, instrument, window);
    totals(&mut measurement, report);
    let tables = [
        (FigureUnit::Ps, "times", "times on pins", Unit::PICOSECONDS),
        (FigureUnit::Ppm, "duties", "duty of pins", Unit::other("millionths")),
    ];
    for (of, id, title, unit) in tables {
        let table = table(report, of, &unit);
        if !table.is_empty() {
            let section = measurement.push(id, title, Content::Table(table));
            section.notes = [EXPLAINED, VERDICTS].map(str::to_owned).into();
        }
    }
    let each = report.notes.iter().map(|note| Finding::new(Severity::Warning, "capture", note));
    measurement.findings.extend(each);
    let part = |name: &str, measurement| NamedPart { name: name.to_owned(), measurement };
    measurement.parts = vec![part("a", a), part("b", b)];
    measurement
}

fn totals(measurement: &mut Measurement, report: &Against) {
    let all = || report.pairs.iter().flat_map(|pair| &pair.figures);
    let of = |verdict| all().filter(|figure| figure.verdict == verdict).count();
    let totals = [
        ("figures", "figures", all().count()),
        ("agree", "agree", of(Verdict::Agree)),
        ("differ", "differ", of(Verdict::Differ)),
        ("inconclusive", "inconclusive", of(Verdict::CannotTell)),
    ];
    for (id, title, n) in totals {
        measurement.push_total(id, title, Quantity::exact(n, Unit::COUNT));
    }
    let differ = of(Verdict::Differ);
    if differ > 0 {
        let text = format!("{differ} of {} figures differ", all().count());
        let finding = Finding::new(Severity::Warning, "differ", text);
        measurement.findings.push(Finding { count: differ as u64, ..finding });
    }
}

fn table(report: &Against, of: FigureUnit, unit: &Unit) -> Table {
    let figure = |id, title| Column::figure(id, title, unit.clone());
    let count = |id, title| Column::figure(id, title, Unit::COUNT);
    let [a, b] = [side(&report.a), side(&report.b)];
    let mut table = Table::new(vec![
        Column::text("a-pin", "pin"),
        Column::text("b-pin", "against").worth(0),
        Column::text("of", "of"),
        Column::text("figure", "figure"),
        count("a-count", "n"),
        figure("a", a),
        count("b-count", "n").worth(2),
        figure("b", b),
        figure("difference", "difference"),
        Column::figure("relative", "of the first", Unit::PERCENT).worth(1),
        Column::text("reason", "why").worth(3),
        Column::text("verdict", "verdict"),
    ]);
    let modelled = [&report.a, &report.b].map(|capture| capture.simulated.is_some());
    for pair in &report.pairs {
        for figures in pair.figures.iter().filter(|figures| figures.unit == of) {
            table.row(row(pair, figures, modelled));
        }
    }
    table
}

/// What a side's column is called.
fn side(capture: &CaptureSummary) -> &'static str {
    if capture.simulated.is_some() { "simulated" } else { "captured" }
}

fn row(pair: &Pair, figures: &FigurePair, modelled: [bool; 2]) -> [Cell; 12] {
    let count = |e: Option<Estimate>| Cell::from(e.map_or(0, |e| e.count));
    let value = |e: Option<Estimate>, modelled: bool| {
        let bounded = |e: Estimate| bounded([e.low, e.value, e.high].map(Number::from), modelled);
        e.map_or(Cell::Empty, bounded)
    };
    let both = modelled[0] || modelled[1];
    let difference = |d: Difference| bounded([d.low, d.value, d.high].map(Number::from), both);
    let relative = figures.difference.zip(figures.a).filter(|(_, a)| a.value > 0);
    let relative = relative.map(|(d, a)| d.value as f64 * 100.0 / a.value as f64);
    let verdict = match figures.verdict {
        Verdict::Agree => "agree",
        Verdict::Differ => "differ",
        Verdict::CannotTell => "inconclusive",
    };
    let reason = figures.reason.map(|reason| match reason {
        Reason::NoValues => "no values",
        Reason::TooWide => "too wide",
        Reason::FewerValues => "too few values",
    });
    [
        pair.a.as_str().into(),
        pair.b.as_str().into(),
        figures.of.as_str().into(),
        figures.figure.as_str().into(),
        count(figures.a),
        value(figures.a, modelled[0]),
        count(figures.b),
        value(figures.b, modelled[1]),
        figures.difference.map_or(Cell::Empty, difference),
        relative.into(),
        reason.into(),
        verdict.into(),
    ]
}

/// A figure between bounds.
fn bounded([low, value, high]: [Number; 3], modelled: bool) -> Cell {
    if low == high {
        return Cell::Exact(value);
    }
    let trust = if modelled {
        Trust::Modelled { low, high, why: Some(BOTH.to_owned()) }
    } else {
        Trust::Resolution { low, high }
    };
    Cell::Figure { value: Some(value), trust }
}
