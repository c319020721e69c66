//! Memory: how deep stacks got, and what became of the heap's blocks.

use std::io::{self, Write};

use strobe_model::{EventsReport, HeapSeen, HeapSite};

use super::super::layout::{fields, heading, item};
use super::activity::thread_name;
use super::{EventsShow, more, since, topmost};
use crate::Options;
use crate::number::{counted, grouped, share, time};
use crate::paint::Paint;
use crate::table::Table;

pub(super) fn stacks(
    report: &EventsReport,
    show: &EventsShow,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    if report.stacks.is_empty() {
        return Ok(());
    }
    heading("stacks: the deepest that was told", options, out)?;
    let mut table =
        Table::new().number("bytes").number("told").number("at").text("thread").text("in");
    let (shown, left) = topmost(&report.stacks, show.top);
    for stack in shown {
        let place = format!("{:#010x}", stack.peak_function);
        table.row(vec![
            grouped(stack.peak_bytes).into(),
            grouped(stack.samples).into(),
            stack.peak_ns.map_or("-".to_owned(), |at| since(report, at)).into(),
            thread_name(stack.id, stack.name.as_deref()).into(),
            stack.peak_name.clone().unwrap_or(place).into(),
        ]);
    }
    table.write(options.style, out)?;
    more(left, "thread", options, out)
}

pub(super) fn heap(
    report: &EventsReport,
    show: &EventsShow,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(heap) = &report.heap else { return Ok(()) };
    heading("heap", options, out)?;
    fields(&facts(report, heap), options, out)?;
    if heap.uncertain {
        let text = "events were lost, so blocks shown as in use may have been given back";
        item("! ", text, Paint::Warn, options, out)?;
    }
    writeln!(out)?;
    let mut table = Table::new().number("in use").number("bytes").number("taken").number("bytes");
    table = table.number("of all").optional(0).text("by").text("called by").room(40);
    let (shown, left) = topmost(&heap.sites, show.top);
    for site in shown {
        table.row(vec![
            grouped(site.live).into(),
            grouped(site.live_bytes).into(),
            grouped(site.allocations).into(),
            grouped(site.bytes).into(),
            share(site.bytes, heap.total_bytes).into(),
            site.thread.map_or("-".to_owned(), |thread| thread.to_string()).into(),
            callers(site).into(),
        ]);
    }
    if left == 0 {
        table.rule();
        table.painted(
            vec![
                grouped(heap.live).into(),
                grouped(heap.live_bytes).into(),
                grouped(heap.allocations).into(),
                grouped(heap.total_bytes).into(),
                "100.0 %".into(),
                "".into(),
                "all".into(),
            ],
            Paint::Strong,
        );
    }
    table.write(options.style, out)?;
    more(left, "place", options, out)
}

fn facts<'a>(report: &EventsReport, heap: &HeapSeen) -> Vec<(&'a str, String)> {
    let mut taken =
        format!("{}, {}", counted(heap.allocations, "block"), counted(heap.total_bytes, "byte"));
    if let Some(requested) = heap.requested_bytes {
        taken += &format!(", of which {} were asked for", grouped(requested));
    }
    if heap.failed > 0 {
        taken += &format!("; {} gave none", counted(heap.failed, "allocation"));
    }
    let mut freed = counted(heap.frees, "block");
    if heap.unknown_frees > 0 {
        freed += &format!(", {} of which nobody was seen to take", grouped(heap.unknown_frees));
    }
    if let Some(ages) = &heap.ages {
        freed += &format!(
            ", after {} in the mean, {} at most",
            time(ages.mean.into()),
            time(ages.max.into())
        );
    }
    let mut live = format!("{}, {}", counted(heap.live, "block"), counted(heap.live_bytes, "byte"));
    if heap.replaced > 0 {
        live +=
            &format!("; {} more were taken again without having been given back", heap.replaced);
    }
    let peak = heap.peak_ns.map_or(String::new(), |at| format!(" at {}", since(report, at)));
    vec![
        ("taken", taken),
        ("given back", freed),
        ("in use at the end", live),
        ("at most", format!("{}{peak}", counted(heap.peak_bytes, "byte"))),
    ]
}

/// Who called, the innermost first.
fn callers(site: &HeapSite) -> String {
    let names = site.callers.iter().zip(site.names.iter().chain(std::iter::repeat(&None)));
    let each = names.map(|(address, name)| name.clone().unwrap_or_else(|| address.clone()));
    each.collect::<Vec<_>>().join(" < ")
}
