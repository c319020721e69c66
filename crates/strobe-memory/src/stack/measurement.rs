//! Worst cases as a measurement: stacks with their margins, entry points with their chains, what is
//! not known.

use strobe_model::measurement::{
    Address, Cell, Column, Content, Ended, Fact, Finding, Instrument, Measurement, Quantity,
    Severity, Subject, Table, Trust, Unit, Window,
};
use strobe_symbols::{Machine, short_path};

use super::entries::Kind;
use super::worst::Link;
use super::{Analysis, exception_frame, profile, sizes, worst};
use crate::callgraph::Target;

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
    measurement.push("profile", "the deepest chains", content);
    findings(&mut measurement, analysis);
    measurement
}

fn subject(analysis: &Analysis<'_>, name: &str) -> Subject {
    let firmware = analysis.firmware;
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let machine = match firmware.machine() {
        Machine::Avr => "AVR",
        _ => "Arm",
    };
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

/// A stack with what its user and handlers take from it.
struct Stack {
    name: String,
    entry: u32,
    size: Option<(u32, String)>,
    one: u64,
    all: u64,
    is_open: bool,
    below: Option<String>,
    /// The end, where it is known.
    top: Option<u32>,
}

fn stack_rows(analysis: &Analysis<'_>) -> Vec<Stack> {
    let (one, all, is_open) = analysis.interrupts();
    let on_thread = analysis.thread_frame();
    let has_handlers = analysis.of(Kind::Handler).next().is_some();
    let is_split = analysis.graph.has_process_stacks();
    let main = analysis.of(Kind::Reset).map(|entry| {
        let size = analysis.top.and_then(|top| sizes::main_stack(analysis.firmware, top));
        let own = analysis.worst.bytes(entry.address);
        Stack {
            name: "main".to_owned(),
            entry: entry.address,
            below: size.as_ref().and_then(|size| size.below.clone()),
            size: size.map(|size| (size.bytes, size.source)),
            one: own.saturating_add(one),
            all: own.saturating_add(all),
            is_open: is_open || analysis.worst.is_open(entry.address),
            top: analysis.top,
        }
    });
    let threads = analysis.of(Kind::Thread).map(|entry| {
        let own = analysis.deepest(entry);
        // With stacks of their own, only the first frame is on a thread's.
        let (one, all) = match (has_handlers, is_split) {
            (false, _) => (0, 0),
            (true, true) => (on_thread, on_thread),
            (true, false) => (one, all),
        };
        Stack {
            name: analysis.name(entry.address),
            entry: entry.address,
            size: entry.stack.clone(),
            one: own.bytes.saturating_add(one),
            all: own.bytes.saturating_add(all),
            is_open: own.is_open || !is_split && is_open,
            below: None,
            top: None,
        }
    });
    distinct(main.chain(threads).collect(), analysis)
}

/// Functions of several files that share a name get their file's beside it or, where that is the
/// same or not known, their address.
fn distinct(mut stacks: Vec<Stack>, analysis: &Analysis<'_>) -> Vec<Stack> {
    let file = |stack: &Stack| {
        let frames = analysis.firmware.frames(stack.entry).frames;
        let file = frames.last()?.file?;
        Some(file.rsplit(['/', '\\']).next().unwrap_or(file).to_owned())
    };
    let by_file: fn(&str, Option<String>, u32) -> String = |name, file, _| match file {
        Some(file) => format!("{name} ({file})"),
        None => name.to_owned(),
    };
    let by_address: fn(&str, Option<String>, u32) -> String =
        |name, _, at| format!("{name} at {at:#010x}");
    for rename in [by_file, by_address] {
        let names: Vec<String> = stacks.iter().map(|stack| stack.name.clone()).collect();
        let is_shared = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
        for stack in stacks.iter_mut().filter(|stack| is_shared(&stack.name)) {
            stack.name = rename(&stack.name, file(stack), stack.entry);
        }
    }
    stacks
}

fn stacks(measurement: &mut Measurement, analysis: &Analysis<'_>) {
    let mut table = Table::new(vec![
        Column::text("stack", "stack"),
        bytes("size", "size"),
        bytes("worst-one", "worst, one interrupt"),
        bytes("worst", "worst, all nested"),
        bytes("margin", "margin"),
        Column::text("source", "size from"),
        Column::address("entry", "entry").worth(0),
        Column::address("top", "top").worth(0),
    ]);
    let mut overflows = Vec::new();
    for stack in stack_rows(analysis) {
        let size = stack.size.as_ref().map(|(bytes, _)| u64::from(*bytes));
        let margin = size.map(|size| size as i64 - i64::try_from(stack.all).unwrap_or(i64::MAX));
        let trust = if stack.is_open { Trust::AtMost } else { Trust::AtLeast };
        table.row([
            stack.name.as_str().into(),
            size.into(),
            bound(stack.one, stack.is_open),
            bound(stack.all, stack.is_open),
            margin.map_or(Cell::Empty, |m| Cell::Figure { value: Some(m.into()), trust }),
            stack.size.as_ref().map_or(Cell::Empty, |(_, source)| source.as_str().into()),
            Address(stack.entry.into()).into(),
            stack.top.map_or(Cell::Empty, |top| Address(top.into()).into()),
        ]);
        let trust = if stack.is_open { Trust::AtLeast } else { Trust::AtMost };
        if let Ok(worst) = Quantity::new(Some(stack.all.into()), Unit::BYTES, trust) {
            let id = format!("worst-{}", stack.name);
            measurement.push_total(&id, &format!("worst case of {}", stack.name), worst);
        }
        if let Some(size) = size.filter(|size| *size < stack.all) {
            overflows.push((stack, size));
        }
    }
    let frame = exception_frame(analysis);
    let saved = match analysis.switched() {
        0 => String::new(),
        bytes => format!(", a switch of threads {bytes} more"),
    };
    let title = format!(
        "stacks: the worst case by machine code; an exception adds {frame} bytes{saved}; nested: \
         each handler once, inside the others"
    );
    measurement.push("stacks", title, Content::Table(table));
    for (stack, size) in overflows {
        let below = stack.below.map_or(String::new(), |below| format!("; below it is {below}"));
        let text = format!(
            "the stack of {} has {size} bytes and may need {}{} ({} with one interrupt at a \
             time){below}",
            stack.name,
            if stack.is_open { "more than " } else { "" },
            stack.all,
            stack.one,
        );
        let severity = if stack.one > size { Severity::Fault } else { Severity::Warning };
        measurement.findings.push(Finding::new(severity, "stack-too-small", text));
    }
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
        Column::text("kind", "kind"),
        Column::text("entry", "entry"),
        Column::text("exceptions", "exceptions"),
        Column::address("address", "address").worth(0),
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

/// What cannot be followed: place, what it is, whether any entry point reaches it.
fn unknowns(analysis: &Analysis<'_>) -> Vec<(u32, u32, String)> {
    let mut out = Vec::new();
    for function in analysis.graph.functions.values() {
        for (at, to) in worst::unknown(&analysis.graph, &analysis.resolved, function.start) {
            let what = match to {
                Target::Unknown => "indirect call".to_owned(),
                Target::Known(to) => format!("call of {to:#010x}, which is no code of the image"),
            };
            out.push((function.start, at, what));
        }
        if !analysis.resolved.dynamic.contains_key(&function.start) {
            let dynamic = function.dynamic.iter();
            out.extend(dynamic.map(|at| (function.start, *at, "dynamic allocation".to_owned())));
        }
        let grows = "the stack grows with each pass".to_owned();
        out.extend(function.unbounded.iter().map(|at| (function.start, *at, grows.clone())));
        if function.is_cut {
            out.push((function.start, function.start, "not followed: too much code".to_owned()));
        }
    }
    out
}

fn place(analysis: &Analysis<'_>, at: u32) -> Option<String> {
    let frames = analysis.firmware.frames(at);
    let frame = frames.frames.first()?;
    Some(format!("{}:{}", short_path(frame.file?), frame.line?))
}

fn unknown_calls(measurement: &mut Measurement, analysis: &Analysis<'_>) {
    let mut table = Table::new(vec![
        Column::text("function", "function"),
        Column::address("address", "address"),
        Column::text("what", "what"),
        Column::text("line", "line"),
        Column::text("reached", "reached from"),
    ]);
    let reached: Vec<_> = analysis
        .entries
        .iter()
        .map(|entry| (analysis.name(entry.address), analysis.reached(entry)))
        .collect();
    let unknowns = unknowns(analysis);
    for (function, at, what) in unknowns.iter().take(MOST_ROWS) {
        let from: Vec<&str> = reached
            .iter()
            .filter(|(_, reached)| reached.contains(function))
            .map(|(name, _)| name.as_str())
            .collect();
        let from = match from.as_slice() {
            [] => "nothing that is known".to_owned(),
            [one] => (*one).to_owned(),
            [first, rest @ ..] => format!("{first} and {} more", rest.len()),
        };
        table.row([
            analysis.name(*function).into(),
            Address(u64::from(*at)).into(),
            what.as_str().into(),
            place(analysis, *at).map_or(Cell::Empty, Cell::from),
            from.into(),
        ]);
    }
    if unknowns.is_empty() {
        return;
    }
    let title = format!("unknown edges of the call graph ({})", unknowns.len());
    measurement.push("unknown-calls", title, Content::Table(table));
    let is_reached = |at: &u32| reached.iter().any(|(_, reached)| reached.contains(at));
    let matter: Vec<_> = unknowns.iter().filter(|(function, ..)| is_reached(function)).collect();
    if matter.is_empty() {
        return;
    }
    let places = matter.iter().take(MOST_PLACES);
    let places: Vec<String> =
        places.map(|(_, at, what)| format!("{} ({what})", analysis.name(*at))).collect();
    let more = matter.len().saturating_sub(MOST_PLACES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let text = format!(
        "what these do to the stack is unknown, so worst cases are at least what is shown: \
         {}{more}",
        places.join(", "),
    );
    let mut finding = Finding::new(Severity::Warning, "unknown-calls", text);
    finding.count = matter.len() as u64;
    finding.advice =
        Some("list targets and bounds in a file, and give it with --annotations".to_owned());
    measurement.findings.push(finding);
}

fn recursion(measurement: &mut Measurement, analysis: &Analysis<'_>) {
    let mut table = Table::new(vec![
        Column::text("functions", "functions"),
        Column::figure("count", "count", Unit::COUNT),
        Column::text("bound", "bound"),
        Column::address("address", "first").worth(0),
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
        Column::text("function", "function"),
        Column::address("address", "address").worth(1),
        Column::text("line", "deepest at").worth(0),
    ]);
    let mut functions: Vec<_> = analysis.graph.functions.values().collect();
    functions.sort_by_key(|function| (std::cmp::Reverse(function.deepest), function.start));
    for function in functions.into_iter().take(MOST_ROWS) {
        let own = match function.dynamic.is_empty() && function.unbounded.is_empty() {
            true => Cell::from(u64::from(function.deepest)),
            false => bound(
                function.deepest.into(),
                !analysis.resolved.dynamic.contains_key(&function.start),
            ),
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
        Column::text("variable", "variable"),
        Column::address("address", "address"),
    ]);
    for (name, address, size) in sizes::arrays(analysis.firmware).into_iter().take(MOST_ROWS) {
        table.row([size.into(), name.into(), Address(address.into()).into()]);
    }
    if !table.is_empty() {
        let title = "variables that are stacks, by their names";
        measurement.push("stack-variables", title, Content::Table(table));
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
