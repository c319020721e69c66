//! Rows of many files put together: for each figure its values, build by build.

use std::collections::{BTreeMap, HashMap, HashSet};
use strobe_model::measurement::ids;

use crate::place::Place;
use crate::read::Row;
use crate::row::Origin;

/// Which figures are wanted; everything where nothing is named.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only of this project.
    pub project: Option<String>,
    /// Only of this board.
    pub board: Option<String>,
    /// Only of this branch.
    pub branch: Option<String>,
    /// Only of this subject.
    pub subject: Option<String>,
    /// Only of this section.
    pub section: Option<String>,
    /// Only this figure.
    pub figure: Option<String>,
}

impl Filter {
    /// Whether files there can have something of it.
    pub fn wants(&self, place: &Place) -> bool {
        let fits = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|w| w == is);
        fits(&self.project, &place.project) && fits(&self.board, &place.board)
    }

    fn takes(&self, row: &Row) -> bool {
        let fits = |wanted: &Option<String>, is: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| is == Some(wanted))
        };
        fits(&self.section, Some(row.section))
            && fits(&self.figure, Some(row.figure))
            && fits(&self.branch, row.branch)
            && fits(&self.subject, Some(row.subject))
    }
}

/// What makes figures of different builds the same figure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Whose.
    pub project: String,
    /// On what.
    pub board: String,
    /// Of what.
    pub subject: String,
    /// By what.
    pub instrument: String,
    /// Section.
    pub section: String,
    /// Function, interrupt, thread.
    pub item: Option<String>,
    /// Measure or column.
    pub figure: String,
    /// Unit.
    pub unit: String,
}

/// A figure of one measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Index into [`Series::origins`].
    pub origin: usize,
    /// None where it is unknown.
    pub value: Option<f64>,
    /// Its bounds, where it has any.
    pub bounds: Option<(f64, f64)>,
    /// How far it can be trusted.
    pub trust: String,
    /// Samples that it rests on.
    pub n: Option<u64>,
}

/// Everything that was found.
#[derive(Debug, Default)]
pub struct Series {
    /// Measurements.
    pub origins: Vec<Origin>,
    /// Where each is kept.
    pub places: Vec<Place>,
    /// Figures, build by build.
    pub figures: BTreeMap<Key, Vec<Point>>,
    /// The figure that comes first in each instrument's section: what it is about.
    pub first: HashMap<(String, String), String>,
    /// Measurements that were logged more than once.
    pub repeated: u64,
    known: HashMap<(Place, Origin), Option<usize>>,
    seen: HashSet<(String, Option<String>, String, String)>,
}

impl Series {
    /// Adds a row, unless it is not wanted or its measurement was logged before.
    pub fn add(&mut self, place: &Place, filter: &Filter, row: &Row) {
        if !filter.takes(row) {
            return;
        }
        let Some(origin) = self.origin(place, row) else { return };
        let first = (row.instrument.to_owned(), row.section.to_owned());
        self.first.entry(first).or_insert_with(|| row.figure.to_owned());
        let key = Key {
            project: place.project.clone(),
            board: place.board.clone(),
            subject: row.subject.to_owned(),
            instrument: row.instrument.to_owned(),
            section: row.section.to_owned(),
            item: row.item.map(str::to_owned),
            figure: row.figure.to_owned(),
            unit: row.unit.to_owned(),
        };
        let point = Point {
            origin,
            value: row.value,
            bounds: row.low.zip(row.high),
            trust: row.trust.to_owned(),
            n: row.n.and_then(|n| u64::try_from(n).ok()),
        };
        self.figures.entry(key).or_default().push(point);
    }

    /// Its place among the measurements; none where it is there already.
    fn origin(&mut self, place: &Place, row: &Row) -> Option<usize> {
        let is_last = |origin: &Origin| {
            origin.measurement == row.measurement
                && origin.time == row.time
                && origin.commit.as_deref() == row.commit
        };
        if self.origins.last().is_some_and(is_last) && self.places.last() == Some(place) {
            return Some(self.origins.len() - 1);
        }
        let whole = (place.clone(), row.origin());
        if let Some(known) = self.known.get(&whole) {
            return *known;
        }
        let origin = whole.1.clone();
        // The same measurement of the same commit is the same, whenever it was logged; without a
        // commit it is another one each time.
        let what = (
            origin.measurement.clone(),
            Some(origin.commit.clone().unwrap_or_else(|| format!("at {}", origin.time))),
            place.project.clone(),
            place.board.clone(),
        );
        let at = if self.seen.insert(what) {
            self.origins.push(origin);
            self.places.push(place.clone());
            Some(self.origins.len() - 1)
        } else {
            self.repeated += 1;
            None
        };
        self.known.insert(whole, at);
        at
    }

    /// Puts every figure's points in the order of builds. What was logged twice in one call, or at
    /// one time that was given, is there once.
    pub fn sort(&mut self) {
        let origins = &self.origins;
        let mut twice = HashSet::new();
        for points in self.figures.values_mut() {
            let order =
                |point: &Point| (origins.get(point.origin).map(Origin::order), point.origin);
            points.sort_by_key(order);
            points.dedup_by(|again, first| {
                let is_same = again.origin == first.origin;
                if is_same {
                    twice.insert(again.origin);
                }
                is_same
            });
        }
        self.repeated += twice.len() as u64;
    }

    /// Whether a figure is what its section is about, so that the overview and what grew look at
    /// it: totals, a profile's first measure, sizes and times of tables. Not what repeats others in
    /// other groups, and not what is good to have more of, as room for a stack.
    pub fn is_main(&self, key: &Key) -> bool {
        const GROUPS: [&str; 11] = [
            "window",
            "coverage",
            ids::section::SECTIONS,
            ids::section::DIRECTORIES,
            ids::section::FILES,
            ids::section::REGIONS,
            ids::section::FRAMES,
            ids::section::INTERRUPTS,
            ids::section::THREADS,
            ids::section::CAUSES,
            ids::section::WORST_CASES,
        ];
        let is_left = |name: &str| {
            ["margin", "idle"]
                .iter()
                .any(|left| name == *left || name.ends_with(&format!("-{left}")))
        };
        const SIZES: [&str; 6] =
            ["cycles", "instructions", "bytes", "samples", "nanoseconds", "picoseconds"];
        let section = key.section.rsplit('/').next().unwrap_or_default();
        if section == ids::section::STACKS && key.figure == "size" {
            return false;
        }
        if !SIZES.contains(&key.unit.as_str()) || GROUPS.contains(&section) || is_left(&key.figure)
        {
            return false;
        }
        let is_profile =
            section == ids::section::PROFILE || section.ends_with(ids::suffix::PROFILE);
        let about = (key.instrument.clone(), key.section.clone());
        !is_profile || self.first.get(&about) == Some(&key.figure)
    }
}
