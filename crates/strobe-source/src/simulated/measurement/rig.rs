//! Several chips in one measurement: each is a part, and a table has the wires between them.

use strobe_model::measurement::{
    Column, Content, Ended, Fact, Instrument, Measurement, NamedPart, Quantity, Subject, Table,
    Unit, Window,
};

use super::section;

/// What joins the chips of a rig.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Joined {
    /// Wires: chip and pin where each begins, chip and pin where it ends.
    pub wires: Vec<[String; 4]>,
    /// What each of them takes, in nanoseconds.
    pub delay_nanoseconds: u64,
}

/// The measurement of a rig of that name: its chips' by name, in their order.
pub fn rig(name: &str, chips: Vec<(String, Measurement)>, joined: &Joined) -> Measurement {
    let part = |(name, measurement)| NamedPart { name, measurement };
    let parts: Vec<NamedPart> = chips.into_iter().map(part).collect();
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    let delay = Quantity::exact(joined.delay_nanoseconds, Unit::NANOSECONDS);
    let subject = Subject {
        kind: "rig".to_owned(),
        name: name.to_owned(),
        facts: vec![Fact::text("chips", names.join(", ")), Fact::figure("delay of wires", delay)],
        ..Subject::default()
    };
    let tool = parts.first().map(|part| part.measurement.instrument.tool.clone());
    let instrument = Instrument {
        kind: "simulated rig".to_owned(),
        tool: tool.unwrap_or_default(),
        ..Instrument::default()
    };
    let mut out = Measurement::new(subject, instrument, window(&parts));
    let columns = [("from", "from"), ("from-pin", "pin"), ("to", "to"), ("to-pin", "pin")];
    let mut table = Table::new(columns.map(|(id, title)| Column::text(id, title)).into());
    for wire in &joined.wires {
        table.row(wire.each_ref().map(|end| end.as_str().into()));
    }
    if !table.is_empty() {
        out.sections.push(section("wires", "wires between the chips", Content::Table(table)));
    }
    out.parts = parts;
    out
}

/// That of the chip which ended the run, without its cycles: each chip has a clock of its own.
fn window(parts: &[NamedPart]) -> Window {
    let windows = || parts.iter().map(|part| (&part.name, &part.measurement.window));
    let Some((name, first)) = windows().find(|(_, w)| w.ended.kind != "other-chip") else {
        return Window::untimed("there are no chips", Ended::default());
    };
    let mut window = Window { entries: None, ..first.clone() };
    window.begin.cycle = None;
    window.end.cycle = None;
    window.ended.text = format!("{name}: {}", first.ended.text);
    window
}
