//! The flat profile: where the measure went, most first, adding up to all of it.
//!
//! Shares are of what is not idle: a firmware that mostly sleeps still shows what its work consists
//! of. Of samples they are of all, with the interval in which each lies.

mod sums;

use std::collections::HashMap;
use std::io::{self, Write};
use strobe_model::measurement::ids;

use strobe_analyse::attribution::{
    Amount, By, Flat as Rows, Row, RowPlace, Sums, busy_of_all, is_unbounded, rows,
};
use strobe_model::measurement::{self, Address, Measure, Measurement, Profile, Section, Unit};

use super::causes::{figure, figure_of, strip};
use super::figure::{amount_spread, interval, plain, share};
use super::text::notes;
use super::{Page, View, balance, tree, treemap};
use crate::number::{grouped, ratio};
use crate::paint::Paint;
use crate::table::{Cell, MATTERS, Table};
use crate::text::layout::heading;
use crate::words::one_line;

/// The section.
pub(super) struct Flat<'a> {
    pub(super) section: &'a Section,
    pub(super) profile: &'a Profile,
}

impl View for Flat<'_> {
    fn write(&self, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        let profile = self.profile;
        let Some(measure) = page.selection.measure_of(profile) else { return Ok(()) };
        // Without symbols all code would be one row.
        let nameless = profile.functions.name.is_empty();
        let by = match &page.selection.by {
            By::Function | By::Line | By::File if nameless => By::Address,
            by => by.clone(),
        };
        let Some(flat) = rows(profile, &measure.id, &by) else { return Ok(()) };
        let why = if by == page.selection.by { "" } else { " (there are no symbols)" };
        self.by(&by, why, &flat, page, out)?;
        let modelled = !flat.total.all.is_exact() || is_unbounded(profile, measure);
        balance::under(page.measurement, &measure.unit, modelled, page.options, out)?;
        notes(self.section, page, out)?;
        if let Some(tree) = page.selection.tree {
            tree::write(tree, profile, measure, page, out)?;
        }
        if page.selection.treemap {
            treemap::write(profile, measure, page, out)?;
        }
        let instructions = page.selection.instructions && by != By::Address;
        if instructions && page.measurement.table(ids::section::DISASSEMBLY).is_some() {
            let Some(flat) = rows(profile, &measure.id, &By::Address) else { return Ok(()) };
            return self.by(&By::Address, "", &flat, page, out);
        }
        Ok(())
    }
}

impl Flat<'_> {
    fn by(
        &self,
        by: &By,
        why: &str,
        flat: &Rows,
        page: &Page,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let Some(measure) = page.selection.measure_of(self.profile) else { return Ok(()) };
        let view = Shape::new(page, self.profile, measure, by, flat);
        heading(&view.title(self.section, why), page.options, out)?;
        view.table().write(page.options.style, out)
    }
}

/// Whether rows have inclusive figures of their own. Without counts of calls, as in a size, they
/// may be those of the functions by themselves.
pub(crate) fn has_call_counts(profile: &Profile, flat: &Rows) -> bool {
    let counts = profile.measure(ids::measure::CALLS).is_some();
    let value = |row: &Row| {
        if flat.sampled { row.sums.all.value } else { row.sums.busy().value }
    };
    let is_own = |row: &Row| {
        let inclusive = row.inclusive.as_ref();
        inclusive.is_some_and(|amount| counts || amount.value != value(row))
    };
    flat.rows.iter().any(is_own)
}

/// The other measures that stand beside one, by their index: those that are known and no parts of
/// another.
pub(crate) fn secondary_measures(
    profile: &Profile,
    measure: &Measure,
    by: &By,
    total: &Sums,
) -> Vec<usize> {
    let known = |i: &usize| total.others.get(*i).copied().flatten().is_some();
    let fits = |i: &usize| {
        let other = &profile.measures[*i];
        let fits = match other.id.as_str() {
            "calls" => *by == By::Function,
            // Of interest to programs.
            "taken" => false,
            _ => true,
        };
        other.id != measure.id && other.part.is_none() && fits
    };
    let others = (0..profile.measures.len()).filter(known).filter(fits);
    let mut others: Vec<usize> = others.collect();
    // Next to the inclusive figure.
    others.sort_by_key(|i| profile.measures[*i].id != ids::measure::CALLS);
    others
}

/// What a view is by, and what one row is and several are.
fn noun(by: &By) -> [String; 3] {
    match by {
        By::Function => ["function", "function", "functions"].map(str::to_owned),
        By::Line => ["source line", "source line", "source lines"].map(str::to_owned),
        By::Address => ["address", "address", "addresses"].map(str::to_owned),
        By::File => ["file", "file", "files"].map(str::to_owned),
        By::Label(keys) if keys.is_empty() => ["label", "label", "labels"].map(str::to_owned),
        By::Label(keys) => {
            let plural: Vec<String> = keys.iter().map(|key| format!("{key}s")).collect();
            [keys.join(" and "), keys.join(" or "), plural.join(" and ")]
        }
    }
}

/// A flat view and how it is laid out.
struct Shape<'a> {
    page: &'a Page<'a>,
    profile: &'a Profile,
    measure: &'a Measure,
    by: &'a By,
    flat: &'a Rows,
    /// What shares are of.
    whole: i64,
    /// Rows have inclusive figures of their own.
    has_call_counts: bool,
    /// Some part of the measure may be idle.
    has_idle: bool,
    /// Other measures to show, by their index.
    others: Vec<usize>,
    /// Instructions executed, for cycles per instruction.
    executions: Option<usize>,
    /// Locations by address, where rows are addresses.
    locations: HashMap<Address, u32>,
    /// Instructions by address, where rows are addresses and the measurement has them.
    instructions: HashMap<Address, &'a str>,
}

impl<'a> Shape<'a> {
    fn new(
        page: &'a Page,
        profile: &'a Profile,
        measure: &'a Measure,
        by: &'a By,
        flat: &'a Rows,
    ) -> Self {
        let others = secondary_measures(profile, measure, by, &flat.total);
        let is_per = |i: &&usize| profile.measures[**i].id == ids::measure::EXECUTIONS;
        let executions = others.iter().find(is_per).copied();
        let executions = executions.filter(|_| measure.unit == Unit::CYCLES && *by != By::Function);
        let whole = if flat.sampled { flat.total.all.value } else { flat.total.busy().value };
        let has_idle = profile.parts(&measure.id).any(|(_, part)| part.idle);
        let locations = (0u32..).zip(&profile.locations.address);
        let locations = locations.filter(|_| *by == By::Address);
        // Of several locations of an address, the first.
        let locations = locations.filter_map(|(i, address)| Some(((*address)?, i)));
        let mut by_address = HashMap::new();
        locations.for_each(|(address, i)| _ = by_address.entry(address).or_insert(i));
        Shape {
            page,
            profile,
            measure,
            by,
            flat,
            whole,
            has_call_counts: *by == By::Function && has_call_counts(profile, flat),
            has_idle,
            others,
            executions,
            locations: by_address,
            instructions: if *by == By::Address && page.selection.instructions {
                instructions(page.measurement)
            } else {
                HashMap::new()
            },
        }
    }

    fn title(&self, section: &Section, why: &str) -> String {
        let own = section.title.split(':').next().unwrap_or_default();
        let name = if section.id == ids::section::PROFILE { "profile" } else { own };
        let [noun, ..] = noun(self.by);
        let measure = &self.measure.title;
        if self.flat.sampled {
            let all = plain(self.whole.into());
            return format!(
                "{name} by {noun}{why}: shares are of all {all} {measure}, with 95 % confidence"
            );
        }
        let busy = figure(self.profile, self.measure, self.busy_of_all());
        let kind = if self.has_idle { "busy " } else { "" };
        format!("{name} by {noun}{why}: shares are of {busy} {kind}{measure}")
    }

    fn columns(&self) -> Table {
        let first = if self.flat.sampled { self.measure.title.clone() } else { "self".to_owned() };
        let spread = if self.flat.sampled { "interval" } else { "bounds" };
        let mut table = Table::new().narrowing().number(first).number("share").number(spread);
        if self.has_call_counts {
            // A share goes before its count.
            table = table.number("inclusive").optional(MATTERS + 3);
            table = table.number("share").optional(MATTERS + 2);
        }
        for (rank, i) in self.others.iter().enumerate() {
            let measure = &self.profile.measures[*i];
            let (head, worth) = match (measure.id.as_str(), self.by) {
                ("calls", _) => ("calls", MATTERS + 1),
                ("executions", By::Address) => ("count", 40),
                ("executions", _) => ("instr.", 40),
                _ => (measure.title.as_str(), 39u8.saturating_sub(rank as u8)),
            };
            table = table.number(head.to_owned()).optional(worth);
        }
        if self.executions.is_some() {
            table = table.number("cycles/instr.").optional(0);
        }
        let table = table.text("causes").optional(41);
        match self.by {
            By::Function | By::Line | By::File | By::Label(_) => {
                table.text(noun(self.by)[1].clone())
            }
            By::Address if !self.instructions.is_empty() => {
                table.text("address, instruction").keeping_start()
            }
            By::Address => table.text("address, function, line"),
        }
    }

    fn table(&self) -> Table {
        let mut table = self.columns();
        if self.flat.sampled {
            self.samples(&mut table);
            return table;
        }
        let rows = &self.flat.rows;
        // Rows come with most of what is not idle first: those with none of it are at the end.
        let (busy, idle) = rows.split_at(rows.partition_point(|row| row.sums.busy().value > 0));
        self.rows(&busy.iter().collect::<Vec<_>>(), &mut table);
        if self.has_idle {
            table.rule();
            let all = (self.busy_of_all(), added(busy));
            self.sum_of(all, "busy", Paint::Strong, &mut table);
            self.remainder(&added(idle), &mut table);
            return table;
        }
        // Without them the sums of the other measures would not be all.
        let is_there = |row: &&Row| row.sums.others.iter().flatten().any(|other| other.value != 0);
        let others = idle.iter().filter(is_there).count();
        if others > 0 {
            let [_, one, several] = noun(self.by);
            let noun = if others == 1 { one } else { several };
            let name = format!("{} {noun} with none", grouped(others as u64));
            self.sum(&added(idle), &name, Paint::Faint, &mut table);
        }
        table.rule();
        let all = (self.busy_of_all(), added(rows));
        self.sum_of(all, &self.all(), Paint::Strong, &mut table);
        table
    }

    /// Rows of samples, idle or not; what has no place in the code comes last.
    fn samples(&self, table: &mut Table) {
        let rows = self.flat.rows.iter();
        let (nowhere, mut placed): (Vec<&Row>, Vec<&Row>) =
            rows.partition(|row| matches!(row.spot, RowPlace::Nowhere(_)));
        placed.sort_by_key(|row| std::cmp::Reverse(row.sums.all.value));
        self.rows(&placed, table);
        nowhere.iter().for_each(|row| self.row(row, table));
        table.rule();
        self.sum(&self.flat.total, &self.all(), Paint::Strong, table);
    }

    /// As many rows as asked for, and the others in one.
    fn rows(&self, rows: &[&Row], table: &mut Table) {
        let top = self.page.selection.top;
        let (top, rest) = rows.split_at(if top == 0 { rows.len() } else { top.min(rows.len()) });
        top.iter().for_each(|row| self.row(row, table));
        if !rest.is_empty() {
            let [_, one, several] = noun(self.by);
            let noun = if rest.len() == 1 { one } else { several };
            let name = format!("{} other {noun}", grouped(rest.len() as u64));
            self.sum(&added(rest.iter().copied()), &name, Paint::Faint, table);
        }
    }

    fn all(&self) -> String {
        format!("all {}", self.measure.title)
    }

    fn row(&self, row: &Row, table: &mut Table) {
        let sums = &row.sums;
        let mut cells = self.first(self.own(sums));
        if self.has_call_counts {
            let inclusive = row.inclusive.map(|amount| {
                let figure = figure_of(self.measure, amount.value, row.inclusive_modelled);
                [figure, share(amount.value, self.whole)]
            });
            cells.extend(inclusive.unwrap_or_default().map(Cell::from));
        }
        self.secondary_measures(sums, &mut cells);
        let idle = self.has_idle && sums.idle.value > 0 && sums.idle.value == sums.all.value;
        cells.push(self.name(row, idle).into());
        let value = if self.flat.sampled { sums.all.value } else { sums.busy().value };
        let hot = i128::from(value) * 5 >= i128::from(self.whole.max(1));
        let paint = match (row.spot, idle, hot) {
            (_, true, _) => Paint::Idle,
            (RowPlace::Function(None), ..) => Paint::Warn,
            (_, _, true) => Paint::Hot,
            _ => Paint::Plain,
        };
        table.painted(cells, paint);
    }

    /// What a row is about.
    fn own(&self, sums: &Sums) -> Amount {
        if self.flat.sampled { sums.all } else { sums.busy() }
    }

    fn busy_of_all(&self) -> Amount {
        busy_of_all(self.page.measurement, self.measure, &self.flat.total)
    }

    /// The figure with its share, and its bounds or the share's interval.
    fn first(&self, amount: Amount) -> Vec<Cell> {
        let spread = match self.flat.interval(amount.value) {
            Some(_) if amount.value == self.whole => String::new(),
            Some(shares) => interval(shares),
            None => amount_spread(amount),
        };
        vec![
            figure(self.profile, self.measure, amount).into(),
            share(amount.value, self.whole).into(),
            spread.into(),
        ]
    }

    /// A figure of another measure than the chosen one.
    fn other(&self, measure: &Measure, amount: Amount) -> String {
        // What is modelled and has no ends anywhere is exact nowhere.
        let known = self.profile.has_ends(&measure.id);
        figure_of(measure, amount.value, !amount.is_exact() || !known && amount.value > 0)
    }

    /// Other measures, cycles per instruction, causes.
    fn secondary_measures(&self, sums: &Sums, cells: &mut Vec<Cell>) {
        for i in &self.others {
            let value = sums.others.get(*i).copied().flatten();
            let measure = &self.profile.measures[*i];
            let text = value.map(|amount| self.other(measure, amount));
            cells.push(text.unwrap_or_default().into());
        }
        if let Some(executions) = self.executions {
            let busy = sums.busy();
            let count = |n: i64| u64::try_from(n).unwrap_or(0);
            // What was executed in idle loops is no more counted than their cycles.
            let busy_ones =
                self.profile.measures.iter().position(|m| m.id == ids::measure::EXECUTIONS_BUSY);
            let known = |i: usize| sums.others.get(i).copied().flatten();
            let executed = busy_ones.and_then(known).or(known(executions));
            let executed = executed.map_or(0, |amount| count(amount.value));
            let is_exact = busy.is_exact() && !is_unbounded(self.profile, self.measure);
            let sign = if is_exact { "" } else { "~" };
            cells.push(format!("{sign}{}", ratio(count(busy.value), executed)).into());
        }
        cells.push(strip(self.profile, self.measure, sums).into());
    }

    fn name(&self, row: &Row, idle: bool) -> String {
        let parts = self.profile.parts(&self.measure.id);
        let part = parts.zip(&row.sums.parts).find(|(_, amount)| amount.value > 0);
        match row.spot {
            RowPlace::Nowhere(None) => match part {
                Some(((measure, _), _)) => format!("({})", measure.title),
                None => row.name.clone(),
            },
            RowPlace::Address(address) => {
                match (self.instructions.get(&address), self.locations.get(&address)) {
                    (Some(text), _) => format!("{}  {}", row.name, one_line(text)),
                    (None, Some(location)) => address_name(self.profile, &row.name, *location),
                    (None, None) => row.name.clone(),
                }
            }
            // Its name shows it.
            RowPlace::Nowhere(Some(_)) => row.name.clone(),
            _ if idle && self.flat.sampled => format!("{} (counts as idle)", row.name),
            _ => row.name.clone(),
        }
    }
}

/// The texts of the instructions that the measurement has.
fn instructions(measurement: &Measurement) -> HashMap<Address, &str> {
    let Some(table) = measurement.table(ids::section::DISASSEMBLY) else { return HashMap::new() };
    let column = |id: &str| table.column(id).map_or(&[][..], |column| &column.cells);
    let both = column("address").iter().zip(column("text"));
    both.filter_map(|(address, text)| match address {
        measurement::Cell::Address(address) => Some((*address, text.text()?)),
        _ => None,
    })
    .collect()
}

/// Rows together.
pub(crate) fn added<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Sums {
    let mut sums = Sums::default();
    rows.into_iter().for_each(|row| sums.add(&row.sums));
    sums
}

/// `0x08000123 main, main.c:12`.
fn address_name(profile: &Profile, name: &str, at: u32) -> String {
    let mut out = name.to_owned();
    if let Some(function) = profile.function_at(at) {
        out = format!("{out} {}", profile.function_name(Some(function)));
    }
    let frame = profile.frames_at(at).next();
    let of = |column: &[Option<u32>]| frame.and_then(|frame| column.get(frame).copied().flatten());
    if let (Some(file), Some(line)) = (of(&profile.frames.file), of(&profile.frames.line))
        && let Some(file) = profile.files.get(file as usize)
    {
        out = format!("{out}, {file}:{line}");
    }
    out
}
