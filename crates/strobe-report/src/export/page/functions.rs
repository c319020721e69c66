//! A profile by function, by its first measure, as reports have it: what is idle is apart, with
//! shares of the rest; samples have shares of all, with the interval of each. Beside it what calls
//! add, the other measures, causes by their letters, and what the letters stand for.

use std::fmt::Write as _;
use strobe_model::measurement::ids;

use strobe_analyse::attribution::{Amount, By, Flat, Row, RowPlace, Sums, rows};
use strobe_model::measurement::{Kind, Measure, Part, Profile, Trust};

use super::super::flame::escaped;
use super::described;
use super::table::{BEGIN, END, head, number};
use crate::number::grouped;
use crate::view::causes::{present, strip};
use crate::view::figure::{cell as figure, interval, range, share, unit_name};
use crate::view::profile::{added, has_call_counts, secondary_measures};

/// Functions shown of a profile.
const MOST: usize = 30;

/// The table, and what its letters mean. Without symbols its rows are addresses.
pub(super) fn write(profile: &Profile, out: &mut String) {
    let Some(measure) = profile.measures.first() else { return };
    let by = if profile.functions.name.is_empty() { By::Address } else { By::Function };
    let Some(flat) = rows(profile, &measure.id, &by) else { return };
    let shown = Functions::new(profile, measure, &by, &flat);
    out.push_str(BEGIN);
    shown.heads(out);
    shown.lines().iter().for_each(|line| shown.line(line, out));
    out.push_str(END);
    shown.meanings(out);
}

/// How a profile's functions are shown.
struct Functions<'a> {
    profile: &'a Profile,
    measure: &'a Measure,
    flat: &'a Flat,
    /// What one row is, and several are.
    noun: [&'a str; 2],
    /// Rows have inclusive figures of their own.
    has_call_counts: bool,
    /// Parts of the measure have letters.
    has_letters: bool,
    /// Other measures to show, by their index.
    others: Vec<usize>,
}

/// A row.
struct Line {
    own: Amount,
    has_share: bool,
    /// With calls, and whether models have a part in it.
    inclusive: Option<(Amount, bool)>,
    others: Vec<Option<Amount>>,
    causes: String,
    name: String,
}

impl<'a> Functions<'a> {
    fn new(profile: &'a Profile, measure: &'a Measure, by: &By, flat: &'a Flat) -> Self {
        let is_by_function = *by == By::Function;
        Functions {
            profile,
            measure,
            flat,
            noun: if is_by_function { ["function", "functions"] } else { ["address", "addresses"] },
            has_call_counts: is_by_function && has_call_counts(profile, flat),
            has_letters: profile.parts(&measure.id).any(|(_, part)| part.letter.is_some()),
            others: secondary_measures(profile, measure, by, &flat.total),
        }
    }

    /// The function goes before what is beside its own figure: on a narrow screen the rest is what
    /// scrolls.
    fn heads(&self, out: &mut String) {
        out.push_str("<tr>");
        head(&title(self.measure), true, out);
        head("share", true, out);
        head(self.noun[0], false, out);
        if self.has_call_counts {
            head("inclusive", true, out);
            head("share", true, out);
        }
        for i in &self.others {
            head(&title(&self.profile.measures[*i]), true, out);
        }
        if self.has_letters {
            head("causes", false, out);
        }
        out.push_str("</tr>\n");
    }

    /// All rows and the sums of them.
    fn lines(&self) -> Vec<Line> {
        let (total, all) = (&self.flat.total, format!("(all {})", self.measure.title));
        if self.flat.sampled {
            let rows = self.flat.rows.iter();
            let (nowhere, mut placed): (Vec<&Row>, Vec<&Row>) =
                rows.partition(|row| matches!(row.spot, RowPlace::Nowhere(_)));
            placed.sort_by_key(|row| std::cmp::Reverse(row.sums.all.value));
            let mut lines = self.most(&placed);
            lines.extend(nowhere.into_iter().map(|row| self.of(row)));
            lines.push(self.sum(total, &all));
            return lines;
        }
        // Rows come with most of what is not idle first: those with none of it are at the end.
        let rows = &self.flat.rows;
        let (busy, idle) = rows.split_at(rows.partition_point(|row| row.sums.busy().value > 0));
        let mut lines = self.most(&busy.iter().collect::<Vec<_>>());
        if total.idle != Amount::default() {
            lines.push(self.sum(&added(busy), "(all that is not idle)"));
            lines.push(self.apart(total.idle, &added(idle), "(idle)"));
            lines.push(self.apart(total.all, total, &all));
            return lines;
        }
        let is_there = |row: &&Row| row.sums.others.iter().flatten().any(|other| other.value != 0);
        let others = idle.iter().filter(is_there).count();
        if others > 0 {
            lines.push(self.sum(&added(idle), &format!("{} with none", self.counted(others))));
        }
        lines.push(self.sum(&added(rows), &all));
        lines
    }

    /// The first rows, and the others in one.
    fn most(&self, rows: &[&Row]) -> Vec<Line> {
        let (first, others) = rows.split_at(rows.len().min(MOST));
        let mut lines: Vec<Line> = first.iter().map(|row| self.of(row)).collect();
        if !others.is_empty() {
            let noun = self.noun[usize::from(others.len() != 1)];
            let name = format!("{} other {noun}", grouped(others.len() as u64));
            lines.push(self.sum(&added(others.iter().copied()), &name));
        }
        lines
    }

    fn counted(&self, n: usize) -> String {
        format!("{} {}", grouped(n as u64), self.noun[usize::from(n != 1)])
    }

    fn own(&self, sums: &Sums) -> Amount {
        if self.flat.sampled { sums.all } else { sums.busy() }
    }

    fn of(&self, row: &Row) -> Line {
        let inclusive = row.inclusive.map(|amount| (amount, row.inclusive_modelled));
        let others = self.others.iter().map(|i| row.sums.others.get(*i).copied().flatten());
        let others = others.collect();
        Line { inclusive, others, ..self.sum(&row.sums, &row.name) }
    }

    /// Several rows. How often functions were called means nothing when it is added up.
    fn sum(&self, sums: &Sums, name: &str) -> Line {
        let other = |i: &usize| {
            let is_sum = self.profile.measures[*i].id != ids::measure::CALLS;
            sums.others.get(*i).copied().flatten().filter(|_| is_sum)
        };
        Line {
            own: self.own(sums),
            has_share: true,
            inclusive: None,
            others: self.others.iter().map(other).collect(),
            causes: strip(self.profile, self.measure, sums),
            name: name.to_owned(),
        }
    }

    /// A row of what shares are not of.
    fn apart(&self, own: Amount, sums: &Sums, name: &str) -> Line {
        let mut line = self.sum(sums, name);
        let others = line.others.into_iter();
        line.others = others.map(|other| other.filter(|amount| amount.value > 0)).collect();
        Line { own, has_share: false, causes: String::new(), ..line }
    }

    fn line(&self, line: &Line, out: &mut String) {
        out.push_str("<tr>");
        self.amount(self.measure, line.own, false, out);
        let whole = self.own(&self.flat.total).value;
        let (part, between) = match (line.has_share, self.flat.interval(line.own.value)) {
            (false, _) => (String::new(), String::new()),
            (true, Some(shares)) if line.own.value != whole => {
                (share(line.own.value, whole), interval(shares))
            }
            (true, _) => (share(line.own.value, whole), String::new()),
        };
        let _ = number(&part, &between, out);
        let _ = write!(out, "<td class=\"words\">{}</td>", escaped(&line.name));
        if self.has_call_counts {
            match line.inclusive {
                Some((amount, modelled)) => {
                    self.amount(self.measure, amount, modelled, out);
                    let _ = number(&share(amount.value, whole), "", out);
                }
                None => out.push_str("<td></td><td></td>"),
            }
        }
        for (i, other) in self.others.iter().zip(&line.others) {
            match other {
                Some(amount) => {
                    let measure = &self.profile.measures[*i];
                    // What is modelled and has no ends anywhere is exact nowhere.
                    let is_open = matches!(measure.kind, Kind::Modelled { .. })
                        && !self.profile.has_ends(&measure.id)
                        && amount.value > 0;
                    self.amount(measure, *amount, is_open, out);
                }
                None => out.push_str("<td></td>"),
            }
        }
        if self.has_letters {
            let _ = write!(out, "<td class=\"letters\">{}</td>", escaped(&line.causes));
        }
        out.push_str("</tr>\n");
    }

    /// A figure; one in which models have a part may have no bounds.
    fn amount(&self, measure: &Measure, amount: Amount, modelled: bool, out: &mut String) {
        let Amount { low, value, high } = amount.ordered();
        let trust = match (&measure.kind, low == high && !modelled) {
            (Kind::AtLeast, _) => Trust::AtLeast,
            (_, true) => Trust::Exact,
            (_, false) => Trust::Modelled { low: low.into(), high: high.into(), why: None },
        };
        let bounds = trust.bounds().filter(|(low, high)| low != high);
        let bounds = bounds.map(|(low, high)| range(low, high, &measure.unit));
        let shown = figure(Some(value.into()), &trust, &measure.unit);
        let _ = number(&shown, &bounds.unwrap_or_default(), out);
    }

    /// What each cause means and what can be done about it, of those that are there.
    fn meanings(&self, out: &mut String) {
        let parts = present(self.profile, self.measure, &self.flat.total).into_iter();
        let meaning = |(measure, part, _): (&Measure, &Part, Amount)| {
            let letter = part.letter.map_or_else(String::new, |letter| format!("{letter} "));
            let text = [Some(part.meaning.as_deref()?), part.advice.as_deref()];
            let text: Vec<&str> = text.into_iter().flatten().collect();
            Some((format!("{letter}{}", measure.title), text.join(" ")))
        };
        let meanings: Vec<(String, String)> = parts.filter_map(meaning).collect();
        if !meanings.is_empty() {
            out.push_str("<details><summary>what the causes mean</summary>");
            described(&meanings, out);
            out.push_str("</details>\n");
        }
    }
}

/// `executions (instructions)`; of a measure that is called as its unit is, its name alone.
fn title(measure: &Measure) -> String {
    match unit_name(&measure.unit).filter(|_| measure.unit.0 != measure.title) {
        Some(unit) => format!("{} ({unit})", measure.title),
        None => measure.title.clone(),
    }
}
