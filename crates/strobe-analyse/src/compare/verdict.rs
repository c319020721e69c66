//! The verdict: what changed, how much, whether that is certain, and in one statement what makes
//! the two hard to compare.

use strobe_model::measurement::ids;
use strobe_model::measurement::{Column, Content, Finding, Measurement, Severity, Table, Unit};

use super::certain::Certain;
use super::found::{Found, Row, became, nameless};
use super::origins;
use super::words::{change, counted, from_to, grouped, real, some};

/// Where functions that have a counterpart take less than this part on both sides, two programs are
/// compared that have nothing to do with each other.
const STRANGERS: f64 = 0.1;

/// Idle time that changed by less than this part of the whole change is not named.
const WORTH_NAMING: f64 = 0.1;

/// Where one has more by this part of what another one has less, that is why.
const AS_MUCH: f64 = 0.9;

/// Puts the verdict in front.
pub(super) fn put(compared: &mut Measurement, found: &[Found], others: &[String]) {
    let first = found.first();
    if let Some(found) = first {
        strangers(compared, found);
    }
    let mut table = Table::new(vec![Column::text("question", ""), Column::text("answer", "")]);
    let beside = beside(compared);
    let changed = first.map_or_else(|| without(compared, others), |found| changed(found, others));
    table.row(["changed".into(), changed.into()]);
    let much = first.map_or_else(|| totals(compared), |found| much(found, compared));
    table.row(["how much".into(), much.into()]);
    let has = |code: &str| compared.findings.iter().any(|finding| finding.code == code);
    let basis = match (has("shared-model"), has("other-model")) {
        (true, _) => "counted, by one timing model whose error both share",
        (_, true) => "counted, and more than what the timing models may be off",
        (false, false) => "counted",
    };
    let certain = first.map_or_else(
        || "figures of both are compared with the bounds that they have".to_owned(),
        |found| certain(found, basis),
    );
    table.row(["certain".into(), certain.into()]);
    if let Some(beside) = beside {
        table.row(["not alike".into(), beside.into()]);
    }
    compared.push(ids::section::VERDICT, "verdict", Content::Table(table));
    let last = compared.sections.len() - 1;
    compared.sections[..=last].rotate_right(1);
}

/// Where no functions are compared: why, and what else changed.
fn without(compared: &Measurement, others: &[String]) -> String {
    let is_cut = compared.findings.iter().any(|finding| finding.code == "shortened-side");
    let are_totals =
        compared.sections.iter().all(|section| section.id.starts_with(ids::prefix::TOTALS));
    let text = match (is_cut, are_totals) {
        (true, _) => "functions cannot be compared, for results were cut off",
        (false, true) => "nothing can be compared but totals: the two have no more in common",
        (false, false) => return of_tables(others),
    };
    match others {
        [] => text.to_owned(),
        _ => format!("{text}; {}", of_tables(others)),
    }
}

/// The most that changed, by name.
fn changed(found: &Found, others: &[String]) -> String {
    if let Some(side) = nameless(found.names_known, found.all) {
        let text = match side {
            "a" | "b" => format!("functions cannot be compared, for those of {side} have no names"),
            _ => "functions cannot be compared, for none have names".to_owned(),
        };
        return match others {
            [] => text,
            _ => format!("{text}; {}", of_tables(others)),
        };
    }
    let Some(top) = top(found) else {
        let names = became(found, None).map(|became| format!("functions: {became}"));
        return match (names, others) {
            (None, []) if found.is_set() => {
                "nothing beyond what the runs of a side vary".to_owned()
            }
            (None, []) if found.sampled => "nothing beyond chance".to_owned(),
            (None, []) => "nothing that was compared".to_owned(),
            (Some(names), []) => format!("nothing but names and places; {names}"),
            (None, _) => format!("no function; {}", of_tables(others)),
            (Some(names), _) => format!("no function; {names}; {}", of_tables(others)),
        };
    };
    let mut text = one(top, found);
    // The last line has how many are undecided.
    let is_known = |row: &&Row| is_change(row, found) && row.certain.is_known();
    let more = found.rows.iter().filter(is_known).filter(|row| !std::ptr::eq(*row, top)).count();
    if more > 0 {
        let verb = if more == 1 { "differs" } else { "differ" };
        text = format!("{text}; {} {verb} too", counted(more, "other function"));
    }
    if let Some(became) = became(found, Some(top)) {
        text = format!("{text}; functions: {became}");
    }
    if let Some(came) = origins::came(&found.rows, &found.unit.0) {
        text = format!("{text}; {came}");
    }
    match others {
        [] => text,
        _ => format!("{text}; {}", of_tables(others)),
    }
}

fn is_change(row: &Row, found: &Found) -> bool {
    if found.sampled || found.is_set() { row.certain.is_known() } else { row.difference() != 0 }
}

/// The row that changed most; of samples and sets of runs, of those that did beyond chance. What
/// has less because another one has as much more, as the loop of an idle thread, comes behind that.
fn top(found: &Found) -> Option<&Row> {
    let mut changed = found.rows.iter().filter(|row| is_change(row, found));
    let first = changed.next()?;
    let second = changed.next().filter(|second| {
        let (less, more) = (first.difference(), second.difference());
        less < 0 && more > 0 && more as f64 >= AS_MUCH * less.unsigned_abs() as f64
    });
    Some(second.unwrap_or(first))
}

fn of_tables(others: &[String]) -> String {
    match others {
        [] => "nothing that was compared".to_owned(),
        _ => some(others.iter().map(String::as_str), 3),
    }
}

fn one(row: &Row, found: &Found) -> String {
    let [a, b] = row.own;
    let unit = &found.unit;
    let state = if row.state.is_empty() { String::new() } else { format!(", {}", row.state) };
    if found.sampled {
        let share = |side: usize| row.own[side] as f64 * 100.0 / found.all[side].max(1) as f64;
        return format!(
            "{} has {:.1} % of {} samples instead of {:.1} % of {}{state}",
            row.name,
            share(1),
            grouped(found.all[1]),
            share(0),
            grouped(found.all[0])
        );
    }
    let why = if row.why.is_empty() { String::new() } else { format!(" ({})", row.why) };
    let times = match (a, b) {
        (a, b) if a > 0 && b >= 2 * a => {
            format!("{} times the {unit}", real(b as f64 / a as f64))
        }
        _ => change(a, b, unit),
    };
    format!("{}: {times}, {} -> {}{state}{why}", row.name, grouped(a), grouped(b))
}

/// The whole, and how much of its change the first function is.
fn much(found: &Found, compared: &Measurement) -> String {
    let [a, b] = found.all;
    if found.sampled {
        let n = found.rows.iter().filter(|row| row.certain.is_known()).count();
        return format!(
            "{} samples (a), {} (b): shares are compared; {} of {} differ",
            grouped(a),
            grouped(b),
            grouped(n as i64),
            counted(found.rows.len(), "function")
        );
    }
    let whole = b.saturating_sub(a);
    let is_same_time = compared.findings.iter().any(|finding| finding.code == "same-length");
    let mut text = match whole {
        _ if is_same_time => {
            // A limit is reached within some instructions; where the clock changes, at other times.
            let is_apart = a.abs_diff(b) as f64 > super::unlike::LENGTHS_APART * a.max(b) as f64;
            let all = match is_apart {
                true => format!("{} and {}", grouped(a), grouped(b)),
                false => grouped(a.max(b)),
            };
            format!("both were stopped after the same time, {all} {}", found.unit)
        }
        0 => format!("the same in all: {} {}", grouped(a), found.unit),
        _ => format!("{} in all, {} -> {}", change(a, b, &found.unit), grouped(a), grouped(b)),
    };
    let top = top(found).filter(|_| nameless(found.names_known, found.all).is_none());
    let mut parts: Vec<(&str, i64)> =
        top.map(|top| (top.name.as_str(), top.difference())).into_iter().collect();
    let idle = found.idle[1].saturating_sub(found.idle[0]);
    let most = top.map_or(0, |top| top.difference().unsigned_abs()).max(whole.unsigned_abs());
    if idle != 0 && idle.unsigned_abs() as f64 >= WORTH_NAMING * most as f64 {
        parts.push(("idle", idle));
    }
    parts.sort_by_key(|(_, n)| std::cmp::Reverse(n.unsigned_abs()));
    let mut parts = parts.into_iter();
    if let Some((name, n)) = parts.next() {
        text = format!("{text}; {name} has {} of it", signed(n));
    }
    if let Some((name, n)) = parts.next() {
        text = format!("{text}, {name} {}", signed(n));
    }
    let time = compared.table(ids::section::TOTALS_NANOSECONDS).and_then(|table| {
        let ratio = table.column(ids::column::RATIO)?.cells.first()?.number()?.as_f64();
        (ratio != 1.0 && !is_same_time).then(|| format!("; {} times the time", real(ratio)))
    });
    text + &time.unwrap_or_default()
}

fn signed(n: i64) -> String {
    if n > 0 { format!("+{}", grouped(n)) } else { grouped(n) }
}

/// The first total that differs.
fn totals(compared: &Measurement) -> String {
    let tables =
        compared.sections.iter().filter(|section| section.id.starts_with(ids::prefix::TOTALS));
    for section in tables {
        let Content::Table(table) = &section.content else { continue };
        let column = |id: &str| table.column(id).map(|column| column.cells.as_slice());
        let (Some(titles), Some(a), Some(b)) = (column("title"), column("a"), column("b")) else {
            continue;
        };
        let unit = table
            .column(ids::column::A)
            .and_then(|column| column.unit.clone())
            .unwrap_or(Unit::COUNT);
        for ((title, a), b) in titles.iter().zip(a).zip(b) {
            let numbers = a.number().zip(b.number()).filter(|(a, b)| a != b);
            if let (Some(title), Some((a, b))) = (title.text(), numbers) {
                return format!("{title}: {}", from_to(a.as_f64(), b.as_f64(), &unit));
            }
        }
    }
    "no total that both have differs".to_owned()
}

fn certain(found: &Found, basis: &str) -> String {
    if found.is_set() {
        let [a, b] = found.runs.map(|n| counted(n, "run"));
        return format!("{a} (a), {b} (b): {}", of_rows(found, basis));
    }
    of_rows(found, basis)
}

fn of_rows(found: &Found, basis: &str) -> String {
    let count = |is: fn(&Certain) -> bool| found.rows.iter().filter(|row| is(&row.certain)).count();
    let known = count(Certain::is_known);
    let unknown = count(|certain| matches!(certain, Certain::No(_)));
    let all = counted(found.rows.len(), "function");
    if found.sampled {
        let more = found.rows.iter().find_map(|row| match &row.certain {
            Certain::No(why) => {
                let times = why.strip_prefix("needs ")?.strip_suffix('x')?;
                Some(format!("{} needs {times} times as many samples", row.name))
            }
            _ => None,
        });
        let more = more.map_or_else(String::new, |more| format!("; {more}"));
        let of = grouped(unknown as i64);
        return format!("{known} of {all} differ beyond chance; {of} undecided{more}");
    }
    if nameless(found.names_known, found.all).is_some() {
        return "sums only, with the bounds that they have".to_owned();
    }
    let basis = if found.is_set() { "by how the runs vary" } else { basis };
    let differs = found.rows.iter().any(|row| row.difference() != 0);
    match (known, unknown) {
        (_, 0) => format!("yes: {basis}"),
        (0, _) if found.is_set() => {
            "no function differs beyond what the runs of a side vary".to_owned()
        }
        (0, _) if !differs => format!(
            "no function differs; {} known within bounds only",
            match unknown {
                1 => "what one takes is".to_owned(),
                n => format!("what {} take is", grouped(n as i64)),
            }
        ),
        (0, _) => format!(
            "undecided: {} within what is not known of both",
            counted(unknown, "difference")
        ),
        (known, unknown) => {
            let first = found.rows.iter().find(|row| matches!(row.certain, Certain::No(_)));
            let first = first.map_or("", |row| row.name.as_str());
            format!(
                "{} of {all} for certain; {} undecided ({first} first)",
                grouped(known as i64),
                grouped(unknown as i64)
            )
        }
    }
}

/// What the findings say is not alike, in one statement.
fn beside(compared: &Measurement) -> Option<String> {
    let said = compared.findings.iter().filter(|finding| finding.severity == Severity::Warning);
    let said = said.filter_map(|finding| {
        let what = match finding.code.as_str() {
            "other-end" => "ended for different reasons",
            "other-length" => "stopped after different times",
            "other-instrument" => "instrument",
            "other-board" => "board",
            "other-core" => "core",
            "other-clock" => "core clock",
            "other-windows" => "number of windows",
            "other-inputs" => "inputs",
            "other-compiler" => "compiler",
            "other-tool" => "version of strobe",
            "other-amount" => "amount of work",
            "different-programs" => "two different programs",
            "shortened-side" => "results cut off on a side",
            "no-symbols" => "no symbols on a side",
            _ => return None,
        };
        Some(what)
    });
    let said: Vec<&str> = said.collect();
    (!said.is_empty()).then(|| format!("{}; see the warnings", said.join(", ")))
}

/// Two programs that have nothing in common, or one whose functions have no names, are not compared
/// in silence.
fn strangers(compared: &mut Measurement, found: &Found) {
    let mut warn = |code: &str, text: String| {
        compared.findings.push(Finding::new(Severity::Warning, code, text));
    };
    let unnamed: Vec<&str> = [("a", found.names_known[0]), ("b", found.names_known[1])]
        .into_iter()
        .filter(|(_, known)| !known)
        .map(|(side, _)| side)
        .collect();
    if !unnamed.is_empty() {
        let sides = unnamed.join(" and ");
        warn(
            "no-symbols",
            format!(
                "{sides} has no names of functions: only sums are compared; take the firmware \
                 with its \
                 symbols, or a measurement of it"
            ),
        );
        return;
    }
    let both = |row: &&Row| row.is_one;
    let share = |side: usize| {
        let sum = |rows: &mut dyn Iterator<Item = &Row>| -> i64 {
            rows.fold(0, |sum, row| sum.saturating_add(row.own[side]))
        };
        let all = sum(&mut found.rows.iter());
        sum(&mut found.rows.iter().filter(both)) as f64 / all.max(1) as f64
    };
    let some = found.functions.iter().all(|n| *n > 2) && found.all.iter().all(|all| *all > 0);
    if some && share(0) < STRANGERS && share(1) < STRANGERS {
        let alike = found.rows.iter().filter(both).count();
        warn(
            "different-programs",
            format!(
                "these look like two different programs: of {} (a) and {} (b) {} in both, with \
                 {:.1} % of what a takes and {:.1} % of what b takes",
                counted(found.functions[0], "function"),
                found.functions[1],
                if alike == 1 { "1 is".to_owned() } else { format!("{alike} are") },
                share(0) * 100.0,
                share(1) * 100.0
            ),
        );
    }
}
