//! What notes state of figures that a table of the same measurement has: where those get other
//! bounds than the run had by itself, the notes follow.

use std::collections::BTreeMap;
use strobe_model::measurement::ids;

use strobe_model::measurement::{Cell, Measurement, Number, Trust};
use strobe_model::number::grouped;

/// The code of notes on causes that rest on a model.
const MODELLED: &str = "modelled";

/// Gives the notes on modelled causes the figures that the table of causes has.
pub fn follow_causes(measurement: &mut Measurement) {
    let known = causes(measurement);
    let notes = measurement.findings.iter_mut().filter(|finding| finding.code == MODELLED);
    let pairs = notes.flat_map(|note| &mut note.evidence).flat_map(|group| &mut group.1);
    for (cause, figure) in pairs {
        if let Some(known) = known.get(cause.as_str()) {
            figure.clone_from(known);
        }
    }
}

/// What each cause took, in words.
fn causes(measurement: &Measurement) -> BTreeMap<String, String> {
    let table = measurement.table(ids::section::CAUSES);
    let columns = table
        .and_then(|table| table.column(ids::column::CAUSE).zip(table.column(ids::column::CYCLES)));
    let Some((causes, cycles)) = columns else { return BTreeMap::new() };
    let rows = causes.cells.iter().zip(&cycles.cells);
    rows.filter_map(|(cause, cycles)| Some((cause.text()?.to_owned(), words(cycles)?))).collect()
}

/// A figure with its bounds, as far as they are known.
fn words(cell: &Cell) -> Option<String> {
    let number = |number: Number| grouped(number.as_u64());
    let value = cell.number()?;
    Some(match cell {
        Cell::Figure { trust: Trust::Modelled { low, high, .. }, .. } if low != high => {
            format!("~{} ({}-{})", number(value), number(*low), number(*high))
        }
        Cell::Figure { .. } => format!("~{}", number(value)),
        _ => number(value),
    })
}

#[cfg(test)]
mod tests {
    use strobe_model::measurement::{
        Column, Content, Ended, Finding, Instrument, Severity, Subject, Table, Unit, Window,
    };

    use super::*;

    #[test]
    fn notes_on_causes_have_the_figures_of_the_table() {
        let window = Window::untimed("made up", Ended::default());
        let mut run = Measurement::new(Subject::default(), Instrument::default(), window);
        let mut table = Table::new(vec![
            Column::figure("cycles", "cycles", Unit::CYCLES),
            Column::text("cause", "cause"),
        ]);
        let modelled = |low: u64, high: u64| Cell::Figure {
            value: Some(1_924u64.into()),
            trust: Trust::Modelled { low: low.into(), high: high.into(), why: None },
        };
        table.row([modelled(1_900, 2_048), "data wait".into()]);
        table.row([modelled(1_924, 1_924), "execute".into()]);
        table.row([Cell::from(1_924u64), "exception entry".into()]);
        run.push("causes", "cycles by cause", Content::Table(table));
        let names = ["data wait", "execute", "exception entry", "fetch wait"];
        let pairs = names.map(|name| (name.to_owned(), "1924 (1-2)".to_owned())).to_vec();
        for code in [MODELLED, "other"] {
            let finding = Finding::new(Severity::Note, code, "why");
            let evidence = vec![("cycles".to_owned(), pairs.clone())];
            run.findings.push(Finding { evidence, ..finding });
        }
        follow_causes(&mut run);
        let stated = |at: usize| -> Vec<&str> {
            let pairs = &run.findings[at].evidence[0].1;
            pairs.iter().map(|(_, figure)| figure.as_str()).collect()
        };
        assert_eq!(stated(0), ["~1,924 (1,900-2,048)", "~1,924", "1,924", "1924 (1-2)"]);
        assert_eq!(stated(1), ["1924 (1-2)"; 4]);
    }
}
