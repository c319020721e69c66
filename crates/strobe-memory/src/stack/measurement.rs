//! Worst cases as a measurement: stacks with their margins, entry points with their chains, what is
//! not known.

mod stacks;
mod unknown;

use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Address, Cell, Column, Content, Ended, Fact, Finding, Instrument, Measurement, Severity,
    Subject, Table, Trust, Unit, Window,
};
use strobe_symbols::short_path;

use self::stacks::stacks;
use self::unknown::unknown_calls;
use super::entries::Kind;
use super::worst::Link;
use super::{Analysis, profile, sizes};

/// Rows of tables of single things.
const MOST_ROWS: usize = 500;
/// Functions of a chain that are named.
const MOST_NAMES: usize = 24;
/// Places that one finding names.
const MOST_PLACES: usize = 5;

pub(super) fn measurement(analysis: &Analysis<'_>, name: &str) -> Measurement {
    let mut measurement = Measurement::new(subject(analysis, name), instrument(), window());
    stacks(&mut measurement, analysis);
    entry_points(&mut measurement, analysis);
    unknown_calls(&mut measurement, analysis);
    recursion(&mut measurement, analysis);
    frames(&mut measurement, analysis);
    arrays(&mut measurement, analysis);
    let content = Content::Profile(Box::new(profile::profile(analysis)));
    measurement.push(ids::section::PROFILE, "the deepest chains", content);
    findings(&mut measurement, analysis);
    measurement
}

fn subject(analysis: &Analysis<'_>, name: &str) -> Subject {
    let firmware = analysis.firmware;
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let machine = firmware.machine().conventions().name;
    Subject {
        kind: "firmware".to_owned(),
        name: name.to_owned(),
        sha256: Some(hex(&firmware.sha256())),
        build_id: firmware.build_id().map(hex),
        facts: vec![Fact::text("machine", machine)],
        ..Subject::default()
    }
}

fn instrument() -> Instrument {
    let tool = format!("strobe {}", env!("CARGO_PKG_VERSION"));
    Instrument { kind: "image stacks".to_owned(), tool, ..Instrument::default() }
}

fn window() -> Window {
    Window::untimed("an image has no time", Ended::default())
}

fn bytes(id: &str, title: &str) -> Column {
    Column::figure(id, title, Unit::BYTES)
}

/// A worst case is at most so much or, with parts unknown, at least.
fn bound(value: u64, is_open: bool) -> Cell {
    let trust = if is_open { Trust::AtLeast } else { Trust::AtMost };
    Cell::Figure { value: Some(value.into()), trust }
}

/// The chain in words, outermost first.
fn chain(analysis: &Analysis<'_>, links: &[Link]) -> String {
    let shown = links.iter().take(MOST_NAMES).map(|link| {
        let ring = if link.is_ring { " and what it calls in a ring" } else { "" };
        format!("{}{ring} {}", analysis.name(link.function), link.bytes)
    });
    let more = if links.len() > MOST_NAMES { " > ..." } else { "" };
    shown.collect::<Vec<_>>().join(" > ") + more
}

fn entry_points(measurement: &mut Measurement, analysis: &Analysis<'_>) {
    let mut table = Table::new(vec![
        bytes("worst", "worst"),
        Column::text(ids::column::KIND, "kind"),
        Column::text(ids::column::ENTRY, "entry"),
        Column::text("exceptions", "exceptions"),
        Column::address(ids::column::ADDRESS, "address").worth(0),
        Column::text("chain", "deepest chain with the bytes of each"),
    ]);
    for entry in &analysis.entries {
        let kind = match entry.kind {
            Kind::Reset => "reset",
            Kind::Handler => "handler",
            Kind::Thread => "thread",
        };
        let vectors = match entry.vectors.as_slice() {
            [] => Cell::Empty,
            [one] => one.as_str().into(),
            [first, rest @ ..] => format!("{first} and {} more", rest.len()).into(),
        };
        let deepest = analysis.deepest(entry);
        table.row([
            bound(deepest.bytes, deepest.is_open),
            kind.into(),
            analysis.name(entry.address).into(),
            vectors,
            Address(entry.address.into()).into(),
            chain(analysis, &deepest.chain).into(),
        ]);
    }
    let title = "entry points: bytes of their own stack at worst, interrupts apart";
    measurement.push("entry-points", title, Content::Table(table));
}

fn place(analysis: &Analysis<'_>, at: u32) -> Option<String> {
    let frames = analysis.firmware.frames(at);
    let frame = frames.frames.first()?;
    Some(format!("{}:{}", short_path(frame.file?), frame.line?))
}

fn recursion(measurement: &mut Measurement, analysis: &Analysis<'_>) {
    let mut table = Table::new(vec![
        Column::text("functions", "functions"),
        Column::figure("count", "count", Unit::COUNT),
        Column::text("bound", "bound"),
        Column::address(ids::column::ADDRESS, "first").worth(0),
    ]);
    for ring in analysis.worst.rings.iter().take(MOST_ROWS) {
        let names = ring.members.iter().take(MOST_NAMES).map(|at| analysis.name(*at));
        let mut names = names.collect::<Vec<_>>().join(", ");
        if ring.members.len() > MOST_NAMES {
            names.push_str(", ...");
        }
        if !ring.is_bounded {
            let text = format!("without a bound on the depth, these call themselves: {names}");
            let mut finding = Finding::new(Severity::Warning, "recursion", text);
            finding.advice = Some(
                "state how many calls are active at most in [recursion] of the annotations"
                    .to_owned(),
            );
            measurement.findings.push(finding);
        }
        table.row([
            names.into(),
            (ring.members.len() as u64).into(),
            if ring.is_bounded { "annotated" } else { "unknown" }.into(),
            ring.members.first().map_or(Cell::Empty, |at| Address(u64::from(*at)).into()),
        ]);
    }
    if !table.is_empty() {
        let title = "recursion: functions that call themselves, directly or in a ring";
        measurement.push("recursion", title, Content::Table(table));
    }
}

fn frames(measurement: &mut Measurement, analysis: &Analysis<'_>) {
    let mut table = Table::new(vec![
        bytes("own", "own"),
        bytes("worst", "with calls"),
        Column::figure("calls", "calls", Unit::COUNT),
        Column::text(ids::column::FUNCTION, "function"),
        Column::address(ids::column::ADDRESS, "address").worth(1),
        Column::text("line", "deepest at").worth(0),
    ]);
    let mut functions: Vec<_> = analysis.graph.functions.values().collect();
    functions.sort_by_key(|function| (std::cmp::Reverse(function.deepest), function.start));
    for function in functions.into_iter().take(MOST_ROWS) {
        let own = if function.dynamic.is_empty() && function.unbounded.is_empty() {
            Cell::from(u64::from(function.deepest))
        } else {
            bound(function.deepest.into(), !analysis.resolved.dynamic.contains_key(&function.start))
        };
        table.row([
            own,
            bound(analysis.worst.bytes(function.start), analysis.worst.is_open(function.start)),
            (function.calls.len() as u64).into(),
            analysis.name(function.start).into(),
            Address(function.start.into()).into(),
            place(analysis, function.deepest_at).map_or(Cell::Empty, Cell::from),
        ]);
    }
    let title = "frames: bytes of stack by function, and with what it calls";
    measurement.push("frames", title, Content::Table(table));
}

/// Variables that are stacks by name, for those that no entry point is known of.
fn arrays(measurement: &mut Measurement, analysis: &Analysis<'_>) {
    let mut table = Table::new(vec![
        bytes("size", "size"),
        Column::text(ids::column::VARIABLE, "variable"),
        Column::address(ids::column::ADDRESS, "address"),
    ]);
    for (name, address, size) in sizes::arrays(analysis.firmware).into_iter().take(MOST_ROWS) {
        table.row([size.into(), name.into(), Address(address.into()).into()]);
    }
    if !table.is_empty() {
        let title = "variables that are stacks, by their names";
        measurement.push(ids::section::STACK_VARIABLES, title, Content::Table(table));
    }
}

fn findings(measurement: &mut Measurement, analysis: &Analysis<'_>) {
    let differing: Vec<_> = analysis
        .graph
        .functions
        .values()
        .filter_map(|function| Some((function.start, function.disagreement?)))
        .collect();
    if !differing.is_empty() {
        let places = differing.iter().take(MOST_PLACES).map(|(_, differs)| {
            let at = analysis.name(differs.at);
            format!("{at} ({} by code, {} by the frame information)", differs.code, differs.frames)
        });
        let text = format!(
            "machine code and call frame information disagree on the depth of the stack, and the \
             larger one counts: {}",
            places.collect::<Vec<_>>().join(", "),
        );
        let mut finding = Finding::new(Severity::Note, "frames-disagree", text);
        finding.count = differing.len() as u64;
        measurement.findings.push(finding);
    }
    if analysis.entries.is_empty() {
        let text =
            "no code that is entered from outside was found: neither a vector table nor main";
        measurement.findings.push(Finding::new(Severity::Warning, "no-entry", text));
    }
    if analysis.firmware.functions().is_empty() {
        let text = "the file has no symbols: functions are found by what calls them alone, and \
                    have no names";
        measurement.findings.push(Finding::new(Severity::Warning, "no-symbols", text));
    }
    for warning in analysis.firmware.warnings() {
        let text = warning.to_string();
        measurement.findings.push(Finding::new(Severity::Warning, "debug-information", text));
    }
    let text = "priorities are set while the firmware runs, so any handler may interrupt any other \
                one here; a handler that several exceptions share counts once";
    if analysis.of(Kind::Handler).count() > 1 {
        measurement.findings.push(Finding::new(Severity::Note, "nesting", text));
    }
}
