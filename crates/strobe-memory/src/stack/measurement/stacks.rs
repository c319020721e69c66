//! Each stack with what its user and handlers take from it, beside its size.

use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Address, Cell, Column, Content, Finding, Measurement, Quantity, Severity, Table, Trust, Unit,
};

use super::{bound, bytes};
use crate::stack::entries::Kind;
use crate::stack::{Analysis, exception_frame, sizes};

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

/// Adds the table of stacks, their totals, and findings on those that are too small.
pub(super) fn stacks(measurement: &mut Measurement, analysis: &Analysis<'_>) {
    let mut table = Table::new(vec![
        Column::text(ids::column::STACK, "stack"),
        bytes("size", "size"),
        bytes("worst-one", "worst, one interrupt"),
        bytes("worst", "worst, all nested"),
        bytes("margin", "margin"),
        Column::text("source", "size from"),
        Column::address(ids::column::ENTRY, "entry").worth(0),
        Column::address(ids::column::TOP, "top").worth(0),
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
    measurement.push(ids::section::STACKS, title, Content::Table(table));
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
