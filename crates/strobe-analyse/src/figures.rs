//! Every number of a measurement by a name of its own, whatever section it stands in: what tests
//! and scripts ask for.

use std::collections::BTreeMap;

use strobe_model::measurement::{
    Cell, Content, Distribution, Loss, Measurement, Number, Profile, Quantity, Section, Table,
};

/// Numbers by name. What is unknown or empty is not there.
///
/// Names are `totals/ID`, `facts/NAME`, `coverage/lost`, `balances/WHAT/taken`,
/// `SECTION/ROW/COLUMN` of a table, `SECTION/NAME/max` of a distribution, `SECTION/MEASURE` of a
/// profile's sums, `parts/NAME/…`. A row is named by its first text or address, or its number if it
/// has none; the second one of a name is `NAME#2`.
pub fn figures(measurement: &Measurement) -> BTreeMap<String, Number> {
    let mut all = Collected::default();
    all.measurement("", measurement);
    all.0
}

#[derive(Default)]
struct Collected(BTreeMap<String, Number>);

impl Collected {
    fn put(&mut self, name: String, number: impl Into<Number>) {
        self.0.insert(name, number.into());
    }

    fn quantity(&mut self, name: String, quantity: &Quantity) {
        if let Some(value) = quantity.value() {
            self.put(name, value);
        }
    }

    fn measurement(&mut self, prefix: &str, measurement: &Measurement) {
        for total in &measurement.totals {
            self.quantity(format!("{prefix}totals/{}", total.id), &total.quantity);
        }
        self.quantity(format!("{prefix}window/duration"), &measurement.window.duration);
        for fact in &measurement.subject.facts {
            if let Some(figure) = &fact.figure {
                self.quantity(format!("{prefix}facts/{}", fact.name), figure);
            }
        }
        let coverage = &measurement.coverage;
        let coverage = [
            ("whole", &coverage.whole),
            ("seen", &coverage.seen),
            ("lost", &coverage.lost),
            ("overhead", &coverage.overhead),
        ];
        for (name, quantity) in coverage {
            if let Some(quantity) = quantity {
                self.quantity(format!("{prefix}coverage/{name}"), quantity);
            }
        }
        self.balances(prefix, measurement);
        for finding in &measurement.findings {
            self.put(format!("{prefix}findings/{}", finding.code), finding.count);
        }
        for section in &measurement.sections {
            self.section(&format!("{prefix}{}", section.id), section);
        }
        for part in &measurement.parts {
            self.measurement(&format!("{prefix}parts/{}/", part.name), &part.measurement);
        }
    }

    fn balances(&mut self, prefix: &str, measurement: &Measurement) {
        for parts in measurement.balances.iter().map(|balance| balance.parts()) {
            let name = format!("{prefix}balances/{}", parts.what);
            self.put(format!("{name}/taken"), parts.taken);
            self.put(format!("{name}/attributed"), parts.attributed);
            self.put(format!("{name}/idle"), parts.idle);
            for (reason, n) in &parts.unattributed {
                self.put(format!("{name}/{reason}"), *n);
            }
            if !matches!(parts.lost, Loss::Unknown(_)) {
                self.put(format!("{name}/lost"), parts.lost.known());
            }
        }
    }

    fn section(&mut self, id: &str, section: &Section) {
        match &section.content {
            Content::Table(table) => self.table(id, table),
            Content::Distributions(all) => {
                all.distributions.iter().for_each(|d| self.distribution(id, d));
            }
            Content::Profile(profile) => self.profile(id, profile),
            Content::Timeline(timeline) => {
                self.put(format!("{id}/spans"), timeline.spans.track.len());
                self.put(format!("{id}/moments"), timeline.moments.track.len());
            }
            Content::Text(text) => self.put(format!("{id}/lines"), text.lines.len()),
        }
    }

    fn table(&mut self, id: &str, table: &Table) {
        let mut rows: BTreeMap<String, u64> = BTreeMap::new();
        let body = (0..table.len()).map(|row| {
            table.columns.iter().filter_map(|column| column.cells.get(row)).collect::<Vec<_>>()
        });
        let footer = table.footer.iter().map(|row| row.iter().collect());
        for (n, cells) in body.chain(footer).enumerate() {
            let name = row_name(&cells).unwrap_or_else(|| n.to_string());
            let times = rows.entry(name.clone()).or_default();
            *times += 1;
            let name = if *times > 1 { format!("{name}#{times}") } else { name };
            for (column, cell) in table.columns.iter().zip(cells) {
                if let Some(number) = cell.number() {
                    self.put(format!("{id}/{name}/{}", column.id), number);
                }
            }
        }
    }

    fn distribution(&mut self, id: &str, distribution: &Distribution) {
        let name = format!("{id}/{}", distribution.name);
        let Distribution { spread, low, high, .. } = distribution;
        self.put(format!("{name}/count"), spread.count());
        let bounds = [("", Some(spread)), ("low/", low.as_ref()), ("high/", high.as_ref())];
        for (which, spread) in bounds.into_iter().filter_map(|(which, s)| Some((which, s?))) {
            let figures = [
                ("sum", Some(spread.sum())),
                ("min", spread.min()),
                ("median", spread.quantile(0.5)),
                ("p90", spread.quantile(0.9)),
                ("p99", spread.quantile(0.99)),
                ("max", spread.max()),
            ];
            for (figure, value) in figures.into_iter().filter_map(|(f, v)| Some((f, v?))) {
                self.put(format!("{name}/{which}{figure}"), value);
            }
        }
    }

    fn profile(&mut self, id: &str, profile: &Profile) {
        for samples in [&profile.leaves, &profile.chains] {
            for values in &samples.values {
                self.put(format!("{id}/{}", values.measure), values.sum());
            }
        }
    }
}

fn row_name(cells: &[&Cell]) -> Option<String> {
    cells.iter().find_map(|cell| match cell {
        Cell::Text(text) => Some(text.clone()),
        Cell::Address(address) => Some(address.to_string()),
        Cell::Empty | Cell::Exact(_) | Cell::Figure { .. } => None,
    })
}
