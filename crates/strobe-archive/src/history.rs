//! The prepared questions: what an archive holds and what rose in it, one figure build by build,
//! what grew most. Each answer is a measurement.

mod grew;
mod item;
mod overview;

use strobe_analyse::statistics::steps::{self, Build, Kind, Known, Step};
use strobe_model::measurement::{
    Cell, Ended, Finding, Instrument, Measurement, Number, Quantity, Severity, Subject, Trust,
    Unit, Window,
};

pub use grew::grew;
pub use item::{NotFound, of_item};
pub use overview::overview;

use crate::date;
use crate::row::Origin;
use crate::series::{Key, Point, Series};

/// What was read, and how much could not be.
#[derive(Debug, Default)]
pub struct Reading {
    /// The archive's name.
    pub name: String,
    /// Tool and version.
    pub tool: String,
    /// Files that were read.
    pub files: u64,
    /// Files that could not be used, each with its reason.
    pub skipped: Vec<(String, String)>,
    /// Files with columns that are none of ours, which were left out.
    pub foreign: Vec<(String, Vec<String>)>,
    /// Rows without what each row must have.
    pub left_out: u64,
}

/// The measurement of an answer, without its sections.
fn begin(reading: &Reading, series: &Series) -> Measurement {
    let kind = "archive".to_owned();
    let subject = Subject { kind, name: reading.name.clone(), ..Subject::default() };
    let (kind, tool) = ("history".to_owned(), reading.tool.clone());
    let instrument = Instrument { kind, tool, ..Instrument::default() };
    let ended = Ended {
        kind: "end-of-file".to_owned(),
        text: "every file of the archive was looked at".to_owned(),
        code: None,
    };
    let window = Window::untimed("an archive is many measurements, each with its own", ended);
    let mut answer = Measurement::new(subject, instrument, window);
    let count = |n: u64| Quantity::exact(n, Unit::COUNT);
    answer.push_total("files", "files read", count(reading.files));
    answer.push_total("measurements", "measurements", count(series.origins.len() as u64));
    findings(reading, series, &mut answer.findings);
    answer
}

fn findings(reading: &Reading, series: &Series, findings: &mut Vec<Finding>) {
    for (file, why) in &reading.skipped {
        let text = format!("{file} was left out: {why}");
        let place = Some(file.clone());
        findings.push(Finding { place, ..Finding::new(Severity::Warning, "archive-file", text) });
    }
    for (file, columns) in &reading.foreign {
        let text = format!("{file} has columns that strobe does not read: {}", columns.join(", "));
        let place = Some(file.clone());
        findings.push(Finding { place, ..Finding::new(Severity::Note, "archive-columns", text) });
    }
    if reading.left_out > 0 {
        let text = "rows without a time, figure, unit or trust were left out";
        let count = reading.left_out;
        findings.push(Finding { count, ..Finding::new(Severity::Warning, "archive-rows", text) });
    }
    if series.repeated > 0 {
        let text = "measurements that had been logged before, of the same commit, count once";
        let count = series.repeated;
        findings.push(Finding { count, ..Finding::new(Severity::Note, "archive-repeated", text) });
    }
}

/// A figure's history as the statistics want it: one build each where the figure is the build's
/// own, every measurement where it varies from run to run.
struct Builds<'a> {
    points: Vec<&'a Point>,
    builds: Vec<Build>,
    varies: bool,
}

impl<'a> Builds<'a> {
    fn of(series: &Series, points: &'a [Point]) -> Builds<'a> {
        let kind = |point: &Point| {
            let instrument = series.origins.get(point.origin).map(|origin| &*origin.instrument);
            kind(point, instrument.is_some_and(|name| name.starts_with(OF_AN_IMAGE)))
        };
        let known: Vec<&Point> = points.iter().filter(|p| kind(p).is_some()).collect();
        let is_same = |a: &Point, b: &Point| {
            let origin = |point: &Point| series.origins.get(point.origin);
            origin(a).zip(origin(b)).is_some_and(|(a, b)| a.is_same_build(b))
        };
        let repeats = || known.windows(2).filter(|pair| is_same(pair[0], pair[1]));
        let varies = repeats().any(|pair| pair[0].value != pair[1].value);
        let mut points: Vec<&Point> = Vec::new();
        for point in known {
            let is_repeat = points.last().is_some_and(|last| is_same(last, point));
            let is_own = matches!(kind(point), Some(Kind::Exact | Kind::Bounded { .. }));
            if varies || !is_repeat || !is_own {
                points.push(point);
            }
        }
        let build = |point: &&Point| {
            let kind = match kind(point)? {
                Kind::Exact | Kind::Bounded { .. } if varies => Kind::Varying,
                kind => kind,
            };
            Some(Build { value: point.value?, kind })
        };
        let builds = points.iter().filter_map(build).collect();
        Builds { points, builds, varies }
    }

    /// The steps, when so many rows are looked at.
    fn steps(&self, rows: usize) -> Vec<Step> {
        steps::steps(&self.builds, self.varies, rows)
    }

    /// Whether there are enough builds for a figure of that kind.
    fn is_enough(&self) -> bool {
        let is_own = |build: &Build| matches!(build.kind, Kind::Exact | Kind::Bounded { .. });
        self.builds.len() >= steps::FEWEST || self.builds.iter().all(is_own)
    }
}

/// How instruments are called that read an image and run nothing.
const OF_AN_IMAGE: &str = "image ";

/// How a point's value may be off; none where there is none. The worst case that an image has is a
/// bound, but the same one each time.
fn kind(point: &Point, is_of_image: bool) -> Option<Kind> {
    point.value?;
    Some(match (point.trust.as_str(), point.bounds, point.n) {
        ("exact", _, _) => Kind::Exact,
        ("at-least" | "at-most", _, _) if is_of_image => Kind::Exact,
        ("modelled" | "resolution", Some((low, high)), _) => Kind::Bounded { low, high },
        ("sampled", _, Some(of)) if point.value? <= of as f64 && is_whole(point.value?) => {
            Kind::Counted { of }
        }
        ("sampled" | "modelled" | "resolution" | "at-least" | "at-most", _, _) => Kind::Varying,
        _ => return None,
    })
}

fn is_whole(value: f64) -> bool {
    value.fract() == 0.0 && value.abs() < 9e15
}

fn number(value: f64) -> Number {
    // The difference of two that a hostile file may hold is not finite.
    let value = value.clamp(f64::MIN, f64::MAX);
    if is_whole(value) { Number::Integer(value as i64) } else { Number::Real(value) }
}

/// A point as a cell.
fn cell(point: &Point) -> Cell {
    let unknown = |why: String| Cell::Figure { value: None, trust: Trust::Unknown { why } };
    let Some(value) = point.value else {
        return unknown("unknown when it was measured".to_owned());
    };
    let bounds = point.bounds.unwrap_or((value, value));
    let (low, high) = (number(bounds.0.min(value)), number(bounds.1.max(value)));
    let trust = match point.trust.as_str() {
        "exact" => return Cell::Exact(number(value)),
        "modelled" => Trust::Modelled { low, high, why: None },
        "resolution" => Trust::Resolution { low, high },
        "sampled" => Trust::Sampled { n: point.n.unwrap_or(0), low, high },
        "at-least" => Trust::AtLeast,
        "at-most" => Trust::AtMost,
        other => return unknown(format!("its trust is `{other}`, which strobe does not know")),
    };
    Cell::Figure { value: Some(number(value)), trust }
}

/// How a step is known, in words.
fn known(step: &Step) -> &'static str {
    match step.known {
        Known::Exactly => "exactly",
        Known::ByBounds => "by bounds",
        Known::ByTest(_) => "by a test",
    }
}

/// A change in percent, as `+12.5 %`.
fn percent(before: f64, after: f64) -> String {
    if before == 0.0 {
        return if after == 0.0 { String::new() } else { "from 0".to_owned() };
    }
    format!("{:+.1} %", (after - before) * 100.0 / before.abs())
}

/// Beginning of a commit, or when it was measured if it has none.
fn build_name(origin: &Origin) -> String {
    match &origin.commit {
        Some(commit) => crate::short(commit),
        None => date::moment(origin.time),
    }
}

/// What differs between two builds beside the program.
fn otherwise(a: &Origin, b: &Origin) -> &'static str {
    match (a.settings != b.settings, a.tool != b.tool) {
        (true, true) => "other settings and version of the tool",
        (true, false) => "other settings",
        (false, true) => "other version of the tool",
        (false, false) => "",
    }
}

/// A series in words, without what all series of the answer share.
fn title(key: &Key) -> String {
    let item = key.item.as_deref().unwrap_or("(all)");
    format!("{item}: {}", what(key))
}

/// Section and figure.
fn what(key: &Key) -> String {
    format!("{}/{}", key.section, key.figure)
}

/// Whose, on what.
fn place(key: &Key) -> String {
    format!("{} {} {}", key.project, key.board, key.subject)
}

/// Whether it is one of a distribution's figures. Of a distribution with one value they are all the
/// same, and one of them is enough.
fn is_statistic(key: &Key) -> bool {
    ["max", "mean", "median", "min", "p99"].contains(&key.figure.as_str())
}

/// What a figure is one of.
fn of_whom(key: &Key) -> [String; 6] {
    let item = key.item.clone().unwrap_or_default();
    let Key { project, board, subject, instrument, section, .. } = key;
    [project, board, subject, instrument, section, &item].map(Clone::clone)
}

/// Of whose, on what and of what, that in which not all are alike.
fn apart(keys: &[&Key]) -> impl Fn(&Key) -> String + use<> {
    let parts: [fn(&Key) -> &String; 3] = [|k| &k.project, |k| &k.board, |k| &k.subject];
    let differ = parts.map(|of| keys.windows(2).any(|pair| of(pair[0]) != of(pair[1])));
    move |key| {
        let parts = parts.iter().zip(differ).filter(|(_, differs)| *differs);
        parts.map(|(of, _)| of(key).as_str()).collect::<Vec<_>>().join(" ")
    }
}
