//! Memory: high-water marks of stacks, and what became of the heap's blocks.

use strobe_model::measurement::ids;
use strobe_model::measurement::{Address, Column, Content, Measurement, Quantity, Table, Unit};

use super::events::About;
use super::heap::{Callers, HeapView};
use crate::measuring::count;

/// Adds the sections.
pub(super) fn push(measurement: &mut Measurement, about: &About) {
    stacks(measurement, about);
    if let Some(heap) = &about.report.heap {
        let view = HeapView {
            heap,
            unit: Unit::NANOSECONDS,
            since: &|at| about.since(at),
            who: Callers {
                title: "thread",
                name: &|thread| ("thread", about.thread(thread, None)),
                have_frees: false,
            },
            uncertain: "events were lost, allocations or frees among them perhaps",
        };
        view.push(measurement);
    }
}

fn stacks(measurement: &mut Measurement, about: &About) {
    if about.report.stacks.is_empty() {
        return;
    }
    let mut table = Table::new(vec![
        Column::text("thread", "thread"),
        Column::figure("used", "high-water mark", Unit::BYTES),
        count("samples", "samples"),
        Column::moment("at", "at", Unit::NANOSECONDS),
        Column::text(ids::column::FUNCTION, "in"),
        Column::address(ids::column::ADDRESS, "address").worth(0),
    ]);
    for stack in &about.report.stacks {
        let place = format!("{:#010x}", stack.peak_function);
        table.row([
            about.thread(stack.id, stack.name.as_deref()).into(),
            // Between two samples it may have been deeper.
            Quantity::at_least(stack.peak_bytes, Unit::BYTES).into(),
            stack.samples.into(),
            about.since(stack.peak_ns),
            stack.peak_name.clone().unwrap_or(place).into(),
            Address(stack.peak_function.into()).into(),
        ]);
    }
    measurement.push(ids::section::STACKS, "stack high-water marks", Content::Table(table));
}
