//! What the builders of measurements have in common.

use strobe_decode::summary::ValueSummary;
use strobe_model::measurement;
use strobe_model::measurement::{
    Balance, Cell, Column, Fact, Finding, Instrument, Measurement, Parts, Severity, Trust, Unit,
};
use strobe_symbols::Firmware;

/// An instrument of this tool, without settings yet.
pub(crate) fn instrument(kind: &str) -> Instrument {
    let tool = format!("strobe {}", env!("CARGO_PKG_VERSION"));
    Instrument { kind: kind.to_owned(), tool, ..Instrument::default() }
}

/// What is known of a firmware by name: its compilers, and what symbols and debug information
/// allow.
pub(crate) fn facts(firmware: &Firmware) -> Vec<Fact> {
    let compilers = firmware.producers().iter().map(|compiler| Fact::text("compiler", compiler));
    let detail = Some(firmware.detail_note()).filter(|detail| !detail.is_empty());
    compilers.chain(detail.map(|detail| Fact::text("symbols", detail))).collect()
}

/// Adds a balance. Parts that do not add up are a fault of this program, which the measurement then
/// has.
pub(crate) fn balance(measurement: &mut Measurement, parts: Parts) {
    match Balance::new(parts) {
        Ok(balance) => measurement.balances.push(balance),
        Err(error) => {
            let finding = Finding::new(Severity::Fault, "unbalanced", error.to_string());
            measurement.findings.push(finding);
        }
    }
}

/// Adds notes of an instrument as findings of one kind.
pub(crate) fn notes(
    measurement: &mut Measurement,
    severity: Severity,
    code: &str,
    notes: &[String],
) {
    let each = notes.iter().map(|note| Finding::new(severity, code, note));
    measurement.findings.extend(each);
}

/// A column of plain numbers.
pub(crate) fn count(id: &str, title: &str) -> Column {
    Column::figure(id, title, Unit::COUNT)
}

/// A figure of which nobody knows the value.
pub(crate) fn unknown(why: &str) -> Cell {
    Cell::Figure { value: None, trust: Trust::Unknown { why: why.to_owned() } }
}

/// The distributions that there are, as name and values.
pub(crate) fn distributions<'a>(
    unit: &Unit,
    all: impl IntoIterator<Item = (String, Option<&'a ValueSummary>)>,
) -> Vec<measurement::Distribution> {
    let each = all.into_iter().filter_map(|(name, d)| d?.measured(&name, unit.clone()));
    each.collect()
}

#[cfg(test)]
pub(crate) mod testing {
    use std::collections::BTreeMap;

    use strobe_analyse::figures::figures;
    use strobe_model::measurement::{Measurement, Number};

    /// It holds together, comes back from JSON as it was, and its JSON is no longer than so many
    /// bytes. Its numbers by name.
    pub(crate) fn checked(measurement: &Measurement, most: usize) -> BTreeMap<String, Number> {
        measurement.check().unwrap();
        let json = serde_json::to_string(measurement).unwrap();
        assert!(json.len() < most, "{} bytes", json.len());
        let read: Measurement = serde_json::from_str(&json).unwrap();
        assert_eq!(&read, measurement);
        let unbalanced = measurement.findings.iter().find(|f| f.code == "unbalanced");
        assert_eq!(unbalanced, None);
        figures(measurement)
    }

    /// The numbers of these names are these.
    pub(crate) fn has(figures: &BTreeMap<String, Number>, wanted: &[(&str, f64)]) {
        for (name, value) in wanted {
            let found = figures.get(*name).map(|number| number.as_f64());
            let near = found.is_some_and(|found| (found - value).abs() <= value.abs() * 1e-6);
            assert!(near, "{name} is {found:?}, not {value}; there are {:#?}", figures.keys());
        }
    }

    /// The words in a cell.
    pub(crate) fn text<'m>(
        measurement: &'m Measurement,
        section: &str,
        column: &str,
        row: usize,
    ) -> Option<&'m str> {
        measurement.table(section)?.column(column)?.cells.get(row)?.text()
    }

    /// Whether there is a finding of that kind.
    pub(crate) fn finds(measurement: &Measurement, code: &str) -> bool {
        measurement.findings.iter().any(|finding| finding.code == code)
    }
}
