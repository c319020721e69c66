//! `--why`: the shortest ways from an entry point to a symbol, and what would go with each
//! reference on them.

use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Finding, Measurement, Quantity, Severity, Table, Unit,
};
use strobe_model::number::grouped;
use strobe_symbols::{Firmware, SymbolError};

use super::graph::Graph;
use super::items::Bytes;
use super::measurement::Image;
use super::{Settings, regions};
use crate::references::{Dominators, Edge, Id};

/// Ways that are shown, each with another last step.
const MOST_WAYS: usize = 5;
/// Rows of other tables.
const MOST_ROWS: usize = 200;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum WhyError {
    /// The image has no such symbol, or several.
    #[error("{0}")]
    Symbol(#[from] SymbolError),
    /// Nothing in the image is at the symbol's address.
    #[error("{0} is an address outside of everything that the image has")]
    Nothing(String),
    /// The image has no symbols.
    #[error(
        "the image has no symbols, so who refers to what is not known; give the ELF file before \
         it was stripped"
    )]
    Stripped,
}

/// Measures an image and shows why it has a symbol: a name, or an address as `0x8000123`.
///
/// # Errors
/// When the image has no such symbol, or no symbols at all.
pub fn why(
    firmware: &Firmware,
    name: &str,
    settings: &Settings,
    symbol: &str,
) -> Result<Measurement, WhyError> {
    if firmware.functions().is_empty() {
        return Err(WhyError::Stripped);
    }
    let regions = regions::Regions::new(firmware, settings);
    let image = Image::new(firmware, name, settings, &regions);
    let mut measurement = image.measurement();
    // What else there is to say about the image is not what was asked for.
    measurement.findings.retain(|finding| finding.severity != Severity::Note);
    let Some(graph) = &image.graph else { return Err(WhyError::Stripped) };
    let number = symbol.strip_prefix("0x").and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let address = match number {
        Some(address) => address,
        None => firmware.symbol(symbol)?.address,
    };
    let node = graph.references.at(u64::from(address));
    let node = node.ok_or_else(|| WhyError::Nothing(symbol.to_owned()))?;
    Answer::new(graph, node).into(&mut measurement);
    Ok(measurement)
}

struct Answer<'a, 'b> {
    graph: &'a Graph<'b>,
    node: Id,
    name: String,
    dominators: Dominators,
    /// What each node takes with all that only it leads to.
    sums: Vec<Bytes>,
}

impl<'a, 'b> Answer<'a, 'b> {
    fn new(graph: &'a Graph<'b>, node: Id) -> Self {
        let dominators = graph.references.dominators();
        let sums = dominators.sums(&graph.own);
        Answer { graph, node, name: graph.name(node), dominators, sums }
    }

    fn into(self, measurement: &mut Measurement) {
        let (own, all) = (self.graph.own[self.node], self.sums[self.node]);
        let totals = [
            ("why-own", format!("flash of {}", self.name), own.flash),
            ("why-goes", format!("flash that goes with {}", self.name), all.flash),
            ("why-goes-ram", format!("RAM that goes with {}", self.name), all.ram),
        ];
        for (id, title, bytes) in totals {
            if bytes > 0 || id == "why-goes" {
                measurement.push_total(id, &title, Quantity::exact(bytes, Unit::BYTES));
            }
        }
        let mut push = |id: &str, title: String, table: Table| {
            if !table.is_empty() {
                measurement.push(id, title, Content::Table(table));
            }
        };
        push("why", format!("why {} is there", self.name), self.ways());
        push("references", format!("what refers to {}", self.name), self.references());
        push("goes", format!("what only {} leads to", self.name), self.goes());
        let finding = self.finding();
        measurement.findings.extend(finding);
    }

    /// What goes if a reference went.
    fn goes_with(&self, edge: &Edge) -> Bytes {
        if self.dominators.is_only(&self.graph.references, edge) {
            self.sums[edge.to]
        } else {
            Bytes::default()
        }
    }

    /// The shortest way for each last step, the shortest first.
    fn ways(&self) -> Table {
        let references = &self.graph.references;
        let (steps, reached) = references.shortest(self.node);
        let mut ways: Vec<Vec<Edge>> = references
            .to(self.node)
            .filter(|edge| reached[edge.from])
            .map(|last| {
                let mut way = vec![*last];
                while let Some(edge) = way.last().and_then(|edge| steps[edge.from]) {
                    way.push(edge);
                }
                way.reverse();
                way
            })
            .collect();
        ways.sort_by_key(Vec::len);
        let mut table = Table::new(vec![
            Column::figure("way", "way", Unit::COUNT),
            Column::figure("goes", "goes with it", Unit::BYTES),
            Column::figure("own", "flash", Unit::BYTES),
            Column::text("how", "by"),
            Column::text("name", "symbol"),
            Column::text(ids::column::PLACE, "place"),
        ]);
        if let Some(root) = references.roots.iter().find(|root| root.node == self.node) {
            self.begin(&mut table, 1, self.node, &root.name);
        }
        let before = table.len().min(1);
        for (number, way) in (1 + before..).zip(ways.iter().take(MOST_WAYS)) {
            let first = way[0].from;
            let root = references.roots.iter().find(|root| root.node == first);
            self.begin(&mut table, number, first, root.map_or("", |root| &root.name));
            for edge in way {
                table.row([
                    number.into(),
                    self.goes_with(edge).flash.into(),
                    self.graph.own[edge.to].flash.into(),
                    edge.how.verb().into(),
                    self.graph.name(edge.to).into(),
                    self.graph.place(edge).into(),
                ]);
            }
        }
        table
    }

    fn begin(&self, table: &mut Table, number: usize, node: Id, entry: &str) {
        table.row([
            number.into(),
            Cell::Empty,
            self.graph.own[node].flash.into(),
            entry.into(),
            self.graph.name(node).into(),
            Cell::Empty,
        ]);
    }

    /// Everything that refers to the symbol.
    fn references(&self) -> Table {
        let mut table = Table::new(vec![
            Column::figure("goes", "goes with it", Unit::BYTES),
            Column::text("name", "symbol"),
            Column::text("how", "how"),
            Column::text(ids::column::PLACE, "place"),
            Column::text("reached", "from an entry point"),
        ]);
        for edge in self.graph.references.to(self.node).take(MOST_ROWS) {
            let is_reached = self.dominators.is_reached[edge.from];
            table.row([
                self.goes_with(edge).flash.into(),
                self.graph.name(edge.from).into(),
                edge.how.verb().into(),
                self.graph.place(edge).into(),
                if is_reached { "reached" } else { "not reached" }.into(),
            ]);
        }
        table
    }

    /// What goes with the symbol, the largest first.
    fn goes(&self) -> Table {
        let nodes = 0..self.graph.references.nodes.len();
        let below = |node: &Id| {
            self.dominators.is_reached[*node] && self.dominators.is_below(*node, self.node)
        };
        let mut nodes: Vec<Id> = nodes.filter(below).collect();
        nodes.sort_by_key(|node| std::cmp::Reverse((self.graph.own[*node].flash, *node)));
        let all = self.sums[self.node];
        let mut table = Table::new(vec![
            Column::figure("flash", "flash", Unit::BYTES).of(all.flash),
            Column::figure("ram", "RAM", Unit::BYTES),
            Column::text("name", "symbol"),
        ]);
        let some = |bytes: u64| Some(bytes).filter(|bytes| *bytes > 0);
        for node in nodes.into_iter().take(MOST_ROWS) {
            let own = self.graph.own[node];
            table.row([some(own.flash).into(), some(own.ram).into(), self.graph.name(node).into()]);
        }
        table.footer.push(vec![all.flash.into(), some(all.ram).into(), "all".into()]);
        table
    }

    /// What the tables mean, in a sentence.
    fn finding(&self) -> Option<Finding> {
        let references = &self.graph.references;
        let name = &self.name;
        if let Some(root) = references.roots.iter().find(|root| root.node == self.node) {
            let text = format!("{name} is where the program is entered: {}", root.name);
            return Some(Finding::new(Severity::Note, "why", text));
        }
        let reached: Vec<&Edge> =
            references.to(self.node).filter(|edge| self.dominators.is_reached[edge.from]).collect();
        let text = match reached.as_slice() {
            [] => {
                let advice = "the linker script may keep it (KEEP, -u), it may be reached from a \
                              neighbour's address, or the image was linked without --gc-sections";
                let text = format!("no entry point leads to {name} by references that are found");
                let finding = Finding::new(Severity::Note, "why", text);
                return Some(Finding { advice: Some(advice.to_owned()), ..finding });
            }
            [edge] => {
                let goes = grouped(self.goes_with(edge).flash);
                let from = self.graph.name(edge.from);
                let place = self.graph.place(edge).map_or(String::new(), |p| format!(" ({p})"));
                format!("without the reference from {from}{place}, {goes} bytes of flash go")
            }
            edges => {
                let goes = grouped(self.sums[self.node].flash);
                format!(
                    "{} symbols refer to {name}: {goes} bytes of flash go when all of them have \
                     gone, none when one has",
                    edges.len()
                )
            }
        };
        Some(Finding::new(Severity::Note, "why", text))
    }
}
