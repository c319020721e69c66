//! Records that earlier versions wrote (`strobe-record/1`): they are read and become measurements.

use strobe_model::Record;
use strobe_model::measurement::{Cell, Content, Kind, Measurement, Profile, Quantity};
use strobe_source::simulated;

use super::exact;

#[test]
fn records_of_earlier_versions_become_measurements() {
    let files = ["minimal", "blink", "fault"];
    for name in files {
        let path =
            super::root().join(format!("crates/strobe-source/tests/data/record-1-{name}.json"));
        let text = std::fs::read_to_string(path).expect("it comes with the tests");
        let record: Record = serde_json::from_str(&text).expect("an old record");
        let measurement = simulated::measurement(&record);
        measurement.check().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(exact(measurement.total("cycles")), record.totals.cycles.likely, "{name}");
        assert_eq!(exact(measurement.total("instructions")), record.totals.instructions);
        let parts = measurement.balances[0].parts();
        assert_eq!(parts.taken, record.balance.parts().taken, "{name}");
        assert_eq!(parts.idle, record.balance.parts().idle, "{name}");
        let profile = measurement.profiles().next().expect("a profile");
        let cycles = profile.leaves.of("cycles").expect("cycles");
        assert_eq!(cycles.sum() as u64, record.totals.cycles.likely, "{name}");
        assert_eq!(measurement.table("interrupts").map_or(0, |t| t.len()), record.exceptions.len());
    }
}

/// Without bounds: what they are of has been worked out anew since.
fn without_bounds(mut measurement: Measurement) -> Measurement {
    for total in &mut measurement.totals {
        if let Some(value) = total.quantity.value() {
            total.quantity = Quantity::exact(value, total.quantity.unit().clone());
        }
    }
    for section in &mut measurement.sections {
        match &mut section.content {
            Content::Table(table) => {
                let columns = table.columns.iter_mut().flat_map(|column| &mut column.cells);
                for cell in columns.chain(table.footer.iter_mut().flatten()) {
                    if let Cell::Figure { value: Some(value), .. } = cell {
                        *cell = Cell::Exact(*value);
                    }
                }
            }
            Content::Distributions(all) => {
                for one in &mut all.distributions {
                    (one.low, one.high, one.why) = (None, None, None);
                }
            }
            Content::Profile(profile) => unbound(profile),
            _ => {}
        }
    }
    measurement
}

fn unbound(profile: &mut Profile) {
    profile.measures.iter_mut().for_each(|measure| measure.kind = Kind::Exact);
    for values in profile.leaves.values.iter_mut().chain(&mut profile.chains.values) {
        (values.low, values.high) = (Vec::new(), Vec::new());
    }
}

/// The firmware of these records still runs, and to the same figures.
#[test]
fn todays_run_has_the_figures_of_the_old_record() {
    let text = include_str!("../../data/record-1-blink.json");
    let old: Record = serde_json::from_str(text).expect("an old record");
    let timeline = simulated::TimelineSettings { worst: false, nanoseconds: 1_000_000 };
    let settings =
        simulated::Settings { apart: true, timeline: Some(timeline), ..super::for_ms(10) };
    let mut new = super::run("blink", "stm32f070cb", &settings);
    // The record names this file of the C library without the folders of whoever built that.
    for file in &mut new.profile.files {
        if let Some((_, name)) = file.rsplit_once("/newlib/") {
            *file = format!("newlib/{}", name.rsplit('/').next().unwrap_or(name));
        }
    }
    // Lost requests were not counted, waits not recognised, and stacks known by samples only.
    new.waits.clear();
    new.exceptions.iter_mut().for_each(|exception| exception.lost = None);
    let [old, new] = [&old, &new].map(|record| without_bounds(simulated::measurement(record)));
    for id in ["cycles", "instructions", "idle"] {
        assert_eq!(old.total(id), new.total(id), "{id}");
    }
    for id in ["causes", "interrupts", "threads", "worst-cases", "profile"] {
        assert_eq!(old.section(id), new.section(id), "{id}");
    }
    let cpi = |m: &Measurement| {
        let cpi = m.total("cycles-per-instruction").and_then(|q| q.value());
        cpi.map(|cpi| (cpi.as_f64() * 1000.0).round())
    };
    assert_eq!(cpi(&old), cpi(&new));
}
