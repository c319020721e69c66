//! Tables of interrupts and of registers without a model.

use crate::simulated::run_record::{ExceptionStatistics, RunRecord};
use strobe_model::measurement::{Cell, Column, Content, Section, Table, Unit, ids};

use super::{Model, address, section};

/// How often each exception was entered, what it cost, how long it waited.
pub(super) fn interrupts(record: &RunRecord, model: &Model) -> Option<Section> {
    if record.exceptions.is_empty() {
        return None;
    }
    // Of a record of one thread only, scheduling still knows all cycles.
    let all = record.scheduling.as_ref().map_or(&record.balance, |s| &s.balance);
    let cycles = |id: &str, title: &str| Column::figure(id, title, Unit::CYCLES);
    let mut table = Table::new(vec![
        Column::figure("count", "count", Unit::COUNT),
        Column::figure("tail-chained", "chained", Unit::COUNT).worth(4),
        cycles("cycles", "cycles").of(all.parts().taken),
        cycles("idle", "idle").worth(0),
        cycles("per-entry", "per entry").worth(3),
        cycles("latency-min", "latency min").worth(2),
        cycles("latency-mean", "mean").worth(5),
        cycles("latency-max", "max"),
        Column::figure("latency-max-at", "max at", Unit::NANOSECONDS).worth(1),
        Column::figure("lost", "lost", Unit::COUNT),
        Column::text("name", "name"),
        Column::text(ids::column::HANDLER, "handler"),
        Column::text("latency-max-after", "max after").worth(1),
        Column::figure("number", "number", Unit::COUNT).worth(0),
    ]);
    for e in &record.exceptions {
        let some = |n: u64| (n > 0).then_some(n);
        let entered = e.count > 0;
        table.row([
            model.times(e.count),
            some(e.tail_chained).map(|n| model.times(n)).into(),
            model.cell(e.cycles),
            some(e.idle).map(|idle| model.cell(idle)).into(),
            model.mean(e.cycles, e.count),
            entered.then(|| model.cell(e.latency_min)).into(),
            model.mean(e.latency_sum, e.count),
            entered.then(|| model.cell(e.latency_max)).into(),
            entered.then(|| model.cell(e.latency_max_at.nanoseconds)).into(),
            e.lost.map(|n| model.times(n)).into(),
            e.name.as_str().into(),
            handler(e),
            blocked_by(e),
            u64::from(e.number).into(),
        ]);
    }
    let title = "interrupts: cycles with entry and exit, without those that interrupted them; \
                 latency from pending to first instruction; lost: requests of the whole run that \
                 came \
                 while the same one still waited";
    Some(section(ids::section::INTERRUPTS, title, Content::Table(table)))
}

/// The code that had the core while a request waited longest.
fn blocked_by(e: &ExceptionStatistics) -> Cell {
    let worst = e.latency_worst.as_ref();
    worst.map(|worst| worst.function.as_deref().unwrap_or(&worst.address)).into()
}

fn handler(e: &ExceptionStatistics) -> Cell {
    e.handler.as_deref().into()
}

/// Registers that nobody modelled and that were touched.
pub(super) fn unmodelled(record: &RunRecord) -> Option<Section> {
    if record.unmodelled.is_empty() {
        return None;
    }
    let mut table = Table::new(vec![
        Column::address(ids::column::ADDRESS, "address"),
        Column::figure("reads", "reads", Unit::COUNT),
        Column::figure("writes", "writes", Unit::COUNT),
        Column::text("peripheral", "peripheral"),
        Column::text("register", "register"),
        Column::text("on-board", "on this board"),
        Column::text("first-from", "first accessed from"),
    ]);
    for register in &record.unmodelled {
        table.row([
            address(&register.address).into(),
            register.reads.into(),
            register.writes.into(),
            register.peripheral.as_deref().into(),
            register.register.as_deref().into(),
            if register.known_device { "yes" } else { "no" }.into(),
            register.first_from.as_str().into(),
        ]);
    }
    let title = "unmodelled registers: they keep what is written and do nothing; code that depends \
                 on more may go another way than on the real board";
    Some(section("unmodelled", title, Content::Table(table)))
}
