//! The flat profile: where the busy cycles went, most first, adding up to all of them.

use std::io::{self, Write};

use strobe_model::{Balance, Bounds, By, Cause, CauseCycles, Profile, Record, Row, Spot};

use super::causes::strip;
use super::layout::{heading, item};
use crate::Options;
use crate::figure::{Mark, Marks, spread};
use crate::number::{grouped, ratio, share};
use crate::paint::Paint;
use crate::table::{Cell, Table};

/// The `top` rows with most busy cycles (0: all), what is left over, idle time, and the totals.
///
/// Without any symbols the profile is by address, whatever was asked for.
///
/// Shares are of busy cycles: a firmware that mostly sleeps still shows what its work consists of.
///
/// # Errors
/// Those of `out`.
pub fn profile(
    record: &Record,
    asked: By,
    top: usize,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    // Without symbols all code would be one row.
    let by = if record.profile.functions.is_empty() { By::Address } else { asked };
    let rows = record.profile.rows(by);
    let all = Sum::of(&rows);
    let marks = Marks::of(&record.trust);
    let why = if by == asked { "" } else { " (there are no symbols)" };
    let busy = marks.figure(all.busy());
    heading(
        &format!("profile by {}{why}: shares are of {busy} busy cycles", noun(by, 1)),
        options,
        out,
    )?;
    let view = View { record, by, marks, busy: all.busy().likely };
    // Rows come with most busy cycles first: those with none are at the end.
    let (rows, idle) = rows.split_at(rows.partition_point(|row| row.cycles.busy() > 0));
    let (top, rest) = rows.split_at(if top == 0 { rows.len() } else { top.min(rows.len()) });
    let mut table = columns(by);
    top.iter().for_each(|row| view.row(row, &mut table));
    if !rest.is_empty() {
        let name = format!("{} other {}", grouped(rest.len() as u64), noun(by, rest.len()));
        view.sum(&Sum::of(rest), &name, Paint::Faint, &mut table);
    }
    table.rule();
    view.sum(&Sum::of(rows), "busy", Paint::Strong, &mut table);
    view.remainder(&all, Sum::of(idle).instructions, &mut table);
    table.write(options.style, out)?;
    balance(&record.balance, marks, record.totals.cycles, options, out)
}

pub(super) fn noun(by: By, n: usize) -> &'static str {
    match (by, n) {
        (By::Function, 1) => "function",
        (By::Function, _) => "functions",
        (By::Line, 1) => "source line",
        (By::Line, _) => "source lines",
        (By::Address, 1) => "address",
        (By::Address, _) => "addresses",
        (By::File, 1) => "file",
        (By::File, _) => "files",
    }
}

fn columns(by: By) -> Table {
    let table = Table::new().number("self").number("share").number("bounds");
    let table = match by {
        By::Function => {
            table.number("inclusive").number("share").number("calls").number("instr.").optional(0)
        }
        By::Line | By::File => table.number("instr.").number("cycles/instr.").optional(0),
        By::Address => table.number("count").number("cycles/instr.").optional(0),
    };
    let table = table.text("causes").optional(1);
    match by {
        By::Function => table.text("function"),
        By::Line => table.text("line"),
        By::File => table.text("file"),
        By::Address => table.text("address, function, line"),
    }
}

/// Rows added together.
#[derive(Default)]
struct Sum {
    cycles: CauseCycles,
    bounds: Bounds,
    instructions: u64,
    idle_instructions: u64,
}

impl Sum {
    fn of(rows: &[Row]) -> Self {
        let mut sum = Sum::default();
        rows.iter().for_each(|row| sum.add(row));
        sum
    }

    fn add(&mut self, row: &Row) {
        self.cycles += row.cycles;
        self.bounds += row.bounds;
        self.instructions = self.instructions.saturating_add(row.instructions);
        self.idle_instructions = self.idle_instructions.saturating_add(row.idle_instructions);
    }

    fn busy(&self) -> Bounds {
        self.bounds.less(self.cycles[Cause::Asleep])
    }
}

struct View<'a> {
    record: &'a Record,
    by: By,
    marks: Marks,
    busy: u64,
}

impl View<'_> {
    fn row(&self, row: &Row, table: &mut Table) {
        let busy = row.busy();
        let mut cells = self.first(busy);
        match self.by {
            By::Function => {
                let called = row.called.map(|c| {
                    let mark = self.marks.modelled(c.modelled);
                    [
                        mark.figure(c.inclusive),
                        share(c.inclusive, self.busy),
                        self.marks.count(c.calls),
                    ]
                });
                cells.extend(called.unwrap_or_default().map(Cell::from));
                cells.push(self.marks.count(row.instructions).into());
            }
            By::Line | By::Address | By::File => {
                cells.push(self.marks.count(row.instructions).into());
                cells.push(self.per_instruction(busy, row.instructions, row.idle_instructions));
            }
        }
        cells.push(strip(&row.cycles).into());
        let name = match row.spot {
            Spot::Address(address) => address_name(&self.record.profile, address, &row.name),
            _ => row.name.clone(),
        };
        cells.push(name.into());
        let unnamed = row.spot == Spot::Function(None);
        let hot = u128::from(busy.likely) * 5 >= u128::from(self.busy.max(1));
        let paint = match (unnamed, hot) {
            (true, _) => Paint::Warn,
            (_, true) => Paint::Hot,
            _ => Paint::Plain,
        };
        table.painted(cells, paint);
    }

    fn first(&self, busy: Bounds) -> Vec<Cell> {
        vec![
            self.marks.figure(busy).into(),
            share(busy.likely, self.busy).into(),
            spread(busy).into(),
        ]
    }

    fn per_instruction(&self, busy: Bounds, instructions: u64, idle: u64) -> Cell {
        let instructions = instructions.saturating_sub(idle);
        format!("{}{}", self.marks.bounded(busy).sign(), ratio(busy.likely, instructions)).into()
    }

    fn sum(&self, sum: &Sum, name: &str, paint: Paint, table: &mut Table) {
        let busy = sum.busy();
        let mut cells = self.first(busy);
        match self.by {
            By::Function => {
                cells.extend(["", "", ""].map(Cell::from));
                cells.push(self.marks.count(sum.instructions).into());
            }
            By::Line | By::Address | By::File => {
                cells.push(self.marks.count(sum.instructions).into());
                cells.push(self.per_instruction(busy, sum.instructions, sum.idle_instructions));
            }
        }
        cells.push(strip(&sum.cycles).into());
        cells.push(name.into());
        table.painted(cells, paint);
    }

    /// What is not busy: idle, lost, and whatever the samples do not hold; then everything
    /// together.
    fn remainder(&self, all: &Sum, idle_instructions: u64, table: &mut Table) {
        let taken = self.record.totals.cycles;
        let lost = self.record.balance.parts().lost;
        let idle = all.cycles[Cause::Asleep];
        let missing = taken.likely.saturating_sub(all.bounds.likely).saturating_sub(lost);
        let parts = [
            (idle, "idle", Paint::Idle, idle_instructions),
            (lost, "lost", Paint::Bad, 0),
            (missing, "in no sample", Paint::Warn, 0),
        ];
        for (n, what, paint, instructions) in parts.into_iter().filter(|(n, ..)| *n > 0) {
            let name = format!("{what}, {} of all", share(n, taken.likely));
            let figure = self.marks.general.figure(n);
            table.painted(self.plain([figure, String::new()], instructions, &name), paint);
        }
        let figures = [self.marks.figure(taken), spread(taken)];
        table.painted(self.plain(figures, all.instructions, "all cycles"), Paint::Strong);
    }

    /// A row without shares: a figure and its spread.
    fn plain(&self, [figure, spread]: [String; 2], instructions: u64, name: &str) -> Vec<Cell> {
        let instructions =
            if instructions > 0 { self.marks.count(instructions) } else { String::new() };
        let mut cells: Vec<Cell> = vec![figure.into(), "".into(), spread.into()];
        if self.by == By::Function {
            cells.extend(["", "", ""].map(Cell::from));
        }
        cells.push(instructions.into());
        if self.by != By::Function {
            cells.push("".into());
        }
        cells.extend(["", name].map(Cell::from));
        cells
    }
}

/// `0x08000123 main, main.c:12`.
pub(super) fn address_name(profile: &Profile, address: u32, name: &str) -> String {
    let found = profile.addresses.binary_search_by_key(&address, |s| s.address);
    let Ok(at) = found else { return name.to_owned() };
    let sample = &profile.addresses[at];
    let mut out = name.to_owned();
    if sample.function.is_some() {
        out = format!("{out} {}", profile.function_name(sample.function));
    }
    if let Some(frame) = sample.frames.first()
        && let (Some(file), Some(line)) = (frame.file, frame.line)
    {
        out = format!("{out}, {}:{line}", profile.file_name(file));
    }
    out
}

/// What became of every cycle, on one line that adds up.
fn balance(
    balance: &Balance,
    marks: Marks,
    taken: Bounds,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let parts = balance.parts();
    let mut sum = vec![format!("{} attributed", grouped(parts.attributed))];
    sum.extend(parts.unattributed.iter().map(|(why, n)| format!("{} {why}", grouped(*n))));
    sum.push(format!("{} idle", grouped(parts.idle)));
    sum.push(format!("{} lost", grouped(parts.lost)));
    let text = format!("{} taken = {}", grouped(parts.taken), sum.join(" + "));
    let exact = marks.bounded(taken) == Mark::Exact;
    let label = if exact { "balance: " } else { "balance of the likely figures: " };
    item(label, &text, Paint::Faint, options, out)
}
