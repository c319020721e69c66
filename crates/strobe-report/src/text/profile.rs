//! The flat profile: where the busy cycles went, most first, adding up to all of them.

use std::io::{self, Write};

use strobe_model::{Balance, Bounds, By, Cause, CauseCycles, Profile, Record, Row, Spot};

use super::causes::strip;
use super::layout::heading;
use crate::Options;
use crate::figure::{Marks, spread};
use crate::number::{grouped, ratio, share};
use crate::paint::Paint;
use crate::table::{Cell, Table};

/// The `top` rows with most busy cycles (0: all), what is left over, idle time, and the totals.
///
/// Shares are of busy cycles: a firmware that mostly sleeps still shows what its work consists of.
///
/// # Errors
/// Those of `out`.
pub fn profile(
    record: &Record,
    by: By,
    top: usize,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rows = record.profile.rows(by);
    let mut all = Sum::default();
    rows.iter().for_each(|row| all.add(row));
    let what = match by {
        By::Function => "function",
        By::Line => "source line",
        By::Address => "address",
    };
    let busy = all.busy();
    let title = format!("profile by {what}: shares are of {} busy cycles", grouped(busy.likely));
    heading(&title, options, out)?;
    let busy_rows = rows.iter().filter(|row| row.cycles.busy() > 0).count();
    let shown = if top == 0 { busy_rows } else { top.min(busy_rows) };
    let mut table = columns(by);
    let view = View { record, by, marks: Marks::of(&record.trust), busy: busy.likely };
    for row in &rows[..shown] {
        view.row(row, &mut table);
    }
    let mut rest = Sum::default();
    rows[shown..busy_rows].iter().for_each(|row| rest.add(row));
    if shown < busy_rows {
        let n = busy_rows - shown;
        let name = format!(
            "{n} other {what}{}",
            if n == 1 {
                ""
            } else if by == By::Address {
                "es"
            } else {
                "s"
            }
        );
        view.sum(&rest, &name, Paint::Faint, &mut table);
    }
    table.rule();
    view.sum(&all, "busy", Paint::Strong, &mut table);
    view.remainder(&all, &mut table);
    table.write(options.style, out)?;
    balance(&record.balance, view.marks, record.totals.cycles, options, out)
}

fn columns(by: By) -> Table {
    let table = Table::new().number("self").number("share").number("bounds");
    let table = match by {
        By::Function => {
            table.number("inclusive").number("share").number("calls").number("instr.").optional()
        }
        By::Line => table.number("instr.").number("cycles/instr.").optional(),
        By::Address => table.number("count").number("cycles/instr.").optional(),
    };
    let table = table.text("causes").optional();
    match by {
        By::Function => table.text("function"),
        By::Line => table.text("line"),
        By::Address => table.text("address, function, line"),
    }
}

/// Rows added together.
#[derive(Default)]
struct Sum {
    cycles: CauseCycles,
    bounds: Bounds,
    instructions: u64,
}

impl Sum {
    fn add(&mut self, row: &Row) {
        self.cycles += row.cycles;
        self.bounds += row.bounds;
        self.instructions = self.instructions.saturating_add(row.instructions);
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
                    let mark = self.marks.general.unless_exact(!c.modelled);
                    [mark.figure(c.inclusive), share(c.inclusive, self.busy), grouped(c.calls)]
                });
                cells.extend(called.unwrap_or_default().map(Cell::from));
                cells.push(grouped(row.instructions).into());
            }
            By::Line | By::Address => {
                cells.push(grouped(row.instructions).into());
                cells.push(self.per_instruction(busy, row.instructions));
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

    fn per_instruction(&self, busy: Bounds, instructions: u64) -> Cell {
        format!("{}{}", self.marks.bounded(busy).sign(), ratio(busy.likely, instructions)).into()
    }

    fn sum(&self, sum: &Sum, name: &str, paint: Paint, table: &mut Table) {
        let busy = sum.busy();
        let mut cells = self.first(busy);
        match self.by {
            By::Function => {
                cells.extend(["", "", ""].map(Cell::from));
                cells.push(grouped(sum.instructions).into());
            }
            By::Line | By::Address => {
                cells.push(grouped(sum.instructions).into());
                cells.push(self.per_instruction(busy, sum.instructions));
            }
        }
        cells.push(strip(&sum.cycles).into());
        cells.push(name.into());
        table.painted(cells, paint);
    }

    /// What is not busy: idle, lost, and whatever the samples do not hold; then everything together.
    fn remainder(&self, all: &Sum, table: &mut Table) {
        let taken = self.record.totals.cycles;
        let lost = self.record.balance.parts().lost;
        let idle = all.cycles[Cause::Asleep];
        let missing = taken.likely.saturating_sub(all.bounds.likely).saturating_sub(lost);
        let of_all = |n: u64, what: &str| {
            format!("{what}: {} of {} cycles", share(n, taken.likely), grouped(taken.likely))
        };
        let parts = [
            (idle, "idle", Paint::Idle),
            (lost, "lost", Paint::Bad),
            (missing, "in no sample", Paint::Warn),
        ];
        for (n, what, paint) in parts.into_iter().filter(|(n, _, _)| *n > 0) {
            self.plain(Bounds::exact(n), &of_all(n, what), paint, table);
        }
        self.plain(taken, "all cycles", Paint::Strong, table);
    }

    fn plain(&self, n: Bounds, name: &str, paint: Paint, table: &mut Table) {
        let blanks = if self.by == By::Function { 5 } else { 3 };
        let mut cells: Vec<Cell> = vec![self.marks.figure(n).into(), "".into(), spread(n).into()];
        cells.extend(std::iter::repeat_n(Cell::default(), blanks));
        cells.push(name.into());
        table.painted(cells, paint);
    }
}

/// `0x08000123 main, main.c:12`.
fn address_name(profile: &Profile, address: u32, name: &str) -> String {
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
    let sign = marks.bounded(taken).sign();
    let text = format!("{sign}{} taken = {}", grouped(parts.taken), sum.join(" + "));
    super::layout::item("balance: ", &text, Paint::Faint, options, out)
}
