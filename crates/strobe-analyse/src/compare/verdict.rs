//! The verdict: what changed, how much, and whether that is certain.

use strobe_model::measurement::ids;
use strobe_model::measurement::{Content, Unit};

use super::certain::{Certainty, Doubt};
use super::change::Change;
use super::comparison::Comparison;
use super::found::{FunctionChange, FunctionChanges, Nameless};
use super::matching::MatchKind;
use super::origins::{self, SoftFloat};
use super::unlike::{LENGTHS_APART, Unlike};

/// Where functions that have a counterpart take less than this part on both sides, two programs are
/// compared that have nothing to do with each other.
const STRANGERS: f64 = 0.1;

/// Idle time that changed by less than this part of the whole change is not named.
const WORTH_NAMING: f64 = 0.1;

/// Where one has more by this part of what another one has less, that is why.
const AS_MUCH: f64 = 0.9;

/// The answers of a comparison. Rows are those of its first [`FunctionChanges`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Verdict {
    /// The most that changed.
    pub changed: Changed,
    /// Changes of figures that are not functions', the gravest first.
    pub others: Vec<Change>,
    /// How much the whole changed.
    pub amount: Amount,
    /// How certain the changes of functions are, if any are compared.
    pub confidence: Option<Confidence>,
}

/// The most that changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Changed {
    /// No functions are compared.
    NoFunctions(Option<Obstacle>),
    /// Functions have no names.
    NoNames(Nameless),
    /// No function changed.
    Nothing {
        /// Functions that are not the same in both, though they take the same.
        became: Vec<Became>,
    },
    /// A function changed.
    Function {
        /// Its row.
        row: usize,
        /// The number of other functions that changed for certain.
        more: usize,
        /// Functions that are not the same in both.
        became: Vec<Became>,
        /// Soft-float that one side alone has.
        soft_float: Option<SoftFloat>,
    },
}

impl Default for Changed {
    fn default() -> Changed {
        Changed::NoFunctions(None)
    }
}

/// Why no functions are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// A side was shortened when it was written.
    Shortened,
    /// The two have nothing in common but totals.
    OnlyTotals,
}

/// Functions that are not the same in both, in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Became {
    /// That way.
    pub kind: BecameKind,
    /// Their rows.
    pub rows: Vec<usize>,
}

/// How functions are not the same in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BecameKind {
    /// They are in B alone.
    New,
    /// They are in A alone.
    Gone,
    /// They have other names.
    Renamed,
    /// They are in other files.
    Moved,
}

/// How much the whole changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Amount {
    /// No functions are compared; the first total that differs.
    Total(Option<TotalChange>),
    /// Shares of samples are compared.
    Samples {
        /// The number of functions whose shares differ for certain.
        known: usize,
    },
    /// Sums are compared.
    Whole(Whole),
}

impl Default for Amount {
    fn default() -> Amount {
        Amount::Total(None)
    }
}

/// A total that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct TotalChange {
    /// Its title.
    pub title: String,
    /// The figure of each side.
    pub sides: [f64; 2],
    /// Its unit.
    pub unit: Unit,
}

/// The sums of both sides, and what their difference is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    /// Where both were stopped after the same time.
    pub same_time: Option<SameTime>,
    /// The greatest parts of the difference, at most two.
    pub parts: Vec<(WholePart, i64)>,
    /// How many times the time B took, where that is another one.
    pub time_ratio: Option<f64>,
}

/// The sums of runs that were stopped after the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SameTime {
    /// They are the same within some instructions.
    Alike,
    /// They differ, as the clock changes at other times.
    Apart,
}

/// A part of the difference of sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WholePart {
    /// The function of a row.
    Function(usize),
    /// Idle time.
    Idle,
}

/// How certain changes of functions are.
#[derive(Debug, Clone, PartialEq)]
pub struct Confidence {
    /// What that rests on.
    pub basis: Basis,
    /// The number of functions that differ for certain.
    pub known: usize,
    /// The number of functions of which that is undecided.
    pub undecided: usize,
    /// Whether any figure differs.
    pub differs: bool,
    /// The row of the first undecided function.
    pub first: Option<usize>,
    /// The row of the first one that more samples would decide, and how many times as many.
    pub needs: Option<(usize, f64)>,
}

/// What certainty rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Both are counted.
    Counted,
    /// Both are counted by one timing model.
    SharedModel,
    /// They are counted by different timing models.
    OtherModels,
}

/// Adds the verdict.
pub(super) fn put(compared: &mut Comparison, others: Vec<Change>) {
    let strangers = compared.functions.first().and_then(strangers);
    compared.unlike.extend(strangers);
    let found = compared.functions.first();
    let changed = match found {
        Some(found) => changed(found),
        None => Changed::NoFunctions(obstacle(compared)),
    };
    let amount = match found {
        Some(found) => amount(found, compared),
        None => Amount::Total(first_total(compared)),
    };
    let confidence = found.map(|found| confidence(found, compared));
    compared.verdict = Verdict { changed, others, amount, confidence };
}

/// Why no functions are compared, where anything is in the way.
fn obstacle(compared: &Comparison) -> Option<Obstacle> {
    let is_cut = |unlike: &Unlike| matches!(unlike, Unlike::Shortened { .. });
    if compared.unlike.iter().any(is_cut) {
        return Some(Obstacle::Shortened);
    }
    let mut sections = compared.measurement.sections.iter();
    let are_totals = sections.all(|section| section.id.starts_with(ids::prefix::TOTALS));
    are_totals.then_some(Obstacle::OnlyTotals)
}

/// The most that changed, by function.
fn changed(found: &FunctionChanges) -> Changed {
    if let Some(nameless) = found.nameless() {
        return Changed::NoNames(nameless);
    }
    let Some(row) = top(found) else { return Changed::Nothing { became: became(found, None) } };
    // The undecided ones are counted elsewhere.
    let is_known = |row: &FunctionChange| is_change(row, found) && row.certain.is_known();
    let others = found.rows.iter().enumerate().filter(|(at, _)| *at != row);
    let more = others.filter(|(_, other)| is_known(other)).count();
    let soft_float = origins::soft_float(&found.rows);
    Changed::Function { row, more, became: became(found, Some(row)), soft_float }
}

fn is_change(row: &FunctionChange, found: &FunctionChanges) -> bool {
    if found.sampled || found.is_set() { row.certain.is_known() } else { row.difference() != 0 }
}

/// The row that changed most; of samples and sets of runs, of those that did beyond chance. What
/// has less because another one has as much more, as the loop of an idle thread, comes behind that.
fn top(found: &FunctionChanges) -> Option<usize> {
    let mut changed = (0..).zip(&found.rows).filter(|(_, row)| is_change(row, found));
    let (first_at, first) = changed.next()?;
    let second = changed.next().filter(|(_, second)| {
        let (less, more) = (first.difference(), second.difference());
        less < 0 && more > 0 && more as f64 >= AS_MUCH * less.unsigned_abs() as f64
    });
    Some(second.map_or(first_at, |(at, _)| at))
}

/// Functions that are not the same in both; a single one is left out if it is `top`, of which the
/// verdict has all.
fn became(found: &FunctionChanges, top: Option<usize>) -> Vec<Became> {
    let kinds = [BecameKind::New, BecameKind::Gone, BecameKind::Renamed, BecameKind::Moved];
    let of = |kind: BecameKind| {
        let rows = found.rows.iter().enumerate().filter(|(_, row)| kind.is_of(row));
        let rows: Vec<usize> = rows.map(|(at, _)| at).collect();
        let is_top = rows.len() == 1 && rows.first().copied() == top;
        (!rows.is_empty() && !is_top).then_some(Became { kind, rows })
    };
    kinds.into_iter().filter_map(of).collect()
}

impl BecameKind {
    fn is_of(self, row: &FunctionChange) -> bool {
        let is_alone = row.matched.how == MatchKind::Alone;
        match self {
            BecameKind::New => is_alone && row.matched.a.is_none(),
            BecameKind::Gone => is_alone && row.matched.b.is_none(),
            BecameKind::Renamed => matches!(row.matched.how, MatchKind::Alike(_)),
            BecameKind::Moved => row.matched.how == MatchKind::Moved,
        }
    }
}

/// The whole, and how much of its change the first function is.
fn amount(found: &FunctionChanges, compared: &Comparison) -> Amount {
    if found.sampled {
        let known = found.rows.iter().filter(|row| row.certain.is_known()).count();
        return Amount::Samples { known };
    }
    let [a, b] = found.all;
    let whole = b.saturating_sub(a).unsigned_abs();
    let is_same_time = compared.unlike.iter().any(|u| matches!(u, Unlike::SameLength(_)));
    let same_time = is_same_time.then(|| {
        // A limit is reached within some instructions; where the clock changes, at other times.
        let is_apart = a.abs_diff(b) as f64 > LENGTHS_APART * a.max(b) as f64;
        if is_apart { SameTime::Apart } else { SameTime::Alike }
    });
    let top = top(found).filter(|_| found.nameless().is_none());
    let top = top.map(|at| (WholePart::Function(at), found.rows[at].difference()));
    let most = top.map_or(0, |(_, n)| n.unsigned_abs()).max(whole);
    let idle = found.idle[1].saturating_sub(found.idle[0]);
    let is_idle_named = idle != 0 && idle.unsigned_abs() as f64 >= WORTH_NAMING * most as f64;
    let mut parts: Vec<(WholePart, i64)> = top.into_iter().collect();
    parts.extend(is_idle_named.then_some((WholePart::Idle, idle)));
    parts.sort_by_key(|(_, n)| std::cmp::Reverse(n.unsigned_abs()));
    let time_ratio = time_ratio(compared).filter(|ratio| *ratio != 1.0 && !is_same_time);
    Amount::Whole(Whole { same_time, parts, time_ratio })
}

/// How many times the time B took.
fn time_ratio(compared: &Comparison) -> Option<f64> {
    let table = compared.measurement.table(ids::section::TOTALS_NANOSECONDS)?;
    Some(table.column(ids::column::RATIO)?.cells.first()?.number()?.as_f64())
}

/// The first total that differs.
fn first_total(compared: &Comparison) -> Option<TotalChange> {
    let sections = compared.measurement.sections.iter();
    let tables = sections.filter(|section| section.id.starts_with(ids::prefix::TOTALS));
    for section in tables {
        let Content::Table(table) = &section.content else { continue };
        let column = |id: &str| table.column(id).map(|column| column.cells.as_slice());
        let (Some(titles), Some(a), Some(b)) = (column("title"), column("a"), column("b")) else {
            continue;
        };
        let unit = table.column(ids::column::A).and_then(|column| column.unit.clone());
        let unit = unit.unwrap_or(Unit::COUNT);
        for ((title, a), b) in titles.iter().zip(a).zip(b) {
            let numbers = a.number().zip(b.number()).filter(|(a, b)| a != b);
            if let (Some(title), Some((a, b))) = (title.text(), numbers) {
                let sides = [a.as_f64(), b.as_f64()];
                return Some(TotalChange { title: title.to_owned(), sides, unit });
            }
        }
    }
    None
}

fn confidence(found: &FunctionChanges, compared: &Comparison) -> Confidence {
    let basis = if compared.unlike.contains(&Unlike::SharedModel) {
        Basis::SharedModel
    } else if compared.unlike.contains(&Unlike::OtherModel) {
        Basis::OtherModels
    } else {
        Basis::Counted
    };
    let is_undecided = |row: &FunctionChange| matches!(row.certain, Certainty::Undecided(_));
    let needs = found.rows.iter().enumerate().find_map(|(at, row)| match row.certain {
        Certainty::Undecided(Doubt::NeedsSamples(times)) => Some((at, times)),
        _ => None,
    });
    Confidence {
        basis,
        known: found.rows.iter().filter(|row| row.certain.is_known()).count(),
        undecided: found.rows.iter().filter(|row| is_undecided(row)).count(),
        differs: found.rows.iter().any(|row| row.difference() != 0),
        first: found.rows.iter().position(is_undecided),
        needs,
    }
}

/// Two programs that have nothing in common, or one whose functions have no names, are not compared
/// in silence.
fn strangers(found: &FunctionChanges) -> Option<Unlike> {
    match found.names_known {
        [true, true] => {}
        [false, true] => return Some(Unlike::NoSymbols(Nameless::A)),
        [true, false] => return Some(Unlike::NoSymbols(Nameless::B)),
        [false, false] => return Some(Unlike::NoSymbols(Nameless::Both)),
    }
    let both = || found.rows.iter().filter(|row| row.is_one);
    let shares = [0, 1].map(|side: usize| {
        let add = |sum: i64, row: &FunctionChange| sum.saturating_add(row.own[side]);
        both().fold(0, add) as f64 / found.rows.iter().fold(0, add).max(1) as f64
    });
    let some = found.functions.iter().all(|n| *n > 2) && found.all.iter().all(|all| *all > 0);
    let are_strangers = some && shares.iter().all(|share| *share < STRANGERS);
    let (functions, both) = (found.functions, both().count());
    are_strangers.then_some(Unlike::OtherPrograms { functions, both, shares })
}
