//! What the language and the library bring along, as a table and as findings.

use strobe_model::measurement::{Cell, Column, Finding, Measurement, Severity, Table, Unit};
use strobe_model::number::{first_of, grouped};

use super::graph::Graph;
use super::items::Bytes;
use super::support::{Family, Needed};

/// A family is worth a finding from so many bytes of flash on, and from this share of it, in
/// percent.
const LARGE: u64 = 1024;
const SHARE: u64 = 5;
/// Names in a sentence.
const NAMES: usize = 4;
const PLACES: usize = 3;

pub(super) fn table(graph: &Graph<'_>, families: &[Family], all: Bytes) -> Option<Table> {
    let mut table = Table::new(vec![
        Column::figure("flash", "flash", Unit::BYTES).of(all.flash),
        Column::figure("ram", "RAM", Unit::BYTES),
        Column::figure("own", "its own symbols", Unit::BYTES).worth(2),
        Column::text("name", "what"),
        Column::text("needed_by", "needed by"),
    ]);
    for family in families {
        let ram = Some(family.all.ram).filter(|ram| *ram > 0);
        table.row([
            family.all.flash.into(),
            ram.into(),
            family.own.flash.into(),
            family.name.as_str().into(),
            needed(graph, family).map_or(Cell::Empty, Cell::from),
        ]);
    }
    (!table.is_empty()).then_some(table)
}

pub(super) fn findings(
    measurement: &mut Measurement,
    graph: &Graph<'_>,
    families: &[Family],
    all: Bytes,
) {
    let is_large = |family: &&Family| {
        let flash = family.all.flash;
        flash >= LARGE && flash * 100 >= all.flash * SHARE
    };
    for family in families.iter().filter(is_large) {
        measurement.findings.push(finding(graph, family));
    }
}

fn finding(graph: &Graph<'_>, family: &Family) -> Finding {
    let mut nodes = [family.members.as_slice(), &family.beside].concat();
    nodes.sort_by_key(|node| std::cmp::Reverse((graph.own[*node].flash, *node)));
    let names = first_of(nodes.iter().map(|node| graph.name(*node)), NAMES);
    let needed = match needed(graph, family) {
        Some(by) => format!(", pulled in by {by}"),
        None => String::new(),
    };
    let text =
        format!("{}: {} bytes of flash ({names}){needed}", family.name, grouped(family.all.flash));
    let code = format!("pulls-in-{}", family.id);
    let largest = family.members.first().and_then(|node| graph.names(*node));
    let why = largest.map(|(linked, _)| format!("--why {linked} shows the chain"));
    let advice = [family.advice.clone(), why].into_iter().flatten().collect::<Vec<_>>();
    Finding {
        place: family.needed_by.edges().first().and_then(|edge| graph.place(edge)),
        advice: Some(advice.join("; ")).filter(|advice| !advice.is_empty()),
        ..Finding::new(Severity::Note, &code, text)
    }
}

/// Who needs a family, by name and line.
fn needed(graph: &Graph<'_>, family: &Family) -> Option<String> {
    let edges = family.needed_by.edges();
    let shown = edges.iter().map(|edge| {
        let format = match &family.needed_by {
            Needed::ByFormats(_) => format!(" for {}", graph.name(edge.to)),
            _ => String::new(),
        };
        match graph.place(edge) {
            Some(place) => format!("{}{format} ({place})", graph.who(edge)),
            None => format!("{}{format}", graph.who(edge)),
        }
    });
    let text = first_of(shown, PLACES);
    match family.needed_by {
        Needed::Unknown => None,
        Needed::ByNoFormat(_) => {
            Some(format!("{text}; no format string that is a constant has such a conversion"))
        }
        _ => Some(text),
    }
}
