//! The verdict on all budgets as a measurement.

use strobe_analyse::budget::{Line, Verdict};
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Ended, Finding, Instrument, Measurement, Quantity, Severity, Subject,
    Table, Unit, Window,
};
use strobe_report::check::line as words;

/// Findings for what is not held, and a table for each unit: `budgets-cycles` and so on.
pub fn measurement(lines: &[Line], file: &str) -> Measurement {
    let subject = Subject { kind: "check".into(), name: file.into(), ..Subject::default() };
    let tool = format!("strobe {}", env!("CARGO_PKG_VERSION"));
    let instrument = Instrument { kind: "budgets".into(), tool, ..Instrument::default() };
    let window = Window::untimed("budgets are of several runs", Ended::default());
    let mut measurement = Measurement::new(subject, instrument, window);
    let count = |verdict| lines.iter().filter(|line| line.judged.verdict == verdict).count();
    measurement.push_total("budgets", "budgets", Quantity::exact(lines.len(), Unit::COUNT));
    let verdicts =
        [Verdict::Held, Verdict::Exceeded, Verdict::Undecided, Verdict::Unknown, Verdict::Broken];
    for verdict in verdicts {
        let quantity = Quantity::exact(count(verdict), Unit::COUNT);
        measurement.push_total(verdict.name(), verdict.name(), quantity);
    }
    measurement.findings = lines.iter().filter(|line| !line.is_held()).map(finding).collect();
    tables(lines, &mut measurement);
    measurement
}

fn finding(line: &Line) -> Finding {
    let code = format!("budget-{}", line.judged.verdict.name());
    let shares = line.functions.iter().map(|share| (share.name.clone(), words::share(share)));
    let shares: Vec<_> = shares.collect();
    let title = if line.functions.iter().any(|share| share.before.is_some()) {
        "functions that changed"
    } else {
        "functions responsible"
    };
    let evidence = if shares.is_empty() { Vec::new() } else { vec![(title.to_owned(), shares)] };
    Finding { evidence, ..Finding::new(Severity::Fault, &code, words::sentence(line)) }
}

fn tables(lines: &[Line], measurement: &mut Measurement) {
    let mut units: Vec<Unit> =
        lines.iter().map(|line| words::figure(line).unit().clone()).collect();
    units.sort();
    units.dedup();
    for unit in units {
        let mut table = Table::new(vec![
            Column::text("verdict", "verdict"),
            Column::text(ids::column::FIRMWARE, "firmware"),
            Column::figure("value", "value", unit.clone()),
            Column::figure("least", "at least", unit.clone()),
            Column::figure("most", "at most", unit.clone()),
            Column::figure("margin", "margin", unit.clone()),
            Column::text("budget", "budget"),
        ]);
        for line in lines.iter().filter(|line| *words::figure(line).unit() == unit) {
            table.row([
                line.judged.verdict.name().into(),
                line.firmware.as_str().into(),
                Cell::from(words::figure(line)),
                line.judged.least.map(whole).into(),
                line.judged.most.map(whole).into(),
                line.judged.margin.map(whole).into(),
                line.name.as_str().into(),
            ]);
        }
        let id = format!("budgets-{unit}");
        measurement.push(&id, format!("budgets: {unit}"), Content::Table(table));
    }
}

/// Whole numbers as such.
fn whole(value: f64) -> strobe_model::measurement::Number {
    let is_whole = value.fract() == 0.0 && value.abs() < 2f64.powi(53);
    if is_whole { (value as i64).into() } else { value.into() }
}
