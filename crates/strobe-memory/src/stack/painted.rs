//! How far stacks were used, by their paint in a copy of a board's memory.

use std::collections::BTreeSet;
use strobe_model::measurement::ids;

use strobe_analyse::paint;
use strobe_model::measurement::{
    Address, Cell, Column, Content, Finding, Measurement, Severity, Table, Trust, Unit,
};

/// A copy of a part of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// Of its first byte.
    pub address: u32,
    /// What was there.
    pub bytes: Vec<u8>,
}

/// A stack with a known place.
struct Place {
    name: String,
    floor: u32,
    top: u32,
}

/// Puts the section `painted-stacks` into the measurement of an image: the stacks of known place
/// that a copy holds, with how much of each its paint shows to be used. Returns how many there are.
pub fn painted(measurement: &mut Measurement, copies: &[Copy]) -> usize {
    let mut table = Table::new(vec![
        Column::text(ids::column::STACK, "stack"),
        Column::figure("size", "size", Unit::BYTES),
        Column::figure("used", "used", Unit::BYTES),
        Column::figure("margin", "margin", Unit::BYTES),
        Column::text("paint", "paint"),
        Column::address(ids::column::ADDRESS, "address"),
    ]);
    let mut full = Vec::new();
    for place in places(measurement) {
        let Some(words) = words(copies, &place) else { continue };
        let size = place.top - place.floor;
        let paint = paint::of_stack(words.iter().copied());
        let unused = paint.map(|paint| (paint.unused * 4) as u32);
        let unknown = || Cell::Figure {
            value: None,
            trust: Trust::Unknown { why: why_not(&words).to_owned() },
        };
        if paint.is_none() && why_not(&words) == OVERRUN {
            full.push(place.name.clone());
        }
        let figure = |value: u32, trust| Cell::Figure { value: Some(value.into()), trust };
        table.row([
            place.name.as_str().into(),
            size.into(),
            unused.map_or_else(unknown, |unused| figure(size - unused, Trust::AtLeast)),
            unused.map_or_else(unknown, |unused| figure(unused, Trust::AtMost)),
            paint.map(|paint| format!("{:#010x}", paint.word)).into(),
            Address(place.floor.into()).into(),
        ]);
    }
    let found = table.len();
    if found > 0 {
        let title = "painted stacks: how far each was used, by a copy of the board's memory";
        let section = measurement.push("painted-stacks", title, Content::Table(table));
        section.notes.push(
            "Words that a function skips, or writes with the same value, look unused: a stack was \
             used at least so far."
                .to_owned(),
        );
    }
    if !full.is_empty() {
        let text = format!(
            "no paint is left on {}, nor is it unused: it was never painted, or used to its end",
            full.join(", ")
        );
        measurement.findings.push(Finding::new(Severity::Warning, "no-paint", text));
    }
    found
}

const OVERRUN: &str = "no paint: never painted, or used to the end";

/// Why a stack's words show no paint.
fn why_not(words: &[u32]) -> &'static str {
    match words.split_first() {
        Some((first, rest)) if rest.iter().all(|word| word == first) => {
            "all words are equal: nothing has run on it"
        }
        _ if words.iter().take(words.len() / 2).all(|word| *word == 0) => "zeros: never painted",
        _ => OVERRUN,
    }
}

/// The stack from reset, and variables that are stacks.
fn places(measurement: &Measurement) -> Vec<Place> {
    let table = |id: &str| match &measurement.section(id)?.content {
        Content::Table(table) => Some(table),
        _ => None,
    };
    let number = |cell: &Cell| match cell {
        Cell::Address(address) => u32::try_from(address.0).ok(),
        other => u32::try_from(other.number()?.as_u64()).ok(),
    };
    let cell = |table: &Table, id: &str, row: usize| {
        let column = table.columns.iter().find(|column| column.id == id)?;
        number(column.cells.get(row)?)
    };
    let mut places = Vec::new();
    if let Some(stacks) = table("stacks") {
        let main = cell(stacks, "top", 0).zip(cell(stacks, "size", 0));
        let floor = main.and_then(|(top, size)| Some((top.checked_sub(size)?, top)));
        places.extend(floor.map(|(floor, top)| Place { name: "main".to_owned(), floor, top }));
    }
    for row in 0..table(ids::section::STACK_VARIABLES).map_or(0, Table::len) {
        let Some(variables) = table("stack-variables") else { break };
        let names = variables.columns.iter().find(|column| column.id == ids::column::VARIABLE);
        let name = names.and_then(|column| match column.cells.get(row)? {
            Cell::Text(name) => Some(name.clone()),
            _ => None,
        });
        let range = cell(variables, "address", row).zip(cell(variables, "size", row));
        let range = range.and_then(|(at, size)| Some((at, at.checked_add(size)?)));
        let place = name.zip(range).map(|(name, (floor, top))| Place { name, floor, top });
        places.extend(place);
    }
    let mut seen = BTreeSet::new();
    places.retain(|place| place.floor < place.top && seen.insert(place.top));
    places
}

/// The words of a stack; `None` if no copy holds all of it.
fn words(copies: &[Copy], place: &Place) -> Option<Vec<u32>> {
    let of = |copy: &Copy| {
        let begin = place.floor.checked_sub(copy.address)? as usize;
        let end = place.top.checked_sub(copy.address)? as usize;
        let bytes = copy.bytes.get(begin..end)?;
        let words = bytes.chunks_exact(4).map(|word| [word[0], word[1], word[2], word[3]]);
        Some(words.map(u32::from_le_bytes).collect())
    };
    copies.iter().find_map(of)
}

#[cfg(test)]
mod tests {
    use strobe_model::measurement::{Ended, Instrument, Subject, Window};

    use super::*;

    fn image() -> Measurement {
        let window = Window::untimed("an image has no time", Ended::default());
        let mut image = Measurement::new(Subject::default(), Instrument::default(), window);
        let mut stacks = Table::new(vec![
            Column::text("stack", "stack"),
            Column::figure("size", "size", Unit::BYTES),
            Column::address("top", "top"),
        ]);
        stacks.row(["main".into(), 64u32.into(), Address(0x2000_0200).into()]);
        image.push("stacks", "stacks", Content::Table(stacks));
        let mut variables = Table::new(vec![
            Column::figure("size", "size", Unit::BYTES),
            Column::text("variable", "variable"),
            Column::address("address", "address"),
        ]);
        for (name, at) in [("worker_stack", 0x2000_0000), ("idle_stack", 0x2000_0100)] {
            variables.row([64u32.into(), name.into(), Address(at).into()]);
        }
        image.push("stack-variables", "variables", Content::Table(variables));
        image
    }

    fn copy(words: impl Fn(usize) -> u32) -> Copy {
        let bytes = (0..128).flat_map(|at| words(at).to_le_bytes()).collect();
        Copy { address: 0x2000_0000, bytes }
    }

    fn column(image: &Measurement, id: &str) -> Vec<Cell> {
        let Some(Content::Table(table)) = image.section("painted-stacks").map(|s| &s.content)
        else {
            panic!("no table");
        };
        table.columns.iter().find(|column| column.id == id).expect("the column").cells.clone()
    }

    #[test]
    fn paint_shows_how_far_each_stack_was_used() {
        let mut image = image();
        // The worker's has 10 words of paint, the idle thread's 16 that are all paint, and what is
        // used of main's is without end.
        let words = |at: usize| match at {
            0..10 => 0xa5a5_a5a5,
            64..80 => 0x5555_5555,
            at => at as u32 * 7 + 1,
        };
        assert_eq!(painted(&mut image, &[copy(words)]), 3);
        let used = column(&image, "used");
        assert!(matches!(&used[0], Cell::Figure { value: None, .. }), "main: {used:?}");
        assert_eq!(used[1].number().map(|n| n.as_u64()), Some(64 - 40));
        assert!(matches!(&used[2], Cell::Figure { trust: Trust::Unknown { why }, .. }
            if why.contains("nothing has run")));
        assert_eq!(column(&image, "margin")[1].number().map(|n| n.as_u64()), Some(40));
        assert!(image.findings.iter().any(|f| f.code == "no-paint" && f.text.contains("main")));
    }

    #[test]
    fn a_copy_of_something_else_holds_no_stack() {
        let mut image = image();
        let elsewhere = Copy { address: 0x1000_0000, bytes: vec![0; 64] };
        let part = Copy { address: 0x2000_0000, bytes: vec![0; 32] };
        let beyond = Copy { address: u32::MAX, bytes: vec![0; 64] };
        assert_eq!(painted(&mut image, &[elsewhere, part, beyond]), 0);
        assert!(image.section("painted-stacks").is_none());
    }
}
