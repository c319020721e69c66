//! Two recordings of the same pins side by side: each figure in both, the difference, and what
//! follows.

use std::io::{self, Write};

use strobe_model::CaptureSummary;
use strobe_model::against::{
    Against, Difference, Estimate, FigurePair, FigureUnit, Reason, Verdict,
};

use super::capture::{notes, title};
use super::layout::{heading, item};
use crate::Options;
use crate::number::{counted, grouped, percent, picoseconds};
use crate::paint::Paint;
use crate::table::Table;

const EXPLAINED: &str = "+/- is all that is not known of a figure: the resolution of a capture's clock, the bounds of a simulation's models, the \
                         clocks' tolerance, and of a mean two standard errors. agree: the ranges meet; differ: they do not. Nothing can be told where they meet but one is wider than a quarter of the \
                         figure (too wide), where the side without the extreme has fewer values (too few), or one has none.";

/// What two recordings have in common and what not.
///
/// # Errors
/// Those of `out`.
pub fn against(report: &Against, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    title(&report.a, options, out)?;
    title(&report.b, options, out)?;
    if report.clock_tolerance_ppm > 0 {
        let text = format!("clocks may be apart by {} ppm", grouped(report.clock_tolerance_ppm));
        item("", &text, Paint::Plain, options, out)?;
    }
    for pair in &report.pairs {
        let names = match pair.a == pair.b {
            true => pair.a.clone(),
            false => format!("{} against {}", pair.a, pair.b),
        };
        heading(&names, options, out)?;
        figures(&pair.figures, report, options, out)?;
    }
    let all = || report.pairs.iter().flat_map(|pair| &pair.figures);
    let n = |verdict| all().filter(|f| f.verdict == verdict).count() as u64;
    let (agree, differ) = (n(Verdict::Agree), n(Verdict::Differ));
    let unknown = n(Verdict::CannotTell);
    let text = format!(
        "{}: {} agree, {} differ, of {} nothing can be told",
        counted(all().count() as u64, "figure"),
        grouped(agree),
        grouped(differ),
        grouped(unknown)
    );
    heading(&text, options, out)?;
    notes(&report.notes, options, out)?;
    if options.quiet { Ok(()) } else { item("", EXPLAINED, Paint::Faint, options, out) }
}

/// What a side's column is called.
fn side(capture: &CaptureSummary) -> &'static str {
    if capture.simulated.is_some() { "simulated" } else { "captured" }
}

fn figures(
    figures: &[FigurePair],
    report: &Against,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut table = Table::new().text("of").text("").number("n").number(side(&report.a));
    table = table.number("+/-").number("n").number(side(&report.b)).number("+/-");
    table = table.number("difference").number("").text("").room(9);
    // What neither has needs no row.
    for f in figures.iter().filter(|f| f.a.is_some() || f.b.is_some()) {
        let show = |value: u64| match f.unit {
            FigureUnit::Ps => picoseconds(value),
            FigureUnit::Ppm => percent(value),
        };
        let count = |e: Option<Estimate>| e.map_or("0".to_owned(), |e| grouped(e.count));
        let value = |e: Option<Estimate>| e.map_or("-".to_owned(), |e| show(e.value));
        let off = |e: Option<Estimate>| e.map_or(String::new(), |e| show(off(e)));
        let (verdict, paint) = match f.verdict {
            Verdict::Agree => ("agree", Paint::Plain),
            Verdict::Differ => ("DIFFER", Paint::Warn),
            Verdict::CannotTell => {
                let why = match f.reason {
                    Some(Reason::NoValues) => "none",
                    Some(Reason::TooWide) => "too wide",
                    Some(Reason::FewerValues) => "too few",
                    None => "cannot tell",
                };
                (why, Paint::Faint)
            }
        };
        let cells = vec![
            f.of.as_str().into(),
            f.figure.as_str().into(),
            count(f.a).into(),
            value(f.a).into(),
            off(f.a).into(),
            count(f.b).into(),
            value(f.b).into(),
            off(f.b).into(),
            f.difference.map_or(String::new(), |d| signed(d.value, show)).into(),
            relative(f.difference, f.a).into(),
            verdict.into(),
        ];
        table.painted(cells, paint);
    }
    table.write(options.style, out)
}

/// The wider side of what is not known.
fn off(e: Estimate) -> u64 {
    e.value.saturating_sub(e.low).max(e.high.saturating_sub(e.value))
}

fn signed(value: i64, show: impl Fn(u64) -> String) -> String {
    let sign = if value < 0 { "-" } else { "+" };
    format!("{sign}{}", show(value.unsigned_abs()))
}

fn relative(difference: Option<Difference>, a: Option<Estimate>) -> String {
    match (difference, a) {
        (Some(d), Some(a)) if a.value > 0 && d.value != 0 => {
            format!("{:+.2} %", d.value as f64 * 100.0 / a.value as f64)
        }
        _ => String::new(),
    }
}
