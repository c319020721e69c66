//! What the two sides do not have in common, as findings: a function for each kind of sentence.

mod code;
mod length;

use strobe_analyse::compare::{OneSided, Setting, SideId, Unlike};
use strobe_model::measurement::Finding;
use strobe_model::number::hertz;

use super::limits::exceeded;

pub(super) use code::no_symbols;

/// Evidence of a finding: names and values, by side.
type Evidence = Vec<(String, Vec<(String, String)>)>;

pub(super) fn finding(unlike: &Unlike) -> Finding {
    let finding = Finding::new(unlike.severity(), unlike.code(), text(unlike));
    match unlike {
        Unlike::Settings(settings) => Finding { evidence: values(settings), ..finding },
        Unlike::OneSided { side, ids, .. } => {
            Finding { evidence: vec![(side.letter().to_owned(), ids.clone())], ..finding }
        }
        Unlike::NamelessRows(tables) => Finding { count: tables.len() as u64, ..finding },
        Unlike::Ticks { count, .. } => Finding { count: *count, ..finding },
        _ => finding,
    }
}

fn text(unlike: &Unlike) -> String {
    match unlike {
        Unlike::Instrument(sides) => differs("instrument", sides),
        Unlike::Tool(sides) => differs("version of strobe", sides),
        Unlike::Board(sides) => differs("board", sides),
        Unlike::Core(sides) => differs("core", sides),
        Unlike::Clock(sides) => differs("core clock", &sides.each_ref().map(|hz| clock(hz))),
        Unlike::Windows(sides) => differs("number of windows", &sides.map(windows)),
        Unlike::Inputs(sides) => differs("inputs", &sides.each_ref().map(|all| inputs(all))),
        Unlike::Compiler(sides) => compiler(&sides.each_ref().map(|all| all.join(", "))),
        Unlike::Settings(settings) => other_settings(settings),
        Unlike::End(ends) => length::other_end(ends),
        Unlike::RunEnds(ends) => length::run_ends(ends),
        Unlike::Stopped(milliseconds) => length::stopped(*milliseconds),
        Unlike::RecordingLength { milliseconds, .. } => length::of_recordings(*milliseconds),
        Unlike::SameLength(milliseconds) => length::same(*milliseconds),
        Unlike::Shortened { side, text } => shortened(*side, text),
        Unlike::Parts(names) => parts(names),
        Unlike::OneSided { side, of, ids } => one_sided(*side, *of, ids),
        Unlike::SharedModel => code::SHARED_MODEL.to_owned(),
        Unlike::OtherModel => code::OTHER_MODEL.to_owned(),
        Unlike::Directories(roots) => code::directories(roots),
        Unlike::NoFiles(side) => code::no_files(*side),
        Unlike::Amount { times, share, unit, calls } => code::amount(*times, *share, unit, calls),
        Unlike::NamelessRows(tables) => nameless_rows(tables),
        Unlike::Ticks { name, unit, .. } => {
            format!("{unit} of {name} are of another length in b: as times they differ")
        }
        Unlike::NoSymbols(sides) => code::no_symbols(*sides),
        Unlike::OtherPrograms { functions, both, shares } => {
            code::other_programs(*functions, *both, *shares)
        }
        Unlike::AboveLimit { excess, certain: true } => exceeded(excess),
        Unlike::AboveLimit { excess, certain: false } => {
            format!("{}, but that may be chance", exceeded(excess))
        }
    }
}

/// A property in which the two differ.
fn differs(property: &str, sides: &[String; 2]) -> String {
    let [a, b] = sides.each_ref().map(|side| if side.is_empty() { "unknown" } else { side });
    format!("the {property} differs: {a} (a), {b} (b)")
}

fn clock(hz: &[u32]) -> String {
    hz.iter().map(|hz| hertz(*hz)).collect::<Vec<_>>().join(", ")
}

fn windows(entries: Option<u64>) -> String {
    entries.map_or_else(|| "the whole run".to_owned(), |n| n.to_string())
}

fn inputs(all: &[(String, String)]) -> String {
    all.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}

/// Compilers that one side alone has code of.
fn compiler([a, b]: &[String; 2]) -> String {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => format!("b alone has code of this compiler: {b}"),
        (false, true) => format!("a alone has code of this compiler: {a}"),
        (false, false) => format!("the compiler differs: {a} (a), {b} (b)"),
    }
}

fn other_settings(settings: &[Setting]) -> String {
    let each = settings.iter().map(|Setting { name, values }| {
        let [a, b] = values.each_ref().map(|value| value.as_deref().unwrap_or("none"));
        format!("{name}: {a} (a), {b} (b)")
    });
    format!("settings differ: {}", each.collect::<Vec<_>>().join("; "))
}

/// The settings that differ, by side.
fn values(settings: &[Setting]) -> Evidence {
    let of = |side: SideId| {
        let values = settings.iter().map(|Setting { name, values }| {
            let value = values[side as usize].clone().unwrap_or_default();
            (name.clone(), value)
        });
        (side.letter().to_owned(), values.collect())
    };
    SideId::BOTH.map(of).into()
}

fn shortened(side: SideId, text: &str) -> String {
    format!(
        "{} was cut off when it was written ({text}): rows that only the other side has may be in \
         both, and functions are not compared; compare whole measurements",
        side.letter()
    )
}

fn parts(names: &[String]) -> String {
    format!(
        "parts that both have are not compared here: {}; --part NAME compares one",
        names.join(", ")
    )
}

fn one_sided(side: SideId, of: OneSided, ids: &[(String, String)]) -> String {
    let of = match of {
        OneSided::Totals => "figures",
        OneSided::Sections => "sections",
    };
    let ids: Vec<&str> = ids.iter().map(|(id, _)| id.as_str()).collect();
    format!("{of} that only {} has: {}", side.letter(), ids.join(", "))
}

fn nameless_rows(tables: &[String]) -> String {
    let tables = tables.join(", ");
    format!("tables whose rows have no names of their own are not compared: {tables}")
}
